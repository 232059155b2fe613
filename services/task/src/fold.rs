//! A task as the fold of its events.
//!
//! Invariant: folding the stored log gives the same task as applying its events one by one, so a view, a watcher and a
//! recovered run never disagree. An event that does not fit (one after the end, an outcome without its intent) changes
//! nothing: the log is authoritative, and the fold only reads it.
//!
//! - `actions`: decisions, actions and their effects
//! - `user_input`: messages, approvals and manual actions of people

mod actions;
mod user_input;

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_messages::{Message, join_clauses};
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DesktopName, EventSeq};
use motorium_proto::domain::session::{FileOrigin, TaskContext, TaskFile};

pub use self::user_input::Statement;
use self::user_input::{acknowledgement, handed_back, message_text};
use super::approval::{Approval, ApprovalState};
use super::artifact::Artifact;
use super::desktop_wait::DesktopWait;
use super::event::{
    Event, Failure, RecordedEvent, ResultFile, UserImageArtifact, UserRequest, UserRequestKind,
};
use super::loop_notice::IssuedNotice;
use super::record::{Abandonment, StepRecord};
use super::risk;
use super::secret_fields::SecretFields;
use super::spec::{Attachment, TaskSpec};
use super::usage_tally::{UsageTally, request_tokens};

/// State of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lifecycle {
    Pending,
    Running,
    Paused,
    AwaitingUser(UserRequest),
    Succeeded { answer: String },
    Failed(Failure),
    Cancelled { reason: String },
}

impl Lifecycle {
    /// Returns true if the task has ended. A terminal state never changes.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Lifecycle::Succeeded { .. } | Lifecycle::Failed(_) | Lifecycle::Cancelled { .. }
        )
    }
}

/// An image that a user attached, as models are shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedImage {
    /// File name.
    pub name: String,
    /// First step that is decided with it.
    pub step: u32,
    pub shown: UserImageArtifact,
}

/// A task: the fold of its events.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub spec: TaskSpec,
    pub lifecycle: Lifecycle,
    pub desktop: Option<(DesktopName, DesktopEpoch)>,
    /// Position in the Executor's journal at which the lease begins; `None` from an Executor without fences.
    pub journal_checkpoint: Option<String>,
    /// The last action of the lease that the Executor's journal has.
    pub journal_action: Option<ActionId>,
    /// Other tasks may use the desktop while this one waits for an answer.
    pub desktop_released: bool,
    /// The wait for a desktop that was recorded last.
    pub desktop_wait: Option<DesktopWait>,
    pub steps: Vec<StepRecord>,
    /// Time of the first frame that the task saw, on the clock of the desktop.
    pub first_look: Option<SystemTime>,
    pub usage: Usage,
    /// The same usage as the limits count it.
    pub usage_tally: UsageTally,
    /// True if the limits count calls of unknown usage by an estimate: false only in replays of recordings that are older than
    /// the estimate.
    pub estimates_usage: bool,
    pub risky_actions: u32,
    /// Opaque conversation state of the planner, from its last decision.
    pub conversation: Bytes,
    pub conversation_backend: String,
    /// Messages of the user that no step has taken into account yet.
    pub pending_messages: Vec<String>,
    /// Messages of the user from before the open step: its decision takes them into account.
    pub current_messages: Vec<String>,
    /// Messages of the user from before the first step.
    pub initial_messages: Vec<String>,
    /// Every text that was written to the task. Descriptions of manual actions are not in it: they quote labels from the screen.
    pub user_statements: Vec<Statement>,
    /// Number of times the task lost its desktop to a pause or a take-over.
    pub interruptions: u32,
    /// Name of the person who has last taken over the desktop.
    pub operator: String,
    /// Manual actions of the current take-over.
    pub manual_actions: Vec<String>,
    /// Notices of the loop for the planner's next decision.
    pub notices: Vec<String>,
    pub loop_notices: Vec<IssuedNotice>,
    /// First step after the user's last input. Loop detection counts from here.
    pub first_step_after_user_input: u32,
    /// Background of the task besides its goal.
    pub context: TaskContext,
    /// Attachments of messages.
    pub message_attachments: Vec<Attachment>,
    /// Images among the attachments, the oldest first.
    pub user_images: Vec<AttachedImage>,
    /// Number of attachments that were put on the desktop, or could not be.
    pub attachments_put: usize,
    pub artifacts: Vec<Artifact>,
    /// Results that were fetched or attempted.
    pub results: Vec<ResultFile>,
    pub cancel_requested: Option<String>,
    /// Success claims that the completion check rejected.
    pub refused_claims: u32,
    /// Success claims without evidence after which the planner was asked to look once more.
    pub second_looks: u32,
    /// The planner was asked for one since the last action that was to have an effect.
    pub looked_again: bool,
    /// Answer that was written because the task ends without one.
    pub summary: Option<String>,
    /// Approvals, oldest first.
    pub approvals: Vec<Approval>,
    /// A prompt injection was suspected on one of its screens.
    pub suspected_injection: bool,
    /// Regions redacted in every later screenshot.
    pub secret_fields: SecretFields,
    pub last_seq: EventSeq,
    pub created_at: SystemTime,
    pub updated_at: SystemTime,
    pub started_at: Option<SystemTime>,
    pub ended_at: Option<SystemTime>,
    /// Time that counted towards the limit before `counted_since`.
    accumulated_active_time: Duration,
    /// Set while time counts towards the limit.
    counted_since: Option<SystemTime>,
    /// Set in the running state.
    running_since: Option<SystemTime>,
    /// Time of the last event written by a run loop.
    last_active_at: SystemTime,
}

