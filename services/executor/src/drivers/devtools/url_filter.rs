//! Restricts a connected browser to the allowed URLs.
//!
//! Every request of every page, frame and worker is intercepted in the browser's network layer and checked. This
//! includes requests of redirects, forms, scripts, new tabs and service workers. What a tab shows without a request
//! (`data:`, `chrome:`, content loaded before) is checked by its URL; a tab with a forbidden URL is navigated to a
//! blank page.
//!
//! A public name may lead to a private address. The browser tells from where each response came, to a page, its frames and
//! its workers; a tab with a response from a forbidden address is navigated to a blank page. Its scripts may have read the
//! response until then. With a proxy that address is the proxy's, and nothing is known about the server.
//!
//! Not covered: such names in shared and service workers; WebSockets, WebRTC and WebTransport, which the protocol cannot
//! intercept. To block those too, restrict the network of the browser.
//!
//! Events are handled also while the browser is asked for something: what they wait for is never held up by another page.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use motorium_proto::domain::private_host;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;
use url::Url;

use super::connection::{CallTarget, DevToolsConnection, Event, Events};
use super::pages::{self, AttachedPage};
use super::protocol::BrowserTarget;
use crate::drivers::Error;
use crate::drivers::launch::PROXY_VARIABLES;
use crate::guard::named_hosts::NamedHosts;
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    session_id: String,
    target_info: BrowserTarget,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detached {
    session_id: String,
}

/// A response in a page, a frame or a worker.
#[derive(Deserialize)]
struct ResponseReceived {
    response: Response,
}

#[derive(Deserialize)]
struct Response {
    url: String,
    /// Absent for a response from a cache.
    #[serde(rename = "remoteIPAddress")]
    remote_address: Option<String>,
}

/// The active URL filter of a connected browser.
#[derive(Debug)]
pub(super) struct UrlFilter {
    connection: DevToolsConnection,
    rules: watch::Receiver<Arc<UrlRules>>,
    active_rules: Arc<UrlRules>,
    /// Private hosts that the user of the current lease named.
    named_hosts: NamedHosts,
    /// Targets whose responses are reported, by session.
    observed: HashMap<String, ObservedTarget>,
    /// Ids of the pages that are being left. One is left once, however many responses call for it: the next time might meet the page
    /// after it.
    leaving: Arc<Mutex<HashSet<String>>>,
}

/// A page, or a frame or a worker in it, whose responses are reported.
#[derive(Debug, Clone)]
struct ObservedTarget {
    target_id: String,
    page: BrowserTarget,
}

impl UrlFilter {
    /// Installs the filter. Pages that are already open are covered once [`pages::renew_interception`] has ended, which has
    /// to run beside [`UrlFilter::run`].
    pub(super) async fn install(
        connection: DevToolsConnection,
        events: &mut Events,
        mut rules: watch::Receiver<Arc<UrlRules>>,
        named_hosts: NamedHosts,
    ) -> Result<Self, Error> {
        let active_rules = rules.borrow_and_update().clone();
        let mut filter = Self {
            connection: connection.clone(),
            rules,
            active_rules: active_rules.clone(),
            named_hosts,
            observed: HashMap::new(),
            leaving: Arc::default(),
        };
        let enabled = async {
            intercept_requests(&connection, &active_rules).await?;
            // Reports the existing tabs once, and then every change of a tab's URL.
            let discover = json!({ "discover": true });
            let _: Value = connection
                .call(CallTarget::Browser, "Target.setDiscoverTargets", discover)
                .await?;
            if !is_behind_proxy() {
                // Attaching to a service worker would keep it from ending.
                let attach = auto_attach(&["page"]);
                let _: Value = connection
                    .call(CallTarget::Browser, "Target.setAutoAttach", attach)
                    .await?;
            }
            Ok(())
        };
        filter.while_handling(events, enabled).await?;
        Ok(filter)
    }

