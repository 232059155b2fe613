//! The pages of a browser: which of them is in front, where it is led, what it says.
//!
//! Pages are looked at from a world of their own (an isolated world), in which they cannot change what `document` means,
//! and only for as long as a call takes: otherwise nothing is attached to them. A page that is left for another takes the
//! questions with it that were put to it; they are put to the one that comes, which is what [`of_one_that_stays`] is for.
//!
//! Not here: which addresses are allowed, and input.

use std::time::Duration;

use futures::future::join_all;
use motorium_proto::service::PageText;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use super::answers::{
    Attached, Created, Evaluated, FrameTree, FrameTreeAnswer, History, Navigated, Target, Targets,
    World,
};
use super::connection::{Connection, Party};
use crate::drivers::Error;

/// How long a page may take to say whether it is in front. One that is silent has a dialog open, or hangs.
const GLANCE: Duration = Duration::from_millis(700);
/// How long whoever asks something of the page in front waits for one that stays. One goes to the next within a moment.
const STAY_PATIENCE: Duration = Duration::from_secs(1);
/// Between two questions to pages that do not stay.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// The world in which pages are looked at.
const WORLD: &str = "motorium";

/// All pages.
pub(super) async fn list(connection: &Connection) -> Result<Vec<Target>, Error> {
    let mut targets = everything(connection).await?;
    targets.retain(Target::is_page);
    Ok(targets)
}

async fn everything(connection: &Connection) -> Result<Vec<Target>, Error> {
    let targets: Targets = connection
        .call(Party::Browser, "Target.getTargets", json!({}))
        .await?;
    Ok(targets.target_infos)
}

/// Has everything that is open ask for its requests anew, by the ways that are stopped since.
///
/// A page goes on with the way to the network that it was given when it was loaded. It is given another one when the
/// requests of itself are stopped, be it none of them.
pub(super) async fn take_new_ways(connection: &Connection) -> Result<(), Error> {
    let none = || json!({ "patterns": [{ "urlPattern": "motorium-none:*" }] });
    let renew = |target| async {
        let page = Page::attach(connection, target).await?;
        let _: Value = page.call("Fetch.enable", none()).await?;
        let _: Value = page.call("Fetch.disable", json!({})).await?;
        Ok::<(), Error>(())
    };
    let renewed = join_all(everything(connection).await?.into_iter().map(renew)).await;
    for error in renewed.into_iter().filter_map(Result::err) {
        // Not everything has requests of its own to stop, and what has gone has none any more.
        tracing::debug!(%error, "not given another way to the network");
    }
    Ok(())
}

/// A page that is attached to, until this is dropped.
#[derive(Debug)]
pub(super) struct Page {
    connection: Connection,
    session: String,
    pub(super) target: Target,
}

impl Drop for Page {
    fn drop(&mut self) {
        let session = json!({ "sessionId": self.session });
        self.connection
            .tell(Party::Browser, "Target.detachFromTarget", session);
    }
}

/// What a page says of itself at a glance.
#[derive(Debug, Deserialize)]
struct Glance {
    focused: bool,
    visible: bool,
    address: String,
    /// The keyboard is in a field of the page itself, and not in a frame of another's inside of it.
    in_field: bool,
}

/// What is in a closed shadow root is not told, and counts as no field.
const GLANCE_SCRIPT: &str = "(() => {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return {
    focused: document.hasFocus(),
    visible: document.visibilityState === 'visible',
    address: location.href,
    in_field: !!active && (active.isContentEditable || ['INPUT', 'TEXTAREA'].includes(active.tagName)),
  };
})()";

/// How much a page is in front; the greater, the more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Prominence {
    Hidden,
    /// It does not answer: it has a dialog open, or hangs, or has crashed in the background.
    Silent,
    /// On the screen; its window may not have the keyboard.
    Visible,
    Focused,
}

