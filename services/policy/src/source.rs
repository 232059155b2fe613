//! Loading of policies: built-in ones by name, or files, which are reloaded when they change.
//!
//! An invalid file at startup is an error. An invalid file later is logged once, and the previous policy stays active.
//!
//! It does not evaluate policies: `engine` does.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use motorium_kit::shutdown::Shutdown;
use motorium_kit::watched_file;
use serde::{Deserialize, Serialize};

use super::engine::{self, Policy};
use motorium_text::lexicon;

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

    /// Returns the active policy together with its text.
    #[must_use]
    pub fn active(&self) -> (Arc<Policy>, PolicyDocument) {
        let ActivePolicy { rules, written } = self.current();
        (rules, written)
    }

    fn current(&self) -> ActivePolicy {
        let current = self.active.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reloads the files whenever they change, until shutdown.
    pub async fn watch(self, shutdown: Shutdown) {
        let PolicyDocument {
            policies, words, ..
        } = self.document();
        let rules = policies.is_some().then(|| PathBuf::from(&self.rules));
        let files: Vec<PathBuf> = rules.into_iter().chain(self.words.clone()).collect();
        if files.is_empty() {
            return;
        }
        let known = policies.into_iter().chain(words).collect();
        tokio::select! {
            () = shutdown.draining() => {}
            () = watched_file::follow(files, known, |contents| self.reload(contents)) => {}
        }
    }

    /// Loads new contents of the files.
    fn reload(&self, contents: &[String]) {
        let mut contents = contents.iter().cloned();
        let policies = match is_built_in(&self.rules) {
            true => None,
            false => contents.next(),
        };
        let written = PolicyDocument {
            name: self.rules.clone(),
            policies,
            words: contents.next(),
        };
        match checked(written, self.words.as_deref()) {
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
}

fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|(known, _)| *known == name)
}

fn read(name: &str, words: Option<&Path>) -> Result<ActivePolicy, Error> {
    let written = PolicyDocument {
        name: name.to_owned(),
        policies: match is_built_in(name) {
            true => None,
            false => Some(text(Path::new(name))?),
        },
        words: words.map(text).transpose()?,
    };
    checked(written, words)
}

/// Returns the policy of a text that is to be used now, with the checks that older recordings are spared.
fn checked(written: PolicyDocument, words: Option<&Path>) -> Result<ActivePolicy, Error> {
    let name = &written.name;
    let built_in = BUILT_IN.iter().find(|(known, _)| known == name);
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
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    const ALL: &str = "@id(\"all\") permit (principal, action, resource);";
    const NOTHING: &str = "@id(\"none\") forbid (principal, action, resource);";

    /// Time within which a change is noticed and read twice.
    const POLLED: Duration = Duration::from_secs(5);

    struct WatchedFile {
        folder: TempDir,
        source: PolicySource,
        shutdown: Shutdown,
    }

    impl WatchedFile {
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
            }
        }

        /// Changes the file and waits until it has been checked.
        async fn write(&mut self, policies: &str) {
            let path = self.folder.path().join("own.cedar");
            std::fs::write(&path, policies).unwrap();
            tokio::time::sleep(POLLED).await;
        }

        fn current(&self) -> ([u8; 32], Option<String>) {
            let rules = self.source.rules();
            (rules.version(), self.source.document().policies)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rules_follow_their_file_and_stay_where_it_cannot_be_used() {
        let mut watched = WatchedFile::begin(ALL);
        tokio::task::yield_now().await;
        let first = watched.current();
        assert_eq!(first.1.as_deref(), Some(ALL));

        watched.write("permit (principal, action").await;
        assert_eq!(watched.current(), first, "an invalid file is ignored");

        watched.write(NOTHING).await;
        let second = watched.current();
        assert_ne!(second.0, first.0, "approvals are bound to the version");
        assert_eq!(second.1.as_deref(), Some(NOTHING));

        std::fs::remove_file(watched.folder.path().join("own.cedar")).unwrap();
        tokio::time::sleep(POLLED).await;
        assert_eq!(watched.current(), second, "a missing file is ignored");
        watched.shutdown.drain();
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