    /// Runs the filter until the connection ends.
    pub(super) async fn run(mut self, mut events: Events) -> Result<(), Error> {
        // A process that performs a single action reloads no rules.
        let mut may_change = true;
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    None => return Ok(()),
                    Some(event) => self.handle_event(event),
                },
                changed = self.rules.changed(), if may_change => match changed {
                    Ok(()) => self.apply_rules(&mut events).await?,
                    Err(_) => may_change = false,
                },
            }
        }
    }

    /// Applies the current rules to all requests from now on, and to the pages that are open.
    async fn apply_rules(&mut self, events: &mut Events) -> Result<(), Error> {
        self.active_rules = self.rules.borrow_and_update().clone();
        let (connection, rules) = (self.connection.clone(), Arc::clone(&self.active_rules));
        let applied = async {
            intercept_requests(&connection, &rules).await?;
            let renewed = connection.clone();
            tokio::spawn(async move { pages::renew_interception(&renewed).await });
            pages::list(&connection).await
        };
        for page in self.while_handling(events, applied).await? {
            self.check_page(page);
        }
        Ok(())
    }

    /// Handles events until a call to the browser has ended. Its response comes after the events before it.
    async fn while_handling<T>(
        &mut self,
        events: &mut Events,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        tokio::pin!(call);
        loop {
            tokio::select! {
                ended = &mut call => return ended,
                event = events.recv() => match event {
                    None => return Err(Error::BrowserDisconnected),
                    Some(event) => self.handle_event(event),
                },
            }
        }
    }

    fn handle_event(&mut self, event: Event) {
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
            "Target.attachedToTarget" => event
                .params()
                .map(|attached| self.observe(event.session.as_deref(), attached)),
            "Target.detachedFromTarget" => event.params().map(|Detached { session_id }| {
                self.observed.remove(&session_id);
            }),
            "Network.responseReceived" => event.params().map(|response: ResponseReceived| {
                self.check_response(event.session.as_deref(), &response)
            }),
            _ => Ok(()),
        };
        if let Err(error) = known {
            tracing::warn!(event = event.method, %error, "an event of the browser cannot be parsed");
        }
    }

    /// Has the responses of a page, or of a frame or a worker of another process in it, reported in one of its sessions.
    fn observe(&mut self, parent: Option<&str>, attached: Attached) {
        // A window that a page opens waits for this, although it is attached to without a wait (Chromium 156).
        let session = CallTarget::Session(&attached.session_id);
        self.connection
            .notify(session, "Runtime.runIfWaitingForDebugger", json!({}));
        let target = attached.target_info;
        let parent = parent.and_then(|session| self.observed.get(session));
        let page = match parent {
            Some(parent) => parent.page.clone(),
            None if target.is_page() => target.clone(),
            None => return,
        };
        let is_observed = |other: &ObservedTarget| other.target_id == target.target_id;
        if is_behind_proxy() || self.observed.values().any(is_observed) {
            return;
        }
        // The bodies of responses are not read, so that the browser need not keep them.
        let sizes =
            json!({ "maxTotalBufferSize": 1, "maxResourceBufferSize": 1, "maxPostDataSize": 1 });
        let session = CallTarget::Session(&attached.session_id);
        self.connection.notify(session, "Network.enable", sizes);
        let within = auto_attach(&["iframe", "worker"]);
        self.connection
            .notify(session, "Target.setAutoAttach", within);
        let target_id = target.target_id;
        self.observed
            .insert(attached.session_id, ObservedTarget { target_id, page });
    }

    /// Leaves a page that has got a response from a forbidden address.
    fn check_response(&self, session: Option<&str>, received: &ResponseReceived) {
        let Some(observed) = session.and_then(|session| self.observed.get(session)) else {
            return;
        };
        let Some((url, address)) = received.response.origin() else {
            return;
        };
        if self
            .active_rules
            .allows_remote(&url, address, &self.named_hosts)
        {
            return;
        }
        let page = observed.page.clone();
        if !lock(&self.leaving).insert(page.target_id.clone()) {
            return;
        }
        tracing::warn!(
            host = url.host_str(),
            %address,
            "a public name leads to an address that is not allowed; leaving the page"
        );
        let (connection, leaving) = (self.connection.clone(), Arc::clone(&self.leaving));
        tokio::spawn(async move {
            let id = page.target_id.clone();
            let left = async {
                let page = AttachedPage::attach(&connection, page).await?;
                page.replace(BLANK_PAGE).await
            };
            let left: Result<(), Error> = left.await;
            if let Err(error) = left {
                tracing::debug!(%error, "the page was closed before it could be left");
            }
            lock(&leaving).remove(&id);
        });
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
        let params = json!({ "requestId": request_id, "errorReason": "BlockedByClient" });
        self.connection
            .notify(CallTarget::Browser, "Fetch.failRequest", params);
    }

    /// Resources may be loaded from every allowed URL. `data:` reaches no network.
    fn allows_request(&self, address: &str) -> bool {
        address.starts_with("data:") || self.allows_page(address)
    }

    fn allows_page(&self, address: &str) -> bool {
        self.active_rules.allows_page(address, &self.named_hosts)
    }

    fn check_page(&self, page: BrowserTarget) {
        if page.is_page() && !self.allows_page(&page.url) {
            let (rules, named_hosts) = (Arc::clone(&self.active_rules), self.named_hosts.clone());
            let may_stay = move |address: &str| rules.allows_page(address, &named_hosts);
            tokio::spawn(navigate_away(self.connection.clone(), may_stay, page));
        }
    }
}

