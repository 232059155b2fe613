//! Finds where text is entered: a field by its own text or placeholder, by the label beside it, or, where no field
//! was detected, the empty space that the label belongs to.

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::geometry::{gap, horizontal_overlap, on_one_row};
use super::screen::{Item, Screen, centre};
use super::{Description, Hit, hit};

/// A field that is further from its label than so many line heights belongs to another.
const REACH: f64 = 25.0;
/// A field below its label is no further down than so many line heights.
const REACH_BELOW: f64 = 2.5;
/// Two labels with so many line heights between them leave room for a field. A browser's own form has 0.8 between
/// labels that stand before their fields and 1.8 between those above them.
const ROOM_FOR_A_FIELD: f64 = 1.5;
/// The same for labels with a colon, which stand before their fields more often.
const ROOM_BELOW_A_COLON: f64 = 2.3;

/// Every place where what is described may be entered.
pub(super) fn find(screen: &Screen<'_>, description: &Description) -> Vec<Hit> {
    let wanted = Description {
        kind: description.kind.or(Some(ElementKind::TextField)),
        ..description.clone()
    };
    let candidates = screen.candidates(&wanted);
    if description.text.is_none() {
        return focused_or_all(screen, candidates, description);
    }
    let of_fields: Vec<Hit> = candidates
        .iter()
        .filter(|hit| is_field(hit.kind))
        .cloned()
        .collect();
    let by_label: Vec<Hit> = candidates
        .iter()
        .filter(|hit| names_a_field(hit.kind))
        .map(|label| field_of(screen, label))
        .collect();
    of_fields.into_iter().chain(by_label).collect()
}

/// Of nameless fields the one that has the keyboard is meant, unless they are counted.
fn focused_or_all(screen: &Screen<'_>, fields: Vec<Hit>, description: &Description) -> Vec<Hit> {
    let focused = |hit: &&Hit| {
        screen
            .items
            .iter()
            .any(|item| item.element.id == hit.element && item.element.state.focused == Some(true))
    };
    let counts = description.ordinal.is_some()
        || description.place.is_some()
        || description.beside.is_some();
    match fields.iter().find(focused) {
        Some(field) if !counts => vec![field.clone()],
        _ => fields,
    }
}

fn is_field(kind: ElementKind) -> bool {
    matches!(
        kind,
        ElementKind::TextField | ElementKind::SpinBox | ElementKind::DropDown
    )
}

/// What may be the label of a field: text that is nothing else.
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

/// The field that the label belongs to.
fn field_of(screen: &Screen<'_>, label: &Hit) -> Hit {
    let nearest = nearest(screen, label.bounds, Item::is_field)
        .or_else(|| nearest(screen, label.bounds, Item::may_be_field));
    if let Some(item) = nearest {
        let field = hit(item, Some(item.kind()), label.score, None);
        return Hit {
            rank: label.rank,
            ..field
        };
    }
    let bounds = blank_space(screen, label);
    Hit {
        point: centre(bounds),
        bounds,
        whole: false,
        ..label.clone()
    }
}

/// Of those that are `wanted` and may belong to the label, the one that is nearest to it.
fn nearest<'a, 'b>(
    screen: &'a Screen<'b>,
    label: CaptureRect,
    wanted: impl Fn(&Item<'b>) -> bool,
) -> Option<&'a Item<'b>> {
    let height = f64::from(label.height().max(1));
    let belonging = screen
        .items
        .iter()
        .filter(|item| wanted(item))
        .filter_map(|item| belongs(label, item, height).map(|distance| (distance, item)));
    let nearest = belonging.min_by(|a, b| a.0.total_cmp(&b.0));
    nearest.map(|(_, item)| item)
}

/// How far the field is from the label, if the label may be its own: around it, to its left, or above it.
fn belongs(label: CaptureRect, field: &Item<'_>, height: f64) -> Option<f64> {
    let distance = gap(label, field.bounds);
    if field.bounds.contains(centre(label)) {
        return Some(0.0);
    }
    let is_right = on_one_row(label, field.bounds) && field.bounds.min.x >= centre(label).x;
    let is_below =
        horizontal_overlap(label, field.bounds) > 0 && field.bounds.min.y >= centre(label).y;
    (is_right && distance <= height * REACH || is_below && distance <= height * REACH_BELOW)
        .then_some(distance + 1.0)
}

/// The space where a field must be that was not detected: to the right of the label, or below it.
///
/// Labels that stand above their fields have room for one between them, or a line that is indented by the field's
/// border and is what it holds; labels that stand before their fields are stacked closely.
fn blank_space(screen: &Screen<'_>, label: &Hit) -> CaptureRect {
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
        ROOM_BELOW_A_COLON
    } else {
        ROOM_FOR_A_FIELD
    };
    let goes_below = match gap_in_column(&texts, label.bounds, height) {
        Some(gap) => f64::from(gap) >= room * f64::from(height),
        None => room_right < 4 * height,
    };
    if goes_below {
        below_label(label.bounds, height)
    } else {
        right_of_label(label.bounds, height, room_right)
    }
}

/// Where the next text on the label's row begins, or the window ends.
fn end_of_row(texts: &[CaptureRect], label: &Hit) -> i32 {
    let behind = texts
        .iter()
        .filter(|text| on_one_row(**text, label.bounds) && text.min.x >= label.bounds.max.x);
    behind
        .map(|text| text.min.x)
        .min()
        .unwrap_or(label.container.max.x)
}

/// The line right below a label that is indented against it: a placeholder or a value inside a field's border.
fn content_below(texts: &[CaptureRect], label: CaptureRect, height: i32) -> Option<CaptureRect> {
    let is_indented =
        |text: &&CaptureRect| (height / 4 + 1..=2 * height).contains(&(text.min.x - label.min.x));
    let is_close = |text: &&CaptureRect| {
        (-height / 4..=height + height / 3).contains(&(text.min.y - label.max.y))
    };
    texts.iter().filter(is_indented).find(is_close).copied()
}

/// The gap to the next text of the label's column: the one below, or if it is the last, the one above.
fn gap_in_column(texts: &[CaptureRect], label: CaptureRect, height: i32) -> Option<i32> {
    let column = texts
        .iter()
        .filter(|text| (text.min.x - label.min.x).abs() <= height);
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
    let width = room.min(8 * height).max(height);
    let start = label.max.x + (height / 2).min(width / 3);
    CaptureRect::new(
        CapturePoint::new(start, label.min.y),
        CapturePoint::new(label.max.x + width, label.max.y),
    )
}

/// Where a field below its label is whatever it looks like. A plain one touches the label's line and is hardly taller
/// than it; a styled one is taller and stands a third of a line away.
fn below_label(label: CaptureRect, height: i32) -> CaptureRect {
    let top = label.max.y + height * 3 / 10;
    CaptureRect::new(
        CapturePoint::new(label.min.x + height / 2, top),
        CapturePoint::new(label.min.x + 6 * height, top + height * 3 / 5),
    )
}
