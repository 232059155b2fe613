//! Pages of a browser: finds the current one, navigates it and reads it.
//!
//! Pages are inspected in an isolated world, in which they cannot redefine `document`, and attached to only for the
//! duration of a call. A page that navigates away loses the pending calls. [`retry_until_stable`] repeats them on the
//! next page.
//!
//! Allowed URLs and input events are handled elsewhere.

use std::time::Duration;

use futures::future::join_all;
use motorium_proto::service::PageText;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use super::connection::{CallTarget, DevToolsConnection, Event};
use super::protocol::{
    AttachedSession, BrowserTarget, CreatedTarget, EvaluationResult, FrameTree, FrameTreeResponse,
    IsolatedWorld, NavigationHistory, NavigationResult, TargetList,
};
use crate::drivers::Error;

/// Timeout for a page to report its state. A page that does not respond shows a dialog or hangs.
const PAGE_STATE_TIMEOUT: Duration = Duration::from_millis(700);
/// Timeout for a target to renew its network path.
// A busy page takes some 100 ms; stopped workers and pages with a dialog never answer.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for which a call is retried while pages keep navigating. A navigation normally completes within a moment.
const STABLE_PAGE_TIMEOUT: Duration = Duration::from_secs(1);
/// Delay between such retries.
// Several attempts fit into the moment that a navigation takes.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// Name of the isolated world.
const WORLD_NAME: &str = "motorium";

/// Lists all pages.
pub(super) async fn list(connection: &DevToolsConnection) -> Result<Vec<BrowserTarget>, Error> {
    let mut targets = list_targets(connection).await?;
    targets.retain(BrowserTarget::is_page);
    Ok(targets)
}

async fn list_targets(connection: &DevToolsConnection) -> Result<Vec<BrowserTarget>, Error> {
    let targets: TargetList = connection
        .call(CallTarget::Browser, "Target.getTargets", json!({}))
        .await?;
    Ok(targets.target_infos)
}

/// Renews the network path of everything that is open, so that the current interception applies to it.
///
/// A page keeps the network path that it got when it was loaded. Enabling interception on the page itself renews it,
/// even with a pattern that matches nothing.
///
/// The connection's events have to be handled meanwhile: a target whose request is paused does not answer before that.
pub(super) async fn renew_interception(connection: &DevToolsConnection) -> Result<(), Error> {
    let none = || json!({ "patterns": [{ "urlPattern": "motorium-none:*" }] });
    let renew = |target| async {
        let page = AttachedPage::attach(connection, target).await?;
        let _: Value = page.call("Fetch.enable", none()).await?;
        let _: Value = page.call("Fetch.disable", json!({})).await?;
        Ok::<(), Error>(())
    };
    let in_time = |target| async {
        let silent = Error::PageNotResponding {
            waited: RENEWAL_TIMEOUT,
        };
        timeout(RENEWAL_TIMEOUT, renew(target))
            .await
            .unwrap_or(Err(silent))
    };
    let renewed = join_all(list_targets(connection).await?.into_iter().map(in_time)).await;
    for error in renewed.into_iter().filter_map(Result::err) {
        // Some targets have no requests to intercept, and others are already closed.
        tracing::debug!(%error, "the network path of a target was not renewed");
    }
    Ok(())
}

/// A page with an attached session, which is detached on drop.
#[derive(Debug)]
pub(super) struct AttachedPage {
    connection: DevToolsConnection,
    session: String,
    pub(super) target: BrowserTarget,
}

impl Drop for AttachedPage {
    fn drop(&mut self) {
        let session = json!({ "sessionId": self.session });
        self.connection
            .notify(CallTarget::Browser, "Target.detachFromTarget", session);
    }
}

/// The state of a page.
#[derive(Debug, Deserialize)]
struct PageState {
    focused: bool,
    visible: bool,
    address: String,
    /// A field of the page itself has the focus, not one in a cross-origin frame.
    in_field: bool,
}

