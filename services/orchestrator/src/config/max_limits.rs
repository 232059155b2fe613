//! Settings of the highest limits that tasks may ask for.
//!
//! Nothing is enforced here: [`TaskSpec::from_wire`](motorium_task::TaskSpec::from_wire) refuses tasks that ask for more.

use std::time::Duration;

use motorium_kit::config::HumanDuration;
use motorium_proto::error::FieldError;
use motorium_task::spec::LimitCeilings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Highest limits that a task may ask for. A task that asks for more is refused, and one that sets no limit gets the lower of
/// the default and the highest one. By default, tasks may ask for anything.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MaxLimitSettings {
    /// Highest `limits.max_steps`.
    #[schemars(example = 200)]
    pub max_steps: Option<u32>,
    /// Highest `limits.max_duration`.
    #[schemars(example = &"30m")]
    pub max_duration: Option<HumanDuration>,
    /// Highest `limits.max_tokens`.
    #[schemars(extend("x-unit" = "tokens"), example = 2_000_000)]
    pub max_tokens: Option<u64>,
    /// Highest `limits.max_cost_micros_usd`.
    #[schemars(extend("x-unit" = "millionths of a US dollar"), example = 5_000_000)]
    pub max_cost_micros_usd: Option<u64>,
    /// Highest `limits.max_risky_actions`.
    #[schemars(example = 10)]
    pub max_risky_actions: Option<u32>,
}

impl MaxLimitSettings {
    pub(super) fn resolve(&self) -> Result<LimitCeilings, FieldError> {
        let duration = self.max_duration.as_ref().map(|duration| duration.0);
        for (key, is_zero) in [
            ("max_steps", self.max_steps == Some(0)),
            ("max_duration", duration == Some(Duration::ZERO)),
            ("max_tokens", self.max_tokens == Some(0)),
            ("max_cost_micros_usd", self.max_cost_micros_usd == Some(0)),
            ("max_risky_actions", self.max_risky_actions == Some(0)),
        ] {
            // A limit of zero means no limit in a task, and could not be told from it.
            if is_zero {
                let field = format!("orchestrator.max_limits.{key}");
                let problem = "must not be zero; leave it out to accept any limit";
                return Err(FieldError::new(field, problem));
            }
        }
        Ok(LimitCeilings {
            max_steps: self.max_steps,
            max_duration: duration,
            max_tokens: self.max_tokens,
            max_cost_micros_usd: self.max_cost_micros_usd,
            max_risky_actions: self.max_risky_actions,
        })
    }
}
