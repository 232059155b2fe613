//! What was asked and answered in a step, stored with it.

use super::{Flow, Runner};
use crate::recording::Tape;
use crate::task::event::Artifact;

/// A `Recording` as zstd has made it smaller.
const RECORDING: &str = "application/zstd";

impl Runner {
    /// Writes what was deferred. A step that is over is written with what was asked and answered in it.
    pub(super) async fn flush(&mut self) -> Flow {
        self.keep_recording().await;
        self.journal.flush(&mut self.task).await
    }

    /// A record that cannot be stored is done without: the task is what matters.
    async fn keep_recording(&mut self) {
        let Tape::Recording(recorder) = &self.tape else {
            return;
        };
        let Some(step) = self.journal.finished_step() else {
            return;
        };
        let Some(record) = recorder.take(self.task.lifecycle.is_terminal()) else {
            return;
        };
        let size_bytes = record.len() as u64;
        match self.blobs.put(record).await {
            Ok(stored) => self.journal.add_recording(Artifact {
                sha256: stored.sha256(),
                media_type: RECORDING.to_owned(),
                size_bytes,
                file_name: format!("step-{step}.binpb.zst"),
            }),
            Err(error) => {
                tracing::warn!(task = %self.task.spec.name, %error, "what was asked in a step is not kept");
            }
        }
    }
}
