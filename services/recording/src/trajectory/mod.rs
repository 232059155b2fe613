//! Export of a task as files, for people and for programs.
//!
//! - [`Trajectory`]: a task's log and images, written into a folder or streamed as an archive
//! - [`unpack`]: unpacks an archive into a folder, and never outside of it
//! - [`check_folder`], [`check_page`]: protect files that are not an earlier export
//!
//! The format is described in `docs/trajectory.md`. Everything comes from the log and the blob store, so a running task can be
//! exported up to its last event. A missing image is left out and listed in the manifest. Secrets appear as names, as in the
//! log. Images are downscaled for the page; their content is not interpreted.

mod answer;
mod archive;
mod error;
mod files;
pub mod json;
mod page;
mod runs;
pub mod steps;
mod target;
mod timeline;

use std::fs::File as Disk;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::limits::CHUNK_BYTES;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::{BlobStore, TaskStore};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub use archive::unpack;
pub use error::Error;
pub use files::{FORMAT, artifact_files, attachment_file_name, safe_file_name};
pub use runs::FOLDER as RECORDING;
pub use target::{check_folder, check_page};

use self::files::{ExportedFile, FileSource};
use self::steps::Steps;
use crate::log;
use motorium_task::Task;
use motorium_task::event::{RecordedEvent, public_view};
use motorium_text::hex;

/// File name of the HTML page.
pub const PAGE: &str = "trajectory.html";
/// Media type of a stored scene, a `motorium.common.v1.Scene`.
pub const SCENE: &str = "application/x-protobuf";
/// File name of the manifest, which lists all other files.
pub const MANIFEST: &str = "manifest.json";

/// A task's log and images, ready for export.
#[derive(Debug)]
pub struct Trajectory {
    task: Task,
    log: Vec<RecordedEvent>,
    /// The log as API clients see it.
    public: Vec<wire::Event>,
    /// The recording of each run.
    runs: Vec<Bytes>,
    blobs: BlobStore,
}

impl Trajectory {
    /// Reads a task's log up to its last event.
    ///
    /// # Errors
    /// If the task does not exist or its log cannot be read.
    pub async fn gather(
        store: &dyn TaskStore,
        blobs: BlobStore,
        name: &TaskName,
    ) -> Result<Self, log::Error> {
        let events = log::read_messages(store, name, EventSeq(0)).await?;
        let notes = store.notes(name).await?;
        let public = events.iter().cloned().map(public_view).collect();
        let log = events.into_iter().map(log::recorded);
        let log = log.collect::<Result<Vec<RecordedEvent>, _>>()?;
        let task = Task::from_events(log.clone());
        let task = task.ok_or_else(|| log::Error::Corrupt {
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

    /// Writes the export into a folder, which is created if missing. Files of an earlier export are overwritten.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub async fn write(&self, folder: &Path) -> Result<(), Error> {
        std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let folder = FolderSink {
            root: folder.to_owned(),
            open: None,
        };
        self.put_all(folder).await
    }

    /// Streams the export as a tar archive. Chunks are produced on demand.
    pub fn archive(self) -> impl futures::Stream<Item = Result<Bytes, Error>> + Send + use<> {
        archive::stream(self)
    }

    async fn put_all(&self, sink: impl FileSink) -> Result<(), Error> {
        let steps = Steps::of(&self.log, self.task.spec.message_language());
        let mut counted = ManifestSink::new(sink);
        let mut missing = Vec::new();
        for file in files::of(&self.task, &self.log, &self.public, &steps, &self.runs) {
            match self.content(&file, &steps).await {
                Ok(content) => counted.put(&file.path, content, self.changed_at()).await?,
                Err(Missing::Gone(reason)) => {
                    // A missing file does not stop the export. The manifest tells which ones are missing, so it is
                    // written last.
                    missing.push(json!({"path": file.path, "reason": reason}));
                }
                Err(Missing::Failed(error)) => return Err(error),
            }
        }
        let manifest = counted.manifest(&self.task, missing);
        let manifest = Content::Memory(files::pretty(&manifest).into());
        counted.put(MANIFEST, manifest, self.changed_at()).await?;
        counted.sink.finish().await
    }

    async fn content(&self, file: &ExportedFile, steps: &Steps) -> Result<Content, Missing> {
        match &file.source {
            FileSource::Inline(bytes) => Ok(Content::Memory(bytes.clone())),
            FileSource::Blob(sha256) => Ok(Content::Memory(self.blob(*sha256).await?)),
            FileSource::Scene(sha256) => {
                let scene = json::of_bytes(json::SCENE, &self.blob(*sha256).await?);
                let scene = scene.ok_or_else(|| Missing::Gone("not a valid scene".to_owned()))?;
                Ok(Content::Memory(scene.to_string().into()))
            }
            FileSource::Page => {
                let page = page::write(&self.task, steps, &self.blobs).await;
                Ok(Content::Disk(page.map_err(Missing::Failed)?))
            }
        }
    }

    async fn blob(&self, sha256: [u8; 32]) -> Result<Bytes, Missing> {
        let read = self.blobs.get(sha256).await;
        read.map_err(|error| Missing::Gone(error.to_string()))
    }

    /// Returns the time of the last event in seconds since 1970. Used for all files, so that exports of one log are identical.
    fn changed_at(&self) -> u64 {
        let since = self.task.updated_at.duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    }
}

/// Reason why a file has no content.
enum Missing {
    /// The content no longer exists; the export continues without it.
    Gone(String),
    Failed(Error),
}

/// Content of a file. The page is on disk, because its images may exceed the memory.
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

    /// Returns the next chunk; empty at the end.
    fn piece(&mut self) -> std::io::Result<Bytes> {
        match self {
            Content::Memory(bytes) => Ok(bytes.split_to(bytes.len().min(CHUNK_BYTES))),
            Content::Disk(file) => {
                let mut piece = Vec::with_capacity(CHUNK_BYTES);
                file.take(CHUNK_BYTES as u64).read_to_end(&mut piece)?;
                Ok(piece.into())
            }
        }
    }
}

/// Destination of exported files.
trait FileSink: Send {
    /// Starts a file with a size in bytes and a modification time in seconds since 1970.
    fn begin(
        &mut self,
        path: &str,
        size: u64,
        changed_at: u64,
    ) -> impl Future<Output = Result<(), Error>> + Send;
    fn piece(&mut self, piece: Bytes) -> impl Future<Output = Result<(), Error>> + Send;
    fn finish(self) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Writes files and collects the manifest.
struct ManifestSink<S> {
    sink: S,
    files: Vec<Value>,
}

impl<S: FileSink> ManifestSink<S> {
    fn new(sink: S) -> Self {
        Self {
            sink,
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
        self.sink.begin(path, size, changed_at).await?;
        let mut hash = Sha256::new();
        loop {
            let piece = content.piece().map_err(unreadable)?;
            if piece.is_empty() {
                break;
            }
            hash.update(&piece);
            self.sink.piece(piece).await?;
        }
        let sha256 = hex::encode(&hash.finalize());
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

/// Writes files into a folder.
struct FolderSink {
    root: PathBuf,
    open: Option<(PathBuf, Disk)>,
}

impl FileSink for FolderSink {
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

/// Flushes a file and rewinds it to its beginning.
fn rewound(mut file: Disk) -> std::io::Result<Disk> {
    file.flush()?;
    file.rewind()?;
    Ok(file)
}
