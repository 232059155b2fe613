//! Finds the element on the screen that a query describes: by text, kind, place, ordinal and relation. Pure.
//!
//! It works with whatever Perception returns: detected controls with their texts, or only recognised text lines, where a
//! target may be one word of a line and a field may be the empty space next to its label. It does not choose among
//! equally good matches: it returns all of them.

mod field;
mod geometry;
mod readback;
mod row_split;
mod screen_index;
mod text_match;
mod word_bounds;

use std::borrow::Cow;

use motorium_proto::domain::action::{FramePart, Ordinal, Target, TextAnchor};
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::frame::Window;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ElementId;

pub use geometry::Relation;
pub use readback::TextAtField;
pub use screen_index::ScreenIndex;

use geometry::{centre, distance, distance_to_place, is_same_element};
use screen_index::{IndexedElement, StackingLayer};
use text_match::{FoldedText, MatchTier, compare, is_same_case, resemblance};

/// Query for an element.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ElementQuery {
    /// `None`: described by its kind alone.
    pub text: Option<String>,
    pub kind: Option<ElementKind>,
    pub place: Option<FramePart>,
    pub ordinal: Option<Ordinal>,
    pub relation: Option<(Relation, Box<ElementQuery>)>,
}

impl ElementQuery {
    /// Returns a query for an element with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }
}

impl From<&TextAnchor> for ElementQuery {
    fn from(anchor: &TextAnchor) -> Self {
        let text = Some(anchor.text.clone()).filter(|text| !text.trim().is_empty());
        Self {
            text,
            kind: anchor.kind,
            place: anchor.place,
            ordinal: anchor.ordinal,
            relation: None,
        }
    }
}

/// Intended interaction, which determines the point to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interaction {
    Click,
    /// A label refers to the field next to it.
    EnterText,
    /// A label refers to the checkbox next to it.
    Toggle,
}

impl Interaction {
    /// Returns the default interaction for a kind of element.
    #[must_use]
    pub fn of_kind(kind: Option<ElementKind>) -> Self {
        match kind {
            Some(ElementKind::TextField | ElementKind::SpinBox | ElementKind::DropDown) => {
                Self::EnterText
            }
            Some(ElementKind::Checkbox | ElementKind::Radio | ElementKind::Switch) => Self::Toggle,
            _ => Self::Click,
        }
    }
}

/// A matching element or part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct ElementMatch {
    /// The element, or the one that led to the match (a label).
    pub element: ElementId,
    /// Text of the element.
    pub content: String,
    pub point: CapturePoint,
    /// Box within which the point may be moved, in capture pixels.
    pub bounds: CaptureRect,
    /// The whole element is meant. Otherwise the point is in a part of it, or next to it.
    pub is_whole_element: bool,
    pub kind: ElementKind,
    /// Checked state; `None` if unknown.
    pub checked: Option<bool>,
    /// Score of the text match alone, 0 to 1, without kind, window and relation.
    pub score: f64,
    rank: f64,
    layer: StackingLayer,
    /// Window of the element, or the frame.
    container: CaptureRect,
}

impl ElementMatch {
    /// Returns the target for an action.
    #[must_use]
    pub fn target(&self) -> Target {
        if self.is_whole_element {
            Target::Element(self.element)
        } else {
            Target::Point(self.point)
        }
    }
}

/// Result of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum MatchResult {
    Unique(ElementMatch),
    /// Equally good matches: at least two, in reading order.
    Ambiguous(Vec<ElementMatch>),
    /// No match; the most similar texts, best first.
    NotFound {
        nearest: Vec<String>,
    },
}

