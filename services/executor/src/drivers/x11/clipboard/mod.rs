//! The clipboard, owned by a thread of ours for as long as something is offered on it.
//!
//! An X selection lives in its owner: whoever asks for it is answered by the process that offered it. So offering
//! needs a thread that answers at any time, also while the injector types. A text offered for one paste is taken back
//! some time after the paste, and what was there before is offered again, in every form it had.
//!
//! Invariant: the offer is not changed while an application is in the middle of a paste, as far as that can be seen.
//! A paste is a conversation: which forms are there, one of them, again which, that one once more. Who is offered
//! something else half way pastes the wrong text or none. `paste` tells when the conversation is over.
//!
//! Not here: clipboard managers, and the `MULTIPLE` form of request, which no application of note uses.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x11rb::protocol::xproto::Window;

use self::owner::Owner;
use self::paste::{Paste, Progress, Seen};
use super::link::Link;
use crate::drivers::Error;
use crate::drivers::pause::pause;

mod content;
mod owner;
mod paste;

/// Which of the two selections that people use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    /// What ctrl+v pastes.
    Clipboard,
    /// What the middle button pastes, and shift+Insert in terminals.
    Primary,
}

impl Selection {
    const ALL: [Selection; 2] = [Selection::Clipboard, Selection::Primary];
}

/// Between two looks at whether a paste is over.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// How long a window is given to begin to fetch what is pasted into it. On a machine with no time to spare a browser
/// was seen not to have begun after 5 s.
const PASTE_PATIENCE: Duration = Duration::from_secs(10);
/// The same where nobody is told if it does not: the chord may have meant nothing, and what a foreign owner is asked
/// for cannot be seen.
const UNSEEN_PATIENCE: Duration = Duration::from_secs(1);

type SharedSeen = Arc<Mutex<Seen>>;
type Command = Box<dyn FnOnce(&mut Owner) -> Result<(), Error> + Send>;

/// Reaches the thread that owns the clipboard.
#[derive(Debug)]
pub(super) struct Clipboard {
    commands: Sender<Command>,
    /// Wakes the thread out of its wait for the server.
    bell: Arc<OwnedFd>,
    seen: SharedSeen,
    /// The bits of a window's identifier that tell which client it belongs to.
    client_bits: u32,
    /// A paste that may not be over.
    paste: Option<Paste>,
}

impl Clipboard {
    /// Starts the thread with a connection of its own.
    pub(super) fn start(display: &str, patience: Duration) -> Result<Self, Error> {
        use x11rb::connection::Connection as _;
        let link = Link::connect(display, patience)?;
        let client_bits = !link.x.setup().resource_id_mask;
        let seen = SharedSeen::default();
        let owner = Owner::new(link, client_bits, seen.clone())?;
        let (commands, inbox) = channel();
        let refused = |cause: std::io::Error| Error::ClipboardRefused {
            cause: cause.to_string(),
        };
        let bell = Arc::new(
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(|e| refused(e.into()))?,
        );
        let thread_bell = bell.clone();
        std::thread::Builder::new()
            .name("x11-clipboard".to_owned())
            .spawn(move || run(owner, &inbox, &thread_bell))
            .map_err(refused)?;
        Ok(Self {
            commands,
            bell,
            seen,
            client_bits,
            paste: None,
        })
    }

    /// Offers `text` for one paste, and keeps what was there before.
    pub(super) fn lend(&self, selection: Selection, text: &str) -> Result<(), Error> {
        let text = text.to_owned();
        self.call(move |owner| owner.lend(selection, &text))
    }

    /// Offers `text` until somebody else offers something.
    pub(super) fn set(&self, text: &str) -> Result<(), Error> {
        let text = text.to_owned();
        self.call(move |owner| owner.set(&text))
    }

    /// Puts back what was there before the last paste, if that has not happened yet.
    pub(super) fn restore(&self) -> Result<(), Error> {
        self.call(Owner::restore)
    }

