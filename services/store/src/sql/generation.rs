//! The generation of a store: an identifier of its content, renewed after a restore from a backup.
//!
//! A restored store has the key `copy`. `motorium restore` sets it; a database that can tell its own identity sets it by itself,
//! where its content names another one; after any other restore, the operator does. When such a store is opened for the first
//! time, it gets a new generation. The key stays until its tasks are settled.

use uuid::Uuid;

use super::Pool;

/// Value of the key `copy` from the new generation on.
const RENEWED: &str = "renewed";

/// Returns a new, globally unique generation.
pub(super) fn new_generation() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Returns the generation of the store. Creates it when the store is first opened, and renews that of a copy. A store whose
/// content names another `identity` than this one is a copy.
pub(super) async fn current(writer: &Pool, identity: Option<&str>) -> sqlx::Result<String> {
    sqlx::query(
        "INSERT INTO meta (key, value) VALUES ('generation', $1) ON CONFLICT (key) DO NOTHING",
    )
    .bind(new_generation())
    .execute(writer)
    .await?;
    let mut writing = writer.begin().await?;
    if let Some(identity) = identity {
        sqlx::query(
            "INSERT INTO meta (key, value) VALUES ('identity', $1) ON CONFLICT (key) DO NOTHING",
        )
        .bind(identity)
        .execute(&mut *writing)
        .await?;
        // Of several processes that open a copy at once, one finds another identity.
        let other =
            sqlx::query("UPDATE meta SET value = $1 WHERE key = 'identity' AND value <> $1");
        let other = other.bind(identity).execute(&mut *writing).await?;
        if other.rows_affected() > 0 {
            // Also of a copy whose tasks were not settled yet: it needs a generation of its own.
            sqlx::query(
                "INSERT INTO meta (key, value) VALUES ('copy', 'identity')
                 ON CONFLICT (key) DO UPDATE SET value = 'identity'",
            )
            .execute(&mut *writing)
            .await?;
        }
    }
    let first = sqlx::query("UPDATE meta SET value = $1 WHERE key = 'copy' AND value <> $1")
        .bind(RENEWED)
        .execute(&mut *writing)
        .await?;
    if first.rows_affected() > 0 {
        sqlx::query("UPDATE meta SET value = $1 WHERE key = 'generation'")
            .bind(new_generation())
            .execute(&mut *writing)
            .await?;
    }
    writing.commit().await?;
    sqlx::query_scalar("SELECT value FROM meta WHERE key = 'generation'")
        .fetch_one(writer)
        .await
}

/// Replaces the generation.
pub(super) async fn renew(writer: &Pool) -> sqlx::Result<String> {
    let generation = new_generation();
    sqlx::query("UPDATE meta SET value = $1 WHERE key = 'generation'")
        .bind(&generation)
        .execute(writer)
        .await?;
    Ok(generation)
}
