//! What fills the gap between two fields is the words of the second one.
//!
//! In a form with its words above its fields, what lies between two of them is as wide as they are, begins where the one ends
//! and ends where the other begins, and a network takes it for a field now and then. Fields that do touch look all alike to it.
//! So a text field that fills the gap between two fields of which the network is surer is not believed. It knows nothing of
//! text. Pure. `training/detector/captions.py` does the same for what is measured there: of what a network found on 100 drawn
//! validation screens it left out three boxes, none of which was a field.

use motorium_proto::domain::element::ElementKind;

use super::answer::{Candidate, Sides};

/// Pixels between one and the next, or on each other, of what touches.
const TOUCHING: f32 = 4.0;
/// Share of its width by which the left or the right ends of fields of one form lie beside each other.
const APART: f32 = 0.05;
/// Which of [`Sides`].
const TOP: usize = 1;
const BOTTOM: usize = 3;

/// Those of `found` that are left.
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
                && (other.sides[(side + 2) % 4] - one.sides[side]).abs() <= TOUCHING
        })
    };
    one.kind == ElementKind::TextField && touches(TOP) && touches(BOTTOM)
}

fn is_field(kind: ElementKind) -> bool {
    use ElementKind::{DropDown, SpinBox, TextField};
    matches!(kind, TextField | DropDown | SpinBox)
}

fn are_as_wide(other: Sides, one: Sides) -> bool {
    let apart = APART * (one[2] - one[0]);
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

    /// A form: a field, what is between, and a choice.
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
    fn what_fills_the_gap_between_two_fields_is_none() {
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
            // With a gap on one side of it, as fields have one.
            one(TextField, [365.0, 396.0], 0.3),
            one(TextField, [356.0, 388.0], 0.3),
            // Of another kind, surer, or of another width.
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
