//! Restricts a connected browser to the allowed URLs.
//!
//! Every request of every page, frame and worker is intercepted in the browser's network layer and checked. This
//! includes requests of redirects, forms, scripts, new tabs and service workers. What a tab shows without a request
//! (`data:`, `chrome:`, content loaded before) is checked by its URL; a tab with a forbidden URL is navigated to a
//! blank page.
//!
//! Not covered: WebSockets, WebRTC and WebTransport, which the protocol cannot intercept. To block those too, restrict
//! the network of the browser.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::connection::{CallTarget, DevToolsConnection, Event, Events};
use super::pages::{self, AttachedPage};
use super::protocol::BrowserTarget;
use crate::drivers::Error;
use crate::guard::url_rules::UrlRules;

/// Page to which a tab with a forbidden URL is navigated.
const BLANK_PAGE: &str = "about:blank";
/// Timeout for a page to report its URL.
// As in `pages`: a page that does not respond by then shows a dialog or hangs.
const PAGE_RESPONSE_TIMEOUT: Duration = Duration::from_millis(700);
/// Request patterns of non-web schemes. With unrestricted web access only these are intercepted.
const NON_WEB_PATTERNS: &[&str] = &["file:*", "filesystem:*", "ftp:*", "chrome-extension:*"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestPaused {
    request_id: String,
    request: PausedRequest,
}

#[derive(Deserialize)]
struct PausedRequest {
    url: String,
}

/// The minimum of an intercepted request that is needed to fail it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PausedRequestId {
    request_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetChanged {
    target_info: BrowserTarget,
}

/// The active URL filter of a connected browser.
#[derive(Debug)]
pub(super) struct UrlFilter {
    connection: DevToolsConnection,
    addresses: watch::Receiver<Arc<UrlRules>>,
    active_rules: Arc<UrlRules>,
}

impl UrlFilter {
    /// Installs the filter. Pages that are already open are covered once [`pages::renew_interception`] has ended, which has
    /// to run beside [`UrlFilter::run`].
    pub(super) async fn install(
        connection: DevToolsConnection,
        mut addresses: watch::Receiver<Arc<UrlRules>>,
    ) -> Result<Self, Error> {
        let active_rules = addresses.borrow_and_update().clone();
        let fence = Self {
            connection,
            addresses,
            active_rules,
        };
        fence.intercept_requests().await?;
        // Reports the existing tabs once, and then every change of a tab's URL.
        let discover = json!({ "discover": true });
        let _: Value = fence
            .connection
            .call(CallTarget::Browser, "Target.setDiscoverTargets", discover)
            .await?;
        Ok(fence)
    }

    /// Runs the filter until the connection ends.
    pub(super) async fn run(mut self, mut events: Events) -> Result<(), Error> {
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    None => return Ok(()),
                    Some(event) => self.handle_event(event),
                },
                changed = self.addresses.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    self.active_rules = self.addresses.borrow_and_update().clone();
                    self.intercept_requests().await?;
                    let connection = self.connection.clone();
                    tokio::spawn(async move { pages::renew_interception(&connection).await });
                    for page in pages::list(&self.connection).await? {
                        self.check_page(page);
                    }
                }
            }
        }
    }

    /// Enables interception of the requests that may have to be refused.
    async fn intercept_requests(&self) -> Result<(), Error> {
        // Interception delays every request, so it is limited to non-web schemes if all web URLs are allowed.
        let patterns = match self.active_rules.allows_all_web_urls() {
            true => NON_WEB_PATTERNS,
            false => &["*"],
        };
        let patterns: Vec<Value> = patterns
            .iter()
            .map(|pattern| json!({ "urlPattern": pattern }))
            .collect();
        let stop = json!({ "patterns": patterns });
        let _: Value = self
            .connection
            .call(CallTarget::Browser, "Fetch.enable", stop)
            .await?;
        Ok(())
    }

    fn handle_event(&self, event: Event) {
        let known = match event.method.as_str() {
            "Fetch.requestPaused" => {
                let paused = event
                    .params()
                    .map(|paused: RequestPaused| self.check_request(&paused));
                // An intercepted request waits for ever without an answer, so one that cannot be parsed is refused.
                paused.or_else(|_| {
                    event
                        .params()
                        .map(|PausedRequestId { request_id }| self.refuse(&request_id))
                })
            }
            "Target.targetCreated" | "Target.targetInfoChanged" => event
                .params()
                .map(|changed: TargetChanged| self.check_page(changed.target_info)),
            _ => Ok(()),
        };
        if let Err(error) = known {
            tracing::warn!(event = event.method, %error, "an event of the browser cannot be parsed");
        }
    }

    fn check_request(&self, paused: &RequestPaused) {
        let id = &paused.request_id;
        if self.allows_request(&paused.request.url) {
            let go_on = json!({ "requestId": id });
            self.connection
                .notify(CallTarget::Browser, "Fetch.continueRequest", go_on);
            return;
        }
        tracing::info!(
            address = without_query(&paused.request.url),
            "refused a request of the browser"
        );
        self.refuse(id);
    }

    fn refuse(&self, request_id: &str) {
        let no = json!({ "requestId": request_id, "errorReason": "BlockedByClient" });
        self.connection
            .notify(CallTarget::Browser, "Fetch.failRequest", no);
    }

    /// Resources may be loaded from every allowed URL. `data:` reaches no network.
    fn allows_request(&self, address: &str) -> bool {
        address.starts_with("data:") || self.active_rules.allows_page(address)
    }

    fn check_page(&self, page: BrowserTarget) {
        if page.is_page() && !self.active_rules.allows_page(&page.url) {
            let (connection, active_rules) =
                (self.connection.clone(), Arc::clone(&self.active_rules));
            tokio::spawn(navigate_away(connection, active_rules, page));
        }
    }
}

/// Navigates a tab to a blank page, unless it only shows a load error.
async fn navigate_away(
    connection: DevToolsConnection,
    active_rules: Arc<UrlRules>,
    target: BrowserTarget,
) {
    let address = without_query(&target.url).to_owned();
    let led = async {
        let page = AttachedPage::attach(&connection, target).await?;
        // The tab may have navigated since the event. A page that does not respond (a dialog, a busy page) is left as
        // well.
        let shown = timeout(PAGE_RESPONSE_TIMEOUT, page.shown()).await;
        let may_stay = |address: &String| active_rules.allows_page(address);
        if matches!(&shown, Ok(Ok(shown)) if shown.as_ref().is_none_or(may_stay)) {
            return Ok(());
        }
        tracing::info!(address, "navigating away from a forbidden page");
        page.replace(BLANK_PAGE).await
    };
    let led: Result<(), Error> = led.await;
    if let Err(error) = led {
        // The tab navigated or was closed in the meantime; its new URL is checked by its own event.
        tracing::debug!(address, %error, "could not navigate away from a forbidden page");
    }
}

/// Strips query and fragment for logging: they may contain secrets.
fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}
