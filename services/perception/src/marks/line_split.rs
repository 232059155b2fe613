//! Splits lines of text that span several controls at the borders of the controls.
//!
//! Text detection treats everything in a row as one line: the entries of a menu bar, tabs, a link in a sentence. Each
//! control must get its own words.
//!
//! Pure. Assigning labels to controls is done in [`merge`](super::merge). Words are never split, because a box that
//! ends within a word does not mark the end of a control. Text recognition sometimes misses the space between short
//! words such as the days of a calendar, so characters with a large distance count as different words. A line without
//! known character positions is not split.

use std::ops::Range;

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_text::characters::is_wide;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::areas::area;
use crate::parse::read::TextLine;

/// Minimum fraction of the line's height that a control must contain.
// Text detection draws its boxes slightly too large, so a line reaches beyond its control.
const MIN_HEIGHT_INSIDE: f64 = 0.7;
/// Half the width of a wide character, in line heights. Chosen for wide characters, so that no box cuts one off.
const HALF_CHAR_WIDTH: f64 = 0.4;

/// Maximum distance between the centres of two characters of one word, in line heights: two of the widest letters are
/// closer. The days of a calendar in a small font are 0.9 apart.
const MAX_CHAR_SPACING: f64 = 2.1 * HALF_CHAR_WIDTH;

/// A word, or a single character in scripts without spaces.
#[derive(Debug)]
struct Word {
    /// Range of characters of the line.
    characters: Range<usize>,
    /// Centres of the first and the last character, in capture pixels.
    first: f64,
    last: f64,
}

/// Returns the parts of a line from left to right: a single one, unless a control contains only some of its words.
pub(super) fn split_at_controls(line: &TextLine, controls: &[CaptureRect]) -> Vec<TextLine> {
    let words = words(line);
    let holders: Vec<&CaptureRect> = controls
        .iter()
        .filter(|control| holds_height(control, line.bounds) && cuts_no_word(control, &words))
        .collect();
    let holder = |word: &Word| {
        let holding = holders.iter().enumerate();
        let holding = holding.filter(|(_, control)| is_on(control, word.first));
        holding
            .min_by_key(|(index, control)| (area(***control), *index))
            .map(|(index, _)| index)
    };
    let parts: Vec<&[Word]> = words
        .chunk_by(|one, next| holder(one) == holder(next))
        .collect();
    if parts.len() < 2 {
        return vec![line.clone()];
    }
    let characters: Vec<char> = line.text.chars().collect();
    (0..parts.len())
        .map(|at| {
            let left = at
                .checked_sub(1)
                .map(|before| gap(line, parts[before], parts[at]).1);
            let right = parts.get(at + 1).map(|after| gap(line, parts[at], after).0);
            part(line, &characters, parts[at], left, right)
        })
        .collect()
}

fn words(line: &TextLine) -> Vec<Word> {
    if line.char_positions.len() != line.text.chars().count() {
        return Vec::new();
    }
    let (left, width) = (f64::from(line.bounds.min.x), f64::from(line.bounds.width()));
    let place = |at: usize| left + f64::from(line.char_positions[at]) * width;
    let characters_of: Vec<char> = line.text.chars().collect();
    let farthest = MAX_CHAR_SPACING * f64::from(line.bounds.height());
    let mut end = 0;
    let pieces = line.text.split_word_bounds().map(|piece| {
        let characters = end..end + piece.chars().count();
        end = characters.end;
        (piece, characters)
    });
    pieces
        .filter(|(piece, _)| !piece.trim().is_empty())
        .flat_map(|(_, characters)| {
            let places: Vec<usize> = characters.collect();
            let near = |one: &usize, next: &usize| {
                // Wide characters are as far apart within a word as narrow ones in different words.
                let are_wide = is_wide(characters_of[*one]) || is_wide(characters_of[*next]);
                are_wide || place(*next) - place(*one) <= farthest
            };
            let words = places.chunk_by(near);
            let words = words.map(|word| word[0]..word[0] + word.len());
            words.collect::<Vec<_>>()
        })
        .map(|characters| Word {
            first: place(characters.start),
            last: place(characters.end - 1),
            characters,
        })
        .collect()
}

fn holds_height(control: &CaptureRect, line: CaptureRect) -> bool {
    let shared = control.max.y.min(line.max.y) - control.min.y.max(line.min.y);
    f64::from(shared) > MIN_HEIGHT_INSIDE * f64::from(line.height())
}

fn cuts_no_word(control: &CaptureRect, words: &[Word]) -> bool {
    words
        .iter()
        .all(|word| is_on(control, word.first) == is_on(control, word.last))
}

fn is_on(control: &CaptureRect, x: f64) -> bool {
    (f64::from(control.min.x)..f64::from(control.max.x)).contains(&x)
}

/// Returns where one part ends and the next one begins.
fn gap(line: &TextLine, part: &[Word], next: &[Word]) -> (i32, i32) {
    let ends = part.last().map_or(0.0, |word| word.last);
    let begins = next.first().map_or(0.0, |word| word.first);
    let middle = f64::midpoint(ends, begins);
    let half = HALF_CHAR_WIDTH * f64::from(line.bounds.height());
    let end = (ends + half).min(middle).round() as i32;
    (end, ((begins - half).max(middle).round() as i32).max(end))
}

