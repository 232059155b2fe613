//! Reads the state of controls again after an action: the text that a field shows, and whether a box is checked.
//!
//! It does not judge whether an action had an effect; it only tells what the screen shows where the action went.

use std::collections::HashSet;

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::geometry::{gap, is_same_element, on_one_row};
use super::screen_index::{IndexedElement, ScreenIndex};
use super::text_match::{FoldedText, MatchTier, compare};
use crate::calendar::{CalendarValue, numbers_shown};

/// Minimum length of a part of an entered text that counts as the text: a field shows only the part that fits into it.
const MIN_VISIBLE_PART_CHARS: usize = 8;
/// Share of a line's runs of three characters below which it is not among the lines that a field shows. Of a line in which every
/// tenth character is misread, more than half are left.
const MIN_SHARED_RUNS: f64 = 0.4;
/// Resemblance above which a text is what a field showed before: one of five characters may be read otherwise.
const MIN_FORMER_RESEMBLANCE: f64 = 0.8;
/// Minimum number of characters that are a part of a former text, unless they are all of it.
const MIN_LEFT_CHARS: usize = 3;
/// Minimum number of characters that a field has left out. Reading loses a single one now and then.
const MIN_LOST_CHARS: usize = 2;
/// Maximum number of characters of a unit that a field shows behind its number: `km/h`, `USD`.
const MAX_UNIT_CHARS: usize = 4;
/// Resemblance below which a shown text cannot be a misreading of the entered one. Text recognition at 11 px still reads
/// more than half of the characters.
const MAX_OTHER_RESEMBLANCE: f64 = 0.4;
/// Maximum number of different characters of a masked text: its dots are read as one or two letters.
const MAX_MASK_CHARACTERS: usize = 2;

/// Width of a character in heights of its field. Letters of common fonts take less than 0.3 of a field with the usual margins;
/// a higher field, such as one of several lines, counts as one with less room.
const MAX_CHARACTER_WIDTH: f64 = 0.4;
/// Share of a field's width that a text fills at most if the field has room for more: beside it may be a button or a unit.
const MAX_FILLED_WIDTH: f64 = 0.75;

/// Maximum distance of a slider's value from it, in heights of the slider.
// Farther numbers belong to something else.
const MAX_VALUE_DISTANCE: f64 = 4.0;
/// Bound of the numbers that are read beside a slider. Longer ones are not its value.
const MAX_SHOWN_NUMBER: f64 = 1e6;

/// The text that a field shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextAtField<'a> {
    value: &'a str,
    /// Number of characters for which the field certainly has room.
    room: usize,
}

