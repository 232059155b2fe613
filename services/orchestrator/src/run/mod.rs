//! Carrying one task out.
//!
//! A [`Runner`] asks the pure machine what comes next, does it through the three services, records what happened,
//! and asks again. It owns the task while it runs: nobody else appends events of the loop, and the store refuses an
//! owner whose lease is lost. Everything it awaits is abandoned at once when it is told to stop.
//!
//! Invariant: an action is performed only after its intent is in the store, and its outcome is stored before
//! anything else is done.

mod act;
mod again;
mod conclude;
mod decide;
mod dispatcher;
mod evidence;
mod extract;
mod functions;
mod hooks;
mod journal;
mod keeper;
mod lookout;
mod observe;
mod permission;
mod person;
mod pointer;
mod prepare;
mod provenance;
mod ready;
mod settle;
mod stop;
mod suspicion;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use motorium_proto::domain::desktop::Desktop;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::id::FrameId;
use motorium_proto::error::{ErrorReport, reason};
use motorium_proto::service::{Executor, Observation, Perception, Planner, StageTiming};
use motorium_store::BlobStore;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tonic::Code;

use self::functions::Functions;
use self::hooks::Hooks;
use self::keeper::Keeper;
use self::lookout::Lookout;
use crate::effect::{Rule, Stirring};
use crate::functions::Tools;
use crate::hooks::Chain;
use crate::policy::Source;
use crate::policy::provenance::Seen;
use crate::recording::settings::RunSettings;
use crate::recording::{Began, Recorder, Tape, taped};
use crate::task::event::{Event, Failure, UserRequest, UserRequestKind};
use crate::task::loops::{Measure, Notice};
use crate::task::machine::{self, Directive};
use crate::task::{Lifecycle, Task, limits};

pub use dispatcher::Dispatcher;
pub use journal::Journal;
pub use stop::{Stop, StopSignal};

/// How long a service may be unavailable before the task fails.
const PATIENCE: Duration = Duration::from_secs(20);
/// Pause before an unavailable service is asked again, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How long letting go of keys and buttons may take; the end of a lease does the same.
const LET_GO: Duration = Duration::from_secs(2);

/// How long a person has to approve something, if the configuration does not say.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(600);

/// What the configuration leaves to whoever runs it.
#[derive(Debug, Clone)]
pub struct Conduct {
    pub effect: Rule,
    /// A scroll that has reached the end is tried in the other direction.
    pub scroll_back: bool,
    /// The planner's evidence is looked for on the last screen, where the task itself expects nothing.
    pub check_evidence: bool,
    /// What may be done, and what a person is asked about first.
    pub rules: Source,
    /// How long a person has to answer.
    pub approval_timeout: Duration,
    /// A task pauses when somebody else uses mouse or keyboard.
    pub pause_on_human_input: bool,
    /// Whose functions tasks may have called.
    pub tools: Tools,
    /// Who else has a say.
    pub hooks: Chain,
    /// What is asked of other services and answered is kept with each step.
    pub recording: bool,
}

impl Default for Conduct {
    fn default() -> Self {
        Self {
            effect: Rule::default(),
            scroll_back: false,
            check_evidence: true,
            rules: Source::default(),
            approval_timeout: DEFAULT_APPROVAL_TIMEOUT,
            pause_on_human_input: true,
            tools: Tools::default(),
            hooks: Chain::default(),
            recording: true,
        }
    }
}

/// The services that a task is carried out with.
#[derive(Clone)]
pub struct Ports {
    pub perception: Arc<dyn Perception>,
    pub planner: Arc<dyn Planner>,
    pub executor: Arc<dyn Executor>,
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}

/// Why the loop was left in the middle of something.
#[derive(Debug)]
enum Halt {
    /// The loop is to look at the task again: it was cancelled, or its time is up.
    LookAgain,
    /// This process stops; another one will go on.
    Shutdown,
    /// Somebody else owns the task now, or the store is gone: nothing more may be written.
    Lost(String),
    /// Somebody else acts on the desktop.
    Busy,
    /// The task cannot go on.
    Fail(Failure),
}

type Flow<T = ()> = std::result::Result<T, Halt>;

/// What the runner remembers of the screen, and never stores.
#[derive(Debug)]
struct View {
    observation: Observation,
    /// The latest frame: the observed one, or what was captured after an action since.
    latest: Frame,
    /// The screen has changed since it was parsed.
    stale: bool,
}

