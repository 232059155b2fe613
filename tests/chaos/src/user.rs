//! Users: each submits a task, watches it to its end through every broken connection, and answers what it is asked.
//!
//! They answer truthfully: asked whether something has happened, they look at the desktop, and do it by hand if not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use rand::seq::IndexedRandom as _;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use uuid::Uuid;

use crate::Scope;
use crate::application::{Application, BUTTONS, Press, button};
use crate::fleet::Fleet;
use crate::plan::{Errand, errand};

/// A call that has not been answered by then is made again.
const PATIENCE: Duration = Duration::from_secs(5);
/// A watch that is silent for so long is made again; heartbeats come more often.
const SILENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(100);

type Service = OrchestratorServiceClient<Channel>;

/// What a user knows in the end.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) errand: Errand,
    /// How often each event was received, by its number.
    pub(crate) events: BTreeMap<i64, usize>,
    /// Events that came before one with a smaller number, and messages about other tasks.
    pub(crate) out_of_order: usize,
    pub(crate) reconnections: usize,
    /// Buttons pressed by hand.
    pub(crate) by_hand: Vec<usize>,
    /// Whether the task was cancelled, as far as anybody could still do so.
    pub(crate) cancelled: bool,
    pub(crate) has_ended: bool,
    pub(crate) questions: Vec<String>,
}

/// All users.
#[derive(Debug)]
pub(crate) struct Crowd {
    users: Vec<JoinHandle<()>>,
    told: Vec<Arc<std::sync::Mutex<Told>>>,
}

impl Crowd {
    /// Lets users begin, so many at a time.
    pub(crate) fn start(scope: Scope, fleet: &Fleet, at_a_time: usize) -> Self {
        let turns = Arc::new(Semaphore::new(at_a_time));
        let channels: Vec<Service> = fleet.fronts.iter().map(|url| service(url)).collect();
        let (mut users, mut told) = (Vec::new(), Vec::new());
        for number in 0..scope.tasks {
            let notes = Arc::new(std::sync::Mutex::new(Told {
                errand: errand(scope.seed, number),
                events: BTreeMap::new(),
                out_of_order: 0,
                reconnections: 0,
                by_hand: Vec::new(),
                cancelled: false,
                has_ended: false,
                questions: Vec::new(),
            }));
            told.push(notes.clone());
            let user = User {
                services: channels.clone(),
                applications: fleet.applications.clone(),
                notes,
            };
            let turns = turns.clone();
            users.push(tokio::spawn(async move {
                let _turn = turns.acquire().await;
                user.live().await;
            }));
        }
        Self { users, told }
    }

    pub(crate) fn has_finished(&self) -> bool {
        self.users.iter().all(JoinHandle::is_finished)
    }

    /// What they know. Those who still wait give up.
    pub(crate) async fn end(self) -> Vec<Told> {
        for user in self.users {
            user.abort();
            // A user who panicked is a defect of this program.
            if let Err(error) = user.await
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        let notes = self.told.iter();
        notes
            .map(|notes| notes.lock().expect("nobody panicked").clone())
            .collect()
    }
}

fn service(url: &str) -> Service {
    let endpoint = Endpoint::from_shared(url.to_owned()).expect("it is an address");
    let channel = endpoint.connect_timeout(PATIENCE).connect_lazy();
    OrchestratorServiceClient::new(channel)
}

struct User {
    services: Vec<Service>,
    applications: Vec<Arc<Application>>,
    notes: Arc<std::sync::Mutex<Told>>,
}

/// What has been seen of a task, as far as answers need it.
#[derive(Default)]
struct Seen {
    desktop: Option<usize>,
    intended: Option<wire::ActionIntended>,
}

impl User {
    fn note<T>(&self, write: impl FnOnce(&mut Told) -> T) -> T {
        write(&mut self.notes.lock().expect("nobody panicked"))
    }

    /// Any of the orchestrators: each knows every task.
    fn any(&self) -> Service {
        let any = self.services.choose(&mut rand::rng());
        any.expect("there is one").clone()
    }

    fn name(&self) -> String {
        self.note(|told| format!("tasks/{}", told.errand.id))
    }

