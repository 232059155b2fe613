//! The end of a WebSocket, with its reason in words.

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use motorium_proto::error::ErrorReport;
use serde_json::json;

/// Sends the error as a text, and closes the WebSocket.
pub(crate) async fn close_with(mut socket: WebSocket, report: &ErrorReport) {
    let error = json!({"error": {
        "code": report.code as i32, "reason": report.reason, "message": report.message,
    }});
    if socket.send(Message::text(error.to_string())).await.is_ok() {
        close(socket, close_code::ERROR, &report.reason).await;
    }
}

/// Closes the WebSocket.
pub(crate) async fn close(mut socket: WebSocket, code: u16, reason: &str) {
    let frame = CloseFrame {
        code,
        reason: Utf8Bytes::from(reason),
    };
    let _ = socket.send(Message::Close(Some(frame))).await;
}
