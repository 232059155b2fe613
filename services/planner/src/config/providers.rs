//! Where models are: `[planner.providers.NAME]`. Three are known by themselves; a user changes them or adds others.

use std::collections::BTreeMap;
use std::path::PathBuf;

use motorium_kit::config::{Environment, Secret, Span};
use serde::{Deserialize, Serialize};
use url::Url;

use super::Error;
use crate::models::Api;
use crate::provider::endpoint::{Address, CONNECT_TIMEOUT, STALL_TIMEOUT};
use crate::provider::key;

/// The version of Anthropic's protocol that all models understand.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A provider, as written; what is absent is as it usually is for one of this name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSettings {
    /// What the paths of the protocol are appended to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// The file that holds the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// A proxy for this provider; may hold a name and a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Secret>,
    /// Certificates to trust beside the machine's, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// For Anthropic's protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anthropic_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_timeout: Option<Span>,
    /// How long an answer that has begun may stop in the middle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_timeout: Option<Span>,
}

/// The providers that are known by themselves: name, address, variable of the key.
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

/// The known providers with the user's over them.
pub(super) fn with(own: &BTreeMap<String, ProviderSettings>) -> BTreeMap<String, ProviderSettings> {
    let known = KNOWN.map(|(name, _, _)| (name.to_owned(), ProviderSettings::default()));
    let mut all = BTreeMap::from(known);
    all.extend(own.clone());
    all
}

/// The URL, or what is wrong with it. One that may hold a key is not quoted.
fn parsed(base_url: &str) -> Result<Url, String> {
    const EXAMPLE: &str = "it looks like https://host/v1";
    let url: Url = base_url.parse().map_err(|error| {
        if base_url.contains(['@', '?']) {
            format!("it is no URL ({error}); {EXAMPLE}")
        } else {
            format!("`{base_url}` is no URL ({error}); {EXAMPLE}")
        }
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        let problem = "it has a name or a password in it; a key stands in a variable (key_env) or a file (key_file)";
        return Err(problem.to_owned());
    }
    Ok(url)
}

/// Whether a text can be the name of a variable. No key looks like one.
fn is_variable(name: &str) -> bool {
    let is_first = |character: char| character.is_ascii_alphabetic() || character == '_';
    name.starts_with(is_first)
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_')
}

impl ProviderSettings {
    /// Where the provider of that name is, or what is missing, in words for people.
    pub(super) fn address(
        &self,
        name: &str,
        api: Api,
        environment: &Environment,
    ) -> Result<Result<Address, String>, Error> {
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
        // A server of one's own may well have no key; the provider itself has one for everybody.
        let needs_key = self.key_env.is_some() || known.is_some() && self.base_url.is_none();
        if let (None, Some(variable), true) = (&key, variable, needs_key) {
            return Ok(Err(format!(
                "there is no key: set ${variable}, or planner.providers.{name}.key_file"
            )));
        }
        Ok(Ok(Address {
            api,
            base_url,
            key,
            proxy: self.proxy.clone(),
            ca_file: self.ca_file.clone(),
            anthropic_version: self
                .anthropic_version
                .clone()
                .unwrap_or_else(|| ANTHROPIC_VERSION.to_owned()),
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
        key::find(file, variable.unwrap_or_default(), environment).map_err(|source| Error::Key {
            provider: name.to_owned(),
            source,
        })
    }
}
