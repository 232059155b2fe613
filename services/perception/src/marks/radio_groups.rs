//! Groups of mutually exclusive radio buttons: buttons in a row or a column at regular gaps, with only their own labels
//! between them, and the text that heads them.
//!
//! A grid of buttons is ambiguous: answers in rows or lists in columns. Candidates with a heading in front of them win,
//! then those with a heading above, then those with smaller gaps. A button belongs to at most one group. Pure.

use motorium_proto::domain::element::{ElementKind, Relation, RelationKind};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ElementId;

use super::placed_element::{MAX_LABEL_DISTANCE, PlacedElement, label_distance};

/// Maximum vertical gap within a group, in button heights. Lists of options are rarely spaced wider.
const MAX_COLUMN_GAP: i32 = 4;

/// Maximum ratio of a gap to a neighbouring gap within a group. A larger one separates two groups.
const MAX_GAP_RATIO: f64 = 1.5;

/// Direction in which the buttons of a group are laid out.
#[derive(Clone, Copy)]
enum LineDirection {
    Row,
    Column,
}

/// A radio button.
struct RadioButton {
    id: ElementId,
    /// Box of the button alone. The element may include its label, which is to the right.
    button: CaptureRect,
    /// Box of the button and its label.
    with_label: CaptureRect,
}

/// Adjacent pair of buttons in a row or a column.
#[derive(Clone, Copy)]
struct Adjacency {
    from: usize,
    to: usize,
    /// Gap between the two, in pixels.
    gap: i32,
    /// Distance between their centres, in pixels.
    pitch: i32,
}

/// Heading of a group and its position.
#[derive(Clone, Copy)]
enum Heading {
    InFront(ElementId),
    Above(ElementId),
    Missing,
}

/// Chain of adjacent buttons.
struct Group {
    /// Indices of at least two buttons.
    choices: Vec<usize>,
    heading: Heading,
    widest_gap: i32,
}

/// Returns the relations among the radio buttons of each group and their heading. `labels` are the known label
/// relations.
pub(super) fn radio_groups(placed: &[PlacedElement<'_>], labels: &[Relation]) -> Vec<Relation> {
    let layout = RadioLayout::new(placed, labels);
    let mut candidates = layout.lines(LineDirection::Row);
    candidates.extend(layout.lines(LineDirection::Column));
    candidates.sort_by_key(|group| (group.heading.rank(), group.widest_gap));
    let mut groups: Vec<Group> = Vec::new();
    for candidate in candidates {
        let is_free = |choice: &usize| !groups.iter().any(|group| group.choices.contains(choice));
        if candidate.choices.iter().all(is_free) {
            groups.push(candidate);
        }
    }
    groups.sort_by_key(|group| group.choices[0]);
    layout.relations(&groups)
}

/// Positions of buttons and free texts.
struct RadioLayout<'a> {
    placed: &'a [PlacedElement<'a>],
    /// Buttons in reading order.
    choices: Vec<RadioButton>,
    /// Texts that label no control.
    texts: Vec<&'a PlacedElement<'a>>,
}

