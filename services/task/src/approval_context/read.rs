//! Reads the surroundings of a target from a screen: its texts, and the amounts and recipients of its dialog.

use motorium_proto::domain::element::{Element, RelationKind, Scene};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_text::values::{self, Value, ValueKind};

use super::area::{dialog_area, evidence_area};
use super::{ApprovalContext, JudgedTarget};
use crate::screen::bounds_on_display;

/// Maximum distance of a value to the right of its caption, and below it, in pixels.
// A column of values in a form of usual width, and one line with its margin. What is farther away belongs to another caption.
const CAPTION_REACH_PX: (i32, i32) = (320, 48);
/// Overlap of a caption with its value that is allowed, in pixels: detected boxes are not exact.
const BOX_TOLERANCE_PX: i32 = 8;
/// The state of a check box, a radio button or a switch among the texts, in reading order after them.
const CHECKED: &str = "☑ on";
const NOT_CHECKED: &str = "☐ off";
/// Maximum number of texts, and of values, that are kept. A dialog has fewer, and each is stored with the approval.
const MAX_TEXTS: usize = 200;
/// Maximum number of characters of a text that is kept.
const MAX_TEXT_CHARS: usize = 400;

impl ApprovalContext {
    /// Reads the surroundings of a place. `moving`: areas of motion in which nothing counts ([`super::harmless_motion`]).
    #[must_use]
    pub fn of(scene: &Scene, frame: &Frame, place: &JudgedTarget, moving: &[CaptureRect]) -> Self {
        let window = frame.active_window();
        let shown = match place.area {
            Some(area) => evidence_area(area),
            // Everything in the window would count, so that anything would void the approval.
            None => CaptureRect::zero(),
        };
        let is_moving =
            |bounds: CaptureRect| moving.iter().any(|area| area.contains(bounds.center()));
        let placed = || {
            let elements = scene.elements.iter();
            elements.map(|element| (bounds_on_display(element, frame), element.content.as_str()))
        };
        let texts =
            placed().filter(|(bounds, _)| shown.contains(bounds.center()) && !is_moving(*bounds));
        let on_target = |bounds: &CaptureRect| {
            place
                .area
                .is_some_and(|area| area.contains(bounds.center()))
        };
        // What is chosen beside a button belongs to what it does: "each month", "to all".
        let dialog = dialog_area(scene, frame, place.area);
        let toggles = scene.elements.iter().filter(|_| place.with_toggles);
        let toggles = toggles.filter(|element| {
            let centre = bounds_on_display(element, frame).center();
            shown.contains(centre) || place.area.is_some() && dialog.contains(centre)
        });
        let toggles = toggles.filter_map(|element| match element.state.checked? {
            true => Some(CHECKED),
            false => Some(NOT_CHECKED),
        });
        let target_texts = placed().filter(|(bounds, _)| on_target(bounds));
        let values = value_elements(scene, frame, dialog);
        let of_kind = |kind| {
            let values = values.iter().flat_map(|(_, values)| values);
            let values = values.filter(|value| value.kind == kind);
            kept(values.map(|value| value.text.as_str()))
        };
        Self {
            application: window.map_or_else(String::new, |window| window.application.clone()),
            window_title: window.map_or_else(String::new, |window| shortened(&window.title)),
            page_origin: place.page_origin.clone(),
            target: place.area,
            target_texts: kept(target_texts.map(|(_, text)| text)),
            // A page full of texts does not push them out.
            texts: [kept(texts.map(|(_, text)| text)), kept(toggles)].concat(),
            question: kept(place.question.iter().map(String::as_str)),
            amounts: of_kind(ValueKind::Amount),
            recipients: of_kind(ValueKind::Recipient),
            moving: moving.to_vec(),
            pointer_on_target: place.area.zip(frame.cursor).is_some_and(|(area, cursor)| {
                area.contains(cursor.position + frame.origin.to_vector())
            }),
        }
    }
}

/// Returns the values of the elements in an area, each with the box of its element, in reading order.
pub(super) fn value_elements(
    scene: &Scene,
    frame: &Frame,
    area: CaptureRect,
) -> Vec<(CaptureRect, Vec<Value>)> {
    let elements = scene.elements.iter();
    let elements: Vec<(CaptureRect, &Element)> = elements
        .map(|element| (bounds_on_display(element, frame), element))
        .filter(|(bounds, _)| area.contains(bounds.center()))
        .collect();
    let mut found: Vec<(CaptureRect, Vec<Value>)> = elements
        .iter()
        .map(|(bounds, element)| (*bounds, values::values(&element.content)))
        .collect();
    for (index, (bounds, element)) in elements.iter().enumerate() {
        let Some(caption) = values::caption(&element.content).filter(|caption| caption.is_alone)
        else {
            continue;
        };
        let of_caption = captioned(index, *bounds, element, &elements, scene);
        for at in of_caption {
            let more = values::captioned_values(caption.kind, &elements[at].1.content);
            let known = &mut found[at].1;
            known.extend(
                more.into_iter()
                    .filter(|value| !known.contains(value))
                    .collect::<Vec<_>>(),
            );
        }
    }
    found.retain(|(_, values)| !values.is_empty());
    found
}

/// Returns the indices of the elements that hold the value of a caption: those related to it, else the next one on its line, else
/// the next one below.
fn captioned(
    caption: usize,
    own: CaptureRect,
    element: &Element,
    elements: &[(CaptureRect, &Element)],
    scene: &Scene,
) -> Vec<usize> {
    let with_text = || {
        let others = elements.iter().enumerate();
        others.filter(move |(at, (_, other))| *at != caption && !other.content.trim().is_empty())
    };
    let mut fields = scene.relations.iter().filter_map(|relation| {
        let is_label = relation.kind == RelationKind::LabelOf && relation.from == element.id;
        is_label.then_some(relation.to)
    });
    if let Some(field) = fields.next() {
        let field_bounds = elements.iter().find(|(_, other)| other.id == field);
        let inside = |bounds: &CaptureRect| {
            field_bounds.is_some_and(|(field, _)| field.contains(bounds.center()))
        };
        return with_text()
            .filter(|(_, (bounds, other))| other.id == field || inside(bounds))
            .map(|(at, _)| at)
            .collect();
    }
    let (aside, below) = CAPTION_REACH_PX;
    let beside = with_text().filter(|(_, (bounds, _))| {
        let distance = bounds.min.x - own.max.x;
        let centre = bounds.center().y;
        centre >= own.min.y - BOX_TOLERANCE_PX
            && centre <= own.max.y + BOX_TOLERANCE_PX
            && (-BOX_TOLERANCE_PX..=aside).contains(&distance)
    });
    let next = beside.min_by_key(|(_, (bounds, _))| bounds.min.x);
    let under = || {
        let under = with_text().filter(|(_, (bounds, _))| {
            let distance = bounds.min.y - own.max.y;
            (-BOX_TOLERANCE_PX..=below).contains(&distance)
                && bounds.min.x < own.max.x
                && bounds.max.x > own.min.x
        });
        under.min_by_key(|(_, (bounds, _))| bounds.min.y)
    };
    let found = next.or_else(under);
    found.map(|(at, _)| at).into_iter().collect()
}

/// Returns the texts that are kept of some, without empty ones.
fn kept<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let texts = texts.filter(|text| !text.trim().is_empty());
    texts.take(MAX_TEXTS).map(shortened).collect()
}

fn shortened(text: &str) -> String {
    text.trim().chars().take(MAX_TEXT_CHARS).collect()
}
