//! Loads ONNX Runtime and models on first use, with errors that name the file.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};

use crate::error::Error;

/// Models that are loaded on first use and used by one caller at a time.
#[derive(Debug)]
pub(super) struct LazyModel<T>(Mutex<Option<T>>);

impl<T> LazyModel<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Runs `work` with the models. A failed load is retried by the next call.
    pub(super) fn with<R>(
        &self,
        load: impl FnOnce() -> Result<T, Error>,
        work: impl FnOnce(&mut T) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.is_none() {
            *loaded = Some(load()?);
        }
        work(loaded.as_mut().expect("it was loaded just above"))
    }
}

/// ONNX Runtime has one environment per process; the first caller chooses the library.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// Returns the process-wide ONNX Runtime, loading it from `library` on first use.
pub(super) fn environment(library: &Path) -> Result<Environment, Error> {
    let mut loaded = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = &*loaded {
        return Ok(environment.clone());
    }
    ensure_exists(library)?;
    let unusable = |detail: String| Error::ModelFileUnusable {
        path: library.to_owned(),
        detail,
    };
    let environment = ort::init_from(library)
        .map_err(|error| unusable(error.to_string()))?
        .with_name("motorium")
        .with_telemetry(false)
        .build()
        .map_err(|error| unusable(error.to_string()))?;
    *loaded = Some(environment.clone());
    Ok(environment)
}

/// Creates a session of the model at `path` with `threads` threads.
pub(super) fn session_from_file(
    environment: &Environment,
    path: &Path,
    threads: usize,
) -> Result<Session, Error> {
    ensure_exists(path)?;
    options(environment, threads)
        .and_then(|mut builder| builder.commit_from_file(path))
        .map_err(|error| Error::ModelFileUnusable {
            path: path.to_owned(),
            detail: error.to_string(),
        })
}

/// Creates a session of an embedded model.
pub(super) fn session_from_memory(
    environment: &Environment,
    model: &[u8],
    threads: usize,
) -> Result<Session, ort::Error> {
    options(environment, threads)?.commit_from_memory(model)
}

fn options(environment: &Environment, threads: usize) -> Result<SessionBuilder, ort::Error> {
    let builder = Session::builder(environment)?
        .with_optimization_level(GraphOptimizationLevel::Level3)?
        .with_intra_threads(threads)?
        // Sleeping between two operators costs a fifth of the time of a single line or a small region (measured), so
        // threads spin. They stop when the call ends, to release the cores.
        .with_intra_op_spinning(true)?
        .with_config_entry("session.force_spinning_stop", "1")?
        // Input shapes vary per line, so a memory plan for one shape is useless for the next.
        .with_memory_pattern(false)?;
    Ok(builder)
}

fn ensure_exists(path: &Path) -> Result<(), Error> {
    if path.is_file() {
        Ok(())
    } else {
        Err(Error::ModelFileMissing {
            path: path.to_owned(),
        })
    }
}