impl Task {
    /// Creates the task from its creation event.
    #[must_use]
    pub fn new(spec: TaskSpec, seq: EventSeq, at: SystemTime) -> Self {
        let context = TaskContext {
            messages: spec.latest_messages(),
            ..TaskContext::default()
        };
        Self {
            spec,
            lifecycle: Lifecycle::Pending,
            desktop: None,
            journal_checkpoint: None,
            journal_action: None,
            desktop_released: false,
            desktop_wait: None,
            steps: Vec::new(),
            first_look: None,
            usage: Usage::default(),
            usage_tally: UsageTally::default(),
            estimates_usage: true,
            risky_actions: 0,
            conversation: Bytes::new(),
            conversation_backend: String::new(),
            pending_messages: Vec::new(),
            current_messages: Vec::new(),
            initial_messages: Vec::new(),
            user_statements: Vec::new(),
            interruptions: 0,
            operator: String::new(),
            manual_actions: Vec::new(),
            notices: Vec::new(),
            loop_notices: Vec::new(),
            first_step_after_user_input: 1,
            context,
            message_attachments: Vec::new(),
            user_images: Vec::new(),
            attachments_put: 0,
            artifacts: Vec::new(),
            results: Vec::new(),
            cancel_requested: None,
            refused_claims: 0,
            second_looks: 0,
            looked_again: false,
            summary: None,
            approvals: Vec::new(),
            suspected_injection: false,
            secret_fields: SecretFields::default(),
            last_seq: seq,
            created_at: at,
            updated_at: at,
            started_at: None,
            ended_at: None,
            accumulated_active_time: Duration::ZERO,
            counted_since: None,
            running_since: None,
            last_active_at: at,
        }
    }

    /// Folds a complete log. Returns `None` if it does not begin with the creation.
    #[must_use]
    pub fn from_events(events: impl IntoIterator<Item = RecordedEvent>) -> Option<Self> {
        let mut events = events.into_iter();
        let first = events.next()?;
        let Event::Created(spec) = first.event else {
            return None;
        };
        let mut task = Self::new(*spec, first.seq, first.at);
        for event in events {
            task.apply(&event);
        }
        Some(task)
    }

    /// Returns the step that has started and is not finished.
    #[must_use]
    pub fn open_step(&self) -> Option<&StepRecord> {
        self.steps.last().filter(|step| step.ended_at.is_none())
    }

    fn open_step_mut(&mut self) -> Option<&mut StepRecord> {
        self.steps.last_mut().filter(|step| step.ended_at.is_none())
    }

    /// Returns the number of steps that count towards the limit: a wait counts once, however often it looks.
    #[must_use]
    pub fn counted_steps(&self) -> usize {
        let pairs = self.steps.iter().zip(self.steps.iter().skip(1));
        let again = pairs.filter(|(before, step)| step.looks_again_after(before));
        self.steps.len() - again.count()
    }

    /// Returns the number of the next step.
    #[must_use]
    pub fn next_step(&self) -> u32 {
        self.steps.last().map_or(1, |step| step.number + 1)
    }