/// Maximum difference of equal ranks. Half of [`SAME_CASE_BONUS`], so that case still tells two matches apart.
const RANK_TOLERANCE: f64 = 0.015;
/// Maximum difference of equal distances, in pixels. Absorbs the inaccuracy of detected boxes.
const DISTANCE_TOLERANCE_PX: f64 = 4.0;
/// Maximum difference of equal distances from a place, relative to the screen.
// Elements of one row or column are equally near to an edge, but for the error of their boxes.
const PLACE_TOLERANCE: f64 = 0.02;
/// Weight of the distance to a toggle on the side where its label is expected.
// A toggle on the other side wins only if it is clearly nearer.
const PREFERRED_SIDE: f64 = 0.8;
/// Maximum number of similar texts returned when nothing matches. Keeps the message readable.
const MAX_SUGGESTIONS: usize = 3;

impl ScreenIndex<'_> {
    /// Finds the element that the query describes.
    #[must_use]
    pub fn find(&self, description: &ElementQuery, purpose: Interaction) -> MatchResult {
        let mut hits = self.find_all(description, purpose);
        if description.ordinal.is_none() {
            hits = highest_ranked(hits);
        }
        match hits.len() {
            0 => MatchResult::NotFound {
                nearest: self.nearest(description),
            },
            1 => MatchResult::Unique(hits.remove(0)),
            _ => MatchResult::Ambiguous(hits),
        }
    }

    /// Returns all candidates in reading order: all matches of the best tier in the topmost layer. With an ordinal there is
    /// at most one.
    #[must_use]
    pub fn find_all(&self, description: &ElementQuery, purpose: Interaction) -> Vec<ElementMatch> {
        let hits = match purpose {
            Interaction::EnterText => field::find(self, description),
            Interaction::Toggle => self.toggles(description),
            Interaction::Click => self.candidates(description),
        };
        let is_meant = |hit: &ElementMatch| {
            !self
                .excluded
                .iter()
                .any(|point| hit.bounds.contains(*point))
        };
        let hits = hits.into_iter().filter(is_meant).collect();
        let hits = match purpose {
            Interaction::Click => {
                self.without_browser_bars(counted(hits, description), description)
            }
            _ => hits,
        };
        let hits = self.related(hits, description);
        let hits = self.placed(hits, description.place);
        let hits = deduplicated(best_tier(without_longer_names(hits)));
        match description.ordinal {
            Some(ordinal) => nth(hits, ordinal).into_iter().collect(),
            None => hits,
        }
    }

    /// Removes the tabs and buttons of browsers, where elements are counted or stand in a relation to one of the page: only the page is
    /// meant, unless it is a tab that is counted.
    fn without_browser_bars(
        &self,
        hits: Vec<ElementMatch>,
        description: &ElementQuery,
    ) -> Vec<ElementMatch> {
        let is_counted =
            description.ordinal.is_some() && description.kind != Some(ElementKind::Tab);
        let is_of_page = || {
            let relation = description.relation.as_ref();
            relation.is_some_and(|(relation, other)| {
                let others = self.regions(other, *relation);
                others.iter().any(|other| !self.is_in_browser_bar(*other))
            })
        };
        if !is_counted && !is_of_page() {
            return hits;
        }
        let is_on_page = |hit: &ElementMatch| !self.is_in_browser_bar(hit.bounds);
        hits.into_iter().filter(is_on_page).collect()
    }

    /// Returns the line that contains the text, if it is visible anywhere on the screen other than in the browser's own words.
    #[must_use]
    pub fn find_text(&self, text: &str) -> Option<&str> {
        let wanted = FoldedText::new(text);
        let mut items = self.items.iter();
        let found = items.find(|item| self.shows(item, text, &wanted));
        found.map(IndexedElement::content)
    }

    /// Returns all lines that contain the text, as [`Self::find_text`] finds them.
    #[must_use]
    pub fn lines_with(&self, text: &str) -> Vec<&str> {
        let wanted = FoldedText::new(text);
        let items = self.items.iter();
        items
            .filter(|item| self.shows(item, text, &wanted))
            .map(IndexedElement::content)
            .collect()
    }

    fn shows(&self, item: &IndexedElement<'_>, text: &str, wanted: &FoldedText) -> bool {
        let reads = |line: &FoldedText| {
            compare(wanted, line)
                .first()
                .is_some_and(|likeness| likeness.tier >= MatchTier::WholeWords)
        };
        reads(&item.text)
            && match self.browser.removed_from(item.content(), text) {
                Cow::Borrowed(_) => true,
                Cow::Owned(rest) => reads(&FoldedText::new(&rest)),
            }
    }

    /// Returns an element's centre and box, in capture pixels.
    #[must_use]
    pub fn element(&self, id: ElementId) -> Option<(CapturePoint, CaptureRect)> {
        let item = self.items.iter().find(|item| item.element.id == id)?;
        Some((item.element.centre, item.element_bounds))
    }

    /// Returns the box of the smallest interactable element that contains a point.
    #[must_use]
    pub fn smallest_element_at(&self, point: CapturePoint) -> Option<CaptureRect> {
        let around = self
            .items
            .iter()
            .filter(|item| item.element.interactable && item.bounds.contains(point));
        around
            .map(|item| item.bounds)
            .min_by_key(|bounds| bounds.to_i64().area())
    }

    /// Returns the window whose title or application matches the text; the topmost of several.
    #[must_use]
    pub fn window(&self, name: &str) -> Option<&Window> {
        let name = FoldedText::new(name);
        let score = |text: &str| {
            compare(&name, &FoldedText::new(text))
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
        // `max_by` returns the last of equal elements, and the topmost window comes first.
        scored
            .rev()
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, window)| window)
    }

    /// Returns the elements with the text or, without one, of the kind.
    fn candidates(&self, description: &ElementQuery) -> Vec<ElementMatch> {
        let Some(text) = &description.text else {
            let of_kind = |item: &&IndexedElement<'_>| {
                description
                    .kind
                    .is_none_or(|kind| kind_fit(kind, item) >= KIND_COMPATIBLE)
            };
            return self
                .items
                .iter()
                .filter(of_kind)
                .map(|item| element_match(item, description.kind, 1.0, None))
                .collect();
        };
        let wanted = FoldedText::new(text);
        let named = self.items.iter();
        let mut hits: Vec<ElementMatch> = named
            .flat_map(|item| matches_in(item, &wanted, description.kind))
            .collect();
        // A sign may be a part of many texts, so that its icon is meant where it stands beside something, or where no text has it.
        if let Some(icon) = icon_of_sign(text)
            && (description.relation.is_some() || hits.is_empty())
        {
            let icons = self
                .items
                .iter()
                .filter(|item| item.kind() == ElementKind::Icon && item.content() == icon);
            hits.extend(icons.map(|item| element_match(item, description.kind, SIGN, None)));
        }
        hits
    }

    /// Returns the toggles with that name, or next to a text with that name.
    fn toggles(&self, description: &ElementQuery) -> Vec<ElementMatch> {
        let hits = self.candidates(description);
        hits.into_iter()
            .map(|hit| self.box_beside(&hit).unwrap_or(hit))
            .collect()
    }

    /// Returns the unnamed toggle on the row of a text, preferably on its left, where forms usually place it.
    fn box_beside(&self, label: &ElementMatch) -> Option<ElementMatch> {
        let is_box_already = matches!(
            label.kind,
            ElementKind::Checkbox | ElementKind::Radio | ElementKind::Switch
        );
        // Further away than three line heights it belongs to another label.
        let reach = f64::from(label.bounds.height()) * 3.0;
        let boxes = self
            .items
            .iter()
            .filter(|item| item.is_unnamed_toggle() && !is_box_already);
        let (left_weight, right_weight) = if self.labels_precede_toggles(label.bounds) {
            (1.0, PREFERRED_SIDE)
        } else {
            (PREFERRED_SIDE, 1.0)
        };
        // One pixel more, so that the preferred side also wins between two boxes that touch the label.
        let weighted = |gap: f64, weight: f64| (gap + 1.0) * weight;
        let beside = boxes.filter_map(|item| {
            let left = distance(Relation::LeftOf, item.bounds, label.bounds)
                .map(|gap| (gap, weighted(gap, left_weight)));
            let right = distance(Relation::RightOf, item.bounds, label.bounds)
                .map(|gap| (gap, weighted(gap, right_weight)));
            let (gap, cost) = left.or(right).or_else(|| {
                // A row that is taken for one element has its switch at its end.
                let is_in = label.bounds.contains(centre(item.bounds));
                is_in.then_some((0.0, 0.0))
            })?;
            let is_near = gap <= reach || right.is_some() && self.ends_row(label, item);
            (geometry::on_one_row(item.bounds, label.bounds) && is_near).then_some((cost, item))
        });
        let (_, item) = beside.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let mut found = element_match(item, Some(item.kind()), label.score, None);
        (found.rank, found.content) = (label.rank, label.content.clone());
        Some(found)
    }

    /// Returns whether a toggle stands alone at the end of a label's row, as in a list of settings.
    fn ends_row(&self, label: &ElementMatch, toggle: &IndexedElement<'_>) -> bool {
        let is_between = |item: &&IndexedElement<'_>| {
            let bounds = item.bounds;
            geometry::on_one_row(bounds, label.bounds)
                && bounds.min.x >= label.bounds.max.x
                && bounds.max.x <= toggle.bounds.min.x
        };
        self.items.iter().find(is_between).is_none() && label.container == toggle.container
    }

    /// Returns whether the row of several toggles begins with a text and ends with a toggle: their labels are on the left.
    fn labels_precede_toggles(&self, row: CaptureRect) -> bool {
        let on_row = self
            .items
            .iter()
            .filter(|item| geometry::on_one_row(item.bounds, row));
        let toggles = on_row.clone().filter(|item| item.is_unnamed_toggle());
        let texts = on_row.filter(|item| item.is_only_text());
        let first_text = texts.clone().map(|item| item.bounds.min.x).min();
        let last_text = texts.map(|item| item.bounds.max.x).max();
        let first_toggle = toggles.clone().map(|item| centre(item.bounds).x).min();
        let last_toggle = toggles.clone().map(|item| centre(item.bounds).x).max();
        toggles.count() > 1 && first_text < first_toggle && last_toggle > last_text
    }

    /// Returns the matches that satisfy the query's relation; all of them without one.
    fn related(&self, hits: Vec<ElementMatch>, description: &ElementQuery) -> Vec<ElementMatch> {
        let Some((relation, other)) = &description.relation else {
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
        // A cell that is taken for a field is not the field in its own row.
        let is_other = |hit: &ElementMatch, other: &CaptureRect| {
            *relation == Relation::Inside || hit.bounds != *other
        };
        let nearest = |hit: &ElementMatch| {
            others
                .iter()
                .filter(|other| is_other(hit, other))
                .filter_map(|other| distance(*relation, hit.bounds, *other))
                .min_by(f64::total_cmp)
        };
        let placed: Vec<(f64, ElementMatch)> = hits
            .into_iter()
            .filter_map(|hit| nearest(&hit).map(|gap| (gap, hit)))
            .collect();
        let closest = placed
            .iter()
            .map(|(gap, _)| *gap)
            .min_by(f64::total_cmp)
            .unwrap_or(0.0);
        // In a region, or with an ordinal, all elements are candidates; otherwise only the nearest one.
        let is_region =
            *relation == Relation::RowOf || *relation == Relation::Inside && closest == 0.0;
        let all_meant = is_region || description.ordinal.is_some();
        placed
            .into_iter()
            .filter(|(gap, _)| all_meant || *gap <= closest + DISTANCE_TOLERANCE_PX)
            .map(|(_, hit)| hit)
            .collect()
    }

    /// Returns the boxes of the windows with the text in their title.
    fn windows_titled(&self, description: &ElementQuery) -> Vec<CaptureRect> {
        let Some(title) = description.text.as_deref().map(FoldedText::new) else {
            return Vec::new();
        };
        let named = |window: &&Window| {
            !window.minimised && !compare(&title, &FoldedText::new(&window.title)).is_empty()
        };
        self.frame
            .windows
            .iter()
            .filter(named)
            .map(|window| window.bounds)
            .collect()
    }

    /// Returns the boxes of the other element's matches; for `Inside`, the surrounding dialog.
    fn regions(&self, other: &ElementQuery, relation: Relation) -> Vec<CaptureRect> {
        let dialogs = self
            .items
            .iter()
            .filter(|item| item.kind() == ElementKind::Dialog);
        let around = |hit: &ElementMatch| {
            dialogs
                .clone()
                .find(|dialog| dialog.bounds.contains(hit.point))
                .map(|dialog| dialog.bounds)
        };
        let region = |hit: &ElementMatch| {
            if relation == Relation::Inside {
                around(hit).unwrap_or(hit.bounds)
            } else {
                hit.bounds
            }
        };
        let named = without_longer_names(self.related(self.candidates(other), other));
        best_tier(named).iter().map(region).collect()
    }

    /// Returns the matches nearest to the place, on the screen or in their window.
    fn placed(&self, hits: Vec<ElementMatch>, place: Option<FramePart>) -> Vec<ElementMatch> {
        let Some(place) = place else { return hits };
        let off = |hit: &ElementMatch| {
            let on_screen = distance_to_place(hit.point, self.bounds(), place);
            let in_window = distance_to_place(hit.point, hit.container, place);
            on_screen
                .into_iter()
                .chain(in_window)
                .min_by(f64::total_cmp)
        };
        let placed: Vec<(f64, ElementMatch)> = hits
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
            .filter(|(off, _)| *off <= best + PLACE_TOLERANCE)
            .map(|(_, hit)| hit)
            .collect()
    }

    /// Returns the texts on the row of a box that can be read on the screen, from left to right, without that of the box.
    #[must_use]
    pub fn row_texts(&self, bounds: CaptureRect) -> Vec<&str> {
        let mut row: Vec<&IndexedElement<'_>> = self
            .items
            .iter()
            .filter(|item| item.has_visible_text())
            .filter(|item| geometry::on_one_row(item.bounds, bounds))
            .filter(|item| !is_same_element(item.bounds, bounds))
            .filter(|item| !item.bounds.contains(centre(bounds)))
            .collect();
        // A part of a line precedes the line that begins with it.
        row.sort_by_key(|item| (item.bounds.min.x, item.bounds.width()));
        row.into_iter().map(IndexedElement::content).collect()
    }

    /// Returns the texts most similar to the query's.
    fn nearest(&self, description: &ElementQuery) -> Vec<String> {
        let Some(text) = &description.text else {
            return Vec::new();
        };
        let wanted = FoldedText::new(text);
        let mut scored: Vec<(f64, &str)> = self
            .items
            .iter()
            .filter(|item| item.has_visible_text())
            .map(|item| (resemblance(&wanted, &item.text), item.content()))
            .filter(|(score, _)| *score >= MIN_RESEMBLANCE)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut nearest: Vec<String> = Vec::new();
        for (_, content) in scored {
            if nearest.len() < MAX_SUGGESTIONS && !nearest.iter().any(|known| known == content) {
                nearest.push(content.to_owned());
            }
        }
        nearest
    }
}

