//! The screen of a task, for callers who may see the task.
//!
//! The stream ends before the desktop can be another task's ([`crate::screens`]). Nothing is drawn or encoded here.

use futures::StreamExt as _;
use motorium_proto::service::{FrameUpdate, ImageOptions, StreamRequest};
use motorium_proto::v1::orchestrator as wire;
use tonic::Status;

use super::commands::wrong_state;
use super::{Edge, ResponseStream, ownership};
use crate::error::Error;
use motorium_recording::log;

/// Default of the maximum frame rate, in frames per second.
const DEFAULT_FRAMES_PER_SECOND: u32 = 5;
/// Problem of a task whose screen is not shown.
const NOT_SHOWN: &str = "its screen is not shown now: it has no desktop, has entered a secret, or a hook redacts its \
     screenshots; look at the screenshots of its steps";

impl Edge {
    pub(super) async fn watch_screen_of_task(
        &self,
        request: wire::WatchScreenRequest,
    ) -> Result<ResponseStream<wire::WatchScreenResponse>, Status> {
        let row = self.visible_row("name", &request.name).await?;
        let slot = self.watches.take(ownership::caller()?.name())?;
        let name = row.name.clone();
        let Some(screen) = self.screens.find(&name).await else {
            if let Some(orchestrator) = self.other_orchestrator(row) {
                let task = name;
                return Err(Error::RunsElsewhere { task, orchestrator }.into());
            }
            let task = log::load(self.store.as_ref(), &name).await;
            return Err(wrong_state(&task.map_err(Error::from)?, NOT_SHOWN).into());
        };
        let max_frames_per_second = match request.max_frames_per_second {
            0 => DEFAULT_FRAMES_PER_SECOND,
            frames => frames,
        };
        let request = StreamRequest {
            display: Some(screen.display),
            max_frames_per_second,
            image: ImageOptions::default(),
            redactions: Vec::new(),
            omit_input_marks: false,
        };
        let updates = screen.perception.stream_frames(request).await;
        let updates = updates.map_err(Status::from)?;
        let (hidden, shutdown) = (screen.hidden, self.shutdown.clone());
        let end = async move {
            tokio::select! {
                () = hidden.cancelled() => {}
                () = shutdown.draining() => {}
            }
        };
        // The end is asked for before each update, so that none is passed on after it.
        let shown = updates.take_until(Box::pin(end));
        let messages = shown.map(move |update| {
            // Counts until the caller drops the stream.
            let _ = &slot;
            update.map(response).map_err(Status::from)
        });
        Ok(messages.boxed())
    }
}

fn response(update: FrameUpdate) -> wire::WatchScreenResponse {
    wire::WatchScreenResponse {
        update: Some(update.into()),
    }
}
