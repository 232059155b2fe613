//! The Orchestrator as the contract has it: messages in, messages out.
//!
//! Users' commands are events too: they are appended to the task's log without its lease, and whoever carries the
//! task out hears of them by the doorbell. The edge reads and appends; it never acts.

mod approvals;
mod artifacts;
mod commands;
mod desktops;
mod sessions;
mod trajectory;
mod watch;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::Stream;
use motorium_kit::shutdown::Shutdown;
use motorium_proto::domain::id::{SessionName, TaskName};
use motorium_proto::error::FieldError;
use motorium_proto::limits::{DEFAULT_PAGE_SIZE, MAX_MESSAGE, MAX_PAGE_SIZE};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_server::{
    OrchestratorService, OrchestratorServiceServer,
};
use motorium_store::{BlobStore, Doorbell, ListTasks, TaskRow, TaskStore};
use prost::Message as _;
use tokio::sync::Notify;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use crate::desktops::Desktops;
use crate::error::Error;
use crate::functions::Tools;
use crate::log;
use crate::task::spec::Limits;
use crate::task::view;

type Answer<T> = Result<Response<T>, Status>;
type AnswerStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Serves the Orchestrator.
#[derive(Clone)]
pub struct Edge {
    pub store: Arc<dyn TaskStore>,
    pub blobs: BlobStore,
    pub doorbell: Doorbell,
    pub desktops: Desktops,
    /// Tells the dispatcher that there may be something to do.
    pub news: Arc<Notify>,
    /// For tasks that leave theirs open.
    pub limits: Limits,
    /// That tasks may name.
    pub tools: Tools,
    /// Ends watches cleanly before the process ends.
    pub shutdown: Shutdown,
    /// Pause between signs of life of a watch on which nothing happens.
    pub heartbeat: Duration,
}

impl fmt::Debug for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edge").finish_non_exhaustive()
    }
}

impl Edge {
    /// The tonic service, with the message limits of the contract.
    #[must_use]
    pub fn tonic(self) -> OrchestratorServiceServer<Self> {
        OrchestratorServiceServer::new(self).max_decoding_message_size(MAX_MESSAGE)
    }

    async fn task(&self, name: &TaskName) -> Result<wire::Task, Error> {
        let task = log::load(self.store.as_ref(), name).await?;
        Ok(view::task(&task))
    }
}

fn task_name(field: &str, name: &str) -> Result<TaskName, Error> {
    Ok(TaskName::parse(field, name)?)
}

/// Page sizes as the contract has them: 0 is the default, too large is cut, negative is an error.
fn page_size(size: i32) -> Result<u32, Error> {
    match size {
        0 => Ok(DEFAULT_PAGE_SIZE.unsigned_abs()),
        1.. => Ok(size.min(MAX_PAGE_SIZE).unsigned_abs()),
        _ => Err(FieldError::new("page_size", "is negative").into()),
    }
}

fn listed(row: TaskRow) -> Result<wire::Task, Error> {
    let name = row.name;
    wire::Task::decode(row.snapshot).map_err(|error| Error::CorruptLog {
        detail: format!("the snapshot of {name}: {error}"),
    })
}

/// Cuts a list that is held whole into pages. The token is the place where the next page begins.
fn page<T>(items: Vec<T>, size: i32, token: &str) -> Result<(Vec<T>, String), Error> {
    let size = page_size(size)? as usize;
    let start = match token {
        "" => 0,
        token => token
            .parse()
            .ok()
            .filter(|start| *start < items.len())
            .ok_or(motorium_store::Error::BadPageToken)?,
    };
    let end = start.saturating_add(size);
    let next = if items.len() > end {
        end.to_string()
    } else {
        String::new()
    };
    Ok((items.into_iter().skip(start).take(size).collect(), next))
}

/// The last part of a new name: what the caller wants, or one that is unique.
fn chosen_id(field: &str, id: &str, unique: Uuid) -> Result<String, Error> {
    if id.is_empty() {
        return Ok(unique.to_string());
    }
    // All names have the same form.
    TaskName::from_segment(id).map_err(|error| FieldError::new(field, error.description))?;
    Ok(id.to_owned())
}

#[async_trait]
impl OrchestratorService for Edge {
    type WatchTaskStream = AnswerStream<wire::WatchTaskResponse>;
    type GetArtifactStream = AnswerStream<wire::GetArtifactResponse>;
    type ExportTrajectoryStream = AnswerStream<wire::ExportTrajectoryResponse>;

    async fn create_task(
        &self,
        request: Request<wire::CreateTaskRequest>,
    ) -> Answer<wire::CreateTaskResponse> {
        let task = self.create(request.into_inner()).await?;
        Ok(Response::new(wire::CreateTaskResponse { task: Some(task) }))
    }

    async fn get_task(
        &self,
        request: Request<wire::GetTaskRequest>,
    ) -> Answer<wire::GetTaskResponse> {
        let name = task_name("name", &request.into_inner().name)?;
        Ok(Response::new(wire::GetTaskResponse {
            task: Some(self.task(&name).await?),
        }))
    }

