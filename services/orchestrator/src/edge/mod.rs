//! gRPC service of the Orchestrator.
//!
//! User commands are events too: they are appended to the task's log without its lease, and the notifier tells the
//! task's runner. The edge reads and appends; it never acts.
//!
//! Invariant: a call reaches only what its principal may use ([`mod@ownership`]).

mod approvals;
mod artifacts;
mod audited;
mod call_slots;
mod commands;
mod deletion;
mod desktops;
mod exports;
mod operate;
mod ownership;
mod policy;
mod policy_trial;
mod screen;
mod session_watch;
mod sessions;
mod trajectory;
mod uploads;
mod watch;
mod watch_slots;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::Stream;
use futures::future::BoxFuture;
use motorium_kit::server::HealthCheck;
use motorium_kit::shutdown::Shutdown;
use motorium_proto::domain::id::{SessionName, TaskName};
use motorium_proto::error::FieldError;
use motorium_proto::limits::{DEFAULT_PAGE_SIZE, MAX_MESSAGE_BYTES, MAX_PAGE_BYTES, MAX_PAGE_SIZE};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_server::{
    OrchestratorService, OrchestratorServiceServer,
};
use motorium_store::audit::AuditLog;
use motorium_store::{BlobStore, ListTasks, TaskNotifier, TaskRow, TaskStore};
use prost::Message as _;
use tokio::sync::Notify;
use tonic::{Request, Response, Status, Streaming};
use uuid::Uuid;

use crate::desktops::DesktopPool;
use crate::desktops::registration::RegistrationRules;
use crate::error::Error;
use crate::functions::Tools;
use crate::operators::Operators;
use crate::queue::{self, TaskScope};
use crate::screens::Screens;
pub use call_slots::CallSlots;
use motorium_recording::log;
use motorium_task::Task;
use motorium_task::spec::LimitRules;
use motorium_task::view::{self, UNFINISHED_STATES};
pub use policy::PolicySettings;
pub use watch_slots::WatchSlots;

type RpcResult<T> = Result<Response<T>, Status>;
type ResponseStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Implementation of `OrchestratorService`.
#[derive(Clone)]
pub struct Edge {
    /// Name of this orchestrator in the leases of tasks.
    pub owner: String,
    pub store: Arc<dyn TaskStore>,
    pub blobs: BlobStore,
    pub notifier: TaskNotifier,
    pub desktops: DesktopPool,
    /// Rules for the addresses of registered desktops.
    pub registration: RegistrationRules,
    /// Wakes the dispatcher when there may be a task to start.
    pub wake_dispatcher: Arc<Notify>,
    /// Default limits of tasks that set none, and the highest that they may ask for.
    pub limits: LimitRules,
    /// Tools that tasks may name.
    pub tools: Tools,
    /// Policy for the actions of tasks.
    pub policy: PolicySettings,
    /// Ends watch streams cleanly before the process exits.
    pub shutdown: Shutdown,
    /// Interval between heartbeats of an idle watch stream.
    pub heartbeat: Duration,
    /// Tasks that the dispatcher runs.
    pub scope: TaskScope,
    /// Records the calls that change something.
    pub audit: AuditLog,
    /// Limits the uploads at a time.
    pub uploads: CallSlots,
    /// Limits the exports at a time.
    pub exports: CallSlots,
    /// Limits the watches at a time.
    pub watches: WatchSlots,
    /// Ways for the input of people who have taken tasks over.
    pub operators: Operators,
    /// Screens of the tasks that run here.
    pub screens: Screens,
}

impl fmt::Debug for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edge").finish_non_exhaustive()
    }
}

impl Edge {
    /// Returns the tonic service with the message size limits of the API.
    #[must_use]
    pub fn tonic(self) -> OrchestratorServiceServer<Self> {
        OrchestratorServiceServer::new(self).max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// Returns the names of the tasks that have not ended, the newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn unfinished_tasks(&self) -> Result<Vec<String>, motorium_store::Error> {
        let list = ListTasks {
            page_size: MAX_PAGE_SIZE.unsigned_abs(),
            states: UNFINISHED_STATES.to_vec(),
            ..ListTasks::default()
        };
        let page = self.store.list_tasks(list).await?;
        let names = page.items.into_iter().map(|row| row.name.to_string());
        Ok(names.collect())
    }

