//! The connection as capture needs it: checked pixel format, extensions, layout events; and the failures on it.
//!
//! Captures are not made here but in `session`.

use std::sync::Arc;

use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::id::DisplayId;
use motorium_x11::{Address, Watchdog, Xcb};
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::damage::ConnectionExt as _;
use x11rb::protocol::randr::{self, ConnectionExt as _};
use x11rb::protocol::shm::ConnectionExt as _;
use x11rb::protocol::xfixes::ConnectionExt as _;
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ConnectionExt as _, EventMask, ImageOrder, Visualtype,
};
use x11rb::protocol::{damage, shape, shm, xfixes};

use crate::error::Error;

/// Failure of a job, before it is attributed to a display.
#[derive(Debug)]
pub(super) enum X11Fault {
    /// A call to the server failed.
    Call(motorium_x11::Error),
    /// The server uses a pixel format that this build does not support.
    UnsupportedFormat(String),
    /// All requests succeeded, but the capture itself is not possible.
    Capture(Error),
}

impl From<Error> for X11Fault {
    fn from(error: Error) -> Self {
        Self::Capture(error)
    }
}

impl<E: Into<motorium_x11::Error>> From<E> for X11Fault {
    fn from(error: E) -> Self {
        Self::Call(error.into())
    }
}

impl X11Fault {
    /// Returns whether the connection is no longer usable.
    pub(super) fn ends_connection(&self) -> bool {
        matches!(self, Self::Call(error) if error.ends_connection())
    }
}

/// Parses the name of a local display.
pub(super) fn parse_address(display: &DisplayId) -> Result<Address, Error> {
    Address::parse_local(display.as_str()).map_err(|error| Error::DisplayNotFound {
        display: display.clone(),
        detail: error.to_string(),
    })
}

/// Open connection and the data that does not change while it lasts.
#[derive(Debug)]
pub(super) struct ScreenConnection {
    pub(super) server: motorium_x11::Connection,
    /// Size of the root window. Follows the layout.
    pub(super) size: CaptureSize,
    pub(super) extensions: Extensions,
}

/// Optional extensions that the server supports.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extensions {
    /// MIT-SHM 1.2: shared memory by file descriptor.
    pub(super) shared_memory: bool,
    pub(super) xfixes: bool,
    /// DAMAGE; only used together with XFIXES, whose regions it fills.
    pub(super) damage: bool,
    pub(super) monitors: bool,
    /// SHAPE: non-rectangular windows.
    pub(super) shape: bool,
}

impl ScreenConnection {
    /// Connects, checks the pixel format, and subscribes to layout changes.
    pub(super) fn open(address: &Address, watchdog: &Arc<Watchdog>) -> Result<Self, X11Fault> {
        let server = motorium_x11::Connection::open(address, watchdog)?;
        let (x, root) = (&server.x, server.root);
        let screen = server.screen();
        check_pixel_format(x, screen.root_depth, screen.root_visual)
            .map_err(X11Fault::UnsupportedFormat)?;
        let size = CaptureSize::new(
            screen.width_in_pixels.into(),
            screen.height_in_pixels.into(),
        );
        let extensions = Extensions::query(x)?;
        let layout_events =
            ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
        x.change_window_attributes(root, &layout_events)?;
        if extensions.monitors {
            x.randr_select_input(root, randr::NotifyMask::SCREEN_CHANGE)?;
        }
        Ok(Self {
            server,
            size,
            extensions,
        })
    }
}

/// Checks that pixels are little-endian `0x00RRGGBB`, which all later code assumes. Common servers use this format at
/// 24 bits.
fn check_pixel_format(x: &Xcb, depth: u8, visual: u32) -> Result<(), String> {
    let setup = x.setup();
    let bits = setup
        .pixmap_formats
        .iter()
        .find(|format| format.depth == depth)
        .map_or(0, |format| format.bits_per_pixel);
    let visual = setup
        .roots
        .iter()
        .flat_map(|screen| &screen.allowed_depths)
        .flat_map(|depth| &depth.visuals)
        .find(|candidate| candidate.visual_id == visual);
    let masks = visual.map(
        |&Visualtype {
             red_mask,
             green_mask,
             blue_mask,
             ..
         }| (red_mask, green_mask, blue_mask),
    );
    let readable = bits == 32
        && masks == Some((0xFF_0000, 0xFF00, 0xFF))
        && setup.image_byte_order == ImageOrder::LSB_FIRST;
    if readable {
        Ok(())
    } else {
        Err(format!(
            "unsupported pixel format: depth {depth}, {bits} bits per pixel"
        ))
    }
}

impl Extensions {
    fn query(x: &Xcb) -> Result<Self, X11Fault> {
        let names = [
            shm::X11_EXTENSION_NAME,
            xfixes::X11_EXTENSION_NAME,
            damage::X11_EXTENSION_NAME,
            randr::X11_EXTENSION_NAME,
            shape::X11_EXTENSION_NAME,
        ];
        for name in names {
            x.prefetch_extension_information(name)?;
        }
        let has = |name| x.extension_information(name).map(|found| found.is_some());
        let shared_memory = if has(shm::X11_EXTENSION_NAME)? {
            let version = x.shm_query_version()?.reply()?;
            (version.major_version, version.minor_version) >= (1, 2)
        } else {
            false
        };
        let xfixes = if has(xfixes::X11_EXTENSION_NAME)? {
            x.xfixes_query_version(5, 0)?.reply()?.major_version >= 2
        } else {
            false
        };
        let damage = if xfixes && has(damage::X11_EXTENSION_NAME)? {
            x.damage_query_version(1, 1)?.reply()?;
            true
        } else {
            false
        };
        let monitors = if has(randr::X11_EXTENSION_NAME)? {
            let version = x.randr_query_version(1, 5)?.reply()?;
            (version.major_version, version.minor_version) >= (1, 5)
        } else {
            false
        };
        Ok(Self {
            shared_memory,
            xfixes,
            damage,
            monitors,
            shape: has(shape::X11_EXTENSION_NAME)?,
        })
    }
}
