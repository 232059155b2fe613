//! JSON output of a scene: our own format, and the format of OmniParser for existing clients.
//!
//! It is written only: no scene is read from it.

use std::collections::BTreeMap;

use motorium_proto::domain::element::{Element, ElementSource, Relation, RelationKind, Scene};
use motorium_proto::domain::geometry::{CaptureSize, NormalisedRect};
use motorium_proto::service::StageTiming;
use serde::Serialize;

/// Scene with the duration of each parsing stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SceneJson {
    /// Width of the frame in capture pixels.
    pub width: i32,
    pub height: i32,
    /// In reading order.
    pub elements: Vec<ElementJson>,
    /// Known relations.
    pub relations: Vec<RelationJson>,
    /// Duration of each stage in milliseconds.
    pub timings_ms: BTreeMap<String, f64>,
}

/// One element.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ElementJson {
    pub id: u32,
    pub kind: &'static str,
    pub content: String,
    /// x1, y1, x2, y2 as fractions of the frame.
    pub bbox: [f64; 4],
    pub interactable: bool,
    pub confidence: f64,
    /// `detector`, `ocr` or `both`.
    pub source: &'static str,
    /// Known states, for example `"checked": true`.
    pub state: BTreeMap<&'static str, bool>,
}

/// Relation between two elements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelationJson {
    /// `label_of`, `part_of`, `grouped_with` or `heading_of`.
    pub kind: &'static str,
    pub from: u32,
    pub to: u32,
}

impl SceneJson {
    /// Converts a scene of a frame of `size` pixels.
    #[must_use]
    pub fn new(scene: &Scene, size: CaptureSize, timings: &[StageTiming]) -> Self {
        let milliseconds =
            |timing: &StageTiming| rounded(timing.elapsed.as_secs_f64() * 1000.0, 1000.0);
        Self {
            width: size.width,
            height: size.height,
            elements: scene.elements.iter().map(ElementJson::from).collect(),
            relations: scene.relations.iter().map(RelationJson::from).collect(),
            timings_ms: timings
                .iter()
                .map(|timing| (timing.stage.clone(), milliseconds(timing)))
                .collect(),
        }
    }
}

impl From<&Element> for ElementJson {
    fn from(element: &Element) -> Self {
        let source = match element.source {
            ElementSource::Detector => "detector",
            ElementSource::Ocr => "ocr",
            ElementSource::Both => "both",
        };
        Self {
            id: element.id.0,
            kind: element.kind.as_str(),
            content: element.content.clone(),
            bbox: bbox(&element.bounds),
            interactable: element.interactable,
            confidence: rounded(f64::from(element.confidence), 10_000.0),
            source,
            state: element.state.known().collect(),
        }
    }
}

impl From<&Relation> for RelationJson {
    fn from(relation: &Relation) -> Self {
        let kind = match relation.kind {
            RelationKind::LabelOf => "label_of",
            RelationKind::PartOf => "part_of",
            RelationKind::GroupedWith => "grouped_with",
            RelationKind::HeadingOf => "heading_of",
        };
        Self {
            kind,
            from: relation.from.0,
            to: relation.to.0,
        }
    }
}

/// Entry of the list that an OmniParser server returns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OmniParserElement {
    /// `text` or `icon`.
    pub r#type: &'static str,
    /// x1, y1, x2, y2 as fractions of the frame.
    pub bbox: [f64; 4],
    pub interactivity: bool,
    /// `None` if unknown.
    pub content: Option<String>,
    /// Origin of box and content.
    pub source: &'static str,
}

