//! Stable element ids across frames.
//!
//! An element is matched by text and kind, and by position. Text that is unique in both frames matches with certainty
//! and yields the local motion; other elements are searched for at the position shifted by that motion. A scrolled list
//! thus keeps its ids, including the equal buttons in its rows.
//!
//! Invariant: an id is never given to two elements of a frame, and never reused for another element.

use std::collections::HashMap;

use euclid::Vector2D;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePx, CaptureRect};
use motorium_proto::domain::id::ElementId;
use strsim::normalized_levenshtein;

use super::merged_element::MergedElement;
use crate::areas::iou;

type Shift = Vector2D<i32, CapturePx>;

/// IoU from which two boxes are in the same place.
// A box that moved by a third of its length is below, its redetection above.
const SAME_PLACE_IOU: f64 = 0.5;
/// IoU from which a box has moved only slightly. Sufficient if text and kind are equal.
const NEARBY_IOU: f64 = 0.2;
/// Minimum similarity (normalised Levenshtein) of two versions of one text (`12:01` and `12:02`, `1 file` and `2
/// files`).
const MIN_TEXT_SIMILARITY: f64 = 0.5;
/// Tolerance for the left edge of a text that is being edited, in pixels.
// The error of a detected box; typing moves the right edge only.
const EDGE_TOLERANCE_PX: i32 = 4;

/// Elements of the previous scene and their ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrackedElements {
    /// Highest id ever assigned.
    last_id: u32,
    elements: Vec<TrackedElement>,
}

/// Element of the previous scene.
#[derive(Debug, Clone, PartialEq)]
struct TrackedElement {
    id: ElementId,
    kind: ElementKind,
    content: String,
    bounds: CaptureRect,
}

impl TrackedElements {
    /// Assigns ids to a scene, in the given order, and returns the state for the next scene. The first scene is
    /// numbered from 1.
    #[must_use]
    pub fn assign_ids(&self, found: &[MergedElement]) -> (Vec<ElementId>, Self) {
        let matched = ElementMatching::new(&self.elements, found).resolve();
        let mut highest = self.last_id;
        let mut fresh = || {
            highest += 1;
            ElementId(highest)
        };
        let numbers: Vec<ElementId> = matched
            .into_iter()
            .map(|known| known.map_or_else(&mut fresh, |index| self.elements[index].id))
            .collect();
        let elements = found
            .iter()
            .zip(&numbers)
            .map(|(found, id)| TrackedElement {
                id: *id,
                kind: found.kind,
                content: found.content.clone(),
                bounds: found.bounds,
            });
        let elements = elements.collect();
        (
            numbers,
            Self {
                last_id: highest,
                elements,
            },
        )
    }
}

