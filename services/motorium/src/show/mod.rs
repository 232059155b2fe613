//! What a person sees on a terminal: progress of a task, lists, tables. Pure formatting; printing is the caller's.

pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod table;

/// Columns that the description of an action may take, so that a line or a row has about a hundred.
const DESCRIPTION: usize = 60;

/// A description without its middle, if it is long: what is done stands at its beginning, where at its end.
pub(crate) fn shortened(text: &str) -> String {
    let columns = |text: &str| text.chars().map(columns_of).sum::<usize>();
    if columns(text) <= DESCRIPTION {
        return text.to_owned();
    }
    let beginning = within(text.chars(), DESCRIPTION * 2 / 3);
    let end: String = within(text.chars().rev(), DESCRIPTION / 3)
        .chars()
        .rev()
        .collect();
    format!("{}…{}", beginning.trim_end(), end.trim_start())
}

/// The first characters that fit into so many columns.
fn within(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += columns_of(*character);
            used < columns
        })
        .collect()
}

/// Columns that a terminal gives a character: two from the East Asian scripts on.
fn columns_of(character: char) -> usize {
    if character < '\u{1100}' { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_long_description_keeps_its_beginning_and_its_end() {
        let check = |text: &str, expected: &str| assert_eq!(shortened(text), expected);
        check(r#"click "Save""#, r#"click "Save""#);
        check(
            &format!(r#"type "{}" into "Name""#, "word ".repeat(20)),
            r#"type "word word word word word word wor…word " into "Name""#,
        );
        check(
            &format!("在“姓名”中输入“{}”", "长".repeat(40)),
            "在“姓名”中输入“长长长长长长长长长长…长长长长长长长长”",
        );
    }
}
