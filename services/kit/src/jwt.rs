//! Access tokens of an OpenID Connect issuer: checks them, and derives the principal from their claims.
//!
//! The issuer's keys are fetched in the background, kept, and fetched again for a key that is not known: issuers rotate their
//! keys. Only callers with an unknown key wait for the issuer, and no longer than a fetch may take. It does not log users in, and
//! does not ask the issuer about single tokens: a token is valid until it expires.
//! Invariant: only asymmetric algorithms are accepted, and only that of the key. A shared secret, or no signature, is never taken.
//! A role comes from a name that the operator has configured, never from one that merely sounds like it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use reqwest::Url;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::blocking;
use crate::http_client;
use crate::principal::{DEFAULT_TENANT, ISSUED_PREFIX, Identity, Principal, Role, check_name};

/// Algorithms of signatures whose keys may be public.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];
/// Claims that a token must have.
const REQUIRED_CLAIMS: [&str; 4] = ["exp", "iss", "aud", "sub"];
/// Minimum interval between attempts to get the keys. Tokens with invented key ids must not make the server call the issuer.
const FETCH_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum duration of an attempt. Shorter than the interval, so that there is one at a time.
const FETCH_TIMEOUT: Duration = Duration::from_secs(4);
/// Age after which keys are fetched again even if they fit, so that a key that the issuer has withdrawn stops working.
const REFRESH_AGE: Duration = Duration::from_secs(15 * 60);
/// Age from which keys are no longer used. Long enough for an outage of the issuer, whose withdrawn keys work as long.
const MAX_KEY_AGE: Duration = Duration::from_secs(4 * 60 * 60);
/// Maximum size of a key set. Those of large issuers have a few kilobytes.
const MAX_KEY_SET_BYTES: usize = 1 << 20;

/// Resolved configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Value of the claim `iss`.
    pub issuer: String,
    /// Value that the claim `aud` must contain.
    pub audience: String,
    /// Place of the issuer's keys, a JSON Web Key Set.
    pub keys: KeySource,
    /// Difference of clocks that is tolerated.
    pub clock_skew: Duration,
    /// Path of the claim with the roles, such as `realm_access.roles`.
    pub roles_claim: String,
    /// Roles of Motorium that the names in this claim stand for.
    pub roles: RoleNames,
    /// Path of the claim with the tenant. `None` if all callers belong to the default tenant.
    pub tenant_claim: Option<String>,
}

/// Roles of Motorium by the names that an issuer gives them. Other names are ignored: `admin` of another application is no
/// administrator here.
#[derive(Debug, Clone, Default)]
pub struct RoleNames {
    /// Beginning of names that end with the name of a role, such as `motorium:`. Never empty.
    pub prefix: Option<String>,
    /// Roles of other names.
    pub map: BTreeMap<String, BTreeSet<Role>>,
}

impl RoleNames {
    fn roles_of(&self, name: &str) -> BTreeSet<Role> {
        let prefix = self.prefix.as_deref().filter(|prefix| !prefix.is_empty());
        let own = prefix.and_then(|prefix| Role::named(name.strip_prefix(prefix)?));
        let mapped = self.map.get(name).into_iter().flatten().copied();
        own.into_iter().chain(mapped).collect()
    }
}

/// Place of the issuer's keys.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// Address with `https:`, or of this machine.
    Url(Url),
    /// File, read again when a key is not known.
    File(PathBuf),
}

/// Checks tokens of one issuer. Clones share the keys.
#[derive(Debug, Clone)]
pub(crate) struct Verifier {
    config: Arc<Config>,
    keys: Arc<KeyCache>,
}

#[derive(Debug, Default)]
struct KeyCache {
    known: RwLock<Option<Arc<KeySet>>>,
    /// The last attempt to get the keys, which may be going on.
    attempt: Mutex<Option<Attempt>>,
}

