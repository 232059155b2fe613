//! Settings as they are written, and the service that is meant by them.

mod kinds;
mod providers;
mod settings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motorium_kit::config::Environment;

use crate::backends::Backend;
use crate::backends::dialect::Dialect;
use crate::backends::model::{ModelBackend, Parts};
use crate::backends::phrasebook::{self, Phrasebook};
use crate::backends::recorded::{self, Recorded};
use crate::models::Models;
use crate::prompt::{self, Prompts};
use crate::provider::{Endpoint, endpoint, key};
use crate::router::breaker::Rest;
use crate::router::pauses::RealPauses;
use crate::router::retry::Patience;
use crate::router::stack::Bounds;
use crate::router::{Router, Rules};
use crate::service::PlannerService;

use kinds::{KINDS, kind};
pub use providers::ProviderSettings;
pub use settings::{BackendSettings, DEFAULT_PORT, Options, RestSettings, RetrySettings, Settings};

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No backend, so that nothing could ever be decided.
    #[error("planner.backends is empty; name at least one of: {}", known())]
    NoBackend,
    /// No backend is called so.
    #[error(
        "planner.backends: there is no backend `{name}`; there are: {}{}",
        known(),
        own(configured)
    )]
    UnknownBackend {
        name: String,
        configured: Vec<String>,
    },
    /// Two backends of one name could not be told apart.
    #[error("planner.backends: `{name}` is named twice")]
    NamedTwice { name: String },
    /// A recording cannot be read.
    #[error("planner.backends: the recording `{}` cannot be read: {source}", path.display())]
    Recording {
        path: PathBuf,
        source: recorded::Error,
    },
    /// A backend lacks what nobody can guess.
    #[error("planner.backend.{backend}: `{field}` is missing{hint}")]
    Missing {
        backend: String,
        field: &'static str,
        hint: &'static str,
    },
    /// A backend's kind is not one that there is.
    #[error(
        "planner.backend.{backend}.kind: there is no kind `{kind}`; there are: {}",
        kinds::list()
    )]
    UnknownKind { backend: String, kind: String },
    /// A dialect cannot use its options.
    #[error("planner.backend.{backend}.options: {problem}")]
    Options { backend: String, problem: String },
    /// No provider is called so.
    #[error(
        "planner.backend.{backend}.provider: there is no provider `{provider}`; there are: {known}"
    )]
    UnknownProvider {
        backend: String,
        provider: String,
        known: String,
    },
    /// A provider's address cannot be used.
    #[error("planner.providers.{provider}: {source}")]
    Endpoint {
        provider: String,
        source: endpoint::Error,
    },
    /// A provider's address is no URL.
    #[error("planner.providers.{provider}.base_url: {problem}")]
    BaseUrl { provider: String, problem: String },
    /// A provider's key cannot be read.
    #[error("planner.providers.{provider}: {source}")]
    Key {
        provider: String,
        source: key::Error,
    },
    /// The name of a variable is none: perhaps the key itself, so that it is not quoted.
    #[error(
        "planner.providers.{provider}.key_env is not the name of a variable such as MY_KEY; it names the variable that holds the key, and never holds the key itself"
    )]
    KeyVariable { provider: String },
    /// An entry about a model has a number that nothing could be sent with.
    #[error("planner.models ({names}): {problem}")]
    Model {
        names: String,
        problem: &'static str,
    },
    /// A number is out of range.
    #[error("planner.{field} is 0, so that nothing could ever be asked")]
    Zero { field: &'static str },
    /// More than can be counted.
    #[error(
        "planner.concurrency is more than {MOST_AT_ONCE}; no provider takes as many calls at once"
    )]
    Concurrency,
    /// A template cannot be used.
    #[error("planner.prompts: {0}")]
    Prompts(#[from] prompt::Error),
}

/// Far more than any provider takes, and less than what a semaphore counts.
const MOST_AT_ONCE: usize = 1_000_000;

/// The backends that there are without configuring any.
fn known() -> String {
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

/// The user's own, for the end of the list.
fn own(configured: &[String]) -> String {
    if configured.is_empty() {
        return "; others are made in [planner.backend.NAME]".to_owned();
    }
    format!(", {}", configured.join(", "))
}

impl Settings {
    /// The service that is meant, with keys from the process's environment.
    ///
    /// # Errors
    /// If a backend is unknown or named twice, none is named, or something it needs cannot be read.
    pub fn resolve(&self) -> Result<PlannerService, Error> {
        self.resolve_in(&Environment::of_process())
    }

    /// The service that is meant, in that environment.
    ///
    /// # Errors
    /// As [`Settings::resolve`].
    pub fn resolve_in(&self, environment: &Environment) -> Result<PlannerService, Error> {
        let workshop = Workshop::new(self, environment)?;
        let mut backends: Vec<Arc<dyn Backend>> = Vec::with_capacity(self.backends.len());
        for name in &self.backends {
            if backends.iter().any(|known| known.name() == name) {
                return Err(Error::NamedTwice { name: name.clone() });
            }
            backends.push(workshop.backend(name)?);
        }
        if backends.is_empty() {
            return Err(Error::NoBackend);
        }
        let router = Router::with_rules(backends, &self.rules()?);
        Ok(PlannerService::new(router, workshop.prompts))
    }

    fn rules(&self) -> Result<Rules, Error> {
        for (field, value) in [
            ("concurrency", self.concurrency),
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
        if self.concurrency > MOST_AT_ONCE {
            return Err(Error::Concurrency);
        }
        Ok(Rules {
            bounds: Bounds {
                timeout: self.timeout.0,
                attempt_timeout: self.attempt_timeout.0,
                concurrency: self.concurrency,
                patience: Patience {
                    retries: self.retry.times,
                    first: self.retry.first_pause.0,
                    longest: self.retry.longest_pause.0,
                    longest_asked: self.retry.longest_asked_pause.0,
                },
            },
            rest: Rest {
                failures: self.rest.failures,
                time: self.rest.time.0,
            },
            pauses: Arc::new(RealPauses),
        })
    }
}

/// Makes backends.
struct Workshop<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
    models: Models,
    prompts: Arc<Prompts>,
    providers: BTreeMap<String, ProviderSettings>,
}

impl<'a> Workshop<'a> {
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
            models: Models::with(settings.models.clone()),
            prompts: Arc::new(prompts),
            providers: providers::with(&settings.providers),
        })
    }

    /// The backend of that name.
    fn backend(&self, name: &str) -> Result<Arc<dyn Backend>, Error> {
        if let Some(path) = name.strip_prefix("recorded:") {
            return Ok(Arc::new(recording(name, Path::new(path))?));
        }
        if name == phrasebook::NAME {
            return Ok(Arc::new(Phrasebook));
        }
        let settings = self.settings.backend.get(name);
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
                "; make one in [planner.providers.NAME] with its base_url",
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
                "the table of models does not know this one; it is used with safe settings and an unknown price"
            );
        }
        let endpoint = self.endpoint(name, provider, dialect.as_ref())?;
        Ok(ModelBackend::new(Parts {
            name: name.to_owned(),
            dialect,
            model,
            endpoint,
            prompts: Arc::clone(&self.prompts),
        }))
    }

    /// Where a provider is, or what is missing.
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

fn recording(name: &str, path: &Path) -> Result<Recorded, Error> {
    let decisions = std::fs::read(path)
        .map_err(recorded::Error::from)
        .and_then(|bytes| recorded::decode(&bytes));
    let decisions = decisions.map_err(|source| Error::Recording {
        path: path.to_owned(),
        source,
    })?;
    Ok(Recorded::new(name, decisions))
}
