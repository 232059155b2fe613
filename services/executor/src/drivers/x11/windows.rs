//! Windows, as the window manager tells of them (EWMH), and which of them has the keyboard.

use std::time::Duration;

use motorium_proto::domain::action::WindowSelector;
use motorium_proto::domain::frame::is_browser;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x11rb::connection::Connection as _;
use x11rb::properties::WmClass;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask,
    GetPropertyReply, InputFocus, Window,
};

use super::link::{Link, OrLost};
use crate::drivers::pause::{check, pause};
use crate::drivers::{Error, FocusedPage, Work};
use crate::guard::targets::WindowPattern;

x11rb::atom_manager! {
    /// The window manager's properties.
    pub(super) Atoms: AtomsCookie {
        _NET_ACTIVE_WINDOW,
        _NET_CLIENT_LIST,
        _NET_CLIENT_LIST_STACKING,
        _NET_WM_NAME,
        _NET_WM_PING,
        XdndSelection,
        WM_PROTOCOLS,
        XIM_SERVERS,
        UTF8_STRING,
    }
}

/// How long the window manager is given to bring a window to the front.
const FOCUS_PATIENCE: Duration = Duration::from_secs(5);
/// How long an application is given to answer a ping.
const PING_PATIENCE: Duration = Duration::from_secs(3);
/// How long applications that take no pings are given to read what was typed.
const WITHOUT_PING: Duration = Duration::from_millis(250);
/// Between two looks at whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Longest property that is read, in units of four bytes.
const LONGEST_PROPERTY: u32 = 64 * 1024;
/// A window's class stands on it or on one of so many windows above it.
const DEEPEST: usize = 16;
/// The source of a request that counts as the user's own wish (EWMH: a pager).
const SOURCE_USER: u32 = 2;

/// The window that has the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Focused {
    pub(super) window: Window,
    /// The application's window that it is, or is in.
    top: Window,
    /// The application's class, empty if it has none.
    pub(super) application: String,
}

/// Looks up the atoms that this module needs.
pub(super) fn look_up(link: &Link) -> Result<Atoms, Error> {
    Atoms::new(&link.x).or_lost(link)?.reply().or_lost(link)
}

/// The window that has the keyboard; `None` if it follows the pointer or nothing has it.
pub(super) fn focused(link: &Link) -> Result<Option<Focused>, Error> {
    let focus = link
        .x
        .get_input_focus()
        .or_lost(link)?
        .reply()
        .or_lost(link)?
        .focus;
    if focus == u32::from(u8::from(InputFocus::NONE))
        || focus == u32::from(u8::from(InputFocus::POINTER_ROOT))
    {
        return Ok(None);
    }
    // Toolkits often give the keyboard to a small window inside of the one that has the class.
    let mut window = focus;
    for _ in 0..DEEPEST {
        if let Some(application) = class(link, window)? {
            return Ok(Some(Focused {
                window: focus,
                top: window,
                application,
            }));
        }
        let Some(parent) = parent(link, window)? else {
            break;
        };
        window = parent;
    }
    Ok(Some(Focused {
        window: focus,
        top: focus,
        application: String::new(),
    }))
}

/// Who a text is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipient<'a> {
    /// What had the keyboard when the text began.
    pub(super) window: Option<&'a Focused>,
    /// If the text is a secret: where it may go.
    pub(super) secret: Option<&'a Work>,
}

impl Recipient<'_> {
    /// Refuses to go on when another window, or none, has the keyboard than before, or one that a secret may not go into.
    pub(super) fn check(&self, link: &Link, atoms: &Atoms) -> Result<(), Error> {
        if let Some(before) = self.window {
            let now = focused(link)?;
            // A toolkit may hand the keyboard on within its window while it is typed to.
            if now.as_ref().map(|now| now.top) != Some(before.top) {
                let application = now.map(|focused| focused.application).unwrap_or_default();
                return Err(Error::FocusLost { application });
            }
        }
        match self.secret {
            Some(Work {
                only_into, page, ..
            }) => check_target(link, atoms, only_into, page.as_deref()),
            None => Ok(()),
        }
    }
}

