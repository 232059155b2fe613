//! The clipboard, served by a thread for as long as this driver owns it.
//!
//! The content of an X selection is served by the process that owns it, so a thread must answer requests at any time,
//! also while the injector types. A text offered for one paste is withdrawn some time after the paste, and the
//! previous content is offered again in all its representations.
//!
//! Invariant: the offer does not change while an application is pasting, as far as that can be observed. A paste takes
//! several requests: the list of targets, one of them, the list again, the same one again. Changing the offer in
//! between makes the application paste the wrong text or none. `paste` determines when a paste is complete.
//!
//! Not supported: acting as a clipboard manager, and `MULTIPLE` requests, which no common application uses.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use motorium_x11::Waker;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x11rb::protocol::xproto::Window;

use self::owner::Owner;
use self::paste::{Paste, PasteLog, PasteProgress};
use super::connection;
use crate::drivers::Error;
use crate::drivers::clipboard_content::ClipboardContent;
use crate::drivers::pause::pause;
use motorium_proto::service::ClipboardText;

mod atoms;
mod content;
pub(in crate::drivers) mod holder;
mod owner;
mod paste;
mod portable_content;

/// The two selections in common use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    /// Pasted by ctrl+v.
    Clipboard,
    /// Pasted by the middle button, and by shift+Insert in terminals.
    Primary,
}

impl Selection {
    const ALL: [Selection; 2] = [Selection::Clipboard, Selection::Primary];

