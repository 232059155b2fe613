//! Connection to an X server: opening it, its extensions, and the meaning of its errors.

use std::io::ErrorKind;
use std::sync::Arc;

use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::id::DisplayId;
use x11rb::connection::Connection as _;
use x11rb::errors::{ConnectError, ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::ErrorKind as X11ErrorKind;
use x11rb::protocol::damage::ConnectionExt as _;
use x11rb::protocol::randr::{self, ConnectionExt as _};
use x11rb::protocol::shm::ConnectionExt as _;
use x11rb::protocol::xfixes::ConnectionExt as _;
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ConnectionExt as _, EventMask, ImageOrder, Visualtype, Window,
};
use x11rb::protocol::{damage, shape, shm, xfixes};
use x11rb::reexports::x11rb_protocol::parse_display::{
    ConnectAddress, ParsedDisplay, parse_display,
};
use x11rb::reexports::x11rb_protocol::xauth::get_auth;
use x11rb::rust_connection::{DefaultStream, RustConnection};

use super::stream::{Deadline, DeadlineStream};
use crate::error::Error;

x11rb::atom_manager! {
    /// Atoms used by this crate, interned once per connection.
    pub(super) Atoms: AtomsCookie {
        UTF8_STRING,
        WM_STATE,
        _NET_ACTIVE_WINDOW,
        _NET_CLIENT_LIST,
        _NET_CLIENT_LIST_STACKING,
        _NET_WM_NAME,
        _NET_WM_PID,
        _NET_WM_STATE,
        _NET_WM_STATE_HIDDEN,
        _NET_WM_STATE_MODAL,
        _NET_WM_WINDOW_TYPE,
        _NET_WM_WINDOW_TYPE_DIALOG,
    }
}

/// Failure of an X request, before it is attributed to a display.
#[derive(Debug)]
pub(super) enum X11Fault {
    /// The deadline has passed.
    TimedOut,
    /// The connection was lost.
    Lost(String),
    /// The server answered with an error.
    Refused(X11ErrorKind, String),
    /// All requests succeeded, but the capture itself is not possible.
    Capture(Error),
}

impl From<Error> for X11Fault {
    fn from(error: Error) -> Self {
        Self::Capture(error)
    }
}

impl X11Fault {
    /// Returns whether the connection is no longer usable.
    pub(super) fn ends_connection(&self) -> bool {
        matches!(self, Self::TimedOut | Self::Lost(_))
    }
}

impl From<ConnectionError> for X11Fault {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::IoError(error) if error.kind() == ErrorKind::TimedOut => {
                Self::TimedOut
            }
            other => Self::Lost(other.to_string()),
        }
    }
}

impl From<ReplyError> for X11Fault {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::ConnectionError(error) => error.into(),
            ReplyError::X11Error(error) => {
                let request = error.request_name.unwrap_or("a request");
                Self::Refused(
                    error.error_kind,
                    format!("{request} failed with {:?}", error.error_kind),
                )
            }
        }
    }
}

impl From<ReplyOrIdError> for X11Fault {
    fn from(error: ReplyOrIdError) -> Self {
        match error {
            ReplyOrIdError::IdsExhausted => Self::Lost("all resource ids are used".to_owned()),
            ReplyOrIdError::ConnectionError(error) => error.into(),
            ReplyOrIdError::X11Error(error) => ReplyError::X11Error(error).into(),
        }
    }
}

/// Address of a display server.
#[derive(Debug, Clone)]
pub(super) struct Address(ParsedDisplay);

impl Address {
    /// Parses the name of a display. Only local servers, reached by a socket, are accepted: a request must not make the
    /// service connect to another host.
    pub(super) fn parse(display: &DisplayId) -> Result<Self, Error> {
        let not_found = |detail: &str| Error::DisplayNotFound {
            display: display.clone(),
            detail: detail.to_owned(),
        };
        let parsed = parse_display(Some(display.as_str()))
            .map_err(|_| not_found("the name must have the form `:N`, for example `:99`"))?;
        let names_a_host = !parsed.host.is_empty()
            || parsed
                .protocol
                .as_deref()
                .is_some_and(|name| name != "unix");
        if names_a_host {
            return Err(not_found(
                "only local displays can be captured; use a name like `:99`",
            ));
        }
        Ok(Self(parsed))
    }
}

