//! Checkpoints of SQLite's write-ahead log in the background.
//!
//! SQLite's automatic checkpoint runs within the commit that made the log long enough and blocks all writes while it waits
//! for the disk. With a thousand tasks, that caused most of the longest waits (p95 of 44 to 57 ms, 30 ms without it). Here
//! a separate connection does it without blocking writes.
//!
//! Under continuous writes, a passive checkpoint never resets the log, which keeps growing. Once the log is long, a
//! blocking checkpoint pauses writes for its small remainder. It does not get the lock between writes that follow each other
//! without a pause, and so [`LogLimit`] has the writing thread itself wait for one before the log grows further.
//!
//! Invariant: the file of the log has at most `MAX_LOG_BYTES` and one batch of writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::SqlitePool;
use tokio::sync::Notify;

use super::failure;
use crate::Error;

/// Number of writes between checkpoints, for a log of about 64 MiB.
// More frequent checkpoints would write pages that change often to the disk several times.
const WRITES_PER_CHECKPOINT: usize = 4_096;
/// Number of bytes written between checkpoints. Larger writes than usual reach it first.
// Four times the length of the log of usual writes, which the count bounds: it is not to be reached by them.
const BYTES_PER_CHECKPOINT: usize = 256 * 1024 * 1024;

/// Number of pages, of 4 KiB each, from which the log is reset.
// 64 MiB: bounds the size of the log file and the time to recover it after a crash.
const MAX_LOG_PAGES: i64 = 16_384;

/// Length of the log from which a write waits for a checkpoint, in bytes.
// Above what usual writes reach between two checkpoints, so that these never wait.
const LOG_BYTES_TO_PAUSE: u64 = 256 * 1024 * 1024;
/// Length of the log from which writes are refused while a reader keeps it from being emptied, in bytes.
const MAX_LOG_BYTES: u64 = 2 * LOG_BYTES_TO_PAUSE;
/// Growth of the log between two attempts to empty it while a reader keeps it from being, in bytes.
// Each attempt waits for the reader, so that writes slow down and do not stop.
const LOG_BYTES_BETWEEN_ATTEMPTS: u64 = 16 * 1024 * 1024;
/// Maximum number of attempts before a write is refused. Each waits for readers for 100 ms: 2 s together.
const MAX_ATTEMPTS: usize = 20;

/// Limits the log: writes wait until it is moved into the database, or are refused.
#[derive(Debug)]
pub(super) struct LogLimit {
    pool: SqlitePool,
    database: Arc<Path>,
    log: PathBuf,
    /// Length of the log from which it is to be emptied.
    next_attempt: u64,
    /// True if the last write was refused, so that those behind it do not wait as long again.
    is_refusing: bool,
}

impl LogLimit {
    pub(super) fn new(pool: SqlitePool, database: Arc<Path>) -> Self {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        Self {
            pool,
            database,
            log: log.into(),
            next_attempt: LOG_BYTES_TO_PAUSE,
            is_refusing: false,
        }
    }

    /// Waits until the log has room for a write.
    ///
    /// # Errors
    /// `Busy` if a reader has kept the log from being emptied until it is full; an error of the disk.
    pub(super) async fn make_room(&mut self) -> Result<(), Error> {
        // Without a log there is nothing to empty.
        let length = std::fs::metadata(&self.log).map_or(0, |log| log.len());
        if length < self.next_attempt {
            return Ok(());
        }
        let is_full = length >= MAX_LOG_BYTES;
        let attempts = match is_full && !self.is_refusing {
            true => MAX_ATTEMPTS,
            false => 1,
        };
        let emptied = self.empty(attempts).await;
        self.is_refusing = is_full && !matches!(emptied, Ok(true));
        self.next_attempt = match emptied {
            Ok(true) => LOG_BYTES_TO_PAUSE,
            _ => (length + LOG_BYTES_BETWEEN_ATTEMPTS).min(MAX_LOG_BYTES),
        };
        match emptied {
            Ok(false) if is_full => Err(Error::Busy {
                path: self.database.to_path_buf(),
            }),
            Err(error) if is_full => Err(failure(&self.database, error)),
            _ => Ok(()),
        }
    }

