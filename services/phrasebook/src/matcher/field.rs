//! Finds input fields: by their own text or placeholder, by the label next to them, or, if no field was detected, the
//! empty space that the label belongs to.

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::geometry::{centre, gap, horizontal_overlap, on_one_row};
use super::screen_index::{IndexedElement, ScreenIndex};
use super::{ElementMatch, ElementQuery, element_match};

/// Maximum distance of a field from its label on the same row, in line heights. Wide, because forms align their fields in a
/// column far from short labels.
const MAX_LABEL_DISTANCE: f64 = 25.0;
/// Maximum distance of a field below its label, in line heights. A larger gap belongs to the next row.
const MAX_LABEL_DISTANCE_BELOW: f64 = 2.5;
/// Minimum gap between two labels for a field between them, in line heights. An unstyled browser form has 0.8 between
/// labels left of their fields and 1.8 between labels above them.
const MIN_FIELD_GAP: f64 = 1.5;
/// Minimum gap between two labels with colons for a field between them, in line heights. Larger than [`MIN_FIELD_GAP`],
/// because labels with a colon are more often left of their fields.
const MIN_FIELD_GAP_AFTER_COLON: f64 = 2.3;

/// Returns every field that matches the query.
pub(super) fn find(screen: &ScreenIndex<'_>, description: &ElementQuery) -> Vec<ElementMatch> {
    let wanted = ElementQuery {
        kind: description.kind.or(Some(ElementKind::TextField)),
        ..description.clone()
    };
    let candidates = screen.candidates(&wanted);
    if description.kind == Some(ElementKind::Slider) {
        return sliders(screen, candidates);
    }
    if description.text.is_none() {
        return focused_or_all(screen, candidates, description);
    }
    let of_fields: Vec<ElementMatch> = candidates
        .iter()
        .filter(|hit| is_field(hit.kind))
        .cloned()
        .collect();
    let by_label: Vec<ElementMatch> = candidates
        .iter()
        .filter(|hit| names_a_field(hit.kind))
        .map(|label| field_of(screen, label))
        .collect();
    of_fields.into_iter().chain(by_label).collect()
}

/// Returns the focused one of unnamed fields, unless an ordinal, place or relation selects among them.
fn focused_or_all(
    screen: &ScreenIndex<'_>,
    fields: Vec<ElementMatch>,
    description: &ElementQuery,
) -> Vec<ElementMatch> {
    let focused = |hit: &&ElementMatch| {
        screen
            .items
            .iter()
            .any(|item| item.element.id == hit.element && item.element.state.focused == Some(true))
    };
    let counts = description.ordinal.is_some()
        || description.place.is_some()
        || description.relation.is_some();
    match fields.iter().find(focused) {
        Some(field) if !counts => vec![field.clone()],
        _ => fields,
    }
}

/// Returns the sliders among the candidates, and those beside the candidates that are their labels. The place of a slider that
/// was not detected is not guessed.
fn sliders(screen: &ScreenIndex<'_>, candidates: Vec<ElementMatch>) -> Vec<ElementMatch> {
    let is_slider = |item: &IndexedElement<'_>| item.kind() == ElementKind::Slider;
    let beside = |hit: ElementMatch| {
        if hit.kind == ElementKind::Slider {
            return Some(hit);
        }
        let item = nearest(screen, hit.bounds, is_slider).filter(|_| names_a_field(hit.kind))?;
        let slider = element_match(item, Some(ElementKind::Slider), hit.score, None);
        Some(ElementMatch {
            rank: hit.rank,
            ..slider
        })
    };
    candidates.into_iter().filter_map(beside).collect()
}

fn is_field(kind: ElementKind) -> bool {
    matches!(
        kind,
        ElementKind::TextField | ElementKind::SpinBox | ElementKind::DropDown
    )
}

/// Returns whether an element of this kind can be the label of a field.
fn names_a_field(kind: ElementKind) -> bool {
    !is_field(kind)
        && !matches!(
            kind,
            ElementKind::Button
                | ElementKind::Link
                | ElementKind::Tab
                | ElementKind::MenuItem
                | ElementKind::Checkbox
                | ElementKind::Radio
                | ElementKind::Switch
        )
}

/// Returns the field that the label belongs to.
fn field_of(screen: &ScreenIndex<'_>, label: &ElementMatch) -> ElementMatch {
    let nearest = nearest(screen, label.bounds, IndexedElement::is_field)
        .or_else(|| nearest(screen, label.bounds, IndexedElement::may_be_field));
    if let Some(item) = nearest {
        let field = element_match(item, Some(item.kind()), label.score, None);
        return ElementMatch {
            rank: label.rank,
            ..field
        };
    }
    let bounds = blank_space(screen, label);
    ElementMatch {
        point: centre(bounds),
        bounds,
        is_whole_element: false,
        ..label.clone()
    }
}

