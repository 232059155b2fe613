//! Lines that stand below each other in one block of text become one element.
//!
//! Only plain text is joined: what has a control around it has been joined there. Pure.

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CaptureRect;

use super::Found;
use super::order::canonical;

/// Lines of one block differ in height by at most this share: boxes of text follow its ascenders and descenders.
const SAME_HEIGHT: f64 = 0.35;

/// The gap between two lines of one block, as a share of their height: boxes are a little larger than the text.
const MOST_GAP: f64 = 0.7;

/// Lines of one block begin at the same place, give or take this share of their height.
const SAME_START: f64 = 0.8;

/// The elements, with each block of lines as one. Lines are kept apart by line breaks.
#[must_use]
pub fn join(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by(canonical);
    let (lines, mut joined): (Vec<Found>, Vec<Found>) = found
        .into_iter()
        .partition(|found| found.kind == ElementKind::Label);
    let mut blocks: Vec<Vec<Found>> = Vec::new();
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

/// Whether a line goes on with what the line above it began.
fn continues(above: CaptureRect, below: CaptureRect) -> bool {
    let (height, other) = (f64::from(above.height()), f64::from(below.height()));
    let size = height.min(other).max(1.0);
    let gap = f64::from(below.min.y - above.max.y);
    let start = f64::from((below.min.x - above.min.x).abs());
    (height - other).abs() <= SAME_HEIGHT * height.max(other)
        && (-0.5 * size..=MOST_GAP * size).contains(&gap)
        && start <= SAME_START * size
}

fn as_one(block: Vec<Found>) -> Found {
    let bounds = block.iter().map(|line| line.bounds);
    let bounds = bounds
        .reduce(|all, line| all.union(&line))
        .expect("a block has lines");
    let least = block.iter().map(|line| line.confidence).fold(1.0, f32::min);
    let texts: Vec<&str> = block.iter().map(|line| line.content.as_str()).collect();
    Found {
        content: texts.join("\n"),
        bounds,
        confidence: least,
        ..block[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::element::{ElementSource, ElementState};
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn line(x: i32, y: i32, height: i32, content: &str) -> Found {
        let width = content.chars().count() as i32 * height / 2;
        Found {
            kind: ElementKind::Label,
            content: content.to_owned(),
            bounds: CaptureRect::new(
                CapturePoint::new(x, y),
                CapturePoint::new(x + width, y + height),
            ),
            interactable: false,
            confidence: 0.9,
            source: ElementSource::Ocr,
            state: ElementState::default(),
        }
    }

    fn check(lines: &[Found], expected: &[&str]) {
        let mut texts: Vec<_> = join(lines.to_vec())
            .into_iter()
            .map(|found| found.content)
            .collect();
        texts.sort_unstable();
        assert_eq!(texts, expected);
    }

    #[test]
    fn lines_of_a_block_become_one() {
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
    fn what_is_no_block_stays_apart() {
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
        let button = Found {
            kind: ElementKind::Button,
            ..line(10, 34, 20, "OK")
        };
        check(&[line(10, 10, 20, "Sure?"), button], &["OK", "Sure?"]);
    }
}
