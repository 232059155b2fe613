//! A task over a whole service: every decision is performed, and the next call sees its effect.

use motorium_kit::config::Environment;
use motorium_planner::{PlannerService, Settings};
use motorium_proto::domain::decision::{Decision, Next, PastAction, PastStep};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::service::{PlanRequest, PlannedDecision, Planner as _};

use crate::request::{request, solid_screenshot};

/// Number of earlier steps whose images are shown again.
const PAST_IMAGES: usize = 2;

/// Builds the service from these settings, with an empty environment.
pub(crate) fn service(settings: &str) -> PlannerService {
    let settings: Settings = toml::from_str(settings).unwrap();
    settings.resolve_in(&Environment::default()).unwrap()
}

/// A task in progress.
pub(crate) struct Task {
    pub(crate) service: PlannerService,
    pub(crate) request: PlanRequest,
}

impl Task {
    /// Creates a task with this goal, whose screens differ between steps.
    pub(crate) fn new(settings: &str, goal: &str) -> Self {
        Self {
            service: service(settings),
            request: PlanRequest {
                image: Some(solid_screenshot(20)),
                ..request(goal, "button 20,40 80x30 \"Save\"")
            },
        }
    }

    /// Decides a step and performs it.
    pub(crate) async fn step(&mut self) -> PlannedDecision {
        let planned = self.service.plan(self.request.clone()).await.unwrap();
        self.perform(&planned.decision);
        planned
    }

    fn perform(&mut self, decision: &Decision) {
        let Next::Act(actions) = &decision.next else {
            panic!("{decision:?}")
        };
        let past = actions.iter().map(|planned| PastAction {
            planned: planned.clone(),
            outcome: ActionOutcome::new(ActionResult::Performed, ""),
            effect: None,
            retries: 0,
            target_label: None,
        });
        let number = self.request.history.len() as u32 + 1;
        self.request.history.push(PastStep {
            step: number,
            thought: decision.thought.clone(),
            actions: past.collect(),
            image: self.request.image.clone(),
            frame_size: Some(self.request.frame.size),
            ..PastStep::default()
        });
        let old = self.request.history.len().saturating_sub(PAST_IMAGES);
        for step in &mut self.request.history[..old] {
            step.image = None;
        }
        self.request.conversation = decision.conversation.clone();
        let backend = &mut self.request.conversation_backend;
        backend.clone_from(&decision.backend);
        self.request.image = Some(solid_screenshot(20 * (number as u8 + 1)));
    }
}