/// Open connection and the data that does not change while it lasts.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) x: RustConnection<DeadlineStream>,
    pub(super) root: Window,
    pub(super) atoms: Atoms,
    /// Size of the root window when the connection was opened.
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

/// Failure to open a connection.
#[derive(Debug)]
pub(super) enum X11OpenFault {
    /// No server is listening, or it denies access.
    Unavailable(String),
    Unsupported(String),
    Fault(X11Fault),
}

impl<F: Into<X11Fault>> From<F> for X11OpenFault {
    fn from(fault: F) -> Self {
        Self::Fault(fault.into())
    }
}

impl Connection {
    /// Connects, checks the pixel format, and subscribes to layout changes.
    pub(super) fn open(address: &Address, deadline: &Arc<Deadline>) -> Result<Self, X11OpenFault> {
        let (x, screen_number) = connect(&address.0, deadline)?;
        let screen = x.setup().roots[screen_number].clone();
        check_pixel_format(&x, screen.root_depth, screen.root_visual)
            .map_err(X11OpenFault::Unsupported)?;
        let atoms = Atoms::new(&x)?;
        let extensions = Extensions::query(&x)?;
        let layout_events =
            ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
        x.change_window_attributes(screen.root, &layout_events)?;
        if extensions.monitors {
            x.randr_select_input(screen.root, randr::NotifyMask::SCREEN_CHANGE)?;
        }
        let atoms = atoms.reply()?;
        let size = CaptureSize::new(
            screen.width_in_pixels.into(),
            screen.height_in_pixels.into(),
        );
        Ok(Self {
            x,
            root: screen.root,
            atoms,
            size,
            extensions,
        })
    }
}

fn connect(
    display: &ParsedDisplay,
    deadline: &Arc<Deadline>,
) -> Result<(RustConnection<DeadlineStream>, usize), X11OpenFault> {
    let mut refusal = "no server is listening".to_owned();
    let sockets = display
        .connect_instruction()
        .filter(|address| matches!(address, ConnectAddress::Socket(_)));
    for address in sockets {
        let (stream, (family, peer)) = match DefaultStream::connect(&address) {
            Ok(connected) => connected,
            Err(error) => {
                refusal = format!("no server is listening ({error})");
                continue;
            }
        };
        let (name, data) = get_auth(family, &peer, display.display)
            .ok()
            .flatten()
            .unwrap_or_default();
        let stream = DeadlineStream::new(stream, Arc::clone(deadline));
        let screen = usize::from(display.screen);
        let x = RustConnection::connect_to_stream_with_auth_info(stream, screen, name, data)
            .map_err(open_fault)?;
        return Ok((x, screen));
    }
    Err(X11OpenFault::Unavailable(refusal))
}

fn open_fault(error: ConnectError) -> X11OpenFault {
    match error {
        ConnectError::IoError(error) => ConnectionError::IoError(error).into(),
        ConnectError::InvalidScreen => {
            X11OpenFault::Unavailable("the server has no screen with this number".to_owned())
        }
        ConnectError::SetupFailed(failed) => X11OpenFault::Unavailable(format!(
            "the server denied access: {}",
            String::from_utf8_lossy(&failed.reason).trim()
        )),
        ConnectError::SetupAuthenticate(failed) => X11OpenFault::Unavailable(format!(
            "the server requires authentication: {}",
            String::from_utf8_lossy(&failed.reason).trim()
        )),
        other => X11OpenFault::Unavailable(other.to_string()),
    }
}

/// Checks that pixels are little-endian `0x00RRGGBB`, which all later code assumes. Common servers use this format at
/// 24 bits.
fn check_pixel_format<S: x11rb::rust_connection::Stream>(
    x: &RustConnection<S>,
    depth: u8,
    visual: u32,
) -> Result<(), String> {
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
    fn query<S: x11rb::rust_connection::Stream>(x: &RustConnection<S>) -> Result<Self, X11Fault> {
        let names = [
            shm::X11_EXTENSION_NAME,
            xfixes::X11_EXTENSION_NAME,
            damage::X11_EXTENSION_NAME,
            randr::X11_EXTENSION_NAME,
            shape::X11_EXTENSION_NAME,
        ];
        for name in names {
            x11rb::connection::RequestConnection::prefetch_extension_information(x, name)?;
        }
        let has = |name| {
            x11rb::connection::RequestConnection::extension_information(x, name)
                .map(|found| found.is_some())
        };
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