impl View {
    fn of(observation: Observation) -> Self {
        Self {
            latest: observation.frame.clone(),
            observation,
            stale: false,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// With the task.
    Ended(Lifecycle),
    /// The task is left for another run.
    Left,
}

/// A task, and the desktop that it is carried out on.
#[derive(Debug)]
pub struct Assignment {
    pub task: Task,
    pub desktop: Desktop,
    pub ports: Ports,
}

/// Perception, for what goes on beside the loop.
#[derive(Clone)]
struct Aside(Arc<dyn Perception>);

impl std::fmt::Debug for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aside").finish_non_exhaustive()
    }
}

/// Carries one task out.
#[derive(Debug)]
pub struct Runner {
    ports: Ports,
    /// For what goes on beside the loop, and is not recorded as it does.
    aside: Aside,
    tape: Tape,
    blobs: BlobStore,
    journal: Journal,
    task: Task,
    desktop: Desktop,
    stop: StopSignal,
    orchestrator: String,
    view: Option<View>,
    conduct: Conduct,
    hooks: Hooks,
    /// What moves on the screen by itself.
    stirring: Stirring,
    /// Sees what moves until the first action of the step.
    lookout: Option<Lookout>,
    /// Frames from between the look of the step and its first action, until that is judged.
    idle_frames: Vec<FrameId>,
    /// What was to be read on its screens.
    seen: Seen,
    /// How often the pointer was moved for a check.
    pointer_moves: u64,
    /// The look at the screen for the next step, if it has begun already.
    upcoming: Option<AbortOnDropHandle<motorium_proto::service::Result<Observation>>>,
    timings: Vec<StageTiming>,
    /// Whether any backend wants to see the screen.
    needs_image: bool,
    applications: Vec<String>,
    /// That the planner may have called.
    functions: Functions,
    listener: Option<AbortOnDropHandle<()>>,
    /// Pauses the task when somebody else uses mouse or keyboard.
    onlooker: Option<AbortOnDropHandle<()>>,
    /// Once the desktop is leased.
    keeper: Option<Keeper>,
    /// It is written down that this run carries the task out.
    has_begun: bool,
    /// How often somebody had taken the task's hands off the desktop when the screen was last looked at.
    interruptions: u32,
}

impl Runner {
    /// A runner for a task that was claimed, on a desktop that is free for it.
    pub fn new(
        assignment: Assignment,
        blobs: BlobStore,
        journal: Journal,
        stop: StopSignal,
        orchestrator: String,
        conduct: Conduct,
    ) -> Self {
        let Assignment {
            task,
            desktop,
            ports,
        } = assignment;
        let tape = if conduct.recording {
            Tape::Recording(Recorder::begin(
                &RunSettings::of(&desktop, &conduct),
                task.last_seq,
            ))
        } else {
            Tape::Off
        };
        Self {
            aside: Aside(Arc::clone(&ports.perception)),
            ports,
            tape: Tape::Off,
            blobs,
            journal,
            task,
            desktop,
            stop,
            orchestrator,
            view: None,
            hooks: Hooks::new(&conduct.hooks),
            conduct,
            stirring: Stirring::default(),
            lookout: None,
            idle_frames: Vec::new(),
            seen: Seen::default(),
            pointer_moves: 0,
            upcoming: None,
            timings: Vec::new(),
            needs_image: false,
            applications: Vec::new(),
            functions: Functions::default(),
            listener: None,
            onlooker: None,
            keeper: None,
            has_begun: false,
            interruptions: 0,
        }
        .over(tape)
    }

    /// The same runner, which notes on this tape what it asks, or is told from it.
    pub(crate) fn over(mut self, tape: Tape) -> Self {
        if !matches!(tape, Tape::Off) {
            self.ports = taped(self.ports, &tape);
        }
        self.journal.keep_time_by(tape.clone());
        self.tape = tape;
        self
    }

    /// Runs until the task has ended, or has to be left to somebody else.
    pub async fn run(mut self) -> RunEnd {
        let flow = match self.prepare().await {
            Ok(()) => self.until_the_end().await,
            Err(halt) => self.settle_halt(halt).await,
        };
        if let Some(keeper) = self.keeper.take() {
            keeper.stop().await;
        }
        self.after_run().await;
        let task = &self.task.spec.name;
        let end = match flow {
            Ok(()) if self.task.lifecycle.is_terminal() => RunEnd::Ended(self.task.lifecycle),
            Ok(()) => RunEnd::Left,
            Err(Halt::Lost(reason)) => {
                tracing::warn!(%task, reason, "task is left");
                RunEnd::Left
            }
            Err(halt) => {
                tracing::info!(%task, ?halt, "task is left");
                RunEnd::Left
            }
        };
        self.journal.release().await;
        end
    }

