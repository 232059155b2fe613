//! A task that is watched in the background.

use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use motorium_client::{Channel, Client, Update};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::{tasks, until};

/// A task with its events and their arrival times.
#[derive(Debug)]
pub struct WatchedTask {
    /// `tasks/{task}`.
    pub name: String,
    events: Arc<Mutex<Vec<(Instant, wire::Event)>>>,
    watching: JoinHandle<()>,
}

impl Drop for WatchedTask {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl WatchedTask {
    /// Watches a task from its first event.
    #[must_use]
    pub fn follow(client: &Client<Channel>, name: String) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let (seen, mut updates) = (Arc::clone(&events), client.watch(&name));
        let watching = tokio::spawn(async move {
            while let Some(update) = updates.next().await {
                if let Update::Event { event, .. } = update.expect("the watch continues") {
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

    /// Waits for the first event of this kind; returns its arrival time.
    pub async fn wait_for(&self, kind: &str) -> Instant {
        self.wait_for_event(kind, |event| tasks::kind(event) == kind)
            .await
    }

    /// Waits for the first event that satisfies the predicate; returns its arrival time.
    pub async fn wait_for_event(
        &self,
        what: &str,
        is_so: impl Fn(&wire::Event) -> bool,
    ) -> Instant {
        until(what, || async {
            let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            let found = events.iter().find(|(_, event)| is_so(event));
            found.map(|(at, _)| *at)
        })
        .await
    }

    /// Maps the events so far with `choose`, skipping those without a value.
    pub fn filter_map<T>(&self, choose: impl Fn(&Kind) -> Option<T>) -> Vec<T> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let kinds = events.iter().filter_map(|(_, event)| event.kind.as_ref());
        kinds.filter_map(choose).collect()
    }
}
