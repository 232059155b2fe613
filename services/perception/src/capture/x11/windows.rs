//! Window list of a display, from the window manager (EWMH) and the server.
//!
//! Pop-ups (menus, lists, tooltips) are unmanaged and appear in no client list. They are found as mapped
//! override-redirect children of the root that frame no client. Requests are pipelined and replies collected
//! afterwards, so the list costs a constant number of round trips.

use std::collections::{HashMap, HashSet};

use motorium_proto::domain::frame::Window;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use x11rb::connection::Connection as _;
use x11rb::cookie::Cookie;
use x11rb::errors::ReplyError;
use x11rb::protocol::shape::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, GetGeometryReply, GetPropertyReply,
    GetWindowAttributesReply, MapState, Rectangle, TranslateCoordinatesReply, Window as Id,
    WindowClass,
};
use x11rb::rust_connection::RustConnection;

use super::connection::{Connection, X11Fault};
use super::stream::DeadlineStream;

/// Maximum nesting depth of a client within window manager frames; icewm uses two levels.
const MAX_FRAME_DEPTH: usize = 5;

/// Maximum length of a property that is read, in words of four bytes.
const MAX_PROPERTY_WORDS: u32 = 1024;

/// `WM_STATE` value of an iconified window (ICCCM 4.1.3.1).
const ICONIC_STATE: u32 = 3;

/// Formats a window id as used in requests and responses.
pub(super) fn format_id(id: Id) -> String {
    format!("{id:#x}")
}

/// Maximum number of windows searched for the content of an unknown frame; bounds the round trips.
const MAX_SEARCHED_WINDOWS: usize = 64;

/// Listed window, and whether it certainly covers what is below it.
#[derive(Debug)]
pub(super) struct ListedWindow {
    pub(super) window: Window,
    pub(super) is_opaque: bool,
}

/// Precision of the window list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowDetail {
    /// For display: a cheap list.
    Basic,
    /// For redaction: windows with holes count as non-covering, and unannounced frames are searched for the client in
    /// them.
    Exact,
}

/// Lists all windows, topmost first.
pub(super) fn list(
    connection: &Connection,
    care: WindowDetail,
) -> Result<Vec<ListedWindow>, X11Fault> {
    let x = &connection.x;
    let atoms = &connection.atoms;
    let stacking = property(
        connection,
        connection.root,
        atoms._NET_CLIENT_LIST_STACKING,
        AtomEnum::WINDOW.into(),
    )?;
    let unordered = property(
        connection,
        connection.root,
        atoms._NET_CLIENT_LIST,
        AtomEnum::WINDOW.into(),
    )?;
    let active = property(
        connection,
        connection.root,
        atoms._NET_ACTIVE_WINDOW,
        AtomEnum::WINDOW.into(),
    )?;
    let tree = x.query_tree(connection.root)?;

    let stacking = stacking.reply()?;
    // Without a window manager there is no client list, so every mapped child counts.
    let managed = stacking.format != 0;
    let mut clients = ids(&stacking);
    if clients.is_empty() {
        clients = ids(&unordered.reply()?);
    }
    let active = ids(&active.reply()?).first().copied();
    let children = tree.reply()?.children;

    let frames = frames_of(connection, &clients)?;
    let framed: HashSet<Id> = frames.values().copied().collect();
    let loose: Vec<Id> = children
        .iter()
        .copied()
        .filter(|child| !framed.contains(child))
        .collect();

    let order: HashMap<Id, usize> = children
        .iter()
        .enumerate()
        .map(|(place, &child)| (child, place))
        .collect();
    let place_of = |id: Id| {
        order
            .get(frames.get(&id).unwrap_or(&id))
            .copied()
            .unwrap_or(0)
    };

    let mut windows = Vec::new();
    for (id, facts) in query_properties(connection, frames.keys().copied())? {
        let frame = frames.get(&id).copied().unwrap_or(id);
        windows.push((place_of(id), [id, frame], facts));
    }
    for (frame, facts) in query_properties(connection, loose.into_iter())? {
        if facts.is_popup(connection.size, managed) {
            let (id, facts) = unwrap_frame(connection, frame, facts, care)?;
            windows.push((place_of(frame), [id, frame], facts));
        }
    }
    windows.sort_by_key(|&(place, ..)| std::cmp::Reverse(place));
    let mut seen = Vec::with_capacity(windows.len());
    for (_, [id, frame], facts) in windows {
        let holes =
            care == WindowDetail::Exact && has_holes(connection, [id, frame], facts.bounds())?;
        let covers = facts.is_opaque() && !holes;
        let window = facts.into_window(id, active, atoms);
        seen.push(ListedWindow {
            window,
            is_opaque: covers,
        });
    }
    Ok(seen)
}