impl<'a> RadioLayout<'a> {
    fn new(placed: &'a [PlacedElement<'a>], labels: &[Relation]) -> Self {
        let label_of = |control: ElementId| {
            let label = labels.iter().find(|label| label.to == control)?;
            placed.iter().find(|text| text.element.id == label.from)
        };
        let choice = |radio: &PlacedElement<'_>| {
            let (id, bounds) = (radio.element.id, radio.bounds);
            let width = bounds.width().min(bounds.height());
            let end = CapturePoint::new(bounds.min.x + width, bounds.max.y);
            RadioButton {
                id,
                button: CaptureRect::new(bounds.min, end),
                with_label: label_of(id).map_or(bounds, |label| bounds.union(&label.bounds)),
            }
        };
        let is_radio = |placed: &&PlacedElement<'_>| placed.element.kind == ElementKind::Radio;
        let labels_nothing = |placed: &&PlacedElement<'_>| {
            placed.element.kind == ElementKind::Label
                && !labels.iter().any(|label| label.from == placed.element.id)
        };
        Self {
            placed,
            choices: placed.iter().filter(is_radio).map(choice).collect(),
            texts: placed.iter().filter(labels_nothing).collect(),
        }
    }

    /// Returns all rows or all columns of at least two buttons.
    fn lines(&self, line: LineDirection) -> Vec<Group> {
        let links = self.links(line);
        let joined: Vec<Adjacency> = links
            .iter()
            .filter(|link| is_regular(link, &links) && self.is_joined(link, line))
            .copied()
            .collect();
        let begins = |link: &&Adjacency| !joined.iter().any(|before| before.to == link.from);
        joined
            .iter()
            .filter(begins)
            .map(|first| self.group(*first, &joined))
            .collect()
    }

    /// Builds the group that starts with a pair.
    fn group(&self, first: Adjacency, joined: &[Adjacency]) -> Group {
        let following = |link: &Adjacency| joined.iter().find(|next| next.from == link.to).copied();
        let links: Vec<Adjacency> = std::iter::successors(Some(first), following).collect();
        let others = links.iter().map(|link| link.to);
        Group {
            choices: std::iter::once(first.from).chain(others).collect(),
            heading: self.heading(&self.choices[first.from]),
            widest_gap: links.iter().map(|link| link.gap).max().unwrap_or(0),
        }
    }

    /// Pairs each button with the nearest one after or below it. Every button has at most one successor and one
    /// predecessor.
    fn links(&self, line: LineDirection) -> Vec<Adjacency> {
        let all = 0..self.choices.len();
        let nearest = |from: usize| {
            all.clone()
                .filter_map(|to| self.link(from, to, line))
                .min_by_key(|link| link.pitch)
        };
        let mut links: Vec<Adjacency> = all.clone().filter_map(nearest).collect();
        links.sort_by_key(|link| link.pitch);
        let mut kept: Vec<Adjacency> = Vec::new();
        for link in links {
            if !kept.iter().any(|known| known.to == link.to) {
                kept.push(link);
            }
        }
        kept
    }

    /// Returns the pair if `to` follows `from` in the same line and close to it.
    fn link(&self, from: usize, to: usize, line: LineDirection) -> Option<Adjacency> {
        let (one, next) = (&self.choices[from], &self.choices[to]);
        let size = one.button.height();
        let apart = next.button.center() - one.button.center();
        let (gap, max_gap, pitch, offset) = match line {
            LineDirection::Row => (
                next.with_label.min.x - one.with_label.max.x,
                MAX_LABEL_DISTANCE * size,
                apart.x,
                apart.y,
            ),
            LineDirection::Column => (
                next.button.min.y - one.button.max.y,
                MAX_COLUMN_GAP * size,
                apart.y,
                apart.x,
            ),
        };
        // Detected boxes are slightly too large and may touch or overlap.
        let is_near = (-size / 3..=max_gap).contains(&gap);
        (pitch > 0 && offset.abs() <= size / 2 && is_near).then_some(Adjacency {
            from,
            to,
            gap: gap.max(0),
            pitch,
        })
    }

    /// Returns whether two buttons belong together: nothing lies between them, and the second has no heading of its
    /// own.
    fn is_joined(&self, link: &Adjacency, line: LineDirection) -> bool {
        let (one, next) = (&self.choices[link.from], &self.choices[link.to]);
        let is_clear = match line {
            LineDirection::Row => self.is_clear(one.with_label, next.with_label, line),
            LineDirection::Column => self.is_clear(one.button, next.button, line),
        };
        is_clear && !matches!(self.heading(next), Heading::InFront(_))
    }

    /// Finds the heading of a group that starts with `first`. It has the position of a field label.
    fn heading(&self, first: &RadioButton) -> Heading {
        let headings = self.texts.iter().filter_map(|text| {
            let distance = label_distance(text.bounds, first.button, ElementKind::TextField)?;
            let id = text.element.id;
            if text.bounds.center().y <= first.button.min.y {
                return Some((distance, Heading::Above(id)));
            }
            self.is_clear(text.bounds, first.button, LineDirection::Row)
                .then_some((distance, Heading::InFront(id)))
        });
        headings
            .min_by_key(|(distance, _)| *distance)
            .map_or(Heading::Missing, |(_, heading)| heading)
    }

    /// Returns whether the path from the centre of one box to another box after or below it is clear. A container of
    /// one of the boxes does not block the path, except a dialog, which separates its content from the page behind.
    fn is_clear(&self, from: CaptureRect, to: CaptureRect, line: LineDirection) -> bool {
        let middle = from.center();
        let way = match line {
            LineDirection::Row => CaptureRect::new(
                CapturePoint::new(from.max.x, middle.y),
                CapturePoint::new(to.min.x, middle.y + 1),
            ),
            LineDirection::Column => CaptureRect::new(
                CapturePoint::new(middle.x, from.max.y),
                CapturePoint::new(middle.x + 1, to.min.y),
            ),
        };
        let parts = |placed: &PlacedElement<'_>| {
            let bounds = placed.bounds;
            match (bounds.contains_box(&from), bounds.contains_box(&to)) {
                (true, true) => false,
                (false, false) => !way.is_empty() && bounds.intersects(&way),
                _ => placed.element.kind == ElementKind::Dialog,
            }
        };
        !self.placed.iter().any(parts)
    }

    /// Converts groups to relations. A text heads at most one group.
    fn relations(&self, groups: &[Group]) -> Vec<Relation> {
        let mut relations: Vec<Relation> = Vec::new();
        for group in groups {
            let to = self.choices[group.choices[0]].id;
            let heading = group.heading.text();
            let heading = heading.filter(|text| !relations.iter().any(|known| known.from == *text));
            relations.extend(heading.map(|from| Relation {
                kind: RelationKind::HeadingOf,
                from,
                to,
            }));
            relations.extend(group.choices[1..].iter().map(|choice| Relation {
                kind: RelationKind::GroupedWith,
                from: self.choices[*choice].id,
                to,
            }));
        }
        relations
    }
}

