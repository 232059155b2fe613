//! Transport of the DevTools protocol: calls, responses and events as JSON over one WebSocket.
//!
//! A task owns the socket. [`DevToolsConnection`]s are handles to it, and the task ends with the last one. The meaning
//! of calls is not defined here.
//!
//! Source: the DevTools protocol's description of its own transport (flat sessions).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use motorium_kit::{http_client, socket_owner};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};
use tokio::time::timeout;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use url::Url;

use super::frame_limit::{LimitedFrames, completed};
use crate::drivers::Error;

/// Timeout of connecting to the browser.
// The browser is on the same machine; one that does not answer by then hangs.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a call. Bounds calls that the browser answers without waiting for a page.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a message of the browser. What is longer is cut ([`super::frame_limit`]).
// The URL of a tab, in an event about it, must not be cut: Chromium allows 2 MiB, and JSON may double it.
const MAX_MESSAGE_BYTES: u64 = 8 << 20;
/// Maximum size of a message of several frames, each of which is cut by itself.
// Browsers send one frame for each message. What sends more is none, and its connection ends.
const MAX_ASSEMBLED_BYTES: usize = 9 << 20;
/// Maximum size of the response that names the address for the protocol. Chromium's has 0.5 KiB.
const MAX_VERSION_BYTES: usize = 64 << 10;

type Socket = tokio_tungstenite::WebSocketStream<LimitedFrames<TcpStream>>;
type RawResponse = Result<Utf8Bytes, Error>;

/// Destination of a call: the browser, or the session of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallTarget<'a> {
    Browser,
    Session(&'a str),
}

/// Number of events of pages that a slow reader may be behind.
const PAGE_EVENT_BACKLOG: usize = 256;
/// Maximum size of the events that wait to be read, of the browser and of pages each.
// Eight of the longest. Events are read at once, and usual ones have a few KiB.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// A connection to a browser.
#[derive(Debug, Clone)]
pub(super) struct DevToolsConnection {
    calls: mpsc::UnboundedSender<Call>,
    page_events: broadcast::Sender<Event>,
}

/// An event of the browser, as received.
///
/// Only the requested parameters are parsed. The message also contains the body of uploads, which need not be valid
/// Unicode: parsing all of it would fail, and the upload would wait for ever.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) method: String,
    /// The session of a page that reports the event; `None` for events of the browser.
    pub(super) session: Option<String>,
    message: Utf8Bytes,
    _waiting: Arc<WaitingEvent>,
}

/// Size of the events that wait to be read.
#[derive(Debug, Default)]
struct Backlog {
    bytes: AtomicUsize,
    read: Notify,
}

/// The share of an event in a backlog, until all copies of the event are dropped.
#[derive(Debug)]
struct WaitingEvent {
    bytes: usize,
    backlog: Arc<Backlog>,
}

impl Backlog {
    fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > MAX_WAITING_BYTES
    }

    fn add(self: &Arc<Self>, bytes: usize) -> Arc<WaitingEvent> {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let backlog = Arc::clone(self);
        Arc::new(WaitingEvent { bytes, backlog })
    }
}

impl Drop for WaitingEvent {
    fn drop(&mut self) {
        self.backlog.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.backlog.read.notify_one();
    }
}

impl Event {
    /// Parses the wanted parameters.
    pub(super) fn params<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        #[derive(Deserialize)]
        struct EventParams<T> {
            params: T,
        }

        serde_json::from_str(&self.message).map(|EventParams { params }| params)
    }
}

/// Events of the browser and of its pages' networks in the order of arrival. The channel closes with the connection.
pub(super) type Events = mpsc::UnboundedReceiver<Event>;

#[derive(Debug)]
struct Call {
    method: &'static str,
    params: Value,
    session: Option<String>,
    /// Receiver of the response; `None` if it is not needed.
    answer: Option<oneshot::Sender<RawResponse>>,
}

/// The fields that are parsed of every message.
#[derive(Deserialize)]
struct IncomingMessage {
    id: Option<u64>,
    #[serde(default)]
    method: String,
    #[serde(rename = "sessionId")]
    session: Option<String>,
    error: Option<ProtocolError>,
}

#[derive(Deserialize)]
struct ResponseBody<T> {
    result: T,
}

