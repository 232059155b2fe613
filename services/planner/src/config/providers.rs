//! Providers of models: `[planner.providers.NAME]`. Three are built in; users can change them or add others.
//!
//! No request is sent here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use motorium_kit::config::{Environment, HumanDuration, Secret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::Error;
use crate::models::Api;
use crate::provider::api_key;
use crate::provider::endpoint::{CONNECT_TIMEOUT, EndpointConfig, STALL_TIMEOUT};

/// Version of Anthropic's API that all models support.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A provider as written; absent settings have the defaults of the built-in provider with this name.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSettings {
    /// Base URL that the protocol's paths are appended to. Required for providers that are not built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"http://127.0.0.1:8000/v1")]
    pub base_url: Option<String>,
    /// Environment variable that contains the API key. Default: the one of the built-in provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"LOCAL_API_KEY")]
    pub key_env: Option<String>,
    /// File that contains the API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"), example = "/etc/motorium/key")]
    pub key_file: Option<PathBuf>,
    /// Proxy for this provider, not used for a `base_url` on this machine; may contain a name and a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"http://proxy.example.com:3128")]
    pub proxy: Option<Secret>,
    /// Certificates to trust besides the system's, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"), example = "/etc/motorium/ca.crt")]
    pub ca_file: Option<PathBuf>,
    /// Value of `anthropic-version`, for Anthropic's protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"2023-06-01")]
    pub anthropic_version: Option<String>,
    /// Organisation that requests are billed to, for OpenAI's protocols.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"org-abc123")]
    pub organization: Option<String>,
    /// Project that requests are billed to, for OpenAI's protocols.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"proj_abc123")]
    pub project: Option<String>,
    /// Further headers of every request, by name. Their values are kept secret like keys.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = BTreeMap::from([("x-team", "desktops")]))]
    pub headers: BTreeMap<String, Secret>,
    /// Timeout of establishing a connection. Default: 5s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"5s")]
    pub connect_timeout: Option<HumanDuration>,
    /// Maximum pause in the middle of a response. Default: 30s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"30s")]
    pub stall_timeout: Option<HumanDuration>,
}

/// Built-in providers: name, base URL, variable of the key.
const KNOWN: [(&str, &str, &str); 3] = [
    (
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
    ),
    ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    (
        "dashscope",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
    ),
];

/// Returns the built-in providers, overridden by the user's.
pub(super) fn with(own: &BTreeMap<String, ProviderSettings>) -> BTreeMap<String, ProviderSettings> {
    let known = KNOWN.map(|(name, _, _)| (name.to_owned(), ProviderSettings::default()));
    let mut all = BTreeMap::from(known);
    all.extend(own.clone());
    all
}

/// Parses the base URL. One that may contain a key is not quoted in the error.
fn parsed(base_url: &str) -> Result<Url, String> {
    const EXAMPLE: &str = "expected a URL such as https://host/v1";
    let url: Url = base_url.parse().map_err(|error| {
        if base_url.contains(['@', '?']) {
            format!("not a valid URL ({error}); {EXAMPLE}")
        } else {
            format!("`{base_url}` is not a valid URL ({error}); {EXAMPLE}")
        }
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        let problem = "it contains a user name or a password; put the key into a variable (key_env) or a file (key_file)";
        return Err(problem.to_owned());
    }
    Ok(url)
}

/// Returns whether a text is a valid variable name. API keys are not, because they contain other characters.
fn is_variable(name: &str) -> bool {
    let is_first = |character: char| character.is_ascii_alphabetic() || character == '_';
    name.starts_with(is_first)
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_')
}

impl ProviderSettings {
    /// Returns the endpoint configuration of the provider, or a message for the user that says what is missing.
    pub(super) fn address(
        &self,
        name: &str,
        api: Api,
        environment: &Environment,
    ) -> Result<Result<EndpointConfig, String>, Error> {
        let known = KNOWN.iter().find(|(known, _, _)| *known == name);
        let base_url = self.base_url.as_deref().or(known.map(|(_, url, _)| *url));
        let Some(base_url) = base_url else {
            return Ok(Err(format!("planner.providers.{name}.base_url is not set")));
        };
        let base_url = parsed(base_url).map_err(|problem| Error::BaseUrl {
            provider: name.to_owned(),
            problem,
        })?;
        if self
            .key_env
            .as_deref()
            .is_some_and(|name| !is_variable(name))
        {
            return Err(Error::KeyVariable {
                provider: name.to_owned(),
            });
        }
        let variable = self
            .key_env
            .as_deref()
            .or(known.map(|(_, _, variable)| *variable));
        let key = self.key(name, variable, environment)?;
        // A self-hosted server may need no key; the provider's own API always does.
        let needs_key = self.key_env.is_some() || known.is_some() && self.base_url.is_none();
        if let (None, Some(variable), true) = (&key, variable, needs_key) {
            return Ok(Err(format!(
                "no key found: set ${variable}, or planner.providers.{name}.key_file"
            )));
        }
        Ok(Ok(EndpointConfig {
            api,
            base_url,
            key,
            proxy: self.proxy.clone(),
            ca_file: self.ca_file.clone(),
            anthropic_version: self
                .anthropic_version
                .clone()
                .unwrap_or_else(|| ANTHROPIC_VERSION.to_owned()),
            organization: self.organization.clone(),
            project: self.project.clone(),
            headers: self.headers.clone(),
            connect_timeout: self.connect_timeout.map_or(CONNECT_TIMEOUT, |span| span.0),
            stall_timeout: self.stall_timeout.map_or(STALL_TIMEOUT, |span| span.0),
        }))
    }

    fn key(
        &self,
        name: &str,
        variable: Option<&str>,
        environment: &Environment,
    ) -> Result<Option<Secret>, Error> {
        let file = self.key_file.as_deref();
        api_key::find(file, variable.unwrap_or_default(), environment).map_err(|source| {
            Error::Key {
                provider: name.to_owned(),
                source,
            }
        })
    }
}
