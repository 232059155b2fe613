//! Notifications for the watchers of a task or a session. They have no data and may be lost: watchers also poll, so a lost
//! notification only delays them.
//!
//! Notifications work within a process and, with a relay, across processes. Those that arrive faster than a subscriber
//! handles them are coalesced. Without a subscriber they are dropped.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use motorium_proto::domain::id::{SessionName, TaskName};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Number of notifications per topic, for topics with subscribers.
type Subscriptions = HashMap<Topic, watch::Sender<u64>>;

/// Subject of notifications: the resource name of a task or a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Topic(String);

impl Topic {
    fn task(name: &TaskName) -> Self {
        Self(name.to_string())
    }

    fn session(name: &SessionName) -> Self {
        Self(name.to_string())
    }

    /// Returns the topic with a name that [`Topic::as_str`] returned in another process.
    pub(crate) fn parse(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Returns its name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Notifies subscribers of tasks and sessions. Clones share the subscriptions.
#[derive(Debug, Clone, Default)]
pub struct TaskNotifier {
    subscriptions: Arc<Mutex<Subscriptions>>,
    relay: Option<Arc<Relay>>,
}

/// Forwards notifications to other processes, and theirs to this one.
#[derive(Debug)]
struct Relay {
    notifications: UnboundedSender<Topic>,
    work: Vec<JoinHandle<()>>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.work.iter().for_each(JoinHandle::abort);
    }
}

impl TaskNotifier {
    /// Creates a notifier without subscriptions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a notifier that also sends each topic to `notifications`. `carry` gets a notifier for this process alone and
    /// starts the tasks of the relay, which are aborted with the last clone.
    pub(crate) fn with_relay<const N: usize>(
        notifications: UnboundedSender<Topic>,
        carry: impl FnOnce(Self) -> [JoinHandle<()>; N],
    ) -> Self {
        let here = Self::default();
        let work = carry(here.clone()).into();
        Self {
            relay: Some(Arc::new(Relay {
                notifications,
                work,
            })),
            ..here
        }
    }

