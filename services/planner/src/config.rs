//! Resolves the settings as written into the configured service.
//!
//! No provider is contacted.

mod backend_kinds;
mod providers;
mod settings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motorium_kit::client::{self, Channel};
use motorium_kit::config::Environment;
use motorium_kit::http_client;
use motorium_proto::service::PlannerClient;

use crate::backends::Backend;
use crate::backends::call::RequestLimits;
use crate::backends::call::retry::RetryPolicy;
use crate::backends::call::sleeper::TokioSleeper;
use crate::backends::dialect::Dialect;
use crate::backends::model::{ModelBackend, ModelBackendParts};
use crate::backends::phrasebook::{self, Phrasebook};
use crate::backends::planner_service::{self, PlannerServiceBackend};
use crate::backends::recorded::{self, RecordedBackend};
use crate::models::ModelTable;
use crate::prompt::{self, Prompts};
use crate::provider::{Endpoint, api_key, endpoint};
use crate::router::circuit_breaker::CircuitBreakerConfig;
use crate::router::stack::CallLimits;
use crate::router::{Router, RouterConfig};
use crate::service::PlannerService;

pub use backend_kinds::dialects;
use backend_kinds::{KINDS, ServiceOptions, kind};
pub use providers::ProviderSettings;
pub use settings::{
    BackendSettings, CircuitBreakerSettings, DEFAULT_PORT, Options, RetrySettings, Settings,
};

