//! Secret values, which are masked in `Debug`, in `motorium config` and in errors.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use subtle::ConstantTimeEq as _;

crate::text_format::text_format!(Secret, "secret");

/// Text shown in place of a secret.
pub const MASK: &str = "<secret>";

/// A secret text. Reading it requires an explicit [`Secret::expose`].
#[derive(Clone, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares with `other` in a time that depends only on the lengths.
    #[must_use]
    pub fn matches(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
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
        String::deserialize(deserializer).map(Self)
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
