//! Starting programs: those of a configured list, with configured arguments, and a browser with an address.
//!
//! There is no shell and nothing is put together from text: a program is started with its arguments as they stand in
//! the configuration; an address is one argument of its own. Not here: whether a name or an address is allowed.
//!
//! Invariant: a started program sees none of this service's settings and secrets (`MOTORIUM_*`).

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::Error;

/// The environment variables of this service begin so.
const OWN_VARIABLES: &str = "MOTORIUM_";

/// A program with fixed arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its path, or its name on the search path.
    pub program: String,
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Set for it in addition.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// What may be started.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// By the name that an action gives.
    pub applications: BTreeMap<String, Program>,
    /// Gets the address as its last argument.
    pub browser: Option<Program>,
}

/// Starts them. Clones start the same ones, also after these have been replaced.
#[derive(Debug, Clone, Default)]
pub struct Launcher(Arc<RwLock<Programs>>);

impl Launcher {
    /// One that starts these.
    #[must_use]
    pub fn new(programs: Programs) -> Self {
        Self(Arc::new(RwLock::new(programs)))
    }

    /// From now on these may be started, and no others.
    pub fn replace(&self, programs: Programs) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = programs;
    }

    fn programs(&self) -> RwLockReadGuard<'_, Programs> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the application of that name on `display`.
    pub(crate) fn open_application(&self, name: &str, display: &str) -> Result<(), Error> {
        let programs = self.programs();
        let application =
            programs
                .applications
                .get(name)
                .ok_or_else(|| Error::UnknownApplication {
                    name: name.to_owned(),
                    known: programs
                        .applications
                        .keys()
                        .map(String::as_str)
                        .collect::<Vec<_>>()
                        .join(", "),
                })?;
        start(application, None, display)
    }

    /// Starts the browser with an address on `display`.
    pub(crate) fn open_url(&self, url: &str, display: &str) -> Result<(), Error> {
        let browser = self.browser()?;
        // The guard has parsed it; a browser that took it for an option would do as it says.
        if url.starts_with('-') {
            return Err(Error::Malformed {
                what: "an address does not begin with a hyphen".to_owned(),
            });
        }
        start(&browser, Some(url), display)
    }

    /// Starts the browser on `display`, with no address.
    pub(crate) fn open_browser(&self, display: &str) -> Result<(), Error> {
        start(&self.browser()?, None, display)
    }

    fn browser(&self) -> Result<Program, Error> {
        let browser = self.programs().browser.clone();
        browser.ok_or_else(|| Error::UnknownApplication {
            name: "browser".to_owned(),
            known: "none is configured".to_owned(),
        })
    }
}

/// Starts a program that outlives the action, without a terminal and in a process group of its own.
fn start(program: &Program, last_argument: Option<&str>, display: &str) -> Result<(), Error> {
    let mut command = Command::new(&program.program);
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(OWN_VARIABLES))
    {
        command.env_remove(name);
    }
    // A program that is given a home of its own starts there, and not in the folder of this service.
    if let Some(home) = program.environment.get("HOME") {
        command.current_dir(home);
    }
    let child = command
        .args(&program.arguments)
        .args(last_argument)
        .env("DISPLAY", display)
        .envs(&program.environment)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let mut child = child.map_err(|cause| Error::LaunchFailed {
        program: program.program.clone(),
        cause: cause.to_string(),
    })?;
    let name = program.program.clone();
    tokio::spawn(async move {
        match child.wait().await {
            Ok(status) => tracing::debug!(program = name, %status, "a started program has ended"),
            Err(error) => {
                tracing::warn!(program = name, %error, "a started program cannot be waited for")
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(program: &str) -> Launcher {
        let program = Program {
            program: program.to_owned(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
        };
        Launcher::new(Programs {
            applications: [("editor".to_owned(), program.clone())].into(),
            browser: Some(program),
        })
    }

    #[tokio::test]
    async fn only_what_is_listed_is_started() {
        assert_eq!(launcher("true").open_application("editor", ":0"), Ok(()));
        let error = launcher("true").open_application("rm", ":0").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no application is called `rm`; known are: editor"
        );
    }

    #[tokio::test]
    async fn an_address_is_never_an_option() {
        let error = launcher("true")
            .open_url("--remote-debugging-port=1", ":0")
            .unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }));
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let error = launcher("/nowhere/editor")
            .open_application("editor", ":0")
            .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("`/nowhere/editor` cannot be started"),
            "{error}"
        );
    }
}