/// An invalid setting.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No backend is configured, so nothing could be decided.
    #[error(
        "planner.backends is empty; name at least one of: {}",
        built_in_backends()
    )]
    NoBackend,
    /// There is no backend with this name.
    #[error(
        "planner.backends: unknown backend `{name}`; known backends: {}{}",
        built_in_backends(),
        configured_backends(configured)
    )]
    UnknownBackend {
        name: String,
        configured: Vec<String>,
    },
    /// Two backends with the same name cannot be distinguished.
    #[error("planner.backends: `{name}` is listed twice")]
    DuplicateBackend { name: String },
    /// A recording cannot be read.
    #[error("planner.backends: the recording `{}` cannot be read: {source}", path.display())]
    Recording {
        path: PathBuf,
        source: recorded::Error,
    },
    /// A required field of a backend is missing.
    #[error("planner.backend.{backend}: `{field}` is missing{hint}")]
    Missing {
        backend: String,
        field: &'static str,
        hint: &'static str,
    },
    /// There is no such kind of backend.
    #[error(
        "planner.backend.{backend}.kind: unknown kind `{kind}`; known kinds: {}",
        backend_kinds::list()
    )]
    UnknownKind { backend: String, kind: String },
    /// The options of a dialect are invalid.
    #[error("planner.backend.{backend}.options: {problem}")]
    Options { backend: String, problem: String },
    /// There is no provider with this name.
    #[error(
        "planner.backend.{backend}.provider: unknown provider `{provider}`; known providers: {known}"
    )]
    UnknownProvider {
        backend: String,
        provider: String,
        known: String,
    },
    /// A provider's endpoint is invalid.
    #[error("planner.providers.{provider}: {source}")]
    Endpoint {
        provider: String,
        source: endpoint::Error,
    },
    /// A provider's base URL is invalid.
    #[error("planner.providers.{provider}.base_url: {problem}")]
    BaseUrl { provider: String, problem: String },
    /// A provider's key cannot be read.
    #[error("planner.providers.{provider}: {source}")]
    Key {
        provider: String,
        source: api_key::Error,
    },
    /// The variable name is invalid. It may be the key itself, so it is not quoted.
    #[error(
        "planner.providers.{provider}.key_env must be the name of an environment variable such as MY_KEY, not the key itself"
    )]
    KeyVariable { provider: String },
    /// A model entry has an invalid value.
    #[error("planner.models ({names}): {problem}")]
    Model {
        names: String,
        problem: &'static str,
    },
    /// A number has to be positive.
    #[error("planner.{field} must be greater than 0")]
    Zero { field: &'static str },
    /// The concurrency is too high.
    #[error("planner.concurrency must be at most {MAX_CONCURRENCY}")]
    Concurrency,
    /// A template is invalid.
    #[error("planner.prompts: {0}")]
    Prompts(#[from] prompt::Error),
}

/// Maximum concurrency: far more than any provider accepts, and below the limit of tokio's semaphore.
const MAX_CONCURRENCY: usize = 1_000_000;

/// Returns the names of the backends that need no configuration.
fn built_in_backends() -> String {
    let models = KINDS
        .iter()
        .filter(|kind| kind.provider.is_some())
        .map(|kind| kind.name);
    let names: Vec<&str> = [phrasebook::NAME, "recorded:FILE"]
        .into_iter()
        .chain(models)
        .collect();
    names.join(", ")
}

/// Returns the user's own backends, for the end of the list.
fn configured_backends(configured: &[String]) -> String {
    if configured.is_empty() {
        return "; define others in [planner.backend.NAME]".to_owned();
    }
    format!(", {}", configured.join(", "))
}

impl Settings {
    /// Builds the configured service, with keys from the process environment.
    ///
    /// # Errors
    /// Fails if a backend is unknown or named twice, none is named, or something that it needs cannot be read.
    pub fn resolve(&self) -> Result<PlannerService, Error> {
        self.resolve_in(&Environment::from_process())
    }

    /// Builds the configured service with this environment.
    ///
    /// # Errors
    /// If the settings are invalid, as for [`Settings::resolve`].
    pub fn resolve_in(&self, environment: &Environment) -> Result<PlannerService, Error> {
        let workshop = BackendFactory::new(self, environment)?;
        let mut backends: Vec<Arc<dyn Backend>> = Vec::with_capacity(self.backends.len());
        for name in &self.backends {
            if backends.iter().any(|known| known.name() == name) {
                return Err(Error::DuplicateBackend { name: name.clone() });
            }
            backends.push(workshop.backend(name)?);
        }
        if backends.is_empty() {
            return Err(Error::NoBackend);
        }
        let router = Router::with_config(backends, &self.router_config()?);
        Ok(PlannerService::new(router, workshop.prompts))
    }

    fn router_config(&self) -> Result<RouterConfig, Error> {
        for (field, value) in [
            ("concurrency", self.concurrency),
            (
                "decision_timeout",
                self.decision_timeout.0.as_millis() as usize,
            ),
            ("timeout", self.timeout.0.as_millis() as usize),
            (
                "attempt_timeout",
                self.attempt_timeout.0.as_millis() as usize,
            ),
        ] {
            if value == 0 {
                return Err(Error::Zero { field });
            }
        }
        if self.concurrency > MAX_CONCURRENCY {
            return Err(Error::Concurrency);
        }
        Ok(RouterConfig {
            limits: CallLimits {
                decision_timeout: self.decision_timeout.0,
                timeout: self.timeout.0,
                concurrency: self.concurrency,
                requests: RequestLimits {
                    attempt_timeout: self.attempt_timeout.0,
                    max_repairs: self.max_repairs,
                    retry: RetryPolicy {
                        max_retries: self.retry.max_retries,
                        initial_backoff: self.retry.initial_backoff.0,
                        max_backoff: self.retry.max_backoff.0,
                        max_retry_after: self.retry.max_retry_after.0,
                    },
                },
            },
            circuit_breaker: CircuitBreakerConfig {
                failure_threshold: self.circuit_breaker.failure_threshold,
                open_duration: self.circuit_breaker.open_duration.0,
            },
            sleeper: Arc::new(TokioSleeper),
        })
    }
}

/// Builds backends from the settings.
struct BackendFactory<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
    models: ModelTable,
    prompts: Arc<Prompts>,
    providers: BTreeMap<String, ProviderSettings>,
}

impl<'a> BackendFactory<'a> {
    fn new(settings: &'a Settings, environment: &'a Environment) -> Result<Self, Error> {
        let mut problems = settings
            .models
            .iter()
            .filter_map(|entry| Some((entry.problem()?, entry.names.join(", "))));
        if let Some((problem, names)) = problems.next() {
            return Err(Error::Model { names, problem });
        }
        let prompts = match &settings.prompts {
            Some(folder) => Prompts::with_folder(folder)?,
            None => Prompts::built_in()?,
        };
        Ok(Self {
            settings,
            environment,
            models: ModelTable::with(settings.models.clone()),
            prompts: Arc::new(prompts),
            providers: providers::with(&settings.providers),
        })
    }

