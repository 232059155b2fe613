//! Completed requests, so that a repeated request gets the first response and has no second effect.

use std::time::SystemTime;

use motorium_proto::limits::REQUEST_ID_WINDOW;

use super::rows::millis;
use super::{Connection, StatementError, forget_expired, lock_request};
use crate::{Error, RequestId};

/// Returns the recorded result of this request; `None` if it has not been completed before.
pub(super) async fn find_completed(
    connection: &mut Connection,
    request: Option<&RequestId>,
    now: SystemTime,
) -> Result<Option<String>, StatementError> {
    let Some(request) = request else {
        return Ok(None);
    };
    lock_request(connection, &request.id).await?;
    let found: Option<(Vec<u8>, String)> =
        sqlx::query_as("SELECT fingerprint, done FROM request WHERE id = $1 AND expire_time > $2")
            .bind(&request.id)
            .bind(millis(now))
            .fetch_optional(connection)
            .await?;
    match found {
        Some((fingerprint, done)) if fingerprint == request.fingerprint => Ok(Some(done)),
        Some(_) => Err(Error::RequestIdReused {
            id: request.id.clone(),
        }
        .into()),
        None => Ok(None),
    }
}

/// Records the result of this request in the transaction of its effect, and deletes expired records.
pub(super) async fn record_completed(
    connection: &mut Connection,
    request: Option<&RequestId>,
    done: &str,
    now: SystemTime,
) -> Result<(), StatementError> {
    let Some(request) = request else {
        return Ok(());
    };
    forget_expired(connection, now).await?;
    sqlx::query("INSERT INTO request (id, fingerprint, done, expire_time) VALUES ($1, $2, $3, $4)")
        .bind(&request.id)
        .bind(request.fingerprint.as_slice())
        .bind(done)
        .bind(millis(now + REQUEST_ID_WINDOW))
        .execute(connection)
        .await?;
    Ok(())
}
