//! The identity of a request: the token that the services are called with.
//!
//! The gateway has no rights of its own and judges none: the services do, by that token.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use motorium_kit::config::Secret;
use rand::TryRngCore as _;
use rand::rngs::OsRng;
use sha2::{Digest as _, Sha256};

/// SHA-256 of a secret. It tells secrets apart without keeping them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    pub(crate) fn to_text(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.to_text();
        f.write_str(text.get(..8).unwrap_or(&text))
    }
}

/// The caller of a request. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    token: Option<Secret>,
    identity: Fingerprint,
}

impl Caller {
    /// Creates the caller with this token; `None` where the services demand none.
    pub(crate) fn new(token: Option<Secret>) -> Self {
        let identity = Fingerprint::of(token.as_ref().map_or("", Secret::expose));
        Self { token, identity }
    }

    /// Returns the token for the services.
    pub(crate) fn token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }

    /// Returns the key of everything that callers with the same token share.
    pub(crate) fn identity(&self) -> Fingerprint {
        self.identity
    }
}

/// Returns a secret that cannot be guessed: 256 random bits.
///
/// # Panics
/// If the operating system has no randomness, without which nothing can be protected.
pub(crate) fn random_secret() -> Secret {
    let mut bytes = [0; 32];
    OsRng
        .try_fill_bytes(&mut bytes)
        .expect("the operating system provides randomness");
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns ten characters that cannot be guessed by trying: 40 random bits.
///
/// # Panics
/// As [`random_secret`].
pub(crate) fn random_label() -> String {
    let mut bytes = [0; 5];
    OsRng
        .try_fill_bytes(&mut bytes)
        .expect("the operating system provides randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
