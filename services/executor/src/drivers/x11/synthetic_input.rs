//! The events that this driver sent, by which they are distinguished from user input when they come back.
//!
//! It does not read input: `human_input` does.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use x11rb::protocol::xproto::BUTTON_RELEASE_EVENT;

/// Age after which a sent event is dropped. Some never come back: a move to the current position makes no event.
const EVENT_EXPIRY: Duration = Duration::from_secs(10);
/// Age after which a sent event has certainly reached the server, including its delay.
const IN_FLIGHT_WINDOW: Duration = Duration::from_secs(1);
/// Maximum number of remembered events. A text of 5,000 characters makes about 20,000.
const MAX_SENT_EVENTS: usize = 65_536;
/// Maximum number of concurrent watchers. Each has a thread.
pub(super) const MAX_WATCHERS: usize = 16;

/// The events sent by this driver, shared with all watchers.
#[derive(Debug, Default)]
pub(super) struct SyntheticInput(Mutex<SyntheticInputState>);

#[derive(Debug, Default)]
struct SyntheticInputState {
    /// Recently sent events: a new watcher also has to filter those still in flight.
    recent: SentEvents,
    ledgers: Vec<Weak<PendingEvents>>,
}

impl SyntheticInput {
    /// Records an event that is about to be sent. `kind` is an event type of the core protocol.
    pub(super) fn note(&self, kind: u8, detail: u8) {
        // Button releases are not reported to watchers.
        if kind == BUTTON_RELEASE_EVENT {
            return;
        }
        let now = Instant::now();
        let mut noted = lock(&self.0);
        noted.recent.note(kind, detail, now, IN_FLIGHT_WINDOW);
        for ledger in noted.ledgers.iter().filter_map(Weak::upgrade) {
            lock(&ledger.0).note(kind, detail, now, EVENT_EXPIRY);
        }
    }

    pub(super) fn subscribe(&self) -> Option<Arc<PendingEvents>> {
        let mut noted = lock(&self.0);
        noted.ledgers.retain(|ledger| ledger.strong_count() > 0);
        if noted.ledgers.len() >= MAX_WATCHERS {
            return None;
        }
        let now = Instant::now();
        noted.recent.forget(now, IN_FLIGHT_WINDOW);
        // Most recent events have arrived already, so they expire after the in-flight window.
        let mut sent = noted.recent.clone();
        sent.age(EVENT_EXPIRY.saturating_sub(IN_FLIGHT_WINDOW));
        let ledger = Arc::new(PendingEvents(Mutex::new(sent)));
        noted.ledgers.push(Arc::downgrade(&ledger));
        Some(ledger)
    }
}

/// The driver's own events that one watcher still expects.
#[derive(Debug, Default)]
pub(super) struct PendingEvents(Mutex<SentEvents>);

impl PendingEvents {
    /// Removes a received event and returns whether it was expected.
    pub(super) fn take(&self, kind: u8, detail: u8, now: Instant) -> bool {
        lock(&self.0).take(kind, detail, now)
    }
}

/// Sent events that have not come back yet, oldest first.
#[derive(Debug, Clone, Default)]
struct SentEvents(VecDeque<(u8, u8, Instant)>);

impl SentEvents {
    fn note(&mut self, kind: u8, detail: u8, now: Instant, kept: Duration) {
        self.0.push_back((kind, detail, now));
        self.forget(now, kept);
    }

    fn forget(&mut self, now: Instant, kept: Duration) {
        let is_old = |(_, _, at): &(u8, u8, Instant)| now.saturating_duration_since(*at) > kept;
        while self.0.len() > MAX_SENT_EVENTS || self.0.front().is_some_and(is_old) {
            self.0.pop_front();
        }
    }

    /// Increases the age of every event.
    fn age(&mut self, by: Duration) {
        for (_, _, at) in &mut self.0 {
            *at = at.checked_sub(by).unwrap_or(*at);
        }
    }

    /// Removes a received event from the list and returns whether it was on it.
    fn take(&mut self, kind: u8, detail: u8, now: Instant) -> bool {
        self.forget(now, EVENT_EXPIRY);
        let mut sent = self.0.iter();
        let found = sent.position(|&(sent, of, _)| (sent, of) == (kind, detail));
        found.is_some_and(|index| self.0.remove(index).is_some())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use x11rb::protocol::xproto::{KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT};

    use super::*;

    #[test]
    fn each_synthetic_event_is_recognised_once() {
        let mut sent = SentEvents::default();
        let now = Instant::now();
        sent.note(KEY_PRESS_EVENT, 38, now, EVENT_EXPIRY);
        sent.note(KEY_PRESS_EVENT, 38, now, EVENT_EXPIRY);
        let mut check =
            |kind, detail, at, expected| assert_eq!(sent.take(kind, detail, at), expected);
        check(KEY_PRESS_EVENT, 39, now, false);
        check(KEY_RELEASE_EVENT, 38, now, false);
        check(KEY_PRESS_EVENT, 38, now, true);
        check(KEY_PRESS_EVENT, 38, now, true);
        check(KEY_PRESS_EVENT, 38, now, false);
        // An event that never came back expires.
        sent.note(MOTION_NOTIFY_EVENT, 0, now, EVENT_EXPIRY);
        assert!(!sent.take(MOTION_NOTIFY_EVENT, 0, now + EVENT_EXPIRY * 2));
        assert!(sent.0.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn new_subscriber_recognises_synthetic_events_in_flight() {
        let own = SyntheticInput::default();
        own.note(KEY_PRESS_EVENT, 24);
        tokio::time::advance(IN_FLIGHT_WINDOW * 2).await;
        own.note(KEY_PRESS_EVENT, 38);
        let ledger = own.subscribe().unwrap();
        own.note(KEY_RELEASE_EVENT, 38);
        let take = |kind, detail| ledger.take(kind, detail, Instant::now());
        assert!(take(KEY_PRESS_EVENT, 38) && take(KEY_RELEASE_EVENT, 38));
        assert!(!take(KEY_PRESS_EVENT, 24), "that event has already arrived");
        let many: Vec<_> = (1..MAX_WATCHERS)
            .map(|_| own.subscribe().unwrap())
            .collect();
        assert!(own.subscribe().is_none(), "{} watch", many.len());
        drop(ledger);
        assert!(own.subscribe().is_some());
    }
}
