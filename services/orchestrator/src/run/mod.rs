//! Runs one task.
//!
//! A [`Runner`] asks the pure state machine for the next directive, carries it out through the three services, records
//! the result, and repeats. It owns the task while it runs: no one else appends events of the loop, and the store
//! rejects writes under a lost lease. Whatever it awaits is abandoned at once on a stop request.
//!
//! The runner itself is the match over directives. Its parts own their state and get the run's context as an argument:
//!
//! - `context`: `journal` with the task, `interrupts`, `recorder`, hooks and services, for every part
//! - `screen`: latest observation and frame, background motion, the early observation; `capture` asks Perception, and
//!   `failed_looks` what happens if it fails
//! - `gate`: policy, `provenance`, hooks and approvals; their verdict on an action or a function call
//! - `preflight`, `last_look`: checks between the verdict and the input
//! - `actuator`: intent, input, outcome, and the pointer (`pointer`)
//! - `judge`: waits until the screen has settled, judges the effect, schedules a retry; `arrival` and `readback` judge once more
//!   by the next screen
//! - `conclude`: verifies a claim of success; `elsewhere` looks once more at a change that it rests on
//! - `decide`, `extract`, `functions`: calls of the planner and of tools
//! - `background`: commands, leases and human input beside the loop
//!
//! `features` are those that a replay of an older recording has to do without. An action goes through the stages of an `attempt`; `act` takes it from one to the next.
//!
//! Invariant: an action is performed only after its intent is stored, and its outcome is stored before anything else
//! happens.

mod act;
mod actuator;
mod approval_evidence;
mod approvals;
mod arrival;
mod attachments;
mod attempt;
mod background;
mod capture;
mod conclude;
mod context;
mod decide;
mod dispatcher;
mod elsewhere;
mod end_screen;
mod extract;
mod failed_looks;
mod features;
mod functions;
mod gate;
mod halt;
mod held_texts;
mod hooks;
mod hover;
mod injection;
mod input_marks;
mod interrupts;
mod journal;
mod judge;
mod last_look;
mod lease_keeper;
mod look;
mod motion_monitor;
mod observe;
mod page;
mod page_text;
mod pointer;
mod policy_context;
mod preflight;
mod prepare;
mod progress;
mod provenance;
mod readback;
pub(crate) mod recorded_settings;
mod recorder;
mod resolve;
mod retry;
mod run_hooks;
mod screen;
mod sight;
mod stop;
mod summary;
mod takeover;
mod takeover_input;
mod target_changes;

use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::desktop::Desktop;
use motorium_recording::ports::Ports;
use motorium_store::BlobStore;

use self::actuator::Actuator;
use self::background::BackgroundTasks;
use self::conclude::fetch_results;
use self::context::{BackgroundPerception, OperatorAccess, RunContext, ScreenAccess};
use self::decide::Planning;
use self::functions::{Functions, interrupted_call_result};
use self::gate::Gate;
use self::halt::{Halt, RunResult, halt};
use self::interrupts::Interrupts;
use self::judge::Judge;
use self::observe::{finish_step, record_step_end};
use self::recorder::StepRecorder;
use self::run_hooks::RunHooks;
use self::screen::Screen;
use self::sight::Sight;
use crate::backoff::{Backoff, is_provider_failure};
use crate::error::is_transient;
use crate::functions::Tools;
use crate::hooks::HookChain;
use crate::operators::Operators;
use crate::run::recorded_settings::RunSettings;
use crate::screens::Screens;
use motorium_policy::PolicySource;
use motorium_recording::recording::{Recorder, RecordingMode};
use motorium_task::completion::ClaimRules;
use motorium_task::effect::EffectCriterion;
use motorium_task::event::{Event, UserRequest, UserRequestKind};
use motorium_task::loop_detection::{LoopNotice, Mitigation};
use motorium_task::machine::{self, Directive};
use motorium_task::retry::RetryRules;
use motorium_task::{Lifecycle, Task};

pub use dispatcher::Dispatcher;
pub use features::LoopFeatures;
pub use journal::Journal;
pub use judge::EffectWindows;
pub use pointer::PointerChecks;
pub use stop::{StopReason, StopSignal};
pub use summary::DEFAULT_SUMMARY_TIMEOUT;

/// Time limit for releasing keys and buttons. The Executor also releases them when the lease ends.
const INPUT_RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Default time within which an approval has to be given. Shorter than the default time limit of a task (8 minutes): after an
/// approval that was not given, the task still has time for another way.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(300);

/// Default number of failures in a row to see the screen after which a task ends.
// With a second between them, and up to 20 s for a service that is away: survives a restart of the X server or of Perception.
pub const DEFAULT_MAX_SCREEN_FAILURES: u32 = 5;

