//! Detects whether an input method is running.
//!
//! An active input method consumes letters, and determines what the application receives. The display does not report
//! whether it is active, only that it exists: X input methods register on the root window, including those that
//! applications reach by other protocols (fcitx, ibus). Source: The Input Method Protocol, 1.0, part 4.

use motorium_x11::Connection;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _};

use super::connection::OrDisplayError as _;
use crate::drivers::Error;

/// Maximum number of listed servers that are read. Real displays have one or two.
const MAX_SERVERS: u32 = 64;

/// Returns whether an input method is running. One that has ended leaves its name behind, but no longer owns the
/// selection.
pub(super) fn is_present(link: &Connection, servers: Atom) -> Result<bool, Error> {
    let listed = link
        .x
        .get_property(false, link.root, servers, AtomEnum::ATOM, 0, MAX_SERVERS)
        .or_display_error(link)?
        .reply()
        .or_display_error(link)?;
    for server in listed.value32().into_iter().flatten() {
        let owner = link.x.get_selection_owner(server).or_display_error(link)?;
        if owner.reply().or_display_error(link)?.owner != x11rb::NONE {
            return Ok(true);
        }
    }
    Ok(false)
}