/// Resolves a frame to the window inside it.
///
/// A window manager wraps its own bars like clients but lists them nowhere. A wrapper without a class stands for the
/// window in it.
fn unwrap_frame(
    connection: &Connection,
    id: Id,
    facts: WindowProperties,
    care: WindowDetail,
) -> Result<(Id, WindowProperties), X11Fault> {
    let mut level = vec![id];
    if !facts.class.value.is_empty() {
        return Ok((id, facts));
    }
    for _ in 0..MAX_FRAME_DEPTH {
        level = children_of(connection, &level)?;
        // A wrapper with one child is cheap to resolve; one with many children is searched only for redaction.
        if level.is_empty() || (level.len() > 1 && care == WindowDetail::Basic) {
            break;
        }
        if let Some(inside) = first_with_class(connection, &level)? {
            let found = query_properties(connection, std::iter::once(inside))?.pop();
            return Ok(found.unwrap_or((id, facts)));
        }
    }
    Ok((id, facts))
}

fn children_of(connection: &Connection, parents: &[Id]) -> Result<Vec<Id>, X11Fault> {
    let cookies = parents
        .iter()
        .map(|&parent| connection.x.query_tree(parent))
        .collect::<Result<Vec<_>, _>>()?;
    let mut children = Vec::new();
    for cookie in cookies {
        let tree = ignore_gone(cookie.reply())?;
        // The server lists the topmost last.
        let topmost_first = tree
            .into_iter()
            .flat_map(|tree| tree.children.into_iter().rev());
        children.extend(topmost_first);
    }
    children.truncate(MAX_SEARCHED_WINDOWS);
    Ok(children)
}

fn first_with_class(connection: &Connection, windows: &[Id]) -> Result<Option<Id>, X11Fault> {
    let class = AtomEnum::WM_CLASS.into();
    let cookies = windows
        .iter()
        .map(|&id| {
            Ok((
                id,
                property(connection, id, class, AtomEnum::STRING.into())?,
            ))
        })
        .collect::<Result<Vec<_>, X11Fault>>()?;
    let mut found = None;
    for (id, cookie) in cookies {
        let class = ignore_gone(cookie.reply())?;
        if class.is_some_and(|class| !class.value.is_empty()) {
            found = found.or(Some(id));
        }
    }
    Ok(found)
}

