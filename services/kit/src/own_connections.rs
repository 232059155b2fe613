//! A layer of HTTP clients that send the token of the user: each connection leads to a server of this user, or is not used.
//!
//! The very connection is checked after it has been made, so that no other process can take the port in between, also while a
//! client lives for days. It chooses no address: a name may lead to several servers, of which the client takes any.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Extensions;
use hyper_util::client::legacy::connect::{Connection, HttpInfo};
use tower::{BoxError, Layer, Service};

use crate::socket_owner;

/// The layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnConnections;

impl<S> Layer<S> for OwnConnections {
    type Service = OwnConnector<S>;

    fn layer(&self, connector: S) -> OwnConnector<S> {
        OwnConnector(connector)
    }
}

/// Connects as the connector in it, to servers of this user alone.
#[derive(Debug, Clone)]
pub(crate) struct OwnConnector<S>(S);

impl<S, R> Service<R> for OwnConnector<S>
where
    S: Service<R, Error = BoxError, Response: Connection + Send, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: R) -> Self::Future {
        let connecting = self.0.call(target);
        Box::pin(async move {
            let connection = connecting.await?;
            let (client, server) = ends(&connection);
            socket_owner::check_ends(client, server).await?;
            Ok(connection)
        })
    }
}

/// Returns the addresses of both ends. For a connection that states none, these are addresses that no server has.
fn ends(connection: &impl Connection) -> (SocketAddr, SocketAddr) {
    let mut extras = Extensions::new();
    connection.connected().get_extras(&mut extras);
    let unknown = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    extras.get::<HttpInfo>().map_or((unknown, unknown), |info| {
        (info.local_addr(), info.remote_addr())
    })
}
