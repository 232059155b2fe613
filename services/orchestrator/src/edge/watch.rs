//! Watching a task: everything that happened, then everything that happens, until it has ended.
//!
//! A watcher reads the log by number; one that is slow reads larger pieces. Nothing is buffered for it.

use std::collections::VecDeque;
use std::time::SystemTime;

use futures::StreamExt as _;
use futures::stream;
use motorium_proto::convert::wire_time;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::v1::orchestrator as wire;
use motorium_store::{Bell, ResumeToken, TaskRow};
use tokio::time::{Duration, Instant};
use tonic::Status;

use super::{AnswerStream, Edge, task_name};
use crate::error::Error;
use crate::log;

/// Events read at once.
const BATCH: u32 = 100;
/// How often the log is looked at if nobody rings.
const POLL: Duration = Duration::from_secs(1);

struct Watch {
    edge: Edge,
    task: TaskName,
    seen: EventSeq,
    bell: Bell,
    row: TaskRow,
    ready: VecDeque<wire::WatchTaskResponse>,
    heartbeat_at: Instant,
    ended: bool,
}

impl Edge {
    pub(super) async fn watch(
        &self,
        request: wire::WatchTaskRequest,
    ) -> Result<AnswerStream<wire::WatchTaskResponse>, Error> {
        let task = task_name("name", &request.name)?;
        let row = self.store.get_task(&task).await?;
        let mut watch = Watch {
            edge: self.clone(),
            bell: self.doorbell.subscribe(&task),
            seen: EventSeq(0),
            task,
            row,
            ready: VecDeque::new(),
            heartbeat_at: Instant::now() + self.heartbeat,
            ended: false,
        };
        if request.resume_token.is_empty() {
            let snapshot = self.task(&watch.task).await?;
            watch.push(wire::watch_task_response::Content::Snapshot(snapshot));
        } else {
            let token = ResumeToken::parse(&request.resume_token)?;
            watch.seen = token.resume(self.store.generation(), &watch.row)?;
            watch.ended = self.has_ended_with(&watch.task, watch.seen).await?;
        }
        let messages = stream::unfold(watch, |mut watch| async move {
            let message = watch.next().await?;
            Some((message.map_err(Status::from), watch))
        });
        Ok(messages.boxed())
    }

    /// Whether `seen` is the end of the task, so that there is nothing to wait for.
    async fn has_ended_with(&self, task: &TaskName, seen: EventSeq) -> Result<bool, Error> {
        let task = log::load(self.store.as_ref(), task).await?;
        Ok(task.lifecycle.is_terminal() && task.last_seq == seen)
    }
}

impl Watch {
    fn push(&mut self, content: wire::watch_task_response::Content) {
        let token = ResumeToken::at(self.edge.store.generation(), &self.row, self.seen);
        self.ready.push_back(wire::WatchTaskResponse {
            resume_token: token.format(),
            content: Some(content),
        });
        self.heartbeat_at = Instant::now() + self.edge.heartbeat;
    }

    async fn next(&mut self) -> Option<Result<wire::WatchTaskResponse, Error>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(Ok(message));
            }
            if self.ended {
                return None;
            }
            // Asked before the log is read: a watch that begins after the end of its task tells of it in any case.
            let is_draining = self.edge.shutdown.is_draining();
            match self.read().await {
                Ok(0) if is_draining => return None,
                Ok(0) => self.wait().await,
                Ok(_) => {}
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }

    async fn read(&mut self) -> Result<usize, Error> {
        let rows = self.edge.store.events(&self.task, self.seen, BATCH).await?;
        let count = rows.len();
        for row in rows {
            self.seen = row.seq;
            let event = log::public(row)?;
            self.ended |= is_last(&event);
            self.push(wire::watch_task_response::Content::Event(event));
        }
        Ok(count)
    }

    async fn wait(&mut self) {
        let until = self.heartbeat_at.min(Instant::now() + POLL);
        tokio::select! {
            () = self.bell.rung() => {}
            () = self.edge.shutdown.draining() => {}
            () = tokio::time::sleep_until(until) => {}
        }
        if Instant::now() >= self.heartbeat_at {
            let time = Some(wire_time(SystemTime::now()));
            self.push(wire::watch_task_response::Content::Heartbeat(
                wire::Heartbeat { time },
            ));
        }
    }
}

fn is_last(event: &wire::Event) -> bool {
    use wire::event::Kind;

    matches!(
        event.kind,
        Some(Kind::Succeeded(_) | Kind::Failed(_) | Kind::Cancelled(_))
    )
}