/// An attempt to get the keys. Every caller that needs them waits for the same one.
#[derive(Debug)]
struct Attempt {
    started: Instant,
    outcome: Shared<BoxFuture<'static, Result<(), String>>>,
}

#[derive(Debug)]
struct KeySet {
    keys: Vec<Jwk>,
    fetched: Instant,
}

impl Verifier {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config: Arc::new(config),
            keys: Arc::default(),
        }
    }

    /// Returns the principal of a token.
    ///
    /// # Errors
    /// The reason why the token is not accepted, as the middle of a sentence.
    pub(crate) async fn principal(&self, token: &str) -> Result<Principal, String> {
        let header = jsonwebtoken::decode_header(token);
        let header = header.map_err(|error| format!("it is not a signed JWT ({error})"))?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(format!("its algorithm {:?} is not accepted", header.alg));
        }
        let key = self.key(header.kid.as_deref()).await?;
        check_key(&key, header.alg)?;
        let key = DecodingKey::from_jwk(&key);
        let key = key.map_err(|error| format!("its key is unusable ({error})"))?;
        let decoded = jsonwebtoken::decode::<Value>(token, &key, &self.validation(header.alg));
        let claims = decoded.map_err(|error| error.to_string())?.claims;
        self.identity(&claims).map(Principal::new)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.config.clock_skew.as_secs();
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(&[&self.config.audience]);
        validation.set_required_spec_claims(&REQUIRED_CLAIMS);
        validation
    }

    fn identity(&self, claims: &Value) -> Result<Identity, String> {
        // The library passes over a time of another type, as if it were absent, and accepts a list of issuers.
        let is_time = |name: &str| claims.get(name).is_none_or(Value::is_number);
        if !is_time("nbf") || !is_time("exp") || !claims["iss"].is_string() {
            return Err("its claims have wrong types".to_owned());
        }
        let subject = claims["sub"].as_str().unwrap_or_default();
        check_name("sub", subject)?;
        let tenant = match &self.config.tenant_claim {
            None => DEFAULT_TENANT,
            // Without its tenant a caller would see what belongs to the default one.
            Some(path) => claim(claims, path)
                .and_then(Value::as_str)
                .ok_or_else(|| format!("it has no claim `{path}` with a tenant"))?,
        };
        check_name("tenant", tenant)?;
        let roles = claim(claims, &self.config.roles_claim);
        let roles = roles.map(texts).unwrap_or_default();
        Ok(Identity {
            name: format!("{ISSUED_PREFIX}{subject}"),
            tenant: tenant.to_owned(),
            roles: roles
                .iter()
                .flat_map(|name| self.config.roles.roles_of(name))
                .collect(),
        })
    }

    /// Returns the key with this id, or the only one if tokens name none.
    async fn key(&self, id: Option<&str>) -> Result<Jwk, String> {
        if let Some(set) = self.keys.known()
            && let Some(key) = set.find(id)
        {
            if set.fetched.elapsed() >= REFRESH_AGE {
                // In the background: the issuer may be slow, and the key is still good.
                drop(self.attempt());
            }
            return Ok(key);
        }
        let fetched = self.attempt().await;
        let known = self.keys.known();
        match (known.and_then(|set| set.find(id)), fetched) {
            (Some(key), _) => Ok(key),
            (None, Err(problem)) => Err(format!(
                "the keys of its issuer are not available ({problem})"
            )),
            (None, Ok(())) => Err("its issuer has no such key".to_owned()),
        }
    }

    /// Starts to get the keys, or returns the attempt that was started a moment ago. It goes on without being waited for.
    fn attempt(&self) -> Shared<BoxFuture<'static, Result<(), String>>> {
        let mut last = self
            .keys
            .attempt
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(attempt) = last.as_ref()
            && attempt.started.elapsed() < FETCH_INTERVAL
        {
            return attempt.outcome.clone();
        }
        let fetch = tokio::spawn(self.clone().fetch());
        let outcome = fetch.map(|ended| ended.unwrap_or_else(|error| Err(error.to_string())));
        let outcome = outcome.boxed().shared();
        *last = Some(Attempt {
            started: Instant::now(),
            outcome: outcome.clone(),
        });
        outcome
    }

    /// Gets the keys. Keeps the former ones if it fails.
    async fn fetch(self) -> Result<(), String> {
        let fetched = timeout(FETCH_TIMEOUT, self.config.keys.fetch()).await;
        let fetched = fetched.unwrap_or_else(|_| Err("it does not answer".to_owned()));
        match fetched.and_then(|content| parsed(&content)) {
            Ok(keys) => {
                self.keys.replace(keys);
                Ok(())
            }
            Err(problem) => {
                tracing::warn!(
                    issuer = self.config.issuer,
                    problem,
                    "cannot get the keys of the issuer"
                );
                Err(problem)
            }
        }
    }
}

