//! The part of the planner's intent that a press carries out.
//!
//! A press on a text field only moves the focus, and one on another control is the first step of the plan. Planners write the
//! whole plan as the intent (`Click the field to enter the name and press Submit`), and the rest of it is judged when it is done.
//! It does not decide what a text field is: perception does.

/// Words that name a text field, or entering text into it.
const ENTRY_WORDS: [&str; 17] = [
    "box", "enter", "entering", "field", "fields", "fill", "focus", "focuses", "input", "textarea",
    "textbox", "type", "typing", "write", "writing", "area", "bar",
];
/// The same in scripts without spaces.
const ENTRY_PHRASES: [&str; 10] = [
    "输入", "填写", "填入", "框", "栏", "聚焦", "輸入", "填寫", "文字", "欄",
];
/// Words that name another target. Perception may take it for a text field, so that the whole intent counts.
const OTHER_WORDS: [&str; 8] = [
    "button", "icon", "link", "symbol", "key", "buttons", "icons", "links",
];
const OTHER_PHRASES: [&str; 3] = ["按钮", "图标", "链接"];
/// Words and signs that begin the next part of a plan.
const CLAUSE_WORDS: [&str; 9] = [
    "and",
    "then",
    "to",
    "so",
    "before",
    "after",
    "afterwards",
    "later",
    "for",
];
const CLAUSE_PHRASES: [&str; 8] = ["然后", "之后", "接着", "以便", "再", "并", "然後", "之後"];
const CLAUSE_SIGNS: [char; 9] = [',', ';', ':', '.', '，', '；', '：', '。', '、'];

/// Words that begin a later step of a plan. `and` and `to` may name what the press itself does.
const LATER_WORDS: [&str; 5] = ["then", "afterwards", "later", "before", "after"];
const LATER_PHRASES: [&str; 10] = [
    "然后", "之后", "接着", "随后", "最后", "，再", "然後", "之後", "接著", "隨後",
];

/// Returns an intent up to its second step. An intent that begins with a later step counts completely.
pub(super) fn first_step(intent: &str) -> &str {
    let mut starts = intent.char_indices().map(|(index, _)| index);
    let end = starts.find(|index| {
        let (before, rest) = intent.split_at(*index);
        before.contains(char::is_alphanumeric) && begins_later_step(before, rest)
    });
    end.map_or(intent, |end| &intent[..end])
}

fn begins_later_step(before: &str, rest: &str) -> bool {
    let word = rest.split(|letter: char| !letter.is_alphanumeric()).next();
    let word = word.unwrap_or_default().to_lowercase();
    let is_word = before.ends_with(char::is_whitespace) && LATER_WORDS.contains(&word.as_str());
    is_word || LATER_PHRASES.iter().any(|phrase| rest.starts_with(phrase))
}

/// Returns the intent of a press on a text field up to the part that names the field. An intent that names none, or another
/// target, counts completely.
pub(super) fn intent_of_focusing(intent: &str) -> &str {
    let mut end = 0;
    for clause in clauses(intent) {
        end += clause.len();
        if names_entry(clause) {
            let focusing = &intent[..end];
            let is_other = mentions(focusing, &OTHER_WORDS, &OTHER_PHRASES);
            return if is_other { intent } else { focusing };
        }
    }
    intent
}

fn names_entry(text: &str) -> bool {
    mentions(text, &ENTRY_WORDS, &ENTRY_PHRASES)
}

fn mentions(text: &str, words: &[&str], phrases: &[&str]) -> bool {
    let text = text.to_lowercase();
    let mut own = text.split(|letter: char| !letter.is_alphanumeric());
    own.any(|word| words.contains(&word)) || phrases.iter().any(|phrase| text.contains(phrase))
}

/// Returns the parts of a plan. Together they are the text.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (clause, next) = rest.split_at(next_clause(rest));
        rest = next;
        Some(clause)
    })
}

/// Returns the position at which the second part begins, or the end of the text.
fn next_clause(text: &str) -> usize {
    let starts = text.char_indices().skip(1).map(|(index, _)| index);
    let mut starts = starts.filter(|index| begins_clause(&text[..*index], &text[*index..]));
    starts.next().unwrap_or(text.len())
}

fn begins_clause(before: &str, rest: &str) -> bool {
    let word = rest.split(|letter: char| !letter.is_alphanumeric()).next();
    let word = word.unwrap_or_default().to_lowercase();
    let is_word = before.ends_with(char::is_whitespace) && CLAUSE_WORDS.contains(&word.as_str());
    is_word
        || before.ends_with(CLAUSE_SIGNS)
        || CLAUSE_PHRASES.iter().any(|phrase| rest.starts_with(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(intent: &str, expected: &str) {
        assert_eq!(intent_of_focusing(intent).trim(), expected, "{intent}");
    }

    #[test]
    fn words_after_the_field_are_left_out() {
        check(
            "Click the text field to enter Ann and press Submit",
            "Click the text field",
        );
        check(
            "Focus the input, then type Ann and submit the form",
            "Focus the input,",
        );
        check(
            "Go to the search bar and buy the first result",
            "Go to the search bar",
        );
        check("点击输入框，输入姓名并提交", "点击输入框，");
        check(
            "Type Ann in the field and press Submit",
            "Type Ann in the field",
        );
    }

    #[test]
    fn the_first_step_ends_before_the_second() {
        let check = |intent: &str, expected: &str| {
            assert_eq!(first_step(intent).trim(), expected, "{intent}");
        };
        check("Read the log, then erase the job", "Read the log,");
        check("Copy the file before deleting it", "Copy the file");
        check("点击编辑，然后删除旧的号码", "点击编辑，");
        check("打开详情，再决定是否删除", "打开详情");
        for whole in [
            "Click Edit and delete it",
            "Press it to delete the file",
            "Then delete it",
            "然后删除它",
            "Authentication is removed",
            "再次删除",
        ] {
            check(whole, whole);
        }
    }

    #[test]
    fn an_intent_without_a_field_counts_completely() {
        for intent in [
            "",
            "delete the document",
            "click the bin icon to delete the message",
            "Click the icon beside the text field to delete it",
            "Press Submit and go on",
            "点击文本框旁的删除按钮",
            "提交表单",
        ] {
            check(intent, intent);
        }
    }

    #[test]
    fn a_risk_named_before_the_field_counts() {
        check(
            "Delete what is in the field and go on",
            "Delete what is in the field",
        );
    }
}
