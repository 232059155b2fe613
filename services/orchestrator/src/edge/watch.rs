//! Streams the events of a task: first the past ones, then new ones until the task has ended.
//!
//! A watcher reads the log by sequence number. A slow watcher reads larger batches; nothing is buffered for it.

use std::collections::VecDeque;
use std::time::SystemTime;

use futures::StreamExt as _;
use futures::stream;
use motorium_proto::convert::wire_time;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::v1::orchestrator as wire;
use motorium_store::{ResumeToken, TaskRow, TaskSubscription};
use tokio::time::{Duration, Instant};
use tonic::Status;

use super::watch_slots::WatchSlot;
use super::{Edge, ResponseStream, ownership};
use crate::error::Error;
use motorium_recording::log;

/// Number of events read per query.
// Bounds the memory held for a slow watcher.
pub(super) const EVENT_BATCH_SIZE: u32 = 100;
/// Interval at which the log is read if no notification arrives.
// Notifications across processes may be lost; a watcher then lags by one second at most.
pub(super) const POLL_INTERVAL: Duration = Duration::from_secs(1);

struct Watch {
    edge: Edge,
    task: TaskName,
    last_seq: EventSeq,
    subscription: TaskSubscription,
    row: TaskRow,
    ready: VecDeque<wire::WatchTaskResponse>,
    heartbeat_at: Instant,
    ended: bool,
    _slot: WatchSlot,
}

impl Edge {
    pub(super) async fn watch(
        &self,
        request: wire::WatchTaskRequest,
    ) -> Result<ResponseStream<wire::WatchTaskResponse>, Error> {
        let row = self.visible_row("name", &request.name).await?;
        let slot = self.watches.take(ownership::caller()?.name())?;
        let task = row.name.clone();
        let mut watch = Watch {
            edge: self.clone(),
            subscription: self.notifier.subscribe(&task),
            last_seq: EventSeq(0),
            task,
            row,
            ready: VecDeque::new(),
            heartbeat_at: Instant::now() + self.heartbeat,
            ended: false,
            _slot: slot,
        };
        if request.resume_token.is_empty() {
            let snapshot = self.task(&watch.task).await?;
            watch.push(wire::watch_task_response::Content::Snapshot(snapshot));
        } else {
            let token = ResumeToken::parse(&request.resume_token)?;
            watch.last_seq = token.resume(self.store.generation(), &watch.row)?;
            watch.ended = self.is_last_event(&watch.task, watch.last_seq).await?;
        }
        let messages = stream::unfold(watch, |mut watch| async move {
            let message = watch.next().await?;
            Some((message.map_err(Status::from), watch))
        });
        Ok(messages.boxed())
    }

    /// Returns whether `seen` is the last event of an ended task, so that there is nothing to wait for.
    async fn is_last_event(&self, task: &TaskName, seen: EventSeq) -> Result<bool, Error> {
        let task = log::load(self.store.as_ref(), task).await?;
        Ok(task.lifecycle.is_terminal() && task.last_seq == seen)
    }
}

impl Watch {
    fn push(&mut self, content: wire::watch_task_response::Content) {
        let token = ResumeToken::at(self.edge.store.generation(), &self.row, self.last_seq);
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
            // Checked before the log is read, so that a watch started after the end of its task still delivers the last
            // events.
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
        let rows = self
            .edge
            .store
            .events(&self.task, self.last_seq, EVENT_BATCH_SIZE)
            .await?;
        let count = rows.len();
        for row in rows {
            self.last_seq = row.seq;
            let event = log::public(row)?;
            self.ended |= is_last(&event);
            self.push(wire::watch_task_response::Content::Event(event));
        }
        Ok(count)
    }

    async fn wait(&mut self) {
        let until = self.heartbeat_at.min(Instant::now() + POLL_INTERVAL);
        tokio::select! {
            () = self.subscription.notified() => {}
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

/// Returns whether an event is the last one of its task.
pub(super) fn is_last(event: &wire::Event) -> bool {
    use wire::event::Kind;

    matches!(
        event.kind,
        Some(Kind::Succeeded(_) | Kind::Failed(_) | Kind::Cancelled(_))
    )
}
