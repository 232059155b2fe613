//! Comparison of texts with what a screen shows: whole words of one element, or of lines right below each other.
//!
//! Pure. It decides neither which texts are evidence nor whether a task is done: `completion` does.

use motorium_proto::domain::element::Element;
use motorium_text::characters::is_ideograph;
use motorium_text::fold::width_and_case;
use motorium_text::numbers::goes_on;

/// Returns a text in lower case, in one width and without spaces, for comparison. Text recognition does not return either reliably.
#[must_use]
pub fn folded(text: &str) -> String {
    width_and_case(text)
        .filter(|character| !character.is_whitespace())
        .collect()
}

/// A text without spaces, and where its words and numbers end.
#[derive(Default)]
struct Characters {
    characters: Vec<char>,
    /// True where a word may begin or end: before each character.
    boundaries: Vec<bool>,
    /// True before each character that belongs to another number than the digit before it.
    is_other_number: Vec<bool>,
}

impl Characters {
    fn add(&mut self, text: &str) {
        let all: Vec<char> = width_and_case(text).collect();
        let mut before = None;
        for (at, &character) in all.iter().enumerate() {
            if !character.is_whitespace() {
                let follows_space = before.is_none_or(char::is_whitespace);
                let last = self.characters.last();
                let joins_digits = character.is_ascii_digit()
                    && follows_space
                    && last.is_some_and(char::is_ascii_digit);
                self.is_other_number
                    .push(joins_digits && !goes_on(&all, at));
                self.boundaries
                    .push(before.is_none_or(|before| !is_within_word(before, character)));
                self.characters.push(character);
            }
            before = Some(character);
        }
    }
}

/// Returns true if the texts, read one after the other, contain these words: whole words, in any case, width and spacing. A text
/// that ends within a longer word is not contained: "saved" is not in "Unsaved". Neither are numbers taken together that stand apart:
/// "Part 25" is not in "Part 2 5.00".
pub fn contains_words<'a>(texts: impl IntoIterator<Item = &'a str>, wanted: &str) -> bool {
    let mut sought = Characters::default();
    sought.add(wanted);
    let mut shown = Characters::default();
    for text in texts {
        shown.add(text);
    }
    shown.boundaries.push(true);
    let length = sought.characters.len();
    let mut windows = shown.characters.windows(length.max(1)).enumerate();
    windows.any(|(at, found)| {
        let ends = shown.boundaries[at] && shown.boundaries[at + length];
        let numbers = shown.is_other_number[at..at + length].iter();
        let numbers = numbers.zip(&sought.is_other_number).skip(1);
        found == sought.characters
            && ends
            && numbers.into_iter().all(|(shown, sought)| !shown || *sought)
    })
}

/// Maximum number of lines over which a text may run. A paragraph in a dialog is rarely longer, and every line costs a comparison.
const MAX_LINES: usize = 8;

/// Returns true if one element contains these words, or vertically adjacent lines do, read one after the other.
#[must_use]
pub fn shows_words(elements: &[Element], wanted: &str) -> bool {
    elements.iter().any(|first| {
        let mut lines = vec![first];
        loop {
            if contains_words(lines.iter().map(|line| line.content.as_str()), wanted) {
                return true;
            }
            match line_below(lines[lines.len() - 1], elements) {
                Some(next) if lines.len() < MAX_LINES => lines.push(next),
                _ => return false,
            }
        }
    })
}

/// Returns the line of text right below an element, if there is one that may continue it.
fn line_below<'a>(line: &Element, elements: &'a [Element]) -> Option<&'a Element> {
    let below = elements.iter().filter(|next| continues(line, next));
    below.min_by(|a, b| a.bounds.min.y.total_cmp(&b.bounds.min.y))
}

