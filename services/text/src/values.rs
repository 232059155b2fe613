//! Values in a text that decide what a risky action does: amounts of money, and recipients such as addresses and account numbers.
//!
//! Values are returned in a plain form, so that "1 000,00 €" and "€1000" differ only in where the currency stands. False positives
//! are preferred: a value that is compared unnecessarily costs less than one that is not. Times of day and countdowns are no values.
//!
//! Which texts belong together is not decided here. The captions are not in the lexicon, which users may replace: an approval is
//! compared by what they find, and must not lose it to another list.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::fold::width_and_case;
use crate::sensitive::EMAIL;

/// Kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueKind {
    /// Amount of money, or a number that a caption calls an amount.
    Amount,
    /// Name, address or account of a recipient.
    Recipient,
}

/// A value in its plain form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value {
    pub kind: ValueKind,
    pub text: String,
}

/// A caption such as "Recipient:", and what follows it in the same text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caption {
    pub kind: ValueKind,
    /// Values after the caption; empty for a caption alone.
    pub values: Vec<Value>,
    /// True if nothing follows the caption: its value is in another text.
    pub is_alone: bool,
}

/// Captions of amounts.
const AMOUNT_CAPTIONS: &[&str] = &[
    "amount due",
    "amount",
    "balance due",
    "fee",
    "fees",
    "grand total",
    "order total",
    "payment amount",
    "price",
    "qty",
    "quantity",
    "subtotal",
    "sum",
    "tip",
    "total due",
    "total",
    "付款金额",
    "合计",
    "实付",
    "小计",
    "应付",
    "总价",
    "总计",
    "总额",
    "手续费",
    "支付金额",
    "数量",
    "转账金额",
    "运费",
    "金额",
    "价格",
];

/// Captions of recipients.
const RECIPIENT_CAPTIONS: &[&str] = &[
    "account holder",
    "account number",
    "account",
    "bcc",
    "beneficiary",
    "card number",
    "cc",
    "deliver to",
    "iban",
    "pay to",
    "payee",
    "receiver",
    "recipient",
    "recipients",
    "send to",
    "ship to",
    "to",
    "transfer to",
    "付款给",
    "发送给",
    "卡号",
    "密送",
    "对方账户",
    "户名",
    "抄送",
    "接收人",
    "支付给",
    "收件人",
    "收款人",
    "收款方",
    "收款账号",
    "收款账户",
    "收货人",
    "账号",
    "账户",
    "转给",
    "转账给",
];

/// Captions that begin ordinary sentences as well, so that only a colon makes them one.
const NEEDS_COLON: &[&str] = &["account", "bcc", "cc", "fee", "fees", "sum", "tip", "to"];

/// Number with thousands separators and up to two decimals, or plain.
const NUMBER: &str = r"\d{1,3}(?:[.,'’ \u{a0}\u{202f}]\d{3})+(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?";
/// Currency signs and codes. Texts are in lower case.
const CURRENCY: &str = r"(?:\b(?:us|hk|nt|au|ca|mx|a|c|s|r))?[$€£¥₹₽₩₺₫₴₪฿₿]|\b(?:usd|eur|gbp|cny|rmb|jpy|chf|hkd|twd|aud|cad|inr|krw|sgd|sek|nok|dkk|pln|czk|brl|mxn|rub|zar|btc|eth|usdt|usdc|fr|rs|kr)\b\.?";
/// Words and signs after an amount.
const UNIT: &str = r"[万亿千]?\s?(?:人民币|美元|欧元|英镑|日元|港币|元|块|円|圆|원|euros?\b|dollars?\b|pounds?\b|yuan\b|yen\b|zł)";

/// Amounts: with a currency before or after, or bare with two decimals.
static AMOUNT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"(?P<sign>[-−])?\s?(?:(?P<before>{CURRENCY})\s?(?P<a>[-−]?(?:{NUMBER}))(?P<scale>\s?(?:k|m|mio|million|bn|万|亿)\b)?|(?P<b>{NUMBER})\s?(?P<after>{UNIT}|{CURRENCY})|\b(?P<c>\d{{1,3}}(?:[.,'’]\d{{3}})+(?:[.,]\d{{2}})?|\d+[.,]\d{{2}})\b)"
    ))
});
/// Amounts in Chinese numerals.
static CHINESE_AMOUNT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"[零〇一二两三四五六七八九十百千万亿壹贰叁肆伍陆柒捌玖拾佰仟萬]+[元圆块](?:[一二三四五六七八九壹贰叁肆伍陆柒捌玖]角)?",
    )
});
/// Any number.
static ANY_NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(NUMBER));

