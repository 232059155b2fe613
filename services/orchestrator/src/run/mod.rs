//! Runs one task.
//!
//! A [`Runner`] asks the pure state machine for the next directive, carries it out through the three services, records
//! the result, and repeats. It owns the task while it runs: no one else appends events of the loop, and the store
//! rejects writes under a lost lease. Whatever it awaits is abandoned at once on a stop request.
//!
//! Invariant: an action is performed only after its intent is stored, and its outcome is stored before anything else
//! happens.

mod act;
mod approval_evidence;
mod conclude;
mod decide;
mod dispatcher;
mod extract;
mod functions;
mod hooks;
mod injection;
mod journal;
mod lease_keeper;
mod motion_monitor;
mod observe;
mod permission;
mod pointer;
mod preflight;
mod prepare;
mod provenance;
pub(crate) mod recorded_settings;
mod retry;
mod settle;
mod stop;
mod takeover;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use motorium_proto::domain::desktop::Desktop;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::id::FrameId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{Observation, Perception, StageTiming};
use motorium_recording::ports::Ports;
use motorium_store::BlobStore;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use self::functions::Functions;
use self::hooks::RunHooks;
use self::lease_keeper::LeaseKeeper;
use self::motion_monitor::MotionMonitor;
use crate::error::is_transient;
use crate::functions::Tools;
use crate::hooks::HookChain;
use crate::run::recorded_settings::RunSettings;
use motorium_policy::PolicySource;
use motorium_policy::provenance::ScreenTexts;
use motorium_recording::recording::{Recorder, RecordingMode, StartTime, recording_ports};
use motorium_task::effect::{BackgroundMotion, EffectCriterion};
use motorium_task::event::{Event, Failure, UserRequest, UserRequestKind};
use motorium_task::loop_detection::{LoopNotice, Mitigation};
use motorium_task::machine::{self, Directive};
use motorium_task::{Lifecycle, Task, limits};

pub use dispatcher::Dispatcher;
pub use journal::Journal;
pub use stop::{StopReason, StopSignal};

/// Maximum time for which calls to an unavailable service are retried before the task fails.
// Covers the restart of a service; a longer outage is better reported to the user.
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);
/// Backoff before the first retry of an unavailable service; doubled for each further retry.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
/// Time limit for releasing keys and buttons. The Executor also releases them when the lease ends.
const INPUT_RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Default time within which an approval has to be given.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(600);

/// Configuration of task runs.
#[derive(Debug, Clone)]
pub struct RunConfig {
    pub effect_rule: EffectCriterion,
    /// Retry a scroll that has reached the end in the other direction.
    pub reverse_scroll_at_end: bool,
    /// Verify the planner's evidence on the last screen when the task itself states no expectations.
    pub verify_evidence: bool,
    /// Policy for actions: allowed, needs approval, or denied.
    pub policy: PolicySource,
    /// Time within which an approval has to be given.
    pub approval_timeout: Duration,
    /// Pause the task when a person uses the mouse or the keyboard.
    pub pause_on_human_input: bool,
    /// Tools that tasks may name.
    pub tools: Tools,
    /// Hooks that are called during a run.
    pub hooks: HookChain,
    /// Record requests and responses with each step.
    pub recording: bool,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            effect_rule: EffectCriterion::default(),
            reverse_scroll_at_end: false,
            verify_evidence: true,
            policy: PolicySource::default(),
            approval_timeout: DEFAULT_APPROVAL_TIMEOUT,
            pause_on_human_input: true,
            tools: Tools::default(),
            hooks: HookChain::default(),
            recording: true,
        }
    }
}

/// Reason for leaving the loop.
#[derive(Debug)]
enum Halt {
    /// The loop has to evaluate the task again: it was cancelled, interrupted, or its time is up.
    Reevaluate,
    /// This process shuts down; another one will continue the task.
    Shutdown,
    /// Another process owns the task now, or the store is unavailable: nothing more may be written.
    OwnershipLost(String),
    /// The desktop is leased to another holder.
    DesktopBusy,
    /// The task fails.
    Fail(Failure),
}

type RunResult<T = ()> = std::result::Result<T, Halt>;

/// The runner's view of the screen. It is never stored.
#[derive(Debug)]
struct ScreenView {
    observation: Observation,
    /// Latest frame: the observed one, or one captured since.
    latest_frame: Frame,
    /// True if the screen has changed since it was parsed.
    stale: bool,
}

