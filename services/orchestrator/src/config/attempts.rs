//! Settings of how an action is aimed, judged and retried.
//!
//! The settings are not applied here but in `run` and in [`motorium_task::retry`].

use std::time::Duration;

use motorium_kit::config::HumanDuration;
use motorium_proto::error::FieldError;
use motorium_task::retry::RetryRules;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::{EffectWindows, PointerChecks};

/// Upper bound of retries of one action.
// Each retry waits out a window of seconds; more of them are a loop.
const MAX_RETRIES: u32 = 10;
/// Upper bound of the distance by which a retried click is offset, in pixels.
const MAX_OFFSET_PX: u32 = 50;
/// Upper bound of a no-effect window. The default time limit of a task is 8 minutes.
const MAX_WINDOW: Duration = Duration::from_secs(60);
/// Upper bound of the corrections of a pointer.
const MAX_CORRECTIONS: u32 = 20;
/// Upper bound of the pointer's tolerance, in pixels. Beyond it, neighbouring buttons are hit.
const MAX_TOLERANCE_PX: u32 = 100;

/// Automatic retries of actions without effect.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// Repeats single clicks that had no effect at all, once at most. See docs/effects.md.
    pub enabled: bool,
    /// Maximum number of retries of an action, at most 10. More than one needs `trust_kinds`.
    pub max_retries: u32,
    /// Repeats clicks on text fields, radio buttons, tabs and sliders up to `max_retries` times. These kinds are what the detector
    /// takes the targets for: a slow button that looks like a tab is then clicked as often.
    pub trust_kinds: bool,
    /// Distance by which the first retry is offset within its target, in pixels, at most 50.
    #[schemars(extend("x-unit" = "px"))]
    pub offset_px: u32,
}

impl Default for RetrySettings {
    fn default() -> Self {
        let rules = RetryRules::default();
        Self {
            enabled: true,
            max_retries: rules.max_retries,
            trust_kinds: rules.trust_kinds,
            offset_px: rules.offset_px,
        }
    }
}

impl RetrySettings {
    pub(super) fn resolve(&self, reverse_scroll_at_end: bool) -> Result<RetryRules, FieldError> {
        let field = "orchestrator.retry";
        check_max(field, "max_retries", self.max_retries, MAX_RETRIES)?;
        check_max(field, "offset_px", self.offset_px, MAX_OFFSET_PX)?;
        Ok(RetryRules {
            max_retries: if self.enabled { self.max_retries } else { 0 },
            offset_px: self.offset_px,
            reverse_scroll_at_end,
            spare_commands: true,
            trust_kinds: self.trust_kinds,
        })
    }
}

/// Time within which an effect has to begin before an action counts as without effect, by the kind of action.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EffectWindowSettings {
    /// Opening an application or a URL.
    pub open: HumanDuration,
    /// Browser history, refresh and addresses.
    pub navigate: HumanDuration,
    /// Clicks, drags and focusing a window.
    pub click: HumanDuration,
    /// Keys, text and paste.
    pub input: HumanDuration,
    /// Anything else.
    pub other: HumanDuration,
}

impl Default for EffectWindowSettings {
    fn default() -> Self {
        let windows = EffectWindows::default();
        Self {
            open: HumanDuration(windows.open),
            navigate: HumanDuration(windows.navigate),
            click: HumanDuration(windows.click),
            input: HumanDuration(windows.input),
            other: HumanDuration(windows.other),
        }
    }
}

impl EffectWindowSettings {
    pub(super) fn resolve(&self) -> Result<EffectWindows, FieldError> {
        Ok(EffectWindows {
            open: window("open", &self.open)?,
            navigate: window("navigate", &self.navigate)?,
            click: window("click", &self.click)?,
            input: window("input", &self.input)?,
            other: window("other", &self.other)?,
        })
    }
}

fn window(name: &str, duration: &HumanDuration) -> Result<Duration, FieldError> {
    let duration = duration.0;
    if !duration.is_zero() && duration <= MAX_WINDOW {
        return Ok(duration);
    }
    Err(FieldError::new(
        format!("orchestrator.effect_windows.{name}"),
        format!(
            "{} ms is not a useful window; give more than zero and at most {} s, such as 1s",
            duration.as_millis(),
            MAX_WINDOW.as_secs()
        ),
    ))
}

/// Verification of the pointer before clicks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PointerCheckSettings {
    /// Verifies the pointer before every click, with a model where a backend can. By default only before risky, approved and
    /// small targets, and where the planner asks for it.
    pub all_clicks: bool,
    /// Distance within which the pointer counts as on its target, in pixels, at most 100.
    #[schemars(extend("x-unit" = "px"))]
    pub tolerance_px: u32,
    /// Maximum number of corrections before the user is asked to click, at most 20.
    pub max_corrections: u32,
}

impl Default for PointerCheckSettings {
    fn default() -> Self {
        let checks = PointerChecks::default();
        Self {
            all_clicks: checks.all_clicks,
            tolerance_px: checks.tolerance_px,
            max_corrections: checks.max_corrections,
        }
    }
}

impl PointerCheckSettings {
    pub(super) fn resolve(&self) -> Result<PointerChecks, FieldError> {
        let field = "orchestrator.pointer_check";
        check_max(field, "tolerance_px", self.tolerance_px, MAX_TOLERANCE_PX)?;
        check_max(
            field,
            "max_corrections",
            self.max_corrections,
            MAX_CORRECTIONS,
        )?;
        Ok(PointerChecks {
            all_clicks: self.all_clicks,
            tolerance_px: self.tolerance_px,
            max_corrections: self.max_corrections,
        })
    }
}

fn check_max(table: &str, name: &str, value: u32, max: u32) -> Result<(), FieldError> {
    if value <= max {
        return Ok(());
    }
    let problem = format!("{value} is too many; give at most {max}");
    Err(FieldError::new(format!("{table}.{name}"), problem))
}
