//! Trajectory hook: writes the trajectory of each ended task into a folder of its own
//! ([`motorium_recording::trajectory`]).
//!
//! Writing happens in the background, so the desktop is free at once. Errors are logged, and the task can be exported
//! later. Not here: deletion of old folders, which is the operator's task.

use std::path::PathBuf;

use async_trait::async_trait;
use motorium_proto::error::FieldError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{HookEvent, HookPoint, HookPoints};
use super::{Error, Hook, HookContext, HookErrorPolicy, HookVerdict};

/// Settings of the hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Name of the hook in events and errors. Unique among the hooks.
    pub name: String,
    /// Folder for trajectories. Each task gets a subfolder with its name; missing folders are created.
    /// Required.
    #[schemars(extend("format" = "path"))]
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

/// Writes the trajectory of each ended task.
#[derive(Debug)]
pub struct TrajectoryHook {
    settings: Settings,
}

impl TrajectoryHook {
    /// # Errors
    /// If `folder` is empty.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        if settings.folder.as_os_str().is_empty() {
            let problem = "is missing; give a folder such as /var/lib/motorium/trajectories";
            return Err(FieldError::new("folder", problem));
        }
        Ok(Self { settings })
    }
}

#[async_trait]
impl Hook for TrajectoryHook {
    fn name(&self) -> &str {
        &self.settings.name
    }

    async fn points(&self) -> Result<HookPoints, Error> {
        Ok([HookPoint::AfterRun].into_iter().collect())
    }

    async fn call(
        &self,
        context: &HookContext<'_>,
        hook_event: &HookEvent<'_>,
    ) -> Result<HookVerdict, Error> {
        let HookEvent::AfterRun(ended) = hook_event else {
            return Ok(HookVerdict::Continue);
        };
        let task = context.task.spec.name.clone();
        let gathered = ended.archive.trajectory(&task).await;
        let trajectory = gathered.map_err(|error| Error::Failed(error.to_string()))?;
        let folder = self.settings.folder.join(task.segment());
        tokio::spawn(async move {
            if let Err(error) = trajectory.write(&folder).await {
                tracing::error!(
                    %task, folder = %folder.display(), %error,
                    "the trajectory could not be written; export it with ExportTrajectory"
                );
            }
        });
        Ok(HookVerdict::Continue)
    }

    fn on_error(&self) -> HookErrorPolicy {
        HookErrorPolicy::Continue
    }
}
