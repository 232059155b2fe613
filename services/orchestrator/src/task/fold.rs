//! A task as the sum of its events.
//!
//! Invariant: folding the stored log gives the same task as living through it, so a view, a watcher and a recovered
//! run never disagree. An event that does not fit (one after the end, an outcome without its intent) changes
//! nothing: the log is what happened, the fold only reads it.
//!
//! - `deeds`: what was decided, and what was done about it
//! - `people`: what people have said and done

mod deeds;
mod people;

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DesktopName, EventSeq};

use self::people::{acknowledgement, handed_back};
use super::approval::{Approval, ApprovalState};
use super::event::{Artifact, Event, Failure, Recorded, UserRequest};
use super::loops::Noticed;
use super::record::StepRecord;
use super::risk;
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
            Event::DesktopAcquired { desktop, epoch } => self.acquired(desktop, *epoch),
            Event::AttachmentPut { name, .. } => {
                self.attachments_put.insert(name.clone());
            }
            Event::Observed(observed) => {
                self.heard.append(&mut self.messages);
                self.steps.push(StepRecord::begin(*step, *at, observed));
            }
            Event::Decided { decision, .. } => self.decided(decision),
            Event::ActionIntended(intended) => self.intended(intended),
            Event::ActionPerformed { action_id, outcome } => self.performed(action_id, outcome),
            Event::EffectJudged { action_id, effect } => self.judged(action_id, effect),
            Event::ActionRetried { action_id, way, .. } => self.retried(action_id, *way),
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

    fn acquired(&mut self, desktop: &DesktopName, epoch: DesktopEpoch) {
        let ours = |(name, before): &(DesktopName, DesktopEpoch)| {
            name == desktop && before.0.checked_add(1) == Some(epoch.0)
        };
        // Somebody else has had the desktop: what differs from the frame before is not this task's doing.
        if !self.desktop.as_ref().is_some_and(ours)
            && let Some(step) = self.open_step_mut()
        {
            step.frame = None;
        }
        self.desktop = Some((desktop.clone(), epoch));
    }

    /// The orchestrator went away and another one goes on. Time in which nobody ran it does not count; time in which
    /// somebody did, does.
    fn recover(&mut self, at: SystemTime) {
        if self.running_since.is_some() {
            self.active_before = self.active_time(self.at_work);
            self.running_since = Some(at);
        }
    }

    fn enter(&mut self, lifecycle: Lifecycle, at: SystemTime) {
        self.active_before = self.active_time(at);
        self.running_since = (lifecycle == Lifecycle::Running).then_some(at);
        self.lifecycle = lifecycle;
    }

    fn end(&mut self, lifecycle: Lifecycle, at: SystemTime) {
        self.lapse(ApprovalState::Expired);
        self.enter(lifecycle, at);
        self.ended_at = Some(at);
    }

    /// What was to be done next in the open step cannot be; the planner is told.
    fn miss(&mut self, message: &str) {
        if let Some(step) = self.open_step_mut() {
            step.missed = Some(message.to_owned());
        }
        self.notices.push(message.to_owned());
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
        let worked = || Event::StepFinished { timings: vec![] };
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
