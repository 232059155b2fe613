//! From detections and text to a numbered scene.
//!
//! [`merge`] turns boxes and lines of text into elements; [`line_split`] splits lines that span several controls, and
//! [`captioned_panels`] tells a form from an editor.
//! [`reading_order`] sorts the elements, then [`tracking`] assigns stable ids. [`json`] is the output for programs.
//! [`relations`] finds related elements, and [`radio_groups`] groups radio buttons; [`paragraphs`] joins lines on
//! request. Drawing, prompt lines and selection are in `motorium_imaging::marks`, because the planner needs them too.
//!
//! Everything is a function of its arguments; the caller keeps [`TrackedElements`] between frames.
//!
//! Invariant: the scene depends on what was detected, not on the order of detection; no input makes it fail.

mod captioned_panels;
pub mod json;
mod line_split;
pub mod merge;
mod merged_element;
pub mod paragraphs;
mod placed_element;
mod radio_groups;
pub mod reading_order;
pub mod relations;
pub mod tracking;

pub use merged_element::MergedElement;
pub use tracking::TrackedElements;

use motorium_imaging::space::{centre, normalise};
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::id::{ElementId, FrameId};

use crate::parse::Parse;

/// Builds the scene of a frame of `size` pixels with ids tracked from the previous scene. Returns the scene and the
/// state for the next one.
#[must_use]
pub fn scene(
    frame: FrameId,
    size: CaptureSize,
    parse: &Parse,
    join_paragraphs: bool,
    memory: &TrackedElements,
) -> (Scene, TrackedElements) {
    let mut found = merge::merge(&parse.detections, &parse.lines, size);
    if join_paragraphs {
        found = paragraphs::join(found);
    }
    let found = reading_order::in_reading_order(found);
    let (numbers, memory) = memory.assign_ids(&found);
    let elements: Vec<Element> = found
        .into_iter()
        .zip(numbers)
        .map(|(found, id)| element(found, id, size))
        .collect();
    let scene = Scene {
        frame,
        relations: relations::relations(&elements, size),
        elements,
    };
    (scene, memory)
}

fn element(found: MergedElement, id: ElementId, size: CaptureSize) -> Element {
    let bounds = normalise(found.bounds, size);
    let centre = centre(&bounds, size);
    Element {
        id,
        kind: found.kind,
        content: found.content,
        centre: found.click_point.unwrap_or(centre),
        bounds,
        interactable: found.interactable,
        confidence: found.confidence,
        source: found.source,
        state: found.state,
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::element::ElementKind;
    use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
    use proptest::prelude::*;

    use super::*;
    use crate::parse::ParseStats;
    use crate::parse::detect::Detection;
    use crate::parse::read::TextLine;

    fn parse(detections: &[Detection], lines: &[TextLine]) -> Parse {
        Parse {
            detections: detections.into(),
            lines: lines.into(),
            effort: ParseStats::default(),
        }
    }

    fn rect(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    fn line(x: i32, y: i32, text: &str) -> TextLine {
        let width = text.chars().count() as i32 * 8;
        TextLine::new(rect(x, y, width, 16), text, 0.9)
    }

    fn button(x: i32, y: i32) -> Detection {
        Detection::new(rect(x, y, 80, 30), ElementKind::Button, 0.8)
    }

    #[test]
    fn a_dialog_is_read_from_top_to_bottom_and_numbered_from_one() {
        let detections = [button(200, 100), button(100, 100)];
        let lines = [
            line(120, 107, "Cancel"),
            line(224, 107, "OK"),
            line(100, 40, "Delete the file?"),
        ];
        let (scene, _) = scene(
            FrameId::new("f1"),
            CaptureSize::new(400, 200),
            &parse(&detections, &lines),
            false,
            &TrackedElements::default(),
        );
        let seen: Vec<_> = scene
            .elements
            .iter()
            .map(|element| (element.id.0, element.kind, element.content.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                (1, ElementKind::Label, "Delete the file?"),
                (2, ElementKind::Button, "Cancel"),
                (3, ElementKind::Button, "OK"),
            ]
        );
        assert_eq!(scene.elements[2].centre, CapturePoint::new(240, 115));
    }

    #[test]
    fn an_empty_screen_is_an_empty_scene() {
        let (scene, memory) = scene(
            FrameId::new("f1"),
            CaptureSize::new(400, 200),
            &parse(&[], &[]),
            false,
            &TrackedElements::default(),
        );
        assert!(scene.elements.is_empty());
        assert_eq!(memory, TrackedElements::default());
    }

    proptest! {
        #[test]
        fn detection_order_does_not_affect_the_result(
            boxes in proptest::collection::vec((0i32..400, 0i32..300, 1i32..150, 1i32..60, 0usize..20), 0..15),
            texts in proptest::collection::vec((0i32..400, 0i32..300, "[a-c]{0,3}"), 0..15),
            seed in any::<u64>(),
        ) {
            let size = CaptureSize::new(400, 300);
            let detections: Vec<Detection> = boxes
                .into_iter()
                .map(|(x, y, w, h, kind)| Detection::new(rect(x, y, w, h), ElementKind::ALL[kind], 0.5))
                .collect();
            let lines: Vec<TextLine> = texts.iter().map(|(x, y, text)| line(*x, *y, text)).collect();
            let (expected, memory) = scene(FrameId::new("f"), size, &parse(&detections, &lines), false, &TrackedElements::default());
            let numbers: Vec<u32> = expected.elements.iter().map(|element| element.id.0).collect();
            prop_assert_eq!(numbers, (1..=expected.elements.len() as u32).collect::<Vec<_>>());

            let shuffled = scene(FrameId::new("f"), size, &parse(&reading_order::tests::shuffle(&detections, seed), &reading_order::tests::shuffle(&lines, seed)), false, &TrackedElements::default());
            prop_assert_eq!(&shuffled.0, &expected);
            // The same screen again gets the same ids.
            let (again, _) = scene(FrameId::new("f"), size, &parse(&detections, &lines), false, &memory);
            prop_assert_eq!(again, expected);
        }
    }
}
