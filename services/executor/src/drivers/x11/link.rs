//! A connection to an X server on which no call can hang.
//!
//! A stopped server blocks the libraries for ever, because they wait on the socket without a limit. Here the socket
//! itself has one: a wait that sees no progress for the patience given ends the connection with a typed error, and
//! the connection is then thrown away whole. Not here: reconnecting (the injector does it) and any meaning of input.

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

/// A display is a port above 6000; the library overflows on higher numbers.
const HIGHEST_DISPLAY: u16 = u16::MAX - 6000;

/// A stream whose every wait ends.
#[derive(Debug)]
pub(super) struct GuardedStream {
    inner: DefaultStream,
    patience: Duration,
    /// Set once a wait has run out: afterwards the connection is of no use, and its errors mean a time-out.
    ran_out: AtomicBool,
}

impl Stream for GuardedStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, mode.readable());
        interest.set(PollFlags::OUT, mode.writable());
        if poll_one(self.inner.as_fd(), interest, self.patience)? {
            return Ok(());
        }
        self.ran_out.store(true, Ordering::Relaxed);
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the X server does not answer",
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

impl AsFd for GuardedStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

/// Waits until the descriptor is ready, or until `limit` has passed; says which.
fn poll_one(descriptor: BorrowedFd<'_>, interest: PollFlags, limit: Duration) -> io::Result<bool> {
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    let mut descriptors = [PollFd::from_borrowed_fd(descriptor, interest)];
    loop {
        match poll(&mut descriptors, Some(&limit)) {
            Ok(ready) => return Ok(ready > 0),
            // The wait starts anew: a stream of signals without end is not a case to guard against.
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The connection type of this driver.
pub(super) type X = RustConnection<GuardedStream>;

/// A connection to one screen of one display.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) x: X,
    pub(super) root: Window,
    display: String,
    patience: Duration,
}

impl Link {
    /// Connects to `display`; whatever then happens on the connection is given up after `patience` without progress.
    pub(super) fn connect(display: &str, patience: Duration) -> Result<Self, Error> {
        let unreachable = |cause: &dyn std::fmt::Display| Error::NoDisplay {
            display: display.to_owned(),
            cause: cause.to_string(),
        };
        let parsed = parse_display(Some(display)).map_err(|error| unreachable(&error))?;
        if parsed.display > HIGHEST_DISPLAY {
            return Err(unreachable(&format!(
                "displays are numbered up to {HIGHEST_DISPLAY}"
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
        let stream = GuardedStream {
            inner: stream,
            patience,
            ran_out: AtomicBool::new(false),
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
            patience,
        })
    }

    /// The display's name.
    pub(super) fn display(&self) -> &str {
        &self.display
    }

    /// What an error of the library means.
    pub(super) fn error(&self, error: impl Into<ReplyOrIdError>) -> Error {
        if self.x.stream().ran_out.load(Ordering::Relaxed) {
            return Error::DisplayTimedOut {
                display: self.display.clone(),
                patience: self.patience,
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

    /// Sends everything that is buffered.
    pub(super) fn flush(&self) -> Result<(), Error> {
        self.x.flush().map_err(|error| self.error(error))
    }

    /// Waits until an event may be there, until `limit` has passed, or until `waker` is readable.
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
pub(super) trait OrLost<T> {
    /// The value, or the driver's error for the library's.
    fn or_lost(self, link: &Link) -> Result<T, Error>;
}

impl<T> OrLost<T> for Result<T, ConnectionError> {
    fn or_lost(self, link: &Link) -> Result<T, Error> {
        self.map_err(|error| link.error(error))
    }
}

impl<T> OrLost<T> for Result<T, ReplyError> {
    fn or_lost(self, link: &Link) -> Result<T, Error> {
        self.map_err(|error| link.error(error))
    }
}

impl<T> OrLost<T> for Result<T, ReplyOrIdError> {
    fn or_lost(self, link: &Link) -> Result<T, Error> {
        self.map_err(|error| link.error(error))
    }
}

type Socket = (
    DefaultStream,
    (x11rb::reexports::x11rb_protocol::xauth::Family, Vec<u8>),
);

fn connect_socket(addresses: &[ConnectAddress<'_>], patience: Duration) -> io::Result<Socket> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name means no address");
    for address in addresses {
        match connect_address(address, patience) {
            Ok(socket) => return Ok(socket),
            // The first address is the one that was meant; the others are second choices.
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

/// Connects without ever waiting: the queue of a stopped server fills up, and a blocking connect would hang there.
fn connect_unix(address: &SocketAddrUnix) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, address)?;
    Ok(UnixStream::from(socket))
}
