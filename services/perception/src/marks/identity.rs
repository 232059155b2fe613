//! Numbers that stay with their elements from frame to frame.
//!
//! An element is recognised by its text and kind, and by its place. Text that occurs once in both frames is certain
//! and shows how its surroundings moved; everything else is looked for where it should be after such a move. So a
//! list that was scrolled keeps its numbers, also those of the equal buttons in its rows.
//!
//! Invariant: a number is never given to two elements of a frame, nor to another thing after its element has gone.

use std::collections::HashMap;

use euclid::Vector2D;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePx, CaptureRect};
use motorium_proto::domain::id::ElementId;
use strsim::normalized_levenshtein;

use super::merge::Found;
use crate::areas::overlap;

type Shift = Vector2D<i32, CapturePx>;

/// In the same place: shares at least half of the union.
const SAME_PLACE: f64 = 0.5;
/// Moved a little: still touches its former place. Enough where text and kind are the same.
const NEAR_PLACE: f64 = 0.2;
/// Texts that are alike are versions of one text (`12:01` and `12:02`, `1 file` and `2 files`).
const ALIKE: f64 = 0.5;
/// How far off an edge may be, in pixels, that typing does not move.
const SAME_EDGE: i32 = 4;

/// What is remembered of the scene before.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    /// The highest number ever given.
    highest: u32,
    elements: Vec<Known>,
}

/// A numbered element of the scene before.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    id: ElementId,
    kind: ElementKind,
    content: String,
    bounds: CaptureRect,
}

impl Memory {
    /// Numbers a scene, in the order in which it comes; and what to remember for the next one. The first scene is
    /// numbered from 1.
    #[must_use]
    pub fn number(&self, found: &[Found]) -> (Vec<ElementId>, Self) {
        let matched = Matching::new(&self.elements, found).all();
        let mut highest = self.highest;
        let mut fresh = || {
            highest += 1;
            ElementId(highest)
        };
        let numbers: Vec<ElementId> = matched
            .into_iter()
            .map(|known| known.map_or_else(&mut fresh, |index| self.elements[index].id))
            .collect();
        let elements = found.iter().zip(&numbers).map(|(found, id)| Known {
            id: *id,
            kind: found.kind,
            content: found.content.clone(),
            bounds: found.bounds,
        });
        let elements = elements.collect();
        (numbers, Self { highest, elements })
    }
}

