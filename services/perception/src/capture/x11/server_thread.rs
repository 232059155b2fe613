//! Thread that owns the connection to one X server.
//!
//! X calls block, so they run on their own thread; a single owner also prevents interleaving. Jobs arrive as closures
//! over the open connection and run in order. Between jobs the thread sleeps until the server or a caller wakes it. A
//! broken connection is dropped at once and reopened by the next job.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

use motorium_proto::domain::id::DisplayId;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::io::Errno;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::connection::{Address, Connection, X11Fault, X11OpenFault};
use super::session::X11Session;
use super::stream::{self, Deadline};
use crate::error::Error;

/// Extra time that a caller waits beyond the timeout, so that the more precise error of the thread arrives first.
const REPLY_MARGIN: Duration = Duration::from_millis(500);

type Job = Box<dyn FnOnce(&mut ServerThread) + Send>;

/// Settings of the thread.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) id: DisplayId,
    pub(super) address: Address,
    /// Timeout of one job.
    pub(super) timeout: Duration,
    /// Overrides the scale that the desktop reports.
    pub(super) scale: Option<f64>,
}

/// Handle of the thread. The thread ends when the last handle is dropped.
#[derive(Debug)]
pub(super) struct Handle {
    jobs: Option<mpsc::Sender<Job>>,
    wake: Arc<OwnedFd>,
    thread: JoinHandle<()>,
    id: DisplayId,
    timeout: Duration,
}

impl Handle {
    /// Starts the thread. It connects when the first job arrives.
    pub(super) fn start(settings: Settings) -> Result<Self, Error> {
        let no_thread = |detail: String| Error::Internal {
            detail: format!(
                "cannot start a thread for display {}: {detail}",
                settings.id
            ),
        };
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake = Arc::new(eventfd(0, flags).map_err(|errno| no_thread(errno.to_string()))?);
        let (jobs, queue) = mpsc::channel();
        let id = settings.id.clone();
        let limit = settings.timeout;
        let name = format!("x11 {id}");
        let server = ServerThread::new(settings.clone(), queue, Arc::clone(&wake));
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || server.run())
            .map_err(|error| no_thread(error.to_string()))?;
        Ok(Self {
            jobs: Some(jobs),
            wake,
            thread,
            id,
            timeout: limit,
        })
    }

    /// Returns whether the thread has ended, which only happens after a panic.
    pub(super) fn is_terminated(&self) -> bool {
        self.thread.is_finished()
    }

    /// Runs `work` on the open connection.
    pub(super) async fn call<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&mut X11Session) -> Result<T, X11Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |server| {
            // The caller has timed out while this job was queued behind a silent server.
            if !reply.is_closed() {
                let _ = reply.send(server.run_job(work));
            }
        });
        let gone = || Error::Internal {
            detail: format!("the thread of display {} has ended", self.id),
        };
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(job).map_err(|_| gone())?;
        wake_thread(&self.wake);
        match tokio::time::timeout(self.timeout + REPLY_MARGIN, answer).await {
            Ok(answered) => answered.map_err(|_| gone())?,
            Err(_) => Err(Error::DisplayTimedOut {
                display: self.id.clone(),
                after: self.timeout,
            }),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.jobs = None;
        wake_thread(&self.wake);
    }
}

fn wake_thread(wake: &OwnedFd) {
    // A write fails only if the counter is full, and then the thread is about to wake up anyway.
    let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
}

/// State owned by the thread.
pub(super) struct ServerThread {
    settings: Settings,
    deadline: Arc<Deadline>,
    queue: mpsc::Receiver<Job>,
    wake: Arc<OwnedFd>,
    session: Option<X11Session>,
    /// True if a connection was ever open. A later failure to connect then means that the display was lost.
    was_connected: bool,
}

impl ServerThread {
    fn new(settings: Settings, queue: mpsc::Receiver<Job>, wake: Arc<OwnedFd>) -> Self {
        let deadline = Deadline::new(settings.timeout);
        Self {
            settings,
            deadline,
            queue,
            wake,
            session: None,
            was_connected: false,
        }
    }

    fn run(mut self) {
        loop {
            match self.queue.try_recv() {
                Ok(job) => job(&mut self),
                Err(TryRecvError::Empty) => {
                    let report_at = self.process_due();
                    self.sleep(report_at);
                }
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    /// Runs one job; opens the connection first if there is none.
    fn run_job<T>(
        &mut self,
        work: impl FnOnce(&mut X11Session) -> Result<T, X11Fault>,
    ) -> Result<T, Error> {
        self.deadline.restart();
        let done = work(self.open()?);
        done.map_err(|fault| self.failed(fault))
    }

    fn open(&mut self) -> Result<&mut X11Session, Error> {
        if self.session.is_none() {
            let opened = Connection::open(&self.settings.address, &self.deadline)
                .map_err(|fault| self.open_error(fault))?;
            self.was_connected = true;
            tracing::debug!(display = %self.settings.id, extensions = ?opened.extensions, "display opened");
            self.session = Some(X11Session::new(
                opened,
                self.settings.id.clone(),
                self.settings.scale,
            ));
        }
        Ok(self.session.as_mut().expect("it was opened just above"))
    }

    fn open_error(&self, fault: X11OpenFault) -> Error {
        let display = self.settings.id.clone();
        match fault {
            X11OpenFault::Unavailable(detail) if self.was_connected => {
                Error::DisplayLost { display, detail }
            }
            X11OpenFault::Unavailable(detail) => Error::DisplayUnavailable { display, detail },
            X11OpenFault::Unsupported(detail) => Error::DisplayUnsupported { display, detail },
            X11OpenFault::Fault(fault) => self.error(fault),
        }
    }

    fn failed(&mut self, fault: X11Fault) -> Error {
        let ends = fault.ends_connection();
        let error = self.error(fault);
        if ends {
            self.close(&error);
        }
        error
    }

    fn close(&mut self, why: &Error) {
        if let Some(live) = self.session.take() {
            tracing::warn!(display = %self.settings.id, error = %why, "connection to the display ended");
            live.close(why);
        }
    }

    fn error(&self, fault: X11Fault) -> Error {
        let display = self.settings.id.clone();
        match fault {
            X11Fault::TimedOut => Error::DisplayTimedOut {
                display,
                after: self.deadline.limit(),
            },
            X11Fault::Lost(detail) => Error::DisplayLost { display, detail },
            X11Fault::Refused(_, detail) => Error::CaptureRefused { display, detail },
            X11Fault::Capture(error) => error,
        }
    }

    /// Processes server events and forwards changes. Returns when the next report is due.
    fn process_due(&mut self) -> Option<Instant> {
        self.deadline.restart();
        let due = self.session.as_mut()?.process_due(Instant::now());
        match due {
            Ok(due) => due,
            Err(fault) => {
                self.failed(fault);
                None
            }
        }
    }

    /// Sleeps until a caller or the server wakes the thread, or until `until`.
    fn sleep(&self, until: Option<Instant>) {
        let limit = until.map(|at| at.saturating_duration_since(Instant::now()));
        let mut descriptors = vec![PollFd::new(&self.wake, PollFlags::IN)];
        if let Some(live) = &self.session {
            descriptors.push(PollFd::new(live.stream(), PollFlags::IN));
        }
        match stream::wait(&mut descriptors, limit) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => {
                tracing::warn!(display = %self.settings.id, %errno, "cannot wait for the display")
            }
        }
        // Drained in any case: the queue is checked next regardless of what woke the thread.
        let _ = rustix::io::read(&self.wake, &mut [0u8; 8]);
    }
}
