//! The Tasks extension (2026-07-28): a call of `run_task` returns a handle of the task at once, and the client asks for its state,
//! answers what it asks, and cancels it.
//!
//! A handle is the task itself. Nothing is kept here, so that a handle outlives this server, and every request is decided by the
//! rights of its caller. Status notifications are not sent: clients ask in the interval that the handle suggests.

use std::collections::BTreeMap;

use motorium_messages::{Language, Message};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use motorium_proto::v1::orchestrator::user_request::Kind as RequestKind;
use rmcp::model::{
    CallToolResponse, CreateTaskResult, DetailedTask, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationSchema, ElicitationSchemaBuilder, InputRequest,
    InputRequests, InputResponses, JsonObject, StringSchema, Task, TaskPayload, TaskStatus,
};

use super::approvals::{Resolution, decision, form};
use super::call::{Answered, CallContext};
use super::tasks::{next_step, pending_approval, task_name, task_of};
use super::tools::RunTask;
use crate::error::Error;
use crate::time::rfc3339_of;

/// Suggested time between two requests for the state, in milliseconds. A step of a task takes a second or more.
const POLL_INTERVAL_MS: u64 = 1000;
/// Field of the form in which a question of the task is answered.
const ANSWER: &str = "answer";

/// A request of a task that the client can bring to a person.
enum Outstanding {
    Approval(Box<wire::Approval>),
    Question,
    ManualAction,
}

