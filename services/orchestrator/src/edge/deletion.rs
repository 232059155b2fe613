//! Deletion of tasks and sessions by users.
//!
//! Files are not removed here: the next sweep removes those that no task uses ([`crate::retention`]).

use motorium_proto::domain::id::SessionName;
use motorium_proto::v1::orchestrator as wire;

use super::{Edge, task_name};
use crate::error::Error;
use crate::retention::ENDED_STATES;

impl Edge {
    pub(super) async fn remove_task(
        &self,
        request: wire::DeleteTaskRequest,
    ) -> Result<wire::DeleteTaskResponse, Error> {
        let name = task_name("name", &request.name)?;
        match self.store.delete_task(&name, &ENDED_STATES).await {
            Ok(()) => self.notifier.notify(&name),
            Err(motorium_store::Error::TaskNotFound { .. }) if request.allow_missing => {}
            Err(error) => return Err(error.into()),
        }
        Ok(wire::DeleteTaskResponse {})
    }

    pub(super) async fn remove_session(
        &self,
        request: wire::DeleteSessionRequest,
    ) -> Result<wire::DeleteSessionResponse, Error> {
        let session = SessionName::parse("name", &request.name)?;
        let name = session.to_string();
        let deleted = self
            .store
            .delete_session(&name, &ENDED_STATES, request.force);
        match deleted.await {
            Ok(tasks) => {
                tasks.iter().for_each(|task| self.notifier.notify(task));
                self.notifier.notify_session(&session);
            }
            Err(motorium_store::Error::ResourceNotFound { .. }) if request.allow_missing => {}
            Err(motorium_store::Error::ResourceNotFound { name }) => {
                return Err(Error::SessionNotFound { name });
            }
            Err(error) => return Err(error.into()),
        }
        Ok(wire::DeleteSessionResponse {})
    }
}
