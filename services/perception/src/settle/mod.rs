//! Waiting until a screen is quiet, instead of sleeping for a fixed time.
//!
//! What the display says was drawn is looked at pixel by pixel, because programs also draw what is already there.
//! [`rule`] decides; this module only feeds it. A wait that is dropped leaves nothing behind.

pub mod rule;
mod shadow;

use std::sync::Arc;

use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::{AwaitQuiet, Quiet};
use tokio::time::{Instant, sleep_until};

use crate::capture::{CaptureRequest, Screen};
use crate::error::Error;
use crate::frames::StoredFrame;
use rule::{Rule, Waiting};
use shadow::Shadow;

/// Waits until `screen` is quiet or the time is up. A difference from the frame `since` counts as the first change.
///
/// # Errors
/// If the display cannot be watched or captured, also when it is lost in the middle.
pub async fn await_quiet(
    screen: &dyn Screen,
    since: Option<Arc<StoredFrame>>,
    request: &AwaitQuiet,
) -> Result<Quiet, Error> {
    let start = Instant::now();
    let mut changes = screen.watch().await?;
    let baseline = screen.capture(CaptureRequest::default()).await?;
    let mut waiting = Waiting::new(rule_of(request, baseline.display.scale), start);
    let mut shadow = Shadow::new(baseline.pixels, request.ignore.clone());
    if let Some(since) = since {
        let (unchanged, differences) = shadow.differences_from(since).await?;
        shadow = unchanged;
        waiting.observe(start, &differences);
    }
    while Instant::now() < waiting.gives_up_at() {
        let change = tokio::select! {
            // Changes first: what has been reported counts before the end is declared.
            biased;
            change = changes.next() => change?,
            () = sleep_until(waiting.ends_at()) => break,
        };
        let Some(drawn) = union(&change.regions) else {
            continue;
        };
        shadow = shadow
            .look_again(screen, drawn, |at, changed| waiting.observe(at, changed))
            .await?;
    }
    // A server that has stopped draws nothing either; only one that answers is quiet.
    screen.cursor().await?;
    Ok(waiting.outcome(Instant::now()))
}

fn rule_of(request: &AwaitQuiet, scale: f64) -> Rule {
    Rule {
        first_change: request.first_change_timeout,
        quiet: request.quiet,
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
