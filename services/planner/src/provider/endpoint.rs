//! A provider's HTTP endpoint with its key.
//!
//! One request, one response: redirects are not followed, nothing is retried, and the caller sets the overall timeout.
//! Only a response that stalls in the middle is detected here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, InvalidHeaderValue};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use motorium_kit::clock::{Clock, SystemClock};
use motorium_kit::config::{MASK, Secret};
use motorium_kit::http_client;
use reqwest::{Client, Proxy, Response};
use serde_json::Value;
use url::Url;

use super::failure::{self, ProviderFailure};
use super::schema_order::SchemaOrdered;
use crate::models::Api;

/// Maximum response size, in bytes: many times the output limit of any model.
const MAX_RESPONSE_BYTES: usize = 4 << 20;
/// Number of characters that are quoted from a response that is not JSON.
// Enough to recognise an error page of a proxy.
const MAX_EXCERPT_CHARS: usize = 40;
/// Connect timeout, as in the providers' own clients.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum pause in the middle of a response.
// A response that started arrives at once; a connection that pauses for longer is broken.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Configuration of an endpoint.
#[derive(Debug, Clone)]
pub struct EndpointConfig {
    pub api: Api,
    /// Base URL that the protocol's paths are appended to: `https://api.openai.com/v1`.
    pub base_url: Url,
    pub key: Option<Secret>,
    /// Not used for this machine. May contain a name and a password.
    pub proxy: Option<Secret>,
    /// Certificates to trust besides the system's, in PEM.
    pub ca_file: Option<PathBuf>,
    /// Value of `anthropic-version`, for Anthropic's protocol.
    pub anthropic_version: String,
    /// Organisation and project that requests are billed to, for OpenAI's protocols.
    pub organization: Option<String>,
    pub project: Option<String>,
    /// Further headers of every request.
    pub headers: BTreeMap<String, Secret>,
    pub connect_timeout: Duration,
    pub stall_timeout: Duration,
}

/// An invalid endpoint configuration.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("base_url has the scheme `{0}`; expected an http or https URL such as https://host/v1")]
    BaseUrl(String),
    #[error("the proxy cannot be used: {0}")]
    Proxy(String),
    #[error(transparent)]
    Certificates(#[from] http_client::Error),
    #[error("the HTTP client cannot be created: {0}")]
    Client(String),
    #[error("anthropic_version or the key contains characters that are not allowed in a header")]
    Header(#[from] InvalidHeaderValue),
    #[error("headers: `{0}` is not the name of a header such as X-Team")]
    HeaderName(String),
    #[error("headers: the value of `{0}` contains characters that are not allowed in a header")]
    HeaderContent(String),
    #[error("headers: `{0}` is set by Motorium itself; for a key, use key_env or key_file")]
    ReservedHeader(String),
}

/// An endpoint that requests are posted to. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Endpoint {
    url: Url,
    /// Headers with the key, marked as sensitive.
    headers: HeaderMap,
    client: Client,
    /// The key and the values of further headers, for masking: some providers repeat them.
    secrets: Vec<Secret>,
    /// Host and port of the proxy.
    proxy: Option<String>,
    stall_timeout: Duration,
    clock: Arc<dyn Clock>,
}