/// Account numbers (ISO 13616), longer sequences of digits, masked numbers, and long identifiers of letters and digits.
static ACCOUNT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b[a-z]{2}\d{2}(?:\s?[a-z0-9]{4}){2,7}(?:\s?[a-z0-9]{1,3})?\b|[*•·●x×]{2,}[ \-]?\d{2,}|(?:ending(?: in| with)?|ends in|尾号为?)\s?\d{2,}|\b[a-z0-9]{16,}\b|\d(?:[ \-–]?\d){5,}",
    )
});
/// Recipients within a sentence.
static SENTENCE_RECIPIENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:pay|send|transfer|give|donate|ship|deliver|forward|wire)\b.*?\bto\s+(?P<en>.{1,80})|(?:向|转给|付给|发给|给)(?P<zh>[^，。,.？?\s]{1,20}?)(?:付款|转账|支付|发送|汇款)",
    )
});
/// Times of day, and the seconds or minutes of a countdown.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?|\b\d+\s?(?:s|secs?|seconds?|mins?|minutes?)\b|\d+\s?(?:秒钟?|分钟)",
    )
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// Returns the text without times of day and countdowns, which change by themselves.
#[must_use]
pub fn without_times(text: &str) -> String {
    TIME.replace_all(text, " ").into_owned()
}