/// Builds a part of a line. Without a neighbouring part, it extends to the end of the line.
fn part(
    line: &TextLine,
    characters: &[char],
    words: &[Word],
    left: Option<i32>,
    right: Option<i32>,
) -> TextLine {
    let bounds = CaptureRect::new(
        CapturePoint::new(left.unwrap_or(line.bounds.min.x), line.bounds.min.y),
        CapturePoint::new(right.unwrap_or(line.bounds.max.x), line.bounds.max.y),
    );
    let first = words.first().map_or(0, |word| word.characters.start);
    let end = words.last().map_or(0, |word| word.characters.end);
    let moved = |place: &f32| {
        let x = line.bounds.min.x as f32 + place * line.bounds.width() as f32;
        ((x - bounds.min.x as f32) / bounds.width().max(1) as f32).clamp(0.0, 1.0)
    };
    TextLine {
        bounds,
        text: characters[first..end].iter().collect(),
        char_positions: line.char_positions[first..end].iter().map(moved).collect(),
        confidence: line.confidence,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(left: i32, right: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(left, 100), CapturePoint::new(right, 120))
    }

    /// A line that starts at 100 with characters of 10 pixels.
    fn line(text: &str) -> TextLine {
        let count = text.chars().count();
        TextLine {
            char_positions: (0..count)
                .map(|at| (at as f32 + 0.5) / count as f32)
                .collect(),
            ..TextLine::new(span(100, 100 + 10 * count as i32), text, 0.9)
        }
    }

    /// Checks the parts of a line with controls at the given horizontal spans.
    fn check(text: &str, controls: &[(i32, i32)], expected: &[(&str, i32, i32)]) {
        let controls: Vec<_> = controls
            .iter()
            .map(|&(left, right)| span(left, right))
            .collect();
        let parts = split_at_controls(&line(text), &controls);
        let got: Vec<_> = parts
            .iter()
            .map(|part| (part.text.as_str(), part.bounds.min.x, part.bounds.max.x))
            .collect();
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn a_menu_bar_is_cut_between_its_entries() {
        check(
            "File Edit View",
            &[(95, 145), (145, 195), (195, 245)],
            &[("File", 100, 143), ("Edit", 147, 193), ("View", 197, 240)],
        );
        check(
            "文件编辑查看",
            &[(98, 120), (120, 140), (140, 165)],
            &[("文件", 100, 120), ("编辑", 120, 140), ("查看", 140, 160)],
        );
    }

    #[test]
    fn a_link_in_a_sentence_has_its_own_words() {
        check(
            "Read the terms before you sign.",
            &[(190, 240)],
            &[
                ("Read the", 100, 183),
                ("terms", 187, 243),
                ("before you sign.", 247, 410),
            ],
        );
    }

    #[test]
    fn calendar_days_read_without_spaces_are_split() {
        let places = [5, 11, 29, 35, 53, 59].map(|x| x as f32 / 64.0);
        let days = TextLine {
            char_positions: places.to_vec(),
            ..TextLine::new(
                CaptureRect::new(CapturePoint::new(100, 102), CapturePoint::new(164, 116)),
                "151617",
                0.9,
            )
        };
        let parts = split_at_controls(&days, &[span(96, 120), span(120, 144), span(144, 168)]);
        let texts: Vec<_> = parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(texts, ["15", "16", "17"]);
        let wide = TextLine {
            text: "キャンセル".to_owned(),
            char_positions: [5, 18, 31, 44, 57].map(|x| x as f32 / 64.0).to_vec(),
            ..days
        };
        assert_eq!(
            split_at_controls(&wide, &[span(96, 124)]).len(),
            1,
            "a word of wide characters"
        );
        assert_eq!(
            split_at_controls(&days, &[span(96, 108)]).len(),
            1,
            "a box that ends within a number"
        );
    }

    #[test]
    fn line_on_one_control_is_not_split() {
        check("Save the file", &[], &[("Save the file", 100, 230)]);
        check(
            "Save the file",
            &[(90, 240)],
            &[("Save the file", 100, 230)],
        );
        check("Save", &[(90, 120)], &[("Save", 100, 140)]);
    }

    #[test]
    fn no_word_is_cut_in_two() {
        check("Remember me", &[(100, 140)], &[("Remember me", 100, 210)]);
    }

    #[test]
    fn the_smallest_control_has_the_words() {
        check(
            "Mail Inbox 3",
            &[(90, 400), (145, 200)],
            &[("Mail", 100, 143), ("Inbox", 147, 203), ("3", 207, 220)],
        );
    }

    #[test]
    fn a_control_below_the_line_does_not_matter() {
        let below = CaptureRect::new(CapturePoint::new(95, 110), CapturePoint::new(145, 130));
        assert_eq!(split_at_controls(&line("File Edit"), &[below]).len(), 1);
        let unknown = TextLine::new(span(100, 190), "File Edit", 0.9);
        assert_eq!(split_at_controls(&unknown, &[span(95, 145)]), vec![unknown]);
    }

    proptest! {
        #[test]
        fn line_parts_keep_all_text_and_do_not_overlap(
            text in "[a-c中文 .]{0,20}",
            controls in proptest::collection::vec((90i32..320, 1i32..120), 0..8),
        ) {
            let whole = line(&text);
            let controls: Vec<_> = controls.iter().map(|&(left, width)| span(left, left + width)).collect();
            let parts = split_at_controls(&whole, &controls);
            let letters = |text: &str| text.chars().filter(|sign| !sign.is_whitespace()).collect::<String>();
            let together: String = parts.iter().map(|part| letters(&part.text)).collect();
            prop_assert_eq!(together, letters(&text));
            for part in &parts {
                prop_assert_eq!(part.char_positions.len(), part.text.chars().count());
                prop_assert!(whole.bounds.min.x <= part.bounds.min.x && part.bounds.max.x <= whole.bounds.max.x);
            }
            for pair in parts.windows(2) {
                prop_assert!(pair[0].bounds.max.x <= pair[1].bounds.min.x);
            }
        }
    }
}
