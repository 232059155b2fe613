//! Finds the thing on the screen that a description means: by text, kind, place, order and neighbourhood. Pure.
//!
//! It works on whatever Perception gives: detected controls with their texts, or nothing but lines that were read,
//! where a target may be one word of a line and a field nothing but the empty space beside its label. It does not
//! choose among things that match equally well: it names them.

mod advance;
mod field;
mod geometry;
mod likeness;
mod screen;

use motorium_proto::domain::action::{Ordinal, Place, Target, TextAnchor};
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::frame::Window;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ElementId;

pub use geometry::Relation;
pub use screen::Screen;

use geometry::{distance, distance_to_place, same_place};
use likeness::{Folded, Tier, compare, resemblance, same_case};
use screen::{Item, Layer, centre};

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Description {
    /// `None`: named by its kind alone.
    pub text: Option<String>,
    pub kind: Option<ElementKind>,
    pub place: Option<Place>,
    pub ordinal: Option<Ordinal>,
    pub beside: Option<(Relation, Box<Description>)>,
}

impl Description {
    /// A thing that says `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }
}

impl From<&TextAnchor> for Description {
    fn from(anchor: &TextAnchor) -> Self {
        let text = Some(anchor.text.clone()).filter(|text| !text.trim().is_empty());
        Self {
            text,
            kind: anchor.kind,
            place: anchor.place,
            ordinal: anchor.ordinal,
            beside: None,
        }
    }
}

/// What is to be done with the thing; that decides which part of it is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Press,
    /// A label stands for the field beside it.
    Enter,
    /// A label stands for the box beside it.
    Toggle,
}

impl Purpose {
    /// What one does with things of a kind, if nothing else is said.
    #[must_use]
    pub fn of_kind(kind: Option<ElementKind>) -> Self {
        match kind {
            Some(ElementKind::TextField | ElementKind::SpinBox | ElementKind::DropDown) => {
                Self::Enter
            }
            Some(ElementKind::Checkbox | ElementKind::Radio | ElementKind::Switch) => Self::Toggle,
            _ => Self::Press,
        }
    }
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The element that it is, or that it was found by.
    pub element: ElementId,
    /// What the element says.
    pub content: String,
    pub point: CapturePoint,
    /// The point may be moved within this box.
    pub bounds: CaptureRect,
    /// Whether the element as a whole is meant; otherwise the point is a part of it, or beside it.
    pub whole: bool,
    pub kind: ElementKind,
    /// Whether it is known to be ticked or not.
    pub checked: Option<bool>,
    /// 0 to 1 for the text alone; kind, window and neighbourhood are not in it.
    pub score: f64,
    rank: f64,
    layer: Layer,
    /// The window it lies in, or the frame.
    container: CaptureRect,
}

impl Hit {
    /// What an action aims at to hit it.
    #[must_use]
    pub fn target(&self) -> Target {
        if self.whole {
            Target::Element(self.element)
        } else {
            Target::Point(self.point)
        }
    }
}

/// The outcome of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    One(Hit),
    /// They match equally well. At least two, in reading order.
    Several(Vec<Hit>),
    /// Nothing matches; these texts come nearest, the best first.
    Nothing {
        nearest: Vec<String>,
    },
}

/// Ranks closer than this are equal.
const SAME_RANK: f64 = 0.015;
/// Neighbours whose distances differ by no more pixels are equally near.
const SAME_DISTANCE: f64 = 4.0;
/// Things whose distances from a place differ by no more, as a part of the screen, are equally there.
const SAME_PLACE: f64 = 0.02;
/// So many texts are named when nothing matches.
const NEAREST: usize = 3;

