//! One task of several actions, and everything that must hold of it however often it was interrupted.
//!
//! The task presses three buttons and types two words. Where Motorium cannot know whether something was done it asks,
//! and a person who looks at the screen sees to it: what is missing is done by hand, then the task goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use motorium_client::Update;
use motorium_proto::v1::common::ActionResult;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use tokio::time::Instant;

use crate::desktop::Desktop;
use crate::services::Services;
use crate::site::{Entry, Site};
use crate::tasks::{self, TASK_PATIENCE};

/// A part of the errand: what is said, and what an element of the page holds afterwards.
struct Clause {
    words: &'static str,
    element: &'static str,
    value: &'static str,
}

const CLAUSES: [Clause; 5] = [
    Clause {
        words: r#"click "Harbour""#,
        element: "harbour",
        value: "pressed",
    },
    Clause {
        words: r#"type "marmalade" into "First word""#,
        element: "first",
        value: "marmalade",
    },
    Clause {
        words: r#"click "Lantern""#,
        element: "lantern",
        value: "pressed",
    },
    Clause {
        words: r#"type "zeppelin" into "Second word""#,
        element: "second",
        value: "zeppelin",
    },
    Clause {
        words: r#"click "Meadow""#,
        element: "meadow",
        value: "pressed",
    },
];

/// The errand as a goal.
#[must_use]
pub fn goal() -> String {
    CLAUSES.map(|clause| clause.words).join(", then ")
}

/// When the Orchestrator is killed.
#[derive(Debug)]
pub enum Kill {
    /// The instant that an event of this kind (as [`tasks::kind`] names it) is seen: once for each action that it is
    /// about, or, where it is about none, once for each state of the work.
    AtEach(&'static str),
    /// So long after it was ready, again and again, until none are left.
    After(Vec<Duration>),
    /// Never.
    Never,
}

/// What happened during an errand.
#[derive(Debug)]
pub struct Told {
    /// All events, from all orchestrators.
    pub events: Vec<wire::Event>,
    /// The Orchestrator was killed at these points of the work.
    pub kills: Vec<String>,
    /// How often the person was asked.
    pub questions: usize,
    /// How often the person had to do something by hand.
    pub done_by_hand: usize,
}

/// The errand on its desktop.
#[derive(Debug)]
pub struct Errand {
    /// Four services on four ports. They end before the desktop does.
    pub services: Services,
    /// With the logger on it.
    pub desktop: Desktop,
    /// Where the logger reports.
    pub site: Site,
}

impl Errand {
    /// Starts everything.
    pub async fn prepare() -> Self {
        let mut desktop = Desktop::start().await;
        let site = Site::serve().await;
        site.show_logger(&mut desktop).await;
        let services = Services::start(&desktop).await;
        Self {
            services,
            desktop,
            site,
        }
    }

    /// Runs the errand on a fresh page, killing the Orchestrator as wanted, and checks all that must hold.
    ///
    /// # Panics
    /// If anything does not hold.
    pub async fn run(&mut self, kill: Kill) -> Told {
        self.site.reload().await;
        let run = tokio::time::timeout(TASK_PATIENCE, self.run_to_the_end(&kill));
        let told = run
            .await
            .unwrap_or_else(|_| panic!("the errand does not end; kill: {kill:?}"));
        self.check(&told).await;
        told
    }

    async fn run_to_the_end(&mut self, kill: &Kill) -> Told {
        let task = self.services.client().create_task(&goal()).await;
        let task = task.expect("the goal is accepted").name;
        let mut told = Told {
            events: Vec::new(),
            kills: Vec::new(),
            questions: 0,
            done_by_hand: 0,
        };
        let mut resume_token = String::new();
        let mut question: Option<String> = None;
        loop {
            let client = self.services.client();
            let mut updates = client.watch_from(&task, &resume_token);
            let killed_at = kill.time(told.kills.len());
            let point = loop {
                if let Some(message) = question.take() {
                    told.questions += 1;
                    told.done_by_hand += self.help(&task, &message).await;
                }
                let update = tokio::select! {
                    update = updates.next() => update,
                    () = sleep_until(killed_at) => break "some time".to_owned(),
                };
                // A watch ends by itself only after the end of its task.
                let Some(update) = update else { return told };
                let update = update.unwrap_or_else(|report| {
                    panic!(
                        "the watch broke: {report}\n{}",
                        tasks::described(&told.events)
                    )
                });
                let Update::Event {
                    event,
                    resume_token: token,
                } = update
                else {
                    continue;
                };
                resume_token = token;
                if let Some(Kind::UserAsked(asked)) = &event.kind {
                    question = asked
                        .request
                        .as_ref()
                        .map(|request| request.message.clone());
                }
                told.events.push(*event);
                if let Some(point) = kill.point(&told) {
                    break point;
                }
            };
            drop(updates);
            told.kills.push(point);
            self.services.crash_orchestrator().await;
        }
    }

