//! Calls the hooks of a chain in order.
//!
//! The first denial ends the chain. Later hooks see earlier amendments. A hook that panics, fails or hangs does not
//! affect the task beyond what its `on_error` setting says.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::join_all;
use motorium_messages::{Language, Message};

use super::event::{HookEvent, HookPoint, HookPoints};
use super::image_retention::ImageRetentionHook;
use super::{Error, Hook, HookContext, HookErrorPolicy, HookVerdict};
use crate::error::reason;

/// Hooks, in the order in which they are called.
#[derive(Debug, Clone)]
pub struct HookChain(Vec<Arc<dyn Hook>>);

/// The default chain retains only the latest images.
impl Default for HookChain {
    fn default() -> Self {
        Self(vec![Arc::new(ImageRetentionHook::default())])
    }
}

impl HookChain {
    #[must_use]
    pub fn new(hooks: Vec<Arc<dyn Hook>>) -> Self {
        Self(hooks)
    }

    /// Appends a hook.
    pub fn push(&mut self, hook: Arc<dyn Hook>) {
        self.0.push(hook);
    }

    /// Returns the names of the hooks, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|hook| hook.name())
    }

    /// Creates the chain for one run of a task. The hooks' points are not known yet.
    #[must_use]
    pub fn activate(&self) -> ActiveHookChain {
        let slot = |hook: &Arc<dyn Hook>| HookSlot {
            hook: Arc::clone(hook),
            known: Mutex::default(),
        };
        ActiveHookChain {
            slots: self.0.iter().map(slot).collect(),
        }
    }
}

/// A hook chain during one run.
#[derive(Debug, Default)]
pub struct ActiveHookChain {
    slots: Vec<HookSlot>,
}

#[derive(Debug)]
struct HookSlot {
    hook: Arc<dyn Hook>,
    known: Mutex<HookSlotState>,
}

#[derive(Debug, Clone, Copy, Default)]
struct HookSlotState {
    /// `None` if the points could not be requested yet.
    points: Option<HookPoints>,
    /// True once its unavailability was reported.
    unavailability_reported: bool,
}

/// A denial or amendment by a hook, or its failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookIntervention {
    pub hook: String,
    pub point: HookPoint,
    /// The denial's reason, the change made, or the error.
    pub message: String,
    pub denied: bool,
}

/// A denial by a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookDenial {
    pub hook: String,
    pub reason: String,
    /// The hook did not deny itself: it failed, and its `on_error` setting denies.
    pub is_hook_failure: bool,
}

impl HookDenial {
    /// Returns the message for the user and the model.
    #[must_use]
    pub fn message(&self, language: Language) -> String {
        let Self { hook, reason, .. } = self;
        let message = if self.is_hook_failure {
            Message::HookFailed { hook, reason }
        } else {
            Message::HookDenied { hook, reason }
        };
        message.text(language)
    }

    /// Returns the failure reason of a task that cannot continue after the denial.
    #[must_use]
    pub fn failure_reason(&self) -> &'static str {
        if self.is_hook_failure {
            reason::HOOK_FAILED
        } else {
            reason::HOOK_DENIED
        }
    }
}

/// Result of calling the chain for one event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookChainOutcome {
    pub interventions: Vec<HookIntervention>,
    pub denial: Option<HookDenial>,
}

impl ActiveHookChain {
    /// Returns whether any hook may want to be called at this point.
    #[must_use]
    pub fn wants(&self, point: HookPoint) -> bool {
        self.slots.iter().any(|slot| slot.may_want(point))
    }

    /// Requests the points of every hook.
    pub async fn fetch_points(&self, language: Language) -> HookChainOutcome {
        let asked = join_all(
            self.slots
                .iter()
                .map(|slot| slot.wants(HookPoint::BeforeRun)),
        )
        .await;
        let mut outcome = HookChainOutcome::default();
        for (slot, answer) in self.slots.iter().zip(asked) {
            if let Err(error) = answer {
                slot.fail(HookPoint::BeforeRun, &error, language, &mut outcome);
            }
        }
        outcome
    }

    /// Calls every hook that subscribed to this point, in order.
    pub async fn dispatch(
        &self,
        context: &HookContext<'_>,
        hook_event: &mut HookEvent<'_>,
    ) -> HookChainOutcome {
        let mut outcome = HookChainOutcome::default();
        for slot in &self.slots {
            slot.ask(context, hook_event, &mut outcome).await;
            if outcome.denial.is_some() {
                break;
            }
        }
        self.notify(context, &outcome.interventions).await;
        outcome
    }

