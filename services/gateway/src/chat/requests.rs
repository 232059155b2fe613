//! Messages to a session: send, stop, acknowledge.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use motorium_messages::{Language, Message};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State as TaskState;
use motorium_proto::v1::orchestrator::user_request::Kind as RequestKind;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tonic::Code;
use utoipa::ToSchema;

use super::narration::segment;
use crate::caller::Caller;
use crate::error::Error;
use crate::json::JsonBody;
use crate::upstream::{OrchestratorClient, Upstream};

/// Maximum number of characters of a session's name.
const MAX_SEGMENT: usize = 63;

/// A message to a session.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SendRequest {
    /// Session. It is created with the first message.
    session_id: String,
    /// Text of the message.
    text: String,
    #[serde(default)]
    attachments: Vec<ChatAttachment>,
}

/// A file of a message.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ChatAttachment {
    /// File name.
    name: String,
    /// Content in Base64, at most 1 MiB.
    #[serde(default)]
    data: Option<String>,
    /// Name of an upload, as `/api/uploads` returned it, instead of the content.
    #[serde(default)]
    upload: Option<String>,
}

/// The task that a message belongs to.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SendResponse {
    task_id: String,
}

/// Names a task.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TaskRequest {
    task_id: String,
}

/// An empty response.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Done {}

/// Sends a message to a session: the answer to a task that waits for one, or else a new task.
#[utoipa::path(post, path = "/api/chat/send", request_body = SendRequest,
    responses((status = 200, body = SendResponse), (status = 400, description = "INVALID_FIELD")))]
pub(crate) async fn send(
    State(upstream): State<Arc<Upstream>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<SendRequest>,
) -> Result<Json<SendResponse>, Error> {
    let session = session_name(&request.session_id)?;
    let attachments = attachments(request.attachments)?;
    let request_id = request_id(&headers);
    let mut client = upstream.orchestrator(&caller)?;
    ensure_session(&mut client, &session).await?;
    let task = match waiting_task(&mut client, &session).await? {
        Some(name) => {
            let request = wire::SendMessageRequest {
                name,
                text: request.text,
                request_id,
                attachments,
            };
            client.send_message(request).await?.into_inner().task
        }
        None => {
            let task = wire::Task {
                session,
                goal: request.text,
                attachments,
                ..wire::Task::default()
            };
            let request = wire::CreateTaskRequest {
                task: Some(task),
                request_id,
                ..Default::default()
            };
            client.create_task(request).await?.into_inner().task
        }
    };
    let task_id = segment(&task.unwrap_or_default().name);
    Ok(Json(SendResponse { task_id }))
}

/// Stops a task.
#[utoipa::path(post, path = "/api/chat/stop", request_body = TaskRequest,
    responses((status = 200, body = Done), (status = 404, description = "TASK_NOT_FOUND")))]
pub(crate) async fn stop(
    State(upstream): State<Arc<Upstream>>,
    Extension(caller): Extension<Caller>,
    JsonBody(request): JsonBody<TaskRequest>,
) -> Result<Json<Done>, Error> {
    let request = wire::CancelTaskRequest {
        name: task_name(&request.task_id),
        ..Default::default()
    };
    upstream.orchestrator(&caller)?.cancel_task(request).await?;
    Ok(Json(Done {}))
}

/// Says that the requested action is done, in the words of the button.
#[utoipa::path(post, path = "/api/chat/ack-user-action", request_body = TaskRequest,
    responses((status = 200, body = Done), (status = 400, description = "WRONG_STATE")))]
pub(crate) async fn acknowledge(
    State(upstream): State<Arc<Upstream>>,
    Extension(caller): Extension<Caller>,
    JsonBody(request): JsonBody<TaskRequest>,
) -> Result<Json<Done>, Error> {
    let name = task_name(&request.task_id);
    let mut client = upstream.orchestrator(&caller)?;
    let task = client.get_task(wire::GetTaskRequest { name: name.clone() });
    let task = task.await?.into_inner().task.unwrap_or_default();
    let language = Language::of(Some(&task.language), &task.goal);
    let request = wire::AcknowledgeUserActionRequest {
        name,
        message: Message::Acknowledged.text(language),
        ..Default::default()
    };
    client.acknowledge_user_action(request).await?;
    Ok(Json(Done {}))
}

/// Returns the resource name of a session. An identifier that cannot be in a name stands for a name made of its hash.
pub(super) fn session_name(id: &str) -> Result<String, Error> {
    if id.is_empty() {
        return Err(Error::field("session_id", "is missing"));
    }
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_segment = id.len() <= MAX_SEGMENT
        && id.chars().all(is_plain)
        && !id.starts_with('-')
        && !id.ends_with('-');
    if is_segment {
        return Ok(format!("sessions/{id}"));
    }
    let hash = Sha256::digest(id.as_bytes());
    let hex: String = hash
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(format!("sessions/chat-{hex}"))
}

/// Returns the resource name of a task.
pub(super) fn task_name(id: &str) -> String {
    match id.starts_with("tasks/") {
        true => id.to_owned(),
        false => format!("tasks/{id}"),
    }
}

/// Creates a session unless it exists.
pub(super) async fn ensure_session(
    client: &mut OrchestratorClient,
    session: &str,
) -> Result<(), Error> {
    let request = wire::CreateSessionRequest {
        session_id: segment(session),
        ..Default::default()
    };
    match client.create_session(request).await {
        Err(status) if status.code() != Code::AlreadyExists => Err(status.into()),
        _ => Ok(()),
    }
}

/// Returns the task of a session that waits for words of the user.
async fn waiting_task(
    client: &mut OrchestratorClient,
    session: &str,
) -> Result<Option<String>, Error> {
    let request = wire::ListTasksRequest {
        page_size: 1,
        session: session.to_owned(),
        states: vec![TaskState::AwaitingUser.into()],
        ..Default::default()
    };
    let mut tasks = client.list_tasks(request).await?.into_inner().tasks;
    let task = tasks.pop().filter(|task| {
        let kind = task.user_request.as_ref().map(wire::UserRequest::kind);
        matches!(
            kind,
            Some(RequestKind::Question | RequestKind::ManualAction)
        )
    });
    Ok(task.map(|task| task.name))
}

/// Converts files of a message.
pub(super) fn attachments(files: Vec<ChatAttachment>) -> Result<Vec<wire::Attachment>, Error> {
    files.into_iter().map(attachment).collect()
}

fn attachment(file: ChatAttachment) -> Result<wire::Attachment, Error> {
    let data = file.data.map(|data| STANDARD.decode(data)).transpose();
    let data = data.map_err(|_| Error::field("attachments.data", "is not Base64"))?;
    Ok(wire::Attachment {
        name: file.name,
        data: data.unwrap_or_default().into(),
        upload: file.upload.unwrap_or_default(),
    })
}

/// Returns the key with which a client marks a repeated request.
pub(super) fn request_id(headers: &HeaderMap) -> String {
    let key = headers.get("idempotency-key");
    let key = key.and_then(|key| key.to_str().ok());
    key.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_identifier_names_a_session() {
        assert_eq!(session_name("chat-1").unwrap(), "sessions/chat-1");
        for id in ["Chat 1", "../x", "会话", "-a", &"a".repeat(64)] {
            let name = session_name(id).unwrap();
            let segment = name.strip_prefix("sessions/chat-").unwrap();
            assert!(segment.len() == 32 && segment.chars().all(|c| c.is_ascii_hexdigit()));
            assert_eq!(session_name(id).unwrap(), name);
        }
        assert!(session_name("").is_err());
    }
}
