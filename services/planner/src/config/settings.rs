//! The section `[planner]` as written.
//!
//! They are not validated here: [`super`] does that.

use std::collections::BTreeMap;
use std::path::PathBuf;

use motorium_kit::config::reference::Example;
use motorium_kit::config::{HumanDuration, ListenAddress, Section};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::providers::ProviderSettings;
use crate::backends::call::DEFAULT_MAX_REPAIRS;
use crate::backends::phrasebook;
use crate::models::ModelEntry;
use crate::router::DEFAULT_DECISION_TIMEOUT;

/// Default port of the service.
pub const DEFAULT_PORT: u16 = 7702;

/// Options that only one dialect understands.
pub type Options = serde_json::Map<String, serde_json::Value>;

/// Settings of the section `[planner]`, as written: backends, providers and models.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address to listen on.
    pub listen: ListenAddress,
    /// Backends in the order in which they are tried: `phrasebook`, `recorded:FILE`, `claude_som` and others, or the
    /// `NAME` of a table `[planner.backend.NAME]`.
    pub backends: Vec<String>,
    /// Maximum time for a decision over all backends. Each backend that is still to be tried keeps an equal share of it.
    pub decision_timeout: HumanDuration,
    /// Maximum time for a decision of one backend, including retries.
    pub timeout: HumanDuration,
    /// Maximum time for one request to a provider.
    pub attempt_timeout: HumanDuration,
    /// Maximum number of times that a model is told of an invalid response in one decision. One that repeats its mistake
    /// is not told again.
    pub max_repairs: u32,
    /// Maximum number of concurrent calls per backend; further calls wait.
    pub concurrency: usize,
    /// Retry policy for temporary failures of a provider.
    pub retry: RetrySettings,
    /// Circuit breaker of each backend.
    pub circuit_breaker: CircuitBreakerSettings,
    /// Folder with templates and advice that replace the built-in ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"), example = "/etc/motorium/prompts")]
    pub prompts: Option<PathBuf>,
    /// Backends that ask a model, by name.
    pub backend: BTreeMap<String, BackendSettings>,
    /// Providers of models, by name. `anthropic`, `openai` and `dashscope` are built in.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Entries that override the built-in model table. Keys that an entry does not set keep the values of that table.
    pub models: Vec<ModelEntry>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: ListenAddress::loopback(DEFAULT_PORT),
            backends: vec![phrasebook::NAME.to_owned()],
            // One attempt may take a minute, because models with reasoning are slow. The rest leaves time for a retry
            // after an early failure.
            decision_timeout: HumanDuration(DEFAULT_DECISION_TIMEOUT),
            timeout: HumanDuration::seconds(90),
            max_repairs: DEFAULT_MAX_REPAIRS,
            attempt_timeout: HumanDuration::seconds(60),
            // Bounds memory and open connections; providers limit the rate themselves.
            concurrency: 64,
            retry: RetrySettings::default(),
            circuit_breaker: CircuitBreakerSettings::default(),
            prompts: None,
            backend: BTreeMap::new(),
            providers: BTreeMap::new(),
            models: Vec::new(),
        }
    }
}

impl Section for Settings {
    const NAME: &'static str = "planner";
    const EXAMPLES: &'static [Example] = &[
        Example {
            table: "",
            toml: r#"
[planner]
backends = ["claude_som", "phrasebook"]
"#,
        },
        Example {
            table: "backend.NAME",
            toml: r#"
[planner.backend.own]
kind = "operator"
provider = "local"
model = "qwen3-vl-32b"
options = { max_elements = 80 }
"#,
        },
        Example {
            table: "providers.NAME",
            toml: r#"
[planner.providers.local]
base_url = "http://127.0.0.1:8000/v1"
key_env = "LOCAL_API_KEY"
headers = { "X-Team" = "invoices" }
"#,
        },
        Example {
            table: "models",
            toml: r#"
[[planner.models]]
names = ["qwen3-vl*"]
coordinates = "thousandths"
image_size = { within = { max_side = 1280, max_pixels = 1000000 } }
prices = { input = 0.4, output = 1.6 }
"#,
        },
    ];
}

/// A backend that calls a model.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BackendSettings {
    /// Kind of backend; the backend's own name if absent. `planner_service` is another Planner at `options.address`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"operator")]
    pub kind: Option<String>,
    /// Provider of the model; the kind's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"local")]
    pub provider: Option<String>,
    /// The provider's name of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"qwen3-vl-32b")]
    pub model: Option<String>,
    /// Options that only this kind understands.
    #[schemars(example = BTreeMap::from([("max_elements", 80)]))]
    pub options: Options,
}

/// Retry policy for temporary failures.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// Maximum number of retries per decision of a backend, over all its requests.
    pub max_retries: u32,
    /// Backoff before the first retry; doubled for each further one.
    pub initial_backoff: HumanDuration,
    /// Maximum backoff between two attempts.
    pub max_backoff: HumanDuration,
    /// Maximum wait within a decision that a provider may ask for. A longer one fails the backend's decision, and the
    /// backend is skipped until the wait is over.
    pub max_retry_after: HumanDuration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        // As in the providers' own clients; see the retry policy of a call.
        Self {
            max_retries: 2,
            initial_backoff: HumanDuration::milliseconds(500),
            max_backoff: HumanDuration::seconds(8),
            max_retry_after: HumanDuration::seconds(60),
        }
    }
}

/// Circuit breaker of each backend.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CircuitBreakerSettings {
    /// Consecutive failed calls that open the circuit breaker; 0 disables it.
    pub failure_threshold: u32,
    /// Time for which an open circuit breaker skips its backend.
    pub open_duration: HumanDuration,
}

impl Default for CircuitBreakerSettings {
    fn default() -> Self {
        // As in the router's circuit breaker.
        Self {
            failure_threshold: 3,
            open_duration: HumanDuration::seconds(30),
        }
    }
}