    async fn task(&self, name: &TaskName) -> Result<wire::Task, Error> {
        let task = log::load(self.store.as_ref(), name).await?;
        self.described(&task).await
    }

    /// Returns a task as clients see it, with the desktop that it waits for.
    async fn described(&self, task: &Task) -> Result<wire::Task, Error> {
        let (store, desktops) = (self.store.as_ref(), &self.desktops);
        let wait = queue::desktop_wait(store, desktops, task, &self.scope).await?;
        let language = task.spec.message_language();
        Ok(wire::Task {
            desktop_wait: wait.map(|wait| wait.to_wire(wait.description(language))),
            ..view::task(task)
        })
    }
}

impl HealthCheck for Edge {
    /// Checks that the stores can be used: a task that starts on a full disk only fails.
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let checked = self.store.check().await;
            let checked = match checked {
                Ok(()) => self.blobs.check().await,
                failed => failed,
            };
            checked.map_err(|error| error.to_string())
        })
    }
}

/// Validates a page size: 0 means the default, larger sizes are capped, negative ones are an error.
fn page_size(size: i32) -> Result<u32, Error> {
    match size {
        0 => Ok(DEFAULT_PAGE_SIZE.unsigned_abs()),
        1.. => Ok(size.min(MAX_PAGE_SIZE).unsigned_abs()),
        _ => Err(FieldError::new("page_size", "is negative").into()),
    }
}

fn task_from_row(row: TaskRow) -> Result<wire::Task, Error> {
    let name = row.name;
    wire::Task::decode(row.snapshot).map_err(|error| Error::CorruptLog {
        detail: format!("the snapshot of {name}: {error}"),
    })
}

/// Returns one page of a list, which ends by the number or the bytes of its items. The page token is the index at which the next
/// page begins.
fn page<T: prost::Message>(
    items: Vec<T>,
    size: i32,
    token: &str,
) -> Result<(Vec<T>, String), Error> {
    let size = page_size(size)? as usize;
    let start = match token {
        "" => 0,
        token => token
            .parse()
            .ok()
            .filter(|start| *start < items.len())
            .ok_or(motorium_store::Error::BadPageToken)?,
    };
    let fitting = fitting(items.iter().skip(start), size);
    let end = start.saturating_add(fitting);
    let next = if items.len() > end {
        end.to_string()
    } else {
        String::new()
    };
    Ok((items.into_iter().skip(start).take(fitting).collect(), next))
}

/// Returns how many of these items make a page: at least one, if there is any.
fn fitting<'a, T: prost::Message + 'a>(items: impl Iterator<Item = &'a T>, size: usize) -> usize {
    let mut bytes = 0;
    let fits = |(index, item): &(usize, &T)| {
        bytes += item.encoded_len();
        *index == 0 || bytes <= MAX_PAGE_BYTES
    };
    items.take(size).enumerate().take_while(fits).count()
}

/// Returns the last segment of a new resource name: the caller's choice, or a unique one.
fn resource_id(field: &str, id: &str, unique: Uuid) -> Result<String, Error> {
    if id.is_empty() {
        return Ok(unique.to_string());
    }
    // All resource names follow the same rules, so a task name stands for all of them.
    TaskName::from_segment(id).map_err(|error| FieldError::new(field, error.description))?;
    Ok(id.to_owned())
}

#[async_trait]
impl OrchestratorService for Edge {
    type WatchTaskStream = ResponseStream<wire::WatchTaskResponse>;
    type WatchSessionStream = ResponseStream<wire::WatchSessionResponse>;
    type OperateDesktopStream = ResponseStream<wire::OperateDesktopResponse>;
    type WatchScreenStream = ResponseStream<wire::WatchScreenResponse>;
    type GetArtifactStream = ResponseStream<wire::GetArtifactResponse>;
    type ExportTrajectoryStream = ResponseStream<wire::ExportTrajectoryResponse>;
    type ExportSessionStream = ResponseStream<wire::ExportSessionResponse>;