    /// Notifies all subscribers.
    pub(crate) fn notify_all(&self) {
        for sender in self.lock().values() {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// Notifies the subscribers of a task.
    pub fn notify(&self, task: &TaskName) {
        self.notify_topic(&Topic::task(task));
    }

    /// Notifies the subscribers of a session: it has a new task.
    pub fn notify_session(&self, session: &SessionName) {
        self.notify_topic(&Topic::session(session));
    }

    pub(crate) fn notify_topic(&self, topic: &Topic) {
        if let Some(carrier) = &self.relay {
            // Ignored: the relay has ended with the process.
            let _ = carrier.notifications.send(topic.clone());
        }
        if let Some(sender) = self.lock().get(topic) {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// Subscribes to notifications of a task from now on.
    #[must_use]
    pub fn subscribe(&self, task: &TaskName) -> TaskSubscription {
        self.subscribe_topic(Topic::task(task))
    }

    /// Subscribes to notifications of a session from now on. They tell of new tasks, not of events of its tasks.
    #[must_use]
    pub fn subscribe_session(&self, session: &SessionName) -> TaskSubscription {
        self.subscribe_topic(Topic::session(session))
    }

    fn subscribe_topic(&self, topic: Topic) -> TaskSubscription {
        let notifications = self.lock().entry(topic.clone()).or_default().subscribe();
        let seen = *notifications.borrow();
        TaskSubscription {
            notifications,
            own: Arc::default(),
            seen,
            topic,
            notifier: self.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Subscriptions> {
        // Poisoning is ignored: no code panics while it holds the lock, and the map is always consistent.
        self.subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscription to the notifications of one task or session, except its own.
#[derive(Debug)]
pub struct TaskSubscription {
    notifications: watch::Receiver<u64>,
    /// Number of notifications sent by this subscription and its siblings, which they ignore.
    own: Arc<AtomicU64>,
    /// Number of notifications of others already received.
    seen: u64,
    topic: Topic,
    notifier: TaskNotifier,
}

impl TaskSubscription {
    /// Waits for a notification since the last one received, or since the subscription.
    pub async fn notified(&mut self) {
        while !self.try_notified() {
            if self.notifications.changed().await.is_err() {
                // Unreachable: the sender stays in the map as long as there is a subscription.
                std::future::pending().await
            }
        }
    }

    /// Returns true if there was a notification since the last one received, and marks it as received. Does not wait.
    pub fn try_notified(&mut self) -> bool {
        let total = *self.notifications.borrow_and_update();
        // Own notifications are counted before they are sent, so that one of others is never mistaken for an own one.
        let others = total.saturating_sub(self.own.load(Ordering::Acquire));
        let has_new = others > self.seen;
        self.seen = self.seen.max(others);
        has_new
    }

    /// Notifies all subscribers of the task except this one and its siblings.
    pub fn notify_others(&self) {
        self.own.fetch_add(1, Ordering::AcqRel);
        self.notifier.notify_topic(&self.topic);
    }

    /// Creates another subscription to the same task. Siblings ignore each other's notifications.
    #[must_use]
    pub fn sibling(&self) -> Self {
        let notifications = self.notifications.clone();
        Self {
            own: Arc::clone(&self.own),
            seen: self.seen,
            notifications,
            topic: self.topic.clone(),
            notifier: self.notifier.clone(),
        }
    }
}

impl Drop for TaskSubscription {
    fn drop(&mut self) {
        let mut subscriptions = self.notifier.lock();
        // This subscription is still counted here.
        if subscriptions
            .get(&self.topic)
            .is_some_and(|sender| sender.receiver_count() <= 1)
        {
            subscriptions.remove(&self.topic);
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

    fn is_notified(subscription: &mut TaskSubscription) -> bool {
        subscription.notified().now_or_never().is_some()
    }

    #[test]
    fn notifications_reach_subscribers_of_their_task_and_coalesce() {
        let notifier = TaskNotifier::new();
        notifier.notify(&task("a"));
        let (mut first, mut second, mut other) = (
            notifier.subscribe(&task("a")),
            notifier.subscribe(&task("a")),
            notifier.subscribe(&task("b")),
        );
        assert!(
            !is_notified(&mut first),
            "a notification before the subscription"
        );
        for _ in 0..3 {
            notifier.notify(&task("a"));
        }
        assert!(is_notified(&mut first) && is_notified(&mut second) && !is_notified(&mut other));
        assert!(
            !is_notified(&mut first),
            "three notifications are coalesced"
        );
    }

    #[test]
    fn own_notifications_are_skipped_and_others_received() {
        let notifier = TaskNotifier::new();
        let mut listener = notifier.subscribe(&task("a"));
        let mut subscription = notifier.subscribe(&task("a"));
        let mut twin = subscription.sibling();
        for _ in 0..3 {
            subscription.notify_others();
        }
        assert!(listener.try_notified() && !subscription.try_notified() && !is_notified(&mut twin));
        // A notification of others between two own ones is not lost.
        subscription.notify_others();
        notifier.notify(&task("a"));
        twin.notify_others();
        assert!(is_notified(&mut subscription) && twin.try_notified());
        assert!(!subscription.try_notified() && !twin.try_notified());
    }

    #[test]
    fn topics_without_subscribers_are_removed() {
        let notifier = TaskNotifier::new();
        let (first, second) = (
            notifier.subscribe(&task("a")),
            notifier.subscribe(&task("a")),
        );
        drop(first);
        assert_eq!(notifier.lock().len(), 1);
        drop(second);
        notifier.notify(&task("a"));
        assert!(notifier.lock().is_empty());
    }

    #[test]
    fn a_session_and_a_task_with_the_same_segment_are_two_topics() {
        let notifier = TaskNotifier::new();
        let session = SessionName::from_segment("a").unwrap();
        let mut tasks = notifier.subscribe(&task("a"));
        let mut sessions = notifier.subscribe_session(&session);
        notifier.notify_session(&session);
        assert!(is_notified(&mut sessions) && !is_notified(&mut tasks));
        notifier.notify(&task("a"));
        assert!(is_notified(&mut tasks) && !is_notified(&mut sessions));
    }

    #[tokio::test]
    async fn notification_wakes_another_async_task() {
        let notifier = TaskNotifier::new();
        let mut subscription = notifier.subscribe(&task("a"));
        let waiting = tokio::spawn(async move { subscription.notified().await });
        notifier.notify(&task("a"));
        waiting.await.unwrap();
    }
}
