//! Atoms of selections.

use motorium_x11::Connection;

use super::super::connection::OrDisplayError as _;
use crate::drivers::Error;

x11rb::atom_manager! {
    /// Atoms of selections, targets and protocol properties.
    pub(super) Atoms: AtomsCookie {
        CLIPBOARD,
        PRIMARY,
        TARGETS,
        TIMESTAMP,
        MULTIPLE,
        SAVE_TARGETS,
        DELETE,
        INCR,
        UTF8_STRING,
        TEXT,
        PLAIN_UTF8: b"text/plain;charset=utf-8",
        // Password managers offer it beside a password, so that clipboard managers keep no copy.
        PASSWORD_HINT: b"x-kde-passwordManagerHint",
        _MOTORIUM_SELECTION,
        _MOTORIUM_TIME,
    }
}

/// Interns the atoms, once per connection.
pub(super) fn look_up(link: &Connection) -> Result<Atoms, Error> {
    Atoms::new(&link.x)
        .or_display_error(link)?
        .reply()
        .or_display_error(link)
}
