//! The task loop on a real screen with a scripted planner: behaviour in error cases.
//!
//! `services/orchestrator/tests/loop` tests the same rules with fakes and many cases each; here is one case each, with real
//! pixels and real input to a page.

mod endings;
mod functions;
mod hooks;
mod late_answers;
mod pointer;
mod retries;
mod stop_latency;
mod user_actions;

use motorium_proto::v1::orchestrator as wire;

/// Returns a task with only a goal.
fn task(goal: &str) -> wire::Task {
    wire::Task {
        goal: goal.to_owned(),
        ..wire::Task::default()
    }
}
