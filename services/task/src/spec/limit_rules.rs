//! Limits of new tasks: what a task may ask for, and what it gets if it asks for nothing.
//!
//! They are not enforced here but in `limits` of the crate.

use std::fmt;
use std::time::Duration;

use motorium_proto::convert;
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;

/// Default of `limits.max_steps`. Bounds what an unattended task can cost if the planner never finishes.
pub const DEFAULT_MAX_STEPS: u32 = 80;
/// Default of `limits.max_duration`. About 6 s a step at the default number of steps.
pub const DEFAULT_MAX_DURATION: Duration = Duration::from_secs(8 * 60);

/// Limits of a task; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub max_steps: u32,
    /// Maximum time, including that in which an answer is waited for, and without that of a pause or a take-over.
    pub max_duration: Duration,
    pub max_tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub max_cost_micros_usd: Option<u64>,
    pub max_risky_actions: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: DEFAULT_MAX_STEPS,
            max_duration: DEFAULT_MAX_DURATION,
            max_tokens: None,
            max_cost_micros_usd: None,
            max_risky_actions: None,
        }
    }
}

/// Limits of new tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitRules {
    /// Limits of tasks that set none.
    pub defaults: Limits,
    pub ceilings: LimitCeilings,
}

/// The highest limits that a task may ask for. `None` for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitCeilings {
    pub max_steps: Option<u32>,
    pub max_duration: Option<Duration>,
    pub max_tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub max_cost_micros_usd: Option<u64>,
    pub max_risky_actions: Option<u32>,
}

/// Validates the limits that a task asks for, and completes them.
///
/// # Errors
/// If one is malformed or above its ceiling.
pub(super) fn limits(limits: wire::Limits, rules: LimitRules) -> Result<Limits, FieldError> {
    let LimitRules { defaults, ceilings } = rules;
    let max_duration = convert::duration("task.limits.max_duration", limits.max_duration)?;
    let steps = capped("max_steps", non_zero(limits.max_steps), ceilings.max_steps)?;
    let duration = capped(
        "max_duration",
        max_duration.map(Seconds),
        ceilings.max_duration.map(Seconds),
    )?;
    let tokens = capped(
        "max_tokens",
        non_zero(limits.max_tokens),
        ceilings.max_tokens,
    )?;
    let cost = capped(
        "max_cost_micros_usd",
        non_zero(limits.max_cost_micros_usd),
        ceilings.max_cost_micros_usd,
    )?;
    let risky_actions = capped(
        "max_risky_actions",
        non_zero(limits.max_risky_actions),
        ceilings.max_risky_actions,
    )?;
    Ok(Limits {
        max_steps: steps.unwrap_or_else(|| lower(defaults.max_steps, ceilings.max_steps)),
        max_duration: duration.map_or_else(
            || lower(defaults.max_duration, ceilings.max_duration),
            |Seconds(duration)| duration,
        ),
        max_tokens: tokens.or_else(|| lowest(defaults.max_tokens, ceilings.max_tokens)),
        max_cost_micros_usd: cost
            .or_else(|| lowest(defaults.max_cost_micros_usd, ceilings.max_cost_micros_usd)),
        max_risky_actions: risky_actions
            .or_else(|| lowest(defaults.max_risky_actions, ceilings.max_risky_actions)),
    })
}

fn non_zero<T: Default + PartialEq>(number: T) -> Option<T> {
    (number != T::default()).then_some(number)
}

/// Returns a limit that the caller asks for.
fn capped<T: Copy + Ord + fmt::Display>(
    limit: &str,
    asked: Option<T>,
    ceiling: Option<T>,
) -> Result<Option<T>, FieldError> {
    match (asked, ceiling) {
        (Some(asked), Some(max)) if asked > max => {
            let problem = format!("is {asked}; this server accepts at most {max}");
            Err(FieldError::new(format!("task.limits.{limit}"), problem))
        }
        _ => Ok(asked),
    }
}

/// A duration that is shown in seconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}

/// Returns a default, or its ceiling if that is lower.
fn lower<T: Ord>(default: T, ceiling: Option<T>) -> T {
    match ceiling {
        Some(ceiling) => default.min(ceiling),
        None => default,
    }
}

/// Returns the lower of two limits; `None` is unlimited.
fn lowest<T: Ord>(default: Option<T>, ceiling: Option<T>) -> Option<T> {
    default.into_iter().chain(ceiling).min()
}