    async fn create_task(
        &self,
        request: Request<wire::CreateTaskRequest>,
    ) -> RpcResult<wire::CreateTaskResponse> {
        let call = self.create(request.into_inner());
        let task =
            self.audited_creation("CreateTask", |task: &wire::Task| task.name.as_str(), call);
        let task = task.await?;
        Ok(Response::new(wire::CreateTaskResponse { task: Some(task) }))
    }

    async fn get_task(
        &self,
        request: Request<wire::GetTaskRequest>,
    ) -> RpcResult<wire::GetTaskResponse> {
        let request = request.into_inner();
        let name = self.visible_task("name", &request.name).await?;
        Ok(Response::new(wire::GetTaskResponse {
            task: Some(self.task(&name).await?),
        }))
    }

    async fn list_tasks(
        &self,
        request: Request<wire::ListTasksRequest>,
    ) -> RpcResult<wire::ListTasksResponse> {
        let request = request.into_inner();
        let session = match request.session.as_str() {
            "" => None,
            session => Some(SessionName::parse("session", session)?.to_string()),
        };
        let list = ListTasks {
            page_size: page_size(request.page_size)?,
            page_token: Some(request.page_token).filter(|token| !token.is_empty()),
            states: request.states,
            session,
            tenant: ownership::listed_tenant(&ownership::caller()?),
            labels: request.labels.into_iter().collect(),
        };
        let page = self.store.list_tasks(list).await.map_err(Error::Store)?;
        let tasks = page
            .items
            .into_iter()
            .map(task_from_row)
            .collect::<Result<_, _>>()?;
        let next_page_token = page.next.unwrap_or_default();
        Ok(Response::new(wire::ListTasksResponse {
            tasks,
            next_page_token,
        }))
    }

    async fn watch_task(
        &self,
        request: Request<wire::WatchTaskRequest>,
    ) -> RpcResult<Self::WatchTaskStream> {
        let messages = self.watch(request.into_inner()).await?;
        Ok(Response::new(messages))
    }

    async fn watch_session(
        &self,
        request: Request<wire::WatchSessionRequest>,
    ) -> RpcResult<Self::WatchSessionStream> {
        let messages = self.watch_tasks_of_session(request.into_inner()).await?;
        Ok(Response::new(messages))
    }

    async fn cancel_task(
        &self,
        request: Request<wire::CancelTaskRequest>,
    ) -> RpcResult<wire::CancelTaskResponse> {
        let task = self.change("CancelTask", request, Self::cancel).await?;
        Ok(Response::new(wire::CancelTaskResponse { task: Some(task) }))
    }

    async fn pause_task(
        &self,
        request: Request<wire::PauseTaskRequest>,
    ) -> RpcResult<wire::PauseTaskResponse> {
        let task = self.change("PauseTask", request, Self::pause).await?;
        Ok(Response::new(wire::PauseTaskResponse { task: Some(task) }))
    }

    async fn resume_task(
        &self,
        request: Request<wire::ResumeTaskRequest>,
    ) -> RpcResult<wire::ResumeTaskResponse> {
        let task = self.change("ResumeTask", request, Self::resume).await?;
        Ok(Response::new(wire::ResumeTaskResponse { task: Some(task) }))
    }

    async fn delete_task(
        &self,
        request: Request<wire::DeleteTaskRequest>,
    ) -> RpcResult<wire::DeleteTaskResponse> {
        let deleted = self
            .change("DeleteTask", request, Self::remove_task)
            .await?;
        Ok(Response::new(deleted))
    }

