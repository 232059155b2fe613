//! The browser driver: wraps another driver and uses the browser's DevTools for browser actions.
//!
//! Layers, lowest first: `frame_limit` (cuts messages), `connection` (calls and events), `protocol` (response types), `pages` (finding, navigating
//! and reading pages), `url_filter` (allowed URLs), this module (mapping of actions).
//! Everything that is not about URLs and pages is done by the wrapped driver: clicks and keys are real input events.
//!
//! Invariant: no page is opened, navigated or read before the URL filter is installed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::service::{ClipboardText, PageText};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::connection::DevToolsConnection;
use self::pages::{AttachedPage, HistoryStep};
use self::url_filter::UrlFilter;
use super::clipboard_content::ClipboardContent;
use super::launch::Launcher;
use super::{
    Capabilities, Driver, DriverFailure, DriverOutcome, Error, FocusedPage, HumanInputReceiver,
    KEYBOARD_BROWSER_LIMITATION, PreparedAction,
};
use crate::guard::named_hosts::NamedHosts;
use crate::guard::url_rules::UrlRules;

mod connection;
mod frame_limit;
mod pages;
mod protocol;
mod url_filter;

/// Delay between attempts to connect to a browser or to find its first page.
// Short beside the start of a browser, which takes seconds.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// Timeout of starting a browser.
// A first start creates a profile, on a loaded machine beside other programs that start.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout of the first attempt to connect to a browser. A browser that listens answers within a second.
const FIRST_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of the first response of a URL. Afterwards the action ends while the page is still loading.
const LOAD_TIMEOUT: Duration = Duration::from_secs(4);
/// Timeout of finding the focused page.
// Every page is asked, and one that shows a dialog answers only after its own timeout.
const FOCUS_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of the driver.
#[derive(Debug, Clone)]
pub struct Options {
    /// URL of the browser's DevTools (`http://127.0.0.1:9222`).
    pub endpoint: String,
    /// Display on which the browser is started.
    pub display: String,
    /// Launcher of the configured browser.
    pub launcher: Launcher,
    /// The URL rules, updated on reload.
    pub rules: watch::Receiver<Arc<UrlRules>>,
    /// Private hosts that the user of the current lease named.
    pub named_hosts: NamedHosts,
}

/// A driver that adds DevTools control to another driver.
#[derive(Debug)]
pub struct BrowserDriver {
    input: Arc<dyn Driver>,
    browser: Browser,
    launcher: Launcher,
    display: String,
}

impl BrowserDriver {
    /// Wraps a driver. The browser is connected as soon as it is available, and again after a disconnect.
    #[must_use]
    pub fn start(input: Arc<dyn Driver>, options: Options) -> Self {
        Self {
            input,
            browser: Browser::watch(options.endpoint, options.rules, options.named_hosts),
            launcher: options.launcher,
            display: options.display,
        }
    }

    async fn open_url(&self, url: &str) -> Result<Option<String>, DriverFailure> {
        if let Ok(connection) = self.browser.connection().await
            && !pages::list(&connection).await?.is_empty()
        {
            return within_load_timeout(pages::open(&connection, url)).await;
        }
        // Started without a URL: the URL is opened once the filter is installed.
        self.launcher.open_browser(&self.display).await?;
        let page = self.browser.first_page().await.map_err(after_input)?;
        within_load_timeout(page.navigate(url)).await
    }

    async fn navigate(&self, way: NavigationCommand<'_>) -> Result<Option<String>, DriverFailure> {
        let page = pages::front(&self.browser.connection().await?).await?;
        match way {
            NavigationCommand::Url(url) => within_load_timeout(page.navigate(url)).await,
            NavigationCommand::History(step) => within_load_timeout(page.step(step)).await,
            NavigationCommand::Reload => within_load_timeout(page.reload()).await,
        }
    }
}

/// Creates a failure after a call was sent to the browser.
fn after_input(error: Error) -> DriverFailure {
    DriverFailure {
        error,
        input_sent: true,
    }
}

/// A navigation of the current page.
#[derive(Debug, Clone, Copy)]
enum NavigationCommand<'a> {
    Url(&'a str),
    History(HistoryStep),
    Reload,
}

