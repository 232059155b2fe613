//! The wire of the DevTools protocol: calls with their answers, and events, as JSON over one WebSocket.
//!
//! A task owns the socket; connections are handles to it and end with it. Not here: what any call means.
//!
//! Source: the DevTools protocol's description of its own transport (flat sessions).

use std::collections::HashMap;
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use motorium_kit::outbound;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_tungstenite::connect_async_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::drivers::Error;

/// How long the browser may take to let us in.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How long it may take to answer what it does by itself, without any page.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);
type Socket =
    tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;
type Answer = Result<Utf8Bytes, Error>;

/// A page that is being talked to, or the browser itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Party<'a> {
    Browser,
    Session(&'a str),
}

/// A connection to a browser.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    calls: mpsc::UnboundedSender<Call>,
}

/// What the browser tells unasked, as it came.
///
/// A message is read only as far as somebody wants to know it. What a page uploads is in it as well, and need be no text:
/// a reader of all of it would stumble there, and the upload would wait for ever.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) method: String,
    message: Utf8Bytes,
}

impl Event {
    /// The parameters that are wanted.
    pub(super) fn params<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        #[derive(Deserialize)]
        struct Told<T> {
            params: T,
        }

        serde_json::from_str(&self.message).map(|Told { params }| params)
    }
}

/// Events in the order in which they came; it ends with the connection.
pub(super) type Events = mpsc::UnboundedReceiver<Event>;

#[derive(Debug)]
struct Call {
    method: &'static str,
    params: Value,
    session: Option<String>,
    /// Nobody, if the answer is of no interest.
    answer: Option<oneshot::Sender<Answer>>,
}

/// What is read of every message.
#[derive(Deserialize)]
struct Incoming {
    id: Option<u64>,
    #[serde(default)]
    method: String,
    error: Option<Complaint>,
}

#[derive(Deserialize)]
struct Answered<T> {
    result: T,
}

#[derive(Deserialize)]
struct Complaint {
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    web_socket_debugger_url: String,
}

impl Connection {
    /// Connects to the browser whose DevTools listen at `endpoint` (`http://127.0.0.1:9222`).
    ///
    /// # Errors
    /// If no browser answers there.
    pub(super) async fn open(endpoint: &str) -> Result<(Self, Events), Error> {
        let unreachable = |cause: String| Error::BrowserUnreachable {
            endpoint: endpoint.to_owned(),
            cause,
        };
        let socket = timeout(CONNECT_PATIENCE, connect(endpoint))
            .await
            .map_err(|_| unreachable("it does not answer".to_owned()))?
            .map_err(unreachable)?;
        let (calls, asked) = mpsc::unbounded_channel();
        let (told, events) = mpsc::unbounded_channel();
        tokio::spawn(serve(socket, asked, told));
        Ok((Self { calls }, events))
    }

    /// Calls and waits for the answer.
    ///
    /// # Errors
    /// If the browser is gone, does not answer in time, or says no.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        party: Party<'_>,
        method: &'static str,
        params: Value,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        self.send(party, method, params, Some(answer));
        let waited = timeout(ANSWER_PATIENCE, answered).await;
        let silent = Error::PageSilent {
            waited: ANSWER_PATIENCE,
        };
        let message = waited
            .map_err(|_| silent)?
            .map_err(|_| Error::BrowserGone)??;
        let answered = serde_json::from_str(&message);
        answered
            .map(|Answered { result }| result)
            .map_err(|error| Error::BrowserRefused {
                cause: format!("its answer to {method} cannot be read: {error}"),
            })
    }

    /// Calls without waiting for the answer.
    pub(super) fn tell(&self, party: Party<'_>, method: &'static str, params: Value) {
        self.send(party, method, params, None);
    }

    fn send(
        &self,
        party: Party<'_>,
        method: &'static str,
        params: Value,
        answer: Option<oneshot::Sender<Answer>>,
    ) {
        let session = match party {
            Party::Browser => None,
            Party::Session(id) => Some(id.to_owned()),
        };
        // If the connection has ended, so has the answer's sender, and whoever waits hears of it.
        let _ = self.calls.send(Call {
            method,
            params,
            session,
            answer,
        });
    }
}

async fn connect(endpoint: &str) -> Result<Socket, String> {
    let about = format!("{}/json/version", endpoint.trim_end_matches('/'));
    let text = |error: reqwest::Error| error.without_url().to_string();
    let client = outbound::plain().map_err(|error| error.to_string())?;
    let version: Version = client
        .build()
        .map_err(text)?
        .get(about)
        .send()
        .await
        .map_err(text)?
        .json()
        .await
        .map_err(text)?;
    // A request is told with all that it uploads, several times as long. If that ended the connection, any page could.
    let config = WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None);
    let (socket, _) =
        connect_async_with_config(version.web_socket_debugger_url, Some(config), true)
            .await
            .map_err(|error| error.to_string())?;
    Ok(socket)
}

/// Owns the socket until either side has had enough.
async fn serve(
    mut socket: Socket,
    mut asked: mpsc::UnboundedReceiver<Call>,
    told: mpsc::UnboundedSender<Event>,
) {
    let mut waiting: HashMap<u64, oneshot::Sender<Answer>> = HashMap::new();
    let mut last = 0;
    loop {
        tokio::select! {
            call = asked.recv() => {
                let Some(call) = call else { break };
                last += 1;
                let message = text_of(last, &call);
                if let Some(answer) = call.answer {
                    waiting.insert(last, answer);
                }
                if let Err(error) = socket.send(message).await {
                    tracing::debug!(%error, "the browser's connection broke");
                    break;
                }
            }
            message = socket.next() => {
                let Some(Ok(message)) = message else { break };
                let Message::Text(text) = message else { continue };
                match serde_json::from_str(&text) {
                    Ok(incoming) => hand_on(incoming, text, &mut waiting, &told),
                    Err(error) => tracing::warn!(%error, "a message of the browser cannot be read"),
                }
                // Whoever no longer waits need not be remembered.
                waiting.retain(|_, answer| !answer.is_closed());
            }
        }
    }
}

fn text_of(id: u64, call: &Call) -> Message {
    let mut message = json!({ "id": id, "method": call.method, "params": call.params });
    if let Some(session) = &call.session {
        message["sessionId"] = session.as_str().into();
    }
    Message::text(message.to_string())
}

fn hand_on(
    incoming: Incoming,
    message: Utf8Bytes,
    waiting: &mut HashMap<u64, oneshot::Sender<Answer>>,
    told: &mpsc::UnboundedSender<Event>,
) {
    let Some(id) = incoming.id else {
        let method = incoming.method;
        // Nobody listens any more: the connection is about to end.
        let _ = told.send(Event { method, message });
        return;
    };
    let answer = match incoming.error {
        None => Ok(message),
        Some(Complaint { message }) => Err(Error::BrowserRefused { cause: message }),
    };
    if let Some(waiter) = waiting.remove(&id) {
        let _ = waiter.send(answer);
    }
}
