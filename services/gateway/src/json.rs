//! JSON bodies of requests, with errors in the gateway's own form.
//!
//! Responses are not made here: handlers return `axum::Json`.

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use http::StatusCode;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// Maximum size of a JSON body. Larger files are uploaded first.
// An attachment of 1 MiB in Base64 for each of the few that fit into one message of the Orchestrator.
pub(crate) const MAX_JSON_BYTES: usize = 6 * 1024 * 1024;

/// The JSON body of a request.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let parsed = axum::Json::<T>::from_request(request, state).await;
        parsed.map(|axum::Json(value)| Self(value)).map_err(explain)
    }
}

fn explain(rejection: JsonRejection) -> Error {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Error::BodyTooLarge {
            limit: MAX_JSON_BYTES,
        };
    }
    // A page cannot send this content type to another origin without asking, so it is required.
    Error::field("body", &rejection.body_text())
}
