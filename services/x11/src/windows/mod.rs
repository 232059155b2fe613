//! Windows of a display, from the window manager (EWMH) and the server.
//!
//! Pop-ups (menus, lists, tooltips) are unmanaged and appear in no client list. They are found as mapped
//! override-redirect children of the root that frame no client. Requests are pipelined and replies collected
//! afterwards, so the list costs a constant number of round trips.
//!
//! Deliberately absent: activating windows, and deciding which of them to hide.

mod list;
mod properties;

use x11rb::cookie::Cookie;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _, GetPropertyReply, Window};

pub use list::{ListedWindow, WindowDetail, list};
pub use properties::{Bounds, WindowInfo, describe};

use crate::connection::{Connection, Xcb};
use crate::error::{Error, ignore_gone};

/// Maximum length of a property that is read, in words of four bytes: 1,024 windows, or a title of 4 KiB.
const MAX_PROPERTY_WORDS: u32 = 1024;

/// The windows that the window manager manages.
#[derive(Debug, Clone, Default)]
pub struct Clients {
    /// Topmost last, if the window manager announces the order.
    pub windows: Vec<Window>,
    /// A window manager announces the order; without one there is no list at all.
    pub is_ordered: bool,
}

/// Returns the managed windows.
///
/// # Errors
/// If the connection failed.
pub fn clients(connection: &Connection) -> Result<Clients, Error> {
    let atoms = &connection.atoms;
    let stacking = request_windows(connection, atoms._NET_CLIENT_LIST_STACKING)?;
    let unordered = request_windows(connection, atoms._NET_CLIENT_LIST)?;
    let stacking = stacking.reply()?;
    let unordered = unordered.reply()?;
    let is_ordered = stacking.format != 0;
    // Some window managers announce the order later than the list, or not at all.
    let windows = match ids(&stacking) {
        ordered if ordered.is_empty() => ids(&unordered),
        ordered => ordered,
    };
    Ok(Clients {
        windows,
        is_ordered,
    })
}

/// Returns the active window according to the window manager.
///
/// # Errors
/// If the connection failed.
pub fn active(connection: &Connection) -> Result<Option<Window>, Error> {
    let active = request_windows(connection, connection.atoms._NET_ACTIVE_WINDOW)?;
    Ok(ids(&active.reply()?).first().copied())
}

/// Returns the title of one window; empty if it has none or is gone.
///
/// # Errors
/// If the connection failed.
pub fn title(connection: &Connection, window: Window) -> Result<String, Error> {
    let atoms = &connection.atoms;
    let any = Atom::from(AtomEnum::ANY);
    let name = property(connection, window, atoms._NET_WM_NAME, atoms.UTF8_STRING)?;
    let old_name = property(connection, window, AtomEnum::WM_NAME.into(), any)?;
    let name = ignore_gone(name.reply())?.unwrap_or_default();
    let old_name = ignore_gone(old_name.reply())?.unwrap_or_default();
    Ok(properties::title_of(&name.value, &old_name.value))
}

/// Returns the class of one window's application; `None` if it has none or is gone.
///
/// # Errors
/// If the connection failed.
pub fn application(connection: &Connection, window: Window) -> Result<Option<String>, Error> {
    let class = ignore_gone(request_class(connection, window)?.reply())?;
    let application = class.map(|class| properties::application_of(&class.value));
    Ok(application.filter(|application| !application.is_empty()))
}

/// Returns whether a window takes part in a protocol (ICCCM 4.1.2.7).
///
/// # Errors
/// If the connection failed.
pub fn supports(connection: &Connection, window: Window, protocol: Atom) -> Result<bool, Error> {
    let name = connection.atoms.WM_PROTOCOLS;
    let protocols = property(connection, window, name, AtomEnum::ATOM.into())?;
    let protocols = ignore_gone(protocols.reply())?;
    Ok(protocols.is_some_and(|protocols| ids(&protocols).contains(&protocol)))
}

/// Returns the window that contains a window; `None` if that is the root.
///
/// # Errors
/// If the connection failed.
pub fn parent(connection: &Connection, window: Window) -> Result<Option<Window>, Error> {
    let tree = ignore_gone(connection.x.query_tree(window)?.reply())?;
    let parent = tree.filter(|tree| tree.parent != x11rb::NONE && tree.parent != tree.root);
    Ok(parent.map(|tree| tree.parent))
}

type PropertyCookie<'c> = Cookie<'c, Xcb, GetPropertyReply>;

fn property(
    connection: &Connection,
    window: Window,
    name: Atom,
    kind: Atom,
) -> Result<PropertyCookie<'_>, Error> {
    let x = &connection.x;
    Ok(x.get_property(false, window, name, kind, 0, MAX_PROPERTY_WORDS)?)
}

/// Requests a list of windows that the window manager keeps on the root.
fn request_windows(connection: &Connection, name: Atom) -> Result<PropertyCookie<'_>, Error> {
    property(connection, connection.root, name, AtomEnum::WINDOW.into())
}

fn request_class(connection: &Connection, window: Window) -> Result<PropertyCookie<'_>, Error> {
    let (name, kind) = (AtomEnum::WM_CLASS.into(), AtomEnum::STRING.into());
    property(connection, window, name, kind)
}

/// Returns the windows or atoms in a property.
fn ids(reply: &GetPropertyReply) -> Vec<u32> {
    reply
        .value32()
        .into_iter()
        .flatten()
        .filter(|&id| id != x11rb::NONE)
        .collect()
}
