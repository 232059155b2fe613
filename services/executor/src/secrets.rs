//! Resolves secrets by name. This is the only place in Motorium that reads a secret's value.
//!
//! A secret is a file in a configured folder, or an environment variable `MOTORIUM_SECRET_<NAME>`. It is read when it
//! is needed, passed to a driver, and dropped. Entering it is the driver's task.
//!
//! Invariant: no value appears in an error, a log line or a `Debug` text. Names may.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};

/// Prefix of the environment variables.
const VARIABLE_PREFIX: &str = "MOTORIUM_SECRET_";
/// Permission bits of the group and others, which a secret's file must not have.
const GROUP_AND_OTHER_MODE: u32 = 0o077;
/// Group read permission. Allowed on files of another owner: Kubernetes mounts secrets so, and their mode cannot be
/// changed there.
const GROUP_READ_MODE: u32 = 0o040;
/// Maximum size of a secret's file: larger than any password or key that is typed.
const MAX_SECRET_BYTES: u64 = 64 * 1024;
/// Number of characters from which a value is masked within words too.
// The shortest PINs have four digits; shorter values would mask parts of ordinary words.
const MIN_CHARS_WITHIN_WORDS: usize = 4;
// Names are written by hand; bounds what a request can name.
const MAX_NAME_BYTES: usize = 64;

/// The reason a secret cannot be used. Contains its name, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No secret has this name.
    #[error(
        "there is no secret `{name}`; create a file of that name in the secrets folder, or set {variable}"
    )]
    NotFound { name: String, variable: String },
    /// The secret exists, but cannot or must not be used.
    #[error("the secret `{name}` cannot be used: {why}")]
    Unusable { name: String, why: String },
}

/// The sources of secrets.
#[derive(Clone, Default)]
pub struct Secrets {
    folder: Option<PathBuf>,
    /// Values by variable name without the prefix.
    variables: BTreeMap<String, SecretString>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets")
            .field("folder", &self.folder)
            .field("variables", &self.variables.keys())
            .finish()
    }
}

impl Secrets {
    /// Creates a source from an optional folder and these environment variables.
    pub fn new(
        folder: Option<PathBuf>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let variables = environment
            .into_iter()
            .filter_map(|(name, value)| {
                Some((name.strip_prefix(VARIABLE_PREFIX)?.to_owned(), value.into()))
            })
            .collect();
        Self { folder, variables }
    }

    /// Returns the folder of the secrets that are files.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the value of a secret. Reads a file, so do not call it from async code.
    ///
    /// # Errors
    /// If no secret has this name, or if other users could read its file.
    pub fn resolve(&self, name: &str) -> Result<SecretString, Error> {
        let unusable = |why: String| Error::Unusable {
            name: name.to_owned(),
            why,
        };
        if !is_name(name) {
            return Err(unusable(format!(
                "a name is 1 to {MAX_NAME_BYTES} characters of a-z, A-Z, 0-9, `.`, `_` and `-`"
            )));
        }
        if let Some(folder) = &self.folder
            && let Some(value) = read(folder, name).map_err(|error| unusable(error.to_string()))?
        {
            return Ok(value);
        }
        let variable = variable_name(name);
        self.variables
            .get(&variable)
            .cloned()
            .ok_or_else(|| Error::NotFound {
                name: name.to_owned(),
                variable: format!("{VARIABLE_PREFIX}{variable}"),
            })
    }

    /// Returns masks for the values of all secrets that can be read. Reads files, so do not call it from async code.
    #[must_use]
    pub fn masks(&self) -> SecretMasks {
        let names = self.names().into_iter();
        let values = names.filter_map(|name| {
            let value = self.resolve(&name).ok()?;
            (!value.expose_secret().trim().is_empty()).then_some((name, value))
        });
        let mut values: Vec<_> = values.collect();
        // A value that contains another one is masked as a whole.
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.expose_secret().len()));
        SecretMasks { values }
    }

    /// Returns the names of all secrets.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        let files = self
            .folder
            .as_ref()
            .and_then(|folder| fs::read_dir(folder).ok())
            .into_iter()
            .flatten();
        let files = files
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| is_name(name));
        files
            .chain(self.variables.keys().map(|name| name.to_lowercase()))
            .collect()
    }
}

/// Hides the values of secrets in texts that leave the Executor.
pub struct SecretMasks {
    /// Names and values, the longest value first.
    values: Vec<(String, SecretString)>,
}

impl fmt::Debug for SecretMasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.values.iter().map(|(name, _)| name);
        f.debug_tuple("SecretMasks")
            .field(&names.collect::<Vec<_>>())
            .finish()
    }
}

impl SecretMasks {
    /// Returns the length of the longest value, in characters.
    #[must_use]
    pub fn longest(&self) -> usize {
        let lengths = self.values.iter();
        let lengths = lengths.map(|(_, value)| value.expose_secret().chars().count());
        lengths.max().unwrap_or(0)
    }

    /// Replaces each value in a text by the name of its secret.
    #[must_use]
    pub fn mask(&self, text: String) -> String {
        let masked = |text: String, (name, value): &(String, SecretString)| {
            mask_value(
                &text,
                value.expose_secret().trim(),
                &format!("[secret {name}]"),
            )
        };
        self.values.iter().fold(text, masked)
    }
}