    fn name(self) -> &'static str {
        match self {
            Selection::Clipboard => "CLIPBOARD",
            Selection::Primary => "PRIMARY",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Polling interval for the end of a paste.
// A paste takes some milliseconds, and the caller waits for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Timeout for a window to start fetching the pasted text. On an overloaded machine a browser took more than 5 s.
const PASTE_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for a window to start fetching the pasted text where a timeout is not an error: the chord may not have
/// pasted, and requests to another owner cannot be observed.
const UNOBSERVED_PASTE_TIMEOUT: Duration = Duration::from_secs(1);

type SharedPasteLog = Arc<Mutex<PasteLog>>;
type Command = Box<dyn FnOnce(&mut Owner) -> Result<(), Error> + Send>;

/// A handle to the clipboard thread.
#[derive(Debug)]
pub(super) struct Clipboard {
    commands: Sender<Command>,
    /// Wakes the thread from its wait for the server.
    waker: Waker,
    seen: SharedPasteLog,
    /// Mask of the client part of a window id.
    client_bits: u32,
    /// The last paste, which may not be complete.
    paste: Option<Paste>,
}

impl Clipboard {
    /// Starts the thread with its own connection.
    pub(super) fn start(display: &str, timeout: Duration) -> Result<Self, Error> {
        use x11rb::connection::Connection as _;
        let link = connection::connect(display, timeout)?;
        let client_bits = !link.x.setup().resource_id_mask;
        let seen = SharedPasteLog::default();
        let owner = Owner::new(link, client_bits, seen.clone())?;
        let (commands, inbox) = channel();
        let refused = |cause: std::io::Error| Error::ClipboardRefused {
            cause: cause.to_string(),
        };
        let waker = Waker::new().map_err(refused)?;
        let thread_waker = waker.clone();
        std::thread::Builder::new()
            .name("x11-clipboard".to_owned())
            .spawn(move || run(owner, &inbox, &thread_waker))
            .map_err(refused)?;
        Ok(Self {
            commands,
            waker,
            seen,
            client_bits,
            paste: None,
        })
    }

    /// Offers `text` for one paste and saves the previous content.
    pub(super) fn offer_temporarily(&self, selection: Selection, text: &str) -> Result<(), Error> {
        let text = text.to_owned();
        self.call(move |owner| owner.offer_temporarily(selection, &text))
    }

    /// Offers `text` until another program takes the clipboard.
    pub(super) fn set(&self, text: &str) -> Result<(), Error> {
        let text = text.to_owned();
        self.call(move |owner| owner.offer(&text))
    }

    /// Restores the content from before the last paste, if that has not happened yet.
    pub(super) fn restore(&self) -> Result<(), Error> {
        self.call(Owner::restore)
    }

    /// Returns the text, as a program would paste it that knows nothing of temporary offers.
    pub(super) fn read_text(&self) -> Result<ClipboardText, Error> {
        self.call(Owner::read_text)
    }

    /// Notes that keys follow that may copy.
    pub(super) fn expect_copy(&self) -> Result<(), Error> {
        self.call(Owner::expect_copy)
    }

    /// Returns whether another program has copied something since then; `None` if the server does not report it.
    pub(super) fn has_copied(&self) -> Result<Option<bool>, Error> {
        self.call(Owner::has_copied)
    }

    /// Restores the content from before the last paste, and returns everything that would be lost with this process.
    pub(super) fn remaining(&self) -> Result<ClipboardContent, Error> {
        self.call(|owner| {
            owner.restore()?;
            owner.export()
        })
    }

    /// Schedules restoring the content from before the last paste.
    pub(super) fn release(&self) -> Result<(), Error> {
        self.call(Owner::release)
    }

    /// Records that a paste into `window` is about to start. `None` stands for any window.
    pub(super) fn begin_paste(&mut self, window: Option<Window>) {
        self.lock_log().askers.clear();
        self.paste = Some(Paste {
            client: window.map(|window| window & self.client_bits),
            since: Instant::now(),
        });
    }

    /// Waits until the last paste of a temporary text is complete.
    pub(super) fn finish_paste(&mut self, stop: &CancellationToken) -> Result<(), Error> {
        self.wait_for_paste(PASTE_TIMEOUT, stop, Self::check_lent)
    }

    /// Waits until the last possible paste is complete. Must be called before the clipboard is changed.
    pub(super) fn wait_for_idle(&mut self, stop: &CancellationToken) -> Result<(), Error> {
        match self.wait_for_paste(UNOBSERVED_PASTE_TIMEOUT, stop, |_| Ok(())) {
            Err(Error::PasteTimedOut { .. }) => Ok(()),
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
            let progress = paste.progress(&self.lock_log().askers, now);
            match progress {
                PasteProgress::Complete => break,
                PasteProgress::InProgress => {}
                PasteProgress::NotStarted if now < paste.since + limit => {}
                PasteProgress::NotStarted => {
                    self.paste = None;
                    return Err(Error::PasteTimedOut { waited: limit });
                }
            }
            pause(POLL_INTERVAL, stop)?;
        }
        self.paste = None;
        Ok(())
    }

    /// Fails if another program now offers different content. A clipboard manager that has taken over the same text
    /// does no harm.
    fn check_lent(&self) -> Result<(), Error> {
        if !std::mem::take(&mut self.lock_log().taken_over)
            || self.call(Owner::is_offered_elsewhere)?
        {
            return Ok(());
        }
        Err(Error::ClipboardReplaced)
    }

    fn lock_log(&self) -> MutexGuard<'_, PasteLog> {
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
        self.waker.wake();
        answered.recv().map_err(|_| gone(()))?
    }
}

impl Drop for Clipboard {
    /// Restores the previous content and ends the thread.
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            tracing::debug!(%error, "the previous clipboard content was not restored");
        }
        // Drop the sender before waking the thread, so that it sees the disconnect.
        self.commands = channel().0;
        self.waker.wake();
    }
}

/// Runs the thread: commands, X events, and scheduled restores.
fn run(mut owner: Owner, inbox: &Receiver<Command>, waker: &Waker) {
    loop {
        let step = loop {
            match inbox.try_recv() {
                Ok(command) => {
                    if let Err(error) = command(&mut owner) {
                        break Err(error);
                    }
                }
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => break owner.process_events(),
            }
        };
        let waited = step.and_then(|due| owner.wait(waker, due));
        if let Err(error) = waited {
            tracing::warn!(%error, "the clipboard thread has failed");
            return;
        }
        waker.clear();
    }
}