    /// Returns the actions with a stored intent and no outcome.
    pub fn unfinished_actions(&self) -> impl Iterator<Item = &ActionId> {
        self.actions()
            .filter(|action| action.outcome.is_none())
            .map(|action| &action.action_id)
    }

    /// Returns whether a lease of this desktop and epoch continues the last one. Otherwise the Executor's journal is not
    /// the one that the task's actions were recorded in: it is another desktop's, or was lost, or restored from a copy.
    #[must_use]
    pub fn is_continued_by(&self, desktop: &DesktopName, epoch: DesktopEpoch) -> bool {
        let last = self.desktop.as_ref();
        last.is_none_or(|(name, before)| name == desktop && before.0 < epoch.0)
    }

    /// Returns true if the task has been running without a pause for at least `long`.
    #[must_use]
    pub fn has_run_for(&self, long: Duration, now: SystemTime) -> bool {
        let since = self.running_since;
        since.is_some_and(|since| {
            now.duration_since(since)
                .is_ok_and(|running| running >= long)
        })
    }

    /// Returns a message for people in the task's language.
    #[must_use]
    pub fn text(&self, message: Message<'_>) -> String {
        message.text(self.spec.message_language())
    }

    /// Returns the time that counts towards the limit: the task runs, or waits for an answer. Time in which it is paused,
    /// or a person has taken over its desktop, is that person's.
    #[must_use]
    pub fn active_time(&self, now: SystemTime) -> Duration {
        let counted = self
            .counted_since
            .and_then(|since| now.duration_since(since).ok());
        self.accumulated_active_time + counted.unwrap_or_default()
    }

    /// Applies an event.
    pub fn apply(&mut self, recorded: &RecordedEvent) {
        self.last_seq = recorded.seq;
        self.updated_at = recorded.at;
        if self.lifecycle.is_terminal() && !matches!(recorded.event, Event::ResultFetched(_)) {
            return;
        }
        self.apply_live(recorded);
        if recorded.event.is_loop_activity() {
            self.last_active_at = recorded.at;
        }
    }

