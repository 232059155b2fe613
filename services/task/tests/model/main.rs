//! Model checking of the task state machine and the two leases.
//!
//! The model has two orchestrators and one Executor, with the production state machine and fold. Each of them may crash
//! between any two steps, a lease may expire at any moment (a suspended process does not notice), and a user may pause, resume
//! and cancel. All interleavings within the bounds are explored. Invariants: an action id reaches the desktop at most once,
//! only after its intent is stored, and only from the holder of the newest lease; the log satisfies
//! [`invariants::violation`]; a holder with an expired lease writes nothing.
//!
//! Not modelled: unrelated events, screen contents, and time.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::action::{Action, Button, Target};
use motorium_proto::domain::decision::{Decision, Next, PlannedAction, Usage};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, ChangeMap, Effect, Verdict};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::id::{ActionId, DisplayId, EventSeq, FrameId, TaskName};
use motorium_proto::v1::orchestrator as wire;
use motorium_task::event::{ActionIntended, Event, Observed, RecordedEvent};
use motorium_task::machine::{self, Directive};
use motorium_task::owner::Owner;
use motorium_task::retry::RetryStrategy;
use motorium_task::screen::Fingerprint;
use motorium_task::spec::{LimitRules, TaskSpec};
use motorium_task::{Lifecycle, Task, invariants};
use stateright::{Checker, HasDiscoveries, Model, Property};

/// An event, reduced to what the model needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Entry {
    Created,
    Started,
    Recovered,
    Observed,
    /// Number of decided actions; 0 claims success.
    Decided(u8),
    Intended(Id),
    Outcome(Id, Left),
    Judged(Id, bool),
    /// The flag is true if nothing of the action was sent.
    Retried(Id, bool),
    Finished,
    Succeeded,
    Paused,
    Resumed,
    CancelRequested,
    Cancelled,
}

/// Id of an attempt: step, action index, attempt number.
type Id = (u8, u8, u8);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Left {
    Performed,
    Unknown,
    NothingSent,
}

/// Progress of an action in the Executor's journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Progress {
    Begun,
    Finished,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Executor {
    epoch: u8,
    journal: BTreeMap<Id, Progress>,
    /// Number of times each id reached the desktop.
    reached: BTreeMap<Id, u8>,
    /// It accepted a call without a stored intent.
    accepted_invalid_call: bool,
}

/// An orchestrator's process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
enum Process {
    #[default]
    Idle,
    /// It has claimed the task's row, but not acquired the desktop yet.
    Claimed { epoch: u8 },
    Working {
        epoch: u8,
        desktop: u8,
        doing: Doing,
    },
}

/// Progress between the stored intent and the stored outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Doing {
    Nothing,
    /// The intent is stored; the call is not made yet.
    Sending(Id),
    /// The action was performed; its outcome is not stored yet.
    Answered(Id),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct World {
    log: Vec<Entry>,
    row_epoch: u8,
    processes: [Process; 2],
    executor: Executor,
    crashes: u8,
    commands: u8,
    /// Epochs of the writers, in the order of their appends.
    writers: Vec<u8>,
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The writers are part of the state, because their order is a checked property.
        (&self.log, self.row_epoch, &self.processes, &self.executor).hash(state);
        (self.crashes, self.commands, &self.writers).hash(state);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    /// Claims the row. If it is held, its lease has just expired.
    Claim(usize),
    /// Acquires the desktop, settles unfinished actions, and starts or recovers the task.
    Acquire(usize),
    /// Executes the next directive. The flag is true if the action had an effect.
    Work(usize, bool),
    /// The call reaches the Executor.
    Send(usize),
    /// The action is performed and its outcome returned.
    Perform(usize),
    Crash(usize),
    ExecutorCrash,
    Pause,
    Resume,
    Cancel,
}

/// Size of the model, which bounds the state space.
struct Errand {
    /// Actions per step.
    actions: u8,
    steps: u8,
    /// Maximum number of crashes, over all processes.
    crashes: u8,
    /// Maximum number of user commands.
    commands: u8,
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1)
}

fn name() -> TaskName {
    TaskName::from_segment("t").unwrap()
}

fn action_id((step, index, attempt): Id) -> ActionId {
    machine::action_id(&name(), step.into(), index.into(), attempt.into())
}

