//! Performs the input of a person who operates the desktop from elsewhere while they have taken it over.
//!
//! It has the lease of the run, and the run goes on only after it has ended. Inputs are told to the run as those of a person at
//! the desktop are: typed text is counted, never reported.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use motorium_messages::{Language, Message};
use motorium_proto::domain::action::{Action, ScrollAmount, Text};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId};
use motorium_proto::service::{
    Executor, HumanInput, HumanInputKind, PerformRequest, ReadClipboardRequest,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::INPUT_RELEASE_TIMEOUT;
use super::actuator::leased_display;
use super::context::RunContext;
use crate::operators::{OpenChannel, OperatorAnswer, OperatorInput, OperatorRequest};

/// Pause after which a text counts as typed.
const TYPING_PAUSE: Duration = Duration::from_secs(1);

/// The input of one period of a take-over.
#[derive(Debug)]
pub(super) struct OperatorInputs {
    operator: String,
    performed: mpsc::UnboundedReceiver<HumanInput>,
    end: CancellationToken,
    /// `None` without a leased desktop.
    worker: Option<Worker>,
}

#[derive(Debug)]
struct Worker {
    passing: AbortOnDropHandle<bool>,
    executor: ExecutorHandle,
}

impl OperatorInputs {
    /// Opens the channel for the person who has taken over.
    pub(super) fn accept(run: &RunContext) -> Self {
        let operator = run.task().operator.clone();
        let (tell, performed) = mpsc::unbounded_channel();
        let end = CancellationToken::new();
        let worker = leased_display(run).ok().map(|(display, epoch)| {
            let access = &run.operators;
            let task = run.task().spec.name.clone();
            let channel = access.operators.open(task, operator.clone());
            let executor = ExecutorHandle {
                executor: Arc::clone(&access.executor),
                display,
                epoch,
                language: run.task().spec.message_language(),
            };
            let passing = pass_on(
                channel,
                executor.clone(),
                InputReporter::new(tell),
                end.clone(),
            );
            Worker {
                passing: AbortOnDropHandle::new(tokio::spawn(passing)),
                executor,
            }
        });
        Self {
            operator,
            performed,
            end,
            worker,
        }
    }

    /// Returns true if it is of the person who has the desktop now.
    pub(super) fn is_of(&self, operator: &str) -> bool {
        self.operator == operator
    }

    /// Returns the next performed input.
    pub(super) async fn next(&mut self) -> HumanInput {
        match self.performed.recv().await {
            Some(input) => input,
            None => std::future::pending().await,
        }
    }

    /// Closes the channel, waits for the input that is being performed, and releases what is still pressed. Returns what has not been
    /// told yet.
    pub(super) async fn finish(mut self) -> Vec<HumanInput> {
        self.end.cancel();
        if let Some(mut worker) = self.worker.take() {
            let ended = tokio::time::timeout(INPUT_RELEASE_TIMEOUT, &mut worker.passing).await;
            if !matches!(ended, Ok(Ok(false))) {
                // One that takes longer is stopped by the release.
                worker.passing.abort();
                worker.executor.release().await;
            }
        }
        std::iter::from_fn(|| self.performed.try_recv().ok()).collect()
    }
}

/// The Executor under the lease of the run.
#[derive(Clone)]
struct ExecutorHandle {
    executor: Arc<dyn Executor>,
    display: DisplayId,
    epoch: DesktopEpoch,
    /// Language of the task.
    language: Language,
}

impl std::fmt::Debug for ExecutorHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecutorHandle").finish_non_exhaustive()
    }
}

impl ExecutorHandle {
    async fn perform(&self, action: Action<CapturePoint>) -> ActionOutcome {
        let request = PerformRequest {
            display: self.display.clone(),
            epoch: self.epoch,
            action_id: ActionId::new(format!("operator/{}", Uuid::now_v7())),
            retry_of: None,
            action,
            named_hosts: Vec::new(),
            creator: None,
            tenant: None,
            // A person may type what the rules refuse to a task.
            addresses: Vec::new(),
        };
        let performed = self.executor.perform(request).await;
        // Told to the person, who sees the screen and decides what to do.
        performed.unwrap_or_else(|report| ActionOutcome::new(ActionResult::Failed, report.message))
    }

    async fn read_clipboard(&self, only_if_copied: bool) -> OperatorAnswer {
        let request = ReadClipboardRequest {
            display: self.display.clone(),
            epoch: self.epoch,
            only_if_copied,
        };
        let refused = |result, detail: String| -> OperatorAnswer {
            ActionOutcome::new(result, detail).into()
        };
        match self.executor.read_clipboard(request).await {
            Ok(read) if read.withheld => {
                let message = Message::ClipboardWithheld.text(self.language);
                refused(ActionResult::Refused, message)
            }
            Ok(read) => OperatorAnswer {
                clipboard_text: (!read.not_copied).then_some(read.text),
                ..ActionOutcome::new(ActionResult::Performed, "").into()
            },
            Err(report) => refused(ActionResult::Failed, report.message),
        }
    }