    fn apply_live(
        &mut self,
        RecordedEvent {
            seq,
            at,
            step,
            event,
        }: &RecordedEvent,
    ) {
        match event {
            Event::Created(_)
            | Event::LiveFrame { .. }
            | Event::HookIntervened { .. }
            | Event::Unknown => {}
            Event::ProgressAdded { text } => {
                if let Some(step) = self.open_step_mut() {
                    step.progress = Some((*seq, text.clone()));
                }
            }
            Event::ProgressCorrected { sequence, text } => self.correct_progress(*sequence, text),
            Event::BackendSkipped { attempt, exchange } => {
                self.count(attempt.usage);
                self.artifacts.extend(exchange.artifacts().cloned());
            }
            Event::Started { .. } => {
                self.started_at.get_or_insert(*at);
                self.enter(Lifecycle::Running, *at);
            }
            Event::Recovered { .. } => self.recover(*at),
            Event::DesktopAcquired {
                desktop,
                epoch,
                journal_checkpoint,
            } => {
                self.acquired(desktop, *epoch);
                self.journal_checkpoint.clone_from(journal_checkpoint);
                self.journal_action = None;
            }
            Event::DesktopReleased { .. } => self.desktop_released = true,
            Event::DesktopAwaited { wait, .. } => self.desktop_wait = Some(wait.clone()),
            Event::SessionLoaded { tasks } => self.context.earlier_tasks.clone_from(tasks),
            Event::AttachmentPut {
                name,
                path,
                error,
                image,
                image_error,
                ..
            } => {
                self.attachment_put(name, path, error);
                self.add_user_image(name, image.as_ref(), image_error);
            }
            Event::Observed(observed) => {
                self.first_look.get_or_insert(observed.frame.captured_at);
                self.current_messages.append(&mut self.pending_messages);
                self.steps.push(StepRecord::begin(*step, *at, observed));
            }
            Event::Decided {
                decision,
                annotated_image,
                exchange,
                ..
            } => self.decided(decision, annotated_image.as_ref(), exchange),
            Event::ActionIntended(intended) => self.intended(intended),
            Event::ActionPerformed { action_id, outcome } => self.performed(action_id, outcome),
            Event::EffectJudged {
                action_id,
                effect,
                screenshot,
            } => {
                self.judged(action_id, effect);
                self.artifacts.extend(screenshot.clone());
            }
            Event::ActionRetried {
                action_id,
                strategy,
                ..
            } => self.retried(action_id, *strategy),
            Event::PointerChecked(checked) => {
                self.count(checked.usage);
                let kept = checked.image.iter().chain(checked.exchange.artifacts());
                self.artifacts.extend(kept.cloned());
            }
            Event::TargetNotResolved { message } => {
                self.abandon_step(message, ActionResult::Failed);
            }
            Event::StepFinished { timings, outcome } => {
                if let Some(step) = self.open_step_mut() {
                    step.ended_at = Some(*at);
                    step.outcome.clone_from(outcome);
                    step.frame = None;
                    step.timings.clone_from(timings);
                }
            }
            Event::Extracted {
                json,
                usage,
                exchange,
                ..
            } => {
                self.count(*usage);
                self.artifacts.extend(exchange.artifacts().cloned());
                if let Some(step) = self.steps.last_mut() {
                    step.extracted = Some(json.clone());
                }
            }
            // A pause or take-over has priority: the request is issued again afterwards.
            Event::UserAsked(request) if self.lifecycle == Lifecycle::Running => {
                self.enter(Lifecycle::AwaitingUser(request.clone()), *at);
            }
            Event::UserAsked(_) => {}
            Event::ApprovalRequested(approval) => self.approval_requested(approval),
            Event::ApprovalResolved(approval) => self.approval_resolved(approval, *at),
            Event::InjectionSuspected { evidence, .. } => {
                self.suspected_injection = true;
                self.artifacts.extend(evidence.iter().flatten().cloned());
            }
            Event::FunctionCalled(call) => {
                let risk = risk::assess_call(call, &self.spec.tool_endpoints);
                self.risky_actions += u32::from(risk.is_some());
                if let Some(step) = self.open_step_mut() {
                    step.function_calls.push(call.clone());
                }
            }
            Event::FunctionReturned { result, .. } => {
                if let Some(step) = self.open_step_mut() {
                    step.returned(result);
                }
            }
            Event::UserAcknowledged {
                message,
                attachments,
                written_by_model,
            } => {
                self.message_attachments.extend(attachments.iter().cloned());
                let language = self.spec.message_language();
                let text = message_text(message, attachments, language);
                self.pending_messages.push(acknowledgement(&text, language));
                self.stated(message, *written_by_model);
                self.first_step_after_user_input = self.next_step();
                self.enter(Lifecycle::Running, *at);
            }
            Event::MessageReceived {
                text,
                attachments,
                written_by_model,
            } => {
                self.message_attachments.extend(attachments.iter().cloned());
                self.pending_messages.push(message_text(
                    text,
                    attachments,
                    self.spec.message_language(),
                ));
                self.stated(text, *written_by_model);
                self.first_step_after_user_input = self.next_step();
            }
            Event::TakenOver { user } => self.taken_over(user, *at),
            Event::HumanActed { description, .. } => self.record_manual_action(description),
            Event::HandedBack { message } => {
                let done = std::mem::take(&mut self.manual_actions);
                let language = self.spec.message_language();
                self.pending_messages
                    .push(handed_back(&done, message, language));
                self.stated(message, false);
                self.first_step_after_user_input = self.next_step();
                self.enter(Lifecycle::Running, *at);
            }
            Event::Paused { .. } => {
                self.interruptions += 1;
                self.enter(Lifecycle::Paused, *at);
            }
            Event::Resumed => self.enter(Lifecycle::Running, *at),
            Event::CancelRequested { reason } => self.cancel_requested = Some(reason.clone()),
            Event::LoopDetected(notice) => {
                self.notices.push(notice.message.clone());
                self.loop_notices.push(IssuedNotice {
                    measure: notice.mitigation,
                    step: self.steps.last().map_or(0, |step| step.number),
                });
            }
            Event::TransientFailure { message, .. } => self.notices.push(message.clone()),
            Event::CompletionChecked {
                passed,
                second_look,
                missing,
            } => {
                self.second_looks += u32::from(*second_look);
                self.looked_again |= *second_look;
                self.refused_claims += u32::from(!passed && !second_look);
                if !passed {
                    self.explain_refused_claim(missing);
                }
            }
            Event::ResultFetched(file) => {
                if let Some(artifact) = &file.artifact {
                    self.add_file(FileOrigin::Saved, &artifact.file_name, &file.path);
                }
                self.artifacts.extend(file.artifact.clone());
                self.results.push(file.clone());
            }
            Event::Summarized {
                text,
                usage,
                exchange,
                ..
            } => {
                self.artifacts.extend(exchange.artifacts().cloned());
                self.count_for_task(*usage);
                self.summary = Some(text.clone());
            }
            Event::EndScreenCaptured { image } => {
                self.artifacts.push(image.clone());
                if let Some(step) = self.steps.last_mut() {
                    step.image_after = Some(image.clone());
                }
            }
            Event::Succeeded { answer } => self.end(
                Lifecycle::Succeeded {
                    answer: answer.clone(),
                },
                *at,
            ),
            Event::Failed(failure) => self.end(Lifecycle::Failed(failure.clone()), *at),
            Event::Cancelled { reason } => self.end(
                Lifecycle::Cancelled {
                    reason: reason.clone(),
                },
                *at,
            ),
        }
    }