/// Which new element is which known one.
struct Matching<'a> {
    known: &'a [Known],
    found: &'a [Found],
    /// For each new element, the known one that it is.
    of_found: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'a> Matching<'a> {
    fn new(known: &'a [Known], found: &'a [Found]) -> Self {
        Self {
            known,
            found,
            of_found: vec![None; found.len()],
            taken: vec![false; known.len()],
        }
    }

    /// From the surest to the least sure sign.
    fn all(mut self) -> Vec<Option<usize>> {
        self.match_unique_texts();
        let shifts = self.shifts();
        self.match_best(
            |known, found, shift| {
                let place = overlap(known.bounds.translate(shift), found.bounds);
                (is_same_text(known, found) && place >= SAME_PLACE).then_some(place)
            },
            &shifts,
        );
        self.match_best(
            |known, found, shift| {
                let place = overlap(known.bounds.translate(shift), found.bounds);
                let is_same =
                    known.kind == found.kind && place >= SAME_PLACE && may_be_version(known, found);
                is_same.then_some(place)
            },
            &shifts,
        );
        self.match_best(
            |known, found, shift| {
                is_typed_on(known, found, shift)
                    .then(|| normalized_levenshtein(&known.content, &found.content))
            },
            &shifts,
        );
        let unmoved = vec![Shift::zero(); self.found.len()];
        self.match_best(
            |known, found, _| {
                let place = overlap(known.bounds, found.bounds);
                (is_same_text(known, found) && place >= NEAR_PLACE).then_some(place)
            },
            &unmoved,
        );
        self.match_best(
            |known, found, _| {
                // Seen as another kind this time.
                let place = overlap(known.bounds, found.bounds);
                (known.content == found.content && place >= SAME_PLACE).then_some(place)
            },
            &unmoved,
        );
        self.of_found
    }

    /// Elements with a text that only one element has, before and now.
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

    /// For each new element, how far the nearest certain one has moved.
    fn shifts(&self) -> Vec<Shift> {
        let moved: Vec<(CaptureRect, Shift)> = self
            .found
            .iter()
            .zip(&self.of_found)
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

    /// Pairs what is left, the likeliest pairs first. `likeness` is `None` for what cannot be the same.
    fn match_best(
        &mut self,
        likeness: impl Fn(&Known, &Found, Shift) -> Option<f64>,
        shifts: &[Shift],
    ) {
        let mut pairs = Vec::new();
        for (new, found) in self
            .found
            .iter()
            .enumerate()
            .filter(|(new, _)| self.of_found[*new].is_none())
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
        if !self.taken[known] && self.of_found[found].is_none() {
            self.taken[known] = true;
            self.of_found[found] = Some(known);
        }
    }
}

/// The texts that occur once, and where.
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

fn is_same_text(known: &Known, found: &Found) -> bool {
    known.kind == found.kind && known.content == found.content
}

/// Whether different texts in one place can be those of one element. A field stays itself whatever is typed into it;
/// entries of a list change places with each other, so that for them, as for plain text, the texts must be alike.
fn may_be_version(known: &Known, found: &Found) -> bool {
    let place_is_enough = !matches!(
        found.kind,
        ElementKind::Label
            | ElementKind::Link
            | ElementKind::ListItem
            | ElementKind::MenuItem
            | ElementKind::TableRow
            | ElementKind::Tab
    );
    place_is_enough || normalized_levenshtein(&known.content, &found.content) >= ALIKE
}

/// Whether one text is the other with something typed or deleted at its end: then the box has another width, and
/// only its left edge is where it was.
fn is_typed_on(known: &Known, found: &Found, shift: Shift) -> bool {
    let (before, now) = (known.bounds.translate(shift), found.bounds);
    let (shorter, longer) = if known.content.len() <= found.content.len() {
        (&known.content, &found.content)
    } else {
        (&found.content, &known.content)
    };
    let same_row = before.max.y.min(now.max.y) - before.min.y.max(now.min.y)
        > before.height().min(now.height()) / 2;
    let same_start = (before.min.x - now.min.x).abs() <= SAME_EDGE;
    known.kind == found.kind
        && same_row
        && same_start
        && !shorter.is_empty()
        && longer.starts_with(shorter.as_str())
}

/// Between the middles of two boxes, in pixels, diagonals counted as on a grid.
fn distance(a: CaptureRect, b: CaptureRect) -> i32 {
    let apart = a.center() - b.center();
    // Elements of a row move together, so what is beside counts as nearer than what is above.
    apart.x.abs() / 4 + apart.y.abs()
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::element::{ElementSource, ElementState};
    use motorium_proto::domain::geometry::CapturePoint;
    use proptest::prelude::*;

    use super::*;

    use ElementKind::{Button, Label, TextField};

    fn found(kind: ElementKind, content: &str, x: i32, y: i32) -> Found {
        let width = if kind == Label {
            content.chars().count().max(1) as i32 * 8
        } else {
            120
        };
        Found {
            kind,
            content: content.to_owned(),
            bounds: CaptureRect::new(
                CapturePoint::new(x, y),
                CapturePoint::new(x + width, y + 20),
            ),
            interactable: kind != Label,
            confidence: 0.9,
            source: ElementSource::Both,
            state: ElementState::default(),
        }
    }

    fn number(memory: &Memory, found: &[Found]) -> (Vec<u32>, Memory) {
        let (numbers, memory) = memory.number(found);
        (numbers.into_iter().map(|id| id.0).collect(), memory)
    }

    /// The first scene is numbered 1, 2, 3 …; then the second has these numbers.
    fn check(first: &[Found], second: &[Found], expected: &[u32]) {
        let (numbers, memory) = number(&Memory::default(), first);
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
    fn what_moves_keeps_its_number() {
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
    fn another_thing_has_another_number() {
        let (_, memory) = number(
            &Memory::default(),
            &[found(Label, "Inbox", 10, 10), found(Button, "Send", 10, 50)],
        );
        let (numbers, memory) = number(&memory, &[found(Label, "Quarterly report", 10, 10)]);
        assert_eq!(numbers, [3]);
        let (numbers, memory) = number(&memory, &[]);
        assert_eq!(numbers, [0u32; 0]);
        // Gone for a while: it cannot be known to be the same.
        assert_eq!(number(&memory, &[found(Button, "Send", 10, 50)]).0, [4]);
    }

    /// A list of mails; each row has an equal button.
    fn list(first: i32, scrolled: i32) -> Vec<Found> {
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
        // By one row exactly: every button stands where the one above it stood.
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
    fn equal_things_stay_apart() {
        let toolbar = || {
            (0..5)
                .map(|i| found(Button, "", 10 + i * 130, 10))
                .collect::<Vec<_>>()
        };
        check(&toolbar(), &toolbar(), &[1, 2, 3, 4, 5]);
        check(&toolbar(), &toolbar()[2..], &[3, 4, 5]);
    }

    #[test]
    fn a_kind_seen_differently_is_no_other_thing() {
        check(
            &[found(Button, "Save", 10, 10)],
            &[found(ElementKind::Control, "Save", 10, 10)],
            &[1],
        );
    }

    #[test]
    fn a_popup_leaves_the_rest_alone() {
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

    fn scene() -> impl Strategy<Value = Vec<Found>> {
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
        fn numbers_are_unique_and_never_come_back(scenes in proptest::collection::vec(scene(), 1..6)) {
            let mut memory = Memory::default();
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
            let (_, memory) = number(&Memory::default(), &first);
            let (numbers, memory) = number(&memory, &second);
            prop_assert_eq!(number(&memory, &second).0, numbers);
        }
    }
}
