//! Follows the screen of a desktop, or of a task, for all viewers with one identity.
//!
//! The stream begins with the first viewer and ends with the last one. A stream that fails is opened again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use image::RgbaImage;
use motorium_kit::blocking;
use motorium_proto::error::ErrorReport;
use motorium_proto::limits::MAX_IMAGE_MESSAGE_BYTES;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::perception::perception_service_client::PerceptionServiceClient;
use motorium_proto::v1::perception::{
    ImageFormat, ImageOptions, StreamFramesRequest, StreamFramesResponse,
};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tonic::Code;

use super::snapshot::Snapshot;
use crate::caller::{Caller, Fingerprint};
use crate::error::Error;
use crate::upstream::{DesktopService, Upstream};

/// Maximum frame rate, in frames per second. Perception sends fewer if less changes.
const FRAMES_PER_SECOND: u32 = 30;
/// First and longest pause before a failed stream is opened again.
const MIN_PAUSE: Duration = Duration::from_millis(300);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The followed screens.
#[derive(Debug)]
pub(crate) struct Screens {
    upstream: Arc<Upstream>,
    followed: Mutex<HashMap<(Fingerprint, Source), Weak<Screen>>>,
}

/// The screen to follow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// A desktop, by the last segment of its name. Its screen is Perception's, which only services and administrators see.
    Desktop(String),
    /// A task, by the last segment of its name. Callers who see the task see its screen, while it has a desktop.
    Task(String),
}

/// A followed screen. Following ends when the last viewer drops it.
#[derive(Debug)]
pub(super) struct Screen {
    updates: watch::Receiver<Update>,
    follower: AbortHandle,
}

/// The latest news of a screen.
#[derive(Debug, Clone)]
pub(super) enum Update {
    /// Nothing has arrived yet.
    Opening,
    Frame(Arc<Snapshot>),
    /// The stream failed and will be opened again.
    Waiting(Arc<ErrorReport>),
    /// The caller cannot see the screen, or there is no such desktop.
    Ended(Arc<ErrorReport>),
}

impl Screens {
    pub(crate) fn new(upstream: Arc<Upstream>) -> Self {
        Self {
            upstream,
            followed: Mutex::default(),
        }
    }

    /// Follows a screen, together with the other viewers of the same identity.
    pub(super) fn follow(&self, caller: &Caller, source: Source) -> Arc<Screen> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.retain(|_, screen| screen.strong_count() > 0);
        let key = (caller.identity(), source.clone());
        if let Some(screen) = followed.get(&key).and_then(Weak::upgrade) {
            return screen;
        }
        let (sender, updates) = watch::channel(Update::Opening);
        let follower = Follower {
            upstream: Arc::clone(&self.upstream),
            caller: caller.clone(),
            source,
            sender,
            pixels: None,
            index: 0,
        };
        let screen = Arc::new(Screen {
            updates,
            follower: tokio::spawn(follower.run()).abort_handle(),
        });
        followed.insert(key, Arc::downgrade(&screen));
        screen
    }
}

impl Screen {
    /// Returns the news, beginning with the latest.
    pub(super) fn updates(&self) -> watch::Receiver<Update> {
        let mut updates = self.updates.clone();
        updates.mark_changed();
        updates
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

/// Follows one screen.
struct Follower {
    upstream: Arc<Upstream>,
    caller: Caller,
    source: Source,
    sender: watch::Sender<Update>,
    pixels: Option<Arc<RgbaImage>>,
    /// Index of the latest frame, which also grows when the stream is opened again: of two that follow each other, viewers miss none.
    index: u64,
}

impl Follower {
    async fn run(mut self) {
        let mut pause = MIN_PAUSE;
        loop {
            let mut received = false;
            let report = match self.stream(&mut received).await {
                Ok(()) => {
                    ErrorReport::new(Code::Unavailable, "SHUTTING_DOWN", "the stream has ended")
                }
                Err(error) => error.report(),
            };
            if is_final(report.code) {
                self.sender.send_replace(Update::Ended(Arc::new(report)));
                return;
            }
            tracing::debug!(
                source = ?self.source,
                reason = report.reason,
                "live stream failed"
            );
            self.sender.send_replace(Update::Waiting(Arc::new(report)));
            pause = if received {
                MIN_PAUSE
            } else {
                (pause * 2).min(MAX_PAUSE)
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Follows the screen until its stream ends.
    async fn stream(&mut self, received: &mut bool) -> Result<(), Error> {
        let mut updates = self.open().await?;
        // A new stream begins with a whole frame.
        self.pixels = None;
        while let Some(update) = updates.try_next().await? {
            let before = self.pixels.take();
            self.index += 1;
            let index = self.index;
            let applied = blocking::run(move || Snapshot::after(before, &update, index)).await;
            let snapshot = applied.map_err(|error| tonic::Status::internal(error.to_string()))?;
            self.pixels = Some(snapshot.pixels());
            *received = true;
            self.sender.send_replace(Update::Frame(Arc::new(snapshot)));
        }
        Ok(())
    }

    async fn open(&self) -> Result<Updates, Error> {
        match &self.source {
            Source::Desktop(desktop) => self.open_desktop(desktop).await,
            Source::Task(task) => self.open_task(task).await,
        }
    }

    async fn open_desktop(&self, desktop: &str) -> Result<Updates, Error> {
        let address = self.upstream.desktop(&self.caller, desktop).await?;
        let service = DesktopService::Perception;
        let channel = self
            .upstream
            .desktop_channel(&self.caller, &address, service)?;
        let mut client = PerceptionServiceClient::new(channel)
            .max_decoding_message_size(MAX_IMAGE_MESSAGE_BYTES);
        let request = StreamFramesRequest {
            display: address.display,
            max_frames_per_second: FRAMES_PER_SECOND,
            // Lossless: the gateway encodes for each size of viewers.
            image: Some(ImageOptions {
                format: ImageFormat::Png.into(),
                ..ImageOptions::default()
            }),
            ..StreamFramesRequest::default()
        };
        Ok(client.stream_frames(request).await?.into_inner().boxed())
    }

    async fn open_task(&self, task: &str) -> Result<Updates, Error> {
        let mut client = self.upstream.orchestrator(&self.caller)?;
        let request = wire::WatchScreenRequest {
            name: format!("tasks/{task}"),
            max_frames_per_second: FRAMES_PER_SECOND,
        };
        let updates = client.watch_screen(request).await?.into_inner();
        let updates = updates.map_ok(|response| response.update.unwrap_or_default());
        Ok(updates.boxed())
    }
}

/// Updates of a screen, the first one whole.
type Updates = BoxStream<'static, Result<StreamFramesResponse, tonic::Status>>;

/// Returns true for errors that do not pass with time.
fn is_final(code: Code) -> bool {
    matches!(
        code,
        Code::NotFound
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented
            | Code::InvalidArgument
    )
}
