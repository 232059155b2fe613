//! Simulated users: each submits a task, watches it to its end across broken connections, and answers its questions.
//!
//! They answer truthfully: asked about the outcome of an action, they check the desktop and complete the action manually if
//! it is missing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::client::{Channel, Config};
use motorium_kit::config::Secret;
use motorium_kit::limits::Limits;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use rand::seq::IndexedRandom as _;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tonic::{Code, Status};
use uuid::Uuid;

use crate::RunOptions;
use crate::application::{Application, BUTTONS, ButtonPress, button};
use crate::fleet::{Fleet, TOKEN};
use crate::schedule::{PlannedTask, planned_task};

/// Timeout of a call. Then it is retried.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle timeout of a watch. Then it is reconnected; heartbeats are more frequent.
const WATCH_IDLE_TIMEOUT: Duration = Duration::from_secs(20);
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

type Service = OrchestratorServiceClient<Channel>;

/// Observations of one user.
#[derive(Debug, Clone)]
pub(crate) struct UserReport {
    pub(crate) task: PlannedTask,
    /// Number of receptions by event sequence number.
    pub(crate) events: BTreeMap<i64, usize>,
    /// Number of events out of order or of other tasks.
    pub(crate) out_of_order: usize,
    pub(crate) reconnections: usize,
    /// Buttons pressed manually.
    pub(crate) manual_presses: Vec<usize>,
    /// The user requested the cancellation.
    pub(crate) cancelled: bool,
    pub(crate) has_ended: bool,
    pub(crate) questions: Vec<String>,
}

/// All users.
#[derive(Debug)]
pub(crate) struct Users {
    users: Vec<JoinHandle<()>>,
    reports: Vec<Arc<std::sync::Mutex<UserReport>>>,
    turns: Arc<Semaphore>,
}

impl Users {
    /// Starts the users, at most `at_a_time` concurrently.
    pub(crate) fn start(scope: &RunOptions, fleet: &Fleet, at_a_time: usize) -> Self {
        let turns = Arc::new(Semaphore::new(at_a_time));
        let channels: Vec<Service> = fleet.user_urls.iter().map(|url| service(url)).collect();
        let (mut users, mut reports) = (Vec::new(), Vec::new());
        for number in 0..scope.tasks {
            let notes = Arc::new(std::sync::Mutex::new(UserReport {
                task: planned_task(scope.seed, number),
                events: BTreeMap::new(),
                out_of_order: 0,
                reconnections: 0,
                manual_presses: Vec::new(),
                cancelled: false,
                has_ended: false,
                questions: Vec::new(),
            }));
            reports.push(notes.clone());
            let user = User {
                services: channels.clone(),
                applications: fleet.applications.clone(),
                notes,
            };
            let turns = turns.clone();
            users.push(tokio::spawn(async move {
                // No more turns are given at the end of a soak.
                if let Ok(_turn) = turns.acquire().await {
                    user.run().await;
                }
            }));
        }
        Self {
            users,
            reports,
            turns,
        }
    }

    /// Lets the users end that have begun, and none begin any more. Returns the reports of all.
    pub(crate) async fn end_after_current(mut self) -> Vec<UserReport> {
        self.turns.close();
        let all = futures::future::join_all(self.users.iter_mut());
        // Those that have not ended by then are aborted.
        let _ = timeout(WATCH_IDLE_TIMEOUT, all).await;
        self.users.retain(|user| !user.is_finished());
        self.end().await
    }

    pub(crate) fn has_finished(&self) -> bool {
        self.users.iter().all(JoinHandle::is_finished)
    }

    /// Returns their reports. Users that still wait are aborted.
    pub(crate) async fn end(self) -> Vec<UserReport> {
        for user in self.users {
            user.abort();
            // A panic is a defect of this test.
            if let Err(error) = user.await
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        let notes = self.reports.iter();
        notes
            .map(|notes| notes.lock().expect("the lock is not poisoned").clone())
            .collect()
    }
}

fn service(url: &str) -> Service {
    let config = Config {
        token: Some(Secret::new(TOKEN)),
        limits: Limits {
            connect_timeout: CALL_TIMEOUT,
            ..Limits::default()
        },
        ..Config::new(url)
    };
    let channel = Channel::connect_lazy(&config).expect("it is an address");
    OrchestratorServiceClient::new(channel)
}

struct User {
    services: Vec<Service>,
    applications: Vec<Arc<Application>>,
    notes: Arc<std::sync::Mutex<UserReport>>,
}

/// State of a watch that answers depend on.
#[derive(Default)]
struct WatchState {
    desktop: Option<usize>,
    intended: Option<wire::ActionIntended>,
}

impl User {
    fn note<T>(&self, write: impl FnOnce(&mut UserReport) -> T) -> T {
        write(&mut self.notes.lock().expect("the lock is not poisoned"))
    }

    /// Returns a random orchestrator: each serves every task.
    fn any(&self) -> Service {
        let any = self.services.choose(&mut rand::rng());
        any.expect("there is an orchestrator").clone()
    }

    fn name(&self) -> String {
        self.note(|report| format!("tasks/{}", report.task.id))
    }

    async fn run(self) {
        self.submit().await;
        let cancelled_after = self.note(|report| report.task.cancelled_after);
        let loses_interest = async {
            match cancelled_after {
                Some(after) => sleep(after).await,
                None => std::future::pending().await,
            }
            self.cancel().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = self.watch() => {}
            () = loses_interest => {}
        }
    }