    async fn live(self) {
        self.submit().await;
        let cancelled_after = self.note(|told| told.errand.cancelled_after);
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

    /// Calls until there is an answer that another call would not change.
    async fn insist<T, F>(&self, call: impl Fn(Service) -> F) -> Result<T, Status>
    where
        F: Future<Output = Result<T, Status>>,
    {
        loop {
            let answer = timeout(PATIENCE, call(self.any())).await;
            match answer {
                Ok(Err(status)) if !is_passing(&status) => return Err(status),
                Ok(Ok(answer)) => return Ok(answer),
                _ => sleep(PAUSE).await,
            }
        }
    }

    async fn submit(&self) {
        let request = self.note(|told| wire::CreateTaskRequest {
            task: Some(wire::Task {
                goal: told.errand.goal.clone(),
                ..wire::Task::default()
            }),
            task_id: told.errand.id.clone(),
            request_id: Uuid::new_v4().to_string(),
        });
        let created = self.insist(|mut service| {
            let request = request.clone();
            async move { service.create_task(request).await }
        });
        created.await.expect("the task is a good one");
    }

    async fn cancel(&self) {
        let request = wire::CancelTaskRequest {
            name: self.name(),
            reason: "never mind".to_owned(),
            request_id: Uuid::new_v4().to_string(),
        };
        self.note(|told| told.cancelled = true);
        let cancelled = self.insist(|mut service| {
            let request = request.clone();
            async move { service.cancel_task(request).await }
        });
        // It may have ended meanwhile.
        let _ = cancelled.await;
    }

    /// Watches until the task has ended, going on after the last message whatever happens to the connection.
    async fn watch(&self) {
        let mut token = String::new();
        let mut seen = Seen::default();
        loop {
            let request = wire::WatchTaskRequest {
                name: self.name(),
                resume_token: token.clone(),
            };
            let mut service = self.any();
            let Ok(Ok(answer)) = timeout(PATIENCE, service.watch_task(request)).await else {
                sleep(PAUSE).await;
                continue;
            };
            let mut messages = answer.into_inner();
            while let Ok(Ok(Some(message))) = timeout(SILENCE, messages.message()).await {
                if !message.resume_token.is_empty() {
                    token = message.resume_token;
                }
                if let Some(wire::watch_task_response::Content::Event(event)) = message.content {
                    self.take(event, &mut seen).await;
                }
            }
            if self.note(|told| told.has_ended) {
                return;
            }
            self.note(|told| told.reconnections += 1);
            sleep(PAUSE).await;
        }
    }

    async fn take(&self, event: wire::Event, seen: &mut Seen) {
        let name = self.name();
        self.note(|told| {
            let last = told.events.keys().next_back().copied().unwrap_or_default();
            told.out_of_order += usize::from(event.sequence < last || event.task != name);
            *told.events.entry(event.sequence).or_default() += 1;
        });
        match event.kind {
            Some(Kind::DesktopAcquired(acquired)) => {
                let number = acquired.desktop.strip_prefix("desktops/d");
                seen.desktop = number.and_then(|number| number.parse().ok());
            }
            Some(Kind::ActionIntended(intended)) => seen.intended = Some(intended),
            Some(Kind::UserAsked(asked)) => self.answer(asked, seen).await,
            Some(Kind::Succeeded(_) | Kind::Failed(_) | Kind::Cancelled(_)) => {
                self.note(|told| told.has_ended = true);
            }
            _ => {}
        }
    }

    /// Looks whether what was intended last has happened, does it if not, and says so.
    async fn answer(&self, asked: wire::UserAsked, seen: &Seen) {
        let message = asked.request.map(|request| request.message);
        self.note(|told| told.questions.push(message.unwrap_or_default()));
        if let (Some(desktop), Some(intended)) = (seen.desktop, &seen.intended) {
            // What is under way shows by then.
            sleep(Duration::from_secs(1)).await;
            self.see_to(&self.applications[desktop], intended);
        }
        let request = wire::AcknowledgeUserActionRequest {
            name: self.name(),
            message: String::new(),
            request_id: Uuid::new_v4().to_string(),
        };
        let acknowledged = self.insist(|mut service| {
            let request = request.clone();
            async move { service.acknowledge_user_action(request).await }
        });
        // Somebody may have cancelled it meanwhile.
        let _ = acknowledged.await;
    }

    fn see_to(&self, application: &Application, intended: &wire::ActionIntended) {
        let id = Some(intended.action_id.as_str());
        let has_happened = |press: &Press| press.action_id.as_deref() == id;
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
            application.press_by_hand(number);
            self.note(|told| told.by_hand.push(number));
        }
    }
}

/// Whether the same call may be answered differently a moment later.
fn is_passing(status: &Status) -> bool {
    !matches!(
        status.code(),
        Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition | Code::AlreadyExists
    )
}
