//! Hooks around texts for the user.

use motorium_messages::{Language, Message};
use motorium_proto::domain::id::EventSeq;

use super::RunResult;
use crate::hooks::event::{HookText, HookTextKind};
use crate::hooks::{HookDenial, HookEvent, HookPoint};
use crate::run::context::RunContext;
use motorium_task::Lifecycle;
use motorium_task::event::{Event, Failure, UserRequest};

/// Adds a progress line.
pub(in crate::run) async fn show_progress(run: &mut RunContext, text: String) -> RunResult {
    let text = before_text(run, HookTextKind::Progress, text).await?;
    let shown = copy_for_hooks(run, &text);
    run.defer(Event::ProgressAdded { text });
    after_text(run, HookTextKind::Progress, shown).await;
    Ok(())
}

/// Corrects a progress line: adds the outcome of the step.
pub(in crate::run) async fn correct_progress(
    run: &mut RunContext,
    sequence: EventSeq,
    line: &str,
    setback: &str,
) -> RunResult {
    let (text, detail) = (line, setback);
    let text = run.task().text(Message::WithDetail { text, detail });
    let text = before_text(run, HookTextKind::Progress, text).await?;
    let shown = copy_for_hooks(run, &text);
    run.defer(Event::ProgressCorrected { sequence, text });
    after_text(run, HookTextKind::Progress, shown).await;
    Ok(())
}

/// Asks the user, after recording these events.
pub(in crate::run) async fn ask_user(
    run: &mut RunContext,
    before: Vec<Event>,
    request: UserRequest,
) -> RunResult {
    let message = before_text(run, HookTextKind::Question, request.message).await?;
    let shown = copy_for_hooks(run, &message);
    let asked = Event::UserAsked(UserRequest { message, ..request });
    run.record(before.into_iter().chain([asked]).collect())
        .await?;
    after_text(run, HookTextKind::Question, shown).await;
    Ok(())
}

/// Returns the final event with the text that may be shown. A cancellation keeps the user's own reason.
pub(in crate::run) async fn before_answer(run: &mut RunContext, event: Event) -> Event {
    match event {
        Event::Succeeded { answer } => Event::Succeeded {
            answer: final_text(run, answer).await,
        },
        Event::Failed(failure) => Event::Failed(Failure {
            message: final_text(run, failure.message).await,
            ..failure
        }),
        other => other,
    }
}

/// Notifies the hooks of the final text.
pub(in crate::run) async fn after_answer(run: &mut RunContext) {
    let shown = match &run.task().lifecycle {
        Lifecycle::Succeeded { answer } => copy_for_hooks(run, answer),
        Lifecycle::Failed(failure) => copy_for_hooks(run, &failure.message),
        _ => None,
    };
    after_text(run, HookTextKind::Answer, shown).await;
}

async fn before_text(run: &mut RunContext, kind: HookTextKind, text: String) -> RunResult<String> {
    if !run.wants(HookPoint::BeforeText) {
        return Ok(text);
    }
    let mut hook_event = HookEvent::BeforeText(HookText { kind, text });
    let denial = run.ask_hooks(&mut hook_event, None).await?;
    let language = run.task().spec.message_language();
    Ok(shown_text(hook_event, denial, language))
}

/// Runs the final text past the hooks, even when the task's time is up. Text that the hooks did not approve is
/// withheld.
pub(in crate::run) async fn final_text(run: &mut RunContext, text: String) -> String {
    if !run.wants(HookPoint::BeforeText) {
        return text;
    }
    let kind = HookTextKind::Answer;
    let mut hook_event = HookEvent::BeforeText(HookText { kind, text });
    match dispatch_at_end(run, &mut hook_event).await {
        Some(denial) => shown_text(hook_event, denial, run.task().spec.message_language()),
        None => run.task().text(Message::TextWithheld),
    }
}

/// Asks the hooks about an event at the end of a task, even when its time is up. `None` if the task is stopped before they
/// answer.
pub(super) async fn dispatch_at_end(
    run: &mut RunContext,
    event: &mut HookEvent<'_>,
) -> Option<Option<HookDenial>> {
    let asked = run.hooks.dispatch(run.recording(), run.task(), event, None);
    let outcome = tokio::select! {
        biased;
        outcome = asked => outcome,
        _ = run.interrupts.stop.requested() => {
            run.recording().stopped();
            return None;
        }
    };
    Some(run.record_interventions(outcome))
}

/// Returns a copy if a hook wants it.
fn copy_for_hooks(run: &RunContext, text: &str) -> Option<String> {
    run.wants(HookPoint::AfterText).then(|| text.to_owned())
}

async fn after_text(run: &mut RunContext, kind: HookTextKind, shown: Option<String>) {
    if let Some(text) = shown {
        let words = HookText { kind, text };
        run.tell_hooks(HookEvent::AfterText(words), None).await;
    }
}

/// Returns the amended text, or a note that it is withheld.
fn shown_text(hook_event: HookEvent<'_>, denial: Option<HookDenial>, language: Language) -> String {
    match (hook_event, denial) {
        (_, Some(denial)) => {
            let denial = &denial.message(language);
            Message::HookDeniesText { denial }.text(language)
        }
        (HookEvent::BeforeText(words), None) => words.text,
        _ => unreachable!("a hook cannot change an event's kind"),
    }
}