/// Converts a scene to OmniParser's `parsed_content_list`: texts, then icons with content, then icons without, each in
/// reading order. The index in the list is OmniParser's box id; element ids are not included.
#[must_use]
pub fn omniparser(scene: &Scene) -> Vec<OmniParserElement> {
    let mut list: Vec<OmniParserElement> =
        scene.elements.iter().map(OmniParserElement::from).collect();
    list.sort_by_key(|entry| (entry.content.is_none(), entry.r#type != "text"));
    list
}

impl From<&Element> for OmniParserElement {
    fn from(element: &Element) -> Self {
        let (r#type, source) = match element.source {
            ElementSource::Ocr => ("text", "box_ocr_content_ocr"),
            ElementSource::Both => ("icon", "box_yolo_content_ocr"),
            ElementSource::Detector => ("icon", "box_yolo_content_yolo"),
        };
        Self {
            r#type,
            bbox: bbox(&element.bounds),
            interactivity: element.interactable,
            content: (!element.content.is_empty()).then(|| element.content.clone()),
            source,
        }
    }
}

/// Rounds to six decimals, which distinguish pixels on any screen.
fn bbox(bounds: &NormalisedRect) -> [f64; 4] {
    [bounds.min.x, bounds.min.y, bounds.max.x, bounds.max.y].map(|fraction| rounded(fraction, 1e6))
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use motorium_proto::domain::element::{ElementKind, ElementState};
    use motorium_proto::domain::geometry::{CapturePoint, NormalisedPoint};
    use motorium_proto::domain::id::{ElementId, FrameId};
    use serde_json::json;

    use super::*;

    fn scene() -> Scene {
        let element = |id: u32, kind, content: &str, source| Element {
            id: ElementId(id),
            kind,
            content: content.to_owned(),
            bounds: NormalisedRect::new(
                NormalisedPoint::new(1.0 / 3.0, 0.5),
                NormalisedPoint::new(0.75, 1.0),
            ),
            interactable: source != ElementSource::Ocr,
            confidence: 0.87,
            centre: CapturePoint::zero(),
            source,
            state: ElementState::default(),
        };
        let heading = Relation {
            kind: RelationKind::HeadingOf,
            from: ElementId(4),
            to: ElementId(2),
        };
        let state = ElementState {
            disabled: Some(true),
            focused: Some(false),
            ..ElementState::default()
        };
        Scene {
            frame: FrameId::new("f1"),
            relations: vec![heading],
            elements: vec![
                element(4, ElementKind::Label, "标题 \"x\"", ElementSource::Ocr),
                Element {
                    state,
                    ..element(2, ElementKind::Button, "Save", ElementSource::Both)
                },
                element(9, ElementKind::Icon, "", ElementSource::Detector),
            ],
        }
    }

    #[test]
    fn scene_json_has_the_documented_shape() {
        let timings = [StageTiming {
            stage: "read".to_owned(),
            elapsed: Duration::from_micros(12_345),
        }];
        let json = serde_json::to_value(SceneJson::new(
            &scene(),
            CaptureSize::new(1920, 1080),
            &timings,
        ))
        .unwrap();
        let bbox = [0.333333, 0.5, 0.75, 1.0];
        assert_eq!(
            json,
            json!({
                "width": 1920,
                "height": 1080,
                "elements": [
                    {"id": 4, "kind": "label", "content": "标题 \"x\"", "bbox": bbox, "interactable": false, "confidence": 0.87, "source": "ocr", "state": {}},
                    {"id": 2, "kind": "button", "content": "Save", "bbox": bbox, "interactable": true, "confidence": 0.87, "source": "both", "state": {"disabled": true, "focused": false}},
                    {"id": 9, "kind": "icon", "content": "", "bbox": bbox, "interactable": true, "confidence": 0.87, "source": "detector", "state": {}},
                ],
                "relations": [{"kind": "heading_of", "from": 4, "to": 2}],
                "timings_ms": {"read": 12.345},
            })
        );
    }

    #[test]
    fn omniparser_json_matches_its_format() {
        let list = serde_json::to_string(&omniparser(&scene())).unwrap();
        let expected = [
            r#"[{"type":"text","bbox":[0.333333,0.5,0.75,1.0],"interactivity":false,"content":"标题 \"x\"","source":"box_ocr_content_ocr"}"#,
            r#"{"type":"icon","bbox":[0.333333,0.5,0.75,1.0],"interactivity":true,"content":"Save","source":"box_yolo_content_ocr"}"#,
            r#"{"type":"icon","bbox":[0.333333,0.5,0.75,1.0],"interactivity":true,"content":null,"source":"box_yolo_content_yolo"}]"#,
        ];
        assert_eq!(list, expected.join(","));
    }

    #[test]
    fn omniparsers_order() {
        let named = |content: &str, source| Element {
            content: content.to_owned(),
            source,
            ..scene().elements[0].clone()
        };
        let mixed = Scene {
            elements: vec![
                named("", ElementSource::Detector),
                named("Save", ElementSource::Both),
                named("Name", ElementSource::Ocr),
                named("Cancel", ElementSource::Both),
                named("Age", ElementSource::Ocr),
            ],
            ..scene()
        };
        let list = omniparser(&mixed);
        let contents: Vec<_> = list.iter().map(|entry| entry.content.as_deref()).collect();
        let in_order = [
            Some("Name"),
            Some("Age"),
            Some("Save"),
            Some("Cancel"),
            None,
        ];
        assert_eq!(contents, in_order);
    }
}