impl ScreenView {
    fn of(observation: Observation) -> Self {
        Self {
            latest_frame: observation.frame.clone(),
            observation,
            stale: false,
        }
    }
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// The task has ended.
    Ended(Lifecycle),
    /// The task was released for another run.
    Released,
}

/// A task and the desktop that it runs on.
#[derive(Debug)]
pub struct Assignment {
    pub task: Task,
    pub desktop: Desktop,
    pub ports: Ports,
}

/// Unrecorded handle to Perception, for work beside the loop.
#[derive(Clone)]
struct BackgroundPerception(Arc<dyn Perception>);

impl std::fmt::Debug for BackgroundPerception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aside").finish_non_exhaustive()
    }
}

/// Runs one task.
#[derive(Debug)]
pub struct Runner {
    ports: Ports,
    /// For work beside the loop, which is recorded separately.
    background_perception: BackgroundPerception,
    recording: RecordingMode,
    blobs: BlobStore,
    journal: Journal,
    task: Task,
    desktop: Desktop,
    stop: StopSignal,
    orchestrator: String,
    view: Option<ScreenView>,
    config: RunConfig,
    hooks: RunHooks,
    /// Screen areas that change without any action.
    background_motion: BackgroundMotion,
    /// Watches for background motion until the first action of the step.
    motion_monitor: Option<MotionMonitor>,
    /// Frames captured between the observation of the step and its first action; kept until that action is judged.
    idle_frames: Vec<FrameId>,
    /// Text that was visible on the task's screens.
    observed_text: ScreenTexts,
    /// Number of pointer moves made for pointer checks.
    pointer_moves: u64,
    /// Observation for the next step, if it was started early.
    next_observation: Option<AbortOnDropHandle<motorium_proto::service::Result<Observation>>>,
    timings: Vec<StageTiming>,
    /// True if any backend needs screenshots.
    needs_image: bool,
    applications: Vec<String>,
    /// Functions that the planner may call.
    functions: Functions,
    command_listener: Option<AbortOnDropHandle<()>>,
    /// Pauses the task when a person uses the mouse or the keyboard.
    human_input_monitor: Option<AbortOnDropHandle<()>>,
    /// Set once the desktop is leased.
    lease_keeper: Option<LeaseKeeper>,
    /// True once the start of this run is recorded.
    has_begun: bool,
    /// Number of interruptions of the task when the screen was last observed.
    interruptions: u32,
}

impl Runner {
    /// Creates a runner for a claimed task and a reserved desktop.
    pub fn new(
        assignment: Assignment,
        blobs: BlobStore,
        journal: Journal,
        stop: StopSignal,
        orchestrator: String,
        conduct: RunConfig,
    ) -> Self {
        let Assignment {
            task,
            desktop,
            ports,
        } = assignment;
        let tape = if conduct.recording {
            RecordingMode::Recording(Recorder::begin(
                RunSettings::of(&desktop, &conduct).json(),
                task.last_seq,
            ))
        } else {
            RecordingMode::Off
        };
        Self {
            background_perception: BackgroundPerception(Arc::clone(&ports.perception)),
            ports,
            recording: RecordingMode::Off,
            blobs,
            journal,
            task,
            desktop,
            stop,
            orchestrator,
            view: None,
            hooks: RunHooks::new(&conduct.hooks),
            config: conduct,
            background_motion: BackgroundMotion::default(),
            motion_monitor: None,
            idle_frames: Vec::new(),
            observed_text: ScreenTexts::default(),
            pointer_moves: 0,
            next_observation: None,
            timings: Vec::new(),
            needs_image: false,
            applications: Vec::new(),
            functions: Functions::default(),
            command_listener: None,
            human_input_monitor: None,
            lease_keeper: None,
            has_begun: false,
            interruptions: 0,
        }
        .with_recording(tape)
    }

    /// Returns the runner with its ports recording to, or replaying from, `tape`.
    pub(crate) fn with_recording(mut self, tape: RecordingMode) -> Self {
        if !matches!(tape, RecordingMode::Off) {
            self.ports = recording_ports(self.ports, &tape);
        }
        self.journal.set_clock(tape.clone());
        self.recording = tape;
        self
    }

    /// Runs until the task has ended or has to be released.
    pub async fn run(mut self) -> RunEnd {
        let flow = match self.prepare().await {
            Ok(()) => self.run_loop().await,
            Err(halt) => self.handle_halt(halt).await,
        };
        if let Some(keeper) = self.lease_keeper.take() {
            keeper.stop().await;
        }
        self.after_run().await;
        let task = &self.task.spec.name;
        let end = match flow {
            Ok(()) if self.task.lifecycle.is_terminal() => RunEnd::Ended(self.task.lifecycle),
            Ok(()) => RunEnd::Released,
            Err(Halt::OwnershipLost(reason)) => {
                tracing::warn!(%task, reason, "task is released");
                RunEnd::Released
            }
            Err(halt) => {
                tracing::info!(%task, ?halt, "task is released");
                RunEnd::Released
            }
        };
        self.journal.release().await;
        end
    }

