//! Signal that makes a running task abandon whatever it awaits, or only release the mouse and the keyboard.

use motorium_proto::domain::id::EventSeq;
use tokio::sync::watch;

/// Reason to stop a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The user cancelled the task.
    Cancelled,
    /// The process shuts down.
    Shutdown,
    /// The lease of the task or of the desktop was lost.
    LeaseLost(String),
}

#[derive(Debug, Clone, Default)]
struct StopState {
    stop: Option<StopReason>,
    /// The event that paused the task, until the loop acknowledges it.
    paused: Option<EventSeq>,
    /// The event with which a person took over the desktop, until the loop acknowledges it.
    taken_over: Option<EventSeq>,
}

/// Broadcast to all clones. The first stop reason is kept; a pause can be withdrawn.
#[derive(Debug, Clone, Default)]
pub struct StopSignal {
    wanted: watch::Sender<StopState>,
}

impl StopSignal {
    /// Requests a stop. Later reasons are ignored.
    pub fn request(&self, stop: StopReason) {
        self.wanted.send_if_modified(|wanted| {
            let first = wanted.stop.is_none();
            if first {
                wanted.stop = Some(stop);
            }
            first
        });
    }

    /// Requests that the current action be stopped, because this event paused the task.
    pub fn pause(&self, by: EventSeq) {
        self.wanted.send_modify(|wanted| wanted.paused = Some(by));
    }

    /// Requests that everything be abandoned, because a person has taken over the desktop with this event.
    pub fn take_over(&self, by: EventSeq) {
        self.wanted.send_modify(|wanted| {
            wanted.paused = Some(by);
            wanted.taken_over = Some(by);
        });
    }

    /// Acknowledges all events up to this one: earlier pauses are no longer signalled.
    pub fn acknowledge(&self, up_to: EventSeq) {
        self.wanted.send_modify(|wanted| {
            wanted.paused = wanted.paused.filter(|by| *by > up_to);
            wanted.taken_over = wanted.taken_over.filter(|by| *by > up_to);
        });
    }

    /// Waits for a stop request and returns its reason.
    pub async fn requested(&self) -> StopReason {
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

    async fn wait_for<T>(&self, choose: impl Fn(&StopState) -> Option<T>) -> T {
        let mut receiver = self.wanted.subscribe();
        loop {
            if let Some(chosen) = choose(&receiver.borrow_and_update()) {
                return chosen;
            }
            let changed = receiver.changed().await;
            changed.expect("this signal holds a sender itself");
        }
    }

    /// Returns the stop reason, if a stop was requested.
    #[must_use]
    pub fn reason(&self) -> Option<StopReason> {
        self.wanted.borrow().stop.clone()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn pause_can_be_acknowledged_and_stop_is_final() {
        let signal = StopSignal::default();
        signal.pause(EventSeq(7));
        assert_eq!(signal.paused().now_or_never(), Some(EventSeq(7)));
        signal.acknowledge(EventSeq(6));
        assert!(signal.paused().now_or_never().is_some(), "a later one");
        signal.acknowledge(EventSeq(7));
        assert!(signal.paused().now_or_never().is_none());
        assert!(signal.taken_over().now_or_never().is_none());
        signal.take_over(EventSeq(9));
        assert_eq!(signal.paused().now_or_never(), Some(EventSeq(9)));
        assert_eq!(signal.taken_over().now_or_never(), Some(EventSeq(9)));
        signal.acknowledge(EventSeq(9));
        assert!(signal.taken_over().now_or_never().is_none());
        assert_eq!(signal.reason(), None);

        signal.request(StopReason::Cancelled);
        signal.request(StopReason::Shutdown);
        assert_eq!(
            signal.requested().now_or_never(),
            Some(StopReason::Cancelled)
        );
    }
}
