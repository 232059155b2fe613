//! The callers file: the names, tenants and roles of callers, with the token or the certificate by which each is recognised.
//!
//! It says who callers are, not what they may do (`authorisation`). The file is followed while a server runs, so that a caller is
//! added or removed without a restart. An invalid file is logged and changes nothing.
//! Invariant: of tokens only digests are kept, and a comparison takes the same time whichever caller matches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::principal::{
    DEFAULT_TENANT, ISSUED_PREFIX, Identity, LOCAL, Principal, Role, check_name,
};
use crate::secret::Secret;
use crate::watched_file;

/// Length of the shortest token. A digest of a shorter one could be guessed.
const MIN_TOKEN_CHARS: usize = 20;

/// An error of the callers file.
#[derive(Debug, thiserror::Error)]
#[error("the callers file {path} is invalid: {problem}")]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// Problem with it, and the remedy.
    pub problem: String,
}

/// Callers by their tokens and certificates.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    by_token: Vec<([u8; 32], Principal)>,
    by_certificate: BTreeMap<String, Principal>,
}

/// The file, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    caller: Vec<CallerSettings>,
}

/// A caller, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallerSettings {
    name: String,
    tenant: Option<String>,
    roles: Vec<String>,
    token: Option<Secret>,
    token_sha256: Option<String>,
    certificate: Option<String>,
}

impl Callers {
    /// Parses the content of the file.
    ///
    /// # Errors
    /// A sentence that names the caller and the problem.
    fn parse(text: &str) -> Result<Self, String> {
        // Without the excerpt, which may show a token.
        let settings: Settings =
            toml::from_str(text).map_err(|error| match error.span().map(|span| span.start) {
                Some(start) => {
                    let line = text[..start].matches('\n').count() + 1;
                    format!("line {line}: {}", error.message())
                }
                None => error.message().to_owned(),
            })?;
        let mut callers = Self::default();
        let mut names = BTreeSet::new();
        for caller in settings.caller {
            let name = caller.name.clone();
            if !names.insert(name.clone()) {
                return Err(format!("the name `{name}` is used twice"));
            }
            callers
                .add(caller)
                .map_err(|problem| format!("caller `{name}`: {problem}"))?;
        }
        Ok(callers)
    }

    fn add(&mut self, caller: CallerSettings) -> Result<(), String> {
        let CallerSettings {
            name,
            tenant,
            roles,
            token,
            token_sha256,
            certificate,
        } = caller;
        let principal = Principal::new(identity(name, tenant, &roles)?);
        if token.is_none() && token_sha256.is_none() && certificate.is_none() {
            return Err("set `token`, `token_sha256` or `certificate`".to_owned());
        }
        let digests = [
            token.as_ref().map(digest_of_token).transpose()?,
            token_sha256.as_deref().map(parsed_digest).transpose()?,
        ];
        for digest in digests.into_iter().flatten() {
            if self.by_token.iter().any(|(known, _)| *known == digest) {
                return Err("another caller has the same token".to_owned());
            }
            self.by_token.push((digest, principal.clone()));
        }
        if let Some(certificate) = certificate {
            let certificate = certificate_name(&certificate)?;
            if self.by_certificate.contains_key(&certificate) {
                return Err("another caller has the same certificate".to_owned());
            }
            self.by_certificate.insert(certificate, principal);
        }
        Ok(())
    }

    /// Returns the caller with this token.
    pub(crate) fn of_token(&self, token: &str) -> Option<Principal> {
        let digest = Sha256::digest(token.as_bytes());
        let mut found = None;
        // Without an early end, so that the time does not tell which caller has a similar digest.
        for (known, principal) in &self.by_token {
            if bool::from(known.as_slice().ct_eq(digest.as_slice())) {
                found = Some(principal);
            }
        }
        found.cloned()
    }

    /// Returns the caller with a certificate of one of these names.
    pub(crate) fn of_certificate(&self, names: &[String]) -> Option<Principal> {
        let mut names = names.iter();
        names.find_map(|name| self.by_certificate.get(name).cloned())
    }
}

