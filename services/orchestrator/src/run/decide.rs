//! Asks the planner what to do on the current screen.
//!
//! The decision is not judged or carried out here: [`super::gate`] and [`super::actuator`] do that.

use bytes::Bytes;
use motorium_messages::{Language, Message};
use motorium_proto::domain::decision::{Next, PastAction, PastStep, Usage};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::session::{FileOrigin, TaskContext, TaskFile, UserImage};
use motorium_proto::limits::{MAX_IMAGE_MESSAGE_BYTES, MAX_USER_IMAGES};
use motorium_proto::service::{PlanRequest, Result};
use motorium_store::BlobStore;
use tokio::time::Instant;

use super::RunResult;
use super::actuator::cancelled_unsent;
use super::context::RunContext;
use super::functions::Functions;
use super::hooks::{self, ImageCounts};
use super::injection::injection_evidence;
use super::observe::finish_step;
use super::recorder::{ExchangeTexts, PendingArtifact};
use super::screen::Screen;
use crate::hooks::event::ModelCallPurpose;
use motorium_task::event::{Artifact, Event, StoredExchange};
use motorium_task::limits;
use motorium_task::{
    Abandonment, ActionRecord, ApprovalState, ApprovalSubject, AttachedImage, StepRecord, Task,
};

/// Maximum size of all images of a request in bytes.
// A quarter of the message limit is left for the rest of the request.
const MAX_IMAGE_BYTES: u64 = (MAX_IMAGE_MESSAGE_BYTES / 4 * 3) as u64;

/// Asks the planner for decisions and extractions.
#[derive(Debug, Default)]
pub(super) struct Planning {
    /// True if any backend needs screenshots.
    pub(super) needs_image: bool,
    pub(super) applications: Vec<String>,
    /// Folder of the desktop's files; empty if it is not known.
    pub(super) files_folder: String,
}

impl Planning {
    pub(super) async fn decide(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        functions: &Functions,
    ) -> RunResult {
        let began = Instant::now();
        let Some(mut request) = self.plan_request(run, screen, functions) else {
            // The step was started by another run; its observation is not known here.
            return finish_step(run, screen).await;
        };
        let (mut images, blobs) = (self.plan_images(run.task()), run.recorder.blobs().clone());
        let counted = images.count(conversation_images(run.task()));
        let call = hooks::before_model_call(run, ModelCallPurpose::Plan, counted).await?;
        images.keep_latest(call.past_images);
        images.keep_within(MAX_IMAGE_BYTES);
        request.notices.extend(call.notices.iter().cloned());
        let planned = run
            .call(Message::OperationPlan, move |ports| {
                let (mut request, images) = (request.clone(), images.clone());
                let blobs = blobs.clone();
                async move {
                    images.attach(&blobs, &mut request).await?;
                    ports.planner.plan(request).await
                }
            })
            .await?;
        let decision = planned.decision;
        run.record_timing("decide", began);
        let skipped = planned.attempts.iter().map(|attempt| attempt.usage);
        let used = skipped.fold(decision.usage, Usage::plus);
        for attempt in planned.attempts {
            // Their exchange is part of that of the decision.
            let exchange = StoredExchange::default();
            run.defer(Event::BackendSkipped { attempt, exchange });
        }
        let suspected_injections = decision.suspected_injections.clone();
        let acts = matches!(decision.next, Next::Act(_));
        let progress = decision.progress.clone();
        let elapsed = began.elapsed();
        let exchange = ExchangeTexts {
            requests: planned.requests,
            responses: planned.responses,
        };
        let stored = store_exchange(run, planned.annotated_image.as_ref(), &exchange).await;
        let (annotated_image, exchange) = stored.as_ref().ok().cloned().unwrap_or_default();
        let decided = Event::Decided {
            decision: Box::new(decision),
            elapsed,
            annotated_image,
            exchange,
        };
        run.defer(decided);
        // The decision is paid for, so it is recorded even if its image cannot be stored.
        stored?;
        if !suspected_injections.is_empty() {
            let evidence = injection_evidence(run, &suspected_injections).await?;
            let suspected = Event::InjectionSuspected {
                suspected_injections,
                evidence,
            };
            run.defer(suspected);
        }
        hooks::after_usage(run, used).await;
        let decision = hooks::decision_for_hooks(run);
        let denied = hooks::after_model_call(run, &call, decision.as_ref(), began).await?;
        if let Some(message) = denied {
            return run.refuse(message).await;
        }
        if !progress.is_empty() && !repeats_progress(run.task()) {
            hooks::show_progress(run, progress).await?;
        }
        // A decision to act is stored together with the intent of its first action: one commit less.
        if acts { Ok(()) } else { run.flush().await }
    }

