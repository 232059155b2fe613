//! Lines of text that stand under each other and belong together. Text recognition gives lines; sentences go on over
//! several of them.

use motorium_imaging::space::denormalise;
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};

/// Most lines that are taken together.
const MOST_LINES: usize = 12;
/// Most space between two lines of a paragraph, in heights of a line.
const SPACE: i32 = 1;

/// A line that was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line<'a> {
    pub text: &'a str,
    pub bounds: CaptureRect,
}

/// All texts of a scene: plain lines together with those under them, everything else by itself.
#[must_use]
pub fn paragraphs(scene: &Scene, frame: CaptureSize) -> Vec<Vec<Line<'_>>> {
    let with_text = scene
        .elements
        .iter()
        .filter(|element| !element.content.trim().is_empty());
    let (controls, plain): (Vec<&Element>, Vec<&Element>) =
        with_text.partition(|element| element.interactable);
    let mut plain: Vec<Line<'_>> = plain.into_iter().map(|each| line(each, frame)).collect();
    plain.sort_by_key(|line| (line.bounds.min.y, line.bounds.min.x));
    let mut paragraphs: Vec<Vec<Line<'_>>> = Vec::new();
    for line in plain {
        let above = paragraphs
            .iter_mut()
            .rev()
            .find(|lines| goes_on(lines, line.bounds));
        match above {
            Some(lines) => lines.push(line),
            None => paragraphs.push(vec![line]),
        }
    }
    paragraphs.extend(controls.into_iter().map(|each| vec![line(each, frame)]));
    paragraphs
}

fn line(element: &Element, frame: CaptureSize) -> Line<'_> {
    Line {
        text: &element.content,
        bounds: denormalise(&element.bounds, frame),
    }
}

/// Whether a line in these bounds goes on with a paragraph: right under its last line, and beginning or ending with it.
fn goes_on(lines: &[Line<'_>], bounds: CaptureRect) -> bool {
    let Some(last) = lines.last().map(|line| line.bounds) else {
        return false;
    };
    let height = last.height().min(bounds.height());
    let space = bounds.min.y - last.max.y;
    let is_under = space <= height * SPACE && bounds.min.y >= last.min.y + height / 2;
    let overlap = last.max.x.min(bounds.max.x) - last.min.x.max(bounds.min.x);
    let is_column = overlap * 2 > last.width().min(bounds.width());
    lines.len() < MOST_LINES && is_under && is_column
}