    async fn send_message(
        &self,
        request: Request<wire::SendMessageRequest>,
    ) -> RpcResult<wire::SendMessageResponse> {
        let task = self
            .change("SendMessage", request, Self::add_message)
            .await?;
        Ok(Response::new(wire::SendMessageResponse {
            task: Some(task),
        }))
    }

    async fn upload_file(
        &self,
        request: Request<Streaming<wire::UploadFileRequest>>,
    ) -> RpcResult<wire::UploadFileResponse> {
        let call = self.upload(request.into_inner());
        let stored = self.audited_creation(
            "UploadFile",
            |stored: &wire::UploadFileResponse| stored.upload.as_str(),
            call,
        );
        Ok(Response::new(stored.await?))
    }

    async fn acknowledge_user_action(
        &self,
        request: Request<wire::AcknowledgeUserActionRequest>,
    ) -> RpcResult<wire::AcknowledgeUserActionResponse> {
        let task = self
            .change("AcknowledgeUserAction", request, Self::acknowledge)
            .await?;
        Ok(Response::new(wire::AcknowledgeUserActionResponse {
            task: Some(task),
        }))
    }

    async fn operate_desktop(
        &self,
        request: Request<Streaming<wire::OperateDesktopRequest>>,
    ) -> RpcResult<Self::OperateDesktopStream> {
        Ok(Response::new(self.operate(request.into_inner()).await?))
    }

    async fn take_over(
        &self,
        request: Request<wire::TakeOverRequest>,
    ) -> RpcResult<wire::TakeOverResponse> {
        let task = self
            .change("TakeOver", request, Self::begin_take_over)
            .await?;
        Ok(Response::new(wire::TakeOverResponse { task: Some(task) }))
    }

    async fn hand_back(
        &self,
        request: Request<wire::HandBackRequest>,
    ) -> RpcResult<wire::HandBackResponse> {
        let task = self
            .change("HandBack", request, Self::end_take_over)
            .await?;
        Ok(Response::new(wire::HandBackResponse { task: Some(task) }))
    }

    async fn watch_screen(
        &self,
        request: Request<wire::WatchScreenRequest>,
    ) -> RpcResult<Self::WatchScreenStream> {
        let updates = self.watch_screen_of_task(request.into_inner()).await?;
        Ok(Response::new(updates))
    }

    async fn list_steps(
        &self,
        request: Request<wire::ListStepsRequest>,
    ) -> RpcResult<wire::ListStepsResponse> {
        let request = request.into_inner();
        let name = self.visible_task("parent", &request.parent).await?;
        let task = log::load(self.store.as_ref(), &name)
            .await
            .map_err(Error::from)?;
        let (steps, next_page_token) =
            page(view::steps(&task), request.page_size, &request.page_token)?;
        Ok(Response::new(wire::ListStepsResponse {
            steps,
            next_page_token,
        }))
    }

    async fn get_artifact(
        &self,
        request: Request<wire::GetArtifactRequest>,
    ) -> RpcResult<Self::GetArtifactStream> {
        let pieces = self.artifact(request.into_inner()).await?;
        Ok(Response::new(pieces))
    }

    async fn export_trajectory(
        &self,
        request: Request<wire::ExportTrajectoryRequest>,
    ) -> RpcResult<Self::ExportTrajectoryStream> {
        let pieces = self.trajectory(request.into_inner()).await?;
        Ok(Response::new(pieces))
    }

    async fn list_approvals(
        &self,
        request: Request<wire::ListApprovalsRequest>,
    ) -> RpcResult<wire::ListApprovalsResponse> {
        let approvals = self.approvals(request.into_inner()).await?;
        Ok(Response::new(approvals))
    }

    async fn resolve_approval(
        &self,
        request: Request<wire::ResolveApprovalRequest>,
    ) -> RpcResult<wire::ResolveApprovalResponse> {
        let approval = self
            .change("ResolveApproval", request, Self::resolve)
            .await?;
        Ok(Response::new(wire::ResolveApprovalResponse {
            approval: Some(approval),
        }))
    }

