//! Where the rules come from: those of the crate, by name, or files, which are followed while they change.
//!
//! A file that cannot be used when the process starts ends it; one that cannot be used later is said so, once, and what
//! was in force stays in force.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use motorium_kit::shutdown::Shutdown;
use serde::{Deserialize, Serialize};

use super::rules::{self, Rules};
use super::words;

/// How often files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Rules of the crate, by the names that a configuration has for them.
const BUILT_IN: &[(&str, &str)] = &[("careful", rules::CAREFUL), ("free", rules::FREE)];

/// What is wrong with where rules come from.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{}` cannot be read: {source}; give a file, or one of: careful, free", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Rules(#[from] rules::Error),
}

/// The rules in force. Clones share them.
#[derive(Debug, Clone)]
pub struct Source {
    rules: String,
    words: Option<PathBuf>,
    in_force: Arc<RwLock<Arc<Rules>>>,
}

/// Rules as they were written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    pub name: String,
    /// `None`: the crate has rules of this name.
    pub policies: Option<String>,
    /// `None`: the words of the crate.
    pub words: Option<String>,
}

impl Default for Source {
    fn default() -> Self {
        Self {
            rules: "careful".to_owned(),
            words: None,
            in_force: Arc::new(RwLock::new(Arc::new(Rules::default()))),
        }
    }
}

impl Source {
    /// Rules by name (`careful`, `free`) or by file, and a file of words in place of the crate's.
    ///
    /// # Errors
    /// If a file cannot be read, or is not what it should be.
    pub fn open(rules: &str, words: Option<&Path>) -> Result<Self, Error> {
        let read = read(rules, words)?;
        Ok(Self {
            rules: rules.to_owned(),
            words: words.map(Path::to_owned),
            in_force: Arc::new(RwLock::new(Arc::new(read))),
        })
    }

    /// The rules as they were written: those of the crate by their name, others whole.
    #[must_use]
    pub fn written(&self) -> Written {
        Written {
            name: self.rules.clone(),
            policies: (!is_built_in(&self.rules))
                .then(|| text(Path::new(&self.rules)).ok())
                .flatten(),
            words: self.words.as_deref().and_then(|path| text(path).ok()),
        }
    }

    /// Rules that were written down, which no file changes any more.
    ///
    /// # Errors
    /// If they are not what rules should be.
    pub fn of(written: &Written) -> Result<Self, Error> {
        let named = BUILT_IN.iter().find(|(known, _)| *known == written.name);
        let policies = match (&written.policies, named) {
            (Some(policies), _) => policies,
            (None, Some((_, policies))) => *policies,
            (None, None) => "",
        };
        let words = written.words.as_deref().unwrap_or(words::DEFAULT);
        let rules = Rules::read(policies, words)?;
        Ok(Self {
            rules: written.name.clone(),
            words: None,
            in_force: Arc::new(RwLock::new(Arc::new(rules))),
        })
    }

    /// The rules as they are now.
    #[must_use]
    pub fn rules(&self) -> Arc<Rules> {
        let in_force = self.in_force.read();
        Arc::clone(&in_force.unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the files in again whenever they change, until the process ends.
    pub async fn follow(self, shutdown: Shutdown) {
        let mut known = self.changed_at();
        if known.is_empty() {
            return;
        }
        loop {
            tokio::select! {
                () = shutdown.draining() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            let now = self.changed_at();
            if now != known {
                known = now;
                self.read_again();
            }
        }
    }

    fn read_again(&self) {
        match read(&self.rules, self.words.as_deref()) {
            Ok(rules) => {
                let mut in_force = self
                    .in_force
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                *in_force = Arc::new(rules);
                tracing::info!(
                    rules = self.rules,
                    "the rules have changed with their files"
                );
            }
            Err(error) => {
                tracing::error!(rules = self.rules, %error, "the changed rules cannot be used; those before stay in force");
            }
        }
    }

    /// When the files last changed; a file that is away has no time.
    fn changed_at(&self) -> Vec<Option<SystemTime>> {
        let rules = (!is_built_in(&self.rules)).then(|| PathBuf::from(&self.rules));
        let files = rules.iter().chain(&self.words);
        files
            .map(|path| {
                std::fs::metadata(path)
                    .and_then(|about| about.modified())
                    .ok()
            })
            .collect()
    }
}

fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|(known, _)| *known == name)
}

fn read(rules: &str, words: Option<&Path>) -> Result<Rules, Error> {
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == rules);
    let policies = match built_in {
        Some((_, policies)) => (*policies).to_owned(),
        None => text(Path::new(rules))?,
    };
    let words = match words {
        Some(path) => text(path)?,
        None => words::DEFAULT.to_owned(),
    };
    Ok(Rules::read(&policies, &words)?)
}

fn text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}
