//! The one thread that talks to a display, and the handle by which the rest of the service reaches it.
//!
//! Commands are done strictly one after the other, so that two callers never mix their keys. The thread keeps a
//! connection while it works, throws it away when the display stops answering, and makes a new one for the next
//! command. It ends with its last handle and leaves the display as it found it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::human::OwnInput;
use super::session::Session;
use crate::drivers::{Error, Failure, Performed, Work};

type Command = Box<dyn FnOnce(&mut Injector) + Send>;

/// Reaches the injector. Clones reach the same one.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    commands: Sender<Command>,
}

impl Handle {
    /// Starts the thread. It connects with the first command.
    pub(super) fn start(
        display: String,
        patience: Duration,
        own: Arc<OwnInput>,
    ) -> std::io::Result<Self> {
        let (commands, inbox) = channel();
        let injector = Injector {
            display,
            patience,
            own,
            session: None,
        };
        std::thread::Builder::new()
            .name("x11-injector".to_owned())
            .spawn(move || injector.run(&inbox))?;
        Ok(Self { commands })
    }

    /// Has `command` done by the thread and waits for its answer.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        command: impl FnOnce(&mut Injector) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        let command = Box::new(move |injector: &mut Injector| {
            // A caller that has gone away needs no answer.
            let _ = answer.send(command(injector));
        });
        self.commands.send(command).map_err(|_| Error::DriverGone)?;
        answered.await.map_err(|_| Error::DriverGone)
    }
}

/// What the thread owns.
#[derive(Debug)]
pub(super) struct Injector {
    display: String,
    patience: Duration,
    own: Arc<OwnInput>,
    session: Option<Session>,
}

impl Injector {
    fn run(mut self, inbox: &Receiver<Command>) {
        while let Some(command) = self.next(inbox) {
            // A defect costs its caller an answer and everybody the connection; a new one releases what is held.
            if catch_unwind(AssertUnwindSafe(|| command(&mut self))).is_err() {
                tracing::error!(
                    on = self.display,
                    "a command of the injector has failed by a defect"
                );
                self.session = None;
                if let Err(error) = self.live_session() {
                    tracing::warn!(%error, "what was held stays so until the display is there again");
                }
            }
        }
        self.close();
    }

    /// Leaves the display as it was found, if there is a connection to it.
    pub(super) fn close(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.close();
        }
    }

    /// The next command; tidies up while there is none. `None` when all handles are gone.
    fn next(&mut self, inbox: &Receiver<Command>) -> Option<Command> {
        loop {
            let Some(due) = self.session.as_ref().and_then(Session::tidy_due) else {
                return inbox.recv().ok();
            };
            match inbox.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = self.with_session(Session::tidy) {
                        tracing::warn!(%error, "lent keys could not be given back");
                    }
                }
            }
        }
    }

    /// Performs an action on a connection that was seen alive just before.
    pub(super) fn perform(
        &mut self,
        work: &Work,
        stop: &CancellationToken,
    ) -> Result<Performed, Failure> {
        let session = self.live_session()?;
        let outcome = session.perform(work, stop);
        if outcome
            .as_ref()
            .is_err_and(|failure| failure.error.is_display())
        {
            self.session = None;
        }
        outcome
    }

    /// Does something that may be done again on a new connection if the old one turns out to be dead.
    pub(super) fn with_session<T>(
        &mut self,
        act: impl FnOnce(&mut Session) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let outcome = act(self.live_session()?);
        if outcome.as_ref().is_err_and(Error::is_display) {
            self.session = None;
        }
        outcome
    }

    fn live_session(&mut self) -> Result<&mut Session, Error> {
        if let Some(session) = &self.session
            && let Err(error) = session.probe()
        {
            tracing::info!(on = self.display, %error, "connecting to the display anew");
            self.session = None;
        }
        if self.session.is_none() {
            self.session = Some(Session::open(&self.display, self.patience, &self.own)?);
        }
        Ok(self.session.as_mut().expect("it was opened above"))
    }
}
