//! The thread that does all writes.
//!
//! One connection writes, and each statement is a round trip to SQLite's own thread. On the threads of the callers, each
//! round trip would queue behind other tasks and delay all other writes: with a thousand tasks, by more than the statement
//! takes. So writes have a dedicated thread, and appends that wait at the same time share a transaction, because a commit
//! costs more than an append.
//!
//! Writes of different callers have no guaranteed order. A caller that needs an order must await each write.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use sqlx::SqlitePool;
use tokio::runtime;
use tokio::sync::{mpsc, oneshot};

use super::checkpoint::{LogLimit, WriteCounter, checkpoint_when_due};
use super::{Connection, StatementError, WriteTransaction, append, failure, tasks};
use crate::{Append, Appended, Error};

/// Maximum number of appends in one transaction.
// Bounds the latency: an append that misses a transaction waits for its end.
const MAX_BATCH_APPENDS: usize = 128;

enum WriteJob {
    Append(Box<PendingAppend>),
    Other {
        /// Size that the write has in the log, in bytes.
        bytes: usize,
        /// Writes, or answers with the error for which there can be no write.
        write: Box<dyn FnOnce(Result<(), Error>) -> BoxFuture<'static, ()> + Send>,
    },
}

impl WriteJob {
    fn bytes(&self) -> usize {
        match self {
            Self::Append(waiting) => waiting.append.bytes(),
            Self::Other { bytes, .. } => *bytes,
        }
    }
}

/// A queued append, with the channel for its outcome.
struct PendingAppend {
    append: Append,
    outcome: oneshot::Sender<Result<Appended, Error>>,
}

/// A handle to the write thread, which ends with its last clone.
#[derive(Clone)]
pub(super) struct Writer(mpsc::UnboundedSender<WriteJob>);

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the thread. The connections of these pools must not be used elsewhere.
    ///
    /// # Errors
    /// `Failed` if no thread can be created.
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
                let count = WriteCounter::default();
                let due = count.is_due();
                let limit = LogLimit::new(checkpoints.clone(), Arc::clone(&file));
                runtime.spawn(checkpoint_when_due(checkpoints, Arc::clone(&file), due));
                runtime.block_on(work(&pool, &file, jobs, count, limit));
            })
            .map_err(|error| Error::Failed(Box::new(error)))?;
        Ok(Self(sender))
    }

    /// Appends, batched with other pending appends.
    pub(super) async fn append(&self, append: Append) -> Result<Appended, Error> {
        let (outcome, answer) = oneshot::channel();
        // Ignored: if the thread has ended, the receiver below reports it.
        let _ = self.0.send(WriteJob::Append(Box::new(PendingAppend {
            append,
            outcome,
        })));
        answer.await.unwrap_or_else(|_| Err(writer_ended()))
    }

    /// Runs another write, of this size in the log, on the thread to its end, even if the future is dropped.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        write: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let (outcome, answer) = oneshot::channel();
        let write = move |room: Result<(), Error>| {
            let done = async {
                room?;
                write.await
            };
            let answered = done.map(|done| {
                // Ignored: the caller may have dropped the future.
                let _ = outcome.send(done);
            });
            answered.boxed()
        };
        let write = Box::new(write);
        let _ = self.0.send(WriteJob::Other { bytes, write });
        answer.await.unwrap_or_else(|_| Err(writer_ended()))
    }
}

fn writer_ended() -> Error {
    Error::Failed("the thread that writes to the database has ended".into())
}

