//! A connection to an X server with a timeout on every call.
//!
//! The X libraries wait on the socket without a limit, so a stopped server would block them for ever. Here a wait
//! without progress for the timeout ends the connection with a typed error, and the connection is then dropped. The
//! injector reconnects.

use std::io::{self, IoSlice};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use x11rb::connection::Connection;
use x11rb::errors::{ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::xproto::Window;
use x11rb::reexports::x11rb_protocol::parse_display::{ConnectAddress, parse_display};
use x11rb::reexports::x11rb_protocol::xauth::get_auth;
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

use crate::drivers::Error;

/// Highest display number: TCP displays are ports from 6000, and the library overflows above this.
const MAX_DISPLAY: u16 = u16::MAX - 6000;

/// A stream with a timeout on every wait.
#[derive(Debug)]
pub(super) struct TimeoutStream {
    inner: DefaultStream,
    display_timeout: Duration,
    /// Set after a timeout. The connection is unusable then, and further errors are consequences of the timeout.
    timed_out: AtomicBool,
}

impl Stream for TimeoutStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, mode.readable());
        interest.set(PollFlags::OUT, mode.writable());
        if poll_one(self.inner.as_fd(), interest, self.display_timeout)? {
            return Ok(());
        }
        self.timed_out.store(true, Ordering::Relaxed);
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the X server does not respond",
        ))
    }

    fn read(&self, buffer: &mut [u8], descriptors: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.inner.read(buffer, descriptors)
    }

    fn write(&self, buffer: &[u8], descriptors: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.inner.write(buffer, descriptors)
    }

    fn write_vectored(
        &self,
        buffers: &[IoSlice<'_>],
        descriptors: &mut Vec<RawFdContainer>,
    ) -> io::Result<usize> {
        self.inner.write_vectored(buffers, descriptors)
    }
}

impl AsFd for TimeoutStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

