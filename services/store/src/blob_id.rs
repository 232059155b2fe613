//! Identifier of a blob.
//!
//! It neither reads nor stores contents.

use std::fmt;

use motorium_text::hex;
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

    /// Parses a hash as [`Display`](fmt::Display) writes it; `None` for any other text.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        hex::decode(digits).map(Self)
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
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
