//! Everything that each part of a run needs: the journal with the task, the services, the hooks, and the recorder.
//!
//! It owns no state of the loop itself: the screen, the gate, the actuator and the judge have their own.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::desktop::Desktop;
use motorium_proto::domain::frame::Image;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::DisplayId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    BackendAttempt, CaptureArea, Executor, Perception, Redaction, Result,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::interrupts::Interrupts;
use super::recorder::{ExchangeTexts, PendingArtifact, StepRecorder};
use super::run_hooks::RunHooks;
use super::sight::Sight;
use super::{Backoff, Journal, RunConfig, RunResult, halt, is_provider_failure, is_transient};
use crate::hooks::{HookChainOutcome, HookDenial, HookEvent, HookIntervention, HookPoint};
use crate::operators::Operators;
use crate::screens::{OpenScreen, Screens};
use motorium_messages::Message;
use motorium_recording::ports::Ports;
use motorium_recording::recording::{RecordingMode, recording_ports};
use motorium_task::event::{Artifact, Event, StoredExchange};
use motorium_task::{Task, limits};

/// Unrecorded handle to Perception, for work beside the loop.
#[derive(Clone)]
pub(super) struct BackgroundPerception(pub(super) Arc<dyn Perception>);

impl std::fmt::Debug for BackgroundPerception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackgroundPerception")
            .finish_non_exhaustive()
    }
}

/// The channel for the input of a person, and the unrecorded handle to the Executor that performs it: what people do is no part of a
/// recording.
#[derive(Clone)]
pub(super) struct OperatorAccess {
    pub(super) operators: Operators,
    pub(super) executor: Arc<dyn Executor>,
}

impl std::fmt::Debug for OperatorAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OperatorAccess").finish_non_exhaustive()
    }
}

/// The screen of the run for those who may see the task, and the unrecorded handle to Perception that shows it.
pub(super) struct ScreenAccess {
    pub(super) screens: Screens,
    pub(super) perception: Arc<dyn Perception>,
    /// Set while the screen is shown.
    pub(super) shown: Option<OpenScreen>,
}

impl std::fmt::Debug for ScreenAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScreenAccess").finish_non_exhaustive()
    }
}

/// The environment of one run.
#[derive(Debug)]
pub(super) struct RunContext {
    pub(super) journal: Journal,
    pub(super) interrupts: Interrupts,
    pub(super) recorder: StepRecorder,
    pub(super) hooks: RunHooks,
    pub(super) ports: Ports,
    /// For work beside the loop, which is recorded separately.
    pub(super) background_perception: BackgroundPerception,
    pub(super) operators: OperatorAccess,
    pub(super) desktop: Desktop,
    pub(super) config: RunConfig,
    pub(super) screen_access: ScreenAccess,
    pub(super) sight: Sight,
}

impl RunContext {
    /// Records the ports' exchanges and the times of events, or replays them.
    pub(super) fn record_to(&mut self, mode: RecordingMode) {
        if !matches!(mode, RecordingMode::Off) {
            self.ports = recording_ports(self.ports.clone(), &mode);
        }
        self.journal.set_clock(mode.clone());
        self.interrupts.recording = mode;
    }

    pub(super) fn task(&self) -> &Task {
        self.journal.task()
    }

    pub(super) fn recording(&self) -> &RecordingMode {
        &self.interrupts.recording
    }

    pub(super) fn display(&self) -> Option<DisplayId> {
        self.desktop.display.clone()
    }

    /// Shows the screen to those who may see the task, unless its screenshots are redacted: a live screen is not.
    pub(super) fn show_screen(&mut self, lease_unsure: &CancellationToken) {
        // Where a secret was entered may not be known, or not yet: its outcome is not, after a crash.
        let has_secret = self
            .task()
            .actions()
            .any(|record| record.action.entered_secret().is_some());
        let is_redacted = has_secret || self.wants(HookPoint::BeforeScreenshot);
        let Some(display) = self.display().filter(|_| !is_redacted) else {
            return;
        };
        let task = self.task().spec.name.clone();
        let access = &mut self.screen_access;
        let perception = Arc::clone(&access.perception);
        let shown = access.screens.show(task, perception, display, lease_unsure);
        access.shown = Some(shown);
    }

    /// Hides the screen for the rest of the run.
    pub(super) fn hide_screen(&mut self) {
        self.screen_access.shown = None;
    }

    pub(super) fn now(&self) -> SystemTime {
        self.interrupts.now()
    }

    // === Events and files ===

    /// Applies an event now and stores it with the next recorded one.
    pub(super) fn defer(&mut self, event: Event) {
        self.journal.defer(event);
    }

    /// Appends events to the log immediately.
    pub(super) async fn record(&mut self, events: Vec<Event>) -> RunResult {
        for event in events {
            self.journal.defer(event);
        }
        self.flush().await
    }

