//! The seat of risk: which actions and function calls a careful person would think about twice.
//!
//! What is written on the target, what the action is meant to do, or what a function calls itself is held against the
//! lists of words that come with Motorium (`policy/words.toml`). What they flag is never repeated by itself and counts against
//! `limits.max_risky_actions`, and before a risky click the pointer is brought to its place and read back. It asks
//! nobody: whether a person is asked is for the rules to say. A user's own file of words is for the rules as well: the same
//! log must give the same task, whatever is configured today.

use std::sync::LazyLock;

use motorium_proto::domain::action::{Action, Target};
use motorium_proto::domain::decision::{FunctionCall, PlannedAction};

use crate::policy::words::{Meanings, Words};

/// What cannot be taken back, as the lists call it.
const RISKY: &[&str] = &["pay", "delete", "send", "grant"];

static WORDS: LazyLock<Words> = LazyLock::new(Words::default);

/// What an action risks, if anything. Only clicks are looked at: typing and reading change nothing yet.
#[must_use]
pub fn assess(planned: &PlannedAction) -> Option<&'static str> {
    let Action::Click { at, .. } = &planned.action else {
        return None;
    };
    let meanings = match at {
        Some(Target::Text(anchor)) => WORDS.of_label(&anchor.text),
        _ => of_intent(&planned.intent),
    };
    risk_of(&meanings)
}

/// What a function call risks, if anything: its name says it. The name of the tool before it, where the task names one,
/// says nothing: `mail_search` of the tool `mail` searches.
#[must_use]
pub fn assess_call(call: &FunctionCall, tools: &[String]) -> Option<&'static str> {
    let own_names = tools
        .iter()
        .filter_map(|tool| call.name.strip_prefix(tool.as_str())?.strip_prefix('_'));
    let own_name = own_names.min_by_key(|name| name.len());
    risk_of(&WORDS.of_label(own_name.unwrap_or(&call.name)))
}

fn risk_of(meanings: &Meanings) -> Option<&'static str> {
    RISKY.iter().find(|risk| meanings.contains(**risk)).copied()
}

/// What a purpose means: `click "Order"`, where what is in quotation marks is what is written on the target.
fn of_intent(intent: &str) -> Meanings {
    let quoted = intent.split(['"', '“', '”']).skip(1).step_by(2);
    let labels = quoted.flat_map(|label| WORDS.of_label(label));
    WORDS
        .of_sentence(intent)
        .into_iter()
        .chain(labels)
        .collect()
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::action::{Button, TextAnchor};

    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let anchor = TextAnchor {
            text: text.into(),
            ..TextAnchor::default()
        };
        let action = Action::Click {
            at: Some(Target::Text(anchor)),
            button: Button::Left,
            count: 1,
            modifiers: vec![],
        };
        let planned = PlannedAction {
            action,
            intent: String::new(),
            verify_pointer: false,
            repeatable: true,
        };
        assert_eq!(assess(&planned), expected, "{text}");
    }

    #[test]
    fn a_purpose_quotes_what_is_written() {
        let means = |intent: &str, meaning: &str| of_intent(intent).contains(meaning);
        assert!(means("click \"Order now\"", "pay"));
        assert!(means("点击“确认付款”", "pay"));
        assert!(means("send the letter", "send"));
        assert!(!means("click \"Your order\"", "pay"));
        assert!(!means("open the order list", "pay"));
    }

    #[test]
    fn a_function_says_by_its_name_what_it_risks() {
        let check = |name: &str, tools: &[&str], expected: Option<&str>| {
            let call = FunctionCall {
                call_id: "c".to_owned(),
                name: name.to_owned(),
                arguments_json: "{}".to_owned(),
            };
            let tools: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
            assert_eq!(assess_call(&call, &tools), expected, "{name} of {tools:?}");
        };
        check("notes_remove_note", &["notes"], Some("delete"));
        check("shop_transfer", &["shop"], Some("pay"));
        check("sendInvoice", &[], Some("send"));
        check("notes_note", &["notes"], None);
        check("pay_list", &["pay"], None);
        check("pay_list_remove", &["pay", "pay_list"], Some("delete"));
    }

    #[test]
    fn risky_words_are_found_in_both_languages() {
        check("Pay now", Some("pay"));
        check("Delete file", Some("delete"));
        check("Send", Some("send"));
        check("提交订单", Some("send"));
        check("立即支付", Some("pay"));
        check("Confirm order", Some("pay"));
        check("Install", Some("grant"));
        check("Sender name", None);
        check("Paypal settings", None);
        check("Open", None);
    }
}