    async fn get_policy(
        &self,
        _: Request<wire::GetPolicyRequest>,
    ) -> RpcResult<wire::GetPolicyResponse> {
        let policy = Some(self.policy.describe(&ownership::caller()?));
        Ok(Response::new(wire::GetPolicyResponse { policy }))
    }

    async fn test_policy(
        &self,
        request: Request<wire::TestPolicyRequest>,
    ) -> RpcResult<wire::TestPolicyResponse> {
        let trials = self
            .policy
            .test(&ownership::caller()?, &request.into_inner());
        let trials = trials.map_err(Error::from)?;
        Ok(Response::new(wire::TestPolicyResponse { trials }))
    }

    async fn get_caller(
        &self,
        _: Request<wire::GetCallerRequest>,
    ) -> RpcResult<wire::GetCallerResponse> {
        let caller = ownership::caller()?;
        Ok(Response::new(wire::GetCallerResponse {
            name: caller.name().to_owned(),
            tenant: caller.tenant().to_owned(),
            roles: caller.roles().iter().map(ToString::to_string).collect(),
        }))
    }

    async fn create_session(
        &self,
        request: Request<wire::CreateSessionRequest>,
    ) -> RpcResult<wire::CreateSessionResponse> {
        let call = self.begin_session(request.into_inner());
        let session = self.audited_creation(
            "CreateSession",
            |session: &wire::Session| session.name.as_str(),
            call,
        );
        let session = session.await?;
        Ok(Response::new(wire::CreateSessionResponse {
            session: Some(session),
        }))
    }

    async fn get_session(
        &self,
        request: Request<wire::GetSessionRequest>,
    ) -> RpcResult<wire::GetSessionResponse> {
        let name = SessionName::parse("name", &request.into_inner().name)?;
        let session = self.session(&name).await?;
        Ok(Response::new(wire::GetSessionResponse {
            session: Some(session),
        }))
    }

    async fn list_sessions(
        &self,
        request: Request<wire::ListSessionsRequest>,
    ) -> RpcResult<wire::ListSessionsResponse> {
        let sessions = self.listed_sessions(request.into_inner()).await?;
        Ok(Response::new(sessions))
    }

    async fn delete_session(
        &self,
        request: Request<wire::DeleteSessionRequest>,
    ) -> RpcResult<wire::DeleteSessionResponse> {
        let deleted = self
            .change("DeleteSession", request, Self::remove_session)
            .await?;
        Ok(Response::new(deleted))
    }

    async fn export_session(
        &self,
        request: Request<wire::ExportSessionRequest>,
    ) -> RpcResult<Self::ExportSessionStream> {
        let pieces = self.session_transcript(request.into_inner()).await?;
        Ok(Response::new(pieces))
    }

    async fn register_desktop(
        &self,
        request: Request<wire::RegisterDesktopRequest>,
    ) -> RpcResult<wire::RegisterDesktopResponse> {
        let desktop = self
            .change("RegisterDesktop", request, Self::register)
            .await?;
        Ok(Response::new(wire::RegisterDesktopResponse {
            desktop: Some(desktop),
        }))
    }

    async fn unregister_desktop(
        &self,
        request: Request<wire::UnregisterDesktopRequest>,
    ) -> RpcResult<wire::UnregisterDesktopResponse> {
        self.change("UnregisterDesktop", request, Self::unregister)
            .await?;
        Ok(Response::new(wire::UnregisterDesktopResponse {}))
    }

    async fn list_desktops(
        &self,
        request: Request<wire::ListDesktopsRequest>,
    ) -> RpcResult<wire::ListDesktopsResponse> {
        let desktops = self.listed_desktops(&request.into_inner()).await?;
        Ok(Response::new(desktops))
    }

    async fn drain_desktop(
        &self,
        request: Request<wire::DrainDesktopRequest>,
    ) -> RpcResult<wire::DrainDesktopResponse> {
        let desktop = self.change("DrainDesktop", request, Self::drain).await?;
        Ok(Response::new(wire::DrainDesktopResponse {
            desktop: Some(desktop),
        }))
    }
}
