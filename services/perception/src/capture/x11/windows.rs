//! The windows of a display, as the window manager (EWMH) and the server tell of them.
//!
//! Pop-ups (menus, lists, tooltips) are not managed and appear in no client list; they are found as mapped
//! override-redirect children of the root that frame no client. Requests go out together and replies are collected
//! afterwards, so that the list costs a handful of round trips however many windows there are.

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

use super::connection::{Connection, Fault};
use super::stream::WatchedStream;

/// How many windows deep a window manager may wrap a client; icewm uses two.
const MAX_FRAME_DEPTH: usize = 5;

/// Longest property that is read, in words of four bytes.
const MAX_PROPERTY: u32 = 1024;

/// `WM_STATE` of a window that has been made an icon (ICCCM 4.1.3.1).
const ICONIC_STATE: u32 = 3;

/// The id of a window in requests and answers.
pub(super) fn format_id(id: Id) -> String {
    format!("{id:#x}")
}

/// Most windows that are searched for what an unknown frame holds.
const MAX_SEARCHED: usize = 64;

/// A window, and whether it surely covers what is below it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) window: Window,
    pub(super) covers: bool,
}

/// How much care is taken to know whose pixels are whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// As a list for people.
    Usual,
    /// As something that is hidden needs it: windows with holes cover nothing, and a frame that its manager has not
    /// announced yet is searched for the window in it.
    Utmost,
}

/// All windows, topmost first.
pub(super) fn list(connection: &Connection, care: Care) -> Result<Vec<Seen>, Fault> {
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
    // Without a window manager there is no client list: then every mapped child counts.
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
    for (id, facts) in gather(connection, frames.keys().copied())? {
        let frame = frames.get(&id).copied().unwrap_or(id);
        windows.push((place_of(id), [id, frame], facts));
    }
    for (frame, facts) in gather(connection, loose.into_iter())? {
        if facts.is_popup(connection.size, managed) {
            let (id, facts) = content_of(connection, frame, facts, care)?;
            windows.push((place_of(frame), [id, frame], facts));
        }
    }
    windows.sort_by_key(|&(place, ..)| std::cmp::Reverse(place));
    let mut seen = Vec::with_capacity(windows.len());
    for (_, [id, frame], facts) in windows {
        let holes = care == Care::Utmost && has_holes(connection, [id, frame], facts.bounds())?;
        let covers = facts.is_opaque() && !holes;
        let window = facts.into_window(id, active, atoms);
        seen.push(Seen { window, covers });
    }
    Ok(seen)
}

/// A window manager wraps its own bars like it wraps clients, but lists them nowhere. A wrapper without a class stands
/// for the window inside it.
fn content_of(
    connection: &Connection,
    id: Id,
    facts: Facts,
    care: Care,
) -> Result<(Id, Facts), Fault> {
    let mut level = vec![id];
    if !facts.class.value.is_empty() {
        return Ok((id, facts));
    }
    for _ in 0..MAX_FRAME_DEPTH {
        level = children_of(connection, &level)?;
        // A wrapper of one window is seen through at no cost; one of many is searched only if it matters.
        if level.is_empty() || (level.len() > 1 && care == Care::Usual) {
            break;
        }
        if let Some(inside) = first_with_class(connection, &level)? {
            let found = gather(connection, std::iter::once(inside))?.pop();
            return Ok(found.unwrap_or((id, facts)));
        }
    }
    Ok((id, facts))
}

fn children_of(connection: &Connection, parents: &[Id]) -> Result<Vec<Id>, Fault> {
    let cookies = parents
        .iter()
        .map(|&parent| connection.x.query_tree(parent))
        .collect::<Result<Vec<_>, _>>()?;
    let mut children = Vec::new();
    for cookie in cookies {
        let tree = unless_gone(cookie.reply())?;
        // The server lists the topmost last.
        let topmost_first = tree
            .into_iter()
            .flat_map(|tree| tree.children.into_iter().rev());
        children.extend(topmost_first);
    }
    children.truncate(MAX_SEARCHED);
    Ok(children)
}

