//! Content-addressed storage of images and files: equal content is stored once, and its integrity can be verified.
//!
//! A blob is stored before the transaction that refers to it, and never changed. A process that knows all references removes
//! the blobs that nothing uses ([`crate::blob_sweep`]). A thin layer on top of `object_store`.

use std::error::Error as StdError;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures::future::try_join_all;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutPayload};

use crate::Error;
use crate::blob_id::BlobId;
use crate::blob_sweep::{self, RemovedBlobs};
use crate::disk_pool::DiskPool;
use crate::folder::{self, Durability};
use crate::verified::VerifiedBlobs;

/// A store of blobs. Clones share the store.
#[derive(Debug, Clone)]
pub struct BlobStore {
    backend: BlobBackend,
    /// Threads for disk I/O; `None` for a store in memory.
    disk: Option<DiskPool>,
    /// True if each write waits for the disk. Parallel writes are then faster.
    fsync: bool,
}

/// The underlying object store. Its calls may wait for the disk.
#[derive(Debug, Clone)]
struct BlobBackend {
    objects: Arc<dyn ObjectStore>,
    /// Location of the blobs, for errors.
    place: PathBuf,
    /// True for a folder, whose blobs can be removed. A store in memory keeps everything until it ends.
    is_folder: bool,
    verified: Arc<VerifiedBlobs>,
}

impl BlobStore {
    /// Opens the store at an address: `file:///folder`, or `memory:` for one that ends with the process.
    ///
    /// # Errors
    /// `UnknownBackend`, or like [`BlobStore::folder`].
    pub fn open(uri: &str, durability: Durability) -> Result<Self, Error> {
        match uri.split_once(':') {
            Some(("memory", "")) => Ok(Self::memory()),
            Some(("file", path)) if path.starts_with("///") => {
                Self::folder(Path::new(&path[2..]), durability)
            }
            _ => Err(Error::UnknownBackend {
                uri: uri.to_owned(),
                known: "file:///folder, memory:",
            }),
        }
    }

    /// Creates a store in memory.
    #[must_use]
    pub fn memory() -> Self {
        let backend = BlobBackend {
            objects: Arc::new(InMemory::new()),
            place: PathBuf::from("memory"),
            is_folder: false,
            verified: Arc::default(),
        };
        Self {
            backend,
            disk: None,
            fsync: false,
        }
    }

    /// Opens a store in a folder, which is created if it is missing.
    ///
    /// # Errors
    /// `Unwritable` or `Full` if the folder cannot be created or written; `Failed` if no thread can be created.
    pub fn folder(path: &Path, durability: Durability) -> Result<Self, Error> {
        folder::prepare(path)?;
        let objects = LocalFileSystem::new_with_prefix(path)
            .map_err(|error| Error::Unwritable {
                path: path.to_owned(),
                detail: error.to_string(),
            })?
            .with_fsync(durability == Durability::Full);
        let backend = BlobBackend {
            objects: Arc::new(objects),
            place: path.to_owned(),
            is_folder: true,
            verified: Arc::default(),
        };
        let disk = DiskPool::start(durability).map_err(|error| Error::Failed(Box::new(error)))?;
        Ok(Self {
            backend,
            disk: Some(disk),
            fsync: durability == Durability::Full,
        })
    }

    /// Checks that content can be stored: that the folder can be written, and that its disk has room.
    ///
    /// # Errors
    /// `Full` or `Unwritable`.
    pub async fn check(&self) -> Result<(), Error> {
        self.run_on_disk_pool(|backend| async move {
            match backend.is_folder {
                true => folder::check_room(&backend.place),
                false => Ok(()),
            }
        })
        .await
    }

    /// Stores content, unless it is already stored, and returns its identifier.
    ///
    /// # Errors
    /// `Full`, `Unwritable` or `Failed`.
    pub async fn put(&self, content: Bytes) -> Result<BlobId, Error> {
        self.run_on_disk_pool(|backend| async move { backend.put(content).await })
            .await
    }

