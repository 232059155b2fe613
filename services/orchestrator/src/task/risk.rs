//! The seat of risk: which actions a careful person would think about twice.
//!
//! A small fixed table, in English and Chinese. What it flags is never repeated by itself and counts against
//! `limits.max_risky_actions`, and before a risky click the pointer is brought to its place and read back. It asks nobody.

use motorium_proto::domain::action::{Action, Target};
use motorium_proto::domain::decision::PlannedAction;

/// A rule and the words that it is about.
struct Rule {
    name: &'static str,
    english: &'static [&'static str],
    chinese: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        name: "pay",
        english: &[
            "pay", "buy", "purchase", "checkout", "order", "donate", "transfer",
        ],
        chinese: &["支付", "付款", "购买", "下单", "转账"],
    },
    Rule {
        name: "delete",
        english: &[
            "delete",
            "remove",
            "erase",
            "format",
            "discard",
            "uninstall",
            "wipe",
        ],
        chinese: &["删除", "清空", "移除", "卸载", "格式化"],
    },
    Rule {
        name: "send",
        english: &[
            "send", "submit", "publish", "post", "share", "reply", "confirm",
        ],
        chinese: &["发送", "提交", "发布", "分享", "回复", "确认"],
    },
    Rule {
        name: "grant",
        english: &[
            "install",
            "allow",
            "grant",
            "authorize",
            "authorise",
            "accept",
        ],
        chinese: &["安装", "允许", "授权", "同意"],
    },
];

/// The rule that an action falls under, if any. Only clicks are looked at: typing and reading change nothing yet.
#[must_use]
pub fn assess(planned: &PlannedAction) -> Option<&'static str> {
    let Action::Click { at, .. } = &planned.action else {
        return None;
    };
    let text = match at {
        Some(Target::Text(anchor)) => anchor.text.to_lowercase(),
        _ => planned.intent.to_lowercase(),
    };
    RULES
        .iter()
        .find(|rule| rule.covers(&text))
        .map(|rule| rule.name)
}

impl Rule {
    fn covers(&self, text: &str) -> bool {
        let mut words = text.split(|character: char| !character.is_alphanumeric());
        words.any(|word| self.english.contains(&word))
            || self.chinese.iter().any(|word| text.contains(word))
    }
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
    fn risky_words_are_found_in_both_languages() {
        check("Pay now", Some("pay"));
        check("Delete file", Some("delete"));
        check("Send", Some("send"));
        check("提交订单", Some("send"));
        check("立即支付", Some("pay"));
        check("Sender name", None);
        check("Paypal settings", None);
        check("Open", None);
    }
}
