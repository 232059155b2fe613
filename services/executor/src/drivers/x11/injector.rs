//! The injector thread, which owns the connection to a display, and the handle to it.
//!
//! Commands run strictly one after the other, so that two callers never mix their keys. The thread keeps a connection
//! while it works, drops it when the display stops responding, and reconnects for the next command. It ends with its
//! last handle and restores the display.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::release_guard::ReleaseGuard;
use super::session::Session;
use super::synthetic_input::SyntheticInput;
use crate::drivers::clipboard_content::ClipboardContent;
use crate::drivers::{DriverFailure, DriverOutcome, Error, PreparedAction};

type Command = Box<dyn FnOnce(&mut Injector) + Send>;

/// A handle to the injector. Clones share one injector.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    commands: Sender<Command>,
}

impl Handle {
    /// Starts the thread, which connects with the first command.
    pub(super) fn start(
        display: String,
        display_timeout: Duration,
        scale: Option<f64>,
        own: Arc<SyntheticInput>,
    ) -> std::io::Result<Self> {
        let (commands, inbox) = channel();
        let injector = Injector {
            guard: Arc::new(ReleaseGuard::new(&display)),
            display,
            display_timeout,
            scale,
            own,
            session: None,
        };
        std::thread::Builder::new()
            .name("x11-injector".to_owned())
            .spawn(move || injector.run(&inbox))?;
        Ok(Self { commands })
    }

    /// Runs `command` on the thread and returns its result.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        command: impl FnOnce(&mut Injector) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        let command = Box::new(move |injector: &mut Injector| {
            // The caller may have gone away.
            let _ = answer.send(command(injector));
        });
        self.commands
            .send(command)
            .map_err(|_| Error::DriverTerminated)?;
        answered.await.map_err(|_| Error::DriverTerminated)
    }
}

/// State owned by the thread.
#[derive(Debug)]
pub(super) struct Injector {
    display: String,
    display_timeout: Duration,
    scale: Option<f64>,
    own: Arc<SyntheticInput>,
    /// Lives as long as the thread: a lost connection does not end what it was told.
    guard: Arc<ReleaseGuard>,
    session: Option<Session>,
}

impl Injector {
    fn run(mut self, inbox: &Receiver<Command>) {
        while let Some(command) = self.next(inbox) {
            // A panic fails its caller and drops the connection. The next connection releases what is held.
            if catch_unwind(AssertUnwindSafe(|| command(&mut self))).is_err() {
                tracing::error!(on = self.display, "a command of the injector panicked");
                self.session = None;
                if let Err(error) = self.live_session() {
                    tracing::warn!(%error, "held keys stay pressed until the display can be reached again");
                }
            }
        }
        self.close();
    }

    /// Returns the clipboard's content that would be lost; empty without a connection, which owns nothing.
    pub(super) fn remaining_clipboard(&mut self) -> Result<ClipboardContent, Error> {
        match &self.session {
            Some(session) => session.remaining_clipboard(),
            None => Ok(ClipboardContent::default()),
        }
    }

    /// Restores the display, if it is connected.
    pub(super) fn close(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.close();
        }
    }

    /// Returns the next command and restores the keymap while idle; `None` when all handles are gone.
    fn next(&mut self, inbox: &Receiver<Command>) -> Option<Command> {
        loop {
            let Some(due) = self.session.as_ref().and_then(Session::keymap_restore_due) else {
                return inbox.recv().ok();
            };
            match inbox.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = self.with_session(Session::restore_idle_keymap) {
                        tracing::warn!(%error, "remapped keycodes could not be restored");
                    }
                }
            }
        }
    }

    /// Performs an action on a connection that was just checked.
    pub(super) fn perform(
        &mut self,
        work: &PreparedAction,
        stop: &CancellationToken,
    ) -> Result<DriverOutcome, DriverFailure> {
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

    /// Runs a call on a working connection, and drops the connection after a display error.
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
            tracing::info!(on = self.display, %error, "reconnecting to the display");
            self.session = None;
        }
        if self.session.is_none() {
            self.session = Some(Session::open(
                &self.display,
                self.display_timeout,
                self.scale,
                &self.own,
                &self.guard,
            )?);
        }
        Ok(self.session.as_mut().expect("it was opened above"))
    }
}