fn identity(name: String, tenant: Option<String>, roles: &[String]) -> Result<Identity, String> {
    let tenant = tenant.unwrap_or_else(|| DEFAULT_TENANT.to_owned());
    check_name("name", &name)?;
    check_name("tenant", &tenant)?;
    if name == LOCAL {
        return Err(format!("`{LOCAL}` is the name of the server's own user"));
    }
    if name.starts_with(ISSUED_PREFIX) {
        return Err(format!(
            "names with `{ISSUED_PREFIX}` are those of server.jwt"
        ));
    }
    let roles: BTreeSet<Role> = roles
        .iter()
        .map(|role| role.parse())
        .collect::<Result<_, _>>()?;
    if roles.is_empty() {
        return Err("`roles` is empty, so it could call nothing; list at least one".to_owned());
    }
    Ok(Identity {
        name,
        tenant,
        roles,
    })
}

fn digest_of_token(token: &Secret) -> Result<[u8; 32], String> {
    let token = token.expose();
    if token.len() < MIN_TOKEN_CHARS || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "`token` must have at least {MIN_TOKEN_CHARS} visible ASCII characters; `openssl rand -hex 32` prints one"
        ));
    }
    Ok(Sha256::digest(token.as_bytes()).into())
}

fn parsed_digest(text: &str) -> Result<[u8; 32], String> {
    let parse = || {
        let mut digest = [0; 32];
        let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        for (index, byte) in digest.iter_mut().enumerate().filter(|_| is_hex) {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
        }
        is_hex.then_some(digest)
    };
    parse().ok_or_else(|| {
        "`token_sha256` must have 64 hexadecimal digits; `printf %s TOKEN | sha256sum` prints them"
            .to_owned()
    })
}

/// Returns the name of a certificate as it is compared: a SPIFFE URI as it is, a DNS name in lower case.
fn certificate_name(text: &str) -> Result<String, String> {
    check_name("certificate", text)?;
    if text.starts_with("spiffe://") {
        return Ok(text.to_owned());
    }
    if text.contains([':', '/', '@', '+', '|']) || !text.contains('.') {
        return Err(
            "`certificate` must be a SPIFFE URI or a DNS name, such as spiffe://example.com/orchestrator or \
             orchestrator.example.com"
                .to_owned(),
        );
    }
    Ok(text.to_ascii_lowercase())
}

/// A callers file whose current content is used. Clones share it.
#[derive(Debug, Clone)]
pub struct CallersFile {
    path: PathBuf,
    /// Content at the start.
    content: Secret,
    current: Arc<RwLock<Arc<Callers>>>,
}

impl CallersFile {
    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read, is invalid, belongs to another user, or other users can change it or read tokens in it.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let invalid = |problem: String| Error {
            path: path.to_owned(),
            problem,
        };
        let (content, callers) = read(path).map_err(invalid)?;
        Ok(Self {
            path: path.to_owned(),
            content: Secret::new(content),
            current: Arc::new(RwLock::new(Arc::new(callers))),
        })
    }

    /// Returns the callers of the file as it was read last.
    pub(crate) fn current(&self) -> Arc<Callers> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Applies changes of the file until it is dropped.
    pub(crate) async fn follow(self) {
        let Self {
            path,
            content,
            current,
        } = self;
        let file = path.display().to_string();
        watched_file::follow(
            vec![path.clone()],
            vec![content.expose().to_owned()],
            |_| match read(&path) {
                Ok((_, callers)) => {
                    *current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(callers);
                    tracing::info!(file, "callers reloaded");
                }
                Err(error) => tracing::error!(
                    file,
                    error,
                    "the changed callers file is invalid; the former callers stay active"
                ),
            },
        )
        .await;
    }
}

/// Reads and parses a file after checking who can change and read it.
fn read(path: &Path) -> Result<(String, Callers), String> {
    let fail = |error: io::Error| error.to_string();
    // Opened once: the file that is checked is the one that is read.
    let mut file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    let mut content = String::new();
    file.read_to_string(&mut content).map_err(fail)?;
    let callers = Callers::parse(&content)?;
    check_owner(&metadata)?;
    check_permissions(path, &metadata, &content)?;
    Ok((content, callers))
}

