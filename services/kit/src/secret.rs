//! Secret values, which are masked in `Debug`, in `motorium config` and in errors.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs, io};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRngCore as _;
use rand::rngs::OsRng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use subtle::ConstantTimeEq as _;

crate::text_format::text_format!(Secret, "secret");

/// Text shown in place of a secret.
pub const MASK: &str = "<secret>";
/// Random bytes of a secret that is not chosen: as many as a key of 256 bits has.
pub(crate) const RANDOM_BYTES: usize = 32;

/// A secret text. Reading it requires an explicit [`Secret::expose`].
#[derive(Clone, Default)]
pub struct Secret {
    text: String,
    /// File that the text was read from.
    file: Option<Arc<Path>>,
}

impl Secret {
    /// Wraps the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            file: None,
        }
    }

    /// Reads a file, without white space around its text. The secret knows its file, so that a change of it can be followed.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        Ok(Self {
            text: text.trim().to_owned(),
            file: Some(path.into()),
        })
    }

    /// Returns the file that the secret was read from, if it was.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Reads the file of the secret again. `None` without a file, and while it is missing or empty, as one that is about to be
    /// replaced.
    #[must_use]
    pub fn read_again(&self) -> Option<Self> {
        let again = Self::of_file(self.file()?).ok()?;
        (!again.text.is_empty()).then_some(again)
    }

    /// Returns a secret that cannot be guessed: 256 random bits, in letters, digits, `-` and `_`.
    ///
    /// # Errors
    /// If the operating system has no randomness.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; RANDOM_BYTES];
        OsRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
        Ok(Self::new(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Returns the text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Compares with `other` in a time that depends only on the lengths.
    #[must_use]
    pub fn matches(&self, other: &str) -> bool {
        self.text.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_never_shown() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?}"), MASK);
        assert_eq!(toml::Value::try_from(&secret).unwrap().as_str(), Some(MASK));
    }

    #[test]
    fn random_ones_differ_and_fit_into_a_header() {
        let [one, other] = [Secret::random().unwrap(), Secret::random().unwrap()];
        assert_ne!(one.expose(), other.expose());
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        assert!(one.expose().len() > RANDOM_BYTES && one.expose().bytes().all(is_plain));
    }

    #[test]
    fn compares() {
        let secret = Secret::new("hunter2");
        for (other, expected) in [
            ("hunter2", true),
            ("hunter3", false),
            ("hunter", false),
            ("", false),
        ] {
            assert_eq!(secret.matches(other), expected, "{other}");
        }
    }
}
