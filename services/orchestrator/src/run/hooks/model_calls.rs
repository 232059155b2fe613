//! Hooks around model calls.

use motorium_messages::Message;
use motorium_proto::domain::decision::{Decision, Usage};
use motorium_proto::error::ErrorReport;
use motorium_proto::service::BackendAttempt;
use tokio::time::Instant;

use super::{Halt, RunResult, Runner, or_fail};
use crate::error::reason;
use crate::hooks::event::{ModelCall, ModelCallPurpose, ModelResponse};
use crate::hooks::{HookEvent, HookPoint};
use motorium_task::event::Event;

/// Numbers of images that a model may be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::run) struct ImageCounts {
    pub(in crate::run) current: usize,
    pub(in crate::run) past: usize,
    /// Earlier images that the model's conversation refers to.
    pub(in crate::run) in_conversation: usize,
}

impl Runner {
    /// Asks whether a model may be called, and with which notices and images.
    pub(in crate::run) async fn before_model_call(
        &mut self,
        purpose: ModelCallPurpose,
        pictures: ImageCounts,
    ) -> RunResult<ModelCall> {
        let count = |images: usize| u32::try_from(images).unwrap_or(u32::MAX);
        let call = ModelCall {
            purpose,
            images: count(pictures.current),
            past_images: count(pictures.past),
            conversation_images: count(pictures.in_conversation),
            notices: Vec::new(),
        };
        if !self.wants(HookPoint::BeforeModelCall) {
            return Ok(call);
        }
        let mut happening = HookEvent::BeforeModelCall(call);
        let denial = self.ask_hooks(&mut happening, None).await?;
        or_fail(denial, &self.task, |denial| Message::HookDeniesModelCall {
            denial,
        })?;
        match happening {
            HookEvent::BeforeModelCall(call) => Ok(call),
            _ => unreachable!("a hook cannot change an event's kind"),
        }
    }

    /// Asks whether a model's response may be used. Otherwise returns the reason for the planner.
    pub(in crate::run) async fn after_model_call(
        &mut self,
        call: &ModelCall,
        decision: Option<&Decision>,
        began: Instant,
    ) -> RunResult<Option<String>> {
        if !self.wants(HookPoint::AfterModelCall) {
            return Ok(None);
        }
        let mut happening = HookEvent::AfterModelCall(ModelResponse {
            purpose: call.purpose,
            images: call.images + call.past_images,
            decision,
            elapsed: began.elapsed(),
        });
        match self.ask_hooks(&mut happening, None).await {
            Ok(denial) => Ok(denial.map(|denial| {
                let denial = &denial.message(self.task.spec.message_language());
                self.task.text(Message::HookDeniesDecision { denial })
            })),
            // The usage has to be recorded in any case.
            Err(Halt::Reevaluate) => Ok(Some(self.task.text(Message::HooksInterrupted))),
            Err(halt) => Err(halt),
        }
    }

    /// Returns the decision of the open step, if a hook wants it.
    pub(in crate::run) fn decision_for_hooks(&self) -> Option<Decision> {
        let step = self.task.open_step();
        let decision = step.and_then(|step| step.decision.as_ref());
        decision
            .filter(|_| self.wants(HookPoint::AfterModelCall))
            .cloned()
    }

    /// Notifies the hooks of a call's usage, once it is part of the task's total.
    pub(in crate::run) async fn after_usage(&mut self, added: Usage) {
        if self.wants(HookPoint::Usage) {
            self.tell_hooks(HookEvent::Usage(added), None).await;
        }
    }

    /// Records the usage of a call whose response was rejected.
    pub(in crate::run) fn count_rejected(&mut self, what: &str, message: &str, usage: Usage) {
        self.count_without_result(what, reason::HOOK_DENIED, message, usage);
    }

    /// Records the usage of a failed call.
    pub(in crate::run) async fn count_failed(&mut self, what: &str, report: &ErrorReport) {
        let usage = report.usage();
        if usage.calls > 0 {
            self.count_without_result(what, &report.reason, &report.message, usage);
            self.after_usage(usage).await;
        }
    }

    fn count_without_result(&mut self, what: &str, reason: &str, message: &str, usage: Usage) {
        let attempt = BackendAttempt {
            backend: what.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            usage,
        };
        self.journal
            .defer(&mut self.task, Event::BackendSkipped(attempt));
    }
}
