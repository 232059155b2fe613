//! A hook of one's own: nothing is clicked at night.
//!
//! ```sh
//! cargo run -p motorium-orchestrator --example hook
//! ```

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use motorium_orchestrator::Orchestrator;
use motorium_orchestrator::hooks::{
    Chain, Context, Error, Happening, Hook, Point, Points, Verdict,
};

/// Hours of the day, in UTC, in which nothing is done.
#[derive(Debug)]
struct Night {
    from: u64,
    to: u64,
}

impl Night {
    fn is_now(&self) -> bool {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let hour = since.map_or(0, |since| since.as_secs() / 3600 % 24);
        hour >= self.from || hour < self.to
    }
}

#[async_trait]
impl Hook for Night {
    fn name(&self) -> &str {
        "night"
    }

    async fn points(&self) -> Result<Points, Error> {
        Ok([Point::BeforeAction].into())
    }

    async fn call(&self, _: &Context<'_>, happening: &Happening<'_>) -> Result<Verdict, Error> {
        let Happening::BeforeAction(act) = happening else {
            return Ok(Verdict::Continue);
        };
        if !self.is_now() {
            return Ok(Verdict::Continue);
        }
        let reason = format!("no {} at night", act.action.kind().as_str());
        Ok(Verdict::Deny { reason })
    }
}

/// What a binary of one's own does between making the Orchestrator and starting it.
#[must_use]
pub fn with_night(orchestrator: Orchestrator) -> Orchestrator {
    orchestrator.with_hook(Arc::new(Night { from: 22, to: 6 }))
}

fn main() {
    let mut chain = Chain::default();
    chain.push(Arc::new(Night { from: 22, to: 6 }));
    assert_eq!(
        chain.names().collect::<Vec<_>>(),
        ["image_retention", "night"]
    );
}