impl KeySource {
    async fn fetch(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Url(url) => download(url).await,
            Self::File(path) => read(path).await,
        }
    }
}

impl KeyCache {
    /// Returns the keys that may be used.
    fn known(&self) -> Option<Arc<KeySet>> {
        let known = self
            .known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        known.filter(|set| set.fetched.elapsed() < MAX_KEY_AGE)
    }

    fn replace(&self, keys: Vec<Jwk>) {
        let set = KeySet {
            keys,
            fetched: Instant::now(),
        };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(set));
    }
}

impl KeySet {
    fn find(&self, id: Option<&str>) -> Option<Jwk> {
        let found = match (id, self.keys.as_slice()) {
            (Some(id), keys) => keys
                .iter()
                .find(|key| key.common.key_id.as_deref() == Some(id)),
            (None, [only]) => Some(only),
            // Trying one after the other would accept a key for what it is not meant for.
            (None, _) => None,
        };
        found.cloned()
    }
}

/// Refuses a key that is not for signatures of this algorithm.
fn check_key(key: &Jwk, algorithm: Algorithm) -> Result<(), String> {
    let is_public = !matches!(key.algorithm, AlgorithmParameters::OctetKey(_));
    let signs = !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
    let name = format!("{algorithm:?}");
    let fits = key
        .common
        .key_algorithm
        .as_ref()
        .is_none_or(|own| own.to_string() == name);
    if is_public && signs && fits {
        return Ok(());
    }
    Err(format!("its key is not for signatures with {name}"))
}

/// Parses a key set. Keys of unknown kinds are skipped: issuers publish keys for other purposes beside.
fn parsed(content: &[u8]) -> Result<Vec<Jwk>, String> {
    let set: Value = serde_json::from_slice(content).map_err(|error| error.to_string())?;
    let keys = set["keys"]
        .as_array()
        .ok_or("it is not a JSON Web Key Set")?;
    let known = keys
        .iter()
        .filter_map(|key| serde_json::from_value(key.clone()).ok());
    Ok(known.collect())
}

async fn read(path: &Path) -> Result<Vec<u8>, String> {
    let content = tokio::fs::read(path).await;
    content.map_err(|error| format!("{}: {error}", path.display()))
}

async fn download(url: &Url) -> Result<Vec<u8>, String> {
    let builder = match url.scheme() {
        // Reads the certificates of the system.
        "https" => blocking::run(|| http_client::with_root_certificates(None)).await,
        _ => http_client::plaintext(),
    };
    let client = builder.map_err(|error| error.to_string())?;
    let client = client.timeout(FETCH_TIMEOUT).build();
    let client = client.map_err(|error| crate::chain(&error))?;
    let answered = client.get(url.clone()).send().await;
    let answered = answered.and_then(reqwest::Response::error_for_status);
    let mut response = answered.map_err(|error| crate::chain(&error))?;
    let mut content = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| crate::chain(&error))?
    {
        if content.len() + chunk.len() > MAX_KEY_SET_BYTES {
            return Err(format!("{url} sends more than {MAX_KEY_SET_BYTES} bytes"));
        }
        content.extend_from_slice(&chunk);
    }
    Ok(content)
}

