//! Radio buttons of which one is chosen: those in a row or a column at regular gaps, with nothing but their own texts
//! between them; and the text that heads them.
//!
//! A grid of buttons can be read both ways, as answers beside each other or as lists side by side. What has a heading
//! in front of it counts first, then what has one above it, then what stands closer. A button is in one group at most.
//! Pure.

use motorium_proto::domain::element::{ElementKind, Relation, RelationKind};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ElementId;

use super::relations::{NEAR, Placed, distance};

/// Buttons below each other are at most so many of their own heights apart.
const NEAR_BELOW: i32 = 4;

/// A gap that is more than so many times as wide as the one before or behind it parts two groups.
const IRREGULAR: f64 = 1.5;

/// How the buttons of a group stand.
#[derive(Clone, Copy)]
enum Line {
    Row,
    Column,
}

/// A radio button.
struct Choice {
    id: ElementId,
    /// The button alone: its element may hold its text too, which stands behind it.
    button: CaptureRect,
    /// The button and its text.
    whole: CaptureRect,
}

/// A choice and the one that follows it in a row or a column.
#[derive(Clone, Copy)]
struct Link {
    from: usize,
    to: usize,
    /// From the end of one to the beginning of the other, in pixels.
    gap: i32,
    /// Between their middles, in pixels.
    pitch: i32,
}

/// Which text heads a group, and where it stands.
#[derive(Clone, Copy)]
enum Heading {
    InFront(ElementId),
    Above(ElementId),
    Missing,
}

/// Choices that follow each other.
struct Group {
    /// At least two.
    choices: Vec<usize>,
    heading: Heading,
    widest_gap: i32,
}

/// The relations among radio buttons of one group, and of what heads them. `labels` says which text labels what.
pub(super) fn groups(placed: &[Placed<'_>], labels: &[Relation]) -> Vec<Relation> {
    let layout = Layout::new(placed, labels);
    let mut candidates = layout.lines(Line::Row);
    candidates.extend(layout.lines(Line::Column));
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

/// What stands where.
struct Layout<'a> {
    placed: &'a [Placed<'a>],
    /// In reading order.
    choices: Vec<Choice>,
    /// Text that labels nothing.
    texts: Vec<&'a Placed<'a>>,
}

