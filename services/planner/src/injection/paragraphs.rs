//! Joins lines of text that form a paragraph. Text recognition returns lines; sentences span several of them.

use motorium_imaging::space::denormalise;
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};

/// Maximum number of lines per paragraph: bounds the work on one screen.
const MAX_LINES: usize = 12;
/// Number of lines with which a paragraph that is full begins the next one. Otherwise an order across the boundary of both
/// would not be found. Orders span up to three lines.
const OVERLAP_LINES: usize = 3;
/// Maximum gap between two lines of a paragraph, in line heights: larger gaps separate paragraphs.
const MAX_LINE_GAP: i32 = 1;

/// A recognised line of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line<'a> {
    pub text: &'a str,
    pub bounds: CaptureRect,
}

/// Returns all texts of a scene: plain lines joined with those below them, interactable elements on their own. A long
/// paragraph is divided into several that overlap.
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
            Some(lines) if lines.len() < MAX_LINES => lines.push(line),
            Some(full) => {
                let overlap = &full[full.len() - OVERLAP_LINES..];
                let next = overlap.iter().copied().chain([line]).collect();
                paragraphs.push(next);
            }
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

/// Returns whether a line continues a paragraph: right below its last line, and overlapping it by more than half.
fn goes_on(lines: &[Line<'_>], bounds: CaptureRect) -> bool {
    let Some(last) = lines.last().map(|line| line.bounds) else {
        return false;
    };
    let height = last.height().min(bounds.height());
    let space = bounds.min.y - last.max.y;
    // Half a line lower at least: otherwise the lines stand side by side.
    let is_under = space <= height * MAX_LINE_GAP && bounds.min.y >= last.min.y + height / 2;
    let overlap = last.max.x.min(bounds.max.x) - last.min.x.max(bounds.min.x);
    // An overlap of more than half the narrower line: columns side by side barely overlap.
    let is_column = overlap * 2 > last.width().min(bounds.width());
    is_under && is_column
}
