//! Messages to systemd: that the service is ready, that it ends, and that it is alive.
//!
//! A message is a datagram to the socket that `NOTIFY_SOCKET` names (sd_notify(3)); without the variable nothing is sent. With
//! `WatchdogSec=` in the unit, systemd ends a service that is silent for that time. The message is sent from a task of the
//! async runtime: a runtime whose threads are all blocked is silent.
//!
//! It does not tell whether a service can do its work: that is health ([`crate::server`]).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::time::Duration;

use crate::shutdown::Shutdown;

/// The service manager that started this process.
#[derive(Debug)]
pub struct ServiceManager {
    socket: UnixDatagram,
    /// Longest time between two messages that the service is alive; `None` if none is expected.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// Returns the service manager that the environment names; `None` if there is none or it cannot be reached.
    #[must_use]
    pub fn of_process() -> Option<Self> {
        Self::of(|name| std::env::var_os(name))
    }

    /// Returns the service manager that these variables name.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let path = variable("NOTIFY_SOCKET")?;
        let socket = connect(&path)
            .inspect_err(|error| tracing::warn!(%error, "systemd's socket cannot be used"))
            .ok()?;
        // The variable may be inherited from another service.
        let is_ours = variable("WATCHDOG_PID")
            .is_none_or(|pid| pid.to_str() == Some(std::process::id().to_string().as_str()));
        let micros = variable("WATCHDOG_USEC").filter(|_| is_ours);
        let micros = micros.and_then(|micros| micros.to_str()?.parse().ok());
        Some(Self {
            socket,
            watchdog: micros.map(Duration::from_micros),
        })
    }

    fn send(&self, state: &str) {
        if let Err(error) = self.socket.send(state.as_bytes()) {
            tracing::warn!(%error, state, "systemd could not be notified");
        }
    }

    /// Tells that the service is ready, then from time to time that it is alive, and at last that it ends.
    async fn run(self, shutdown: Shutdown) {
        self.send("READY=1");
        loop {
            tokio::select! {
                () = shutdown.draining() => {
                    self.send("STOPPING=1");
                    break;
                }
                () = self.next_watchdog_ping() => self.send("WATCHDOG=1"),
            }
        }
        // A drain may take longer than the watchdog waits.
        loop {
            self.next_watchdog_ping().await;
            self.send("WATCHDOG=1");
        }
    }

    /// Waits half of the watchdog's time, as sd_watchdog_enabled(3) advises.
    async fn next_watchdog_ping(&self) {
        match self.watchdog {
            Some(watchdog) => tokio::time::sleep(watchdog / 2).await,
            None => std::future::pending().await,
        }
    }
}

/// Starts to notify the service manager that started this process, if there is one.
pub(crate) fn notify(shutdown: &Shutdown) {
    if let Some(manager) = ServiceManager::of_process() {
        tokio::spawn(manager.run(shutdown.clone()));
    }
}

fn connect(path: &OsStr) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    // A message that systemd has no room for is lost, rather than a thread.
    socket.set_nonblocking(true)?;
    match path.as_bytes() {
        // An abstract socket.
        [b'@', name @ ..] => {
            socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?;
        }
        _ => socket.connect(Path::new(path))?,
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        let mut message = [0; 100];
        let length = socket.recv(&mut message).unwrap();
        String::from_utf8_lossy(&message[..length]).into_owned()
    }

    #[tokio::test]
    async fn systemd_hears_that_the_service_is_ready_alive_and_ending() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let systemd = UnixDatagram::bind(&path).unwrap();
        systemd
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let variables = |name: &str| match name {
            "NOTIFY_SOCKET" => Some(path.clone().into_os_string()),
            "WATCHDOG_USEC" => Some("40000".into()),
            _ => None,
        };
        let shutdown = Shutdown::new();
        let manager = ServiceManager::of(variables).unwrap();
        tokio::spawn(manager.run(shutdown.clone()));
        let next = async || {
            let systemd = systemd.try_clone().unwrap();
            let received = tokio::task::spawn_blocking(move || received(&systemd));
            received.await.unwrap()
        };
        assert_eq!(next().await, "READY=1");
        assert_eq!(next().await, "WATCHDOG=1");
        shutdown.drain();
        while next().await != "STOPPING=1" {}
        assert_eq!(next().await, "WATCHDOG=1");
    }

    #[test]
    fn without_systemd_nothing_is_sent() {
        assert!(ServiceManager::of(|_| None).is_none());
        let gone = |name: &str| (name == "NOTIFY_SOCKET").then(|| "/no/such/socket".into());
        assert!(ServiceManager::of(gone).is_none());
    }

    #[test]
    fn the_watchdog_of_another_process_is_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let _systemd = UnixDatagram::bind(&path).unwrap();
        let variables = |name: &str| match name {
            "NOTIFY_SOCKET" => Some(path.clone().into_os_string()),
            "WATCHDOG_USEC" => Some("40000".into()),
            "WATCHDOG_PID" => Some("1".into()),
            _ => None,
        };
        assert_eq!(ServiceManager::of(variables).unwrap().watchdog, None);
    }
}