    async fn until_the_end(&mut self) -> Flow {
        loop {
            if self.task.lifecycle.is_terminal() {
                return Ok(());
            }
            if let Err(halt) = self.step_once().await {
                self.settle_halt(halt).await?;
            }
        }
    }

    /// A person who touches mouse or keyboard has the word.
    fn watch_for_people(&mut self) {
        if self.conduct.pause_on_human_input {
            let pausing = self.journal.pause_for_people(self.deeds());
            self.onlooker = Some(AbortOnDropHandle::new(tokio::spawn(pausing)));
        }
    }

    /// Deals with what may be dealt with; gives back what ends the run.
    async fn settle_halt(&mut self, halt: Halt) -> Flow {
        match halt {
            Halt::LookAgain => match machine::directive(&self.refreshed().await?, self.now()) {
                Directive::Cancel { reason } => self.end(Event::Cancelled { reason }).await,
                Directive::Fail(failure) => self.end(Event::Failed(failure)).await,
                _ => Ok(()),
            },
            Halt::Fail(failure) => self.end(Event::Failed(failure)).await,
            halt @ (Halt::Shutdown | Halt::Lost(_) | Halt::Busy) => Err(halt),
        }
    }

    async fn refreshed(&mut self) -> Flow<Task> {
        self.journal.take_in(&mut self.task).await?;
        Ok(self.task.clone())
    }

    async fn step_once(&mut self) -> Flow {
        self.journal.sync(&mut self.task).await?;
        self.stop.seen(self.task.last_seq);
        if self.interruptions != self.task.interruptions {
            self.forget_the_screen();
        }
        match machine::directive(&self.task, self.now()) {
            Directive::Rest => Ok(()),
            Directive::AwaitUser => self.await_user().await,
            Directive::Cancel { reason } => self.end(Event::Cancelled { reason }).await,
            Directive::Fail(failure) => self.end(Event::Failed(failure)).await,
            Directive::Observe => self.observe().await,
            Directive::Decide => self.decide().await,
            Directive::Act { index } => self.act(index).await,
            Directive::Judge => self.judge_what_was_left().await,
            Directive::Refuse { message } => {
                self.record(vec![Event::TargetMissed { message }]).await
            }
            Directive::Extract {
                json_schema,
                instruction,
            } => self.extract(json_schema, instruction).await,
            Directive::CallFunction { index } => self.call_function(index).await,
            Directive::FinishStep => self.finish_step().await,
            Directive::Notice(notice) => self.say(notice).await,
            Directive::Conclude { answer } => self.conclude(answer).await,
            Directive::Ask(request) => self.ask_user(Vec::new(), request).await,
        }
    }

    /// Whatever is on the screen now, it need not be what was there before somebody had the desktop.
    fn forget_the_screen(&mut self) {
        self.interruptions = self.task.interruptions;
        self.view = None;
        self.upcoming = None;
        self.lookout = None;
    }

    /// Says that the task goes round in circles; as the last measure, to the user.
    async fn say(&mut self, notice: Notice) -> Flow {
        let question = UserRequest::new(UserRequestKind::Question, notice.message.clone());
        let asks = notice.measure == Measure::Ask;
        let said = vec![Event::LoopNoticed(notice)];
        if asks {
            return self.ask_user(said, question).await;
        }
        self.record(said).await
    }

    async fn finish_step(&mut self) -> Flow {
        self.lookout = None;
        let timings = std::mem::take(&mut self.timings);
        let finished = Event::StepFinished { timings };
        // Stored with what begins the next step, or ends the task.
        self.journal.defer(&mut self.task, finished);
        Ok(())
    }

    /// Ends the task: lets everything go, fetches its results, and records the end.
    async fn end(&mut self, event: Event) -> Flow {
        if !matches!(event, Event::Succeeded { .. }) {
            self.let_go().await;
        }
        let event = self.before_answer(event).await;
        let mut events = Vec::new();
        events.extend(self.broken_off_call());
        if self.task.open_step().is_some() {
            let timings = std::mem::take(&mut self.timings);
            events.push(Event::StepFinished { timings });
        }
        if !matches!(event, Event::Cancelled { .. }) {
            events.extend(self.fetch_results().await?);
        }
        events.push(event);
        self.record(events).await?;
        self.after_answer().await;
        Ok(())
    }

    /// Records what happened, now.
    async fn record(&mut self, events: Vec<Event>) -> Flow {
        for event in events {
            self.journal.defer(&mut self.task, event);
        }
        self.flush().await
    }

