//! What tasks have seen, as files for people to look at.
//!
//! They go into the folder that `MOTORIUM_PICTURES` names; without it, into one that ends with the test.

use std::path::{Path, PathBuf};

use image::RgbImage;
use motorium_client::Client;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use tempfile::TempDir;
use tonic::transport::Channel;

use crate::story::Story;

/// A picture of a task.
#[derive(Debug, Clone)]
pub struct Picture {
    /// `moved-step1-marked`.
    pub name: String,
    /// Its pixels.
    pub pixels: RgbImage,
}

/// A folder of pictures.
#[derive(Debug)]
pub struct Album {
    folder: PathBuf,
    _temporary: Option<TempDir>,
}

impl Album {
    /// Opens the folder.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn open() -> Self {
        if let Some(folder) = std::env::var_os("MOTORIUM_PICTURES") {
            std::fs::create_dir_all(&folder).expect("the folder can be made");
            return Self {
                folder: folder.into(),
                _temporary: None,
            };
        }
        let temporary = tempfile::tempdir().expect("there is room for a folder");
        Self {
            folder: temporary.path().to_owned(),
            _temporary: Some(temporary),
        }
    }

    /// Fetches every picture of a story and keeps it as a PNG whose name begins with `title`.
    ///
    /// # Panics
    /// If one cannot be fetched, is no picture, or cannot be written.
    pub async fn keep(&self, client: &Client<Channel>, title: &str, story: &Story) -> Vec<Picture> {
        let mut pictures = Vec::new();
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
            pictures.push(Picture { name, pixels });
        }
        pictures
    }
}

fn save(pixels: &RgbImage, path: &Path) {
    pixels
        .save(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// The pictures of an event, with what each shows.
fn artifacts(event: &wire::Event) -> Vec<(String, wire::Artifact)> {
    let step = event.step;
    let named = |what: String, artifact: &Option<wire::Artifact>| {
        artifact.clone().map(|artifact| (what, artifact))
    };
    let found = match &event.kind {
        Some(Kind::Observed(observed)) => vec![
            named(format!("step{step}"), &observed.image),
            named(format!("step{step}-marked"), &observed.marked_image),
        ],
        Some(Kind::PointerChecked(checked)) => {
            vec![named(format!("step{step}-pointer"), &checked.image)]
        }
        Some(Kind::ApprovalRequested(requested)) => {
            let approval = requested.approval.clone().unwrap_or_default();
            vec![named(format!("step{step}-approval"), &approval.evidence)]
        }
        Some(Kind::InjectionSuspected(suspected)) => (1..)
            .zip(&suspected.evidence)
            .map(|(number, picture)| {
                let picture = Some(picture.clone()).filter(|picture| !picture.name.is_empty());
                named(format!("step{step}-suspicion{number}"), &picture)
            })
            .collect(),
        _ => Vec::new(),
    };
    found.into_iter().flatten().collect()
}