    /// Moves the log into the database and empties its file. Returns false if readers kept it from being emptied.
    async fn empty(&self, attempts: usize) -> sqlx::Result<bool> {
        for _ in 0..attempts {
            // Not RESTART: the length of the file tells how full the log is only if the file is emptied.
            let (is_blocked, ..) = run(&self.pool, "PRAGMA wal_checkpoint(TRUNCATE)").await?;
            if is_blocked == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Counts writes and signals when a checkpoint is due.
#[derive(Debug, Default)]
pub(super) struct WriteCounter {
    writes: usize,
    bytes: usize,
    is_due: Arc<Notify>,
}

impl WriteCounter {
    /// Counts writes of these bytes together.
    pub(super) fn add(&mut self, writes: usize, bytes: usize) {
        self.writes += writes;
        self.bytes += bytes;
        if self.writes >= WRITES_PER_CHECKPOINT || self.bytes >= BYTES_PER_CHECKPOINT {
            self.writes = 0;
            self.bytes = 0;
            self.is_due.notify_one();
        }
    }

    pub(super) fn is_due(&self) -> Arc<Notify> {
        Arc::clone(&self.is_due)
    }
}

/// Runs checkpoints when they are due, until it is dropped or its pool is closed.
pub(super) async fn checkpoint_when_due(pool: SqlitePool, file: Arc<Path>, is_due: Arc<Notify>) {
    loop {
        is_due.notified().await;
        match checkpoint(&pool).await {
            Ok(()) => {}
            Err(sqlx::Error::PoolClosed) => return,
            // Only logged: writes fail by themselves once the log cannot grow, and until then nothing is lost.
            Err(error) => {
                let error: Error = failure(&file, error);
                tracing::warn!(%error, "the checkpoint of the database failed; its log keeps growing");
            }
        }
    }
}

async fn checkpoint(pool: &SqlitePool) -> sqlx::Result<()> {
    let (_, pages, _) = run(pool, "PRAGMA wal_checkpoint(PASSIVE)").await?;
    if pages >= MAX_LOG_PAGES {
        run(pool, "PRAGMA wal_checkpoint(RESTART)").await?;
    }
    Ok(())
}

/// Runs a checkpoint. Returns whether it was blocked, the pages in the log, and the pages moved to the database.
async fn run(pool: &SqlitePool, statement: &'static str) -> sqlx::Result<(i64, i64, i64)> {
    sqlx::query_as(statement).fetch_one(pool).await
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};

    use super::*;

    /// Creates a database without automatic checkpoints.
    async fn database(file: &Path) -> SqlitePool {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .pragma("wal_autocheckpoint", "0");
        let pool = SqlitePool::connect_with(options).await.unwrap();
        write(&pool, "CREATE TABLE kept (content)").await;
        pool
    }

    async fn write(pool: &SqlitePool, statement: &'static str) {
        sqlx::query(statement).execute(pool).await.unwrap();
    }

    fn log_of(file: &Path) -> u64 {
        let log = PathBuf::from(format!("{}-wal", file.display()));
        std::fs::metadata(log).unwrap().len()
    }

    #[tokio::test]
    async fn due_checkpoint_runs_in_the_background() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let pool = database(&file).await;
        let mut count = WriteCounter::default();
        tokio::spawn(checkpoint_when_due(
            pool.clone(),
            file.as_path().into(),
            count.is_due(),
        ));
        write(&pool, "INSERT INTO kept VALUES (zeroblob(1000000))").await;
        count.add(WRITES_PER_CHECKPOINT - 1, 0);
        tokio::task::yield_now().await;
        let length = || std::fs::metadata(&file).unwrap().len();
        assert!(length() < 1_000_000, "not yet");
        count.add(1, 0);
        while length() < 1_000_000 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn few_large_writes_are_followed_by_a_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let pool = database(&file).await;
        let mut count = WriteCounter::default();
        let path = file.as_path().into();
        tokio::spawn(checkpoint_when_due(pool.clone(), path, count.is_due()));
        write(&pool, "INSERT INTO kept VALUES (zeroblob(1000000))").await;
        let length = || std::fs::metadata(&file).unwrap().len();
        count.add(1, BYTES_PER_CHECKPOINT - 1);
        tokio::task::yield_now().await;
        assert!(length() < 1_000_000, "not yet");
        count.add(1, 1);
        while length() < 1_000_000 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn checkpoint_restarts_a_long_wal() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let pool = database(&file).await;
        write(&pool, "INSERT INTO kept VALUES (zeroblob(70000000))").await;
        let length = log_of(&file);
        checkpoint(&pool).await.unwrap();
        write(&pool, "INSERT INTO kept VALUES ('x')").await;
        let (_, pages, _) = run(&pool, "PRAGMA wal_checkpoint(PASSIVE)").await.unwrap();
        assert!(pages < 100, "{pages} pages");
        assert_eq!(log_of(&file), length, "its file is used again");
    }
}
