//! What may be done on a desktop, and the terms in force.
//!
//! Terms are replaced whole while a desktop is at work; each action goes by one and the same. Not here: what the rules say
//! ([`rules`](crate::guard::rules)), and what is done.

use std::sync::{Arc, Mutex, PoisonError};

use motorium_proto::domain::action::{Action, Text};
use motorium_proto::domain::geometry::CapturePoint;
use tokio::time::Instant;

use crate::guard::rate::Rate;
use crate::guard::rules::{Refusal, Rules};
use crate::guard::targets::{SecretTargets, WindowPattern};
use crate::secrets::Secrets;

/// The rule about where secrets go, as the configuration names it.
pub(crate) const SECRET_TARGETS: &str = "secret_targets";

/// What may be done. It can be replaced while a desktop is at work.
#[derive(Debug, Clone)]
pub struct Terms {
    pub rules: Rules,
    /// `None`: no limit.
    pub max_actions_per_second: Option<f64>,
    pub secrets: Secrets,
    pub secret_targets: SecretTargets,
}

/// The terms in force.
#[derive(Debug)]
pub(crate) struct InForce {
    pub(crate) terms: Terms,
    /// Goes on counting while the limit stays as it is.
    rate: Option<Arc<Mutex<Rate>>>,
}

impl InForce {
    pub(crate) fn new(terms: Terms) -> Arc<Self> {
        let rate = terms.max_actions_per_second;
        let rate = rate.map(|rate| Arc::new(Mutex::new(Rate::new(rate, Instant::now()))));
        Arc::new(Self { terms, rate })
    }

    /// These terms with what goes on counting of the former.
    pub(crate) fn followed_by(&self, terms: Terms) -> Arc<Self> {
        if terms.max_actions_per_second != self.terms.max_actions_per_second {
            return Self::new(terms);
        }
        let rate = self.rate.clone();
        Arc::new(Self { terms, rate })
    }

    /// Whether one more action may be done now.
    pub(crate) fn check_rate(&self) -> Result<(), Refusal> {
        let most = self.terms.max_actions_per_second;
        let Some((rate, most)) = self.rate.as_ref().zip(most) else {
            return Ok(());
        };
        let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
        if rate.take(Instant::now()) {
            return Ok(());
        }
        let reason = format!("more than {most} actions a second are not allowed");
        Err(Refusal {
            rule: "rules.max_actions_per_second",
            reason,
        })
    }
}

impl Terms {
    /// The windows that the secret of an action may go into; none for an action without one.
    pub(crate) fn windows_for(
        &self,
        action: &Action<CapturePoint>,
    ) -> Result<Arc<[WindowPattern]>, Refusal> {
        if let Some(name) = secret_for_the_clipboard(action) {
            let reason = format!(
                "the secret `{name}` goes in as keys, never through the clipboard; type it instead"
            );
            return Err(Refusal {
                rule: SECRET_TARGETS,
                reason,
            });
        }
        let Some(name) = action.entered_secret() else {
            return Ok(Arc::new([]));
        };
        self.secret_targets.of(name).ok_or_else(|| Refusal {
            rule: SECRET_TARGETS,
            reason: format!(
                "no window is named that the secret `{name}` may go into; name some in executor.{SECRET_TARGETS}"
            ),
        })
    }
}

/// The name of a secret that an action would put where everybody can read it.
fn secret_for_the_clipboard(action: &Action<CapturePoint>) -> Option<&str> {
    match action {
        Action::SetClipboard {
            text: Text::Secret(name),
        }
        | Action::Paste {
            text: Some(Text::Secret(name)),
        } => Some(name),
        _ => None,
    }
}
