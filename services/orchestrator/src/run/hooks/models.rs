//! Hooks around calls of models.

use motorium_proto::domain::decision::{Decision, Usage};
use motorium_proto::error::ErrorReport;
use motorium_proto::service::BackendAttempt;
use tokio::time::Instant;

use super::{Flow, Halt, Runner, or_fail};
use crate::error::reason;
use crate::hooks::happening::{ModelAnswer, ModelCall, Purpose};
use crate::hooks::{Happening, Point};
use crate::task::event::Event;

/// The pictures that a model may be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::run) struct PictureCounts {
    pub(in crate::run) present: usize,
    pub(in crate::run) past: usize,
    /// Of the past: those that it takes to go on with the model's conversation.
    pub(in crate::run) held: usize,
}

/// What is said where nobody had a say in time.
const NOT_YET_ASKED: &str =
    "the task was stopped or paused before the hooks had their say; decide again";

impl Runner {
    /// Asks whether a model may be called, and how.
    pub(in crate::run) async fn before_model_call(
        &mut self,
        purpose: Purpose,
        pictures: PictureCounts,
    ) -> Flow<ModelCall> {
        let count = |images: usize| u32::try_from(images).unwrap_or(u32::MAX);
        let call = ModelCall {
            purpose,
            images: count(pictures.present),
            past_images: count(pictures.past),
            held_images: count(pictures.held),
            notices: Vec::new(),
        };
        if !self.wants(Point::BeforeModelCall) {
            return Ok(call);
        }
        let mut happening = Happening::BeforeModelCall(call);
        let denial = self.ask_hooks(&mut happening, None).await?;
        or_fail(denial, "no model may be asked")?;
        match happening {
            Happening::BeforeModelCall(call) => Ok(call),
            _ => unreachable!("a happening stays what it is"),
        }
    }

    /// Asks whether what a model has answered may be used; otherwise gives why not, for the planner.
    pub(in crate::run) async fn after_model_call(
        &mut self,
        call: &ModelCall,
        decision: Option<&Decision>,
        began: Instant,
    ) -> Flow<Option<String>> {
        if !self.wants(Point::AfterModelCall) {
            return Ok(None);
        }
        let mut happening = Happening::AfterModelCall(ModelAnswer {
            purpose: call.purpose,
            images: call.images + call.past_images,
            decision,
            elapsed: began.elapsed(),
        });
        match self.ask_hooks(&mut happening, None).await {
            Ok(denial) => Ok(denial
                .map(|denial| format!("what was decided is not carried out: {}", denial.words()))),
            // What it has cost is to be written down all the same.
            Err(Halt::LookAgain) => Ok(Some(NOT_YET_ASKED.to_owned())),
            Err(halt) => Err(halt),
        }
    }

    /// The decision of the open step, where somebody wants to see it.
    pub(in crate::run) fn decision_for_hooks(&self) -> Option<Decision> {
        let step = self.task.open_step();
        let decision = step.and_then(|step| step.decision.as_ref());
        decision
            .filter(|_| self.wants(Point::AfterModelCall))
            .cloned()
    }

    /// Tells what a call has used, once it is in the task's sum.
    pub(in crate::run) async fn after_usage(&mut self, added: Usage) {
        if self.wants(Point::Usage) {
            self.tell_hooks(Happening::Usage(added), None).await;
        }
    }

    /// Counts what a call has used whose answer may not be used.
    pub(in crate::run) fn count_in_vain(&mut self, what: &str, message: &str, usage: Usage) {
        self.count_without_result(what, reason::HOOK_DENIED, message, usage);
    }

    /// Counts what a call has used that ended in an error.
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