/// Configuration of task runs.
#[derive(Debug, Clone)]
pub struct RunConfig {
    pub effect_rule: EffectCriterion,
    pub retry: RetryRules,
    pub effect_windows: EffectWindows,
    pub pointer_checks: PointerChecks,
    /// Verify the planner's evidence on the last screen when the task itself states no expectations.
    pub verify_evidence: bool,
    /// Ask a model that claims success without evidence to look at the screen once more.
    pub second_look: bool,
    /// Number of failures in a row to capture or parse the screen after which the task ends. Zero only in a replay of a
    /// recording from before further attempts: any failure ends it.
    pub max_screen_failures: u32,
    /// Policy for actions: allowed, needs approval, or denied.
    pub policy: PolicySource,
    /// Time within which an approval has to be given.
    pub approval_timeout: Duration,
    /// No creator of a task may approve its actions, whatever the policy says.
    pub second_person: bool,
    /// Time after which a task that waits for an answer lets others use its desktop; `None` to keep it.
    pub release_desktop_after: Option<Duration>,
    /// Pause the task when a person uses the mouse or the keyboard.
    pub pause_on_human_input: bool,
    /// Tools that tasks may name.
    pub tools: Tools,
    /// Hooks that are called during a run.
    pub hooks: HookChain,
    /// Record requests and responses with each step.
    pub recording: bool,
    /// Time for a model to write the answer of a task that ends without one. Zero to compute it without a model. `None`
    /// only in a replay of a recording from before such answers.
    pub summary_timeout: Option<Duration>,
    /// Rules for claims of success. Lenient only in a replay of a recording from before the strict ones.
    pub claim_rules: ClaimRules,
    /// Features of the loop. All of them but in a replay of an older recording.
    pub features: LoopFeatures,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            effect_rule: EffectCriterion::default(),
            retry: RetryRules::default(),
            effect_windows: EffectWindows::default(),
            pointer_checks: PointerChecks::default(),
            verify_evidence: true,
            second_look: true,
            max_screen_failures: DEFAULT_MAX_SCREEN_FAILURES,
            policy: PolicySource::default(),
            approval_timeout: DEFAULT_APPROVAL_TIMEOUT,
            second_person: false,
            release_desktop_after: None,
            pause_on_human_input: true,
            tools: Tools::default(),
            hooks: HookChain::default(),
            recording: true,
            summary_timeout: Some(DEFAULT_SUMMARY_TIMEOUT),
            claim_rules: ClaimRules::Strict,
            features: LoopFeatures::ALL,
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
    pub journal: Journal,
    pub desktop: Desktop,
    pub ports: Ports,
    /// Channels for the input of people who have taken tasks over.
    pub operators: Operators,
    /// Screens of running tasks, for those who may see the tasks.
    pub screens: Screens,
}

/// Runs one task.
#[derive(Debug)]
pub struct Runner {
    run: RunContext,
    orchestrator: String,
    screen: Screen,
    gate: Gate,
    actuator: Actuator,
    judge: Judge,
    planning: Planning,
    /// Functions that the planner may call.
    functions: Functions,
    background: BackgroundTasks,
}

impl Runner {
    /// Creates a runner for a claimed task and a reserved desktop.
    pub fn new(
        assignment: Assignment,
        blobs: BlobStore,
        stop: StopSignal,
        orchestrator: String,
        config: RunConfig,
    ) -> Self {
        let Assignment {
            journal,
            desktop,
            ports,
            operators,
            screens,
        } = assignment;
        let recording = if config.recording {
            RecordingMode::Recording(Recorder::begin(
                RunSettings::of(&desktop, &config).json(),
                journal.task().last_seq,
            ))
        } else {
            RecordingMode::Off
        };
        let run = RunContext {
            journal,
            interrupts: Interrupts::new(stop),
            recorder: StepRecorder::new(blobs),
            hooks: RunHooks::new(&config.hooks),
            background_perception: BackgroundPerception(Arc::clone(&ports.perception)),
            operators: OperatorAccess {
                operators,
                executor: Arc::clone(&ports.executor),
            },
            screen_access: ScreenAccess {
                screens,
                perception: Arc::clone(&ports.perception),
                shown: None,
            },
            sight: Sight::default(),
            ports,
            desktop,
            config,
        };
        Self {
            orchestrator,
            screen: Screen::default(),
            gate: Gate::new(&run.config),
            actuator: Actuator::default(),
            judge: Judge::new(&run.config),
            planning: Planning::default(),
            functions: Functions::default(),
            background: BackgroundTasks::default(),
            run,
        }
        .with_recording(recording)
    }

    /// Returns the runner with its ports recording to, or replaying from, `recording`.
    pub(crate) fn with_recording(mut self, recording: RecordingMode) -> Self {
        self.run.record_to(recording);
        self
    }

