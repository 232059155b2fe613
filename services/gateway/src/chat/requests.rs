//! Messages to a session: send, stop, acknowledge.
//!
//! The state of the session decides if a message is the answer to a task; its words are not read.

use axum::Json;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use motorium_messages::{Language, Message};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State as TaskState;
use motorium_proto::v1::orchestrator::user_request::Kind as RequestKind;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tonic::{Code, Status};
use utoipa::ToSchema;
use uuid::Uuid;

use super::narration::segment;
use crate::error::Error;
use crate::json::JsonBody;
use crate::upstream::{Client, OrchestratorClient};

/// Reason of the Orchestrator for a key that was used for another request.
const REQUEST_ID_REUSED: &str = "REQUEST_ID_REUSED";
/// Number of tasks of a session among which the one is looked for that a repeated message answered.
// A client repeats a message within seconds, and a session has its tasks one after the other.
const RECENT_TASKS: i32 = 20;
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
    /// Names of the files that a new task hands back, such as `report.pdf`. Not for the answer to a task that waits.
    #[serde(default)]
    results: Vec<String>,
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
#[utoipa::path(post, path = "/api/chat/send", tag = "chat", request_body = SendRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")),
    responses((status = 200, body = SendResponse),
    (status = 400, description = "INVALID_FIELD", body = ref("#/components/schemas/Error")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn send(
    Client(mut client): Client,
    headers: HeaderMap,
    JsonBody(request): JsonBody<SendRequest>,
) -> Result<Json<SendResponse>, Error> {
    let session = session_name(&request.session_id)?;
    let attachments = attachments(request.attachments)?;
    let message = ChatMessage {
        session,
        text: request.text,
        attachments,
        results: request.results,
        request_id: request_id(&headers)?,
    };
    ensure_session(&mut client, &message.session).await?;
    let task = message.deliver(&mut client).await?;
    let task_id = segment(&task.name);
    Ok(Json(SendResponse { task_id }))
}

/// A message to a session, which answers a task or becomes one.
struct ChatMessage {
    session: String,
    text: String,
    attachments: Vec<wire::Attachment>,
    results: Vec<String>,
    request_id: String,
}

impl ChatMessage {
    /// Delivers the message once.
    ///
    /// The state of the session decides between an answer and a new task, and the first delivery changes it. A repeated one that
    /// decides otherwise is refused by its key, and then repeats what the first one did.
    async fn deliver(&self, client: &mut OrchestratorClient) -> Result<wire::Task, Status> {
        let waiting = waiting_task(client, &self.session).await?;
        let delivered = match &waiting {
            Some(task) => self.answer(client, task).await,
            None => self.create(client).await,
        };
        let refused = match delivered {
            Err(status) if is_reused(&status) && !self.request_id.is_empty() => status,
            delivered => return delivered,
        };
        if waiting.is_some() {
            match self.create(client).await {
                Err(status) if is_reused(&status) => {}
                created => return created,
            }
        }
        for task in recent_tasks(client, &self.session).await? {
            match self.answer(client, &task).await {
                Err(status) if is_reused(&status) => {}
                answered => return answered,
            }
        }
        // The key was used for another message.
        Err(refused)
    }

    async fn answer(
        &self,
        client: &mut OrchestratorClient,
        task: &str,
    ) -> Result<wire::Task, Status> {
        let request = wire::SendMessageRequest {
            name: task.to_owned(),
            text: self.text.clone(),
            request_id: self.request_id.clone(),
            attachments: self.attachments.clone(),
            ..wire::SendMessageRequest::default()
        };
        let response = client.send_message(request).await?;
        Ok(response.into_inner().task.unwrap_or_default())
    }

    async fn create(&self, client: &mut OrchestratorClient) -> Result<wire::Task, Status> {
        let task = wire::Task {
            session: self.session.clone(),
            goal: self.text.clone(),
            attachments: self.attachments.clone(),
            results: self.results.clone(),
            ..wire::Task::default()
        };
        let request = wire::CreateTaskRequest {
            task: Some(task),
            request_id: self.request_id.clone(),
            ..Default::default()
        };
        let response = client.create_task(request).await?;
        Ok(response.into_inner().task.unwrap_or_default())
    }
}

/// Returns true if the key of a request was used for another one.
fn is_reused(status: &Status) -> bool {
    ErrorReport::from_status(status).reason == REQUEST_ID_REUSED
}

/// Stops a task.
#[utoipa::path(post, path = "/api/chat/stop", tag = "chat", request_body = TaskRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")),
    responses((status = 200, body = Done),
    (status = 404, description = "TASK_NOT_FOUND", body = ref("#/components/schemas/Error")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn stop(
    Client(mut client): Client,
    headers: HeaderMap,
    JsonBody(request): JsonBody<TaskRequest>,
) -> Result<Json<Done>, Error> {
    let request = wire::CancelTaskRequest {
        name: task_name(&request.task_id),
        request_id: request_id(&headers)?,
        ..Default::default()
    };
    client.cancel_task(request).await?;
    Ok(Json(Done {}))
}

/// Says that the requested action is done, in the words of the button.
#[utoipa::path(post, path = "/api/chat/ack-user-action", tag = "chat", request_body = TaskRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")),
    responses((status = 200, body = Done),
    (status = 400, description = "WRONG_STATE", body = ref("#/components/schemas/Error")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn acknowledge(
    Client(mut client): Client,
    headers: HeaderMap,
    JsonBody(request): JsonBody<TaskRequest>,
) -> Result<Json<Done>, Error> {
    let name = task_name(&request.task_id);
    let task = client.get_task(wire::GetTaskRequest { name: name.clone() });
    let task = task.await?.into_inner().task.unwrap_or_default();
    let language = Language::of(Some(&task.language), &task.goal);
    let request = wire::AcknowledgeUserActionRequest {
        name,
        message: Message::Acknowledged.text(language),
        request_id: request_id(&headers)?,
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
) -> Result<Option<String>, Status> {
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

/// Returns the newest tasks of a session.
async fn recent_tasks(
    client: &mut OrchestratorClient,
    session: &str,
) -> Result<Vec<String>, Status> {
    let request = wire::ListTasksRequest {
        page_size: RECENT_TASKS,
        session: session.to_owned(),
        ..Default::default()
    };
    let listed = client.list_tasks(request).await?.into_inner();
    Ok(listed.tasks.into_iter().map(|task| task.name).collect())
}

/// Converts files of a message.
pub(crate) fn attachments(files: Vec<ChatAttachment>) -> Result<Vec<wire::Attachment>, Error> {
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

/// Returns the key with which a client marks a repeated request, as the UUID that the Orchestrator takes.
///
/// # Errors
/// If the header is there and empty: the client expects a protection that it would not have.
pub(crate) fn request_id(headers: &HeaderMap) -> Result<String, Error> {
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(String::new());
    };
    let key = key.as_bytes().trim_ascii();
    if key.is_empty() {
        return Err(Error::field("idempotency-key", "is empty; send a UUID"));
    }
    let text = std::str::from_utf8(key).ok();
    if let Some(id) = text.and_then(|text| Uuid::parse_str(text).ok()) {
        return Ok(id.to_string());
    }
    let hash = Sha256::digest(key);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    Ok(uuid::Builder::from_custom_bytes(bytes)
        .into_uuid()
        .to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_key_marks_a_repeated_request() {
        let id = |key: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert("idempotency-key", key.try_into().unwrap());
            request_id(&headers)
        };
        let uuid = "0199c4ee-0000-7000-8000-000000000001";
        assert_eq!(id(uuid.as_bytes()).unwrap(), uuid);
        assert_eq!(id(uuid.to_uppercase().as_bytes()).unwrap(), uuid);
        let (one, other) = (id(b"order-1").unwrap(), id(b"order-2").unwrap());
        assert!(Uuid::parse_str(&one).is_ok() && one != other);
        assert_eq!(id(b"order-1").unwrap(), one);
        assert!(Uuid::parse_str(&id("\u{8ba2}".as_bytes()).unwrap()).is_ok());
        assert!(id(b" ").is_err());
        assert_eq!(request_id(&HeaderMap::new()).unwrap(), "");
    }

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
