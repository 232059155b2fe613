//! Interrupts whatever a run awaits: on a stop, a take-over, a pause, or when the task's time is up.
//!
//! Nothing is decided here: the caller gets a [`Halt`] and the loop evaluates the task again.

use std::time::{Duration, SystemTime};

use motorium_kit::clock::{Clock as _, MonotonicClock};
use motorium_recording::recording::RecordingMode;
use motorium_task::{Task, limits};

use super::{Halt, RunResult, StopSignal};

/// The stop signal and the clock of one run.
#[derive(Debug)]
pub(super) struct Interrupts {
    pub(super) stop: StopSignal,
    /// A replay reads the clock as the recording did.
    pub(super) recording: RecordingMode,
    /// Goes on evenly when the system's clock is set or the machine was suspended: neither takes time from the task.
    clock: MonotonicClock,
    /// True once the start of this run is recorded.
    pub(super) has_begun: bool,
}

impl Interrupts {
    pub(super) fn new(stop: StopSignal) -> Self {
        Self {
            stop,
            recording: RecordingMode::Off,
            clock: MonotonicClock::start(),
            has_begun: false,
        }
    }

    pub(super) fn now(&self) -> SystemTime {
        self.recording.now(&|| self.clock.now())
    }

    /// Awaits `work` until the task is stopped, taken over or out of time.
    pub(super) async fn guard<T>(
        &self,
        task: &Task,
        work: impl Future<Output = T>,
    ) -> RunResult<T> {
        tokio::select! {
            biased;
            stop = self.stop.requested() => {
                self.recording.stopped();
                Err(stop.into())
            }
            _ = self.stop.taken_over() => {
                self.recording.stopped();
                Err(Halt::Reevaluate)
            }
            done = work => Ok(done),
            () = self.recording.deadline(self.time_left(task)) => {
                self.recording.timed_out();
                Err(Halt::Reevaluate)
            }
        }
    }

    /// Awaits `work` until the task is paused, stopped, taken over or out of time.
    pub(super) async fn guard_unless_paused<T>(
        &self,
        task: &Task,
        work: impl Future<Output = T>,
    ) -> RunResult<T> {
        tokio::select! {
            biased;
            _ = self.stop.paused() => {
                self.recording.stopped();
                Err(Halt::Reevaluate)
            }
            done = self.guard(task, work) => done,
        }
    }

    /// Waits for a stop, a pause or a take-over.
    pub(super) async fn interrupted(&self) {
        tokio::select! {
            _ = self.stop.requested() => {}
            _ = self.stop.paused() => {}
            _ = self.stop.taken_over() => {}
        }
    }

    /// Returns whether the task continues after the current action.
    pub(super) fn may_continue(&self, task: &Task) -> bool {
        let left = limits::remaining(task, self.now()).time;
        self.stop.reason().is_none() && left.is_none_or(|left| !left.is_zero())
    }

    /// Returns the remaining time of the task. Unlimited until the run has started, because the time without a runner
    /// is only accounted for then.
    fn time_left(&self, task: &Task) -> Duration {
        let limited = self
            .has_begun
            .then(|| limits::remaining(task, self.now()).time);
        limited.flatten().unwrap_or(Duration::MAX)
    }
}
