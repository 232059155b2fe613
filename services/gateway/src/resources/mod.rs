//! Resources over REST: tasks, steps, approvals, desktops, sessions and the policy.
//!
//! - `commands`: what may be done with them
//! - `lifecycle`: creation and deletion of tasks and sessions
//! - `json`: messages in the JSON form of the contracts
//! - `schema`: the same, described for OpenAPI
//!
//! Each response is that of a call, unchanged.

mod commands;
mod json;
mod lifecycle;
mod schema;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use motorium_proto::error::ErrorReport;
use motorium_proto::limits::MAX_PAGE_SIZE;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::{approval, task};
use serde::Deserialize;
use serde_json::Value;
use tonic::Code;
use utoipa::{IntoParams, ToSchema};

pub(crate) use commands::{
    approve, cancel_task, deny, drain_desktop, hand_back, pause_task, resume_task, send_message,
    take_over, undrain_desktop,
};
pub(crate) use lifecycle::{create_session, create_task, delete_session, delete_task};
pub(crate) use schema::ContractSchemas;

use crate::caller::Caller;
use crate::error::Error;
use crate::files::segment;
use crate::json::JsonBody;
use crate::path::Path;
use crate::query::Query;
use crate::upstream::{Client, Upstream};
use json::{listed, resource};

/// Reason of the Orchestrator for an approval that does not exist.
const APPROVAL_NOT_FOUND: &str = "APPROVAL_NOT_FOUND";
/// Every state of an approval.
const ALL_APPROVAL_STATES: [approval::State; 5] = [
    approval::State::Pending,
    approval::State::Approved,
    approval::State::Denied,
    approval::State::Expired,
    approval::State::Invalidated,
];

/// Maximum number of results. The calls cap higher numbers; here they are errors, as the description says.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(try_from = "u16")]
struct PageSize(u16);

impl TryFrom<u16> for PageSize {
    type Error = String;

    fn try_from(size: u16) -> Result<Self, String> {
        match i32::from(size) <= MAX_PAGE_SIZE {
            true => Ok(Self(size)),
            false => Err(format!("page_size: at most {MAX_PAGE_SIZE}")),
        }
    }
}

/// Page of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageQuery {
    /// Maximum number of results, up to 1000. 0 is the default of 50.
    #[serde(default)]
    #[param(value_type = u16, minimum = 0, maximum = 1000)]
    page_size: PageSize,
    /// `next_page_token` of the previous response. All other parameters must be unchanged.
    #[serde(default)]
    page_token: String,
}

/// Page of a list of tasks.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct TasksQuery {
    /// Maximum number of results, up to 1000. 0 is the default of 50.
    #[serde(default)]
    #[param(value_type = u16, minimum = 0, maximum = 1000)]
    page_size: PageSize,
    /// `next_page_token` of the previous response. All other parameters must be unchanged.
    #[serde(default)]
    page_token: String,
    /// Only tasks in this state.
    state: Option<TaskState>,
    /// Only tasks of this session: the last segment of its name.
    session: Option<String>,
}

/// Page of a list of approvals.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalsQuery {
    /// Maximum number of results, up to 1000. 0 is the default of 50.
    #[serde(default)]
    #[param(value_type = u16, minimum = 0, maximum = 1000)]
    page_size: PageSize,
    /// `next_page_token` of the previous response. All other parameters must be unchanged.
    #[serde(default)]
    page_token: String,
    /// Only approvals in this state. Pending ones by default.
    state: Option<ApprovalState>,
}

/// State of a task.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskState {
    Pending,
    Running,
    Paused,
    AwaitingUser,
    Succeeded,
    Failed,
    Cancelled,
}

impl From<TaskState> for task::State {
    fn from(state: TaskState) -> Self {
        match state {
            TaskState::Pending => Self::Pending,
            TaskState::Running => Self::Running,
            TaskState::Paused => Self::Paused,
            TaskState::AwaitingUser => Self::AwaitingUser,
            TaskState::Succeeded => Self::Succeeded,
            TaskState::Failed => Self::Failed,
            TaskState::Cancelled => Self::Cancelled,
        }
    }
}

/// State of an approval.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalState {
    Pending,
    Approved,
    Denied,
    Expired,
    Invalidated,
}

impl From<ApprovalState> for approval::State {
    fn from(state: ApprovalState) -> Self {
        match state {
            ApprovalState::Pending => Self::Pending,
            ApprovalState::Approved => Self::Approved,
            ApprovalState::Denied => Self::Denied,
            ApprovalState::Expired => Self::Expired,
            ApprovalState::Invalidated => Self::Invalidated,
        }
    }
}

