//! Settings as they are written, and the service that is meant by them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use motorium_kit::config::{Listen, Section, Span};
use serde::{Deserialize, Serialize};

use crate::backends::Backend;
use crate::backends::phrasebook::{self, Phrasebook};
use crate::backends::recorded::{self, Recorded};
use crate::router::Router;
use crate::service::PlannerService;

/// The port that the service listens on if nobody says otherwise.
pub const DEFAULT_PORT: u16 = 7702;

/// The section `[planner]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub listen: Listen,
    /// The backends, in the order in which they are tried: `phrasebook`, or `recorded:FILE`.
    pub backends: Vec<String>,
    /// How long one backend may take for a decision.
    pub timeout: Span,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: Listen::loopback(DEFAULT_PORT),
            backends: vec![phrasebook::NAME.to_owned()],
            timeout: Span::seconds(90),
        }
    }
}

impl Section for Settings {
    const NAME: &'static str = "planner";
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No backend, so that nothing could ever be decided.
    #[error("planner.backends is empty; name at least one of: phrasebook, recorded:FILE")]
    NoBackend,
    /// No backend is called so.
    #[error("planner.backends: there is no backend `{name}`; there are: phrasebook, recorded:FILE")]
    UnknownBackend { name: String },
    /// Two backends of one name could not be told apart.
    #[error("planner.backends: `{name}` is named twice")]
    NamedTwice { name: String },
    /// A recording cannot be read.
    #[error("planner.backends: the recording `{}` cannot be read: {source}", path.display())]
    Recording {
        path: PathBuf,
        source: recorded::Error,
    },
}

impl Settings {
    /// The service that is meant.
    ///
    /// # Errors
    /// If a backend is unknown or named twice, none is named, or a recording cannot be read.
    pub fn resolve(&self) -> Result<PlannerService, Error> {
        if self.backends.is_empty() {
            return Err(Error::NoBackend);
        }
        let mut backends: Vec<Arc<dyn Backend>> = Vec::with_capacity(self.backends.len());
        for name in &self.backends {
            if backends.iter().any(|known| known.name() == name) {
                return Err(Error::NamedTwice { name: name.clone() });
            }
            backends.push(backend(name)?);
        }
        Ok(PlannerService::new(Router::new(backends, self.timeout.0)))
    }
}

/// The backend of that name: the one place that knows them all.
fn backend(name: &str) -> Result<Arc<dyn Backend>, Error> {
    if let Some(path) = name.strip_prefix("recorded:") {
        return Ok(Arc::new(recording(name, Path::new(path))?));
    }
    match name {
        phrasebook::NAME => Ok(Arc::new(Phrasebook)),
        _ => Err(Error::UnknownBackend {
            name: name.to_owned(),
        }),
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
