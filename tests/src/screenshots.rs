//! The screenshots of tasks, as files for inspection.
//!
//! They are written to the folder `MOTORIUM_PICTURES`; without it, to a temporary folder that is removed after the test.

use std::path::{Path, PathBuf};

use image::RgbImage;
use motorium_client::{Channel, Client};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use tempfile::TempDir;

use crate::event_log::EventLog;

/// A screenshot of a task.
#[derive(Debug, Clone)]
pub struct Screenshot {
    /// Name, for example `moved-step1-annotated`.
    pub name: String,
    /// The decoded image.
    pub pixels: RgbImage,
}

/// A folder of screenshots.
#[derive(Debug)]
pub struct ScreenshotFolder {
    folder: PathBuf,
    _temporary: Option<TempDir>,
}

impl ScreenshotFolder {
    /// Opens the folder, creating it if necessary.
    ///
    /// # Panics
    /// If it cannot be created.
    #[must_use]
    pub fn open() -> Self {
        if let Some(folder) = std::env::var_os("MOTORIUM_PICTURES") {
            std::fs::create_dir_all(&folder).expect("the folder can be created");
            return Self {
                folder: folder.into(),
                _temporary: None,
            };
        }
        let temporary = tempfile::tempdir().expect("a temporary folder can be created");
        Self {
            folder: temporary.path().to_owned(),
            _temporary: Some(temporary),
        }
    }

    /// Fetches every screenshot of a task and saves it as a PNG whose name starts with `title`.
    ///
    /// # Panics
    /// If one cannot be fetched, decoded or written.
    pub async fn save_all(
        &self,
        client: &Client<Channel>,
        title: &str,
        story: &EventLog,
    ) -> Vec<Screenshot> {
        let mut screenshots = Vec::new();
        for (name, artifact) in story.0.iter().flat_map(artifacts) {
            let name = format!("{title}-{name}");
            let (_, content) = client
                .get_artifact(&artifact.name)
                .await
                .unwrap_or_else(|report| panic!("{name}: {report}"));
            let pixels = image::load_from_memory(&content)
                .unwrap_or_else(|error| panic!("{name}: {error}"))
                .to_rgb8();
            save(&pixels, &self.folder.join(format!("{name}.png")));
            screenshots.push(Screenshot { name, pixels });
        }
        screenshots
    }
}

fn save(pixels: &RgbImage, path: &Path) {
    pixels
        .save(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Returns the image artifacts of an event with a name for each.
fn artifacts(event: &wire::Event) -> Vec<(String, wire::Artifact)> {
    let step = event.step;
    let named = |what: String, artifact: &Option<wire::Artifact>| {
        artifact.clone().map(|artifact| (what, artifact))
    };
    let found = match &event.kind {
        Some(Kind::Observed(observed)) => vec![named(format!("step{step}"), &observed.image)],
        Some(Kind::Decided(decided)) => {
            vec![named(
                format!("step{step}-annotated"),
                &decided.annotated_image,
            )]
        }
        Some(Kind::PointerChecked(checked)) => {
            vec![named(format!("step{step}-pointer"), &checked.image)]
        }
        Some(Kind::ApprovalRequested(requested)) => {
            let approval = requested.approval.clone().unwrap_or_default();
            vec![named(format!("step{step}-approval"), &approval.evidence)]
        }
        Some(Kind::InjectionSuspected(suspected)) => (1..)
            .zip(&suspected.evidence)
            .map(|(number, artifact)| {
                let artifact = Some(artifact.clone()).filter(|artifact| !artifact.name.is_empty());
                named(format!("step{step}-suspicion{number}"), &artifact)
            })
            .collect(),
        _ => Vec::new(),
    };
    found.into_iter().flatten().collect()
}
