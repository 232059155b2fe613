//! Identifier of a blob.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// Identifier of a blob: the SHA-256 of its content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub(crate) [u8; 32]);

impl BlobId {
    /// Computes the identifier of this content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// Returns the hash.
    #[must_use]
    pub fn sha256(self) -> [u8; 32] {
        self.0
    }
}

impl From<[u8; 32]> for BlobId {
    fn from(sha256: [u8; 32]) -> Self {
        Self(sha256)
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
