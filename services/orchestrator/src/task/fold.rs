//! A task as the sum of its events.
//!
//! Invariant: folding the stored log gives the same task as living through it, so a view, a watcher and a recovered
//! run never disagree. An event that does not fit (one after the end, an outcome without its intent) changes
//! nothing: the log is what happened, the fold only reads it.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{
    Decision, FunctionCall, FunctionResult, Next, PlannedAction, SafetyCheck, Usage,
};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Effect};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DesktopName, EventSeq};
use motorium_proto::service::StageTiming;

use super::approval::{Approval, ApprovalState, Subject};
use super::event::{
    ActionIntended, Artifact, Event, Failure, Observed, Recorded, UserRequest, UserRequestKind,
};
use super::loops::Noticed;
use super::retry::Way;
use super::risk;
use super::screen::Fingerprint;
use super::secret_fields::SecretFields;
use super::spec::TaskSpec;

/// Where a task is.
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
    /// Whether it has ended. What has ended stays as it is.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Lifecycle::Succeeded { .. } | Lifecycle::Failed(_) | Lifecycle::Cancelled { .. }
        )
    }
}

/// An action of a step: the last attempt, and how many there were.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRecord {
    pub action_id: ActionId,
    pub planned: PlannedAction,
    /// As it was performed.
    pub action: Action<CapturePoint>,
    pub target: Option<CaptureRect>,
    pub outcome: Option<ActionOutcome>,
    pub effect: Option<Effect>,
    pub retries: u32,
    /// How it was tried again, in order.
    pub ways: Vec<Way>,
    /// The attempt had no effect and another one is due, so.
    pub retry_due: Option<Way>,
}

impl ActionRecord {
    /// Whether it was sent to the application, whole.
    #[must_use]
    pub fn performed(&self) -> bool {
        self.outcome
            .as_ref()
            .is_some_and(|outcome| outcome.result == ActionResult::Performed)
    }

    /// Where it went.
    #[must_use]
    pub fn point(&self) -> Option<CapturePoint> {
        self.action.targets().last().copied()
    }
}

/// One round of the loop.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    /// From 1.
    pub number: u32,
    pub started_at: SystemTime,
    pub ended_at: Option<SystemTime>,
    pub image: Option<Artifact>,
    pub marked_image: Option<Artifact>,
    pub frame_size: Option<CaptureSize>,
    /// The frame that it began with, for as long as it goes on and nobody else has the desktop.
    pub frame: Option<Box<Frame>>,
    /// What the screen was at its beginning.
    pub screen: Fingerprint,
    pub decision: Option<Decision>,
    pub actions: Vec<ActionRecord>,
    /// The target of the next action could not be found.
    pub missed: Option<String>,
    pub extracted: Option<String>,
    /// That were made or that a result says something of.
    pub function_calls: Vec<FunctionCall>,
    /// In the order of the calls; fewer of them while one is under way.
    pub function_results: Vec<FunctionResult>,
    /// What the user said after this step.
    pub user_messages: Vec<String>,
    pub timings: Vec<StageTiming>,
}

impl StepRecord {
    fn begin(number: u32, at: SystemTime, observed: &Observed) -> Self {
        Self {
            number,
            // The event is recorded when the screen has been looked at; looking is part of the step.
            started_at: at.checked_sub(observed.elapsed).unwrap_or(at),
            ended_at: None,
            image: observed.image.clone(),
            marked_image: observed.marked_image.clone(),
            frame_size: Some(observed.frame.size),
            frame: Some(Box::new(observed.frame.clone())),
            screen: observed.fingerprint,
            decision: None,
            actions: Vec::new(),
            missed: None,
            extracted: None,
            function_calls: Vec::new(),
            function_results: Vec::new(),
            user_messages: Vec::new(),
            timings: Vec::new(),
        }
    }

    /// The actions that were decided.
    #[must_use]
    pub fn planned(&self) -> &[PlannedAction] {
        match self.decision.as_ref().map(|decision| &decision.next) {
            Some(Next::Act(actions)) => actions,
            _ => &[],
        }
    }