impl Screen<'_> {
    /// Finds the one thing that is meant.
    #[must_use]
    pub fn find(&self, description: &Description, purpose: Purpose) -> Found {
        let mut hits = self.find_all(description, purpose);
        if description.ordinal.is_none() {
            hits = preferred(hits);
        }
        match hits.len() {
            0 => Found::Nothing {
                nearest: self.nearest(description),
            },
            1 => Found::One(hits.remove(0)),
            _ => Found::Several(hits),
        }
    }

    /// Everything that may be meant, in reading order: all things of the best sort of match, in the uppermost layer.
    /// With an ordinal there is at most one.
    #[must_use]
    pub fn find_all(&self, description: &Description, purpose: Purpose) -> Vec<Hit> {
        let hits = match purpose {
            Purpose::Enter => field::find(self, description),
            Purpose::Toggle => self.toggles(description),
            Purpose::Press => self.candidates(description),
        };
        let is_meant = |hit: &Hit| {
            !self
                .excluded
                .iter()
                .any(|point| hit.bounds.contains(*point))
        };
        let hits = hits.into_iter().filter(is_meant).collect();
        let hits = self.related(hits, description);
        let hits = self.placed(hits, description.place);
        let hits = without_doubles(best_sort(hits));
        match description.ordinal {
            Some(ordinal) => nth(hits, ordinal).into_iter().collect(),
            None => hits,
        }
    }

    /// Whether the text can be read anywhere on the screen; if so, the line that it stands in.
    #[must_use]
    pub fn shows(&self, text: &str) -> Option<&str> {
        let wanted = Folded::new(text);
        let reads = |item: &&Item<'_>| {
            compare(&wanted, &item.text)
                .first()
                .is_some_and(|likeness| likeness.tier >= Tier::WholeWords)
        };
        self.items
            .iter()
            .find(reads)
            .map(|item| item.element.content.as_str())
    }

    /// An element's centre and its box.
    #[must_use]
    pub fn element(&self, id: ElementId) -> Option<(CapturePoint, CaptureRect)> {
        let item = self.items.iter().find(|item| item.element.id == id)?;
        Some((item.element.centre, item.bounds))
    }

    /// The box of the smallest interactable element around a point.
    #[must_use]
    pub fn smallest_around(&self, point: CapturePoint) -> Option<CaptureRect> {
        let around = self
            .items
            .iter()
            .filter(|item| item.element.interactable && item.bounds.contains(point));
        around
            .map(|item| item.bounds)
            .min_by_key(|bounds| bounds.to_i64().area())
    }

    /// The window whose title or application is the text, or holds it; of several the uppermost.
    #[must_use]
    pub fn window(&self, name: &str) -> Option<&Window> {
        let name = Folded::new(name);
        let score = |text: &str| {
            compare(&name, &Folded::new(text))
                .first()
                .map(|likeness| likeness.score)
        };
        let best = |window: &Window| {
            [&window.title, &window.application]
                .into_iter()
                .filter_map(|text| score(text))
                .max_by(f64::total_cmp)
        };
        let scored = self
            .frame
            .windows
            .iter()
            .filter_map(|window| best(window).map(|score| (score, window)));
        // Of equal ones the last one is taken, and the uppermost stands first.
        scored
            .rev()
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, window)| window)
    }

    /// Things that bear the text or, where there is none, are of the kind.
    fn candidates(&self, description: &Description) -> Vec<Hit> {
        let Some(text) = &description.text else {
            let of_kind = |item: &&Item<'_>| {
                description
                    .kind
                    .is_none_or(|kind| kind_fit(kind, item) >= KIND_COMPATIBLE)
            };
            return self
                .items
                .iter()
                .filter(of_kind)
                .map(|item| hit(item, description.kind, 1.0, None))
                .collect();
        };
        let wanted = Folded::new(text);
        self.items
            .iter()
            .flat_map(|item| matches_in(item, &wanted, description.kind))
            .collect()
    }

    /// Boxes to tick: those of that name, or those beside a text of that name.
    fn toggles(&self, description: &Description) -> Vec<Hit> {
        let hits = self.candidates(description);
        hits.into_iter()
            .map(|hit| self.box_beside(&hit).unwrap_or(hit))
            .collect()
    }

    /// The nameless box on the row of a text, which is to its left more often than to its right.
    fn box_beside(&self, label: &Hit) -> Option<Hit> {
        let is_box_already = matches!(
            label.kind,
            ElementKind::Checkbox | ElementKind::Radio | ElementKind::Switch
        );
        let reach = f64::from(label.bounds.height()) * 3.0;
        let boxes = self
            .items
            .iter()
            .filter(|item| item.is_toggle() && item.text.is_empty() && !is_box_already);
        let beside = boxes.filter_map(|item| {
            let left = distance(Relation::LeftOf, item.bounds, label.bounds).map(|gap| gap * 0.8);
            let right = distance(Relation::RightOf, item.bounds, label.bounds);
            let gap = left.or(right)?;
            (geometry::on_one_row(item.bounds, label.bounds) && gap <= reach).then_some((gap, item))
        });
        let (_, item) = beside.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let mut found = hit(item, Some(item.kind()), label.score, None);
        (found.rank, found.content) = (label.rank, label.content.clone());
        Some(found)
    }

    /// Those that lie as the description says; all of them where it says nothing.
    fn related(&self, hits: Vec<Hit>, description: &Description) -> Vec<Hit> {
        let Some((relation, other)) = &description.beside else {
            return hits;
        };
        let windows = self.windows_titled(other);
        if *relation == Relation::Inside && !windows.is_empty() {
            return hits
                .into_iter()
                .filter(|hit| windows.contains(&hit.container))
                .collect();
        }
        let others = self.regions(other, *relation);
        let nearest = |hit: &Hit| {
            others
                .iter()
                .filter_map(|other| distance(*relation, hit.bounds, *other))
                .min_by(f64::total_cmp)
        };
        let placed: Vec<(f64, Hit)> = hits
            .into_iter()
            .filter_map(|hit| nearest(&hit).map(|gap| (gap, hit)))
            .collect();
        let closest = placed
            .iter()
            .map(|(gap, _)| *gap)
            .min_by(f64::total_cmp)
            .unwrap_or(0.0);
        // Of what lies in a region, and of what is counted, all are meant; of neighbours only the nearest is.
        let is_region =
            *relation == Relation::RowOf || *relation == Relation::Inside && closest == 0.0;
        let all_meant = is_region || description.ordinal.is_some();
        placed
            .into_iter()
            .filter(|(gap, _)| all_meant || *gap <= closest + SAME_DISTANCE)
            .map(|(_, hit)| hit)
            .collect()
    }

    /// The windows that bear the text in their title.
    fn windows_titled(&self, description: &Description) -> Vec<CaptureRect> {
        let Some(title) = description.text.as_deref().map(Folded::new) else {
            return Vec::new();
        };
        let named = |window: &&Window| {
            !window.minimised && !compare(&title, &Folded::new(&window.title)).is_empty()
        };
        self.frame
            .windows
            .iter()
            .filter(named)
            .map(|window| window.bounds)
            .collect()
    }

    /// The boxes of what is found of that description; for what lies inside, the dialog around it.
    fn regions(&self, other: &Description, relation: Relation) -> Vec<CaptureRect> {
        let dialogs = self
            .items
            .iter()
            .filter(|item| item.kind() == ElementKind::Dialog);
        let around = |hit: &Hit| {
            dialogs
                .clone()
                .find(|dialog| dialog.bounds.contains(hit.point))
                .map(|dialog| dialog.bounds)
        };
        let region = |hit: &Hit| {
            if relation == Relation::Inside {
                around(hit).unwrap_or(hit.bounds)
            } else {
                hit.bounds
            }
        };
        best_sort(self.related(self.candidates(other), other))
            .iter()
            .map(region)
            .collect()
    }

    /// Those at the place, on the screen or in their window, and of several the ones nearest to it.
    fn placed(&self, hits: Vec<Hit>, place: Option<Place>) -> Vec<Hit> {
        let Some(place) = place else { return hits };
        let off = |hit: &Hit| {
            let on_screen = distance_to_place(hit.point, self.bounds(), place);
            let in_window = distance_to_place(hit.point, hit.container, place);
            on_screen
                .into_iter()
                .chain(in_window)
                .min_by(f64::total_cmp)
        };
        let placed: Vec<(f64, Hit)> = hits
            .into_iter()
            .filter_map(|hit| off(&hit).map(|off| (off, hit)))
            .collect();
        let best = placed
            .iter()
            .map(|(off, _)| *off)
            .min_by(f64::total_cmp)
            .unwrap_or(0.0);
        placed
            .into_iter()
            .filter(|(off, _)| *off <= best + SAME_PLACE)
            .map(|(_, hit)| hit)
            .collect()
    }

    /// The texts that come nearest to the description's.
    fn nearest(&self, description: &Description) -> Vec<String> {
        let Some(text) = &description.text else {
            return Vec::new();
        };
        let wanted = Folded::new(text);
        let mut scored: Vec<(f64, &str)> = self
            .items
            .iter()
            .filter(|item| !item.text.is_empty())
            .map(|item| {
                (
                    resemblance(&wanted, &item.text),
                    item.element.content.as_str(),
                )
            })
            .filter(|(score, _)| *score >= 0.3)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut nearest: Vec<String> = Vec::new();
        for (_, content) in scored {
            if nearest.len() < NEAREST && !nearest.iter().any(|known| known == content) {
                nearest.push(content.to_owned());
            }
        }
        nearest
    }
}

