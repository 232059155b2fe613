//! Requests that were carried out, so that a repetition gets the first answer instead of a second effect.

use std::time::SystemTime;

use motorium_proto::limits::REQUEST_ID_WINDOW;

use super::rows::millis;
use super::{Connection, Fault, alone_with, forget_expired};
use crate::{Error, RequestId};

/// What this request did the first time; `None` if this is the first time.
pub(super) async fn done_before(
    connection: &mut Connection,
    request: Option<&RequestId>,
    now: SystemTime,
) -> Result<Option<String>, Fault> {
    let Some(request) = request else {
        return Ok(None);
    };
    alone_with(connection, &request.id).await?;
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

/// Remembers what this request has done, in the transaction that does it, and forgets what is long past.
pub(super) async fn remember(
    connection: &mut Connection,
    request: Option<&RequestId>,
    done: &str,
    now: SystemTime,
) -> Result<(), Fault> {
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
