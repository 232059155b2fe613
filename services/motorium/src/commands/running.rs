//! Services that run on this machine already, for commands that need no Orchestrator.
//!
//! It starts no server: a command that finds none works in its own process.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::client::{Channel, Config};
use motorium_kit::config::{LayeredConfig, ListenAddress};
use motorium_messages::Message;
use motorium_perception::config::Settings;
use motorium_proto::domain::id::DisplayId;
use motorium_proto::service::{Perception, PerceptionClient};
use tokio::net::TcpStream;
use x11rb::reexports::x11rb_protocol::parse_display::parse_display;

use crate::error::Error;
use crate::process;
use crate::show::text;

/// Timeout for connecting to a local port, which either succeeds at once or is refused.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);

/// Returns whether something listens at a local address. Anything but a refused connection counts: the call then reports what
/// is wrong.
pub(super) async fn listens(address: SocketAddr) -> bool {
    let connecting = TcpStream::connect(address);
    match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(Err(error)) => error.kind() != ErrorKind::ConnectionRefused,
        _ => true,
    }
}

/// Connects to a service of this machine.
pub(super) fn channel(loaded: &LayeredConfig, uri: &str) -> Result<Channel, Error> {
    let config = Config {
        uri: uri.to_owned(),
        ..loaded.common()?.client("")
    };
    Channel::connect_lazy(&config).map_err(|error| Error::Usage(error.to_string()))
}

/// Returns true if two names mean different X displays: `:1` and `:1.0` mean one. Names of other kinds are not compared.
pub(super) fn is_other_display(one: &str, other: &str) -> bool {
    let host_and_number = |name| {
        let parsed = parse_display(Some(name)).ok()?;
        Some((parsed.host, parsed.display))
    };
    let names = (host_and_number(one), host_and_number(other));
    matches!(names, (Some(one), Some(other)) if one != other)
}

/// The Perception that a command sees with.
pub(super) struct PerceptionHandle {
    pub(super) perception: Arc<dyn Perception>,
    /// Address of the running one.
    pub(super) found_at: Option<String>,
}

impl PerceptionHandle {
    /// Connects to the configured Perception if it runs, or else starts one in this process, on the display of the session.
    ///
    /// # Errors
    /// If the configuration cannot be used, or none runs and there is no display.
    pub(super) async fn connect(loaded: &LayeredConfig, in_process: bool) -> Result<Self, Error> {
        let ListenAddress(address) = loaded.section::<Settings>()?.listen;
        // The name in a certificate is not known here; seeing the display of the session does no harm.
        let may_run = !in_process && !loaded.is_set("server.tls_certificate");
        if may_run && listens(address).await {
            let address = format!("http://{address}");
            let channel = channel(loaded, &address)?;
            return Ok(Self {
                perception: Arc::new(PerceptionClient::new(channel)),
                found_at: Some(address),
            });
        }
        let perception = process::perception(loaded, None).await?;
        Ok(Self {
            perception,
            found_at: None,
        })
    }

    /// Returns a note for a person if this Perception, which was found, sees another display than that of the session.
    pub(super) fn note_on(&self, display: &DisplayId) -> Option<String> {
        let perception = self.found_at.as_deref()?;
        let own = &std::env::var("DISPLAY").unwrap_or_default();
        let display = display.as_str();
        is_other_display(display, own).then(|| {
            text(Message::SeeOtherDesktop {
                display,
                perception,
                own,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_are_compared_by_what_they_mean() {
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(is_other_display(one, other), expected, "{one} {other}");
        };
        check(":99", ":0", true);
        check(":99", ":99", false);
        check(":99", ":99.0", false);
        check(":99", "far:99", true);
        // A session without a display, and displays of other systems.
        check(":99", "", false);
        check("Built-in Retina Display", ":0", false);
    }
}
