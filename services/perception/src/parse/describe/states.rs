//! Predicts the visible states of controls: checked, selected, disabled, focused, expanded, and whether the text is a
//! placeholder.
//!
//! It does not find the controls: the detector does.

use std::collections::HashMap;

use image::RgbaImage;
use motorium_proto::domain::element::{ElementKind, ElementState};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use ndarray::{ArrayView1, ArrayView4};
use ort::session::Session;
use ort::value::TensorRef;
use serde::Deserialize;

use super::patches::{PATCH_SIZE, PatchExtractor, add_planes};
use super::{failed, metadata};
use crate::error::Error;
use crate::parse::detect::Detection;

/// Model trained in `training/icons/states.py`.
pub(super) const MODEL: &[u8] = include_bytes!("../../../models/states.onnx");

/// Context shown beyond the box, as a fraction of its shorter side.
const CONTEXT_MARGIN: f64 = 0.25;

/// State classifier with its thresholds.
#[derive(Debug)]
pub(super) struct StateClassifier {
    session: Session,
    table: StateTable,
}

/// Metadata stored in the model file.
#[derive(Debug, Deserialize)]
struct ModelMetadata {
    /// Kinds of controls, in the order of their numbers.
    kinds: Vec<String>,
    /// States, in the order of the outputs.
    states: Vec<String>,
    /// States that each kind can have, by name.
    applies: HashMap<String, Vec<String>>,
    /// Confidence threshold of each state.
    #[serde(rename = "least_sureness")]
    confidence_thresholds: HashMap<String, f32>,
}

/// States predicted for each kind, with their thresholds.
#[derive(Debug)]
struct StateTable {
    of_kinds: HashMap<ElementKind, KindStates>,
    states: usize,
}

#[derive(Debug)]
struct KindStates {
    number: i64,
    /// Output column, state and confidence threshold.
    thresholds: Vec<(usize, StateKind, f32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StateKind {
    Checked,
    Selected,
    Disabled,
    Focused,
    Expanded,
    Placeholder,
}

impl StateKind {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "checked" => Self::Checked,
            "selected" => Self::Selected,
            "disabled" => Self::Disabled,
            "focused" => Self::Focused,
            "expanded" => Self::Expanded,
            "placeholder" => Self::Placeholder,
            _ => return None,
        })
    }

    fn field_mut(self, state: &mut ElementState) -> &mut Option<bool> {
        match self {
            Self::Checked => &mut state.checked,
            Self::Selected => &mut state.selected,
            Self::Disabled => &mut state.disabled,
            Self::Focused => &mut state.focused,
            Self::Expanded => &mut state.expanded,
            Self::Placeholder => &mut state.placeholder,
        }
    }
}

impl StateTable {
    fn new(about: &ModelMetadata) -> Self {
        let column = |name: &String| about.states.iter().position(|state| state == name);
        let thresholds_of = |kind: &String| {
            let names = about.applies.get(kind).into_iter().flatten();
            let thresholds = names.filter_map(|name| {
                let threshold = *about.confidence_thresholds.get(name)?;
                // A threshold of 1 disables the state: no threshold reached the required accuracy in calibration.
                (threshold < 1.0).then_some((column(name)?, StateKind::from_name(name)?, threshold))
            });
            thresholds.collect::<Vec<_>>()
        };
        let rows = about.kinds.iter().zip(0..).filter_map(|(name, number)| {
            let thresholds = thresholds_of(name);
            let kind = ElementKind::from_name(name)?;
            (!thresholds.is_empty()).then_some((kind, KindStates { number, thresholds }))
        });
        Self {
            of_kinds: rows.collect(),
            states: about.states.len(),
        }
    }

    fn has(&self, kind: ElementKind) -> bool {
        self.of_kinds.contains_key(&kind)
    }

    /// Converts the output probabilities of a control to its state.
    fn predict(&self, kind: ElementKind, probabilities: &[f32]) -> ElementState {
        let mut state = ElementState::default();
        let row = self.of_kinds.get(&kind);
        for &(column, which, threshold) in row.map_or(&[][..], |row| &row.thresholds) {
            let probability = probabilities[column];
            if probability.max(1.0 - probability) >= threshold {
                *which.field_mut(&mut state) = Some(probability >= 0.5);
            }
        }
        state
    }
}

impl StateClassifier {
    pub(super) fn new(mut session: Session) -> Result<Self, Error> {
        let table = StateTable::new(&metadata(&mut session)?);
        Ok(Self { session, table })
    }

