//! A closer look at the controls that were found: what a pictogram means, and which state shows.
//!
//! [`icons`] names pictograms, [`states`] says checked, selected and the like. Both are small networks of our own, trained
//! in `training/icons`, that are shown squares of a picture ([`squares`]). What they are not sure enough of stays unknown:
//! below a sureness that was measured on screens and icon sets they never saw, they say nothing.
//!
//! What it does not do: find controls ([`super::detect`]), or read what is written on them. Whether a control has text of
//! its own, and needs no other name, is seen when both are merged.

mod icons;
mod squares;
mod states;

use std::path::PathBuf;
use std::sync::Arc;

use image::RgbaImage;
use motorium_proto::domain::geometry::CaptureRect;
use ort::session::Session;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::detect::{Detection, Detector};
use super::runtime::OnDemand;
use super::{runtime, stop_if};
use crate::error::Error;
use icons::IconNames;
use squares::Squares;
use states::States;

/// Controls that are shown to a network at a time: what one is shown takes 40 KB.
const AT_ONCE: usize = 64;

/// Key of the metadata under which a network tells about itself.
const ABOUT: &str = "about";

/// How to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribeSettings {
    /// The ONNX Runtime library.
    pub runtime: PathBuf,
    /// Threads to compute with.
    pub threads: usize,
}

/// A detector that looks at what another one found. The networks are loaded by the first call.
#[derive(Debug)]
pub struct Describing {
    detector: Arc<dyn Detector>,
    settings: DescribeSettings,
    networks: OnDemand<Networks>,
}

#[derive(Debug)]
struct Networks {
    squares: Squares,
    icons: IconNames,
    states: States,
}

impl Describing {
    #[must_use]
    pub fn new(detector: Arc<dyn Detector>, settings: DescribeSettings) -> Self {
        Self {
            detector,
            settings,
            networks: OnDemand::new(),
        }
    }

    fn with_networks<T>(
        &self,
        work: impl FnOnce(&mut Networks) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.networks.with(|| Networks::load(&self.settings), work)
    }
}

impl Detector for Describing {
    fn detect(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        cancel: &CancellationToken,
    ) -> Result<Vec<Detection>, Error> {
        let mut found = self.detector.detect(pixels, within, cancel)?;
        self.with_networks(|networks| networks.describe(pixels, &mut found, cancel))?;
        Ok(found)
    }

    fn warm_up(&self) -> Result<(), Error> {
        self.detector.warm_up()?;
        self.with_networks(|_| Ok(()))
    }
}

impl Networks {
    fn load(settings: &DescribeSettings) -> Result<Self, Error> {
        let environment = runtime::environment(&settings.runtime)?;
        let load = |model| runtime::built_in(&environment, model, settings.threads).map_err(failed);
        Ok(Self {
            squares: Squares::default(),
            icons: IconNames::new(load(icons::MODEL)?)?,
            states: States::new(load(states::MODEL)?)?,
        })
    }

    fn describe(
        &mut self,
        pixels: &RgbaImage,
        found: &mut [Detection],
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let (squares, icons, states) = (&mut self.squares, &mut self.icons, &mut self.states);
        let pictograms = chosen(found, icons::may_be_named);
        in_groups(pictograms, cancel, |group| {
            icons.name(pixels, squares, group)
        })?;
        let in_a_state = chosen(found, |found| states.tells_of(found.kind));
        in_groups(in_a_state, cancel, |group| {
            states.tell(pixels, squares, group)
        })
    }
}

fn chosen(found: &mut [Detection], is_chosen: impl Fn(&Detection) -> bool) -> Vec<&mut Detection> {
    found.iter_mut().filter(|found| is_chosen(found)).collect()
}

/// Does some work for these, so many at a time.
fn in_groups(
    mut chosen: Vec<&mut Detection>,
    cancel: &CancellationToken,
    mut work: impl FnMut(&mut [&mut Detection]) -> Result<(), Error>,
) -> Result<(), Error> {
    for group in chosen.chunks_mut(AT_ONCE) {
        stop_if(cancel)?;
        work(group)?;
    }
    Ok(())
}

/// What a network tells about itself.
fn about<T: DeserializeOwned>(session: &mut Session) -> Result<T, Error> {
    let metadata = session.metadata().map_err(failed)?;
    let text = metadata.custom(ABOUT).unwrap_or_default();
    serde_json::from_str(&text).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::ParseFailed {
        detail: format!("looking at controls: {error}"),
    }
}
