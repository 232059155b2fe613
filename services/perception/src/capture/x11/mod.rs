//! Capture on X11: MIT-SHM for pixels, XFIXES for the cursor, RandR for monitors, DAMAGE for changes, EWMH for windows.
//!
//! Each display has one thread that owns its connection ([`server`]); [`X11Screen`] is the way to it. Optional
//! extensions that are absent are done without: pixels over the socket, one monitor, changes by comparison.

mod connection;
mod damage;
mod layout;
mod live;
mod mirror;
mod server;
mod shared_memory;
mod stream;
mod windows;

use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::frame::{Display, Window};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::DisplayId;
use tokio::sync::mpsc;

use super::ticks::Ticks;
use super::{CaptureRequest, Change, Changes, Screen, Shot};
use crate::error::Error;
use connection::Address;
use live::Watching;
use server::{Handle, Settings};

/// One X display. Cheap to make: the connection is opened by the first call.
#[derive(Debug)]
pub struct X11Screen {
    id: DisplayId,
    server: Handle,
}

impl X11Screen {
    /// The display of that name (`:99`). `limit` is the longest that one call may wait for the server; `scale`
    /// overrides the scale that the desktop reports of itself.
    ///
    /// # Errors
    /// [`Error::DisplayNotFound`] if the name is not that of a display of this machine.
    pub fn new(id: DisplayId, limit: Duration, scale: Option<f64>) -> Result<Self, Error> {
        let address = Address::parse(&id)?;
        let server = Handle::start(Settings {
            id: id.clone(),
            address,
            limit,
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

    async fn capture(&self, wanted: CaptureRequest) -> Result<Shot, Error> {
        self.server.call(move |live| live.capture(&wanted)).await
    }

    async fn cursor(&self) -> Result<Option<CapturePoint>, Error> {
        self.server.call(|live| live.cursor().map(Some)).await
    }

    async fn windows(&self) -> Result<Vec<Window>, Error> {
        self.server.call(|live| live.windows()).await
    }

    fn has_ended(&self) -> bool {
        self.server.has_ended()
    }

    async fn watch(&self) -> Result<Box<dyn Changes>, Error> {
        let (sender, receiver) = mpsc::channel(damage::BACKLOG);
        let watching = self.server.call(|live| live.watch(sender)).await?;
        if let Watching::OnlyByLooking(display) = watching {
            return Ok(Box::new(Ticks::new(CaptureRect::from_size(display.size))));
        }
        Ok(Box::new(DamageReports {
            id: self.id.clone(),
            receiver,
        }))
    }
}

/// Reports from the server's thread.
#[derive(Debug)]
struct DamageReports {
    id: DisplayId,
    receiver: mpsc::Receiver<Result<Change, Error>>,
}

#[async_trait]
impl Changes for DamageReports {
    async fn next(&mut self) -> Result<Change, Error> {
        let ended = || Error::DisplayLost {
            display: self.id.clone(),
            detail: "its reports have ended".to_owned(),
        };
        self.receiver.recv().await.unwrap_or_else(|| Err(ended()))
    }
}
