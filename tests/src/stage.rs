//! The real programs on a real display with a page that does not do what it seems to, and a planner that the test is.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use motorium_client::{Client, Update};
use motorium_proto::domain::decision::Next;
use motorium_proto::service::PlanRequest;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use tonic::transport::Channel;

use crate::desktop::Desktop;
use crate::pictures::{Album, Picture};
use crate::script::{Script, done};
use crate::services::Services;
use crate::site::Site;
use crate::story::Story;
use crate::tasks::{self, TASK_PATIENCE};

/// Everything that a task needs. What uses the desktop ends before it does.
#[derive(Debug)]
pub struct Stage {
    /// Three services as they are, and an Orchestrator that asks the script.
    pub services: Services,
    /// The planner.
    pub script: Script,
    /// With `stubborn.html` on it.
    pub desktop: Desktop,
    /// Where the page reports.
    pub site: Site,
    album: Album,
}

/// What happened during a task.
#[derive(Debug)]
pub struct Told {
    /// `tasks/{task}`.
    pub task: String,
    /// Its events.
    pub story: Story,
    /// What the planner was asked, in order.
    pub asked: Vec<PlanRequest>,
}

impl Stage {
    /// Starts everything.
    pub async fn start() -> Self {
        let mut desktop = Desktop::start().await;
        let site = Site::serve().await;
        desktop.browse(&site.url("stubborn.html"));
        let (services, script) = Services::start_with_script(&desktop).await;
        site.shown().await;
        Self {
            services,
            script,
            desktop,
            site,
            album: Album::open(),
        }
    }

    /// A client of the Orchestrator.
    #[must_use]
    pub fn client(&self) -> Client<Channel> {
        self.services.client()
    }

    /// Creates a task.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn begin(&self, task: wire::Task) -> String {
        let request = wire::CreateTaskRequest {
            task: Some(task),
            ..wire::CreateTaskRequest::default()
        };
        let created = self.client().create(request).await;
        created.expect("the task is accepted").name
    }

    /// Carries a task out with these decisions, one after the other, and then the claim that it is done: until it has
    /// ended, or waits for the user.
    ///
    /// # Panics
    /// If the watch breaks, or it takes longer than [`TASK_PATIENCE`].
    pub async fn carry_out(
        &mut self,
        task: wire::Task,
        decisions: impl IntoIterator<Item = Next>,
    ) -> Told {
        let name = self.begin(task).await;
        self.carry_on(name, decisions).await
    }

    /// The same with a task that has begun.
    ///
    /// # Panics
    /// As [`Stage::carry_out`].
    pub async fn carry_on(
        &mut self,
        name: String,
        decisions: impl IntoIterator<Item = Next>,
    ) -> Told {
        let mut told = Told {
            task: name,
            story: Story::default(),
            asked: Vec::new(),
        };
        let going_on = self.go_on(&mut told, decisions);
        let in_time = tokio::time::timeout(TASK_PATIENCE, going_on).await;
        assert!(in_time.is_ok(), "it does not end:\n{}", told.story.text());
        told
    }

    /// Whether nothing more comes without somebody's doing. What was asked may have been answered since.
    async fn stands_still(&self, told: &Told) -> bool {
        let Some(last) = told.story.0.last() else {
            return false;
        };
        if !matches!(last.kind, Some(Kind::UserAsked(_))) {
            return tasks::is_end(last);
        }
        let task = self.client().get_task(&told.task).await;
        task.expect("it is there").state() == State::AwaitingUser
    }

    async fn go_on(&mut self, told: &mut Told, decisions: impl IntoIterator<Item = Next>) {
        let mut decisions = decisions.into_iter();
        let mut updates = self.client().watch(&told.task);
        loop {
            tokio::select! {
                update = updates.next() => {
                    let update = update.expect("a watch goes on to the end of its task");
                    let Update::Event { event, .. } = update.expect("the watch goes on") else {
                        continue;
                    };
                    told.story.0.push(*event);
                    if self.stands_still(told).await {
                        return;
                    }
                }
                asked = self.script.asked() => {
                    told.asked.push(asked.request.clone());
                    asked.decide(decisions.next().unwrap_or_else(|| done("it is done")));
                }
            }
        }
    }

    /// Keeps the pictures of a task.
    pub async fn keep_pictures(&self, title: &str, story: &Story) -> Vec<Picture> {
        self.album.keep(&self.client(), title, story).await
    }

    /// What the page has received of the mouse: each press of a button with its place on the screen.
    #[must_use]
    pub fn presses(&self) -> Vec<(i32, i32)> {
        let inputs = self.site.inputs().into_iter();
        let presses = inputs.filter(|entry| entry.kind == "mousedown");
        presses.map(|entry| (entry.x, entry.y)).collect()
    }

    /// The elements that were clicked, as the page has it.
    #[must_use]
    pub fn clicked_elements(&self) -> BTreeSet<String> {
        let inputs = self.site.inputs().into_iter();
        let clicks = inputs.filter(|entry| entry.kind == "click");
        clicks.map(|entry| entry.target).collect()
    }

    /// Asserts that the page received the clicks of the events and no other, once all have arrived.
    ///
    /// # Panics
    /// If it did not.
    pub async fn assert_clicked_as_told(&self, story: &Story) {
        let told = story.clicks();
        let arrived = || async { (self.presses().len() >= told.len()).then_some(()) };
        crate::until("the clicks to arrive", arrived).await;
        assert_eq!(
            self.presses(),
            told,
            "what the page received, and what the events say:\n{}",
            story.text()
        );
    }
}
