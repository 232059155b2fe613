//! Commands over REST: what the buttons of the page do, for programs that have only HTTP.
//!
//! Each is one call of the Orchestrator, made with the token of its caller: who may do what, the services decide. The body is JSON, also
//! where it is empty: a page of another site cannot send that content type without asking.

use std::sync::Arc;

use axum::extract::{Extension, State};
use http::HeaderMap;
use motorium_proto::v1::common::Desktop;
use motorium_proto::v1::orchestrator as wire;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Answer;
use super::json::resource;
use crate::caller::Caller;
use crate::chat::request_id;
use crate::error::Error;
use crate::files::segment;
use crate::json::JsonBody;
use crate::path::Path;
use crate::upstream::{Client, Upstream};

pub(super) const TASK: &str = "motorium.orchestrator.v1.Task";

/// A command without parameters: `{}`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {}

/// Stops a task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelCommand {
    /// Reason, for people. Optional.
    #[serde(default)]
    reason: String,
}

/// Hands a desktop back, or decides an approval.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandWithMessage {
    /// Message for the agent. Optional.
    #[serde(default)]
    message: String,
}

/// Sends a message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageCommand {
    /// Text of the message.
    text: String,
}

/// Stops a task.
#[utoipa::path(post, path = "/api/v1/tasks/{task}/cancel", tag = "resources", request_body = CancelCommand,
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Task")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn cancel_task(
    Client(mut client): Client,
    Path(task): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<CancelCommand>,
) -> Answer {
    let request = wire::CancelTaskRequest {
        name: task_name(&task)?,
        request_id: request_id(&headers)?,
        reason: body.reason,
    };
    let response = client.cancel_task(request).await?.into_inner();
    resource(&response.task.unwrap_or_default(), TASK)
}

/// Pauses a task.
#[utoipa::path(post, path = "/api/v1/tasks/{task}/pause", tag = "resources", request_body = Command,
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Task")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn pause_task(
    Client(mut client): Client,
    Path(task): Path<String>,
    headers: HeaderMap,
    JsonBody(_): JsonBody<Command>,
) -> Answer {
    let request = wire::PauseTaskRequest {
        name: task_name(&task)?,
        request_id: request_id(&headers)?,
    };
    let response = client.pause_task(request).await?.into_inner();
    resource(&response.task.unwrap_or_default(), TASK)
}

/// Resumes a paused task.
#[utoipa::path(post, path = "/api/v1/tasks/{task}/resume", tag = "resources", request_body = Command,
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Task")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn resume_task(
    Client(mut client): Client,
    Path(task): Path<String>,
    headers: HeaderMap,
    JsonBody(_): JsonBody<Command>,
) -> Answer {
    let request = wire::ResumeTaskRequest {
        name: task_name(&task)?,
        request_id: request_id(&headers)?,
    };
    let response = client.resume_task(request).await?.into_inner();
    resource(&response.task.unwrap_or_default(), TASK)
}

/// Takes the desktop over from the agent.
#[utoipa::path(post, path = "/api/v1/tasks/{task}/take-over", tag = "resources", request_body = Command,
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Task")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn take_over(
    Client(mut client): Client,
    Path(task): Path<String>,
    headers: HeaderMap,
    JsonBody(_): JsonBody<Command>,
) -> Answer {
    let request = wire::TakeOverRequest {
        name: task_name(&task)?,
        request_id: request_id(&headers)?,
        user: String::new(),
    };
    let response = client.take_over(request).await?.into_inner();
    resource(&response.task.unwrap_or_default(), TASK)
}

/// Hands the desktop back to the agent.
#[utoipa::path(post, path = "/api/v1/tasks/{task}/hand-back", tag = "resources", request_body = CommandWithMessage,
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Task")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn hand_back(
    Client(mut client): Client,
    Path(task): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<CommandWithMessage>,
) -> Answer {
    let request = wire::HandBackRequest {
        name: task_name(&task)?,
        request_id: request_id(&headers)?,
        message: body.message,
    };
    let response = client.hand_back(request).await?.into_inner();
    resource(&response.task.unwrap_or_default(), TASK)
}

/// Sends a message to a task. A task that waits for an answer takes it for that.
#[utoipa::path(post, path = "/api/v1/tasks/{task}/messages", tag = "resources", request_body = MessageCommand,
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Task")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn send_message(
    Client(mut client): Client,
    Path(task): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<MessageCommand>,
) -> Answer {
    let request = wire::SendMessageRequest {
        name: task_name(&task)?,
        request_id: request_id(&headers)?,
        text: body.text,
        ..wire::SendMessageRequest::default()
    };
    let response = client.send_message(request).await?.into_inner();
    resource(&response.task.unwrap_or_default(), TASK)
}

