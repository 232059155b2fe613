//! Planner and executor of a desktop that plays a recording: the planner decides the recorded action when playback has
//! reached it, and the executor lets playback continue.
//!
//! The target of a click comes from the recording's label, if that has one; otherwise the loop finds it in the scene.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::action::{Action, ActionKind, Target, TextAnchor};
use motorium_proto::domain::decision::{Decision, Next, PlannedAction, Usage};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::{DesktopEpoch, DisplayId};
use motorium_proto::service::{
    AcquireRequest, ActionProgress, BackendInfo, Capabilities, Executor, FileInfo, FileRequest,
    LookUpRequest, PerformRequest, PlanRequest, PlannedDecision, Planner, ReleaseRequest,
    RenewRequest, ResolveRequest, ResolvedTarget, Result, not_served,
};
use tokio::sync::watch;

use crate::recording::ClipLabel;

/// Phase of playback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum PlaybackPhase {
    #[default]
    Before,
    /// Waiting for the action.
    AwaitingAction,
    Acted,
}

#[derive(Debug, Default)]
struct PlaybackState {
    action: Option<Action<Target>>,
    /// Point and bounds of a labelled click.
    labelled: Option<(CapturePoint, CaptureRect)>,
    pointer: CapturePoint,
}

/// Planner and executor of one desktop.
#[derive(Debug)]
pub(crate) struct PlaybackServices {
    display: DisplayId,
    moment: watch::Sender<PlaybackPhase>,
    state: Mutex<PlaybackState>,
}

impl PlaybackServices {
    pub(crate) fn new(display: &str) -> Arc<Self> {
        Arc::new(Self {
            display: DisplayId::new(display),
            moment: watch::Sender::default(),
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, PlaybackState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the action of the next task.
    pub(crate) fn prepare(&self, label: &ClipLabel, action: Action<Target>) {
        self.moment.send_replace(PlaybackPhase::Before);
        let labelled = labelled_click(&action, label.target());
        *self.state() = PlaybackState {
            action: Some(match labelled {
                Some(_) => in_words(action),
                None => action,
            }),
            labelled,
            pointer: CapturePoint::zero(),
        };
    }

    /// Signals that playback has reached the action.
    pub(crate) fn is_due(&self) {
        self.moment.send_replace(PlaybackPhase::AwaitingAction);
    }

    /// Waits until playback has reached a phase.
    pub(crate) async fn reached(&self, moment: PlaybackPhase) {
        let mut now = self.moment.subscribe();
        let reached = now.wait_for(|now| *now >= moment);
        reached.await.expect("the sender is alive");
    }
}

/// Returns the point of a click and the bounds that its label gives for the target.
fn labelled_click(
    action: &Action<Target>,
    target: Option<CaptureRect>,
) -> Option<(CapturePoint, CaptureRect)> {
    let Action::Click {
        at: Some(Target::Point(point)),
        ..
    } = action
    else {
        return None;
    };
    let bounds = target.filter(|bounds| bounds.contains(*point))?;
    Some((*point, bounds))
}

/// Returns the click with its target in words, for which the loop asks this planner.
fn in_words(mut action: Action<Target>) -> Action<Target> {
    if let Action::Click { at, .. } = &mut action {
        *at = Some(Target::Text(TextAnchor {
            text: "the labelled target".to_owned(),
            ..TextAnchor::default()
        }));
    }
    action
}

#[async_trait]
impl Planner for PlaybackServices {
    async fn plan(&self, request: PlanRequest) -> Result<PlannedDecision> {
        let action = self.state().action.take();
        let next = match action {
            Some(action) => {
                self.reached(PlaybackPhase::AwaitingAction).await;
                Next::Act(vec![PlannedAction {
                    action,
                    intent: "perform the recorded action".to_owned(),
                    verify_pointer: false,
                    repeatable: false,
                }])
            }
            None => Next::Done {
                answer: request.goal,
                evidence: vec![],
            },
        };
        Ok(PlannedDecision {
            decision: Decision {
                thought: String::new(),
                progress: String::new(),
                next,
                safety_checks: vec![],
                conversation: Bytes::new(),
                backend: "film".to_owned(),
                model: String::new(),
                usage: Usage::default(),
                suspected_injections: vec![],
                conversation_images: vec![],
            },
            attempts: vec![],
            annotated_image: None,
            requests: Vec::new(),
            responses: Vec::new(),
        })
    }

    async fn resolve_target(&self, _: ResolveRequest) -> Result<ResolvedTarget> {
        let labelled = self.state().labelled;
        let (point, bounds) = labelled.ok_or_else(|| not_served("ResolveTarget"))?;
        Ok(ResolvedTarget {
            point,
            bounds,
            element: None,
            candidates: vec![],
            usage: Usage::default(),
            requests: vec![],
            responses: vec![],
        })
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        Ok(vec![])
    }
}

#[async_trait]
impl Executor for PlaybackServices {
    async fn acquire_desktop(&self, request: AcquireRequest) -> Result<Lease> {
        Ok(Lease {
            display: self.display.clone(),
            epoch: DesktopEpoch(1),
            expires_at: SystemTime::now() + request.ttl,
            journal_checkpoint: None,
        })
    }

    async fn renew_lease(&self, request: RenewRequest) -> Result<Lease> {
        Ok(Lease {
            display: request.display,
            epoch: request.epoch,
            expires_at: SystemTime::now() + request.ttl,
            journal_checkpoint: None,
        })
    }

    async fn release_desktop(&self, _: ReleaseRequest) -> Result<()> {
        Ok(())
    }

    async fn perform(&self, request: PerformRequest) -> Result<ActionOutcome> {
        if let Action::Move { to } = request.action {
            self.state().pointer = to;
            return Ok(ActionOutcome::new(ActionResult::Performed, ""));
        }
        if *self.moment.borrow() == PlaybackPhase::Acted {
            return Ok(ActionOutcome::new(
                ActionResult::Failed,
                "a recording contains one action only",
            ));
        }
        if let Some(&last) = request.action.targets().last() {
            self.state().pointer = last;
        }
        self.moment.send_replace(PlaybackPhase::Acted);
        Ok(ActionOutcome::new(ActionResult::Performed, ""))
    }

    async fn look_up_action(&self, _: LookUpRequest) -> Result<ActionProgress> {
        Ok(ActionProgress::NotStarted)
    }

    async fn release_all(&self, _: Option<DisplayId>) -> Result<Vec<String>> {
        Ok(vec![])
    }

    async fn get_pointer(&self, _: Option<DisplayId>) -> Result<CapturePoint> {
        Ok(self.state().pointer)
    }

    async fn stat_file(&self, _: FileRequest) -> Result<Option<FileInfo>> {
        Ok(None)
    }

    async fn get_capabilities(&self, _: Option<DisplayId>) -> Result<Capabilities> {
        Ok(Capabilities {
            driver: "film".to_owned(),
            action_kinds: ActionKind::ALL.to_vec(),
            applications: vec![],
            url_patterns: vec![],
            forbidden_chords: vec![],
            max_actions_per_second: None,
            secrets: vec![],
            limitations: vec![],
            files_folder: String::new(),
        })
    }
}
