//! Pages that report what they receive: `tests/fixtures`, served on the loopback address.
//!
//! `GET /NAME` is a fixture. What `form.html` sends is kept, and so is every event that `logger.html` and `stubborn.html`
//! report; orders to these go the other way, as server-sent events.

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

use crate::desktop::Desktop;
use crate::until;

/// A page that has not followed an order for so long did not hear it.
const ORDER_AGAIN: Duration = Duration::from_millis(500);

/// Something that a page reports.
#[derive(Debug, Clone, Deserialize)]
pub struct Entry {
    /// The page, anew each time it is loaded.
    pub page: String,
    /// From 1, without gaps, within a page.
    pub sequence: u64,
    /// `mousedown`, `mouseup`, `click`, `wheel`, `keydown`, `keyup`, `input`; or `load`, `fields`, `finished`, `obeyed`.
    pub kind: String,
    /// Id of the element.
    pub target: String,
    /// When the event was made, in milliseconds since the epoch.
    pub at: f64,
    /// The key, the button's number, how far the wheel scrolls down in pixels, or what was put in.
    #[serde(default)]
    pub text: String,
    /// Where on the screen the mouse was, in pixels; `stubborn.html` tells.
    #[serde(default)]
    pub x: i32,
    /// The same, downwards.
    #[serde(default)]
    pub y: i32,
    /// What the fields hold.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
}

impl Entry {
    /// Whether it came from mouse or keyboard.
    #[must_use]
    pub fn is_input(&self) -> bool {
        !matches!(
            self.kind.as_str(),
            "load" | "fields" | "finished" | "obeyed"
        )
    }

    /// When the event was made.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs_f64(self.at / 1000.0)
    }
}

#[derive(Debug)]
struct Shared {
    entries: Mutex<Vec<Entry>>,
    submissions: Mutex<Vec<Value>>,
    orders: broadcast::Sender<String>,
}

/// The server of a test's pages.
#[derive(Debug)]
pub struct Site {
    shared: Arc<Shared>,
    address: String,
    serving: JoinHandle<()>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Site {
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
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let serving = tokio::spawn(async move {
            axum::serve(listener, pages)
                .await
                .expect("a bound listener serves");
        });
        Self {
            shared,
            address,
            serving,
        }
    }

    /// Address of a page.
    #[must_use]
    pub fn url(&self, page: &str) -> String {
        format!("http://{}/{page}", self.address)
    }

    /// What `form.html` has sent.
    #[must_use]
    pub fn submissions(&self) -> Vec<Value> {
        lock(&self.shared.submissions).clone()
    }

    /// What the page has reported since it was last loaded, in the order in which it happened.
    ///
    /// # Panics
    /// If a report is missing.
    #[must_use]
    pub fn log(&self) -> Vec<Entry> {
        let entries = lock(&self.shared.entries);
        let Some(last) = entries.last() else {
            return Vec::new();
        };
        let of_page: Vec<Entry> = entries
            .iter()
            .filter(|entry| entry.page == last.page)
            .cloned()
            .collect();
        let numbers = of_page.iter().map(|entry| entry.sequence);
        assert!(numbers.eq(1..=of_page.len() as u64), "reports are missing");
        of_page
    }

    /// What came from mouse and keyboard since the page was last loaded.
    #[must_use]
    pub fn inputs(&self) -> Vec<Entry> {
        let mut log = self.log();
        log.retain(Entry::is_input);
        log
    }

    /// Shows the logger on a desktop and waits until it is there.
    pub async fn show_logger(&self, desktop: &mut Desktop) {
        self.show("logger.html", desktop).await;
        self.fields().await;
    }

    /// Shows a page that reports on a desktop and waits until it is there.
    pub async fn show(&self, page: &str, desktop: &mut Desktop) {
        desktop.browse(&self.url(page));
        self.shown().await;
    }

    /// Waits until a page is there that reports.
    pub async fn shown(&self) {
        until("the page", || async { self.is_loaded().then_some(()) }).await;
    }

    /// Loads the logger anew: empty fields, an empty log.
    pub async fn reload(&self) {
        self.load_anew().await;
        self.fields().await;
    }

    /// Loads the page anew: everything as at first, an empty log.
    pub async fn load_anew(&self) {
        let page = |site: &Self| site.log().last().map(|entry| entry.page.clone());
        let before = page(self);
        let is_new = || page(self) != before && self.is_loaded();
        let order = json!({ "order": "reload" });
        self.order_until(&order, "the page anew", || is_new().then_some(()))
            .await;
    }

    /// Orders something of `stubborn.html`, and waits until it can be seen on the screen.
    pub async fn order(&self, order: &str) {
        let token = format!("{order}-{}", self.log().len());
        let obeyed = |entry: &Entry| entry.kind == "obeyed" && entry.target == token;
        let words = json!({ "order": order, "token": token });
        self.order_until(&words, "the page to obey", || {
            self.log().iter().any(obeyed).then_some(())
        })
        .await;
    }

    fn is_loaded(&self) -> bool {
        self.log().iter().any(|entry| entry.kind == "load")
    }

    /// What the fields hold, and whether the buttons are pressed.
    pub async fn fields(&self) -> BTreeMap<String, String> {
        let token = format!("token-{}", self.log().len());
        let order = json!({ "order": "tell", "token": token });
        let told = |entry: &Entry| entry.kind == "fields" && entry.target == token;
        self.order_until(&order, "the fields", || {
            self.log().into_iter().find(told).map(|entry| entry.fields)
        })
        .await
    }

    /// Leaves an element as if a person had seen to it: a button pressed, a field filled. It makes no input events.
    pub async fn finish_by_hand(&self, id: &str, value: &str) {
        let order = json!({ "order": "finish", "id": id, "value": value });
        let finished = |entry: &Entry| entry.kind == "finished" && entry.target == id;
        self.order_until(&order, "the element to be finished", || {
            self.log().iter().any(finished).then_some(())
        })
        .await;
    }

    /// Orders something until it is done: an order is lost on a page that does not listen yet.
    async fn order_until<T>(&self, order: &Value, what: &str, look: impl Fn() -> Option<T>) -> T {
        let mut ordered: Option<Instant> = None;
        until(what, || {
            let seen = look();
            if seen.is_none() && ordered.is_none_or(|at| at.elapsed() > ORDER_AGAIN) {
                ordered = Some(Instant::now());
                let _ = self.shared.orders.send(order.to_string());
            }
            async move { seen }
        })
        .await
    }

    /// Waits until no input has arrived for so long, and gives all of it.
    pub async fn quiet_for(&self, duration: Duration) -> Vec<Entry> {
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
    let Ok(entries) = serde_json::from_slice::<Vec<Entry>>(&body) else {
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
