//! The task log, in memory. Each appended event is compared with the recorded one.
//!
//! Nothing is written to disk. Methods that a run does not call are not supported.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State as TaskState;
use motorium_store::{
    Append, Appended, BlobId, Claim, CreateTask, Created, Error, EventRow, ListResources,
    ListTasks, OldSessions, OldTasks, Page, PutResource, RequestId, ResourceRow, SessionQuery,
    StoreUpkeep, TaskCursor, TaskRow, TaskStore, UnindexedTask,
};
use prost::Message as _;

use super::{Player, PlayerState, ReplayEnd};
use crate::log;
use crate::replay::compare;
use motorium_task::event::RecordedEvent;

/// Returns the stored row of an event.
pub(super) fn row(task: &TaskName, recorded: &RecordedEvent) -> EventRow {
    // Exported events have a state, but nothing in a replay reads it.
    let new = log::encode(task, recorded, TaskState::Unspecified);
    EventRow {
        seq: recorded.seq,
        at: recorded.at,
        kind: new.kind.to_owned(),
        body: new.body,
    }
}

fn unsupported<T>() -> std::result::Result<T, Error> {
    Err(Error::Failed("a replay stores only its own task".into()))
}

#[async_trait]
impl TaskStore for Player {
    async fn create_task(&self, _: CreateTask) -> std::result::Result<Created, Error> {
        unsupported()
    }

    async fn get_task(&self, _: &TaskName) -> std::result::Result<TaskRow, Error> {
        unsupported()
    }

    async fn list_tasks(&self, _: ListTasks) -> std::result::Result<Page<TaskRow>, Error> {
        unsupported()
    }

    async fn claimable(
        &self,
        _: &[i32],
        _: &str,
        _: SystemTime,
        _: u32,
    ) -> std::result::Result<Vec<TaskRow>, Error> {
        unsupported()
    }

    async fn session_predecessor(
        &self,
        _: SessionQuery,
    ) -> std::result::Result<Option<TaskRow>, Error> {
        unsupported()
    }

    async fn claim(
        &self,
        _: &TaskName,
        _: &str,
        _: Duration,
        _: SystemTime,
    ) -> std::result::Result<Option<Claim>, Error> {
        unsupported()
    }

    async fn renew(
        &self,
        _: &TaskName,
        _: TaskEpoch,
        _: Duration,
        _: SystemTime,
    ) -> std::result::Result<(), Error> {
        Ok(())
    }

    async fn release(&self, _: &TaskName, _: TaskEpoch) -> std::result::Result<(), Error> {
        Ok(())
    }

    /// Compares appended events with the recorded ones.
    async fn append(&self, append: Append) -> std::result::Result<Appended, Error> {
        let appended = self.take(append);
        match appended {
            Some(appended) => appended,
            None => futures::future::pending().await,
        }
    }

    async fn events(
        &self,
        _: &TaskName,
        after: EventSeq,
        limit: u32,
    ) -> std::result::Result<Vec<EventRow>, Error> {
        // Yields first, so that the task waiting for user input is woken before the read, as with a real store.
        tokio::task::yield_now().await;
        let state = self.state();
        let later = state.rows.iter().filter(|row| row.seq > after);
        Ok(later.take(limit as usize).cloned().collect())
    }

    async fn notes(&self, _: &TaskName) -> std::result::Result<Vec<(EventSeq, Bytes)>, Error> {
        unsupported()
    }

    fn generation(&self) -> &str {
        "replay"
    }

    async fn put_resource(&self, _: PutResource) -> std::result::Result<ResourceRow, Error> {
        unsupported()
    }

    async fn get_resource(&self, _: &str) -> std::result::Result<ResourceRow, Error> {
        unsupported()
    }

    async fn remove_resource(
        &self,
        _: &str,
        _: Option<RequestId>,
        _: SystemTime,
    ) -> std::result::Result<(), Error> {
        unsupported()
    }

    async fn list_resources(
        &self,
        _: ListResources,
    ) -> std::result::Result<Page<ResourceRow>, Error> {
        unsupported()
    }

    async fn check(&self) -> std::result::Result<(), Error> {
        Ok(())
    }
}

#[async_trait]
impl StoreUpkeep for Player {
    async fn delete_task(&self, _: &TaskName, _: &[i32]) -> std::result::Result<(), Error> {
        unsupported()
    }

