//! Thread that owns the connection to one X server.
//!
//! X calls block, so they run on their own thread; a single owner also prevents interleaving. Jobs arrive as closures
//! over the open connection and run in order. Between jobs the thread sleeps until the server or a caller wakes it. A
//! broken connection is dropped at once and reopened by the next job.
//!
//! The thread does not know what its jobs do: `session` has the operations.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::mpsc::{self, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

use motorium_proto::domain::id::DisplayId;
use motorium_x11::{Address, Waker, Watchdog, wait_readable};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::connection::{ScreenConnection, X11Fault};
use super::session::X11Session;
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
    waker: Waker,
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
        let waker = Waker::new().map_err(|error| no_thread(error.to_string()))?;
        let (jobs, queue) = mpsc::channel();
        let id = settings.id.clone();
        let limit = settings.timeout;
        let name = format!("x11 {id}");
        let server = ServerThread::new(settings.clone(), queue, waker.clone());
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || server.run())
            .map_err(|error| no_thread(error.to_string()))?;
        Ok(Self {
            jobs: Some(jobs),
            waker,
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
        self.waker.wake();
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
        self.waker.wake();
    }
}

/// State owned by the thread.
pub(super) struct ServerThread {
    settings: Settings,
    watchdog: Arc<Watchdog>,
    queue: mpsc::Receiver<Job>,
    waker: Waker,
    session: Option<X11Session>,
    /// True if a connection was ever open. A later failure to connect then means that the display was lost.
    was_connected: bool,
}

impl ServerThread {
    fn new(settings: Settings, queue: mpsc::Receiver<Job>, waker: Waker) -> Self {
        let watchdog = Watchdog::new(settings.timeout);
        Self {
            settings,
            watchdog,
            queue,
            waker,
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
        self.watchdog.start_job();
        let done = work(self.open()?);
        done.map_err(|fault| self.failed(fault))
    }

    fn open(&mut self) -> Result<&mut X11Session, Error> {
        if self.session.is_none() {
            let opened = ScreenConnection::open(&self.settings.address, &self.watchdog)
                .map_err(|fault| self.error(fault))?;
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

    /// Attributes a failure to the display. The only place that maps errors of the connection.
    fn error(&self, fault: X11Fault) -> Error {
        use motorium_x11::Error as CallError;

        let display = self.settings.id.clone();
        let error = match fault {
            X11Fault::Call(error) => error,
            X11Fault::UnsupportedFormat(detail) => {
                return Error::DisplayUnsupported { display, detail };
            }
            X11Fault::Capture(error) => return error,
        };
        match error {
            CallError::TimedOut => Error::DisplayTimedOut {
                display,
                after: self.watchdog.timeout(),
            },
            CallError::Unavailable { cause } if self.was_connected => Error::DisplayLost {
                display,
                detail: cause,
            },
            CallError::Unavailable { cause } => Error::DisplayUnavailable {
                display,
                detail: cause,
            },
            CallError::Lost { cause } => Error::DisplayLost {
                display,
                detail: cause,
            },
            CallError::Rejected { cause, .. } => Error::CaptureRefused {
                display,
                detail: cause,
            },
            CallError::InvalidName { cause } => Error::DisplayNotFound {
                display,
                detail: cause,
            },
        }
    }

    /// Processes server events and forwards changes. Returns when the next report is due.
    fn process_due(&mut self) -> Option<Instant> {
        self.watchdog.start_job();
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
        let mut descriptors = vec![self.waker.as_fd()];
        descriptors.extend(self.session.as_ref().map(|live| live.stream().as_fd()));
        if let Err(error) = wait_readable(&descriptors, limit) {
            tracing::warn!(display = %self.settings.id, %error, "cannot wait for the display");
        }
        self.waker.clear();
    }
}
