//! Limits of connections, for servers and clients. The defaults come from the contract.
//!
//! They are not enforced here: the transport and [`server`](crate::server) do.

use std::time::Duration;

use motorium_proto::limits;

/// Limits of a connection and its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Interval between pings on a connection without data.
    pub keepalive_interval: Duration,
    /// Sends pings also while there is no call. Servers that are not ours may take that for abuse.
    pub keepalive_while_idle: bool,
    /// Timeout for the response to a ping, after which the connection is closed.
    pub keepalive_timeout: Duration,
    /// Maximum number of connections to a server. One more is closed at once.
    pub connections: usize,
    /// Maximum number of concurrent calls on one connection.
    pub concurrent_streams: u32,
    /// Maximum size of headers or trailers, in bytes. Also limits error details, which are sent in trailers.
    pub header_bytes: u32,
    /// Maximum size of a message that a client sends or accepts, in bytes. A server's limit is set on its generated type.
    pub message_bytes: usize,
    /// Timeout for establishing a connection.
    pub connect_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            keepalive_interval: limits::KEEPALIVE_INTERVAL,
            keepalive_while_idle: true,
            keepalive_timeout: limits::KEEPALIVE_TIMEOUT,
            connections: limits::MAX_CONNECTIONS,
            concurrent_streams: limits::MAX_CONCURRENT_STREAMS,
            // hyper's default for HTTP/2 headers.
            header_bytes: 16 * 1024,
            message_bytes: limits::MAX_IMAGE_MESSAGE_BYTES,
            connect_timeout: limits::CONNECT_TIMEOUT,
        }
    }
}

impl Limits {
    /// Returns the limits of connections to servers that users provide: functions, hooks and planners of their own. They are
    /// pinged as seldom as every gRPC implementation accepts with its default settings.
    #[must_use]
    pub fn of_foreign_server() -> Self {
        Self {
            keepalive_interval: limits::FOREIGN_KEEPALIVE_INTERVAL,
            keepalive_while_idle: false,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keepalive_to_foreign_servers_respects_grpc_defaults() {
        // The default of gRPC core, Go and Java: the shortest interval of pings without data, and none without a call.
        let accepted = Duration::from_secs(300);
        let limits = Limits::of_foreign_server();
        assert!(limits.keepalive_interval > accepted && !limits.keepalive_while_idle);
        assert_eq!(
            Limits::default().keepalive_interval,
            Duration::from_secs(30)
        );
    }
}