/// The page that a person would call the current one: the one with the keyboard, else one that can be seen.
///
/// # Errors
/// If there is no page, or the browser is gone.
pub(super) async fn front(connection: &Connection) -> Result<Page, Error> {
    let mut pages = list(connection).await?;
    if pages.len() == 1 {
        let only = pages.remove(0);
        return Page::attach(connection, only).await;
    }
    let looks = pages.into_iter().map(|target| async {
        let page = Page::attach(connection, target).await.ok()?;
        let prominence = match page.glance().await {
            Err(_) => Prominence::Silent,
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

/// The answer to a question that changes nothing, put again while the page goes away over it.
///
/// # Errors
/// Those of the question, and [`Error::PageRestless`] if no page stays.
async fn of_one_that_stays<T, Asked>(ask: impl Fn() -> Asked) -> Result<T, Error>
where
    Asked: Future<Output = Result<T, Error>>,
{
    let patience = Instant::now() + STAY_PATIENCE;
    loop {
        match ask().await {
            // Its words for a page that has gone are many, and the protocol has no number of its own for them.
            Err(Error::BrowserRefused { .. }) if Instant::now() < patience => {
                sleep(ASK_AGAIN).await;
            }
            Err(Error::BrowserRefused { cause }) => {
                let waited = STAY_PATIENCE;
                return Err(Error::PageRestless { waited, cause });
            }
            answer => return answer,
        }
    }
}

/// Address, title and text of the page in front, at most so many characters of it.
///
/// # Errors
/// If there is no page, none stays, or the browser is gone.
pub(super) async fn read_front(
    connection: &Connection,
    max_characters: usize,
) -> Result<PageText, Error> {
    of_one_that_stays(|| async { front(connection).await?.read(max_characters).await }).await
}

/// The address of the page with a field that has the keyboard; `None` if none has, because it is in the address bar, in a
/// frame inside of the page, or in another application.
pub(super) async fn focused_address(connection: &Connection) -> Result<Option<Url>, Error> {
    let glance = of_one_that_stays(|| async { front(connection).await?.glance().await });
    let glance = match glance.await {
        Err(Error::NoPage) => return Ok(None),
        glance => glance?,
    };
    let has_keyboard = glance.focused && glance.in_field;
    Ok(has_keyboard
        .then(|| Url::parse(&glance.address).ok())
        .flatten())
}

/// A step in a page's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Back,
    Forward,
}

impl Page {
    /// Attaches to a page.
    pub(super) async fn attach(connection: &Connection, target: Target) -> Result<Self, Error> {
        let whom = json!({ "targetId": target.target_id, "flatten": true });
        let attached: Attached = connection
            .call(Party::Browser, "Target.attachToTarget", whom)
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
            .call(Party::Session(&self.session), method, params)
            .await
    }

    async fn glance(&self) -> Result<Glance, Error> {
        let silent = Error::PageSilent { waited: GLANCE };
        // The main frame of a page has the page's own name.
        let glance = self.evaluate(&self.target.target_id, GLANCE_SCRIPT);
        let glance = timeout(GLANCE, glance).await.map_err(|_| silent)??;
        serde_json::from_value(glance).map_err(|error| Error::BrowserRefused {
            cause: error.to_string(),
        })
    }

    /// The value of an expression within a frame, in a world of ours.
    async fn evaluate(&self, frame: &str, expression: &str) -> Result<Value, Error> {
        let world = json!({ "frameId": frame, "worldName": WORLD });
        let world: World = self.call("Page.createIsolatedWorld", world).await?;
        let question = json!({
            "expression": expression,
            "contextId": world.execution_context_id,
            "returnByValue": true,
            "silent": true,
        });
        let evaluated: Evaluated = self.call("Runtime.evaluate", question).await?;
        match evaluated.exception_details {
            None => Ok(evaluated.result.value),
            Some(details) => Err(Error::BrowserRefused {
                cause: details["text"].as_str().unwrap_or_default().to_owned(),
            }),
        }
    }

    async fn frames(&self) -> Result<FrameTree, Error> {
        let answer: FrameTreeAnswer = self.call("Page.getFrameTree", json!({})).await?;
        Ok(answer.frame_tree)
    }

    /// The address of what it shows; `None` while it only says that something could not be loaded.
    pub(super) async fn shown(&self) -> Result<Option<String>, Error> {
        let frame = self.frames().await?.frame;
        Ok(frame.unreachable_url.is_none().then_some(frame.url))
    }

    /// Address, title and text, at most so many characters of it. Frames of other sites are left out: they are pages of
    /// their own.
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

    /// The text of these frames, as they stand in the page, and whether there is more than so many characters of it.
    async fn text_of(
        &self,
        frames: &FrameTree,
        max_characters: usize,
    ) -> Result<(String, bool), Error> {
        let mut text = String::new();
        let mut left = max_characters;
        let mut truncated = false;
        for frame in frames.ids() {
            // One more than is wanted tells whether there is more. A character is at most two units there.
            let most = 2 * (left + 1);
            let question =
                format!("(document.body?.innerText ?? '').slice(0, {most}).toWellFormed()");
            let words = match self.evaluate(frame, &question).await {
                Ok(words) => words.as_str().unwrap_or_default().to_owned(),
                // It has gone in between.
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

    /// Leads it to an address, and waits until the first of its answer is there.
    ///
    /// # Errors
    /// If nothing can be loaded from there.
    pub(super) async fn go_to(&self, url: &str) -> Result<(), Error> {
        let navigated: Navigated = self.call("Page.navigate", json!({ "url": url })).await?;
        match navigated.error_text.filter(|text| !text.is_empty()) {
            // A download, and a page that takes another way in between, are no failures.
            None => Ok(()),
            Some(text) if text == "net::ERR_ABORTED" => Ok(()),
            Some(cause) => Err(Error::PageNotLoaded {
                url: url.to_owned(),
                cause,
            }),
        }
    }

    /// Leads it one step through its history.
    ///
    /// # Errors
    /// If there is no such step.
    pub(super) async fn step(&self, step: Step) -> Result<(), Error> {
        let history: History = self.call("Page.getNavigationHistory", json!({})).await?;
        let (offset, way) = match step {
            Step::Back => (-1, "back"),
            Step::Forward => (1, "forward"),
        };
        let entry = usize::try_from(history.current_index + offset)
            .ok()
            .and_then(|index| history.entries.get(index))
            .ok_or(Error::NoHistory { way })?;
        let _: Value = self
            .call(
                "Page.navigateToHistoryEntry",
                json!({ "entryId": entry.id }),
            )
            .await?;
        Ok(())
    }

    /// Loads it again.
    pub(super) async fn reload(&self) -> Result<(), Error> {
        let _: Value = self.call("Page.reload", json!({})).await?;
        Ok(())
    }

    /// Brings its tab and its window to the front.
    pub(super) async fn bring_to_front(&self) -> Result<(), Error> {
        let _: Value = self.call("Page.bringToFront", json!({})).await?;
        Ok(())
    }
}

/// Opens an address in a tab of its own, in front.
///
/// # Errors
/// If nothing can be loaded from there.
pub(super) async fn open(connection: &Connection, url: &str) -> Result<(), Error> {
    // An empty one first, so that a failure to load is told.
    let created: Created = connection
        .call(
            Party::Browser,
            "Target.createTarget",
            json!({ "url": "about:blank" }),
        )
        .await?;
    let target = Target {
        target_id: created.target_id,
        kind: "page".to_owned(),
        subtype: None,
        url: String::new(),
    };
    let page = Page::attach(connection, target).await?;
    page.bring_to_front().await?;
    page.go_to(url).await
}
