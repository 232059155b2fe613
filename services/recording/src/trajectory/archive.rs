//! Packing and unpacking of an export as a tar archive.

use std::io::Read;
use std::path::{Component, Path};

use bytes::Bytes;
use futures::Stream;
use tar::{EntryType, Header};
use tokio::sync::mpsc::{self, Sender};

use super::{Error, FileSink, Trajectory};

/// Block size of the tar format, in bytes.
const BLOCK_BYTES: usize = 512;
/// Number of chunks produced ahead of the receiver. Two keep it busy without holding more of the export in memory.
const CHANNEL_CAPACITY: usize = 2;

/// Writes files as chunks of a tar archive.
pub(super) struct ArchiveSink {
    sender: Sender<Result<Bytes, Error>>,
    /// Bytes of the current file beyond the last full block.
    unpadded: usize,
}

pub(super) fn stream(trajectory: Trajectory) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    let (taker, pieces) = mpsc::channel(CHANNEL_CAPACITY);
    tokio::spawn(async move {
        let archive = ArchiveSink {
            sender: taker.clone(),
            unpadded: 0,
        };
        if let Err(error) = trajectory.put_all(archive).await {
            let _ = taker.send(Err(error)).await;
        }
    });
    futures::stream::unfold(pieces, |mut pieces| async move {
        pieces.recv().await.map(|piece| (piece, pieces))
    })
}

impl ArchiveSink {
    async fn send(&self, piece: Bytes) -> Result<(), Error> {
        let sent = self.sender.send(Ok(piece)).await;
        sent.map_err(|_| Error::ReceiverDropped)
    }

    async fn pad(&mut self) -> Result<(), Error> {
        let missing = self.unpadded.next_multiple_of(BLOCK_BYTES) - self.unpadded;
        self.unpadded = 0;
        if missing == 0 {
            return Ok(());
        }
        self.send(Bytes::from(vec![0; missing])).await
    }
}

impl FileSink for ArchiveSink {
    async fn begin(&mut self, path: &str, size: u64, changed_at: u64) -> Result<(), Error> {
        self.pad().await?;
        let mut header = Header::new_ustar();
        header.set_path(path).map_err(Error::Archive)?;
        header.set_entry_type(EntryType::Regular);
        // Readable for everyone who gets the archive; no file of an export is a program.
        header.set_mode(0o644);
        header.set_size(size);
        header.set_mtime(changed_at);
        header.set_cksum();
        self.send(Bytes::copy_from_slice(header.as_bytes())).await
    }

    async fn piece(&mut self, piece: Bytes) -> Result<(), Error> {
        self.unpadded = (self.unpadded + piece.len()) % BLOCK_BYTES;
        self.send(piece).await
    }

    async fn finish(mut self) -> Result<(), Error> {
        self.pad().await?;
        // Two empty blocks mark the end of a tar archive.
        self.send(Bytes::from_static(&[0; 2 * BLOCK_BYTES])).await
    }
}

/// Unpacks an archive into a folder, which is created if missing. Only regular files below the folder are written. Unpacking
/// stops with an error at a link or a path that leads outside.
///
/// # Errors
/// If the archive is damaged, contains an unsafe entry, or a file cannot be written.
pub fn unpack(archive: impl Read, folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries().map_err(Error::Archive)? {
        let mut entry = entry.map_err(Error::Archive)?;
        let inside = entry.path().map_err(Error::Archive)?.into_owned();
        // The archive may be forged: neither `..`, nor an absolute path, nor a link is followed.
        let leads_inside = inside
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let is_file = entry.header().entry_type() == EntryType::Regular;
        if !leads_inside || !is_file || inside.as_os_str().is_empty() {
            return Err(Error::UnsafePath {
                path: inside.display().to_string(),
            });
        }
        let path = folder.join(&inside);
        check_no_links(folder, &inside)?;
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(Error::file(parent))?;
        }
        let mut file = std::fs::File::create(&path).map_err(Error::file(&path))?;
        std::io::copy(&mut entry, &mut file).map_err(Error::file(&path))?;
    }
    Ok(())
}

/// Checks that no part of a path is a symbolic link. An existing link in the folder could lead out of it.
fn check_no_links(folder: &Path, inside: &Path) -> Result<(), Error> {
    let mut path = folder.to_owned();
    for part in inside.components() {
        path.push(part);
        let is_link = path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_symlink());
        if is_link {
            return Err(Error::UnsafePath {
                path: inside.display().to_string(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(path: &str, kind: EntryType) -> Vec<u8> {
        let mut header = Header::new_ustar();
        // Written as raw bytes, like in a hostile archive: the tar crate rejects such paths.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(kind);
        header.set_size(2);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend(b"hi");
        bytes.resize(4 * BLOCK_BYTES, 0);
        bytes
    }

    #[test]
    fn only_plain_files_below_the_folder_are_written() {
        let check = |path: &str, kind: EntryType, is_written: bool| {
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("export");
            let unpacked = unpack(archive(path, kind).as_slice(), &folder);
            assert_eq!(unpacked.is_ok(), is_written, "{path}: {unpacked:?}");
            let above = home.path().read_dir().unwrap().count();
            assert_eq!(above, 1, "{path} wrote beside the folder");
        };
        check("task.json", EntryType::Regular, true);
        check("frames/step-001.webp", EntryType::Regular, true);
        check("../task.json", EntryType::Regular, false);
        check("frames/../../task.json", EntryType::Regular, false);
        check("/tmp/task.json", EntryType::Regular, false);
        check("task.json", EntryType::Symlink, false);
        check("task.json", EntryType::Link, false);
    }

    #[cfg(unix)]
    #[test]
    fn existing_symlink_is_not_followed_on_unpack() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("export");
        std::fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(home.path(), folder.join("frames")).unwrap();
        let bytes = archive("frames/step-001.webp", EntryType::Regular);
        assert!(unpack(bytes.as_slice(), &folder).is_err());
        assert!(!home.path().join("step-001.webp").exists());
    }
}
