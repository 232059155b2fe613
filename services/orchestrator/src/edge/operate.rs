//! Input of a caller to the desktop of a task that the caller has taken over.
//!
//! The run of the task performs it ([`crate::operators`]). A call is audited once, with the number of inputs and without
//! their content.

use std::fmt;
use std::time::SystemTime;

use futures::channel::mpsc::{self, Sender};
use futures::{SinkExt as _, StreamExt as _};
use motorium_kit::principal::Principal;
use motorium_proto::domain::action::{Action, Text};
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::TaskName;
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::operate_desktop_request::Part;
use motorium_proto::v1::orchestrator::operate_desktop_response::Part as ResponsePart;
use tokio::sync::oneshot;
use tonic::{Status, Streaming};

use super::commands::{taking_over, wrong_state};
use super::{Edge, ResponseStream, ownership};
use crate::error::Error;
use crate::operators::{OperatorAnswer, OperatorInput, OperatorRequest, OperatorSender};
use motorium_recording::log;
use motorium_store::TaskRow;
use motorium_task::view;

/// Name of the call in the audit log.
const METHOD: &str = "OperateDesktop";
/// Number of responses that a caller has not read yet. More make it wait for its own inputs.
const PENDING_RESPONSES: usize = 16;
/// Problem of a task whose desktop has no channel for this caller.
const NOT_TAKEN_OVER: &str =
    "take its desktop over first; it receives input from you until it is handed back";

impl Edge {
    /// Begins to pass on the inputs that arrive, until the call ends.
    pub(super) async fn operate(
        &self,
        mut requests: Streaming<wire::OperateDesktopRequest>,
    ) -> Result<ResponseStream<wire::OperateDesktopResponse>, Status> {
        let first = requests.message().await?.and_then(|first| first.part);
        let start = match first {
            Some(Part::Start(start)) => start,
            _ => {
                let missing =
                    FieldError::new("start", "is not the first message; it names the task");
                return Err(Error::from(missing).into());
            }
        };
        let principal = ownership::caller()?;
        let resource = start.name.clone();
        self.record_begin(&principal, METHOD, &resource).await?;
        let (task, inputs) = match self.open_way(start).await {
            Ok(opened) => opened,
            Err(error) => {
                let refused = Err(Status::from(error));
                return self
                    .record_end(&principal, METHOD, &resource, refused)
                    .await;
            }
        };
        let (mut responses, stream) = mpsc::channel(PENDING_RESPONSES);
        let opened = ResponsePart::Task(task);
        // The channel has room for it.
        let _ = responses.try_send(Ok(response(opened)));
        let call = OperatorCall {
            edge: self.clone(),
            principal,
            task: TaskName::parse("start.name", &resource).map_err(Error::from)?,
            inputs,
            responses: responses.clone(),
            counts: InputCounts::default(),
        };
        tokio::spawn(call.run(requests, responses));
        Ok(stream.boxed())
    }

    async fn open_way(
        &self,
        start: wire::OperateDesktopStart,
    ) -> Result<(wire::Task, OperatorSender), Error> {
        let row = self.visible_row("start.name", &start.name).await?;
        let name = row.name.clone();
        let operator = taking_over(start.user)?;
        let task = log::load(self.store.as_ref(), &name).await?;
        if !task.is_taken_over() || task.operator != operator {
            return Err(wrong_state(&task, NOT_TAKEN_OVER));
        }
        if let Some(orchestrator) = self.other_orchestrator(row) {
            return Err(Error::RunsElsewhere {
                task: name,
                orchestrator,
            });
        }
        let channel = self.operators.find(&name, &operator).await;
        let channel = channel.ok_or_else(|| wrong_state(&task, NOT_TAKEN_OVER))?;
        Ok((view::task(&task), channel))
    }
}

impl Edge {
    /// Returns the orchestrator that runs a task, if it is not this one. Only that one reaches the desktop of the task.
    pub(super) fn other_orchestrator(&self, row: TaskRow) -> Option<String> {
        let is_leased = row
            .lease_until
            .is_some_and(|until| SystemTime::now() < until);
        row.owner.filter(|owner| is_leased && *owner != self.owner)
    }
}

fn response(part: ResponsePart) -> wire::OperateDesktopResponse {
    wire::OperateDesktopResponse { part: Some(part) }
}

/// A call of one operator, with the inputs that it sends.
struct OperatorCall {
    edge: Edge,
    principal: Principal,
    task: TaskName,
    inputs: OperatorSender,
    responses: Sender<Result<wire::OperateDesktopResponse, Status>>,
    counts: InputCounts,
}

impl OperatorCall {
    async fn run(
        mut self,
        requests: Streaming<wire::OperateDesktopRequest>,
        mut last: Sender<Result<wire::OperateDesktopResponse, Status>>,
    ) {
        let ended = self.pass_on_all(requests).await;
        let code = ended.as_ref().err().map_or(tonic::Code::Ok, Status::code);
        // In the characters that a record may have.
        let outcome = format!("{code:?}({})", self.counts);
        let resource = self.task.to_string();
        let recorded = self
            .edge
            .record_outcome(&self.principal, METHOD, &resource, outcome);
        if let Err(status) = recorded.await {
            tracing::error!(%status, "the end of an operator's call is missing in the audit log");
        }
        if let Err(status) = ended {
            // The caller may have gone.
            let _ = last.send(Err(status)).await;
        }
    }

