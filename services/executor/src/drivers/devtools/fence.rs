//! Holds a browser to the addresses that may be opened, for as long as it is connected.
//!
//! Every request of every page, frame and worker is stopped at the browser's network layer and judged: also what a
//! redirect, a form, a script, a new tab or a service worker asks for. What a tab shows without any request (`data:`,
//! `chrome:`, what was loaded before) is judged by its address, and left for an empty page.
//!
//! Deliberately absent: WebSockets, WebRTC and WebTransport, which the protocol does not let anybody stop. A browser that
//! shall reach nothing else needs a network that has nothing else.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::answers::Target;
use super::connection::{Connection, Event, Events, Party};
use super::pages::{self, Page};
use crate::drivers::Error;
use crate::guard::addresses::Addresses;

/// Where a tab is led that shows what it may not.
const EMPTY_PAGE: &str = "about:blank";
/// How long a page may take to say what it shows.
const ANSWERS_WITHIN: Duration = Duration::from_millis(700);
/// What can be requested without the web, as patterns of the protocol.
const BESIDE_THE_WEB: &[&str] = &["file:*", "filesystem:*", "ftp:*", "chrome-extension:*"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Paused {
    request_id: String,
    request: Request,
}

#[derive(Deserialize)]
struct Request {
    url: String,
}

/// The least that has to be known of a stopped request, to refuse it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PausedId {
    request_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetChanged {
    target_info: Target,
}

/// A browser that is being held to its addresses.
#[derive(Debug)]
pub(super) struct Fence {
    connection: Connection,
    addresses: watch::Receiver<Arc<Addresses>>,
    in_force: Arc<Addresses>,
}

impl Fence {
    /// Puts it up, also before what is open already.
    pub(super) async fn put_up(
        connection: Connection,
        mut addresses: watch::Receiver<Arc<Addresses>>,
    ) -> Result<Self, Error> {
        let in_force = addresses.borrow_and_update().clone();
        let fence = Self {
            connection,
            addresses,
            in_force,
        };
        fence.stop_requests().await?;
        // Tells every change of a tab's address from now on, and once what there is already.
        let discover = json!({ "discover": true });
        let _: Value = fence
            .connection
            .call(Party::Browser, "Target.setDiscoverTargets", discover)
            .await?;
        Ok(fence)
    }

    /// Keeps it up until the connection has ended.
    pub(super) async fn keep_up(mut self, mut events: Events) -> Result<(), Error> {
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    None => return Ok(()),
                    Some(event) => self.judge(event),
                },
                changed = self.addresses.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    self.in_force = self.addresses.borrow_and_update().clone();
                    self.stop_requests().await?;
                    for page in pages::list(&self.connection).await? {
                        self.judge_page(page);
                    }
                }
            }
        }
    }

    /// Has those requests stopped that may have to be refused.
    async fn stop_requests(&self) -> Result<(), Error> {
        // To ask about every request costs the browser some time with each; an open web need not be asked about.
        let patterns = match self.in_force.leave_the_web_open() {
            true => BESIDE_THE_WEB,
            false => &["*"],
        };
        let patterns: Vec<Value> = patterns
            .iter()
            .map(|pattern| json!({ "urlPattern": pattern }))
            .collect();
        let stop = json!({ "patterns": patterns });
        let _: Value = self
            .connection
            .call(Party::Browser, "Fetch.enable", stop)
            .await?;
        pages::take_new_ways(&self.connection).await
    }

    fn judge(&self, event: Event) {
        let known = match event.method.as_str() {
            "Fetch.requestPaused" => {
                let paused = event
                    .params()
                    .map(|paused: Paused| self.judge_request(&paused));
                // Whoever is not answered waits for ever.
                paused.or_else(|_| {
                    event
                        .params()
                        .map(|PausedId { request_id }| self.refuse(&request_id))
                })
            }
            "Target.targetCreated" | "Target.targetInfoChanged" => event
                .params()
                .map(|changed: TargetChanged| self.judge_page(changed.target_info)),
            _ => Ok(()),
        };
        if let Err(error) = known {
            tracing::warn!(event = event.method, %error, "an event of the browser cannot be read");
        }
    }

    fn judge_request(&self, paused: &Paused) {
        let id = &paused.request_id;
        if self.may_request(&paused.request.url) {
            let go_on = json!({ "requestId": id });
            self.connection
                .tell(Party::Browser, "Fetch.continueRequest", go_on);
            return;
        }
        tracing::info!(
            address = without_query(&paused.request.url),
            "a request of the browser is refused"
        );
        self.refuse(id);
    }

    fn refuse(&self, request_id: &str) {
        let no = json!({ "requestId": request_id, "errorReason": "BlockedByClient" });
        self.connection
            .tell(Party::Browser, "Fetch.failRequest", no);
    }

    /// What a page is made of may come from what may be shown; `data:` reaches nothing.
    fn may_request(&self, address: &str) -> bool {
        address.starts_with("data:") || self.in_force.may_show(address)
    }

    fn judge_page(&self, page: Target) {
        if page.is_page() && !self.in_force.may_show(&page.url) {
            let (connection, in_force) = (self.connection.clone(), Arc::clone(&self.in_force));
            tokio::spawn(lead_away(connection, in_force, page));
        }
    }
}

/// Leads a tab to an empty page, unless it only says that it did not load what it was to show.
async fn lead_away(connection: Connection, in_force: Arc<Addresses>, target: Target) {
    let address = without_query(&target.url).to_owned();
    let led = async {
        let page = Page::attach(&connection, target).await?;
        // It may have gone on since its address was told. One that is silent shows a dialog, or is busy, and goes too.
        let shown = timeout(ANSWERS_WITHIN, page.shown()).await;
        let may_stay = |address: &String| in_force.may_show(address);
        if matches!(&shown, Ok(Ok(shown)) if shown.as_ref().is_none_or(may_stay)) {
            return Ok(());
        }
        tracing::info!(address, "a page is left that may not be shown");
        page.go_to(EMPTY_PAGE).await
    };
    let led: Result<(), Error> = led.await;
    if let Err(error) = led {
        // It has gone on in between, or was closed; where it went is judged by itself.
        tracing::debug!(address, %error, "a page that may not be shown was not left");
    }
}

/// What may be written down of an address: queries have secrets in them.
fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}