    /// Does as a person would who is asked whether something was done: looks, does what is missing, says so.
    async fn help(&self, task: &str, question: &str) -> usize {
        let clause = CLAUSES
            .iter()
            .find(|clause| question.contains(clause.words));
        let clause = clause.unwrap_or_else(|| panic!("nobody can answer: {question}"));
        // Whatever was on its way when the question was asked has arrived after that.
        self.site.quiet_for(Duration::from_millis(300)).await;
        let is_done = self.site.fields().await[clause.element] == clause.value;
        if !is_done {
            self.site.finish_by_hand(clause.element, clause.value).await;
        }
        let request = wire::AcknowledgeUserActionRequest {
            name: task.to_owned(),
            ..wire::AcknowledgeUserActionRequest::default()
        };
        let client = self.services.client();
        let answered = client.raw().acknowledge_user_action(request).await;
        answered.expect("a task that asks takes an answer");
        usize::from(!is_done)
    }

    async fn check(&self, told: &Told) {
        let story = || tasks::described(&told.events);
        tasks::answer(&told.events);
        let numbers = told.events.iter().map(|event| event.sequence);
        assert!(
            numbers.eq((1..).take(told.events.len())),
            "events are lost or came twice:\n{}",
            story()
        );
        let fields = self.site.fields().await;
        let expected: BTreeMap<&str, &str> = CLAUSES
            .iter()
            .map(|clause| (clause.element, clause.value))
            .chain([("notes", "")])
            .collect();
        let held = fields
            .iter()
            .map(|(id, value)| (id.as_str(), value.as_str()));
        assert!(held.eq(expected), "{fields:?}:\n{}", story());
        let inputs = self.site.inputs();
        for Clause { element, value, .. } in CLAUSES {
            let of_element: Vec<&Entry> = inputs
                .iter()
                .filter(|entry| entry.target == element)
                .collect();
            assert_at_most_once(element, value, &of_element, &story());
        }
        let pressed = self.desktop.pressed();
        assert!(pressed.is_empty(), "{pressed:?} stay pressed");
    }
}

impl Kill {
    /// The point of the work that has just been reached, if the Orchestrator is to be killed there.
    fn point(&self, told: &Told) -> Option<String> {
        let Kill::AtEach(kind) = self else {
            return None;
        };
        let event = told
            .events
            .last()
            .filter(|event| tasks::kind(event) == *kind)?;
        let point = match &event.kind {
            Some(Kind::ActionIntended(intended)) => without_attempt(&intended.action_id),
            Some(Kind::ActionPerformed(performed)) => without_attempt(&performed.action_id),
            _ => format!("{} actions performed", performed(&told.events)),
        };
        let point = format!("{kind} {point}");
        (!told.kills.contains(&point)).then_some(point)
    }

    fn time(&self, kills: usize) -> Option<Instant> {
        let Kill::After(times) = self else {
            return None;
        };
        times.get(kills).map(|&after| Instant::now() + after)
    }
}

/// An action's id without its task and the number of the attempt.
fn without_attempt(id: &str) -> String {
    let parts: Vec<&str> = id.split('/').skip(1).collect();
    parts[..parts.len().saturating_sub(1)].join("/")
}

fn performed(events: &[wire::Event]) -> usize {
    let is_performed = |event: &&wire::Event| {
        let Some(Kind::ActionPerformed(performed)) = &event.kind else {
            return false;
        };
        let outcome = performed.outcome.as_ref();
        outcome.is_some_and(|outcome| outcome.result() == ActionResult::Performed)
    };
    events.iter().filter(is_performed).count()
}

async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// No button and no key went down twice for what was wanted once.
fn assert_at_most_once(element: &str, value: &str, inputs: &[&Entry], story: &str) {
    let count = |kind: &str| inputs.iter().filter(|entry| entry.kind == kind).count();
    for kind in ["mousedown", "click"] {
        let number = count(kind);
        assert!(number <= 1, "{number} times {kind} on {element}:\n{story}");
    }
    assert_eq!(
        count("mousedown"),
        count("mouseup"),
        "a button stays down on {element}:\n{story}"
    );
    let typed: String = inputs
        .iter()
        .filter(|entry| entry.kind == "keydown")
        .map(|entry| entry.text.as_str())
        .collect();
    assert!(
        typed.is_empty() || value.starts_with(&typed),
        "{typed:?} was typed for {value:?}:\n{story}"
    );
}
