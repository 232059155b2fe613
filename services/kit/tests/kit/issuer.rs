//! Access tokens of an OpenID Connect issuer, and attacks with tokens that it has not signed so.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use motorium_kit::client::{self, Channel};
use motorium_kit::config::Secret;
use motorium_kit::jwt::{self, KeySource, RoleNames};
use motorium_kit::server::{Config, RunningServer};
use motorium_kit::shutdown::Shutdown;
use rcgen::KeyPair;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::probe::{self, Probe, call, with_timeout};

const ISSUER: &str = "https://login.example.com/";
const AUDIENCE: &str = "motorium";

/// A key of the issuer.
struct Key {
    id: &'static str,
    pair: KeyPair,
}

impl Key {
    fn new(id: &'static str) -> Self {
        let pair = KeyPair::generate().unwrap();
        Self { id, pair }
    }

    /// Returns the public key. The raw form of P-256 is 4, x and y.
    fn public(&self) -> Value {
        let raw = self.pair.public_key_raw();
        let (x, y) = raw[1..].split_at(32);
        json!({
            "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": self.id,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        })
    }

    fn sign(&self, claims: &Value) -> String {
        let header = Header {
            kid: Some(self.id.to_owned()),
            ..Header::new(Algorithm::ES256)
        };
        let key = EncodingKey::from_ec_der(&self.pair.serialize_der());
        jsonwebtoken::encode(&header, claims, &key).unwrap()
    }
}

fn prefixed() -> RoleNames {
    RoleNames {
        prefix: Some("motorium:".to_owned()),
        ..RoleNames::default()
    }
}

/// A server of key sets on the loopback address.
struct Issuer {
    address: String,
    keys: Arc<Mutex<Value>>,
    requests: Arc<AtomicUsize>,
    hangs: Arc<AtomicBool>,
}

impl Issuer {
    async fn start(keys: &[&Key]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = Self {
            address: format!("http://{}/keys", listener.local_addr().unwrap()),
            keys: Arc::default(),
            requests: Arc::default(),
            hangs: Arc::default(),
        };
        issuer.publish(keys);
        let (keys, requests) = (issuer.keys.clone(), issuer.requests.clone());
        let hangs = issuer.hangs.clone();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                requests.fetch_add(1, Ordering::Relaxed);
                if hangs.load(Ordering::Relaxed) {
                    tokio::spawn(hang(connection));
                    continue;
                }
                let body = keys.lock().unwrap().to_string();
                let length = body.len();
                let _ = connection.read(&mut [0; 4096]).await;
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
                );
                let _ = connection.write_all((head + &body).as_bytes()).await;
            }
        });
        issuer
    }

    fn publish(&self, keys: &[&Key]) {
        let mut published: Vec<Value> = keys.iter().map(|key| key.public()).collect();
        // Issuers also publish keys of kinds that are not known here.
        published.push(json!({"kty": "AKP", "kid": "of-the-future"}));
        *self.keys.lock().unwrap() = json!({ "keys": published });
    }

    async fn server(&self, skew: Duration) -> RunningServer {
        let shutdown = Shutdown::new();
        let config = Config {
            jwt: Some(jwt::Config {
                issuer: ISSUER.to_owned(),
                audience: AUDIENCE.to_owned(),
                keys: KeySource::Url(self.address.parse().unwrap()),
                clock_skew: skew,
                roles_claim: "realm_access.roles".to_owned(),
                roles: prefixed(),
                tenant_claim: Some("tenant".to_owned()),
            }),
            ..probe::config()
        };
        probe::serve(config, Probe::new(&shutdown), &shutdown).await
    }
}

/// Answers a request with a space now and then, so that there is always something to wait for.
async fn hang(mut connection: TcpStream) {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n";
    let mut sent = connection.write_all(head.as_bytes()).await;
    while sent.is_ok() {
        tokio::time::sleep(Duration::from_millis(100)).await;
        sent = connection.write_all(b" ").await;
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

/// Returns valid claims with these changes; `null` removes a claim.
fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "aud": ["others", AUDIENCE], "sub": "ada", "exp": now() + 60, "nbf": now(),
        "tenant": "acme", "realm_access": {"roles": ["offline_access", "motorium:author"]},
    });
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

async fn seen(server: &RunningServer, token: &str) -> Result<String, Status> {
    let config = client::Config {
        token: Some(Secret::new(token)),
        ..client::Config::new(probe::uri(server))
    };
    let channel = Channel::connect_lazy(&config).unwrap();
    let seen = with_timeout(call(channel, "Principal", b"")).await;
    seen.map(|seen| String::from_utf8(seen).unwrap())
}