    async fn pass_on_all(
        &mut self,
        mut requests: Streaming<wire::OperateDesktopRequest>,
    ) -> Result<(), Status> {
        loop {
            let request = tokio::select! {
                biased;
                () = self.inputs.closed() => return Err(self.handed_back().await),
                () = self.edge.shutdown.draining() => return Ok(()),
                request = requests.message() => request,
            };
            // A connection that breaks ends the call as one that is closed does.
            let Ok(Some(request)) = request else {
                return Ok(());
            };
            let Some(Part::Input(input)) = request.part else {
                let missing = FieldError::missing("input");
                return Err(Error::from(missing).into());
            };
            let sequence = input.sequence;
            let OperatorAnswer {
                outcome,
                clipboard_text,
            } = self.pass_on(input).await?;
            let outcome = wire::OperatorInputOutcome {
                sequence,
                outcome: Some(outcome.into()),
                clipboard_text,
            };
            let answered = response(ResponsePart::Outcome(outcome));
            if self.responses.send(Ok(answered)).await.is_err() {
                return Ok(());
            }
        }
    }

    /// Passes one input on, and returns its outcome.
    async fn pass_on(&mut self, input: wire::OperatorInput) -> Result<OperatorAnswer, Status> {
        let request = allowed_request(input).map_err(Error::from)?;
        let is_read = matches!(request, OperatorRequest::ReadClipboard { .. });
        if let OperatorRequest::Perform(action) = &request {
            self.counts.add(action);
        }
        let (answer, answered) = oneshot::channel();
        let sent = self.inputs.send(OperatorInput { request, answer }).await;
        let (Ok(()), Ok(answer)) = (sent, answered.await) else {
            return Err(self.handed_back().await);
        };
        // A read before the program has copied returns nothing, and is repeated.
        let is_early =
            answer.clipboard_text.is_none() && answer.outcome.result == ActionResult::Performed;
        self.counts.copied += u64::from(is_read && !is_early);
        Ok(answer)
    }

    /// Returns the error of a desktop that was handed back.
    async fn handed_back(&self) -> Status {
        match log::load(self.edge.store.as_ref(), &self.task).await {
            Ok(task) => wrong_state(&task, NOT_TAKEN_OVER).into(),
            Err(error) => Error::from(error).into(),
        }
    }
}

/// Returns the request of an input.
fn allowed_request(input: wire::OperatorInput) -> Result<OperatorRequest, FieldError> {
    if !input.read_clipboard {
        return allowed_action(input).map(OperatorRequest::Perform);
    }
    if input.action.is_some() {
        let problem = "must not be set together with `read_clipboard`";
        return Err(FieldError::new("input.action", problem));
    }
    Ok(OperatorRequest::ReadClipboard {
        only_if_copied: input.only_if_copied,
    })
}

/// Returns the action of an input, if a mouse and a keyboard could perform it.
fn allowed_action(input: wire::OperatorInput) -> Result<Action<CapturePoint>, FieldError> {
    let action = input
        .action
        .ok_or_else(|| FieldError::missing("input.action"))?;
    let action = Action::<CapturePoint>::try_from(action)?;
    let is_allowed = match &action {
        Action::Move { .. }
        | Action::Click { .. }
        | Action::MouseDown { .. }
        | Action::MouseUp { .. }
        | Action::Drag { .. }
        | Action::Scroll { .. }
        | Action::KeyChord { .. }
        | Action::Paste { text: None } => true,
        Action::TypeText { text, .. }
        | Action::SetClipboard { text }
        | Action::Paste { text: Some(text) } => matches!(text, Text::Literal(_)),
        Action::HoldKey { .. }
        | Action::Wait { .. }
        | Action::OpenApplication { .. }
        | Action::OpenUrl { .. }
        | Action::FocusWindow { .. }
        | Action::GoToUrl { .. }
        | Action::GoBack
        | Action::GoForward
        | Action::Refresh => false,
    };
    if is_allowed {
        return Ok(action);
    }
    let problem = "is not input of a mouse, a keyboard or a clipboard with literal text";
    Err(FieldError::new("input.action", problem))
}

/// Number of inputs of a call, by their kinds.
#[derive(Debug, Default)]
struct InputCounts {
    clicks: u64,
    scrolls: u64,
    keys: u64,
    characters: u64,
    clipboard: u64,
    copied: u64,
}

impl InputCounts {
    fn add(&mut self, action: &Action<CapturePoint>) {
        match action {
            Action::Click { .. } | Action::MouseDown { .. } | Action::Drag { .. } => {
                self.clicks += 1;
            }
            Action::Scroll { .. } => self.scrolls += 1,
            Action::KeyChord { repeat, .. } => self.keys += u64::from(*repeat),
            Action::TypeText {
                text: Text::Literal(text),
                ..
            } => self.characters += text.chars().count() as u64,
            Action::SetClipboard { .. } | Action::Paste { .. } => self.clipboard += 1,
            _ => {}
        }
    }
}

impl fmt::Display for InputCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            clicks,
            scrolls,
            keys,
            characters,
            clipboard,
            copied,
        } = self;
        write!(
            f,
            "clicks:{clicks}/scrolls:{scrolls}/keys:{keys}/characters:{characters}/clipboard:{clipboard}/copied:{copied}"
        )
    }
}
