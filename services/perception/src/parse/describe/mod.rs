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
use std::sync::{Arc, Mutex, PoisonError};

use image::RgbaImage;
use motorium_proto::domain::geometry::CaptureRect;
use ort::session::Session;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::detect::{Detection, Detector};
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
    /// `None` until they are loaded.
    networks: Mutex<Option<Networks>>,
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
            networks: Mutex::new(None),
        }
    }

    fn with_networks<T>(
        &self,
        work: impl FnOnce(&mut Networks) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        if networks.is_none() {
            *networks = Some(Networks::load(&self.settings)?);
        }
        work(networks.as_mut().expect("they were loaded just above"))
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
        in_groups(found, icons::may_be_named, cancel, |group| {
            icons.name(pixels, squares, group)
        })?;
        let may_show_a_state = states.table();
        in_groups(
            found,
            |found| may_show_a_state.has(found.kind),
            cancel,
            |group| states.tell(pixels, squares, group),
        )
    }
}

/// Does some work for those that are chosen, so many at a time.
fn in_groups(
    found: &mut [Detection],
    is_chosen: impl Fn(&Detection) -> bool,
    cancel: &CancellationToken,
    mut work: impl FnMut(&mut [&mut Detection]) -> Result<(), Error>,
) -> Result<(), Error> {
    let chosen = found.iter_mut().filter(|found| is_chosen(found));
    let mut chosen: Vec<&mut Detection> = chosen.collect();
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
