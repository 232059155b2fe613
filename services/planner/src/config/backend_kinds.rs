//! The kinds of backends, by their names in the configuration.
//!
//! It only names them and reads their options; the backends themselves are in [`crate::backends`].

use std::path::PathBuf;
use std::sync::Arc;

use motorium_kit::config::{Environment, Secret};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{BackendSettings, Error, Options};
use crate::backends::chat_som::{self, ChatSom};
use crate::backends::claude_computer::{self, ClaudeComputer};
use crate::backends::claude_som::{self, ClaudeSom};
use crate::backends::dialect::Dialect;
use crate::backends::openai_computer::{self, OpenAiComputer};
use crate::backends::opencua::{self, OpenCua};
use crate::backends::planner_service;
use crate::backends::qwen_vl::{self, QwenVl};
use crate::provider::api_key;

/// A kind of backend, as the configuration selects it.
pub(super) struct BackendKind {
    pub(super) name: &'static str,
    /// Provider if none is configured; `None` requires one.
    pub(super) provider: Option<&'static str>,
    /// Model if none is configured; `None` requires one.
    pub(super) model: Option<&'static str>,
    /// Description for the list of kinds.
    pub(super) about: &'static str,
    pub(super) dialect: fn(&Options) -> Result<Arc<dyn Dialect>, String>,
}

/// All kinds of backends. This is the only place that lists them.
pub(super) const KINDS: &[BackendKind] = &[
    BackendKind {
        name: claude_som::NAME,
        provider: Some("anthropic"),
        model: Some(claude_som::DEFAULT_MODEL),
        about: "Claude with an annotated screenshot",
        dialect: |options| {
            let options = read(options)?;
            Ok(Arc::new(ClaudeSom { options }))
        },
    },
    BackendKind {
        name: opencua::NAME,
        provider: None,
        model: None,
        about: "OpenCUA on a chat endpoint, with actions in Python",
        dialect: |options| Ok(Arc::new(OpenCua::new(read(options)?))),
    },
    BackendKind {
        name: qwen_vl::NAME,
        provider: Some("dashscope"),
        model: Some(qwen_vl::DEFAULT_MODEL),
        about: "Qwen-VL with its own computer_use calls",
        dialect: |options| {
            let NoOptions {} = read(options)?;
            Ok(Arc::new(QwenVl))
        },
    },
    BackendKind {
        name: claude_computer::NAME,
        provider: Some("anthropic"),
        model: Some(claude_som::DEFAULT_MODEL),
        about: "Claude with Anthropic's computer tool",
        dialect: |options| {
            let NoOptions {} = read(options)?;
            Ok(Arc::new(ClaudeComputer))
        },
    },
    BackendKind {
        name: openai_computer::NAME,
        provider: Some("openai"),
        model: Some(openai_computer::DEFAULT_MODEL),
        about: "OpenAI's models with OpenAI's computer tool",
        dialect: |options| {
            let dialect: OpenAiComputer = read(options)?;
            Ok(Arc::new(dialect))
        },
    },
    BackendKind {
        name: chat_som::NAME,
        provider: None,
        model: None,
        about: "any model on a chat endpoint, with an annotated screenshot",
        dialect: |options| {
            let options = read(options)?;
            Ok(Arc::new(ChatSom { options }))
        },
    },
];

/// Returns the dialect of every kind, with its default options. Tests compare their own lists with it.
///
/// # Panics
/// If a dialect has an option without a default.
pub fn dialects() -> impl Iterator<Item = Arc<dyn Dialect>> {
    let options = Options::default();
    KINDS
        .iter()
        .map(move |kind| (kind.dialect)(&options).expect("every option has a default"))
}

/// Options of a dialect that has none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

/// Parses a dialect's options.
pub(super) fn read<T: DeserializeOwned>(options: &Options) -> Result<T, String> {
    let options = serde_json::Value::Object(options.clone());
    serde_json::from_value(options).map_err(|error| error.to_string())
}

/// Options of a backend that is another Planner.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceOptions {
    /// Address such as `http://127.0.0.1:7800`.
    pub(super) address: String,
    /// True to send it screenshots.
    #[serde(default = "yes")]
    pub(super) needs_image: bool,
    /// Environment variable with its token.
    token_env: Option<String>,
    /// File with its token.
    token_file: Option<PathBuf>,
    /// Certificates to trust besides the system's, in PEM.
    pub(super) ca_file: Option<PathBuf>,
}

fn yes() -> bool {
    true
}

impl ServiceOptions {
    /// Returns the token, if there is one.
    ///
    /// # Errors
    /// If the file cannot be read, or holds no token.
    pub(super) fn token(
        &self,
        environment: &Environment,
    ) -> Result<Option<Secret>, api_key::Error> {
        let variable = self.token_env.as_deref().unwrap_or_default();
        api_key::find(self.token_file.as_deref(), variable, environment)
    }
}

/// Returns the list of kinds, for an error message.
pub(super) fn list() -> String {
    let kinds = KINDS.iter().map(|kind| (kind.name, kind.about));
    let service = (planner_service::KIND, "another Planner service");
    let lines: Vec<String> = kinds
        .chain([service])
        .map(|(name, about)| format!("{name} ({about})"))
        .collect();
    lines.join(", ")
}

/// Returns the kind of a backend: the configured one, or else the one with the backend's name.
pub(super) fn kind(name: &str, settings: &BackendSettings) -> Result<&'static BackendKind, Error> {
    let wanted = settings.kind.as_deref().unwrap_or(name);
    let kind = KINDS.iter().find(|kind| kind.name == wanted);
    kind.ok_or_else(|| Error::UnknownKind {
        backend: name.to_owned(),
        kind: wanted.to_owned(),
    })
}
