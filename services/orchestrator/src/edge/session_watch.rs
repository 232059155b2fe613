//! Streams the events of all tasks of a session: first the past ones, then new ones, also of tasks created meanwhile.
//!
//! Each task is read like a watch of it alone: in batches, by sequence number, without a buffer for slow watchers. The
//! token of a message has the position in every task, so a watch resumes exactly after that message.
//!
//! A task that is deleted is read no further; the watch of a session ends with an error once that is deleted.
//!
//! Invariant: a task is read until its last event is delivered, and never again.

use std::collections::{HashSet, VecDeque};
use std::time::SystemTime;

use futures::StreamExt as _;
use futures::future::{FutureExt as _, select_all};
use futures::stream;
use motorium_kit::principal::Principal;
use motorium_proto::convert::wire_time;
use motorium_proto::domain::id::{EventSeq, SessionName, TaskName};
use motorium_proto::limits::DEFAULT_PAGE_SIZE;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::watch_session_response::Content;
use motorium_recording::log;
use motorium_store::{ListTasks, SessionToken, TaskRow, TaskSubscription};
use motorium_task::view::ENDED_STATES;
use tokio::time::Instant;
use tonic::Status;

use super::watch::{EVENT_BATCH_SIZE, POLL_INTERVAL, is_last};
use super::watch_slots::WatchSlot;
use super::{Edge, ResponseStream, ownership};
use crate::error::Error;

/// A task of the session whose last event is not delivered yet.
struct WatchedTask {
    name: TaskName,
    uid: String,
    last_seq: EventSeq,
    subscription: TaskSubscription,
    /// True if the log may have events after `last_seq`.
    may_have_events: bool,
}

struct SessionWatch {
    edge: Edge,
    caller: Principal,
    session: SessionName,
    position: SessionToken,
    /// Uids of all tasks found so far.
    known: HashSet<String>,
    tasks: Vec<WatchedTask>,
    /// Notified when the session has a new task.
    subscription: TaskSubscription,
    /// True if the session may have tasks that are not known.
    may_have_tasks: bool,
    ready: VecDeque<wire::WatchSessionResponse>,
    heartbeat_at: Instant,
    poll_at: Instant,
    failed: bool,
    _slot: WatchSlot,
}

impl Edge {
    pub(super) async fn watch_tasks_of_session(
        &self,
        request: wire::WatchSessionRequest,
    ) -> Result<ResponseStream<wire::WatchSessionResponse>, Error> {
        let name = SessionName::parse("name", &request.name)?;
        let caller = ownership::caller()?;
        let session = self.session_for(&caller, &name).await?;
        let slot = self.watches.take(caller.name())?;
        let position = match request.resume_token.as_str() {
            "" => SessionToken::start(self.store.generation(), &name),
            token => SessionToken::parse(token)?,
        };
        let mut watch = SessionWatch {
            edge: self.clone(),
            caller,
            subscription: self.notifier.subscribe_session(&name),
            session: name,
            position,
            known: HashSet::new(),
            tasks: Vec::new(),
            may_have_tasks: false,
            ready: VecDeque::new(),
            heartbeat_at: Instant::now() + self.heartbeat,
            poll_at: Instant::now() + POLL_INTERVAL,
            failed: false,
            _slot: slot,
        };
        // Listed after the subscription, so that no task is missed.
        let rows = watch.unknown_tasks().await?;
        let generation = self.store.generation();
        watch.position.check(generation, &watch.session, &rows)?;
        watch.add(rows);
        if request.resume_token.is_empty() {
            watch.push(Content::Snapshot(session));
        }
        let messages = stream::unfold(watch, |mut watch| async move {
            let message = watch.next().await?;
            Some((message.map_err(Status::from), watch))
        });
        Ok(messages.boxed())
    }
}

impl SessionWatch {
    /// Lists the tasks of the session that are not known yet, the oldest first.
    async fn unknown_tasks(&self) -> Result<Vec<TaskRow>, Error> {
        let mut unknown = Vec::new();
        let mut page_token = None;
        loop {
            let list = ListTasks {
                page_size: DEFAULT_PAGE_SIZE.unsigned_abs(),
                page_token,
                session: Some(self.session.to_string()),
                ..ListTasks::default()
            };
            let page = self.edge.store.list_tasks(list).await?;
            let found = unknown.len();
            let rows = page.items.into_iter();
            unknown.extend(rows.filter(|row| !self.known.contains(&row.uid)));
            page_token = page.next;
            // The newest come first. A page without an unknown task is followed by known ones only: transactions that
            // create tasks at the same time may commit in another order, but not 50 tasks apart.
            if page_token.is_none() || unknown.len() == found {
                unknown.reverse();
                return Ok(unknown);
            }
        }
    }

