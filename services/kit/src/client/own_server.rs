//! Connections to servers on this machine that are to receive the token of the user: only those of the same user do.
//!
//! The connection is refused, not only the token: a channel sends whatever it is given over the connection that it has.

use std::error::Error as StdError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::{BoxError, Service, service_fn};

use crate::blocking;
use crate::loopback_token::LoopbackToken;
use crate::socket_owner::{self, ConnectError};

/// Connects to servers of this user, and to others as long as the user has no token.
#[derive(Debug, Clone)]
pub(super) struct OwnServer {
    /// Token to be kept from others. `None` if there is one in any case.
    place: Option<LoopbackToken>,
    /// The connection is one to a server of another user.
    is_foreign: Arc<AtomicBool>,
}

impl OwnServer {
    pub(super) fn new(place: Option<LoopbackToken>) -> Self {
        Self {
            place,
            is_foreign: Arc::default(),
        }
    }

    /// Returns true if the connection must not carry the token. It was made when there was none.
    pub(super) fn is_foreign(&self) -> bool {
        self.is_foreign.load(Ordering::Relaxed)
    }

    /// Returns the connector of a channel.
    pub(super) fn connector(
        &self,
    ) -> impl Service<Uri, Response = TokioIo<TcpStream>, Error = BoxError, Future: Send> + Send + 'static
    {
        let own = self.clone();
        service_fn(move |uri: Uri| {
            let own = own.clone();
            async move { own.connect(&uri).await.map(TokioIo::new) }
        })
    }

    async fn connect(&self, uri: &Uri) -> Result<TcpStream, BoxError> {
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let default_port = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        let port = uri.port_u16().unwrap_or(default_port);
        let connected = match socket_owner::connect(host, port).await {
            Err(ConnectError::Owner(refused)) if self.has_token().await => {
                return Err(refused.into());
            }
            Err(ConnectError::Owner(_)) => {
                self.is_foreign.store(true, Ordering::Relaxed);
                TcpStream::connect((host, port)).await?
            }
            connected => {
                self.is_foreign.store(false, Ordering::Relaxed);
                connected?
            }
        };
        connected.set_nodelay(true)?;
        Ok(connected)
    }

    /// Returns true if the user has a token, or something in its place.
    async fn has_token(&self) -> bool {
        let Some(place) = self.place.clone() else {
            return true;
        };
        !matches!(blocking::run(move || place.find()).await, Ok(None))
    }
}

/// Returns the reason why a connection was refused, if that is one of this module.
pub(super) fn refusal<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a socket_owner::Error> {
    let mut error = Some(error);
    while let Some(current) = error {
        if let Some(refusal) = current.downcast_ref() {
            return Some(refusal);
        }
        error = current.source();
    }
    None
}
