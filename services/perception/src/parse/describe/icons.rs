//! Classifies icons into about 270 everyday meanings.
//!
//! It does not find the icons: the detector does.

use std::sync::Arc;

use image::RgbaImage;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use ort::session::Session;
use ort::value::TensorRef;
use serde::Deserialize;

use super::patches::{PATCH_SIZE, PatchExtractor, add_planes};
use super::{failed, metadata};
use crate::error::Error;
use crate::parse::detect::Detection;

/// Model trained in `training/icons`.
pub(super) const MODEL: &[u8] = include_bytes!("../../../models/icons.onnx");

/// Margin shown around an icon, as a fraction of the longer side of its box.
const MARGIN: f64 = 0.1;
/// Maximum side of an icon in pixels; the model was trained on icons of up to 80 pixels.
const MAX_ICON_SIDE: i32 = 96;
/// Maximum aspect ratio of an icon with its frame.
// Longer boxes hold text or several icons, which the model was not trained on.
const MAX_ASPECT_RATIO: f64 = 1.7;

/// Icon classifier with its confidence threshold.
#[derive(Debug)]
pub(super) struct IconClassifier {
    session: Session,
    names: Vec<Arc<str>>,
    confidence_threshold: f32,
}

/// Metadata stored in the model file.
#[derive(Debug, Deserialize)]
struct ModelMetadata {
    /// Names in the order of the outputs. An additional last output means "none of these".
    names: Vec<String>,
    #[serde(rename = "least_probability")]
    confidence_threshold: f32,
}

/// Returns whether a detection may be an icon. A control that also shows text is named by its text later.
pub(super) fn is_icon_candidate(found: &Detection) -> bool {
    let (width, height) = (found.bounds.width(), found.bounds.height());
    let (shorter, longer) = (width.min(height), width.max(height));
    let kind = matches!(
        found.kind,
        ElementKind::Icon
            | ElementKind::Button
            | ElementKind::Link
            | ElementKind::Control
            | ElementKind::WindowControl
    );
    kind && longer <= MAX_ICON_SIDE && f64::from(longer) <= MAX_ASPECT_RATIO * f64::from(shorter)
}

impl IconClassifier {
    pub(super) fn new(mut session: Session) -> Result<Self, Error> {
        let ModelMetadata {
            names,
            confidence_threshold,
        } = metadata(&mut session)?;
        let names = names.into_iter().map(|name| name.replace('_', " ").into());
        Ok(Self {
            session,
            names: names.collect(),
            confidence_threshold,
        })
    }

    /// Sets the names of detections that are classified with sufficient confidence.
    pub(super) fn classify(
        &mut self,
        pixels: &RgbaImage,
        squares: &mut PatchExtractor,
        found: &mut [&mut Detection],
    ) -> Result<(), Error> {
        let mut input = Vec::with_capacity(found.len() * 3 * PATCH_SIZE * PATCH_SIZE);
        for found in found.iter() {
            let (corner, side) = patch_bounds(found.bounds);
            add_planes(&mut input, &[squares.extract(pixels, corner, side)?]);
        }
        let shape = [found.len(), 3, PATCH_SIZE, PATCH_SIZE];
        let input = TensorRef::from_array_view((shape, &*input)).map_err(failed)?;
        let outputs = self.session.run(ort::inputs![input]).map_err(failed)?;
        let (_, probabilities) = outputs[0].try_extract_tensor::<f32>().map_err(failed)?;
        for (found, probabilities) in found
            .iter_mut()
            .zip(probabilities.chunks_exact(self.names.len() + 1))
        {
            found.name = best(&self.names, probabilities, self.confidence_threshold);
        }
        Ok(())
    }
}

/// Returns the most probable name if its probability reaches the threshold.
fn best(names: &[Arc<str>], probabilities: &[f32], threshold: f32) -> Option<Arc<str>> {
    let (name, probability) = names
        .iter()
        .zip(probabilities)
        .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (*probability >= threshold).then(|| Arc::clone(name))
}

/// Returns the square shown to the model, with the icon in its centre.
fn patch_bounds(bounds: CaptureRect) -> (CapturePoint, i32) {
    let longer = f64::from(bounds.width().max(bounds.height()));
    let side = ((longer * (1.0 + 2.0 * MARGIN)).round() as i32).max(4);
    let corner = |min: i32, max: i32| (f64::from(min + max - side) / 2.0).floor() as i32;
    let corner = CapturePoint::new(
        corner(bounds.min.x, bounds.max.x),
        corner(bounds.min.y, bounds.max.y),
    );
    (corner, side)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect([x1, y1, x2, y2]: [i32; 4]) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
    }

    #[test]
    fn icon_is_named_only_above_the_confidence_threshold() {
        let names = ["close".into(), "menu".into()];
        let check = |probabilities: &[f32], expected: Option<&str>| {
            assert_eq!(
                best(&names, probabilities, 0.6).as_deref(),
                expected,
                "{probabilities:?}"
            );
        };
        check(&[0.1, 0.8, 0.1], Some("menu"));
        check(&[0.5, 0.4, 0.1], None);
        // It is none of the known meanings.
        check(&[0.05, 0.05, 0.9], None);
        check(&[f32::NAN, 0.1, 0.1], None);
    }

    #[test]
    fn pictograms_are_small_and_about_as_wide_as_high() {
        let check = |kind, bounds, expected: bool| {
            let found = Detection::new(rect(bounds), kind, 0.9);
            assert_eq!(is_icon_candidate(&found), expected, "{kind} {bounds:?}");
        };
        check(ElementKind::Icon, [10, 10, 34, 34], true);
        check(ElementKind::Button, [10, 10, 56, 42], true);
        check(ElementKind::Button, [10, 10, 110, 42], false);
        check(ElementKind::Icon, [0, 0, 120, 120], false);
        check(ElementKind::Checkbox, [0, 0, 16, 16], false);
    }

    #[test]
    fn icon_patch_is_square_centred_and_padded() {
        assert_eq!(
            patch_bounds(rect([100, 50, 120, 70])),
            (CapturePoint::new(98, 48), 24)
        );
        // 36 × 1.2 = 43.2
        assert_eq!(
            patch_bounds(rect([0, 0, 36, 20])),
            (CapturePoint::new(-4, -12), 43)
        );
        assert_eq!(
            patch_bounds(rect([7, 7, 8, 8])),
            (CapturePoint::new(5, 5), 4)
        );
    }
}