    fn add(&mut self, rows: Vec<TaskRow>) {
        for row in rows {
            self.known.insert(row.uid.clone());
            let last_seq = self.position.last_seq(&row.uid);
            if ENDED_STATES.contains(&row.state) && last_seq == row.last_seq {
                continue;
            }
            self.tasks.push(WatchedTask {
                subscription: self.edge.notifier.subscribe(&row.name),
                name: row.name,
                uid: row.uid,
                last_seq,
                may_have_events: true,
            });
        }
    }

    fn push(&mut self, content: Content) {
        self.ready.push_back(wire::WatchSessionResponse {
            resume_token: self.position.format(),
            content: Some(content),
        });
        self.heartbeat_at = Instant::now() + self.edge.heartbeat;
    }

    async fn next(&mut self) -> Option<Result<wire::WatchSessionResponse, Error>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(Ok(message));
            }
            if self.failed {
                return None;
            }
            // Checked before the logs are read, so that the last events before the process exits are delivered.
            let is_draining = self.edge.shutdown.is_draining();
            match self.read().await {
                Ok(()) if !self.ready.is_empty() => {}
                Ok(()) if is_draining => return None,
                Ok(()) => self.wait().await,
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Reads the next events of the first task that has any.
    async fn read(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.may_have_tasks) || self.subscription.try_notified() {
            self.edge.session_for(&self.caller, &self.session).await?;
            let rows = self.unknown_tasks().await?;
            self.add(rows);
        }
        let mut index = 0;
        while index < self.tasks.len() {
            let task = &mut self.tasks[index];
            if !(task.subscription.try_notified() || task.may_have_events) {
                index += 1;
                continue;
            }
            let (name, after) = (task.name.clone(), task.last_seq);
            let store = &self.edge.store;
            let rows = match store.events(&name, after, EVENT_BATCH_SIZE).await {
                Err(motorium_store::Error::TaskNotFound { .. }) => {
                    self.tasks.remove(index);
                    continue;
                }
                rows => rows?,
            };
            self.tasks[index].may_have_events = rows.len() == EVENT_BATCH_SIZE as usize;
            if !rows.is_empty() {
                let mut task = self.tasks.remove(index);
                let mut ended = false;
                for row in rows {
                    task.last_seq = row.seq;
                    self.position.advance(&task.uid, row.seq);
                    let event = log::public(row)?;
                    ended |= is_last(&event);
                    self.push(Content::Event(event));
                }
                // Moved to the end, so that a busy task does not hold up the others.
                if !ended || task.may_have_events {
                    self.tasks.push(task);
                }
                return Ok(());
            }
            index += 1;
        }
        Ok(())
    }

    /// Waits until there may be new events or tasks, or a heartbeat is due.
    async fn wait(&mut self) {
        let until = self.heartbeat_at.min(self.poll_at);
        let subscriptions = self.tasks.iter_mut().map(|task| &mut task.subscription);
        let subscriptions = std::iter::once(&mut self.subscription).chain(subscriptions);
        let notified = select_all(subscriptions.map(|one| one.notified().boxed()));
        let notified = notified.map(|(_, index, _)| index);
        tokio::select! {
            index = notified => match index.checked_sub(1) {
                None => self.may_have_tasks = true,
                Some(task) => self.tasks[task].may_have_events = true,
            },
            () = self.edge.shutdown.draining() => {}
            () = tokio::time::sleep_until(until) => {}
        }
        let now = Instant::now();
        if now >= self.poll_at {
            self.poll_at = now + POLL_INTERVAL;
            self.may_have_tasks = true;
            let tasks = self.tasks.iter_mut();
            tasks.for_each(|task| task.may_have_events = true);
        }
        if now >= self.heartbeat_at {
            let time = Some(wire_time(SystemTime::now()));
            self.push(Content::Heartbeat(wire::Heartbeat { time }));
        }
    }
}
