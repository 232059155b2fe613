//! Names of displays, the sockets that they stand for, and the authentication to their servers.
//!
//! No display is opened here: `connection` does that.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::time::Instant;
use x11rb::reexports::x11rb_protocol::parse_display::{
    ConnectAddress, ParsedDisplay, parse_display,
};
use x11rb::reexports::x11rb_protocol::xauth::{Family, get_auth};
use x11rb::rust_connection::DefaultStream;

use crate::error::Error;

/// Highest display number: TCP displays are ports from 6000, and the library overflows above this.
const MAX_DISPLAY: u16 = u16::MAX - 6000;

/// Parsed name of a display, such as `:99`.
#[derive(Debug, Clone)]
pub struct Address {
    name: String,
    parsed: ParsedDisplay,
    is_local: bool,
}

impl Address {
    /// Parses the name of any display. `:N` falls back to TCP on this host if no local socket exists.
    ///
    /// # Errors
    /// [`Error::InvalidName`]
    pub fn parse(name: &str) -> Result<Self, Error> {
        let invalid = |cause: String| Error::InvalidName { cause };
        let parsed = parse_display(Some(name)).map_err(|_| {
            invalid("the name must have the form `:N`, for example `:99`".to_owned())
        })?;
        if parsed.display > MAX_DISPLAY {
            return Err(invalid(format!(
                "the highest display number is {MAX_DISPLAY}"
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            parsed,
            is_local: false,
        })
    }

    /// Parses the name of a display that is reached by a local socket. A name that comes from a request must not make
    /// the service connect to another host.
    ///
    /// # Errors
    /// [`Error::InvalidName`]
    pub fn parse_local(name: &str) -> Result<Self, Error> {
        let address = Self::parse(name)?;
        let protocol = address.parsed.protocol.as_deref();
        if !address.parsed.host.is_empty() || protocol.is_some_and(|name| name != "unix") {
            return Err(Error::InvalidName {
                cause: "only local displays are allowed; use a name like `:99`".to_owned(),
            });
        }
        Ok(Self {
            is_local: true,
            ..address
        })
    }

    /// Returns the name of the display.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn screen(&self) -> usize {
        self.parsed.screen.into()
    }

    /// Connects to the first socket on which a server is listening, until `end`.
    pub(crate) fn connect(&self, end: Instant) -> Result<Socket, Error> {
        let sockets = self
            .parsed
            .connect_instruction()
            .filter(|address| !self.is_local || matches!(address, ConnectAddress::Socket(_)));
        let mut failure = None;
        for socket in sockets {
            match connect(&socket, end) {
                Ok((stream, (family, peer))) => {
                    // Without an entry in the authority file the server decides whether it needs one.
                    let (auth_name, auth_data) = get_auth(family, &peer, self.parsed.display)
                        .ok()
                        .flatten()
                        .unwrap_or_default();
                    return Ok(Socket {
                        stream,
                        auth_name,
                        auth_data,
                    });
                }
                // The error of the first socket is reported: it is the intended one, the others are fallbacks.
                Err(error) => failure = failure.or(Some(Error::connecting(&error))),
            }
        }
        Err(failure.unwrap_or_else(|| Error::Unavailable {
            cause: "no server is listening".to_owned(),
        }))
    }
}

/// Connected socket, with what authenticates us to the server.
pub(crate) struct Socket {
    pub(crate) stream: DefaultStream,
    pub(crate) auth_name: Vec<u8>,
    pub(crate) auth_data: Vec<u8>,
}

type Connected = (DefaultStream, (Family, Vec<u8>));

fn connect(address: &ConnectAddress<'_>, end: Instant) -> io::Result<Connected> {
    match address {
        ConnectAddress::Hostname(host, port) => {
            let address = (*host, *port).to_socket_addrs()?.next();
            let address = address.ok_or(io::ErrorKind::AddrNotAvailable)?;
            DefaultStream::from_tcp_stream(TcpStream::connect_timeout(&address, time_left(end)?)?)
        }
        ConnectAddress::Socket(path) => {
            let abstract_name = SocketAddrUnix::new_abstract_name(path.as_bytes())?;
            let stream = match connect_unix(&abstract_name, end) {
                // The server may listen on the path only.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    connect_unix(&SocketAddrUnix::new(path.as_str())?, end)?
                }
                other => other?,
            };
            DefaultStream::from_unix_stream(stream)
        }
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Connects until `end`: the queue of a stopped server fills up, and then a connection waits for ever.
fn connect_unix(address: &SocketAddrUnix, end: Instant) -> io::Result<UnixStream> {
    let socket: OwnedFd = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // The timeout for sending is also that for connecting (socket(7)). Later the socket does not block.
    set_socket_timeout(&socket, Timeout::Send, Some(time_left(end)?))?;
    rustix::net::connect(&socket, address)?;
    Ok(UnixStream::from(socket))
}

/// Returns the time until `end`, which is never zero: that would stand for no limit.
fn time_left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_before_anything_is_connected() {
        let check = |parsed: Result<Address, Error>, part: &str| {
            let error = parsed.unwrap_err();
            assert!(matches!(error, Error::InvalidName { .. }), "{error:?}");
            assert!(error.to_string().contains(part), "{error}");
        };
        check(Address::parse(""), "must have the form");
        check(Address::parse("desk"), "must have the form");
        check(Address::parse(":65432"), "the highest display number");
        check(Address::parse_local("example.com:0"), "only local displays");
        check(
            Address::parse_local("tcp/localhost:0"),
            "only local displays",
        );
        assert_eq!(Address::parse_local(":99").unwrap().name(), ":99");
        assert_eq!(Address::parse("example.com:0.1").unwrap().screen(), 1);
    }
}