/// Returns true if `next` may be the next line of the text that `line` belongs to.
fn continues(line: &Element, next: &Element) -> bool {
    let (line, below) = (&line.bounds, &next.bounds);
    let heights = [line.height(), below.height()];
    let lower = heights[0].min(heights[1]);
    let gap = below.min.y - line.max.y;
    let shared = line.max.x.min(below.max.x) - line.min.x.max(below.min.x);
    let narrower = line.width().min(below.width());
    !next.content.trim().is_empty()
        // Lines of one text have one size, but the box of a line without ascenders is up to a half lower.
        && heights[0].max(heights[1]) <= 2.0 * lower
        // Boxes of lines may overlap a little; double line spacing leaves a gap as high as the line.
        && gap > -0.5 * lower
        && gap <= lower
        // The last line of a paragraph is short, and the lines of a centred one begin at other places.
        && shared >= 0.5 * narrower
}

/// Returns true if no word ends between two characters.
fn is_within_word(before: char, after: char) -> bool {
    let is_letter = |character: char| character.is_alphanumeric() && !is_ideograph(character);
    is_letter(before) && is_letter(after)
}

/// Returns true if a text is long enough to be evidence. A single letter or digit is on nearly every screen, and a full stop or
/// quotation marks do not make it longer.
#[must_use]
pub fn is_telling(text: &str) -> bool {
    const MARKS: &str = ".,;:!?…。、·'\"`‘’“”「」『』";
    let characters = folded(text);
    let telling = characters.chars().filter(|it| !MARKS.contains(*it));
    telling.count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::element;

    #[test]
    fn only_whole_words_are_contained() {
        let contains = |text: &str, wanted: &str| contains_words([text], wanted);
        assert!(!contains("Unsaved changes", "saved"));
        // A column beside it has another number.
        assert!(!contains("Part 2  5.00", "Part 25"));
        assert!(!contains("Part 2 5", "Part 25"));
        assert!(contains("Part 2 5", "Part 2 5"));
        assert!(contains("1 000 items", "1000 items"));
        assert!(contains("call 06 12 34 56 78", "0612345678"));
        assert!(!contains("Order 4512", "45"));
        assert!(contains("It is SAVED.", "saved"));
        assert!(contains("Form saved", "form  saved"));
        assert!(contains("Formsaved", "form saved"), "a space was not read");
        assert!(contains("文件已保存到桌面", "已保存"));
        assert!(contains("(3)", "(3)"));
        assert!(!contains("anything", ""));
        assert!(contains_words(["Your order", "is on its way"], "order is"));
        assert!(!contains_words(["sa", "ved"], "av"));
    }

    #[test]
    fn words_of_one_text_are_shown_and_words_from_all_over_the_screen_are_not() {
        let screen = [
            element("Unsaved changes", [0.1, 0.10, 0.4, 0.12]),
            element("Not", [0.5, 0.10, 0.55, 0.12]),
            element("Your order is on its", [0.1, 0.30, 0.4, 0.32]),
            element("way to you", [0.1, 0.33, 0.25, 0.35]),
            element("since today.", [0.1, 0.36, 0.25, 0.38]),
            element("Everything", [0.6, 0.30, 0.7, 0.32]),
            element("paid", [0.6, 0.60, 0.7, 0.62]),
            element("文件已保存", [0.1, 0.70, 0.3, 0.72]),
            element("到桌面", [0.1, 0.73, 0.2, 0.75]),
        ];
        let shown = [
            "unsaved changes",
            "ORDER is on",
            "on its way",
            "on its way to you since today",
            "已保存",
            "保存到桌",
        ];
        for text in shown {
            assert!(shows_words(&screen, text), "{text}");
        }
        let not_shown = [
            "saved",
            "saved changes",
            "changes not",
            "its way everything",
            "everything paid",
            "way since",
            "文件到桌面",
            "",
        ];
        for text in not_shown {
            assert!(!shows_words(&screen, text), "{text}");
        }
    }

    #[test]
    fn a_text_in_a_table_is_read_down_its_own_column() {
        let table = [
            element("Ann", [0.1, 0.1, 0.2, 0.12]),
            element("paid", [0.3, 0.1, 0.4, 0.12]),
            element("Bob", [0.1, 0.13, 0.2, 0.15]),
            element("open", [0.3, 0.13, 0.4, 0.15]),
        ];
        assert!(!shows_words(&table, "Bob paid"));
        assert!(!shows_words(&table, "paid Bob"));
    }
}
