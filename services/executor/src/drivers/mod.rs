//! Drivers: they perform actions on a display.
//!
//! A driver performs exactly the given action or returns an error. It checks no rules, owns no lease and keeps no
//! journal: the guard does that before it calls the driver.
//!
//! Invariant: however an action ends (done, failed, stopped, caller gone), the driver releases every key and button
//! that the action pressed. The one exception is the button of a successful `MouseDown`.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::{ClipboardText, HumanInput, PageText};
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::clipboard_content::ClipboardContent;
use crate::guard::allowed_windows::WindowPattern;
use crate::guard::rules::Chord;

#[cfg(target_os = "linux")]
mod browser_profile;
pub mod clipboard_content;
pub mod devtools;
mod error;
mod gesture;
mod input_space;
pub mod launch;
mod pause;
#[cfg(feature = "driver-enigo")]
pub mod portable;
mod program;
pub mod recording;
#[cfg(target_os = "linux")]
pub mod x11;

pub use error::{DriverFailure, Error};

/// Limitation of drivers without DevTools access to the browser.
const KEYBOARD_BROWSER_LIMITATION: &str =
    "browser actions are sent as keys to the focused browser window; pages cannot be read";

/// An action ready to be performed: its targets are points, and its secret is resolved.
#[derive(Debug)]
pub struct PreparedAction {
    /// The caller's action id; `None` for actions that a driver starts itself.
    pub id: Option<ActionId>,
    pub action: Action<CapturePoint>,
    /// Value of the action's `Text::Secret`. It is entered as key events only.
    pub secret: Option<SecretString>,
    /// Allowed windows of the secret, checked just before typing. Any other window is [`Error::WindowNotAllowed`].
    pub allowed_windows: Arc<[WindowPattern]>,
    /// Chords that must not be pressed, compared on the current layout just before: [`Error::ChordForbidden`]. Drivers
    /// that do not know the layout rely on the comparison by name before them.
    pub forbidden_chords: Arc<[Chord]>,
    /// Source of the focused page's URL; `None` without DevTools.
    pub focused_page: Option<Arc<dyn FocusedPage>>,
}

/// Reports which page of a browser has the keyboard focus.
pub trait FocusedPage: fmt::Debug + Send + Sync {
    /// Returns the URL of the focused page; `None` if no page has the focus. Blocks, so it must not be called from an
    /// async task.
    ///
    /// # Errors
    /// If the browser cannot be reached or does not respond.
    fn url(&self) -> Result<Option<Url>, Error>;
}

impl From<Action<CapturePoint>> for PreparedAction {
    fn from(action: Action<CapturePoint>) -> Self {
        Self {
            id: None,
            action,
            secret: None,
            allowed_windows: Arc::new([]),
            forbidden_chords: Arc::new([]),
            focused_page: None,
        }
    }
}

/// The result of a performed action.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DriverOutcome {
    /// Position of the pointer read back afterwards; `None` if the platform does not report it.
    pub pointer: Option<CapturePoint>,
    /// Way in which it was performed, if that is not obvious. For people.
    pub note: Option<String>,
}

/// Capabilities of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Name of the driver in the configuration (`x11`, `enigo`, `recording`).
    pub driver: &'static str,
    pub kinds: Vec<ActionKind>,
    /// Known limitations, as sentences.
    pub limitations: Vec<String>,
}

/// Stream of user input, until it is dropped or an error ends it. Events are dropped if the reader is too slow.
pub type HumanInputReceiver = mpsc::Receiver<Result<HumanInput, Error>>;

/// A driver of one display.
#[async_trait]
pub trait Driver: Send + Sync + fmt::Debug {
    /// Returns what this driver can do.
    fn capabilities(&self) -> Capabilities;

    /// Returns the size of the display in capture pixels.
    ///
    /// # Errors
    /// If the display cannot be reached or does not respond.
    async fn size(&self) -> Result<CaptureSize, Error>;

    /// Performs one action.
    ///
    /// Once `stop` is cancelled no further input is sent: within 100 ms the call returns [`Error::Stopped`] with
    /// everything released. Dropping the future also stops the action.
    ///
    /// # Errors
    /// If the action failed or was incomplete. The failure tells why, and whether any input was sent.
    async fn perform(
        &self,
        work: PreparedAction,
        stop: &CancellationToken,
    ) -> Result<DriverOutcome, DriverFailure>;

    /// Returns the position of the pointer.
    ///
    /// # Errors
    /// If the display cannot be reached or does not respond.
    async fn pointer(&self) -> Result<CapturePoint, Error>;

    /// Releases every pressed key and button, whichever program pressed it, and returns their names.
    ///
    /// # Errors
    /// If the display cannot be reached or does not respond.
    async fn release_all(&self) -> Result<Vec<String>, Error>;

    /// Starts to report user input; `None` if the platform does not support it. Reporting is active when this returns.
    ///
    /// # Errors
    /// If the display cannot be reached or does not respond.
    async fn watch_human(&self) -> Result<Option<HumanInputReceiver>, Error> {
        Ok(None)
    }

    /// Reads the browser's current page, with up to `max_characters` of its text; `None` without DevTools.
    ///
    /// # Errors
    /// If the browser cannot be reached, or has no responsive page.
    async fn read_page(&self, _max_characters: usize) -> Result<Option<PageText>, Error> {
        Ok(None)
    }

    /// Reads the text of the clipboard, withheld if its program marks it as a secret; `None` if the platform does not support it.
    ///
    /// # Errors
    /// If the display cannot be reached or does not respond.
    async fn read_clipboard(&self) -> Result<Option<ClipboardText>, Error> {
        Ok(None)
    }

    /// Returns whether a program has copied something since the last keys that may copy; `None` if the platform does not
    /// report it.
    ///
    /// # Errors
    /// If the display cannot be reached or does not respond.
    async fn has_copied(&self) -> Result<Option<bool>, Error> {
        Ok(None)
    }

    /// Restores the clipboard, and returns the content that would be lost with this process; empty on platforms that
    /// keep the content themselves. Called before [`Driver::close`].
    ///
    /// # Errors
    /// If the display cannot be reached or does not respond.
    async fn remaining_clipboard(&self) -> Result<ClipboardContent, Error> {
        Ok(ClipboardContent::default())
    }

    /// Restores the display, at the end of the process. A later call connects again.
    async fn close(&self);
}