    /// The function call of which only is known that it was about to be made.
    #[must_use]
    pub fn open_call(&self) -> Option<&FunctionCall> {
        self.function_calls.get(self.function_results.len())
    }

    fn returned(&mut self, result: &FunctionResult) {
        if self.open_call().is_none() {
            // It was not called, and the result says why.
            let decided = self.decided_call(self.function_results.len()).cloned();
            self.function_calls.extend(decided);
        }
        self.function_results.push(result.clone());
    }

    /// The function call that was decided at this place.
    #[must_use]
    pub fn decided_call(&self, index: usize) -> Option<&FunctionCall> {
        match self.decision.as_ref().map(|decision| &decision.next) {
            Some(Next::CallFunctions(calls)) => calls.get(index),
            _ => None,
        }
    }
}

/// A task, as its events have made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub spec: TaskSpec,
    pub lifecycle: Lifecycle,
    pub desktop: Option<(DesktopName, DesktopEpoch)>,
    pub steps: Vec<StepRecord>,
    pub usage: Usage,
    pub risky_actions: u32,
    /// The planner's, from its last decision.
    pub conversation: Bytes,
    pub conversation_backend: String,
    /// Said by the user, and not yet seen by a step.
    pub messages: Vec<String>,
    /// Said by the user before the open step began: what its decision takes into account.
    pub heard: Vec<String>,
    /// Said by the user before the first step.
    pub said_at_first: Vec<String>,
    /// Everything that people have said to it, in their words alone: what they did is told with what is on the screen.
    pub said: Vec<String>,
    /// How often the task's hands were taken off its desktop: by a pause, or by a person.
    pub interruptions: u32,
    /// What a person does who has taken over.
    pub by_hand: Vec<String>,
    /// What the loop wants the planner to know next time.
    pub notices: Vec<String>,
    pub loops_noticed: Vec<Noticed>,
    /// The first step after the user last said something.
    pub heard_from_step: u32,
    pub attachments_put: BTreeSet<String>,
    pub artifacts: Vec<Artifact>,
    /// Names of results that were fetched or tried.
    pub results_fetched: u32,
    pub cancel_requested: Option<String>,
    /// Claims of success that the completion check refused.
    pub refused_claims: u32,
    /// The oldest first.
    pub approvals: Vec<Approval>,
    /// Text on one of its screens gave orders to the planner.
    pub suspected_injection: bool,
    /// Hidden in every picture from then on.
    pub secret_fields: SecretFields,
    pub last_seq: EventSeq,
    pub created_at: SystemTime,
    pub updated_at: SystemTime,
    pub started_at: Option<SystemTime>,
    pub ended_at: Option<SystemTime>,
    /// Time run before `running_since`.
    active_before: Duration,
    running_since: Option<SystemTime>,
    /// When the loop was last seen at work.
    at_work: SystemTime,
}

/// So many deeds of a person are told to the planner; the screen tells the rest.
const MOST_BY_HAND: usize = 30;

impl Task {
    /// A task of which nothing but its creation is known.
    #[must_use]
    pub fn new(spec: TaskSpec, seq: EventSeq, at: SystemTime) -> Self {
        Self {
            spec,
            lifecycle: Lifecycle::Pending,
            desktop: None,
            steps: Vec::new(),
            usage: Usage::default(),
            risky_actions: 0,
            conversation: Bytes::new(),
            conversation_backend: String::new(),
            messages: Vec::new(),
            heard: Vec::new(),
            said_at_first: Vec::new(),
            said: Vec::new(),
            interruptions: 0,
            by_hand: Vec::new(),
            notices: Vec::new(),
            loops_noticed: Vec::new(),
            heard_from_step: 1,
            attachments_put: BTreeSet::new(),
            artifacts: Vec::new(),
            results_fetched: 0,
            cancel_requested: None,
            refused_claims: 0,
            approvals: Vec::new(),
            suspected_injection: false,
            secret_fields: SecretFields::default(),
            last_seq: seq,
            created_at: at,
            updated_at: at,
            started_at: None,
            ended_at: None,
            active_before: Duration::ZERO,
            running_since: None,
            at_work: at,
        }
    }

