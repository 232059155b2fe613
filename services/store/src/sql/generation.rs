//! The generation of a store: an identifier of its content, renewed after a restore from a backup.

use uuid::Uuid;

use super::Pool;

/// Returns a new, globally unique generation.
pub(super) fn new_generation() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Returns the generation of the store, and creates it when the store is first opened.
pub(super) async fn current(writer: &Pool) -> sqlx::Result<String> {
    sqlx::query(
        "INSERT INTO meta (key, value) VALUES ('generation', $1) ON CONFLICT (key) DO NOTHING",
    )
    .bind(new_generation())
    .execute(writer)
    .await?;
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