fn click<T>(at: T) -> Action<T> {
    Action::Click {
        at: Some(at),
        button: Button::Left,
        count: 1,
        modifiers: vec![],
    }
}

fn planned(number: u8) -> PlannedAction {
    PlannedAction {
        action: click(Target::Point(CapturePoint::new(i32::from(number) * 50, 5))),
        intent: format!("open {number}"),
        verify_pointer: false,
        repeatable: true,
    }
}

fn decision(next: Next) -> Event {
    let decision = Decision {
        thought: String::new(),
        progress: String::new(),
        next,
        safety_checks: vec![],
        conversation: Bytes::new(),
        backend: "b".into(),
        model: String::new(),
        usage: Usage::default(),
        suspected_injections: vec![],
        conversation_images: vec![],
    };
    Event::Decided {
        decision: Box::new(decision),
        elapsed: Duration::ZERO,
        annotated_image: None,
        exchange: motorium_task::event::StoredExchange::default(),
    }
}

fn observed(number: usize) -> Event {
    let frame = Frame {
        id: FrameId::new("f"),
        display: DisplayId::new(":1"),
        origin: CapturePoint::zero(),
        size: CaptureSize::new(10, 10),
        scale: 1.0,
        captured_at: now(),
        cursor: None,
        monitors: vec![],
        windows: vec![],
    };
    Event::Observed(Box::new(Observed {
        frame,
        image: None,
        element_count: 0,
        elapsed: Duration::ZERO,
        fingerprint: Fingerprint([u8::try_from(number).unwrap(); 8]),
        scene: None,
        current_url: None,
    }))
}

/// Returns the event of an entry.
fn event(entry: Entry, number: usize) -> Event {
    match entry {
        Entry::Created => {
            let task = wire::Task {
                goal: "open".into(),
                ..Default::default()
            };
            let spec = TaskSpec::from_wire(
                name(),
                "u".into(),
                Owner::default(),
                task,
                LimitRules::default(),
            );
            Event::Created(Box::new(spec.unwrap()))
        }
        Entry::Started => Event::Started {
            orchestrator: "o".into(),
        },
        Entry::Recovered => Event::Recovered {
            orchestrator: "o".into(),
            unknown_actions: vec![],
        },
        Entry::Observed => observed(number),
        Entry::Decided(0) => decision(Next::Done {
            answer: "ok".into(),
            evidence: vec![],
        }),
        Entry::Decided(actions) => decision(Next::Act((0..actions).map(planned).collect())),
        Entry::Intended(id) => Event::ActionIntended(Box::new(ActionIntended {
            action_id: action_id(id),
            retry_of: id
                .2
                .checked_sub(1)
                .map(|before| action_id((id.0, id.1, before))),
            planned: planned(id.1),
            action: click(CapturePoint::new(5, 5)),
            target: None,
            target_label: None,
        })),
        Entry::Outcome(id, left) => Event::ActionPerformed {
            action_id: action_id(id),
            outcome: match left {
                Left::Performed => ActionOutcome::new(ActionResult::Performed, ""),
                Left::Unknown => ActionOutcome::new(ActionResult::Unknown, ""),
                Left::NothingSent => ActionOutcome::cancelled_unsent("stopped"),
            },
        },
        Entry::Judged(id, changed) => Event::EffectJudged {
            action_id: action_id(id),
            effect: Box::new(Effect {
                verdict: if changed {
                    Verdict::Confirmed
                } else {
                    Verdict::NoEffect
                },
                change: ChangeMap::default(),
                share_near_target: 0.0,
                window_changed: false,
                explanation: String::new(),
                settled: true,
                settle_time: Duration::ZERO,
            }),
            screenshot: None,
        },
        Entry::Retried(id, nothing_sent) => Event::ActionRetried {
            action_id: action_id(id),
            attempts: 1,
            reason: String::new(),
            strategy: if nothing_sent {
                RetryStrategy::Unchanged
            } else {
                RetryStrategy::OffsetPoint
            },
        },
        Entry::Finished => Event::StepFinished {
            timings: vec![],
            outcome: String::new(),
        },
        Entry::Succeeded => Event::Succeeded {
            answer: "ok".into(),
        },
        Entry::Paused => Event::Paused {
            reason: String::new(),
        },
        Entry::Resumed => Event::Resumed,
        Entry::CancelRequested => Event::CancelRequested {
            reason: String::new(),
        },
        Entry::Cancelled => Event::Cancelled {
            reason: String::new(),
        },
    }
}