    /// Folds a whole log. `None` if it does not begin with a creation.
    #[must_use]
    pub fn from_events(events: impl IntoIterator<Item = Recorded>) -> Option<Self> {
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

    /// The step that has begun and is not finished.
    #[must_use]
    pub fn open_step(&self) -> Option<&StepRecord> {
        self.steps.last().filter(|step| step.ended_at.is_none())
    }

    fn open_step_mut(&mut self) -> Option<&mut StepRecord> {
        self.steps.last_mut().filter(|step| step.ended_at.is_none())
    }

    fn last_action_mut(&mut self, id: &ActionId) -> Option<&mut ActionRecord> {
        let action = self.steps.last_mut()?.actions.last_mut()?;
        (action.action_id == *id).then_some(action)
    }

    /// Number of the next step.
    #[must_use]
    pub fn next_step(&self) -> u32 {
        self.steps.last().map_or(1, |step| step.number + 1)
    }

    /// Actions that were intended and of which nothing more is known.
    pub fn unfinished_actions(&self) -> impl Iterator<Item = &ActionId> {
        self.actions()
            .filter(|action| action.outcome.is_none())
            .map(|action| &action.action_id)
    }

    /// Whether it runs, and has for so long without a pause.
    #[must_use]
    pub fn runs_since(&self, long: Duration, now: SystemTime) -> bool {
        let since = self.running_since;
        since.is_some_and(|since| {
            now.duration_since(since)
                .is_ok_and(|running| running >= long)
        })
    }

    /// How long it has run, without the time it waited for the user.
    #[must_use]
    pub fn active_time(&self, now: SystemTime) -> Duration {
        let running = self
            .running_since
            .and_then(|since| now.duration_since(since).ok());
        self.active_before + running.unwrap_or_default()
    }

    /// Takes an event in.
    pub fn apply(&mut self, recorded: &Recorded) {
        self.last_seq = recorded.seq;
        self.updated_at = recorded.at;
        if self.lifecycle.is_terminal() && !matches!(recorded.event, Event::ResultFetched { .. }) {
            return;
        }
        self.apply_live(recorded);
        if recorded.event.shows_work() {
            self.at_work = recorded.at;
        }
    }

    fn apply_live(
        &mut self,
        Recorded {
            at, step, event, ..
        }: &Recorded,
    ) {
        match event {
            Event::Created(_)
            | Event::LiveFrame { .. }
            | Event::ProgressAdded { .. }
            | Event::HookIntervened { .. } => {}
            Event::BackendSkipped(attempt) => self.usage = self.usage.plus(attempt.usage),
            Event::Started { .. } => {
                self.started_at.get_or_insert(*at);
                self.enter(Lifecycle::Running, *at);
            }
            Event::Recovered { .. } => self.recover(*at),
            Event::DesktopAcquired { desktop, epoch } => {
                let ours = |(name, before): &(DesktopName, DesktopEpoch)| {
                    name == desktop && before.0.checked_add(1) == Some(epoch.0)
                };
                // Somebody else has had the desktop: what differs from the frame before is not this task's doing.
                if !self.desktop.as_ref().is_some_and(ours)
                    && let Some(step) = self.open_step_mut()
                {
                    step.frame = None;
                }
                self.desktop = Some((desktop.clone(), *epoch));
            }
            Event::AttachmentPut { name, .. } => {
                self.attachments_put.insert(name.clone());
            }
            Event::Observed(observed) => {
                self.heard.append(&mut self.messages);
                self.steps.push(StepRecord::begin(*step, *at, observed));
            }
            Event::Decided { decision, .. } => self.decided(decision),
            Event::ActionIntended(intended) => self.intended(intended),
            Event::ActionPerformed { action_id, outcome } => {
                if let Some(action) = self.last_action_mut(action_id) {
                    action.outcome = Some(outcome.clone());
                }
                if !outcome.never_happened() && self.entered_secret(action_id) {
                    let pointed_at = self.pointed_at();
                    self.secret_fields.entered(pointed_at);
                }
            }
            Event::EffectJudged { action_id, effect } => {
                if let Some(action) = self.last_action_mut(action_id) {
                    action.effect = Some((**effect).clone());
                    // It came after all, while the next attempt was being prepared.
                    action.retry_due = None;
                }
                if self.entered_secret(action_id) {
                    let frame = self.steps.last().and_then(|step| step.frame_size);
                    self.secret_fields.judged(effect, frame);
                }
            }
            Event::ActionRetried { action_id, way, .. } => {
                if let Some(action) = self.last_action_mut(action_id) {
                    action.ways.push(*way);
                    action.retry_due = Some(*way).filter(|way| way.acts());
                }
            }
            Event::PointerChecked(checked) => {
                self.usage = self.usage.plus(checked.usage);
                self.artifacts.extend(checked.image.clone());
            }
            Event::TargetMissed { message } => {
                self.miss(message);
            }
            Event::StepFinished { timings, .. } => {
                if let Some(step) = self.open_step_mut() {
                    step.ended_at = Some(*at);
                    step.frame = None;
                    step.timings.clone_from(timings);
                }
            }
            Event::Extracted { json, usage, .. } => {
                self.usage = self.usage.plus(*usage);
                if let Some(step) = self.steps.last_mut() {
                    step.extracted = Some(json.clone());
                }
            }
            // Whoever has paused it or has its desktop has the word; what is wanted then is asked for afterwards.
            Event::UserAsked(request) if self.lifecycle == Lifecycle::Running => {
                self.enter(Lifecycle::AwaitingUser(request.clone()), *at);
            }
            Event::UserAsked(_) => {}
            Event::ApprovalRequested(approval) => self.approvals.push((**approval).clone()),
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
            Event::UserAcknowledged { message } => {
                self.messages.push(acknowledgement(message));
                self.said.push(message.clone());
                self.heard_from_step = self.next_step();
                self.enter(Lifecycle::Running, *at);
            }
            Event::MessageReceived { text } => {
                self.messages.push(text.clone());
                self.said.push(text.clone());
                self.heard_from_step = self.next_step();
            }
            Event::TakenOver { user } => self.taken_over(user, *at),
            Event::HumanActed { description, .. } => self.acted_by_hand(description),
            Event::HandedBack { message } => {
                let done = std::mem::take(&mut self.by_hand);
                self.messages.push(handed_back(&done, message));
                self.said.push(message.clone());
                self.heard_from_step = self.next_step();
                self.enter(Lifecycle::Running, *at);
            }
            Event::Paused { .. } => {
                self.interruptions += 1;
                self.enter(Lifecycle::Paused, *at);
            }
            Event::Resumed => self.enter(Lifecycle::Running, *at),
            Event::CancelRequested { reason } => self.cancel_requested = Some(reason.clone()),
            Event::LoopNoticed(notice) => {
                self.notices.push(notice.message.clone());
                self.loops_noticed.push(Noticed {
                    measure: notice.measure,
                    step: self.steps.last().map_or(0, |step| step.number),
                });
            }
            Event::Disturbed { message, .. } => self.notices.push(message.clone()),
            Event::CompletionChecked { passed, missing } => self.checked(*passed, missing),
            Event::ResultFetched { artifact, .. } => {
                self.results_fetched += 1;
                self.artifacts.extend(artifact.clone());
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

    /// The orchestrator went away and another one goes on. Time in which nobody ran it does not count; time in which
    /// somebody did, does.
    fn recover(&mut self, at: SystemTime) {
        if self.running_since.is_some() {
            self.active_before = self.active_time(self.at_work);
            self.running_since = Some(at);
        }
    }

    /// Whatever was decided was decided on another screen than the one that is handed back.
    fn taken_over(&mut self, user: &str, at: SystemTime) {
        self.miss("a person took over");
        self.lapse(ApprovalState::Invalidated);
        self.interruptions += 1;
        self.by_hand.clear();
        let who = if user.is_empty() { "somebody" } else { user };
        self.enter(
            Lifecycle::AwaitingUser(UserRequest::new(
                UserRequestKind::TakeOver,
                format!("{who} has taken over; hand the desktop back to go on"),
            )),
            at,
        );
    }

    fn acted_by_hand(&mut self, description: &str) {
        if !self.is_taken_over() {
            // It was still on its way when the desktop was handed back.
            self.messages
                .push(format!("The person also {description}."));
        } else if self.by_hand.len() < MOST_BY_HAND {
            self.by_hand.push(description.to_owned());
        }
    }

    /// Whether a person has the desktop.
    #[must_use]
    pub fn is_taken_over(&self) -> bool {
        matches!(
            &self.lifecycle,
            Lifecycle::AwaitingUser(request) if request.kind == UserRequestKind::TakeOver
        )
    }

    fn enter(&mut self, lifecycle: Lifecycle, at: SystemTime) {
        self.active_before = self.active_time(at);
        self.running_since = (lifecycle == Lifecycle::Running).then_some(at);
        self.lifecycle = lifecycle;
    }

    /// What a person has said of an action, or that nobody has.
    fn approval_resolved(&mut self, resolved: &Approval, at: SystemTime) {
        let known = self.approvals.iter_mut();
        let Some(approval) = known.rev().find(|known| known.id == resolved.id) else {
            return;
        };
        *approval = resolved.clone();
        // Of a function that is not called its result says so, and the other calls of the step are made.
        let is_action = matches!(resolved.subject, Subject::Action(_));
        if resolved.state != ApprovalState::Approved && is_action {
            self.miss(&resolved.words_for_planner());
        }
        if matches!(&self.lifecycle, Lifecycle::AwaitingUser(request) if request.approval.as_ref() == Some(&resolved.id))
        {
            self.heard_from_step = self.next_step();
            self.enter(Lifecycle::Running, at);
        }
    }

    /// The approvals that wait, and those that were given and not used: they hold no longer.
    fn lapse(&mut self, state: ApprovalState) {
        let waiting = self.approvals.iter_mut();
        for approval in waiting.filter(|approval| approval.state == ApprovalState::Pending) {
            approval.state = state;
        }
    }

    /// The approval that the task waits for.
    #[must_use]
    pub fn pending_approval(&self) -> Option<&Approval> {
        let Lifecycle::AwaitingUser(request) = &self.lifecycle else {
            return None;
        };
        let wanted = request.approval.as_ref()?;
        let mut approvals = self.approvals.iter().rev();
        approvals
            .find(|approval| approval.id == *wanted && approval.state == ApprovalState::Pending)
    }

    /// Checks of the model's provider that a person has read and agreed to, of the decision of this step.
    pub fn acknowledged_checks(&self, step: u32) -> impl Iterator<Item = &SafetyCheck> {
        let beginning = format!("{step}-");
        let given = self.approvals.iter().filter(move |approval| {
            approval.state == ApprovalState::Approved && approval.id.starts_with(&beginning)
        });
        given.flat_map(|approval| &approval.safety_checks)
    }

    /// Everything that the user has said, and nothing that was read elsewhere: a deed of a person names what they clicked.
    pub fn users_words(&self) -> impl Iterator<Item = &str> {
        let answered = self.approvals.iter().filter(|approval| {
            matches!(
                approval.state,
                ApprovalState::Approved | ApprovalState::Denied
            )
        });
        let answers = answered.map(|approval| &approval.message);
        [&self.spec.goal, &self.spec.instructions]
            .into_iter()
            .chain(&self.said)
            .chain(answers)
            .map(String::as_str)
    }

    /// The approval that was asked for last for an action of a step.
    #[must_use]
    pub fn approval_for(&self, step: u32, index: usize) -> Option<&Approval> {
        let mut approvals = self.approvals.iter().rev();
        approvals.find(|approval| approval.is_for(step, index))
    }

    fn end(&mut self, lifecycle: Lifecycle, at: SystemTime) {
        self.lapse(ApprovalState::Expired);
        self.enter(lifecycle, at);
        self.ended_at = Some(at);
    }

    fn decided(&mut self, decision: &Decision) {
        self.usage = self.usage.plus(decision.usage);
        self.conversation = decision.conversation.clone();
        self.conversation_backend.clone_from(&decision.backend);
        self.notices.clear();
        let said = std::mem::take(&mut self.heard);
        match self.steps.as_mut_slice() {
            [.., previous, _] => previous.user_messages.extend(said),
            _ => self.said_at_first.extend(said),
        }
        if let Some(step) = self.open_step_mut() {
            step.decision = Some(decision.clone());
        }
    }

    fn intended(&mut self, intended: &ActionIntended) {
        let retried = intended.retry_of.as_ref();
        let risky = risk::assess(&intended.planned).is_some();
        let Some(step) = self.open_step_mut() else {
            return;
        };
        if let Some(action) = step.actions.last_mut()
            && retried == Some(&action.action_id)
        {
            action.action_id = intended.action_id.clone();
            action.action = intended.action.clone();
            action.outcome = None;
            action.effect = None;
            action.retries += 1;
            action.retry_due = None;
            return;
        }
        step.actions.push(ActionRecord {
            action_id: intended.action_id.clone(),
            planned: intended.planned.clone(),
            action: intended.action.clone(),
            target: intended.target,
            outcome: None,
            effect: None,
            retries: 0,
            ways: Vec::new(),
            retry_due: None,
        });
        self.risky_actions += u32::from(risky);
    }

    fn actions(&self) -> impl DoubleEndedIterator<Item = &ActionRecord> {
        self.steps.iter().flat_map(|step| &step.actions)
    }

    fn entered_secret(&self, action_id: &ActionId) -> bool {
        self.actions().any(|action| {
            action.action_id == *action_id && action.action.entered_secret().is_some()
        })
    }

    /// What was to be done next in the open step cannot be; the planner is told.
    fn miss(&mut self, message: &str) {
        if let Some(step) = self.open_step_mut() {
            step.missed = Some(message.to_owned());
        }
        self.notices.push(message.to_owned());
    }

    /// The box of what was pointed at last.
    #[must_use]
    pub fn pointed_at(&self) -> Option<CaptureRect> {
        self.actions().rev().find_map(|action| action.target)
    }

    fn checked(&mut self, passed: bool, missing: &[String]) {
        if passed {
            return;
        }
        self.refused_claims += 1;
        let missing = missing.join("; ");
        self.notices
            .push(format!("the goal is not reached yet: {missing}"));
    }
}

/// What the planner is told of a desktop that is handed back.
fn handed_back(done: &[String], message: &str) -> String {
    let mut words = "A person had taken over and has handed the desktop back".to_owned();
    if !done.is_empty() {
        words += &format!(", having {}", done.join(", "));
    }
    words.push('.');
    if !message.trim().is_empty() {
        words += &format!(" They say: {}", message.trim());
    }
    words
}

fn acknowledgement(message: &str) -> String {
    if message.is_empty() {
        "I have done it".to_owned()
    } else {
        message.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::id::TaskName;
    use motorium_proto::v1::orchestrator as wire;

    use super::*;
    use crate::task::spec::Limits;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// Applies what happened at these seconds and says how many seconds the task has run at the last of them.
    fn check_active_time(happened: Vec<(u64, Event)>, expected: u64) {
        let name = TaskName::from_segment("t").unwrap();
        let goal = wire::Task {
            goal: "x".into(),
            ..Default::default()
        };
        let spec = TaskSpec::from_wire(name, "u".into(), goal, Limits::default()).unwrap();
        let mut task = Task::new(spec, EventSeq(1), at(0));
        let last = happened.last().map_or(0, |(second, _)| *second);
        for (seq, (second, event)) in (2..).zip(happened) {
            task.apply(&Recorded {
                seq: EventSeq(seq),
                at: at(second),
                step: 0,
                event,
            });
        }
        assert_eq!(task.active_time(at(last)), Duration::from_secs(expected));
    }

    #[test]
    fn only_time_in_which_it_ran_counts() {
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
        };
        let worked = || Event::StepFinished {
            timings: vec![],
            recording: None,
        };
        let said = || Event::MessageReceived { text: "x".into() };
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
        // It stopped at 15; what the user said at 40 is no sign that it ran.
        let crashed = vec![
            (10, started()),
            (15, worked()),
            (40, said()),
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
}