impl<'a> Layout<'a> {
    fn new(placed: &'a [Placed<'a>], labels: &[Relation]) -> Self {
        let label_of = |control: ElementId| {
            let label = labels.iter().find(|label| label.to == control)?;
            placed.iter().find(|text| text.element.id == label.from)
        };
        let choice = |radio: &Placed<'_>| {
            let (id, bounds) = (radio.element.id, radio.bounds);
            let width = bounds.width().min(bounds.height());
            let end = CapturePoint::new(bounds.min.x + width, bounds.max.y);
            Choice {
                id,
                button: CaptureRect::new(bounds.min, end),
                whole: label_of(id).map_or(bounds, |label| bounds.union(&label.bounds)),
            }
        };
        let is_radio = |placed: &&Placed<'_>| placed.element.kind == ElementKind::Radio;
        let labels_nothing = |placed: &&Placed<'_>| {
            placed.element.kind == ElementKind::Label
                && !labels.iter().any(|label| label.from == placed.element.id)
        };
        Self {
            placed,
            choices: placed.iter().filter(is_radio).map(choice).collect(),
            texts: placed.iter().filter(labels_nothing).collect(),
        }
    }

    /// All rows or all columns of at least two choices.
    fn lines(&self, line: Line) -> Vec<Group> {
        let links = self.links(line);
        let joined: Vec<Link> = links
            .iter()
            .filter(|link| is_regular(link, &links) && self.is_joined(link, line))
            .copied()
            .collect();
        let begins = |link: &&Link| !joined.iter().any(|before| before.to == link.from);
        joined
            .iter()
            .filter(begins)
            .map(|first| self.group(*first, &joined))
            .collect()
    }

    /// The group that begins with a link.
    fn group(&self, first: Link, joined: &[Link]) -> Group {
        let following = |link: &Link| joined.iter().find(|next| next.from == link.to).copied();
        let links: Vec<Link> = std::iter::successors(Some(first), following).collect();
        let others = links.iter().map(|link| link.to);
        Group {
            choices: std::iter::once(first.from).chain(others).collect(),
            heading: self.heading(&self.choices[first.from]),
            widest_gap: links.iter().map(|link| link.gap).max().unwrap_or(0),
        }
    }

    /// Each choice with the nearest one behind or below it. None is followed by two, and none follows two.
    fn links(&self, line: Line) -> Vec<Link> {
        let all = 0..self.choices.len();
        let nearest = |from: usize| {
            all.clone()
                .filter_map(|to| self.link(from, to, line))
                .min_by_key(|link| link.pitch)
        };
        let mut links: Vec<Link> = all.clone().filter_map(nearest).collect();
        links.sort_by_key(|link| link.pitch);
        let mut kept: Vec<Link> = Vec::new();
        for link in links {
            if !kept.iter().any(|known| known.to == link.to) {
                kept.push(link);
            }
        }
        kept
    }

    /// How `to` follows `from`, if it is in the same line, behind or below it, and near.
    fn link(&self, from: usize, to: usize, line: Line) -> Option<Link> {
        let (one, next) = (&self.choices[from], &self.choices[to]);
        let size = one.button.height();
        let apart = next.button.center() - one.button.center();
        let (gap, most, pitch, offset) = match line {
            Line::Row => (
                next.whole.min.x - one.whole.max.x,
                NEAR * size,
                apart.x,
                apart.y,
            ),
            Line::Column => (
                next.button.min.y - one.button.max.y,
                NEAR_BELOW * size,
                apart.y,
                apart.x,
            ),
        };
        // Boxes are a little large and may touch.
        let is_near = (-size / 3..=most).contains(&gap);
        (pitch > 0 && offset.abs() <= size / 2 && is_near).then_some(Link {
            from,
            to,
            gap: gap.max(0),
            pitch,
        })
    }

    /// Whether nothing parts two choices: nothing between them, and no heading that another group begins with.
    fn is_joined(&self, link: &Link, line: Line) -> bool {
        let (one, next) = (&self.choices[link.from], &self.choices[link.to]);
        let is_clear = match line {
            Line::Row => self.is_clear(one.whole, next.whole, line),
            Line::Column => self.is_clear(one.button, next.button, line),
        };
        is_clear && !matches!(self.heading(next), Heading::InFront(_))
    }

    /// The text that heads what begins with `first`. It stands where the label of a field would.
    fn heading(&self, first: &Choice) -> Heading {
        let headings = self.texts.iter().filter_map(|text| {
            let distance = distance(text.bounds, first.button, ElementKind::TextField)?;
            let id = text.element.id;
            if text.bounds.center().y <= first.button.min.y {
                return Some((distance, Heading::Above(id)));
            }
            self.is_clear(text.bounds, first.button, Line::Row)
                .then_some((distance, Heading::InFront(id)))
        });
        headings
            .min_by_key(|(distance, _)| *distance)
            .map_or(Heading::Missing, |(_, heading)| heading)
    }

    /// Whether nothing stands on the way from the middle of one box to another one behind or below it. What holds one
    /// of the boxes does not stand between them; but a dialog parts what is on it from what is behind it.
    fn is_clear(&self, from: CaptureRect, to: CaptureRect, line: Line) -> bool {
        let middle = from.center();
        let way = match line {
            Line::Row => CaptureRect::new(
                CapturePoint::new(from.max.x, middle.y),
                CapturePoint::new(to.min.x, middle.y + 1),
            ),
            Line::Column => CaptureRect::new(
                CapturePoint::new(middle.x, from.max.y),
                CapturePoint::new(middle.x + 1, to.min.y),
            ),
        };
        let parts = |placed: &Placed<'_>| {
            let bounds = placed.bounds;
            match (bounds.contains_box(&from), bounds.contains_box(&to)) {
                (true, true) => false,
                (false, false) => !way.is_empty() && bounds.intersects(&way),
                _ => placed.element.kind == ElementKind::Dialog,
            }
        };
        !self.placed.iter().any(parts)
    }

    /// What is said of the groups. A text heads one of them at most.
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
    /// Sure places before unsure ones.
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

/// Whether a gap is not much wider than those beside it. Both measures count: buttons of a row may have equal gaps
/// between texts of different widths, or stand in columns of equal width.
fn is_regular(link: &Link, links: &[Link]) -> bool {
    let is_beside = |other: &&Link| other.to == link.from || other.from == link.to;
    let is_wider = |one: i32, other: i32| f64::from(one) > IRREGULAR * f64::from(other);
    !links
        .iter()
        .filter(is_beside)
        .any(|other| is_wider(link.gap, other.gap) && is_wider(link.pitch, other.pitch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::relations::relations;
    use crate::marks::relations::tests::{SIZE, Thing, numbered};

    use ElementKind::{Dialog, Label, Radio, TextField};
    use RelationKind::{GroupedWith, HeadingOf};

    fn text(x: i32, y: i32, width: i32) -> Thing {
        (Label, x, y, width, 20)
    }

    fn radio(x: i32, y: i32) -> Thing {
        (Radio, x, y, 16, 16)
    }

    /// A radio button and its text, so many pixels wide.
    fn choice(x: i32, y: i32, width: i32) -> [Thing; 2] {
        [radio(x, y + 2), text(x + 22, y, width)]
    }

    /// Things, numbered from 1, and what is said `(kind, from, to)` of groups among them.
    fn check(things: &[&[Thing]], expected: &[(RelationKind, u32, u32)]) {
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
    fn a_heading_parts_two_groups() {
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
    fn a_wide_gap_parts_two_groups() {
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
    fn a_dialog_parts_what_is_on_it_from_what_is_behind_it() {
        check(
            &[
                &[radio(100, 100), (Dialog, 60, 120, 400, 200)],
                &[radio(100, 130), radio(100, 154)],
            ],
            &[(GroupedWith, 4, 3)],
        );
    }

    #[test]
    fn what_is_no_group() {
        check(&[&choice(100, 100, 50)], &[]);
        check(&[&[radio(100, 100), radio(100, 300)]], &[]);
        check(&[&[radio(100, 100), radio(150, 124)]], &[]);
    }
}
