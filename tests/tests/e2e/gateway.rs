//! A browser's way through the whole product: `motorium up`, its login link, a task over REST, its events and screenshots, and
//! the live screen.

use std::net::SocketAddr;
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use image::RgbaImage;
use motorium_kit::http_client;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::services::{AllInOne, Server, Services, TestSetup};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Time within which anything that is waited for happens.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Changed pixels from which on the screens of two frames differ: more than a caret has.
const CHANGED_PIXELS: usize = 500;

/// A logged-in browser.
struct Browser {
    client: Client,
    base: String,
    /// Host and port of the page.
    authority: String,
    port: String,
    cookie: String,
}

impl Browser {
    async fn log_in(up: &AllInOne) -> Self {
        let (base, _) = up.login_link.split_once("/login").unwrap();
        let (_, authority) = base.split_once("://").unwrap();
        let (host, port) = authority.split_once(':').unwrap();
        // Browsers resolve names below `localhost` themselves.
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let client = http_client::plaintext().unwrap().resolve(host, loopback);
        let client = client.build().unwrap();
        let response = client.get(&up.login_link).send().await.unwrap();
        let cookie = response.headers()["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self {
            client,
            base: base.to_owned(),
            authority: authority.to_owned(),
            port: port.to_owned(),
            cookie,
        }
    }

    async fn get(&self, path: &str) -> Response {
        let request = self.client.get(format!("{}{path}", self.base));
        request.header("cookie", &self.cookie).send().await.unwrap()
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let request = self.client.post(format!("{}{path}", self.base));
        let request = request.header("cookie", &self.cookie).json(&body);
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{response:?}");
        response.json().await.unwrap()
    }

    async fn watch_screen(&self) -> LiveScreen {
        LiveScreen(self.open("/api/desktops/local/live").await)
    }

    /// Opens a WebSocket.
    async fn open(&self, path: &str) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
        let url = format!("ws://127.0.0.1:{}{path}", self.port);
        let mut request = url.into_client_request().unwrap();
        request
            .headers_mut()
            .insert("host", self.authority.parse().unwrap());
        request
            .headers_mut()
            .insert("cookie", self.cookie.parse().unwrap());
        request
            .headers_mut()
            .insert("origin", self.base.parse().unwrap());
        connect_async(request).await.unwrap().0
    }

    /// Reads the events of a session until one of this kind.
    async fn events_until(&self, session: &str, last: &str) -> Vec<(String, Value)> {
        let mut response = self
            .get(&format!("/api/chat/stream?session_id={session}"))
            .await;
        let mut text = String::new();
        loop {
            let complete = text
                .split_inclusive("\n\n")
                .filter(|part| part.ends_with("\n\n"));
            let events: Vec<(String, Value)> = complete.filter_map(parse_event).collect();
            if events.iter().any(|(kind, _)| kind == last) {
                return events;
            }
            let chunk = tokio::time::timeout(TIMEOUT, response.chunk()).await;
            let chunk = chunk.unwrap_or_else(|_| panic!("no `{last}` within {text}"));
            text += std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap();
        }
    }
}

fn parse_event(text: &str) -> Option<(String, Value)> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let kind = field("event: ")?.to_owned();
    Some((kind, serde_json::from_str(field("data: ")?).unwrap()))
}

