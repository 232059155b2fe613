//! One viewer of a live screen: a WebSocket that receives frames as fast as it shows them.
//!
//! It opens no stream of its own: `screen` has one for all viewers. What a viewer may see, the services decide.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::response::Response;
use futures::future::BoxFuture;
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::ErrorReport;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::screen::{Screen, Screens, Source, Update};
use super::snapshot::{Size, Snapshot};
use crate::access::Admission;
use crate::caller::Caller;
use crate::error::Error;
use crate::path::Path;
use crate::query::Query;
use crate::quota::StreamPermit;
use crate::socket::{StreamContext, close, fail};

/// Maximum number of frames that a viewer has not acknowledged.
// One is shown while the next one travels.
const MAX_UNACKNOWLEDGED: usize = 2;
/// Interval of pings, which the viewer's browser answers.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// Interval of heartbeats. A page does not see pings, and without them it could not tell a still screen from a dead connection.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);
/// Time without any message after which a viewer counts as gone.
const SILENCE: Duration = Duration::from_secs(40);
/// Maximum size of a message of a viewer, in bytes.
const MAX_MESSAGE_BYTES: usize = 4 * 1024;

/// Size in which a viewer shows the screen.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct ViewerSize {
    width: Option<u32>,
    height: Option<u32>,
}

impl ViewerSize {
    pub(super) fn new(width: Option<u32>, height: Option<u32>) -> Self {
        Self { width, height }
    }

    pub(super) fn size(self) -> Option<Size> {
        match (self.width, self.height) {
            (None | Some(0), None | Some(0)) => None,
            (width, height) => Some((width.unwrap_or(u32::MAX), height.unwrap_or(u32::MAX))),
        }
    }
}

/// A message of a viewer.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ViewerMessage {
    Acknowledged { ack: u64 },
    Resized { width: u32, height: u32 },
}

