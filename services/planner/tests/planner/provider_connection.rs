//! The connection to a provider: keys, proxies, custom certificates, and the errors when one of them fails. Over real
//! sockets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use motorium_kit::config::Environment;
use motorium_planner::{PlannerService, Settings};
use motorium_proto::service::{PlanRequest, PlannedDecision, Planner as _};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::fake_provider::Provider;
use crate::request::{request, solid_screenshot};

/// The key of every test.
const KEY: &str = "sk-of-the-test";

/// A service with one backend, whose provider has these settings.
fn planner(kind: &str, model: &str, provider: &str) -> PlannerService {
    let settings = format!(
        r#"
        backends = ["{kind}"]
        retry = {{ max_retries = 1, initial_backoff = "1ms" }}
        [backend.{kind}]
        provider = "own"
        model = "{model}"
        [providers.own]
        {provider}
        "#
    );
    let settings: Settings = toml::from_str(&settings).unwrap();
    let environment = Environment::of([("KEY_OF_THE_TEST", KEY)]);
    settings.resolve_in(&environment).unwrap()
}

fn operator(provider: &str) -> PlannerService {
    planner("operator", "local-vl", provider)
}

async fn plan(planner: &PlannerService) -> Result<PlannedDecision, String> {
    let step = PlanRequest {
        image: Some(solid_screenshot(20)),
        ..request("save the file", "button 20,40 80x30 \"Save\"")
    };
    let planned = planner.plan(step).await;
    planned.map_err(|error| {
        let shown = format!("{error:?} {planner:?}");
        assert!(
            !shown.contains(KEY) && !shown.contains("hunter2"),
            "{shown}"
        );
        error.message
    })
}

#[track_caller]
fn says(refusal: &Result<PlannedDecision, String>, parts: &[&str]) {
    let refusal = refusal.as_ref().unwrap_err();
    for part in parts {
        assert!(refusal.contains(part), "`{part}` is not in {refusal}");
    }
}

/// A decision in the format of a chat endpoint.
fn decision() -> Value {
    let decision = json!({"thought": "It is there.", "progress": "Saving", "next": "act",
        "actions": [{"action": "click", "element_id": 1}]});
    json!({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": decision.to_string()}}],
        "usage": {"prompt_tokens": 1400, "completion_tokens": 40, "total_tokens": 1440}})
}

#[tokio::test]
async fn a_key_comes_from_a_variable_or_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, format!("  {KEY}\r\n")).unwrap();
    let file = format!("key_file = \"{}\"\nkey_env = \"NOT_SET\"", file.display());
    for place in ["key_env = \"KEY_OF_THE_TEST\"", &file] {
        let provider = Provider::start().await;
        provider.will_answer(200, decision());
        let planner = operator(&format!("base_url = \"{}/own/v1\"\n{place}", provider.url));
        plan(&planner).await.unwrap();
        let received = &provider.received()[0];
        assert_eq!(received.path, "/own/v1/chat/completions");
        assert_eq!(received.headers["authorization"], format!("Bearer {KEY}"));
        assert!(!format!("{planner:?}").contains(KEY));
    }
}

#[tokio::test]
async fn unknown_model_is_sent_only_common_parameters() {
    let provider = Provider::start().await;
    let text = decision()["choices"][0]["message"]["content"].clone();
    let answer = json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1400, "output_tokens": 40}});
    provider.will_answer(200, answer);
    let planner = planner(
        "claude_som",
        "claude-nobody-9",
        &format!(
            "base_url = \"{}\"\nkey_env = \"KEY_OF_THE_TEST\"",
            provider.url
        ),
    );
    let planned = plan(&planner).await.unwrap();
    assert_eq!(planned.decision.usage.cost_micros_usd, None);
    let body = &provider.received()[0].body;
    assert_eq!(body["max_tokens"], 4096);
    for absent in ["thinking", "temperature", "tool_choice", "tools"] {
        assert!(body.get(absent).is_none(), "{absent}");
    }
}

#[tokio::test]
async fn requests_go_only_through_the_configured_proxy() {
    let proxy = Provider::start().await;
    proxy.will_answer(200, decision());
    let address = proxy.url.strip_prefix("http://").unwrap();
    let planner = operator(&format!(
        "base_url = \"http://models.invalid/v1\"\nproxy = \"http://me:hunter2@{address}\""
    ));
    plan(&planner).await.unwrap();
    let received = &proxy.received()[0];
    assert_eq!(received.headers["host"], "models.invalid");
    assert!(
        received.headers["proxy-authorization"]
            .to_str()
            .unwrap()
            .starts_with("Basic ")
    );
}

