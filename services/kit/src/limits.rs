//! What bounds a connection, for servers and clients alike; the numbers are the contract's.

use std::time::Duration;

use motorium_proto::limits;

/// What bounds a connection and its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// An idle connection is pinged this often.
    pub keepalive_interval: Duration,
    /// A connection that does not answer a ping within this time is closed.
    pub keepalive_timeout: Duration,
    /// Calls at a time on one connection.
    pub concurrent_streams: u32,
    /// Bytes of headers or trailers. Error details travel in trailers, so this bounds them too.
    pub header_bytes: u32,
    /// Bytes of one message that a client sends or accepts. A server's bound is its generated type's.
    pub message_bytes: usize,
    /// How long a client waits for a connection.
    pub connect_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            keepalive_interval: limits::KEEPALIVE_INTERVAL,
            keepalive_timeout: limits::KEEPALIVE_TIMEOUT,
            concurrent_streams: limits::MAX_CONCURRENT_STREAMS,
            header_bytes: 16 * 1024,
            message_bytes: limits::MAX_MESSAGE_WITH_IMAGES,
            connect_timeout: limits::CONNECT_TIMEOUT,
        }
    }
}
