//! How soon everything stands still after a person has said stop or pause, or has taken over, whatever is going on.
//!
//! Each kind is tried [`TRIES`] times and each try is printed; asserted is only what a busy machine keeps too, and that
//! nothing at all comes afterwards. To measure, more tries and nothing else on the machine:
//!
//! ```sh
//! MOTORIUM_STOPS=200 cargo test --release --package motorium-tests --test e2e scripted::stops -- --nocapture
//! ```

use std::time::Duration;

use motorium_client::Client;
use motorium_proto::domain::decision::Next;
use motorium_proto::v1::orchestrator as wire;
use motorium_tests::input::{Heard, InputListener};
use motorium_tests::script::{act, click, typing};
use motorium_tests::stage::Stage;
use motorium_tests::watched::Watched;
use motorium_tests::{tasks, until};
use tokio::time::Instant;
use tonic::transport::Channel;

use super::task;

/// Without `MOTORIUM_STOPS`.
const TRIES: usize = 5;
/// No stop takes longer, however busy the machine is.
const BOUND: Duration = Duration::from_secs(5);
/// No input for so long: none is on its way.
const SILENCE: Duration = Duration::from_millis(200);
/// Typing them takes long enough to be interrupted.
const CHARACTERS: usize = 5_000;
/// Keys that are awaited before a text is interrupted.
const IN_THE_MIDDLE: usize = 200;

/// How a person stops a task.
#[derive(Debug, Clone, Copy)]
enum Stop {
    Cancel,
    Pause,
    TakeOver,
}

impl Stop {
    const ALL: [Self; 3] = [Self::Pause, Self::TakeOver, Self::Cancel];

    /// Whether the task can go on afterwards.
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

    /// The event that says that it has stopped.
    fn event(self) -> &'static str {
        match self {
            Self::Cancel => "Cancelled",
            Self::Pause => "Paused",
            Self::TakeOver => "TakenOver",
        }
    }
}

/// How long one stop took.
#[derive(Debug, Clone, Copy)]
struct Took {
    /// From the call to the last that mouse or keyboard did; zero if nothing came any more.
    input: Duration,
    /// From the call to the event, as a watcher gets it.
    event: Duration,
}

/// Stops the task and waits until nothing comes any more.
async fn stop(stage: &Stage, task: &Watched, input: &InputListener, how: Stop) -> Took {
    let client = stage.client();
    // Connected before the clock runs.
    client.get_task(&task.name).await.unwrap();
    let before = input.heard();
    let called = Instant::now();
    let (stopped, ()) = tokio::join!(task.saw(how.event()), how.ask_for(&client, &task.name));
    let last = silence(input).await;
    let came = last.events > before.events;
    let input = came.then(|| last.last.saturating_duration_since(called));
    Took {
        input: input.unwrap_or_default(),
        event: stopped.saturating_duration_since(called),
    }
}

/// Waits until mouse and keyboard have been silent for [`SILENCE`], counted from now on.
async fn silence(input: &InputListener) -> Heard {
    let since = Instant::now();
    until("silence", || async {
        let heard = input.heard();
        let silent = heard.last.max(since).elapsed() >= SILENCE;
        silent.then_some(heard)
    })
    .await
}

async fn resume(stage: &Stage, task: &Watched) {
    let request = wire::ResumeTaskRequest {
        name: task.name.clone(),
        ..wire::ResumeTaskRequest::default()
    };
    stage.client().raw().resume_task(request).await.unwrap();
}

async fn watched(stage: &Stage) -> Watched {
    let name = stage.begin(task("something long")).await;
    Watched::follow(&stage.client(), name)
}

/// All tries of one kind.
struct Tries {
    what: String,
    took: Vec<Took>,
}

impl Tries {
    fn of(what: String) -> Self {
        Self {
            what,
            took: Vec::new(),
        }
    }

    fn add(&mut self, took: Took) {
        let Took { input, event } = took;
        eprintln!(
            "{}: last input {} ms after the call, event {} ms after it",
            self.what,
            input.as_millis(),
            event.as_millis()
        );
        self.took.push(took);
    }

    fn finish(&self) {
        let of = |choose: fn(&Took) -> Duration| -> Vec<Duration> {
            self.took.iter().map(choose).collect()
        };
        for (name, mut times) in [
            ("input", of(|took| took.input)),
            ("event", of(|took| took.event)),
        ] {
            eprintln!("{}: {name} {}", self.what, summary(&mut times));
            let longest = times.last().copied().unwrap_or_default();
            assert!(
                longest < BOUND,
                "{}: {name} came {longest:?} late",
                self.what
            );
        }
    }
}

/// Sorts them and says what they are like.
fn summary(times: &mut [Duration]) -> String {
    times.sort();
    let percentile = |percent: usize| {
        let rank = (times.len() * percent).div_ceil(100).max(1);
        times[rank - 1].as_secs_f64() * 1e3
    };
    format!(
        "p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms, max {:.1} ms of {}",
        percentile(50),
        percentile(95),
        percentile(99),
        percentile(100),
        times.len()
    )
}

fn tries() -> usize {
    let wanted = std::env::var("MOTORIUM_STOPS");
    wanted.map_or(TRIES, |number| {
        number.parse().expect("MOTORIUM_STOPS is a number")
    })
}

