//! The policy of a desktop, and the active snapshot of it.
//!
//! A policy is replaced as a whole while a desktop is running; each action uses one snapshot. The rules themselves are
//! in [`rules`](crate::guard::rules).

use std::sync::{Arc, Mutex, PoisonError};

use motorium_proto::domain::action::{Action, ActionText, Text};
use motorium_proto::domain::geometry::CapturePoint;
use tokio::time::Instant;

use crate::guard::Refusal;
use crate::guard::allowed_windows::{AllowedWindows, WindowPattern};
use crate::guard::rate_limiter::RateLimiter;
use crate::guard::rules::Rules;
use crate::guard::secret_grants::{OnBehalfOf, SecretGrants};
use crate::secrets::Secrets;

/// Name of the rule for the allowed windows of secrets, as in the configuration.
pub(crate) const SECRET_ALLOWED_WINDOWS: &str = "secret_allowed_windows";
/// Name of the rule for those that secrets are granted to, as in the configuration.
pub(crate) const SECRET_GRANTS: &str = "secret_grants";

/// Everything that an Executor allows on a desktop. Replaceable at run time.
#[derive(Debug, Clone)]
pub struct ExecutorPolicy {
    pub rules: Rules,
    /// `None`: no limit.
    pub max_actions_per_second: Option<f64>,
    pub secrets: Secrets,
    pub secret_allowed_windows: AllowedWindows,
    pub secret_grants: SecretGrants,
}

/// The active policy and its rate limiter.
#[derive(Debug)]
pub(crate) struct ActivePolicy {
    pub(crate) policy: ExecutorPolicy,
    /// Shared with the previous snapshot while the limit is unchanged, so that a reload does not refill it.
    rate: Option<Arc<Mutex<RateLimiter>>>,
}

impl ActivePolicy {
    pub(crate) fn new(policy: ExecutorPolicy) -> Arc<Self> {
        let rate = policy.max_actions_per_second;
        let rate = rate.map(|rate| Arc::new(Mutex::new(RateLimiter::new(rate, Instant::now()))));
        Arc::new(Self { policy, rate })
    }

    /// Returns a snapshot of `policy` that keeps the rate limiter if the limit is unchanged.
    pub(crate) fn replaced_by(&self, policy: ExecutorPolicy) -> Arc<Self> {
        if policy.max_actions_per_second != self.policy.max_actions_per_second {
            return Self::new(policy);
        }
        let rate = self.rate.clone();
        Arc::new(Self { policy, rate })
    }

    /// Takes one token of the rate limit.
    pub(crate) fn check_rate(&self) -> Result<(), Refusal> {
        let limit = self.policy.max_actions_per_second;
        let Some((rate, limit)) = self.rate.as_ref().zip(limit) else {
            return Ok(());
        };
        let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
        if rate.try_acquire(Instant::now()) {
            return Ok(());
        }
        let reason = format!("the rate limit of {limit} actions per second is exceeded");
        Err(Refusal {
            rule: "rules.max_actions_per_second",
            reason,
        })
    }
}

impl ExecutorPolicy {
    /// Checks that the action's secret is granted to those on whose behalf it is performed.
    pub(crate) fn check_grant(
        &self,
        action: &Action<CapturePoint>,
        on_behalf_of: &OnBehalfOf,
    ) -> Result<(), Refusal> {
        let secret = action.entered_secret();
        let refused = secret.and_then(|secret| self.secret_grants.refusal(secret, on_behalf_of));
        refused.map_or(Ok(()), |reason| {
            Err(Refusal {
                rule: SECRET_GRANTS,
                reason,
            })
        })
    }

    /// Returns the allowed windows of the action's secret; empty for an action without one.
    pub(crate) fn windows_for(
        &self,
        action: &Action<CapturePoint>,
    ) -> Result<Arc<[WindowPattern]>, Refusal> {
        if let Some(name) = secret_for_the_clipboard(action) {
            let reason = format!(
                "the secret `{name}` cannot be pasted or put on the clipboard; type it instead"
            );
            return Err(Refusal {
                rule: SECRET_ALLOWED_WINDOWS,
                reason,
            });
        }
        let Some(name) = action.entered_secret() else {
            return Ok(Arc::new([]));
        };
        self.secret_allowed_windows.for_secret(name).ok_or_else(|| Refusal {
            rule: SECRET_ALLOWED_WINDOWS,
            reason: format!(
                "no window is allowed for the secret `{name}`; configure some in executor.{SECRET_ALLOWED_WINDOWS}"
            ),
        })
    }
}

/// Returns the secret that an action would put on the clipboard, where every program can read it.
fn secret_for_the_clipboard(action: &Action<CapturePoint>) -> Option<&str> {
    match action.text()? {
        ActionText::Pasted(Text::Secret(name)) | ActionText::Copied(Text::Secret(name)) => {
            Some(name)
        }
        ActionText::Pasted(Text::Literal(_))
        | ActionText::Copied(Text::Literal(_))
        | ActionText::Typed(_) => None,
    }
}
