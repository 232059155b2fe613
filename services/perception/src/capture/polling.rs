//! Change notifications for a screen that does not report changes: every tick may be a change.

use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::geometry::CaptureRect;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::{ChangeStream, ScreenChange};
use crate::error::Error;

/// Polling interval.
///
/// Bounds how late a change is seen; a full capture must fit into it.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// Reports the whole screen as changed at every tick.
#[derive(Debug)]
pub(super) struct PollingChanges {
    ticks: Interval,
    whole: CaptureRect,
}

impl PollingChanges {
    /// Creates the stream for a screen with the box `whole`.
    pub(super) fn new(whole: CaptureRect) -> Self {
        let mut ticks = interval_at(Instant::now() + POLL_INTERVAL, POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { ticks, whole }
    }
}

#[async_trait]
impl ChangeStream for PollingChanges {
    async fn next(&mut self) -> Result<ScreenChange, Error> {
        self.ticks.tick().await;
        Ok(ScreenChange {
            regions: vec![self.whole],
        })
    }
}