    fn add_file(&mut self, origin: FileOrigin, name: &str, path: &str) {
        let files = &mut self.context.files;
        files.retain(|file| (file.origin, file.name.as_str()) != (origin, name));
        files.push(TaskFile {
            name: name.to_owned(),
            path: path.to_owned(),
            origin,
        });
    }

    /// Handles an attachment that was put on the desktop. The planner knows those from before the first step from the
    /// context, and is told of the others.
    fn attachment_put(&mut self, name: &str, path: &str, error: &str) {
        self.attachments_put += 1;
        if error.is_empty() {
            self.add_file(FileOrigin::Attached, name, path);
        }
        let notice = match error {
            "" if self.steps.is_empty() => return,
            "" => Message::FileAttached { name, path },
            error => Message::FileNotAttached { name, error },
        };
        self.notices.push(self.text(notice));
    }

    /// Handles the image that an attachment is, from the next step on. One of the same name takes its place, as the file
    /// does on the desktop.
    fn add_user_image(&mut self, name: &str, image: Option<&UserImageArtifact>, problem: &str) {
        self.user_images.retain(|known| known.name != name);
        if !problem.is_empty() {
            let notice = Message::ImageNotShown { name, problem };
            self.notices.push(self.text(notice));
        }
        if let Some(shown) = image {
            self.artifacts.push(shown.artifact.clone());
            self.user_images.push(AttachedImage {
                name: name.to_owned(),
                step: self.next_step(),
                shown: shown.clone(),
            });
        }
    }

    /// Returns the attachments that are not on the desktop yet: of the task, then of messages.
    #[must_use]
    pub fn pending_attachments(&self) -> Vec<Attachment> {
        let all = self
            .spec
            .attachments
            .iter()
            .chain(&self.message_attachments);
        all.skip(self.attachments_put).cloned().collect()
    }

    fn acquired(&mut self, desktop: &DesktopName, epoch: DesktopEpoch) {
        let ours = |(name, before): &(DesktopName, DesktopEpoch)| {
            name == desktop && before.0.checked_add(1) == Some(epoch.0)
        };
        // An epoch in between means that another holder had the desktop: changes since the last frame are not this task's effect.
        if !self.desktop.as_ref().is_some_and(ours)
            && let Some(step) = self.open_step_mut()
        {
            step.frame = None;
        }
        self.desktop = Some((desktop.clone(), epoch));
        self.desktop_wait = None;
        self.desktop_released = false;
    }

    /// Handles a recovery by another orchestrator. Time in which no run loop worked on the task does not count as active.
    fn recover(&mut self, at: SystemTime) {
        if self.counted_since.is_some() {
            self.accumulated_active_time = self.active_time(self.last_active_at);
            self.counted_since = Some(at);
        }
        self.running_since = self.running_since.map(|_| at);
    }

    fn enter(&mut self, lifecycle: Lifecycle, at: SystemTime) {
        let until_now = self.active_time(at);
        self.running_since = (lifecycle == Lifecycle::Running).then_some(at);
        self.lifecycle = lifecycle;
        self.desktop_released &= self.awaited_answer().is_some();
        let counts = self.running_since.is_some() || self.awaited_answer().is_some();
        // Time that counts before and after goes on: an answer has the time of another clock than the run, which may have been set.
        if !(counts && self.counted_since.is_some()) {
            self.accumulated_active_time = until_now;
            self.counted_since = counts.then_some(at);
        }
    }