    /// Stores several contents and returns their identifiers in the same order.
    ///
    /// # Errors
    /// Like [`BlobStore::put`], for the first content that cannot be stored.
    pub async fn put_all(&self, contents: Vec<Bytes>) -> Result<Vec<BlobId>, Error> {
        if self.fsync {
            return try_join_all(contents.into_iter().map(|content| self.put(content))).await;
        }
        self.run_on_disk_pool(|backend| async move {
            let mut ids = Vec::with_capacity(contents.len());
            for content in contents {
                ids.push(backend.clone().put(content).await?);
            }
            Ok(ids)
        })
        .await
    }

    /// Reads a blob.
    ///
    /// # Errors
    /// `BlobNotFound`, `BlobCorrupt` if the content does not match its hash, or `Failed`.
    pub async fn get(&self, id: impl Into<BlobId> + Send) -> Result<Bytes, Error> {
        let id = id.into();
        self.run_on_disk_pool(move |backend| async move { backend.get(id).await })
            .await
    }

    /// Reads several blobs, in the given order. Reads them sequentially in one job, because most are in the system's cache,
    /// and a hand-over to a disk thread costs more than reading one.
    ///
    /// # Errors
    /// Like [`BlobStore::get`], for the first blob that cannot be read.
    pub async fn get_all(&self, ids: Vec<BlobId>) -> Result<Vec<Bytes>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.run_on_disk_pool(|backend| async move {
            let mut contents = Vec::with_capacity(ids.len());
            for id in ids {
                contents.push(backend.clone().get(id).await?);
            }
            Ok(contents)
        })
        .await
    }

    /// Returns the size of a blob in bytes, without reading it.
    ///
    /// # Errors
    /// `BlobNotFound` or `Failed`.
    pub async fn size(&self, id: impl Into<BlobId> + Send) -> Result<u64, Error> {
        let id = id.into();
        self.run_on_disk_pool(move |backend| async move { Ok(backend.head(id).await?.size) })
            .await
    }

    /// Renews a blob, as storing its content again does: sweeps spare it as if it were new.
    ///
    /// # Errors
    /// `BlobNotFound`, `Unwritable` or `Failed`.
    pub async fn renew(&self, id: impl Into<BlobId> + Send) -> Result<(), Error> {
        let id = id.into();
        self.run_on_disk_pool(move |backend| async move {
            let _held = backend.hold(id)?;
            let there = backend.clone().head(id).await?;
            backend.renew(id, &there).await
        })
        .await
    }

    /// Lists the blobs whose hashes begin with this byte and that were last stored or renewed before a time.
    ///
    /// # Errors
    /// `Unwritable` if the folder cannot be read.
    pub async fn old_blobs(&self, shard: u8, before: SystemTime) -> Result<Vec<BlobId>, Error> {
        self.sweep(move |place| {
            blob_sweep::old_blobs(place, shard, before - blob_sweep::RENEWAL_AGE)
        })
        .await
    }

    /// Removes those of these blobs that were last stored or renewed before a time. The caller makes sure that nothing uses
    /// them, by references that were stored before the call; a content that is stored at the same time stays.
    ///
    /// # Errors
    /// `Unwritable` if one of them cannot be removed.
    pub async fn remove_unused(
        &self,
        ids: Vec<BlobId>,
        before: SystemTime,
    ) -> Result<RemovedBlobs, Error> {
        self.sweep(move |place| blob_sweep::remove(place, &ids, before - blob_sweep::RENEWAL_AGE))
            .await
    }

    async fn sweep<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.run_on_disk_pool(|backend| async move {
            if !backend.is_folder {
                return Ok(T::default());
            }
            work(&backend.place).map_err(|error| folder::from_io_error(&backend.place, &error))
        })
        .await
    }

    async fn run_on_disk_pool<T, W>(
        &self,
        work: impl FnOnce(BlobBackend) -> W + Send + 'static,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, Error>> + Send,
    {
        let backend = self.backend.clone();
        let Some(disk) = &self.disk else {
            return work(backend).await;
        };
        let done = disk.run(move || futures::executor::block_on(work(backend)));
        let done = done.await;
        done.unwrap_or_else(|| {
            Err(Error::Failed(
                "an operation on a disk thread panicked".into(),
            ))
        })
    }
}