impl<'a> TextAtField<'a> {
    /// Returns the text; empty for a placeholder.
    #[must_use]
    pub fn value(&self) -> &'a str {
        self.value
    }

    /// Returns whether the field shows no letter and no digit, but for what may be a caret.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        without_caret(self.value).any(|shown| plain(shown).is_empty())
    }

    /// Returns whether the field shows the text, formatted or in part.
    #[must_use]
    pub fn holds(&self, text: &str) -> bool {
        let (shown, entered) = (plain(self.value), plain(text));
        if entered.is_empty() {
            return self.value.contains(text.trim());
        }
        if self.is_completed(text) || self.is_longer_number(text) || self.has_lost_point(text) {
            return false;
        }
        let is_part = entered.contains(&shown)
            && shown.chars().count() >= MIN_VISIBLE_PART_CHARS
            && !self.is_cut_off(&shown, &entered);
        let matches = compare(&FoldedText::new(text), &FoldedText::new(self.value));
        let is_alike = matches
            .first()
            .is_some_and(|likeness| likeness.tier >= MatchTier::LookAlike);
        let is_same_value = |value: CalendarValue<'_>| value.is_shown_as(self.value);
        let is_form =
            self.is_same_number(text) || CalendarValue::parse(text).is_some_and(is_same_value);
        shown.contains(&entered) || is_part || is_alike || is_form
    }

    /// Returns whether the field shows another text that cannot be a form or a misreading of this one. Texts that cannot be
    /// compared (masked ones, a field that shows nothing readable) do not differ.
    #[must_use]
    pub fn differs_from(&self, text: &str) -> bool {
        let (shown, entered) = (plain(self.value), plain(text));
        if shown.is_empty() || entered.is_empty() || self.holds(text) {
            return false;
        }
        if text.contains('\n') {
            return !is_masked(&shown) && self.lacks_lines_of(text);
        }
        if self.is_completed(text) {
            return true;
        }
        match CalendarValue::parse(text) {
            Some(date @ CalendarValue::Date(_)) => {
                let (date, shown) = (date.numbers(), numbers_shown(self.value));
                let is_complete = shown.len() >= date.len();
                return is_complete
                    || has_empty_part(self.value)
                    || !shown.iter().all(|one| is_part_of(*one, &date));
            }
            // All of its parts are short, so that none of them is left out by reading alone.
            Some(_) => return true,
            None => {}
        }
        if self.has_lost_point(text)
            || self.is_cut_off(&shown, &entered)
            || self.lacks_refused(&shown, &entered)
        {
            return true;
        }
        if number(text).is_some() && number(self.value).is_some() {
            return true;
        }
        let is_of_digits = entered.chars().all(|c| c.is_ascii_digit());
        let resemblance = strsim::normalized_damerau_levenshtein(&shown, &entered);
        !is_of_digits && !is_masked(&shown) && resemblance < MAX_OTHER_RESEMBLANCE
    }

    /// Returns whether the field shows a text that cannot have come from this one, such as its former content. An application
    /// that is busy shows that for a while.
    #[must_use]
    pub fn is_unrelated_to(&self, text: &str) -> bool {
        // The parts of a date come one after the other, and each may go elsewhere.
        self.differs_from(text)
            && !is_calendar_value(text)
            && !plain(self.value).contains(&plain(text))
    }

    /// Returns whether the field still shows its former text, or a part of it.
    #[must_use]
    pub fn is_left_of(&self, former: &str) -> bool {
        let folded = plain(former);
        // A caret is read as a letter, and a short placeholder may be a part of any text.
        let is_part = without_caret(self.value).map(plain).any(|shown| {
            shown == folded || shown.chars().count() >= MIN_LEFT_CHARS && folded.contains(&shown)
        });
        is_part || self.holds(former)
    }

    /// Returns whether the field shows its former content together with the text that was to replace it, joined to one word. A label
    /// in the field stands apart from the text.
    #[must_use]
    pub fn keeps(&self, former: &str, text: &str) -> bool {
        if self.is_same_number(text) || is_calendar_value(text) {
            return false;
        }
        // A caret at the end of either may be read as a letter.
        without_caret(former).any(|former| {
            let mut shown = without_caret(self.value);
            shown.any(|shown| joins(shown, &plain(former), text))
        })
    }

    /// Returns whether a line of a text of several is completed in the field, or is missing between others that it shows, or none is
    /// there. Lines before and after those may be out of view, and short ones are on every screen.
    fn lacks_lines_of(&self, text: &str) -> bool {
        let is_long = |line: &&str| plain(line).chars().count() >= MIN_VISIBLE_PART_CHARS;
        let lines: Vec<&str> = text.lines().filter(is_long).collect();
        if lines.iter().any(|line| self.goes_on(line)) {
            return true;
        }
        let runs = runs(&plain(self.value));
        let is_shown = |line: &&str| {
            let own = self::runs(&plain(line));
            let shared = own.intersection(&runs).count();
            shared as f64 >= MIN_SHARED_RUNS * own.len() as f64
        };
        let shown: Vec<bool> = lines.iter().map(is_shown).collect();
        let first = shown.iter().position(|is_shown| *is_shown);
        let last = shown.iter().rposition(|is_shown| *is_shown);
        match first.zip(last) {
            Some((first, last)) => shown[first..=last].contains(&false),
            None => !shown.is_empty(),
        }
    }

    /// Returns whether the field has completed the text: the word goes on ("Lis" became "Lisbon"), or brackets were added at its end.
    fn is_completed(&self, text: &str) -> bool {
        // Editors close what was opened. A closing bracket after other texts is the caret, misread.
        let opens = text.contains(['(', '[', '{']);
        let added = opens && closing_brackets(self.value) > closing_brackets(text);
        self.goes_on(text) || added && plain(self.value) == plain(text)
    }

    /// Returns whether the last word of a text goes on wherever the text stands.
    fn goes_on(&self, text: &str) -> bool {
        let mut occurrences = occurrences(self.value, text).peekable();
        occurrences.peek().is_some() && !occurrences.any(|is_alone| is_alone)
    }

    /// Returns whether it shows a number that goes on with what may be a caret: `41` for `4`.
    fn is_longer_number(&self, text: &str) -> bool {
        let are_numbers = number(text).is_some() && number(self.value).is_some();
        are_numbers && self.may_end_in_caret(text)
    }

    /// Returns whether the text goes on with what may be a caret. It blinks, so another look tells.
    #[must_use]
    pub fn may_end_in_caret(&self, text: &str) -> bool {
        let rest = self.value.trim().strip_prefix(text.trim());
        rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| is_like_caret(&c)))
    }

    /// Returns whether the field has taken only the beginning, although it has room for more: it limits the length.
    fn is_cut_off(&self, shown: &str, entered: &str) -> bool {
        let length = shown.chars().count();
        entered.starts_with(shown) && length < entered.chars().count() && length < self.room
    }

    /// Returns whether the field, which has room for more, has left characters out. Reading loses single ones, and not several, or all
    /// those of one kind.
    fn lacks_refused(&self, shown: &str, entered: &str) -> bool {
        let length = shown.chars().count();
        let missing = entered.chars().count().saturating_sub(length);
        let mut rest = entered.chars();
        let is_in_order = shown
            .chars()
            .all(|wanted| rest.any(|found| found == wanted));
        let (digits, others): (String, String) = entered.chars().partition(char::is_ascii_digit);
        let is_of_a_kind = shown == digits || shown == others;
        let has_lost = missing >= MIN_LOST_CHARS && is_in_order || missing > 0 && is_of_a_kind;
        (MIN_LEFT_CHARS..self.room).contains(&length) && has_lost
    }

    /// Returns whether the digits of an entered decimal number are there without its point: 1,250 for 12.50.
    fn has_lost_point(&self, text: &str) -> bool {
        let text = text.trim();
        let decimals = text.rsplit_once(['.', ',']).map(|(_, after)| after.len());
        let Some(decimals) = decimals.filter(|decimals| (1..=2).contains(decimals)) else {
            return false;
        };
        let digits = |text: &str| {
            text.chars()
                .filter(char::is_ascii_digit)
                .collect::<String>()
        };
        let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit() || ".,".contains(c));
        is_number(text)
            && without_caret(self.value.trim()).any(|shown| {
                let point = shown.rsplit_once(['.', ',']);
                let has_point = point.is_some_and(|(_, after)| after.len() == decimals);
                is_number(shown) && digits(shown) == digits(text) && !has_point
            })
    }

    fn is_same_number(&self, text: &str) -> bool {
        number(text).is_some() && number(text) == number(self.value)
    }
}