/// Assignment of new elements to known ones.
struct ElementMatching<'a> {
    known: &'a [TrackedElement],
    found: &'a [MergedElement],
    /// Index of the known element for each new one.
    matches: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'a> ElementMatching<'a> {
    fn new(known: &'a [TrackedElement], found: &'a [MergedElement]) -> Self {
        Self {
            known,
            found,
            matches: vec![None; found.len()],
            taken: vec![false; known.len()],
        }
    }

    /// Matches in order of decreasing certainty, so that a weak criterion cannot take an element that a strong one
    /// would match.
    fn resolve(mut self) -> Vec<Option<usize>> {
        self.match_unique_texts();
        let shifts = self.shifts();
        self.match_best(
            |known, found, shift| {
                let place = iou(known.bounds.translate(shift), found.bounds);
                (is_same_text(known, found) && place >= SAME_PLACE_IOU).then_some(place)
            },
            &shifts,
        );
        self.match_best(
            |known, found, shift| {
                let place = iou(known.bounds.translate(shift), found.bounds);
                let is_same = known.kind == found.kind
                    && place >= SAME_PLACE_IOU
                    && may_be_same_element(known, found);
                is_same.then_some(place)
            },
            &shifts,
        );
        self.match_best(
            |known, found, shift| {
                is_edited_text(known, found, shift)
                    .then(|| normalized_levenshtein(&known.content, &found.content))
            },
            &shifts,
        );
        let unmoved = vec![Shift::zero(); self.found.len()];
        self.match_best(
            |known, found, _| {
                let place = iou(known.bounds, found.bounds);
                (is_same_text(known, found) && place >= NEARBY_IOU).then_some(place)
            },
            &unmoved,
        );
        self.match_best(
            |known, found, _| {
                // Detected as another kind this time.
                let place = iou(known.bounds, found.bounds);
                (known.content == found.content && place >= SAME_PLACE_IOU).then_some(place)
            },
            &unmoved,
        );
        self.matches
    }

    /// Matches elements whose text is unique before and now.
    fn match_unique_texts(&mut self) {
        let known = unique(
            self.known
                .iter()
                .map(|known| (known.kind, known.content.as_str())),
        );
        let found = unique(
            self.found
                .iter()
                .map(|found| (found.kind, found.content.as_str())),
        );
        for (text, found) in found {
            if let Some(known) = known.get(&text) {
                self.pair(*known, found);
            }
        }
    }

    /// Estimates the motion of each new element from the nearest certain match.
    fn shifts(&self) -> Vec<Shift> {
        let moved: Vec<(CaptureRect, Shift)> = self
            .found
            .iter()
            .zip(&self.matches)
            .filter_map(|(found, known)| {
                Some((
                    found.bounds,
                    found.bounds.min - self.known[(*known)?].bounds.min,
                ))
            })
            .collect();
        let shift_at = |bounds: CaptureRect| {
            let nearest = moved
                .iter()
                .min_by_key(|(other, _)| distance(*other, bounds));
            nearest.map_or_else(Shift::zero, |(_, shift)| *shift)
        };
        self.found
            .iter()
            .map(|found| shift_at(found.bounds))
            .collect()
    }

    /// Pairs the remaining elements greedily by `likeness`, which is `None` for impossible pairs.
    fn match_best(
        &mut self,
        likeness: impl Fn(&TrackedElement, &MergedElement, Shift) -> Option<f64>,
        shifts: &[Shift],
    ) {
        let mut pairs = Vec::new();
        for (new, found) in self
            .found
            .iter()
            .enumerate()
            .filter(|(new, _)| self.matches[*new].is_none())
        {
            for (old, known) in self
                .known
                .iter()
                .enumerate()
                .filter(|(old, _)| !self.taken[*old])
            {
                pairs.extend(
                    likeness(known, found, shifts[new]).map(|likeness| (likeness, old, new)),
                );
            }
        }
        pairs.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        for (_, old, new) in pairs {
            self.pair(old, new);
        }
    }

    fn pair(&mut self, known: usize, found: usize) {
        if !self.taken[known] && self.matches[found].is_none() {
            self.taken[known] = true;
            self.matches[found] = Some(known);
        }
    }
}

/// Returns the unique texts with their indices.
fn unique<'a>(
    texts: impl Iterator<Item = (ElementKind, &'a str)>,
) -> HashMap<(ElementKind, &'a str), usize> {
    let mut places: HashMap<_, Option<usize>> = HashMap::new();
    for (index, text) in texts
        .enumerate()
        .filter(|(_, (_, content))| !content.is_empty())
    {
        places
            .entry(text)
            .and_modify(|place| *place = None)
            .or_insert(Some(index));
    }
    places
        .into_iter()
        .filter_map(|(text, place)| Some((text, place?)))
        .collect()
}

fn is_same_text(known: &TrackedElement, found: &MergedElement) -> bool {
    known.kind == found.kind && known.content == found.content
}

/// Returns whether two texts in one place can belong to the same element. A field keeps its id whatever is typed into
/// it. List entries and plain text change places with each other, so their texts must be similar.
fn may_be_same_element(known: &TrackedElement, found: &MergedElement) -> bool {
    let place_is_enough = !matches!(
        found.kind,
        ElementKind::Label
            | ElementKind::Link
            | ElementKind::ListItem
            | ElementKind::MenuItem
            | ElementKind::TableRow
            | ElementKind::Tab
    );
    place_is_enough || normalized_levenshtein(&known.content, &found.content) >= MIN_TEXT_SIMILARITY
}