/// Waits for a URL to load; after [`LOAD_TIMEOUT`] it continues to load in the background.
async fn within_load_timeout(
    loaded: impl Future<Output = Result<(), Error>>,
) -> Result<Option<String>, DriverFailure> {
    match timeout(LOAD_TIMEOUT, loaded).await {
        Ok(Err(error @ Error::NoHistory { .. })) => Err(error.into()),
        Ok(loaded) => loaded.map(|()| None).map_err(after_input),
        Err(_) => Ok(Some("the page is still loading".to_owned())),
    }
}

#[async_trait]
impl Driver for BrowserDriver {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.input.capabilities();
        capabilities
            .limitations
            .retain(|one| one != KEYBOARD_BROWSER_LIMITATION);
        capabilities.limitations.push(format!(
            "the browser at {} is restricted to the allowed URLs, except for WebSockets, WebRTC and WebTransport",
            self.browser.endpoint
        ));
        capabilities
    }

    async fn size(&self) -> Result<CaptureSize, Error> {
        self.input.size().await
    }

    async fn perform(
        &self,
        work: PreparedAction,
        stop: &CancellationToken,
    ) -> Result<DriverOutcome, DriverFailure> {
        if !is_browser_action(&work.action) {
            let page: Arc<dyn FocusedPage> = Arc::new(self.browser.clone());
            let work = PreparedAction {
                focused_page: Some(page),
                ..work
            };
            return self.input.perform(work, stop).await;
        }
        let led = async {
            match &work.action {
                Action::OpenUrl { url } => self.open_url(url).await,
                Action::GoToUrl { url } => self.navigate(NavigationCommand::Url(url)).await,
                Action::GoBack => {
                    self.navigate(NavigationCommand::History(HistoryStep::Back))
                        .await
                }
                Action::GoForward => {
                    self.navigate(NavigationCommand::History(HistoryStep::Forward))
                        .await
                }
                Action::Refresh => self.navigate(NavigationCommand::Reload).await,
                _ => unreachable!("all other actions go to the wrapped driver"),
            }
        };
        let note = tokio::select! {
            () = stop.cancelled() => return Err(after_input(Error::Stopped)),
            led = led => led?,
        };
        Ok(DriverOutcome {
            pointer: None,
            note,
        })
    }

    async fn pointer(&self) -> Result<CapturePoint, Error> {
        self.input.pointer().await
    }

    async fn release_all(&self) -> Result<Vec<String>, Error> {
        self.input.release_all().await
    }

    async fn watch_human(&self) -> Result<Option<HumanInputReceiver>, Error> {
        self.input.watch_human().await
    }

    async fn read_page(&self, max_characters: usize) -> Result<Option<PageText>, Error> {
        let connection = self.browser.connection().await?;
        pages::read_front(&connection, max_characters)
            .await
            .map(Some)
    }

    async fn read_clipboard(&self) -> Result<Option<ClipboardText>, Error> {
        self.input.read_clipboard().await
    }

    async fn has_copied(&self) -> Result<Option<bool>, Error> {
        self.input.has_copied().await
    }

    async fn remaining_clipboard(&self) -> Result<ClipboardContent, Error> {
        self.input.remaining_clipboard().await
    }

    async fn close(&self) {
        self.input.close().await;
    }
}

fn is_browser_action(action: &Action<CapturePoint>) -> bool {
    matches!(
        action,
        Action::OpenUrl { .. }
            | Action::GoToUrl { .. }
            | Action::GoBack
            | Action::GoForward
            | Action::Refresh
    )
}

/// The connection to a browser, or the reason why there is none.
type ConnectionState = Option<Result<DevToolsConnection, Error>>;

/// A browser that is URL-filtered whenever it is connected.
#[derive(Debug, Clone)]
struct Browser {
    endpoint: Arc<str>,
    /// `None` until the first attempt to connect has ended.
    connected: watch::Receiver<ConnectionState>,
    runtime: tokio::runtime::Handle,
    _keeper: Arc<ConnectionTask>,
}

