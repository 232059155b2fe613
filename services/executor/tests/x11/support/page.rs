//! A browser page that reports every received event, and the server for it.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use motorium_executor::drivers::Driver;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::geometry::CapturePoint;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::server::OtherClient;
use super::{Desktop, wait_for};
use crate::{chord, perform};

/// Time after which a key counts as lost and is pressed again.
const KEY_RETRY_INTERVAL: Duration = Duration::from_secs(3);

/// Interval for probing the page.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// A page with its events in order.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    reports: Arc<Mutex<Vec<Value>>>,
    pub(crate) address: String,
}

impl Page {
    /// Opens the page in its own browser window and waits until it has the focus.
    pub(crate) async fn open(desktop: &mut Desktop, html: &'static str) -> Self {
        let page = Self::serve(html);
        let argument = format!("--app={}", page.address);
        page.open_in_browser(desktop, argument, &[]).await
    }

    /// Opens the page in a scaled browser.
    pub(crate) async fn open_scaled(desktop: &mut Desktop, html: &'static str, scale: f64) -> Self {
        let page = Self::serve(html);
        let argument = format!("--app={}", page.address);
        let scale = format!("--force-device-scale-factor={scale}");
        page.open_in_browser(desktop, argument, &[&scale]).await
    }

    /// Opens the page in a window with an address bar.
    pub(crate) async fn open_with_address_bar(desktop: &mut Desktop, html: &'static str) -> Self {
        let page = Self::serve(html);
        let argument = page.address.clone();
        page.open_in_browser(desktop, argument, &[]).await
    }

    async fn open_in_browser(self, desktop: &mut Desktop, argument: String, more: &[&str]) -> Self {
        // A separate profile: a browser that is shutting down would take over pages of the same profile.
        let port = self.address.trim_end_matches('/').rsplit(':').next();
        let profile = desktop.path(&format!("profile-{}", port.unwrap_or_default()));
        let mut browser = desktop.command("chromium");
        browser
            // A test type, because the bar that warns of a missing sandbox may open late and moves the page down.
            .args([
                "--no-sandbox",
                "--test-type",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
            ])
            .args([
                "--disable-component-update",
                "--disable-sync",
                "--password-store=basic",
            ])
            .args(["--window-position=0,0", "--window-size=1200,700"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .args(more)
            .arg(argument);
        desktop.open(&mut browser, "chromium").await;
        self.wait("the page to have the keyboard", |event| {
            event["kind"] == "ready"
        })
        .await;
        self.wait_awake(&desktop.display).await;
        self
    }

    /// Waits until keys reach the page. The browser drops them until it has painted the page, which cannot be
    /// observed.
    pub(crate) async fn wait_awake(&self, display: &str) {
        let foreigner = OtherClient::connect(display);
        let mut called: Option<Instant> = None;
        wait_for("keys to reach the page", || {
            let answered = self.events().iter().any(|event| event["kind"] == "awake");
            if !answered && called.is_none_or(|called| called.elapsed() > PROBE_INTERVAL) {
                foreigner.call();
                called = Some(Instant::now());
            }
            answered.then_some(())
        })
        .await;
    }

    fn serve(html: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let reports = Arc::new(Mutex::new(Vec::new()));
        let page = Self {
            reports: reports.clone(),
            address,
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let reports = reports.clone();
                std::thread::spawn(move || answer(stream, html, &reports));
            }
        });
        page
    }