async fn refused(server: &RunningServer, token: &str, why: &str) {
    let status = seen(server, token).await.expect_err(why);
    assert_eq!(status.code(), Code::Unauthenticated, "{why}: {status}");
    assert!(!status.message().contains(token), "{status}");
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test]
async fn a_token_of_the_issuer_names_its_caller() {
    let key = Key::new("one");
    let issuer = Issuer::start(&[&key]).await;
    let server = issuer.server(Duration::ZERO).await;
    let token = key.sign(&claims(json!({})));
    assert_eq!(seen(&server, &token).await.unwrap(), "oidc:ada acme author");
    seen(&server, &token).await.unwrap();
    assert_eq!(issuer.requests.load(Ordering::Relaxed), 1, "keys are kept");
}

#[tokio::test]
async fn roles_of_other_applications_are_no_roles_here() {
    let key = Key::new("one");
    let issuer = Issuer::start(&[&key]).await;
    let server = issuer.server(Duration::ZERO).await;
    for roles in [
        json!(["boss"]),
        json!([
            "admin", "author", "operator", "approver", "viewer", "service"
        ]),
        json!("admin author"),
        json!([
            "MOTORIUM:admin",
            "motorium: author",
            "other:motorium:author"
        ]),
        json!([["motorium:author"], {"motorium:author": true}]),
        json!(null),
    ] {
        let token = key.sign(&claims(json!({"realm_access": {"roles": roles}})));
        let status = seen(&server, &token).await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied, "{roles} {status}");
    }
}

#[tokio::test]
async fn forged_and_foreign_tokens_are_refused() {
    let (key, other) = (Key::new("one"), Key::new("one"));
    let issuer = Issuer::start(&[&key]).await;
    let server = issuer.server(Duration::from_secs(5)).await;
    let valid = key.sign(&claims(json!({})));
    seen(&server, &valid).await.unwrap();

    for (changes, why) in [
        (json!({"exp": now() - 30}), "expired"),
        (json!({"exp": null}), "never expires"),
        (json!({"exp": "9999999999"}), "expires at a text"),
        (json!({"nbf": now() + 30}), "not valid yet"),
        (json!({"nbf": "0"}), "valid from a text"),
        (json!({"aud": "another"}), "for another audience"),
        (json!({"aud": null}), "for any audience"),
        (
            json!({"iss": "https://login.example.com"}),
            "of another issuer",
        ),
        (
            json!({"iss": [ISSUER, "https://evil.example"]}),
            "of two issuers",
        ),
        (json!({"iss": null}), "of no issuer"),
        (json!({"sub": null}), "without a subject"),
        (json!({"sub": "ada\nadmin"}), "with a subject of two lines"),
        (json!({"tenant": null}), "without a tenant"),
    ] {
        refused(&server, &key.sign(&claims(changes)), why).await;
    }
    refused(
        &server,
        &other.sign(&claims(json!({}))),
        "signed by another key",
    )
    .await;

    let [_, payload, signature] = valid.split('.').collect::<Vec<_>>()[..] else {
        panic!("a token has three parts");
    };
    let header = |algorithm: &str| part(&json!({"alg": algorithm, "kid": "one", "typ": "JWT"}));
    for algorithm in ["none", "None", "nOnE"] {
        let unsigned = format!("{}.{payload}.", header(algorithm));
        refused(&server, &unsigned, "without a signature").await;
        let kept = format!("{}.{payload}.{signature}", header(algorithm));
        refused(&server, &kept, "with a signature that nothing checks").await;
    }
    // The public key as a shared secret, in each form in which a server may have it.
    let (point, pem, set) = (
        key.pair.public_key_raw().to_vec(),
        key.pair.public_key_pem().into_bytes(),
        key.public().to_string().into_bytes(),
    );
    for secret in [point, pem, set] {
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let header = Header {
                kid: Some("one".to_owned()),
                ..Header::new(algorithm)
            };
            let secret = EncodingKey::from_secret(&secret);
            let token = jsonwebtoken::encode(&header, &claims(json!({})), &secret).unwrap();
            refused(&server, &token, "with the public key as a secret").await;
        }
    }
    let changed = part(&claims(json!({"sub": "root"})));
    for (token, why) in [
        (
            format!("{}.{changed}.{signature}", header("ES256")),
            "with other claims",
        ),
        (
            format!("{}.{payload}.{signature}", header("RS256")),
            "with another algorithm",
        ),
        (format!("{}.{payload}", header("ES256")), "of two parts"),
        ("a.b.c".to_owned(), "of nothing"),
        ("..".to_owned(), "of empty parts"),
    ] {
        refused(&server, &token, why).await;
    }
    seen(&server, &valid)
        .await
        .expect("the issuer's own token is still accepted");
}

