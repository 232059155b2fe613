//! Testbed of the real programs on a real display, with a page that reacts unreliably and a planner driven by the test.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use motorium_client::{Channel, Client, Update};
use motorium_proto::domain::decision::Next;
use motorium_proto::service::PlanRequest;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;

use crate::desktop::TestDesktop;
use crate::event_log::EventLog;
use crate::page_server::PageServer;
use crate::screenshots::{Screenshot, ScreenshotFolder};
use crate::scripted_planner::{ScriptedPlanner, done};
use crate::services::Services;
use crate::tasks::{self, TASK_TIMEOUT};

/// Everything that a task needs. The services are dropped before the desktop that they use.
#[derive(Debug)]
pub struct Testbed {
    /// Three regular services, and an Orchestrator that uses the scripted planner.
    pub services: Services,
    /// The scripted planner.
    pub script: ScriptedPlanner,
    /// The desktop, showing the page.
    pub desktop: TestDesktop,
    /// The server that the page reports to.
    pub site: PageServer,
    album: ScreenshotFolder,
}

/// Record of one task.
#[derive(Debug)]
pub struct TaskRun {
    /// Resource name, `tasks/{task}`.
    pub task: String,
    /// Events of the task.
    pub events: EventLog,
    /// Requests to the planner, in order.
    pub plan_requests: Vec<PlanRequest>,
}

impl Testbed {
    /// Starts the desktop, the page `stubborn.html`, the services and the planner.
    pub async fn start() -> Self {
        Self::start_with_page("stubborn.html").await
    }

    /// Starts the desktop, a page, the services and the planner.
    pub async fn start_with_page(page: &str) -> Self {
        let mut desktop = TestDesktop::start().await;
        let site = PageServer::serve().await;
        desktop.open_page(&site.url(page));
        let (services, script) = Services::start_with_script(&desktop).await;
        site.wait_until_loaded().await;
        Self {
            services,
            script,
            desktop,
            site,
            album: ScreenshotFolder::open(),
        }
    }

    /// Returns a client of the Orchestrator.
    #[must_use]
    pub fn client(&self) -> Client<Channel> {
        self.services.client()
    }

    /// Creates a task.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn create_task(&self, task: wire::Task) -> String {
        let request = wire::CreateTaskRequest {
            task: Some(task),
            ..wire::CreateTaskRequest::default()
        };
        let created = self.client().create(request).await;
        created.expect("the task is accepted").name
    }

    /// Runs a task with these decisions in order, followed by `done`, until it has ended or waits for the user.
    ///
    /// # Panics
    /// If the watch breaks, or it takes longer than [`TASK_TIMEOUT`].
    pub async fn run_task(
        &mut self,
        task: wire::Task,
        decisions: impl IntoIterator<Item = Next>,
    ) -> TaskRun {
        let name = self.create_task(task).await;
        self.continue_task(name, decisions).await
    }

    /// Continues a created task with these decisions, as [`Testbed::run_task`].
    ///
    /// # Panics
    /// Panics under the conditions of [`Testbed::run_task`].
    pub async fn continue_task(
        &mut self,
        name: String,
        decisions: impl IntoIterator<Item = Next>,
    ) -> TaskRun {
        let mut run = TaskRun {
            task: name,
            events: EventLog::default(),
            plan_requests: Vec::new(),
        };
        let going_on = self.drive(&mut run, decisions);
        let in_time = tokio::time::timeout(TASK_TIMEOUT, going_on).await;
        assert!(
            in_time.is_ok(),
            "the task did not end:\n{}",
            run.events.text()
        );
        run
    }

    /// Returns whether the task has ended or waits for the user. A question may have been answered since its event.
    async fn is_blocked_or_ended(&self, run: &TaskRun) -> bool {
        let Some(last) = run.events.0.last() else {
            return false;
        };
        if !matches!(last.kind, Some(Kind::UserAsked(_))) {
            return tasks::is_end(last);
        }
        let task = self.client().get_task(&run.task).await;
        task.expect("the task exists").state() == State::AwaitingUser
    }

    async fn drive(&mut self, run: &mut TaskRun, decisions: impl IntoIterator<Item = Next>) {
        let mut decisions = decisions.into_iter();
        let mut updates = self.client().watch(&run.task);
        loop {
            tokio::select! {
                update = updates.next() => {
                    let update = update.expect("a watch continues to the end of its task");
                    let Update::Event { event, .. } = update.expect("the watch continues") else {
                        continue;
                    };
                    run.events.0.push(*event);
                    if self.is_blocked_or_ended(run).await {
                        return;
                    }
                }
                asked = self.script.next_request() => {
                    run.plan_requests.push(asked.request.clone());
                    asked.decide(decisions.next().unwrap_or_else(|| done("it is done")));
                }
            }
        }
    }

    /// Saves the screenshots of a task.
    pub async fn save_screenshots(&self, title: &str, story: &EventLog) -> Vec<Screenshot> {
        self.album.save_all(&self.client(), title, story).await
    }

    /// Returns the points of all mouse presses that the page received, in screen pixels.
    #[must_use]
    pub fn presses(&self) -> Vec<(i32, i32)> {
        let inputs = self.site.inputs().into_iter();
        let presses = inputs.filter(|entry| entry.kind == "mousedown");
        presses.map(|entry| (entry.x, entry.y)).collect()
    }

    /// Returns the ids of the clicked elements, as reported by the page.
    #[must_use]
    pub fn clicked_elements(&self) -> BTreeSet<String> {
        let inputs = self.site.inputs().into_iter();
        let clicks = inputs.filter(|entry| entry.kind == "click");
        clicks.map(|entry| entry.target).collect()
    }

    /// Waits for the clicks, then asserts that the page received exactly those of the events.
    ///
    /// # Panics
    /// If they differ.
    pub async fn assert_clicks_match(&self, story: &EventLog) {
        let expected = story.clicks();
        let arrived = || async { (self.presses().len() >= expected.len()).then_some(()) };
        crate::until("the clicks to arrive", arrived).await;
        assert_eq!(
            self.presses(),
            expected,
            "clicks received by the page, and clicks of the events:\n{}",
            story.text()
        );
    }
}
