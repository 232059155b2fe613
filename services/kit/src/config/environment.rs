//! The environment as a layer of configuration: `MOTORIUM_PERCEPTION__LISTEN` is `perception.listen`.
//!
//! Only variables with a double underscore are settings; `MOTORIUM_CONFIG` and `MOTORIUM_DATA` stand outside of the
//! nesting, and others (`MOTORIUM_SOMETHING` of a script) are none of our business. The variables are handed in, so
//! that a test need not change its process.

/// What all our variables begin with.
pub(super) const PREFIX: &str = "MOTORIUM_";

/// A snapshot of environment variables.
#[derive(Debug, Clone, Default)]
pub struct Environment(Vec<(String, String)>);

impl Environment {
    /// The process's own. Variables that are not valid Unicode are left out.
    #[must_use]
    pub fn of_process() -> Self {
        let readable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(readable).collect())
    }

    /// These variables and no others.
    #[must_use]
    pub fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self(
            variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        )
    }

    /// The value of one variable; an empty one counts as absent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// The settings among the variables: the path of each key and its text.
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

/// The variable that stands for the setting at `path`.
pub(super) fn variable(path: &str) -> String {
    match path {
        "data" => format!("{PREFIX}DATA"),
        nested => format!("{PREFIX}{}", nested.to_ascii_uppercase().replace('.', "__")),
    }
}
