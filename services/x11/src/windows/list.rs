//! The list of all windows that a person sees.
//!
//! It does not change windows.

use std::collections::{HashMap, HashSet};

use x11rb::protocol::xproto::{ConnectionExt as _, Window};

use super::properties::{WindowInfo, describe};
use super::{clients, ids, request_class, request_windows};
use crate::connection::Connection;
use crate::error::{Error, ignore_gone};

/// Maximum nesting depth of a client within window manager frames; icewm uses two levels.
const MAX_FRAME_DEPTH: usize = 5;

/// Maximum number of windows searched for the content of an unknown frame; bounds the round trips.
const MAX_SEARCHED_WINDOWS: usize = 64;

/// Width and height up to which an unmanaged window is no pop-up. Toolkits create helper windows of 1 or 2 px.
const MAX_HELPER_SIZE: u16 = 2;

/// One window of the list.
#[derive(Debug)]
pub struct ListedWindow {
    pub info: WindowInfo,
    /// The child of the root that contains the window; the window itself if it is not framed.
    pub frame: Window,
    /// The window manager's active window.
    pub is_active: bool,
}

/// Precision of the window list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowDetail {
    /// For display: a cheap list.
    Basic,
    /// For redaction: unannounced frames are searched for the client in them.
    Exact,
}

/// Lists all windows, topmost first.
///
/// # Errors
/// If the connection failed.
pub fn list(connection: &Connection, detail: WindowDetail) -> Result<Vec<ListedWindow>, Error> {
    let x = &connection.x;
    let tree = x.query_tree(connection.root)?;
    let screen = x.get_geometry(connection.root)?;
    let active = request_windows(connection, connection.atoms._NET_ACTIVE_WINDOW)?;
    let clients = clients(connection)?;
    let active = ids(&active.reply()?).first().copied();
    let children = tree.reply()?.children;
    let screen = screen.reply()?;

    let frames = frames_of(connection, &clients.windows)?;
    let framed: HashSet<Window> = frames.values().copied().collect();
    let loose = children
        .iter()
        .copied()
        .filter(|child| !framed.contains(child));

    let mut found: Vec<(Window, WindowInfo)> = Vec::new();
    for info in describe(connection, frames.keys().copied())? {
        found.push((frames[&info.id], info));
    }
    for info in describe(connection, loose)? {
        // Without a window manager every child of the root counts.
        let is_popup = info.is_visible_on(screen.width, screen.height)
            && (info.is_unmanaged || !clients.is_ordered);
        if is_popup {
            found.push((info.id, unwrap_frame(connection, info, detail)?));
        }
    }

    // The server lists the topmost last.
    let order: HashMap<Window, usize> = children.into_iter().zip(0..).collect();
    found.sort_by_key(|(frame, _)| std::cmp::Reverse(order.get(frame).copied().unwrap_or(0)));
    let listed = found.into_iter().map(|(frame, info)| ListedWindow {
        is_active: active == Some(info.id),
        info,
        frame,
    });
    Ok(listed.collect())
}

impl WindowInfo {
    /// Returns whether a person can see the window. Toolkits also keep tiny or hidden helper windows.
    fn is_visible_on(&self, width: u16, height: u16) -> bool {
        let is_substantial =
            self.bounds.width > MAX_HELPER_SIZE && self.bounds.height > MAX_HELPER_SIZE;
        let is_drawn = self.is_viewable && self.has_pixels;
        is_drawn && is_substantial && self.bounds.overlaps_screen(width, height)
    }
}

/// Resolves a frame to the window inside it.
///
/// A window manager wraps its own bars like clients but lists them nowhere. A wrapper without a class stands for the
/// window in it.
fn unwrap_frame(
    connection: &Connection,
    frame: WindowInfo,
    detail: WindowDetail,
) -> Result<WindowInfo, Error> {
    if !frame.application.is_empty() {
        return Ok(frame);
    }
    let mut level = vec![frame.id];
    for _ in 0..MAX_FRAME_DEPTH {
        level = children_of(connection, &level)?;
        // A wrapper with one child is cheap to resolve; one with many children is searched only for redaction.
        if level.is_empty() || (level.len() > 1 && detail == WindowDetail::Basic) {
            break;
        }
        if let Some(inside) = first_with_class(connection, &level)? {
            let found = describe(connection, std::iter::once(inside))?.pop();
            return Ok(found.unwrap_or(frame));
        }
    }
    Ok(frame)
}

fn children_of(connection: &Connection, parents: &[Window]) -> Result<Vec<Window>, Error> {
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

fn first_with_class(connection: &Connection, windows: &[Window]) -> Result<Option<Window>, Error> {
    let cookies = windows
        .iter()
        .map(|&id| Ok((id, request_class(connection, id)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let mut found = None;
    for (id, cookie) in cookies {
        let class = ignore_gone(cookie.reply())?;
        if class.is_some_and(|class| !class.value.is_empty()) {
            found = found.or(Some(id));
        }
    }
    Ok(found)
}

/// Maps each existing client to the child of the root that contains it (itself if it is not framed).
fn frames_of(
    connection: &Connection,
    clients: &[Window],
) -> Result<HashMap<Window, Window>, Error> {
    let mut frames = HashMap::new();
    let mut climbing: Vec<(Window, Window)> =
        clients.iter().map(|&client| (client, client)).collect();
    for _ in 0..MAX_FRAME_DEPTH {
        let cookies: Vec<_> = climbing
            .iter()
            .map(|&(client, at)| Ok((client, at, connection.x.query_tree(at)?)))
            .collect::<Result<_, Error>>()?;
        climbing.clear();
        for (client, at, cookie) in cookies {
            let Some(tree) = ignore_gone(cookie.reply())? else {
                continue;
            };
            if tree.parent == connection.root {
                frames.insert(client, at);
            } else if tree.parent != x11rb::NONE {
                climbing.push((client, tree.parent));
            }
        }
        if climbing.is_empty() {
            break;
        }
    }
    Ok(frames)
}