/// Refuses to enter a secret into a window, or a page of a browser's, that is none of these.
fn check_target(
    link: &Link,
    atoms: &Atoms,
    allowed: &[WindowPattern],
    page: Option<&dyn FocusedPage>,
) -> Result<(), Error> {
    let focused = focused(link)?;
    let title = match &focused {
        Some(focused) => title_above(link, atoms, focused.window)?,
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
        Some(page) => page.address()?,
        None => None,
    };
    if let Some(address) = &address
        && allowed.iter().any(|one| one.matches_page(address))
    {
        return Ok(());
    }
    let names: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    let host = address.as_ref().and_then(|address| address.host_str());
    let host = host.map(|host| format!(", {host}")).unwrap_or_default();
    Err(Error::WrongWindow {
        window: format!("`{application}`, \"{title}\"{host}"),
        allowed: names.join(", "),
    })
}

/// Waits until the application that has the keyboard has handled everything that was sent to it so far.
///
/// It is asked by a ping (EWMH), which it answers in its turn. Where the application does not take pings a fixed time
/// is waited instead.
pub(super) fn await_application(
    link: &Link,
    atoms: &Atoms,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let Some(window) = pingable(link, atoms)? else {
        return pause(WITHOUT_PING, stop);
    };
    let ping = [atoms._NET_WM_PING, 0, window, 0, 0];
    let message = ClientMessageEvent::new(32, window, atoms.WM_PROTOCOLS, ping);
    let listen = |events| {
        let attributes = ChangeWindowAttributesAux::new().event_mask(events);
        let changed = link.x.change_window_attributes(link.root, &attributes);
        changed.or_lost(link).map(|_| ())
    };
    // Answers are sent to the root window.
    listen(EventMask::SUBSTRUCTURE_NOTIFY)?;
    link.x
        .send_event(false, window, EventMask::NO_EVENT, message)
        .or_lost(link)?;
    let answered = await_pong(link, atoms, window, stop);
    listen(EventMask::NO_EVENT)?;
    answered
}

fn await_pong(
    link: &Link,
    atoms: &Atoms,
    window: Window,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let end = Instant::now() + PING_PATIENCE;
    link.flush()?;
    loop {
        while let Some(event) = link.x.poll_for_event().or_lost(link)? {
            if let Event::ClientMessage(message) = event
                && message.type_ == atoms.WM_PROTOCOLS
                && message.data.as_data32()[0] == atoms._NET_WM_PING
                && message.data.as_data32()[2] == window
            {
                return Ok(());
            }
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::WindowNotResponding {
                waited: PING_PATIENCE,
            });
        }
        check(stop)?;
        link.wait(None, Some(left.min(LOOK_AGAIN)))?;
    }
}

/// The window with the keyboard, or the one above it, that takes pings.
fn pingable(link: &Link, atoms: &Atoms) -> Result<Option<Window>, Error> {
    let Some(focused) = focused(link)? else {
        return Ok(None);
    };
    let mut window = focused.window;
    for _ in 0..DEEPEST {
        let protocols = property(link, window, atoms.WM_PROTOCOLS, AtomEnum::ATOM.into())?;
        if protocols
            .value32()
            .into_iter()
            .flatten()
            .any(|protocol| protocol == atoms._NET_WM_PING)
        {
            return Ok(Some(window));
        }
        let Some(parent) = parent(link, window)? else {
            break;
        };
        window = parent;
    }
    Ok(None)
}

/// Brings a window to the front, gives it the keyboard and waits until it has it.
pub(super) fn focus(
    link: &Link,
    atoms: &Atoms,
    selector: &WindowSelector,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let window = find(link, atoms, selector)?.ok_or_else(|| Error::WindowNotFound {
        selector: description(selector),
    })?;
    let message = ClientMessageEvent::new(
        32,
        window,
        atoms._NET_ACTIVE_WINDOW,
        [SOURCE_USER, 0, 0, 0, 0],
    );
    let to_manager = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
    link.x
        .send_event(false, link.root, to_manager, message)
        .or_lost(link)?;
    link.flush()?;
    let end = Instant::now() + FOCUS_PATIENCE;
    while active(link, atoms)? != Some(window) {
        if Instant::now() >= end {
            return Err(Error::WindowNotFocused {
                selector: description(selector),
                waited: FOCUS_PATIENCE,
            });
        }
        pause(LOOK_AGAIN, stop)?;
    }
    Ok(())
}

