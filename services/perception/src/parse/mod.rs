//! Parsing: detects controls and text in an image.
//!
//! [`detect`] finds controls, [`describe`] classifies their icons and states, [`read`] detects and recognises text.
//! Detector and reader are traits with exchangeable implementations. [`embedded`] combines them and scans only what
//! changed ([`incremental`]); [`backdrop`] finds controls that a modal dialog blocks; [`precomputed`] post-processes
//! detector outputs of another program; [`remote`] and [`omniparser`] delegate to another server; [`queue`] limits
//! concurrency, and [`fair_semaphore`] orders the callers; [`magnify`] parses small content enlarged; [`field_text`] tells a label
//! from the text of the field beside it. Merging, ordering, ids and prompt lines belong to `marks`.

mod backdrop;
mod cpu;
pub mod describe;
pub mod detect;
pub mod embedded;
mod fair_semaphore;
mod field_text;
mod incremental;
pub mod magnify;
pub mod omniparser;
pub mod precomputed;
pub mod queue;
pub mod read;
pub mod remote;
mod runtime;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use detect::Detection;
use read::TextLine;

/// Result of parsing an image, with statistics.
#[derive(Debug, Clone, PartialEq)]
pub struct Parse {
    pub detections: Arc<[Detection]>,
    /// Lines sorted by their upper left corners, top to bottom and left to right.
    pub lines: Arc<[TextLine]>,
    pub effort: ParseStats,
}

/// Statistics of one parse.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ParseStats {
    /// Time in the queue.
    pub queued: Duration,
    /// Time of the detector.
    pub detection: Duration,
    /// Time of text detection.
    pub text_detection: Duration,
    /// Time of text recognition.
    pub text_recognition: Duration,
    /// Fraction of the image that was scanned, 0 to 1; above 1 if regions were scanned twice.
    pub scanned_fraction: f64,
    /// Number of lines that were recognised instead of taken from the cache.
    pub recognised_lines: usize,
}

/// Parses images. Calls block: run them outside the async workers.
pub trait Parser: Send + Sync + fmt::Debug {
    /// Detects controls and text in `pixels`.
    ///
    /// # Errors
    /// [`Error::Cancelled`] soon after `cancel` is set; otherwise errors of loading or running the models.
    fn parse(&self, pixels: &Arc<RgbaImage>, cancel: &CancellationToken) -> Result<Parse, Error>;

    /// Loads the models that the first call would load.
    ///
    /// # Errors
    /// Fails under the conditions of [`Self::parse`].
    fn warm_up(&self) -> Result<(), Error>;

    /// Maximum number of concurrent calls of [`Self::parse`].
    fn max_concurrency(&self) -> usize {
        1
    }

    /// Returns whether images stay in this process.
    fn is_local(&self) -> bool {
        true
    }
}

/// Returns [`Error::Cancelled`] if `cancel` is set. Called between two steps of work.
fn check_cancelled(cancel: &CancellationToken) -> Result<(), Error> {
    if cancel.is_cancelled() {
        Err(Error::Cancelled)
    } else {
        Ok(())
    }
}
