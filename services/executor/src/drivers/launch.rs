//! Starts the configured programs, and the browser with a URL.
//!
//! No shell is involved and no command line is assembled from text: a program gets its configured arguments, and a URL
//! as one argument of its own. Whether a name or URL is allowed is checked by the guard.
//!
//! Invariant: a started program inherits none of this service's settings and secrets (`MOTORIUM_*`).

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use tokio::process::Command;

pub use super::program::Program;

use super::Error;

/// Prefix of this service's environment variables.
const OWN_VARIABLE_PREFIX: &str = "MOTORIUM_";

/// The programs that may be started.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// Applications by name.
    pub applications: BTreeMap<String, Program>,
    /// The browser, which gets the URL as its last argument.
    pub browser: Option<Program>,
}

/// Starts programs. Clones share one list, also after it is replaced.
#[derive(Debug, Clone, Default)]
pub struct Launcher(Arc<RwLock<Programs>>);

impl Launcher {
    /// Creates a launcher for these programs.
    #[must_use]
    pub fn new(programs: Programs) -> Self {
        Self(Arc::new(RwLock::new(programs)))
    }

    /// Replaces the programs that may be started.
    pub fn replace(&self, programs: Programs) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = programs;
    }

    fn programs(&self) -> RwLockReadGuard<'_, Programs> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts an application by name on `display`.
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

    /// Starts the browser with a URL on `display`.
    pub(crate) fn open_url(&self, url: &str, display: &str) -> Result<(), Error> {
        let browser = self.browser()?;
        // The guard has parsed the URL. This is a second check: a browser would interpret a leading hyphen as an
        // option.
        if url.starts_with('-') {
            return Err(Error::InvalidAction {
                what: "a URL must not start with a hyphen".to_owned(),
            });
        }
        start(&browser, Some(url), display)
    }

    /// Starts the browser on `display` without a URL.
    pub(crate) fn open_browser(&self, display: &str) -> Result<(), Error> {
        start(&self.browser()?, None, display)
    }

    fn browser(&self) -> Result<Program, Error> {
        let browser = self.programs().browser.clone();
        browser.ok_or_else(|| Error::UnknownApplication {
            name: "browser".to_owned(),
            known: "none".to_owned(),
        })
    }
}

/// Starts a program that outlives the action, without a terminal and in its own process group.
fn start(program: &Program, last_argument: Option<&str>, display: &str) -> Result<(), Error> {
    #[cfg(target_os = "linux")]
    super::browser_profile::clear_stale_lock(program)?;
    let mut command = Command::new(&program.program);
    for (name, _) in std::env::vars_os()
        .filter(|(name, _)| name.to_string_lossy().starts_with(OWN_VARIABLE_PREFIX))
    {
        command.env_remove(name);
    }
    // A program with its own home starts there instead of in this service's folder.
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
            Ok(status) => tracing::debug!(program = name, %status, "a launched program has exited"),
            Err(error) => {
                tracing::warn!(program = name, %error, "a launched program cannot be waited for")
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
    async fn unlisted_applications_are_not_started() {
        assert_eq!(launcher("true").open_application("editor", ":0"), Ok(()));
        let error = launcher("true").open_application("rm", ":0").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown application `rm`; available: editor"
        );
    }

    #[tokio::test]
    async fn an_address_is_never_an_option() {
        let error = launcher("true")
            .open_url("--remote-debugging-port=1", ":0")
            .unwrap_err();
        assert!(matches!(error, Error::InvalidAction { .. }));
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
