//! Values that are not entered as they are written: dates into fields of any locale, and numbers onto sliders.

use motorium_proto::domain::action::{Action, Target, Text};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::effect::ChangeMap;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::key::Key;

use super::actions;
use motorium_phrasebook::calendar::{CalendarDate, CalendarValue, numbers_shown};
use motorium_phrasebook::matcher::ElementMatch;

/// Maximum value of a slider that is set by keys: each step is a key press.
const MAX_SLIDER_VALUE: u32 = 500;

/// Maximum error of [`thumb_share`] for a value to be the slider's.
// Boxes of sliders and of changes are off by up to 3 px each, and the shortest usual track has 100 px.
pub(super) const MAX_THUMB_ERROR: f64 = 0.06;

/// Maximum number of letters that the symbol at the end of a field is read as, beside dashes.
const MAX_ICON_LETTERS: usize = 2;

/// A part of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DatePart {
    Year,
    Month,
    Day,
}

/// Returns the actions that enter a value of a calendar into a field that shows its format; `None` if it shows none, so that the value is
/// typed as a text. `as_value` is true if the format has the colour of a value, as in a field with segments, and not that of a hint.
pub(super) fn calendar_entry(
    value: CalendarValue<'_>,
    field: &ElementMatch,
    as_value: bool,
    words: &str,
) -> Option<Vec<PlannedAction>> {
    match value {
        CalendarValue::Date(date) => date_entry(date, field, as_value, words),
        // A text field takes it as it is written.
        CalendarValue::DateTime(..) if !as_value && !is_segmented(field) => None,
        CalendarValue::DateTime(date, time) => {
            let mut entry = date_entry(date, field, as_value, words)?;
            // The year takes up to six digits, so that it is left by a key where it comes last.
            let (order, _) = format_of(&field.content, true)?;
            if order[2] == DatePart::Year {
                entry.push(actions::key_chord(vec![Key::Right], words));
            }
            entry.push(typed(format!("{}{}", time.hour, time.minute), words));
            Some(entry)
        }
        CalendarValue::Month(year, part) | CalendarValue::Week(year, part) => {
            if !is_segmented(field) || !may_show_month_or_week(&field.content) {
                return None;
            }
            let mut parts = [part, year];
            if field.content.contains('年') {
                parts.reverse();
            }
            let mut entry = focus_first_segment(field, words);
            entry.push(typed(parts[0].to_owned(), words));
            // A week is left by itself, and then the key changes nothing: the year is the last segment, or comes first.
            let is_left_by_itself = matches!(value, CalendarValue::Week(..)) && parts[0] == part;
            if !is_left_by_itself {
                entry.push(actions::key_chord(vec![Key::Right], words));
            }
            entry.push(typed(parts[1].to_owned(), words));
            Some(entry)
        }
        CalendarValue::Time(time) => {
            let is_time = is_segmented(field) && may_show_time(&field.content);
            is_time.then(|| {
                let mut entry = focus_first_segment(field, words);
                entry.push(typed(format!("{}{}", time.hour, time.minute), words));
                entry
            })
        }
    }
}

fn date_entry(
    date: CalendarDate<'_>,
    field: &ElementMatch,
    as_value: bool,
    words: &str,
) -> Option<Vec<PlannedAction>> {
    let is_segmented = as_value || is_segmented(field);
    let (order, separators) = format_of(&field.content, is_segmented)?;
    if !is_segmented {
        let click = actions::click(field.target(), words);
        return Some(vec![click, typed(written(date, order, &separators), words)]);
    }
    let mut entry = focus_first_segment(field, words);
    if order[0] == DatePart::Year {
        // The segment of the year takes up to six digits, so it is left by a key; the others are left by themselves.
        let [_, second, third] = order;
        entry.push(typed(date.year.to_owned(), words));
        entry.push(actions::key_chord(vec![Key::Right], words));
        let rest = format!("{}{}", part_of(date, second), part_of(date, third));
        entry.push(typed(rest, words));
    } else {
        entry.push(typed(written(date, order, &separators), words));
    }
    Some(entry)
}

fn typed(text: String, words: &str) -> PlannedAction {
    actions::type_text(Text::Literal(text), words)
}

fn part_of<'a>(date: CalendarDate<'a>, part: DatePart) -> &'a str {
    match part {
        DatePart::Year => date.year,
        DatePart::Month => date.month,
        DatePart::Day => date.day,
    }
}

fn written(date: CalendarDate<'_>, order: [DatePart; 3], separators: &[String; 2]) -> String {
    let [first, second, third] = order.map(|part| part_of(date, part));
    format!("{first}{}{second}{}{third}", separators[0], separators[1])
}

