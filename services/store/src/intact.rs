//! Which blobs were compared with their names since they were last written.
//!
//! A task's pictures are read again at every step, and hashing them each time was the largest single cost of a step
//! (docs/performance.md). What identifies a file's version changes with whatever writes to it; what a disk loses by
//! itself is noticed by the next process.

use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::BlobId;

/// How many are remembered, at about 80 bytes each: the pictures of the last steps of a thousand tasks.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(16_384).expect("it is not zero");

#[derive(Debug)]
pub(crate) struct Intact {
    /// With a hash of the version that was compared.
    versions: Mutex<LruCache<BlobId, u64>>,
    hasher: RandomState,
}

impl Default for Intact {
    fn default() -> Self {
        Self {
            versions: Mutex::new(LruCache::new(REMEMBERED)),
            hasher: RandomState::new(),
        }
    }
}

impl Intact {
    /// Remembers a blob, if there is something to know its version by.
    pub(crate) fn note(&self, id: BlobId, version: Option<&str>) {
        if let Some(version) = version {
            let version = self.hasher.hash_one(version);
            self.versions().put(id, version);
        }
    }

    /// Whether this version was compared.
    pub(crate) fn has(&self, id: BlobId, version: Option<&str>) -> bool {
        let Some(version) = version else {
            return false;
        };
        let version = self.hasher.hash_one(version);
        self.versions().get(&id) == Some(&version)
    }

    fn versions(&self) -> MutexGuard<'_, LruCache<BlobId, u64>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_was_not_compared() {
        let intact = Intact::default();
        let id = BlobId::of(b"x");
        assert!(!intact.has(id, Some("1")));
        intact.note(id, Some("1"));
        assert!(intact.has(id, Some("1")));
        assert!(!intact.has(id, Some("2")));
        assert!(!intact.has(id, None));
        assert!(!intact.has(BlobId::of(b"y"), Some("1")));
        intact.note(id, None);
        assert!(intact.has(id, Some("1")));
    }
}