/// Returns all values in a text, including those after a caption in it.
#[must_use]
pub fn values(text: &str) -> Vec<Value> {
    let plain = plain(text);
    let mut found = amounts(&plain);
    found.extend(recipients(&plain));
    if let Some(caption) = caption_of(&plain) {
        found.extend(caption.values);
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the caption that a text begins with.
#[must_use]
pub fn caption(text: &str) -> Option<Caption> {
    caption_of(&plain(text))
}

/// Returns the values in a text whose caption is another text.
#[must_use]
pub fn captioned_values(kind: ValueKind, text: &str) -> Vec<Value> {
    values_after(kind, &plain(text))
}

fn plain(text: &str) -> String {
    let folded: String = width_and_case(text).collect();
    without_times(&folded)
}

fn caption_of(plain: &str) -> Option<Caption> {
    let kinds = [
        (ValueKind::Amount, AMOUNT_CAPTIONS),
        (ValueKind::Recipient, RECIPIENT_CAPTIONS),
    ];
    let text = plain.trim();
    let found = kinds.into_iter().flat_map(|(kind, captions)| {
        captions
            .iter()
            .filter_map(move |caption| Some((kind, caption.len(), after_caption(text, caption)?)))
    });
    // The longest one: "account number" begins with "account".
    let (kind, _, rest) = found.max_by_key(|(_, length, _)| *length)?;
    Some(Caption {
        kind,
        values: values_after(kind, rest),
        is_alone: rest.is_empty(),
    })
}

/// Returns what follows a caption, or `None` if the text does not begin with it.
fn after_caption<'t>(text: &'t str, caption: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(caption)?;
    let value = rest.trim_start_matches([' ', '*', ':', '：']).trim();
    let has_colon = rest.trim_start_matches([' ', '*']).starts_with([':', '：']);
    let ends_word = !caption.is_ascii() || !rest.starts_with(char::is_alphanumeric);
    let is_caption = has_colon || value.is_empty() || !NEEDS_COLON.contains(&caption);
    (ends_word && is_caption).then_some(value)
}

fn values_after(kind: ValueKind, rest: &str) -> Vec<Value> {
    match kind {
        // With a currency it is found already.
        ValueKind::Amount if !amounts(rest).is_empty() => Vec::new(),
        ValueKind::Amount => {
            let numbers = ANY_NUMBER.find_iter(rest);
            let numbers = numbers.map(|found| number(found.as_str()));
            numbers.map(|text| Value { kind, text }).collect()
        }
        ValueKind::Recipient => name(rest).into_iter().collect(),
    }
}

fn amounts(plain: &str) -> Vec<Value> {
    let signed = AMOUNT.captures_iter(plain).map(|found| amount(&found));
    // After digits it is the unit of an amount that is found already.
    let is_unit = |start: usize| plain[..start].trim_end().ends_with(char::is_numeric);
    let spelt = CHINESE_AMOUNT.find_iter(plain);
    let spelt = spelt.filter(|found| !is_unit(found.start()));
    let spelt = spelt.map(|found| found.as_str().to_owned());
    let texts = signed.chain(spelt);
    texts
        .map(|text| Value {
            kind: ValueKind::Amount,
            text,
        })
        .collect()
}

fn amount(found: &Captures<'_>) -> String {
    let part = |name: &str| found.name(name).map_or("", |part| part.as_str().trim());
    let written = [part("a"), part("b"), part("c")].concat();
    let is_negative = !part("sign").is_empty() || written.starts_with(['-', '−']);
    let sign = if is_negative { "-" } else { "" };
    let (before, after) = (part("before"), part("after"));
    let scale = part("scale");
    format!("{before}{sign}{}{scale}{after}", number(&written))
}

/// Returns a number without separators and empty decimals. The last separator before one or two digits is the decimal point.
fn number(written: &str) -> String {
    let is_digit = |character: &char| character.is_ascii_digit();
    let point = written.rfind(['.', ',']).filter(|at| {
        let decimals = written[at + 1..].len();
        (1..=2).contains(&decimals)
    });
    let (whole, decimals) = match point {
        Some(at) => (&written[..at], &written[at + 1..]),
        None => (written, ""),
    };
    let whole: String = whole.chars().filter(is_digit).collect();
    let whole = whole.trim_start_matches('0');
    let decimals = decimals.trim_end_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    match decimals {
        "" => whole.to_owned(),
        decimals => format!("{whole}.{decimals}"),
    }
}

fn recipients(plain: &str) -> Vec<Value> {
    let addresses = EMAIL.find_iter(plain).map(|found| found.as_str());
    let accounts = ACCOUNT
        .find_iter(plain)
        .map(|found| found.as_str())
        // A long word is no identifier.
        .filter(|text| text.contains(|character: char| character.is_ascii_digit()));
    let named = SENTENCE_RECIPIENT.captures_iter(plain);
    let named = named.filter_map(|found| found.name("en").or(found.name("zh")));
    addresses
        .chain(accounts)
        .chain(named.map(|found| found.as_str()))
        .filter_map(name)
        .collect()
}

/// Returns a recipient without spaces and punctuation, which text recognition does not return reliably.
fn name(text: &str) -> Option<Value> {
    let is_part = |character: &char| character.is_alphanumeric() || matches!(character, '@' | '*');
    let text: String = text.chars().filter(is_part).collect();
    (!text.is_empty()).then_some(Value {
        kind: ValueKind::Recipient,
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, amounts: &[&str], recipients: &[&str]) {
        let found = values(text);
        let of = |kind| {
            let found = found.iter().filter(|value| value.kind == kind);
            found.map(|value| value.text.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(of(ValueKind::Amount), amounts, "{text}");
        assert_eq!(of(ValueKind::Recipient), recipients, "{text}");
    }

    #[test]
    fn amounts_are_read_in_usual_notations() {
        check("Pay $1,234.50 now", &["$1234.5"], &[]);
        check("1.234,50 €", &["1234.5€"], &[]);
        check("EUR 100", &["eur100"], &[]);
        check("100 USD", &["100usd"], &[]);
        check("CHF 1'234.00", &["chf1234"], &[]);
        check("￥１００", &["¥100"], &[]);
        check("100元", &["100元"], &[]);
        check("100万元", &["100万元"], &[]);
        check("壹佰元整", &["壹佰元"], &[]);
        check("1,000.00", &["1000"], &[]);
        check("-$5.00", &["$-5"], &[]);
        check("Amount: 100", &["100"], &[]);
        check("金额 1000", &["1000"], &[]);
        check("Quantity: 2", &["2"], &[]);
    }

    #[test]
    fn a_tenfold_amount_is_another_one() {
        for (one, other) in [
            ("Pay 100 EUR", "Pay 1000 EUR"),
            ("Total: 10.00", "Total: 100.0"),
            ("100元", "100万元"),
            ("$100", "€100"),
            ("Total 5", "Total -5.00 €"),
        ] {
            assert_ne!(values(one), values(other), "{one}");
        }
        assert_eq!(values("Total: 100"), values("Total: 100.00 "));
    }

    #[test]
    fn recipients_are_addresses_accounts_and_names_after_captions() {
        check("Write to ann@example.org", &[], &["ann@exampleorg"]);
        check(
            "DE89 3704 0044 0532 0130 00",
            &[],
            &["de89370400440532013000"],
        );
        check("Card •••• 4242", &[], &["4242"]);
        check("尾号1234", &[], &["尾号1234"]);
        check("To: Ann Lee", &[], &["annlee"]);
        check("收款人：张三", &[], &["张三"]);
        check("收款人张三", &[], &["张三"]);
        check("Recipient Ann", &[], &["ann"]);
        check("Pay 49.90 to Ann?", &["49.9"], &["ann"]);
        check("向李四转账", &[], &["李四"]);
        check("To do list", &[], &[]);
        check("Total", &[], &[]);
        check("Tomorrow", &[], &[]);
    }

    #[test]
    fn times_and_countdowns_are_no_values() {
        check("10:41", &[], &[]);
        check("Expires in 59 s", &[], &[]);
        check("剩余59秒", &[], &[]);
        check("Step 2 of 3", &[], &[]);
        check("Inbox (3)", &[], &[]);
        check("Pay 100 EUR before 12:30", &["100eur"], &[]);
    }

    #[test]
    fn a_caption_may_stand_alone() {
        let alone = |text| caption(text).is_some_and(|caption| caption.is_alone);
        assert!(alone("Recipient:") && alone("收款人") && alone("To") && alone("Total due"));
        assert!(!alone("To: Ann") && !alone("Account settings") && !alone("Totally"));
        let of = |kind, text| captioned_values(kind, text).len();
        assert_eq!(of(ValueKind::Amount, "100"), 1);
        assert_eq!(of(ValueKind::Recipient, "Ann"), 1);
    }
}