impl CallContext<'_> {
    /// Returns whether the client takes a handle in place of the result of a call.
    pub(super) fn takes_handles(&self) -> bool {
        let capabilities = self.request.client_capabilities();
        let is_declared = capabilities.is_some_and(|declared| declared.supports_tasks());
        // Clients of the protocol with sessions expect the form that Tasks had there.
        is_declared && self.is_without_session()
    }

    /// Creates a task and returns its handle.
    pub(super) async fn begin_task(&self, run: RunTask) -> Answered {
        let name = self.create(task_of(run)).await?;
        let task = self.task(&name).await?;
        let handle = handle(&task, TaskStatus::Working);
        Ok(CallToolResponse::Task(CreateTaskResult::new(handle)))
    }

    /// Returns the state of a task, with its result once it has ended.
    pub(super) async fn state_of_handle(&self, id: &str) -> Result<DetailedTask, Error> {
        let task = self.task(&task_name(id)).await?;
        let payload = match task.state() {
            // A task that failed has a result that says so, as a call that waits for it has.
            State::Succeeded | State::Failed => TaskPayload::Completed {
                result: self.result_of(&task.name).await?,
            },
            State::Cancelled => TaskPayload::Cancelled,
            State::AwaitingUser => match self.input_requests(&task).await? {
                requests if requests.is_empty() => TaskPayload::Working,
                input_requests => TaskPayload::InputRequired { input_requests },
            },
            _ => TaskPayload::Working,
        };
        Ok(DetailedTask::new(handle(&task, payload.status()), payload))
    }

    /// Takes the answer of the person at the client to what a task asks. An answer without a decision changes nothing.
    pub(super) async fn answer_handle(
        &self,
        id: &str,
        responses: InputResponses,
    ) -> Result<(), Error> {
        let task = self.task(&task_name(id)).await?;
        let Some((key, asked)) = self.outstanding(&task).await? else {
            let unfit = "answer nothing that the task asks now; `tasks/get` says what it asks";
            return Err(Error::field("inputResponses", unfit));
        };
        let answer = responses.get(&key).cloned();
        let answer: Option<ElicitResult> =
            answer.and_then(|answer| serde_json::from_value(answer).ok());
        let answer = answer.ok_or_else(|| {
            let missing = format!("have no result of an elicitation for `{key}`");
            Error::field("inputResponses", &missing)
        })?;
        match asked {
            Outstanding::Approval(approval) => self.decide(&task, &approval, &answer).await,
            Outstanding::Question => {
                let text = answer.content.as_ref().and_then(|it| it[ANSWER].as_str());
                match (answer.action, text) {
                    (ElicitationAction::Accept, Some(text)) => self.reply(&task.name, text).await,
                    _ => Ok(()),
                }
            }
            Outstanding::ManualAction => match answer.action {
                ElicitationAction::Accept => self.acknowledge(&task).await,
                _ => Ok(()),
            },
        }
    }

    /// Stops a task.
    pub(super) async fn cancel_handle(&self, id: &str) -> Result<(), Error> {
        self.stop_because(&task_name(id), Message::McpTaskCancelled)
            .await
    }

    /// Returns the result that a call of `run_task` has which waits until the task has ended.
    async fn result_of(&self, name: &str) -> Result<JsonObject, Error> {
        let CallToolResponse::Complete(result) = self.ended(name).await? else {
            return Err(Error::field("taskId", "is a task that has not ended"));
        };
        let result = serde_json::to_value(result).ok();
        let fields = result.and_then(|result| result.as_object().cloned());
        Ok(fields.unwrap_or_default())
    }

    async fn decide(
        &self,
        task: &wire::Task,
        approval: &wire::Approval,
        answer: &ElicitResult,
    ) -> Result<(), Error> {
        let Resolution::Decided { approve, reason } = decision(answer) else {
            return Ok(());
        };
        let answer = wire::ResolveApprovalRequest {
            approve,
            message: reason,
            user: self.person(task),
            ..Default::default()
        };
        self.resolve(&approval.name, answer).await
    }

    /// Returns the requests that the client is to bring to a person; none if it cannot ask one.
    async fn input_requests(&self, task: &wire::Task) -> Result<InputRequests, Error> {
        let Some((key, asked)) = self.outstanding(task).await? else {
            return Ok(InputRequests::new());
        };
        let params = match asked {
            Outstanding::Approval(approval) => form(task, &approval),
            Outstanding::Question => question_form(task),
            Outstanding::ManualAction => form_of(task, ElicitationSchema::builder()),
        };
        let request = InputRequest::Elicitation(ElicitRequest::new(params));
        Ok(BTreeMap::from([(key, request)]))
    }

    /// Returns what a task asks that the person at this client may answer, with its key, which is the same in each state in
    /// which it is asked.
    async fn outstanding(&self, task: &wire::Task) -> Result<Option<(String, Outstanding)>, Error> {
        if task.state() != State::AwaitingUser || !self.can_ask() {
            return Ok(None);
        }
        if let Some(name) = pending_approval(task) {
            let approval = self.askable(task, &name).await?;
            let keyed = approval.map(|approval| {
                let id = name.rsplit('/').next().unwrap_or(&name);
                (
                    format!("approval-{id}"),
                    Outstanding::Approval(Box::new(approval)),
                )
            });
            return Ok(keyed);
        }
        // A step asks once: after the answer the next one begins.
        let step = task.step_count;
        Ok(
            match task.user_request.as_ref().map(wire::UserRequest::kind) {
                Some(RequestKind::Question) => {
                    Some((format!("question-{step}"), Outstanding::Question))
                }
                Some(RequestKind::ManualAction) => {
                    Some((format!("action-{step}"), Outstanding::ManualAction))
                }
                _ => None,
            },
        )
    }
}

/// Returns the handle of a task.
fn handle(task: &wire::Task, status: TaskStatus) -> Task {
    let id = task.name.trim_start_matches("tasks/");
    let (created, updated) = (task.create_time.as_ref(), task.update_time.as_ref());
    let handle = Task::new(id, status, rfc3339_of(created), rfc3339_of(updated))
        .with_poll_interval_ms(POLL_INTERVAL_MS);
    match message(task) {
        text if text.is_empty() => handle,
        text => handle.with_status_message(text),
    }
}

/// Returns what a task waits for, and what to do about it.
fn message(task: &wire::Task) -> String {
    let request = task.user_request.as_ref().map(|request| &request.message);
    let lines = [request.cloned().unwrap_or_default(), next_step(task)];
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

fn question_form(task: &wire::Task) -> ElicitRequestParams {
    let language = Language::of(Some(&task.language), &task.goal);
    let answer = StringSchema::new().title(Message::McpAnswer.text(language));
    let schema = ElicitationSchema::builder().required_string_property(ANSWER, |_| answer);
    form_of(task, schema)
}

fn form_of(task: &wire::Task, schema: ElicitationSchemaBuilder) -> ElicitRequestParams {
    let request = task.user_request.as_ref();
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: request
            .map(|request| request.message.clone())
            .unwrap_or_default(),
        requested_schema: schema.build().expect("the required property exists"),
    }
}