#[tokio::test]
async fn clocks_may_differ_a_little() {
    let key = Key::new("one");
    let issuer = Issuer::start(&[&key]).await;
    let server = issuer.server(Duration::from_secs(60)).await;
    for (changes, is_accepted) in [
        (json!({"exp": now() - 30}), true),
        (json!({"exp": now() - 90}), false),
        (json!({"nbf": now() + 30}), true),
        (json!({"nbf": now() + 90}), false),
    ] {
        let seen = seen(&server, &key.sign(&claims(changes.clone()))).await;
        assert_eq!(seen.is_ok(), is_accepted, "{changes}");
    }
}

#[tokio::test]
async fn a_rotated_key_is_fetched_and_an_invented_one_does_not_flood_the_issuer() {
    let (former, rotated) = (Key::new("one"), Key::new("two"));
    let issuer = Issuer::start(&[&former]).await;
    let server = issuer.server(Duration::ZERO).await;
    seen(&server, &former.sign(&claims(json!({}))))
        .await
        .unwrap();
    let invented = Key::new("invented").sign(&claims(json!({})));
    for _ in 0..20 {
        refused(&server, &invented, "signed by an invented key").await;
    }
    assert_eq!(issuer.requests.load(Ordering::Relaxed), 1);

    issuer.publish(&[&rotated]);
    let token = rotated.sign(&claims(json!({})));
    // The interval between attempts.
    let accepted = async {
        while seen(&server, &token).await.is_err() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    with_timeout(accepted).await;
    refused(
        &server,
        &former.sign(&claims(json!({}))),
        "signed by the former key",
    )
    .await;
    assert_eq!(issuer.requests.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_hanging_issuer_holds_up_only_callers_with_unknown_keys() {
    let key = Key::new("one");
    let issuer = Issuer::start(&[&key]).await;
    let server = Arc::new(issuer.server(Duration::ZERO).await);
    let known = key.sign(&claims(json!({})));
    seen(&server, &known).await.unwrap();
    // The interval between attempts.
    tokio::time::sleep(Duration::from_secs(5)).await;
    issuer.hangs.store(true, Ordering::Relaxed);
    let attacks = (0..20).map(|_| {
        let (server, invented) = (server.clone(), Key::new("invented"));
        tokio::spawn(async move {
            let token = invented.sign(&claims(json!({})));
            let begun = Instant::now();
            let refused = seen(&server, &token).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
            begun.elapsed()
        })
    });
    let attacks: Vec<_> = attacks.collect();
    while issuer.requests.load(Ordering::Relaxed) < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let begun = Instant::now();
    for _ in 0..20 {
        seen(&server, &known).await.unwrap();
    }
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert!(attacks.iter().any(|attack| !attack.is_finished()));
    for attack in attacks {
        let waited = attack.await.unwrap();
        assert!(waited < Duration::from_secs(8), "{waited:?}");
    }
    assert!(
        issuer.requests.load(Ordering::Relaxed) <= 3,
        "one at a time"
    );
    seen(&server, &known).await.unwrap();
}

#[tokio::test]
async fn keys_may_come_from_a_file_and_an_issuer_that_is_not_reachable_lets_no_one_in() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::new("one");
    let path = folder.path().join("jwks.json");
    std::fs::write(&path, json!({"keys": [key.public()]}).to_string()).unwrap();
    let serve = |keys| async move {
        let shutdown = Shutdown::new();
        let config = Config {
            jwt: Some(jwt::Config {
                issuer: ISSUER.to_owned(),
                audience: AUDIENCE.to_owned(),
                keys,
                clock_skew: Duration::ZERO,
                roles_claim: "realm_access.roles".to_owned(),
                roles: prefixed(),
                tenant_claim: None,
            }),
            ..probe::config()
        };
        probe::serve(config, Probe::new(&shutdown), &shutdown).await
    };
    let token = key.sign(&claims(json!({})));
    let server = serve(KeySource::File(path)).await;
    assert_eq!(
        seen(&server, &token).await.unwrap(),
        "oidc:ada default author"
    );
    let unreachable = "http://127.0.0.1:9/keys".parse().unwrap();
    let server = serve(KeySource::Url(unreachable)).await;
    refused(&server, &token, "of an issuer without keys").await;
}
