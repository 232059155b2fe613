//! The thread that owns the connection to one X server.
//!
//! X calls block, so they have a thread of their own; one owner also means that nothing is interleaved. Work arrives
//! as closures over the open connection and is done in order. Between pieces of work the thread sleeps until the
//! server or a caller has something to say. A connection that breaks is dropped at once and opened again by the next
//! piece of work.

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

use super::connection::{Address, Connection, Fault, OpenFault};
use super::live::Live;
use super::stream::{self, Deadline};
use crate::error::Error;

/// How much longer than one piece of work a caller waits, so that the thread's own, more exact error comes first.
const MARGIN: Duration = Duration::from_millis(500);

type Job = Box<dyn FnOnce(&mut Server) + Send>;

/// What the thread needs to know.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) id: DisplayId,
    pub(super) address: Address,
    /// Longest that one piece of work may take.
    pub(super) limit: Duration,
    /// Overrides the scale that the desktop reports.
    pub(super) scale: Option<f64>,
}

/// The way to the thread. The thread ends when the last handle is dropped.
#[derive(Debug)]
pub(super) struct Handle {
    jobs: Option<mpsc::Sender<Job>>,
    wake: Arc<OwnedFd>,
    thread: JoinHandle<()>,
    id: DisplayId,
    limit: Duration,
}

impl Handle {
    /// Starts the thread. It connects when the first work arrives.
    pub(super) fn start(settings: Settings) -> Result<Self, Error> {
        let no_thread = |detail: String| Error::Internal {
            detail: format!("no thread for {}: {detail}", settings.id),
        };
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake = Arc::new(eventfd(0, flags).map_err(|errno| no_thread(errno.to_string()))?);
        let (jobs, queue) = mpsc::channel();
        let id = settings.id.clone();
        let limit = settings.limit;
        let name = format!("x11 {id}");
        let server = Server::new(settings.clone(), queue, Arc::clone(&wake));
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || server.run())
            .map_err(|error| no_thread(error.to_string()))?;
        Ok(Self {
            jobs: Some(jobs),
            wake,
            thread,
            id,
            limit,
        })
    }

    /// Whether the thread has ended, which it does by a defect only.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Has `work` done on the open connection.
    pub(super) async fn call<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&mut Live) -> Result<T, Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |server| {
            // Nobody waits any more for work that has queued behind a silent server.
            if !reply.is_closed() {
                let _ = reply.send(server.serve(work));
            }
        });
        let gone = || Error::Internal {
            detail: format!("the thread of display {} has ended", self.id),
        };
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(job).map_err(|_| gone())?;
        ring(&self.wake);
        match tokio::time::timeout(self.limit + MARGIN, answer).await {
            Ok(answered) => answered.map_err(|_| gone())?,
            Err(_) => Err(Error::DisplayTimedOut {
                display: self.id.clone(),
                after: self.limit,
            }),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.jobs = None;
        ring(&self.wake);
    }
}

fn ring(wake: &OwnedFd) {
    // The counter can only be full if the thread is about to wake up anyway.
    let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
}

/// What the thread owns.
pub(super) struct Server {
    settings: Settings,
    deadline: Arc<Deadline>,
    queue: mpsc::Receiver<Job>,
    wake: Arc<OwnedFd>,
    live: Option<Live>,
    /// Whether a connection was ever open: then its absence is a loss.
    was_open: bool,
}

impl Server {
    fn new(settings: Settings, queue: mpsc::Receiver<Job>, wake: Arc<OwnedFd>) -> Self {
        let deadline = Deadline::new(settings.limit);
        Self {
            settings,
            deadline,
            queue,
            wake,
            live: None,
            was_open: false,
        }
    }

    fn run(mut self) {
        loop {
            match self.queue.try_recv() {
                Ok(job) => job(&mut self),
                Err(TryRecvError::Empty) => {
                    let report_at = self.attend();
                    self.sleep(report_at);
                }
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    /// Does one piece of work, on a connection that is opened first if there is none.
    fn serve<T>(&mut self, work: impl FnOnce(&mut Live) -> Result<T, Fault>) -> Result<T, Error> {
        self.deadline.restart();
        let done = work(self.open()?);
        done.map_err(|fault| self.failed(fault))
    }

    fn open(&mut self) -> Result<&mut Live, Error> {
        if self.live.is_none() {
            let opened = Connection::open(&self.settings.address, &self.deadline)
                .map_err(|fault| self.not_open(fault))?;
            self.was_open = true;
            tracing::debug!(display = %self.settings.id, extensions = ?opened.extensions, "display opened");
            self.live = Some(Live::new(
                opened,
                self.settings.id.clone(),
                self.settings.scale,
            ));
        }
        Ok(self.live.as_mut().expect("it was opened just above"))
    }

    fn not_open(&self, fault: OpenFault) -> Error {
        let display = self.settings.id.clone();
        match fault {
            OpenFault::Absent(detail) if self.was_open => Error::DisplayLost { display, detail },
            OpenFault::Absent(detail) => Error::DisplayAbsent { display, detail },
            OpenFault::Unsupported(detail) => Error::DisplayUnsupported { display, detail },
            OpenFault::Fault(fault) => self.error(fault),
        }
    }

    fn failed(&mut self, fault: Fault) -> Error {
        let ends = fault.ends_connection();
        let error = self.error(fault);
        if ends {
            self.close(&error);
        }
        error
    }

    fn close(&mut self, why: &Error) {
        if let Some(live) = self.live.take() {
            tracing::warn!(display = %self.settings.id, error = %why, "connection to the display ended");
            live.end(why);
        }
    }

    fn error(&self, fault: Fault) -> Error {
        let display = self.settings.id.clone();
        match fault {
            Fault::Silent => Error::DisplayTimedOut {
                display,
                after: self.deadline.limit(),
            },
            Fault::Lost(detail) => Error::DisplayLost { display, detail },
            Fault::Refused(_, detail) => Error::CaptureRefused { display, detail },
            Fault::Answer(error) => error,
        }
    }

    /// Takes in what the server has said and passes changes on. Returns when the next report of changes is due.
    fn attend(&mut self) -> Option<Instant> {
        self.deadline.restart();
        let due = self.live.as_mut()?.attend(Instant::now());
        match due {
            Ok(due) => due,
            Err(fault) => {
                self.failed(fault);
                None
            }
        }
    }

    /// Sleeps until a caller or the server has something, or until `until`.
    fn sleep(&self, until: Option<Instant>) {
        let limit = until.map(|at| at.saturating_duration_since(Instant::now()));
        let mut descriptors = vec![PollFd::new(&self.wake, PollFlags::IN)];
        if let Some(live) = &self.live {
            descriptors.push(PollFd::new(live.stream(), PollFlags::IN));
        }
        match stream::wait(&mut descriptors, limit) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => {
                tracing::warn!(display = %self.settings.id, %errno, "cannot wait for the display")
            }
        }
        // Emptied whether or not it rang: the queue is looked at next in any case.
        let _ = rustix::io::read(&self.wake, &mut [0u8; 8]);
    }
}