/// Returns the log in its production form.
fn records(log: &[Entry]) -> Vec<RecordedEvent> {
    let mut step = 0;
    let record = |(number, entry): (usize, &Entry)| {
        step += u32::from(*entry == Entry::Observed);
        RecordedEvent {
            seq: EventSeq(number as i64 + 1),
            at: now(),
            step,
            event: event(*entry, number),
        }
    };
    log.iter().enumerate().map(record).collect()
}

fn fold(log: &[Entry]) -> Task {
    Task::from_events(records(log)).expect("it begins with its creation")
}

impl World {
    /// Appends if the epoch is still the row's, like the store's SQL statement.
    fn append(&mut self, process: usize, epoch: u8, entries: &[Entry]) -> bool {
        if epoch != self.row_epoch {
            self.processes[process] = Process::Idle;
            return false;
        }
        self.log.extend(entries);
        self.writers.push(epoch);
        true
    }

    fn work_with(&mut self, process: usize, epoch: u8, desktop: u8, doing: Doing) {
        self.processes[process] = Process::Working {
            epoch,
            desktop,
            doing,
        };
    }

    /// Acquires the desktop and settles unfinished actions, like the run's `prepare`.
    fn acquire(&mut self, process: usize, epoch: u8) {
        self.executor.epoch += 1;
        let desktop = self.executor.epoch;
        let task = fold(&self.log);
        let begins = task.started_at.is_none();
        let mut entries = vec![if begins {
            Entry::Started
        } else {
            Entry::Recovered
        }];
        for id in self.unfinished() {
            match self.executor.journal.get(&id) {
                Some(Progress::Finished) => entries.push(Entry::Outcome(id, Left::Performed)),
                Some(Progress::Begun | Progress::Unknown) => {
                    entries.push(Entry::Outcome(id, Left::Unknown));
                }
                None => entries.extend([
                    Entry::Outcome(id, Left::NothingSent),
                    Entry::Retried(id, true),
                ]),
            }
        }
        if self.append(process, epoch, &entries) {
            self.work_with(process, epoch, desktop, Doing::Nothing);
        }
    }

    fn last_outcome(&self) -> Id {
        let outcomes = self.log.iter().rev().find_map(|entry| match entry {
            Entry::Outcome(id, _) => Some(*id),
            _ => None,
        });
        outcomes.expect("something was performed")
    }

    fn unfinished(&self) -> Vec<Id> {
        let intended = self.log.iter().filter_map(|entry| match entry {
            Entry::Intended(id) => Some(*id),
            _ => None,
        });
        let has_outcome = |id: &Id| {
            let is_its = |entry: &Entry| matches!(entry, Entry::Outcome(of, _) if of == id);
            self.log.iter().any(is_its)
        };
        intended.filter(|id| !has_outcome(id)).collect()
    }

    /// Executes the next directive.
    fn work(&mut self, errand: &Errand, process: usize, changed: bool) {
        let Process::Working {
            epoch,
            desktop,
            doing,
        } = self.processes[process].clone()
        else {
            return;
        };
        if let Doing::Answered(id) = doing {
            let mut entries = vec![
                Entry::Outcome(id, Left::Performed),
                Entry::Judged(id, changed),
            ];
            if !changed && id.2 == 0 {
                entries.push(Entry::Retried(id, false));
            }
            if self.append(process, epoch, &entries) {
                self.work_with(process, epoch, desktop, Doing::Nothing);
            }
            return;
        }
        let task = fold(&self.log);
        let entries = match machine::directive(&task, now()) {
            Directive::Observe => vec![Entry::Observed],
            Directive::Decide => {
                let acts = task.steps.len() <= usize::from(errand.steps);
                vec![Entry::Decided(if acts { errand.actions } else { 0 })]
            }
            Directive::Act { index } => {
                let step = task.open_step().expect("it is open");
                let before = step.actions.get(index);
                let attempt = before.map_or(0, |record| record.retries + 1);
                let id = (
                    u8::try_from(step.number).unwrap(),
                    u8::try_from(index).unwrap(),
                    u8::try_from(attempt).unwrap(),
                );
                if self.append(process, epoch, &[Entry::Intended(id)]) {
                    self.work_with(process, epoch, desktop, Doing::Sending(id));
                }
                return;
            }
            Directive::Judge => {
                let id = self.last_outcome();
                let again = !changed && id.2 == 0;
                let mut entries = vec![Entry::Judged(id, changed)];
                entries.extend(again.then_some(Entry::Retried(id, false)));
                entries
            }
            Directive::FinishStep => vec![Entry::Finished],
            Directive::Conclude { .. } => vec![Entry::Succeeded],
            Directive::Cancel { .. } => vec![Entry::Cancelled],
            Directive::Ended => {
                self.processes[process] = Process::Idle;
                return;
            }
            Directive::AwaitUser => return,
            other => panic!("this model does not lead to {other:?}"),
        };
        self.append(process, epoch, &entries);
    }

