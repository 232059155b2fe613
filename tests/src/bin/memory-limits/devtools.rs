//! Reports of a browser about its pages, or of a program in its place, to an Executor.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::routing::get;
use axum::{Json, Router};
use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::serve_application;
use motorium_tests::services::{Server, TestSetup};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::{Filled, Measured, Measurement};

/// Size of what is sent.
const LENGTH: usize = 256 << 20;
/// Time after which an Executor that has taken something in is measured.
const SETTLE_TIME: Duration = Duration::from_secs(3);
/// Maximum time until it has taken it in, or the connection has ended.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Starts an Executor with this browser, and measures it until `done`, which says whether the browser was listened to.
async fn measure(address: SocketAddr, done: impl Future<Output = bool>) -> Measured {
    let desktop = TestDesktop::bare().await;
    let setup = TestSetup::on(&desktop);
    let settings = [format!("executor.devtools=http://{address}")];
    let server = Server::start(&setup, "executor", &settings).await;
    let measurement = Measurement::begin(server.process.id(), None);
    let accepted = timeout(TIMEOUT, done).await;
    let accepted = accepted.expect("the Executor connects to the browser");
    sleep(SETTLE_TIME).await;
    measurement.end(Filled {
        accepted: usize::from(accepted),
        refused: usize::from(!accepted),
    })
}

/// Returns the answer that names the socket of a browser.
fn version(address: SocketAddr) -> Value {
    json!({ "webSocketDebuggerUrl": format!("ws://{address}/devtools") })
}

/// Sends a message about an upload that is far longer than what is kept of one.
pub(crate) async fn long_message() -> Measured {
    let sent = Arc::new(Notify::new());
    let notify = Arc::clone(&sent);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let devtools = move |upgrade: WebSocketUpgrade| async move {
        let upgrade = upgrade.max_message_size(usize::MAX);
        upgrade.on_upgrade(move |socket| browse(socket, notify))
    };
    let router = Router::new()
        .route(
            "/json/version",
            get(move || async move { Json(version(address)) }),
        )
        .route("/devtools", get(devtools));
    tokio::spawn(async move { axum::serve(listener, router).await });
    measure(address, async {
        sent.notified().await;
        true
    })
    .await
}

/// Answers the question for the socket at endless length.
pub(crate) async fn long_version() -> Measured {
    let asked = Arc::new(Notify::new());
    let notify = Arc::clone(&asked);
    let answer = move || async move {
        notify.notify_one();
        " ".repeat(LENGTH)
    };
    let router = Router::new().route("/json/version", get(answer));
    let (address, _) = serve_application(router).await;
    let address = address.parse().expect("it has no name");
    measure(address, async {
        asked.notified().await;
        // Without the address of a socket there is no connection.
        false
    })
    .await
}

/// Answers every call, and reports a request with a long upload once requests are intercepted.
async fn browse(mut socket: WebSocket, sent: Arc<tokio::sync::Notify>) {
    while let Some(Ok(message)) = socket.recv().await {
        let Message::Text(text) = message else {
            continue;
        };
        let call: Value = serde_json::from_str(&text).expect("it is a call");
        let result = match call["method"].as_str() {
            Some("Target.getTargets") => json!({ "targetInfos": [] }),
            _ => json!({}),
        };
        let answer = json!({ "id": call["id"], "result": result }).to_string();
        if socket.send(Message::Text(answer.into())).await.is_err() {
            return;
        }
        if call["method"] == "Fetch.enable" {
            let mut event = String::with_capacity(LENGTH + 1024);
            event.push_str(
                "{\"method\":\"Fetch.requestPaused\",\"params\":{\"requestId\":\"1\",\"request\":{\"url\":\"http://good.test/\",\"postData\":\"",
            );
            event.extend(std::iter::repeat_n('x', LENGTH));
            event.push_str("\"}}}");
            let _ = socket.send(Message::Text(event.into())).await;
        }
        // The Executor has read the event, and lets the request go on.
        if call["method"] == "Fetch.continueRequest" || call["method"] == "Fetch.failRequest" {
            sent.notify_one();
        }
    }
}