impl Response {
    /// Returns the URL of a response and the address of its server.
    fn origin(&self) -> Option<(Url, IpAddr)> {
        let address = self.remote_address.as_deref()?;
        let literal = address.trim_start_matches('[').trim_end_matches(']');
        Some((Url::parse(&self.url).ok()?, literal.parse().ok()?))
    }
}

/// Returns whether a proxy resolves the names of hosts, as far as the environment tells.
fn is_behind_proxy() -> bool {
    PROXY_VARIABLES
        .iter()
        .filter(|name| !name.eq_ignore_ascii_case("no_proxy"))
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Enables interception of the requests that may have to be refused.
async fn intercept_requests(
    connection: &DevToolsConnection,
    rules: &UrlRules,
) -> Result<(), Error> {
    let patterns: Vec<Value> = intercepted(rules)
        .into_iter()
        .map(|pattern| json!({ "urlPattern": pattern }))
        .collect();
    let params = json!({ "patterns": patterns });
    let _: Value = connection
        .call(CallTarget::Browser, "Fetch.enable", params)
        .await?;
    Ok(())
}

/// Returns the parameters that attach to targets of these types as they begin, in sessions of their own.
fn auto_attach(kinds: &[&str]) -> Value {
    let filter: Vec<Value> = kinds.iter().map(|kind| json!({ "type": kind })).collect();
    json!({
        "autoAttach": true,
        "waitForDebuggerOnStart": false,
        "flatten": true,
        "filter": filter,
    })
}

fn lock(leaving: &Mutex<HashSet<String>>) -> std::sync::MutexGuard<'_, HashSet<String>> {
    leaving.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the patterns of the requests to intercept. Interception delays each of them, so it is limited to non-web
/// schemes and private hosts if all public URLs are allowed.
fn intercepted(rules: &UrlRules) -> Vec<String> {
    if !rules.allows_all_public_urls() {
        return vec!["*".to_owned()];
    }
    let private = private_host::URL_PATTERNS.iter().flat_map(|host| {
        // With and without a user's name.
        [format!("*://{host}"), format!("*://*@{host}")]
    });
    let others = NON_WEB_PATTERNS.iter().map(ToString::to_string);
    // A name without a dot is one of the local network.
    others
        .chain(private)
        .chain(["http://*".to_owned()])
        .collect()
}

/// Navigates a tab to a blank page, unless it only shows a load error.
async fn navigate_away(
    connection: DevToolsConnection,
    may_stay: impl Fn(&str) -> bool,
    target: BrowserTarget,
) {
    let address = without_query(&target.url).to_owned();
    let left = async {
        let page = AttachedPage::attach(&connection, target).await?;
        // The tab may have navigated since the event. A page that does not respond (a dialog, a busy page) is left as
        // well.
        let shown = timeout(PAGE_RESPONSE_TIMEOUT, page.shown()).await;
        if matches!(&shown, Ok(Ok(shown)) if shown.as_deref().is_none_or(&may_stay)) {
            return Ok(());
        }
        tracing::info!(address, "navigating away from a forbidden page");
        page.replace(BLANK_PAGE).await
    };
    let left: Result<(), Error> = left.await;
    if let Err(error) = left {
        // The tab navigated or was closed in the meantime; its new URL is checked by its own event.
        tracing::debug!(address, %error, "could not navigate away from a forbidden page");
    }
}

/// Strips query and fragment for logging: they may contain secrets.
fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}
