//! The `authorization` header of calls to one server.
//!
//! A configured token is sent with every call; that of a file is followed. Without one, calls to servers of the same user on
//! this machine carry the token of that user, which is read from its file when the first call is made: the server may start, and
//! create it, after the channel.
//!
//! It does not know which servers may have a token: [`Audiences`](super::Audiences) do.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use http::HeaderValue;
use motorium_proto::error::{ErrorReport, reason};
use tokio::time::Instant;
use tonic::Code;

use super::own_server::OwnServer;
use super::{Config, Error};
use crate::address::ServiceAddress;
use crate::bearer;
use crate::blocking;
use crate::loopback_token::{self, LoopbackToken};
use crate::secret::Secret;

/// Time for which a token is sent before its file is read again.
const READ_INTERVAL: Duration = Duration::from_secs(1);
/// Time for which a file must have had another token before that is sent.
// A mounted secret of Kubernetes reaches all machines within about a minute, so that the server knows the token by then. It accepts
// the former one for 3 min: no call fails.
const ADOPTION_TIME: Duration = Duration::from_secs(75);

/// Source of the header.
#[derive(Debug)]
pub(super) enum Authorization {
    None,
    Configured(HeaderValue),
    OfFile {
        token: Secret,
        known: RwLock<FollowedHeader>,
    },
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
            let header = bearer::header(token).ok_or_else(unusable)?;
            return Ok(match token.file() {
                None => Self::Configured(header),
                Some(_) => Self::OfFile {
                    token: token.clone(),
                    known: RwLock::new(FollowedHeader::new(header, Instant::now())),
                },
            });
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
            Self::OfFile { token, known } => return Ok(Some(header_of_file(token, known).await)),
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
        match self {
            Self::OfUser { known, .. } => {
                *known.write().unwrap_or_else(PoisonError::into_inner) = None;
            }
            Self::OfFile { known, .. } => {
                let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
                known.read_at = None;
            }
            Self::None | Self::Configured(_) => {}
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

/// Returns the header with the token of a file.
async fn header_of_file(token: &Secret, known: &RwLock<FollowedHeader>) -> HeaderValue {
    let current = known.read().unwrap_or_else(PoisonError::into_inner).clone();
    if current.is_fresh(Instant::now()) {
        return current.header;
    }
    let token = token.clone();
    let again = blocking::run(move || token.read_again()).await;
    let found = again.as_ref().and_then(bearer::header);
    let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
    known.has_read(found, Instant::now());
    known.header.clone()
}

/// The header of a token whose file may change.
#[derive(Debug, Clone)]
pub(super) struct FollowedHeader {
    header: HeaderValue,
    /// When the file was read last. `None` to read it at the next call, and to send what it has at once.
    read_at: Option<Instant>,
    /// Another token that the file has, and since when.
    next: Option<(HeaderValue, Instant)>,
}

impl FollowedHeader {
    fn new(header: HeaderValue, now: Instant) -> Self {
        Self {
            header,
            read_at: Some(now),
            next: None,
        }
    }

    fn is_fresh(&self, now: Instant) -> bool {
        self.read_at
            .is_some_and(|at| now.duration_since(at) < READ_INTERVAL)
    }

    /// Takes in what the file has now; `None` while it is being replaced.
    fn has_read(&mut self, found: Option<HeaderValue>, now: Instant) {
        let is_refused = self.read_at.replace(now).is_none();
        let Some(found) = found.filter(|found| *found != self.header) else {
            self.next = None;
            return;
        };
        let since = match self.next.take() {
            Some((next, since)) if next == found => since,
            _ => now,
        };
        if is_refused || now.duration_since(since) >= ADOPTION_TIME {
            self.header = found;
        } else {
            self.next = Some((found, since));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_token_of_the_file_is_sent_after_a_while_and_at_once_after_a_refusal() {
        let header = |token: &'static str| HeaderValue::from_static(token);
        let start = Instant::now();
        let mut known = FollowedHeader::new(header("one"), start);
        assert!(known.is_fresh(start) && !known.is_fresh(start + READ_INTERVAL));
        let mut read = |found: Option<&'static str>, seconds: u64| {
            known.has_read(found.map(header), start + Duration::from_secs(seconds));
            known.header.to_str().unwrap().to_owned()
        };
        assert_eq!(read(Some("two"), 1), "one");
        assert_eq!(read(None, 2), "one", "it is being replaced");
        assert_eq!(read(Some("two"), 3), "one");
        assert_eq!(read(Some("two"), 77), "one", "for 74 s");
        assert_eq!(read(Some("two"), 78), "two");
        assert_eq!(read(Some("two"), 79), "two");
        known.read_at = None;
        assert!(!known.is_fresh(start));
        known.has_read(Some(header("three")), start + Duration::from_secs(80));
        assert_eq!(known.header, "three");
    }
}