/// Returns whether one text is the other with something typed or deleted at its end. The box then has another width,
/// and only its left edge is unchanged.
fn is_edited_text(known: &TrackedElement, found: &MergedElement, shift: Shift) -> bool {
    let (before, now) = (known.bounds.translate(shift), found.bounds);
    let (shorter, longer) = if known.content.len() <= found.content.len() {
        (&known.content, &found.content)
    } else {
        (&found.content, &known.content)
    };
    let same_row = before.max.y.min(now.max.y) - before.min.y.max(now.min.y)
        > before.height().min(now.height()) / 2;
    let same_start = (before.min.x - now.min.x).abs() <= EDGE_TOLERANCE_PX;
    known.kind == found.kind
        && same_row
        && same_start
        && !shorter.is_empty()
        && longer.starts_with(shorter.as_str())
}

/// Weighted distance between the centres of two boxes, in pixels.
fn distance(a: CaptureRect, b: CaptureRect) -> i32 {
    let apart = a.center() - b.center();
    // Elements of a row move together, so horizontal distance counts a quarter of vertical distance.
    apart.x.abs() / 4 + apart.y.abs()
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::element::{ElementSource, ElementState};
    use motorium_proto::domain::geometry::CapturePoint;
    use proptest::prelude::*;

    use super::*;

    use ElementKind::{Button, Label, TextField};

    fn found(kind: ElementKind, content: &str, x: i32, y: i32) -> MergedElement {
        let width = if kind == Label {
            content.chars().count().max(1) as i32 * 8
        } else {
            120
        };
        MergedElement {
            kind,
            content: content.to_owned(),
            bounds: CaptureRect::new(
                CapturePoint::new(x, y),
                CapturePoint::new(x + width, y + 20),
            ),
            click_point: None,
            interactable: kind != Label,
            confidence: 0.9,
            source: ElementSource::Both,
            state: ElementState::default(),
        }
    }

    fn number(memory: &TrackedElements, found: &[MergedElement]) -> (Vec<u32>, TrackedElements) {
        let (numbers, memory) = memory.assign_ids(found);
        (numbers.into_iter().map(|id| id.0).collect(), memory)
    }

    /// Checks the ids of the second scene; the first one is numbered 1, 2, 3 …
    fn check(first: &[MergedElement], second: &[MergedElement], expected: &[u32]) {
        let (numbers, memory) = number(&TrackedElements::default(), first);
        assert_eq!(numbers, (1..=first.len() as u32).collect::<Vec<_>>());
        assert_eq!(number(&memory, second).0, expected);
    }

    #[test]
    fn a_field_keeps_its_number_while_one_types() {
        let form = |text: &str| {
            [
                found(Label, "Name", 10, 10),
                found(TextField, text, 100, 10),
                found(TextField, "", 100, 50),
            ]
        };
        check(&form(""), &form("Alice"), &[1, 2, 3]);
        check(&form("Alice"), &form("Zebra crossing"), &[1, 2, 3]);
    }

    #[test]
    fn text_that_grows_keeps_its_number() {
        check(
            &[found(Label, "H", 10, 10)],
            &[found(Label, "Hello world", 10, 10)],
            &[1],
        );
        check(
            &[found(Label, "Hello world", 10, 10)],
            &[found(Label, "Hel", 11, 10)],
            &[1],
        );
        check(
            &[found(Label, "12:01", 900, 5)],
            &[found(Label, "12:02", 900, 5)],
            &[1],
        );
    }

    #[test]
    fn moved_element_keeps_its_number() {
        check(
            &[found(Button, "OK", 100, 100)],
            &[found(Button, "OK", 103, 104)],
            &[1],
        );
        check(
            &[found(Button, "", 100, 100)],
            &[found(Button, "", 110, 103)],
            &[1],
        );
        let window = |x: i32, y: i32| {
            [
                found(Label, "Title", x, y),
                found(Button, "OK", x, y + 100),
                found(Button, "", x + 200, y + 100),
            ]
        };
        check(&window(10, 10), &window(400, 300), &[1, 2, 3]);
    }

    #[test]
    fn different_element_gets_a_new_number() {
        let (_, memory) = number(
            &TrackedElements::default(),
            &[found(Label, "Inbox", 10, 10), found(Button, "Send", 10, 50)],
        );
        let (numbers, memory) = number(&memory, &[found(Label, "Quarterly report", 10, 10)]);
        assert_eq!(numbers, [3]);
        let (numbers, memory) = number(&memory, &[]);
        assert_eq!(numbers, [0u32; 0]);
        // After a gap the element cannot be recognised.
        assert_eq!(number(&memory, &[found(Button, "Send", 10, 50)]).0, [4]);
    }

    /// A list of mails; every row has the same button.
    fn list(first: i32, scrolled: i32) -> Vec<MergedElement> {
        let rows = (first..first + 5).flat_map(|row| {
            let y = 100 + row * 30 - scrolled;
            [
                found(Label, &format!("Mail from sender {row}{row}{row}"), 10, y),
                found(Button, "Delete", 400, y),
            ]
        });
        rows.collect()
    }

    #[test]
    fn a_scrolled_list_keeps_its_numbers() {
        // Scrolled by exactly one row: every button is where the one above it was.
        check(
            &list(0, 0),
            &list(1, 30),
            &[3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
        );
        check(
            &list(0, 0),
            &list(2, 67),
            &[5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
        );
    }

    #[test]
    fn identical_elements_keep_separate_numbers() {
        let toolbar = || {
            (0..5)
                .map(|i| found(Button, "", 10 + i * 130, 10))
                .collect::<Vec<_>>()
        };
        check(&toolbar(), &toolbar(), &[1, 2, 3, 4, 5]);
        check(&toolbar(), &toolbar()[2..], &[3, 4, 5]);
    }

    #[test]
    fn changed_kind_keeps_the_element_number() {
        check(
            &[found(Button, "Save", 10, 10)],
            &[found(ElementKind::Control, "Save", 10, 10)],
            &[1],
        );
    }

    #[test]
    fn popup_does_not_renumber_other_elements() {
        let page = list(0, 0);
        let mut with_menu = vec![
            found(ElementKind::MenuItem, "Copy", 200, 110),
            found(ElementKind::MenuItem, "Paste", 200, 140),
        ];
        with_menu.extend(page.clone());
        let mut expected = vec![11, 12];
        expected.extend(1..=10);
        check(&page, &with_menu, &expected);
    }

    fn scene() -> impl Strategy<Value = Vec<MergedElement>> {
        let kind = proptest::sample::select(ElementKind::ALL);
        proptest::collection::vec((kind, "[ab]{0,3}", 0i32..400, 0i32..300), 0..20).prop_map(
            |all| {
                all.into_iter()
                    .map(|(kind, content, x, y)| found(kind, &content, x, y))
                    .collect()
            },
        )
    }

    proptest! {
        #[test]
        fn element_numbers_are_unique_and_never_reused(scenes in proptest::collection::vec(scene(), 1..6)) {
            let mut memory = TrackedElements::default();
            let mut gone: Vec<u32> = Vec::new();
            let mut before: Vec<u32> = Vec::new();
            for scene in scenes {
                let (numbers, next) = number(&memory, &scene);
                let mut sorted = numbers.clone();
                sorted.sort_unstable();
                sorted.dedup();
                prop_assert_eq!(sorted.len(), numbers.len());
                prop_assert!(!numbers.iter().any(|id| gone.contains(id)));
                gone.extend(before.iter().filter(|id| !numbers.contains(id)));
                (memory, before) = (next, numbers);
            }
        }

        #[test]
        fn the_same_scene_has_the_same_numbers(first in scene(), second in scene()) {
            let (_, memory) = number(&TrackedElements::default(), &first);
            let (numbers, memory) = number(&memory, &second);
            prop_assert_eq!(number(&memory, &second).0, numbers);
        }
    }
}
