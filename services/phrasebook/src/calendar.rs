//! Values of a calendar as people and pages write them: dates, months, weeks and times, and whether a field shows one.
//!
//! Pure. How a value is entered into a field is not decided here.

/// Words that put a time before or after noon.
const BEFORE_NOON: [&str; 2] = ["am", "上午"];
const AFTER_NOON: [&str; 2] = ["pm", "下午"];
/// English names of months by their first three letters, as browsers shorten them.
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// A value of a calendar in ISO 8601, with its parts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarValue<'a> {
    /// `1990-05-17`.
    Date(CalendarDate<'a>),
    /// `1990-05-17T18:30`, or with a space.
    DateTime(CalendarDate<'a>, ClockTime<'a>),
    /// `1990-05`: year and month.
    Month(&'a str, &'a str),
    /// `1990-W20`: year and week.
    Week(&'a str, &'a str),
    /// `18:30`.
    Time(ClockTime<'a>),
}

/// Year, month and day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarDate<'a> {
    pub year: &'a str,
    pub month: &'a str,
    pub day: &'a str,
}

/// Hours, 00 to 23, and minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockTime<'a> {
    pub hour: &'a str,
    pub minute: &'a str,
}

impl<'a> CalendarValue<'a> {
    /// Parses a value in ISO 8601.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        if let Some(time) = clock_time(text) {
            return Some(Self::Time(time));
        }
        if let Some((date, time)) = text.split_once(['T', ' ']) {
            return Some(Self::DateTime(calendar_date(date)?, clock_time(time)?));
        }
        if let Some(date) = calendar_date(text) {
            return Some(Self::Date(date));
        }
        let (year, rest) = text.split_once('-')?;
        let year = digits(year, 4)?;
        match rest.strip_prefix(['W', 'w']) {
            Some(week) => Some(Self::Week(year, number_up_to(53, week)?)),
            None => Some(Self::Month(year, number_up_to(12, rest)?)),
        }
    }

    /// Returns its numbers.
    #[must_use]
    pub fn numbers(&self) -> Vec<u32> {
        let parts = match *self {
            Self::Date(date) => vec![date.year, date.month, date.day],
            Self::DateTime(date, time) => {
                vec![date.year, date.month, date.day, time.hour, time.minute]
            }
            Self::Month(year, part) | Self::Week(year, part) => vec![year, part],
            Self::Time(time) => vec![time.hour, time.minute],
        };
        parts.iter().filter_map(|part| part.parse().ok()).collect()
    }

    /// Returns whether a text shows its parts, in any order: `12/24/2026, 06:30 PM` for `2026-12-24T18:30`.
    #[must_use]
    pub fn is_shown_as(&self, text: &str) -> bool {
        sorted(self.numbers()) == sorted(numbers_shown(text))
    }
}

/// Returns the numbers of a text, with the names of months and hours after noon as numbers.
#[must_use]
pub fn numbers_shown(text: &str) -> Vec<u32> {
    let text = text.to_lowercase();
    let is_word = |word: &str| {
        let mut words = text.split(|c: char| !c.is_ascii_alphabetic());
        words.any(|one| one == word) || !word.is_ascii() && text.contains(word)
    };
    let has = |words: [&str; 2]| words.iter().any(|word| is_word(word));
    let (is_before_noon, is_after_noon) = (has(BEFORE_NOON), has(AFTER_NOON));
    let mut numbers = Vec::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let is_alike = |c: char| match is_digit {
            true => c.is_ascii_digit(),
            false => c.is_alphabetic(),
        };
        let end = rest.find(|c| !is_alike(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end.max(first.len_utf8()));
        let is_hour = is_digit && after.trim_start().starts_with([':', '：']);
        let number = match word.parse::<u32>() {
            Ok(12) if is_hour && is_before_noon => Some(0),
            Ok(hour @ ..12) if is_hour && is_after_noon => Some(hour + 12),
            Ok(number) => Some(number),
            Err(_) => month_named(word),
        };
        numbers.extend(number);
        rest = after;
    }
    numbers
}

fn month_named(word: &str) -> Option<u32> {
    let at = MONTHS.iter().position(|month| word.starts_with(month))?;
    u32::try_from(at + 1).ok()
}

fn sorted(mut numbers: Vec<u32>) -> Vec<u32> {
    numbers.sort_unstable();
    numbers
}

fn calendar_date(text: &str) -> Option<CalendarDate<'_>> {
    let mut parts = text.splitn(3, '-');
    Some(CalendarDate {
        year: digits(parts.next()?, 4)?,
        month: number_up_to(12, parts.next()?)?,
        day: number_up_to(31, parts.next()?)?,
    })
}

fn clock_time(text: &str) -> Option<ClockTime<'_>> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute) = (digits(hour, 2)?, digits(minute, 2)?);
    let is_within = |part: &str, end: u32| part.parse::<u32>().is_ok_and(|part| part < end);
    (is_within(hour, 24) && is_within(minute, 60)).then_some(ClockTime { hour, minute })
}

/// Returns the text if it is a number of two digits, from 01 to this one.
fn number_up_to(max: u32, text: &str) -> Option<&str> {
    let number: u32 = digits(text, 2)?.parse().ok()?;
    (1..=max).contains(&number).then_some(text)
}

/// Returns the text if it has this number of digits and nothing else.
fn digits(text: &str, count: usize) -> Option<&str> {
    let are_digits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parsed_and_others_are_texts() {
        for (text, numbers) in [
            ("1990-05-17", vec![1990, 5, 17]),
            ("2026-12-24T18:30", vec![2026, 12, 24, 18, 30]),
            ("2026-12-24 18:30", vec![2026, 12, 24, 18, 30]),
            ("2026-12", vec![2026, 12]),
            ("2026-W52", vec![2026, 52]),
            ("18:30", vec![18, 30]),
        ] {
            let parsed = CalendarValue::parse(text).map(|value| value.numbers());
            assert_eq!(parsed, Some(numbers), "{text}");
        }
        for text in [
            "Lisbon",
            "1990-5-17",
            "17.05.1990",
            "24:00",
            "6:30",
            "2026-12-24T",
            "555-0199",
            "2026-W5",
            "4711-22",
        ] {
            assert_eq!(CalendarValue::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_value_is_recognised_in_the_form_of_its_field() {
        for (value, shown, is_so) in [
            ("2026-12-24T18:30", "12/24/2026, 06 : 30 PM", true),
            ("2026-12-24T18:30", "12/24/2026, 06:30 AM", false),
            ("2026-12-24T18:30", "12/24/2026, --:-- --", false),
            ("2026-12-24T18:30", "2026/12/24 下午06:30", true),
            ("2026-12-24T00:30", "12/24/2026, 12:30 AM", true),
            ("2026-12", "December 2026 u", true),
            ("2026-12", "November 2026", false),
            ("2026-12", "2026年12月", true),
            ("2026-W52", "Week 52, 2026", true),
            ("18:30", "06:30 PM @", true),
            ("18:30", "18:30", true),
            ("12:15", "12:15 PM", true),
        ] {
            let parsed = CalendarValue::parse(value).unwrap();
            assert_eq!(parsed.is_shown_as(shown), is_so, "{value} as {shown}");
        }
    }
}
