//! Splits lines of text at the toggles between their labels: `[x] Two-factor login [ ] Newsletter` is often read as one
//! line that runs across the second box.
//!
//! Pure: only boxes and texts are used, not pixels.

use std::ops::Range;

use motorium_text::characters::is_unspaced;

use super::word_bounds::text_width;

/// Minimum width of a label relative to the line's height. Narrower remains are the inaccuracy of the line's box.
const MIN_LABEL_WIDTH: f64 = 0.5;

/// Height of a line's box per em of its smallest text.
// Boxes of text detection are 1.2 to 1.5 em high.
const MAX_BOX_HEIGHT_PER_EM: f64 = 1.5;
/// Maximum ratio of the estimated width of a label to that of its gap.
// Widths are those of a typical typeface; narrow ones need four fifths of them.
const MAX_CROWDING: f64 = 1.25;

/// A part of a line: its bytes, and its x coordinates in capture pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinePart {
    pub(super) bytes: Range<usize>,
    pub(super) x: Range<i32>,
}

/// Splits a line with these x coordinates at toggles with theirs. Returns nothing if no toggle is inside, or if the line has
/// fewer words than labels.
pub(super) fn split(
    text: &str,
    line: Range<i32>,
    height: i32,
    mut toggles: Vec<Range<i32>>,
) -> Vec<LinePart> {
    toggles.retain(|toggle| line.contains(&((toggle.start + toggle.end) / 2)));
    toggles.sort_by_key(|toggle| toggle.start);
    let mut gaps = Vec::new();
    let mut start = line.start;
    for toggle in &toggles {
        gaps.push(start..toggle.start);
        start = toggle.end;
    }
    gaps.push(start..line.end);
    gaps.retain(|gap| f64::from(gap.end - gap.start) >= f64::from(height) * MIN_LABEL_WIDTH);
    let words = words(text);
    while !toggles.is_empty() && !gaps.is_empty() && gaps.len() <= words.len() {
        let labels = wide_gaps(text, gaps.len()).unwrap_or_else(|| by_width(text, &words, &gaps));
        let is_too_narrow =
            |(bytes, gap): (&Range<usize>, &Range<i32>)| !fits(&text[bytes.clone()], gap, height);
        match labels.iter().zip(&gaps).position(is_too_narrow) {
            // Nothing is written there: the line's box reaches over the toggle before its first label.
            Some(empty) if gaps.len() > 1 => drop(gaps.remove(empty)),
            _ => {
                let parts = labels.into_iter().zip(gaps);
                return parts.map(|(bytes, x)| LinePart { bytes, x }).collect();
            }
        }
    }
    Vec::new()
}

/// Returns whether a gap in a line of this height has room for a label.
fn fits(label: &str, gap: &Range<i32>, height: i32) -> bool {
    let min_width = text_width(label) * f64::from(height) / MAX_BOX_HEIGHT_PER_EM;
    min_width <= f64::from(gap.end - gap.start) * MAX_CROWDING
}

/// Returns the byte ranges of the words; of a script without spaces, those of its characters.
fn words(text: &str) -> Vec<Range<usize>> {
    let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        let first = start(word);
        let mut from = 0;
        let mut before = None;
        for (at, character) in word.char_indices() {
            let ends = is_unspaced(character) || before.is_some_and(is_unspaced);
            if ends && at > from {
                words.push(first + from..first + at);
                from = at;
            }
            before = Some(character);
        }
        words.push(first + from..first + word.len());
    }
    words
}

/// Returns the labels if the line has a wide gap, read as two spaces, between any two of them and nowhere else.
fn wide_gaps(text: &str, count: usize) -> Option<Vec<Range<usize>>> {
    let start = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let labels: Vec<Range<usize>> = text
        .split("  ")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| start(part)..start(part) + part.len())
        .collect();
    (labels.len() == count).then_some(labels)
}

/// Returns the labels whose estimated widths fit the gaps best.
fn by_width(text: &str, words: &[Range<usize>], gaps: &[Range<i32>]) -> Vec<Range<usize>> {
    let gap_widths: Vec<f64> = gaps
        .iter()
        .map(|gap| f64::from(gap.end - gap.start))
        .collect();
    let scale = gap_widths.iter().sum::<f64>() / text_width(text).max(1.0);
    let label = |from: usize, to: usize| words[from].start..words[to - 1].end;
    let misfit = |gap: usize, from: usize, to: usize| {
        let off = text_width(&text[label(from, to)]) * scale - gap_widths[gap];
        off * off
    };
    // `best[end]`: the least misfit of the gaps so far with the words before `end`, and the starts of their labels.
    let mut best: Vec<Option<(f64, Vec<usize>)>> = vec![None; words.len() + 1];
    best[0] = Some((0.0, Vec::new()));
    for gap in 0..gaps.len() {
        let mut next = vec![None; words.len() + 1];
        for (to, next) in next.iter_mut().enumerate().skip(gap + 1) {
            let fits = (gap..to).filter_map(|from| {
                let (cost, starts) = best[from].as_ref()?;
                let mut starts = starts.clone();
                starts.push(from);
                Some((cost + misfit(gap, from, to), starts))
            });
            *next = fits.min_by(|a, b| a.0.total_cmp(&b.0));
        }
        best = next;
    }
    let Some((_, starts)) = best.pop().flatten() else {
        return Vec::new();
    };
    let ends = starts.iter().skip(1).copied().chain([words.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(from, to)| label(*from, to))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: Range<i32>, toggles: &[Range<i32>], expected: &[&str]) {
        let parts = split(text, line, 20, toggles.to_vec());
        let labels: Vec<&str> = parts.iter().map(|part| &text[part.bytes.clone()]).collect();
        assert_eq!(labels, expected, "{text}");
    }

    #[test]
    fn chinese_line_is_split_between_its_characters() {
        check(
            "我同意订阅",
            27..140,
            &[12..25, 85..98],
            &["我同意", "订阅"],
        );
    }

    /// Lines and boxes as Perception read them on a page of checkboxes.
    #[test]
    fn line_is_split_into_one_label_per_toggle() {
        let first = "Two-factor login  Newsletter";
        check(
            first,
            45..249,
            &[34..47, 160..173],
            &["Two-factor login", "Newsletter"],
        );
        let behind = "Two-factor  Newsletter";
        check(
            behind,
            28..213,
            &[103..116, 197..210],
            &["Two-factor", "Newsletter"],
        );
        let three = [34..47, 123..137, 197..211];
        let labels = ["Alpha beta", "Gamma", "Delta"];
        check("Alpha beta  Gamma  Delta", 30..256, &three, &labels);
        check("Alpha beta Gamma Delta", 30..256, &three, &labels);
        check(
            "Two-factor login Newsletter",
            45..249,
            &[34..47, 160..173],
            &["Two-factor login", "Newsletter"],
        );
    }

    #[test]
    fn a_line_that_reaches_over_the_toggle_before_it_is_one_label() {
        check(
            "Two-factor login",
            494..678,
            std::slice::from_ref(&(523..541)),
            &["Two-factor login"],
        );
    }

    #[test]
    fn lines_without_matching_toggles_are_not_split() {
        let one = std::iter::once(20..33).collect::<Vec<_>>();
        check("Two-factor login", 45..150, &one, &[]);
        check("Newsletter", 45..249, &[34..47, 160..173], &[]);
    }
}
