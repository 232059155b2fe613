//! The section `[planner]` as written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use motorium_kit::config::{HumanDuration, ListenAddress, Section};
use serde::{Deserialize, Serialize};

use super::providers::ProviderSettings;
use crate::backends::phrasebook;
use crate::models::ModelEntry;

/// Default port of the service.
pub const DEFAULT_PORT: u16 = 7702;

/// Options that only one dialect understands.
pub type Options = serde_json::Map<String, serde_json::Value>;

/// The section `[planner]` as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub listen: ListenAddress,
    /// Backends in the order in which they are tried: `phrasebook`, `recorded:FILE`, `claude_som` and others, or the name
    /// of one in [`Settings::backend`].
    pub backends: Vec<String>,
    /// Maximum time for a decision of one backend, including retries.
    pub timeout: HumanDuration,
    /// Maximum time for one attempt.
    pub attempt_timeout: HumanDuration,
    /// Maximum number of concurrent calls per backend; further calls wait.
    pub concurrency: usize,
    pub retry: RetrySettings,
    pub circuit_breaker: CircuitBreakerSettings,
    /// Folder with templates and advice that replace the built-in ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PathBuf>,
    /// `[planner.backend.NAME]`: backends that ask a model.
    pub backend: BTreeMap<String, BackendSettings>,
    /// `[planner.providers.NAME]`: providers of models.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// `[[planner.models]]`: entries that override the model table.
    pub models: Vec<ModelEntry>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: ListenAddress::loopback(DEFAULT_PORT),
            backends: vec![phrasebook::NAME.to_owned()],
            // One attempt may take a minute, because models with reasoning are slow. The rest leaves time for a retry
            // after an early failure.
            timeout: HumanDuration::seconds(90),
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
}

/// A backend that calls a model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackendSettings {
    /// Kind of backend; the backend's own name if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Provider of the model; the kind's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The provider's name of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Options that only this kind understands.
    pub options: Options,
}

/// Retry policy for temporary failures.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// Maximum number of retries after the first attempt.
    pub max_retries: u32,
    /// Backoff before the first retry; doubled for each further one.
    pub initial_backoff: HumanDuration,
    pub max_backoff: HumanDuration,
    /// Maximum wait that a provider may ask for; beyond it the call fails.
    pub max_retry_after: HumanDuration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        // As in the providers' own clients; see the router's retry policy.
        Self {
            max_retries: 2,
            initial_backoff: HumanDuration::milliseconds(500),
            max_backoff: HumanDuration::seconds(8),
            max_retry_after: HumanDuration::seconds(60),
        }
    }
}

/// Circuit breaker of each backend.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CircuitBreakerSettings {
    /// Consecutive failed calls that open the circuit breaker; 0 disables it.
    pub failure_threshold: u32,
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
