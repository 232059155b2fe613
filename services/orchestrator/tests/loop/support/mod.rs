//! An orchestrator, and everything around it that a test wants to have in its hands.
//!
//! - [`world`]: Perception, Planner and Executor, scripted
//! - [`cluster`]: the orchestrator on its own runtime, which can be killed, and the services on sockets
//! - [`crash`]: a store that stands still at a chosen point of the journal
//! - [`people`]: what people do with a task that runs
//! - [`script`]: decisions in a word each
//! - [`story`]: events, in the words of the contract
//! - [`tools`]: a ToolService and MCP servers, real ones
//!
//! Nothing here sleeps: whatever is waited for is a condition, and one that does not come about within
//! [`PATIENCE`] fails the test and says what it was.

pub(crate) mod cluster;
pub(crate) mod crash;
pub(crate) mod people;
pub(crate) mod script;
pub(crate) mod story;
pub(crate) mod tools;
pub(crate) mod world;

use std::future::Future;
use std::time::Duration;

/// Nothing that is waited for takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What comes of `work`, which was to bring about `what`.
pub(crate) async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("waited in vain for {what}"),
    }
}
