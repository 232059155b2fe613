//! Support for tests that run the real programs on a real desktop.
//!
//! - [`programs`]: Motorium's programs, built once per test process, and helpers to run them and read their output
//! - [`desktop`]: a private display server, window manager and session bus
//! - [`page_server`]: a server of pages that report the events they receive
//! - [`services`]: four services on four ports, or all of them in one process
//! - [`tasks`]: running a task and reading its events
//! - [`scripted_planner`]: a planner whose decisions the test makes
//! - [`testbed`]: all of these together, with a page that reacts unreliably
//! - [`watched_task`], [`event_log`]: the events of a task with accessors for tests
//! - [`screenshots`]: the screenshots of a task, as files
//! - [`input`]: raw mouse and keyboard events of the display server
//! - [`simulated_user`]: a person at the desktop
//! - [`multi_step_task`]: a task of several actions with the invariants that must hold however often it is interrupted
//!
//! Errors panic with a description of the awaited condition, because only tests depend on this crate.
//! Invariant: everything that a test starts ends with the test, also when the test fails or is killed.

pub mod desktop;
pub mod event_log;
pub mod input;
pub mod multi_step_task;
pub mod page_server;
pub mod programs;
pub mod screenshots;
pub mod scripted_planner;
pub mod services;
pub mod simulated_user;
pub mod tasks;
pub mod testbed;
pub mod watched_task;

use std::future::Future;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

/// Timeout of waits. Generous, so that a busy machine does not fail tests.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval for polling a condition without a notification.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Returns the root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("this crate is in the repository")
        .to_owned()
}

/// Returns a port at which nothing listens now.
///
/// # Panics
/// If none can be opened.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be opened");
    let address = listener.local_addr().expect("it is bound");
    address.port()
}

/// Polls until `look` returns a value.
///
/// # Panics
/// If there is no value within [`WAIT_TIMEOUT`].
pub async fn until<T, F>(what: &str, look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    until_within(WAIT_TIMEOUT, what, look).await
}

/// Polls until `look` returns a value.
///
/// # Panics
/// If there is no value within `timeout`.
pub async fn until_within<T, F>(timeout: Duration, what: &str, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let end = Instant::now() + timeout;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < end, "timed out waiting for {what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
