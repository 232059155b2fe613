//! The request that a person answers at the terminal, and the meaning of a typed line. Pure; the caller reads and prints.
//!
//! Invariant: an empty line never answers anything.

use motorium_messages::{Language, Message};

/// A request of a task that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// A question to answer in words.
    Question { message: String },
    /// Something to do on the desktop.
    ManualAction { message: String },
    /// An action to approve.
    Approval {
        message: String,
        /// Resource name of the approval.
        name: String,
        /// Safety checks of the model's provider that the approval acknowledges: code and message.
        safety_checks: Vec<(String, String)>,
    },
}

/// The meaning of a typed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PromptReply {
    /// The line does not answer the request, which is shown again.
    Repeat,
    /// The requested action is done.
    Acknowledge,
    Words(String),
    Approve,
    /// Denied, with a message for the planner.
    Deny(String),
}

/// Commands that acknowledge a requested action.
const ACKNOWLEDGEMENTS: [&str; 4] = ["done", "完成", "已完成", "完成了"];
const APPROVALS: [&str; 6] = ["y", "yes", "j", "ja", "是", "好"];
const DENIALS: [&str; 5] = ["n", "no", "nein", "否", "不"];

impl Request {
    /// Returns what is asked.
    pub(crate) fn message(&self) -> &str {
        match self {
            Request::Question { message }
            | Request::ManualAction { message }
            | Request::Approval { message, .. } => message,
        }
    }

    /// Returns the resource name of the approval, or an empty name.
    pub(crate) fn approval(&self) -> &str {
        match self {
            Request::Approval { name, .. } => name,
            _ => "",
        }
    }

    /// Returns the request with the prompt after which the person types.
    pub(crate) fn prompt(&self, language: Language) -> String {
        let prompt = match self {
            Request::Question { .. } => Message::PromptAnswer,
            Request::ManualAction { .. } => Message::PromptDone,
            Request::Approval { .. } => Message::PromptApprove,
        };
        format!("  ? {}\n    {}: ", self.message(), prompt.text(language))
    }

    /// Returns the command that answers the request from elsewhere.
    pub(crate) fn hint(&self, task: &str, flags: &str, language: Language) -> String {
        let hint = match self {
            Request::Approval { name, .. } => Message::HintApprove {
                approval: name,
                flags,
            },
            _ => Message::HintAnswer { task, flags },
        };
        hint.text(language)
    }

    /// Returns why a line does not answer the request; `None` for an empty line, which needs no reason.
    pub(crate) fn unclear(&self, line: &str, language: Language) -> Option<String> {
        let is_unclear = matches!(self, Request::Approval { .. }) && !line.is_empty();
        is_unclear.then(|| Message::PromptAnswerUnclear { line }.text(language))
    }

    /// Interprets a line without surrounding white space.
    pub(crate) fn reply(&self, line: &str) -> PromptReply {
        if line.is_empty() {
            return PromptReply::Repeat;
        }
        match self {
            Request::Question { .. } => PromptReply::Words(line.to_owned()),
            Request::ManualAction { .. } if is_one_of(line, &ACKNOWLEDGEMENTS) => {
                PromptReply::Acknowledge
            }
            Request::ManualAction { .. } => PromptReply::Words(line.to_owned()),
            Request::Approval { .. } => approval_reply(line),
        }
    }
}

/// Interprets the answer to an approval: one word, and after "no" a reason. Anything else is neither.
fn approval_reply(line: &str) -> PromptReply {
    let (word, rest) = line
        .split_once(|c: char| c.is_whitespace() || matches!(c, ',' | '，' | ':' | '：'))
        .unwrap_or((line, ""));
    if is_one_of(word, &DENIALS) {
        return PromptReply::Deny(rest.trim().to_owned());
    }
    if is_one_of(word, &APPROVALS) && rest.is_empty() {
        return PromptReply::Approve;
    }
    PromptReply::Repeat
}

fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_command_acknowledges() {
        let message = || "Log in".to_owned();
        let asked = Request::ManualAction { message: message() };
        let check =
            |line: &str, expected: PromptReply| assert_eq!(asked.reply(line), expected, "{line}");
        check("", PromptReply::Repeat);
        check("done", PromptReply::Acknowledge);
        check("Done", PromptReply::Acknowledge);
        check("完成", PromptReply::Acknowledge);
        check("I cannot", PromptReply::Words("I cannot".into()));
        let question = Request::Question { message: message() };
        assert_eq!(question.reply(""), PromptReply::Repeat);
        assert_eq!(question.reply("done"), PromptReply::Words("done".into()));
    }

    #[test]
    fn an_approval_is_given_in_a_clear_word_only() {
        let asked = Request::Approval {
            message: "Pay".into(),
            name: "tasks/a/approvals/1".into(),
            safety_checks: Vec::new(),
        };
        let check =
            |line: &str, expected: PromptReply| assert_eq!(asked.reply(line), expected, "{line}");
        for unclear in ["", "maybe", "yes, but only the first", "yesterday"] {
            check(unclear, PromptReply::Repeat);
        }
        let reason = asked.unclear("maybe", Language::English);
        let reason = reason.unwrap_or_default();
        assert!(
            reason.contains("maybe") && reason.contains("`yes`"),
            "{reason}"
        );
        assert_eq!(asked.unclear("", Language::English), None);
        check("y", PromptReply::Approve);
        check("YES", PromptReply::Approve);
        check("是", PromptReply::Approve);
        check("no", PromptReply::Deny(String::new()));
        check(
            "no, the other one",
            PromptReply::Deny("the other one".into()),
        );
    }

    #[test]
    fn a_hint_has_the_flags_that_it_needs() {
        let asked = Request::Question {
            message: "Which?".into(),
        };
        let hint = asked.hint("tasks/a", " --server http://b:1", Language::English);
        assert!(
            hint.contains("`motorium tasks answer tasks/a \"…\" --server http://b:1`"),
            "{hint}"
        );
    }
}
