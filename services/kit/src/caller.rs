//! Whom the call being served comes from, as far as sharing fairly needs to know: its connection.
//!
//! It says nothing of who may do what. A handler asks for it in its own task; a task that it spawns does not inherit it.

use std::future::Future;
use std::net::SocketAddr;

use http::Extensions;
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};

tokio::task_local! {
    static CURRENT: Caller;
}

/// A connection, or this process itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Caller(Option<SocketAddr>);

impl Caller {
    /// The caller of the call that this task is serving; this process where none is served.
    #[must_use]
    pub fn current() -> Self {
        CURRENT.try_with(|caller| *caller).unwrap_or_default()
    }

    /// The connection from this address.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self(Some(address))
    }

    /// What the transport noted of a request.
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
