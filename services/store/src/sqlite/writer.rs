//! The thread on which everything is written.
//!
//! One connection writes, and each statement goes to SQLite's own thread and back. Among the callers' tasks every such way
//! would wait behind whatever else there is to do, and all other writes with it: with a thousand tasks for longer than the
//! statement takes. So writing has a thread with nothing else on it, and appends that wait at the same time share a
//! transaction, because beginning and committing costs more than an append.
//!
//! Not here: an order between callers. Who needs one write after another waits for the first.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use sqlx::SqlitePool;
use tokio::runtime;
use tokio::sync::{mpsc, oneshot};

use super::checkpoint::{Count, checkpoint_when_due};
use super::{Connection, Fault, append, failure, tasks};
use crate::{Append, Appended, Error};

/// Appends that share a transaction, at most: whoever comes next waits for its end.
const TOGETHER: usize = 128;

enum Job {
    Append(Box<Waiting>),
    Other(BoxFuture<'static, ()>),
}

/// An append, and where its outcome is waited for.
struct Waiting {
    append: Append,
    outcome: oneshot::Sender<Result<Appended, Error>>,
}

/// Gives work to the thread, which ends with the last clone of this.
#[derive(Clone)]
pub(super) struct Writer(mpsc::UnboundedSender<Job>);

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the thread. The connections of these pools are used by nobody else.
    ///
    /// # Errors
    /// `Failed` if the system has no thread left.
    pub(super) fn start(
        pool: SqlitePool,
        checkpoints: SqlitePool,
        file: &Path,
    ) -> Result<Self, Error> {
        let file: Arc<Path> = file.into();
        let (sender, jobs) = mpsc::unbounded_channel();
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Failed(Box::new(error)))?;
        thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                let count = Count::default();
                let due = count.is_due();
                runtime.spawn(checkpoint_when_due(checkpoints, Arc::clone(&file), due));
                runtime.block_on(work(&pool, &file, jobs, count));
            })
            .map_err(|error| Error::Failed(Box::new(error)))?;
        Ok(Self(sender))
    }

    /// Appends, together with whatever else is to be appended at the moment.
    pub(super) async fn append(&self, append: Append) -> Result<Appended, Error> {
        let (outcome, answer) = oneshot::channel();
        // If the thread is gone, so is the sender of the answer.
        let _ = self
            .0
            .send(Job::Append(Box::new(Waiting { append, outcome })));
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Carries something else out on the thread, also if nobody waits for it any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        write: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let (outcome, answer) = oneshot::channel();
        let write = write.map(|done| {
            // Whoever asked may have gone.
            let _ = outcome.send(done);
        });
        let _ = self.0.send(Job::Other(write.boxed()));
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> Error {
    Error::Failed("the thread that writes to the database has ended".into())
}

async fn work(
    pool: &SqlitePool,
    file: &Path,
    mut jobs: mpsc::UnboundedReceiver<Job>,
    mut count: Count,
) {
    let mut gathered = Vec::with_capacity(TOGETHER);
    while jobs.recv_many(&mut gathered, TOGETHER).await > 0 {
        count.add(gathered.len());
        let mut appends = Vec::new();
        for job in gathered.drain(..) {
            match job {
                Job::Append(waiting) => appends.push(*waiting),
                // A task of its own, so that a panic ends nothing but this one; its caller is told.
                Job::Other(write) => drop(tokio::spawn(write).await),
            }
        }
        append_all(pool, file, appends).await;
    }
}

async fn append_all(pool: &SqlitePool, file: &Path, appends: Vec<Waiting>) {
    if let [] | [_] = appends.as_slice() {
        for Waiting { append, outcome } in appends {
            let _ = outcome.send(append_alone(pool, file, &append).await);
        }
        return;
    }
    match append_together(pool, &appends).await {
        Ok(outcomes) => {
            for (waiting, outcome) in appends.into_iter().zip(outcomes) {
                let _ = waiting.outcome.send(outcome);
            }
        }
        Err(error) => fail_all(pool, file, appends, failure(file, error)).await,
    }
}

/// One transaction: each outcome, or why there is none of all.
async fn append_together(
    pool: &SqlitePool,
    appends: &[Waiting],
) -> sqlx::Result<Vec<Result<Appended, Error>>> {
    let mut writing = pool.begin_with("BEGIN IMMEDIATE").await?;
    let mut outcomes = Vec::with_capacity(appends.len());
    for Waiting { append, .. } in appends {
        outcomes.push(match add(&mut writing, append).await {
            Ok(appended) => Ok(appended),
            Err(Fault::Refused(error)) => Err(error),
            Err(Fault::Database(error)) => return Err(error),
        });
    }
    writing.commit().await?;
    Ok(outcomes)
}

/// What the database or its disk lacks, all lack. Anything else may be the fault of one, so each is tried by itself.
async fn fail_all(pool: &SqlitePool, file: &Path, appends: Vec<Waiting>, error: Error) {
    for waiting in appends {
        let outcome = match repeated(&error) {
            Some(error) => Err(error),
            None => append_alone(pool, file, &waiting.append).await,
        };
        let _ = waiting.outcome.send(outcome);
    }
}

async fn append_alone(pool: &SqlitePool, file: &Path, append: &Append) -> Result<Appended, Error> {
    let alone = async {
        if fits(append) {
            return append::alone(&mut *pool.acquire().await?, append).await;
        }
        let mut writing = pool.begin_with("BEGIN IMMEDIATE").await?;
        let appended = tasks::add(&mut writing, append).await?;
        writing.commit().await?;
        Ok(appended)
    };
    alone.await.map_err(|fault| match fault {
        Fault::Refused(error) => error,
        Fault::Database(error) => failure(file, error),
    })
}

async fn add(connection: &mut Connection, append: &Append) -> Result<Appended, Fault> {
    if fits(append) {
        append::at_once(connection, append).await
    } else {
        tasks::add(connection, append).await
    }
}

/// Whether it goes with one text.
fn fits(append: &Append) -> bool {
    (1..=tasks::EVENTS_AT_ONCE).contains(&append.events.len()) && append.request.is_none()
}

/// The same error once more, if it is one that everybody meets.
fn repeated(error: &Error) -> Option<Error> {
    Some(match error {
        Error::Busy { path } => Error::Busy { path: path.clone() },
        Error::Full { path } => Error::Full { path: path.clone() },
        Error::Unwritable { path, detail } => Error::Unwritable {
            path: path.clone(),
            detail: detail.clone(),
        },
        Error::Corrupt { path, detail } => Error::Corrupt {
            path: path.clone(),
            detail: detail.clone(),
        },
        _ => return None,
    })
}
