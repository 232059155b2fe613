//! The focused window, and activating windows.
//!
//! The list of all windows is not made here but in the crate `motorium_x11`.

use std::time::Duration;

use motorium_proto::domain::action::WindowSelector;
use motorium_proto::domain::frame::{is_browser, is_same_application};
use motorium_x11::Connection;
use motorium_x11::windows::{self, WindowInfo};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask, InputFocus,
    Window,
};

use super::connection::OrDisplayError;
use crate::drivers::pause::{check, pause};
use crate::drivers::{Error, FocusedPage, PreparedAction};
use crate::guard::allowed_windows::WindowPattern;

/// Timeout for the window manager to activate a window.
// A loaded machine maps and activates a window of a starting program late.
const FOCUS_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for an application to answer a ping. An application that is busy with its start, or needs 150 ms for each key
/// of a text, answers late and still reads everything.
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Delay for applications without ping support to read what was typed.
const NO_PING_DELAY: Duration = Duration::from_millis(250);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Maximum number of ancestors that are searched for a window's class, title or protocols.
// Real windows are nested a few levels deep; bounds the calls for a window that changes meanwhile.
const MAX_ANCESTORS: usize = 16;
/// Source indication of a user request (EWMH: a pager), which window managers obey.
const SOURCE_USER: u32 = 2;

/// The focused window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Focused {
    pub(super) window: Window,
    /// The application's top-level window that is or contains it.
    top_level: Window,
    /// Class of the application; empty if it has none.
    pub(super) application: String,
}

/// Returns the focused window; `None` if the focus follows the pointer or nothing has it.
pub(super) fn focused(link: &Connection) -> Result<Option<Focused>, Error> {
    let focus = link
        .x
        .get_input_focus()
        .or_display_error(link)?
        .reply()
        .or_display_error(link)?
        .focus;
    if focus == u32::from(u8::from(InputFocus::NONE))
        || focus == u32::from(u8::from(InputFocus::POINTER_ROOT))
    {
        return Ok(None);
    }
    // Toolkits often focus a child window of the one that has the class.
    let mut window = focus;
    for _ in 0..MAX_ANCESTORS {
        if let Some(application) = windows::application(link, window).or_display_error(link)? {
            return Ok(Some(Focused {
                window: focus,
                top_level: window,
                application,
            }));
        }
        let Some(parent) = windows::parent(link, window).or_display_error(link)? else {
            break;
        };
        window = parent;
    }
    Ok(Some(Focused {
        window: focus,
        top_level: focus,
        application: String::new(),
    }))
}

/// Target of a typed text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextTarget<'a> {
    /// The focused window at the start of the text.
    pub(super) window: Option<&'a Focused>,
    /// The action of a secret text, with its allowed windows.
    pub(super) secret: Option<&'a PreparedAction>,
}

impl TextTarget<'_> {
    /// Returns the application of the window that has the focus now, if it is another one.
    pub(super) fn successor(&self, link: &Connection) -> Result<Option<String>, Error> {
        let Some(before) = self.window else {
            return Ok(None);
        };
        let now = focused(link)?;
        // A toolkit may move the focus within its top-level window during typing.
        if now.as_ref().map(|now| now.top_level) == Some(before.top_level) {
            return Ok(None);
        }
        Ok(Some(
            now.map(|focused| focused.application).unwrap_or_default(),
        ))
    }

    /// Fails if the focus has moved to another window or nowhere, or to a window that is not allowed for the secret.
    pub(super) fn check(&self, link: &Connection) -> Result<(), Error> {
        if let Some(application) = self.successor(link)? {
            return Err(Error::FocusLost { application });
        }
        match self.secret {
            Some(PreparedAction {
                allowed_windows: allowed,
                focused_page: page,
                ..
            }) => check_allowed_window(link, allowed, page.as_deref()),
            None => Ok(()),
        }
    }
}

/// Fails if neither the focused window nor the focused page is allowed for the secret.
fn check_allowed_window(
    link: &Connection,
    allowed: &[WindowPattern],
    page: Option<&dyn FocusedPage>,
) -> Result<(), Error> {
    let focused = focused(link)?;
    let title = match &focused {
        Some(focused) => title_above(link, focused.window)?,
        None => String::new(),
    };
    let application = focused.map(|focused| focused.application);
    let application = application.unwrap_or_default();
    if allowed
        .iter()
        .any(|window| window.matches(&application, &title))
    {
        return Ok(());
    }
    let wants_page = allowed
        .iter()
        .any(|one| matches!(one, WindowPattern::Url(_)));
    let address = match page.filter(|_| wants_page && is_browser(&application)) {
        Some(page) => page.url()?,
        None => None,
    };
    if let Some(address) = &address
        && allowed.iter().any(|one| one.matches_url(address))
    {
        return Ok(());
    }
    let names: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    let host = address.as_ref().and_then(|address| address.host_str());
    let host = host.map(|host| format!(", {host}")).unwrap_or_default();
    Err(Error::WindowNotAllowed {
        window: format!("`{application}`, \"{title}\"{host}"),
        allowed: names.join(", "),
    })
}

/// Waits until the focused application has handled all input that was sent to it.
///
/// Applications answer a ping (EWMH) in order with their input. For applications without ping support a fixed delay is
/// used.
pub(super) fn wait_for_application(
    link: &Connection,
    stop: &CancellationToken,
) -> Result<(), Error> {
    match pingable(link)? {
        Some(window) => ping(link, window, stop),
        None => pause(NO_PING_DELAY, stop),
    }
}

