//! Deletion of tasks and sessions by users.
//!
//! Files are not removed here: the next sweep removes those that no task uses ([`crate::retention`]).

use motorium_proto::domain::id::SessionName;
use motorium_proto::v1::orchestrator as wire;

use super::Edge;
use crate::error::Error;
use motorium_task::view::ENDED_STATES;

impl Edge {
    pub(super) async fn remove_task(
        &self,
        request: wire::DeleteTaskRequest,
    ) -> Result<wire::DeleteTaskResponse, Error> {
        let deleted = async {
            let name = self.visible_task("name", &request.name).await?;
            self.store.delete_task(&name, &ENDED_STATES).await?;
            self.notifier.notify(&name);
            Ok(())
        };
        match deleted.await {
            Err(Error::Store(motorium_store::Error::TaskNotFound { .. }))
                if request.allow_missing => {}
            deleted => deleted?,
        }
        Ok(wire::DeleteTaskResponse {})
    }

    pub(super) async fn remove_session(
        &self,
        request: wire::DeleteSessionRequest,
    ) -> Result<wire::DeleteSessionResponse, Error> {
        let name = SessionName::parse("name", &request.name)?;
        match self.delete_visible_session(&name, request.force).await {
            Err(Error::SessionNotFound { .. }) if request.allow_missing => {}
            deleted => deleted?,
        }
        Ok(wire::DeleteSessionResponse {})
    }

    async fn delete_visible_session(&self, name: &SessionName, force: bool) -> Result<(), Error> {
        self.session(name).await?;
        let resource = name.to_string();
        let deleted = self.store.delete_session(&resource, &ENDED_STATES, force);
        let tasks = match deleted.await {
            Err(motorium_store::Error::ResourceNotFound { name }) => {
                return Err(Error::SessionNotFound { name });
            }
            tasks => tasks?,
        };
        tasks.iter().for_each(|task| self.notifier.notify(task));
        self.notifier.notify_session(name);
        Ok(())
    }
}
