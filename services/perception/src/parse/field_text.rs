//! Cuts regions of text at the borders of fields. Text detection takes a label and the text in the field right beside it for
//! one line, of which the border then hides a letter.
//!
//! Pure: the caller recognises the text of each part again. A region is not cut where the border would run through a letter,
//! because the detected box is wrong there.

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::detect::{Detection, MIN_CERTAIN_FIELD};
use super::read::TextLine;

/// Minimum width of each part, in heights of the field: about that of a letter, in a field with the usual margins.
const MIN_PART_WIDTH: f64 = 0.4;
/// Minimum distance of the centre of a letter from a border that does not cut it, in heights of the field: half of the
/// narrowest letters.
const MIN_LETTER_DISTANCE: f64 = 0.1;
/// Width of a field's border, in capture pixels: 1 drawn, 1 for the inaccuracy of its box.
const BORDER_PX: i32 = 2;

/// Returns the boxes of the fields among the detections.
pub(super) fn fields(detections: &[Detection]) -> Vec<CaptureRect> {
    let is_field = |found: &&Detection| {
        let kind = matches!(
            found.kind,
            ElementKind::TextField | ElementKind::SpinBox | ElementKind::DropDown
        );
        kind && found.confidence >= MIN_CERTAIN_FIELD
    };
    let fields = detections.iter().filter(is_field);
    fields.map(|found| found.bounds).collect()
}

/// Returns the parts of a region of text that lie outside and inside of a field, from left to right; nothing if no field's
/// border crosses it. `line` is what was recognised there.
pub(super) fn cut(
    region: CaptureRect,
    line: Option<&TextLine>,
    fields: &[CaptureRect],
) -> Vec<CaptureRect> {
    let crossing = fields
        .iter()
        .filter(|field| is_on_row(region, **field))
        .find_map(|field| {
            let at_left = crosses(region, *field, field.min.x, line);
            let at_right = crosses(region, *field, field.max.x, line);
            (at_left || at_right).then_some((*field, at_left, at_right))
        });
    let Some((field, at_left, at_right)) = crossing else {
        return Vec::new();
    };
    let inner = field.inflate(-BORDER_PX, -BORDER_PX);
    let inside = CaptureRect::new(
        CapturePoint::new(region.min.x.max(inner.min.x), region.min.y.max(inner.min.y)),
        CapturePoint::new(region.max.x.min(inner.max.x), region.max.y.min(inner.max.y)),
    );
    let before = CaptureRect::new(region.min, CapturePoint::new(field.min.x, region.max.y));
    let after = CaptureRect::new(CapturePoint::new(field.max.x, region.min.y), region.max);
    let parts = [
        at_left.then_some(before),
        Some(inside),
        at_right.then_some(after),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns whether the middles of a line and of a field are inside of each other's height.
fn is_on_row(line: CaptureRect, field: CaptureRect) -> bool {
    let holds = |outer: CaptureRect, inner: CaptureRect| {
        (outer.min.y..outer.max.y).contains(&inner.center().y)
    };
    holds(line, field) && holds(field, line)
}

/// Returns whether a border of the field at `x` divides the region between two letters.
fn crosses(region: CaptureRect, field: CaptureRect, x: i32, line: Option<&TextLine>) -> bool {
    let height = f64::from(field.height());
    let min_part = (height * MIN_PART_WIDTH) as i32;
    let is_inside = region.min.x + min_part <= x && x + min_part <= region.max.x;
    let letters = line.map_or(&[][..], |line| &line.char_positions);
    let (left, width) = (f64::from(region.min.x), f64::from(region.width()));
    let cuts_letter = letters.iter().any(|position| {
        let centre = left + f64::from(*position) * width;
        (centre - f64::from(x)).abs() < height * MIN_LETTER_DISTANCE
    });
    is_inside && !cuts_letter
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    /// A label and a short text as they were read beside each other in a browser's form: `Code [xyz      ]`.
    #[test]
    fn a_label_and_the_text_of_the_field_beside_it_are_two_lines() {
        let (region, field) = (rect(20, 154, 76, 33), rect(68, 158, 176, 22));
        let mut line = TextLine::new(region, "Code yz", 0.9);
        line.char_positions = vec![0.12, 0.24, 0.37, 0.49, 0.6, 0.76, 0.88];
        let parts = cut(region, Some(&line), &[field]);
        assert_eq!(parts, [rect(20, 154, 48, 33), rect(70, 160, 26, 18)]);
        assert_eq!(cut(region, None, &[field]), parts);
    }

    #[test]
    fn a_line_that_no_border_divides_stays_whole() {
        let field = rect(68, 158, 176, 22);
        for region in [
            // In the field, beside it, below it, and over its whole width but for the inaccuracy of boxes.
            rect(70, 158, 100, 24),
            rect(10, 158, 60, 24),
            rect(20, 190, 120, 24),
            rect(64, 156, 184, 26),
        ] {
            assert_eq!(cut(region, None, &[field]), [], "{region:?}");
        }
        // The border would cut the second letter.
        let region = rect(40, 158, 60, 22);
        let mut line = TextLine::new(region, "Mass", 0.9);
        line.char_positions = vec![0.2, 0.47, 0.7, 0.9];
        assert_eq!(cut(region, Some(&line), &[field]), []);
    }
}