async fn work(
    pool: &SqlitePool,
    file: &Path,
    mut jobs: mpsc::UnboundedReceiver<WriteJob>,
    mut count: WriteCounter,
    mut limit: LogLimit,
) {
    let mut gathered = Vec::with_capacity(MAX_BATCH_APPENDS);
    while jobs.recv_many(&mut gathered, MAX_BATCH_APPENDS).await > 0 {
        count.add(gathered.len(), gathered.iter().map(WriteJob::bytes).sum());
        let mut appends = Vec::new();
        for job in gathered.drain(..) {
            match job {
                WriteJob::Append(waiting) => appends.push(*waiting),
                // In a task of its own, so that a panic ends only this write and its caller gets an error.
                WriteJob::Other { write, .. } => {
                    let room = limit.make_room().await;
                    drop(tokio::spawn(write(room)).await);
                }
            }
        }
        match limit.make_room().await {
            Ok(()) => append_all(pool, file, appends).await,
            // Each append is refused or fails alone.
            Err(error) => fail_all(pool, file, appends, error).await,
        }
    }
}

async fn append_all(pool: &SqlitePool, file: &Path, appends: Vec<PendingAppend>) {
    if let [] | [_] = appends.as_slice() {
        for PendingAppend { append, outcome } in appends {
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

/// Appends in one transaction. Returns each outcome, or the error that failed the whole transaction.
async fn append_together(
    pool: &SqlitePool,
    appends: &[PendingAppend],
) -> sqlx::Result<Vec<Result<Appended, Error>>> {
    let mut writing = begin(pool).await?;
    let mut outcomes = Vec::with_capacity(appends.len());
    for PendingAppend { append, .. } in appends {
        outcomes.push(match add(&mut writing, append).await {
            Ok(appended) => Ok(appended),
            Err(StatementError::Rejected(error)) => Err(error),
            Err(StatementError::Database(error)) => return Err(error),
        });
    }
    writing.commit().await?;
    Ok(outcomes)
}

/// Starts a write transaction. Takes the write lock at once, because a later upgrade of a read lock could fail without waiting.
pub(super) async fn begin(pool: &SqlitePool) -> sqlx::Result<WriteTransaction> {
    match pool.begin_with("BEGIN IMMEDIATE").await {
        // SQLite ends the transaction itself on a full disk. The rollback that follows fails then, and the library would count
        // the connection as within a transaction for ever.
        Err(sqlx::Error::InvalidSavePointStatement) => {
            pool.acquire().await?.close().await?;
            pool.begin_with("BEGIN IMMEDIATE").await
        }
        begun => begun,
    }
}

/// Handles a failed transaction. An error of the database or its disk applies to all appends. Any other error may be
/// caused by one append, so each is retried alone.
async fn fail_all(pool: &SqlitePool, file: &Path, appends: Vec<PendingAppend>, error: Error) {
    for waiting in appends {
        let outcome = match clone_shared_error(&error) {
            Some(error) => Err(error),
            None => append_alone(pool, file, &waiting.append).await,
        };
        let _ = waiting.outcome.send(outcome);
    }
}

async fn append_alone(pool: &SqlitePool, file: &Path, append: &Append) -> Result<Appended, Error> {
    let alone = async {
        if is_one_statement(append) {
            return append::append_alone(&mut *pool.acquire().await?, append).await;
        }
        let mut writing = begin(pool).await?;
        let appended = tasks::append_in_transaction(&mut writing, append).await?;
        writing.commit().await?;
        Ok(appended)
    };
    alone.await.map_err(|fault| match fault {
        StatementError::Rejected(error) => error,
        StatementError::Database(error) => failure(file, error),
    })
}

async fn add(connection: &mut Connection, append: &Append) -> Result<Appended, StatementError> {
    if is_one_statement(append) {
        append::append_in_transaction(connection, append).await
    } else {
        tasks::append_in_transaction(connection, append).await
    }
}

/// Returns true if the append can be sent as one text of statements.
fn is_one_statement(append: &Append) -> bool {
    (1..=tasks::MAX_EVENTS_PER_STATEMENT).contains(&append.events.len()) && append.request.is_none()
}

/// Copies an error that applies to all appends; `None` for other errors.
fn clone_shared_error(error: &Error) -> Option<Error> {
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