    /// Records that the open step's target or action is refused; the planner is told why.
    pub(super) async fn refuse(&mut self, message: String) -> RunResult {
        self.record(vec![Event::TargetNotResolved { message }])
            .await
    }

    /// Writes deferred events.
    pub(super) async fn flush(&mut self) -> RunResult {
        self.journal.flush().await
    }

    pub(super) fn record_timing(&mut self, stage: &str, since: Instant) {
        self.recorder.record_timing(stage, since);
    }

    /// Stores all present artifacts in one batch.
    pub(super) async fn store<const N: usize>(
        &self,
        unstored: [Option<PendingArtifact>; N],
    ) -> RunResult<[Option<Artifact>; N]> {
        let (interrupts, task) = (&self.interrupts, self.task());
        self.recorder.store(interrupts, task, unstored).await
    }

    pub(super) async fn store_image(
        &self,
        image: Option<&Image>,
        name: &str,
    ) -> RunResult<Option<Artifact>> {
        let [stored] = self.store([PendingArtifact::image(image, name)]).await?;
        Ok(stored)
    }

    // === Services ===

    /// Awaits `work` until the task is stopped, taken over or out of time.
    pub(super) async fn guard<T>(&self, work: impl Future<Output = T>) -> RunResult<T> {
        self.interrupts.guard(self.task(), work).await
    }

    /// Awaits `work` until the task is paused, stopped, taken over or out of time.
    pub(super) async fn guard_unless_paused<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> RunResult<T> {
        self.interrupts.guard_unless_paused(self.task(), work).await
    }

    /// Waits for as long as the recording says.
    pub(super) async fn sleep(&self, pause: Duration) -> RunResult {
        self.guard(self.recording().sleep(pause)).await
    }

    /// Calls a service and retries while it is unavailable, for up to [`RETRY_TIMEOUT`](crate::backoff::RETRY_TIMEOUT). If
    /// it is the models that are unavailable, the task waits until they may be asked again. Only for calls without side
    /// effects, so not for performing actions.
    pub(super) async fn call<T, F>(
        &mut self,
        operation: Message<'static>,
        call: impl Fn(Ports) -> F,
    ) -> RunResult<T>
    where
        F: Future<Output = Result<T>>,
    {
        let answer = self.try_call(operation, call).await?;
        answer.map_err(|report| halt(self.task(), operation, report))
    }

    /// Calls a service and retries while it is unavailable, like [`RunContext::call`]. Returns permanent errors to the
    /// caller.
    pub(super) async fn try_call<T, F>(
        &mut self,
        operation: Message<'static>,
        call: impl Fn(Ports) -> F,
    ) -> RunResult<Result<T>>
    where
        F: Future<Output = Result<T>>,
    {
        let began = self.recording().start_timer();
        let mut backoff = Backoff::of(&self.task().spec.name.to_string());
        loop {
            let report = match self.guard(call(self.ports.clone())).await? {
                Ok(value) => return Ok(Ok(value)),
                Err(report) => report,
            };
            self.count_failed(operation, &report).await;
            if is_provider_failure(&report) {
                match self.provider_pause(report, &mut backoff) {
                    Ok((pause, event)) => {
                        self.record(vec![event]).await?;
                        self.sleep(pause).await?;
                        continue;
                    }
                    Err(report) => return Ok(Err(report)),
                }
            }
            let elapsed = self.recording().elapsed(began);
            let is_first = backoff.is_first();
            let pause = is_transient(&report)
                .then(|| backoff.next(elapsed))
                .flatten();
            let Some(pause) = pause else {
                return Ok(Err(report));
            };
            tracing::warn!(
                task = %self.task().spec.name, operation = operation.id(), %report, "service is unavailable; retrying"
            );
            if is_first {
                let message = self.task().text(Message::WithDetail {
                    text: &self.task().text(operation),
                    detail: &report.message,
                });
                self.record(vec![Event::TransientFailure {
                    reason: report.reason,
                    message,
                }])
                .await?;
            }
            self.sleep(pause).await?;
        }
    }

    /// Returns how long the task waits until its models may be asked again, with the event that tells people. The Planner
    /// has retried already, so without such a time, or if the task ends before it, the call fails.
    fn provider_pause(
        &self,
        report: ErrorReport,
        backoff: &mut Backoff,
    ) -> std::result::Result<(Duration, Event), ErrorReport> {
        let Some(wait) = report.retry_after else {
            return Err(report);
        };
        let pause = backoff.lengthened(wait);
        let language = self.task().spec.message_language();
        let problem = report.message.as_str();
        let left = limits::remaining(self.task(), self.now()).time;
        match left.filter(|left| *left <= pause) {
            Some(left) => {
                let notice = Message::ModelTooLate {
                    problem,
                    seconds: wait.as_secs_f64().ceil() as u64,
                    left: left.as_secs(),
                };
                Err(ErrorReport {
                    message: notice.text(language),
                    ..report
                })
            }
            None => {
                let notice = Message::ModelAwaited {
                    problem,
                    seconds: pause.as_secs_f64().ceil() as u64,
                };
                let message = notice.text(language);
                let reason = report.reason;
                Ok((pause, Event::TransientFailure { reason, message }))
            }
        }
    }

