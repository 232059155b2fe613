//! A task as files: what happened, step by step, for people and for programs.
//!
//! - [`Trajectory`]: a task's log and pictures, written into a folder or streamed as an archive
//! - [`unpack`]: an archive, as a folder, and nothing outside of it
//!
//! The form is in `docs/trajectory.md`. Everything comes from the log and the blob store; nothing is asked of the loop, so
//! that a task can be exported while it runs, as far as it is. A picture that is gone is left out and named in the
//! manifest. Secrets are names in the log and so in here. Pictures are shrunk for the page, and never looked at.

mod answer;
mod archive;
mod error;
mod files;
pub(crate) mod json;
mod page;
mod runs;
pub(crate) mod steps;

use std::fs::File as Disk;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::limits::CHUNK;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::{BlobStore, TaskStore};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub use archive::unpack;
pub use error::Error;
pub(crate) use files::{FORMAT, artifacts, plain};
pub(crate) use runs::FOLDER as RECORDING;

use self::files::{File, Source};
use self::steps::Steps;
use crate::log;
use crate::task::Task;
use crate::task::event::{Recorded, hex, public};

/// The file for people.
pub const PAGE: &str = "trajectory.html";
/// What is said of a stored scene, which is a `motorium.common.v1.Scene`.
pub(crate) const SCENE: &str = "application/x-protobuf";
/// The file that lists all others.
pub(crate) const MANIFEST: &str = "manifest.json";

/// A task's log and pictures.
#[derive(Debug)]
pub struct Trajectory {
    task: Task,
    log: Vec<Recorded>,
    /// The same, as outsiders see it.
    public: Vec<wire::Event>,
    /// What each run asked and was answered.
    runs: Vec<Bytes>,
    blobs: BlobStore,
}

impl Trajectory {
    /// Reads a task's log as far as it is.
    ///
    /// # Errors
    /// If there is no such task, or its log cannot be read.
    pub async fn gather(
        store: &dyn TaskStore,
        blobs: BlobStore,
        name: &TaskName,
    ) -> Result<Self, crate::Error> {
        let log = log::read(store, name, EventSeq(0)).await?;
        let notes = store.notes(name).await?;
        let public = log
            .iter()
            .map(|recorded| public(recorded.clone().to_wire(name)));
        let public = public.collect();
        let task = Task::from_events(log.clone());
        let task = task.ok_or_else(|| crate::Error::CorruptLog {
            detail: format!("the log of {name} does not begin with its creation"),
        })?;
        Ok(Self {
            runs: runs::of(notes),
            task,
            log,
            public,
            blobs,
        })
    }

    /// Writes everything into a folder, which is made if it is missing. Files of an earlier export are written anew.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub async fn write(&self, folder: &Path) -> Result<(), Error> {
        std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let folder = Folder {
            root: folder.to_owned(),
            open: None,
        };
        self.put_all(folder).await
    }

    /// Everything as a tar archive, piece by piece: each is made when the one before was taken.
    pub fn archive(self) -> impl futures::Stream<Item = Result<Bytes, Error>> + Send + use<> {
        archive::stream(self)
    }

    async fn put_all(&self, shelf: impl Shelf) -> Result<(), Error> {
        let steps = Steps::of(&self.log);
        let mut counted = Counted::new(shelf);
        let mut missing = Vec::new();
        for file in files::of(&self.task, &self.log, &self.public, &steps, &self.runs) {
            match self.content(&file, &steps).await {
                Ok(content) => counted.put(&file.path, content, self.changed_at()).await?,
                Err(Missing::Gone(reason)) => {
                    missing.push(json!({"path": file.path, "reason": reason}));
                }
                Err(Missing::Failed(error)) => return Err(error),
            }
        }
        let manifest = counted.manifest(&self.task, missing);
        let manifest = Content::Memory(files::pretty(&manifest).into());
        counted.put(MANIFEST, manifest, self.changed_at()).await?;
        counted.shelf.finish().await
    }

    async fn content(&self, file: &File, steps: &Steps) -> Result<Content, Missing> {
        match &file.source {
            Source::Inline(bytes) => Ok(Content::Memory(bytes.clone())),
            Source::Blob(sha256) => Ok(Content::Memory(self.blob(*sha256).await?)),
            Source::Scene(sha256) => {
                let scene = json::of_bytes(json::SCENE, &self.blob(*sha256).await?);
                let scene = scene.ok_or_else(|| Missing::Gone("it is no scene".to_owned()))?;
                Ok(Content::Memory(scene.to_string().into()))
            }
            Source::Page => {
                let page = page::write(&self.task, steps, &self.blobs).await;
                Ok(Content::Disk(page.map_err(Missing::Failed)?))
            }
        }
    }

    async fn blob(&self, sha256: [u8; 32]) -> Result<Bytes, Missing> {
        let read = self.blobs.get(sha256).await;
        read.map_err(|error| Missing::Gone(error.to_string()))
    }

    /// When the task last changed: an export of the same log is the same, byte for byte.
    fn changed_at(&self) -> u64 {
        let since = self.task.updated_at.duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    }
}

