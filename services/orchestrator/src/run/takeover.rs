//! Records what a person does while they have taken over the desktop, at it or from elsewhere
//! ([`super::takeover_input`]), without the text they type.
//!
//! The screen is observed between two inputs, so that a click can be described by the element it hit; a click that
//! comes too soon is described by its position. The task performs nothing meanwhile. If a desktop cannot report human
//! input, the stream is reopened repeatedly; the desktop is then handed back without a report, and the next observation
//! shows the result.

use std::time::Duration;

use futures::StreamExt as _;
use motorium_messages::{Language, Message};
use motorium_proto::domain::action::Button;
use motorium_proto::domain::element::{Element, ElementKind};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::{
    CaptureArea, HumanInput, HumanInputKind, Observation, ResultStream, WaitForIdleRequest,
};
use tokio_util::task::AbortOnDropHandle;

use super::actuator::Actuator;
use super::context::RunContext;
use super::takeover_input::OperatorInputs;
use super::{RunResult, capture};
use motorium_task::event::Event;
use motorium_task::screen::bounds_on_display;

/// Delay before a broken input stream is reopened.
// Bounds the attempts while the Executor restarts.
const RECONNECT_DELAY: Duration = Duration::from_secs(2);

/// Maximum length of an element's text in a description, in characters.
// The description names the element and does not quote a paragraph.
const MAX_LABEL_CHARS: usize = 60;

/// An observation of the screen between two inputs, which may still be running.
type PendingObservation = AbortOnDropHandle<Option<Observation>>;

/// Stream of a person's inputs.
pub(super) type HumanInputStream = ResultStream<HumanInput>;

/// Records a person's inputs until the desktop is handed back.
pub(super) async fn watch_operator(run: &mut RunContext, actuator: &Actuator) -> RunResult {
    // Stops an action that was still running at the take-over.
    actuator.release_inputs(run).await;
    let mut inputs = human_input(run);
    let mut remote = OperatorInputs::accept(run);
    let mut glance = observe_when_idle(run);
    while run.task().is_taken_over() {
        if !remote.is_of(&run.task().operator) {
            // Another person has taken over since.
            glance = record_rest(run, remote, glance).await?;
            remote = OperatorInputs::accept(run);
        }
        tokio::select! {
            biased;
            stop = run.interrupts.stop.requested() => return Err(stop.into()),
            input = remote.next() => {
                glance = record_human_input(run, &input, glance).await?;
                run.journal.merge_foreign_events().await?;
            }
            input = inputs.next() => {
                match input {
                    Some(Ok(input)) => glance = record_human_input(run, &input, glance).await?,
                    Some(Err(report)) => {
                        tracing::info!(task = %run.task().spec.name, %report, "human input cannot be watched");
                    }
                    None => {}
                }
                // The other branch may have been dropped right after a notification.
                run.journal.merge_foreign_events().await?;
            }
            changed = run.journal.wait_for_change() => changed?,
        }
    }
    record_rest(run, remote, glance).await.map(drop)
}

/// Ends the input of a person from elsewhere, before anything else acts on the desktop, and records what was not recorded yet.
async fn record_rest(
    run: &mut RunContext,
    remote: OperatorInputs,
    mut glance: PendingObservation,
) -> RunResult<PendingObservation> {
    for input in remote.finish().await {
        glance = record_human_input(run, &input, glance).await?;
    }
    Ok(glance)
}

/// Returns the person's inputs. The stream is reopened when it breaks, and never ends.
pub(super) fn human_input(run: &RunContext) -> HumanInputStream {
    let (executor, display) = (run.ports.executor.clone(), run.display());
    let watched = futures::stream::unfold(true, move |is_first| {
        let (executor, display) = (executor.clone(), display.clone());
        async move {
            if !is_first {
                tokio::time::sleep(RECONNECT_DELAY).await;
            }
            let inputs = executor.watch_human_input(display).await;
            let inputs = inputs.unwrap_or_else(|report| {
                Box::pin(futures::stream::once(async { Err(report) })) as HumanInputStream
            });
            Some((inputs, false))
        }
    });
    Box::pin(watched.flatten())
}