#[derive(Deserialize)]
struct ProtocolError {
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    web_socket_debugger_url: String,
}

impl DevToolsConnection {
    /// Connects to the browser with DevTools at `endpoint` (`http://127.0.0.1:9222`).
    ///
    /// # Errors
    /// If no browser responds there.
    pub(super) async fn open(endpoint: &str) -> Result<(Self, Events), Error> {
        let unreachable = |cause: String| Error::BrowserUnreachable {
            endpoint: endpoint.to_owned(),
            cause,
        };
        let socket = timeout(CONNECT_TIMEOUT, connect(endpoint))
            .await
            .map_err(|_| unreachable("it does not respond".to_owned()))?
            .map_err(unreachable)?;
        let (calls, asked) = mpsc::unbounded_channel();
        let (browser_events, events) = mpsc::unbounded_channel();
        let (page_events, _) = broadcast::channel(PAGE_EVENT_BACKLOG);
        let senders = EventSenders {
            browser: browser_events,
            pages: page_events.clone(),
            browser_backlog: Arc::default(),
            pages_backlog: Arc::default(),
        };
        tokio::spawn(serve(socket, asked, senders));
        Ok((Self { calls, page_events }, events))
    }

    /// Returns the events of all attached pages from now on. A page reports them once its domain is enabled.
    pub(super) fn page_events(&self) -> broadcast::Receiver<Event> {
        self.page_events.subscribe()
    }

    /// Calls a method and waits for the response.
    ///
    /// # Errors
    /// If the connection is lost, the call times out, or the browser rejects it.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        party: CallTarget<'_>,
        method: &'static str,
        params: Value,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        self.send(party, method, params, Some(answer));
        let waited = timeout(CALL_TIMEOUT, answered).await;
        let silent = Error::PageNotResponding {
            waited: CALL_TIMEOUT,
        };
        let message = waited
            .map_err(|_| silent)?
            .map_err(|_| Error::BrowserDisconnected)??;
        let answered = serde_json::from_str(&message);
        answered
            .map(|ResponseBody { result }| result)
            .map_err(|error| Error::BrowserRefused {
                cause: format!("its response to {method} cannot be parsed: {error}"),
            })
    }

    /// Calls a method without waiting for the response.
    pub(super) fn notify(&self, party: CallTarget<'_>, method: &'static str, params: Value) {
        self.send(party, method, params, None);
    }

    fn send(
        &self,
        party: CallTarget<'_>,
        method: &'static str,
        params: Value,
        answer: Option<oneshot::Sender<RawResponse>>,
    ) {
        let session = match party {
            CallTarget::Browser => None,
            CallTarget::Session(id) => Some(id.to_owned()),
        };
        // If the connection has ended, `answer` is dropped with the call, which the waiting caller sees.
        let _ = self.calls.send(Call {
            method,
            params,
            session,
            answer,
        });
    }
}

async fn connect(endpoint: &str) -> Result<Socket, String> {
    let endpoint = Url::parse(endpoint).map_err(|error| error.to_string())?;
    let address = debugger_url(&endpoint).await?;
    let text = |error: std::io::Error| error.to_string();
    let (host, port) = host_and_port(&endpoint)?;
    let stream = match http_client::is_loopback(&endpoint) {
        // Every user of the machine can listen on a port, and speak as the browser there.
        true => socket_owner::connect(&host, port)
            .await
            .map_err(|error| error.to_string())?,
        false => TcpStream::connect((host, port)).await.map_err(text)?,
    };
    stream.set_nodelay(true).map_err(text)?;
    // No limit of a frame here: at a longer one the connection would end, and with it the filter of the page that has caused it.
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_ASSEMBLED_BYTES))
        .max_frame_size(None);
    let limited = LimitedFrames::new(stream, MAX_MESSAGE_BYTES);
    let connected = client_async_with_config(address.as_str(), limited, Some(config)).await;
    let (socket, _) = connected.map_err(|error| error.to_string())?;
    Ok(socket)
}

