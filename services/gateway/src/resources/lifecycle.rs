//! Creation and deletion of tasks and sessions over REST.
//!
//! What a task may be created with is what `motorium run` offers, without the tools of its caller. The Orchestrator checks it, and
//! names a wrong field as the contract does.

use std::collections::BTreeMap;

use axum::Json;
use http::HeaderMap;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::expectation::Expectation::TextOnScreen;
use prost_types::Duration;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Answer;
use super::commands::{TASK, task_name};
use super::json::resource;
use crate::chat::{ChatAttachment, attachments, request_id};
use crate::error::Error;
use crate::files::segment;
use crate::json::JsonBody;
use crate::path::Path;
use crate::query::Query;
use crate::upstream::Client;

const SESSION: &str = "motorium.orchestrator.v1.Session";

/// A task to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTask {
    /// Goal, in words.
    goal: String,
    /// Last segment of its name (a-z, 0-9, hyphens). By default, the server chooses it.
    #[serde(default)]
    task_id: String,
    /// Session that the task follows in, which must exist: the last segment of its name.
    #[serde(default)]
    session: String,
    /// Instructions in addition to the goal.
    #[serde(default)]
    instructions: String,
    /// Language of questions, reasons and progress: `en` or `zh`. By default, that of the goal.
    #[serde(default)]
    language: String,
    /// Planner backends to use, in order.
    #[serde(default)]
    backends: Vec<String>,
    /// Desktop to run on: the last segment of its name. By default, any.
    #[serde(default)]
    desktop: String,
    /// Labels that the desktop must have.
    #[serde(default)]
    desktop_labels: BTreeMap<String, String>,
    /// Labels of the task.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// Texts that must be visible for the task to succeed.
    #[serde(default)]
    expected_texts: Vec<String>,
    /// Names of the files that the task hands back, such as `report.pdf`.
    #[serde(default)]
    results: Vec<String>,
    #[serde(default)]
    attachments: Vec<ChatAttachment>,
    #[serde(default)]
    limits: NewLimits,
    /// Verify the pointer before every click.
    #[serde(default)]
    verify_clicks: bool,
}

/// Limits of a task. 0 is the operator's default.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewLimits {
    max_steps: u32,
    /// In seconds, with the time that questions and approvals wait.
    max_duration_seconds: u32,
    max_tokens: u64,
    max_cost_micros_usd: u64,
}

/// A session to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSession {
    /// Last segment of its name (a-z, 0-9, hyphens). By default, the server chooses it.
    #[serde(default)]
    session_id: String,
    /// Name for people.
    #[serde(default)]
    display_name: String,
}

/// Deletion of a session.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionDeletion {
    /// True to delete the tasks of the session as well.
    #[serde(default)]
    force: bool,
}

/// Response to a deletion. Empty.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Deleted {}

/// Creates a task.
#[utoipa::path(post, path = "/api/v1/tasks", tag = "resources", request_body = NewTask,
    params(("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Task")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn create_task(
    Client(mut client): Client,
    headers: HeaderMap,
    JsonBody(body): JsonBody<NewTask>,
) -> Answer {
    let request_id = request_id(&headers)?;
    let task_id = body.task_id.clone();
    let request = wire::CreateTaskRequest {
        task: Some(body.into_task()?),
        task_id,
        request_id,
    };
    let response = client.create_task(request).await?.into_inner();
    resource(&response.task.unwrap_or_default(), TASK)
}

/// Deletes a task that has ended, with everything that is kept of it.
#[utoipa::path(delete, path = "/api/v1/tasks/{task}", tag = "resources",
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$")), responses(
    (status = 200, body = Deleted),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn delete_task(
    Client(mut client): Client,
    Path(task): Path<String>,
) -> Result<Json<Deleted>, Error> {
    let request = wire::DeleteTaskRequest {
        name: task_name(&task)?,
        allow_missing: false,
    };
    client.delete_task(request).await?;
    Ok(Json(Deleted {}))
}

/// Creates a session.
#[utoipa::path(post, path = "/api/v1/sessions", tag = "resources", request_body = NewSession,
    params(("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Session")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn create_session(
    Client(mut client): Client,
    headers: HeaderMap,
    JsonBody(body): JsonBody<NewSession>,
) -> Answer {
    let session = wire::Session {
        display_name: body.display_name,
        ..wire::Session::default()
    };
    let request = wire::CreateSessionRequest {
        session: Some(session),
        session_id: body.session_id,
        request_id: request_id(&headers)?,
    };
    let response = client.create_session(request).await?.into_inner();
    resource(&response.session.unwrap_or_default(), SESSION)
}

/// Deletes a session. One with tasks is deleted only with `force`, and only if all of them have ended.
#[utoipa::path(delete, path = "/api/v1/sessions/{session}", tag = "resources",
    params(("session" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), SessionDeletion), responses(
    (status = 200, body = Deleted),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn delete_session(
    Client(mut client): Client,
    Path(session): Path<String>,
    Query(query): Query<SessionDeletion>,
) -> Result<Json<Deleted>, Error> {
    let request = wire::DeleteSessionRequest {
        name: format!("sessions/{}", segment("session", &session)?),
        force: query.force,
        allow_missing: false,
    };
    client.delete_session(request).await?;
    Ok(Json(Deleted {}))
}

impl NewTask {
    fn into_task(self) -> Result<wire::Task, Error> {
        let named = |collection: &str, field: &str, id: &str| match id {
            "" => Ok(String::new()),
            id => Ok::<_, Error>(format!("{collection}/{}", segment(field, id)?)),
        };
        let session = named("sessions", "session", &self.session)?;
        let selector = wire::DesktopSelector {
            desktop: named("desktops", "desktop", &self.desktop)?,
            labels: self.desktop_labels.into_iter().collect(),
        };
        let expectations = self
            .expected_texts
            .into_iter()
            .map(|text| wire::Expectation {
                expectation: Some(TextOnScreen(text)),
            });
        Ok(wire::Task {
            goal: self.goal,
            session,
            instructions: self.instructions,
            language: self.language,
            backends: self.backends,
            desktop_selector: Some(selector),
            labels: self.labels.into_iter().collect(),
            expectations: expectations.collect(),
            results: self.results,
            attachments: attachments(self.attachments)?,
            limits: Some(self.limits.into()),
            verify_clicks: self.verify_clicks,
            ..wire::Task::default()
        })
    }
}

impl From<NewLimits> for wire::Limits {
    fn from(limits: NewLimits) -> Self {
        let seconds = limits.max_duration_seconds;
        Self {
            max_steps: limits.max_steps,
            max_duration: (seconds > 0).then(|| Duration {
                seconds: seconds.into(),
                nanos: 0,
            }),
            max_tokens: limits.max_tokens,
            max_cost_micros_usd: limits.max_cost_micros_usd,
            ..Self::default()
        }
    }
}

/// Handlers, for the description of the interface.
pub(crate) mod description {
    pub(crate) use super::{
        __path_create_session, __path_create_task, __path_delete_session, __path_delete_task,
    };
}
