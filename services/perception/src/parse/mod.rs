//! Parsing: from pixels to the things on them.
//!
//! [`detect`] finds controls, [`describe`] looks closer at them, [`read`] finds and reads text. Detecting and reading are
//! traits with a seat for other implementations.
//! [`embedded`] puts them together and looks again only at what changed ([`again`]); [`veil`] tells which controls are out
//! of reach behind a dialog; [`remote`] and [`omniparser`] let another server look instead; [`queue`] lets one picture in
//! at a time, and [`turns`] says whose; [`magnify`] is for a second look at something small. Merging what they find,
//! order, numbers and prompt lines are the matter of `marks`.

mod again;
pub mod describe;
pub mod detect;
pub mod embedded;
pub mod magnify;
pub mod omniparser;
mod processor;
pub mod queue;
pub mod read;
pub mod remote;
mod runtime;
mod turns;
mod veil;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use detect::Detection;
use read::TextLine;

/// What was found on a picture, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Parse {
    pub detections: Arc<[Detection]>,
    /// From top to bottom and left to right by their upper left corners.
    pub lines: Arc<[TextLine]>,
    pub effort: Effort,
}

/// What a parse took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Effort {
    /// Until it was this picture's turn.
    pub waiting: Duration,
    /// Looking for controls.
    pub detecting: Duration,
    /// Finding the regions of text.
    pub locating: Duration,
    /// Reading them.
    pub recognising: Duration,
    /// Share of the picture in which text and controls were looked for, 0 to 1; more if parts were looked at twice.
    pub looked_at: f64,
    /// How many lines were read, rather than known from before.
    pub read: usize,
}

/// Parses pictures. It computes and blocks: call it off the runtime's workers.
pub trait Parser: Send + Sync + fmt::Debug {
    /// What is on `pixels`.
    ///
    /// # Errors
    /// [`Error::Cancelled`] soon after `cancel` is set; otherwise whatever keeps the models from being loaded or run.
    fn parse(&self, pixels: &Arc<RgbaImage>, cancel: &CancellationToken) -> Result<Parse, Error>;

    /// Loads whatever the first call would load.
    ///
    /// # Errors
    /// As [`Self::parse`].
    fn warm_up(&self) -> Result<(), Error>;

    /// How many pictures may be looked at at the same time.
    fn at_once(&self) -> usize {
        1
    }

    /// Whether pictures stay in this process.
    fn is_here(&self) -> bool {
        true
    }
}

/// Between two pieces of work.
fn stop_if(cancel: &CancellationToken) -> Result<(), Error> {
    if cancel.is_cancelled() {
        Err(Error::Cancelled)
    } else {
        Ok(())
    }
}
