//! A connection to one screen of one display.
//!
//! A broken connection is not reopened: its owner opens a new one.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use x11rb::connection::Connection as _;
use x11rb::errors::ConnectionError;
use x11rb::protocol::xproto::{ConnectionExt as _, Screen, Window};
use x11rb::rust_connection::RustConnection;

use crate::address::{Address, Socket};
use crate::atoms::Atoms;
use crate::error::Error;
use crate::waker::wait_readable;
use crate::watchdog::{Watchdog, WatchedStream};

/// The library's connection, over a socket with a watchdog.
pub type Xcb = RustConnection<WatchedStream>;

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    /// The library's connection, on which requests are sent.
    pub x: Xcb,
    /// Root window of the screen.
    pub root: Window,
    /// Atoms of the window manager's properties.
    pub atoms: Atoms,
    display: String,
    screen: usize,
}

impl Connection {
    /// Connects and authenticates. `watchdog` limits this and every later wait for the server.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no server is listening or it denies access, otherwise as any call.
    pub fn open(address: &Address, watchdog: &Arc<Watchdog>) -> Result<Self, Error> {
        let Socket {
            stream,
            auth_name,
            auth_data,
        } = address.connect(watchdog.wait_end())?;
        let stream = WatchedStream::new(stream, Arc::clone(watchdog));
        let screen = address.screen();
        let x = Xcb::connect_to_stream_with_auth_info(stream, screen, auth_name, auth_data)?;
        let atoms = Atoms::new(&x)?.reply()?;
        Ok(Self {
            root: x.setup().roots[screen].root,
            x,
            atoms,
            display: address.name().to_owned(),
            screen,
        })
    }

    /// Returns the name of the display.
    #[must_use]
    pub fn display(&self) -> &str {
        &self.display
    }

    /// Returns the screen as it was when the connection was opened.
    #[must_use]
    pub fn screen(&self) -> &Screen {
        &self.x.setup().roots[self.screen]
    }

    /// Returns the number of the screen.
    #[must_use]
    pub fn screen_number(&self) -> usize {
        self.screen
    }

    /// Returns the timeout of a wait for the server.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.x.stream().watchdog().timeout()
    }

    /// Classifies an error of the library. After a timeout every further error is a consequence of it.
    pub fn error(&self, error: impl Into<Error>) -> Error {
        if self.x.stream().has_timed_out() {
            return Error::TimedOut;
        }
        error.into()
    }

    /// Sends all buffered requests.
    ///
    /// # Errors
    /// If the connection failed.
    pub fn flush(&self) -> Result<(), Error> {
        Ok(self.x.flush()?)
    }

    /// Waits for an event, for `limit`, or until `waker` is readable. The watchdog does not limit this: a server
    /// without events is silent.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn wait(
        &self,
        waker: Option<BorrowedFd<'_>>,
        limit: Option<Duration>,
    ) -> Result<(), Error> {
        let descriptors: Vec<_> = [self.x.stream().as_fd()].into_iter().chain(waker).collect();
        wait_readable(&descriptors, limit).map_err(|error| ConnectionError::from(error).into())
    }

    /// Returns the position of the pointer.
    ///
    /// # Errors
    /// If the connection failed.
    pub fn pointer(&self) -> Result<(i16, i16), Error> {
        let reply = self.x.query_pointer(self.root)?.reply()?;
        Ok((reply.root_x, reply.root_y))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    use tokio::time::Instant;

    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(100);

    /// Listens as the server of a display that no real server uses: the process gives the number.
    fn server(slot: u32) -> (UnixListener, SocketAddr, Address) {
        let number = 20_000 + slot * 10_000 + std::process::id() % 10_000;
        let path = format!("/tmp/.X11-unix/X{number}");
        let name = SocketAddr::from_abstract_name(path).unwrap();
        let listener = UnixListener::bind_addr(&name).unwrap();
        let address = Address::parse_local(&format!(":{number}")).unwrap();
        (listener, name, address)
    }

    fn open(address: &Address) -> Error {
        let begun = Instant::now();
        let error = Connection::open(address, &Watchdog::new(TIMEOUT)).unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(10));
        error
    }

    #[test]
    fn a_server_that_does_not_answer_times_out() {
        let (_listener, name, address) = server(0);
        assert_eq!(open(&address), Error::TimedOut);
        // A stopped server accepts no connections, and its queue of them fills up.
        let mut waiting = Vec::new();
        while let Ok(stream) = unblocked(&name) {
            waiting.push(stream);
        }
        assert_eq!(open(&address), Error::TimedOut);
    }

    fn unblocked(name: &SocketAddr) -> Result<rustix::fd::OwnedFd, rustix::io::Errno> {
        use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let bytes = name.as_abstract_name().unwrap();
        rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(bytes)?)?;
        Ok(socket)
    }

    #[test]
    fn a_server_that_denies_access_is_unavailable_with_its_reason() {
        let (listener, _, address) = server(1);
        let denying = std::thread::spawn(move || {
            let (mut stream, _): (UnixStream, _) = listener.accept().unwrap();
            // Setup failed, reason of 4 bytes, protocol 11.0, one word follows (X11 protocol, "Connection Setup").
            let mut reply = vec![0, 4];
            reply.extend([11u16, 0, 1].into_iter().flat_map(u16::to_ne_bytes));
            reply.extend(*b"no! ");
            stream.write_all(&reply).unwrap();
            stream
        });
        let cause = "the server denied access: no!".to_owned();
        assert_eq!(open(&address), Error::Unavailable { cause });
        drop(denying.join());
    }

    #[test]
    fn a_display_without_a_server_is_unavailable() {
        let (listener, _, address) = server(2);
        drop(listener);
        let error = open(&address);
        assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
        assert!(error.to_string().starts_with("no server is listening ("));
    }
}
