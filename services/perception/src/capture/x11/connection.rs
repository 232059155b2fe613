//! One connection to an X server: opening it, what the server can do, and what its errors mean.

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

use super::stream::{Deadline, WatchedStream};
use crate::error::Error;

x11rb::atom_manager! {
    /// The atoms that are asked for, interned once per connection.
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

/// What an X request may fail with, before it is known for which display.
#[derive(Debug)]
pub(super) enum Fault {
    /// The deadline passed.
    Silent,
    /// The connection is gone.
    Lost(String),
    /// The server answered with an error.
    Refused(X11ErrorKind, String),
    /// The server has answered everything; what was asked for is not there.
    Answer(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Answer(error)
    }
}

impl Fault {
    /// Whether the connection can no longer be used.
    pub(super) fn ends_connection(&self) -> bool {
        matches!(self, Self::Silent | Self::Lost(_))
    }
}

impl From<ConnectionError> for Fault {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::IoError(error) if error.kind() == ErrorKind::TimedOut => Self::Silent,
            other => Self::Lost(other.to_string()),
        }
    }
}

impl From<ReplyError> for Fault {
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

impl From<ReplyOrIdError> for Fault {
    fn from(error: ReplyOrIdError) -> Self {
        match error {
            ReplyOrIdError::IdsExhausted => Self::Lost("all resource ids are used".to_owned()),
            ReplyOrIdError::ConnectionError(error) => error.into(),
            ReplyOrIdError::X11Error(error) => ReplyError::X11Error(error).into(),
        }
    }
}

/// Where a display's server listens.
#[derive(Debug, Clone)]
pub(super) struct Address(ParsedDisplay);

impl Address {
    /// Reads a display's name. Only servers of this machine, reached by a socket, are accepted: a request must not be
    /// able to make the service connect to another host.
    pub(super) fn parse(display: &DisplayId) -> Result<Self, Error> {
        let not_found = |detail: &str| Error::DisplayNotFound {
            display: display.clone(),
            detail: detail.to_owned(),
        };
        let parsed = parse_display(Some(display.as_str()))
            .map_err(|_| not_found("it is not of the form `:N`, for example `:99`"))?;
        let names_a_host = !parsed.host.is_empty()
            || parsed
                .protocol
                .as_deref()
                .is_some_and(|name| name != "unix");
        if names_a_host {
            return Err(not_found(
                "only displays of this machine can be captured, by a name like `:99`",
            ));
        }
        Ok(Self(parsed))
    }
}

/// An open connection and what does not change while it lasts.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) x: RustConnection<WatchedStream>,
    pub(super) root: Window,
    pub(super) atoms: Atoms,
    /// Extent of the root window when the connection was opened.
    pub(super) size: CaptureSize,
    pub(super) extensions: Extensions,
}

/// Which optional extensions the server has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extensions {
    /// MIT-SHM 1.2: shared memory by descriptor.
    pub(super) shared_memory: bool,
    pub(super) xfixes: bool,
    /// DAMAGE; only used together with XFIXES, whose regions it fills.
    pub(super) damage: bool,
    pub(super) monitors: bool,
    /// SHAPE: windows that are no boxes.
    pub(super) shape: bool,
}

/// Why a connection could not be opened.
#[derive(Debug)]
pub(super) enum OpenFault {
    /// Nothing listens there, or it does not let us in.
    Absent(String),
    Unsupported(String),
    Fault(Fault),
}

impl<F: Into<Fault>> From<F> for OpenFault {
    fn from(fault: F) -> Self {
        Self::Fault(fault.into())
    }
}

impl Connection {
    /// Connects, checks that the pixels can be read, and asks for the events that tell of a new layout.
    pub(super) fn open(address: &Address, deadline: &Arc<Deadline>) -> Result<Self, OpenFault> {
        let (x, screen_number) = connect(&address.0, deadline)?;
        let screen = x.setup().roots[screen_number].clone();
        check_pixel_format(&x, screen.root_depth, screen.root_visual)
            .map_err(OpenFault::Unsupported)?;
        let atoms = Atoms::new(&x)?;
        let extensions = Extensions::of(&x)?;
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
) -> Result<(RustConnection<WatchedStream>, usize), OpenFault> {
    let mut refusal = "no server listens there".to_owned();
    let sockets = display
        .connect_instruction()
        .filter(|address| matches!(address, ConnectAddress::Socket(_)));
    for address in sockets {
        let (stream, (family, peer)) = match DefaultStream::connect(&address) {
            Ok(connected) => connected,
            Err(error) => {
                refusal = format!("no server listens there ({error})");
                continue;
            }
        };
        let (name, data) = get_auth(family, &peer, display.display)
            .ok()
            .flatten()
            .unwrap_or_default();
        let stream = WatchedStream::new(stream, Arc::clone(deadline));
        let screen = usize::from(display.screen);
        let x = RustConnection::connect_to_stream_with_auth_info(stream, screen, name, data)
            .map_err(open_fault)?;
        return Ok((x, screen));
    }
    Err(OpenFault::Absent(refusal))
}

fn open_fault(error: ConnectError) -> OpenFault {
    match error {
        ConnectError::IoError(error) => ConnectionError::IoError(error).into(),
        ConnectError::InvalidScreen => {
            OpenFault::Absent("the server has no screen of that number".to_owned())
        }
        ConnectError::SetupFailed(failed) => OpenFault::Absent(format!(
            "the server refused: {}",
            String::from_utf8_lossy(&failed.reason).trim()
        )),
        ConnectError::SetupAuthenticate(failed) => OpenFault::Absent(format!(
            "the server wants a password: {}",
            String::from_utf8_lossy(&failed.reason).trim()
        )),
        other => OpenFault::Absent(other.to_string()),
    }
}

/// Everything downstream reads pixels as little-endian `0x00RRGGBB`; no server in use draws otherwise at 24 bits.
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
        Err(format!("its pixels have depth {depth} in {bits} bits"))
    }
}

impl Extensions {
    fn of<S: x11rb::rust_connection::Stream>(x: &RustConnection<S>) -> Result<Self, Fault> {
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