impl ScreenIndex<'_> {
    /// Returns the text of the field with about this box, in capture pixels; `None` if no field is recognised there.
    #[must_use]
    pub fn text_in_field(&self, bounds: CaptureRect) -> Option<TextAtField<'_>> {
        let is_field = |item: &&IndexedElement<'_>| {
            (item.is_field() || item.may_be_field()) && is_same_element(item.bounds, bounds)
        };
        let field = self.items.iter().find(is_field)?;
        let is_placeholder = field.element.state.placeholder == Some(true);
        Some(TextAtField {
            value: if is_placeholder { "" } else { field.content() },
            room: room(field.bounds),
        })
    }

    /// Returns the text that is shown at a point, such as that of a table's cell, whether or not it is a field; `None` if there is none.
    #[must_use]
    pub fn text_at(&self, point: CapturePoint) -> Option<TextAtField<'_>> {
        let holds_text = |item: &&IndexedElement<'_>| {
            item.has_visible_text() && item.element_bounds.contains(point)
        };
        let items = self.items.iter().filter(holds_text);
        // A row contains its cells.
        let cell = items.min_by_key(|item| i64::from(item.bounds.area()))?;
        Some(TextAtField {
            value: cell.content(),
            room: room(cell.bounds),
        })
    }

    /// Returns the number that stands beside a slider with this box: on its row, nearest to it.
    #[must_use]
    pub fn number_beside(&self, bounds: CaptureRect) -> Option<i64> {
        let reach = f64::from(bounds.height()) * MAX_VALUE_DISTANCE;
        let numbers = self.items.iter().filter_map(|item| {
            let text = item.content().trim().trim_end_matches('%').trim_end();
            let number = text.parse::<f64>().ok()?;
            let distance = gap(item.bounds, bounds);
            let is_beside = on_one_row(item.bounds, bounds) && distance <= reach;
            is_beside.then_some((distance, number))
        });
        let (_, number) = numbers.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let is_whole = number.fract() == 0.0 && number.abs() < MAX_SHOWN_NUMBER;
        is_whole.then_some(whole(number))
    }

    /// Returns whether a text field is at a point.
    #[must_use]
    pub fn is_field_at(&self, point: CapturePoint) -> bool {
        let mut fields = self.items.iter().filter(|item| item.is_field());
        fields.any(|item| item.bounds.contains(point))
    }

    /// Returns the state of the row of a list or a table at a point: selected or not, if that is known. `None` if there is no row.
    #[must_use]
    pub fn row_selection_at(&self, point: CapturePoint) -> Option<Option<bool>> {
        let is_row =
            |kind: ElementKind| matches!(kind, ElementKind::ListItem | ElementKind::TableRow);
        let rows = self.items.iter().filter(|item| is_row(item.kind()));
        let mut at_point = rows.filter(|item| item.bounds.contains(point));
        at_point.next().map(|item| item.element.state.selected)
    }

    /// Returns the checked state of the toggle at a point; `None` if it is unknown.
    #[must_use]
    pub fn checked_at(&self, point: CapturePoint) -> Option<bool> {
        let mut toggles = self.items.iter().filter(|item| item.is_toggle());
        toggles
            .find(|item| item.bounds.contains(point))
            .and_then(|item| item.element.state.checked)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is whole and below its bound"
)]
fn whole(number: f64) -> i64 {
    number as i64
}

