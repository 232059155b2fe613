//! Parts of paths, with errors in the gateway's own form.
//!
//! Only texts are read here. What they may name, a handler checks.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// The parts of a request's path that its route names.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let parsed = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        match parsed {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(Error::field("path", &rejection.body_text())),
        }
    }
}
