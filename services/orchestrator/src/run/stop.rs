//! The one signal that makes a running task let go of whatever it is waiting for, or only of the mouse and the keyboard.

use motorium_proto::domain::id::EventSeq;
use tokio::sync::watch;

/// Why a run is to be left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The user cancelled the task.
    Cancelled,
    /// The process ends.
    Shutdown,
    /// The task or the desktop belongs to somebody else now.
    LeaseLost(String),
}

#[derive(Debug, Clone, Default)]
struct Wanted {
    stop: Option<Stop>,
    /// The event that paused the task, until the loop has seen it.
    paused: Option<EventSeq>,
    /// The same, where a person took the desktop.
    taken_over: Option<EventSeq>,
}

/// Told once, heard by everybody who holds a clone. The first reason to stop stays; a pause passes.
#[derive(Debug, Clone, Default)]
pub struct StopSignal {
    wanted: watch::Sender<Wanted>,
}

impl StopSignal {
    /// Tells everybody. A second reason is not heard.
    pub fn request(&self, stop: Stop) {
        self.wanted.send_if_modified(|wanted| {
            let first = wanted.stop.is_none();
            if first {
                wanted.stop = Some(stop);
            }
            first
        });
    }

    /// Whatever is being performed is to be let go: the task was paused by this event.
    pub fn pause(&self, by: EventSeq) {
        self.wanted.send_modify(|wanted| wanted.paused = Some(by));
    }

    /// A pause in which nothing is worth going on with: a person has the desktop since this event.
    pub fn take_over(&self, by: EventSeq) {
        self.wanted.send_modify(|wanted| {
            wanted.paused = Some(by);
            wanted.taken_over = Some(by);
        });
    }

    /// The loop knows what has happened up to this event: an earlier pause is its own business from now on.
    pub fn seen(&self, up_to: EventSeq) {
        self.wanted.send_modify(|wanted| {
            wanted.paused = wanted.paused.filter(|by| *by > up_to);
            wanted.taken_over = wanted.taken_over.filter(|by| *by > up_to);
        });
    }

    /// Waits for the reason.
    pub async fn requested(&self) -> Stop {
        self.wait_for(|wanted| wanted.stop.clone()).await
    }

    /// Waits for a pause.
    pub async fn paused(&self) -> EventSeq {
        self.wait_for(|wanted| wanted.paused).await
    }

    /// Waits for a person to take over.
    pub async fn taken_over(&self) -> EventSeq {
        self.wait_for(|wanted| wanted.taken_over).await
    }

    async fn wait_for<T>(&self, choose: impl Fn(&Wanted) -> Option<T>) -> T {
        let mut receiver = self.wanted.subscribe();
        loop {
            if let Some(chosen) = choose(&receiver.borrow_and_update()) {
                return chosen;
            }
            let changed = receiver.changed().await;
            changed.expect("this signal holds a sender itself");
        }
    }

    /// The reason, if there is one already.
    #[must_use]
    pub fn reason(&self) -> Option<Stop> {
        self.wanted.borrow().stop.clone()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_pause_passes_and_a_stop_stays() {
        let signal = StopSignal::default();
        signal.pause(EventSeq(7));
        assert_eq!(signal.paused().now_or_never(), Some(EventSeq(7)));
        signal.seen(EventSeq(6));
        assert!(signal.paused().now_or_never().is_some(), "a later one");
        signal.seen(EventSeq(7));
        assert!(signal.paused().now_or_never().is_none());
        assert!(signal.taken_over().now_or_never().is_none());
        signal.take_over(EventSeq(9));
        assert_eq!(signal.paused().now_or_never(), Some(EventSeq(9)));
        assert_eq!(signal.taken_over().now_or_never(), Some(EventSeq(9)));
        signal.seen(EventSeq(9));
        assert!(signal.taken_over().now_or_never().is_none());
        assert_eq!(signal.reason(), None);

        signal.request(Stop::Cancelled);
        signal.request(Stop::Shutdown);
        assert_eq!(signal.requested().now_or_never(), Some(Stop::Cancelled));
    }
}