/// Fields in a closed shadow root cannot be detected, and count as none.
const PAGE_STATE_SCRIPT: &str = "(() => {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return {
    focused: document.hasFocus(),
    visible: document.visibilityState === 'visible',
    address: location.href,
    in_field: !!active && (active.isContentEditable || ['INPUT', 'TEXTAREA'].includes(active.tagName)),
  };
})()";

/// Rank of a page as the current one; the greatest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Prominence {
    Hidden,
    /// The page does not respond: it shows a dialog, hangs, or crashed in the background.
    NotResponding,
    /// Visible, but its window may not have the focus.
    Visible,
    Focused,
}

/// Returns the current page: the focused one, otherwise a visible one.
///
/// # Errors
/// If there is no page, or the connection is lost.
pub(super) async fn front(connection: &DevToolsConnection) -> Result<AttachedPage, Error> {
    let mut pages = list(connection).await?;
    if pages.len() == 1 {
        let only = pages.remove(0);
        return AttachedPage::attach(connection, only).await;
    }
    let looks = pages.into_iter().map(|target| async {
        let page = AttachedPage::attach(connection, target).await.ok()?;
        let prominence = match page.state().await {
            Err(_) => Prominence::NotResponding,
            Ok(glance) if glance.focused => Prominence::Focused,
            Ok(glance) if glance.visible => Prominence::Visible,
            Ok(_) => Prominence::Hidden,
        };
        Some((prominence, page))
    });
    let looked_at = join_all(looks).await.into_iter().flatten();
    let foremost = looked_at.max_by_key(|(prominence, _)| *prominence);
    foremost.map(|(_, page)| page).ok_or(Error::NoPage)
}

/// Runs a read-only call and retries it while the page navigates away.
///
/// # Errors
/// Errors of the call, and [`Error::PageUnstable`] if every page navigates away.
async fn retry_until_stable<T, Asked>(ask: impl Fn() -> Asked) -> Result<T, Error>
where
    Asked: Future<Output = Result<T, Error>>,
{
    let deadline = Instant::now() + STABLE_PAGE_TIMEOUT;
    loop {
        match ask().await {
            // The protocol has no error code for a page that is gone, and several messages, so every rejection is
            // retried.
            Err(Error::BrowserRefused { .. }) if Instant::now() < deadline => {
                sleep(RETRY_INTERVAL).await;
            }
            Err(Error::BrowserRefused { cause }) => {
                let waited = STABLE_PAGE_TIMEOUT;
                return Err(Error::PageUnstable { waited, cause });
            }
            answer => return answer,
        }
    }
}

/// Reads URL, title and text of the current page, up to `max_characters` of the text.
///
/// # Errors
/// If there is no page, every page navigates away, or the connection is lost.
pub(super) async fn read_front(
    connection: &DevToolsConnection,
    max_characters: usize,
) -> Result<PageText, Error> {
    retry_until_stable(|| async { front(connection).await?.read(max_characters).await }).await
}

/// Returns the URL of the page with a focused field; `None` if the focus is in the address bar, in a frame inside the
/// page, or in another application.
pub(super) async fn focused_address(connection: &DevToolsConnection) -> Result<Option<Url>, Error> {
    let glance = retry_until_stable(|| async { front(connection).await?.state().await });
    let glance = match glance.await {
        Err(Error::NoPage) => return Ok(None),
        glance => glance?,
    };
    let has_keyboard = glance.focused && glance.in_field;
    Ok(has_keyboard
        .then(|| Url::parse(&glance.address).ok())
        .flatten())
}

