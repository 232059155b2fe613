//! Looking what moves on the screen by itself, while the planner thinks.
//!
//! From the first look of a step until its first action nobody does anything, so whatever changes is no effect of anything.
//! What is seen is kept until the action is judged. Nothing here decides; a lookout that cannot see ends without a
//! word, because the loop notices for itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::{DisplayId, FrameId};
use motorium_proto::service::{AwaitQuiet, CaptureRequest, Perception};
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use crate::task::secret_fields::redactions;

/// What changes within such a time is told together; twice within it and once are the same.
const WINDOW: Duration = Duration::from_millis(400);
/// After so many windows they become longer: what has not moved until then moves seldom.
const SHORT_WINDOWS: usize = 6;
const LONG_WINDOW: Duration = Duration::from_secs(2);
/// So many frames are remembered: a caret has two states, a wheel that turns a dozen.
const MOST_FRAMES: usize = 8;

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Sighting {
    /// Where something changed, for each window in which anything did.
    pub(super) windows: Vec<Vec<CaptureRect>>,
    /// Frames from between the changes.
    pub(super) frames: Vec<FrameId>,
}

/// Somebody who looks, until it is dropped.
#[derive(Debug)]
pub(super) struct Lookout {
    seen: Arc<Mutex<Sighting>>,
    _looking: AbortOnDropHandle<()>,
}

impl Lookout {
    /// Begins to look. What is `hidden` is not looked at.
    pub(super) fn start(
        perception: Arc<dyn Perception>,
        display: Option<DisplayId>,
        hidden: Vec<CaptureRect>,
    ) -> Self {
        let seen = Arc::default();
        let looking = look(perception, display, hidden, Arc::clone(&seen));
        Self {
            seen,
            _looking: AbortOnDropHandle::new(tokio::spawn(looking)),
        }
    }

    /// Ends the looking, and says what was seen.
    pub(super) fn end(self) -> Sighting {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut seen)
    }
}

async fn look(
    perception: Arc<dyn Perception>,
    display: Option<DisplayId>,
    hidden: Vec<CaptureRect>,
    seen: Arc<Mutex<Sighting>>,
) {
    for number in 0.. {
        let window = if number < SHORT_WINDOWS {
            WINDOW
        } else {
            LONG_WINDOW
        };
        // Nothing is quiet before the window is over, so that everything in it is named.
        let wait = AwaitQuiet {
            display: display.clone(),
            since_frame: None,
            first_change_timeout: window,
            quiet: window,
            timeout: window,
            ignore_pixels: 0,
            ignore: hidden.clone(),
        };
        let over = Instant::now() + window;
        let Ok(quiet) = perception.await_quiet(wait).await else {
            return;
        };
        // Whoever answers too soon is not asked without a pause.
        sleep_until(over).await;
        let moved = [quiet.still_changing, quiet.noise].concat();
        if moved.is_empty() {
            continue;
        }
        let frames = {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.windows.push(moved);
            seen.frames.len()
        };
        if frames == MOST_FRAMES {
            continue;
        }
        let capture = CaptureRequest {
            display: display.clone(),
            omit_cursor: true,
            redactions: redactions(&hidden),
            ..CaptureRequest::default()
        };
        let Ok(captured) = perception.capture(capture).await else {
            return;
        };
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.frames.push(captured.frame.id);
    }
}
