//! Hands: what performs an action on a display.
//!
//! A driver does what it is told, faithfully or with an error. It does not judge whether an action is allowed, owns
//! no lease and keeps no journal: that is the guard's business, which stands before it.
//!
//! Invariant: whichever way an action ends (done, failed, stopped, its caller gone), the driver leaves no key and no
//! button pressed that the action pressed, except for the button of a `MouseDown` that was carried out whole.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::{HumanInput, PageText};
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::guard::targets::WindowPattern;

pub mod devtools;
mod error;
mod gesture;
pub mod launch;
mod pause;
#[cfg(feature = "driver-enigo")]
pub mod portable;
pub mod recording;
#[cfg(target_os = "linux")]
pub mod x11;

pub use error::{Error, Failure};

/// A limitation of drivers that have no other way to a browser.
const BROWSER_BY_KEYBOARD: &str =
    "browser verbs are done by keyboard in the browser window that has it; pages are not read";

/// An action, ready to be performed: its targets are points, its secret is at hand.
#[derive(Debug)]
pub struct Work {
    /// By which its caller knows it; `None` for what a driver does by itself.
    pub id: Option<ActionId>,
    pub action: Action<CapturePoint>,
    /// What a `Text::Secret` of the action stands for. It is entered as keys and by nothing else.
    pub secret: Option<SecretString>,
    /// The windows that it may be entered into, looked at just before; any other is [`Error::WrongWindow`].
    pub only_into: Arc<[WindowPattern]>,
    /// Who knows the page that has the keyboard; nobody where no browser is listened to.
    pub page: Option<Arc<dyn FocusedPage>>,
}

/// Knows which page of a browser has the keyboard.
pub trait FocusedPage: fmt::Debug + Send + Sync {
    /// Its address; `None` if no page's document has it. Waits, so that it must not be called from an async task.
    ///
    /// # Errors
    /// If the browser cannot be reached or does not answer.
    fn address(&self) -> Result<Option<Url>, Error>;
}

impl From<Action<CapturePoint>> for Work {
    fn from(action: Action<CapturePoint>) -> Self {
        Self {
            id: None,
            action,
            secret: None,
            only_into: Arc::new([]),
            page: None,
        }
    }
}

/// What is known of an action that has been performed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Performed {
    /// Where the pointer was read back afterwards; `None` where the platform does not tell.
    pub pointer: Option<CapturePoint>,
    /// How it was done, where that is not obvious. For people.
    pub note: Option<String>,
}

/// What a driver can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The driver's name in configuration (`x11`, `enigo`, `recording`).
    pub driver: &'static str,
    pub kinds: Vec<ActionKind>,
    /// What it does otherwise than one would expect, in sentences.
    pub limitations: Vec<String>,
}

/// What a person does, until it is dropped or an error ends it. What a slow reader does not take in time is left out.
pub type HumanWatch = mpsc::Receiver<Result<HumanInput, Error>>;

/// The hands on one display.
#[async_trait]
pub trait Driver: Send + Sync + fmt::Debug {
    /// What this driver can do.
    fn capabilities(&self) -> Capabilities;

    /// The extent of the display, in the pixels in which targets are given.
    ///
    /// # Errors
    /// If the display cannot be reached or does not answer.
    async fn size(&self) -> Result<CaptureSize, Error>;

    /// Performs one action.
    ///
    /// Once `stop` is cancelled no further input is sent: at most 100 ms later the call ends with
    /// [`Error::Stopped`] and nothing is pressed any more. Dropping the future stops as well.
    ///
    /// # Errors
    /// If the action could not be carried out whole; the failure says why, and whether anything had been sent.
    async fn perform(&self, work: Work, stop: &CancellationToken) -> Result<Performed, Failure>;

    /// Where the pointer is.
    ///
    /// # Errors
    /// If the display cannot be reached or does not answer.
    async fn pointer(&self) -> Result<CapturePoint, Error>;

    /// Releases every key and button that is down, whoever pressed it, and names them.
    ///
    /// # Errors
    /// If the display cannot be reached or does not answer.
    async fn release_all(&self) -> Result<Vec<String>, Error>;

    /// Begins to tell what a person does, from when this returns; `None` where the platform does not tell.
    ///
    /// # Errors
    /// If the display cannot be reached or does not answer.
    async fn watch_human(&self) -> Result<Option<HumanWatch>, Error> {
        Ok(None)
    }

    /// The page in front of the browser, with at most so many characters of its text; `None` where no browser is
    /// listened to.
    ///
    /// # Errors
    /// If the browser cannot be reached, or has no page that answers.
    async fn read_page(&self, _max_characters: usize) -> Result<Option<PageText>, Error> {
        Ok(None)
    }

    /// Leaves the display as it was found, at the end of the process. A later call begins anew.
    async fn close(&self);
}
