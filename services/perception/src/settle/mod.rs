//! Waits until a screen is idle, instead of sleeping for a fixed time.
//!
//! Reported changes are compared pixel by pixel, because programs also redraw unchanged content. [`idle_rule`] decides;
//! this module only feeds it. Dropping a wait leaves nothing behind.

pub mod idle_rule;
mod reference;

use std::sync::Arc;

use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::{IdleReport, WaitForIdleRequest};
use tokio::time::{Instant, sleep_until};

use crate::capture::{CaptureOptions, Screen};
use crate::error::Error;
use crate::frames::StoredFrame;
use idle_rule::{IdleRule, IdleWait};
use reference::ReferenceScreen;

/// Waits until `screen` is idle or the timeout has passed. A difference from the frame `since` counts as the first
/// change.
///
/// # Errors
/// If the display cannot be watched or captured, or is lost during the wait.
pub async fn wait_for_idle(
    screen: &dyn Screen,
    since: Option<Arc<StoredFrame>>,
    request: &WaitForIdleRequest,
) -> Result<IdleReport, Error> {
    let start = Instant::now();
    let mut changes = screen.watch().await?;
    let baseline = screen.capture(CaptureOptions::default()).await?;
    let mut waiting = IdleWait::new(rule_of(request, baseline.display.scale), start);
    let mut shadow = ReferenceScreen::new(baseline.pixels, request.ignore.clone());
    if let Some(since) = since {
        let (unchanged, differences) = shadow.differences_from(since).await?;
        shadow = unchanged;
        waiting.observe(start, &differences);
    }
    while Instant::now() < waiting.deadline() {
        let change = tokio::select! {
            // Changes first: reported changes must count before the wait ends.
            biased;
            change = changes.next() => change?,
            () = sleep_until(waiting.ends_at()) => break,
        };
        let Some(drawn) = union(&change.regions) else {
            continue;
        };
        shadow = shadow
            .update(screen, drawn, |at, changed| waiting.observe(at, changed))
            .await?;
    }
    // A stopped server draws nothing either; the screen is idle only if the server responds.
    screen.cursor_position().await?;
    Ok(waiting.outcome(Instant::now()))
}

fn rule_of(request: &WaitForIdleRequest, scale: f64) -> IdleRule {
    IdleRule {
        first_change_timeout: request.first_change_timeout,
        idle_duration: request.idle_duration,
        timeout: request.timeout,
        ignore_pixels: request.ignore_pixels.into(),
        scale,
    }
}

fn union(regions: &[CaptureRect]) -> Option<CaptureRect> {
    regions
        .iter()
        .copied()
        .reduce(|all, region| all.union(&region))
}