fn check_permissions(path: &Path, metadata: &Metadata, content: &str) -> Result<(), String> {
    // A digest tells nothing, so a file without tokens may be read by all.
    let has_tokens = content.lines().any(|line| {
        let key = line.split('=').next().unwrap_or_default().trim();
        key.trim_matches(['"', '\'']) == "token"
    });
    let forbidden = if has_tokens { 0o027 } else { 0o022 };
    if permissions(metadata) & forbidden == 0 {
        return Ok(());
    }
    Err(format!(
        "its permissions let other users change it, or read its tokens; run `chmod 640 {}`, or replace tokens by `token_sha256`",
        path.display()
    ))
}

/// Refuses a file that another user can change at any time, whatever its permissions are now. Root can do so anyway.
#[cfg(unix)]
fn check_owner(metadata: &Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt as _;

    let owner = metadata.uid();
    if owner == 0 || owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(format!(
        "it belongs to another user (uid {owner}), who could add callers; give it to root or to the user that runs the server"
    ))
}

#[cfg(unix)]
fn permissions(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;

    metadata.permissions().mode()
}

/// Other systems have no such owners.
#[cfg(not(unix))]
fn check_owner(_: &Metadata) -> Result<(), String> {
    Ok(())
}

/// Other systems have no such permissions.
#[cfg(not(unix))]
fn permissions(_: &Metadata) -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123";

    fn hexadecimal(digest: &[u8]) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn callers_are_found_by_token_digest_and_certificate() {
        let text = format!(
            "[[caller]]\nname = 'one'\ntenant = 'acme'\nroles = ['author', 'viewer']\ntoken = '{TOKEN}'\n\
             [[caller]]\nname = 'two'\nroles = ['service']\ncertificate = 'Planner.example.com'\n\
             token_sha256 = '{}'\n",
            hexadecimal(&Sha256::digest("another token of enough length"))
        );
        let callers = Callers::parse(&text).unwrap();
        let one = callers.of_token(TOKEN).unwrap();
        assert_eq!((one.name(), one.tenant()), ("one", "acme"));
        assert!(one.has(Role::Author) && !one.has(Role::Approver));
        let two = callers.of_token("another token of enough length").unwrap();
        assert_eq!((two.name(), two.tenant()), ("two", DEFAULT_TENANT));
        let by_name = callers.of_certificate(&["planner.example.com".to_owned()]);
        assert_eq!(by_name.unwrap().name(), "two");
        assert!(callers.of_token("0123456789abcdef0124").is_none());
        assert!(callers.of_token("").is_none());
    }

    #[test]
    fn invalid_files_are_refused_without_showing_a_token() {
        let check = |text: &str, expected: &str| {
            let problem = Callers::parse(&text.replace("TOKEN", TOKEN)).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
            assert!(!problem.contains(TOKEN), "{problem}");
        };
        let caller = "[[caller]]\nname = 'one'\n";
        check(
            &format!("{caller}roles = ['boss']\ntoken = 'TOKEN'"),
            "there is no role `boss`; roles are viewer",
        );
        check(
            &format!("{caller}roles = []\ntoken = 'TOKEN'"),
            "caller `one`: `roles` is empty",
        );
        check(&format!("{caller}roles = ['viewer']"), "set `token`");
        check(
            &format!("{caller}roles = ['viewer']\ntoken = 'short'"),
            "at least 20",
        );
        check(
            &format!("{caller}roles = ['viewer']\ntoken_sha256 = 'ab'"),
            "64 hexadecimal digits",
        );
        check(
            &format!("{caller}roles = ['viewer']\ncertificate = 'http://a.b'"),
            "SPIFFE URI",
        );
        check(
            &format!("{caller}roles = ['viewer']\ntokn = 'TOKEN'"),
            "line 4: unknown field `tokn`",
        );
        check(
            &format!("{caller}roles = ['viewer']\ntoken = 'TOKEN"),
            "line 4",
        );
        check(
            "[[caller]]\nname = 'local'\nroles = ['admin']\ntoken = 'TOKEN'",
            "own user",
        );
        check(
            "[[caller]]\nname = 'oidc:1'\nroles = ['admin']\ntoken = 'TOKEN'",
            "server.jwt",
        );
        check(
            "[[caller]]\nname = 'a b'\nroles = ['admin']\ntoken = 'TOKEN'",
            "`name` must consist",
        );
        let one = format!("{caller}roles = ['viewer']\ntoken = 'TOKEN'\n");
        check(&format!("{one}{one}"), "used twice");
        check(&format!("{one}{}", one.replace("one", "two")), "same token");
    }
}
