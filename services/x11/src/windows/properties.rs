//! Attributes and properties of windows.
//!
//! It does not list windows: `list` does.

use x11rb::connection::Connection as _;
use x11rb::cookie::Cookie;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, GetGeometryReply, GetPropertyReply,
    GetWindowAttributesReply, MapState, TranslateCoordinatesReply, Window, WindowClass,
};

use super::{PropertyCookie, ids, property, request_class};
use crate::atoms::Atoms;
use crate::connection::{Connection, Xcb};
use crate::error::{Error, ignore_gone};

/// `WM_STATE` value of an iconified window (ICCCM 4.1.3.1).
const ICONIC_STATE: u32 = 3;

/// Depth with an alpha channel.
const ALPHA_DEPTH: u8 = 32;

/// Bounding box on the screen, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub x: i16,
    pub y: i16,
    pub width: u16,
    pub height: u16,
}

impl Bounds {
    pub(super) fn overlaps_screen(self, width: u16, height: u16) -> bool {
        let overlaps = |start: i16, length: u16, limit: u16| {
            let start = i32::from(start);
            start < i32::from(limit) && start + i32::from(length) > 0
        };
        overlaps(self.x, self.width, width) && overlaps(self.y, self.height, height)
    }
}

/// One window.
#[derive(Debug, Clone)]
pub struct WindowInfo {
    pub id: Window,
    pub title: String,
    /// Class of the application; empty if it has none.
    pub application: String,
    /// Process identifier, if the application announces it.
    pub process: Option<u32>,
    pub bounds: Bounds,
    pub is_minimised: bool,
    pub is_modal: bool,
    /// The window is on the screen, and not on another workspace.
    pub is_viewable: bool,
    /// The window can be transparent.
    pub has_alpha: bool,
    /// The window has pixels of its own.
    pub(super) has_pixels: bool,
    /// The window manager does not manage the window.
    pub(super) is_unmanaged: bool,
}

/// Reads the attributes and properties of windows in one round trip. Windows that are gone are left out.
///
/// # Errors
/// If the connection failed.
pub fn describe(
    connection: &Connection,
    windows: impl Iterator<Item = Window>,
) -> Result<Vec<WindowInfo>, Error> {
    let pending: Vec<PendingWindow<'_>> = windows
        .map(|window| PendingWindow::request(connection, window))
        .collect::<Result<_, _>>()?;
    connection.x.flush()?;
    let mut found = Vec::with_capacity(pending.len());
    for window in pending {
        found.extend(window.take(&connection.atoms)?);
    }
    Ok(found)
}

/// Requests about one window that are not answered yet.
struct PendingWindow<'c> {
    id: Window,
    attributes: Cookie<'c, Xcb, GetWindowAttributesReply>,
    geometry: Cookie<'c, Xcb, GetGeometryReply>,
    position: Cookie<'c, Xcb, TranslateCoordinatesReply>,
    properties: [PropertyCookie<'c>; 8],
}

impl<'c> PendingWindow<'c> {
    fn request(connection: &'c Connection, id: Window) -> Result<Self, Error> {
        let (x, atoms) = (&connection.x, &connection.atoms);
        let read = |name: Atom, kind: Atom| property(connection, id, name, kind);
        let [any, atom, cardinal, window] = [
            AtomEnum::ANY,
            AtomEnum::ATOM,
            AtomEnum::CARDINAL,
            AtomEnum::WINDOW,
        ]
        .map(Atom::from);
        Ok(Self {
            id,
            attributes: x.get_window_attributes(id)?,
            geometry: x.get_geometry(id)?,
            position: x.translate_coordinates(id, connection.root, 0, 0)?,
            properties: [
                read(atoms._NET_WM_NAME, atoms.UTF8_STRING)?,
                read(AtomEnum::WM_NAME.into(), any)?,
                request_class(connection, id)?,
                read(atoms._NET_WM_PID, cardinal)?,
                read(atoms._NET_WM_STATE, atom)?,
                read(atoms.WM_STATE, atoms.WM_STATE)?,
                read(atoms._NET_WM_WINDOW_TYPE, atom)?,
                read(AtomEnum::WM_TRANSIENT_FOR.into(), window)?,
            ],
        })
    }