/// What the same upper and lower case is worth: enough to tell two equally good matches apart.
const SAME_CASE: f64 = 0.03;
const KIND_EXACT: f64 = 0.2;
const KIND_COMPATIBLE: f64 = 0.1;
const KIND_UNKNOWN: f64 = 0.05;

/// How well an element is of a kind.
fn kind_fit(wanted: ElementKind, item: &Item<'_>) -> f64 {
    use ElementKind as K;
    let kind = item.kind();
    if kind == wanted {
        return KIND_EXACT;
    }
    let is_compatible = match wanted {
        K::Button => matches!(
            kind,
            K::Control | K::Icon | K::MenuItem | K::WindowControl | K::DropDown
        ),
        K::TextField => matches!(kind, K::SpinBox | K::DropDown),
        K::Checkbox | K::Radio | K::Switch => matches!(kind, K::Checkbox | K::Radio | K::Switch),
        K::DropDown => matches!(kind, K::SpinBox | K::TextField),
        K::Tab | K::MenuItem => matches!(
            kind,
            K::Button | K::Tab | K::MenuItem | K::Link | K::Control
        ),
        K::Link => matches!(kind, K::Control | K::Tab | K::ListItem),
        K::ListItem | K::TableRow => {
            matches!(kind, K::ListItem | K::TableRow | K::MenuItem | K::Link)
        }
        K::Icon | K::Image => matches!(kind, K::Icon | K::Image | K::Button | K::Control),
        K::Control => item.element.interactable,
        _ => false,
    };
    match (is_compatible, item.is_only_text()) {
        (true, _) => KIND_COMPATIBLE,
        (false, true) => KIND_UNKNOWN,
        (false, false) => 0.0,
    }
}

