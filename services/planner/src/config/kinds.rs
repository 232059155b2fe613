//! The ways of asking a model, by the names that they have in the configuration.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{BackendSettings, Error, Options};
use crate::backends::claude_computer::{self, ClaudeComputer};
use crate::backends::claude_som::{self, ClaudeSom};
use crate::backends::dialect::Dialect;
use crate::backends::openai_computer::{self, OpenAiComputer};
use crate::backends::opencua::{self, OpenCua};
use crate::backends::operator::{self, Operator};
use crate::backends::qwen_vl::{self, QwenVl};

/// A way of asking a model, as the configuration chooses it.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The provider that is asked if the user names none; none has to be named then.
    pub(super) provider: Option<&'static str>,
    /// Likewise for the model.
    pub(super) model: Option<&'static str>,
    /// For the list of those that there are.
    pub(super) about: &'static str,
    pub(super) dialect: fn(&Options) -> Result<Arc<dyn Dialect>, String>,
}

/// All ways of asking a model: the one place that knows them.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: claude_som::NAME,
        provider: Some("anthropic"),
        model: Some(claude_som::DEFAULT_MODEL),
        about: "Claude, shown a numbered picture",
        dialect: |options| {
            let options = read(options)?;
            Ok(Arc::new(ClaudeSom { options }))
        },
    },
    Kind {
        name: opencua::NAME,
        provider: None,
        model: None,
        about: "OpenCUA behind a chat endpoint, which says what it does in Python",
        dialect: |options| Ok(Arc::new(OpenCua::new(read(options)?))),
    },
    Kind {
        name: qwen_vl::NAME,
        provider: Some("dashscope"),
        model: Some(qwen_vl::DEFAULT_MODEL),
        about: "Qwen-VL with its own computer_use calls",
        dialect: |options| {
            let NoOptions {} = read(options)?;
            Ok(Arc::new(QwenVl))
        },
    },
    Kind {
        name: claude_computer::NAME,
        provider: Some("anthropic"),
        model: Some(claude_som::DEFAULT_MODEL),
        about: "Claude with its own computer tool",
        dialect: |options| {
            let NoOptions {} = read(options)?;
            Ok(Arc::new(ClaudeComputer))
        },
    },
    Kind {
        name: openai_computer::NAME,
        provider: Some("openai"),
        model: Some(openai_computer::DEFAULT_MODEL),
        about: "OpenAI's models with their own computer tool",
        dialect: |options| {
            let dialect: OpenAiComputer = read(options)?;
            Ok(Arc::new(dialect))
        },
    },
    Kind {
        name: operator::NAME,
        provider: None,
        model: None,
        about: "any model behind a chat endpoint, shown a numbered picture",
        dialect: |options| {
            let options = read(options)?;
            Ok(Arc::new(Operator { options }))
        },
    },
];

/// For a dialect that has none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

/// What a dialect's own options mean.
fn read<T: DeserializeOwned>(options: &Options) -> Result<T, String> {
    let options = serde_json::Value::Object(options.clone());
    serde_json::from_value(options).map_err(|error| error.to_string())
}

/// The list of them, for a user who has named another.
pub(super) fn list() -> String {
    let kinds = KINDS.iter();
    let lines: Vec<String> = kinds
        .map(|kind| format!("{} ({})", kind.name, kind.about))
        .collect();
    lines.join(", ")
}

/// The kind of a backend: what it says, or else what it is called.
pub(super) fn kind(name: &str, settings: &BackendSettings) -> Result<&'static Kind, Error> {
    let wanted = settings.kind.as_deref().unwrap_or(name);
    let kind = KINDS.iter().find(|kind| kind.name == wanted);
    kind.ok_or_else(|| Error::UnknownKind {
        backend: name.to_owned(),
        kind: wanted.to_owned(),
    })
}
