//! Watches of tasks and sessions over WebSockets.
//!
//! Browsers open at most six connections to a host for everything else, over all tabs, and a watch over gRPC-Web takes one of
//! them. WebSockets are not among the six. Their scripts cannot read the HTTP response of a WebSocket that was refused, so
//! errors of the services are messages.

use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::response::Response;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use serde::Deserialize;
use tonic::{Response as CallResponse, Status, Streaming};

use crate::access::Admission;
use crate::caller::Caller;
use crate::error::Error;
use crate::path::Path;
use crate::query::Query;
use crate::quota::StreamPermit;
use crate::socket::{StreamContext, close, fail};

/// Maximum size of a message of a browser, in bytes. It has nothing to say.
const MAX_MESSAGE_BYTES: usize = 1024;

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
    Extension(admission): Extension<Admission>,
    Path(task): Path<String>,
    Query(query): Query<WatchQuery>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Error> {
    let permit = context.quotas.open_stream(caller.identity());
    let request = wire::WatchTaskRequest {
        name: format!("tasks/{task}"),
        resume_token: query.resume_token,
    };
    let mut client = context.upstream.orchestrator(&caller)?;
    let opened = Box::pin(async move { client.watch_task(request).await });
    let watch = Watch::new(opened, permit, &admission, context.shutdown);
    Ok(watch.serve(upgrade))
}

/// `GET /api/watch/sessions/{session}`: sends each `WatchSessionResponse` as a binary message.
pub(crate) async fn watch_session(
    State(context): State<StreamContext>,
    Extension(caller): Extension<Caller>,
    Extension(admission): Extension<Admission>,
    Path(session): Path<String>,
    Query(query): Query<WatchQuery>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Error> {
    let permit = context.quotas.open_stream(caller.identity());
    let request = wire::WatchSessionRequest {
        name: format!("sessions/{session}"),
        resume_token: query.resume_token,
    };
    let mut client = context.upstream.orchestrator(&caller)?;
    let opened = Box::pin(async move { client.watch_session(request).await });
    let watch = Watch::new(opened, permit, &admission, context.shutdown);
    Ok(watch.serve(upgrade))
}

/// The encoded responses of a watch.
type EncodedResponses = BoxStream<'static, Result<Bytes, Status>>;

/// A watch that a browser opens.
struct Watch {
    opened: BoxFuture<'static, Result<EncodedResponses, ErrorReport>>,
    permit: Result<StreamPermit, Error>,
    revoked: BoxFuture<'static, Error>,
    shutdown: Shutdown,
}

impl Watch {
    fn new<M: prost::Message + Default + 'static>(
        call: BoxFuture<'static, Result<CallResponse<Streaming<M>>, Status>>,
        permit: Result<StreamPermit, Error>,
        admission: &Admission,
        shutdown: Shutdown,
    ) -> Self {
        let opened = Box::pin(async move {
            let responses = call
                .await
                .map_err(|status| ErrorReport::from_status(&status));
            let encoded = responses?.into_inner().map(|response| {
                let encoded = response.map(|response| response.encode_to_vec());
                encoded.map(Bytes::from)
            });
            Ok(encoded.boxed())
        });
        Self {
            opened,
            permit,
            revoked: admission.revoked(),
            shutdown,
        }
    }

    fn serve(self, upgrade: WebSocketUpgrade) -> Response {
        let upgrade = upgrade.max_message_size(MAX_MESSAGE_BYTES);
        upgrade.on_upgrade(move |socket| self.run(socket))
    }

    async fn run(self, mut socket: WebSocket) {
        let _permit = match self.permit {
            Ok(permit) => permit,
            Err(error) => return fail(&mut socket, &error.report()).await,
        };
        match self.opened.await {
            Ok(responses) => forward(socket, responses, self.revoked, self.shutdown).await,
            Err(report) => fail(&mut socket, &report).await,
        }
    }
}

/// Sends every message of a stream until it ends, the browser leaves or its caller may no longer be served.
async fn forward(
    mut socket: WebSocket,
    mut responses: impl Stream<Item = Result<Bytes, Status>> + Unpin,
    mut revoked: BoxFuture<'static, Error>,
    shutdown: Shutdown,
) {
    loop {
        let response = tokio::select! {
            biased;
            error = &mut revoked => return fail(&mut socket, &error.report()).await,
            response = responses.next() => response,
            received = socket.recv() => match received {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
            () = shutdown.draining() => None,
        };
        let message = match response {
            Some(Ok(message)) => message,
            Some(Err(status)) => {
                return fail(&mut socket, &ErrorReport::from_status(&status)).await;
            }
            None => return close(&mut socket, close_code::NORMAL, "").await,
        };
        // A browser that no longer reads must not keep the watch beyond the end of its session.
        let sent = tokio::select! {
            sent = socket.send(Message::Binary(message)) => sent,
            _ = &mut revoked => return,
        };
        if sent.is_err() {
            return;
        }
    }
}
