//! Server of the pages in `tests/fixtures`, which report the events that they receive.
//!
//! `GET /NAME` returns a fixture. Submissions of `form.html` and all events reported by `logger.html` and `stubborn.html`
//! are stored; commands to these pages are server-sent events.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{Event as SentEvent, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::{Stream, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_stream::wrappers::BroadcastStream;

use crate::desktop::TestDesktop;
use crate::until;

/// Interval for sending a command again. A page that is still loading misses commands.
const COMMAND_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// An event reported by a page.
#[derive(Debug, Clone, Deserialize)]
pub struct PageEvent {
    /// Id of the page, new for each load.
    pub page: String,
    /// Sequence number within a page, from 1 without gaps.
    pub sequence: u64,
    /// `mousedown`, `mouseup`, `click`, `wheel`, `keydown`, `keyup`, `input`; or `load`, `fields`, `finished`, `obeyed`.
    pub kind: String,
    /// Id of the element, or the token of a command.
    pub target: String,
    /// Creation time of the event, in milliseconds since the epoch.
    pub at: f64,
    /// The key, the button's number, the wheel's downward distance in pixels, or the entered text.
    #[serde(default)]
    pub text: String,
    /// X coordinate of the pointer in screen pixels; only from `stubborn.html`.
    #[serde(default)]
    pub x: i32,
    /// Y coordinate of the pointer in screen pixels; only from `stubborn.html`.
    #[serde(default)]
    pub y: i32,
    /// Values of the fields.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
}

impl PageEvent {
    /// Returns whether it came from mouse or keyboard.
    #[must_use]
    pub fn is_input(&self) -> bool {
        !matches!(
            self.kind.as_str(),
            "load" | "fields" | "finished" | "obeyed"
        )
    }

    /// Returns the creation time of the event.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs_f64(self.at / 1000.0)
    }
}

#[derive(Debug)]
struct Shared {
    entries: Mutex<Vec<PageEvent>>,
    submissions: Mutex<Vec<Value>>,
    orders: broadcast::Sender<String>,
}

/// Server of a test's pages.
#[derive(Debug)]
pub struct PageServer {
    shared: Arc<Shared>,
    address: String,
    serving: JoinHandle<()>,
}

