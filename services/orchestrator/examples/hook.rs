//! Example of a custom hook: nothing is clicked at night.
//!
//! ```sh
//! cargo run -p motorium-orchestrator --example hook
//! ```

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use motorium_orchestrator::Orchestrator;
use motorium_orchestrator::hooks::{
    Error, Hook, HookChain, HookContext, HookEvent, HookPoint, HookPoints, HookVerdict,
};

/// Hours of the day, in UTC, in which actions are denied.
#[derive(Debug)]
struct NightHook {
    from: u64,
    to: u64,
}

impl NightHook {
    fn is_now(&self) -> bool {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let hour = since.map_or(0, |since| since.as_secs() / 3600 % 24);
        hour >= self.from || hour < self.to
    }
}

#[async_trait]
impl Hook for NightHook {
    fn name(&self) -> &str {
        "night"
    }

    async fn points(&self) -> Result<HookPoints, Error> {
        Ok([HookPoint::BeforeAction].into())
    }

    async fn call(
        &self,
        _: &HookContext<'_>,
        hook_event: &HookEvent<'_>,
    ) -> Result<HookVerdict, Error> {
        let HookEvent::BeforeAction(act) = hook_event else {
            return Ok(HookVerdict::Continue);
        };
        if !self.is_now() {
            return Ok(HookVerdict::Continue);
        }
        let reason = format!("no {} at night", act.action.kind().as_str());
        Ok(HookVerdict::Deny { reason })
    }
}

/// Adds the hook between creating the Orchestrator and starting it, as a custom binary does.
#[must_use]
pub fn with_night(orchestrator: Orchestrator) -> Orchestrator {
    orchestrator.with_hook(Arc::new(NightHook { from: 22, to: 6 }))
}

fn main() {
    let mut chain = HookChain::default();
    chain.push(Arc::new(NightHook { from: 22, to: 6 }));
    assert_eq!(
        chain.names().collect::<Vec<_>>(),
        ["image_retention", "night"]
    );
}
