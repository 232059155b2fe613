//! Errors of drivers.
//!
//! They are not mapped to gRPC statuses here but in the error of the service.

use std::time::Duration;

use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

/// The reason a driver did not, or not completely, perform an action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The display does not exist or refuses the connection.
    #[error(
        "cannot connect to the display `{display}`: {cause}; start it, or configure another one"
    )]
    NoDisplay { display: String, cause: String },
    /// The connection was lost.
    #[error("the connection to the display `{display}` was lost: {cause}")]
    DisplayLost { display: String, cause: String },
    /// The display server does not respond.
    #[error("the display `{display}` did not respond within {} ms", timeout.as_millis())]
    DisplayTimedOut { display: String, timeout: Duration },
    /// The display server rejected a request.
    #[error("the display server rejected a request: {cause}")]
    Rejected { cause: String },
    /// A target outside the display. Platforms silently clamp such points to the edge.
    #[error("({}, {}) is outside the display of {}x{} pixels", point.x, point.y, size.width, size.height)]
    OutOfBounds {
        point: CapturePoint,
        size: CaptureSize,
    },
    /// The action is invalid, such as a drag with one point or four clicks.
    #[error("{what}")]
    InvalidAction { what: String },
    /// The display's keyboard cannot produce the key.
    #[error("the display's keyboard has no key for `{key}`")]
    UnknownKey { key: String },
    /// The text cannot be entered exactly. The message never reveals a character of a secret.
    #[error("the text cannot be entered: {why}")]
    TextNotTypable { why: String },
    /// Another program holds a modifier key, and it cannot be released.
    #[error(
        "a modifier key is held down by another program, which would change the meaning of keys"
    )]
    ModifierHeld,
    /// A user or another program pressed a modifier key while a text was typed.
    #[error(
        "a modifier key was pressed by a user or another program during typing, and part of the text may have become \
         commands; check what arrived"
    )]
    ModifierDuringText,
    /// A menu of the desktop, or another program, gets all keys.
    #[error(
        "another program, such as a menu of the desktop, has taken the keyboard during typing; check what arrived"
    )]
    KeyboardGrabbed,
    /// The focused window did not request the text offered on the clipboard.
    #[error("the window did not paste the text within {} ms; it may forbid pasting", waited.as_millis())]
    PasteTimedOut { waited: Duration },
    /// Another program replaced the clipboard before the window had fetched the text.
    #[error("another program replaced the clipboard during the paste; check what was pasted")]
    ClipboardReplaced,
    /// The clipboard selection could not be acquired.
    #[error("the clipboard cannot be acquired: {cause}")]
    ClipboardRefused { cause: String },
    /// No window matches the selector.
    #[error("no window found {selector}")]
    WindowNotFound { selector: String },
    /// The window manager did not activate the window.
    #[error("the window {selector} did not become active within {} ms", waited.as_millis())]
    WindowNotFocused { selector: String, waited: Duration },
    /// The application does not process its input, so keys that are remapped for it cannot be remapped again.
    #[error("the active window did not process its input within {} ms; the application may hang", waited.as_millis())]
    WindowNotResponding { waited: Duration },
    /// Another window took the focus while a text was being typed.
    #[error("another window (`{application}`) took the focus during typing")]
    FocusLost { application: String },
    /// A browser action while another application has the focus.
    #[error("the active window (`{application}`) is not a browser; focus a browser window first")]
    NotABrowser { application: String },
    /// No browser responds at the DevTools URL.
    #[error(
        "no browser responds at {endpoint}: {cause}; open one with an `open_url` action, or start it with --remote-debugging-port"
    )]
    BrowserUnreachable { endpoint: String, cause: String },
    /// The connection to the browser was lost.
    #[error("the connection to the browser was lost")]
    BrowserDisconnected,
    /// The browser has no page.
    #[error("the browser has no page open; open one with an `open_url` action")]
    NoPage,
    /// The page does not respond.
    #[error("the page in the browser did not respond within {} ms; it may show a dialog or hang", waited.as_millis())]
    PageNotResponding { waited: Duration },
    /// The page navigates away before it has responded, repeatedly.
    #[error("the page in the browser kept navigating for {} ms: {cause}", waited.as_millis())]
    PageUnstable { waited: Duration, cause: String },
    /// The browser rejected a DevTools call.
    #[error("the browser rejected the call: {cause}")]
    BrowserRefused { cause: String },
    /// The URL could not be loaded.
    #[error("{url} could not be loaded: {cause}")]
    PageNotLoaded { url: String, cause: String },
    /// The page asks whether it may be left. The question is on the screen.
    #[error(
        "the page asks whether it may be left, because something in it may not be saved; answer the question on the screen"
    )]
    LeavingQuestioned,
    /// There is no history entry in this direction.
    #[error("the page has no history entry to go {way} to")]
    NoHistory { way: &'static str },
    /// The application is not configured.
    #[error("unknown application `{name}`; available: {known}")]
    UnknownApplication { name: String, known: String },
    /// The program could not be started.
    #[error("`{program}` cannot be started: {cause}")]
    LaunchFailed { program: String, cause: String },
    /// A browser of another host uses the profile.
    #[error(
        "the browser profile {profile} is in use by a browser on `{host}`; close that one, or use another profile \
         (--user-data-dir)"
    )]
    ProfileInUse { profile: String, host: String },
    /// The driver does not support the action.
    #[error("the driver `{driver}` cannot {what}")]
    Unsupported { driver: &'static str, what: String },
    /// The focused window is not an allowed window of the secret. Nothing was sent.
    #[error(
        "the focused window ({window}) is not an allowed window of the secret; allowed: {allowed}"
    )]
    WindowNotAllowed { window: String, allowed: String },
    /// On the current layout the keys press a forbidden chord. Nothing was sent.
    #[error("on this keyboard layout the keys press the forbidden key combination {chord}")]
    ChordForbidden { chord: String },
    /// The limit of watchers is reached; each takes a thread.
    #[error("the limit of {max} watchers of user input is reached; close one, or try again later")]
    TooManyWatchers { max: usize },
    /// The action was stopped before it was complete.
    #[error("stopped before the action was complete; everything is released")]
    Stopped,
    /// The driver's thread has panicked.
    #[error("the driver has terminated")]
    DriverTerminated,
}

impl Error {
    /// Returns whether the display caused the error, so that a later retry may succeed.
    #[must_use]
    pub fn is_display(&self) -> bool {
        matches!(
            self,
            Error::NoDisplay { .. } | Error::DisplayLost { .. } | Error::DisplayTimedOut { .. }
        )
    }
}

/// A failed or incomplete action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct DriverFailure {
    #[source]
    pub error: Error,
    /// Some of the action's input had been sent. Otherwise the action had no effect.
    pub input_sent: bool,
}

impl From<Error> for DriverFailure {
    /// Creates a failure before any input was sent.
    fn from(error: Error) -> Self {
        Self {
            error,
            input_sent: false,
        }
    }
}
