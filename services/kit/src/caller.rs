//! The connection that the current call comes from, used for fair sharing among callers.
//!
//! It is not used for authorisation. Available in the handler's own task; tasks that the handler spawns do not inherit it.

use std::future::Future;
use std::net::SocketAddr;

use http::Extensions;
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};

tokio::task_local! {
    static CURRENT: Caller;
}

/// The origin of a call: a connection, or this process itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Caller(Option<SocketAddr>);

impl Caller {
    /// Returns the caller of the call that this task serves; this process if it serves none.
    #[must_use]
    pub fn current() -> Self {
        CURRENT.try_with(|caller| *caller).unwrap_or_default()
    }

    /// Creates a caller for a connection from this address.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self(Some(address))
    }

    /// Returns the caller recorded by the transport in the extensions of a request.
    pub(crate) fn of(request: &Extensions) -> Self {
        let plain = request.get::<TcpConnectInfo>();
        let inside_tls = request
            .get::<TlsConnectInfo<TcpConnectInfo>>()
            .map(TlsConnectInfo::get_ref);
        Self(plain.or(inside_tls).and_then(TcpConnectInfo::remote_addr))
    }

    /// Runs `future` on behalf of this caller.
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        CURRENT.scope(self, future).await
    }
}
