//! Matches text that spans several lines: a number in four fields, an address that wraps.
//!
//! Pure. A line that matches alone does not affect its neighbours. False positives are preferred: a line redacted
//! unnecessarily costs less than a leaked one.

use motorium_proto::domain::geometry::CaptureRect;

use crate::parse::read::TextLine;

/// Maximum gap between two fields of a row, in text heights.
// Fields of one number stand close; the next column of a form is farther away.
const MAX_FIELD_GAP: i32 = 2;

/// Maximum horizontal offset between a line and its continuation below, in text heights.
// A continued line starts near the beginning of the one above; columns are farther apart.
const MAX_WRAP_INDENT: i32 = 3;

/// Maximum number of fields that form one number.
// Cards and bank accounts have four to six groups; bounds the combinations that are tried.
const MAX_FIELDS: usize = 8;

/// Returns which lines match, alone or with their neighbours. `alone` is called with one line, and with the fields of a
/// row joined by spaces; `wrapped` is called with two consecutive lines, joined without and with a space.
pub(super) fn matching(
    lines: &[TextLine],
    alone: impl Fn(&str) -> bool,
    wrapped: impl Fn(&str) -> bool,
) -> Vec<bool> {
    let by_itself: Vec<bool> = lines.iter().map(|line| alone(&line.text)).collect();
    let mut matching = by_itself.clone();
    let silent = |index: usize| !by_itself[index];
    for first in (0..lines.len()).filter(|&index| silent(index)) {
        for index in row_that_matches(lines, first, &silent, &alone) {
            matching[index] = true;
        }
        for next in next_below(lines, first).filter(|&next| silent(next)) {
            let [above, below] = [first, next].map(|index| lines[index].text.as_str());
            if wrapped(&format!("{above}{below}")) || wrapped(&format!("{above} {below}")) {
                matching[first] = true;
                matching[next] = true;
            }
        }
    }
    matching
}

/// Returns the shortest run of fields from `first` to the right that matches and needs `first`.
fn row_that_matches(
    lines: &[TextLine],
    first: usize,
    silent: &impl Fn(usize) -> bool,
    matches: &impl Fn(&str) -> bool,
) -> Vec<usize> {
    let text = |run: &[usize]| {
        let words: Vec<&str> = run
            .iter()
            .map(|&index| lines[index].text.as_str())
            .collect();
        words.join(" ")
    };
    let mut run = vec![first];
    let mut last = first;
    while run.len() < MAX_FIELDS {
        let Some(next) = next_in_row(lines, last).filter(|&next| silent(next)) else {
            break;
        };
        run.push(next);
        last = next;
        if matches(&text(&run)) {
            let needed = !matches(&text(&run[1..]));
            return if needed { run } else { Vec::new() };
        }
    }
    Vec::new()
}

/// Returns the nearest line to the right in the same row.
fn next_in_row(lines: &[TextLine], from: usize) -> Option<usize> {
    let here = lines[from].bounds;
    let gap = |other: CaptureRect| other.min.x - here.max.x;
    let follows = |other: CaptureRect| {
        let height = here.height().max(other.height());
        shared([here.min.y, here.max.y], [other.min.y, other.max.y]) * 2 >= height
            && other.min.x > here.min.x
            && (-height..=MAX_FIELD_GAP * height).contains(&gap(other))
    };
    (0..lines.len())
        .filter(|&index| index != from && follows(lines[index].bounds))
        .min_by_key(|&index| gap(lines[index].bounds))
}

/// Returns the lines of the next row that start at about the same position.
fn next_below(lines: &[TextLine], from: usize) -> impl Iterator<Item = usize> {
    let here = lines[from].bounds;
    let height = here.height();
    let follows = move |other: CaptureRect| {
        (other.min.x - here.min.x).abs() <= MAX_WRAP_INDENT * height
            && other.min.y > here.min.y
            && shared([here.min.y, here.max.y], [other.min.y, other.max.y]) * 2 < height
            && other.min.y - here.max.y <= height
    };
    (0..lines.len()).filter(move |&index| index != from && follows(lines[index].bounds))
}

fn shared(one: [i32; 2], other: [i32; 2]) -> i32 {
    one[1].min(other[1]) - one[0].max(other[0])
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
    use motorium_proto::service::SensitiveText;

    use super::*;
    use motorium_text::sensitive::is_in;

    /// Lines `(x, y, width, text)`, 20 pixels high.
    fn check(lines: &[(i32, i32, i32, &str)], expected: &[&str]) {
        let lines: Vec<TextLine> = lines
            .iter()
            .map(|&(x, y, width, text)| {
                let corner = CapturePoint::new(x, y);
                let size = CaptureSize::new(width, 20);
                TextLine::new(CaptureRect::from_origin_and_size(corner, size), text, 1.0)
            })
            .collect();
        let address = |text: &str| is_in(text, SensitiveText::EmailAddress);
        let either = |text: &str| is_in(text, SensitiveText::CardNumber) || address(text);
        let matching = matching(&lines, either, address);
        let hidden = lines.iter().zip(matching).filter(|(_, hidden)| *hidden);
        let hidden: Vec<&str> = hidden.map(|(line, _)| line.text.as_str()).collect();
        assert_eq!(hidden, expected);
    }

    #[test]
    fn card_number_in_four_fields_matches() {
        let fields = [
            (10, 10, 60, "Number"),
            (80, 12, 40, "4111"),
            (140, 10, 40, "1111"),
            (200, 11, 40, "1111"),
            (260, 10, 40, "1111"),
            (320, 10, 40, "12/27"),
        ];
        check(&fields, &["4111", "1111", "1111", "1111"]);
        // Columns of a table are further apart.
        let columns = [
            (10, 10, 40, "4111"),
            (110, 10, 40, "1111"),
            (210, 10, 40, "1111"),
            (310, 10, 40, "1111"),
        ];
        check(&columns, &[]);
    }

    #[test]
    fn email_address_across_two_lines_matches() {
        let cell = [
            (10, 10, 120, "alexandra.lee@mail"),
            (10, 34, 100, ".example.org"),
            (10, 58, 100, "Warehouse"),
        ];
        check(&cell, &["alexandra.lee@mail", ".example.org"]);
        // A line beside the first one is not below it.
        let beside = [
            (10, 10, 120, "alexandra.lee@mail"),
            (45, 11, 30, "OK"),
            (10, 34, 100, ".example.org"),
        ];
        check(&beside, &["alexandra.lee@mail", ".example.org"]);
        // A line far below is unrelated.
        check(
            &[
                (10, 10, 120, "alexandra.lee@mail"),
                (10, 90, 100, ".example.org"),
            ],
            &[],
        );
    }

    #[test]
    fn match_within_a_line_excludes_its_neighbours() {
        let row = [
            (10, 10, 200, "4111 1111 1111 1111"),
            (220, 10, 40, "12/27"),
            (10, 34, 200, "ann@example.org"),
            (10, 58, 60, "Name"),
        ];
        check(&row, &["4111 1111 1111 1111", "ann@example.org"]);
    }
}
