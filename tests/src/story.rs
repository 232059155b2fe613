//! Events of a task as tests read them.

use motorium_proto::v1::common::action::Action;
use motorium_proto::v1::common::{ActionResult, EffectVerdict};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::action_retried::Way;
use motorium_proto::v1::orchestrator::event::Kind;

use crate::tasks;

/// The events of a task, in order.
#[derive(Debug, Clone, Default)]
pub struct Story(pub Vec<wire::Event>);

impl Story {
    /// A line for each event, for a test that fails.
    #[must_use]
    pub fn text(&self) -> String {
        tasks::described(&self.0)
    }

    /// What was said of those events that `choose` picks.
    pub fn all<T>(&self, choose: impl Fn(&Kind) -> Option<T>) -> Vec<T> {
        let kinds = self.0.iter().filter_map(|event| event.kind.as_ref());
        kinds.filter_map(choose).collect()
    }

    /// How what had no effect was tried again.
    #[must_use]
    pub fn ways(&self) -> Vec<Way> {
        self.all(|kind| match kind {
            Kind::ActionRetried(retried) => Some(retried.way()),
            _ => None,
        })
    }

    /// What was made of the effects.
    #[must_use]
    pub fn verdicts(&self) -> Vec<EffectVerdict> {
        self.all(|kind| match kind {
            Kind::EffectJudged(judged) => judged.effect.as_ref().map(|effect| effect.verdict()),
            _ => None,
        })
    }

    /// What became of the actions.
    #[must_use]
    pub fn results(&self) -> Vec<ActionResult> {
        self.all(|kind| match kind {
            Kind::ActionPerformed(performed) => {
                performed.outcome.as_ref().map(|outcome| outcome.result())
            }
            _ => None,
        })
    }

    /// Where the clicks went that were performed, on the screen.
    #[must_use]
    pub fn clicks(&self) -> Vec<(i32, i32)> {
        let performed = self.all(|kind| match kind {
            Kind::ActionPerformed(performed) => {
                let outcome = performed.outcome.as_ref()?;
                (outcome.result() == ActionResult::Performed).then(|| performed.action_id.clone())
            }
            _ => None,
        });
        self.all(|kind| match kind {
            Kind::ActionIntended(intended) => {
                let point = clicked_point(intended)?;
                performed.contains(&intended.action_id).then_some(point)
            }
            _ => None,
        })
    }

    /// The reason of a task that failed, and its words.
    ///
    /// # Panics
    /// If it did not fail.
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
