//! Support for tests that run the real programs on a real desktop.
//!
//! - [`programs`]: Motorium's own programs, built once, and what it takes to run one and read what it says
//! - [`desktop`]: a display server, a window manager and a session bus of a test's own
//! - [`site`]: pages that report what they receive
//! - [`services`]: four services on four ports, or all of them in one process
//! - [`tasks`]: carrying a task through and reading its events
//! - [`script`]: a planner whose decisions a test makes
//! - [`stage`]: all of these together, with a page that does not do what it seems to
//! - [`story`]: events of a task as tests read them
//! - [`pictures`]: what a task has seen, as files for people
//! - [`input`]: mouse and keyboard as the display server has them
//! - [`errand`]: one task of several actions, and everything that must hold of it however often it was interrupted
//!
//! Whatever is wrong here panics with what was waited for: this is support for tests, and nothing else depends on it.
//! Invariant: whatever a test starts ends with the test, also when the test fails or is ended itself.

pub mod desktop;
pub mod errand;
pub mod input;
pub mod person;
pub mod pictures;
pub mod programs;
pub mod script;
pub mod services;
pub mod site;
pub mod stage;
pub mod story;
pub mod tasks;
pub mod watched;

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

/// Nothing that is merely waited for takes longer, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at something that cannot say by itself when it is ready.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The repository.
#[must_use]
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("this crate lies in the repository")
        .to_owned()
}

/// Looks again and again until there is something to see.
///
/// # Panics
/// If there is nothing within [`PATIENCE`].
pub async fn until<T, F>(what: &str, look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    until_within(PATIENCE, what, look).await
}

/// Looks again and again until there is something to see.
///
/// # Panics
/// If there is nothing within `patience`.
pub async fn until_within<T, F>(patience: Duration, what: &str, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let end = Instant::now() + patience;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