    /// Calls until there is a response or a permanent error.
    async fn call_with_retry<T, F>(&self, call: impl Fn(Service) -> F) -> Result<T, Status>
    where
        F: Future<Output = Result<T, Status>>,
    {
        loop {
            let answer = timeout(CALL_TIMEOUT, call(self.any())).await;
            match answer {
                Ok(Err(status)) if !is_retryable(&status) => return Err(status),
                Ok(Ok(answer)) => return Ok(answer),
                _ => sleep(RETRY_INTERVAL).await,
            }
        }
    }

    async fn submit(&self) {
        let request = self.note(|report| wire::CreateTaskRequest {
            task: Some(wire::Task {
                goal: report.task.goal.clone(),
                ..wire::Task::default()
            }),
            task_id: report.task.id.clone(),
            request_id: Uuid::new_v4().to_string(),
        });
        let created = self.call_with_retry(|mut service| {
            let request = request.clone();
            async move { service.create_task(request).await }
        });
        created.await.expect("the task is valid");
    }

    async fn cancel(&self) {
        let request = wire::CancelTaskRequest {
            name: self.name(),
            reason: "never mind".to_owned(),
            request_id: Uuid::new_v4().to_string(),
        };
        self.note(|report| report.cancelled = true);
        let cancelled = self.call_with_retry(|mut service| {
            let request = request.clone();
            async move { service.cancel_task(request).await }
        });
        // Fails harmlessly if the task has ended.
        let _ = cancelled.await;
    }

    /// Watches until the task has ended, resuming after broken connections.
    async fn watch(&self) {
        let mut token = String::new();
        let mut seen = WatchState::default();
        loop {
            let request = wire::WatchTaskRequest {
                name: self.name(),
                resume_token: token.clone(),
            };
            let mut service = self.any();
            let Ok(Ok(answer)) = timeout(CALL_TIMEOUT, service.watch_task(request)).await else {
                sleep(RETRY_INTERVAL).await;
                continue;
            };
            let mut messages = answer.into_inner();
            while let Ok(Ok(Some(message))) = timeout(WATCH_IDLE_TIMEOUT, messages.message()).await
            {
                if !message.resume_token.is_empty() {
                    token = message.resume_token;
                }
                if let Some(wire::watch_task_response::Content::Event(event)) = message.content {
                    self.handle_event(event, &mut seen).await;
                }
            }
            if self.note(|report| report.has_ended) {
                return;
            }
            self.note(|report| report.reconnections += 1);
            sleep(RETRY_INTERVAL).await;
        }
    }

    async fn handle_event(&self, event: wire::Event, seen: &mut WatchState) {
        let name = self.name();
        self.note(|report| {
            let last = report
                .events
                .keys()
                .next_back()
                .copied()
                .unwrap_or_default();
            report.out_of_order += usize::from(event.sequence < last || event.task != name);
            *report.events.entry(event.sequence).or_default() += 1;
        });
        match event.kind {
            Some(Kind::DesktopAcquired(acquired)) => {
                let number = acquired.desktop.strip_prefix("desktops/d");
                seen.desktop = number.and_then(|number| number.parse().ok());
            }
            Some(Kind::ActionIntended(intended)) => seen.intended = Some(intended),
            Some(Kind::UserAsked(asked)) => self.answer(asked, seen).await,
            Some(Kind::Succeeded(_) | Kind::Failed(_) | Kind::Cancelled(_)) => {
                self.note(|report| report.has_ended = true);
            }
            _ => {}
        }
    }

    /// Answers a question: checks the last intended action, completes it if it is missing, and acknowledges.
    async fn answer(&self, asked: wire::UserAsked, seen: &WatchState) {
        let message = asked.request.map(|request| request.message);
        self.note(|report| report.questions.push(message.unwrap_or_default()));
        if let (Some(desktop), Some(intended)) = (seen.desktop, &seen.intended) {
            // By then the effects of input in flight are visible.
            sleep(Duration::from_secs(1)).await;
            self.complete_manually(&self.applications[desktop], intended);
        }
        let request = wire::AcknowledgeUserActionRequest {
            name: self.name(),
            message: String::new(),
            request_id: Uuid::new_v4().to_string(),
        };
        let acknowledged = self.call_with_retry(|mut service| {
            let request = request.clone();
            async move { service.acknowledge_user_action(request).await }
        });
        // Fails harmlessly if the task was cancelled.
        let _ = acknowledged.await;
    }

    fn complete_manually(&self, application: &Application, intended: &wire::ActionIntended) {
        let id = Some(intended.action_id.as_str());
        let has_happened = |press: &ButtonPress| press.action_id.as_deref() == id;
        if application.presses().iter().any(has_happened) {
            return;
        }
        let Some(target) = intended.target.as_ref() else {
            return;
        };
        let centre = CapturePoint::new(
            i32::midpoint(target.x1, target.x2),
            i32::midpoint(target.y1, target.y2),
        );
        let meant = (0..BUTTONS.len()).find(|number| button(*number).contains(centre));
        if let Some(number) = meant {
            application.press_manually(number);
            self.note(|report| report.manual_presses.push(number));
        }
    }
}

/// Returns whether a retry of the call can succeed.
fn is_retryable(status: &Status) -> bool {
    !matches!(
        status.code(),
        Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition | Code::AlreadyExists
    )
}
