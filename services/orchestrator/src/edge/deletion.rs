//! Deletion of tasks and sessions by users.
//!
//! Stored files are not removed here: the next sweep removes those that no task uses ([`crate::retention`]). What the tasks have left
//! on desktops is.

use motorium_proto::domain::id::SessionName;
use motorium_proto::v1::orchestrator as wire;

use super::Edge;
use crate::desktops::task_files::{DeletedTask, TaskFiles};
use crate::error::Error;
use motorium_task::view::ENDED_STATES;

impl Edge {
    pub(super) async fn remove_task(
        &self,
        request: wire::DeleteTaskRequest,
    ) -> Result<wire::DeleteTaskResponse, Error> {
        let deleted = async {
            let row = self.visible_row("name", &request.name).await?;
            let task = DeletedTask {
                name: row.name,
                tenant: row.tenant,
            };
            let files = self.task_files();
            files.announce(&task).await?;
            self.store.delete_task(&task.name, &ENDED_STATES).await?;
            self.notifier.notify(&task.name);
            files.delete(&[task]).await;
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
        let tenant = self.store.get_resource(&resource).await?.tenant;
        let deleted = self.store.delete_session(&resource, &ENDED_STATES, force);
        let tasks = match deleted.await {
            Err(motorium_store::Error::ResourceNotFound { name }) => {
                return Err(Error::SessionNotFound { name });
            }
            tasks => tasks?,
        };
        tasks.iter().for_each(|task| self.notifier.notify(task));
        self.notifier.notify_session(name);
        let tasks = tasks.into_iter().map(|name| DeletedTask {
            name,
            tenant: tenant.clone(),
        });
        self.task_files().delete(&tasks.collect::<Vec<_>>()).await;
        Ok(())
    }

    fn task_files(&self) -> TaskFiles {
        TaskFiles {
            store: self.store.clone(),
            desktops: self.desktops.clone(),
        }
    }
}