    /// Runs until the task has ended or has to be released.
    pub async fn run(mut self) -> RunEnd {
        let flow = match self.prepare().await {
            Ok(()) => self.run_loop().await,
            Err(halt) => self.handle_halt(halt).await,
        };
        // Before the desktop can be another task's.
        self.run.hide_screen();
        self.background.stop().await;
        hooks::after_run(&mut self.run).await;
        let task = &self.run.task().spec.name;
        let end = match flow {
            Ok(()) if self.run.task().lifecycle.is_terminal() => {
                RunEnd::Ended(self.run.task().lifecycle.clone())
            }
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
        self.run.journal.release().await;
        end
    }

    async fn run_loop(&mut self) -> RunResult {
        loop {
            if self.run.task().lifecycle.is_terminal() {
                return Ok(());
            }
            if let Err(halt) = self.step_once().await {
                self.handle_halt(halt).await?;
            }
        }
    }

    /// Handles a halt that concerns only the task; returns the others, which end the run.
    async fn handle_halt(&mut self, halt: Halt) -> RunResult {
        match halt {
            Halt::Reevaluate => {
                match machine::directive(&self.reload_task().await?, self.run.now()) {
                    Directive::Cancel { reason } => self.end(Event::Cancelled { reason }).await,
                    Directive::Fail(failure) => self.end(Event::Failed(failure)).await,
                    _ => Ok(()),
                }
            }
            Halt::Fail(failure) => self.end(Event::Failed(failure)).await,
            halt @ (Halt::Shutdown
            | Halt::OwnershipLost(_)
            | Halt::DesktopBusy
            | Halt::DesktopReleased) => Err(halt),
        }
    }

    async fn reload_task(&mut self) -> RunResult<Task> {
        self.run.journal.merge_foreign_events().await?;
        Ok(self.run.task().clone())
    }

    async fn step_once(&mut self) -> RunResult {
        self.run.journal.sync().await?;
        self.run
            .interrupts
            .stop
            .acknowledge(self.run.task().last_seq);
        self.screen.discard_if_interrupted(self.run.task());
        match machine::directive(self.run.task(), self.run.now()) {
            Directive::Ended => Ok(()),
            Directive::AwaitUser => self.await_user().await,
            Directive::Cancel { reason } => self.end(Event::Cancelled { reason }).await,
            Directive::Fail(failure) => self.end(Event::Failed(failure)).await,
            Directive::Observe => self.observe().await,
            Directive::Decide => {
                self.planning
                    .decide(&mut self.run, &mut self.screen, &self.functions)
                    .await
            }
            Directive::Act { index } => self.act(index).await,
            Directive::Judge => {
                self.judge
                    .judge_pending(&mut self.run, &mut self.screen, &mut self.actuator)
                    .await
            }
            Directive::Refuse { message } => self.run.refuse(message).await,
            Directive::Extract {
                json_schema,
                instruction,
            } => {
                self.planning
                    .extract(&mut self.run, &mut self.screen, json_schema, instruction)
                    .await
            }
            Directive::CallFunction { index } => {
                self.functions
                    .call_function(&mut self.run, &self.gate, &mut self.screen, index)
                    .await
            }
            Directive::FinishStep => finish_step(&mut self.run, &mut self.screen).await,
            Directive::Notice(notice) => self.report_loop(notice).await,
            Directive::Conclude { answer } => self.conclude(answer).await,
            Directive::Ask(request) => hooks::ask_user(&mut self.run, Vec::new(), request).await,
        }
    }

    /// Reports that the task repeats itself; as the last measure, asks the user.
    async fn report_loop(&mut self, notice: LoopNotice) -> RunResult {
        let question = UserRequest::new(UserRequestKind::Question, notice.message.clone());
        let asks = notice.mitigation == Mitigation::AskUser;
        let events = vec![Event::LoopDetected(notice)];
        if asks {
            return hooks::ask_user(&mut self.run, events, question).await;
        }
        self.run.record(events).await
    }

    /// Ends the task: releases keys and buttons, captures the last screen, closes the open step, writes the answer if there
    /// is none, fetches results, and records the end.
    async fn end(&mut self, event: Event) -> RunResult {
        if !matches!(event, Event::Succeeded { .. }) {
            self.actuator.release_inputs(&self.run).await;
        }
        end_screen::record(&mut self.run, &event).await;
        self.close_step(&event).await?;
        let event = match summary::write(&mut self.run, &event).await? {
            Some(answer) if matches!(event, Event::Succeeded { .. }) => Event::Succeeded { answer },
            _ => hooks::before_answer(&mut self.run, event).await,
        };
        let mut events = Vec::new();
        if !matches!(event, Event::Cancelled { .. }) {
            events.extend(fetch_results(&mut self.run).await?);
        }
        events.push(event);
        self.run.record(events).await?;
        hooks::after_answer(&mut self.run).await;
        Ok(())
    }

    /// Finishes the step in which the task ends, and corrects its line of progress if it was not done as announced.
    async fn close_step(&mut self, end: &Event) -> RunResult {
        if let Some(result) = interrupted_call_result(self.run.task()) {
            self.run.defer(result);
        }
        if self.run.task().open_step().is_none() {
            return Ok(());
        }
        progress::correct_at_end(&mut self.run, end).await?;
        record_step_end(&mut self.run);
        Ok(())
    }
}
