//! Risk assessment of actions and function calls.
//!
//! The target's label, the action's intent or the function's name is looked up in the built-in lexicon
//! (`services/text/src/lexicon.toml`). A risky action is never retried automatically, counts against
//! `limits.max_risky_actions`, and has its pointer position verified before a click. Approval is not decided here but by the
//! policy. A user's own lexicon is used by the policy only: the same log must fold to the same task under any configuration.

use std::sync::LazyLock;

use motorium_proto::domain::action::{Action, Target};
use motorium_proto::domain::decision::{FunctionCall, PlannedAction};

use motorium_text::lexicon::{Lexicon, Meanings};

/// Meanings of the lexicon that cannot be undone.
const RISKY_MEANINGS: &[&str] = &["pay", "delete", "send", "grant"];

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::default);

/// Returns the risk of an action, if any. Only clicks are assessed: typed text takes effect with a later action.
#[must_use]
pub fn assess(planned: &PlannedAction) -> Option<&'static str> {
    let Action::Click { at, .. } = &planned.action else {
        return None;
    };
    let meanings = match at {
        Some(Target::Text(anchor)) => LEXICON.meanings_of_label(&anchor.text),
        _ => meanings_of_intent(&planned.intent),
    };
    risk_of(&meanings)
}

/// Returns the risk of a function call, if any, from its name. The prefix of a tool that the task names is ignored:
/// `mail_search` of the tool `mail` searches.
#[must_use]
pub fn assess_call(call: &FunctionCall, tools: &[String]) -> Option<&'static str> {
    let own_names = tools
        .iter()
        .filter_map(|tool| call.name.strip_prefix(tool.as_str())?.strip_prefix('_'));
    let own_name = own_names.min_by_key(|name| name.len());
    risk_of(&LEXICON.meanings_of_label(own_name.unwrap_or(&call.name)))
}

/// Returns the risk of a click on an element with this label (`button "Order now"`), if any.
#[must_use]
pub fn of_label(label: &str) -> Option<&'static str> {
    let meanings: Meanings = quoted(label)
        .flat_map(|text| LEXICON.meanings_of_label(text))
        .collect();
    risk_of(&meanings)
}

/// Returns the risk of an action that has these meanings on the screen, if any.
#[must_use]
pub fn of_meanings(meanings: &Meanings) -> Option<&'static str> {
    risk_of(meanings)
}

fn risk_of(meanings: &Meanings) -> Option<&'static str> {
    RISKY_MEANINGS
        .iter()
        .find(|risk| meanings.contains(**risk))
        .copied()
}

/// Returns the meanings of an intent such as `click "Order"`. Quoted parts are the target's label.
fn meanings_of_intent(intent: &str) -> Meanings {
    let labels = quoted(intent).flat_map(|label| LEXICON.meanings_of_label(label));
    LEXICON
        .meanings_of_sentence(intent)
        .into_iter()
        .chain(labels)
        .collect()
}

/// Returns the parts of a text that are in quotation marks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split(['"', '“', '”']).skip(1).step_by(2)
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
    fn quoted_labels_in_an_intent_are_judged_as_labels() {
        let means = |intent: &str, meaning: &str| meanings_of_intent(intent).contains(meaning);
        assert!(means("click \"Order now\"", "pay"));
        assert!(means("点击“确认付款”", "pay"));
        assert!(means("send the letter", "send"));
        assert!(!means("click \"Your order\"", "pay"));
        assert!(!means("open the order list", "pay"));
    }

    #[test]
    fn function_risk_is_derived_from_its_name() {
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