impl Endpoint {
    /// Creates an endpoint.
    ///
    /// # Errors
    /// Fails if the URL, the proxy or the certificate file is invalid.
    pub fn new(address: &EndpointConfig) -> Result<Self, Error> {
        let mut builder = http_client::with_root_certificates(address.ca_file.as_deref())?;
        let proxy = address.proxy.as_ref().map(checked_proxy).transpose()?;
        // A proxy would look for the provider on its own machine.
        let proxy = proxy.filter(|_| !http_client::is_loopback(&address.base_url));
        let proxy_address = address.proxy.as_ref().filter(|_| proxy.is_some());
        let proxy_address = proxy_address.and_then(host_and_port);
        if let Some(proxy) = proxy {
            builder = builder.proxy(proxy);
        }
        let client = builder
            .connect_timeout(address.connect_timeout)
            .user_agent(concat!("motorium/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Error::Client(with_causes(&error)))?;
        Ok(Self {
            url: url(&address.base_url, address.api)?,
            headers: headers(address)?,
            client,
            secrets: address
                .key
                .iter()
                .chain(address.headers.values())
                .filter(|secret| !secret.expose().is_empty())
                .cloned()
                .collect(),
            proxy: proxy_address,
            stall_timeout: address.stall_timeout,
            clock: Arc::new(SystemClock),
        })
    }

    /// Posts a request and returns the body of a successful response.
    ///
    /// # Errors
    /// Fails if the response is not successful or not JSON.
    pub async fn post(
        &self,
        body: &Value,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<Value, ProviderFailure> {
        let body = serde_json::to_vec(&SchemaOrdered(body)).map_err(|error| {
            ProviderFailure::permanent(format!("the request cannot be written as JSON: {error}"))
        })?;
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .headers(headers.iter().cloned().collect())
            .body(body);
        let response = request.send().await.map_err(|error| self.broken(error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.read(response).await?;
        if status != StatusCode::OK {
            let body = self.without_key(&body);
            let now = self.clock.now();
            return Err(ProviderFailure::of(status, &headers, body.as_bytes(), now));
        }
        let answer = serde_json::from_slice(&body);
        let answer = answer.map_err(|error| self.invalid_json(&body, &error))?;
        if !failure::is_error(&answer) {
            return Ok(answer);
        }
        let body = self.without_key(&body);
        let now = self.clock.now();
        Err(ProviderFailure::in_success(&headers, body.as_bytes(), now))
    }

    fn invalid_json(&self, body: &[u8], error: &serde_json::Error) -> ProviderFailure {
        let host = self.host();
        let beginning: String = self
            .without_key(body)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .filter(|character| !character.is_control())
            .take(MAX_EXCERPT_CHARS)
            .collect();
        ProviderFailure::transient(match beginning.trim_end() {
            "" => format!("the response of {host} is empty"),
            page if page.starts_with('<') => format!(
                "the response of {host} is a web page instead of JSON (`{page}…`); check base_url, and whether a sign-in page or proxy is in between"
            ),
            _ => {
                format!("the response of {host} is not JSON: {error}; it begins with `{beginning}`")
            }
        })
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, ProviderFailure> {
        let mut body = Vec::new();
        loop {
            let chunk = tokio::time::timeout(self.stall_timeout, response.chunk()).await;
            let chunk = chunk.map_err(|_| self.stalled())?;
            let Some(chunk) = chunk.map_err(|error| self.broken(error))? else {
                return Ok(body);
            };
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                let limit = MAX_RESPONSE_BYTES >> 20;
                let message = format!(
                    "the response of {} is longer than {limit} MiB, which no model returns; check base_url",
                    self.host()
                );
                return Err(ProviderFailure::permanent(message));
            }
            body.extend_from_slice(&chunk);
        }
    }

    /// Returns a provider's text with the key and the values of further headers masked.
    fn without_key(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body).into_owned();
        let secrets = self.secrets.iter();
        secrets.fold(text, |text, secret| text.replace(secret.expose(), MASK))
    }

    /// Returns a response for the record of the task, with the key and the values of further headers masked in its texts.
    // Only there: the value of a header may be an ordinary word, which a decision has to keep.
    #[must_use]
    pub fn masked(&self, response: &Value) -> Value {
        match response {
            Value::String(text) => Value::String(self.without_key(text.as_bytes())),
            Value::Array(items) => items.iter().map(|item| self.masked(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields
                    .map(|(name, field)| (name.clone(), self.masked(field)))
                    .collect()
            }
            other => other.clone(),
        }
    }

    fn stalled(&self) -> ProviderFailure {
        let timeout_seconds = self.stall_timeout.as_secs_f64();
        ProviderFailure::transient(format!(
            "{} stalled in the middle of its response for {timeout_seconds} s",
            self.host()
        ))
    }

    fn broken(&self, error: reqwest::Error) -> ProviderFailure {
        let host = self.host();
        let is_connect = error.is_connect();
        let why = with_causes(&error.without_url());
        if why.contains("invalid peer certificate") {
            // A retry does not change the certificate.
            return ProviderFailure::permanent(format!(
                "the certificate of {host} is not accepted ({why}); if it was issued by an authority of your own, name the authority's certificate in ca_file"
            ));
        }
        ProviderFailure::transient(match &self.proxy {
            _ if !is_connect => format!("{host} broke the connection: {why}"),
            Some(proxy) => format!("{host} cannot be reached through the proxy {proxy}: {why}"),
            None => format!("{host} cannot be reached: {why}"),
        })
    }

    /// Returns the host for messages, without the path: some users put a key there.
    fn host(&self) -> &str {
        self.url.host_str().unwrap_or("the provider")
    }
}

/// Returns the URL of a protocol's requests.
fn url(base: &Url, api: Api) -> Result<Url, Error> {
    let path = base.path().trim_end_matches('/');
    let rest = match api {
        // Anthropic's own clients are configured with the URL without the version.
        Api::AnthropicMessages if path.ends_with("/v1") => "/messages",
        Api::AnthropicMessages => "/v1/messages",
        Api::OpenaiResponses => "/responses",
        Api::OpenaiChat => "/chat/completions",
    };
    if base.cannot_be_a_base() || !matches!(base.scheme(), "http" | "https") {
        return Err(Error::BaseUrl(base.scheme().to_owned()));
    }
    let mut url = base.clone();
    url.set_path(&format!("{path}{rest}"));
    Ok(url)
}

fn checked_proxy(proxy: &Secret) -> Result<Proxy, Error> {
    // The original error could quote the proxy's password.
    Proxy::all(proxy.expose())
        .map_err(|_| Error::Proxy("not a valid URL such as http://host:3128".to_owned()))
}

/// Returns the proxy's host and port, without the name and the password.
fn host_and_port(proxy: &Secret) -> Option<String> {
    let url: Url = proxy.expose().parse().ok()?;
    let port = url.port_or_known_default()?;
    Some(format!("{}:{port}", url.host_str()?))
}

fn headers(address: &EndpointConfig) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    match address.api {
        Api::AnthropicMessages => {
            let version = HeaderValue::from_str(&address.anthropic_version)?;
            headers.insert("anthropic-version", version);
        }
        Api::OpenaiResponses | Api::OpenaiChat => {
            let billing = [
                ("openai-organization", &address.organization),
                ("openai-project", &address.project),
            ];
            for (name, value) in billing {
                if let Some(value) = value {
                    headers.insert(name, HeaderValue::from_str(value)?);
                }
            }
        }
    }
    headers.extend(further_headers(&address.headers)?);
    let Some(key) = &address.key else {
        return Ok(headers);
    };
    let (name, value) = match address.api {
        Api::AnthropicMessages => (
            HeaderName::from_static("x-api-key"),
            key.expose().to_owned(),
        ),
        Api::OpenaiResponses | Api::OpenaiChat => {
            (AUTHORIZATION, format!("Bearer {}", key.expose()))
        }
    };
    let mut value = HeaderValue::from_str(&value)?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}

/// Headers that a user cannot set: their values depend on the protocol, the key or the body.
const RESERVED_HEADERS: [&str; 7] = [
    "authorization",
    "x-api-key",
    "content-type",
    "content-length",
    "host",
    "transfer-encoding",
    "connection",
];

fn further_headers(headers: &BTreeMap<String, Secret>) -> Result<HeaderMap, Error> {
    let mut further = HeaderMap::new();
    for (name, value) in headers {
        let parsed =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| Error::HeaderName(name.clone()))?;
        if RESERVED_HEADERS.contains(&parsed.as_str()) {
            return Err(Error::ReservedHeader(name.clone()));
        }
        let mut value = HeaderValue::from_str(value.expose())
            .map_err(|_| Error::HeaderContent(name.clone()))?;
        value.set_sensitive(true);
        further.insert(parsed, value);
    }
    Ok(further)
}

/// Formats an error with its causes, each once.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(api: Api, base: &str) -> EndpointConfig {
        EndpointConfig {
            api,
            base_url: base.parse().unwrap(),
            key: Some(Secret::new("sk-very-secret")),
            proxy: Some(Secret::new("http://me:hunter2@proxy:3128")),
            ca_file: None,
            anthropic_version: "2023-06-01".to_owned(),
            organization: Some("org-1".to_owned()),
            project: Some("proj-1".to_owned()),
            headers: BTreeMap::from([("X-Team".to_owned(), Secret::new("team-secret"))]),
            connect_timeout: CONNECT_TIMEOUT,
            stall_timeout: STALL_TIMEOUT,
        }
    }

    #[track_caller]
    fn check(api: Api, base: &str, expected: &str) {
        assert_eq!(url(&base.parse().unwrap(), api).unwrap().as_str(), expected);
    }

    #[test]
    fn the_path_of_the_protocol_is_appended() {
        use Api::{AnthropicMessages, OpenaiChat, OpenaiResponses};
        let anthropic = "https://api.anthropic.com/v1/messages";
        check(AnthropicMessages, "https://api.anthropic.com", anthropic);
        check(
            AnthropicMessages,
            "https://api.anthropic.com/v1/",
            anthropic,
        );
        check(
            OpenaiResponses,
            "https://api.openai.com/v1",
            "https://api.openai.com/v1/responses",
        );
        check(
            OpenaiChat,
            "http://localhost:8000/v1/",
            "http://localhost:8000/v1/chat/completions",
        );
        assert!(url(&"mailto:a@b.c".parse().unwrap(), OpenaiChat).is_err());
        assert!(url(&"ftp://host/v1".parse().unwrap(), OpenaiChat).is_err());
    }

    #[test]
    fn neither_the_key_nor_the_proxys_password_is_ever_shown() {
        for api in [Api::AnthropicMessages, Api::OpenaiChat] {
            let address = address(api, "https://example.org/v1");
            let endpoint = Endpoint::new(&address).unwrap();
            let shown = format!("{address:?} {endpoint:?}");
            assert!(!shown.contains("very-secret"), "{shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(!shown.contains("team-secret"), "{shown}");
            let body = br#"{"error": "sk-very-secret of team-secret"}"#;
            assert!(!endpoint.without_key(body).contains("secret of team"));
            let response = serde_json::json!({"id": 1, "echo": ["Bearer sk-very-secret", true]});
            let masked = serde_json::json!({"id": 1, "echo": ["Bearer <secret>", true]});
            assert_eq!(endpoint.masked(&response), masked);
        }
        let malformed = EndpointConfig {
            proxy: Some(Secret::new("http://me:hunter2@:x")),
            ..address(Api::OpenaiChat, "https://example.org/v1")
        };
        let error = Endpoint::new(&malformed).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn the_key_goes_where_each_protocol_wants_it() {
        let anthropic = headers(&address(Api::AnthropicMessages, "https://a/")).unwrap();
        assert_eq!(anthropic["x-api-key"], "sk-very-secret");
        assert_eq!(anthropic["anthropic-version"], "2023-06-01");
        let openai = headers(&address(Api::OpenaiResponses, "https://a/")).unwrap();
        assert_eq!(openai[AUTHORIZATION], "Bearer sk-very-secret");
        assert!(!openai.contains_key("anthropic-version"));
    }

    #[test]
    fn further_headers_are_sent_and_those_of_the_protocol_cannot_be_replaced() {
        let openai = headers(&address(Api::OpenaiChat, "https://a/")).unwrap();
        assert_eq!(openai["openai-organization"], "org-1");
        assert_eq!(openai["openai-project"], "proj-1");
        assert_eq!(openai["x-team"], "team-secret");
        let anthropic = headers(&address(Api::AnthropicMessages, "https://a/")).unwrap();
        assert!(!anthropic.contains_key("openai-organization"));
        assert_eq!(anthropic["x-team"], "team-secret");
        let refused = |name: &str, value: &str| {
            let named = BTreeMap::from([(name.to_owned(), Secret::new(value))]);
            further_headers(&named).unwrap_err().to_string()
        };
        assert!(refused("Authorization", "x").contains("is set by Motorium itself"));
        assert!(refused("a b", "x").contains("is not the name of a header"));
        let broken = refused("X-Team", "hidden\nvalue");
        assert!(
            broken.contains("`X-Team`") && !broken.contains("hidden"),
            "{broken}"
        );
    }
}