impl BlobBackend {
    async fn put(self, content: Bytes) -> Result<BlobId, Error> {
        let id = BlobId::of(&content);
        let _held = self.hold(id)?;
        // Screens repeat, and a lookup costs less than writing the same content again.
        let written = match self.objects.head(&key(id)).await {
            Ok(there) if there.size == content.len() as u64 => {
                self.renew(id, &there).await?;
                return Ok(id);
            }
            // After a power failure, a file may exist without its content; then it is written again.
            Ok(_) => self.write(id, content, PutMode::Overwrite).await,
            Err(object_store::Error::NotFound { .. }) => {
                self.write(id, content, PutMode::Create).await
            }
            Err(error) => Err(error),
        };
        match written {
            // Another writer has stored the same content in the meantime.
            Ok(()) | Err(object_store::Error::AlreadyExists { .. }) => Ok(id),
            Err(error) => Err(self.failure(id, error)),
        }
    }

    /// Keeps sweeps from removing this blob until the returned lock is dropped.
    fn hold(&self, id: BlobId) -> Result<Option<File>, Error> {
        let held = self.is_folder.then(|| blob_sweep::hold(&self.place, id));
        held.transpose()
            .map_err(|error| folder::from_io_error(&self.place, &error))
    }

    /// Makes a file new again, unless it is new enough. Its content stays verified, although its version changes.
    async fn renew(&self, id: BlobId, there: &ObjectMeta) -> Result<(), Error> {
        let age = SystemTime::now().duration_since(there.last_modified.into());
        if !self.is_folder || age.is_ok_and(|age| age < blob_sweep::RENEWAL_AGE) {
            return Ok(());
        }
        blob_sweep::renew(&self.place, id)
            .map_err(|error| folder::from_io_error(&self.place, &error))?;
        if self.verified.contains(id, there.e_tag.as_deref()) {
            let renewed = self.clone().head(id).await?;
            self.verified.insert(id, renewed.e_tag.as_deref());
        }
        Ok(())
    }

    async fn get(self, id: BlobId) -> Result<Bytes, Error> {
        let read = async {
            let there = self.objects.get(&key(id)).await?;
            let version = there.meta.e_tag.clone();
            Ok((there.bytes().await?, version))
        };
        let read: object_store::Result<_> = read.await;
        let (content, version) = read.map_err(|error| self.failure(id, error))?;
        if self.verified.contains(id, version.as_deref()) {
            return Ok(content);
        }
        if BlobId::of(&content) != id {
            return Err(Error::BlobCorrupt { id });
        }
        self.verified.insert(id, version.as_deref());
        Ok(content)
    }

    async fn head(self, id: BlobId) -> Result<ObjectMeta, Error> {
        let there = self.objects.head(&key(id)).await;
        there.map_err(|error| self.failure(id, error))
    }

    async fn write(&self, id: BlobId, content: Bytes, mode: PutMode) -> object_store::Result<()> {
        let content = PutPayload::from_bytes(content);
        let options = mode.into();
        let written = self.objects.put_opts(&key(id), content, options).await?;
        self.verified.insert(id, written.e_tag.as_deref());
        Ok(())
    }

    fn failure(&self, id: BlobId, error: object_store::Error) -> Error {
        if matches!(error, object_store::Error::NotFound { .. }) {
            return Error::BlobNotFound { id };
        }
        match cause::<io::Error>(&error).map(io::Error::kind) {
            Some(kind) if is_folder_error(kind) => {
                let cause = cause::<io::Error>(&error).expect("it was found just now");
                folder::from_io_error(&self.place, cause)
            }
            _ => Error::Failed(Box::new(error)),
        }
    }
}