/// Waits until the descriptor is ready or `limit` has passed; returns whether it is ready.
fn poll_one(descriptor: BorrowedFd<'_>, interest: PollFlags, limit: Duration) -> io::Result<bool> {
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    let mut descriptors = [PollFd::from_borrowed_fd(descriptor, interest)];
    loop {
        match poll(&mut descriptors, Some(&limit)) {
            Ok(ready) => return Ok(ready > 0),
            // The wait restarts with the full limit: endless signals are not expected.
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The connection type of this driver.
pub(super) type X = RustConnection<TimeoutStream>;

/// A connection to one screen of one display.
#[derive(Debug)]
pub(super) struct X11Connection {
    pub(super) x: X,
    pub(super) root: Window,
    display: String,
    display_timeout: Duration,
}

impl X11Connection {
    /// Connects to `display`. `patience` limits every later wait without progress.
    pub(super) fn connect(display: &str, patience: Duration) -> Result<Self, Error> {
        let unreachable = |cause: &dyn std::fmt::Display| Error::NoDisplay {
            display: display.to_owned(),
            cause: cause.to_string(),
        };
        let parsed = parse_display(Some(display)).map_err(|error| unreachable(&error))?;
        if parsed.display > MAX_DISPLAY {
            return Err(unreachable(&format!(
                "the highest display number is {MAX_DISPLAY}"
            )));
        }
        let (stream, (family, address)) =
            connect_socket(&parsed.connect_instruction().collect::<Vec<_>>(), patience)
                .map_err(|e| unreachable(&e))?;
        let (name, data) = get_auth(family, &address, parsed.display)
            .ok()
            .flatten()
            .unwrap_or_else(|| (Vec::new(), Vec::new()));
        let screen = usize::from(parsed.screen);
        let stream = TimeoutStream {
            inner: stream,
            display_timeout: patience,
            timed_out: AtomicBool::new(false),
        };
        let x = RustConnection::connect_to_stream_with_auth_info(stream, screen, name, data)
            .map_err(|error| match &error {
                x11rb::errors::ConnectError::IoError(cause)
                    if cause.kind() == io::ErrorKind::TimedOut =>
                {
                    Error::DisplayTimedOut {
                        display: display.to_owned(),
                        patience,
                    }
                }
                other => unreachable(other),
            })?;
        let root = x.setup().roots[screen].root;
        Ok(Self {
            x,
            root,
            display: display.to_owned(),
            display_timeout: patience,
        })
    }

    /// Returns the display's name.
    pub(super) fn display(&self) -> &str {
        &self.display
    }

    /// Maps an error of the library.
    pub(super) fn error(&self, error: impl Into<ReplyOrIdError>) -> Error {
        if self.x.stream().timed_out.load(Ordering::Relaxed) {
            return Error::DisplayTimedOut {
                display: self.display.clone(),
                patience: self.display_timeout,
            };
        }
        let cause = match error.into() {
            ReplyOrIdError::ConnectionError(error) => error.to_string(),
            ReplyOrIdError::X11Error(error) => {
                return Error::Rejected {
                    cause: format!("{error:?}"),
                };
            }
            ReplyOrIdError::IdsExhausted => "no resource identifiers are left".to_owned(),
        };
        Error::DisplayLost {
            display: self.display.clone(),
            cause,
        }
    }

    /// Sends all buffered requests.
    pub(super) fn flush(&self) -> Result<(), Error> {
        self.x.flush().map_err(|error| self.error(error))
    }

    /// Waits for an event, for `limit`, or until `waker` is readable.
    pub(super) fn wait(
        &self,
        waker: Option<BorrowedFd<'_>>,
        limit: Option<Duration>,
    ) -> Result<(), Error> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut descriptors = vec![PollFd::new(self.x.stream(), PollFlags::IN)];
        descriptors.extend(waker.map(|waker| PollFd::from_borrowed_fd(waker, PollFlags::IN)));
        match poll(&mut descriptors, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(self.error(ConnectionError::from(io::Error::from(errno)))),
        }
    }
}

/// Shortens `map_err(|error| link.error(error))`.
pub(super) trait OrDisplayError<T> {
    /// Maps an error of the library to the driver's.
    fn or_display_error(self, link: &X11Connection) -> Result<T, Error>;
}

impl<T> OrDisplayError<T> for Result<T, ConnectionError> {
    fn or_display_error(self, link: &X11Connection) -> Result<T, Error> {
        self.map_err(|error| link.error(error))
    }
}

impl<T> OrDisplayError<T> for Result<T, ReplyError> {
    fn or_display_error(self, link: &X11Connection) -> Result<T, Error> {
        self.map_err(|error| link.error(error))
    }
}

impl<T> OrDisplayError<T> for Result<T, ReplyOrIdError> {
    fn or_display_error(self, link: &X11Connection) -> Result<T, Error> {
        self.map_err(|error| link.error(error))
    }
}

type Socket = (
    DefaultStream,
    (x11rb::reexports::x11rb_protocol::xauth::Family, Vec<u8>),
);

fn connect_socket(addresses: &[ConnectAddress<'_>], patience: Duration) -> io::Result<Socket> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the display name has no address");
    for address in addresses {
        match connect_address(address, patience) {
            Ok(socket) => return Ok(socket),
            // Report the error of the first address, which is the intended one; the others are fallbacks.
            Err(error) if failure.kind() == io::ErrorKind::NotFound => failure = error,
            Err(_) => {}
        }
    }
    Err(failure)
}

fn connect_address(address: &ConnectAddress<'_>, patience: Duration) -> io::Result<Socket> {
    match address {
        ConnectAddress::Hostname(host, port) => {
            let address = (*host, *port).to_socket_addrs()?.next().ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, "the host has no address")
            })?;
            DefaultStream::from_tcp_stream(TcpStream::connect_timeout(&address, patience)?)
        }
        ConnectAddress::Socket(path) => {
            let abstract_name = SocketAddrUnix::new_abstract_name(path.as_bytes())?;
            let stream = connect_unix(&abstract_name)
                .or_else(|_| connect_unix(&SocketAddrUnix::new(path.as_str())?))?;
            DefaultStream::from_unix_stream(stream)
        }
        _ => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this kind of address is not supported",
        )),
    }
}

/// Connects without blocking: the backlog of a stopped server fills up, and a blocking connect would hang.
fn connect_unix(address: &SocketAddrUnix) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, address)?;
    Ok(UnixStream::from(socket))
}
