//! Loading of policies: built-in ones by name, or files, which are reloaded when they change.
//!
//! An invalid file at startup is an error. An invalid file later is logged once, and the previous policy stays active.
//!
//! It does not evaluate policies: `engine` does.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use motorium_kit::shutdown::Shutdown;
use serde::{Deserialize, Serialize};

use super::engine::{self, Policy};
use motorium_text::lexicon;

/// Interval at which files are checked for changes. Polling also works on network and container file systems.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Built-in policies by their configuration values.
const BUILT_IN: &[(&str, &str)] = &[("careful", engine::CAREFUL), ("free", engine::FREE)];

/// An error of loading a policy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{}` cannot be read: {source}; give a file, or one of: careful, free", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("`{}`: {source}", path.display())]
    Rules {
        path: PathBuf,
        source: engine::Error,
    },
}

impl Error {
    /// Names the file of an invalid policy or of its lexicon.
    fn of_rules(source: engine::Error, rules: &str, words: Option<&Path>) -> Self {
        let path = match (&source, words) {
            (engine::Error::Words(_), Some(words)) => words,
            _ => Path::new(rules),
        };
        Self::Rules {
            path: path.to_owned(),
            source,
        }
    }
}

/// The active policy and its source. Clones share the policy.
#[derive(Debug, Clone)]
pub struct PolicySource {
    rules: String,
    words: Option<PathBuf>,
    active: Arc<RwLock<ActivePolicy>>,
}

#[derive(Debug, Clone)]
struct ActivePolicy {
    rules: Arc<Policy>,
    written: PolicyDocument,
}

/// The text of a policy, as stored in a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyDocument {
    pub name: String,
    /// Cedar text; `None` for the built-in policy of this name.
    pub policies: Option<String>,
    /// Lexicon text; `None` for the built-in lexicon.
    pub words: Option<String>,
}

impl Default for PolicySource {
    fn default() -> Self {
        Self {
            rules: "careful".to_owned(),
            words: None,
            active: Arc::new(RwLock::new(ActivePolicy {
                rules: Arc::new(Policy::default()),
                written: PolicyDocument {
                    name: "careful".to_owned(),
                    policies: None,
                    words: None,
                },
            })),
        }
    }
}

impl PolicySource {
    /// Opens a policy by name (`careful`, `free`) or file, and optionally a lexicon file in place of the built-in one.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid.
    pub fn open(rules: &str, words: Option<&Path>) -> Result<Self, Error> {
        let read = read(rules, words)?;
        Ok(Self {
            rules: rules.to_owned(),
            words: words.map(Path::to_owned),
            active: Arc::new(RwLock::new(read)),
        })
    }

    /// Returns the text of the active policy, even if its files have changed since. Built-in policies are given by name.
    #[must_use]
    pub fn document(&self) -> PolicyDocument {
        self.current().written
    }

    /// Creates a fixed policy from its text.
    ///
    /// # Errors
    /// If the text is not a valid policy or lexicon.
    pub fn from_document(written: &PolicyDocument) -> Result<Self, Error> {
        let named = BUILT_IN.iter().find(|(known, _)| *known == written.name);
        let policies = match (&written.policies, named) {
            (Some(policies), _) => policies,
            (None, Some((_, policies))) => *policies,
            (None, None) => "",
        };
        let words = written.words.as_deref().unwrap_or(lexicon::DEFAULT);
        let current = ActivePolicy {
            rules: Arc::new(policy(&written.name, None, policies, words)?),
            written: written.clone(),
        };
        Ok(Self {
            rules: written.name.clone(),
            words: None,
            active: Arc::new(RwLock::new(current)),
        })
    }

    /// Returns the active policy.
    #[must_use]
    pub fn rules(&self) -> Arc<Policy> {
        self.current().rules
    }

