//! Cache of blobs whose content was verified against their hash since they were last written.
//!
//! A task's images are read again at every step, and hashing them each time was the largest single cost of a step
//! (7 % of all time with a thousand tasks). The version of a file changes with every write to it. Silent corruption of the
//! disk is only detected by the next process, which starts with an empty cache.

use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::blob_id::BlobId;

/// Maximum number of entries, at about 80 bytes each: the images of the last steps of a thousand tasks.
const MAX_ENTRIES: NonZeroUsize = NonZeroUsize::new(16_384).expect("it is not zero");

#[derive(Debug)]
pub(crate) struct VerifiedBlobs {
    /// Blobs with a hash of the verified version.
    versions: Mutex<LruCache<BlobId, u64>>,
    hasher: RandomState,
}

impl Default for VerifiedBlobs {
    fn default() -> Self {
        Self {
            versions: Mutex::new(LruCache::new(MAX_ENTRIES)),
            hasher: RandomState::new(),
        }
    }
}

impl VerifiedBlobs {
    /// Records a verified blob, if it has a version.
    pub(crate) fn insert(&self, id: BlobId, version: Option<&str>) {
        if let Some(version) = version {
            let version = self.hasher.hash_one(version);
            self.versions().put(id, version);
        }
    }

    /// Returns true if this version was verified.
    pub(crate) fn contains(&self, id: BlobId, version: Option<&str>) -> bool {
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
    fn blob_of_another_version_is_not_verified() {
        let intact = VerifiedBlobs::default();
        let id = BlobId::of(b"x");
        assert!(!intact.contains(id, Some("1")));
        intact.insert(id, Some("1"));
        assert!(intact.contains(id, Some("1")));
        assert!(!intact.contains(id, Some("2")));
        assert!(!intact.contains(id, None));
        assert!(!intact.contains(BlobId::of(b"y"), Some("1")));
        intact.insert(id, None);
        assert!(intact.contains(id, Some("1")));
    }
}
