//! A page is no field.
//!
//! An editor over a whole window and a plain page in one look alike from afar: text in lines, and much that is empty. But
//! a page has buttons and fields in it, and a field has not. So a large field that holds two controls or more of which the
//! network is surer is not believed; taken for one, everything written on the page would be its text.
//!
//! What stands in a dialog over an editor is not in the editor. A window in front of one is not known here: such an editor is
//! lost if the network is less sure of it than of what is in that window. Pure. `training/detector/pages.py` does the
//! same for what is measured there: on 73 pictures of validation applications 0.004 of the boxes are spurious no more,
//! and everything that was found before is found.

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CaptureRect;

use super::Detection;
use crate::areas::share_inside;

/// Pixels, the longer side and the shorter: what is smaller holds nothing but what belongs to it.
const LEAST_SIDES: [i32; 2] = [400, 150];
/// A control lies in a field, or in a dialog over it, if so much of it does.
const INSIDE: f64 = 0.9;
const LEAST_CONTROLS: usize = 2;

/// Those of `found` that are left when fields that hold surer controls are not believed.
pub(super) fn without_pages(found: &[Detection]) -> Vec<Detection> {
    let left = found.iter().filter(|one| !is_page(one, found));
    left.cloned().collect()
}

fn is_page(field: &Detection, found: &[Detection]) -> bool {
    if field.kind != ElementKind::TextField || !is_large(field.bounds) {
        return false;
    }
    let is_over = |other: &&Detection| {
        other.kind == ElementKind::Dialog && lies_in(other.bounds, field.bounds)
    };
    let dialogs: Vec<&Detection> = found.iter().filter(is_over).collect();
    let holds = |other: &&Detection| {
        is_in_no_field(other.kind)
            && other.confidence > field.confidence
            && lies_in(other.bounds, field.bounds)
            && !dialogs
                .iter()
                .any(|dialog| lies_in(other.bounds, dialog.bounds))
    };
    found.iter().filter(holds).count() >= LEAST_CONTROLS
}

fn is_large(bounds: CaptureRect) -> bool {
    let (width, height) = (bounds.width(), bounds.height());
    width.max(height) >= LEAST_SIDES[0] && width.min(height) >= LEAST_SIDES[1]
}

/// Links, rows and pictograms are in some fields.
fn is_in_no_field(kind: ElementKind) -> bool {
    matches!(
        kind,
        ElementKind::Button
            | ElementKind::TextField
            | ElementKind::Checkbox
            | ElementKind::Radio
            | ElementKind::Switch
            | ElementKind::DropDown
            | ElementKind::Slider
            | ElementKind::SpinBox
    )
}

fn lies_in(inner: CaptureRect, outer: CaptureRect) -> bool {
    share_inside(inner, outer) >= INSIDE
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn one(kind: ElementKind, [x1, y1, x2, y2]: [i32; 4], confidence: f32) -> Detection {
        let bounds = CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2));
        Detection::new(bounds, kind, confidence)
    }

    fn field(confidence: f32) -> Detection {
        one(ElementKind::TextField, [60, 60, 960, 760], confidence)
    }

    fn buttons() -> [Detection; 2] {
        [
            one(ElementKind::Button, [90, 170, 220, 210], 0.8),
            one(ElementKind::Button, [230, 170, 310, 210], 0.8),
        ]
    }

    fn kinds(found: &[Detection]) -> Vec<ElementKind> {
        let left = without_pages(found);
        left.into_iter().map(|found| found.kind).collect()
    }

    #[test]
    fn a_field_with_controls_in_it_is_a_page() {
        let [save, discard] = buttons();
        let found = [save, field(0.5), discard];
        assert_eq!(kinds(&found), [ElementKind::Button, ElementKind::Button]);
    }

    #[test]
    fn an_editor_stays() {
        let whole = field(0.5);
        let [save, discard] = buttons();
        let bar = one(ElementKind::ScrollBar, [945, 60, 960, 760], 0.9);
        let link = one(ElementKind::Link, [90, 300, 220, 320], 0.9);
        for found in [
            // Alone, with what editors have in them, and with no more than one control.
            vec![whole.clone()],
            vec![whole.clone(), bar, link],
            vec![whole.clone(), save.clone()],
            // Surer than what seems to be in it.
            vec![field(0.9), save.clone(), discard.clone()],
            // Under a dialog.
            vec![
                whole,
                save,
                discard,
                one(ElementKind::Dialog, [80, 100, 400, 230], 0.3),
            ],
        ] {
            assert_eq!(without_pages(&found), found);
        }
    }

    #[test]
    fn what_is_small_stays() {
        let low = one(ElementKind::TextField, [60, 160, 960, 220], 0.5);
        let [save, discard] = buttons();
        let found = [low, save, discard];
        assert_eq!(without_pages(&found), found);
    }
}