/// `GET /api/desktops/{desktop}/live`: opens the live screen of a desktop, for administrators.
pub(crate) async fn watch_screen(
    State(context): State<StreamContext>,
    State(screens): State<Arc<Screens>>,
    Extension(caller): Extension<Caller>,
    Extension(admission): Extension<Admission>,
    Path(desktop): Path<String>,
    Query(size): Query<ViewerSize>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Error> {
    let permit = context.quotas.open_stream(caller.identity())?;
    let screen = screens.follow(&caller, Source::Desktop(desktop));
    Ok(open(permit, context, admission, screen, size, upgrade))
}

/// `GET /api/live/tasks/{task}`: opens the live screen of a task, for callers who see the task.
pub(crate) async fn watch_screen_of_task(
    State(context): State<StreamContext>,
    State(screens): State<Arc<Screens>>,
    Extension(caller): Extension<Caller>,
    Extension(admission): Extension<Admission>,
    Path(task): Path<String>,
    Query(size): Query<ViewerSize>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Error> {
    let permit = context.quotas.open_stream(caller.identity())?;
    let screen = screens.follow(&caller, Source::Task(task));
    Ok(open(permit, context, admission, screen, size, upgrade))
}

fn open(
    permit: StreamPermit,
    context: StreamContext,
    admission: Admission,
    screen: Arc<Screen>,
    size: ViewerSize,
    upgrade: WebSocketUpgrade,
) -> Response {
    let upgrade = upgrade.max_message_size(MAX_MESSAGE_BYTES);
    upgrade.on_upgrade(move |socket| async move {
        let updates = screen.updates();
        let viewer = Viewer {
            socket,
            wanted: size.size(),
            updates,
            unacknowledged: Vec::new(),
            last_received: Instant::now(),
            is_streaming: false,
            pending: None,
            _screen: screen,
            _permit: permit,
        };
        viewer.run(&context.shutdown, admission.revoked()).await;
    })
}

struct Viewer {
    socket: WebSocket,
    wanted: Option<Size>,
    updates: watch::Receiver<Update>,
    unacknowledged: Vec<u64>,
    /// Time of the last message of the viewer.
    last_received: Instant,
    /// The viewer was told that frames arrive.
    is_streaming: bool,
    /// The latest frame, not sent yet in the size of the viewer.
    pending: Option<Arc<Snapshot>>,
    _screen: Arc<Screen>,
    _permit: StreamPermit,
}

/// The viewer is gone, or was told why it has to go.
struct Closed;

impl Viewer {
    async fn run(mut self, shutdown: &Shutdown, mut revoked: BoxFuture<'static, Error>) {
        let mut pings = interval(PING_INTERVAL);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        pings.reset();
        let mut heartbeats = interval(HEARTBEAT_INTERVAL);
        heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        heartbeats.reset();
        loop {
            let ended = tokio::select! {
                changed = self.updates.changed() => match changed {
                    Ok(()) => self.take_update().await,
                    Err(_) => self.close(close_code::AWAY, "the screen is no longer followed").await,
                },
                received = self.socket.recv() => match received {
                    Some(Ok(message)) => self.receive(&message),
                    _ => Err(Closed),
                },
                error = &mut revoked => self.fail(&error.report()).await,
                _ = pings.tick() => self.ping().await,
                _ = heartbeats.tick() => {
                    self.send(Message::text(json!({"heartbeat": true}).to_string())).await
                }
                () = shutdown.draining() => {
                    self.close(close_code::AWAY, "the server is shutting down").await
                }
            };
            let ended = match ended {
                Ok(()) => self.send_pending().await,
                closed => closed,
            };
            if ended.is_err() {
                return;
            }
        }
    }

    async fn take_update(&mut self) -> Result<(), Closed> {
        let update = self.updates.borrow_and_update().clone();
        match update {
            Update::Opening => Ok(()),
            Update::Frame(snapshot) => {
                self.pending = Some(snapshot);
                Ok(())
            }
            Update::Waiting(report) => {
                self.is_streaming = false;
                let state =
                    json!({"state": "waiting", "reason": report.reason, "message": report.message});
                self.send(Message::text(state.to_string())).await
            }
            Update::Ended(report) => self.fail(&report).await,
        }
    }

    /// Sends the latest frame, unless the viewer has to show earlier ones first.
    async fn send_pending(&mut self) -> Result<(), Closed> {
        if self.unacknowledged.len() >= MAX_UNACKNOWLEDGED {
            return Ok(());
        }
        let Some(snapshot) = self.pending.take() else {
            return Ok(());
        };
        if !self.is_streaming {
            self.is_streaming = true;
            self.send(Message::text(json!({"state": "streaming"}).to_string()))
                .await?;
        }
        let index = snapshot.index;
        match snapshot.message(self.wanted).await {
            Ok(message) => {
                self.unacknowledged.push(index);
                self.send(Message::Binary(message)).await
            }
            Err(error) => {
                tracing::warn!(%error, "a frame cannot be encoded for a viewer");
                Ok(())
            }
        }
    }

    fn receive(&mut self, message: &Message) -> Result<(), Closed> {
        self.last_received = Instant::now();
        let text = match message {
            Message::Text(text) => text,
            Message::Close(_) => return Err(Closed),
            _ => return Ok(()),
        };
        // Messages of later versions are skipped.
        match serde_json::from_str(text) {
            Ok(ViewerMessage::Acknowledged { ack }) => {
                self.unacknowledged.retain(|index| *index > ack);
            }
            Ok(ViewerMessage::Resized { width, height }) => self.resize(width, height),
            Err(_) => {}
        }
        Ok(())
    }

    fn resize(&mut self, width: u32, height: u32) {
        self.wanted = ViewerSize::new(Some(width), Some(height)).size();
        if let Update::Frame(snapshot) = &*self.updates.borrow() {
            self.pending = Some(Arc::clone(snapshot));
        }
    }

    /// Checks that the viewer is there.
    async fn ping(&mut self) -> Result<(), Closed> {
        if self.last_received.elapsed() > SILENCE {
            return Err(Closed);
        }
        self.send(Message::Ping(axum::body::Bytes::new())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), Closed> {
        self.socket.send(message).await.map_err(|_| Closed)
    }

    async fn fail(&mut self, report: &ErrorReport) -> Result<(), Closed> {
        fail(&mut self.socket, report).await;
        Err(Closed)
    }

    async fn close(&mut self, code: u16, reason: &str) -> Result<(), Closed> {
        close(&mut self.socket, code, reason).await;
        Err(Closed)
    }
}