/// Replaces a value in a text. A short value is replaced where it stands alone: a letter of it is in every word.
fn mask_value(text: &str, value: &str, mask: &str) -> String {
    let is_short = value.chars().count() < MIN_CHARS_WITHIN_WORDS;
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(start) = rest.find(value) {
        let (head, tail) = (&rest[..start], &rest[start + value.len()..]);
        let neighbours = [head.chars().next_back().or(before), tail.chars().next()];
        let is_part = neighbours.into_iter().flatten().any(char::is_alphanumeric);
        hidden.push_str(head);
        hidden.push_str(if is_short && is_part { value } else { mask });
        before = value.chars().next_back();
        rest = tail;
    }
    hidden.push_str(rest);
    hidden
}

fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(is_allowed)
        && !name.starts_with('.')
}

/// Returns the variable name of a secret: upper case, with `_` for `.` and `-`.
pub(crate) fn variable_name(name: &str) -> String {
    name.to_ascii_uppercase().replace(['.', '-'], "_")
}

/// Reads a secret's file without its final line break, which editors add. A symbolic link may point to another file
/// inside the folder, as mounted Kubernetes secrets do, but not outside of it.
fn read(folder: &Path, name: &str) -> io::Result<Option<SecretString>> {
    let path = match fs::canonicalize(folder.join(name)) {
        Ok(path) => path,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !path.starts_with(fs::canonicalize(folder)?) {
        return Err(io::Error::other(
            "its file is a link to outside the secrets folder",
        ));
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    let allowed = if is_own { 0 } else { GROUP_READ_MODE };
    if metadata.mode() & GROUP_AND_OTHER_MODE & !allowed != 0 {
        return Err(io::Error::other(
            "other users can access its file; run chmod 600 on it",
        ));
    }
    if metadata.len() > MAX_SECRET_BYTES {
        return Err(io::Error::other(format!(
            "its file is larger than {MAX_SECRET_BYTES} bytes"
        )));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_SECRET_BYTES).read_to_string(&mut text)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    Ok(Some(text.into()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn secrets() -> (tempfile::TempDir, Secrets) {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode, content) in [
            ("bank", 0o600, "geheim ß\n"),
            ("open", 0o644, "x"),
            (".hidden", 0o600, "x"),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        // The layout of a Kubernetes mount: one symbolic link switches all files at once.
        let data = folder.path().join("..2026_01_01");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("mounted"), "m").unwrap();
        let owner = fs::Permissions::from_mode(0o400);
        fs::set_permissions(data.join("mounted"), owner).unwrap();
        for (target, link) in [
            ("..2026_01_01", "..data"),
            ("..data/mounted", "mounted"),
            ("/etc/hostname", "out"),
        ] {
            std::os::unix::fs::symlink(target, folder.path().join(link)).unwrap();
        }
        let variables = [("MOTORIUM_SECRET_MAIL_PW", "pw"), ("PATH", "/bin")];
        let secrets = Secrets::new(
            Some(folder.path().to_owned()),
            variables.map(|(n, v)| (n.to_owned(), v.to_owned())),
        );
        (folder, secrets)
    }

    fn check(name: &str, expected: Result<&str, &str>) {
        let (_folder, secrets) = secrets();
        match (secrets.resolve(name), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value.expose_secret(), expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (got, expected) => panic!("{name}: {got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn secrets_come_from_files_and_variables() {
        check("bank", Ok("geheim ß"));
        check("mail_pw", Ok("pw"));
        check("mail-pw", Ok("pw"));
        check("other", Err("there is no secret `other`"));
        check("other", Err("MOTORIUM_SECRET_OTHER"));
        check("open", Err("chmod 600"));
        check("mounted", Ok("m"));
        check(
            "out",
            Err("the secret `out` cannot be used: its file is a link to outside"),
        );
        check("../bank", Err("a name is"));
        check(".hidden", Err("a name is"));
        check("", Err("a name is"));
    }

    #[test]
    fn secret_names_are_listed_but_values_are_not() {
        let (_folder, secrets) = secrets();
        let names: Vec<String> = secrets.names().into_iter().collect();
        assert_eq!(names, ["bank", "mail_pw", "mounted", "open", "out"]);
        assert!(!format!("{secrets:?} {:?}", secrets.resolve("bank")).contains("geheim"));
    }

    #[test]
    fn values_are_hidden_in_texts_and_the_longest_first() {
        let variables = [
            ("LONG", "hunter2hunter2"),
            ("WORD", "hunter2"),
            ("PIN", "07"),
            ("NONE", " "),
        ];
        let variables =
            variables.map(|(name, value)| (format!("MOTORIUM_SECRET_{name}"), value.to_owned()));
        let masks = Secrets::new(None, variables).masks();
        for (text, expected) in [
            ("key hunter2hunter2!", "key [secret long]!"),
            ("xhunter2y hunter2", "x[secret word]y [secret word]"),
            (
                "PIN 07, 1907 and 075; 0707",
                "PIN [secret pin], 1907 and 075; 0707",
            ),
            ("7 items", "7 items"),
            ("", ""),
        ] {
            assert_eq!(masks.mask(text.to_owned()), expected);
        }
        assert_eq!(masks.longest(), 14);
    }
}
