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
    in_force: Arc<RwLock<InForce>>,
}

#[derive(Debug, Clone)]
struct InForce {
    rules: Arc<Rules>,
    written: Written,
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
            in_force: Arc::new(RwLock::new(InForce {
                rules: Arc::new(Rules::default()),
                written: Written {
                    name: "careful".to_owned(),
                    policies: None,
                    words: None,
                },
            })),
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
            in_force: Arc::new(RwLock::new(read)),
        })
    }

    /// The rules in force as they were written, whatever their files say by now: those of the crate by their name, others
    /// whole.
    #[must_use]
    pub fn written(&self) -> Written {
        self.in_force().written
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
        let in_force = InForce {
            rules: Arc::new(Rules::read(policies, words)?),
            written: written.clone(),
        };
        Ok(Self {
            rules: written.name.clone(),
            words: None,
            in_force: Arc::new(RwLock::new(in_force)),
        })
    }

    /// The rules as they are now.
    #[must_use]
    pub fn rules(&self) -> Arc<Rules> {
        self.in_force().rules
    }

    fn in_force(&self) -> InForce {
        let in_force = self.in_force.read();
        in_force.unwrap_or_else(PoisonError::into_inner).clone()
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
            Ok(read) => {
                let mut in_force = self
                    .in_force
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                *in_force = read;
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

fn read(name: &str, words: Option<&Path>) -> Result<InForce, Error> {
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let written = Written {
        name: name.to_owned(),
        policies: match built_in {
            Some(_) => None,
            None => Some(text(Path::new(name))?),
        },
        words: words.map(text).transpose()?,
    };
    let policies = match (&written.policies, built_in) {
        (None, Some((_, policies))) => *policies,
        (own, _) => own.as_deref().unwrap_or_default(),
    };
    let words = written.words.as_deref().unwrap_or(words::DEFAULT);
    Ok(InForce {
        rules: Arc::new(Rules::read(policies, words)?),
        written,
    })
}

fn text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use tempfile::TempDir;

    use super::*;

    const ALL: &str = "@id(\"all\") permit (principal, action, resource);";
    const NOTHING: &str = "@id(\"none\") forbid (principal, action, resource);";

    struct Followed {
        folder: TempDir,
        source: Source,
        shutdown: Shutdown,
        times: u64,
    }

    impl Followed {
        fn begin(policies: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("own.cedar");
            std::fs::write(&path, policies).unwrap();
            let source = Source::open(path.to_str().unwrap(), None).unwrap();
            let shutdown = Shutdown::new();
            tokio::spawn(source.clone().follow(shutdown.clone()));
            Self {
                folder,
                source,
                shutdown,
                times: 0,
            }
        }

        /// The file changes, and is looked at.
        async fn write(&mut self, policies: &str) {
            let path = self.folder.path().join("own.cedar");
            std::fs::write(&path, policies).unwrap();
            self.times += 1;
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(self.times);
            File::options()
                .write(true)
                .open(&path)
                .and_then(|file| file.set_modified(time))
                .unwrap();
            tokio::time::sleep(LOOK + LOOK).await;
        }

        fn in_force(&self) -> ([u8; 32], Option<String>) {
            let rules = self.source.rules();
            (rules.version(), self.source.written().policies)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rules_follow_their_file_and_stay_where_it_cannot_be_used() {
        let mut followed = Followed::begin(ALL);
        tokio::task::yield_now().await;
        let first = followed.in_force();
        assert_eq!(first.1.as_deref(), Some(ALL));

        followed.write("permit (principal, action").await;
        assert_eq!(followed.in_force(), first, "that is no rule");

        followed.write(NOTHING).await;
        let second = followed.in_force();
        assert_ne!(second.0, first.0, "approvals are bound to the version");
        assert_eq!(second.1.as_deref(), Some(NOTHING));

        std::fs::remove_file(followed.folder.path().join("own.cedar")).unwrap();
        tokio::time::sleep(LOOK + LOOK).await;
        assert_eq!(
            followed.in_force(),
            second,
            "a file that is away is no rule"
        );
        followed.shutdown.drain();
    }

    #[test]
    fn what_was_written_gives_the_same_rules() {
        let check = |source: &Source| {
            let again = Source::of(&source.written()).unwrap();
            assert_eq!(again.rules().version(), source.rules().version());
        };
        check(&Source::default());
        check(&Source::open("free", None).unwrap());
    }
}