/// Returns whether content below a window is visible within its box, because the window or its frame has a shape (SHAPE
/// extension).
fn has_holes(
    connection: &Connection,
    framed: [Id; 2],
    bounds: CaptureRect,
) -> Result<bool, X11Fault> {
    if !connection.extensions.shape {
        return Ok(false);
    }
    let x = &connection.x;
    let cookies = framed.map(|id| {
        let place = x.translate_coordinates(id, connection.root, 0, 0);
        (
            x.shape_query_extents(id),
            x.shape_get_rectangles(id, shape::SK::BOUNDING),
            place,
        )
    });
    for (extents, rectangles, place) in cookies {
        let (extents, rectangles, place) = (extents?, rectangles?, place?);
        let shaped = ignore_gone(extents.reply())?.is_some_and(|extents| extents.bounding_shaped);
        let rectangles = ignore_gone(rectangles.reply())?;
        let place = ignore_gone(place.reply())?;
        let (Some(rectangles), Some(place)) = (rectangles, place) else {
            continue;
        };
        if shaped && leaves_gap(bounds, &rectangles.rectangles, [place.dst_x, place.dst_y]) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether non-overlapping rectangles, relative to a corner, leave a part of a box uncovered.
fn leaves_gap(bounds: CaptureRect, rectangles: &[Rectangle], [x, y]: [i16; 2]) -> bool {
    let corner = euclid::vec2(x.into(), y.into());
    let covered = rectangles.iter().filter_map(|rectangle| {
        let origin = CapturePoint::new(rectangle.x.into(), rectangle.y.into());
        let size = CaptureSize::new(rectangle.width.into(), rectangle.height.into());
        let shape = CaptureRect::from_origin_and_size(origin + corner, size);
        shape.intersection(&bounds)
    });
    covered.map(|part| part.to_i64().area()).sum::<i64>() < bounds.to_i64().area()
}

type PropertyCookie<'c> = Cookie<'c, RustConnection<DeadlineStream>, GetPropertyReply>;

fn property(
    connection: &Connection,
    window: Id,
    name: Atom,
    kind: Atom,
) -> Result<PropertyCookie<'_>, X11Fault> {
    Ok(connection
        .x
        .get_property(false, window, name, kind, 0, MAX_PROPERTY_WORDS)?)
}

fn ids(reply: &GetPropertyReply) -> Vec<Id> {
    reply
        .value32()
        .into_iter()
        .flatten()
        .filter(|&id| id != 0)
        .collect()
}

/// Maps each existing client to the child of the root that contains it (itself if it is not framed).
fn frames_of(connection: &Connection, clients: &[Id]) -> Result<HashMap<Id, Id>, X11Fault> {
    let mut frames = HashMap::new();
    let mut climbing: Vec<(Id, Id)> = clients.iter().map(|&client| (client, client)).collect();
    for _ in 0..MAX_FRAME_DEPTH {
        let cookies: Vec<_> = climbing
            .iter()
            .map(|&(client, at)| Ok((client, at, connection.x.query_tree(at)?)))
            .collect::<Result<_, X11Fault>>()?;
        climbing.clear();
        for (client, at, cookie) in cookies {
            let Some(tree) = ignore_gone(cookie.reply())? else {
                continue;
            };
            if tree.parent == connection.root {
                frames.insert(client, at);
            } else if tree.parent != 0 {
                climbing.push((client, tree.parent));
            }
        }
        if climbing.is_empty() {
            break;
        }
    }
    Ok(frames)
}

/// Maps errors about a window that was closed between two requests to `None`.
fn ignore_gone<T>(reply: Result<T, ReplyError>) -> Result<Option<T>, X11Fault> {
    match reply {
        Ok(value) => Ok(Some(value)),
        Err(ReplyError::X11Error(_)) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Attributes and properties of one window.
#[derive(Debug)]
struct WindowProperties {
    attributes: GetWindowAttributesReply,
    geometry: GetGeometryReply,
    position: TranslateCoordinatesReply,
    name: GetPropertyReply,
    old_name: GetPropertyReply,
    class: GetPropertyReply,
    process: GetPropertyReply,
    state: GetPropertyReply,
    old_state: GetPropertyReply,
    kind: GetPropertyReply,
    transient_for: GetPropertyReply,
}

fn query_properties(
    connection: &Connection,
    windows: impl Iterator<Item = Id>,
) -> Result<Vec<(Id, WindowProperties)>, X11Fault> {
    let x = &connection.x;
    let atoms = &connection.atoms;
    let any = Atom::from(AtomEnum::ANY);
    let cookies = windows
        .map(|id| {
            Ok((
                id,
                x.get_window_attributes(id)?,
                x.get_geometry(id)?,
                x.translate_coordinates(id, connection.root, 0, 0)?,
                [
                    property(connection, id, atoms._NET_WM_NAME, atoms.UTF8_STRING)?,
                    property(connection, id, AtomEnum::WM_NAME.into(), any)?,
                    property(
                        connection,
                        id,
                        AtomEnum::WM_CLASS.into(),
                        AtomEnum::STRING.into(),
                    )?,
                    property(connection, id, atoms._NET_WM_PID, AtomEnum::CARDINAL.into())?,
                    property(connection, id, atoms._NET_WM_STATE, AtomEnum::ATOM.into())?,
                    property(connection, id, atoms.WM_STATE, atoms.WM_STATE)?,
                    property(
                        connection,
                        id,
                        atoms._NET_WM_WINDOW_TYPE,
                        AtomEnum::ATOM.into(),
                    )?,
                    property(
                        connection,
                        id,
                        AtomEnum::WM_TRANSIENT_FOR.into(),
                        AtomEnum::WINDOW.into(),
                    )?,
                ],
            ))
        })
        .collect::<Result<Vec<_>, X11Fault>>()?;
    x.flush()?;
    let mut found = Vec::with_capacity(cookies.len());
    for (id, attributes, geometry, position, properties) in cookies {
        let attributes = ignore_gone(attributes.reply())?;
        let geometry = ignore_gone(geometry.reply())?;
        let position = ignore_gone(position.reply())?;
        let mut values = Vec::with_capacity(properties.len());
        for cookie in properties {
            values.extend(ignore_gone(cookie.reply())?);
        }
        let properties: Result<[GetPropertyReply; 8], _> = values.try_into();
        let (Some(attributes), Some(geometry), Some(position), Ok(properties)) =
            (attributes, geometry, position, properties)
        else {
            continue;
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
        let facts = WindowProperties {
            attributes,
            geometry,
            position,
            name,
            old_name,
            class,
            process,
            state,
            old_state,
            kind,
            transient_for,
        };
        found.push((id, facts));
    }
    Ok(found)
}

impl WindowProperties {
    fn bounds(&self) -> CaptureRect {
        CaptureRect::from_origin_and_size(
            CapturePoint::new(self.position.dst_x.into(), self.position.dst_y.into()),
            CaptureSize::new(self.geometry.width.into(), self.geometry.height.into()),
        )
    }

    /// Returns whether an unmanaged child of the root is a visible pop-up. Toolkits also keep tiny or hidden helper
    /// windows, which are excluded.
    fn is_popup(&self, screen: CaptureSize, managed: bool) -> bool {
        let visible = self.attributes.map_state == MapState::VIEWABLE
            && self.attributes.class == WindowClass::INPUT_OUTPUT;
        // Toolkits create helper windows of 1 or 2 px; a real pop-up is larger.
        let substantial = self.geometry.width > 2 && self.geometry.height > 2;
        let on_screen = self.bounds().intersects(&CaptureRect::from_size(screen));
        visible && substantial && on_screen && (self.attributes.override_redirect || !managed)
    }

    /// Returns whether the window is viewable and has no alpha channel. A depth of 32 bits has one; an unviewable
    /// window is on another workspace.
    fn is_opaque(&self) -> bool {
        self.attributes.map_state == MapState::VIEWABLE && self.geometry.depth < 32
    }

    fn into_window(self, id: Id, active: Option<Id>, atoms: &super::connection::Atoms) -> Window {
        let states = ids(&self.state);
        let is_dialog = ids(&self.kind).contains(&atoms._NET_WM_WINDOW_TYPE_DIALOG);
        let has_parent = !ids(&self.transient_for).is_empty();
        let iconic =
            self.old_state.value32().and_then(|mut state| state.next()) == Some(ICONIC_STATE);
        let title = if self.name.value.is_empty() {
            latin1(&self.old_name.value)
        } else {
            utf8(&self.name.value)
        };
        Window {
            id: format_id(id),
            title,
            application: class_of(&self.class.value),
            process: self.process.value32().and_then(|mut pid| pid.next()),
            bounds: self.bounds(),
            active: active == Some(id),
            minimised: iconic || states.contains(&atoms._NET_WM_STATE_HIDDEN),
            modal: states.contains(&atoms._NET_WM_STATE_MODAL) || (is_dialog && has_parent),
        }
    }
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\0')
        .to_owned()
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

/// Returns the application name from `WM_CLASS`, which holds two zero-terminated strings: instance and class.
fn class_of(bytes: &[u8]) -> String {
    let mut parts = bytes.split(|&byte| byte == 0).map(latin1);
    let instance = parts.next().unwrap_or_default();
    match parts.next() {
        Some(class) if !class.is_empty() => class,
        _ => instance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_with_a_cut_corner_leaves_something_open() {
        let bounds =
            CaptureRect::from_origin_and_size(CapturePoint::new(100, 50), CaptureSize::new(40, 30));
        let rectangle = |x, y, width, height| Rectangle {
            x,
            y,
            width,
            height,
        };
        let check = |rectangles: &[Rectangle], corner, expected| {
            assert_eq!(leaves_gap(bounds, rectangles, corner), expected);
        };
        check(&[rectangle(0, 0, 40, 30)], [100, 50], false);
        check(
            &[rectangle(2, 0, 38, 1), rectangle(0, 1, 40, 29)],
            [100, 50],
            true,
        );
        check(&[], [100, 50], true);
        // A frame whose upper corners are cut off, above the window in it.
        let frame = [rectangle(3, 0, 44, 2), rectangle(0, 2, 50, 60)];
        check(&frame, [95, 30], false);
    }

    #[test]
    fn the_application_is_the_class() {
        let check =
            |bytes: &[u8], expected: &str| assert_eq!(class_of(bytes), expected, "{bytes:?}");
        check(b"mousepad\0Mousepad\0", "Mousepad");
        check(b"xterm\0\0", "xterm");
        check(b"xterm", "xterm");
        check(b"", "");
    }

    #[test]
    fn titles_of_old_programs_are_read() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(latin1(bytes), expected, "{bytes:?}");
        check(b"sh", "sh");
        check("日志".as_bytes(), "日志");
        check(b"caf\xe9", "café");
    }
}
