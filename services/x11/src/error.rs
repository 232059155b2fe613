//! Errors of the connection, and the classification of those of the X library.

use std::io;

use x11rb::errors::{ConnectError, ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::ErrorKind;
use x11rb::x11_utils::X11Error;

/// Failure of a call. The display and the timeout are not part of it: the owner of the connection knows both.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The name of the display is malformed or not allowed.
    #[error("{cause}")]
    InvalidName { cause: String },
    /// No server is listening, or it denies access.
    #[error("{cause}")]
    Unavailable { cause: String },
    /// The watchdog expired.
    #[error("the X server does not respond")]
    TimedOut,
    /// The connection was lost.
    #[error("{cause}")]
    Lost { cause: String },
    /// The server answered a request with an error.
    #[error("{cause}")]
    Rejected { kind: ErrorKind, cause: String },
}

impl Error {
    /// Returns whether the connection is no longer usable.
    #[must_use]
    pub fn ends_connection(&self) -> bool {
        !matches!(self, Self::Rejected { .. })
    }

    /// Classifies a failure to connect the socket.
    pub(crate) fn connecting(error: &io::Error) -> Self {
        match error.kind() {
            // The queue of connections is full: the server exists but does not accept any.
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::TimedOut,
            _ => Self::Unavailable {
                cause: format!("no server is listening ({error})"),
            },
        }
    }
}

impl From<ConnectionError> for Error {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::IoError(error) if error.kind() == io::ErrorKind::TimedOut => {
                Self::TimedOut
            }
            other => Self::Lost {
                cause: other.to_string(),
            },
        }
    }
}

impl From<X11Error> for Error {
    fn from(error: X11Error) -> Self {
        let request = error.request_name.unwrap_or("a request");
        Self::Rejected {
            kind: error.error_kind,
            cause: format!("{request} failed with {:?}", error.error_kind),
        }
    }
}

impl From<ReplyError> for Error {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::ConnectionError(error) => error.into(),
            ReplyError::X11Error(error) => error.into(),
        }
    }
}

impl From<ReplyOrIdError> for Error {
    fn from(error: ReplyOrIdError) -> Self {
        match error {
            ReplyOrIdError::IdsExhausted => Self::Lost {
                cause: "no resource identifiers are left".to_owned(),
            },
            ReplyOrIdError::ConnectionError(error) => error.into(),
            ReplyOrIdError::X11Error(error) => error.into(),
        }
    }
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        let reason = |reason: &[u8]| String::from_utf8_lossy(reason).trim().to_owned();
        let cause = match error {
            ConnectError::IoError(error) => return ConnectionError::IoError(error).into(),
            ConnectError::InvalidScreen => "the server has no screen with this number".to_owned(),
            ConnectError::SetupFailed(failed) => {
                format!("the server denied access: {}", reason(&failed.reason))
            }
            ConnectError::SetupAuthenticate(failed) => {
                let reason = reason(&failed.reason);
                format!("the server requires authentication: {reason}")
            }
            other => other.to_string(),
        };
        Self::Unavailable { cause }
    }
}

/// Maps errors about a window that was closed between two requests to `None`.
///
/// # Errors
/// If the connection failed.
pub fn ignore_gone<T>(reply: Result<T, ReplyError>) -> Result<Option<T>, Error> {
    match reply {
        Ok(value) => Ok(Some(value)),
        Err(ReplyError::X11Error(_)) => Ok(None),
        Err(other) => Err(other.into()),
    }
}