    /// The call reaches the Executor, which checks the lease, then the journal, and then starts the action.
    fn send(&mut self, process: usize) {
        let Process::Working {
            epoch,
            desktop,
            doing: Doing::Sending(id),
        } = self.processes[process].clone()
        else {
            return;
        };
        let task = fold(&self.log);
        if task.cancel_requested.is_some() || task.lifecycle != Lifecycle::Running {
            // The loop checks once more after the intent is stored; a running call is told to stop.
            let entries = [
                Entry::Outcome(id, Left::NothingSent),
                Entry::Retried(id, true),
            ];
            if self.append(process, epoch, &entries) {
                self.work_with(process, epoch, desktop, Doing::Nothing);
            }
            return;
        }
        if desktop < self.executor.epoch {
            // Superseded: the run is abandoned.
            self.processes[process] = Process::Idle;
            return;
        }
        if !self.log.contains(&Entry::Intended(id)) {
            self.executor.accepted_invalid_call = true;
        }
        self.executor.journal.entry(id).or_insert(Progress::Begun);
    }

    fn perform(&mut self, process: usize) {
        let Process::Working {
            epoch,
            desktop,
            doing: Doing::Sending(id),
        } = self.processes[process].clone()
        else {
            return;
        };
        match self.executor.journal.get(&id) {
            Some(Progress::Begun) => {
                *self.executor.reached.entry(id).or_default() += 1;
                self.executor.journal.insert(id, Progress::Finished);
                self.work_with(process, epoch, desktop, Doing::Answered(id));
            }
            Some(Progress::Finished) => {
                self.work_with(process, epoch, desktop, Doing::Answered(id));
            }
            Some(Progress::Unknown) | None => {
                let entries = [Entry::Outcome(id, Left::Unknown)];
                if self.append(process, epoch, &entries) {
                    self.work_with(process, epoch, desktop, Doing::Nothing);
                }
            }
        }
    }

    fn ended(&self) -> bool {
        matches!(self.log.last(), Some(Entry::Succeeded | Entry::Cancelled))
    }

    fn tell(&mut self, entry: Entry) {
        self.commands += 1;
        self.log.push(entry);
    }
}