#[tokio::test]
async fn a_provider_on_this_machine_is_reached_past_the_proxy() {
    let (provider, proxy) = (Provider::start().await, Provider::start().await);
    let named = provider.url.replace("127.0.0.1", "localhost");
    for url in [&provider.url, &named] {
        provider.will_answer(200, decision());
        let planner = operator(&format!("base_url = \"{url}\"\nproxy = \"{}\"", proxy.url));
        plan(&planner).await.unwrap();
    }
    assert_eq!((provider.received().len(), proxy.received().len()), (2, 0));
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    for scheme in ["http", "https"] {
        let refused = plan(&operator(&format!(
            "base_url = \"{scheme}://models.invalid/v1\"\nproxy = \"http://me:hunter2@{closed}\""
        )))
        .await;
        let named = format!("models.invalid cannot be reached through the proxy {closed}");
        says(&refused, &[&named, "Connection refused"]);
    }
    let proxy = Provider::start().await;
    (0..2).for_each(|_| proxy.will_answer(407, json!("")));
    let refused = plan(&operator(&format!(
        "base_url = \"http://models.invalid/v1\"\nproxy = \"{}\"",
        proxy.url
    )))
    .await;
    says(
        &refused,
        &["the proxy requires a name and a password (HTTP 407)"],
    );
}

#[tokio::test]
async fn unresolvable_provider_host_is_reported() {
    let refused = plan(&operator("base_url = \"https://models.invalid/v1\"")).await;
    says(&refused, &["models.invalid cannot be reached", "dns error"]);
}

/// A provider with a certificate from its own authority.
struct Certified {
    url: String,
    authority: PathBuf,
    _folder: TempDir,
}

/// Puts a TLS server in front of a provider; `change` can make its certificate invalid.
async fn certified(provider: &Provider, change: impl FnOnce(&mut CertificateParams)) -> Certified {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, authority.self_signed(&authority_key).unwrap().pem()).unwrap();

    let mut leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    change(&mut leaf);
    let key = KeyPair::generate().unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let chain = vec![leaf.signed_by(&key, &issuer).unwrap().der().clone()];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let behind = provider.url.strip_prefix("http://").unwrap().to_owned();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(pass_on(acceptor.clone(), stream, behind.clone()));
        }
    });
    Certified {
        url,
        authority: file,
        _folder: folder,
    }
}

/// Errors are ignored: a client that rejects the certificate closes the connection.
async fn pass_on(acceptor: TlsAcceptor, stream: TcpStream, behind: String) {
    if let Ok(mut outside) = acceptor.accept(stream).await {
        let mut inside = TcpStream::connect(behind).await.unwrap();
        let _ = copy_bidirectional(&mut outside, &mut inside).await;
    }
}

fn trusting(url: &str, authority: Option<&Path>) -> PlannerService {
    let trusted = authority.map(|file| format!("ca_file = \"{}\"", file.display()));
    operator(&format!(
        "base_url = \"{url}/v1\"\nkey_env = \"KEY_OF_THE_TEST\"\n{}",
        trusted.unwrap_or_default()
    ))
}

#[tokio::test]
async fn custom_ca_is_trusted_only_where_configured() {
    let provider = Provider::start().await;
    provider.will_answer(200, decision());
    let server = certified(&provider, |_| {}).await;
    let refused = plan(&trusting(&server.url, None)).await;
    says(
        &refused,
        &[
            "the certificate of 127.0.0.1 is not accepted",
            "UnknownIssuer",
            "name the authority's certificate in ca_file",
        ],
    );
    assert!(
        provider.received().is_empty(),
        "no key is sent to a stranger"
    );
    plan(&trusting(&server.url, Some(&server.authority)))
        .await
        .unwrap();
    assert_eq!(provider.received().len(), 1);
}

#[tokio::test]
async fn a_certificate_that_has_expired_or_is_for_another_is_not_accepted() {
    let provider = Provider::start().await;
    let expired = certified(&provider, |leaf| {
        leaf.not_before = rcgen::date_time_ymd(2019, 1, 1);
        leaf.not_after = rcgen::date_time_ymd(2020, 1, 1);
    })
    .await;
    let refused = plan(&trusting(&expired.url, Some(&expired.authority))).await;
    says(&refused, &["is not accepted", "certificate expired"]);
    let of_another = certified(&provider, |leaf| {
        *leaf = CertificateParams::new(vec!["models.example".to_owned()]).unwrap();
    })
    .await;
    let refused = plan(&trusting(&of_another.url, Some(&of_another.authority))).await;
    says(&refused, &["is not accepted", "not valid for name"]);
    assert!(provider.received().is_empty());
}
