//! Implementation of [`TaskStore`] with the queries of the other modules.
//!
//! It has no statements of its own.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};

use super::Store;
use crate::{
    Append, Appended, Claim, CreateTask, Created, Error, EventRow, ListResources, ListTasks, Page,
    PutResource, RequestId, ResourceRow, SessionQuery, TaskRow, TaskStore,
};

#[async_trait]
impl TaskStore for Store {
    async fn create_task(&self, task: CreateTask) -> Result<Created, Error> {
        self.writing_content(
            task.bytes(),
            |store| async move { store.create(task).await },
        )
        .await
    }

    async fn get_task(&self, name: &TaskName) -> Result<TaskRow, Error> {
        self.task(name).await.map_err(|fault| self.error(fault))
    }

    async fn list_tasks(&self, list: ListTasks) -> Result<Page<TaskRow>, Error> {
        self.list(list).await.map_err(|fault| self.error(fault))
    }

    async fn claimable(
        &self,
        states: &[i32],
        owner: &str,
        now: SystemTime,
        limit: u32,
    ) -> Result<Vec<TaskRow>, Error> {
        self.claimable_tasks(states, owner, now, limit)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn session_predecessor(&self, query: SessionQuery) -> Result<Option<TaskRow>, Error> {
        self.predecessor(query)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn claim(
        &self,
        name: &TaskName,
        owner: &str,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<Option<Claim>, Error> {
        let (name, owner) = (name.clone(), owner.to_owned());
        self.writing(move |store| async move { store.claim_task(&name, &owner, ttl, now).await })
            .await
    }

    async fn renew(
        &self,
        name: &TaskName,
        epoch: TaskEpoch,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<(), Error> {
        let name = name.clone();
        self.writing(move |store| async move { store.renew_lease(&name, epoch, ttl, now).await })
            .await
    }

    async fn release(&self, name: &TaskName, epoch: TaskEpoch) -> Result<(), Error> {
        let name = name.clone();
        self.writing(move |store| async move { store.release_lease(&name, epoch).await })
            .await
    }

    async fn append(&self, append: Append) -> Result<Appended, Error> {
        self.add(append).await
    }

    async fn events(
        &self,
        name: &TaskName,
        after: EventSeq,
        limit: u32,
    ) -> Result<Vec<EventRow>, Error> {
        self.read(name, after, limit)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn notes(&self, name: &TaskName) -> Result<Vec<(EventSeq, Bytes)>, Error> {
        self.read_notes(name)
            .await
            .map_err(|fault| self.error(fault))
    }

    fn generation(&self) -> &str {
        &self.generation
    }

    async fn put_resource(&self, put: PutResource) -> Result<ResourceRow, Error> {
        self.writing_content(put.bytes(), |store| async move { store.put(put).await })
            .await
    }

    async fn get_resource(&self, name: &str) -> Result<ResourceRow, Error> {
        self.resource(name).await.map_err(|fault| self.error(fault))
    }

    async fn remove_resource(
        &self,
        name: &str,
        request: Option<RequestId>,
        now: SystemTime,
    ) -> Result<(), Error> {
        let name = name.to_owned();
        self.writing(|store| async move { store.remove(&name, request, now).await })
            .await
    }

    async fn list_resources(&self, list: ListResources) -> Result<Page<ResourceRow>, Error> {
        self.resources(list)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn check(&self) -> Result<(), Error> {
        self.check_place()?;
        self.read_generation()
            .await
            .map_err(|fault| self.error(fault))
    }
}
