//! The section `[planner]`, as written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use motorium_kit::config::{Listen, Section, Span};
use serde::{Deserialize, Serialize};

use super::providers::ProviderSettings;
use crate::backends::phrasebook;
use crate::models::Entry;

/// The port that the service listens on if nobody says otherwise.
pub const DEFAULT_PORT: u16 = 7702;

/// What a dialect alone understands.
pub type Options = serde_json::Map<String, serde_json::Value>;

/// The section `[planner]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub listen: Listen,
    /// The backends, in the order in which they are tried: `phrasebook`, `recorded:FILE`, `claude_som` and others, or the
    /// name of one of [`Settings::backend`].
    pub backends: Vec<String>,
    /// How long one backend may take for a decision, with everything that is tried again.
    pub timeout: Span,
    /// How long one attempt may take.
    pub attempt_timeout: Span,
    /// How many calls one backend gets at once; the others wait.
    pub concurrency: usize,
    pub retry: RetrySettings,
    pub rest: RestSettings,
    /// A folder with templates and advice that take the place of the built-in ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PathBuf>,
    /// `[planner.backend.NAME]`: backends that ask a model.
    pub backend: BTreeMap<String, BackendSettings>,
    /// `[planner.providers.NAME]`: where models are.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// `[[planner.models]]`: laid over the table of models.
    pub models: Vec<Entry>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: Listen::loopback(DEFAULT_PORT),
            backends: vec![phrasebook::NAME.to_owned()],
            timeout: Span::seconds(90),
            attempt_timeout: Span::seconds(60),
            concurrency: 64,
            retry: RetrySettings::default(),
            rest: RestSettings::default(),
            prompts: None,
            backend: BTreeMap::new(),
            providers: BTreeMap::new(),
            models: Vec::new(),
        }
    }
}

impl Section for Settings {
    const NAME: &'static str = "planner";
}

/// A backend that asks a model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackendSettings {
    /// The way of asking; `None`: the backend's own name is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Where the model is; `None`: where that kind's models usually are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// As the provider calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What this kind alone understands.
    pub options: Options,
}

/// When a failure that may pass is tried again.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// How often, after the first time.
    pub times: u32,
    /// The first pause; each one after it is twice as long.
    pub first_pause: Span,
    pub longest_pause: Span,
    /// The longest pause that a provider may ask for.
    pub longest_asked_pause: Span,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            times: 2,
            first_pause: Span::milliseconds(500),
            longest_pause: Span::seconds(8),
            longest_asked_pause: Span::seconds(60),
        }
    }
}

/// When a backend that fails is left alone.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RestSettings {
    /// After so many failed calls in a row; 0 never.
    pub failures: u32,
    pub time: Span,
}

impl Default for RestSettings {
    fn default() -> Self {
        Self {
            failures: 3,
            time: Span::seconds(30),
        }
    }
}
