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

    /// Parses a hash as [`Display`](fmt::Display) writes it; `None` for any other text.
    #[must_use]
    pub fn parse(hex: &str) -> Option<Self> {
        let digits: &[u8; 64] = hex.as_bytes().try_into().ok()?;
        let mut sha256 = [0; 32];
        for (byte, digits) in sha256.iter_mut().zip(digits.as_chunks::<2>().0) {
            let [high, low] = digits.map(|digit| match digit {
                b'0'..=b'9' => Some(digit - b'0'),
                b'a'..=b'f' => Some(digit - b'a' + 10),
                _ => None,
            });
            *byte = high? << 4 | low?;
        }
        Some(Self(sha256))
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