/// Waits until the focused application has read a text, and returns whether it has. One that cannot be asked counts as
/// having read it.
pub(super) fn wait_until_read(link: &Connection, stop: &CancellationToken) -> Result<bool, Error> {
    let Some(window) = pingable(link)? else {
        return Ok(true);
    };
    match ping(link, window, stop) {
        Err(Error::WindowNotResponding { .. }) => Ok(false),
        answered => answered.map(|()| true),
    }
}

fn ping(link: &Connection, window: Window, stop: &CancellationToken) -> Result<(), Error> {
    let ping = [link.atoms._NET_WM_PING, 0, window, 0, 0];
    let message = ClientMessageEvent::new(32, window, link.atoms.WM_PROTOCOLS, ping);
    let listen = |events| {
        let attributes = ChangeWindowAttributesAux::new().event_mask(events);
        let changed = link.x.change_window_attributes(link.root, &attributes);
        changed.or_display_error(link).map(|_| ())
    };
    // Pongs are sent to the root window.
    listen(EventMask::SUBSTRUCTURE_NOTIFY)?;
    link.x
        .send_event(false, window, EventMask::NO_EVENT, message)
        .or_display_error(link)?;
    let answered = wait_for_pong(link, window, stop);
    listen(EventMask::NO_EVENT)?;
    answered
}

fn wait_for_pong(link: &Connection, window: Window, stop: &CancellationToken) -> Result<(), Error> {
    let end = Instant::now() + PING_TIMEOUT;
    link.flush().or_display_error(link)?;
    loop {
        while let Some(event) = link.x.poll_for_event().or_display_error(link)? {
            if let Event::ClientMessage(message) = event
                && message.type_ == link.atoms.WM_PROTOCOLS
                && message.data.as_data32()[0] == link.atoms._NET_WM_PING
                && message.data.as_data32()[2] == window
            {
                return Ok(());
            }
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::WindowNotResponding {
                waited: PING_TIMEOUT,
            });
        }
        check(stop)?;
        link.wait(None, Some(left.min(POLL_INTERVAL)))
            .or_display_error(link)?;
    }
}

/// Returns the focused window or its nearest ancestor that supports pings.
fn pingable(link: &Connection) -> Result<Option<Window>, Error> {
    let Some(focused) = focused(link)? else {
        return Ok(None);
    };
    let mut window = focused.window;
    for _ in 0..MAX_ANCESTORS {
        let is_pingable = windows::supports(link, window, link.atoms._NET_WM_PING);
        if is_pingable.or_display_error(link)? {
            return Ok(Some(window));
        }
        let Some(parent) = windows::parent(link, window).or_display_error(link)? else {
            break;
        };
        window = parent;
    }
    Ok(None)
}

/// Activates a window and waits until it is active.
pub(super) fn focus(
    link: &Connection,
    selector: &WindowSelector,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let window = find(link, selector)?.ok_or_else(|| Error::WindowNotFound {
        selector: description(selector),
    })?;
    let message = ClientMessageEvent::new(
        32,
        window,
        link.atoms._NET_ACTIVE_WINDOW,
        [SOURCE_USER, 0, 0, 0, 0],
    );
    let to_manager = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
    link.x
        .send_event(false, link.root, to_manager, message)
        .or_display_error(link)?;
    link.flush().or_display_error(link)?;
    let end = Instant::now() + FOCUS_TIMEOUT;
    while windows::active(link).or_display_error(link)? != Some(window) {
        if Instant::now() >= end {
            return Err(Error::WindowNotFocused {
                selector: description(selector),
                waited: FOCUS_TIMEOUT,
            });
        }
        pause(POLL_INTERVAL, stop)?;
    }
    Ok(())
}

/// Returns the topmost window that matches the selector.
fn find(link: &Connection, selector: &WindowSelector) -> Result<Option<Window>, Error> {
    let listed = windows::clients(link).or_display_error(link)?.windows;
    let found = windows::describe(link, listed.into_iter().rev()).or_display_error(link)?;
    let selected = found
        .into_iter()
        .find(|window| is_selected(selector, window));
    Ok(selected.map(|window| window.id))
}

fn is_selected(selector: &WindowSelector, window: &WindowInfo) -> bool {
    match selector {
        WindowSelector::Id(id) => parse_id(id) == Some(window.id),
        WindowSelector::Title(part) => window.title.to_lowercase().contains(&part.to_lowercase()),
        WindowSelector::Application(name) => is_same_application(&window.application, name),
    }
}

/// Parses a window id: decimal, or hexadecimal as printed by the X tools.
fn parse_id(id: &str) -> Option<Window> {
    match id.strip_prefix("0x") {
        Some(digits) => Window::from_str_radix(digits, 16).ok(),
        None => id.parse().ok(),
    }
}

/// Returns the title of a window, or of its nearest ancestor with one: toolkits may focus child windows.
fn title_above(link: &Connection, window: Window) -> Result<String, Error> {
    let mut window = window;
    for _ in 0..MAX_ANCESTORS {
        let title = windows::title(link, window).or_display_error(link)?;
        if !title.is_empty() {
            return Ok(title);
        }
        let Some(parent) = windows::parent(link, window).or_display_error(link)? else {
            break;
        };
        window = parent;
    }
    Ok(String::new())
}

fn description(selector: &WindowSelector) -> String {
    match selector {
        WindowSelector::Id(id) => format!("with the identifier `{id}`"),
        WindowSelector::Title(part) => format!("with `{part}` in its title"),
        WindowSelector::Application(name) => format!("of the application `{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_decimal_or_hexadecimal() {
        assert_eq!(parse_id("41943043"), Some(41_943_043));
        assert_eq!(parse_id("0x2800003"), Some(41_943_043));
        assert_eq!(parse_id("window"), None);
    }
}