    async fn list_tasks(
        &self,
        request: Request<wire::ListTasksRequest>,
    ) -> Answer<wire::ListTasksResponse> {
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
            labels: request.labels.into_iter().collect(),
        };
        let page = self.store.list_tasks(list).await.map_err(Error::Store)?;
        let tasks = page
            .items
            .into_iter()
            .map(listed)
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
    ) -> Answer<Self::WatchTaskStream> {
        let messages = self.watch(request.into_inner()).await?;
        Ok(Response::new(messages))
    }

    async fn cancel_task(
        &self,
        request: Request<wire::CancelTaskRequest>,
    ) -> Answer<wire::CancelTaskResponse> {
        let task = self.cancel(request.into_inner()).await?;
        Ok(Response::new(wire::CancelTaskResponse { task: Some(task) }))
    }

    async fn pause_task(
        &self,
        request: Request<wire::PauseTaskRequest>,
    ) -> Answer<wire::PauseTaskResponse> {
        let task = self.pause(request.into_inner()).await?;
        Ok(Response::new(wire::PauseTaskResponse { task: Some(task) }))
    }

    async fn resume_task(
        &self,
        request: Request<wire::ResumeTaskRequest>,
    ) -> Answer<wire::ResumeTaskResponse> {
        let task = self.resume(request.into_inner()).await?;
        Ok(Response::new(wire::ResumeTaskResponse { task: Some(task) }))
    }

    async fn send_message(
        &self,
        request: Request<wire::SendMessageRequest>,
    ) -> Answer<wire::SendMessageResponse> {
        let task = self.tell(request.into_inner()).await?;
        Ok(Response::new(wire::SendMessageResponse {
            task: Some(task),
        }))
    }

    async fn acknowledge_user_action(
        &self,
        request: Request<wire::AcknowledgeUserActionRequest>,
    ) -> Answer<wire::AcknowledgeUserActionResponse> {
        let task = self.acknowledge(request.into_inner()).await?;
        Ok(Response::new(wire::AcknowledgeUserActionResponse {
            task: Some(task),
        }))
    }

    async fn take_over(
        &self,
        request: Request<wire::TakeOverRequest>,
    ) -> Answer<wire::TakeOverResponse> {
        let task = self.let_take_over(request.into_inner()).await?;
        Ok(Response::new(wire::TakeOverResponse { task: Some(task) }))
    }

    async fn hand_back(
        &self,
        request: Request<wire::HandBackRequest>,
    ) -> Answer<wire::HandBackResponse> {
        let task = self.take_back(request.into_inner()).await?;
        Ok(Response::new(wire::HandBackResponse { task: Some(task) }))
    }

    async fn list_steps(
        &self,
        request: Request<wire::ListStepsRequest>,
    ) -> Answer<wire::ListStepsResponse> {
        let request = request.into_inner();
        let name = task_name("parent", &request.parent)?;
        let task = log::load(self.store.as_ref(), &name).await?;
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
    ) -> Answer<Self::GetArtifactStream> {
        let pieces = self.artifact(request.into_inner()).await?;
        Ok(Response::new(pieces))
    }

    async fn export_trajectory(
        &self,
        request: Request<wire::ExportTrajectoryRequest>,
    ) -> Answer<Self::ExportTrajectoryStream> {
        let pieces = self.trajectory(request.into_inner()).await?;
        Ok(Response::new(pieces))
    }

    async fn list_approvals(
        &self,
        request: Request<wire::ListApprovalsRequest>,
    ) -> Answer<wire::ListApprovalsResponse> {
        let approvals = self.approvals(request.into_inner()).await?;
        Ok(Response::new(approvals))
    }

    async fn resolve_approval(
        &self,
        request: Request<wire::ResolveApprovalRequest>,
    ) -> Answer<wire::ResolveApprovalResponse> {
        let approval = Some(self.resolve(request.into_inner()).await?);
        Ok(Response::new(wire::ResolveApprovalResponse { approval }))
    }

    async fn create_session(
        &self,
        request: Request<wire::CreateSessionRequest>,
    ) -> Answer<wire::CreateSessionResponse> {
        let session = self.begin_session(request.into_inner()).await?;
        Ok(Response::new(wire::CreateSessionResponse {
            session: Some(session),
        }))
    }

    async fn get_session(
        &self,
        request: Request<wire::GetSessionRequest>,
    ) -> Answer<wire::GetSessionResponse> {
        let name = SessionName::parse("name", &request.into_inner().name)?;
        let session = self.session(&name).await?;
        Ok(Response::new(wire::GetSessionResponse {
            session: Some(session),
        }))
    }

    async fn list_sessions(
        &self,
        request: Request<wire::ListSessionsRequest>,
    ) -> Answer<wire::ListSessionsResponse> {
        let sessions = self.listed_sessions(request.into_inner()).await?;
        Ok(Response::new(sessions))
    }

    async fn register_desktop(
        &self,
        request: Request<wire::RegisterDesktopRequest>,
    ) -> Answer<wire::RegisterDesktopResponse> {
        let desktop = self.register(request.into_inner()).await?;
        Ok(Response::new(wire::RegisterDesktopResponse {
            desktop: Some(desktop),
        }))
    }

    async fn list_desktops(
        &self,
        request: Request<wire::ListDesktopsRequest>,
    ) -> Answer<wire::ListDesktopsResponse> {
        let desktops = self.listed_desktops(&request.into_inner())?;
        Ok(Response::new(desktops))
    }

    async fn drain_desktop(
        &self,
        request: Request<wire::DrainDesktopRequest>,
    ) -> Answer<wire::DrainDesktopResponse> {
        let desktop = self.drain(request.into_inner()).await?;
        Ok(Response::new(wire::DrainDesktopResponse {
            desktop: Some(desktop),
        }))
    }
}
