//! Secrets, by name: the only place in Motorium where a name becomes a value.
//!
//! A secret is a file of a configured folder, or a variable `MOTORIUM_SECRET_<NAME>` of the environment. It is read
//! when it is needed, handed to a driver, and forgotten. Not here: how it is entered.
//!
//! Invariant: no value appears in an error, a log line or a `Debug` text; names do.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;

/// What the variables begin with.
const VARIABLE_PREFIX: &str = "MOTORIUM_SECRET_";
/// Nobody but the owner may have any right to a secret's file.
const FOREIGN_RIGHTS: u32 = 0o077;
/// The right to read of the group of a file that is somebody else's: so Kubernetes mounts secrets, and nobody can give
/// them another mode there.
const GROUP_READS: u32 = 0o040;
/// Longer than any password or key that is typed.
const LARGEST: u64 = 64 * 1024;
const LONGEST_NAME: usize = 64;

/// Why a secret cannot be had. Says its name, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no secret of that name.
    #[error(
        "there is no secret `{name}`; put it into a file of that name in the secrets folder, or into {variable}"
    )]
    NotFound { name: String, variable: String },
    /// It is there, and cannot or must not be used.
    #[error("the secret `{name}` cannot be used: {why}")]
    Unusable { name: String, why: String },
}

/// Where secrets come from.
#[derive(Clone, Default)]
pub struct Secrets {
    folder: Option<PathBuf>,
    /// By the names of their variables, without the prefix.
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
    /// Secrets of a folder, if there is one, and of these environment variables.
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

    /// The value of a secret. Reads a file: not to be called where blocking matters.
    ///
    /// # Errors
    /// If there is none of that name, or if others could read its file.
    pub fn resolve(&self, name: &str) -> Result<SecretString, Error> {
        let unusable = |why: String| Error::Unusable {
            name: name.to_owned(),
            why,
        };
        if !is_name(name) {
            return Err(unusable(format!(
                "a name is 1 to {LONGEST_NAME} of a-z, A-Z, 0-9, `.`, `_` and `-`"
            )));
        }
        if let Some(folder) = &self.folder
            && let Some(value) = read(folder, name).map_err(|error| unusable(error.to_string()))?
        {
            return Ok(value);
        }
        let variable = variable(name);
        self.variables
            .get(&variable)
            .cloned()
            .ok_or_else(|| Error::NotFound {
                name: name.to_owned(),
                variable: format!("{VARIABLE_PREFIX}{variable}"),
            })
    }

    /// Names of all secrets that can be asked for.
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

fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(is_allowed)
        && !name.starts_with('.')
}

/// How a name is written in a variable.
pub(crate) fn variable(name: &str) -> String {
    name.to_ascii_uppercase().replace(['.', '-'], "_")
}

/// The content of a secret's file, without the line's end that editors add. A link may lead to another file of the
/// folder, as those of a mounted secret do, and not out of it.
fn read(folder: &Path, name: &str) -> io::Result<Option<SecretString>> {
    let path = match fs::canonicalize(folder.join(name)) {
        Ok(path) => path,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !path.starts_with(fs::canonicalize(folder)?) {
        return Err(io::Error::other(
            "it is a link that leads out of the secrets folder",
        ));
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    let allowed = if is_own { 0 } else { GROUP_READS };
    if metadata.mode() & FOREIGN_RIGHTS & !allowed != 0 {
        return Err(io::Error::other(
            "others may read its file; run chmod 600 on it",
        ));
    }
    if metadata.len() > LARGEST {
        return Err(io::Error::other(format!(
            "it is larger than {LARGEST} bytes"
        )));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(LARGEST).read_to_string(&mut text)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    Ok(Some(text.into()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use secrecy::ExposeSecret as _;

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
        // As Kubernetes mounts them, so that all change at once.
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
            Err("the secret `out` cannot be used: it is a link that leads out"),
        );
        check("../bank", Err("a name is"));
        check(".hidden", Err("a name is"));
        check("", Err("a name is"));
    }

    #[test]
    fn names_are_told_and_values_are_not() {
        let (_folder, secrets) = secrets();
        let names: Vec<String> = secrets.names().into_iter().collect();
        assert_eq!(names, ["bank", "mail_pw", "mounted", "open", "out"]);
        assert!(!format!("{secrets:?} {:?}", secrets.resolve("bank")).contains("geheim"));
    }
}
