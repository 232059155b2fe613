//! Access tokens of an OpenID Connect issuer: checks them, and derives the principal from their claims.
//!
//! The issuer's keys are fetched when a token needs them, kept, and fetched again for a key that is not known: issuers rotate
//! their keys. It does not log users in, and does not ask the issuer about single tokens: a token is valid until it expires.
//! Invariant: only asymmetric algorithms are accepted, and only that of the key. A shared secret, or no signature, is never taken.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use reqwest::Url;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::blocking;
use crate::callers::{ISSUED_PREFIX, check_name, parsed_role};
use crate::http_client;
use crate::principal::{DEFAULT_TENANT, Identity, Principal};

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
/// Age after which keys are fetched again even if they fit, so that a key that the issuer has withdrawn stops working.
const MAX_KEY_AGE: Duration = Duration::from_secs(15 * 60);
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
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
    /// Path of the claim with the tenant. `None` if all callers belong to the default tenant.
    pub tenant_claim: Option<String>,
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
    /// Time of the last attempt. Locked during an attempt, so that there is one at a time.
    last_attempt: Mutex<Option<Instant>>,
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
            // Issuers add roles that are not of Motorium.
            roles: roles
                .iter()
                .filter_map(|role| parsed_role(role).ok())
                .collect(),
        })
    }

    /// Returns the key with this id, or the only one if tokens name none.
    async fn key(&self, id: Option<&str>) -> Result<Jwk, String> {
        let known = self.keys.known();
        let fresh = known.filter(|set| set.fetched.elapsed() < MAX_KEY_AGE);
        if let Some(key) = fresh.and_then(|set| set.find(id)) {
            return Ok(key);
        }
        let fetched = self.fetch().await;
        let known = self.keys.known();
        match (known.and_then(|set| set.find(id)), fetched) {
            (Some(key), _) => Ok(key),
            (None, Err(problem)) => Err(format!(
                "the keys of its issuer are not available ({problem})"
            )),
            (None, Ok(())) => Err("its issuer has no such key".to_owned()),
        }
    }

    /// Gets the keys, unless that was tried a moment ago. Keeps the former ones if it fails.
    async fn fetch(&self) -> Result<(), String> {
        let mut last_attempt = self.keys.last_attempt.lock().await;
        let is_recent = last_attempt.is_some_and(|last| last.elapsed() < FETCH_INTERVAL);
        if is_recent {
            return match self.keys.known() {
                Some(_) => Ok(()),
                None => Err("the last attempt failed a moment ago".to_owned()),
            };
        }
        *last_attempt = Some(Instant::now());
        let fetched = match &self.config.keys {
            KeySource::Url(url) => download(url).await,
            KeySource::File(path) => {
                let read = tokio::fs::read(path).await;
                read.map_err(|error| format!("{}: {error}", path.display()))
            }
        };
        let keys = fetched.and_then(|content| parsed(&content));
        match keys {
            Ok(keys) => {
                let set = Arc::new(KeySet {
                    keys,
                    fetched: Instant::now(),
                });
                *self
                    .keys
                    .known
                    .write()
                    .unwrap_or_else(PoisonError::into_inner) = Some(set);
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

impl KeyCache {
    fn known(&self) -> Option<Arc<KeySet>> {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
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