    /// Records the usage and the model responses of a failed call.
    async fn count_failed(&mut self, operation: Message<'_>, report: &ErrorReport) {
        if report.usage() != Usage::default() {
            let what = self.task().text(operation);
            self.record_failed_model_call(&what, report).await;
            self.after_usage(report.usage()).await;
        }
    }

    /// Records a call of models that failed: its usage, and the exchange that the error has.
    pub(super) async fn record_failed_model_call(&mut self, what: &str, report: &ErrorReport) {
        let exchange = ExchangeTexts {
            requests: report.model_requests(),
            responses: report.model_responses(),
        };
        // The failure counts, whether or not its responses can be stored; storing logs its own.
        let stored = self.store_exchange(&exchange, "failed").await;
        let exchange = stored.unwrap_or_default();
        let (reason, message) = (&report.reason, &report.message);
        self.count_without_result(what, reason, message, report.usage(), exchange);
    }

    /// Records the usage of a call without a result that is used.
    pub(super) fn count_without_result(
        &mut self,
        what: &str,
        reason: &str,
        message: &str,
        usage: Usage,
        exchange: StoredExchange,
    ) {
        let attempt = BackendAttempt {
            backend: what.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            usage,
        };
        self.defer(Event::BackendSkipped { attempt, exchange });
    }

    /// Returns a file name, without its extension, for the exchange that belongs to the next event. It is unique in the task.
    pub(super) fn exchange_name(&self, call: &str) -> String {
        let step = self.task().steps.last().map_or(0, |step| step.number);
        format!("step-{step}-{call}-{}", self.task().last_seq.0 + 1)
    }

    /// Stores the exchange with models that belongs to the next event.
    pub(super) async fn store_exchange(
        &self,
        exchange: &ExchangeTexts,
        call: &str,
    ) -> RunResult<StoredExchange> {
        let unstored = PendingArtifact::exchange(exchange, &self.exchange_name(call));
        let [requests, responses] = self.store(unstored).await?;
        Ok(StoredExchange {
            requests,
            responses,
        })
    }

    /// Notifies the hooks of a call's usage, once it is part of the task's total.
    pub(super) async fn after_usage(&mut self, added: Usage) {
        if self.wants(HookPoint::Usage) {
            self.tell_hooks(HookEvent::Usage(added), None).await;
        }
    }

    // === Hooks ===

    /// Returns the redactions of a capture of the whole display: these boxes and those of hooks.
    pub(super) fn redactions(&self, boxes: &[CaptureRect]) -> Vec<Redaction> {
        self.hooks.redactions(boxes)
    }

    /// Returns the redactions of a capture of this area: fields with secrets and those of hooks.
    pub(super) fn redactions_in(&self, area: &CaptureArea) -> Vec<Redaction> {
        self.hooks.redactions_in(&self.task().secret_fields, area)
    }

    pub(super) fn wants(&self, point: HookPoint) -> bool {
        self.hooks.wants(self.recording(), point)
    }

    /// Asks the hooks about an event. Returns `None` if it is allowed.
    pub(super) async fn ask_hooks(
        &mut self,
        event: &mut HookEvent<'_>,
        id: Option<&str>,
    ) -> RunResult<Option<HookDenial>> {
        let asked = self
            .hooks
            .dispatch(self.recording(), self.task(), event, id);
        let outcome = self.guard_unless_paused(asked).await?;
        Ok(self.record_interventions(outcome))
    }

    /// Notifies the hooks of an event. A hook's immediate work is done even if the task is being stopped.
    pub(super) async fn tell_hooks(&mut self, mut event: HookEvent<'_>, id: Option<&str>) {
        let dispatch = self
            .hooks
            .dispatch(self.recording(), self.task(), &mut event, id);
        let outcome = tokio::select! {
            biased;
            outcome = dispatch => outcome,
            () = self.interrupts.interrupted() => {
                self.recording().stopped();
                return;
            }
        };
        self.record_interventions(outcome);
    }

    /// Records interventions while the log accepts events, and returns the denial.
    pub(super) fn record_interventions(&mut self, outcome: HookChainOutcome) -> Option<HookDenial> {
        for intervention in outcome.interventions {
            let HookIntervention {
                hook,
                point,
                message,
                denied,
            } = intervention;
            tracing::info!(
                task = %self.task().spec.name, hook, point = point.as_str(), denied, message, "a hook intervened"
            );
            if !self.task().lifecycle.is_terminal() {
                self.defer(Event::HookIntervened {
                    hook,
                    point: point.as_str().to_owned(),
                    message,
                    denied,
                });
            }
        }
        outcome.denial
    }
}