type Answer = Result<Json<Value>, Error>;

/// Lists tasks, the newest first.
#[utoipa::path(get, path = "/api/v1/tasks", tag = "resources", params(TasksQuery), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.ListTasksResponse")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn list_tasks(
    Client(mut client): Client,
    Query(query): Query<TasksQuery>,
) -> Answer {
    let session = query.session.as_deref();
    let session = session.map(|session| segment("session", session));
    let session = session.transpose()?;
    let request = wire::ListTasksRequest {
        page_size: query.page_size.0.into(),
        page_token: query.page_token,
        states: query
            .state
            .map(task::State::from)
            .into_iter()
            .map(Into::into)
            .collect(),
        session: session.map_or_else(String::new, |session| format!("sessions/{session}")),
        ..Default::default()
    };
    let response = client.list_tasks(request).await?.into_inner();
    listed(&response, "ListTasksResponse", "tasks")
}

/// Returns a task.
#[utoipa::path(get, path = "/api/v1/tasks/{task}", tag = "resources",
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Task")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn get_task(Client(mut client): Client, Path(task): Path<String>) -> Answer {
    let name = format!("tasks/{}", segment("task", &task)?);
    let response = client.get_task(wire::GetTaskRequest { name }).await?;
    let task = response.into_inner().task.unwrap_or_default();
    resource(&task, "motorium.orchestrator.v1.Task")
}

/// Lists the steps of a task, the oldest first.
#[utoipa::path(get, path = "/api/v1/tasks/{task}/steps", tag = "resources",
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), PageQuery), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.ListStepsResponse")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn list_steps(
    Client(mut client): Client,
    Path(task): Path<String>,
    Query(query): Query<PageQuery>,
) -> Answer {
    let request = wire::ListStepsRequest {
        parent: format!("tasks/{}", segment("task", &task)?),
        page_size: query.page_size.0.into(),
        page_token: query.page_token,
    };
    let response = client.list_steps(request).await?.into_inner();
    listed(&response, "ListStepsResponse", "steps")
}

/// Lists the approvals of a task.
#[utoipa::path(get, path = "/api/v1/tasks/{task}/approvals", tag = "resources",
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ApprovalsQuery), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.ListApprovalsResponse")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn list_approvals_of_task(
    Client(client): Client,
    Path(task): Path<String>,
    Query(query): Query<ApprovalsQuery>,
) -> Answer {
    approvals(client, segment("task", &task)?, query).await
}

/// Lists the approvals of all tasks.
#[utoipa::path(get, path = "/api/v1/approvals", tag = "resources", params(ApprovalsQuery), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.ListApprovalsResponse")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn list_approvals(
    Client(client): Client,
    Query(query): Query<ApprovalsQuery>,
) -> Answer {
    approvals(client, "-", query).await
}

async fn approvals(
    mut client: crate::upstream::OrchestratorClient,
    task: &str,
    query: ApprovalsQuery,
) -> Answer {
    let state = query.state.map(approval::State::from);
    let request = wire::ListApprovalsRequest {
        parent: format!("tasks/{task}"),
        page_size: query.page_size.0.into(),
        page_token: query.page_token,
        states: state.into_iter().map(Into::into).collect(),
    };
    let response = client.list_approvals(request).await?.into_inner();
    listed(&response, "ListApprovalsResponse", "approvals")
}

/// Returns an approval of a task, in whatever state it is.
#[utoipa::path(get, path = "/api/v1/tasks/{task}/approvals/{approval}", tag = "resources",
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("approval" = String, Path, pattern = "^[A-Za-z0-9_-]+$")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Approval")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn get_approval(
    Client(mut client): Client,
    Path((task, approval)): Path<(String, String)>,
) -> Answer {
    let parent = format!("tasks/{}", segment("task", &task)?);
    let name = format!("{parent}/approvals/{}", segment("approval", &approval)?);
    let mut request = wire::ListApprovalsRequest {
        parent,
        page_size: MAX_PAGE_SIZE,
        states: ALL_APPROVAL_STATES.map(Into::into).to_vec(),
        ..Default::default()
    };
    loop {
        let response = client.list_approvals(request.clone()).await?.into_inner();
        if let Some(found) = response.approvals.iter().find(|one| one.name == name) {
            return resource(found, "motorium.orchestrator.v1.Approval");
        }
        if response.next_page_token.is_empty() {
            let text =
                format!("there is no approval `{name}`; ListApprovals lists those of a task");
            return Err(ErrorReport::new(Code::NotFound, APPROVAL_NOT_FOUND, text).into());
        }
        request.page_token = response.next_page_token;
    }
}

