//! The driver for a browser: the hands of another driver, and beside them the browser's own DevTools.
//!
//! Layers, lowest first: `connection` (calls and events on the wire), `answers` (what is read of them), `pages` (which page is in front, what it says),
//! `fence` (the addresses that may be opened), this module (what an action means).
//! Everything that is not about addresses and pages goes to the other driver: clicks and keys are a person's.
//!
//! Invariant: nothing is opened, led or read before the fence is up.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::service::PageText;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::connection::Connection;
use self::fence::Fence;
use self::pages::{Page, Step};
use super::launch::Launcher;
use super::{
    BROWSER_BY_KEYBOARD, Capabilities, Driver, Error, Failure, FocusedPage, HumanWatch, Performed,
    Work,
};
use crate::guard::addresses::Addresses;

mod answers;
mod connection;
mod fence;
mod pages;

/// Between two attempts to reach a browser, or a page of it, that is not there yet.
const CALL_AGAIN: Duration = Duration::from_millis(200);
/// How long a browser may take to start.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// How long an address may take to give its first answer before the action ends with it still on its way.
const LOAD_PATIENCE: Duration = Duration::from_secs(4);
/// How long the question may take which page has the keyboard.
const FOCUS_PATIENCE: Duration = Duration::from_secs(2);

/// How the driver is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the browser's DevTools listen (`http://127.0.0.1:9222`).
    pub endpoint: String,
    /// The display on which a browser is started.
    pub display: String,
    /// What may be started.
    pub launcher: Launcher,
    /// The addresses that may be opened, also when they change.
    pub addresses: watch::Receiver<Arc<Addresses>>,
}

/// A driver with a browser's DevTools beside it.
#[derive(Debug)]
pub struct BrowserDriver {
    hands: Arc<dyn Driver>,
    browser: Browser,
    launcher: Launcher,
    display: String,
}

impl BrowserDriver {
    /// Puts a browser beside the hands. It is connected to as soon as it is there, and again after it has been away.
    #[must_use]
    pub fn start(hands: Arc<dyn Driver>, options: Options) -> Self {
        Self {
            hands,
            browser: Browser::watch(options.endpoint, options.addresses),
            launcher: options.launcher,
            display: options.display,
        }
    }

    async fn open_url(&self, url: &str) -> Result<Option<String>, Failure> {
        if let Ok(connection) = self.browser.connection()
            && !pages::list(&connection).await?.is_empty()
        {
            return in_time(pages::open(&connection, url)).await;
        }
        // Empty at first: what it is to show is asked for when the fence is up.
        self.launcher.open_browser(&self.display)?;
        let page = self.browser.first_page().await.map_err(sent)?;
        in_time(page.go_to(url)).await
    }

    async fn lead(&self, way: Way<'_>) -> Result<Option<String>, Failure> {
        let page = pages::front(&self.browser.connection()?).await?;
        match way {
            Way::To(url) => in_time(page.go_to(url)).await,
            Way::Step(step) => match page.step(step).await {
                Err(error @ Error::NoHistory { .. }) => Err(error.into()),
                stepped => stepped.map(|()| None).map_err(sent),
            },
            Way::Again => page.reload().await.map(|()| None).map_err(sent),
        }
    }
}

/// A failure after something was asked of the browser.
fn sent(error: Error) -> Failure {
    Failure {
        error,
        input_sent: true,
    }
}

/// What a browser verb does to the page in front.
#[derive(Debug, Clone, Copy)]
enum Way<'a> {
    To(&'a str),
    Step(Step),
    Again,
}

/// Lets an address go on loading by itself when it takes its time.
async fn in_time(
    loaded: impl Future<Output = Result<(), Error>>,
) -> Result<Option<String>, Failure> {
    match timeout(LOAD_PATIENCE, loaded).await {
        Ok(loaded) => loaded.map(|()| None).map_err(sent),
        Err(_) => Ok(Some("it is still loading".to_owned())),
    }
}