/// Returns a number of characters for which a field with this box certainly has room.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the width of a field"
)]
fn room(bounds: CaptureRect) -> usize {
    let character = f64::from(bounds.height().max(1)) * MAX_CHARACTER_WIDTH;
    (f64::from(bounds.width().max(0)) * MAX_FILLED_WIDTH / character) as usize
}

/// Returns the letters and digits of a text, folded.
fn plain(text: &str) -> String {
    let characters = text.chars().flat_map(char::to_lowercase);
    characters.filter(|c| c.is_alphanumeric()).collect()
}

/// Returns for each place where a text stands in another, compared by letters and digits, whether its last word or number ends
/// there. What stands before it may have been in the field already.
fn occurrences(within: &str, text: &str) -> impl Iterator<Item = bool> {
    let characters: Vec<char> = within.chars().collect();
    let compared = compared(&characters);
    let ends: Vec<usize> = places(&compared, text)
        .map(|(_, end)| compared[end - 1].0)
        .collect();
    ends.into_iter().map(move |end| {
        let rest = &characters[end + 1..];
        let is_joined = |next: &char| is_one_word(characters[end], *next);
        let goes_on = rest.first().is_some_and(is_joined) && !rest.iter().all(is_like_caret);
        !goes_on
    })
}

/// Returns the letters and digits of a text, folded, each with its index.
fn compared(characters: &[char]) -> Vec<(usize, char)> {
    let characters = characters.iter().enumerate();
    let folded = characters.flat_map(|(at, c)| c.to_lowercase().map(move |lower| (at, lower)));
    folded.filter(|(_, c)| c.is_alphanumeric()).collect()
}

