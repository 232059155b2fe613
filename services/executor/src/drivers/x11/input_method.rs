//! Whether an input method listens to the keyboard.
//!
//! One that is switched to a language takes letters for itself, and what the application gets then is its business. The
//! display does not tell whether it is switched on; it tells that there is one: input methods of X say so on the root
//! window, also those that applications reach by another way (fcitx, ibus). Source: The Input Method Protocol, 1.0,
//! part 4.

use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _};

use super::link::{Link, OrLost as _};
use crate::drivers::Error;

/// More servers than this are not listed anywhere.
const MOST_SERVERS: u32 = 64;

/// Whether one runs. One that has ended has left its name behind and owns it no more.
pub(super) fn is_present(link: &Link, servers: Atom) -> Result<bool, Error> {
    let listed = link
        .x
        .get_property(false, link.root, servers, AtomEnum::ATOM, 0, MOST_SERVERS)
        .or_lost(link)?
        .reply()
        .or_lost(link)?;
    for server in listed.value32().into_iter().flatten() {
        let owner = link.x.get_selection_owner(server).or_lost(link)?;
        if owner.reply().or_lost(link)?.owner != x11rb::NONE {
            return Ok(true);
        }
    }
    Ok(false)
}