/// Why a file has no content.
enum Missing {
    /// It is not there any more; the rest is.
    Gone(String),
    Failed(Error),
}

/// What is in a file. The page has too many pictures to be held in memory.
enum Content {
    Memory(Bytes),
    Disk(Disk),
}

impl Content {
    fn size(&self) -> std::io::Result<u64> {
        match self {
            Content::Memory(bytes) => Ok(bytes.len() as u64),
            Content::Disk(file) => Ok(file.metadata()?.len()),
        }
    }

    /// Its next piece; an empty one at the end.
    fn piece(&mut self) -> std::io::Result<Bytes> {
        match self {
            Content::Memory(bytes) => Ok(bytes.split_to(bytes.len().min(CHUNK))),
            Content::Disk(file) => {
                let mut piece = Vec::with_capacity(CHUNK);
                file.take(CHUNK as u64).read_to_end(&mut piece)?;
                Ok(piece.into())
            }
        }
    }
}

/// Where files go.
trait Shelf: Send {
    /// Begins a file of so many bytes, last changed at so many seconds since 1970.
    fn begin(
        &mut self,
        path: &str,
        size: u64,
        changed_at: u64,
    ) -> impl Future<Output = Result<(), Error>> + Send;
    fn piece(&mut self, piece: Bytes) -> impl Future<Output = Result<(), Error>> + Send;
    fn finish(self) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A shelf that knows what lies on it.
struct Counted<S> {
    shelf: S,
    files: Vec<Value>,
}

impl<S: Shelf> Counted<S> {
    fn new(shelf: S) -> Self {
        Self {
            shelf,
            files: Vec::new(),
        }
    }

    async fn put(
        &mut self,
        path: &str,
        mut content: Content,
        changed_at: u64,
    ) -> Result<(), Error> {
        let unreadable = |source| Error::File {
            path: PathBuf::from(path),
            source,
        };
        let size = content.size().map_err(unreadable)?;
        self.shelf.begin(path, size, changed_at).await?;
        let mut hash = Sha256::new();
        loop {
            let piece = content.piece().map_err(unreadable)?;
            if piece.is_empty() {
                break;
            }
            hash.update(&piece);
            self.shelf.piece(piece).await?;
        }
        let sha256 = hex(&hash.finalize());
        self.files
            .push(json!({"path": path, "size": size, "sha256": sha256}));
        Ok(())
    }

    fn manifest(&self, task: &Task, missing: Vec<Value>) -> Value {
        json!({
            "format": FORMAT,
            "task": task.spec.name.to_string(),
            "events": task.last_seq.0,
            "complete": task.lifecycle.is_terminal(),
            "files": self.files,
            "missing": missing,
        })
    }
}

/// A folder on the disk.
struct Folder {
    root: PathBuf,
    open: Option<(PathBuf, Disk)>,
}

impl Shelf for Folder {
    async fn begin(&mut self, path: &str, _: u64, _: u64) -> Result<(), Error> {
        let path = self.root.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(Error::file(parent))?;
        }
        let file = Disk::create(&path).map_err(Error::file(&path))?;
        self.open = Some((path, file));
        Ok(())
    }

    async fn piece(&mut self, piece: Bytes) -> Result<(), Error> {
        match &mut self.open {
            Some((path, file)) => file.write_all(&piece).map_err(Error::file(path)),
            None => Ok(()),
        }
    }

    async fn finish(self) -> Result<(), Error> {
        Ok(())
    }
}

/// A file that was written, from its beginning.
fn rewound(mut file: Disk) -> std::io::Result<Disk> {
    file.flush()?;
    file.rewind()?;
    Ok(file)
}