    /// Returns the request that the task waits for. A take-over is none: the person is there.
    #[must_use]
    pub fn awaited_answer(&self) -> Option<&UserRequest> {
        match &self.lifecycle {
            Lifecycle::AwaitingUser(request) if request.kind != UserRequestKind::TakeOver => {
                Some(request)
            }
            _ => None,
        }
    }

    fn end(&mut self, lifecycle: Lifecycle, at: SystemTime) {
        self.close_pending_approvals(ApprovalState::Expired);
        self.enter(lifecycle, at);
        self.ended_at = Some(at);
    }

    /// Adds usage to the task and to its last step, so that the steps add up to the task.
    fn count(&mut self, usage: Usage) {
        self.count_for_task(usage);
        if let Some(step) = self.steps.last_mut() {
            step.usage = step.usage.plus(usage);
        }
    }

    fn count_for_task(&mut self, usage: Usage) {
        self.usage = self.usage.plus(usage);
        let frame = self.steps.last().and_then(|step| step.frame_size);
        let text_bytes = self.spec.goal.len() + self.spec.instructions.len();
        let estimate = request_tokens(frame, text_bytes);
        self.usage_tally.add(usage, estimate);
    }

    /// Replaces the line of progress that this event added. A correction of a line that no step shows changes nothing.
    fn correct_progress(&mut self, added: EventSeq, text: &str) {
        let lines = self.steps.iter_mut().rev();
        let mut lines = lines.filter_map(|step| step.progress.as_mut());
        if let Some((_, line)) = lines.find(|(seq, _)| *seq == added) {
            text.clone_into(line);
        }
    }

    /// Drops the rest of the open step and tells the planner why.
    fn abandon_step(&mut self, message: &str, result: ActionResult) {
        if let Some(step) = self.open_step_mut() {
            step.abandonment = Some(Abandonment {
                reason: message.to_owned(),
                result,
            });
        }
        self.notices.push(message.to_owned());
    }