fn is_folder_error(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{
        NotADirectory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    matches!(
        kind,
        NotADirectory | PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull
    )
}

/// Returns the key `sha256/ab/abcd…` of a blob.
// 256 folders: a million blobs are about four thousand per folder, and few folders have to be created.
fn key(id: BlobId) -> Key {
    let hex = id.to_string();
    Key::from_iter(["sha256", &hex[..2], &hex])
}

/// Returns the first error of this type among an error and its causes.
fn cause<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    error.downcast_ref().or_else(|| cause(error.source()?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sha2::{Digest as _, Sha256};

    use super::*;

    fn folder() -> (tempfile::TempDir, BlobStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = BlobStore::folder(folder.path(), Durability::Full).unwrap();
        (folder, store)
    }

    async fn keeps_content_by_its_hash(store: BlobStore) {
        for content in [
            Bytes::new(),
            Bytes::from_static(b"x"),
            Bytes::from(vec![7; 1 << 20]),
        ] {
            let id = store.put(content.clone()).await.unwrap();
            assert_eq!(id.sha256(), <[u8; 32]>::from(Sha256::digest(&content)));
            assert_eq!(
                store.put(content.clone()).await.unwrap(),
                id,
                "a second time"
            );
            assert_eq!(store.get(id).await.unwrap(), content);
            assert_eq!(store.get(id.sha256()).await.unwrap(), content);
            assert_eq!(store.size(id).await.unwrap(), content.len() as u64);
        }
        let (first, second) = (Bytes::from_static(b"x"), Bytes::from(vec![7; 1 << 20]));
        let ids = vec![BlobId::of(&second), BlobId::of(&first), BlobId::of(&second)];
        let stored = store.put_all(vec![second.clone(), first.clone()]).await;
        assert_eq!(stored.unwrap(), ids[..2]);
        let all = store.get_all(ids).await.unwrap();
        assert_eq!(all, [second.clone(), first, second]);
        assert!(store.get_all(vec![]).await.unwrap().is_empty());
        let one_missing = vec![BlobId::of(b"x"), BlobId([1; 32])];
        assert!(matches!(
            store.get_all(one_missing).await,
            Err(Error::BlobNotFound { id }) if id == BlobId([1; 32])
        ));
        let missing = store.get([1; 32]).await.unwrap_err();
        assert!(matches!(missing, Error::BlobNotFound { id } if id == BlobId([1; 32])));
        assert!(matches!(
            store.size([1; 32]).await,
            Err(Error::BlobNotFound { .. })
        ));
    }

    #[tokio::test]
    async fn in_memory() {
        keeps_content_by_its_hash(BlobStore::memory()).await;
    }

    #[tokio::test]
    async fn in_a_folder() {
        let (folder, store) = folder();
        keeps_content_by_its_hash(store).await;
        let hex = BlobId::of(b"x").to_string();
        let path = folder.path().join("sha256").join(&hex[..2]).join(&hex);
        assert_eq!(fs::read(path).unwrap(), b"x");
    }

    #[tokio::test]
    async fn many_at_once_put_the_same() {
        let (_folder, store) = folder();
        let content = Bytes::from(vec![9; 100_000]);
        let puts = (0..16).map(|_| store.put(content.clone()));
        let ids = futures::future::try_join_all(puts).await.unwrap();
        assert!(ids.iter().all(|id| *id == BlobId::of(&content)));
        assert_eq!(store.get(ids[0]).await.unwrap(), content);
    }

    #[tokio::test]
    async fn damage_is_noticed_and_a_half_written_file_is_written_again() {
        let (folder, store) = folder();
        let content = Bytes::from_static(b"content");
        let id = store.put(content.clone()).await.unwrap();
        let path = folder.path().join(key(id).to_string());
        assert_eq!(store.get(id).await.unwrap(), content);
        fs::write(&path, "other content").unwrap();
        assert!(matches!(
            store.get(id).await,
            Err(Error::BlobCorrupt { .. })
        ));
        fs::write(&path, "").unwrap();
        store.put(content.clone()).await.unwrap();
        assert_eq!(store.get(id).await.unwrap(), content);
    }

    #[tokio::test]
    async fn unwritable_blob_folder_is_an_error() {
        let (folder, store) = folder();
        fs::write(folder.path().join("sha256"), "in the way").unwrap();
        let error = store.put(Bytes::from_static(b"x")).await.unwrap_err();
        assert!(matches!(error, Error::Unwritable { .. }), "{error:?}");
    }

    #[test]
    fn addresses() {
        let folder = tempfile::tempdir().unwrap();
        let uri = format!("file://{}/blobs", folder.path().display());
        BlobStore::open(&uri, Durability::Normal).unwrap();
        assert!(folder.path().join("blobs").is_dir());
        BlobStore::open("memory:", Durability::Normal).unwrap();
        for uri in ["", "s3://bucket", "file:relative", "/folder"] {
            let error = BlobStore::open(uri, Durability::Normal)
                .unwrap_err()
                .to_string();
            assert!(error.contains("file:///folder, memory:"), "{error}");
        }
    }
}
