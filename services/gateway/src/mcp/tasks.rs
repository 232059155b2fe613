//! Tools about tasks: run, follow, answer and stop them, and extract data with one.
//!
//! A task lives on when a call that follows it has waited long enough; only a call that ran it and is cancelled stops it.

use motorium_messages::{Language, Message};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use motorium_proto::v1::orchestrator::user_request::Kind as RequestKind;
use motorium_proto::v1::orchestrator::watch_task_response::Content;
use rmcp::model::ProgressNotificationParam;
use serde_json::Value;
use tokio::time::Instant;
use tonic::Streaming;

use super::approvals::Resolution;
use super::call::{Answered, CallContext, problem, structured};
use super::files;
use super::tools::{
    Answer, Cancel, Deny, Extract, Failure, FileReport, GetTask, RunTask, TaskOnly, TaskReport,
    WaitSeconds, WaitsFor,
};
use crate::error::Error;

/// Maximum number of steps to extract data: it looks, extracts and is done.
const MAX_EXTRACT_STEPS: u32 = 10;

/// A task that a call follows.
struct TaskWatch {
    events: Streaming<wire::WatchTaskResponse>,
    state: State,
    /// Number of the last event that had happened when the watch began. Older ones say nothing about the state.
    known: i64,
    /// Number of the last event that was read.
    read: i64,
    /// True to report progress from the beginning.
    is_new: bool,
    extracted: Option<Value>,
    deadline: Instant,
}

/// End of a wait.
#[derive(Debug, PartialEq, Eq)]
enum WaitEnd {
    /// The task has ended, or waits for a person.
    Settled,
    TimedOut,
    Cancelled,
}