/// Returns whether a field with segments may be one for a month or a week: it shows one, or dashes, of which nothing or a letter is read.
/// A list shows an entry.
fn may_show_month_or_week(shown: &str) -> bool {
    let letters = shown.chars().filter(|c| c.is_alphanumeric()).count();
    let is_named = shown.to_lowercase().starts_with("week") || shown.contains(['年', '周']);
    let has_month_and_year = numbers_shown(shown).len() == 2 && shown.contains(char::is_alphabetic);
    letters <= MAX_ICON_LETTERS || is_named || has_month_and_year
}

/// Returns whether a field with segments may be one for a time: it shows one, or dashes.
fn may_show_time(shown: &str) -> bool {
    let letters = shown.chars().filter(|c| c.is_alphanumeric()).count();
    letters <= MAX_ICON_LETTERS || shown.contains(':') && numbers_shown(shown).len() == 2
}

/// Returns whether a field shows a date instead of its format. Its order cannot be told from `05/06/1990`.
pub(super) fn shows_date(field: &ElementMatch) -> bool {
    let groups: Vec<&str> = field
        .content
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .collect();
    let has_year = groups.iter().any(|digits| digits.len() == 4);
    // With hours and minutes there are two more.
    is_segmented(field) && matches!(groups.len(), 3 | 5) && has_year
}

/// Empties every segment of a date field, so that it shows its format.
pub(super) fn clear_date(field: &ElementMatch, words: &str) -> Vec<PlannedAction> {
    let mut clear = focus_first_segment(field, words);
    let press = |key| actions::key_chord(vec![key], words);
    for _ in 0..2 {
        clear.push(press(Key::Backspace));
        clear.push(press(Key::Right));
    }
    clear.push(press(Key::Backspace));
    clear
}

/// Returns whether a field has a segment for each part of a date: one with a button for the calendar, like a list.
fn is_segmented(field: &ElementMatch) -> bool {
    matches!(field.kind, ElementKind::DropDown | ElementKind::SpinBox)
}

/// Clicks at the beginning of a field: a click in its middle focuses the segment there, and one at its end opens the calendar.
fn focus_first_segment(field: &ElementMatch, words: &str) -> Vec<PlannedAction> {
    let bounds = field.bounds;
    let start = CapturePoint::new(bounds.min.x + bounds.height() / 2, bounds.center().y);
    let back = Action::KeyChord {
        keys: vec![Key::Left],
        repeat: 2,
    };
    vec![
        actions::click(Target::Point(start), words),
        actions::once(back, words),
    ]
}

/// Parses the format that a date field shows (`mm/dd/yyyy`, `TT.MM.JJJJ`, `年/月/日`) into its order and separators. Of a letter that
/// is repeated, reading may miss one. A field with segments has a year of four digits, however many letters are read.
fn format_of(shown: &str, is_segmented: bool) -> Option<([DatePart; 3], [String; 2])> {
    let mut groups: Vec<(char, usize)> = Vec::new();
    let mut separators: Vec<String> = Vec::new();
    let mut separator = String::new();
    for character in shown.trim().chars().flat_map(char::to_lowercase) {
        if !character.is_alphabetic() {
            // Spaces are read where there are none, and open the calendar of a field.
            if !character.is_whitespace() {
                separator.push(character);
            }
            continue;
        }
        match groups.last_mut() {
            Some((letter, count)) if *letter == character && separator.is_empty() => *count += 1,
            _ => {
                if !groups.is_empty() {
                    separators.push(std::mem::take(&mut separator));
                }
                separator.clear();
                groups.push((character, 1));
            }
        }
    }
    // A time may follow.
    let [first, second, third, ..] = groups.as_slice() else {
        return None;
    };
    let part = |(letter, count): (char, usize)| match (letter, count) {
        ('年', _) | ('y' | 'j' | 'a', 3 | 4) => Some(DatePart::Year),
        ('y' | 'a', 2) if is_segmented => Some(DatePart::Year),
        ('月', _) | ('m', 1 | 2) => Some(DatePart::Month),
        ('日', _) | ('d' | 't' | 'j' | 'g', 1 | 2) => Some(DatePart::Day),
        _ => None,
    };
    let order = [part(*first)?, part(*second)?, part(*third)?];
    let has_all = [DatePart::Year, DatePart::Month, DatePart::Day]
        .iter()
        .all(|part| order.contains(part));
    separators.truncate(2);
    let separators: [String; 2] = separators.try_into().ok()?;
    has_all.then_some((order, separators))
}

/// Returns the value of a slider that can be set by keys.
pub(super) fn slider_value(text: &str) -> Option<u32> {
    let value: u32 = text.trim().trim_end_matches('%').trim_end().parse().ok()?;
    (value <= MAX_SLIDER_VALUE).then_some(value)
}

