//! Starts the configured programs, and the browser with a URL.
//!
//! - [`environment`]: the variables that a program inherits
//! - [`session`]: starting programs in the sandbox of a desktop
//!
//! No shell is involved and no command line is assembled from text: a program gets its configured arguments, and a URL
//! as one argument of its own. Whether a name or URL is allowed is checked by the guard.
//!
//! Invariant: a started program inherits no variable of this service but those that [`environment`] lists.

mod environment;
#[cfg(unix)]
pub mod session;

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use serde::{Deserialize, Serialize};
use tokio::process::Command;

pub use super::program::Program;
pub use environment::PROXY_VARIABLES;

use super::Error;

/// The programs that may be started.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// Applications by name.
    pub applications: BTreeMap<String, Program>,
    /// The browser, which gets the URL as its last argument.
    pub browser: Option<Program>,
}

/// A start of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    pub program: Program,
    /// Argument after the configured ones.
    pub last_argument: Option<String>,
    /// Name of the display on which its windows appear.
    pub display: String,
}

/// Process that starts programs.
#[derive(Debug, Clone, Default)]
pub enum LaunchSite {
    /// As children of this process.
    #[default]
    Here,
    /// By the process at the other end of a session.
    #[cfg(unix)]
    Session(Arc<session::LaunchSession>),
}

impl LaunchSite {
    /// Starts a program that outlives the action.
    ///
    /// # Errors
    /// [`Error::LaunchFailed`], or [`Error::ProfileInUse`] for a browser.
    pub async fn start(&self, launch: Launch) -> Result<(), Error> {
        match self {
            Self::Here => start(&launch),
            #[cfg(unix)]
            Self::Session(session) => {
                let program = launch.program.program.clone();
                let session = Arc::clone(session);
                let started = tokio::task::spawn_blocking(move || session.start(&launch)).await;
                started.unwrap_or_else(|panicked| {
                    let cause = panicked.to_string();
                    Err(Error::LaunchFailed { program, cause })
                })
            }
        }
    }
}

/// Keeps programs of the same user, such as those that a launcher starts outside of a sandbox, from reading the environment and the
/// memory of this process, with its keys, secrets and tokens. A program that is executed can be read again.
///
/// # Errors
/// If the kernel refuses.
#[cfg(target_os = "linux")]
pub fn hide_from_programs() -> std::io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Starts the configured programs. Clones share one list, also after it is replaced.
#[derive(Debug, Clone, Default)]
pub struct Launcher {
    programs: Arc<RwLock<Programs>>,
    site: LaunchSite,
}

impl Launcher {
    /// Creates a launcher for these programs.
    #[must_use]
    pub fn new(programs: Programs) -> Self {
        Self {
            programs: Arc::new(RwLock::new(programs)),
            site: LaunchSite::Here,
        }
    }

    /// Starts programs at this site instead of here.
    #[must_use]
    pub fn at(self, site: LaunchSite) -> Self {
        Self { site, ..self }
    }

    /// Replaces the programs that may be started.
    pub fn replace(&self, programs: Programs) {
        *self
            .programs
            .write()
            .unwrap_or_else(PoisonError::into_inner) = programs;
    }

    fn programs(&self) -> RwLockReadGuard<'_, Programs> {
        self.programs.read().unwrap_or_else(PoisonError::into_inner)
    }

    async fn start(
        &self,
        program: &Program,
        last_argument: Option<&str>,
        display: &str,
    ) -> Result<(), Error> {
        let launch = Launch {
            program: program.clone(),
            last_argument: last_argument.map(str::to_owned),
            display: display.to_owned(),
        };
        self.site.start(launch).await
    }

    /// Starts an application by name on `display`.
    pub(crate) async fn open_application(&self, name: &str, display: &str) -> Result<(), Error> {
        let application = self.application(name)?;
        self.start(&application, None, display).await
    }

    /// Starts the browser with a URL on `display`.
    pub(crate) async fn open_url(&self, url: &str, display: &str) -> Result<(), Error> {
        let browser = self.browser()?;
        // The guard has parsed the URL. This is a second check: a browser would interpret a leading hyphen as an
        // option.
        if url.starts_with('-') {
            return Err(Error::InvalidAction {
                what: "a URL must not start with a hyphen".to_owned(),
            });
        }
        self.start(&browser, Some(url), display).await
    }

    /// Starts the browser on `display` without a URL.
    pub(crate) async fn open_browser(&self, display: &str) -> Result<(), Error> {
        self.start(&self.browser()?, None, display).await
    }

    fn application(&self, name: &str) -> Result<Program, Error> {
        let programs = self.programs();
        let application = programs.applications.get(name).cloned();
        application.ok_or_else(|| {
            let known: Vec<&str> = programs.applications.keys().map(String::as_str).collect();
            Error::UnknownApplication {
                name: name.to_owned(),
                known: known.join(", "),
            }
        })
    }

    fn browser(&self) -> Result<Program, Error> {
        let browser = self.programs().browser.clone();
        browser.ok_or_else(|| Error::UnknownApplication {
            name: "browser".to_owned(),
            known: "none".to_owned(),
        })
    }
}

/// Starts a program without a terminal and in its own process group, as a child of this process.
fn start(launch: &Launch) -> Result<(), Error> {
    let Launch {
        program,
        last_argument,
        display,
    } = launch;
    #[cfg(target_os = "linux")]
    super::browser_profile::clear_stale_lock(program)?;
    let mut command = Command::new(&program.program);
    command.env_clear().envs(environment::inherited());
    // A program with its own folder or home starts there instead of in this service's folder.
    let folder = ["PWD", "HOME"].map(|name| program.environment.get(name));
    if let Some(folder) = folder.into_iter().flatten().next() {
        command.current_dir(folder);
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
        let programs = Programs {
            applications: [("editor".to_owned(), program.clone())].into(),
            browser: Some(program),
        };
        Launcher::new(programs)
    }

    #[tokio::test]
    async fn unlisted_applications_are_not_started() {
        assert_eq!(
            launcher("true").open_application("editor", ":0").await,
            Ok(())
        );
        let error = launcher("true")
            .open_application("rm", ":0")
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown application `rm`; available: editor"
        );
    }

    #[tokio::test]
    async fn an_address_is_never_an_option() {
        let error = launcher("true")
            .open_url("--remote-debugging-port=1", ":0")
            .await
            .unwrap_err();
        assert!(matches!(error, Error::InvalidAction { .. }));
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let error = launcher("/nowhere/editor")
            .open_application("editor", ":0")
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("`/nowhere/editor` cannot be started"),
            "{error}"
        );
    }
}
