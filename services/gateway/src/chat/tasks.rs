//! Tasks without a session: create one and look at it.
//!
//! A task with more than a thousand steps is returned with the first thousand.

use axum::Json;
use http::{HeaderMap, StatusCode};
use motorium_proto::limits::MAX_PAGE_SIZE;
use motorium_proto::v1::orchestrator as wire;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::narration::{ChatStatus, segment};
use super::requests::{ChatAttachment, attachments, request_id, task_name};
use crate::error::Error;
use crate::json::JsonBody;
use crate::path::Path;
use crate::time::rfc3339_of;
use crate::upstream::Client;

/// A task to create.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CreateTask {
    /// Goal of the task. `task` and `goal` are other names of this field.
    #[serde(alias = "task", alias = "goal")]
    instruction: String,
    /// Maximum number of steps.
    #[serde(default)]
    max_steps: u32,
    #[serde(default)]
    attachments: Vec<ChatAttachment>,
    /// Names of the files that the task hands back, such as `report.pdf`.
    #[serde(default)]
    results: Vec<String>,
}

/// A created task.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedTask {
    task_id: String,
    status: ChatStatus,
}

/// A task.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskInfo {
    task_id: String,
    status: ChatStatus,
    instruction: String,
    /// Answer for the user, once the task has ended.
    #[serde(skip_serializing_if = "String::is_empty")]
    result: String,
    /// Failure, once the task has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<TaskError>,
    /// Question or request, while the task waits for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_request: Option<String>,
    /// Files that the task handed back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileInfo>,
    steps: Vec<StepInfo>,
    created_at: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    ended_at: String,
}

/// Failure of a task.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskError {
    reason: String,
    message: String,
}

/// A step of a task.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StepInfo {
    index: u32,
    text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    outcome: String,
    /// Path of the screenshot before the step.
    #[serde(skip_serializing_if = "String::is_empty")]
    screenshot_url: String,
}

/// A file that a task handed back.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileInfo {
    name: String,
    /// Path of the content. Absent if the file could not be fetched.
    #[serde(skip_serializing_if = "String::is_empty")]
    url: String,
    /// Reason why it could not be fetched.
    #[serde(skip_serializing_if = "String::is_empty")]
    error: String,
}

/// Creates a task.
#[utoipa::path(post, path = "/task", tag = "chat", request_body = CreateTask,
    params(("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")),
    responses((status = 201, body = CreatedTask),
    (status = 400, description = "INVALID_FIELD", body = ref("#/components/schemas/Error")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn create(
    Client(mut client): Client,
    headers: HeaderMap,
    JsonBody(request): JsonBody<CreateTask>,
) -> Result<(StatusCode, Json<CreatedTask>), Error> {
    let limits = wire::Limits {
        max_steps: request.max_steps,
        ..wire::Limits::default()
    };
    let task = wire::Task {
        goal: request.instruction,
        limits: (request.max_steps > 0).then_some(limits),
        attachments: attachments(request.attachments)?,
        results: request.results,
        ..wire::Task::default()
    };
    let request = wire::CreateTaskRequest {
        task: Some(task),
        request_id: request_id(&headers)?,
        ..Default::default()
    };
    let created = client.create_task(request).await?;
    let task = created.into_inner().task.unwrap_or_default();
    let created = CreatedTask {
        task_id: segment(&task.name),
        status: task.state().into(),
    };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Returns a task with its steps.
#[utoipa::path(get, path = "/task/{id}", tag = "chat", params(("id" = String, Path, pattern = "^[A-Za-z0-9_-]+$")),
    responses((status = 200, body = TaskInfo),
    (status = 404, description = "TASK_NOT_FOUND", body = ref("#/components/schemas/Error")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn get(
    Client(mut client): Client,
    Path(id): Path<String>,
) -> Result<Json<TaskInfo>, Error> {
    let name = task_name(&id);
    let task = client.get_task(wire::GetTaskRequest { name: name.clone() });
    let task = task.await?.into_inner().task.unwrap_or_default();
    let request = wire::ListStepsRequest {
        parent: name,
        page_size: MAX_PAGE_SIZE,
        page_token: String::new(),
    };
    let steps = client.list_steps(request).await?.into_inner().steps;
    let failure = task.failure.clone().map(|failure| TaskError {
        reason: failure.reason,
        message: failure.message,
    });
    Ok(Json(TaskInfo {
        task_id: segment(&task.name),
        status: task.state().into(),
        instruction: task.goal,
        result: task.answer,
        error: failure,
        user_request: task.user_request.map(|request| request.message),
        files: task.result_files.into_iter().map(file).collect(),
        steps: steps.into_iter().map(step).collect(),
        created_at: rfc3339_of(task.create_time.as_ref()),
        ended_at: rfc3339_of(task.end_time.as_ref()),
    }))
}

fn file(file: wire::ResultFile) -> FileInfo {
    let url = file
        .artifact
        .map(|artifact| format!("/api/artifacts/{}", artifact.name));
    FileInfo {
        name: file.name,
        url: url.unwrap_or_default(),
        error: file.error,
    }
}

fn step(step: wire::Step) -> StepInfo {
    let screenshot_url = match step.frame_before.as_str() {
        "" => String::new(),
        name => format!("/api/artifacts/{name}"),
    };
    StepInfo {
        index: step.number,
        text: step.progress,
        outcome: step.outcome,
        screenshot_url,
    }
}
