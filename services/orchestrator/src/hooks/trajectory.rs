//! Writes everything about a task into a folder of its own as soon as it has ended ([`crate::trajectory`]).
//!
//! Nobody waits for it: the desktop is free again at once. What cannot be written is logged and can be exported later. Not
//! here: when old folders go, which is for whoever looks after the disk.

use std::path::PathBuf;

use async_trait::async_trait;
use motorium_proto::error::FieldError;
use serde::{Deserialize, Serialize};

use super::happening::{Happening, Point, Points};
use super::{Context, Error, Hook, OnError, Verdict};

/// As written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub name: String,
    /// Each task has a folder in it, by its name. It is made when it is missing.
    pub folder: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "trajectory".to_owned(),
            folder: PathBuf::new(),
        }
    }
}

/// Writes trajectories.
#[derive(Debug)]
pub struct Writer {
    settings: Settings,
}

impl Writer {
    /// # Errors
    /// If no folder is named.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        if settings.folder.as_os_str().is_empty() {
            let problem = "is missing; name the folder, such as /var/lib/motorium/trajectories";
            return Err(FieldError::new("folder", problem));
        }
        Ok(Self { settings })
    }
}

#[async_trait]
impl Hook for Writer {
    fn name(&self) -> &str {
        &self.settings.name
    }

    async fn points(&self) -> Result<Points, Error> {
        Ok([Point::AfterRun].into_iter().collect())
    }

    async fn call(
        &self,
        context: &Context<'_>,
        happening: &Happening<'_>,
    ) -> Result<Verdict, Error> {
        let Happening::AfterRun(ended) = happening else {
            return Ok(Verdict::Continue);
        };
        let task = context.task.spec.name.clone();
        let gathered = ended.archive.trajectory(&task).await;
        let trajectory = gathered.map_err(|error| Error::Failed(error.to_string()))?;
        let folder = self.settings.folder.join(task.segment());
        tokio::spawn(async move {
            if let Err(error) = trajectory.write(&folder).await {
                tracing::error!(%task, folder = %folder.display(), %error, "the trajectory is not written; it can be exported");
            }
        });
        Ok(Verdict::Continue)
    }

    fn on_error(&self) -> OnError {
        OnError::Continue
    }
}