    fn explain_refused_claim(&mut self, missing: &[String]) {
        let language = self.spec.message_language();
        let message = Message::GoalNotReached {
            missing: &join_clauses(missing, language),
        };
        self.notices.push(message.text(language));
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::id::TaskName;
    use motorium_proto::v1::orchestrator as wire;

    use super::*;
    use crate::owner::Owner;
    use crate::samples::{finished, observed, started, with_limits};
    use crate::spec::{LimitRules, Limits};
    use crate::view;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn task(goal: &str) -> Task {
        let name = TaskName::from_segment("t").unwrap();
        let message = wire::Task {
            goal: goal.into(),
            ..Default::default()
        };
        let (owner, rules) = (Owner::default(), LimitRules::default());
        let spec = TaskSpec::from_wire(name, "u".into(), owner, message, rules).unwrap();
        Task::new(spec, EventSeq(1), at(0))
    }

    #[test]
    fn task_messages_use_the_language_of_the_task() {
        let mut task = task("点击“Save”");
        let events = [
            Event::Started {
                orchestrator: "o".into(),
            },
            Event::TakenOver { user: "Ann".into() },
            Event::HumanActed {
                description: "按下了 Enter".into(),
                at: None,
            },
            Event::HandedBack {
                message: "继续".into(),
            },
            Event::UserAcknowledged {
                message: String::new(),
                attachments: vec![],
                written_by_model: false,
            },
        ];
        for (seq, event) in (2..).zip(events) {
            task.apply(&RecordedEvent {
                seq: EventSeq(seq),
                at: at(1),
                step: 0,
                event,
            });
            if let Lifecycle::AwaitingUser(request) = &task.lifecycle {
                assert_eq!(request.message, "Ann 已接管桌面；交还后任务将继续");
            }
        }
        let expected = [
            "用户曾接管桌面，期间按下了 Enter，现已交还。用户留言：继续",
            "我已经操作",
        ];
        assert_eq!(task.pending_messages, expected);
    }

    /// Applies events at the given seconds and checks the active time at the last of them.
    fn check_active_time(happened: Vec<(u64, Event)>, expected: u64) {
        let mut task = task("x");
        let last = happened.last().map_or(0, |(second, _)| *second);
        for (seq, (second, event)) in (2..).zip(happened) {
            task.apply(&RecordedEvent {
                seq: EventSeq(seq),
                at: at(second),
                step: 0,
                event,
            });
        }
        assert_eq!(task.active_time(at(last)), Duration::from_secs(expected));
    }

    #[test]
    fn only_a_later_epoch_of_the_same_desktop_continues_a_lease() {
        let desktop = |name| DesktopName::from_segment(name).unwrap();
        let task = with_limits(Limits::default(), vec![]);
        assert!(task.is_continued_by(&desktop("d"), DesktopEpoch(1)));
        let acquired = Event::DesktopAcquired {
            desktop: desktop("d"),
            epoch: DesktopEpoch(5),
            journal_checkpoint: Some("checkpoint/1".into()),
        };
        let task = with_limits(Limits::default(), vec![acquired]);
        assert_eq!(task.journal_checkpoint.as_deref(), Some("checkpoint/1"));
        for (name, epoch, expected) in [
            ("d", 6, true),
            ("d", 9, true),
            ("d", 5, false),
            ("d", 1, false),
            ("e", 6, false),
        ] {
            let continues = task.is_continued_by(&desktop(name), DesktopEpoch(epoch));
            assert_eq!(continues, expected, "{name}, epoch {epoch}");
        }
    }

    #[test]
    fn only_running_time_counts_as_active() {
        let started = || Event::Started {
            orchestrator: "o".into(),
        };
        let recovered = || Event::Recovered {
            orchestrator: "o".into(),
            unknown_actions: vec![],
        };
        let acquired = || Event::DesktopAcquired {
            desktop: DesktopName::from_segment("d").unwrap(),
            epoch: DesktopEpoch(2),
            journal_checkpoint: None,
        };
        let worked = finished;
        let message = || Event::MessageReceived {
            text: "x".into(),
            attachments: vec![],
            written_by_model: false,
        };
        let paused = || Event::Paused {
            reason: String::new(),
        };
        check_active_time(vec![(10, started()), (15, worked())], 5);
        check_active_time(
            vec![
                (10, started()),
                (12, paused()),
                (50, Event::Resumed),
                (51, worked()),
            ],
            3,
        );
        // The run stopped at 15; a user message at 40 does not show that it ran.
        let crashed = vec![
            (10, started()),
            (15, worked()),
            (40, message()),
            (100, acquired()),
            (100, recovered()),
            (103, worked()),
        ];
        check_active_time(crashed, 8);
        let crashed_while_paused = vec![
            (10, started()),
            (12, paused()),
            (100, recovered()),
            (103, Event::Resumed),
            (104, worked()),
        ];
        check_active_time(crashed_while_paused, 3);
    }

    /// Returns the line of progress of each step, as the API shows it.
    fn progress(events: Vec<Event>) -> Vec<String> {
        let steps = view::steps(&with_limits(Limits::default(), events));
        steps.into_iter().map(|step| step.progress).collect()
    }

    #[test]
    fn a_corrected_line_of_progress_replaces_that_line_only() {
        let line = |text: &str| Event::ProgressAdded {
            text: text.to_owned(),
        };
        let corrected = |sequence, text: &str| Event::ProgressCorrected {
            sequence: EventSeq(sequence),
            text: text.to_owned(),
        };
        // The numbers of the lines are 3 and 6: the creation and the observations come before them.
        let events = vec![
            observed(),
            line("open"),
            finished(),
            observed(),
            line("save"),
        ];
        assert_eq!(progress(events.clone()), ["open", "save"]);
        let later = |event| [events.clone(), vec![event]].concat();
        assert_eq!(progress(later(corrected(3, "opened"))), ["opened", "save"]);
        assert_eq!(progress(later(corrected(6, "saved"))), ["open", "saved"]);
        assert_eq!(progress(later(corrected(2, "x"))), ["open", "save"]);
    }

    #[test]
    fn an_event_of_an_unknown_kind_changes_nothing_but_the_position() {
        let known = with_limits(Limits::default(), vec![started()]);
        let mut task = known.clone();
        let unknown = RecordedEvent {
            seq: EventSeq(3),
            at: at(0),
            step: 0,
            event: Event::Unknown,
        };
        task.apply(&unknown);
        let expected = Task {
            last_seq: EventSeq(3),
            ..known
        };
        assert_eq!(task, expected);
    }
}