impl CallContext<'_> {
    pub(super) async fn run_task(&self, run: RunTask) -> Answered {
        let wait = run.wait_seconds;
        let name = match &self.input {
            // A client without a session brings the task back that it was asked about.
            Some(input) => input.question.task.clone(),
            None => self.create(task_of(run)).await?,
        };
        self.follow(&name, wait, true).await
    }

    pub(super) async fn get_task(&self, get: GetTask) -> Answered {
        self.follow(&task_name(&get.task), get.wait_seconds, false)
            .await
    }

    pub(super) async fn answer(&self, answer: Answer) -> Answered {
        let name = task_name(&answer.task);
        match answer.text.as_str() {
            "" => self.acknowledge(&self.task(&name).await?).await?,
            text => self.reply(&name, text).await?,
        }
        self.follow(&name, answer.wait_seconds, false).await
    }

    /// Answers the question of a task. A client does not show who wrote the text, so it counts as its model's.
    pub(super) async fn reply(&self, name: &str, text: &str) -> Result<(), Error> {
        let request = wire::SendMessageRequest {
            name: name.to_owned(),
            text: text.to_owned(),
            written_by_model: true,
            ..Default::default()
        };
        self.orchestrator()?.send_message(request).await?;
        Ok(())
    }

    /// Says that the action which a task requested is done.
    pub(super) async fn acknowledge(&self, task: &wire::Task) -> Result<(), Error> {
        let language = Language::of(Some(&task.language), &task.goal);
        let request = wire::AcknowledgeUserActionRequest {
            name: task.name.clone(),
            message: Message::Acknowledged.text(language),
            ..Default::default()
        };
        self.orchestrator()?
            .acknowledge_user_action(request)
            .await?;
        Ok(())
    }

    /// Returns the result of a task that has ended.
    pub(super) async fn ended(&self, name: &str) -> Answered {
        self.follow(name, WaitSeconds::TO_READ, true).await
    }

    pub(super) async fn approve(&self, approve: TaskOnly) -> Answered {
        let name = task_name(&approve.task);
        let task = self.task(&name).await?;
        if self.input.is_none() && pending_approval(&task).is_none() {
            let unfit = "waits for no approval; get_task says what it does";
            return Err(Error::field("task", unfit));
        }
        self.follow(&name, approve.wait_seconds, false).await
    }

    pub(super) async fn deny(&self, deny: Deny) -> Answered {
        let name = task_name(&deny.task);
        let task = self.task(&name).await?;
        let approval =
            pending_approval(&task).ok_or_else(|| Error::field("task", "waits for no approval"))?;
        let answer = wire::ResolveApprovalRequest {
            message: deny.reason,
            user: self.client_name(),
            written_by_model: true,
            ..Default::default()
        };
        self.resolve(&approval, answer).await?;
        self.follow(&name, deny.wait_seconds, false).await
    }

    pub(super) async fn cancel(&self, cancel: Cancel) -> Answered {
        let name = task_name(&cancel.task);
        self.stop(&name, cancel.reason).await?;
        self.report(&name, None, false).await
    }

    pub(super) async fn extract(&self, extract: Extract) -> Answered {
        let schema = Value::Object(extract.json_schema);
        let validator = jsonschema::validator_for(&schema)
            .map_err(|error| Error::field("json_schema", &error.to_string()))?;
        let instructions = format!(
            "Change nothing on the screen. Extract the data with exactly this JSON Schema, and then finish: {schema}"
        );
        let task = wire::Task {
            goal: extract.instruction,
            instructions,
            limits: Some(wire::Limits {
                max_steps: MAX_EXTRACT_STEPS,
                ..wire::Limits::default()
            }),
            desktop_selector: selector(extract.desktop),
            written_by_model: true,
            ..wire::Task::default()
        };
        let name = match &self.input {
            Some(input) => input.question.task.clone(),
            None => self.create(task).await?,
        };
        let mut followed = self.watch(&name, extract.wait_seconds, true).await?;
        let waited = self.wait(&name, &mut followed).await?;
        if waited == WaitEnd::Settled && followed.state == State::Succeeded {
            self.read_past(&mut followed).await;
            let valid = followed
                .extracted
                .as_ref()
                .map(|data| validator.validate(data));
            let unfit = match valid {
                None => "the task has extracted nothing".to_owned(),
                Some(Err(error)) => {
                    format!("what {name} has extracted does not fit the schema: {error}")
                }
                Some(Ok(())) => return self.report(&name, followed.extracted, true).await,
            };
            return Ok(problem(unfit).into());
        }
        self.settle(&name, followed, waited, true).await
    }

    pub(super) async fn create(&self, task: wire::Task) -> Result<String, Error> {
        let request = wire::CreateTaskRequest {
            task: Some(task),
            ..Default::default()
        };
        let created = self.orchestrator()?.create_task(request).await?;
        Ok(created.into_inner().task.unwrap_or_default().name)
    }

    pub(super) async fn task(&self, name: &str) -> Result<wire::Task, Error> {
        let request = wire::GetTaskRequest {
            name: name.to_owned(),
        };
        let response = self.orchestrator()?.get_task(request).await?;
        Ok(response.into_inner().task.unwrap_or_default())
    }

    pub(super) async fn stop(&self, name: &str, reason: String) -> Result<(), Error> {
        let request = wire::CancelTaskRequest {
            name: name.to_owned(),
            reason,
            ..Default::default()
        };
        self.orchestrator()?.cancel_task(request).await?;
        Ok(())
    }

    /// Stops a task with a reason in its language, which the people who follow it read.
    pub(super) async fn stop_because(&self, name: &str, reason: Message<'_>) -> Result<(), Error> {
        let task = self.task(name).await?;
        let language = Language::of(Some(&task.language), &task.goal);
        self.stop(name, reason.text(language)).await
    }

    /// Waits for a task, and returns what became of it. `runs` is true for a call that stands for the task.
    async fn follow(&self, name: &str, wait: WaitSeconds, runs: bool) -> Answered {
        let mut followed = self.watch(name, wait, runs).await?;
        let waited = self.wait(name, &mut followed).await?;
        self.settle(name, followed, waited, runs).await
    }

    async fn watch(&self, name: &str, wait: WaitSeconds, runs: bool) -> Result<TaskWatch, Error> {
        let request = wire::WatchTaskRequest {
            name: name.to_owned(),
            resume_token: String::new(),
        };
        let events = self.orchestrator()?.watch_task(request).await?.into_inner();
        Ok(TaskWatch {
            events,
            state: State::Unspecified,
            known: i64::MAX,
            read: 0,
            is_new: runs && self.input.is_none(),
            extracted: None,
            deadline: Instant::now() + wait.duration(),
        })
    }

    /// Waits until the task has ended or waits for a person. What a person at the client can decide is asked there.
    async fn wait(&self, name: &str, followed: &mut TaskWatch) -> Result<WaitEnd, Error> {
        let mut input = self.input.as_ref();
        loop {
            let waited = self.wait_for_state(followed).await?;
            if waited != WaitEnd::Settled || followed.state != State::AwaitingUser {
                return Ok(waited);
            }
            let task = self.task(name).await?;
            let Some(approval) = pending_approval(&task) else {
                return Ok(WaitEnd::Settled);
            };
            let asked = tokio::select! {
                () = self.request.ct.cancelled() => return Ok(WaitEnd::Cancelled),
                asked = self.ask(&task, &approval, input.take()) => asked?,
                // It was decided elsewhere, or has expired.
                changed = self.wait_for_change(followed) => {
                    changed?;
                    continue;
                }
            };
            match asked {
                Resolution::Decided { approve, reason } => {
                    let answer = wire::ResolveApprovalRequest {
                        approve,
                        message: reason,
                        user: self.person(&task),
                        ..Default::default()
                    };
                    self.resolve(&approval, answer).await?;
                    followed.state = State::Running;
                }
                Resolution::Undecided => return Ok(WaitEnd::Settled),
            }
        }
    }

    /// Reads events until the task has ended or waits for a person.
    async fn wait_for_state(&self, followed: &mut TaskWatch) -> Result<WaitEnd, Error> {
        loop {
            if settles(followed.state) {
                return Ok(WaitEnd::Settled);
            }
            let response = tokio::select! {
                biased;
                () = self.request.ct.cancelled() => return Ok(WaitEnd::Cancelled),
                response = followed.events.message() => response?,
                () = tokio::time::sleep_until(followed.deadline) => return Ok(WaitEnd::TimedOut),
            };
            match response {
                Some(response) => self.receive(followed, response).await,
                // The stream ends with the task.
                None => return Ok(WaitEnd::Settled),
            }
        }
    }

    /// Reads events until the task no longer waits for the user.
    async fn wait_for_change(&self, followed: &mut TaskWatch) -> Result<(), Error> {
        while followed.state == State::AwaitingUser {
            match followed.events.message().await? {
                Some(response) => self.receive(followed, response).await,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    async fn receive(&self, followed: &mut TaskWatch, response: wire::WatchTaskResponse) {
        match response.content {
            Some(Content::Snapshot(task)) => {
                followed.known = task.last_sequence;
                followed.state = task.state();
            }
            Some(Content::Event(event)) => {
                followed.read = event.sequence;
                if event.sequence > followed.known {
                    followed.state = event.state();
                }
                let is_news = event.sequence > followed.known || followed.is_new;
                match event.kind {
                    Some(Kind::Extracted(extracted)) => {
                        followed.extracted = serde_json::from_str(&extracted.json).ok();
                    }
                    Some(Kind::ProgressAdded(line)) if is_news => {
                        self.tell_progress(event.sequence, line.text).await;
                    }
                    Some(Kind::ProgressCorrected(line)) if is_news => {
                        self.tell_progress(event.sequence, line.text).await;
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Sends a line of progress, if the client asked for it.
    async fn tell_progress(&self, sequence: i64, text: String) {
        let Some(token) = self.request.meta.get_progress_token() else {
            return;
        };
        // Numbers of events are far below 2^53.
        #[expect(clippy::cast_precision_loss, reason = "numbers of events are small")]
        let progress = ProgressNotificationParam::new(token, sequence as f64).with_message(text);
        if let Err(error) = self.request.peer.notify_progress(progress).await {
            tracing::debug!(%error, "a client of MCP does not receive progress");
        }
    }

    async fn settle(
        &self,
        name: &str,
        mut followed: TaskWatch,
        waited: WaitEnd,
        runs: bool,
    ) -> Answered {
        if waited == WaitEnd::Cancelled && runs {
            self.stop_because(name, Message::McpCallCancelled).await?;
        }
        if waited == WaitEnd::Settled && !has_ended(followed.state) {
            let task = self.task(name).await?;
            if let Some(approval) = pending_approval(&task)
                && let Some(required) = self.input_required(&task, &approval).await?
            {
                return Ok(required);
            }
        }
        self.read_past(&mut followed).await;
        self.report(name, followed.extracted, runs).await
    }

    /// Reads the events that had happened before, for what was extracted in them.
    async fn read_past(&self, followed: &mut TaskWatch) {
        followed.is_new = false;
        // Without a snapshot nothing is known to have happened.
        while followed.known != i64::MAX && followed.read < followed.known {
            match followed.events.message().await {
                Ok(Some(response)) => self.receive(followed, response).await,
                _ => return,
            }
        }
    }

    /// Returns a task as the result of a tool. `runs` makes its failure that of the call.
    async fn report(&self, name: &str, extracted: Option<Value>, runs: bool) -> Answered {
        let task = self.task(name).await?;
        let is_error = runs && matches!(task.state(), State::Failed | State::Cancelled);
        let report = TaskReport {
            next: next_step(&task),
            state: state_name(task.state()),
            failure: task.failure.map(|failure| Failure {
                reason: failure.reason,
                message: failure.message,
            }),
            waits_for: task.user_request.map(|request| WaitsFor {
                kind: kind_name(request.kind()),
                message: request.message,
                approval: request.approval,
            }),
            task: task.name,
            answer: task.answer,
            files: files::reports(task.result_files),
            steps: task.step_count,
            extracted,
        };
        let mut result = structured(text_of(&report), &report, is_error);
        let links = report.files.iter().filter_map(files::link);
        result.content.extend(links);
        Ok(result.into())
    }
}

pub(super) fn task_of(run: RunTask) -> wire::Task {
    let limits = wire::Limits {
        max_steps: run.max_steps,
        ..wire::Limits::default()
    };
    wire::Task {
        goal: run.goal,
        instructions: run.instructions,
        session: run.session,
        desktop_selector: selector(run.desktop),
        limits: (run.max_steps > 0).then_some(limits),
        results: run.files,
        written_by_model: true,
        ..wire::Task::default()
    }
}

fn selector(desktop: String) -> Option<wire::DesktopSelector> {
    (!desktop.is_empty()).then(|| wire::DesktopSelector {
        desktop,
        ..wire::DesktopSelector::default()
    })
}

/// Returns the resource name of a task, which may be given by its last segment.
pub(super) fn task_name(name: &str) -> String {
    match name.contains('/') {
        true => name.to_owned(),
        false => format!("tasks/{name}"),
    }
}

pub(super) fn pending_approval(task: &wire::Task) -> Option<String> {
    let approval = task.user_request.as_ref().map(|request| &request.approval);
    approval.filter(|name| !name.is_empty()).cloned()
}

fn has_ended(state: State) -> bool {
    matches!(state, State::Succeeded | State::Failed | State::Cancelled)
}

/// Returns true if a call need not wait any longer for a task in this state.
fn settles(state: State) -> bool {
    has_ended(state) || matches!(state, State::AwaitingUser | State::Paused)
}

fn state_name(state: State) -> String {
    let name = state.as_str_name().trim_start_matches("STATE_");
    name.to_ascii_lowercase()
}

fn kind_name(kind: RequestKind) -> String {
    let name = kind.as_str_name().trim_start_matches("KIND_");
    name.to_ascii_lowercase()
}

/// Returns advice for the model, if the task is not at its end.
pub(super) fn next_step(task: &wire::Task) -> String {
    let kind = task.user_request.as_ref().map(wire::UserRequest::kind);
    let name = &task.name;
    match (task.state(), kind) {
        (State::AwaitingUser, Some(RequestKind::Question)) => {
            "answer the question with `answer`".to_owned()
        }
        (State::AwaitingUser, Some(RequestKind::ManualAction)) => {
            "ask the user to do it on the desktop, then call `answer` without a text".to_owned()
        }
        (State::AwaitingUser, Some(RequestKind::Approval)) => format!(
            "a person has to approve it: on the web page (`motorium page` prints its address), with `motorium tasks approve {name}`, \
             or at this client with `approve`; then call get_task"
        ),
        (State::AwaitingUser, _) => {
            "a person has taken the desktop over; call get_task later".to_owned()
        }
        (State::Paused, _) => "the task is paused; a person resumes it".to_owned(),
        (State::Pending | State::Running, _) => {
            "the task goes on; call get_task to wait for it, or `cancel`".to_owned()
        }
        _ => String::new(),
    }
}

fn line_of_file(file: &FileReport) -> String {
    let name = &file.name;
    match (file.uri.as_str(), file.path.as_str()) {
        ("", "") => format!("file {name} was not fetched: {}", file.error),
        ("", path) => format!("file {name} is on the desktop: {path}"),
        (uri, _) => format!("file {name} ({} bytes): {uri}", file.size_bytes),
    }
}

fn text_of(report: &TaskReport) -> String {
    let mut lines = vec![format!("{}: {}", report.task, report.state)];
    if !report.answer.is_empty() {
        lines.push(report.answer.clone());
    }
    if let Some(failure) = &report.failure {
        lines.push(format!("{}: {}", failure.reason, failure.message));
    }
    if let Some(request) = &report.waits_for {
        lines.push(format!("waits for {}: {}", request.kind, request.message));
    }
    if let Some(extracted) = &report.extracted {
        lines.push(extracted.to_string());
    }
    lines.extend(report.files.iter().map(line_of_file));
    if !report.next.is_empty() {
        lines.push(format!("next: {}", report.next));
    }
    lines.join("\n")
}