struct LiveScreen(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl LiveScreen {
    /// Receives the next frame and acknowledges it.
    async fn next_frame(&mut self) -> RgbaImage {
        loop {
            let message = tokio::time::timeout(TIMEOUT, self.0.next()).await;
            let message = message.expect("a frame arrives").unwrap().unwrap();
            let Message::Binary(message) = message else {
                continue;
            };
            let length = u32::from_be_bytes(message[..4].try_into().unwrap()) as usize;
            let header: Value = serde_json::from_slice(&message[4..4 + length]).unwrap();
            let ack = json!({"ack": header["index"]}).to_string();
            self.0.send(Message::text(ack)).await.unwrap();
            return image::load_from_memory(&message[4 + length..])
                .unwrap()
                .to_rgba8();
        }
    }
}

fn changed_pixels(before: &RgbaImage, after: &RgbaImage) -> usize {
    let differs = |(one, other): &(&image::Rgba<u8>, &image::Rgba<u8>)| {
        one.0
            .iter()
            .zip(other.0)
            .any(|(one, other)| one.abs_diff(other) > 40)
    };
    before.pixels().zip(after.pixels()).filter(differs).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_runs_a_task_and_watches_it() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show("requests.html", &mut desktop).await;
    // Another program has the configured port.
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let setting = format!("--set=gateway.listen={listen}");
    let up = AllInOne::start(TestSetup::on(&desktop), &[&setting]).await;
    let lines = up.process.stdout.lines();
    let is_stated = |line: &String| line.starts_with(&listen) && line.contains("is taken");
    assert!(lines.iter().any(is_stated), "{lines:?}");
    let browser = Browser::log_in(&up).await;
    assert_eq!(browser.get("/api/session").await.status(), 200);
    let mut screen = browser.watch_screen().await;
    let first = screen.next_frame().await;

    let text = "type \"The figures look good, as far as I can see\" into \"Comment\"";
    let message = json!({"session_id": "browser", "text": text, "attachments": []});
    let sent = browser.post("/api/chat/send", message).await;
    let events = browser.events_until("browser", "task.completed").await;
    let kinds: Vec<&str> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds[0], "task.started");
    assert!(
        kinds.contains(&"screen.live") && kinds.contains(&"progress.append"),
        "{kinds:?}"
    );
    assert!(
        events
            .iter()
            .all(|(_, data)| data["task_id"] == sent["task_id"])
    );

    let line = events
        .iter()
        .find(|(kind, _)| kind == "progress.append")
        .unwrap();
    let screenshot = browser
        .get(line.1["screenshot_url"].as_str().unwrap())
        .await;
    assert_eq!(screenshot.headers()["content-type"], "image/webp");
    let screenshot = image::load_from_memory(&screenshot.bytes().await.unwrap()).unwrap();
    assert_eq!(line.1["width"], screenshot.width());

    let watching =
        async { while changed_pixels(&first, &screen.next_frame().await) < CHANGED_PIXELS {} };
    let seen = tokio::time::timeout(TIMEOUT, watching).await;
    assert!(seen.is_ok(), "the live screen shows what the task typed");

    for arguments in [&["page"][..], &["page", "--gateway", &browser.base]] {
        let again = up.setup.motorium(arguments).await;
        let link = format!("{}/login?code=", browser.base);
        assert!(again.stdout.contains(&link), "{arguments:?}: {again:?}");
    }
    let wrong = up.setup.data().join("wrong-token");
    std::fs::write(&wrong, "wrong").unwrap();
    let wrong = wrong.to_string_lossy();
    let refused = up.setup.motorium(&["page", "--token-file", &wrong]).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let guessed = format!("{}/login?code=guessed", browser.base);
    let guessed = browser.client.get(guessed).send().await.unwrap();
    assert!(!guessed.headers().contains_key("set-cookie"), "{guessed:?}");
    let unknown = browser.client.get(format!("{}/api/v1/tasks", browser.base));
    assert_eq!(unknown.send().await.unwrap().status(), 401);
    let recorded = motorium_tests::until("the refusals in the audit log", async || {
        let exported = up.setup.motorium(&["audit", "export"]).await.stdout;
        let has = |kind: &str| exported.contains(&format!("\"kind\":\"{kind}\""));
        (has("Login") && has("Request")).then_some(exported)
    });
    assert!(!recorded.await.contains("guessed"));
    let names_the_file = refused.stderr.contains(&format!("the token from {wrong}"));
    let advises_to_start = refused.stderr.contains("motorium up");
    assert!(names_the_file && !advises_to_start, "{refused:?}");
}

/// The four services and the gateway, each a program: a page, a task over REST, and a stream that a quiet minute does not end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gateway_is_also_a_program_of_its_own() {
    let desktop = TestDesktop::start().await;
    let services = Services::start(&desktop).await;
    let orchestrator = format!("gateway.orchestrator={}", services.orchestrator.url());
    let settings = [orchestrator];
    let gateway = Server::start(&services.setup, "gateway", &settings).await;
    let client = http_client::plaintext().unwrap().build().unwrap();
    let token = services.setup.motorium(&["token"]).await.stdout;
    let get = async |path: &str| {
        let request = client.get(format!("{}{path}", gateway.url()));
        request.bearer_auth(token.trim()).send().await.unwrap()
    };
    let page = client.get(gateway.url()).header("accept", "text/html");
    let page = page.send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.headers().contains_key("content-security-policy"));
    let unknown = client.get(format!("{}/api/v1/tasks", gateway.url()));
    assert_eq!(unknown.send().await.unwrap().status(), 401);

    let mut stream = get("/api/chat/stream?session_id=apart").await;
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut received = String::new();
    let mut read_until = async |part: &str| {
        let reading = async {
            while !received.contains(part) {
                let bytes = stream.chunk().await.unwrap();
                let bytes = bytes.expect("the stream goes on");
                received.push_str(&String::from_utf8_lossy(&bytes));
            }
        };
        let read = tokio::time::timeout(TIMEOUT, reading).await;
        assert!(read.is_ok(), "{part:?} is not in {received:?}");
    };
    // Nothing happens in the conversation.
    read_until(": heartbeat").await;
    let message = json!({"session_id": "apart", "text": "wait 1 seconds", "attachments": []});
    let send = client.post(format!("{}/api/chat/send", gateway.url()));
    let sent = send.bearer_auth(token.trim()).json(&message).send().await;
    let sent: Value = sent.unwrap().json().await.unwrap();
    read_until("event: task.completed").await;
    let task = get(&format!("/task/{}", sent["task_id"].as_str().unwrap())).await;
    let task: Value = task.json().await.unwrap();
    assert_eq!(task["status"], "completed", "{task}");
}