/// Serves an application on a free port of the loopback interface. Returns its address and the task that serves it.
///
/// # Panics
/// If no port is free.
pub async fn serve_application(application: Router) -> (String, JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let serving = tokio::spawn(async move {
        axum::serve(listener, application)
            .await
            .expect("a bound listener serves");
    });
    (address, serving)
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl PageServer {
    /// Serves the fixtures.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn serve() -> Self {
        let shared = Arc::new(Shared {
            entries: Mutex::default(),
            submissions: Mutex::default(),
            orders: broadcast::Sender::new(16),
        });
        let pages = Router::new()
            .route("/{page}", get(page))
            .route("/log", post(log))
            .route("/submit", post(submit))
            .route("/orders", get(orders))
            .with_state(shared.clone());
        let (address, serving) = serve_application(pages).await;
        Self {
            shared,
            address,
            serving,
        }
    }

    /// Returns the URL of a page.
    #[must_use]
    pub fn url(&self, page: &str) -> String {
        format!("http://{}/{page}", self.address)
    }

    /// Returns the submissions of `form.html`.
    #[must_use]
    pub fn submissions(&self) -> Vec<Value> {
        lock(&self.shared.submissions).clone()
    }

    /// Returns the events since the page was last loaded, in order.
    ///
    /// # Panics
    /// If a report is missing.
    #[must_use]
    pub fn log(&self) -> Vec<PageEvent> {
        let entries = lock(&self.shared.entries);
        let Some(last) = entries.last() else {
            return Vec::new();
        };
        let of_page: Vec<PageEvent> = entries
            .iter()
            .filter(|entry| entry.page == last.page)
            .cloned()
            .collect();
        let numbers = of_page.iter().map(|entry| entry.sequence);
        assert!(numbers.eq(1..=of_page.len() as u64), "reports are missing");
        of_page
    }

    /// Returns the input events since the page was last loaded.
    #[must_use]
    pub fn inputs(&self) -> Vec<PageEvent> {
        let mut log = self.log();
        log.retain(PageEvent::is_input);
        log
    }

    /// Opens the logger page on a desktop and waits until it is loaded.
    pub async fn show_logger(&self, desktop: &mut TestDesktop) {
        self.show("logger.html", desktop).await;
        self.fields().await;
    }

    /// Opens a reporting page on a desktop and waits until it is loaded.
    pub async fn show(&self, page: &str, desktop: &mut TestDesktop) {
        desktop.open_page(&self.url(page));
        self.wait_until_loaded().await;
    }

    /// Waits until a reporting page is loaded.
    pub async fn wait_until_loaded(&self) {
        until("the page", || async { self.is_loaded().then_some(()) }).await;
    }

    /// Reloads the logger page, with empty fields and an empty log.
    pub async fn reload_logger(&self) {
        self.reload_page().await;
        self.fields().await;
    }

    /// Reloads the page in its initial state, with an empty log.
    pub async fn reload_page(&self) {
        self.load_by(&json!({ "order": "reload" })).await;
    }

    /// Navigates from `misleading.html` to another page, with an empty log.
    pub async fn go_to(&self, page: &str) {
        self.load_by(&json!({ "order": "go", "to": self.url(page) }))
            .await;
    }

    /// Sends a command until it has loaded a page.
    async fn load_by(&self, order: &Value) {
        let page = |site: &Self| site.log().last().map(|entry| entry.page.clone());
        let before = page(self);
        let is_new = || page(self) != before && self.is_loaded();
        self.send_command_until(order, "the new page", || is_new().then_some(()))
            .await;
    }

    /// Sends a command to `stubborn.html` and waits until its result is on the screen.
    pub async fn send_command(&self, order: &str) {
        let token = format!("{order}-{}", self.log().len());
        let obeyed = |entry: &PageEvent| entry.kind == "obeyed" && entry.target == token;
        let words = json!({ "order": order, "token": token });
        self.send_command_until(&words, "the command to be carried out", || {
            self.log().iter().any(obeyed).then_some(())
        })
        .await;
    }

    fn is_loaded(&self) -> bool {
        self.log().iter().any(|entry| entry.kind == "load")
    }

    /// Returns the values of the fields and the states of the buttons.
    pub async fn fields(&self) -> BTreeMap<String, String> {
        let token = format!("token-{}", self.log().len());
        let order = json!({ "order": "tell", "token": token });
        let is_report = |entry: &PageEvent| entry.kind == "fields" && entry.target == token;
        self.send_command_until(&order, "the fields", || {
            self.log()
                .into_iter()
                .find(is_report)
                .map(|entry| entry.fields)
        })
        .await
    }

    /// Completes an element as a user would: presses a button, fills a field. Generates no input events.
    pub async fn complete_manually(&self, id: &str, value: &str) {
        let order = json!({ "order": "finish", "id": id, "value": value });
        let finished = |entry: &PageEvent| entry.kind == "finished" && entry.target == id;
        self.send_command_until(&order, "the element to be finished", || {
            self.log().iter().any(finished).then_some(())
        })
        .await;
    }

    /// Sends a command until it is done: a page that is not listening yet misses it.
    async fn send_command_until<T>(
        &self,
        order: &Value,
        what: &str,
        look: impl Fn() -> Option<T>,
    ) -> T {
        let mut ordered: Option<Instant> = None;
        until(what, || {
            let seen = look();
            if seen.is_none() && ordered.is_none_or(|at| at.elapsed() > COMMAND_RETRY_INTERVAL) {
                ordered = Some(Instant::now());
                let _ = self.shared.orders.send(order.to_string());
            }
            async move { seen }
        })
        .await
    }

    /// Waits until no input has arrived for `duration`; returns all input.
    pub async fn wait_for_idle(&self, duration: Duration) -> Vec<PageEvent> {
        let (mut seen, mut since) = (self.inputs().len(), Instant::now());
        until("the input to end", || {
            let inputs = self.inputs();
            if inputs.len() != seen {
                (seen, since) = (inputs.len(), Instant::now());
            }
            let quiet = since.elapsed() >= duration;
            async move { quiet.then_some(inputs) }
        })
        .await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn page(Path(name): Path<String>) -> Response {
    let plain = name.ends_with(".html") && !name.contains('/');
    match std::fs::read(crate::root().join("tests/fixtures").join(&name)) {
        Ok(content) if plain => (
            [(header::CONTENT_TYPE, "text/html; charset=utf-8")],
            content,
        )
            .into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn log(State(shared): State<Arc<Shared>>, body: Bytes) -> StatusCode {
    let Ok(entries) = serde_json::from_slice::<Vec<PageEvent>>(&body) else {
        return StatusCode::BAD_REQUEST;
    };
    lock(&shared.entries).extend(entries);
    StatusCode::NO_CONTENT
}

async fn submit(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let Ok(form) = serde_json::from_slice(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    lock(&shared.submissions).push(form);
    ([(header::CONTENT_TYPE, "application/json")], "{}").into_response()
}

async fn orders(
    State(shared): State<Arc<Shared>>,
) -> Sse<impl Stream<Item = Result<SentEvent, Infallible>>> {
    let orders = BroadcastStream::new(shared.orders.subscribe());
    Sse::new(orders.filter_map(|order| async { Some(Ok(SentEvent::default().data(order.ok()?))) }))
}