    /// Notifies every hook of interventions.
    pub async fn notify(&self, context: &HookContext<'_>, interventions: &[HookIntervention]) {
        for intervention in interventions {
            for slot in &self.slots {
                let notification = slot.hook.on_intervention(context, intervention);
                let notification = slot.run_guarded(async {
                    notification.await;
                    Ok(())
                });
                if let Err(error) = notification.await {
                    tracing::warn!(hook = slot.hook.name(), %error, "a hook could not be notified");
                }
            }
        }
    }
}

impl HookSlot {
    fn state(&self) -> HookSlotState {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_state(&self, known: HookSlotState) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    fn may_want(&self, point: HookPoint) -> bool {
        self.state()
            .points
            .is_none_or(|points| points.contains(point))
    }

    async fn wants(&self, point: HookPoint) -> Result<bool, Error> {
        if self.state().points.is_none() {
            let points = self.run_guarded(self.hook.points()).await?;
            self.set_state(HookSlotState {
                points: Some(points),
                unavailability_reported: false,
            });
        }
        Ok(self.may_want(point))
    }

    async fn ask(
        &self,
        context: &HookContext<'_>,
        hook_event: &mut HookEvent<'_>,
        into: &mut HookChainOutcome,
    ) {
        let point = hook_event.point();
        let language = context.task.spec.message_language();
        match self.wants(point).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return self.fail(point, &error, language, into),
        }
        let verdict = self.run_guarded(self.hook.call(context, hook_event)).await;
        let verdict = match verdict {
            Ok(verdict) if point.accepts_verdict() => verdict,
            Ok(_) => return,
            Err(error) => return self.fail(point, &error, language, into),
        };
        match verdict {
            HookVerdict::Continue => {}
            HookVerdict::Deny { reason } if reason.trim().is_empty() => {
                let reason = Message::NoReasonGiven.text(language);
                self.deny(point, reason, false, into);
            }
            HookVerdict::Deny { reason } => self.deny(point, reason, false, into),
            HookVerdict::Amend(amendment) => match hook_event.amend(amendment, language) {
                Ok(Some(message)) if self.hook.records_amendments() => {
                    into.interventions.push(HookIntervention {
                        hook: self.hook.name().to_owned(),
                        point,
                        message,
                        denied: false,
                    });
                }
                Ok(_) => {}
                Err(error) => self.fail(point, &error, language, into),
            },
        }
    }

    /// Handles a failed hook. A hook whose failure does not deny is reported as unreachable only once.
    fn fail(
        &self,
        point: HookPoint,
        error: &Error,
        language: Language,
        into: &mut HookChainOutcome,
    ) {
        if point.accepts_verdict() && self.hook.on_error() == HookErrorPolicy::Deny {
            self.forget_if_lost(error);
            return self.deny(point, error.text(language), true, into);
        }
        let was_missed = self.state().unavailability_reported;
        self.forget_if_lost(error);
        if !(was_missed && self.state().unavailability_reported) {
            into.interventions.push(HookIntervention {
                hook: self.hook.name().to_owned(),
                point,
                message: Message::HookSkipped {
                    problem: &error.text(language),
                }
                .text(language),
                denied: false,
            });
        }
    }

    /// A different version of the service may answer next time, so its points are requested again.
    fn forget_if_lost(&self, error: &Error) {
        if matches!(error, Error::Unreachable(_)) {
            self.set_state(HookSlotState {
                points: None,
                unavailability_reported: true,
            });
        }
    }

    fn deny(
        &self,
        point: HookPoint,
        reason: String,
        by_default: bool,
        into: &mut HookChainOutcome,
    ) {
        let hook = self.hook.name().to_owned();
        into.interventions.push(HookIntervention {
            hook: hook.clone(),
            point,
            message: reason.clone(),
            denied: true,
        });
        into.denial = Some(HookDenial {
            hook,
            reason,
            is_hook_failure: by_default,
        });
    }

    /// Awaits a hook call with its timeout. A panic becomes an error.
    async fn run_guarded<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let timeout = self.hook.timeout();
        let work = AssertUnwindSafe(work).catch_unwind();
        match tokio::time::timeout(timeout, work).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(panic)) => Err(Error::Panicked(panic_message(panic.as_ref()))),
            Err(_) => Err(Error::TimedOut(timeout)),
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or_default().to_owned()
}