    async fn run_loop(&mut self) -> RunResult {
        loop {
            if self.task.lifecycle.is_terminal() {
                return Ok(());
            }
            if let Err(halt) = self.step_once().await {
                self.handle_halt(halt).await?;
            }
        }
    }

    /// Starts pausing the task on human input.
    fn watch_human_input(&mut self) {
        if self.config.pause_on_human_input {
            let pausing = self.journal.pause_on_human_input(self.human_input());
            self.human_input_monitor = Some(AbortOnDropHandle::new(tokio::spawn(pausing)));
        }
    }

    /// Handles a halt that concerns only the task; returns the others, which end the run.
    async fn handle_halt(&mut self, halt: Halt) -> RunResult {
        match halt {
            Halt::Reevaluate => match machine::directive(&self.reload_task().await?, self.now()) {
                Directive::Cancel { reason } => self.end(Event::Cancelled { reason }).await,
                Directive::Fail(failure) => self.end(Event::Failed(failure)).await,
                _ => Ok(()),
            },
            Halt::Fail(failure) => self.end(Event::Failed(failure)).await,
            halt @ (Halt::Shutdown | Halt::OwnershipLost(_) | Halt::DesktopBusy) => Err(halt),
        }
    }

    async fn reload_task(&mut self) -> RunResult<Task> {
        self.journal.merge_foreign_events(&mut self.task).await?;
        Ok(self.task.clone())
    }

    async fn step_once(&mut self) -> RunResult {
        self.journal.sync(&mut self.task).await?;
        self.stop.acknowledge(self.task.last_seq);
        if self.interruptions != self.task.interruptions {
            self.discard_view();
        }
        match machine::directive(&self.task, self.now()) {
            Directive::Ended => Ok(()),
            Directive::AwaitUser => self.await_user().await,
            Directive::Cancel { reason } => self.end(Event::Cancelled { reason }).await,
            Directive::Fail(failure) => self.end(Event::Failed(failure)).await,
            Directive::Observe => self.observe().await,
            Directive::Decide => self.decide().await,
            Directive::Act { index } => self.act(index).await,
            Directive::Judge => self.judge_pending_action().await,
            Directive::Refuse { message } => {
                self.record(vec![Event::TargetNotResolved { message }])
                    .await
            }
            Directive::Extract {
                json_schema,
                instruction,
            } => self.extract(json_schema, instruction).await,
            Directive::CallFunction { index } => self.call_function(index).await,
            Directive::FinishStep => self.finish_step().await,
            Directive::Notice(notice) => self.report_loop(notice).await,
            Directive::Conclude { answer } => self.conclude(answer).await,
            Directive::Ask(request) => self.ask_user(Vec::new(), request).await,
        }
    }

    /// Discards the view: a person may have changed the screen.
    fn discard_view(&mut self) {
        self.interruptions = self.task.interruptions;
        self.view = None;
        self.next_observation = None;
        self.motion_monitor = None;
    }

    /// Reports that the task repeats itself; as the last measure, asks the user.
    async fn report_loop(&mut self, notice: LoopNotice) -> RunResult {
        let question = UserRequest::new(UserRequestKind::Question, notice.message.clone());
        let asks = notice.mitigation == Mitigation::AskUser;
        let said = vec![Event::LoopDetected(notice)];
        if asks {
            return self.ask_user(said, question).await;
        }
        self.record(said).await
    }

    async fn finish_step(&mut self) -> RunResult {
        self.motion_monitor = None;
        let timings = std::mem::take(&mut self.timings);
        let finished = Event::StepFinished { timings };
        // Stored together with the event that starts the next step or ends the task: one commit less per step.
        self.journal.defer(&mut self.task, finished);
        Ok(())
    }