/// Returns the claim at a path such as `realm_access.roles`. A claim with dots in its name comes first.
fn claim<'a>(claims: &'a Value, path: &str) -> Option<&'a Value> {
    let nested = || {
        path.split('.')
            .try_fold(claims, |value, part| value.get(part))
    };
    claims.get(path).or_else(nested)
}

/// Returns the texts of a list, or the words of a text: issuers write roles in both ways.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => text.split_whitespace().collect(),
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use jsonwebtoken::{EncodingKey, Header};
    use serde_json::json;

    use super::*;

    fn roles(prefix: Option<&str>, map: &[(&str, Role)], name: &str) -> Vec<Role> {
        let map = map
            .iter()
            .map(|(name, role)| (String::from(*name), [*role].into()));
        let names = RoleNames {
            prefix: prefix.map(str::to_owned),
            map: map.collect(),
        };
        names.roles_of(name).into_iter().collect()
    }

    #[test]
    fn only_configured_names_are_roles() {
        let prefix = Some("motorium:");
        assert_eq!(roles(prefix, &[], "motorium:admin"), [Role::Admin]);
        for generic in ["admin", "service", "Motorium:admin", "motorium:", "x:admin"] {
            assert_eq!(roles(prefix, &[], generic), [], "{generic}");
            assert_eq!(roles(Some(""), &[], generic), [], "{generic}");
            assert_eq!(roles(None, &[], generic), [], "{generic}");
        }
        let mapped = [("desk-users", Role::Author), ("admin", Role::Viewer)];
        assert_eq!(roles(None, &mapped, "desk-users"), [Role::Author]);
        assert_eq!(roles(prefix, &mapped, "admin"), [Role::Viewer]);
        assert_eq!(roles(prefix, &mapped, "author"), []);
    }

    /// Writes the key of an issuer to a file, and returns a token that it has signed.
    fn key_and_token(path: &Path) -> String {
        let pair = rcgen::KeyPair::generate().unwrap();
        // The raw form of P-256 is 4, x and y.
        let (x, y) = pair.public_key_raw()[1..].split_at(32);
        let key = json!({
            "kty": "EC", "crv": "P-256", "alg": "ES256", "kid": "one",
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        });
        std::fs::write(path, json!({"keys": [key]}).to_string()).unwrap();
        let header = Header {
            kid: Some("one".to_owned()),
            ..Header::new(Algorithm::ES256)
        };
        let claims = json!({"iss": "i", "aud": "a", "sub": "ada", "exp": 9_999_999_999_u64});
        let key = EncodingKey::from_ec_der(&pair.serialize_der());
        jsonwebtoken::encode(&header, &claims, &key).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn keys_of_an_issuer_that_is_gone_are_used_for_a_while_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let token = key_and_token(&path);
        let verifier = Verifier::new(Config {
            issuer: "i".to_owned(),
            audience: "a".to_owned(),
            keys: KeySource::File(path.clone()),
            clock_skew: Duration::ZERO,
            roles_claim: "roles".to_owned(),
            roles: RoleNames::default(),
            tenant_claim: None,
        });
        verifier.principal(&token).await.unwrap();
        std::fs::remove_file(&path).unwrap();
        for minutes in [14, 16, 200] {
            tokio::time::advance(Duration::from_secs(minutes * 60)).await;
            verifier.principal(&token).await.unwrap();
        }
        tokio::time::advance(Duration::from_secs(20 * 60)).await;
        let refused = verifier.principal(&token).await.unwrap_err();
        assert!(refused.contains("not available"), "{refused}");
        // It comes back with another key.
        let other = key_and_token(&path);
        tokio::time::advance(FETCH_INTERVAL).await;
        verifier.principal(&other).await.unwrap();
        verifier.principal(&token).await.unwrap_err();
    }
}