fn first_with_class(connection: &Connection, windows: &[Id]) -> Result<Option<Id>, Fault> {
    let class = AtomEnum::WM_CLASS.into();
    let cookies = windows
        .iter()
        .map(|&id| {
            Ok((
                id,
                property(connection, id, class, AtomEnum::STRING.into())?,
            ))
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    let mut found = None;
    for (id, cookie) in cookies {
        let class = unless_gone(cookie.reply())?;
        if class.is_some_and(|class| !class.value.is_empty()) {
            found = found.or(Some(id));
        }
    }
    Ok(found)
}

/// Whether what lies below a window shows within its box, because it or what frames it has a shape (SHAPE extension).
fn has_holes(connection: &Connection, framed: [Id; 2], bounds: CaptureRect) -> Result<bool, Fault> {
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
        let shaped = unless_gone(extents.reply())?.is_some_and(|extents| extents.bounding_shaped);
        let rectangles = unless_gone(rectangles.reply())?;
        let place = unless_gone(place.reply())?;
        let (Some(rectangles), Some(place)) = (rectangles, place) else {
            continue;
        };
        if shaped && leaves_open(bounds, &rectangles.rectangles, [place.dst_x, place.dst_y]) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether rectangles, which do not overlap and are given relative to a corner, leave something of a box open.
fn leaves_open(bounds: CaptureRect, rectangles: &[Rectangle], [x, y]: [i16; 2]) -> bool {
    let corner = euclid::vec2(x.into(), y.into());
    let covered = rectangles.iter().filter_map(|rectangle| {
        let origin = CapturePoint::new(rectangle.x.into(), rectangle.y.into());
        let size = CaptureSize::new(rectangle.width.into(), rectangle.height.into());
        let shape = CaptureRect::from_origin_and_size(origin + corner, size);
        shape.intersection(&bounds)
    });
    covered.map(|part| part.to_i64().area()).sum::<i64>() < bounds.to_i64().area()
}

type PropertyCookie<'c> = Cookie<'c, RustConnection<WatchedStream>, GetPropertyReply>;

fn property(
    connection: &Connection,
    window: Id,
    name: Atom,
    kind: Atom,
) -> Result<PropertyCookie<'_>, Fault> {
    Ok(connection
        .x
        .get_property(false, window, name, kind, 0, MAX_PROPERTY)?)
}

fn ids(reply: &GetPropertyReply) -> Vec<Id> {
    reply
        .value32()
        .into_iter()
        .flatten()
        .filter(|&id| id != 0)
        .collect()
}

/// For each client that still exists, the child of the root that holds it (itself, if it is not framed).
fn frames_of(connection: &Connection, clients: &[Id]) -> Result<HashMap<Id, Id>, Fault> {
    let mut frames = HashMap::new();
    let mut climbing: Vec<(Id, Id)> = clients.iter().map(|&client| (client, client)).collect();
    for _ in 0..MAX_FRAME_DEPTH {
        let cookies: Vec<_> = climbing
            .iter()
            .map(|&(client, at)| Ok((client, at, connection.x.query_tree(at)?)))
            .collect::<Result<_, Fault>>()?;
        climbing.clear();
        for (client, at, cookie) in cookies {
            let Some(tree) = unless_gone(cookie.reply())? else {
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

/// A window may be closed between two requests: that is no failure, it is just not there.
fn unless_gone<T>(reply: Result<T, ReplyError>) -> Result<Option<T>, Fault> {
    match reply {
        Ok(value) => Ok(Some(value)),
        Err(ReplyError::X11Error(_)) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// What the server tells of one window.
#[derive(Debug)]
struct Facts {
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

fn gather(
    connection: &Connection,
    windows: impl Iterator<Item = Id>,
) -> Result<Vec<(Id, Facts)>, Fault> {
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
        .collect::<Result<Vec<_>, Fault>>()?;
    x.flush()?;
    let mut found = Vec::with_capacity(cookies.len());
    for (id, attributes, geometry, position, properties) in cookies {
        let attributes = unless_gone(attributes.reply())?;
        let geometry = unless_gone(geometry.reply())?;
        let position = unless_gone(position.reply())?;
        let mut values = Vec::with_capacity(properties.len());
        for cookie in properties {
            values.extend(unless_gone(cookie.reply())?);
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
        let facts = Facts {
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

impl Facts {
    fn bounds(&self) -> CaptureRect {
        CaptureRect::from_origin_and_size(
            CapturePoint::new(self.position.dst_x.into(), self.position.dst_y.into()),
            CaptureSize::new(self.geometry.width.into(), self.geometry.height.into()),
        )
    }

    /// Whether an unmanaged child of the root is something a person sees. Toolkits keep tiny or hidden helper windows.
    fn is_popup(&self, screen: CaptureSize, managed: bool) -> bool {
        let visible = self.attributes.map_state == MapState::VIEWABLE
            && self.attributes.class == WindowClass::INPUT_OUTPUT;
        let substantial = self.geometry.width > 2 && self.geometry.height > 2;
        let on_screen = self.bounds().intersects(&CaptureRect::from_size(screen));
        visible && substantial && on_screen && (self.attributes.override_redirect || !managed)
    }

    /// A depth of 32 bits has room for an alpha channel; what is not viewable is on another workspace.
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

/// `WM_NAME` is Latin-1 by its definition, yet many programs put UTF-8 into it.
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

/// `WM_CLASS` holds two strings, instance and class, each ended by a zero. The class names the application.
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
            assert_eq!(leaves_open(bounds, rectangles, corner), expected);
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
