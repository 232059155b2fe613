//! Wakes whoever watches a task. It carries no data, and a ring may be lost: watchers also look by themselves now and
//! then, so a lost one costs time and nothing else.
//!
//! It works within a process, and, where somebody carries its rings, across them. Rings that come while nobody listens,
//! or faster than somebody answers, become one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use motorium_proto::domain::id::TaskName;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How often each task has been rung at, for as long as somebody listens.
type Bells = HashMap<TaskName, watch::Sender<u64>>;

/// Rings at tasks. Clones are the same doorbell.
#[derive(Debug, Clone, Default)]
pub struct Doorbell {
    bells: Arc<Mutex<Bells>>,
    carrier: Option<Arc<Carrier>>,
}

/// Takes rings to other processes, and theirs to this one.
#[derive(Debug)]
struct Carrier {
    rings: UnboundedSender<TaskName>,
    work: Vec<JoinHandle<()>>,
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.work.iter().for_each(JoinHandle::abort);
    }
}

impl Doorbell {
    /// A doorbell at which nobody listens yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A doorbell whose rings also go to `rings`. `carry` is given one that rings in this process alone, and starts
    /// the work that carries rings; it is ended with the last clone.
    pub(crate) fn carried<const N: usize>(
        rings: UnboundedSender<TaskName>,
        carry: impl FnOnce(Self) -> [JoinHandle<()>; N],
    ) -> Self {
        let here = Self::default();
        let work = carry(here.clone()).into();
        Self {
            carrier: Some(Arc::new(Carrier { rings, work })),
            ..here
        }
    }

    /// Says that something may be new about every task.
    pub(crate) fn ring_all(&self) {
        for bell in self.lock().values() {
            bell.send_modify(|rings| *rings += 1);
        }
    }

    /// Says that something about the task is new.
    pub fn ring(&self, task: &TaskName) {
        if let Some(carrier) = &self.carrier {
            // Nobody takes it once the process ends.
            let _ = carrier.rings.send(task.clone());
        }
        if let Some(bell) = self.lock().get(task) {
            bell.send_modify(|rings| *rings += 1);
        }
    }

    /// Listens for rings from now on.
    #[must_use]
    pub fn subscribe(&self, task: &TaskName) -> Bell {
        let rings = self.lock().entry(task.clone()).or_default().subscribe();
        let heard = *rings.borrow();
        Bell {
            rings,
            own: Arc::default(),
            heard,
            task: task.clone(),
            doorbell: self.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Bells> {
        // No code panics while it holds the lock, and a map of senders is whole in any case.
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hears the rings at one task, but for its own.
#[derive(Debug)]
pub struct Bell {
    rings: watch::Receiver<u64>,
    /// Rings of this bell and its twins, which they need not hear.
    own: Arc<AtomicU64>,
    /// Rings of others that were heard.
    heard: u64,
    task: TaskName,
    doorbell: Doorbell,
}

impl Bell {
    /// Waits for a ring since the last time, or since the subscription.
    pub async fn rung(&mut self) {
        while !self.has_rung() {
            if self.rings.changed().await.is_err() {
                // The sender stays in the map as long as somebody listens.
                std::future::pending().await
            }
        }
    }

    /// Whether there was a ring since the last time, without waiting for one.
    pub fn has_rung(&mut self) -> bool {
        let rings = *self.rings.borrow_and_update();
        // A ring of our own is counted here first, so that none of others' is ever taken for one of ours.
        let others = rings.saturating_sub(self.own.load(Ordering::Acquire));
        let news = others > self.heard;
        self.heard = self.heard.max(others);
        news
    }

    /// Rings at the task, for everybody but this bell and its twins.
    pub fn ring(&self) {
        self.own.fetch_add(1, Ordering::AcqRel);
        self.doorbell.ring(&self.task);
    }

    /// Another bell at the same task, which does not hear this one's rings either.
    #[must_use]
    pub fn twin(&self) -> Self {
        let rings = self.rings.clone();
        Self {
            own: Arc::clone(&self.own),
            heard: self.heard,
            rings,
            task: self.task.clone(),
            doorbell: self.doorbell.clone(),
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        let mut bells = self.doorbell.lock();
        // This listener is still counted here.
        if bells
            .get(&self.task)
            .is_some_and(|bell| bell.receiver_count() <= 1)
        {
            bells.remove(&self.task);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn task(name: &str) -> TaskName {
        TaskName::from_segment(name).unwrap()
    }

    fn is_rung(bell: &mut Bell) -> bool {
        bell.rung().now_or_never().is_some()
    }

    #[test]
    fn rings_reach_the_listeners_of_their_task_and_coalesce() {
        let doorbell = Doorbell::new();
        doorbell.ring(&task("a"));
        let (mut first, mut second, mut other) = (
            doorbell.subscribe(&task("a")),
            doorbell.subscribe(&task("a")),
            doorbell.subscribe(&task("b")),
        );
        assert!(!is_rung(&mut first), "a ring before the subscription");
        for _ in 0..3 {
            doorbell.ring(&task("a"));
        }
        assert!(is_rung(&mut first) && is_rung(&mut second) && !is_rung(&mut other));
        assert!(!is_rung(&mut first), "three rings are one");
    }

    #[test]
    fn nobody_hears_their_own_rings_and_everybody_those_of_others() {
        let doorbell = Doorbell::new();
        let mut listener = doorbell.subscribe(&task("a"));
        let mut bell = doorbell.subscribe(&task("a"));
        let mut twin = bell.twin();
        for _ in 0..3 {
            bell.ring();
        }
        assert!(listener.has_rung() && !bell.has_rung() && !is_rung(&mut twin));
        // One of others' between two of one's own is not lost.
        bell.ring();
        doorbell.ring(&task("a"));
        twin.ring();
        assert!(is_rung(&mut bell) && twin.has_rung());
        assert!(!bell.has_rung() && !twin.has_rung());
    }

    #[test]
    fn nothing_is_kept_for_tasks_without_listeners() {
        let doorbell = Doorbell::new();
        let (first, second) = (
            doorbell.subscribe(&task("a")),
            doorbell.subscribe(&task("a")),
        );
        drop(first);
        assert_eq!(doorbell.lock().len(), 1);
        drop(second);
        doorbell.ring(&task("a"));
        assert!(doorbell.lock().is_empty());
    }

    #[tokio::test]
    async fn wakes_across_tasks() {
        let doorbell = Doorbell::new();
        let mut bell = doorbell.subscribe(&task("a"));
        let waiting = tokio::spawn(async move { bell.rung().await });
        doorbell.ring(&task("a"));
        waiting.await.unwrap();
    }
}
