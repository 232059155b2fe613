//! An orchestrator and everything around it that a test controls.
//!
//! - [`world`]: Perception, Planner and Executor, scripted
//! - [`cluster`]: the orchestrator on its own runtime, which can be killed, and the services on sockets
//! - [`crash`]: a store that blocks at a chosen write
//! - [`people`]: what users do with a running task
//! - [`header_recorder`]: a desktop that records the headers it receives
//! - [`principals`]: calls on behalf of named principals
//! - [`script`]: short constructors for decisions
//! - [`story`]: a task's events and assertions about them
//! - [`tools`]: a scripted ToolService and MCP servers
//!
//! Nothing here sleeps: tests wait on conditions, and a condition that is not met within [`PATIENCE`] fails the test
//! with its name.

pub(crate) mod cluster;
pub(crate) mod faulty_store;
pub(crate) mod header_recorder;
pub(crate) mod principals;
pub(crate) mod script;
pub(crate) mod simulated_desktop;
pub(crate) mod task_events;
pub(crate) mod tools;
pub(crate) mod user_actions;

use std::future::Future;
use std::time::Duration;

/// Maximum time to wait for a condition, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the result of `work`; panics with `what` on a timeout.
pub(crate) async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(TIMEOUT, work).await {
        Ok(done) => done,
        Err(_) => panic!("waited in vain for {what}"),
    }
}
