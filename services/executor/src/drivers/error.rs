//! What can go wrong under a driver's hands.

use std::time::Duration;

use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

/// Why a driver did not do, or not wholly do, what it was told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no display of that name, or it does not let us in.
    #[error("no display `{display}`: {cause}; start it, or name another one in the configuration")]
    NoDisplay { display: String, cause: String },
    /// The connection broke while it was in use.
    #[error("the display `{display}` went away: {cause}")]
    DisplayLost { display: String, cause: String },
    /// The server is there and says nothing.
    #[error("the display `{display}` did not answer within {} ms", patience.as_millis())]
    DisplayTimedOut { display: String, patience: Duration },
    /// The display server refused a request of ours.
    #[error("the display server refused a request: {cause}")]
    Rejected { cause: String },
    /// A target outside of the display. The platforms move such a point to the edge without a word.
    #[error("({}, {}) is outside of the display of {}x{} pixels", point.x, point.y, size.width, size.height)]
    OutOfFrame {
        point: CapturePoint,
        size: CaptureSize,
    },
    /// The action contradicts itself (a drag of one point, four clicks).
    #[error("{what}")]
    Malformed { what: String },
    /// A key that this display has no way to press.
    #[error("no key of this display gives `{key}`")]
    UnknownKey { key: String },
    /// Text that cannot be entered exactly. Never says which character of a secret.
    #[error("the text cannot be entered: {why}")]
    TextNotTypable { why: String },
    /// Somebody else holds a modifier and it does not let itself be released.
    #[error("a modifier key is held down by somebody else, so that keys would mean something else")]
    ModifierHeld,
    /// The window with the keyboard did not fetch the text that was offered to it.
    #[error("the window did not take the text from the clipboard within {} ms; it may forbid pasting", waited.as_millis())]
    PasteNotTaken { waited: Duration },
    /// Somebody copied something else before the window had fetched the text that was offered to it.
    #[error(
        "another program put something else on the clipboard during the paste; look at what the window took"
    )]
    ClipboardTakenOver,
    /// The clipboard could not be taken over.
    #[error("the clipboard cannot be taken: {cause}")]
    ClipboardRefused { cause: String },
    /// No window is like that.
    #[error("no window {selector}")]
    WindowNotFound { selector: String },
    /// The window manager did not bring the window to the front.
    #[error("the window {selector} did not become active within {} ms", waited.as_millis())]
    WindowNotFocused { selector: String, waited: Duration },
    /// The application does not read its input, so that keys lent to its text cannot be lent to the rest.
    #[error("the active window has not read its input within {} ms; the application may hang", waited.as_millis())]
    WindowNotResponding { waited: Duration },
    /// Another window took the keyboard while a text was being entered.
    #[error("the keyboard went to another window (`{application}`) in the middle of the text")]
    FocusLost { application: String },
    /// A browser verb while something else is in front.
    #[error("the active window (`{application}`) is not a browser; focus a browser window first")]
    NoBrowser { application: String },
    /// No browser answers where its DevTools should listen.
    #[error(
        "no browser answers at {endpoint}: {cause}; open one with an `open_url` action, or start it with --remote-debugging-port"
    )]
    BrowserUnreachable { endpoint: String, cause: String },
    /// The browser went away while it was being talked to.
    #[error("the browser went away")]
    BrowserGone,
    /// The browser is there without a page.
    #[error("the browser has no page open; open one with an `open_url` action")]
    NoPage,
    /// The page does nothing that it is asked for.
    #[error("the page in the browser has not answered within {} ms; it may show a dialog or hang", waited.as_millis())]
    PageSilent { waited: Duration },
    /// The page goes away before it has answered, and so do those that come after it.
    #[error("no page in the browser has stayed for long enough to be asked within {} ms: {cause}", waited.as_millis())]
    PageRestless { waited: Duration, cause: String },
    /// The browser does not know how to do what it was asked.
    #[error("the browser refused: {cause}")]
    BrowserRefused { cause: String },
    /// Nothing came from an address.
    #[error("{url} could not be loaded: {cause}")]
    PageNotLoaded { url: String, cause: String },
    /// The history ends there.
    #[error("the page has no history to go {way} to")]
    NoHistory { way: &'static str },
    /// An application that is not in the list.
    #[error("no application is called `{name}`; known are: {known}")]
    UnknownApplication { name: String, known: String },
    /// The program of an application or of the browser did not start.
    #[error("`{program}` cannot be started: {cause}")]
    LaunchFailed { program: String, cause: String },
    /// This driver cannot do that.
    #[error("the driver `{driver}` cannot {what}")]
    Unsupported { driver: &'static str, what: String },
    /// A secret, and a window that it may not go into. Nothing was sent.
    #[error(
        "the window with the keyboard ({window}) is none of those that the secret may go into: {allowed}"
    )]
    WrongWindow { window: String, allowed: String },
    /// Each watcher takes a thread.
    #[error(
        "{most} watch already what a person does, and no more can: close one, or try again later"
    )]
    TooManyWatchers { most: usize },
    /// The action was stopped in the middle.
    #[error("stopped before the action was complete; nothing is left pressed")]
    Stopped,
    /// The driver's own thread is gone: a defect.
    #[error("the driver has ended")]
    DriverGone,
}

impl Error {
    /// Whether the display is at fault, so that another attempt at another time may succeed.
    #[must_use]
    pub fn is_display(&self) -> bool {
        matches!(
            self,
            Error::NoDisplay { .. } | Error::DisplayLost { .. } | Error::DisplayTimedOut { .. }
        )
    }
}

/// An action that was not carried out whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    #[source]
    pub error: Error,
    /// Whether the display had been sent any of the action's input before. If not, it is as if the action had never
    /// been asked for.
    pub input_sent: bool,
}

impl From<Error> for Failure {
    /// A failure before anything was sent.
    fn from(error: Error) -> Self {
        Self {
            error,
            input_sent: false,
        }
    }
}
