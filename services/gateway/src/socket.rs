//! WebSockets of the gateway: what their handlers share, and their end with its reason in words.
//!
//! It reads no messages: each handler knows its own.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::ErrorReport;

use crate::error::error_body;
use crate::quota::Quotas;
use crate::upstream::Upstream;

/// Maximum size of the reason in a close frame, in bytes: a frame has at most 125, two of which are the code.
const MAX_CLOSE_REASON: usize = 123;

/// Parts that all handlers of streams use: services, limits and the end of the server.
#[derive(Debug, Clone)]
pub(crate) struct StreamContext {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) quotas: Arc<Quotas>,
    pub(crate) shutdown: Shutdown,
}

/// Sends the error as a text, and closes the WebSocket.
pub(crate) async fn fail(socket: &mut WebSocket, report: &ErrorReport) {
    let text = error_body(report).to_string();
    if socket.send(Message::text(text)).await.is_ok() {
        close(socket, close_code::ERROR, &report.reason).await;
    }
}

/// Closes the WebSocket. A long reason is cut.
pub(crate) async fn close(socket: &mut WebSocket, code: u16, reason: &str) {
    let end = reason.floor_char_boundary(MAX_CLOSE_REASON);
    let frame = CloseFrame {
        code,
        reason: Utf8Bytes::from(&reason[..end]),
    };
    // The other end may be gone.
    let _ = socket.send(Message::Close(Some(frame))).await;
}