#[async_trait]
impl Driver for BrowserDriver {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.hands.capabilities();
        capabilities
            .limitations
            .retain(|one| one != BROWSER_BY_KEYBOARD);
        capabilities.limitations.push(format!(
            "the browser at {} is held to the allowed addresses, except for WebSockets, WebRTC and WebTransport",
            self.browser.endpoint
        ));
        capabilities
    }

    async fn size(&self) -> Result<CaptureSize, Error> {
        self.hands.size().await
    }

    async fn perform(&self, work: Work, stop: &CancellationToken) -> Result<Performed, Failure> {
        if !is_for_the_browser(&work.action) {
            let page: Arc<dyn FocusedPage> = Arc::new(self.browser.clone());
            let work = Work {
                page: Some(page),
                ..work
            };
            return self.hands.perform(work, stop).await;
        }
        let led = async {
            match &work.action {
                Action::OpenUrl { url } => self.open_url(url).await,
                Action::GoToUrl { url } => self.lead(Way::To(url)).await,
                Action::GoBack => self.lead(Way::Step(Step::Back)).await,
                Action::GoForward => self.lead(Way::Step(Step::Forward)).await,
                Action::Refresh => self.lead(Way::Again).await,
                _ => unreachable!("everything else is for the hands"),
            }
        };
        let note = tokio::select! {
            () = stop.cancelled() => return Err(sent(Error::Stopped)),
            led = led => led?,
        };
        Ok(Performed {
            pointer: None,
            note,
        })
    }

    async fn pointer(&self) -> Result<CapturePoint, Error> {
        self.hands.pointer().await
    }

    async fn release_all(&self) -> Result<Vec<String>, Error> {
        self.hands.release_all().await
    }

    async fn watch_human(&self) -> Result<Option<HumanWatch>, Error> {
        self.hands.watch_human().await
    }

    async fn read_page(&self, max_characters: usize) -> Result<Option<PageText>, Error> {
        let connection = self.browser.connection()?;
        pages::read_front(&connection, max_characters)
            .await
            .map(Some)
    }

    async fn close(&self) {
        self.hands.close().await;
    }
}

fn is_for_the_browser(action: &Action<CapturePoint>) -> bool {
    matches!(
        action,
        Action::OpenUrl { .. }
            | Action::GoToUrl { .. }
            | Action::GoBack
            | Action::GoForward
            | Action::Refresh
    )
}

/// A browser that is held to its addresses whenever it is there.
#[derive(Debug, Clone)]
struct Browser {
    endpoint: Arc<str>,
    connected: watch::Receiver<Result<Connection, Error>>,
    runtime: tokio::runtime::Handle,
    _keeper: Arc<Keeper>,
}

/// The task that keeps the connection; it ends with the last handle.
#[derive(Debug)]
struct Keeper(AbortHandle);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Browser {
    fn watch(endpoint: String, addresses: watch::Receiver<Arc<Addresses>>) -> Self {
        let endpoint: Arc<str> = endpoint.into();
        let not_yet = Error::BrowserUnreachable {
            endpoint: endpoint.to_string(),
            cause: "it has not been reached yet".to_owned(),
        };
        let (now, connected) = watch::channel(Err(not_yet));
        let keeper = tokio::spawn(stay_connected(Arc::clone(&endpoint), addresses, now));
        Self {
            endpoint,
            connected,
            runtime: tokio::runtime::Handle::current(),
            _keeper: Arc::new(Keeper(keeper.abort_handle())),
        }
    }

    fn connection(&self) -> Result<Connection, Error> {
        self.connected.borrow().clone()
    }

    /// Waits for the page that a browser shows which is being started.
    async fn first_page(&self) -> Result<Page, Error> {
        let there = async {
            loop {
                if let Ok(connection) = self.connection()
                    && let Ok(page) = pages::front(&connection).await
                {
                    return page;
                }
                tokio::time::sleep(CALL_AGAIN).await;
            }
        };
        match timeout(START_PATIENCE, there).await {
            Ok(page) => Ok(page),
            // By now it is known why.
            Err(_) => pages::front(&self.connection()?).await,
        }
    }
}

impl FocusedPage for Browser {
    fn address(&self) -> Result<Option<Url>, Error> {
        let connection = self.connection()?;
        let asked = async move {
            let address = timeout(FOCUS_PATIENCE, pages::focused_address(&connection));
            let silent = Error::PageSilent {
                waited: FOCUS_PATIENCE,
            };
            address.await.map_err(|_| silent)?
        };
        self.runtime.block_on(asked)
    }
}

/// Connects again and again, and holds whoever answers to the addresses.
async fn stay_connected(
    endpoint: Arc<str>,
    addresses: watch::Receiver<Arc<Addresses>>,
    now: watch::Sender<Result<Connection, Error>>,
) {
    loop {
        let ended = hold(&endpoint, addresses.clone(), &now).await;
        let error = ended.err().unwrap_or(Error::BrowserGone);
        tracing::debug!(%error, endpoint = &*endpoint, "no browser is connected");
        let cause = match error {
            Error::BrowserUnreachable { cause, .. } => cause,
            other => other.to_string(),
        };
        now.send_modify(|connected| {
            *connected = Err(Error::BrowserUnreachable {
                endpoint: endpoint.to_string(),
                cause,
            });
        });
        tokio::time::sleep(CALL_AGAIN).await;
    }
}

/// Holds a browser until it is gone.
async fn hold(
    endpoint: &str,
    addresses: watch::Receiver<Arc<Addresses>>,
    now: &watch::Sender<Result<Connection, Error>>,
) -> Result<(), Error> {
    let (connection, events) = Connection::open(endpoint).await?;
    let fence = Fence::put_up(connection.clone(), addresses).await?;
    tracing::info!(endpoint, "the browser is held to the allowed addresses");
    now.send_modify(|connected| *connected = Ok(connection));
    fence.keep_up(events).await
}