    /// Ends the task: releases keys and buttons, fetches results, and records the end.
    async fn end(&mut self, event: Event) -> RunResult {
        if !matches!(event, Event::Succeeded { .. }) {
            self.release_inputs().await;
        }
        let event = self.before_answer(event).await;
        let mut events = Vec::new();
        events.extend(self.interrupted_call_result());
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

    /// Appends events to the log immediately.
    async fn record(&mut self, events: Vec<Event>) -> RunResult {
        for event in events {
            self.journal.defer(&mut self.task, event);
        }
        self.flush().await
    }

    /// Writes deferred events.
    async fn flush(&mut self) -> RunResult {
        self.journal.flush(&mut self.task).await
    }

    /// Starts listening for commands. Runs from the beginning, so that a task can be cancelled while it waits for its
    /// desktop.
    fn watch_for_commands(&mut self) {
        let listening = self.journal.listen(self.stop.clone());
        self.command_listener = Some(AbortOnDropHandle::new(tokio::spawn(listening)));
    }

    fn now(&self) -> SystemTime {
        self.recording.now()
    }

    /// Returns the time elapsed since `began`, as recorded during replay.
    fn elapsed_since(&self, began: StartTime) -> Duration {
        self.recording.elapsed(began)
    }

    fn record_timing(&mut self, stage: &str, since: Instant) {
        let elapsed = since.elapsed();
        match self.timings.iter_mut().find(|timing| timing.stage == stage) {
            Some(timing) => timing.elapsed += elapsed,
            None => self.timings.push(StageTiming {
                stage: stage.to_owned(),
                elapsed,
            }),
        }
    }

    /// Awaits `work` until the task is stopped, taken over or out of time.
    async fn guard<T>(&self, work: impl Future<Output = T>) -> RunResult<T> {
        tokio::select! {
            biased;
            stop = self.stop.requested() => {
                self.recording.stopped();
                Err(stop.into())
            }
            _ = self.stop.taken_over() => {
                self.recording.stopped();
                Err(Halt::Reevaluate)
            }
            done = work => Ok(done),
            () = self.recording.deadline(self.time_left()) => {
                self.recording.timed_out();
                Err(Halt::Reevaluate)
            }
        }
    }

    /// Returns the remaining time of the task. Unlimited until the run has started, because the time without a runner
    /// is only accounted for then.
    fn time_left(&self) -> Duration {
        let limited = self
            .has_begun
            .then(|| limits::remaining(&self.task, self.now()).time);
        limited.flatten().unwrap_or(Duration::MAX)
    }

    /// Calls a service and retries while it is unavailable, for up to [`RETRY_TIMEOUT`]. Only for calls without side
    /// effects, so not for performing actions.
    async fn call<T, F>(&mut self, what: &'static str, call: impl Fn(Ports) -> F) -> RunResult<T>
    where
        F: Future<Output = motorium_proto::service::Result<T>>,
    {
        let answer = self.try_call(what, call).await?;
        answer.map_err(|report| halt(what, report))
    }

    /// As [`Runner::call`], but returns permanent errors to the caller.
    async fn try_call<T, F>(
        &mut self,
        what: &'static str,
        call: impl Fn(Ports) -> F,
    ) -> RunResult<motorium_proto::service::Result<T>>
    where
        F: Future<Output = motorium_proto::service::Result<T>>,
    {
        let began = self.recording.start_timer();
        let mut pause = INITIAL_BACKOFF;
        loop {
            let report = match self.guard(call(self.ports.clone())).await? {
                Ok(value) => return Ok(Ok(value)),
                Err(report) => report,
            };
            self.count_failed(what, &report).await;
            if !is_transient(&report) || self.elapsed_since(began) + pause > RETRY_TIMEOUT {
                return Ok(Err(report));
            }
            tracing::warn!(task = %self.task.spec.name, what, %report, "service is unavailable; retrying");
            if pause == INITIAL_BACKOFF {
                let message = format!("{what}: {}", report.message);
                self.record(vec![Event::TransientFailure {
                    reason: report.reason,
                    message,
                }])
                .await?;
            }
            self.guard(self.recording.sleep(pause)).await?;
            pause *= 2;
        }
    }
}

impl From<StopReason> for Halt {
    fn from(stop: StopReason) -> Self {
        match stop {
            StopReason::Cancelled => Halt::Reevaluate,
            StopReason::Shutdown => Halt::Shutdown,
            StopReason::LeaseLost(reason) => Halt::OwnershipLost(reason),
        }
    }
}

/// Converts a service error into a halt. On a lost lease the task is released, and the next run leases the desktop
/// again.
fn halt(what: &str, report: ErrorReport) -> Halt {
    if report.reason.starts_with("LEASE_") {
        return Halt::OwnershipLost(report.message);
    }
    Halt::Fail(Failure {
        message: format!("{what} failed: {}", report.message),
        reason: report.reason,
    })
}
