//! A task that is watched while something else is done.

use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use motorium_client::{Client, Update};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tonic::transport::Channel;

use crate::{tasks, until};

/// A task with its events, each with the time at which it came.
#[derive(Debug)]
pub struct Watched {
    /// `tasks/{task}`.
    pub name: String,
    events: Arc<Mutex<Vec<(Instant, wire::Event)>>>,
    watching: JoinHandle<()>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl Watched {
    /// Watches a task from its first event on.
    #[must_use]
    pub fn follow(client: &Client<Channel>, name: String) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let (seen, mut updates) = (Arc::clone(&events), client.watch(&name));
        let watching = tokio::spawn(async move {
            while let Some(update) = updates.next().await {
                if let Update::Event { event, .. } = update.expect("the watch goes on") {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.push((Instant::now(), *event));
                }
            }
        });
        Self {
            name,
            events,
            watching,
        }
    }

    /// When the first event of this kind came.
    pub async fn saw(&self, kind: &str) -> Instant {
        self.saw_that(kind, |event| tasks::kind(event) == kind)
            .await
    }

    /// When the first event came that is so.
    pub async fn saw_that(&self, what: &str, is_so: impl Fn(&wire::Event) -> bool) -> Instant {
        until(what, || async {
            let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            let found = events.iter().find(|(_, event)| is_so(event));
            found.map(|(at, _)| *at)
        })
        .await
    }

    /// What has come so far of what `choose` picks.
    pub fn so_far<T>(&self, choose: impl Fn(&Kind) -> Option<T>) -> Vec<T> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let kinds = events.iter().filter_map(|(_, event)| event.kind.as_ref());
        kinds.filter_map(choose).collect()
    }
}