    async fn delete_session(
        &self,
        _: &str,
        _: &[i32],
        _: bool,
    ) -> std::result::Result<Vec<TaskName>, Error> {
        unsupported()
    }

    async fn old_tasks(&self, _: OldTasks) -> std::result::Result<Vec<TaskName>, Error> {
        unsupported()
    }

    async fn old_sessions(&self, _: OldSessions) -> std::result::Result<Vec<String>, Error> {
        unsupported()
    }

    async fn old_uploads(
        &self,
        _: SystemTime,
        _: &str,
        _: u32,
    ) -> std::result::Result<Vec<String>, Error> {
        unsupported()
    }

    async fn delete_unused_upload(
        &self,
        _: &str,
        _: SystemTime,
    ) -> std::result::Result<bool, Error> {
        unsupported()
    }

    async fn delete_notes(&self, _: &TaskName) -> std::result::Result<(), Error> {
        unsupported()
    }

    async fn unindexed(
        &self,
        _: TaskCursor,
        _: u32,
    ) -> std::result::Result<Vec<UnindexedTask>, Error> {
        unsupported()
    }

    async fn index_blobs(&self, _: &UnindexedTask, _: &[BlobId]) -> std::result::Result<(), Error> {
        unsupported()
    }

    async fn release_blobs(&self, _: &TaskName, _: &[BlobId]) -> std::result::Result<(), Error> {
        unsupported()
    }

    async fn used_blobs(&self, _: &[BlobId]) -> std::result::Result<HashSet<BlobId>, Error> {
        unsupported()
    }

    async fn take_duty(
        &self,
        _: &str,
        _: &str,
        _: Duration,
        _: SystemTime,
    ) -> std::result::Result<bool, Error> {
        unsupported()
    }

    async fn release_duty(&self, _: &str, _: &str) -> std::result::Result<(), Error> {
        unsupported()
    }

    async fn is_copy(&self) -> std::result::Result<bool, Error> {
        Ok(false)
    }

    async fn copy_settled(&self) -> std::result::Result<(), Error> {
        unsupported()
    }
}

impl Player {
    /// Appends events. Returns `None` if they differ or exceed the recorded run, which ends the replay.
    fn take(&self, append: Append) -> Option<std::result::Result<Appended, Error>> {
        let mut guard = self.state();
        let state = &mut *guard;
        self.deliver_external_events(state);
        let last = EventSeq(state.rows.len() as i64);
        if let Some(expected) = append.expected_seq
            && expected != last
        {
            return Some(Err(Error::Conflict {
                task: self.task.clone(),
                expected,
                last,
            }));
        }
        for event in append.events {
            let seq = EventSeq(state.rows.len() as i64 + 1);
            let row = EventRow {
                seq,
                at: event.at,
                kind: event.kind.to_owned(),
                body: event.body,
            };
            if state.rows.len() >= self.ends {
                self.beyond_recording(state, &row);
                return None;
            }
            let recorded = &self.log[state.rows.len()];
            if !self.is_same(recorded, &row) {
                return None;
            }
            state.rows.push(row);
        }
        let appended = Appended {
            first_seq: EventSeq(last.0 + 1),
            last_seq: EventSeq(state.rows.len() as i64),
            repeated: false,
        };
        self.deliver_external_events(state);
        Some(Ok(appended))
    }

    fn is_same(&self, recorded: &RecordedEvent, row: &EventRow) -> bool {
        let was = compare::comparable(recorded.clone().to_wire(&self.task));
        let is = wire::Event::decode(row.body.clone()).map(|mut event| {
            event.sequence = row.seq.0;
            compare::comparable(event)
        });
        let is = is.unwrap_or_default();
        if was == is {
            return true;
        }
        let step = if recorded.step == 0 {
            self.step(self.begins)
        } else {
            recorded.step
        };
        self.differ(step, compare::events(&was, &is));
        false
    }

    fn beyond_recording(&self, state: &PlayerState, row: &EventRow) {
        if !self.is_last {
            self.end(ReplayEnd::RecordingEnded);
            return;
        }
        let step = self.step(state.rows.len());
        let what = "more events were written than recorded".to_owned();
        self.differ(step, (what, "nothing".to_owned(), row.kind.clone()));
    }
}
