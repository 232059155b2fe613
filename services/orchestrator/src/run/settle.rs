//! After an action: wait until the screen is quiet, then judge what the action did to it.

use std::time::Duration;

use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{AwaitQuiet, CaptureRequest, CompareRequest};
use tokio::time::Instant;
use tonic::Code;

use super::{Flow, Runner, halt};
use crate::effect::{self, Evidence};
use crate::task::event::Event;
use crate::task::machine;
use crate::task::secret_fields::redactions;

/// Why an action is not judged that acted where nobody looks.
const HIDDEN: &str = "it acted where a secret was entered, which is hidden";

/// How long to wait for the first change, and altogether.
struct Patience {
    first_change: Duration,
    altogether: Duration,
}

/// Applications that start and pages that load take longer than a button that answers. The first-change times are
/// also the no-effect windows: nothing is repeated before they are over.
fn patience(kind: ActionKind) -> Patience {
    let (first_change, altogether) = match kind {
        ActionKind::OpenApplication | ActionKind::OpenUrl => (5000, 10_000),
        ActionKind::GoToUrl | ActionKind::GoBack | ActionKind::GoForward | ActionKind::Refresh => {
            (2000, 5000)
        }
        ActionKind::Click | ActionKind::FocusWindow | ActionKind::MouseUp | ActionKind::Drag => {
            (1000, 2500)
        }
        ActionKind::KeyChord | ActionKind::HoldKey | ActionKind::TypeText | ActionKind::Paste => {
            (600, 2500)
        }
        _ => (300, 2000),
    };
    Patience {
        first_change: Duration::from_millis(first_change),
        altogether: Duration::from_millis(altogether),
    }
}

impl Runner {
    pub(super) async fn settle(
        &mut self,
        action_id: &ActionId,
        action: &Action<CapturePoint>,
        target: Option<CaptureRect>,
    ) -> Flow {
        let began = Instant::now();
        let effect = self.judge(action, target).await?;
        self.timed("settle", began);
        let changed = !matches!(effect.verdict, Verdict::NoEffect | Verdict::EndReached);
        if let Some(view) = &mut self.view {
            view.stale |= changed;
        }
        let record = self.task.open_step().and_then(|step| step.actions.last());
        let retry = record.and_then(|record| {
            let reason = machine::retry_reason(record, &effect)?;
            Some((record.retries + 1, reason))
        });
        let judged = Event::EffectJudged {
            action_id: action_id.clone(),
            effect: Box::new(effect),
        };
        self.journal.defer(&mut self.task, judged);
        if let Some((attempts, reason)) = retry {
            let retried = Event::ActionRetried {
                action_id: action_id.clone(),
                attempts,
                reason,
            };
            self.journal.defer(&mut self.task, retried);
        }
        Ok(())
    }

    async fn judge(
        &mut self,
        action: &Action<CapturePoint>,
        target: Option<CaptureRect>,
    ) -> Flow<Effect> {
        let before = self
            .view
            .as_ref()
            .map(|view| view.latest.clone())
            .expect("an action follows an observation");
        // What is hidden is not judged.
        let hidden = self.task.secret_fields.boxes_beside(action);
        let Patience {
            first_change,
            altogether,
        } = patience(action.kind());
        let request = AwaitQuiet {
            display: self.display(),
            since_frame: Some(before.id.clone()),
            first_change_timeout: first_change,
            timeout: altogether,
            ignore: hidden.clone(),
            ..AwaitQuiet::default()
        };
        let quiet = self
            .ask_for_answer("waiting until the screen is quiet", move |ports| {
                let request = request.clone();
                async move { ports.perception.await_quiet(request).await }
            })
            .await?;
        let quiet = match quiet {
            Ok(quiet) => quiet,
            Err(report) => return self.cannot_judge(report),
        };
        let capture = CaptureRequest {
            display: self.display(),
            // The pointer follows every click and is no effect of it.
            omit_cursor: true,
            redactions: redactions(&hidden),
            ..CaptureRequest::default()
        };
        let after = self
            .ask("looking at the screen", move |ports| {
                let request = capture.clone();
                async move { ports.perception.capture(request).await }
            })
            .await?
            .frame;
        let compare = CompareRequest {
            ignore: [quiet.noise.as_slice(), &hidden].concat(),
            near: target.map(effect::near).into_iter().collect(),
            ..CompareRequest::new(before.id.clone(), after.id.clone())
        };
        let comparison = self
            .ask_for_answer("comparing the screen", move |ports| {
                let request = compare.clone();
                async move { ports.perception.compare(request).await }
            })
            .await?;
        let comparison = match comparison {
            Ok(comparison) => comparison,
            Err(report) => return self.cannot_judge(report),
        };
        if let Some(view) = &mut self.view {
            view.latest = after.clone();
        }
        let judged = effect::judge(Evidence {
            action,
            target,
            before: &before,
            after: &after,
            comparison,
            quiet: &quiet,
        });
        let near = target.map(effect::near);
        let may_be_hidden = match near {
            Some(near) => hidden.iter().any(|field| field.intersects(&near)),
            None => action.entered_secret().is_some() && !hidden.is_empty(),
        };
        if may_be_hidden && judged.verdict == Verdict::NoEffect {
            return Ok(effect::unknown(HIDDEN.to_owned()));
        }
        Ok(judged)
    }

    /// What was on the screen before is not known any more: Perception was restarted, or keeps too few frames.
    fn cannot_judge(&mut self, report: ErrorReport) -> Flow<Effect> {
        if report.code != Code::NotFound {
            return Err(halt("judging an action", report));
        }
        self.view = None;
        Ok(effect::unknown(report.message))
    }
}
