//! How soon everything stands still after a person has said stop, or pause, whatever is going on.
//!
//! Each kind is tried [`TRIES`] times and each try is printed; asserted is only what a busy machine keeps too, and that
//! nothing at all comes afterwards. To measure, more tries and nothing else on the machine:
//!
//! ```sh
//! MOTORIUM_STOPS=200 cargo test --release --package motorium-tests --test e2e scripted::stops -- --nocapture
//! ```

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use motorium_client::{Client, Update};
use motorium_proto::domain::decision::Next;
use motorium_proto::v1::orchestrator as wire;
use motorium_tests::input::{Heard, InputListener};
use motorium_tests::script::{act, click, typing};
use motorium_tests::stage::Stage;
use motorium_tests::{tasks, until};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tonic::transport::Channel;

use super::task;

/// Without `MOTORIUM_STOPS`.
const TRIES: usize = 5;
/// No stop takes longer, however busy the machine is.
const BOUND: Duration = Duration::from_secs(1);
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
}

impl Stop {
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
        }
    }

    /// The event that says that it has stopped.
    fn event(self) -> &'static str {
        match self {
            Self::Cancel => "Cancelled",
            Self::Pause => "Paused",
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

/// A task that is watched, with the time at which each of its events came.
struct Watched {
    name: String,
    events: Arc<Mutex<Vec<(Instant, wire::Event)>>>,
    watching: JoinHandle<()>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl Watched {
    async fn begin(stage: &Stage) -> Self {
        let name = stage.begin(task("something long")).await;
        let events = Arc::new(Mutex::new(Vec::new()));
        let (seen, mut updates) = (Arc::clone(&events), stage.client().watch(&name));
        let watching = tokio::spawn(async move {
            while let Some(update) = updates.next().await {
                if let Update::Event { event, .. } = update.expect("the watch goes on") {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.push((Instant::now(), *event));
                }
            }
        });
        Self {
            name,
            events,
            watching,
        }
    }

    /// When the first event of this kind came.
    async fn saw(&self, kind: &str) -> Instant {
        until(kind, || async {
            let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            let found = events.iter().find(|(_, event)| tasks::kind(event) == kind);
            found.map(|(at, _)| *at)
        })
        .await
    }
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

/// All tries of one kind.
struct Tries {
    what: &'static str,
    took: Vec<Took>,
}

impl Tries {
    fn of(what: &'static str) -> Self {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_model_thinks() {
    let mut stage = Stage::start().await;
    let input = stage.desktop.listen();
    let mut pauses = Tries::of("pause while a model thinks");
    let mut cancels = Tries::of("cancel while a model thinks");
    for _ in 0..tries() {
        let task = Watched::begin(&stage).await;
        let mut thinks = stage.script.asked().await;
        let before = input.heard().events;
        pauses.add(stop(&stage, &task, &input, Stop::Pause).await);
        resume(&stage, &task).await;
        cancels.add(stop(&stage, &task, &input, Stop::Cancel).await);
        // Nobody pays for an answer that nobody wants.
        thinks.given_up().await;
        assert_eq!(input.heard().events, before, "nothing was to be done");
    }
    pauses.finish();
    cancels.finish();
    stays_still_while_paused(&mut stage, &input).await;
}

/// What the model decides while its task is paused is done when it goes on, and once.
async fn stays_still_while_paused(stage: &mut Stage, input: &InputListener) {
    let task = Watched::begin(stage).await;
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
async fn while_a_text_is_typed() {
    let mut stage = Stage::start().await;
    let input = stage.desktop.listen();
    let mut pauses = Tries::of("pause while a text is typed");
    let mut cancels = Tries::of("cancel while a text is typed");
    for _ in 0..tries() {
        for (how, tries) in [(Stop::Pause, &mut pauses), (Stop::Cancel, &mut cancels)] {
            tries.add(interrupt_text(&mut stage, &input, how).await);
        }
    }
    pauses.finish();
    cancels.finish();
}

async fn interrupt_text(stage: &mut Stage, input: &InputListener, how: Stop) -> Took {
    stage.site.load_anew().await;
    stage.site.order("focus").await;
    let before = input.heard().events;
    let task = Watched::begin(stage).await;
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
    if matches!(how, Stop::Pause) {
        let client = stage.client();
        client.cancel_task(&task.name, "enough").await.unwrap();
    }
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
    let mut pauses = Tries::of("pause while the screen moves");
    let mut cancels = Tries::of("cancel while the screen moves");
    for _ in 0..tries() {
        for (how, tries) in [(Stop::Pause, &mut pauses), (Stop::Cancel, &mut cancels)] {
            tries.add(interrupt_waiting(&mut stage, &input, how).await);
        }
    }
    pauses.finish();
    cancels.finish();
}

async fn interrupt_waiting(stage: &mut Stage, input: &InputListener, how: Stop) -> Took {
    stage.site.load_anew().await;
    let task = Watched::begin(stage).await;
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
