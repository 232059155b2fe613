//! Finds the parts of actions and calls that come from untrusted sources: screens, extractions and function results.
//!
//! Text of earlier screens is kept in memory by the run and reloaded from the store by the next one; everything else is
//! in the task's record. [`motorium_policy::provenance`] decides how one text is recognised within another.
//!
//! The content of the clipboard is known only as long as no other program can have changed it. The Orchestrator does not see
//! the owner of the clipboard, so every input to an application counts as a change, and so does the time of another decision.
//! Any program may take the clipboard at any time, so what is known is pasted as that text ([`with_known_text`]), and a chord
//! pastes what is not known.

use bytes::Bytes;
use motorium_proto::domain::action::{Action, Text};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::Observation;
use motorium_proto::v1::common as wire;
use prost::Message as _;

use super::context::RunContext;
use motorium_policy::context;
use motorium_policy::provenance::{Origin, ScreenTexts, TaintedSpan, TextSources};
use motorium_task::{ActionRecord, StepRecord, Task};

/// Text that the task's screens have shown.
#[derive(Debug, Default)]
pub(super) struct Provenance {
    observed_text: ScreenTexts,
}

impl Provenance {
    /// Adds the text of an observed screen.
    pub(super) fn record_observation(&mut self, observation: &Observation) {
        self.observed_text.record_scene(&observation.scene);
        for window in &observation.frame.windows {
            self.observed_text.record_text(&window.title);
        }
    }

    /// Returns the untrusted parts of what an action enters or navigates to.
    pub(super) fn foreign_in_action(
        &self,
        run: &RunContext,
        action: &Action<CapturePoint>,
    ) -> Vec<TaintedSpan> {
        let task = run.task();
        if context::pastes(action) || context::pastes_selection(action) {
            let known = clipboard(run).filter(|_| context::pastes(action));
            let Some(pasted) = known else {
                let (text, origin) = (String::new(), Origin::Clipboard);
                return vec![TaintedSpan { text, origin }];
            };
            return self
                .sources(task)
                .tainted_spans(&text_entered_before(task), pasted);
        }
        let (argument, is_secret) = context::argument(action);
        if argument.is_empty() || is_secret {
            return Vec::new();
        }
        let before = match action.entered_text() {
            Some(_) => text_entered_before(task),
            None => String::new(),
        };
        self.sources(task).tainted_spans(&before, &argument)
    }

    /// Returns the untrusted parts of a call's arguments.
    pub(super) fn foreign_in_call(&self, task: &Task, arguments_json: &str) -> Vec<TaintedSpan> {
        let sources = self.sources(task);
        let mut found: Vec<TaintedSpan> = Vec::new();
        for value in context::values(arguments_json) {
            for part in sources.tainted_spans("", &value) {
                if !found.contains(&part) {
                    found.push(part);
                }
            }
        }
        found
    }

    fn sources<'a>(&'a self, task: &'a Task) -> TextSources<'a> {
        TextSources {
            screen_texts: &self.observed_text,
            external_texts: task.steps.iter().flat_map(external_texts).collect(),
            user_texts: task.user_texts().collect(),
        }
    }

    /// Loads the text of screens shown to earlier runs. Text that was not stored (without recording) or cannot be read
    /// is ignored.
    pub(super) async fn remember_screens(&mut self, run: &RunContext) {
        for step in &run.task().steps {
            for title in &step.window_titles {
                self.observed_text.record_text(title);
            }
            let Some(stored) = &step.scene else {
                continue;
            };
            match run.recorder.blobs().get(stored.sha256).await {
                Ok(scene) => texts_of(scene)
                    .iter()
                    .for_each(|text| self.observed_text.record_text(text)),
                Err(error) => {
                    tracing::warn!(
                        task = %run.task().spec.name, step = step.number, %error,
                        "the text of an earlier screen could not be loaded"
                    );
                }
            }
        }
    }
}

/// Returns the texts of a stored scene.
fn texts_of(scene: Bytes) -> Vec<String> {
    let scene = wire::Scene::decode(scene).unwrap_or_default();
    let elements = scene.elements.into_iter();
    elements.map(|element| element.content).collect()
}

/// Returns what a step extracted and what its functions returned, including the tools' error messages.
fn external_texts(step: &StepRecord) -> Vec<(Origin, String)> {
    let extracted = step.extracted.iter().flat_map(|json| context::values(json));
    let mut external: Vec<_> = extracted.map(|text| (Origin::Extraction, text)).collect();
    for (call, result) in step.function_calls.iter().zip(&step.function_results) {
        let texts = match &result.outcome {
            Ok(json) => context::values(json),
            Err(words) => vec![words.clone()],
        };
        let origin = || Origin::Function(call.name.clone());
        external.extend(texts.into_iter().map(|text| (origin(), text)));
    }
    external
}

/// Returns all text entered so far in order, ignoring other actions in between: an argument may be entered in pieces.
fn text_entered_before(task: &Task) -> String {
    let pieces = performed(task).filter_map(|action| action.action.entered_text());
    pieces.collect::<Vec<_>>().join(" ")
}

/// Returns a paste of the clipboard as one of the text that the task has put there, if nothing but another program can have
/// changed it.
pub(super) fn with_known_text(
    run: &RunContext,
    action: Action<CapturePoint>,
) -> Action<CapturePoint> {
    let known = pasted(run.task()).filter(|_| run.config.features.paste_known_text);
    match (&action, known) {
        (Action::Paste { text: None }, Some(known)) => Action::Paste {
            text: Some(Text::Literal(known.to_owned())),
        },
        _ => action,
    }
}

/// Returns the content of the clipboard as far as it is known: not at all, because another program may own it.
pub(super) fn clipboard(run: &RunContext) -> Option<&str> {
    // In a replay of a recording from before, the task's own text is still taken for it.
    pasted(run.task()).filter(|_| !run.config.features.paste_known_text)
}

/// Returns what the task itself has put into the clipboard; `None` if something else may be in it.
///
/// Only the open step counts: between two decisions any program has seconds to take the clipboard, and a page that has the
/// focus may write to it without any input.
fn pasted(task: &Task) -> Option<&str> {
    let actions = task.open_step()?.actions.iter().rev();
    let last = actions
        .filter(|record| !sent_nothing(record))
        .find(|record| !keeps_clipboard(&record.action))?;
    match &last.action {
        Action::SetClipboard {
            text: Text::Literal(text),
        } if last.performed() => Some(text),
        // A pasted text is also a key press, which a page may answer by copying something else.
        _ => None,
    }
}

fn sent_nothing(record: &ActionRecord) -> bool {
    let outcome = record.outcome.as_ref();
    outcome.is_some_and(|outcome| outcome.sent_nothing)
}

/// Returns true if an action gives no application an occasion to copy: the window manager focuses a window without input.
/// A click may be on a button that copies, any key may be one that copies or cuts, and waiting and moving take time.
fn keeps_clipboard(action: &Action<CapturePoint>) -> bool {
    matches!(action, Action::FocusWindow { .. })
}

fn performed(task: &Task) -> impl Iterator<Item = &ActionRecord> {
    let actions = task.steps.iter().flat_map(|step| &step.actions);
    actions.filter(|action| action.performed())
}
