//! Failures to see the screen: they are reported to the planner and retried. Only several in a row end the task.

use std::time::Duration;

use motorium_messages::Message;
use motorium_proto::error::ErrorReport;

use super::context::RunContext;
use super::{Backoff, RunResult, halt, is_transient};
use motorium_task::event::Event;

/// Pause before the screen is captured or parsed again, lengthened by chance.
// A driver or a parser that failed needs a moment, not a minute.
const PAUSE: Duration = Duration::from_secs(1);

/// Failures in a row of one look at the screen.
#[derive(Debug)]
pub(super) struct FailedLooks {
    operation: Message<'static>,
    count: u32,
    backoff: Backoff,
}

impl FailedLooks {
    pub(super) fn of(run: &RunContext, operation: Message<'static>) -> Self {
        Self {
            operation,
            count: 0,
            backoff: Backoff::of(&run.task().spec.name.to_string()),
        }
    }

    /// Counts a failure. Tells of the first one and waits until the next attempt, or ends the task if there is none.
    pub(super) async fn add(&mut self, run: &mut RunContext, report: ErrorReport) -> RunResult {
        self.count += 1;
        // A service that is away was told of, and asked again and again, before it became a failure.
        if is_transient(&report) || self.count >= run.config.max_screen_failures {
            return Err(halt(run.task(), self.operation, report));
        }
        if self.count == 1 {
            let operation = &run.task().text(self.operation);
            let problem = &report.message;
            let repeated = Message::LookRepeated { operation, problem };
            tell(run, &report, repeated).await?;
        }
        let pause = self.backoff.lengthened(PAUSE);
        run.sleep(pause).await
    }

    /// Returns whether another attempt failed: it was made with retries, or is the second one.
    pub(super) fn is_persistent(&self, report: &ErrorReport) -> bool {
        self.count > 0 || is_transient(report)
    }
}

/// Tells people and the planner of a failed look.
pub(super) async fn tell(
    run: &mut RunContext,
    report: &ErrorReport,
    message: Message<'_>,
) -> RunResult {
    let message = run.task().text(message);
    tracing::warn!(task = %run.task().spec.name, %report, message);
    let reason = report.reason.clone();
    run.record(vec![Event::TransientFailure { reason, message }])
        .await
}