    fn current(&self) -> ActivePolicy {
        let current = self.active.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reloads the files whenever they change, until shutdown.
    pub async fn watch(self, shutdown: Shutdown) {
        let mut known = self.modified_times();
        if known.is_empty() {
            return;
        }
        loop {
            tokio::select! {
                () = shutdown.draining() => return,
                // Polling also finds a file that an editor replaced instead of writing into it.
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            let now = self.modified_times();
            if now != known {
                known = now;
                self.reload();
            }
        }
    }

    fn reload(&self) {
        match read(&self.rules, self.words.as_deref()) {
            Ok(read) => {
                let mut current = self.active.write().unwrap_or_else(PoisonError::into_inner);
                *current = read;
                tracing::info!(rules = self.rules, "policy reloaded");
            }
            Err(error) => {
                tracing::error!(rules = self.rules, %error, "the changed policy is invalid; the previous one stays active");
            }
        }
    }

    /// Returns the modification times of the files; `None` for a missing file.
    fn modified_times(&self) -> Vec<Option<SystemTime>> {
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

fn read(name: &str, words: Option<&Path>) -> Result<ActivePolicy, Error> {
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let written = PolicyDocument {
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
    let lexicon = written.words.as_deref().unwrap_or(lexicon::DEFAULT);
    let rules = policy(name, words, policies, lexicon)?;
    rules
        .check_unknown_pages()
        .and_then(|()| rules.check_entities())
        .map_err(|error| Error::of_rules(error, name, words))?;
    Ok(ActivePolicy {
        rules: Arc::new(rules),
        written,
    })
}

/// Reads a policy and its lexicon, whose files are named in errors.
fn policy(
    name: &str,
    lexicon_file: Option<&Path>,
    policies: &str,
    lexicon: &str,
) -> Result<Policy, Error> {
    let read = Policy::read(policies, lexicon);
    read.map_err(|error| Error::of_rules(error, name, lexicon_file))
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
        source: PolicySource,
        shutdown: Shutdown,
        times: u64,
    }

    impl Followed {
        fn begin(policies: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("own.cedar");
            std::fs::write(&path, policies).unwrap();
            let source = PolicySource::open(path.to_str().unwrap(), None).unwrap();
            let shutdown = Shutdown::new();
            tokio::spawn(source.clone().watch(shutdown.clone()));
            Self {
                folder,
                source,
                shutdown,
                times: 0,
            }
        }

        /// Changes the file and waits until it has been checked.
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
            tokio::time::sleep(POLL_INTERVAL + POLL_INTERVAL).await;
        }

        fn current(&self) -> ([u8; 32], Option<String>) {
            let rules = self.source.rules();
            (rules.version(), self.source.document().policies)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rules_follow_their_file_and_stay_where_it_cannot_be_used() {
        let mut followed = Followed::begin(ALL);
        tokio::task::yield_now().await;
        let first = followed.current();
        assert_eq!(first.1.as_deref(), Some(ALL));

        followed.write("permit (principal, action").await;
        assert_eq!(followed.current(), first, "an invalid file is ignored");

        followed.write(NOTHING).await;
        let second = followed.current();
        assert_ne!(second.0, first.0, "approvals are bound to the version");
        assert_eq!(second.1.as_deref(), Some(NOTHING));

        std::fs::remove_file(followed.folder.path().join("own.cedar")).unwrap();
        tokio::time::sleep(POLL_INTERVAL + POLL_INTERVAL).await;
        assert_eq!(followed.current(), second, "a missing file is ignored");
        followed.shutdown.drain();
    }

    #[test]
    fn an_invalid_file_is_named_with_the_line_and_a_suggestion() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let rules = format!("{ALL}\nforbid (principal, action == Action::\"perfrom\", resource);");
        let misspelt = write("own.cedar", &rules);
        let error = PolicySource::open(misspelt.to_str().unwrap(), None).unwrap_err();
        let expected = format!(
            "`{}`: the policy does not match the schema: line 2: unrecognized action \
             `Action::\"perfrom\"`; did you mean `Action::\"perform\"`?",
            misspelt.display()
        );
        assert_eq!(error.to_string(), expected);

        let unfinished = write("unfinished.cedar", &format!("{ALL}\n\npermit (principal"));
        let error = PolicySource::open(unfinished.to_str().unwrap(), None).unwrap_err();
        let beginning = format!(
            "`{}`: the policy cannot be parsed: line 3: ",
            unfinished.display()
        );
        assert!(error.to_string().starts_with(&beginning), "{error}");

        let by_host = "@id(\"bank\") forbid (principal, action, resource)";
        let by_host = format!("{ALL}\n{by_host} when {{ resource.host == \"bank.example\" }};");
        let open = write("open.cedar", &by_host);
        let error = PolicySource::open(open.to_str().unwrap(), None).unwrap_err();
        let beginning = format!("`{}`: the rules `bank` use `url`", open.display());
        assert!(error.to_string().starts_with(&beginning), "{error}");
        let recorded = PolicyDocument {
            name: "open.cedar".to_owned(),
            policies: Some(by_host.clone()),
            words: None,
        };
        PolicySource::from_document(&recorded).expect("recordings of older policies are replayed");
        for known in ["!resource.host_known ||", "resource.host_known &&"] {
            let closed = by_host.replace("resource.host ", &format!("{known} resource.host "));
            let closed = write("closed.cedar", &closed);
            PolicySource::open(closed.to_str().unwrap(), None).unwrap();
        }

        let words = write("words.toml", "meanings = 3");
        let error = PolicySource::open("careful", Some(&words)).unwrap_err();
        assert!(error.to_string().contains("words.toml"), "{error}");
    }

    #[test]
    fn policy_document_round_trips() {
        let check = |source: &PolicySource| {
            let again = PolicySource::from_document(&source.document()).unwrap();
            assert_eq!(again.rules().version(), source.rules().version());
        };
        check(&PolicySource::default());
        check(&PolicySource::open("free", None).unwrap());
    }
}
