//! The name of the store's content.

use uuid::Uuid;

use super::Pool;

/// A name that no other store has.
pub(super) fn fresh() -> String {
    Uuid::new_v4().simple().to_string()
}

/// The name of the store's content, given when it is first opened.
pub(super) async fn current(writer: &Pool) -> sqlx::Result<String> {
    sqlx::query(
        "INSERT INTO meta (key, value) VALUES ('generation', $1) ON CONFLICT (key) DO NOTHING",
    )
    .bind(fresh())
    .execute(writer)
    .await?;
    sqlx::query_scalar("SELECT value FROM meta WHERE key = 'generation'")
        .fetch_one(writer)
        .await
}

/// Gives it another one.
pub(super) async fn renew(writer: &Pool) -> sqlx::Result<String> {
    let generation = fresh();
    sqlx::query("UPDATE meta SET value = $1 WHERE key = 'generation'")
        .bind(&generation)
        .execute(writer)
        .await?;
    Ok(generation)
}