    /// Builds the backend with this name.
    fn backend(&self, name: &str) -> Result<Arc<dyn Backend>, Error> {
        if let Some(path) = name.strip_prefix("recorded:") {
            return Ok(Arc::new(recording(name, Path::new(path))?));
        }
        if name == phrasebook::NAME {
            return Ok(Arc::new(Phrasebook));
        }
        let settings = self.settings.backend.get(name);
        if let Some(settings) = settings
            && settings.kind.as_deref() == Some(planner_service::KIND)
        {
            return Ok(Arc::new(self.planner_service(name, settings)?));
        }
        let is_kind = KINDS.iter().any(|kind| kind.name == name);
        if settings.is_none() && !is_kind {
            return Err(Error::UnknownBackend {
                name: name.to_owned(),
                configured: self.settings.backend.keys().cloned().collect(),
            });
        }
        let settings = settings.cloned().unwrap_or_default();
        Ok(Arc::new(self.model_backend(name, &settings)?))
    }

    /// Builds a backend that calls another Planner.
    fn planner_service(
        &self,
        name: &str,
        settings: &BackendSettings,
    ) -> Result<PlannerServiceBackend, Error> {
        let problem = |problem: String| Error::Options {
            backend: name.to_owned(),
            problem,
        };
        for (field, is_given) in [
            ("provider", settings.provider.is_some()),
            ("model", settings.model.is_some()),
        ] {
            if is_given {
                return Err(problem(format!(
                    "a planner_service has no `{field}`: it chooses its own; remove it"
                )));
            }
        }
        let options: ServiceOptions = backend_kinds::read(&settings.options).map_err(problem)?;
        let mut channel = client::Config::foreign(&options.address);
        if options.address.starts_with("https://") {
            let roots = http_client::root_certificates_pem(options.ca_file.as_deref());
            channel.ca = Some(roots.map_err(|error| problem(error.to_string()))?);
        }
        channel.token = options
            .token(self.environment)
            .map_err(|error| problem(error.to_string()))?;
        let channel =
            Channel::connect_lazy(&channel).map_err(|error| problem(error.to_string()))?;
        let planner = Arc::new(PlannerClient::new(channel));
        Ok(PlannerServiceBackend::new(
            name.to_owned(),
            planner,
            options.needs_image,
        ))
    }

    fn model_backend(&self, name: &str, settings: &BackendSettings) -> Result<ModelBackend, Error> {
        let kind = kind(name, settings)?;
        let missing = |field, hint| Error::Missing {
            backend: name.to_owned(),
            field,
            hint,
        };
        let provider = settings.provider.as_deref().or(kind.provider);
        let provider = provider.ok_or_else(|| {
            missing(
                "provider",
                "; define one in [planner.providers.NAME] with its base_url",
            )
        })?;
        let model = settings.model.as_deref().or(kind.model);
        let model = model.ok_or_else(|| missing("model", ""))?;
        let dialect = (kind.dialect)(&settings.options).map_err(|problem| Error::Options {
            backend: name.to_owned(),
            problem,
        })?;
        let model = self.models.get(model, dialect.api());
        if !model.known {
            tracing::warn!(
                backend = name,
                model = model.name,
                "the model is not in the model table; using safe defaults and an unknown price"
            );
        }
        let endpoint = self.endpoint(name, provider, dialect.as_ref())?;
        Ok(ModelBackend::new(ModelBackendParts {
            name: name.to_owned(),
            dialect,
            model,
            endpoint,
            prompts: Arc::clone(&self.prompts),
        }))
    }

    /// Returns the endpoint of a provider, or a description of what is missing.
    fn endpoint(
        &self,
        backend: &str,
        name: &str,
        dialect: &dyn Dialect,
    ) -> Result<Result<Endpoint, String>, Error> {
        let Some(provider) = self.providers.get(name) else {
            let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
            return Err(Error::UnknownProvider {
                backend: backend.to_owned(),
                provider: name.to_owned(),
                known: known.join(", "),
            });
        };
        let address = match provider.address(name, dialect.api(), self.environment)? {
            Ok(address) => address,
            Err(missing) => return Ok(Err(missing)),
        };
        let endpoint = Endpoint::new(&address).map_err(|source| Error::Endpoint {
            provider: name.to_owned(),
            source,
        })?;
        Ok(Ok(endpoint))
    }
}

fn recording(name: &str, path: &Path) -> Result<RecordedBackend, Error> {
    let decisions = std::fs::read(path)
        .map_err(recorded::Error::from)
        .and_then(|bytes| recorded::decode(&bytes));
    let decisions = decisions.map_err(|source| Error::Recording {
        path: path.to_owned(),
        source,
    })?;
    Ok(RecordedBackend::new(name, decisions))
}
