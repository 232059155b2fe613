//! Asking the planner what to do on this screen.

use motorium_proto::domain::decision::{Next, PastAction, PastStep};
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::service::PlanRequest;
use tokio::time::Instant;

use super::{Flow, Runner, halt};
use crate::task::event::Event;
use crate::task::machine;
use crate::task::{ActionRecord, StepRecord};

/// Steps whose pictures are shown to the planner again.
const HISTORY_IMAGES: usize = 3;

impl Runner {
    pub(super) async fn decide(&mut self) -> Flow {
        let began = Instant::now();
        let Some(request) = self.plan_request().await? else {
            // The step was begun by a run that has gone away; what it saw is not known here.
            return self.finish_step().await;
        };
        let planned = self
            .ask("planning", move |ports| {
                let request = request.clone();
                async move { ports.planner.plan(request).await }
            })
            .await?;
        let decision = planned.decision;
        self.timed("decide", began);
        for attempt in planned.attempts {
            self.journal
                .defer(&mut self.task, Event::BackendSkipped(attempt));
        }
        let acts = matches!(decision.next, Next::Act(_));
        let progress = decision.progress.clone();
        let decided = Event::Decided {
            decision: Box::new(decision),
            elapsed: began.elapsed(),
        };
        self.journal.defer(&mut self.task, decided);
        if !progress.is_empty() {
            self.journal
                .defer(&mut self.task, Event::ProgressAdded { text: progress });
        }
        // A decision to act is stored with the intent of its first action.
        if acts {
            Ok(())
        } else {
            self.journal.flush(&mut self.task).await
        }
    }

    async fn plan_request(&mut self) -> Flow<Option<PlanRequest>> {
        let Some(view) = &self.view else {
            return Ok(None);
        };
        let observation = &view.observation;
        let task = &self.task;
        let mut request = PlanRequest {
            goal: task.spec.goal.clone(),
            instructions: task.spec.instructions.clone(),
            frame: observation.frame.clone(),
            image: observation.image.clone().filter(|_| self.needs_image),
            scene: observation.scene.clone(),
            history: task
                .steps
                .iter()
                .filter(|step| step.ended_at.is_some())
                .map(past_step)
                .collect(),
            user_messages: task.heard.clone(),
            remaining: machine::remaining(task, self.now()),
            functions: Vec::new(),
            conversation: task.conversation.clone(),
            conversation_backend: task.conversation_backend.clone(),
            backends: task.spec.backends.clone(),
            platform: self.desktop.platform,
            language: task.spec.language.clone(),
            notices: task.notices.clone(),
            applications: self.applications.clone(),
        };
        if self.needs_image {
            self.attach_history_images(&mut request).await?;
        }
        Ok(Some(request))
    }

    async fn attach_history_images(&self, request: &mut PlanRequest) -> Flow {
        // The current picture is one of them; it comes with the request itself.
        let without_image = request.history.len().saturating_sub(HISTORY_IMAGES - 1);
        let finished = self
            .task
            .steps
            .iter()
            .filter(|step| step.ended_at.is_some());
        for (past, step) in request.history.iter_mut().zip(finished).skip(without_image) {
            let (Some(artifact), Some(size)) = (&step.image, step.frame_size) else {
                continue;
            };
            let bytes = self.blobs.get(artifact.sha256).await;
            let bytes = bytes.map_err(|error| halt("reading a picture", error.report()))?;
            past.image = Some(Image {
                content: ImageContent::Bytes(bytes),
                media_type: artifact.media_type.clone(),
                width: size.width.unsigned_abs(),
                height: size.height.unsigned_abs(),
                sha256: artifact.sha256,
            });
        }
        Ok(())
    }
}

fn past_step(step: &StepRecord) -> PastStep {
    PastStep {
        step: step.number,
        thought: step
            .decision
            .as_ref()
            .map(|decision| decision.thought.clone())
            .unwrap_or_default(),
        actions: step.actions.iter().filter_map(past_action).collect(),
        image: None,
        frame_size: step.frame_size,
        function_calls: Vec::new(),
        function_results: Vec::new(),
        extracted_json: step.extracted.clone(),
        user_messages: step.user_messages.clone(),
    }
}

fn past_action(action: &ActionRecord) -> Option<PastAction> {
    Some(PastAction {
        planned: action.planned.clone(),
        outcome: action.outcome.clone()?,
        effect: action.effect.clone(),
        retries: action.retries,
    })
}
