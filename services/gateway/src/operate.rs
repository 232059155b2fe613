//! Mouse and keyboard of a page for the desktop of a task that its caller has taken over, over a WebSocket.
//!
//! Messages pass through unchanged. The Orchestrator decides whose input a desktop receives, and until when.

use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::response::Response;
use futures::channel::mpsc::{self, Sender};
use futures::future::BoxFuture;
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::{ErrorReport, FieldError};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::operate_desktop_request::Part;
use prost::Message as _;
use tonic::{Response as CallResponse, Status, Streaming};

use crate::access::Admission;
use crate::caller::Caller;
use crate::error::Error;
use crate::path::Path;
use crate::socket::{StreamContext, close, fail};
use crate::upstream::OrchestratorClient;

/// Maximum size of an input, in bytes: a text of 100 000 characters.
const MAX_MESSAGE_BYTES: usize = 512 * 1024;
/// Inputs on their way. A page that sends more without waiting for outcomes is refused.
const CAPACITY: usize = 256;

/// `GET /api/operate/tasks/{task}`: takes an `OperatorInput` in each binary message, and answers with `OperateDesktopResponse`s.
pub(crate) async fn operate(
    State(context): State<StreamContext>,
    Extension(caller): Extension<Caller>,
    Extension(admission): Extension<Admission>,
    Path(task): Path<String>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Error> {
    let permit = context.quotas.open_stream(caller.identity());
    let client = context.upstream.orchestrator(&caller)?;
    let upgrade = upgrade.max_message_size(MAX_MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(move |mut socket| async move {
        let _permit = match permit {
            Ok(permit) => permit,
            Err(error) => return fail(&mut socket, &error.report()).await,
        };
        let task = format!("tasks/{task}");
        let (inputs, opened) = open(client, task).await;
        match opened {
            Ok(responses) => {
                let responses = responses.into_inner();
                pass_on(
                    socket,
                    inputs,
                    responses,
                    admission.revoked(),
                    context.shutdown,
                )
                .await;
            }
            Err(status) => fail(&mut socket, &ErrorReport::from_status(&status)).await,
        }
    }))
}

type Opened = Result<CallResponse<Streaming<wire::OperateDesktopResponse>>, Status>;

async fn open(
    mut client: OrchestratorClient,
    name: String,
) -> (Sender<wire::OperateDesktopRequest>, Opened) {
    let (mut inputs, requests) = mpsc::channel(CAPACITY);
    // The name of the caller, where the services authenticate callers, and the same one as in `TakeOver` otherwise.
    let user = String::new();
    let start = Part::Start(wire::OperateDesktopStart { name, user });
    // The channel has room for it.
    let _ = inputs.try_send(wire::OperateDesktopRequest { part: Some(start) });
    let opened = client.operate_desktop(requests).await;
    (inputs, opened)
}

/// Passes inputs and outcomes on until the desktop is handed back, the page leaves or its caller may no longer be served.
async fn pass_on(
    mut socket: WebSocket,
    mut inputs: Sender<wire::OperateDesktopRequest>,
    mut responses: Streaming<wire::OperateDesktopResponse>,
    mut revoked: BoxFuture<'static, Error>,
    shutdown: Shutdown,
) {
    loop {
        tokio::select! {
            biased;
            error = &mut revoked => return fail(&mut socket, &error.report()).await,
            () = shutdown.draining() => return close(&mut socket, close_code::AWAY, "").await,
            response = responses.message() => match response {
                Ok(Some(response)) => {
                    let message = Message::Binary(Bytes::from(response.encode_to_vec()));
                    if socket.send(message).await.is_err() {
                        return;
                    }
                }
                Ok(None) => return close(&mut socket, close_code::NORMAL, "").await,
                Err(status) => {
                    return fail(&mut socket, &ErrorReport::from_status(&status)).await;
                }
            },
            received = socket.recv() => match received {
                Some(Ok(Message::Binary(message))) => {
                    if let Err(error) = send(&mut inputs, message) {
                        return fail(&mut socket, &error.report()).await;
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
        }
    }
}

fn send(inputs: &mut Sender<wire::OperateDesktopRequest>, message: Bytes) -> Result<(), Error> {
    let input = wire::OperatorInput::decode(message);
    let input = input.map_err(|error| FieldError::new("input", error.to_string()))?;
    let part = Some(Part::Input(input));
    let sent = inputs.try_send(wire::OperateDesktopRequest { part });
    match sent {
        Err(error) if error.is_full() => Err(Error::RateLimited),
        // The responses tell of a stream that has ended.
        _ => Ok(()),
    }
}
