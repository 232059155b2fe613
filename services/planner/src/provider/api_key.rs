//! Loads API keys from an environment variable or a file, both named in the configuration. The configuration never
//! contains the key itself.

use std::path::{Path, PathBuf};

use motorium_kit::config::{Environment, Secret};

/// A configured key that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the key in {} cannot be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The path may be the key itself, so it is not quoted.
    #[error(
        "the file in key_file cannot be read: {source}; key_file must be the path of a file that contains the key, not the key itself"
    )]
    NoPath { source: std::io::Error },
    #[error("the key in {} is empty", path.display())]
    Empty { path: PathBuf },
    #[error(
        "the key from {origin} contains invalid characters; it must be one line of printable ASCII without spaces"
    )]
    Malformed { origin: String },
}

/// Loads the key from a file, or else from a variable; `None` if neither is set. A configured file has to exist.
///
/// # Errors
/// Fails if the file cannot be read or is empty, or the key is not one line of printable ASCII.
pub fn find(
    file: Option<&Path>,
    variable: &str,
    environment: &Environment,
) -> Result<Option<Secret>, Error> {
    if let Some(path) = file {
        let text = std::fs::read_to_string(path).map_err(|source| unreadable(path, source))?;
        if text.trim().is_empty() {
            return Err(Error::Empty {
                path: path.to_owned(),
            });
        }
        return checked(&text, || path.display().to_string()).map(Some);
    }
    let found = environment.get(variable);
    found
        .map(|text| checked(text, || format!("${variable}")))
        .transpose()
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    // A single component that does not exist looks more like a key than like a path.
    if path.components().count() < 2 && !path.exists() {
        return Error::NoPath { source };
    }
    let path = path.to_owned();
    Error::Unreadable { path, source }
}

fn checked(text: &str, origin: impl Fn() -> String) -> Result<Secret, Error> {
    let key = text.trim();
    if key.chars().all(|character| character.is_ascii_graphic()) {
        return Ok(Secret::new(key));
    }
    Err(Error::Malformed { origin: origin() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_file(content: &str) -> Result<Option<Secret>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, content).unwrap();
        find(Some(&path), "KEY", &Environment::of([("KEY", "other")]))
    }

    #[test]
    fn key_file_takes_precedence_over_the_variable() {
        let key = in_file("sk-1\n").unwrap().unwrap();
        assert_eq!(key.expose(), "sk-1");
        let environment = Environment::of([("KEY", "sk-2"), ("EMPTY", "")]);
        let key = find(None, "KEY", &environment).unwrap().unwrap();
        assert_eq!(key.expose(), "sk-2");
        assert!(find(None, "EMPTY", &environment).unwrap().is_none());
    }

    #[test]
    fn an_error_names_the_place_and_not_the_key() {
        assert!(matches!(in_file(" \n"), Err(Error::Empty { .. })));
        let error = in_file("sk-1\nsk-2").unwrap_err().to_string();
        assert!(!error.contains("sk-"), "{error}");
        let missing = find(
            Some(Path::new("/nowhere/key")),
            "KEY",
            &Environment::default(),
        );
        assert!(matches!(missing, Err(Error::Unreadable { .. })));
        let mistaken = find(
            Some(Path::new("sk-ant-very-secret")),
            "KEY",
            &Environment::default(),
        );
        let error = mistaken.unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        assert!(error.contains("not the key itself"), "{error}");
    }
}