/// Every place in the element where the text stands.
fn matches_in(item: &Item<'_>, wanted: &Folded, kind: Option<ElementKind>) -> Vec<Hit> {
    let whole = 0..item.text.graphemes().len();
    compare(wanted, &item.text)
        .into_iter()
        .map(|likeness| {
            let case = if same_case(wanted, &item.text, likeness.range.clone()) {
                SAME_CASE
            } else {
                0.0
            };
            // A control is one thing, whichever of its words are named; a line of text may hold several.
            let is_part = likeness.range != whole && item.is_only_text();
            let part = is_part
                .then(|| advance::part_bounds(item.text.graphemes(), likeness.range, item.bounds));
            let found = hit(item, kind, likeness.score, part);
            Hit {
                rank: found.rank + case,
                ..found
            }
        })
        .collect()
}

fn hit(item: &Item<'_>, kind: Option<ElementKind>, score: f64, part: Option<CaptureRect>) -> Hit {
    let interactable = if item.element.interactable { 0.04 } else { 0.0 };
    let layer = match item.layer {
        Layer::Behind => 0.0,
        Layer::Active => 0.06,
        Layer::Dialog => 0.12,
    };
    let disabled = if item.element.state.disabled == Some(true) {
        0.05
    } else {
        0.0
    };
    Hit {
        element: item.element.id,
        content: item.element.content.clone(),
        point: part.map_or(item.element.centre, centre),
        bounds: part.unwrap_or(item.bounds),
        whole: part.is_none(),
        kind: item.kind(),
        checked: item.element.state.checked,
        score,
        rank: score + kind.map_or(0.0, |kind| kind_fit(kind, item)) + interactable + layer
            - disabled,
        layer: item.layer,
        container: item.container,
    }
}

/// Scores of one sort of match lie closer than this, those of different sorts further apart.
const ONE_SORT: f64 = 0.1;

/// Those that match about as well as the best does, in the uppermost layer that has any.
fn best_sort(hits: Vec<Hit>) -> Vec<Hit> {
    let best = hits
        .iter()
        .map(|hit| hit.rank)
        .max_by(f64::total_cmp)
        .unwrap_or(0.0);
    let good: Vec<Hit> = hits
        .into_iter()
        .filter(|hit| hit.rank >= best - ONE_SORT)
        .collect();
    let top = good.iter().map(|hit| hit.layer).max();
    good.into_iter()
        .filter(|hit| Some(hit.layer) == top)
        .collect()
}

/// Those of the highest rank.
fn preferred(hits: Vec<Hit>) -> Vec<Hit> {
    let best = hits
        .iter()
        .map(|hit| hit.rank)
        .max_by(f64::total_cmp)
        .unwrap_or(0.0);
    hits.into_iter()
        .filter(|hit| hit.rank >= best - SAME_RANK)
        .collect()
}

/// Without things that were seen twice, by the detector and by text recognition: the higher ranked one stays.
fn without_doubles(hits: Vec<Hit>) -> Vec<Hit> {
    let mut kept: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match kept
            .iter_mut()
            .find(|known| same_place(known.bounds, hit.bounds))
        {
            Some(known) if hit.rank > known.rank => *known = hit,
            Some(_) => {}
            None => kept.push(hit),
        }
    }
    kept
}

fn nth(hits: Vec<Hit>, ordinal: Ordinal) -> Option<Hit> {
    match ordinal {
        Ordinal::Nth(number) => hits
            .into_iter()
            .nth(usize::try_from(number).ok()?.checked_sub(1)?),
        Ordinal::Last => hits.into_iter().last(),
    }
}
