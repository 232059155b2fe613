//! Capture on X11: MIT-SHM for pixels, XFIXES for the cursor, RandR for monitors, DAMAGE for changes, EWMH for windows.
//!
//! Each display has one thread that owns its connection ([`server_thread`]); [`X11Screen`] is its handle. Missing
//! optional extensions have fallbacks: pixels over the socket, one monitor, changes by polling.

mod connection;
mod damage;
mod layout;
mod mirror;
mod server_thread;
mod session;
mod shared_memory;
mod windows;

use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::frame::{Display, Window};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::DisplayId;
use tokio::sync::mpsc;

use super::polling::PollingChanges;
use super::{CaptureOptions, ChangeStream, RawCapture, Screen, ScreenChange};
use crate::error::Error;
use connection::parse_address;
use server_thread::{Handle, Settings};
use session::WatchMode;

/// Handle of an X display. Cheap to create: the first call opens the connection.
#[derive(Debug)]
pub struct X11Screen {
    id: DisplayId,
    server: Handle,
}

impl X11Screen {
    /// Creates the handle of the display with this name (`:99`). `limit` is the timeout of one call; `scale` overrides
    /// the scale that the desktop reports.
    ///
    /// # Errors
    /// [`Error::DisplayNotFound`] if the name is not that of a local display.
    pub fn new(id: DisplayId, limit: Duration, scale: Option<f64>) -> Result<Self, Error> {
        let address = parse_address(&id)?;
        let server = Handle::start(Settings {
            id: id.clone(),
            address,
            timeout: limit,
            scale,
        })?;
        Ok(Self { id, server })
    }
}

#[async_trait]
impl Screen for X11Screen {
    fn id(&self) -> &DisplayId {
        &self.id
    }

    async fn describe(&self) -> Result<Display, Error> {
        self.server.call(|live| live.describe()).await
    }

    async fn capture(&self, wanted: CaptureOptions) -> Result<RawCapture, Error> {
        self.server.call(move |live| live.capture(&wanted)).await
    }

    async fn cursor_position(&self) -> Result<Option<CapturePoint>, Error> {
        self.server.call(|live| live.cursor().map(Some)).await
    }

    async fn windows(&self) -> Result<Vec<Window>, Error> {
        self.server.call(|live| live.windows()).await
    }

    fn is_terminated(&self) -> bool {
        self.server.is_terminated()
    }

    async fn watch(&self) -> Result<Box<dyn ChangeStream>, Error> {
        let (sender, receiver) = mpsc::channel(damage::CHANNEL_CAPACITY);
        let watching = self.server.call(|live| live.watch(sender)).await?;
        if let WatchMode::Polling(display) = watching {
            return Ok(Box::new(PollingChanges::new(CaptureRect::from_size(
                display.size,
            ))));
        }
        Ok(Box::new(DamageReports {
            id: self.id.clone(),
            receiver,
        }))
    }
}

/// Change reports received from the server thread.
#[derive(Debug)]
struct DamageReports {
    id: DisplayId,
    receiver: mpsc::Receiver<Result<ScreenChange, Error>>,
}

#[async_trait]
impl ChangeStream for DamageReports {
    async fn next(&mut self) -> Result<ScreenChange, Error> {
        let ended = || Error::DisplayLost {
            display: self.id.clone(),
            detail: "its change reports ended".to_owned(),
        };
        self.receiver.recv().await.unwrap_or_else(|| Err(ended()))
    }
}
