//! Loading ONNX Runtime and models when they are first needed, with errors that name the file.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};

use crate::error::Error;

/// Models that the first who needs them loads, and that one uses at a time.
#[derive(Debug)]
pub(super) struct OnDemand<T>(Mutex<Option<T>>);

impl<T> OnDemand<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Does some work with them. What could not be loaded is tried again by the next.
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

/// A process has one environment; whoever loads it first chooses the library.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// The process's ONNX Runtime, loaded from `library` unless it is there already.
pub(super) fn environment(library: &Path) -> Result<Environment, Error> {
    let mut loaded = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = &*loaded {
        return Ok(environment.clone());
    }
    must_exist(library)?;
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

/// A session of the model at `path` that computes with so many threads.
pub(super) fn session(
    environment: &Environment,
    path: &Path,
    threads: usize,
) -> Result<Session, Error> {
    must_exist(path)?;
    options(environment, threads)
        .and_then(|mut builder| builder.commit_from_file(path))
        .map_err(|error| Error::ModelFileUnusable {
            path: path.to_owned(),
            detail: error.to_string(),
        })
}

/// A session of a model that is a part of this program.
pub(super) fn built_in(
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
        // Threads that sleep between two operations cost a fifth of the time of a single line or a small part of a
        // picture (measured). So they spin, but not a moment longer than the call: others want their core then.
        .with_intra_op_spinning(true)?
        .with_config_entry("session.force_spinning_stop", "1")?
        // Every line has another width, so a memory plan made for one shape is of no use for the next.
        .with_memory_pattern(false)?;
    Ok(builder)
}

fn must_exist(path: &Path) -> Result<(), Error> {
    if path.is_file() {
        Ok(())
    } else {
        Err(Error::ModelFileMissing {
            path: path.to_owned(),
        })
    }
}