/// Returns the nearest of the `wanted` elements that may belong to the label.
fn nearest<'a, 'b>(
    screen: &'a ScreenIndex<'b>,
    label: CaptureRect,
    wanted: impl Fn(&IndexedElement<'b>) -> bool,
) -> Option<&'a IndexedElement<'b>> {
    let height = f64::from(label.height().max(1));
    let belonging = screen
        .items
        .iter()
        .filter(|item| wanted(item))
        .filter_map(|item| belongs(label, item, height).map(|distance| (distance, item)));
    let nearest = belonging.min_by(|a, b| a.0.total_cmp(&b.0));
    nearest.map(|(_, item)| item)
}

/// Returns the distance of the field from the label, if the label is inside, left of, or above it.
fn belongs(label: CaptureRect, field: &IndexedElement<'_>, height: f64) -> Option<f64> {
    let distance = gap(label, field.bounds);
    if field.bounds.contains(centre(label)) {
        return Some(0.0);
    }
    let is_right = on_one_row(label, field.bounds) && field.bounds.min.x >= centre(label).x;
    let is_below =
        horizontal_overlap(label, field.bounds) > 0 && field.bounds.min.y >= centre(label).y;
    (is_right && distance <= height * MAX_LABEL_DISTANCE
        || is_below && distance <= height * MAX_LABEL_DISTANCE_BELOW)
        .then_some(distance + 1.0)
}

/// Estimates the box of a field that was not detected: right of the label, or below it.
///
/// Labels above their fields leave a gap for a field, or are followed by a line that is indented by the field's border (its
/// content). Labels left of their fields are stacked closely.
fn blank_space(screen: &ScreenIndex<'_>, label: &ElementMatch) -> CaptureRect {
    let height = label.bounds.height().max(1);
    let others = screen
        .items
        .iter()
        .filter(|item| !item.text.is_empty() && item.element.id != label.element);
    let texts: Vec<CaptureRect> = others.map(|item| item.bounds).collect();
    let room_right = end_of_row(&texts, label) - label.bounds.max.x;
    if let Some(content) = content_below(&texts, label.bounds, height) {
        return content;
    }
    let has_colon = label.content.trim_end().ends_with([':', '：']);
    let room = if has_colon {
        MIN_FIELD_GAP_AFTER_COLON
    } else {
        MIN_FIELD_GAP
    };
    let goes_below = match gap_in_column(&texts, label.bounds, height) {
        Some(gap) => f64::from(gap) >= room * f64::from(height),
        // A lone label: below 4 line heights there is no room for a field on its right.
        None => room_right < 4 * height,
    };
    if goes_below {
        below_label(label.bounds, height)
    } else {
        right_of_label(label.bounds, height, room_right)
    }
}

/// Returns the x coordinate of the next text on the label's row, or of the window's edge.
fn end_of_row(texts: &[CaptureRect], label: &ElementMatch) -> i32 {
    let behind = texts
        .iter()
        .filter(|text| on_one_row(**text, label.bounds) && text.min.x >= label.bounds.max.x);
    behind
        .map(|text| text.min.x)
        .min()
        .unwrap_or(label.container.max.x)
}

/// Returns the indented line right below a label: a placeholder or value inside a field's border.
fn content_below(texts: &[CaptureRect], label: CaptureRect, height: i32) -> Option<CaptureRect> {
    // Padding of common forms: a quarter of a line to two lines in, at most a third of a line of extra gap.
    let is_indented =
        |text: &&CaptureRect| (height / 4 + 1..=2 * height).contains(&(text.min.x - label.min.x));
    let is_close = |text: &&CaptureRect| {
        (-height / 4..=height + height / 3).contains(&(text.min.y - label.max.y))
    };
    texts.iter().filter(is_indented).find(is_close).copied()
}

/// Returns the gap to the next text in the label's column: below, or above if the label is the last.
fn gap_in_column(texts: &[CaptureRect], label: CaptureRect, height: i32) -> Option<i32> {
    let column = texts
        .iter()
        .filter(|text| (text.min.x - label.min.x).abs() <= height);
    // Boxes of adjacent lines may overlap by a quarter of a line.
    let is_beyond = |gap: &i32| *gap >= -height / 4;
    let below = column
        .clone()
        .map(|text| text.min.y - label.max.y)
        .filter(is_beyond)
        .min();
    below.or_else(|| {
        column
            .map(|text| label.min.y - text.max.y)
            .filter(is_beyond)
            .min()
    })
}

fn right_of_label(label: CaptureRect, height: i32, room: i32) -> CaptureRect {
    // The click goes to the middle: at most 4 line heights in, which is inside all but tiny fields.
    let width = room.min(8 * height).max(height);
    let start = label.max.x + (height / 2).min(width / 3);
    CaptureRect::new(
        CapturePoint::new(start, label.min.y),
        CapturePoint::new(label.max.x + width, label.max.y),
    )
}

/// Returns a box that lies inside a field below its label in either style: an unstyled field touches the label's line and
/// is barely taller; a styled one is taller and a third of a line away.
fn below_label(label: CaptureRect, height: i32) -> CaptureRect {
    let top = label.max.y + height * 3 / 10;
    CaptureRect::new(
        CapturePoint::new(label.min.x + height / 2, top),
        CapturePoint::new(label.min.x + 6 * height, top + height * 3 / 5),
    )
}