/// Records an input and starts a new observation. Pointer moves are not recorded.
async fn record_human_input(
    run: &mut RunContext,
    input: &HumanInput,
    glance: PendingObservation,
) -> RunResult<PendingObservation> {
    // An unfinished observation may already show the result of this input.
    let seen = if glance.is_finished() {
        glance.await.ok().flatten()
    } else if matches!(input.kind, HumanInputKind::Move { .. }) {
        return Ok(glance);
    } else {
        None
    };
    let language = run.task().spec.message_language();
    let Some((description, at)) = description_of(&input.kind, seen.as_ref(), language) else {
        let known = tokio::spawn(std::future::ready(seen));
        return Ok(AbortOnDropHandle::new(known));
    };
    run.record(vec![Event::HumanActed { description, at }])
        .await?;
    Ok(observe_when_idle(run))
}

/// Observes the screen as soon as it is idle.
fn observe_when_idle(run: &RunContext) -> PendingObservation {
    let perception = run.background_perception.0.clone();
    let request = capture::whole_screen(run, false, run.redactions_in(&CaptureArea::Display));
    let idle = WaitForIdleRequest {
        display: run.display(),
        // Only an input that changes something needs a wait. If nothing has begun after 100 ms, the screen is captured
        // as it is, because the observation has to be ready before the person's next click.
        first_change_timeout: Duration::from_millis(100),
        // A screen that goes on moving is observed after a second all the same: a later observation describes no click.
        timeout: Duration::from_secs(1),
        ..WaitForIdleRequest::default()
    };
    let looking = tokio::spawn(async move {
        perception.wait_for_idle(idle).await.ok()?;
        perception.observe(request).await.ok()
    });
    AbortOnDropHandle::new(looking)
}

/// Describes the element at a point by its text. The content of a text field is not included.
fn label_at(at: CapturePoint, on: &Observation, language: Language) -> Option<String> {
    let element = smallest_at(at, on)?;
    let content = element.content.trim();
    if element.kind == ElementKind::TextField {
        return Some(Message::TextField.text(language));
    }
    if content.is_empty() {
        return None;
    }
    let name: String = content.chars().take(MAX_LABEL_CHARS).collect();
    let rest = if name.len() < content.len() {
        "…"
    } else {
        ""
    };
    let text = &format!("{name}{rest}");
    Some(Message::QuotedLabel { text }.text(language))
}

fn smallest_at(at: CapturePoint, on: &Observation) -> Option<&Element> {
    let there = on.scene.elements.iter().filter_map(|element| {
        let bounds = bounds_on_display(element, &on.frame);
        let area = i64::from(bounds.width()) * i64::from(bounds.height());
        bounds.contains(at).then_some((area, element))
    });
    there
        .min_by_key(|(area, _)| *area)
        .map(|(_, element)| element)
}

/// Describes an input and its position; `None` for pointer moves.
fn description_of(
    kind: &HumanInputKind,
    seen: Option<&Observation>,
    language: Language,
) -> Option<(String, Option<CapturePoint>)> {
    Some(match kind {
        HumanInputKind::Click { at, button } => {
            let button = match button {
                Button::Left => "left",
                Button::Right => "right",
                Button::Middle => "middle",
                Button::Back => "back",
                Button::Forward => "forward",
            };
            let (x, y) = (at.x, at.y);
            let label = seen.and_then(|seen| label_at(*at, seen, language));
            let message = match &label {
                Some(element) => Message::PersonClickedElement {
                    element,
                    x,
                    y,
                    button,
                },
                None => Message::PersonClicked { x, y, button },
            };
            (message.text(language), Some(*at))
        }
        HumanInputKind::Typing { characters } => {
            let message = Message::PersonTyped {
                characters: *characters,
            };
            (message.text(language), None)
        }
        HumanInputKind::Chord { keys } => {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            let keys = &keys.join("+");
            (Message::PersonPressed { keys }.text(language), None)
        }
        HumanInputKind::Scroll { at, .. } => {
            let message = Message::PersonScrolled { x: at.x, y: at.y };
            (message.text(language), Some(*at))
        }
        HumanInputKind::Move { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_is_counted_but_not_reported() {
        let words = |kind| description_of(&kind, None, Language::English).map(|(words, _)| words);
        assert_eq!(
            words(HumanInputKind::Typing { characters: 12 }).unwrap(),
            "typed 12 characters"
        );
        let at = CapturePoint::new(3, 4);
        let button = Button::Right;
        assert_eq!(
            words(HumanInputKind::Click { at, button }).unwrap(),
            "clicked at (3, 4) with the right button"
        );
        assert_eq!(words(HumanInputKind::Move { to: at }), None);
    }
}