impl Model for Errand {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            log: vec![Entry::Created],
            row_epoch: 0,
            processes: Default::default(),
            executor: Executor::default(),
            crashes: 0,
            commands: 0,
            writers: vec![],
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        let may_die = world.crashes < self.crashes;
        for (number, process) in world.processes.iter().enumerate() {
            match process {
                // Claiming a held row means that its lease expired, which counts as a crash.
                Process::Idle => {
                    let is_held = world.processes.iter().any(|other| *other != Process::Idle);
                    if !world.ended() && (!is_held || may_die) {
                        actions.push(Step::Claim(number));
                    }
                    continue;
                }
                Process::Claimed { .. } => actions.push(Step::Acquire(number)),
                Process::Working { doing, .. } => match doing {
                    Doing::Nothing => actions.push(Step::Work(number, true)),
                    Doing::Answered(_) => {
                        actions.extend([Step::Work(number, true), Step::Work(number, false)]);
                    }
                    Doing::Sending(id) if world.executor.journal.contains_key(id) => {
                        actions.push(Step::Perform(number));
                    }
                    Doing::Sending(_) => actions.push(Step::Send(number)),
                },
            }
            if may_die {
                actions.push(Step::Crash(number));
            }
        }
        if may_die {
            actions.push(Step::ExecutorCrash);
        }
        if world.commands < self.commands && !world.ended() && world.log.len() > 1 {
            match fold(&world.log).lifecycle {
                Lifecycle::Running => actions.extend([Step::Pause, Step::Cancel]),
                Lifecycle::Paused => actions.push(Step::Resume),
                _ => {}
            }
        } else if world.log.last() == Some(&Entry::Paused) {
            actions.push(Step::Resume);
        }
    }

    fn next_state(&self, before: &World, step: Step) -> Option<World> {
        let mut world = before.clone();
        match step {
            Step::Claim(process) => {
                let held = world.processes.iter().any(|other| *other != Process::Idle);
                world.crashes += u8::from(held);
                world.row_epoch += 1;
                let epoch = world.row_epoch;
                world.processes[process] = Process::Claimed { epoch };
            }
            Step::Acquire(process) => {
                let Process::Claimed { epoch } = world.processes[process] else {
                    return None;
                };
                world.acquire(process, epoch);
            }
            Step::Work(process, changed) => world.work(self, process, changed),
            Step::Send(process) => world.send(process),
            Step::Perform(process) => world.perform(process),
            Step::Crash(process) => {
                world.crashes += 1;
                world.processes[process] = Process::Idle;
            }
            Step::ExecutorCrash => {
                world.crashes += 1;
                for progress in world.executor.journal.values_mut() {
                    if *progress == Progress::Begun {
                        *progress = Progress::Unknown;
                    }
                }
            }
            Step::Pause => world.tell(Entry::Paused),
            Step::Resume => world.tell(Entry::Resumed),
            Step::Cancel => world.tell(Entry::CancelRequested),
        }
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "an action id reaches the desktop at most once",
                |_, world: &World| world.executor.reached.values().all(|times| *times <= 1),
            ),
            Property::always(
                "nothing is performed without a stored intent",
                |_, world: &World| !world.executor.accepted_invalid_call,
            ),
            Property::always("the log keeps its invariants", |_, world: &World| {
                invariants::violation(&records(&world.log)).is_none()
            }),
            Property::always(
                "a holder with an expired lease writes nothing",
                |_, world: &World| world.writers.is_sorted(),
            ),
            Property::always(
                "what is called performed has reached the desktop",
                |_, world: &World| {
                    world.log.iter().all(|entry| match entry {
                        Entry::Outcome(id, Left::Performed) => {
                            world.executor.reached.contains_key(id)
                        }
                        Entry::Outcome(id, Left::NothingSent) => {
                            !world.executor.reached.contains_key(id)
                        }
                        _ => true,
                    })
                },
            ),
            Property::sometimes("it succeeds", |_, world: &World| {
                world.log.last() == Some(&Entry::Succeeded)
            }),
            Property::sometimes(
                "it succeeds after all crashes",
                |model: &Self, world: &World| {
                    world.log.last() == Some(&Entry::Succeeded) && world.crashes == model.crashes
                },
            ),
            Property::sometimes("it is cancelled", |_, world: &World| {
                world.log.last() == Some(&Entry::Cancelled)
            }),
            Property::sometimes("an outcome stays unknown", |_, world: &World| {
                let is_unknown = |entry: &Entry| matches!(entry, Entry::Outcome(_, Left::Unknown));
                world.log.iter().any(is_unknown)
            }),
        ]
    }
}

fn check(errand: Errand) {
    // Stop at the first failure: with a broken fence the state space is unbounded.
    let builder = errand
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures);
    let checker = builder.spawn_bfs().join();
    checker.assert_properties();
    assert!(
        checker.unique_state_count() > 1000,
        "{} states are too few to mean anything",
        checker.unique_state_count()
    );
}

#[test]
fn one_action_in_one_step() {
    check(Errand {
        actions: 1,
        steps: 1,
        crashes: 2,
        commands: 2,
    });
}

/// `MOTORIUM_MODEL_BOUND=2` explores two crashes and pausing with resuming as well, which takes minutes; one action covers
/// both here.
#[test]
fn two_actions_in_one_step() {
    let bound = std::env::var("MOTORIUM_MODEL_BOUND");
    let bound = bound.map_or(1, |number| number.parse().unwrap());
    check(Errand {
        actions: 2,
        steps: 1,
        crashes: bound,
        commands: bound,
    });
}