    /// Returns all events so far.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.reports.lock().unwrap().clone()
    }

    /// Clears the events.
    pub(crate) fn clear(&self) {
        self.reports.lock().unwrap().clear();
    }

    /// Performs an action and returns the page's events, once `is_whole` accepts them and a following key has arrived.
    ///
    /// A following key alone is not enough: the window manager and the browser may delay a button event past keys (to
    /// find its window or its part of the page).
    pub(crate) async fn events_of(
        &self,
        driver: &dyn Driver,
        action: Action<CapturePoint>,
        is_whole: impl Fn(&[Value]) -> bool,
    ) -> Vec<Value> {
        self.clear();
        let what = format!("the page to see {action:?}");
        perform(driver, action).await.unwrap();
        wait_for(&what, || is_whole(&self.events()).then_some(())).await;
        self.has_seen_everything(driver).await;
        self.events()
    }

    /// Presses a key and waits until it reaches the page: keys arrive in order.
    ///
    /// A browser that is busy with a gesture sometimes ignores a key, so it is pressed again.
    async fn has_seen_everything(&self, driver: &dyn Driver) {
        let is_it = |event: &Value| event["kind"] == "keyup" && event["key"] == "F9";
        for _ in 0..20 {
            perform(driver, chord("f9")).await.unwrap();
            let seen = self.wait("the key after the gesture", is_it);
            if timeout(KEY_RETRY_INTERVAL, seen).await.is_ok() {
                return;
            }
        }
        panic!("the page ignores keys: {:?}", self.events());
    }

    /// Waits for an event.
    pub(crate) async fn wait(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        wait_for(what, || self.events().into_iter().find(&is_it)).await
    }
}

pub(crate) fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["kind"] == kind)
        .collect()
}

/// Returns whether `count` events of a kind have arrived, for [`Page::events_of`].
pub(crate) fn has(kind: &'static str, count: usize) -> impl Fn(&[Value]) -> bool {
    move |events| of_kind(events, kind).len() >= count
}

/// Keeps connections alive, so that reports arrive in order.
fn answer(stream: TcpStream, html: &str, reports: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    loop {
        let Some((line, length)) = read_head(&mut reader) else {
            return;
        };
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let content = if line.starts_with("POST") {
            let batch: Vec<Value> = serde_json::from_slice(&body).unwrap();
            reports.lock().unwrap().extend(batch);
            ""
        } else if line.starts_with("GET / ") || line.starts_with("GET /?") {
            html
        } else {
            ""
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\r\n",
            content.len()
        );
        if writer
            .write_all(head.as_bytes())
            .and_then(|()| writer.write_all(content.as_bytes()))
            .is_err()
        {
            return;
        }
    }
}

fn read_head(reader: &mut impl std::io::BufRead) -> Option<(String, usize)> {
    let mut request = String::new();
    reader
        .read_line(&mut request)
        .ok()
        .filter(|&read| read > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
        let lower = line.trim().to_lowercase();
        if lower.is_empty() {
            return Some((request, length));
        }
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
}

/// A text area over the whole page. F9 reports its content: keys arrive in order, so all earlier input is included.
pub(crate) const TEXT: &str = concat!(
    "<!doctype html><meta charset=utf-8><title>text</title><body style='margin:0'>",
    "<textarea id=t autofocus spellcheck=false style='width:100vw;height:95vh'></textarea><script>",
    include_str!("report.js"),
    "t.addEventListener('input', () => report('input', {}), { once: true });",
    "t.addEventListener('keydown', e => { if (e.key == 'F9') { report('text', {value: t.value}); t.value = '' } });",
    "</script>"
);

/// A list whose items are moved after they were held for 150 ms; a move before that is taken for scrolling. It reports
/// the new order.
pub(crate) const LONG_PRESS_LIST: &str = concat!(
    "<!doctype html><meta charset=utf-8><title>list</title><body style='margin:0;user-select:none'>",
    "<div id=alpha style='height:100px;background:#88f'>Alpha</div>",
    "<div id=beta style='height:100px;background:#8f8'>Beta</div>",
    "<div id=gamma style='height:100px;background:#f88'>Gamma</div><script>",
    include_str!("report.js"),
    include_str!("long_press.js"),
    "</script>"
);

/// Boxes to click, drag and scroll on; every event is reported.
pub(crate) const POINTER: &str = concat!(
    "<!doctype html><meta charset=utf-8><title>pointer</title><body style='margin:0;height:4000px;width:4000px'>",
    "<div id=source draggable=true style='position:absolute;left:100px;top:100px;width:100px;height:100px;background:#88f'></div>",
    "<div id=target style='position:absolute;left:500px;top:300px;width:200px;height:200px;background:#8f8'></div>",
    "<div id=box style='position:absolute;left:100px;top:300px;width:100px;height:100px;background:#f88'></div>",
    "<script>",
    include_str!("report.js"),
    include_str!("pointer.js"),
    "</script>"
);
