//! Limits of connections, for servers and clients. The defaults come from the contract.

use std::time::Duration;

use motorium_proto::limits;

/// Limits of a connection and its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Interval between pings on an idle connection.
    pub keepalive_interval: Duration,
    /// Timeout for the response to a ping, after which the connection is closed.
    pub keepalive_timeout: Duration,
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
            keepalive_timeout: limits::KEEPALIVE_TIMEOUT,
            concurrent_streams: limits::MAX_CONCURRENT_STREAMS,
            // hyper's default for HTTP/2 headers.
            header_bytes: 16 * 1024,
            message_bytes: limits::MAX_IMAGE_MESSAGE_BYTES,
            connect_timeout: limits::CONNECT_TIMEOUT,
        }
    }
}