/// Asks for the address of the protocol, which must be one of the same server.
async fn debugger_url(endpoint: &Url) -> Result<Url, String> {
    let about = format!("{}/json/version", endpoint.as_str().trim_end_matches('/'));
    let text = |error: reqwest::Error| error.without_url().to_string();
    let client = http_client::plaintext().map_err(|error| error.to_string())?;
    let client = client.build().map_err(text)?;
    let mut response = client.get(about).send().await.map_err(text)?;
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(text)? {
        if body.len() + part.len() > MAX_VERSION_BYTES {
            let limit = MAX_VERSION_BYTES >> 10;
            return Err(format!(
                "its response to /json/version is longer than {limit} KiB"
            ));
        }
        body.extend_from_slice(&part);
    }
    let version: Version = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    let address =
        Url::parse(&version.web_socket_debugger_url).map_err(|error| error.to_string())?;
    if address.scheme() != "ws" || host_and_port(&address)? != host_and_port(endpoint)? {
        return Err(format!("it names another server: {address}"));
    }
    Ok(address)
}

fn host_and_port(url: &Url) -> Result<(String, u16), String> {
    let named = url.host_str().zip(url.port_or_known_default());
    let (host, port) = named.ok_or_else(|| format!("`{url}` names no host"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), port))
}

/// Senders of events.
struct EventSenders {
    browser: mpsc::UnboundedSender<Event>,
    pages: broadcast::Sender<Event>,
    browser_backlog: Arc<Backlog>,
    pages_backlog: Arc<Backlog>,
}