    /// Allows what was there before the last paste to be put back, after a while.
    pub(super) fn release(&self) -> Result<(), Error> {
        self.call(Owner::release)
    }

    /// Notes that a paste into `window` is about to be asked for. `None` stands for any window.
    pub(super) fn begin_paste(&mut self, window: Option<Window>) {
        self.lock_seen().askers.clear();
        self.paste = Some(Paste {
            client: window.map(|window| window & self.client_bits),
            since: Instant::now(),
        });
    }

    /// Waits until the paste of a lent text that was begun last is over.
    pub(super) fn finish_paste(&mut self, stop: &CancellationToken) -> Result<(), Error> {
        self.wait_for_paste(PASTE_PATIENCE, stop, Self::check_lent)
    }

    /// The same, where it need not have been one. Has to come before whatever changes the clipboard.
    pub(super) fn settle(&mut self, stop: &CancellationToken) -> Result<(), Error> {
        match self.wait_for_paste(UNSEEN_PATIENCE, stop, |_| Ok(())) {
            Err(Error::PasteNotTaken { .. }) => Ok(()),
            other => other,
        }
    }

    fn wait_for_paste(
        &mut self,
        limit: Duration,
        stop: &CancellationToken,
        check: impl Fn(&Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(paste) = self.paste else {
            return Ok(());
        };
        loop {
            check(self)?;
            let now = Instant::now();
            let progress = paste.progress(&self.lock_seen().askers, now);
            match progress {
                Progress::Over => break,
                Progress::UnderWay => {}
                Progress::NotTaken if now < paste.since + limit => {}
                Progress::NotTaken => {
                    self.paste = None;
                    return Err(Error::PasteNotTaken { waited: limit });
                }
            }
            pause(LOOK_AGAIN, stop)?;
        }
        self.paste = None;
        Ok(())
    }

    /// Fails if somebody else offers anything else than the lent text by now. A clipboard manager that has taken it
    /// over as it is does no harm.
    fn check_lent(&self) -> Result<(), Error> {
        if !std::mem::take(&mut self.lock_seen().taken_over)
            || self.call(Owner::is_offered_elsewhere)?
        {
            return Ok(());
        }
        Err(Error::ClipboardTakenOver)
    }

    fn lock_seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call<T: Send + 'static>(
        &self,
        command: impl FnOnce(&mut Owner) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = channel();
        let gone = |_| Error::ClipboardRefused {
            cause: "the thread that owns it has ended".to_owned(),
        };
        let command: Command = Box::new(move |owner| {
            let outcome = command(owner);
            let display_at_fault = outcome
                .as_ref()
                .err()
                .filter(|error| error.is_display())
                .cloned();
            let _ = answer.send(outcome);
            display_at_fault.map_or(Ok(()), Err)
        });
        self.commands.send(command).map_err(|_| gone(()))?;
        self.ring();
        answered.recv().map_err(|_| gone(()))?
    }

    fn ring(&self) {
        // Full means that it has been rung often enough.
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
    }
}

impl Drop for Clipboard {
    /// Puts the former content back for whoever comes after; the thread ends.
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            tracing::debug!(%error, "the former clipboard is not put back");
        }
        // The sender has to be gone before the thread looks for it.
        self.commands = channel().0;
        self.ring();
    }
}

/// The thread: commands, the server's events, and the time to restore.
fn run(mut owner: Owner, inbox: &Receiver<Command>, bell: &OwnedFd) {
    loop {
        let step = loop {
            match inbox.try_recv() {
                Ok(command) => {
                    if let Err(error) = command(&mut owner) {
                        break Err(error);
                    }
                }
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => break owner.turn(),
            }
        };
        let waited = step.and_then(|due| owner.wait(bell.as_fd(), due));
        if let Err(error) = waited {
            tracing::warn!(%error, "the clipboard is given up");
            return;
        }
        match rustix::io::read(bell, &mut [0u8; 8]) {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => tracing::warn!(%errno, "the clipboard's bell is broken"),
        }
    }
}
