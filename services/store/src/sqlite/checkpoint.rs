//! Brings what was written from SQLite's log into the database, beside the writing.
//!
//! SQLite does so by itself, but within the commit that made the log long enough: it waits for the disk, and every write
//! waits with it. With a thousand tasks that was most of the longest waits (docs/performance.md). Here a connection of
//! its own does it, which holds nobody up.
//!
//! While there is no pause in the writing, the log never comes to a state in which it can begin anew, and grows. Once it
//! is long, writing pauses for what is left of it then, which is little.

use std::path::Path;
use std::sync::Arc;

use sqlx::SqlitePool;
use tokio::sync::Notify;

use super::failure;
use crate::Error;

/// Writes between two times, which make a log of about 64 MiB. More often, what is written twice goes to the disk twice.
const WRITES: usize = 4_096;

/// A log of so many pages, of 4 KiB each, begins anew.
const LONG: i64 = 16_384;

/// Counts what is written, and tells the other side when it is time.
#[derive(Debug, Default)]
pub(super) struct Count {
    writes: usize,
    is_due: Arc<Notify>,
}

impl Count {
    pub(super) fn add(&mut self, writes: usize) {
        self.writes += writes;
        if self.writes >= WRITES {
            self.writes = 0;
            self.is_due.notify_one();
        }
    }

    pub(super) fn is_due(&self) -> Arc<Notify> {
        Arc::clone(&self.is_due)
    }
}

/// Goes on until it is dropped, or its pool is closed.
pub(super) async fn checkpoint_when_due(pool: SqlitePool, file: Arc<Path>, is_due: Arc<Notify>) {
    loop {
        is_due.notified().await;
        match checkpoint(&pool).await {
            Ok(()) => {}
            Err(sqlx::Error::PoolClosed) => return,
            // Whoever writes is told once the log cannot grow any more; until then nothing is lost.
            Err(error) => {
                let error: Error = failure(&file, error);
                tracing::warn!(%error, "the log of the database stays long");
            }
        }
    }
}

async fn checkpoint(pool: &SqlitePool) -> sqlx::Result<()> {
    let (_, pages, _) = run(pool, "PRAGMA wal_checkpoint(PASSIVE)").await?;
    if pages >= LONG {
        run(pool, "PRAGMA wal_checkpoint(RESTART)").await?;
    }
    Ok(())
}

/// Whether somebody was in the way, the pages of the log, and how many of them are in the database.
async fn run(pool: &SqlitePool, statement: &'static str) -> sqlx::Result<(i64, i64, i64)> {
    sqlx::query_as(statement).fetch_one(pool).await
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};

    use super::*;

    /// A database whose log only grows by itself.
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
    async fn what_was_written_is_brought_over_beside_the_writing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let pool = database(&file).await;
        let mut count = Count::default();
        tokio::spawn(checkpoint_when_due(
            pool.clone(),
            file.as_path().into(),
            count.is_due(),
        ));
        write(&pool, "INSERT INTO kept VALUES (zeroblob(1000000))").await;
        count.add(WRITES - 1);
        tokio::task::yield_now().await;
        let length = || std::fs::metadata(&file).unwrap().len();
        assert!(length() < 1_000_000, "not yet");
        count.add(1);
        while length() < 1_000_000 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_long_log_begins_anew() {
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
