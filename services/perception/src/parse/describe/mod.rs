//! Describes detected controls: the meaning of icons and the visible states.
//!
//! [`icons`] names icons, [`states`] predicts checked, selected and similar states. Both are small models trained in
//! `training/icons`; their inputs are square patches of the image ([`patches`]). Below a confidence threshold, which
//! was calibrated on screens and icon sets that they were not trained on, a property stays unknown.
//!
//! Detection is done in [`super::detect`], text recognition in [`super::read`]. Whether a control has text, and
//! therefore needs no name, is decided when both are merged.

mod icons;
mod patches;
mod states;

use std::path::PathBuf;
use std::sync::Arc;

use image::RgbaImage;
use motorium_proto::domain::geometry::CaptureRect;
use ort::session::Session;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::detect::{Detection, Detector};
use super::runtime::LazyModel;
use super::{check_cancelled, runtime};
use crate::error::Error;
use icons::IconClassifier;
use patches::PatchExtractor;
use states::StateClassifier;

/// Controls per model run; one patch takes 40 KB.
const BATCH_SIZE: usize = 64;

/// Metadata key under which a model describes itself.
const METADATA_KEY: &str = "about";

/// Settings of the description models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribeSettings {
    /// The ONNX Runtime library.
    pub runtime: PathBuf,
    /// Number of threads.
    pub threads: usize,
}

/// Detector that describes the detections of another one. The models are loaded by the first call.
#[derive(Debug)]
pub struct DescribingDetector {
    detector: Arc<dyn Detector>,
    settings: DescribeSettings,
    models: LazyModel<DescriptionModels>,
}

#[derive(Debug)]
struct DescriptionModels {
    squares: PatchExtractor,
    icons: IconClassifier,
    states: StateClassifier,
}

impl DescribingDetector {
    #[must_use]
    pub fn new(detector: Arc<dyn Detector>, settings: DescribeSettings) -> Self {
        Self {
            detector,
            settings,
            models: LazyModel::new(),
        }
    }

    fn with_models<T>(
        &self,
        work: impl FnOnce(&mut DescriptionModels) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.models
            .with(|| DescriptionModels::load(&self.settings), work)
    }
}

impl Detector for DescribingDetector {
    fn detect(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        cancel: &CancellationToken,
    ) -> Result<Vec<Detection>, Error> {
        let mut found = self.detector.detect(pixels, within, cancel)?;
        self.with_models(|networks| networks.describe(pixels, &mut found, cancel))?;
        Ok(found)
    }

    fn warm_up(&self) -> Result<(), Error> {
        self.detector.warm_up()?;
        self.with_models(|_| Ok(()))
    }
}

impl DescriptionModels {
    fn load(settings: &DescribeSettings) -> Result<Self, Error> {
        let environment = runtime::environment(&settings.runtime)?;
        let load = |model| {
            runtime::session_from_memory(&environment, model, settings.threads).map_err(failed)
        };
        Ok(Self {
            squares: PatchExtractor::default(),
            icons: IconClassifier::new(load(icons::MODEL)?)?,
            states: StateClassifier::new(load(states::MODEL)?)?,
        })
    }

    fn describe(
        &mut self,
        pixels: &RgbaImage,
        found: &mut [Detection],
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let (squares, icons, states) = (&mut self.squares, &mut self.icons, &mut self.states);
        let pictograms = chosen(found, icons::is_icon_candidate);
        in_batches(pictograms, cancel, |group| {
            icons.classify(pixels, squares, group)
        })?;
        let in_a_state = chosen(found, |found| states.supports(found.kind));
        in_batches(in_a_state, cancel, |group| {
            states.classify(pixels, squares, group)
        })
    }
}

fn chosen(found: &mut [Detection], is_chosen: impl Fn(&Detection) -> bool) -> Vec<&mut Detection> {
    found.iter_mut().filter(|found| is_chosen(found)).collect()
}

/// Runs `work` on batches of detections.
fn in_batches(
    mut chosen: Vec<&mut Detection>,
    cancel: &CancellationToken,
    mut work: impl FnMut(&mut [&mut Detection]) -> Result<(), Error>,
) -> Result<(), Error> {
    for group in chosen.chunks_mut(BATCH_SIZE) {
        check_cancelled(cancel)?;
        work(group)?;
    }
    Ok(())
}

/// Reads the metadata of a model.
fn metadata<T: DeserializeOwned>(session: &mut Session) -> Result<T, Error> {
    let metadata = session.metadata().map_err(failed)?;
    let text = metadata.custom(METADATA_KEY).unwrap_or_default();
    serde_json::from_str(&text).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::ParseFailed {
        detail: format!("describing controls: {error}"),
    }
}
