//! Hooks around model calls.

use motorium_messages::Message;
use motorium_proto::domain::decision::{Decision, Usage};
use tokio::time::Instant;

use super::text::dispatch_at_end;
use super::{Halt, RunResult, or_fail};
use crate::error::reason;
use crate::hooks::event::{ModelCall, ModelCallPurpose, ModelResponse};
use crate::hooks::{HookEvent, HookPoint};
use crate::run::context::RunContext;
use motorium_task::event::StoredExchange;

/// Numbers of images that a model may be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::run) struct ImageCounts {
    pub(in crate::run) current: usize,
    pub(in crate::run) past: usize,
    /// Earlier images that the model's conversation refers to.
    pub(in crate::run) in_conversation: usize,
}

/// Asks whether a model may be called, and with which notices and images.
pub(in crate::run) async fn before_model_call(
    run: &mut RunContext,
    purpose: ModelCallPurpose,
    image_counts: ImageCounts,
) -> RunResult<ModelCall> {
    let count = |images: usize| u32::try_from(images).unwrap_or(u32::MAX);
    let call = ModelCall {
        purpose,
        images: count(image_counts.current),
        past_images: count(image_counts.past),
        conversation_images: count(image_counts.in_conversation),
        notices: Vec::new(),
    };
    if !run.wants(HookPoint::BeforeModelCall) {
        return Ok(call);
    }
    let mut hook_event = HookEvent::BeforeModelCall(call);
    let denial = run.ask_hooks(&mut hook_event, None).await?;
    or_fail(denial, run.task(), |denial| Message::HookDeniesModelCall {
        denial,
    })?;
    match hook_event {
        HookEvent::BeforeModelCall(call) => Ok(call),
        _ => unreachable!("a hook cannot change an event's kind"),
    }
}

/// Asks whether a model may write the answer of a task that ends without one, even when the task's time is up.
pub(in crate::run) async fn may_summarise(run: &mut RunContext) -> bool {
    if !run.wants(HookPoint::BeforeModelCall) {
        return true;
    }
    let mut event = HookEvent::BeforeModelCall(ModelCall {
        purpose: ModelCallPurpose::Summarize,
        images: 0,
        past_images: 0,
        conversation_images: 0,
        notices: Vec::new(),
    });
    let asked = dispatch_at_end(run, &mut event).await;
    matches!(asked, Some(None))
}

/// Asks whether a model's response may be used. Otherwise returns the reason for the planner.
pub(in crate::run) async fn after_model_call(
    run: &mut RunContext,
    call: &ModelCall,
    decision: Option<&Decision>,
    began: Instant,
) -> RunResult<Option<String>> {
    if !run.wants(HookPoint::AfterModelCall) {
        return Ok(None);
    }
    let mut hook_event = HookEvent::AfterModelCall(ModelResponse {
        purpose: call.purpose,
        images: call.images + call.past_images,
        decision,
        elapsed: began.elapsed(),
    });
    match run.ask_hooks(&mut hook_event, None).await {
        Ok(denial) => Ok(denial.map(|denial| {
            let denial = &denial.message(run.task().spec.message_language());
            run.task().text(Message::HookDeniesDecision { denial })
        })),
        // The usage has to be recorded in any case.
        Err(Halt::Reevaluate) => Ok(Some(run.task().text(Message::HooksInterrupted))),
        Err(halt) => Err(halt),
    }
}

/// Returns the decision of the open step, if a hook wants it.
pub(in crate::run) fn decision_for_hooks(run: &RunContext) -> Option<Decision> {
    let step = run.task().open_step();
    let decision = step.and_then(|step| step.decision.as_ref());
    decision
        .filter(|_| run.wants(HookPoint::AfterModelCall))
        .cloned()
}

/// Notifies the hooks of a call's usage, once it is part of the task's total.
pub(in crate::run) async fn after_usage(run: &mut RunContext, added: Usage) {
    run.after_usage(added).await;
}

/// Records the usage of a call whose response was rejected, and its exchange.
pub(in crate::run) fn count_rejected(
    run: &mut RunContext,
    what: &str,
    message: &str,
    usage: Usage,
    exchange: StoredExchange,
) {
    run.count_without_result(what, reason::HOOK_DENIED, message, usage, exchange);
}
