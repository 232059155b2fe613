//! The loop on a real screen, with a planner that the tests are: what it does when things do not go as they should.
//!
//! The same rules are tested with stand-ins for everything in `services/orchestrator/tests/loop`, many cases each; here
//! one case each, on pixels, with input that a page has received.

mod endings;
mod functions;
mod hooks;
mod ladder;
mod people;
mod pointer;
mod stops;

use motorium_proto::v1::orchestrator as wire;

/// A task with this goal and nothing else.
fn task(goal: &str) -> wire::Task {
    wire::Task {
        goal: goal.to_owned(),
        ..wire::Task::default()
    }
}