/// Returns where a text stands among folded characters: the index of its first one, and that after its last one.
fn places(compared: &[(usize, char)], text: &str) -> impl Iterator<Item = (usize, usize)> {
    let wanted: Vec<char> = plain(text).chars().collect();
    let last = match wanted.len() {
        0 => 0,
        length => (compared.len() + 1).saturating_sub(length),
    };
    (0..last).filter_map(move |start| {
        let end = start + wanted.len();
        let place = compared.get(start..end)?;
        let is_there = place.iter().map(|(_, c)| c).eq(&wanted);
        is_there.then_some((start, end))
    })
}

/// Returns the runs of three characters in a text.
fn runs(plain: &str) -> HashSet<[char; 3]> {
    let characters: Vec<char> = plain.chars().collect();
    characters
        .windows(3)
        .map(|run| [run[0], run[1], run[2]])
        .collect()
}

/// Returns whether nothing stands between two characters of a text, and both belong to one word, or are of a script that is written
/// without spaces.
fn is_seamless(characters: &[char], left: usize, right: usize) -> bool {
    let is_uncased = |c: char| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase();
    let (first, second) = (characters[left], characters[right]);
    right == left + 1 && (is_one_word(first, second) || is_uncased(first) && is_uncased(second))
}

/// Returns a text as it was read, and without what may be a caret at its end.
fn without_caret(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim_end();
    let end = text.char_indices().next_back();
    let rest = end
        .filter(|(_, c)| is_like_caret(c))
        .map(|(at, _)| &text[..at]);
    std::iter::once(text).chain(rest)
}

/// Returns whether a shown text is the former one and a new one in it, joined to one word. The former one is folded.
fn joins(shown: &str, former: &str, text: &str) -> bool {
    let characters: Vec<char> = shown.chars().collect();
    let compared = compared(&characters);
    let is_joined = |at: usize| {
        let (left, right) = (compared.get(at.wrapping_sub(1)), compared.get(at));
        left.zip(right).is_some_and(|(left, right)| {
            // A short text after a number may be its unit: `12kg`.
            let is_adjacent = right.0 == left.0 + 1;
            // No unit begins with a digit.
            let may_be_unit = former.chars().count() <= MAX_UNIT_CHARS
                && !former.starts_with(|c: char| c.is_ascii_digit());
            let touches = is_adjacent && !may_be_unit;
            touches || is_seamless(&characters, left.0, right.0)
        })
    };
    let is_former = |rest: &str| {
        let resemblance = strsim::normalized_damerau_levenshtein(rest, former);
        // All of it: what is shorter has lost the part that was selected.
        let is_whole = rest.chars().count() >= former.chars().count();
        !former.is_empty() && is_whole && resemblance >= MIN_FORMER_RESEMBLANCE
    };
    places(&compared, text).any(|(start, end)| {
        let around = compared[..start].iter().chain(&compared[end..]);
        let rest: String = around.map(|(_, c)| c).collect();
        is_former(&rest) && (is_joined(start) || is_joined(end))
    })
}

/// Returns whether a text caret is read as this character.
fn is_like_caret(c: &char) -> bool {
    matches!(c, 'l' | 'I' | '|' | '1' | 'i' | '!')
}

/// Returns whether two adjacent characters belong to one word or number. Scripts without cases are often written without spaces.
fn is_one_word(left: char, right: char) -> bool {
    let is_cased = |c: char| c.is_lowercase() || c.is_uppercase();
    is_cased(left) && is_cased(right) || left.is_ascii_digit() && right.is_ascii_digit()
}

