//! The one signal that makes a running task let go of whatever it is waiting for.

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

/// Told once, heard by everybody who holds a clone. The first reason stays.
#[derive(Debug, Clone)]
pub struct StopSignal {
    sender: watch::Sender<Option<Stop>>,
}

impl Default for StopSignal {
    fn default() -> Self {
        Self {
            sender: watch::Sender::new(None),
        }
    }
}

impl StopSignal {
    /// Tells everybody. A second reason is not heard.
    pub fn request(&self, stop: Stop) {
        self.sender.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(stop);
            }
            first
        });
    }

    /// Waits for the reason.
    pub async fn requested(&self) -> Stop {
        let mut receiver = self.sender.subscribe();
        let stop = receiver
            .wait_for(Option::is_some)
            .await
            .expect("this signal holds a sender itself");
        stop.clone().expect("waited for it")
    }

    /// The reason, if there is one already.
    #[must_use]
    pub fn reason(&self) -> Option<Stop> {
        self.sender.borrow().clone()
    }
}
