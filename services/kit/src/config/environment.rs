//! Environment variables as a configuration layer: `MOTORIUM_PERCEPTION__LISTEN` sets `perception.listen`.
//!
//! Only variables with a double underscore are settings, plus `MOTORIUM_CONFIG` and `MOTORIUM_DATA`. Others, such as
//! `MOTORIUM_SOMETHING` of a script, are ignored. The variables are injected, so that tests do not change their process.

/// Prefix of all variables.
pub(super) const PREFIX: &str = "MOTORIUM_";

/// A snapshot of environment variables.
#[derive(Debug, Clone, Default)]
pub struct Environment(Vec<(String, String)>);

impl Environment {
    /// Reads the variables of the process. Skips those that are not valid Unicode.
    #[must_use]
    pub fn from_process() -> Self {
        let readable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(readable).collect())
    }

    /// Creates a snapshot with only these variables.
    #[must_use]
    pub fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self(
            variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        )
    }

    /// Returns the value of a variable. An empty value counts as absent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// Returns the settings among the variables: the path of each key and its text.
    pub(super) fn settings(&self) -> impl Iterator<Item = (String, &str)> {
        let nested = self.0.iter().filter_map(|(name, value)| {
            let nested = name.strip_prefix(PREFIX)?;
            let path = nested
                .contains("__")
                .then(|| nested.to_ascii_lowercase().replace("__", "."))?;
            let whole = path.split('.').all(|part| !part.is_empty());
            whole.then_some((path, value.as_str()))
        });
        nested.chain(
            self.get("MOTORIUM_DATA")
                .map(|data| ("data".to_owned(), data)),
        )
    }
}

/// Returns the name of the variable for the setting at `path`.
pub(super) fn variable(path: &str) -> String {
    match path {
        "data" => format!("{PREFIX}DATA"),
        nested => format!("{PREFIX}{}", nested.to_ascii_uppercase().replace('.', "__")),
    }
}