/// Returns the number of closing brackets that end a text.
fn closing_brackets(text: &str) -> usize {
    let is_bracket = |c: &char| matches!(c, ')' | ']' | '}');
    text.trim_end().chars().rev().take_while(is_bracket).count()
}

fn is_masked(shown: &str) -> bool {
    let mut different: Vec<char> = shown.chars().collect();
    different.sort_unstable();
    different.dedup();
    shown.chars().count() > MAX_MASK_CHARACTERS && different.len() <= MAX_MASK_CHARACTERS
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

fn is_calendar_value(text: &str) -> bool {
    CalendarValue::parse(text).is_some()
}

/// Returns whether a number is a part of a date, the year also without its century.
fn is_part_of(number: u32, date: &[u32]) -> bool {
    date.contains(&number) || date.first().is_some_and(|year| year % 100 == number)
}

/// Returns whether a date field shows a part without a value, as `mm`, `dd`, `yyyy` or `tt`.
fn has_empty_part(value: &str) -> bool {
    let mut words = value.split(|c: char| !c.is_alphabetic());
    words.any(|word| {
        let mut letters = word.chars();
        let first = letters.next();
        letters.clone().next().is_some() && letters.all(|letter| Some(letter) == first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks whether a field with this text holds, and whether it differs from, the entered text.
    #[track_caller]
    fn check(shown: &str, entered: &str, holds: bool, differs: bool) {
        let shown = TextAtField {
            value: shown,
            room: 10,
        };
        let found = (shown.holds(entered), shown.differs_from(entered));
        assert_eq!(found, (holds, differs), "{entered} shown as {shown:?}");
    }

    #[test]
    fn a_field_holds_a_text_in_its_own_form() {
        check("Alice", "Alice", true, false);
        check("(123) 456-7890", "1234567890", true, false);
        check("$1,000.00", "1000", true, false);
        check(".5", "0.5", true, false);
        check("05/17/1990", "1990-05-17", true, false);
        check(
            "…the end of a long text",
            "This is the end of a long text",
            true,
            false,
        );
    }

    #[test]
    fn a_caret_alone_is_blank() {
        for (value, expected) in [
            ("", true),
            ("-", true),
            ("l", true),
            ("| ", true),
            ("l1", false),
            ("a", false),
        ] {
            assert_eq!(
                TextAtField { value, room: 10 }.is_blank(),
                expected,
                "{value}"
            );
        }
    }

    #[test]
    fn differing_text_is_reported_but_unreadable_text_is_not() {
        check("", "forty", false, false);
        check("Berlin", "Hamburg-Altona", false, true);
        check("0517-12-09", "1990-05-17", false, true);
        check("1", "5", false, true);
        check("......", "hunter2", false, false);
        check("ooooooo", "hunter2", false, false);
        check("Berlln", "Berlin", true, false);
        check("Lisbon", "Lis", false, true);
        check("030901820", "901820", true, false);
        check("1280", "12", false, true);
        check("print(a))", "print(a)", false, true);
        check("Lisbonl", "Lisbon", true, false);
        check("12|", "12", true, false);
        check("ada@example.org]", "ada@example.org", true, false);
        check("Lisbon (Lis)", "Lis", true, false);
        check("City Lisbon", "Lisbon", true, false);
        check("12 %", "12", true, false);
        check("12kg", "12", true, false);
        check("我住在北京市", "北京", true, false);
        check("a line", "two\nlines", false, false);
        // The field takes only digits, or no digits. A short rest may be what is left of an unreadable text.
        check("1234", "12ab34", false, true);
        check("555", "call 555", false, true);
        check("Agent", "Agent 007", false, true);
        check("77", "7pm7", false, false);
        check("bnn", "banana", false, true);
        check("Berln", "Berlin", false, false);
        // A field without a decimal point.
        check("1,250", "12.50", false, true);
        check("1,250|", "12.50", false, true);
        check("375", "3.75", false, true);
        check("12.50|", "12.50", true, false);
        check("12.50", "12.50", true, false);
        check("12,50", "12.50", true, false);
        check("1,234.50", "1234.50", true, false);
        check("1,000", "1000", true, false);
        // A date that went into one part of its field, or not into all of them; months may be words.
        check("mm/dd/900517", "1990-05-17", false, true);
        check("05/dd/yyyy", "1990-05-17", false, true);
        check("17 May 1990", "1990-05-17", true, false);
    }

    #[track_caller]
    fn check_kept(shown: &str, former: &str, entered: &str, expected: bool) {
        let shown = TextAtField {
            value: shown,
            room: 10,
        };
        let kept = shown.keeps(former, entered);
        assert_eq!(kept, expected, "{entered} for {former} shown as {shown:?}");
    }

    #[test]
    fn a_field_that_shows_its_former_text_with_the_new_one_keeps_it() {
        check_kept("oldnew", "old", "new", true);
        check_kept("R-2026/17old-ref", "old-ref", "R-2026/17", true);
        check_kept("newold", "old", "new", true);
        check_kept("Lis Lisbonbon", "Lis bon", "Lisbon", true);
        check_kept("BerlinLisbon", "Berlln", "Lisbon", true);
        check_kept("LisbonLisbon", "Lisbon", "Lisbon", true);
        check_kept("12345678", "1234", "5678", true);
        check_kept("上海北京", "上海", "北京", true);
        check_kept("AdaEva Langerl", "Ada", "Eva Langer", true);
        check_kept("AdaEva Langer", "Ada|", "Eva Langer", true);
        check_kept("AdaEva Langer", "AdaI", "Eva Langer", true);
        check_kept("212B101", "101", "212B", true);
        check_kept("new", "old", "new", false);
        // A label, a unit or a currency stands in the field.
        check_kept("City Lisbon", "City", "Lisbon", false);
        check_kept("12kg", "kg", "12", false);
        check_kept("$1,000", "$", "1000", false);
        check_kept("030901820", "", "901820", false);
        check_kept("我住在北京市", "我住在上海市", "北京", false);
        check_kept("05", "0", "5", false);
        check_kept("Lisbon", "Berlin", "Lisbon", false);
        // Only the selected word was replaced.
        check_kept(
            "我今天住在北京市中心附近",
            "我今天住在上海市中心附近",
            "北京",
            false,
        );
        check_kept("a long new text", "a long old text", "new", false);
        check_kept("Lisbon (Lis)", "Lisbon", "Lisbon (Lis)", false);
    }

    #[test]
    fn lines_of_a_text_are_compared_with_those_that_its_field_shows() {
        let text = "Dear Ms Ferreira,\n\n  the invoice is paid.\nKind regards, Ann Lee";
        let flat = text.replace('\n', " ");
        check(text, text, true, false);
        check(&flat, text, true, false);
        // Out of view, misread, or in part.
        check("Kind regards, Ann Lee", text, true, false);
        check(
            "the lnvoice is pald.\nKind regards, Ann Lee",
            text,
            false,
            false,
        );
        check("Write a message to the seller", text, false, true);
        check(
            "Dear Ms Ferreira,\nKind regards, Ann Lee",
            text,
            false,
            true,
        );
        check(
            "Dear Ms Ferreira,\nthe invoice is paidout\nKind regards, Ann Lee",
            text.replace("paid.", "paid").as_str(),
            false,
            true,
        );
        check("••••••••", text, false, false);
    }

    #[test]
    fn beginning_of_a_text_in_a_field_with_room_for_more_is_another_text() {
        check("abcde", "abcdefgh", false, true);
        let shown = TextAtField {
            value: "Maximili",
            room: 20,
        };
        assert!(!shown.holds("Maximilian the Great") && shown.differs_from("Maximilian the Great"));
        // This one is as wide as the field.
        check("abcdefghijkl", "abcdefghijklmnopq", true, false);
        assert_eq!(
            room(CaptureRect::new(
                CapturePoint::new(0, 0),
                CapturePoint::new(160, 30)
            )),
            10
        );
    }
}