/// The window that the window manager calls active.
fn active(link: &Link, atoms: &Atoms) -> Result<Option<Window>, Error> {
    let windows = windows_of(link, atoms._NET_ACTIVE_WINDOW)?;
    Ok(windows
        .first()
        .copied()
        .filter(|&window| window != x11rb::NONE))
}

/// The topmost window that is like that.
fn find(link: &Link, atoms: &Atoms, selector: &WindowSelector) -> Result<Option<Window>, Error> {
    let stacked = windows_of(link, atoms._NET_CLIENT_LIST_STACKING)?;
    let windows = if stacked.is_empty() {
        windows_of(link, atoms._NET_CLIENT_LIST)?
    } else {
        stacked
    };
    for window in windows.into_iter().rev() {
        if is_selected(link, atoms, selector, window)? {
            return Ok(Some(window));
        }
    }
    Ok(None)
}

fn is_selected(
    link: &Link,
    atoms: &Atoms,
    selector: &WindowSelector,
    window: Window,
) -> Result<bool, Error> {
    let contains = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
    Ok(match selector {
        WindowSelector::Id(id) => parse_id(id) == Some(window),
        WindowSelector::Title(part) => contains(&title(link, atoms, window)?, part),
        WindowSelector::Application(name) => {
            class(link, window)?.is_some_and(|class| class.to_lowercase() == name.to_lowercase())
        }
    })
}

/// Identifiers are decimal, or hexadecimal as X's own tools print them.
fn parse_id(id: &str) -> Option<Window> {
    match id.strip_prefix("0x") {
        Some(digits) => Window::from_str_radix(digits, 16).ok(),
        None => id.parse().ok(),
    }
}

fn title(link: &Link, atoms: &Atoms, window: Window) -> Result<String, Error> {
    let modern = property(link, window, atoms._NET_WM_NAME, atoms.UTF8_STRING)?.value;
    let bytes = match modern.is_empty() {
        true => property(link, window, AtomEnum::WM_NAME.into(), AtomEnum::ANY.into())?.value,
        false => modern,
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The title of a window, or of the nearest one around it that has one: toolkits give the keyboard to parts.
fn title_above(link: &Link, atoms: &Atoms, window: Window) -> Result<String, Error> {
    let mut window = window;
    for _ in 0..DEEPEST {
        let title = title(link, atoms, window)?;
        if !title.is_empty() {
            return Ok(title);
        }
        let Some(parent) = parent(link, window)? else {
            break;
        };
        window = parent;
    }
    Ok(String::new())
}

fn class(link: &Link, window: Window) -> Result<Option<String>, Error> {
    let reply = property(
        link,
        window,
        AtomEnum::WM_CLASS.into(),
        AtomEnum::STRING.into(),
    )?;
    let class = WmClass::from_reply(reply).ok().flatten();
    Ok(class.map(|class| String::from_utf8_lossy(class.class()).into_owned()))
}

fn parent(link: &Link, window: Window) -> Result<Option<Window>, Error> {
    match link.x.query_tree(window).or_lost(link)?.reply() {
        Ok(tree) if tree.parent != x11rb::NONE && tree.parent != tree.root => Ok(Some(tree.parent)),
        Ok(_) | Err(x11rb::errors::ReplyError::X11Error(_)) => Ok(None),
        Err(error) => Err(link.error(error)),
    }
}

fn windows_of(link: &Link, name: Atom) -> Result<Vec<Window>, Error> {
    let reply = property(link, link.root, name, AtomEnum::WINDOW.into())?;
    Ok(reply.value32().into_iter().flatten().collect())
}

/// A property; empty if it is not there, or if the window has just gone.
fn property(
    link: &Link,
    window: Window,
    name: Atom,
    kind: Atom,
) -> Result<GetPropertyReply, Error> {
    match link
        .x
        .get_property(false, window, name, kind, 0, LONGEST_PROPERTY)
        .or_lost(link)?
        .reply()
    {
        Ok(reply) => Ok(reply),
        Err(x11rb::errors::ReplyError::X11Error(_)) => Ok(GetPropertyReply::default()),
        Err(error) => Err(link.error(error)),
    }
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
