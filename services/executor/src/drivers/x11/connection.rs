//! Connects to the display, and maps errors of the connection to the driver's.
//!
//! Each connection has a watchdog that limits every wait for the server. After a display error the connection is
//! dropped, and the injector reconnects.

use std::time::Duration;

use motorium_x11::{Address, Connection, Watchdog};

use crate::drivers::Error;

/// Connects to `display`. `timeout` limits every later wait without progress.
pub(super) fn connect(display: &str, timeout: Duration) -> Result<Connection, Error> {
    // Each wait is limited by itself and not the whole action: typing a long text may take minutes.
    Address::parse(display)
        .and_then(|address| Connection::open(&address, &Watchdog::new(timeout)))
        .map_err(|error| driver_error(error, display, timeout))
}

/// Maps errors of calls on a connection to the driver's.
pub(super) trait OrDisplayError<T> {
    /// Maps an error of the library or the connection.
    fn or_display_error(self, link: &Connection) -> Result<T, Error>;
}

impl<T, E: Into<motorium_x11::Error>> OrDisplayError<T> for Result<T, E> {
    fn or_display_error(self, link: &Connection) -> Result<T, Error> {
        self.map_err(|error| driver_error(link.error(error), link.display(), link.timeout()))
    }
}

/// The only place that maps errors of the connection.
fn driver_error(error: motorium_x11::Error, display: &str, timeout: Duration) -> Error {
    use motorium_x11::Error as CallError;

    let display = display.to_owned();
    match error {
        CallError::InvalidName { cause } | CallError::Unavailable { cause } => {
            Error::NoDisplay { display, cause }
        }
        CallError::TimedOut => Error::DisplayTimedOut { display, timeout },
        CallError::Lost { cause } => Error::DisplayLost { display, cause },
        CallError::Rejected { cause, .. } => Error::Rejected { cause },
    }
}