/// Lists the desktops of the pool.
#[utoipa::path(get, path = "/api/v1/desktops", tag = "resources", params(PageQuery), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.ListDesktopsResponse")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn list_desktops(
    Client(mut client): Client,
    Query(query): Query<PageQuery>,
) -> Answer {
    let request = wire::ListDesktopsRequest {
        page_size: query.page_size.0.into(),
        page_token: query.page_token,
        ..Default::default()
    };
    let response = client.list_desktops(request).await?.into_inner();
    listed(&response, "ListDesktopsResponse", "desktops")
}

/// Returns a desktop of the pool.
#[utoipa::path(get, path = "/api/v1/desktops/{desktop}", tag = "resources",
    params(("desktop" = String, Path, pattern = "^[A-Za-z0-9_-]+$")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.common.v1.Desktop")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn get_desktop(
    State(upstream): State<Arc<Upstream>>,
    Extension(caller): Extension<Caller>,
    Path(desktop): Path<String>,
) -> Answer {
    let desktop = segment("desktop", &desktop)?;
    let found = upstream.get_desktop(&caller, desktop).await?;
    resource(&found, "motorium.common.v1.Desktop")
}

/// Lists the sessions, the newest first.
#[utoipa::path(get, path = "/api/v1/sessions", tag = "resources", params(PageQuery), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.ListSessionsResponse")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn list_sessions(
    Client(mut client): Client,
    Query(query): Query<PageQuery>,
) -> Answer {
    let request = wire::ListSessionsRequest {
        page_size: query.page_size.0.into(),
        page_token: query.page_token,
    };
    let response = client.list_sessions(request).await?.into_inner();
    listed(&response, "ListSessionsResponse", "sessions")
}

/// Returns a session.
#[utoipa::path(get, path = "/api/v1/sessions/{session}", tag = "resources",
    params(("session" = String, Path, pattern = "^[A-Za-z0-9_-]+$")), responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Session")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn get_session(Client(mut client): Client, Path(session): Path<String>) -> Answer {
    let name = format!("sessions/{}", segment("session", &session)?);
    let response = client.get_session(wire::GetSessionRequest { name }).await?;
    let session = response.into_inner().session.unwrap_or_default();
    resource(&session, "motorium.orchestrator.v1.Session")
}

/// Returns the policy that decides about the actions of tasks.
#[utoipa::path(get, path = "/api/v1/policy", tag = "resources", responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.Policy")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn get_policy(Client(mut client): Client) -> Answer {
    let response = client.get_policy(wire::GetPolicyRequest {}).await?;
    let policy = response.into_inner().policy.unwrap_or_default();
    resource(&policy, "motorium.orchestrator.v1.Policy")
}

/// Steps to judge.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyTest {
    /// One or more steps in English or Chinese, such as `click "Pay now"`.
    sentence: String,
    /// Name of the program in whose window the steps are.
    #[serde(default)]
    application: String,
    #[serde(default)]
    window_title: String,
    #[serde(default)]
    url: String,
    /// Texts around what the steps act on.
    #[serde(default)]
    surrounding_texts: Vec<String>,
}

/// Judges described steps by the active policy. Nothing is performed.
#[utoipa::path(post, path = "/api/v1/policy/test", tag = "resources", request_body = PolicyTest, responses(
    (status = 200, body = ref("#/components/schemas/motorium.orchestrator.v1.TestPolicyResponse")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn test_policy(
    Client(mut client): Client,
    JsonBody(body): JsonBody<PolicyTest>,
) -> Answer {
    let request = wire::TestPolicyRequest {
        sentence: body.sentence,
        application: body.application,
        window_title: body.window_title,
        url: body.url,
        surrounding_texts: body.surrounding_texts,
    };
    let response = client.test_policy(request).await?.into_inner();
    listed(&response, "TestPolicyResponse", "trials")
}

/// Handlers, for the description of the interface.
pub(crate) mod description {
    pub(crate) use super::commands::description::*;
    pub(crate) use super::lifecycle::description::*;
    pub(crate) use super::{
        __path_get_approval, __path_get_desktop, __path_get_policy, __path_get_session,
        __path_get_task, __path_list_approvals, __path_list_approvals_of_task,
        __path_list_desktops, __path_list_sessions, __path_list_steps, __path_list_tasks,
        __path_test_policy,
    };
}
