//! Hands that move nothing: every action is written down instead. For dry runs, and for tests of what stands before a
//! driver.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use tokio_util::sync::CancellationToken;

use super::{Capabilities, Driver, Error, Failure, Performed, Work};

/// The driver's name in configuration.
pub const NAME: &str = "recording";

/// Records actions instead of performing them.
#[derive(Debug)]
pub struct RecordingDriver {
    size: CaptureSize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    actions: Vec<Action<CapturePoint>>,
    pointer: CapturePoint,
    releases: usize,
}

impl RecordingDriver {
    /// A driver that pretends to have a display of `size`.
    #[must_use]
    pub fn new(size: CaptureSize) -> Self {
        Self {
            size,
            state: Mutex::default(),
        }
    }

    /// What would have been performed, in order. Secrets appear by name.
    #[must_use]
    pub fn actions(&self) -> Vec<Action<CapturePoint>> {
        self.lock().actions.clone()
    }

    /// Forgets what would have been performed so far.
    pub fn forget(&self) {
        self.lock().actions.clear();
    }

    /// How often everything would have been released.
    #[must_use]
    pub fn releases(&self) -> usize {
        self.lock().releases
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Driver for RecordingDriver {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            driver: NAME,
            kinds: ActionKind::ALL.to_vec(),
            limitations: vec!["nothing is performed: actions are recorded only".to_owned()],
        }
    }

    async fn size(&self) -> Result<CaptureSize, Error> {
        Ok(self.size)
    }

    async fn perform(&self, work: Work, stop: &CancellationToken) -> Result<Performed, Failure> {
        let inside = |point: &CapturePoint| {
            (0..self.size.width).contains(&point.x) && (0..self.size.height).contains(&point.y)
        };
        if let Some(&point) = work.action.targets().find(|point| !inside(point)) {
            return Err(Error::OutOfFrame {
                point,
                size: self.size,
            }
            .into());
        }
        // A wait is waited out, so that a dry run can be stopped like a real one.
        if let Action::Wait { duration } = work.action {
            tokio::select! {
                () = stop.cancelled() => return Err(Error::Stopped.into()),
                () = tokio::time::sleep(duration) => {}
            }
        }
        let mut state = self.lock();
        if let Some(&last) = work.action.targets().last() {
            state.pointer = last;
        }
        state.actions.push(work.action);
        Ok(Performed {
            pointer: Some(state.pointer),
            note: Some("recorded, not performed".to_owned()),
        })
    }

    async fn pointer(&self) -> Result<CapturePoint, Error> {
        Ok(self.lock().pointer)
    }

    async fn release_all(&self) -> Result<Vec<String>, Error> {
        self.lock().releases += 1;
        Ok(Vec::new())
    }

    async fn close(&self) {}
}
