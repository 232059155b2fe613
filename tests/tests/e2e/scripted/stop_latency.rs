//! Latency of cancel, pause and take-over in every phase of a task.
//!
//! Each combination is measured [`DEFAULT_ATTEMPTS`] times and printed. Only a generous maximum is asserted, and that no input follows.
//! To measure, use more attempts on an idle machine. The target is asserted as well then:
//!
//! ```sh
//! MOTORIUM_STOPS=17 cargo t --test e2e scripted::stop_latency -- --nocapture --test-threads=1
//! ```

use std::time::Duration;

use motorium_client::{Channel, Client};
use motorium_proto::domain::decision::Next;
use motorium_proto::domain::key::Key;
use motorium_proto::v1::orchestrator as wire;
use motorium_tests::input::{InputListener, InputSummary};
use motorium_tests::scripted_planner::{act, chord, click, typing};
use motorium_tests::testbed::Testbed;
use motorium_tests::watched_task::WatchedTask;
use motorium_tests::{tasks, until};
use tokio::time::Instant;

use super::task;

/// Number of attempts without `MOTORIUM_STOPS`.
const DEFAULT_ATTEMPTS: usize = 5;
/// Maximum latency, also on a busy machine.
const MAX_LATENCY: Duration = Duration::from_secs(5);
/// Maximum time until the last input of 99 of 100 stops on an idle machine. The event of a stop may come later: that of a
/// cancellation after the screen at the end.
const MAX_P99: Duration = Duration::from_millis(100);
/// After this time without input, none is in flight.
const IDLE_TIME: Duration = Duration::from_millis(200);
/// Number of characters to type. Long enough to be interrupted.
const CHARACTERS: usize = 5_000;
/// Number of input events to wait for before typing is interrupted.
const IN_THE_MIDDLE: usize = 200;

/// Way in which a user stops a task.
#[derive(Debug, Clone, Copy)]
enum StopKind {
    Cancel,
    Pause,
    TakeOver,
}

impl StopKind {
    const ALL: [Self; 3] = [Self::Pause, Self::TakeOver, Self::Cancel];

    /// Returns whether the task can continue afterwards.
    fn leaves_it_open(self) -> bool {
        !matches!(self, Self::Cancel)
    }

    async fn ask_for(self, client: &Client<Channel>, task: &str) {
        match self {
            Self::Cancel => drop(client.cancel_task(task, "stop").await.unwrap()),
            Self::Pause => {
                let request = wire::PauseTaskRequest {
                    name: task.to_owned(),
                    ..wire::PauseTaskRequest::default()
                };
                client.raw().pause_task(request).await.unwrap();
            }
            Self::TakeOver => {
                let request = wire::TakeOverRequest {
                    name: task.to_owned(),
                    ..wire::TakeOverRequest::default()
                };
                client.raw().take_over(request).await.unwrap();
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::TakeOver => "take-over",
        }
    }

    /// Returns the kind of the event that reports the stop.
    fn event(self) -> &'static str {
        match self {
            Self::Cancel => "Cancelled",
            Self::Pause => "Paused",
            Self::TakeOver => "TakenOver",
        }
    }
}

/// Latency of one stop.
#[derive(Debug, Clone, Copy)]
struct StopLatency {
    /// From the call to the last input; zero if none followed.
    input: Duration,
    /// From the call to the event at a watcher.
    event: Duration,
}

/// Stops the task and waits until no input follows.
async fn stop(
    stage: &Testbed,
    task: &WatchedTask,
    input: &InputListener,
    how: StopKind,
) -> StopLatency {
    let client = stage.client();
    // Connects before the measurement starts.
    client.get_task(&task.name).await.unwrap();
    let before = input.summary();
    let called = Instant::now();
    let (stopped, ()) = tokio::join!(task.wait_for(how.event()), how.ask_for(&client, &task.name));
    let last = wait_for_idle_input(input).await;
    let came = last.events > before.events;
    let input = came.then(|| last.last.saturating_duration_since(called));
    StopLatency {
        input: input.unwrap_or_default(),
        event: stopped.saturating_duration_since(called),
    }
}

