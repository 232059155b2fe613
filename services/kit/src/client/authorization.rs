//! The `authorization` header of calls to one server.
//!
//! A configured token is sent with every call. Without one, calls to servers of the same user on this machine carry the token of
//! that user, which is read from its file when the first call is made: the server may start, and create it, after the channel.
//!
//! It does not know which servers may have a token: [`Audiences`](super::Audiences) do.

use std::sync::{PoisonError, RwLock};

use http::HeaderValue;
use motorium_proto::error::{ErrorReport, reason};
use tonic::Code;

use super::own_server::OwnServer;
use super::{Config, Error};
use crate::address::ServiceAddress;
use crate::bearer;
use crate::blocking;
use crate::loopback_token::{self, LoopbackToken};
use crate::secret::Secret;

/// Source of the header.
#[derive(Debug)]
pub(super) enum Authorization {
    None,
    Configured(HeaderValue),
    OfUser {
        place: LoopbackToken,
        server: OwnServer,
        /// Header with the token that was found last.
        known: RwLock<Option<HeaderValue>>,
    },
}

impl Authorization {
    /// # Errors
    /// If the configured token is no valid header.
    pub(super) fn new(config: &Config) -> Result<Self, Error> {
        if let Some(token) = &config.token {
            let unusable = || Error::Token {
                uri: config.uri.clone(),
            };
            return Ok(Self::Configured(
                bearer::header(token).ok_or_else(unusable)?,
            ));
        }
        let place = place_for(config).cloned();
        Ok(place.map_or(Self::None, |place| Self::OfUser {
            server: OwnServer::new(Some(place.clone())),
            place,
            known: RwLock::new(None),
        }))
    }

    /// Returns the header, or `None` if the user has no token yet.
    ///
    /// # Errors
    /// If the token of the user must not be used.
    pub(super) async fn header(&self) -> Result<Option<HeaderValue>, ErrorReport> {
        let (place, known) = match self {
            Self::None => return Ok(None),
            Self::Configured(header) => return Ok(Some(header.clone())),
            Self::OfUser { server, .. } if server.is_foreign() => return Ok(None),
            Self::OfUser { place, known, .. } => (place, known),
        };
        let cached = known.read().unwrap_or_else(PoisonError::into_inner).clone();
        if cached.is_some() {
            return Ok(cached);
        }
        let place = place.clone();
        let found = blocking::run(move || place.find()).await;
        let header = found
            .map_err(|error| refused(&error))?
            .as_ref()
            .and_then(bearer::header);
        *known.write().unwrap_or_else(PoisonError::into_inner) = header.clone();
        Ok(header)
    }

    /// Reads the token anew for the next call. The server has refused this one: it may have created another.
    pub(super) fn forget(&self) {
        if let Self::OfUser { known, .. } = self {
            *known.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Returns the connections of the channel if they must be to a server of this user.
    pub(super) fn own_server(&self, config: &Config) -> Option<OwnServer> {
        match self {
            Self::OfUser { server, .. } => Some(server.clone()),
            _ if config.own_server && is_here(config) => Some(OwnServer::new(None)),
            _ => None,
        }
    }
}

impl Config {
    /// Returns the token that calls carry: the configured one, or that of the user if the server is on this machine.
    ///
    /// # Errors
    /// If the token of the user must not be used.
    pub fn effective_token(&self) -> Result<Option<Secret>, loopback_token::Error> {
        match &self.token {
            Some(token) => Ok(Some(token.clone())),
            None => Ok(place_for(self)
                .map(LoopbackToken::find)
                .transpose()?
                .flatten()),
        }
    }
}

/// Returns the place of the user's token if the server is on this machine. No other machine receives it.
fn place_for(config: &Config) -> Option<&LoopbackToken> {
    config.loopback_token.as_ref().filter(|_| is_here(config))
}

fn is_here(config: &Config) -> bool {
    ServiceAddress::parse(&config.uri).is_some_and(|address| address.is_loopback())
}

pub(super) fn refused(error: &impl std::error::Error) -> ErrorReport {
    ErrorReport::new(
        Code::Unauthenticated,
        reason::UNAUTHENTICATED,
        error.to_string(),
    )
}