/// Serves the socket until either side closes it.
///
/// While too many events of the browser wait, nothing more is received, so that they wait in the browser. The connection does not
/// end, because the filter of the page that has caused them would end with it.
async fn serve(
    mut socket: Socket,
    mut asked: mpsc::UnboundedReceiver<Call>,
    senders: EventSenders,
) {
    let mut waiting: HashMap<u64, oneshot::Sender<RawResponse>> = HashMap::new();
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
                    tracing::debug!(%error, "the connection to the browser was lost");
                    break;
                }
            }
            () = senders.browser_backlog.read.notified(), if senders.browser_backlog.is_full() => {}
            message = socket.next(), if !senders.browser_backlog.is_full() => {
                let Some(Ok(message)) = message else { break };
                receive(message, &mut waiting, &senders);
                // Drop the entries of callers that stopped waiting.
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

fn receive(
    message: Message,
    waiting: &mut HashMap<u64, oneshot::Sender<RawResponse>>,
    senders: &EventSenders,
) {
    let (text, is_cut) = match message {
        Message::Text(text) => (text, false),
        Message::Binary(cut) => match completed(&cut) {
            Some(text) => (text.into(), true),
            None => return tracing::warn!("a message of the browser is too long, and was ignored"),
        },
        _ => return,
    };
    let incoming: IncomingMessage = match serde_json::from_str(&text) {
        Ok(incoming) => incoming,
        Err(error) => {
            return tracing::warn!(%error, "a message of the browser cannot be parsed");
        }
    };
    let incoming = IncomingMessage {
        error: match is_cut {
            // Part of a result would be taken for all of it. The members of an event are needed one by one.
            true => Some(ProtocolError {
                message: format!(
                    "its response is longer than {} MiB",
                    MAX_MESSAGE_BYTES >> 20
                ),
            }),
            false => incoming.error,
        },
        ..incoming
    };
    dispatch(incoming, text, waiting, senders);
}

fn dispatch(
    incoming: IncomingMessage,
    message: Utf8Bytes,
    waiting: &mut HashMap<u64, oneshot::Sender<RawResponse>>,
    senders: &EventSenders,
) {
    let Some(id) = incoming.id else {
        return senders.send(incoming, message);
    };
    let answer = match incoming.error {
        None => Ok(message),
        Some(ProtocolError { message }) => Err(Error::BrowserRefused { cause: message }),
    };
    if let Some(waiter) = waiting.remove(&id) {
        let _ = waiter.send(answer);
    }
}

impl EventSenders {
    /// Passes an event on.
    fn send(&self, incoming: IncomingMessage, message: Utf8Bytes) {
        let IncomingMessage {
            method, session, ..
        } = incoming;
        // Events of a page's network are many, and would push those of a navigation out of its backlog. What begins and ends in a
        // page is for the filter.
        let is_for_filter = method.starts_with("Network.") || method.starts_with("Target.");
        let is_of_page = session.is_some() && !is_for_filter;
        let backlog = match is_of_page {
            true => &self.pages_backlog,
            false => &self.browser_backlog,
        };
        if is_of_page && backlog.is_full() {
            // Its reader may wait for a response before it reads on, so that holding events back in the browser would hold up both.
            // To the reader, the event has never come.
            return tracing::warn!(
                method,
                "an event of a page is dropped, because too many wait"
            );
        }
        let event = Event {
            method,
            session,
            _waiting: backlog.add(message.len()),
            message,
        };
        // There may be no receiver: that of pages exists only during a navigation, and that of the browser until the
        // connection ends.
        match is_of_page {
            true => drop(self.pages.send(event)),
            false => drop(self.browser.send(event)),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_tungstenite::tungstenite::protocol::frame::Frame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

    use super::*;

    async fn listening() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, address)
    }

    /// Accepts the request for the version, and begins its response.
    async fn asked(listener: &TcpListener) -> TcpStream {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).await.unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        stream
    }

    async fn name(listener: &TcpListener, address: &str) {
        let mut stream = asked(listener).await;
        let version = json!({ "webSocketDebuggerUrl": address }).to_string();
        stream.write_all(version.as_bytes()).await.unwrap();
    }

    #[tokio::test]
    async fn endless_response_is_not_read() {
        let (listener, address) = listening().await;
        let sends = async {
            let mut stream = asked(&listener).await;
            while stream.write_all(&[b' '; 4096]).await.is_ok() {}
        };
        let endpoint = format!("http://{address}");
        let (opened, ()) = tokio::join!(DevToolsConnection::open(&endpoint), sends);
        let refused = opened.unwrap_err().to_string();
        assert!(refused.contains("longer than 64 KiB"), "{refused}");
    }

    #[tokio::test]
    async fn address_of_another_server_is_not_followed() {
        let (listener, address) = listening().await;
        let (other, elsewhere) = listening().await;
        for named in [
            format!("ws://{elsewhere}/devtools"),
            format!("wss://{address}/devtools"),
        ] {
            let endpoint = format!("http://{address}");
            let (opened, ()) =
                tokio::join!(DevToolsConnection::open(&endpoint), name(&listener, &named));
            let refused = opened.unwrap_err().to_string();
            assert!(refused.contains("another server"), "{refused}");
        }
        let reached = timeout(Duration::from_millis(50), other.accept()).await;
        assert!(reached.is_err(), "nothing connected to the other server");
    }

    /// A browser of another user: it answers as one, and says each time that something else than its version is asked.
    #[cfg(target_os = "linux")]
    const IMPOSTOR: &str = "import json, os, socket\n\
        os.setuid(65534)\n\
        server = socket.create_server(('127.0.0.1', 0))\n\
        port = server.getsockname()[1]\n\
        print(port, flush=True)\n\
        body = json.dumps({'webSocketDebuggerUrl': f'ws://127.0.0.1:{port}/devtools'})\n\
        head = f'HTTP/1.1 200 OK\\r\\nconnection: close\\r\\ncontent-length: {len(body)}\\r\\n\\r\\n'\n\
        while True:\n\
        \x20client = server.accept()[0]\n\
        \x20request = client.recv(4096)\n\
        \x20if b'/json/version' in request: client.sendall((head + body).encode())\n\
        \x20elif request: print('called', flush=True)\n\
        \x20client.close()\n";

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn browser_of_another_user_is_not_called() {
        use std::process::Stdio;
        use tokio::io::{AsyncBufReadExt as _, BufReader};

        // Only root can start a process of another user.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let mut impostor = tokio::process::Command::new("python3")
            .args(["-c", IMPOSTOR])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut output = BufReader::new(impostor.stdout.take().unwrap()).lines();
        let port = output.next_line().await.unwrap().unwrap();
        let opened = DevToolsConnection::open(&format!("http://127.0.0.1:{port}")).await;
        let refused = opened.unwrap_err().to_string();
        assert!(refused.contains("another user (uid 65534)"), "{refused}");
        let called = timeout(Duration::from_millis(200), output.next_line()).await;
        assert!(called.is_err(), "{called:?}");
    }

    #[tokio::test]
    async fn message_in_endless_fragments_ends_the_connection() {
        let (listener, address) = listening().await;
        let endpoint = format!("http://{address}");
        let sends = async {
            name(&listener, &format!("ws://{address}/devtools")).await;
            let (stream, _) = listener.accept().await.unwrap();
            let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
            let mut sent = 0;
            let mut opcode = OpCode::Data(Data::Text);
            // Far more than the limit and what the two sockets hold.
            while sent < 64 << 20 {
                let frame = Frame::message(vec![b'x'; 1 << 20], opcode, false);
                if socket.send(Message::Frame(frame)).await.is_err() {
                    return sent;
                }
                sent += 1 << 20;
                opcode = OpCode::Data(Data::Continue);
            }
            sent
        };
        let opens = async {
            let (_connection, mut events) = DevToolsConnection::open(&endpoint).await.unwrap();
            events.recv().await
        };
        let (event, sent) = tokio::join!(opens, sends);
        assert!(event.is_none(), "the connection ended without an event");
        assert!(sent < 32 << 20, "{sent} bytes were received");
    }

    /// Number of events in a flood of 1 MiB each: far more than the limit, and than what the two sockets hold.
    const FLOOD: usize = 120;

    /// Sends a flood of events that begin with `head`, as fast as they are received, and counts them in `sent`. One event of
    /// the browser follows them.
    async fn flood(listener: TcpListener, address: &str, head: &str, sent: &AtomicUsize) {
        name(&listener, &format!("ws://{address}/devtools")).await;
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        let text = "x".repeat(1 << 20);
        for number in 0..FLOOD {
            let event =
                format!(r#"{{{head}, "params": {{"number": {number}, "text": "{text}"}}}}"#);
            socket.send(Message::text(event)).await.unwrap();
            sent.fetch_add(1, Ordering::Relaxed);
        }
        let last = r#"{"method": "Target.targetCreated", "params": {}}"#;
        socket.send(Message::text(last)).await.unwrap();
        // The connection stays open until the other side has read everything.
        while let Some(Ok(_)) = socket.next().await {}
    }

    #[derive(Deserialize)]
    struct Numbered {
        number: usize,
    }

    #[tokio::test]
    async fn unread_events_of_the_browser_wait_there() {
        let (listener, address) = listening().await;
        let endpoint = format!("http://{address}");
        let sent = AtomicUsize::new(0);
        let reads = async {
            let (connection, mut events) = DevToolsConnection::open(&endpoint).await.unwrap();
            let mut before = 0;
            // Until nothing more is taken.
            loop {
                tokio::time::sleep(Duration::from_millis(500)).await;
                let now = sent.load(Ordering::Relaxed);
                if now > 0 && now == before {
                    break;
                }
                before = now;
            }
            assert!(before << 20 < MAX_WAITING_BYTES + (24 << 20), "{before}");
            // Each of them arrives, in order: an intercepted request without an answer would wait for ever.
            for expected in 0..FLOOD {
                let event = events.recv().await.unwrap();
                assert_eq!(event.params::<Numbered>().unwrap().number, expected);
            }
            drop(connection);
        };
        let head = r#""method": "Fetch.requestPaused""#;
        tokio::join!(reads, flood(listener, &address, head, &sent));
    }

    #[tokio::test]
    async fn unread_events_of_pages_are_dropped() {
        let (listener, address) = listening().await;
        let endpoint = format!("http://{address}");
        let sent = AtomicUsize::new(0);
        let reads = async {
            let (connection, mut events) = DevToolsConnection::open(&endpoint).await.unwrap();
            let mut pages = connection.page_events();
            // The last event of the flood: what the sockets held has been received before it.
            events.recv().await.unwrap();
            let mut kept = 0;
            while pages.try_recv().is_ok() {
                kept += 1;
            }
            assert!(
                kept > 0 && kept << 20 <= MAX_WAITING_BYTES + (2 << 20),
                "{kept}"
            );
            drop((connection, pages));
        };
        let head = r#""method": "Page.frameNavigated", "sessionId": "1""#;
        tokio::join!(reads, flood(listener, &address, head, &sent));
    }
}
