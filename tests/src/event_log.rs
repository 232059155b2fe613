//! The events of a task with accessors for tests.

use motorium_proto::v1::common::action::Action;
use motorium_proto::v1::common::{ActionResult, EffectVerdict};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::action_retried::RetryStrategy;
use motorium_proto::v1::orchestrator::event::Kind;

use crate::tasks;

/// The events of a task, in order.
#[derive(Debug, Clone, Default)]
pub struct EventLog(pub Vec<wire::Event>);

impl EventLog {
    /// Formats one line per event, for failing tests.
    #[must_use]
    pub fn text(&self) -> String {
        tasks::describe(&self.0)
    }

    /// Maps the events with `choose`, skipping those without a value.
    pub fn filter_map<T>(&self, choose: impl Fn(&Kind) -> Option<T>) -> Vec<T> {
        let kinds = self.0.iter().filter_map(|event| event.kind.as_ref());
        kinds.filter_map(choose).collect()
    }

    /// Returns the strategies of all retries.
    #[must_use]
    pub fn retry_strategies(&self) -> Vec<RetryStrategy> {
        self.filter_map(|kind| match kind {
            Kind::ActionRetried(retried) => Some(retried.strategy()),
            _ => None,
        })
    }

    /// Returns the verdicts on all effects.
    #[must_use]
    pub fn verdicts(&self) -> Vec<EffectVerdict> {
        self.filter_map(|kind| match kind {
            Kind::EffectJudged(judged) => judged.effect.as_ref().map(|effect| effect.verdict()),
            _ => None,
        })
    }

    /// Returns the results of all actions.
    #[must_use]
    pub fn results(&self) -> Vec<ActionResult> {
        self.filter_map(|kind| match kind {
            Kind::ActionPerformed(performed) => {
                performed.outcome.as_ref().map(|outcome| outcome.result())
            }
            _ => None,
        })
    }

    /// Returns the points of all performed clicks, in screen pixels.
    #[must_use]
    pub fn clicks(&self) -> Vec<(i32, i32)> {
        let performed = self.filter_map(|kind| match kind {
            Kind::ActionPerformed(performed) => {
                let outcome = performed.outcome.as_ref()?;
                (outcome.result() == ActionResult::Performed).then(|| performed.action_id.clone())
            }
            _ => None,
        });
        self.filter_map(|kind| match kind {
            Kind::ActionIntended(intended) => {
                let point = clicked_point(intended)?;
                performed.contains(&intended.action_id).then_some(point)
            }
            _ => None,
        })
    }

    /// Returns the reason and message of a failed task.
    ///
    /// # Panics
    /// If the task did not fail.
    #[must_use]
    pub fn failure(&self) -> (String, String) {
        let failure = tasks::failure(&self.0);
        (failure.reason, failure.message)
    }
}

fn clicked_point(intended: &wire::ActionIntended) -> Option<(i32, i32)> {
    let Some(Action::Click(click)) = &intended.action.as_ref()?.action else {
        return None;
    };
    let target = click.at.as_ref()?.target.as_ref()?;
    match target {
        motorium_proto::v1::common::target::Target::Point(point) => Some((point.x, point.y)),
        _ => None,
    }
}
