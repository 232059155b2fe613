//! A task of several actions with the invariants that must hold however often it is interrupted.
//!
//! The task presses three buttons and types two words. If Motorium cannot know whether an action was performed it asks
//! the user; the simulated user checks the page, completes what is missing, and lets the task continue.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use motorium_client::Update;
use motorium_proto::v1::common::ActionResult;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use tokio::time::Instant;

use crate::desktop::TestDesktop;
use crate::page_server::{PageEvent, PageServer};
use crate::services::Services;
use crate::tasks::{self, TASK_TIMEOUT};

/// A clause of the goal, and the value that an element of the page has afterwards.
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

/// Returns the goal of the task.
#[must_use]
pub fn goal() -> String {
    CLAUSES.map(|clause| clause.words).join(", then ")
}

/// Schedule of crashes of the Orchestrator.
#[derive(Debug)]
pub enum CrashSchedule {
    /// On each event of this kind (as named by [`tasks::kind`]): once per action, or, for events without an action, once per
    /// number of performed actions.
    OnEvent(&'static str),
    /// After each of these delays, counted from the previous restart.
    AfterDelays(Vec<Duration>),
    /// No crash.
    Never,
}

/// Report of one run of the task.
#[derive(Debug)]
pub struct TaskReport {
    /// All events, across restarts of the Orchestrator.
    pub events: Vec<wire::Event>,
    /// Points at which the Orchestrator was killed.
    pub crashes: Vec<String>,
    /// Number of questions to the user.
    pub questions: usize,
    /// Number of actions that the user completed manually.
    pub manual_actions: usize,
}

/// The task with its desktop and services.
#[derive(Debug)]
pub struct MultiStepTask {
    /// Four services on four ports. Dropped before the desktop.
    pub services: Services,
    /// The desktop, showing the logger page.
    pub desktop: TestDesktop,
    /// The server that the logger page reports to.
    pub site: PageServer,
}

impl MultiStepTask {
    /// Starts the desktop, the page and the services.
    pub async fn start() -> Self {
        let mut desktop = TestDesktop::start().await;
        let site = PageServer::serve().await;
        site.show_logger(&mut desktop).await;
        let services = Services::start(&desktop).await;
        Self {
            services,
            desktop,
            site,
        }
    }

    /// Runs the task on a fresh page with scheduled crashes of the Orchestrator, then checks all invariants.
    ///
    /// # Panics
    /// If an invariant is violated.
    pub async fn run(&mut self, kill: CrashSchedule) -> TaskReport {
        self.site.reload_logger().await;
        let run = tokio::time::timeout(TASK_TIMEOUT, self.run_to_the_end(&kill));
        let report = run
            .await
            .unwrap_or_else(|_| panic!("the task did not end; crash schedule: {kill:?}"));
        self.check(&report).await;
        report
    }

    async fn run_to_the_end(&mut self, kill: &CrashSchedule) -> TaskReport {
        let task = self.services.client().create_task(&goal()).await;
        let task = task.expect("the goal is accepted").name;
        let mut report = TaskReport {
            events: Vec::new(),
            crashes: Vec::new(),
            questions: 0,
            manual_actions: 0,
        };
        let mut resume_token = String::new();
        let mut question: Option<String> = None;
        loop {
            let client = self.services.client();
            let mut updates = client.watch_from(&task, &resume_token);
            let killed_at = kill.time(report.crashes.len());
            let point = loop {
                if let Some(message) = question.take() {
                    report.questions += 1;
                    report.manual_actions += self.answer_question(&task, &message).await;
                }
                let update = tokio::select! {
                    update = updates.next() => update,
                    () = sleep_until(killed_at) => break "some time".to_owned(),
                };
                // A watch ends only after the end of its task.
                let Some(update) = update else { return report };
                let update = update.unwrap_or_else(|error| {
                    panic!(
                        "the watch broke: {error}\n{}",
                        tasks::describe(&report.events)
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
                report.events.push(*event);
                if let Some(point) = kill.point(&report) {
                    break point;
                }
            };
            drop(updates);
            report.crashes.push(point);
            self.services.crash_orchestrator().await;
        }
    }

    /// Answers the question whether an action was performed: checks the page, completes what is missing, acknowledges.
    async fn answer_question(&self, task: &str, question: &str) -> usize {
        let clause = CLAUSES
            .iter()
            .find(|clause| question.contains(clause.words));
        let clause = clause.unwrap_or_else(|| panic!("the question names no clause: {question}"));
        // Input that was in flight when the question was asked has arrived after 300 ms without input.
        self.site.wait_for_idle(Duration::from_millis(300)).await;
        let is_done = self.site.fields().await[clause.element] == clause.value;
        if !is_done {
            self.site
                .complete_manually(clause.element, clause.value)
                .await;
        }
        let request = wire::AcknowledgeUserActionRequest {
            name: task.to_owned(),
            ..wire::AcknowledgeUserActionRequest::default()
        };
        let client = self.services.client();
        let answered = client.raw().acknowledge_user_action(request).await;
        answered.expect("a waiting task accepts an answer");
        usize::from(!is_done)
    }

    async fn check(&self, report: &TaskReport) {
        let story = || tasks::describe(&report.events);
        tasks::answer(&report.events);
        let numbers = report.events.iter().map(|event| event.sequence);
        assert!(
            numbers.eq((1..).take(report.events.len())),
            "events were lost or duplicated:\n{}",
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
            let of_element: Vec<&PageEvent> = inputs
                .iter()
                .filter(|entry| entry.target == element)
                .collect();
            assert_at_most_once(element, value, &of_element, &story());
        }
        let pressed = self.desktop.pressed();
        assert!(pressed.is_empty(), "{pressed:?} stay pressed");
    }
}

impl CrashSchedule {
    /// Returns the point just reached, if the Orchestrator is to be killed there.
    fn point(&self, report: &TaskReport) -> Option<String> {
        let CrashSchedule::OnEvent(kind) = self else {
            return None;
        };
        let event = report
            .events
            .last()
            .filter(|event| tasks::kind(event) == *kind)?;
        let point = match &event.kind {
            Some(Kind::ActionIntended(intended)) => without_attempt(&intended.action_id),
            Some(Kind::ActionPerformed(performed)) => without_attempt(&performed.action_id),
            _ => format!("{} actions performed", performed(&report.events)),
        };
        let point = format!("{kind} {point}");
        (!report.crashes.contains(&point)).then_some(point)
    }

    fn time(&self, kills: usize) -> Option<Instant> {
        let CrashSchedule::AfterDelays(times) = self else {
            return None;
        };
        times.get(kills).map(|&after| Instant::now() + after)
    }
}

/// Returns an action's id without its task and attempt number.
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

/// Asserts that no button and no key was pressed twice for one action.
fn assert_at_most_once(element: &str, value: &str, inputs: &[&PageEvent], story: &str) {
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