    /// Writes what was deferred.
    async fn flush(&mut self) -> Flow {
        self.journal.flush(&mut self.task).await
    }

    /// Cancelling works from the first moment on, also while the desktop is waited for.
    fn watch_for_commands(&mut self) {
        let listening = self.journal.listen(self.stop.clone());
        self.listener = Some(AbortOnDropHandle::new(tokio::spawn(listening)));
    }

    fn now(&self) -> SystemTime {
        self.tape.now()
    }

    /// How much time has passed.
    fn since(&self, began: Began) -> Duration {
        self.tape.since(began)
    }

    fn timed(&mut self, stage: &str, since: Instant) {
        let elapsed = since.elapsed();
        match self.timings.iter_mut().find(|timing| timing.stage == stage) {
            Some(timing) => timing.elapsed += elapsed,
            None => self.timings.push(StageTiming {
                stage: stage.to_owned(),
                elapsed,
            }),
        }
    }

    /// Awaits something for as long as the task may run and nobody wants it stopped or has the desktop.
    async fn guard<T>(&self, work: impl Future<Output = T>) -> Flow<T> {
        tokio::select! {
            biased;
            stop = self.stop.requested() => {
                self.tape.stopped();
                Err(stop.into())
            }
            _ = self.stop.taken_over() => {
                self.tape.stopped();
                Err(Halt::LookAgain)
            }
            done = work => Ok(done),
            () = self.tape.time_up(self.time_left()) => {
                self.tape.timed_out();
                Err(Halt::LookAgain)
            }
        }
    }

    /// How long the task may still run. Until a run has begun, the time in which nobody ran the task is not counted yet
    /// and would seem to be its own.
    fn time_left(&self) -> Duration {
        let limited = self
            .has_begun
            .then(|| limits::remaining(&self.task, self.now()).time);
        limited.flatten().unwrap_or(Duration::MAX)
    }

    /// Asks a service, again and again while it is unavailable and there is patience left. For calls that change
    /// nothing; performing an action is not one of them.
    async fn ask<T, F>(&mut self, what: &'static str, call: impl Fn(Ports) -> F) -> Flow<T>
    where
        F: Future<Output = motorium_proto::service::Result<T>>,
    {
        let answer = self.ask_for_answer(what, call).await?;
        answer.map_err(|report| halt(what, report))
    }

    /// The same, for calls whose refusal means something.
    async fn ask_for_answer<T, F>(
        &mut self,
        what: &'static str,
        call: impl Fn(Ports) -> F,
    ) -> Flow<motorium_proto::service::Result<T>>
    where
        F: Future<Output = motorium_proto::service::Result<T>>,
    {
        let began = self.tape.begin();
        let mut pause = FIRST_PAUSE;
        loop {
            let report = match self.guard(call(self.ports.clone())).await? {
                Ok(value) => return Ok(Ok(value)),
                Err(report) => report,
            };
            self.count_failed(what, &report).await;
            if !is_transient(&report) || self.since(began) + pause > PATIENCE {
                return Ok(Err(report));
            }
            tracing::warn!(task = %self.task.spec.name, what, %report, "asking again");
            if pause == FIRST_PAUSE {
                let message = format!("{what}: {}", report.message);
                self.record(vec![Event::Disturbed {
                    reason: report.reason,
                    message,
                }])
                .await?;
            }
            self.guard(self.tape.pause(pause)).await?;
            pause *= 2;
        }
    }
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => Halt::LookAgain,
            Stop::Shutdown => Halt::Shutdown,
            Stop::LeaseLost(reason) => Halt::Lost(reason),
        }
    }
}

/// Whether asking again may help. A connection that breaks in the middle of a call shows as one of several codes.
pub(crate) fn is_transient(report: &ErrorReport) -> bool {
    let broken_off = matches!(
        report.code,
        Code::Unknown | Code::Cancelled | Code::Internal
    );
    let unavailable = matches!(
        report.code,
        Code::Unavailable | Code::ResourceExhausted | Code::Aborted
    ) && report.reason != reason::MESSAGE_TOO_LARGE;
    unavailable || (broken_off && report.reason == reason::TRANSPORT)
}

/// What a refusal does to the run: a desktop whose lease is lost is leased anew by the next one.
fn halt(what: &str, report: ErrorReport) -> Halt {
    if report.reason.starts_with("LEASE_") {
        return Halt::Lost(report.message);
    }
    Halt::Fail(Failure {
        message: format!("{what} failed: {}", report.message),
        reason: report.reason,
    })
}
