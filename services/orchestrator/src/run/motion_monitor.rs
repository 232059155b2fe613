//! Watches for background motion while the planner thinks.
//!
//! Nothing is performed between the observation of a step and its first action, so every change in that time is
//! background motion. It is kept until the action is judged. The monitor takes no decisions; if it fails it ends
//! silently, because the loop detects motion as well.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use motorium_proto::convert::into_messages;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::{DisplayId, FrameId};
use motorium_proto::service::{CaptureRequest, CompareRequest, Perception, Redaction};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use motorium_recording::recording::{ChangedPlaces, MotionObservation};

/// Interval between captures.
// Shorter than the blink period of a caret, so that both of its states are captured.
const CAPTURE_INTERVAL: Duration = Duration::from_millis(400);
/// Number of captures at the short interval.
// What has not moved in 2.4 s moves rarely.
const FREQUENT_CAPTURES: usize = 6;
// Few captures remain, and they have to cover a slow decision of a model.
const SLOW_CAPTURE_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum number of captures.
// Perception keeps a limited number of frames and must not drop the step's first one.
const MAX_CAPTURES: usize = 9;

/// Background motion that was observed.
#[derive(Debug, Default)]
pub(super) struct ObservedMotion {
    /// Changed areas of each capture that differed.
    pub(super) changes: Vec<Vec<CaptureRect>>,
    /// Frames of these captures.
    pub(super) frames: Vec<FrameId>,
}

impl ObservedMotion {
    /// Converts to the recorded form.
    pub(super) fn into_record(self) -> MotionObservation {
        let changed = |places: Vec<CaptureRect>| ChangedPlaces {
            places: into_messages(places),
        };
        MotionObservation {
            changes: self.changes.into_iter().map(changed).collect(),
            frames: self.frames.iter().map(ToString::to_string).collect(),
        }
    }

    /// Converts from the recorded form. Invalid boxes are skipped.
    pub(super) fn from_record(seen: MotionObservation) -> Self {
        let places = |changed: ChangedPlaces| {
            let places = changed.places.into_iter();
            places.filter_map(|place| place.try_into().ok()).collect()
        };
        Self {
            changes: seen.changes.into_iter().map(places).collect(),
            frames: seen.frames.into_iter().map(FrameId::new).collect(),
        }
    }
}

/// Display, areas and redactions that the monitor uses.
#[derive(Debug)]
pub(super) struct MotionMonitorTarget {
    pub(super) display: Option<DisplayId>,
    /// Frame of the step's observation.
    pub(super) since: FrameId,
    /// Areas to ignore.
    pub(super) ignored_areas: Vec<CaptureRect>,
    /// Redactions, as in the step's observation, so that frames are comparable.
    pub(super) redactions: Vec<Redaction>,
}

/// Monitor that runs until it is dropped.
#[derive(Debug)]
pub(super) struct MotionMonitor {
    seen: Arc<Mutex<ObservedMotion>>,
    _looking: AbortOnDropHandle<()>,
}

impl MotionMonitor {
    /// Starts monitoring.
    pub(super) fn start(perception: Arc<dyn Perception>, view: MotionMonitorTarget) -> Self {
        let seen = Arc::default();
        let looking = monitor(perception, view, Arc::clone(&seen));
        Self {
            seen,
            _looking: AbortOnDropHandle::new(tokio::spawn(looking)),
        }
    }

    /// Stops monitoring and returns the observed motion.
    pub(super) fn finish(self) -> ObservedMotion {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut seen)
    }
}

async fn monitor(
    perception: Arc<dyn Perception>,
    view: MotionMonitorTarget,
    seen: Arc<Mutex<ObservedMotion>>,
) {
    let mut before = view.since;
    for number in 0..MAX_CAPTURES {
        let rare = number >= FREQUENT_CAPTURES;
        sleep(if rare {
            SLOW_CAPTURE_INTERVAL
        } else {
            CAPTURE_INTERVAL
        })
        .await;
        let capture = CaptureRequest {
            display: view.display.clone(),
            omit_cursor: true,
            redactions: view.redactions.clone(),
            ..CaptureRequest::default()
        };
        let Ok(captured) = perception.capture(capture).await else {
            return;
        };
        let now = captured.frame.id;
        let compare = CompareRequest {
            ignore: view.ignored_areas.clone(),
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
