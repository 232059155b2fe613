//! Watches of tasks and sessions over WebSockets.
//!
//! Browsers open at most six connections to a host for everything else, over all tabs, and a watch over gRPC-Web takes one of
//! them. WebSockets are not among the six.

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, Path, Query, State};
use axum::response::Response;
use futures::{Stream, StreamExt as _};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use serde::Deserialize;
use serde_json::json;
use tonic::Status;

use crate::caller::Caller;
use crate::error::Error;
use crate::quota::StreamPermit;
use crate::streams::StreamContext;

/// Parameters of a watch.
#[derive(Debug, Deserialize)]
pub(crate) struct WatchQuery {
    /// Token of the last received message. Empty starts from the beginning.
    #[serde(default)]
    resume_token: String,
}

/// `GET /api/watch/tasks/{task}`: sends each `WatchTaskResponse` as a binary message.
pub(crate) async fn watch_task(
    State(context): State<StreamContext>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    Query(query): Query<WatchQuery>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Error> {
    let permit = context.quotas.open_stream(caller.identity())?;
    let request = wire::WatchTaskRequest {
        name: format!("tasks/{task}"),
        resume_token: query.resume_token,
    };
    let mut client = context.upstream.orchestrator(&caller)?;
    let responses = client.watch_task(request).await?.into_inner();
    Ok(upgrade.on_upgrade(move |socket| forward(socket, responses, context.shutdown, permit)))
}

/// `GET /api/watch/sessions/{session}`: sends each `WatchSessionResponse` as a binary message.
pub(crate) async fn watch_session(
    State(context): State<StreamContext>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    Query(query): Query<WatchQuery>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Error> {
    let permit = context.quotas.open_stream(caller.identity())?;
    let request = wire::WatchSessionRequest {
        name: format!("sessions/{session}"),
        resume_token: query.resume_token,
    };
    let mut client = context.upstream.orchestrator(&caller)?;
    let responses = client.watch_session(request).await?.into_inner();
    Ok(upgrade.on_upgrade(move |socket| forward(socket, responses, context.shutdown, permit)))
}

/// Sends every message of a stream until it ends or the browser leaves.
async fn forward<M: prost::Message>(
    mut socket: WebSocket,
    mut responses: impl Stream<Item = Result<M, Status>> + Unpin,
    shutdown: Shutdown,
    permit: StreamPermit,
) {
    let _permit = permit;
    loop {
        let response = tokio::select! {
            response = responses.next() => response,
            received = socket.recv() => match received {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
            () = shutdown.draining() => None,
        };
        let sent = match response {
            Some(Ok(response)) => {
                let message = Message::Binary(Bytes::from(response.encode_to_vec()));
                socket.send(message).await
            }
            Some(Err(status)) => return close_with(socket, &status).await,
            None => return close(socket, close_code::NORMAL, "").await,
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn close_with(mut socket: WebSocket, status: &Status) {
    let report = ErrorReport::from_status(status);
    let error = json!({"error": {"reason": report.reason, "message": report.message}});
    if socket.send(Message::text(error.to_string())).await.is_ok() {
        close(socket, close_code::ERROR, &report.reason).await;
    }
}

async fn close(mut socket: WebSocket, code: u16, reason: &str) {
    let frame = CloseFrame {
        code,
        reason: Utf8Bytes::from(reason),
    };
    let _ = socket.send(Message::Close(Some(frame))).await;
}