/// Aborts the connection task when the last handle is dropped.
#[derive(Debug)]
struct ConnectionTask(AbortHandle);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Browser {
    fn watch(
        endpoint: String,
        rules: watch::Receiver<Arc<UrlRules>>,
        named_hosts: NamedHosts,
    ) -> Self {
        let endpoint: Arc<str> = endpoint.into();
        let (now, connected) = watch::channel(None);
        let kept = maintain_connection(Arc::clone(&endpoint), rules, named_hosts, now);
        let keeper = tokio::spawn(kept);
        Self {
            endpoint,
            connected,
            runtime: tokio::runtime::Handle::current(),
            _keeper: Arc::new(ConnectionTask(keeper.abort_handle())),
        }
    }

    /// Returns the connection. A driver that has just been started waits for its first attempt to connect, so that a
    /// process which performs a single action reaches the browser as a service does.
    async fn connection(&self) -> Result<DevToolsConnection, Error> {
        let mut connected = self.connected.clone();
        let unreachable = |cause: &str| Error::BrowserUnreachable {
            endpoint: self.endpoint.to_string(),
            cause: cause.to_owned(),
        };
        let tried = timeout(
            FIRST_CONNECTION_TIMEOUT,
            connected.wait_for(Option::is_some),
        )
        .await;
        let tried = tried.map_err(|_| unreachable("it does not respond"))?;
        match tried.as_deref() {
            Ok(Some(state)) => state.clone(),
            _ => Err(unreachable("the driver is closed")),
        }
    }

    /// Waits for the first page of a browser that is starting.
    async fn first_page(&self) -> Result<AttachedPage, Error> {
        let there = async {
            loop {
                if let Ok(connection) = self.connection().await
                    && let Ok(page) = pages::front(&connection).await
                {
                    return page;
                }
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        };
        match timeout(START_TIMEOUT, there).await {
            Ok(page) => Ok(page),
            // Returns the error that explains the timeout.
            Err(_) => pages::front(&self.connection().await?).await,
        }
    }
}

impl FocusedPage for Browser {
    fn url(&self) -> Result<Option<Url>, Error> {
        let asked = async {
            let connection = self.connection().await?;
            let address = timeout(FOCUS_TIMEOUT, pages::focused_address(&connection));
            let silent = Error::PageNotResponding {
                waited: FOCUS_TIMEOUT,
            };
            address.await.map_err(|_| silent)?
        };
        self.runtime.block_on(asked)
    }
}

/// Connects to the browser and reconnects after each disconnect.
async fn maintain_connection(
    endpoint: Arc<str>,
    rules: watch::Receiver<Arc<UrlRules>>,
    named_hosts: NamedHosts,
    now: watch::Sender<ConnectionState>,
) {
    loop {
        let ended = serve_connection(&endpoint, rules.clone(), named_hosts.clone(), &now).await;
        let error = ended.err().unwrap_or(Error::BrowserDisconnected);
        tracing::debug!(%error, endpoint = &*endpoint, "the browser is not connected");
        let cause = match error {
            Error::BrowserUnreachable { cause, .. } => cause,
            other => other.to_string(),
        };
        now.send_modify(|connected| {
            *connected = Some(Err(Error::BrowserUnreachable {
                endpoint: endpoint.to_string(),
                cause,
            }));
        });
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Filters a browser's URLs until it disconnects.
async fn serve_connection(
    endpoint: &str,
    rules: watch::Receiver<Arc<UrlRules>>,
    named_hosts: NamedHosts,
    now: &watch::Sender<ConnectionState>,
) -> Result<(), Error> {
    let (connection, mut events) = DevToolsConnection::open(endpoint).await?;
    let filter = UrlFilter::install(connection.clone(), &mut events, rules, named_hosts).await?;
    let announced = async {
        pages::renew_interception(&connection).await?;
        tracing::info!(endpoint, "connected to the browser; its URLs are filtered");
        now.send_modify(|connected| *connected = Some(Ok(connection.clone())));
        std::future::pending().await
    };
    tokio::select! {
        ended = filter.run(events) => ended,
        failed = announced => failed,
    }
}
