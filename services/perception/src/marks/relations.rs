//! Relations between elements: labels of controls, radio groups, and elements contained in a dialog, a row or a list
//! entry.
//!
//! Pure. Without a detector there are no controls and therefore no relations.

use motorium_proto::domain::element::{Element, ElementKind, Relation, RelationKind};
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::id::ElementId;

use motorium_imaging::space::denormalise;

use super::placed_element::{PlacedElement, label_distance};
use super::radio_groups::radio_groups;
use crate::areas::fraction_inside;

/// Minimum fraction of an element that must be inside a container.
// Below 1, because detected boxes are off by a pixel or two.
const MIN_FRACTION_INSIDE: f64 = 0.9;

/// Returns the relations among the elements of a frame of `size` pixels.
#[must_use]
pub fn relations(elements: &[Element], size: CaptureSize) -> Vec<Relation> {
    let placed: Vec<PlacedElement<'_>> = elements
        .iter()
        .map(|element| PlacedElement {
            element,
            bounds: denormalise(&element.bounds, size),
        })
        .collect();
    let mut relations = labels(&placed);
    let groups = radio_groups(&placed, &relations);
    relations.extend(groups);
    relations.extend(parts(&placed));
    relations
}

/// Pairs texts with controls, nearest first. Each control has at most one label, and each text labels at most one
/// control.
fn labels(placed: &[PlacedElement<'_>]) -> Vec<Relation> {
    let mut pairs: Vec<(i32, ElementId, ElementId)> = Vec::new();
    for control in placed.iter().filter(|placed| wants_label(placed.element)) {
        for text in placed
            .iter()
            .filter(|placed| placed.element.kind == ElementKind::Label)
        {
            if let Some(distance) =
                label_distance(text.bounds, control.bounds, control.element.kind)
            {
                pairs.push((distance, text.element.id, control.element.id));
            }
        }
    }
    pairs.sort_by_key(|&(distance, text, control)| (distance, control.0, text.0));
    let mut relations: Vec<Relation> = Vec::new();
    for (_, from, to) in pairs {
        if !relations
            .iter()
            .any(|known| known.from == from || known.to == to)
        {
            relations.push(Relation {
                kind: RelationKind::LabelOf,
                from,
                to,
            });
        }
    }
    relations
}

/// Returns whether a control needs an external label. A button contains its label; a field contains a value.
fn wants_label(element: &Element) -> bool {
    match element.kind {
        ElementKind::TextField
        | ElementKind::DropDown
        | ElementKind::Slider
        | ElementKind::SpinBox => true,
        ElementKind::Checkbox | ElementKind::Radio | ElementKind::Switch => {
            element.content.is_empty()
        }
        _ => false,
    }
}

/// Returns the smallest dialog, row or list entry that contains each element.
fn parts(placed: &[PlacedElement<'_>]) -> impl Iterator<Item = Relation> {
    placed.iter().filter_map(|part| {
        let holds = |whole: &&PlacedElement<'_>| {
            is_container(whole.element.kind)
                && whole.element.id != part.element.id
                && whole.bounds.area() > part.bounds.area()
                && fraction_inside(part.bounds, whole.bounds) > MIN_FRACTION_INSIDE
        };
        let whole = placed
            .iter()
            .filter(holds)
            .min_by_key(|whole| whole.bounds.area())?;
        Some(Relation {
            kind: RelationKind::PartOf,
            from: part.element.id,
            to: whole.element.id,
        })
    })
}

fn is_container(kind: ElementKind) -> bool {
    matches!(
        kind,
        ElementKind::Dialog | ElementKind::TableRow | ElementKind::ListItem
    )
}

#[cfg(test)]
pub(super) mod tests {
    use motorium_imaging::space::{centre, normalise};
    use motorium_proto::domain::element::{ElementSource, ElementState};
    use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

    use super::*;

    use ElementKind::{Button, Checkbox, Dialog, Label, TableRow, TextField};
    use RelationKind::{LabelOf, PartOf};

    pub(in crate::marks) const SIZE: CaptureSize = CaptureSize::new(1000, 600);

    /// Kind, x, y, width, height.
    pub(in crate::marks) type ElementSpec = (ElementKind, i32, i32, i32, i32);

    /// Converts specifications to elements, numbered from 1.
    pub(in crate::marks) fn numbered(things: &[ElementSpec]) -> Vec<Element> {
        things
            .iter()
            .zip(1..)
            .map(|(&(kind, x, y, width, height), number)| {
                let bounds = CaptureRect::new(
                    CapturePoint::new(x, y),
                    CapturePoint::new(x + width, y + height),
                );
                let bounds = normalise(bounds, SIZE);
                Element {
                    id: ElementId(number),
                    kind,
                    content: String::new(),
                    centre: centre(&bounds, SIZE),
                    bounds,
                    interactable: kind != Label,
                    confidence: 0.9,
                    source: ElementSource::Both,
                    state: ElementState::default(),
                }
            })
            .collect()
    }

    /// Checks the relations `(kind, from, to)` among elements numbered from 1.
    fn check(things: &[ElementSpec], expected: &[(RelationKind, u32, u32)]) {
        let elements = numbered(things);
        let found: Vec<_> = relations(&elements, SIZE)
            .into_iter()
            .map(|found| (found.kind, found.from.0, found.to.0))
            .collect();
        assert_eq!(found, expected, "{elements:#?}");
    }

    #[test]
    fn field_is_labelled_by_text_before_or_above_it() {
        check(
            &[(Label, 20, 105, 60, 20), (TextField, 100, 100, 200, 30)],
            &[(LabelOf, 1, 2)],
        );
        check(
            &[(Label, 100, 76, 60, 20), (TextField, 100, 100, 200, 30)],
            &[(LabelOf, 1, 2)],
        );
        // Text after a field is a hint, not a label.
        check(
            &[(TextField, 100, 100, 200, 30), (Label, 310, 105, 60, 20)],
            &[],
        );
    }

    #[test]
    fn checkbox_is_labelled_by_the_text_after_it() {
        check(
            &[
                (Checkbox, 100, 100, 16, 16),
                (Label, 122, 98, 80, 20),
                (Checkbox, 240, 100, 16, 16),
                (Label, 262, 98, 80, 20),
            ],
            &[(LabelOf, 2, 1), (LabelOf, 4, 3)],
        );
    }

    #[test]
    fn fields_below_each_other_have_their_own_labels() {
        check(
            &[
                (Label, 100, 76, 60, 20),
                (TextField, 100, 100, 200, 30),
                (Label, 100, 146, 60, 20),
                (TextField, 100, 170, 200, 30),
                (Button, 100, 220, 80, 30),
            ],
            &[(LabelOf, 1, 2), (LabelOf, 3, 4)],
        );
    }

    #[test]
    fn elements_are_part_of_the_smallest_container() {
        check(
            &[
                (Dialog, 100, 100, 600, 400),
                (TableRow, 120, 200, 500, 30),
                (Label, 130, 205, 80, 20),
                (Button, 600, 450, 80, 30),
                (Label, 10, 10, 80, 20),
            ],
            &[(PartOf, 2, 1), (PartOf, 3, 2), (PartOf, 4, 1)],
        );
    }
}
