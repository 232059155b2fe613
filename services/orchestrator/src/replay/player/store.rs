//! The log, in memory: what is written is held against what was.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use motorium_proto::v1::orchestrator as wire;
use motorium_store::{
    Append, Appended, Claim, CreateTask, Created, Error, EventRow, ListResources, ListTasks, Page,
    PutResource, ResourceRow, TaskRow, TaskStore,
};
use prost::Message as _;

use super::{Over, Player, State};
use crate::log;
use crate::replay::compare;
use crate::task::event::Recorded;

/// An event as the store has it.
pub(super) fn row(task: &TaskName, recorded: &Recorded) -> EventRow {
    let new = log::encode(task, recorded.at, recorded.step, recorded.event.clone());
    EventRow {
        seq: recorded.seq,
        at: recorded.at,
        kind: new.kind.to_owned(),
        body: new.body,
    }
}

fn not_kept<T>() -> std::result::Result<T, Error> {
    Err(Error::Failed("a replay keeps one task alone".into()))
}

#[async_trait]
impl TaskStore for Player {
    async fn create_task(&self, _: CreateTask) -> std::result::Result<Created, Error> {
        not_kept()
    }

    async fn get_task(&self, _: &TaskName) -> std::result::Result<TaskRow, Error> {
        not_kept()
    }

    async fn list_tasks(&self, _: ListTasks) -> std::result::Result<Page<TaskRow>, Error> {
        not_kept()
    }

    async fn claimable(
        &self,
        _: &[i32],
        _: &str,
        _: SystemTime,
        _: u32,
    ) -> std::result::Result<Vec<TaskRow>, Error> {
        not_kept()
    }

    async fn claim(
        &self,
        _: &TaskName,
        _: &str,
        _: Duration,
        _: SystemTime,
    ) -> std::result::Result<Option<Claim>, Error> {
        not_kept()
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

    /// Compares what is written with what was.
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
        // Whoever listens for the user hears of it first, as where the store takes a moment.
        tokio::task::yield_now().await;
        let state = self.state();
        let later = state.rows.iter().filter(|row| row.seq > after);
        Ok(later.take(limit as usize).cloned().collect())
    }

    async fn notes(&self, _: &TaskName) -> std::result::Result<Vec<(EventSeq, Bytes)>, Error> {
        not_kept()
    }

    fn generation(&self) -> &str {
        "replay"
    }

    async fn put_resource(&self, _: PutResource) -> std::result::Result<ResourceRow, Error> {
        not_kept()
    }

    async fn get_resource(&self, _: &str) -> std::result::Result<ResourceRow, Error> {
        not_kept()
    }

    async fn list_resources(
        &self,
        _: ListResources,
    ) -> std::result::Result<Page<ResourceRow>, Error> {
        not_kept()
    }
}

impl Player {
    /// `None`: it differs, or goes beyond the run; nothing is said any more.
    fn take(&self, append: Append) -> Option<std::result::Result<Appended, Error>> {
        let mut guard = self.state();
        let state = &mut *guard;
        self.let_others_speak(state);
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
                self.beyond(state, &row);
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
        self.let_others_speak(state);
        Some(Ok(appended))
    }

    fn is_same(&self, recorded: &Recorded, row: &EventRow) -> bool {
        let was = compare::essence(recorded.clone().to_wire(&self.task));
        let is = wire::Event::decode(row.body.clone()).map(|mut event| {
            event.sequence = row.seq.0;
            compare::essence(event)
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

    fn beyond(&self, state: &State, row: &EventRow) {
        if !self.is_last {
            self.end(Over::RecordEnds);
            return;
        }
        let step = self.step(state.rows.len());
        let what = "more was written than was recorded".to_owned();
        self.differ(step, (what, "nothing".to_owned(), row.kind.clone()));
    }
}