/// Waits until there was no input for [`IDLE_TIME`], counted from now.
async fn wait_for_idle_input(input: &InputListener) -> InputSummary {
    let since = Instant::now();
    until("idle input", || async {
        let summary = input.summary();
        let silent = summary.last.max(since).elapsed() >= IDLE_TIME;
        silent.then_some(summary)
    })
    .await
}

async fn resume(stage: &Testbed, task: &WatchedTask) {
    let request = wire::ResumeTaskRequest {
        name: task.name.clone(),
        ..wire::ResumeTaskRequest::default()
    };
    stage.client().raw().resume_task(request).await.unwrap();
}

async fn watched(stage: &Testbed) -> WatchedTask {
    let name = stage.create_task(task("something long")).await;
    WatchedTask::follow(&stage.client(), name)
}

/// All attempts of one combination.
struct Attempts {
    what: String,
    took: Vec<StopLatency>,
}

impl Attempts {
    fn of(what: String) -> Self {
        Self {
            what,
            took: Vec::new(),
        }
    }

    fn add(&mut self, took: StopLatency) {
        let StopLatency { input, event } = took;
        eprintln!(
            "{}: last input {} ms after the call, event {} ms after it",
            self.what,
            input.as_millis(),
            event.as_millis()
        );
        self.took.push(took);
    }

    fn finish(&self) {
        let of = |choose: fn(&StopLatency) -> Duration| -> Vec<Duration> {
            self.took.iter().map(choose).collect()
        };
        for (name, mut times) in [
            ("input", of(|took| took.input)),
            ("event", of(|took| took.event)),
        ] {
            eprintln!("{}: {name} {}", self.what, summary(&mut times));
            let longest = percentile(&times, 100);
            let what = &self.what;
            assert!(
                longest < MAX_LATENCY,
                "{what}: {name} came after {longest:?}"
            );
            let p99 = percentile(&times, 99);
            assert!(
                !is_measurement() || name == "event" || p99 <= MAX_P99,
                "{what}: the last input of 1 in 100 came after {p99:?}"
            );
        }
    }
}

/// Sorts the times and formats their percentiles.
fn summary(times: &mut [Duration]) -> String {
    times.sort();
    let millis = |percent: usize| percentile(times, percent).as_secs_f64() * 1e3;
    format!(
        "p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms, max {:.1} ms of {}",
        millis(50),
        millis(95),
        millis(99),
        millis(100),
        times.len()
    )
}

/// Returns a percentile of sorted times.
fn percentile(times: &[Duration], percent: usize) -> Duration {
    let rank = (times.len() * percent).div_ceil(100).max(1);
    times[rank - 1]
}

/// Variable with the number of attempts, on a machine that is idle.
const ATTEMPTS: &str = "MOTORIUM_STOPS";

fn is_measurement() -> bool {
    std::env::var_os(ATTEMPTS).is_some()
}

fn tries() -> usize {
    let wanted = std::env::var(ATTEMPTS);
    wanted.map_or(DEFAULT_ATTEMPTS, |number| {
        number.parse().expect("MOTORIUM_STOPS is a number")
    })
}

/// Measures every way to stop; `interrupt` performs one and returns its latency.
async fn measure(
    stage: &mut Testbed,
    when: &str,
    interrupt: impl AsyncFn(&mut Testbed, StopKind) -> StopLatency,
) {
    measure_of(&StopKind::ALL, stage, when, interrupt).await;
}

