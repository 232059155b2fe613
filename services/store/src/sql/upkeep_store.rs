//! Implementation of [`StoreUpkeep`] with the queries of the other modules.
//!
//! Without SQL: each method calls one query, in the way of its database.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use motorium_proto::domain::id::TaskName;

use super::Store;
use crate::{BlobId, Error, OldSessions, OldTasks, StoreUpkeep, TaskCursor, UnindexedTask};

#[async_trait]
impl StoreUpkeep for Store {
    async fn delete_task(&self, name: &TaskName, ended: &[i32]) -> Result<(), Error> {
        let (name, ended) = (name.clone(), ended.to_vec());
        self.writing(|store| async move { store.remove_task(&name, &ended).await })
            .await
    }

    async fn delete_session(
        &self,
        name: &str,
        ended: &[i32],
        with_tasks: bool,
    ) -> Result<Vec<TaskName>, Error> {
        let (name, ended) = (name.to_owned(), ended.to_vec());
        self.writing(
            move |store| async move { store.remove_session(&name, &ended, with_tasks).await },
        )
        .await
    }

    async fn old_tasks(&self, query: OldTasks) -> Result<Vec<TaskName>, Error> {
        self.tasks_before(query)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn old_sessions(&self, query: OldSessions) -> Result<Vec<String>, Error> {
        self.sessions_before(query)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn old_uploads(
        &self,
        before: SystemTime,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>, Error> {
        self.uploads_before(before, after, limit)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn delete_unused_upload(&self, name: &str, before: SystemTime) -> Result<bool, Error> {
        let name = name.to_owned();
        self.writing(|store| async move { store.remove_unused_upload(&name, before).await })
            .await
    }

    async fn delete_notes(&self, name: &TaskName) -> Result<(), Error> {
        let name = name.clone();
        self.writing(|store| async move { store.remove_notes(&name).await })
            .await
    }

    async fn unindexed(&self, after: TaskCursor, limit: u32) -> Result<Vec<UnindexedTask>, Error> {
        self.tasks_to_index(after, limit)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn index_blobs(&self, task: &UnindexedTask, blobs: &[BlobId]) -> Result<(), Error> {
        let (task, blobs) = (task.clone(), blobs.to_vec());
        self.writing(|store| async move { store.add_uses(&task, &blobs).await })
            .await
    }

    async fn release_blobs(&self, name: &TaskName, kept: &[BlobId]) -> Result<(), Error> {
        let (name, kept) = (name.clone(), kept.to_vec());
        self.writing(|store| async move { store.remove_uses(&name, &kept).await })
            .await
    }

    async fn used_blobs(&self, ids: &[BlobId]) -> Result<HashSet<BlobId>, Error> {
        self.uses(ids).await.map_err(|fault| self.error(fault))
    }

    async fn take_duty(
        &self,
        duty: &str,
        owner: &str,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<bool, Error> {
        let (duty, owner) = (duty.to_owned(), owner.to_owned());
        self.writing(move |store| async move { store.take(&duty, &owner, ttl, now).await })
            .await
    }

    async fn release_duty(&self, duty: &str, owner: &str) -> Result<(), Error> {
        let (duty, owner) = (duty.to_owned(), owner.to_owned());
        self.writing(|store| async move { store.give_back(&duty, &owner).await })
            .await
    }

    async fn is_copy(&self) -> Result<bool, Error> {
        self.has_copy_mark()
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn copy_settled(&self) -> Result<(), Error> {
        self.writing(|store| async move { store.remove_copy_mark().await })
            .await
    }
}