/// Minimum resemblance of a text that is suggested.
// Measured on words of forms: unrelated ones reach 0.54 ("Portugal" and "more vertical"), other endings and misspellings begin at
// 0.56 ("删除" and "删掉").
const MIN_RESEMBLANCE: f64 = 0.55;

/// Rank bonus for the same case: enough to tell two equally good matches apart.
// Larger than the step from `Exact` to `AlphanumericOnly` (0.02): a line with the right case and other punctuation
// ranks above the same words in another case. Every other step between tiers is larger than the bonus or depends on the
// line.
const SAME_CASE_BONUS: f64 = 0.03;
/// Rank bonus for exactly the wanted kind.
// Twice the distance between two of the lower tiers of text match (0.1): the kind outweighs one tier and not two.
const KIND_EXACT: f64 = 0.2;
/// Rank bonus for a kind that detection confuses with the wanted one, or that people call by its name.
// One tier: it makes up for a text that matches one tier worse.
const KIND_COMPATIBLE: f64 = 0.1;
/// Rank bonus for text of unknown kind, which may be any control.
// Between a compatible kind and a wrong one.
const KIND_UNKNOWN: f64 = 0.05;

/// Score of an icon that a sign stands for: as good as its name, but for look-alikes.
const SIGN: f64 = 0.95;

