//! The origin of the current call: a connection or this process. It is used for fair sharing among connections.
//!
//! It does not say who calls ([`principal`](crate::principal)) and is not used for authorisation. Available in the handler's own
//! task; tasks that the handler spawns do not inherit it.

use std::future::Future;
use std::net::SocketAddr;

use http::Extensions;
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};

tokio::task_local! {
    static CURRENT: ConnectionOrigin;
}

/// The address at the other end of a connection, or this process itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ConnectionOrigin(Option<SocketAddr>);

impl ConnectionOrigin {
    /// Returns the origin of the call that this task serves; this process if it serves none.
    #[must_use]
    pub fn current() -> Self {
        CURRENT.try_with(|origin| *origin).unwrap_or_default()
    }

    /// Creates the origin of a connection from this address.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self(Some(address))
    }

    /// Returns the origin that the transport has recorded in the extensions of a request.
    pub(crate) fn of(request: &Extensions) -> Self {
        let plain = request.get::<TcpConnectInfo>();
        let inside_tls = request
            .get::<TlsConnectInfo<TcpConnectInfo>>()
            .map(TlsConnectInfo::get_ref);
        Self(plain.or(inside_tls).and_then(TcpConnectInfo::remote_addr))
    }

    /// Runs `future` as a call from this origin.
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        CURRENT.scope(self, future).await
    }
}
