//! Memory shared with the X server, into which it copies the screen (MIT-SHM 1.2, with descriptor passing).
//!
//! The only unsafe code of this crate is the mapping in [`SharedMemory::new`].

use std::os::fd::OwnedFd;

use memmap2::{Mmap, MmapOptions};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

/// Memory mapped by this process and the X server.
#[derive(Debug)]
pub(super) struct SharedMemory {
    map: Mmap,
}

impl SharedMemory {
    /// Allocates `bytes` bytes and returns them with the file descriptor that the server maps.
    pub(super) fn new(bytes: usize) -> std::io::Result<(Self, OwnedFd)> {
        let file = memfd_create(
            "motorium-capture",
            MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
        )?;
        ftruncate(&file, bytes as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        // SAFETY: The file is anonymous and its size is sealed, so the mapping can neither be truncated under us nor
        // reach past the file's end. The other process writes into it only while it serves a GetImage request; we
        // read only after that request's reply and before the next request, and after any error the mapping is
        // dropped without being read. What is read are plain bytes, for which every bit pattern is a value.
        #[expect(
            unsafe_code,
            reason = "shared memory is the point of this module; the comment above says why it is sound"
        )]
        let map = unsafe { MmapOptions::new().len(bytes).map(&file)? };
        Ok((Self { map }, file))
    }

    /// Returns the bytes that the server wrote. Must only be read between a reply and the next request.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn shared_memory_shows_foreign_writes_and_cannot_shrink() {
        let (memory, descriptor) = SharedMemory::new(4096).unwrap();
        let other_side = File::from(descriptor);
        other_side.write_all_at(b"pixels", 100).unwrap();
        assert_eq!(&memory.bytes()[100..106], b"pixels");
        assert!(
            other_side.set_len(0).is_err(),
            "a sealed file must not shrink"
        );
    }
}
