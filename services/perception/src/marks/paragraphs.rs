//! Joins the lines of a text block into one element.
//!
//! Only plain text is joined; text inside a control was already merged there. Pure.

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CaptureRect;

use super::MergedElement;
use super::reading_order::canonical_order;

/// Maximum relative difference in height within a block. Text boxes vary with ascenders and descenders.
const MAX_HEIGHT_DIFFERENCE: f64 = 0.35;

/// Maximum gap between two lines of a block, in line heights. Text boxes are slightly larger than the text.
const MAX_LINE_GAP: f64 = 0.7;

/// Maximum difference of the left edges within a block, in line heights.
// Covers the indent of a first line or bullet; columns are farther apart.
const MAX_INDENT: f64 = 0.8;

/// Joins each block of lines into one element. Lines are separated by line breaks.
#[must_use]
pub fn join(mut found: Vec<MergedElement>) -> Vec<MergedElement> {
    found.sort_by(canonical_order);
    let (lines, mut joined): (Vec<MergedElement>, Vec<MergedElement>) = found
        .into_iter()
        .partition(|found| found.kind == ElementKind::Label);
    let mut blocks: Vec<Vec<MergedElement>> = Vec::new();
    for line in lines {
        let above = blocks.iter_mut().rev().find(|block| {
            let last = block.last().expect("a block begins with a line");
            continues(last.bounds, line.bounds)
        });
        match above {
            Some(block) => block.push(line),
            None => blocks.push(vec![line]),
        }
    }
    joined.extend(blocks.into_iter().map(as_one));
    joined
}

/// Returns whether a line continues the block of the line above it.
fn continues(above: CaptureRect, below: CaptureRect) -> bool {
    let (height, other) = (f64::from(above.height()), f64::from(below.height()));
    let size = height.min(other).max(1.0);
    let gap = f64::from(below.min.y - above.max.y);
    let start = f64::from((below.min.x - above.min.x).abs());
    (height - other).abs() <= MAX_HEIGHT_DIFFERENCE * height.max(other)
        && (-0.5 * size..=MAX_LINE_GAP * size).contains(&gap)
        && start <= MAX_INDENT * size
}

fn as_one(block: Vec<MergedElement>) -> MergedElement {
    let bounds = block.iter().map(|line| line.bounds);
    let bounds = bounds
        .reduce(|all, line| all.union(&line))
        .expect("a block has lines");
    let confidence = block.iter().map(|line| line.confidence).fold(1.0, f32::min);
    let texts: Vec<&str> = block.iter().map(|line| line.content.as_str()).collect();
    MergedElement {
        content: texts.join("\n"),
        bounds,
        confidence,
        ..block[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::element::{ElementSource, ElementState};
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn line(x: i32, y: i32, height: i32, content: &str) -> MergedElement {
        let width = content.chars().count() as i32 * height / 2;
        MergedElement {
            kind: ElementKind::Label,
            content: content.to_owned(),
            bounds: CaptureRect::new(
                CapturePoint::new(x, y),
                CapturePoint::new(x + width, y + height),
            ),
            click_point: None,
            interactable: false,
            confidence: 0.9,
            source: ElementSource::Ocr,
            state: ElementState::default(),
        }
    }

    fn check(lines: &[MergedElement], expected: &[&str]) {
        let mut texts: Vec<_> = join(lines.to_vec())
            .into_iter()
            .map(|found| found.content)
            .collect();
        texts.sort_unstable();
        assert_eq!(texts, expected);
    }

    #[test]
    fn lines_of_a_paragraph_are_joined() {
        let block = [
            line(10, 10, 20, "The quick brown"),
            line(11, 34, 19, "fox jumps over"),
            line(10, 58, 20, "the lazy dog."),
        ];
        check(&block, &["The quick brown\nfox jumps over\nthe lazy dog."]);
        let bounds = join(block.to_vec())[0].bounds;
        assert_eq!((bounds.min, bounds.max.y), (CapturePoint::new(10, 10), 78));
    }

    #[test]
    fn unrelated_lines_are_not_joined() {
        // A heading above its text, two columns, lines far apart, and an indented list beside a paragraph.
        check(
            &[
                line(10, 10, 40, "Heading"),
                line(10, 52, 20, "text below it"),
            ],
            &["Heading", "text below it"],
        );
        check(
            &[
                line(10, 10, 20, "left"),
                line(300, 10, 20, "right"),
                line(300, 34, 20, "more"),
            ],
            &["left", "right\nmore"],
        );
        check(
            &[line(10, 10, 20, "one"), line(10, 60, 20, "two")],
            &["one", "two"],
        );
        check(
            &[line(10, 10, 20, "one"), line(60, 34, 20, "two")],
            &["one", "two"],
        );
    }

    #[test]
    fn controls_are_left_alone() {
        let button = MergedElement {
            kind: ElementKind::Button,
            ..line(10, 34, 20, "OK")
        };
        check(&[line(10, 10, 20, "Sure?"), button], &["OK", "Sure?"]);
    }
}