    /// Collects every reply; `None` if the window is gone.
    fn take(self, atoms: &Atoms) -> Result<Option<WindowInfo>, Error> {
        let attributes = ignore_gone(self.attributes.reply())?;
        let geometry = ignore_gone(self.geometry.reply())?;
        let position = ignore_gone(self.position.reply())?;
        let mut properties = Vec::with_capacity(self.properties.len());
        for cookie in self.properties {
            properties.extend(ignore_gone(cookie.reply())?);
        }
        let properties: Result<[GetPropertyReply; 8], _> = properties.try_into();
        let (Some(attributes), Some(geometry), Some(position), Ok(properties)) =
            (attributes, geometry, position, properties)
        else {
            return Ok(None);
        };
        let [
            name,
            old_name,
            class,
            process,
            state,
            old_state,
            kind,
            transient_for,
        ] = properties;
        let states = ids(&state);
        let is_iconic = first(&old_state) == Some(ICONIC_STATE);
        let is_dialog = ids(&kind).contains(&atoms._NET_WM_WINDOW_TYPE_DIALOG);
        let has_parent = !ids(&transient_for).is_empty();
        Ok(Some(WindowInfo {
            id: self.id,
            title: title_of(&name.value, &old_name.value),
            application: application_of(&class.value),
            process: first(&process),
            bounds: Bounds {
                x: position.dst_x,
                y: position.dst_y,
                width: geometry.width,
                height: geometry.height,
            },
            is_minimised: is_iconic || states.contains(&atoms._NET_WM_STATE_HIDDEN),
            is_modal: states.contains(&atoms._NET_WM_STATE_MODAL) || (is_dialog && has_parent),
            is_viewable: attributes.map_state == MapState::VIEWABLE,
            has_alpha: geometry.depth >= ALPHA_DEPTH,
            has_pixels: attributes.class == WindowClass::INPUT_OUTPUT,
            is_unmanaged: attributes.override_redirect,
        }))
    }
}

fn first(property: &GetPropertyReply) -> Option<u32> {
    property.value32().and_then(|mut values| values.next())
}

/// Returns the title from `_NET_WM_NAME`, or from `WM_NAME` if that is empty.
pub(super) fn title_of(name: &[u8], old_name: &[u8]) -> String {
    if name.is_empty() {
        return latin1(old_name);
    }
    String::from_utf8_lossy(name)
        .trim_end_matches('\0')
        .to_owned()
}

/// Returns the application name from `WM_CLASS`, which holds two zero-terminated strings: instance and class.
pub(super) fn application_of(class: &[u8]) -> String {
    let mut parts = class.split(|&byte| byte == 0).map(latin1);
    let instance = parts.next().unwrap_or_default();
    match parts.next() {
        Some(class) if !class.is_empty() => class,
        _ => instance,
    }
}

/// Decodes `WM_NAME`, which is Latin-1 by definition although many programs store UTF-8.
fn latin1(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.trim_end_matches('\0').to_owned(),
        Err(_) => bytes
            .iter()
            .filter(|&&byte| byte != 0)
            .map(|&byte| char::from(byte))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_application_is_the_class() {
        let check =
            |bytes: &[u8], expected: &str| assert_eq!(application_of(bytes), expected, "{bytes:?}");
        check(b"mousepad\0Mousepad\0", "Mousepad");
        check(b"xterm\0\0", "xterm");
        check(b"xterm", "xterm");
        check(b"", "");
    }

    #[test]
    fn titles_of_old_programs_are_read() {
        let check =
            |bytes: &[u8], expected: &str| assert_eq!(title_of(b"", bytes), expected, "{bytes:?}");
        check(b"sh", "sh");
        check("日志".as_bytes(), "日志");
        check(b"caf\xe9", "café");
        assert_eq!(title_of(b"new\0", b"old"), "new");
    }

    #[test]
    fn a_box_beside_the_screen_does_not_overlap_it() {
        let check = |x, y, expected| {
            let bounds = Bounds {
                x,
                y,
                width: 10,
                height: 10,
            };
            assert_eq!(bounds.overlaps_screen(800, 600), expected, "{x},{y}");
        };
        check(0, 0, true);
        check(-9, 599, true);
        check(-10, 0, false);
        check(800, 0, false);
        check(0, 600, false);
    }
}
