//! The background of a virtual desktop: one colour. Without one it is black, and the windows on it look like parts of something
//! that is missing.

use std::time::Duration;

use motorium_x11::{Address, Connection, Error, Watchdog};
use x11rb::protocol::xproto::{ChangeWindowAttributesAux, ConnectionExt as _};

/// Slate, in RGB: darker than any window, so that their edges are seen, and without a picture that could be taken for a control.
const COLOUR: u32 = 0x0033_415c;

/// Timeout of the server, which has just started.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Paints the background of `display`.
///
/// # Errors
/// If the display cannot be reached.
pub(super) fn paint(display: &str) -> Result<(), Error> {
    let address = Address::parse(display)?;
    let link = Connection::open(&address, &Watchdog::new(TIMEOUT))?;
    let colour = ChangeWindowAttributesAux::new().background_pixel(COLOUR);
    link.x.change_window_attributes(link.root, &colour)?;
    // The whole window, whatever its size.
    link.x.clear_area(false, link.root, 0, 0, 0, 0)?.check()?;
    Ok(())
}
