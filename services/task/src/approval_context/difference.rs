//! Differences between the surroundings of a target as they were approved and as they are now, and the words for them.

use motorium_messages::{Language, Message};
use motorium_text::values;

use super::ApprovalContext;
use crate::shortened::shortened;
use crate::shown_text::folded;

/// Maximum number of characters of a text in a message.
const MAX_QUOTED_CHARS: usize = 60;

/// A difference between two looks at the surroundings of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextChange {
    Window { before: String, now: String },
    Page { before: String, now: String },
    Amount { before: String, now: String },
    Recipient { before: String, now: String },
    Target { before: String, now: String },
    Text { before: String, now: String },
}

/// Strictness of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Any text counts.
    Full,
    /// Further texts do not count, such as a tooltip of the pointer. Further values do.
    WithPointer,
    /// Texts count only on the target. For an action that no person has approved.
    TargetAndValues,
}

impl ApprovalContext {
    /// Returns true if the words of the target are the same, or it has none, like a check box with its words beside it.
    #[must_use]
    pub fn has_same_target_text(&self, now: &Self) -> bool {
        joined(&self.target_texts) == joined(&now.target_texts)
    }

    /// Returns true if the target has words.
    #[must_use]
    pub fn has_target_text(&self) -> bool {
        !joined(&self.target_texts).is_empty()
    }

    /// Returns the first difference that matters, the most telling first.
    #[must_use]
    pub fn difference(&self, now: &Self, comparison: Comparison) -> Option<ContextChange> {
        let named = |application: &str, title: &str| match (application, title) {
            ("", title) => title.to_owned(),
            (application, "") => application.to_owned(),
            (application, title) => format!("{title} ({application})"),
        };
        if self.application != now.application
            || plain_title(&self.window_title) != plain_title(&now.window_title)
        {
            return Some(ContextChange::Window {
                before: named(&self.application, &self.window_title),
                now: named(&now.application, &now.window_title),
            });
        }
        if self.page_origin != now.page_origin {
            return Some(ContextChange::Page {
                before: self.page_origin.clone(),
                now: now.page_origin.clone(),
            });
        }
        if sorted(&self.recipients) != sorted(&now.recipients) {
            let (before, now) = changed_items(&self.recipients, &now.recipients);
            return Some(ContextChange::Recipient { before, now });
        }
        if sorted(&self.amounts) != sorted(&now.amounts) {
            let (before, now) = changed_items(&self.amounts, &now.amounts);
            return Some(ContextChange::Amount { before, now });
        }
        if joined(&self.target_texts) != joined(&now.target_texts) {
            let (before, now) = changed_items(&self.target_texts, &now.target_texts);
            return Some(ContextChange::Target { before, now });
        }
        let texts = [(&self.question, &now.question), (&self.texts, &now.texts)];
        let changed = texts
            .into_iter()
            .find(|(before, now)| !reads_alike(before, now, comparison));
        changed.map(|(before, now)| {
            let (before, now) = changed_items(before, now);
            ContextChange::Text { before, now }
        })
    }
}

/// Returns a window's title without times and the number of unread messages in brackets, which change by themselves.
fn plain_title(title: &str) -> String {
    let title = title.trim_start();
    let counted = title
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'));
    let without_count =
        counted.filter(|(count, _)| count.chars().all(|digit| digit.is_ascii_digit()));
    plain(without_count.map_or(title, |(_, rest)| rest))
}

/// Returns the letters and digits of a text, without times. Text recognition confuses some letters and adds signs for carets and
/// icons.
fn plain(text: &str) -> String {
    let text = folded(&values::without_times(text));
    let letters = text.chars().filter(|character| character.is_alphanumeric());
    let alike = letters.map(|character| match character {
        'i' | '1' => 'l',
        'o' => '0',
        other => other,
    });
    alike.collect()
}

fn joined(texts: &[String]) -> String {
    texts.iter().map(|text| plain(text)).collect()
}

fn sorted(texts: &[String]) -> Vec<&String> {
    let mut texts: Vec<&String> = texts.iter().collect();
    texts.sort();
    texts
}

/// Returns true if texts read alike one after the other: text recognition may divide lines otherwise.
fn reads_alike(before: &[String], now: &[String], comparison: Comparison) -> bool {
    if joined(before) == joined(now) || comparison == Comparison::TargetAndValues {
        return true;
    }
    if comparison == Comparison::Full {
        return false;
    }
    let mut left = now.iter().map(|text| plain(text));
    let mut wanted = before
        .iter()
        .map(|text| plain(text))
        .filter(|text| !text.is_empty());
    wanted.all(|text| left.any(|other| other == text))
}

/// Returns what only the first list has and what only the second one has, each as one text.
fn changed_items(before: &[String], now: &[String]) -> (String, String) {
    let only = |these: &[String], those: &[String]| {
        let mut left: Vec<String> = those.iter().map(|text| folded(text)).collect();
        let rest = these.iter().filter(|text| {
            let known = left.iter().position(|other| *other == folded(text));
            known.map(|at| left.swap_remove(at)).is_none()
        });
        rest.map(String::as_str).collect::<Vec<_>>().join(" · ")
    };
    (only(before, now), only(now, before))
}

impl ContextChange {
    /// Returns the difference in words for the approver and the planner.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let quoted = |text: &str| match text {
            "" => Message::ListEmpty.text(language),
            text => {
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let text = &shortened(&text, MAX_QUOTED_CHARS);
                Message::QuotedLabel { text }.text(language)
            }
        };
        let (Self::Window { before, now }
        | Self::Page { before, now }
        | Self::Amount { before, now }
        | Self::Recipient { before, now }
        | Self::Target { before, now }
        | Self::Text { before, now }) = self;
        let (before, now) = (&quoted(before), &quoted(now));
        let message = match self {
            Self::Window { .. } => Message::ApprovalWindowChanged { before, now },
            Self::Page { .. } => Message::ApprovalPageChanged { before, now },
            Self::Amount { .. } => Message::ApprovalAmountChanged { before, now },
            Self::Recipient { .. } => Message::ApprovalRecipientChanged { before, now },
            Self::Target { .. } => Message::ApprovalTargetChanged { before, now },
            Self::Text { .. } => Message::ApprovalTextChanged { before, now },
        };
        message.text(language)
    }
}
