//! Looking what moves on the screen by itself, while the planner thinks.
//!
//! From the first look of a step until its first action nobody does anything, so whatever changes is no effect of anything.
//! What is seen is kept until the action is judged. Nothing here decides; a lookout that cannot see ends without a
//! word, because the loop notices for itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use motorium_proto::convert::all;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::{DisplayId, FrameId};
use motorium_proto::service::{CaptureRequest, CompareRequest, Perception, Redaction};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::recording::{Changed, Seen};

/// Between two looks: shorter than a caret blinks, so that it is seen in both of its states.
const PAUSE: Duration = Duration::from_millis(400);
/// After so many looks they become rarer: what has not moved until then moves seldom.
const FREQUENT_LOOKS: usize = 6;
const LONG_PAUSE: Duration = Duration::from_secs(2);
/// Perception keeps so many frames only, and the first one of the step must not be forgotten over this.
const MOST_LOOKS: usize = 9;

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Sighting {
    /// Where something had changed, for each look at which anything had.
    pub(super) changes: Vec<Vec<CaptureRect>>,
    /// The frames of these looks.
    pub(super) frames: Vec<FrameId>,
}

impl Sighting {
    /// As it is recorded.
    pub(super) fn noted(self) -> Seen {
        let changed = |places: Vec<CaptureRect>| Changed {
            places: all(places),
        };
        Seen {
            changes: self.changes.into_iter().map(changed).collect(),
            frames: self.frames.iter().map(ToString::to_string).collect(),
        }
    }

    /// As it was recorded. What is no place is none.
    pub(super) fn of(seen: Seen) -> Self {
        let places = |changed: Changed| {
            let places = changed.places.into_iter();
            places.filter_map(|place| place.try_into().ok()).collect()
        };
        Self {
            changes: seen.changes.into_iter().map(places).collect(),
            frames: seen.frames.into_iter().map(FrameId::new).collect(),
        }
    }
}

/// Where to look.
#[derive(Debug)]
pub(super) struct View {
    pub(super) display: Option<DisplayId>,
    /// The first look of the step.
    pub(super) since: FrameId,
    /// Places that are not looked at.
    pub(super) hidden: Vec<CaptureRect>,
    /// As in the first look, so that both can be compared.
    pub(super) painted_over: Vec<Redaction>,
}

/// Somebody who looks, until it is dropped.
#[derive(Debug)]
pub(super) struct Lookout {
    seen: Arc<Mutex<Sighting>>,
    _looking: AbortOnDropHandle<()>,
}

impl Lookout {
    /// Begins to look.
    pub(super) fn start(perception: Arc<dyn Perception>, view: View) -> Self {
        let seen = Arc::default();
        let looking = look(perception, view, Arc::clone(&seen));
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

async fn look(perception: Arc<dyn Perception>, view: View, seen: Arc<Mutex<Sighting>>) {
    let mut before = view.since;
    for number in 0..MOST_LOOKS {
        let rare = number >= FREQUENT_LOOKS;
        sleep(if rare { LONG_PAUSE } else { PAUSE }).await;
        let capture = CaptureRequest {
            display: view.display.clone(),
            omit_cursor: true,
            redactions: view.painted_over.clone(),
            ..CaptureRequest::default()
        };
        let Ok(captured) = perception.capture(capture).await else {
            return;
        };
        let now = captured.frame.id;
        let compare = CompareRequest {
            ignore: view.hidden.clone(),
            ..CompareRequest::new(before, now.clone())
        };
        let Ok(comparison) = perception.compare(compare).await else {
            return;
        };
        let regions = comparison.change.regions;
        if !regions.is_empty() {
            let changed = regions.iter().map(|region| region.bounds).collect();
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.changes.push(changed);
            seen.frames.push(now.clone());
        }
        before = now;
    }
}
