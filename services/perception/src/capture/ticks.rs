//! Changes of a screen that does not tell of them: at every tick anything may have changed.

use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::geometry::CaptureRect;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::{Change, Changes};
use crate::error::Error;

/// How often a screen is looked at again.
const PERIOD: Duration = Duration::from_millis(30);

/// Says at every tick that the whole screen may have changed.
#[derive(Debug)]
pub(super) struct Ticks {
    ticks: Interval,
    whole: CaptureRect,
}

impl Ticks {
    /// For a screen of that extent.
    pub(super) fn new(whole: CaptureRect) -> Self {
        let mut ticks = interval_at(Instant::now() + PERIOD, PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { ticks, whole }
    }
}

#[async_trait]
impl Changes for Ticks {
    async fn next(&mut self) -> Result<Change, Error> {
        self.ticks.tick().await;
        Ok(Change {
            regions: vec![self.whole],
        })
    }
}