    fn plan_request(
        &self,
        run: &RunContext,
        screen: &Screen,
        functions: &Functions,
    ) -> Option<PlanRequest> {
        let view = screen.view()?;
        let observation = &view.observation;
        let task = run.task();
        let written_by_model = run.config.features.tell_authors && task.is_written_by_model();
        Some(PlanRequest {
            goal: task.spec.goal.clone(),
            instructions: instructions(task),
            frame: observation.frame.clone(),
            image: None,
            scene: observation.scene.clone(),
            history: history(task),
            user_messages: task.current_messages.clone(),
            remaining: limits::remaining(task, run.now()),
            functions: functions.declarations(),
            conversation: task.conversation.clone(),
            conversation_backend: task.conversation_backend.clone(),
            backends: task.spec.backends.clone(),
            platform: run.desktop.platform,
            language: task.spec.language.clone(),
            notices: task.notices.clone(),
            applications: self.applications.clone(),
            current_url: task.open_step().and_then(|step| step.current_url.clone()),
            context: self.context(task),
            written_by_model,
            person_texts: match written_by_model {
                true => task.user_texts().map(str::to_owned).collect(),
                false => Vec::new(),
            },
        })
    }

    /// Returns the background of a task, with the results that it has to save, and the user's latest images without their
    /// content.
    fn context(&self, task: &Task) -> TaskContext {
        let mut context = task.context.clone();
        let images = latest_user_images(task).iter().map(|image| UserImage {
            name: image.name.clone(),
            image: None,
            step: image.step,
        });
        context.images = images.collect();
        let is_there = |name: &str| task.context.files.iter().any(|file| file.name == name);
        let missing = task.spec.results.iter().filter(|name| !is_there(name));
        let wanted = missing.map(|name| TaskFile {
            name: name.clone(),
            path: path_in(&self.files_folder, name),
            origin: FileOrigin::Wanted,
        });
        context.files.extend(wanted);
        context
    }

    /// Returns the images that may be sent to the planner: of this step and of earlier ones.
    fn plan_images(&self, task: &Task) -> PlanImages {
        if !self.needs_image {
            return PlanImages::default();
        }
        PlanImages {
            current: task.open_step().and_then(stored_image),
            past: decided_steps(task)
                .enumerate()
                .filter_map(|(index, step)| Some((index, stored_image(step)?)))
                .collect(),
            of_user: latest_user_images(task)
                .iter()
                .map(|image| {
                    Some(StoredImage {
                        artifact: image.shown.artifact.clone(),
                        size: image.shown.size,
                    })
                })
                .collect(),
        }
    }
}

/// Stores what belongs to the decision of the open step: the annotated screenshot as the model received it, the requests, and
/// the responses as its provider sent them.
async fn store_exchange(
    run: &mut RunContext,
    image: Option<&Image>,
    exchange: &ExchangeTexts,
) -> RunResult<(Option<Artifact>, StoredExchange)> {
    if image.is_none() && exchange.is_empty() {
        return Ok(<_>::default());
    }
    let step = run.task().steps.last().map_or(0, |step| step.number);
    let annotated = PendingArtifact::image(image, &format!("step-{step}-annotated"));
    let requests = PendingArtifact::messages(&exchange.requests, &format!("step-{step}-requests"));
    let responses =
        PendingArtifact::messages(&exchange.responses, &format!("step-{step}-responses"));
    let [annotated, requests, responses] = run.store([annotated, requests, responses]).await?;
    let stored = StoredExchange {
        requests,
        responses,
    };
    Ok((annotated, stored))
}