/// Sets a slider: focuses it, moves it to its beginning, and then by one step for each unit.
pub(super) fn set_slider(slider: &ElementMatch, value: u32, words: &str) -> Vec<PlannedAction> {
    let mut actions = vec![
        actions::click(slider.target(), words),
        actions::key_chord(vec![Key::Home], words),
    ];
    actions.extend(move_slider(i64::from(value), words));
    actions
}

/// Returns the place of a slider's thumb on its way, 0 to 1, after it was moved there from the beginning; `None` if nothing changed
/// there. What changed reaches from the thumb's first place to its last one, and is as high as the thumb, which is round. The
/// way ends as far before the box as it begins behind it.
pub(super) fn thumb_share(slider: CaptureRect, change: &ChangeMap) -> Option<f64> {
    let around = slider.inflate(slider.height() / 2, slider.height() / 2);
    let regions = change.regions.iter().map(|region| region.bounds);
    let on_track = regions.filter(|bounds| bounds.intersects(&around));
    let moved = on_track.reduce(|one, other| one.union(&other))?;
    let thumb = moved.height();
    let start = moved.min.x;
    let end = slider.max.x - (start - slider.min.x);
    let length = f64::from((end - start - thumb).max(1));
    Some((f64::from(moved.max.x - thumb - start) / length).clamp(0.0, 1.0))
}

/// Moves the focused slider by steps.
pub(super) fn move_slider(steps: i64, words: &str) -> Option<PlannedAction> {
    let key = if steps < 0 { Key::Left } else { Key::Right };
    let repeat = u32::try_from(steps.unsigned_abs()).ok()?;
    let moves = Action::KeyChord {
        keys: vec![key],
        repeat,
    };
    (repeat > 0).then(|| actions::once(moves, words))
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::effect::ChangedRegion;

    use super::*;

    #[test]
    fn the_place_of_a_thumb_tells_the_value_of_a_slider() {
        let rect = |x: i32, y: i32, width: i32, height: i32| {
            CaptureRect::new(
                CapturePoint::new(x, y),
                CapturePoint::new(x + width, y + height),
            )
        };
        let share = |slider: CaptureRect, moved: CaptureRect| {
            let change = ChangeMap {
                regions: vec![ChangedRegion {
                    bounds: moved,
                    changed_pixels: 100,
                }],
                ..ChangeMap::default()
            };
            thumb_share(slider, &change).map(|share| (share * 100.0).round())
        };
        // A plain one, and one with 10 px around it, as Chromium draws them.
        let plain = rect(94, 126, 128, 17);
        assert_eq!(share(plain, rect(94, 127, 106, 16)), Some(80.0));
        let padded = rect(391, 359, 440, 36);
        assert_eq!(share(padded, rect(401, 370, 339, 16)), Some(80.0));
        assert_eq!(share(padded, rect(401, 370, 420, 16)), Some(100.0));
        assert_eq!(share(plain, rect(94, 300, 106, 16)), None);
    }

    #[test]
    fn a_date_is_written_as_the_field_shows_it() {
        let in_field = |shown: &str, is_segmented| {
            let Some(CalendarValue::Date(date)) = CalendarValue::parse("1990-05-17") else {
                unreachable!("it is a date")
            };
            let format = format_of(shown, is_segmented);
            format.map(|(order, separators)| written(date, order, &separators))
        };
        let written = |shown: &str| in_field(shown, false);
        for (shown, expected) in [
            ("mm/dd/yyyy", Some("05/17/1990")),
            ("MM/DD/YYYY", Some("05/17/1990")),
            ("dd/mm/yyyy", Some("17/05/1990")),
            ("TT.MM.JJJJ", Some("17.05.1990")),
            ("jj/mm/aaaa", Some("17/05/1990")),
            ("gg/mm/aaaa", Some("17/05/1990")),
            ("yyyy-mm-dd", Some("1990-05-17")),
            ("年/月/日", Some("1990/05/17")),
            ("Name", None),
            ("05/17/1990", None),
            ("dd/dd/yyyy", None),
            ("m/dd/yyy", Some("05/17/1990")),
            ("[mm/ dd/ yyyy", Some("05/17/1990")),
            ("mm/dd/yy", None),
        ] {
            assert_eq!(written(shown).as_deref(), expected, "{shown}");
        }
        let segmented = in_field("mm/dd/yy", true);
        assert_eq!(segmented.as_deref(), Some("05/17/1990"));
        assert_eq!(
            in_field("mm/dd/yyyy, --:-- pm", true).as_deref(),
            Some("05/17/1990")
        );
    }
}