/// Tries every way to stop, over and over; `interrupt` says how long one took.
async fn measure(stage: &mut Stage, when: &str, interrupt: impl AsyncFn(&mut Stage, Stop) -> Took) {
    let mut all = Stop::ALL.map(|how| (how, Tries::of(format!("{} {when}", how.name()))));
    for _ in 0..tries() {
        for (how, tries) in &mut all {
            tries.add(interrupt(stage, *how).await);
        }
    }
    for (_, tries) in &all {
        tries.finish();
    }
}

/// Ends a task that can still go on.
async fn end(stage: &Stage, task: &Watched, after: Stop) {
    if after.leaves_it_open() {
        let client = stage.client();
        client.cancel_task(&task.name, "enough").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_model_thinks() {
    let mut stage = Stage::start().await;
    let input = stage.desktop.listen();
    let interrupt = async |stage: &mut Stage, how| interrupt_thinking(stage, &input, how).await;
    measure(&mut stage, "while a model thinks", interrupt).await;
    stays_still_while_paused(&mut stage, &input).await;
}

async fn interrupt_thinking(stage: &mut Stage, input: &InputListener, how: Stop) -> Took {
    let task = watched(stage).await;
    let mut thinks = stage.script.asked().await;
    let before = input.heard().events;
    let took = stop(stage, &task, input, how).await;
    end(stage, &task, how).await;
    // Nobody pays for an answer that nobody wants.
    thinks.given_up().await;
    assert_eq!(input.heard().events, before, "nothing was to be done");
    took
}

/// What the model decides while its task is paused is done when it goes on, and once.
async fn stays_still_while_paused(stage: &mut Stage, input: &InputListener) {
    let task = watched(stage).await;
    let asked = stage.script.asked().await;
    stop(stage, &task, input, Stop::Pause).await;
    let before = input.heard().events;
    asked.decide(act(click("Beacon")));
    assert_eq!(silence(input).await.events, before, "it is paused");
    resume(stage, &task).await;
    task.saw("EffectJudged").await;
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
    let mut stage = Stage::start().await;
    let input = stage.desktop.listen();
    let interrupt = async |stage: &mut Stage, how| interrupt_reading(stage, &input, how).await;
    measure(&mut stage, "while the screen is read", interrupt).await;
}

async fn interrupt_reading(stage: &mut Stage, input: &InputListener, how: Stop) -> Took {
    // So that there is something to be read.
    stage.site.load_anew().await;
    let before = input.heard().events;
    let task = watched(stage).await;
    task.saw("LiveFrame").await;
    let took = stop(stage, &task, input, how).await;
    end(stage, &task, how).await;
    assert_eq!(input.heard().events, before, "nothing was to be done");
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_text_is_typed() {
    let mut stage = Stage::start().await;
    let input = stage.desktop.listen();
    let interrupt = async |stage: &mut Stage, how| interrupt_text(stage, &input, how).await;
    measure(&mut stage, "while a text is typed", interrupt).await;
}

async fn interrupt_text(stage: &mut Stage, input: &InputListener, how: Stop) -> Took {
    stage.site.load_anew().await;
    stage.site.order("focus").await;
    let before = input.heard().events;
    let task = watched(stage).await;
    let text: String = ('a'..='z').cycle().take(CHARACTERS).collect();
    stage.script.asked().await.decide(act(typing(&text)));
    until("the middle of the text", || async {
        (input.heard().events >= before + IN_THE_MIDDLE).then_some(())
    })
    .await;
    let took = stop(stage, &task, input, how).await;
    task.saw("ActionPerformed").await;
    let after = input.heard().events;
    let pressed = stage.desktop.pressed();
    assert_eq!(pressed, Vec::<String>::new(), "nothing stays pressed");
    assert_typed_a_part_of(&text, stage).await;
    assert_eq!(input.heard().events, after, "it has let go");
    end(stage, &task, how).await;
    took
}

async fn assert_typed_a_part_of(text: &str, stage: &Stage) {
    let inputs = stage.site.quiet_for(SILENCE).await;
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
    let mut stage = Stage::start().await;
    let input = stage.desktop.listen();
    let interrupt = async |stage: &mut Stage, how| interrupt_waiting(stage, &input, how).await;
    measure(&mut stage, "while the screen moves", interrupt).await;
}

async fn interrupt_waiting(stage: &mut Stage, input: &InputListener, how: Stop) -> Took {
    stage.site.load_anew().await;
    let task = watched(stage).await;
    stage.script.asked().await.decide(for_ever_moving());
    // From then on the screen is waited for.
    task.saw("ActionPerformed").await;
    let took = stop(stage, &task, input, how).await;
    assert_eq!(stage.presses().len(), 1, "nothing is clicked again");
    let client = stage.client();
    client.cancel_task(&task.name, "enough").await.unwrap();
    let events = tasks::follow(&client, &task.name).await;
    let place = |kind: &str| events.iter().position(|event| tasks::kind(event) == kind);
    let (stopped, judged) = (place(how.event()), place("EffectJudged"));
    assert!(
        judged.is_none_or(|judged| stopped.is_some_and(|stopped| stopped < judged)),
        "it was judged before:\n{}",
        tasks::described(&events)
    );
    took
}

/// A click that starts something that moves for ever in its place.
fn for_ever_moving() -> Next {
    act(click("Cradle"))
}
