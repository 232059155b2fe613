//! Authentication of callers: who makes a call, by its token.
//!
//! It does not say what a caller may do. Health checks do not come here: platforms probe without a token.

use std::net::SocketAddr;

use http::{HeaderMap, header};
use motorium_proto::error::{ErrorReport, reason};
use tonic::Code;

use super::{Config, Error};
use crate::principal::Principal;
use crate::secret::Secret;

/// Advice for callers without a valid token, by where the token comes from.
const SEND_TOKEN: &str = "send the header `authorization: Bearer <token>` with the token of the server (server.token_file)";
const SEND_TOKEN_OF_USER: &str = "send the header `authorization: Bearer <token>`; `motorium token` prints the token for the user who \
                                  runs the server, and Motorium's command line and clients find it by themselves";

/// The ways in which one server recognises its callers. Without any, every caller is the local principal.
#[derive(Debug, Clone, Default)]
pub(super) struct Authentication {
    token: Option<Secret>,
    /// The token is that of the user, not a configured one.
    is_of_user: bool,
}

impl Authentication {
    /// Returns the authentication of a server on `address`. Creates the token of the user if the server needs it and there is
    /// none.
    ///
    /// # Errors
    /// If the token of the user cannot be created or must not be used.
    pub(super) fn of(config: &Config, address: SocketAddr) -> Result<Self, Error> {
        let has_client_ca = config
            .tls
            .as_ref()
            .is_some_and(|tls| tls.client_ca.is_some());
        let is_open = config.token.is_none() && !has_client_ca;
        let of_user = config
            .loopback_token
            .as_ref()
            .filter(|_| is_open && address.ip().is_loopback());
        match of_user {
            Some(of_user) => Ok(Self {
                token: Some(of_user.find_or_create()?),
                is_of_user: true,
            }),
            None => Ok(Self {
                token: config.token.clone(),
                is_of_user: false,
            }),
        }
    }

    /// Returns true if callers must send a token.
    pub(super) fn needs_token(&self) -> bool {
        self.token.is_some()
    }

    /// Returns the principal of a call with these headers.
    ///
    /// # Errors
    /// If the caller is not authenticated.
    pub(super) fn principal(&self, headers: &HeaderMap) -> Result<Principal, ErrorReport> {
        let Some(token) = &self.token else {
            return Ok(Principal::local());
        };
        let presented = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(bearer);
        match presented {
            Some(presented) if token.matches(presented) => Ok(Principal::local()),
            Some(_) => Err(self.refusal("the token is wrong")),
            None => Err(self.refusal("missing token")),
        }
    }

    fn refusal(&self, problem: &str) -> ErrorReport {
        let advice = if self.is_of_user {
            SEND_TOKEN_OF_USER
        } else {
            SEND_TOKEN
        };
        let text = format!("{problem}; {advice}");
        ErrorReport::new(Code::Unauthenticated, reason::UNAUTHENTICATED, text)
    }
}

/// Returns the token of an `authorization` header. The scheme is case-insensitive.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}