/// Measures these kinds of a stop in turn.
async fn measure_of(
    kinds: &[StopKind],
    stage: &mut Testbed,
    when: &str,
    interrupt: impl AsyncFn(&mut Testbed, StopKind) -> StopLatency,
) {
    let attempts = |how: &StopKind| (*how, Attempts::of(format!("{} {when}", how.name())));
    let mut all: Vec<_> = kinds.iter().map(attempts).collect();
    for _ in 0..tries() {
        for (how, tries) in &mut all {
            tries.add(interrupt(stage, *how).await);
        }
    }
    for (_, tries) in &all {
        tries.finish();
    }
}

/// Cancels a task that can still continue.
async fn end(stage: &Testbed, task: &WatchedTask, after: StopKind) {
    if after.leaves_it_open() {
        let client = stage.client();
        client.cancel_task(&task.name, "enough").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_model_thinks() {
    let mut stage = Testbed::start().await;
    let input = stage.desktop.listen();
    let interrupt = async |stage: &mut Testbed, how| interrupt_thinking(stage, &input, how).await;
    measure(&mut stage, "while a model thinks", interrupt).await;
    no_input_while_paused(&mut stage, &input).await;
}

async fn interrupt_thinking(
    stage: &mut Testbed,
    input: &InputListener,
    how: StopKind,
) -> StopLatency {
    let task = watched(stage).await;
    let mut thinks = stage.script.next_request().await;
    let before = input.summary().events;
    let took = stop(stage, &task, input, how).await;
    end(stage, &task, how).await;
    // The pending model call is cancelled, so that no answer is paid for in vain.
    thinks.cancelled().await;
    assert_eq!(input.summary().events, before, "there was no input");
    took
}

/// A decision made while the task is paused is performed once, after the resume.
async fn no_input_while_paused(stage: &mut Testbed, input: &InputListener) {
    let task = watched(stage).await;
    let asked = stage.script.next_request().await;
    stop(stage, &task, input, StopKind::Pause).await;
    let before = input.summary().events;
    asked.decide(act(click("Beacon")));
    assert_eq!(
        wait_for_idle_input(input).await.events,
        before,
        "it is paused"
    );
    resume(stage, &task).await;
    task.wait_for("EffectJudged").await;
    stage
        .client()
        .cancel_task(&task.name, "enough")
        .await
        .unwrap();
    until("the click", || async {
        (!stage.presses().is_empty()).then_some(())
    })
    .await;
    assert_eq!(stage.presses().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_screen_is_read() {
    let mut stage = Testbed::start().await;
    let input = stage.desktop.listen();
    let interrupt = async |stage: &mut Testbed, how| interrupt_reading(stage, &input, how).await;
    measure(&mut stage, "while the screen is read", interrupt).await;
}

async fn interrupt_reading(
    stage: &mut Testbed,
    input: &InputListener,
    how: StopKind,
) -> StopLatency {
    // New content, so that there is something to recognise.
    stage.site.reload_page().await;
    let before = input.summary().events;
    let task = watched(stage).await;
    task.wait_for("LiveFrame").await;
    let took = stop(stage, &task, input, how).await;
    end(stage, &task, how).await;
    assert_eq!(input.summary().events, before, "there was no input");
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_text_is_typed() {
    let mut stage = Testbed::start().await;
    let input = stage.desktop.listen();
    let interrupt = async |stage: &mut Testbed, how| interrupt_text(stage, &input, how).await;
    measure(&mut stage, "while a text is typed", interrupt).await;
}

async fn interrupt_text(stage: &mut Testbed, input: &InputListener, how: StopKind) -> StopLatency {
    stage.site.reload_page().await;
    stage.site.send_command("focus").await;
    let before = input.summary().events;
    let task = watched(stage).await;
    let text: String = ('a'..='z').cycle().take(CHARACTERS).collect();
    stage.script.next_request().await.decide(act(typing(&text)));
    until("the middle of the text", || async {
        (input.summary().events >= before + IN_THE_MIDDLE).then_some(())
    })
    .await;
    let took = stop(stage, &task, input, how).await;
    task.wait_for("ActionPerformed").await;
    let after = input.summary().events;
    let pressed = stage.desktop.pressed();
    assert_eq!(pressed, Vec::<String>::new(), "nothing stays pressed");
    assert_typed_a_part_of(&text, stage).await;
    assert_eq!(input.summary().events, after, "no input follows");
    end(stage, &task, how).await;
    took
}

async fn assert_typed_a_part_of(text: &str, stage: &Testbed) {
    let inputs = stage.site.wait_for_idle(IDLE_TIME).await;
    let keys = inputs.iter().filter(|entry| entry.kind == "keydown");
    let typed: String = keys.map(|entry| entry.text.as_str()).collect();
    assert!(
        !typed.is_empty() && typed.len() < text.len(),
        "all of it was typed"
    );
    assert!(text.starts_with(&typed), "out of order: {typed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_screen_is_waited_for() {
    let mut stage = Testbed::start().await;
    let input = stage.desktop.listen();
    let interrupt = async |stage: &mut Testbed, how| interrupt_waiting(stage, &input, how).await;
    measure(&mut stage, "while the screen moves", interrupt).await;
}

async fn interrupt_waiting(
    stage: &mut Testbed,
    input: &InputListener,
    how: StopKind,
) -> StopLatency {
    stage.site.reload_page().await;
    let task = watched(stage).await;
    stage.script.next_request().await.decide(for_ever_moving());
    // From here on the task waits for an idle screen.
    task.wait_for("ActionPerformed").await;
    let took = stop(stage, &task, input, how).await;
    assert_eq!(stage.presses().len(), 1, "nothing is clicked again");
    let client = stage.client();
    client.cancel_task(&task.name, "enough").await.unwrap();
    let events = tasks::follow(&client, &task.name).await;
    let place = |kind: &str| events.iter().position(|event| tasks::kind(event) == kind);
    let (stopped, judged) = (place(how.event()), place("EffectJudged"));
    assert!(
        judged.is_none_or(|judged| stopped.is_some_and(|stopped| stopped < judged)),
        "the effect was judged before the stop:\n{}",
        tasks::describe(&events)
    );
    took
}

/// Returns a click that starts an endless animation.
fn for_ever_moving() -> Next {
    act(click("Cradle"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_an_approval_is_asked_for_keys() {
    let mut stage = Testbed::start().await;
    let input = stage.desktop.listen();
    let interrupt = async |stage: &mut Testbed, how| interrupt_approval(stage, &input, how).await;
    // A task that waits for an approval is at rest, so it cannot be paused.
    let kinds = [StopKind::TakeOver, StopKind::Cancel];
    measure_of(
        &kinds,
        &mut stage,
        "while an approval is asked for",
        interrupt,
    )
    .await;
}

async fn interrupt_approval(
    stage: &mut Testbed,
    input: &InputListener,
    how: StopKind,
) -> StopLatency {
    let before = input.summary().events;
    let task = watched(stage).await;
    // Sends a form or a message almost everywhere, so that it needs an approval.
    let keys = chord(&[Key::Control, Key::Enter]);
    stage.script.next_request().await.decide(act(keys));
    task.wait_for("ApprovalRequested").await;
    let took = stop(stage, &task, input, how).await;
    approve_all(stage, &task).await;
    end(stage, &task, how).await;
    assert_eq!(wait_for_idle_input(input).await.events, before, "no keys");
    took
}

/// Approves what the task has asked for, which may be too late.
async fn approve_all(stage: &Testbed, task: &WatchedTask) {
    let client = stage.client();
    let request = wire::ListApprovalsRequest {
        parent: task.name.clone(),
        ..wire::ListApprovalsRequest::default()
    };
    let listed = client.raw().list_approvals(request).await.unwrap();
    for approval in listed.into_inner().approvals {
        let request = wire::ResolveApprovalRequest {
            name: approval.name,
            approve: true,
            ..wire::ResolveApprovalRequest::default()
        };
        let _ = client.raw().resolve_approval(request).await;
    }
}