    async fn release(&self) {
        let released = self.executor.release_all(Some(self.display.clone()));
        match tokio::time::timeout(INPUT_RELEASE_TIMEOUT, released).await {
            Ok(Ok(_)) => {}
            Ok(Err(report)) => tracing::warn!(%report, "input of a person could not be released"),
            Err(_) => tracing::warn!("input of a person was not released in time"),
        }
    }
}

/// Performs inputs in their order until the end. Returns true if there was any.
async fn pass_on(
    mut channel: OpenChannel,
    executor: ExecutorHandle,
    mut reporter: InputReporter,
    end: CancellationToken,
) -> bool {
    let mut has_acted = false;
    loop {
        let input = tokio::select! {
            biased;
            () = end.cancelled() => break,
            input = channel.next() => input,
            () = reporter.pause() => {
                reporter.tell_typed();
                continue;
            }
        };
        has_acted = true;
        let OperatorInput { request, answer } = input;
        let answered = match request {
            OperatorRequest::Perform(action) => {
                let outcome = executor.perform(action.clone()).await;
                if outcome.result == ActionResult::Performed {
                    reporter.tell(&action, outcome.pointer);
                }
                outcome.into()
            }
            // It changes nothing on the desktop, and is not told to the run.
            OperatorRequest::ReadClipboard { only_if_copied } => {
                executor.read_clipboard(only_if_copied).await
            }
        };
        // The caller may have gone.
        let _ = answer.send(answered);
    }
    reporter.tell_typed();
    has_acted
}

/// Tells the run of performed inputs.
#[derive(Debug)]
struct InputReporter {
    run: mpsc::UnboundedSender<HumanInput>,
    /// Number of typed characters that were not told yet.
    typed: u32,
    /// The last told input was a scroll. Further ones of the same movement are not told.
    has_scrolled: bool,
}

impl InputReporter {
    fn new(run: mpsc::UnboundedSender<HumanInput>) -> Self {
        Self {
            run,
            typed: 0,
            has_scrolled: false,
        }
    }

    /// Waits until a typed text is to be told.
    async fn pause(&self) {
        match self.typed {
            0 => std::future::pending().await,
            _ => tokio::time::sleep(TYPING_PAUSE).await,
        }
    }

    fn tell(&mut self, action: &Action<CapturePoint>, pointer: Option<CapturePoint>) {
        match human_input(action, pointer) {
            None => {}
            Some(HumanInputKind::Typing { characters }) => {
                self.typed = self.typed.saturating_add(characters);
                self.has_scrolled = false;
            }
            Some(HumanInputKind::Scroll { .. }) if self.has_scrolled => {}
            Some(kind) => {
                self.tell_typed();
                self.has_scrolled = matches!(kind, HumanInputKind::Scroll { .. });
                self.send(kind);
            }
        }
    }

    fn tell_typed(&mut self) {
        if self.typed > 0 {
            let characters = std::mem::take(&mut self.typed);
            self.send(HumanInputKind::Typing { characters });
        }
    }

    fn send(&self, kind: HumanInputKind) {
        let at = SystemTime::now();
        // A run that has ended needs no word.
        let _ = self.run.send(HumanInput { at, kind });
    }
}

/// Returns the input that an action is for a person at the desktop; `None` if it changes nothing by itself.
fn human_input(
    action: &Action<CapturePoint>,
    pointer: Option<CapturePoint>,
) -> Option<HumanInputKind> {
    let place = |at: &Option<CapturePoint>| at.or(pointer);
    let typed = |characters: usize| {
        let characters = u32::try_from(characters).unwrap_or(u32::MAX);
        Some(HumanInputKind::Typing { characters })
    };
    match action {
        Action::Click { at, button, .. } | Action::MouseDown { at, button } => {
            let (at, button) = (place(at)?, *button);
            Some(HumanInputKind::Click { at, button })
        }
        Action::Drag { path, button, .. } => {
            let (at, button) = (*path.first()?, *button);
            Some(HumanInputKind::Click { at, button })
        }
        Action::Scroll { at, amount, .. } => {
            let (x, y) = match *amount {
                ScrollAmount::Notches { x, y } | ScrollAmount::Pixels { x, y } => (x, y),
            };
            let at = place(at)?;
            Some(HumanInputKind::Scroll { at, x, y })
        }
        Action::KeyChord { keys, .. } if keys.iter().any(|key| key.is_modifier()) => {
            let keys = keys.clone();
            Some(HumanInputKind::Chord { keys })
        }
        Action::KeyChord { repeat, .. } => typed(*repeat as usize),
        Action::TypeText {
            text: Text::Literal(text),
            ..
        }
        | Action::Paste {
            text: Some(Text::Literal(text)),
        } => typed(text.chars().count()),
        Action::Paste { text: None } => typed(1),
        _ => None,
    }
}