impl Heading {
    /// Priority of a heading position; lower is more certain.
    fn rank(self) -> u8 {
        match self {
            Self::InFront(_) => 0,
            Self::Above(_) => 1,
            Self::Missing => 2,
        }
    }

    fn text(self) -> Option<ElementId> {
        match self {
            Self::InFront(text) | Self::Above(text) => Some(text),
            Self::Missing => None,
        }
    }
}

/// Returns whether a gap is regular compared with its neighbours. Both measures must exceed the limit: buttons in a row
/// may have equal gaps between labels of different widths, or stand in columns of equal width.
fn is_regular(link: &Adjacency, links: &[Adjacency]) -> bool {
    let is_beside = |other: &&Adjacency| other.to == link.from || other.from == link.to;
    let is_wider = |one: i32, other: i32| f64::from(one) > MAX_GAP_RATIO * f64::from(other);
    !links
        .iter()
        .filter(is_beside)
        .any(|other| is_wider(link.gap, other.gap) && is_wider(link.pitch, other.pitch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::relations::relations;
    use crate::marks::relations::tests::{ElementSpec, SIZE, numbered};

    use ElementKind::{Dialog, Label, Radio, TextField};
    use RelationKind::{GroupedWith, HeadingOf};

    fn text(x: i32, y: i32, width: i32) -> ElementSpec {
        (Label, x, y, width, 20)
    }

    fn radio(x: i32, y: i32) -> ElementSpec {
        (Radio, x, y, 16, 16)
    }

    /// A radio button and its label with a width in pixels.
    fn choice(x: i32, y: i32, width: i32) -> [ElementSpec; 2] {
        [radio(x, y + 2), text(x + 22, y, width)]
    }

    /// Elements, numbered from 1, and the expected group relations `(kind, from, to)`.
    fn check(things: &[&[ElementSpec]], expected: &[(RelationKind, u32, u32)]) {
        let elements = numbered(&things.concat());
        let found: Vec<_> = relations(&elements, SIZE)
            .into_iter()
            .filter(|found| matches!(found.kind, GroupedWith | HeadingOf))
            .map(|found| (found.kind, found.from.0, found.to.0))
            .collect();
        assert_eq!(found, expected, "{elements:#?}");
    }

    #[test]
    fn a_column_below_its_heading() {
        // Print: all pages, the current page, pages [ ].
        check(
            &[
                &[text(100, 80, 90)],
                &choice(100, 110, 60),
                &choice(100, 134, 80),
                &choice(100, 158, 50),
                &[(TextField, 190, 156, 80, 24)],
            ],
            &[(HeadingOf, 1, 2), (GroupedWith, 4, 2), (GroupedWith, 6, 2)],
        );
    }

    #[test]
    fn a_row_behind_its_heading() {
        check(
            &[
                &[text(20, 100, 80)],
                &choice(120, 100, 70),
                &choice(240, 100, 60),
                &choice(350, 100, 50),
            ],
            &[(HeadingOf, 1, 2), (GroupedWith, 4, 2), (GroupedWith, 6, 2)],
        );
    }

    #[test]
    fn boxes_that_hold_their_texts() {
        check(
            &[&[
                (Radio, 100, 100, 120, 20),
                (Radio, 100, 124, 90, 20),
                (Radio, 100, 148, 140, 20),
            ]],
            &[(GroupedWith, 2, 1), (GroupedWith, 3, 1)],
        );
    }

    #[test]
    fn heading_separates_two_radio_groups() {
        // Above each group.
        check(
            &[
                &[text(100, 80, 40)],
                &choice(100, 104, 50),
                &choice(100, 128, 50),
                &[text(100, 158, 60)],
                &choice(100, 182, 40),
                &choice(100, 206, 40),
            ],
            &[
                (HeadingOf, 1, 2),
                (GroupedWith, 4, 2),
                (HeadingOf, 6, 7),
                (GroupedWith, 9, 7),
            ],
        );
        // In front of each group, without any space between the two.
        check(
            &[
                &[text(20, 100, 40)],
                &choice(100, 100, 50),
                &choice(100, 124, 50),
                &[text(20, 148, 60)],
                &choice(100, 148, 40),
                &choice(100, 172, 40),
            ],
            &[
                (HeadingOf, 1, 2),
                (GroupedWith, 4, 2),
                (HeadingOf, 6, 7),
                (GroupedWith, 9, 7),
            ],
        );
        check(
            &[&[radio(100, 100), text(100, 126, 60), radio(100, 156)]],
            &[],
        );
    }

    #[test]
    fn wide_gap_separates_two_radio_groups() {
        check(
            &[&[100, 124, 148, 200, 224].map(|y| radio(100, y))],
            &[
                (GroupedWith, 2, 1),
                (GroupedWith, 3, 1),
                (GroupedWith, 5, 4),
            ],
        );
        check(
            &[&[100, 160, 184, 208].map(|y| radio(100, y))],
            &[(GroupedWith, 3, 2), (GroupedWith, 4, 2)],
        );
    }

    #[test]
    fn questions_below_each_other_have_their_answers_beside_each_other() {
        check(
            &[
                &[text(20, 100, 120)],
                &choice(160, 100, 30),
                &choice(230, 100, 24),
                &[text(20, 140, 120)],
                &choice(160, 140, 30),
                &choice(230, 140, 24),
            ],
            &[
                (HeadingOf, 1, 2),
                (GroupedWith, 4, 2),
                (HeadingOf, 6, 7),
                (GroupedWith, 9, 7),
            ],
        );
    }

    #[test]
    fn lists_side_by_side_are_columns() {
        check(
            &[
                &[text(100, 80, 40), text(300, 80, 60)],
                &choice(100, 110, 50),
                &choice(300, 110, 40),
                &choice(100, 134, 50),
                &choice(300, 134, 44),
            ],
            &[
                (HeadingOf, 1, 3),
                (GroupedWith, 7, 3),
                (HeadingOf, 2, 5),
                (GroupedWith, 9, 5),
            ],
        );
    }

    #[test]
    fn dialog_separates_radio_groups_from_those_behind() {
        check(
            &[
                &[radio(100, 100), (Dialog, 60, 120, 400, 200)],
                &[radio(100, 130), radio(100, 154)],
            ],
            &[(GroupedWith, 4, 3)],
        );
    }

    #[test]
    fn unrelated_radio_buttons_are_not_grouped() {
        check(&[&choice(100, 100, 50)], &[]);
        check(&[&[radio(100, 100), radio(100, 300)]], &[]);
        check(&[&[radio(100, 100), radio(150, 124)]], &[]);
    }
}