/// Returns whether an event is the question of a page whether it may be left.
fn is_leaving_question(event: &Event, _page: &str) -> bool {
    #[derive(Deserialize)]
    struct Dialog {
        r#type: String,
    }

    let asked = || {
        event
            .params()
            .is_ok_and(|Dialog { r#type }| r#type == "beforeunload")
    };
    event.method == "Page.javascriptDialogOpening" && asked()
}

/// Returns whether an event is the change of a page to another document, or to another place in the same one.
fn has_changed(event: &Event, page: &str) -> bool {
    #[derive(Deserialize)]
    struct Navigated {
        frame: NavigatedFrame,
    }
    #[derive(Deserialize)]
    struct NavigatedFrame {
        id: String,
    }

    // The main frame's id is the page's target id.
    match event.method.as_str() {
        "Page.frameNavigated" => {
            let navigated = event.params();
            navigated.is_ok_and(|Navigated { frame }| frame.id == page)
        }
        "Page.navigatedWithinDocument" => true,
        _ => false,
    }
}

/// A step in a page's navigation history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HistoryStep {
    Back,
    Forward,
}

impl AttachedPage {
    /// Attaches to a page.
    pub(super) async fn attach(
        connection: &DevToolsConnection,
        target: BrowserTarget,
    ) -> Result<Self, Error> {
        let whom = json!({ "targetId": target.target_id, "flatten": true });
        let attached: AttachedSession = connection
            .call(CallTarget::Browser, "Target.attachToTarget", whom)
            .await?;
        Ok(Self {
            connection: connection.clone(),
            session: attached.session_id,
            target,
        })
    }

    async fn call<T: serde::de::DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<T, Error> {
        self.connection
            .call(CallTarget::Session(&self.session), method, params)
            .await
    }

    async fn state(&self) -> Result<PageState, Error> {
        let silent = Error::PageNotResponding {
            waited: PAGE_STATE_TIMEOUT,
        };
        // The main frame's id is the page's target id.
        let glance = self.evaluate(&self.target.target_id, PAGE_STATE_SCRIPT);
        let glance = timeout(PAGE_STATE_TIMEOUT, glance)
            .await
            .map_err(|_| silent)??;
        serde_json::from_value(glance).map_err(|error| Error::BrowserRefused {
            cause: error.to_string(),
        })
    }

    /// Evaluates an expression in an isolated world of a frame.
    async fn evaluate(&self, frame: &str, expression: &str) -> Result<Value, Error> {
        let world = json!({ "frameId": frame, "worldName": WORLD_NAME });
        let world: IsolatedWorld = self.call("Page.createIsolatedWorld", world).await?;
        let question = json!({
            "expression": expression,
            "contextId": world.execution_context_id,
            "returnByValue": true,
            "silent": true,
        });
        let evaluated: EvaluationResult = self.call("Runtime.evaluate", question).await?;
        match evaluated.exception_details {
            None => Ok(evaluated.result.value),
            Some(details) => Err(Error::BrowserRefused {
                cause: details["text"].as_str().unwrap_or_default().to_owned(),
            }),
        }
    }

    async fn frames(&self) -> Result<FrameTree, Error> {
        let answer: FrameTreeResponse = self.call("Page.getFrameTree", json!({})).await?;
        Ok(answer.frame_tree)
    }

    /// Returns the URL that the page shows; `None` if it shows a load error.
    pub(super) async fn shown(&self) -> Result<Option<String>, Error> {
        let frame = self.frames().await?.frame;
        Ok(frame.unreachable_url.is_none().then_some(frame.url))
    }

    /// Reads URL, title and up to `max_characters` of text. Cross-origin frames are left out: they are separate
    /// targets.
    async fn read(&self, max_characters: usize) -> Result<PageText, Error> {
        let tree = self.frames().await?;
        let url = tree.frame.unreachable_url.clone();
        let url = url.unwrap_or_else(|| tree.frame.url.clone());
        let title = self
            .evaluate(&tree.frame.id, "document.title.toWellFormed()")
            .await?;
        let (text, truncated) = self.text_of(&tree, max_characters).await?;
        Ok(PageText {
            url,
            title: title.as_str().unwrap_or_default().to_owned(),
            text,
            truncated,
        })
    }

    /// Reads the text of these frames in document order, and whether it was truncated.
    async fn text_of(
        &self,
        frames: &FrameTree,
        max_characters: usize,
    ) -> Result<(String, bool), Error> {
        let mut text = String::new();
        let mut left = max_characters;
        let mut truncated = false;
        for frame in frames.ids() {
            // One character more than needed shows whether there is more. A character takes at most two UTF-16 units.
            let max_units = 2 * (left + 1);
            let question =
                format!("(document.body?.innerText ?? '').slice(0, {max_units}).toWellFormed()");
            let words = match self.evaluate(frame, &question).await {
                Ok(words) => words.as_str().unwrap_or_default().to_owned(),
                // The frame was removed in the meantime.
                Err(Error::BrowserRefused { .. }) => continue,
                Err(error) => return Err(error),
            };
            if words.is_empty() {
                continue;
            }
            let separator = if text.is_empty() { "" } else { "\n\n" };
            let words = format!("{separator}{words}");
            let end = words.char_indices().nth(left).map(|(end, _)| end);
            truncated |= end.is_some();
            let words = &words[..end.unwrap_or(words.len())];
            left -= words.chars().count();
            text.push_str(words);
        }
        Ok((text, truncated))
    }

    /// Leaves the page by `leave`, and returns once it was left.
    ///
    /// A page may ask first ("Leave site?"). The question stays on the screen, so that the planner or a person decides about
    /// unsaved work.
    ///
    /// # Errors
    /// [`Error::LeavingQuestioned`] if the page asks, and errors of `leave`.
    async fn leaving<T>(&self, leave: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut events = self.connection.page_events();
        // A page that does not respond shows a dialog or hangs. It can be left all the same, and asks nothing.
        let enabled = self.call::<Value>("Page.enable", json!({}));
        if timeout(PAGE_STATE_TIMEOUT, enabled).await.is_ok() {
            self.count_as_used().await;
        }
        tokio::select! {
            biased;
            () = self.until(&mut events, is_leaving_question) => Err(Error::LeavingQuestioned),
            left = leave => left,
        }
    }

    /// Navigates the page to a URL, whatever the page asks: unlike [`AttachedPage::navigate`], for pages that must not stay.
    ///
    /// # Errors
    /// If the page or the connection is lost.
    pub(super) async fn replace(&self, url: &str) -> Result<(), Error> {
        let mut events = self.connection.page_events();
        let enabled = self.call::<Value>("Page.enable", json!({}));
        if timeout(PAGE_STATE_TIMEOUT, enabled).await.is_err() {
            tracing::debug!("the page does not respond before it is replaced");
        }
        let leave = async {
            self.until(&mut events, is_leaving_question).await;
            let accept = json!({ "accept": true });
            let _: Value = self.call("Page.handleJavaScriptDialog", accept).await?;
            std::future::pending::<Result<Value, Error>>().await
        };
        let replaced = tokio::select! {
            replaced = self.call("Page.navigate", json!({ "url": url })) => replaced,
            failed = leave => failed,
        };
        replaced.map(|_: Value| ())
    }

    /// Makes the page count as used by a person, as it does when a link in it is clicked: browsers ignore the question
    /// of a page that was not.
    async fn count_as_used(&self) {
        let nothing = json!({ "expression": "0", "userGesture": true, "silent": true });
        let used = self.call::<Value>("Runtime.evaluate", nothing);
        if !matches!(timeout(PAGE_STATE_TIMEOUT, used).await, Ok(Ok(_))) {
            tracing::debug!("the page does not respond before it is left");
        }
    }

    /// Waits for an event of this page; for ever if the connection ends.
    async fn until(
        &self,
        events: &mut broadcast::Receiver<Event>,
        is_it: impl Fn(&Event, &str) -> bool,
    ) {
        loop {
            match events.recv().await {
                Ok(event) if event.session.as_deref() != Some(&self.session) => {}
                Ok(event) if is_it(&event, &self.target.target_id) => return,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    /// Calls a method that only starts a navigation, and waits until the page has changed.
    async fn change(&self, method: &'static str, params: Value) -> Result<(), Error> {
        let mut events = self.connection.page_events();
        self.leaving(async {
            let _: Value = self.call(method, params).await?;
            self.until(&mut events, has_changed).await;
            Ok(())
        })
        .await
    }

    /// Navigates the page to a URL, and waits for its first response.
    ///
    /// # Errors
    /// If the URL cannot be loaded, or the page asks whether it may be left.
    pub(super) async fn navigate(&self, url: &str) -> Result<(), Error> {
        let navigated: NavigationResult = self
            .leaving(self.call("Page.navigate", json!({ "url": url })))
            .await?;
        match navigated.error_text.filter(|text| !text.is_empty()) {
            // Downloads and interrupted navigations report ERR_ABORTED, which is not a failure.
            None => Ok(()),
            Some(text) if text == "net::ERR_ABORTED" => Ok(()),
            Some(cause) => Err(Error::PageNotLoaded {
                url: url.to_owned(),
                cause,
            }),
        }
    }

    /// Navigates one step in the history.
    ///
    /// # Errors
    /// If there is no history entry in this direction, or the page asks whether it may be left.
    pub(super) async fn step(&self, step: HistoryStep) -> Result<(), Error> {
        let history: NavigationHistory = self.call("Page.getNavigationHistory", json!({})).await?;
        let (offset, way) = match step {
            HistoryStep::Back => (-1, "back"),
            HistoryStep::Forward => (1, "forward"),
        };
        let entry = usize::try_from(history.current_index + offset)
            .ok()
            .and_then(|index| history.entries.get(index))
            .ok_or(Error::NoHistory { way })?;
        let entry = json!({ "entryId": entry.id });
        self.change("Page.navigateToHistoryEntry", entry).await
    }

    /// Reloads the page.
    ///
    /// # Errors
    /// If the page asks whether it may be left.
    pub(super) async fn reload(&self) -> Result<(), Error> {
        self.change("Page.reload", json!({})).await
    }

    /// Brings the page's tab and window to the front.
    pub(super) async fn bring_to_front(&self) -> Result<(), Error> {
        let _: Value = self.call("Page.bringToFront", json!({})).await?;
        Ok(())
    }
}

/// Opens a URL in a new tab in front.
///
/// # Errors
/// If the URL cannot be loaded.
pub(super) async fn open(connection: &DevToolsConnection, url: &str) -> Result<(), Error> {
    // Blank at first: only `Page.navigate` reports a failure to load.
    let created: CreatedTarget = connection
        .call(
            CallTarget::Browser,
            "Target.createTarget",
            json!({ "url": "about:blank" }),
        )
        .await?;
    let target = BrowserTarget {
        target_id: created.target_id,
        kind: "page".to_owned(),
        subtype: None,
        url: String::new(),
    };
    let page = AttachedPage::attach(connection, target).await?;
    page.bring_to_front().await?;
    page.navigate(url).await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn navigated() -> Error {
        let cause = "Inspected target navigated or closed".to_owned();
        Error::BrowserRefused { cause }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_repeated_on_the_next_page() {
        let asked = Cell::new(0);
        let answer = retry_until_stable(|| async {
            asked.set(asked.get() + 1);
            match asked.get() {
                1..4 => Err(navigated()),
                _ => Ok("here"),
            }
        });
        assert_eq!(answer.await.unwrap(), "here");
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_never_stays_is_unstable() {
        let began = Instant::now();
        let answer = retry_until_stable(|| async { Err::<(), _>(navigated()) }).await;
        assert!(
            matches!(answer, Err(Error::PageUnstable { .. })),
            "{answer:?}"
        );
        assert!(
            began.elapsed() < STABLE_PAGE_TIMEOUT * 2,
            "{:?}",
            began.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn other_errors_are_not_retried() {
        let began = Instant::now();
        let answer = retry_until_stable(|| async { Err::<(), _>(Error::NoPage) }).await;
        assert_eq!(answer, Err(Error::NoPage));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
