//! Parameters of requests, with errors in the gateway's own form.
//!
//! Parts of paths are read in [`crate::path`].

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// The parameters of a request, behind the `?` of its path.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let parsed = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        match parsed {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(Error::field("query", &rejection.body_text())),
        }
    }
}
