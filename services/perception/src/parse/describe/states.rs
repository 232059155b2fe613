//! Which state shows on a control: checked, selected, disabled, focused, expanded, and whether its text is a hint.

use std::collections::HashMap;

use image::RgbaImage;
use motorium_proto::domain::element::{ElementKind, ElementState};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use ndarray::{ArrayView1, ArrayView4};
use ort::session::Session;
use ort::value::TensorRef;
use serde::Deserialize;

use super::squares::{SIDE, Squares, add_planes};
use super::{about, failed};
use crate::error::Error;
use crate::parse::detect::Detection;

/// The network that is trained in `training/icons/states.py`.
pub(super) const MODEL: &[u8] = include_bytes!("../../../models/states.onnx");

/// Of the shorter side of a box is shown beyond it.
const AROUND: f64 = 0.25;

/// A network that sees states, and what it may be believed.
#[derive(Debug)]
pub(super) struct States {
    session: Session,
    table: Table,
}

/// What the network tells about itself.
#[derive(Debug, Deserialize)]
struct About {
    /// Of controls, in the order of their numbers.
    kinds: Vec<String>,
    /// In the order of its outputs.
    states: Vec<String>,
    /// Which states each kind can have, by their names.
    applies: HashMap<String, Vec<String>>,
    /// Of each state, how sure is enough.
    least_sureness: HashMap<String, f32>,
}

/// Which states are told of which kind, and from which sureness on.
#[derive(Debug)]
struct Table {
    of_kinds: HashMap<ElementKind, Row>,
    states: usize,
}

#[derive(Debug)]
struct Row {
    number: i64,
    /// The column, what it stands for, and how sure is enough.
    told: Vec<(usize, State, f32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Checked,
    Selected,
    Disabled,
    Focused,
    Expanded,
    Placeholder,
}

impl State {
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

    fn of(self, state: &mut ElementState) -> &mut Option<bool> {
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

impl Table {
    fn new(about: &About) -> Self {
        let column = |name: &String| about.states.iter().position(|state| state == name);
        let told = |kind: &String| {
            let names = about.applies.get(kind).into_iter().flatten();
            let told = names.filter_map(|name| {
                let least = *about.least_sureness.get(name)?;
                // So sure it cannot be: on no screen was it right often enough.
                (least < 1.0).then_some((column(name)?, State::from_name(name)?, least))
            });
            told.collect::<Vec<_>>()
        };
        let rows = about.kinds.iter().zip(0..).filter_map(|(name, number)| {
            let told = told(name);
            let kind = ElementKind::from_name(name)?;
            (!told.is_empty()).then_some((kind, Row { number, told }))
        });
        Self {
            of_kinds: rows.collect(),
            states: about.states.len(),
        }
    }

    fn has(&self, kind: ElementKind) -> bool {
        self.of_kinds.contains_key(&kind)
    }

    /// What is told of a control, by the probability of each state.
    fn told(&self, kind: ElementKind, probabilities: &[f32]) -> ElementState {
        let mut state = ElementState::default();
        let row = self.of_kinds.get(&kind);
        for &(column, which, least) in row.map_or(&[][..], |row| &row.told) {
            let probability = probabilities[column];
            if probability.max(1.0 - probability) >= least {
                *which.of(&mut state) = Some(probability >= 0.5);
            }
        }
        state
    }
}

impl States {
    pub(super) fn new(mut session: Session) -> Result<Self, Error> {
        let table = Table::new(&about(&mut session)?);
        Ok(Self { session, table })
    }

    /// Whether anything can be told of such a control.
    pub(super) fn tells_of(&self, kind: ElementKind) -> bool {
        self.table.has(kind)
    }

    /// Tells what shows of controls that it can tell of.
    pub(super) fn tell(
        &mut self,
        pixels: &RgbaImage,
        squares: &mut Squares,
        found: &mut [&mut Detection],
    ) -> Result<(), Error> {
        let mut pieces = Vec::with_capacity(found.len() * 3 * 2 * SIDE * SIDE);
        let mut kinds = Vec::with_capacity(found.len());
        for found in found.iter() {
            let (corners, side) = shown_for(found.bounds);
            let [first, second] = corners;
            let ends = [
                squares.cut(pixels, first, side)?,
                squares.cut(pixels, second, side)?,
            ];
            add_planes(&mut pieces, &ends);
            kinds.push(self.table.of_kinds[&found.kind].number);
        }
        let pieces =
            ArrayView4::from_shape((found.len(), 3, 2 * SIDE, SIDE), &pieces).map_err(failed)?;
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
            found.state = self.table.told(found.kind, probabilities);
        }
        Ok(())
    }
}

/// The squares at both ends of a control, left and right or above and below, by their upper left corners, and their side.
fn shown_for(bounds: CaptureRect) -> ([CapturePoint; 2], i32) {
    let shorter = f64::from(bounds.width().min(bounds.height()));
    let side = ((shorter * (1.0 + 2.0 * AROUND)).round() as i32).max(6);
    let beyond = (shorter * AROUND).round() as i32;
    let first = CapturePoint::new(bounds.min.x - beyond, bounds.min.y - beyond);
    let second = CapturePoint::new(bounds.max.x + beyond - side, bounds.max.y + beyond - side);
    ([first, second], side)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let about = r#"{
            "kinds": ["button", "checkbox", "poodle", "image"],
            "states": ["checked", "disabled", "barking", "focused"],
            "applies": {"checkbox": ["checked", "disabled", "barking"], "button": ["focused"], "poodle": ["barking"]},
            "least_sureness": {"checked": 0.8, "disabled": 0.6, "focused": 1.0, "barking": 0.5}
        }"#;
        Table::new(&serde_json::from_str(about).unwrap())
    }

    #[test]
    fn a_state_is_told_where_the_kind_has_it_and_it_is_sure_enough() {
        let check = |probabilities: [f32; 4], checked, disabled| {
            let expected = ElementState {
                checked,
                disabled,
                ..ElementState::default()
            };
            let told = table().told(ElementKind::Checkbox, &probabilities);
            assert_eq!(told, expected, "{probabilities:?}");
        };
        check([0.9, 0.1, 0.9, 0.9], Some(true), Some(false));
        check([0.1, 0.55, 0.9, 0.9], Some(false), None);
        check([0.7, 0.65, 0.9, 0.9], None, Some(true));
        check([f32::NAN; 4], None, None);
    }

    #[test]
    fn of_kinds_without_a_state_that_can_be_told_nothing_is_looked_at() {
        let table = table();
        assert!(table.has(ElementKind::Checkbox));
        // Its only state is never sure enough.
        assert!(!table.has(ElementKind::Button));
        assert!(!table.has(ElementKind::Image));
    }

    #[test]
    fn both_ends_are_shown_with_something_around() {
        let rect = |[x1, y1, x2, y2]: [i32; 4]| {
            CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
        };
        let points = |points: [[i32; 2]; 2]| points.map(|[x, y]| CapturePoint::new(x, y));
        assert_eq!(
            shown_for(rect([100, 50, 200, 70])),
            (points([[95, 45], [175, 45]]), 30)
        );
        assert_eq!(
            shown_for(rect([10, 10, 20, 90])),
            (points([[7, 7], [8, 78]]), 15)
        );
    }
}