/// Returns whether the open step continues the wait of the last one: its line of progress is shown already.
fn repeats_progress(task: &Task) -> bool {
    matches!(task.steps.as_slice(), [.., before, step] if step.looks_again_after(before))
}

/// Returns the images of the user that the planner is sent.
fn latest_user_images(task: &Task) -> &[AttachedImage] {
    let images = &task.user_images;
    &images[images.len().saturating_sub(MAX_USER_IMAGES)..]
}

/// Returns the user's instructions and the messages sent before the first step.
fn instructions(task: &Task) -> String {
    let written = Some(&task.spec.instructions).filter(|text| !text.is_empty());
    let texts = written.into_iter().chain(&task.initial_messages);
    texts.map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Stored images of a request. They are read for each call and not held during it, because a planner takes seconds.
#[derive(Debug, Clone, Default)]
struct PlanImages {
    current: Option<StoredImage>,
    /// Images of earlier steps, with the index of their step in the history.
    past: Vec<(usize, StoredImage)>,
    /// Images that the user attached, in the order of the request; `None` for those that do not fit.
    of_user: Vec<Option<StoredImage>>,
}

#[derive(Debug, Clone)]
pub(super) struct StoredImage {
    artifact: Artifact,
    size: CaptureSize,
}

/// Returns the screenshot of a step, without annotations.
pub(super) fn stored_image(step: &StepRecord) -> Option<StoredImage> {
    Some(StoredImage {
        artifact: step.image.clone()?,
        size: step.frame_size?,
    })
}

impl PlanImages {
    /// Counts the images, given the images that the planner's conversation contains.
    fn count(&self, shown: &[[u8; 32]]) -> ImageCounts {
        let past = self.past.iter().map(|(_, image)| image.artifact.sha256);
        let last = |image: &[u8; 32]| past.clone().rposition(|one| one == *image);
        let oldest = shown.iter().filter_map(last).min();
        ImageCounts {
            current: usize::from(self.current.is_some()),
            past: self.past.len(),
            in_conversation: oldest.map_or(0, |oldest| self.past.len() - oldest),
        }
    }

    fn keep_latest(&mut self, past: u32) {
        let past = usize::try_from(past).unwrap_or(usize::MAX);
        let without = self.past.len().saturating_sub(past);
        self.past.drain(..without);
    }

    /// Keeps the current screenshot, of the user's images the latest that fit into `bytes` beside it, and then the latest of
    /// the other screenshots. Images that are left out stay named, and are not shown.
    fn keep_within(&mut self, bytes: u64) {
        let current = self.current.iter().map(StoredImage::bytes).sum();
        let mut room = bytes.saturating_sub(current);
        let fits = |image: &&Option<StoredImage>| match image {
            Some(image) => room
                .checked_sub(image.bytes())
                .map(|rest| room = rest)
                .is_some(),
            None => true,
        };
        let fitting = self.of_user.iter().rev().take_while(fits).count();
        let without = self.of_user.len() - fitting;
        self.of_user[..without].fill(None);
        let always = self.current.iter().chain(self.of_user.iter().flatten());
        let mut left = bytes.saturating_sub(always.map(StoredImage::bytes).sum());
        let fits = |(_, image): &&(usize, StoredImage)| match left.checked_sub(image.bytes()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let fitting = self.past.iter().rev().take_while(fits).count();
        self.past.drain(..self.past.len() - fitting);
    }

    async fn attach(&self, blobs: &BlobStore, request: &mut PlanRequest) -> Result<()> {
        let past = self.past.iter().map(|(_, image)| image);
        let of_user = self.of_user.iter().flatten();
        let images = self.current.iter().chain(past).chain(of_user);
        let images: Vec<&StoredImage> = images.collect();
        let names = images.iter().map(|image| image.artifact.sha256.into());
        let read = blobs.get_all(names.collect()).await;
        let read = read.map_err(|error| error.report())?;
        let mut read = images
            .into_iter()
            .zip(read)
            .map(|(stored, bytes)| stored.image(bytes));
        if self.current.is_some() {
            request.image = read.next();
        }
        for (index, _) in &self.past {
            request.history[*index].image = read.next();
        }
        for (image, stored) in request.context.images.iter_mut().zip(&self.of_user) {
            image.image = stored.as_ref().and_then(|_| read.next());
        }
        Ok(())
    }
}

impl StoredImage {
    fn bytes(&self) -> u64 {
        self.artifact.size_bytes
    }

    pub(super) async fn read(&self, blobs: &BlobStore) -> Result<Image> {
        let bytes = blobs.get(self.artifact.sha256).await;
        bytes
            .map(|bytes| self.image(bytes))
            .map_err(|error| error.report())
    }

    fn image(&self, bytes: Bytes) -> Image {
        Image {
            content: ImageContent::Bytes(bytes),
            media_type: self.artifact.media_type.clone(),
            width: self.size.width.unsigned_abs(),
            height: self.size.height.unsigned_abs(),
            sha256: self.artifact.sha256,
        }
    }
}

/// Returns the hashes of the images that the planner's conversation refers to.
fn conversation_images(task: &Task) -> &[[u8; 32]] {
    let mut decisions = task.steps.iter().rev();
    let last = decisions.find_map(|step| step.decision.as_ref());
    last.map_or(&[], |decision| &decision.conversation_images)
}

/// Returns the ended steps with a decision. The planner does not know a step that a run left before deciding, and such
/// a step must not hide earlier ones.
fn decided_steps(task: &Task) -> impl Iterator<Item = &StepRecord> {
    let ended = task.steps.iter().filter(|step| step.ended_at.is_some());
    ended.filter(|step| step.decision.is_some())
}

pub(super) fn history(task: &Task) -> Vec<PastStep> {
    let mut history: Vec<PastStep> = Vec::new();
    for step in task.steps.iter().filter(|step| step.ended_at.is_some()) {
        match history.last_mut() {
            Some(before) if step.decision.is_none() => {
                before.user_messages.extend(step.user_messages.clone());
            }
            _ if step.decision.is_none() => {}
            _ => history.push(past_step(task, step)),
        }
    }
    history
}

fn past_step(task: &Task, step: &StepRecord) -> PastStep {
    PastStep {
        step: step.number,
        thought: step
            .decision
            .as_ref()
            .map(|decision| decision.thought.clone())
            .unwrap_or_default(),
        actions: past_actions(step, task.spec.message_language()),
        image: None,
        frame_size: step.frame_size,
        function_calls: step.function_calls.clone(),
        function_results: step.function_results.clone(),
        extracted_json: step.extracted.clone(),
        user_messages: user_messages(task, step),
        acknowledged_safety_checks: task
            .acknowledged_checks(step.number)
            .into_iter()
            .cloned()
            .collect(),
    }
}

/// Returns the actions of a step in the decided order. If the step was abandoned, the last one is the action that it was
/// abandoned at: without it, a planner would take the shorter list for a step in which everything was performed.
fn past_actions(step: &StepRecord, language: Language) -> Vec<PastAction> {
    let mut actions: Vec<PastAction> = step.actions.iter().filter_map(past_action).collect();
    let Some(abandonment) = &step.abandonment else {
        return actions;
    };
    let outcome = outcome_of_abandoned(abandonment, language);
    match step.actions.last() {
        // It was performed once without effect; only its retry was abandoned.
        Some(last) if last.performed() && last.retry_due.is_some() => {}
        Some(last) if last.retry_due.is_some() => {
            if let Some(past) = actions.last_mut() {
                past.outcome = outcome;
            }
        }
        Some(last) if !last.performed() => {}
        _ => {
            let planned = step.planned().get(step.actions.len());
            actions.extend(planned.map(|planned| PastAction {
                planned: planned.clone(),
                outcome,
                effect: None,
                retries: 0,
                target_label: None,
            }));
        }
    }
    actions
}

/// Returns the path of a file, in the form of the desktop's platform; empty if the folder is not known.
fn path_in(folder: &str, name: &str) -> String {
    match folder {
        "" => String::new(),
        folder if folder.contains('\\') => format!("{folder}\\{name}"),
        folder => format!("{}/{name}", folder.trim_end_matches('/')),
    }
}

fn outcome_of_abandoned(abandonment: &Abandonment, language: Language) -> ActionOutcome {
    let Abandonment { reason, result } = abandonment;
    match result {
        ActionResult::Cancelled => cancelled_unsent(reason, language),
        _ => ActionOutcome::new(*result, reason.clone()),
    }
}

/// Returns what people said after a step: messages, and their answers to its approvals that were denied.
fn user_messages(task: &Task, step: &StepRecord) -> Vec<String> {
    let denied = task.approvals.iter().filter(|approval| {
        approval.state == ApprovalState::Denied
            && matches!(approval.subject, ApprovalSubject::Action(_))
            && (0..step.planned().len()).any(|index| approval.is_for(step.number, index))
    });
    let answers = denied.map(|approval| approval.message.trim());
    let answers = answers
        .filter(|answer| !answer.is_empty())
        .map(str::to_owned);
    answers.chain(step.user_messages.iter().cloned()).collect()
}

fn past_action(action: &ActionRecord) -> Option<PastAction> {
    Some(PastAction {
        planned: action.planned.clone(),
        outcome: action.outcome.clone()?,
        effect: action.effect.clone(),
        retries: action.retries,
        target_label: action.target_label.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image_of_size(size_bytes: u64) -> StoredImage {
        StoredImage {
            artifact: Artifact {
                sha256: [0; 32],
                media_type: "image/webp".to_owned(),
                size_bytes,
                file_name: "frame.webp".to_owned(),
            },
            size: CaptureSize::new(1920, 1080),
        }
    }

    #[test]
    fn conversation_counts_shown_images_and_all_later_ones() {
        let named = |name: u8| StoredImage {
            artifact: Artifact {
                sha256: [name; 32],
                ..image_of_size(1).artifact
            },
            ..image_of_size(1)
        };
        // The third screen equals the first one.
        let images = PlanImages {
            current: Some(named(4)),
            past: [1, 2, 1, 3].map(named).into_iter().enumerate().collect(),
            of_user: vec![Some(named(1))],
        };
        let held = |shown: &[u8]| {
            let shown: Vec<[u8; 32]> = shown.iter().map(|name| [*name; 32]).collect();
            images.count(&shown).in_conversation
        };
        assert_eq!(held(&[]), 0);
        assert_eq!(held(&[3]), 1);
        assert_eq!(held(&[1, 3]), 2);
        assert_eq!(held(&[2, 1, 3]), 3);
        assert_eq!(held(&[9]), 0, "of another task, or gone");
    }

    #[test]
    fn latest_images_are_kept_within_the_message_limit() {
        let kept_beside = |of_user: &[u64], bytes| {
            let mut images = PlanImages {
                current: Some(image_of_size(10)),
                past: [30, 5, 20]
                    .map(image_of_size)
                    .into_iter()
                    .enumerate()
                    .collect(),
                of_user: of_user
                    .iter()
                    .map(|bytes| Some(image_of_size(*bytes)))
                    .collect(),
            };
            images.keep_within(bytes);
            let steps = images.past.iter().map(|(step, _)| *step);
            steps.collect::<Vec<_>>()
        };
        let kept = |bytes| kept_beside(&[], bytes);
        assert_eq!(kept(65), [0, 1, 2]);
        assert_eq!(kept(64), [1, 2]);
        assert_eq!(kept(34), [2]);
        assert_eq!(kept(29), [0; 0]);
        assert_eq!(kept(1), [0; 0], "the present one alone");
        assert_eq!(kept_beside(&[7, 3], 75), [0, 1, 2]);
        assert_eq!(kept_beside(&[7, 3], 74), [1, 2]);
        // The screenshot, 5 and 20 go before an image that leaves no room for them, and the newest image goes first.
        assert_eq!(kept_beside(&[90, 3], 38), [1, 2]);
    }
}