/// Returns the name of the icon that people write as a sign.
fn icon_of_sign(text: &str) -> Option<&'static str> {
    match text.trim() {
        "x" | "X" | "×" | "✕" | "✖" => Some("close"),
        "+" | "＋" => Some("add"),
        _ => None,
    }
}

/// Returns the rank bonus of an element for a wanted kind.
fn kind_fit(wanted: ElementKind, item: &IndexedElement<'_>) -> f64 {
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

/// Returns every match of the text in the element.
fn matches_in(
    item: &IndexedElement<'_>,
    wanted: &FoldedText,
    kind: Option<ElementKind>,
) -> Vec<ElementMatch> {
    let whole = 0..item.text.graphemes().len();
    compare(wanted, &item.text)
        .into_iter()
        .map(|likeness| {
            let case = if is_same_case(wanted, &item.text, likeness.range.clone()) {
                SAME_CASE_BONUS
            } else {
                0.0
            };
            // A control is one target, whichever of its words match; a text line may contain several targets, and links
            // of one line are often detected as one.
            let is_part = likeness.range != whole && (item.is_only_text() || item.may_be_several());
            let part = is_part.then(|| {
                word_bounds::part_bounds(item.text.graphemes(), likeness.range, item.bounds)
            });
            let found = element_match(item, kind, likeness.score, part);
            ElementMatch {
                rank: found.rank + case,
                ..found
            }
        })
        .collect()
}

fn element_match(
    item: &IndexedElement<'_>,
    kind: Option<ElementKind>,
    score: f64,
    part: Option<CaptureRect>,
) -> ElementMatch {
    // An element that can be used and is on top is more likely meant. Being interactable and being enabled weigh less
    // than one tier of text match (0.1).
    let interactable = if item.element.interactable { 0.04 } else { 0.0 };
    // One layer (0.06) weighs less than a tier, too. Two layers (0.12) weigh more: an element of a modal dialog ranks
    // above one in an inactive window whose text matches one tier better.
    let layer = match item.layer {
        StackingLayer::Behind => 0.0,
        StackingLayer::Active => 0.06,
        StackingLayer::Dialog => 0.12,
    };
    let disabled = if item.element.state.disabled == Some(true) {
        0.05
    } else {
        0.0
    };
    let part = part.or(item.is_part().then_some(item.bounds));
    ElementMatch {
        element: item.element.id,
        content: item.content().to_owned(),
        point: part.map_or(item.element.centre, centre),
        bounds: part.unwrap_or(item.bounds),
        is_whole_element: part.is_none(),
        kind: item.kind(),
        checked: item.element.state.checked,
        score,
        rank: score + kind.map_or(0.0, |kind| kind_fit(kind, item)) + interactable + layer
            - disabled,
        layer: item.layer,
        container: item.container,
    }
}

/// Maximum difference of ranks that count as one tier of match.
// One tier of text match, so that the layer decides only between matches of the same quality.
const TIER_TOLERANCE: f64 = 0.1;

/// Returns the matches of about the best rank, in the topmost layer that has any.
fn best_tier(hits: Vec<ElementMatch>) -> Vec<ElementMatch> {
    let best = hits
        .iter()
        .map(|hit| hit.rank)
        .max_by(f64::total_cmp)
        .unwrap_or(0.0);
    let good: Vec<ElementMatch> = hits
        .into_iter()
        .filter(|hit| hit.rank >= best - TIER_TOLERANCE)
        .collect();
    let top = good.iter().map(|hit| hit.layer).max();
    good.into_iter()
        .filter(|hit| Some(hit.layer) == top)
        .collect()
}

/// Minimum score of a match of an element's whole text; that of the tier `LookAlike`.
const WHOLE_TEXT: f64 = 0.92;
/// Maximum ratio of the heights of two entries of one list, in tenths.
// A button is higher than the text of a heading above it by more than half: it may be meant although the heading's words match
// better.
const MAX_HEIGHT_RATIO_TENTHS: i32 = 14;

/// Removes matches whose text only contains the searched words, where another entry of the same row or column has exactly
/// them: `Washer XL` is not meant beside `Washer`, whichever of them was recognised as the wanted kind.
fn without_longer_names(mut hits: Vec<ElementMatch>) -> Vec<ElementMatch> {
    let exact: Vec<CaptureRect> = hits
        .iter()
        .filter(|hit| hit.score >= WHOLE_TEXT)
        .map(|hit| hit.bounds)
        .collect();
    let is_longer = |hit: &ElementMatch| {
        hit.score < WHOLE_TEXT && exact.iter().any(|other| are_entries(*other, hit.bounds))
    };
    hits.retain(|hit| !is_longer(hit));
    hits
}

/// Returns whether two boxes are entries of one list: about equally high, and in one row or with one left edge.
fn are_entries(one: CaptureRect, other: CaptureRect) -> bool {
    let heights = (one.height().max(1), other.height().max(1));
    let (low, high) = (heights.0.min(heights.1), heights.0.max(heights.1));
    let is_column = (one.min.x - other.min.x).abs() * 2 <= low;
    high * 10 <= low * MAX_HEIGHT_RATIO_TENTHS && (is_column || geometry::on_one_row(one, other))
}

/// Returns the matches of the highest rank.
fn highest_ranked(hits: Vec<ElementMatch>) -> Vec<ElementMatch> {
    let best = hits
        .iter()
        .map(|hit| hit.rank)
        .max_by(f64::total_cmp)
        .unwrap_or(0.0);
    hits.into_iter()
        .filter(|hit| hit.rank >= best - RANK_TOLERANCE)
        .collect()
}

/// Removes elements found twice, by the detector and by text recognition; keeps the higher-ranked one.
fn deduplicated(hits: Vec<ElementMatch>) -> Vec<ElementMatch> {
    let mut kept: Vec<ElementMatch> = Vec::with_capacity(hits.len());
    for hit in hits {
        match kept
            .iter_mut()
            .find(|known| is_same_element(known.bounds, hit.bounds))
        {
            Some(known) if hit.rank > known.rank => *known = hit,
            Some(_) => {}
            None => kept.push(hit),
        }
    }
    kept
}

/// Returns only the matches of exactly the kind that is counted, if there are any: the second link is not a tab.
fn counted(hits: Vec<ElementMatch>, description: &ElementQuery) -> Vec<ElementMatch> {
    let kind = description.kind.filter(|_| description.ordinal.is_some());
    let is_exact = |hit: &ElementMatch| Some(hit.kind) == kind;
    match hits.iter().any(is_exact) {
        true => hits.into_iter().filter(is_exact).collect(),
        false => hits,
    }
}

fn nth(hits: Vec<ElementMatch>, ordinal: Ordinal) -> Option<ElementMatch> {
    match ordinal {
        Ordinal::Nth(number) => hits
            .into_iter()
            .nth(usize::try_from(number).ok()?.checked_sub(1)?),
        Ordinal::Last => hits.into_iter().last(),
    }
}

/// Returns whether two texts are read alike: without case, width, spaces and punctuation.
#[must_use]
pub fn is_same_text(one: &str, other: &str) -> bool {
    let (one, other) = (FoldedText::new(one), FoldedText::new(other));
    let same = compare(&one, &other);
    same.first()
        .is_some_and(|likeness| likeness.tier >= MatchTier::AlphanumericOnly)
}