/// Approves an action.
#[utoipa::path(post, path = "/api/v1/tasks/{task}/approvals/{approval}/approve", tag = "resources", request_body = CommandWithMessage,
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("approval" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Approval")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn approve(
    client: Client,
    Path(approval): Path<(String, String)>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<CommandWithMessage>,
) -> Answer {
    resolve(client, &approval, true, body.message, request_id(&headers)?).await
}

/// Denies an action. The message is for the agent.
#[utoipa::path(post, path = "/api/v1/tasks/{task}/approvals/{approval}/deny", tag = "resources", request_body = CommandWithMessage,
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("approval" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Approval")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn deny(
    client: Client,
    Path(approval): Path<(String, String)>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<CommandWithMessage>,
) -> Answer {
    resolve(
        client,
        &approval,
        false,
        body.message,
        request_id(&headers)?,
    )
    .await
}

async fn resolve(
    Client(mut client): Client,
    (task, approval): &(String, String),
    approve: bool,
    message: String,
    request_id: String,
) -> Answer {
    let approval = segment("approval", approval)?;
    let request = wire::ResolveApprovalRequest {
        name: format!("{}/approvals/{approval}", task_name(task)?),
        approve,
        message,
        request_id,
        ..wire::ResolveApprovalRequest::default()
    };
    let response = client.resolve_approval(request).await?.into_inner();
    let approval = response.approval.unwrap_or_default();
    resource(&approval, "motorium.orchestrator.v1.Approval")
}

/// Drains a desktop: it finishes its task and receives no other.
#[utoipa::path(post, path = "/api/v1/desktops/{desktop}/drain", tag = "resources", request_body = Command,
    params(("desktop" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.common.v1.Desktop")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn drain_desktop(
    Client(mut client): Client,
    Path(desktop): Path<String>,
    headers: HeaderMap,
    JsonBody(_): JsonBody<Command>,
) -> Answer {
    let request = wire::DrainDesktopRequest {
        name: format!("desktops/{}", segment("desktop", &desktop)?),
        request_id: request_id(&headers)?,
    };
    let response = client.drain_desktop(request).await?.into_inner();
    let desktop = response.desktop.unwrap_or_default();
    resource(&desktop, "motorium.common.v1.Desktop")
}

/// Ends the drain of a desktop: it receives tasks again.
#[utoipa::path(post, path = "/api/v1/desktops/{desktop}/undrain", tag = "resources", request_body = Command,
    params(("desktop" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("Idempotency-Key" = Option<String>, Header, description = "Key that makes the request repeatable for 24 hours.")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.common.v1.Desktop")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn undrain_desktop(
    State(upstream): State<Arc<Upstream>>,
    Extension(caller): Extension<Caller>,
    Path(desktop): Path<String>,
    headers: HeaderMap,
    JsonBody(_): JsonBody<Command>,
) -> Answer {
    let name = format!("desktops/{}", segment("desktop", &desktop)?);
    let listed = upstream.list_desktops(&caller).await?;
    let known = listed.into_iter().find(|one| one.name == name);
    let known = known.ok_or(Error::DesktopNotFound { name })?;
    let request = wire::RegisterDesktopRequest {
        desktop: Some(as_registered(known)),
        request_id: request_id(&headers)?,
    };
    let mut client = upstream.orchestrator(&caller)?;
    let response = client.register_desktop(request).await?.into_inner();
    let desktop = response.desktop.unwrap_or_default();
    resource(&desktop, "motorium.common.v1.Desktop")
}

/// Returns a desktop as it is registered, without its state: registered unchanged, its drain ends, and a repeated request has the
/// same content.
fn as_registered(desktop: Desktop) -> Desktop {
    Desktop {
        name: desktop.name,
        perception_endpoint: desktop.perception_endpoint,
        executor_endpoint: desktop.executor_endpoint,
        display: desktop.display,
        platform: desktop.platform,
        labels: desktop.labels,
        tenants: desktop.tenants,
        ..Desktop::default()
    }
}

pub(super) fn task_name(task: &str) -> Result<String, Error> {
    Ok(format!("tasks/{}", segment("task", task)?))
}

/// Handlers, for the description of the interface.
pub(crate) mod description {
    pub(crate) use super::{
        __path_approve, __path_cancel_task, __path_deny, __path_drain_desktop, __path_hand_back,
        __path_pause_task, __path_resume_task, __path_send_message, __path_take_over,
        __path_undrain_desktop,
    };
}