    /// Returns whether any state of this kind can be predicted.
    pub(super) fn supports(&self, kind: ElementKind) -> bool {
        self.table.has(kind)
    }

    /// Predicts the states of controls whose kinds are supported.
    pub(super) fn classify(
        &mut self,
        pixels: &RgbaImage,
        squares: &mut PatchExtractor,
        found: &mut [&mut Detection],
    ) -> Result<(), Error> {
        let mut pieces = Vec::with_capacity(found.len() * 3 * 2 * PATCH_SIZE * PATCH_SIZE);
        let mut kinds = Vec::with_capacity(found.len());
        for found in found.iter() {
            let (corners, side) = patch_bounds(found.bounds);
            let [first, second] = corners;
            let ends = [
                squares.extract(pixels, first, side)?,
                squares.extract(pixels, second, side)?,
            ];
            add_planes(&mut pieces, &ends);
            kinds.push(self.table.of_kinds[&found.kind].number);
        }
        let pieces = ArrayView4::from_shape((found.len(), 3, 2 * PATCH_SIZE, PATCH_SIZE), &pieces)
            .map_err(failed)?;
        let kinds = ArrayView1::from(&kinds);
        let outputs = self
            .session
            .run(ort::inputs![
                "pieces" => TensorRef::from_array_view(pieces).map_err(failed)?,
                "kinds" => TensorRef::from_array_view(kinds).map_err(failed)?,
            ])
            .map_err(failed)?;
        let (_, probabilities) = outputs[0].try_extract_tensor::<f32>().map_err(failed)?;
        for (found, probabilities) in found
            .iter_mut()
            .zip(probabilities.chunks_exact(self.table.states))
        {
            found.state = self.table.predict(found.kind, probabilities);
        }
        Ok(())
    }
}

/// Returns the upper left corners and the side of the squares at both ends of a control: left and right, or top and
/// bottom.
fn patch_bounds(bounds: CaptureRect) -> ([CapturePoint; 2], i32) {
    let shorter = f64::from(bounds.width().min(bounds.height()));
    let side = ((shorter * (1.0 + 2.0 * CONTEXT_MARGIN)).round() as i32).max(6);
    let beyond = (shorter * CONTEXT_MARGIN).round() as i32;
    let first = CapturePoint::new(bounds.min.x - beyond, bounds.min.y - beyond);
    let second = CapturePoint::new(bounds.max.x + beyond - side, bounds.max.y + beyond - side);
    ([first, second], side)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> StateTable {
        let about = r#"{
            "kinds": ["button", "checkbox", "poodle", "image"],
            "states": ["checked", "disabled", "barking", "focused"],
            "applies": {"checkbox": ["checked", "disabled", "barking"], "button": ["focused"], "poodle": ["barking"]},
            "least_sureness": {"checked": 0.8, "disabled": 0.6, "focused": 1.0, "barking": 0.5}
        }"#;
        StateTable::new(&serde_json::from_str(about).unwrap())
    }

    #[test]
    fn state_is_predicted_only_above_its_threshold() {
        let check = |probabilities: [f32; 4], checked, disabled| {
            let expected = ElementState {
                checked,
                disabled,
                ..ElementState::default()
            };
            let state = table().predict(ElementKind::Checkbox, &probabilities);
            assert_eq!(state, expected, "{probabilities:?}");
        };
        check([0.9, 0.1, 0.9, 0.9], Some(true), Some(false));
        check([0.1, 0.55, 0.9, 0.9], Some(false), None);
        check([0.7, 0.65, 0.9, 0.9], None, Some(true));
        check([f32::NAN; 4], None, None);
    }

    #[test]
    fn kinds_without_predictable_states_are_skipped() {
        let table = table();
        assert!(table.has(ElementKind::Checkbox));
        // Its only state has a threshold of 1.
        assert!(!table.has(ElementKind::Button));
        assert!(!table.has(ElementKind::Image));
    }

    #[test]
    fn state_patches_show_both_ends_with_padding() {
        let rect = |[x1, y1, x2, y2]: [i32; 4]| {
            CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
        };
        let points = |points: [[i32; 2]; 2]| points.map(|[x, y]| CapturePoint::new(x, y));
        assert_eq!(
            patch_bounds(rect([100, 50, 200, 70])),
            (points([[95, 45], [175, 45]]), 30)
        );
        assert_eq!(
            patch_bounds(rect([10, 10, 20, 90])),
            (points([[7, 7], [8, 78]]), 15)
        );
    }
}
