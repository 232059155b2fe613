//! Scores effect detection on screen recordings of real applications: `make effects`.
//!
//! Each clip is played on a real display, observed by the real Perception and judged by the real loop: it observes, waits
//! for the part of the clip without input, performs the recorded action, and judges its effect. The verdict is compared
//! with the label, which was created without pixels (tests/fixtures/effects). An `UNKNOWN` verdict counts as neither. The
//! last line of the output is a JSON object.
//!
//! Environment variables: `FILMS` selects recordings (`form-light,desk`), `AT_A_TIME` is the number of displays (4), `LEAST`
//! the minimum precision and recall for exit code 0 (0.97).

#![expect(clippy::print_stdout, reason = "the scores are the output")]

mod effect_score;
mod playback_services;
mod player;
mod recording;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use motorium_client::{Client, Update};
use motorium_kit::client::Config as ClientConfig;
use motorium_kit::server::{Builder, Config as ServerConfig};
use motorium_kit::shutdown::Shutdown;
use motorium_orchestrator::config::{LocalServices, connector};
use motorium_orchestrator::desktops::DesktopPool;
use motorium_orchestrator::storage::Settings as StoreSettings;
use motorium_orchestrator::{Orchestrator, Settings};
use motorium_perception::{Config as PerceptionConfig, Settings as PerceptionSettings};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::desktop::{Desktop, Platform};
use motorium_proto::domain::id::{DesktopName, DisplayId};
use motorium_proto::v1::common::Effect;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_recording::ports::Ports;
use motorium_store::audit::AuditLog;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::services::installed_data;
use tokio::sync::{Mutex, mpsc};
use tonic::transport::{Channel, Endpoint};

use crate::effect_score::{EffectScore, JudgedClip};
use crate::playback_services::{PlaybackPhase, PlaybackServices};
use crate::player::Player;
use crate::recording::Clip;

/// Number of decoded clips that wait for a display. Bounds memory.
const AHEAD: usize = 2;

/// One display with its player and services.
struct PlaybackDesktop {
    name: String,
    player: Player,
    stage: Arc<PlaybackServices>,
    client: Client<Channel>,
    _desktop: TestDesktop,
}

impl PlaybackDesktop {
    /// Plays a clip and returns the loop's verdict.
    async fn show(&mut self, clip: &Clip) -> Option<JudgedClip> {
        let action = clip.label.action()?;
        let (_, first) = clip.before.first()?;
        self.stage.prepare(&clip.label, action);
        self.player.name(&clip.label.title_before);
        self.player.show(first);
        let task = self.client.create(self.task(&clip.label.id)).await;
        let task = task.expect("the task is valid").name;
        let judged = judgement(self.client.clone(), task.clone());
        tokio::pin!(judged);
        let film = async {
            self.player.play(&clip.before, Duration::ZERO).await;
            self.stage.is_due();
            self.stage.reached(PlaybackPhase::Acted).await;
            self.player.name(&clip.label.title_after);
            self.player.play(&clip.after, Duration::ZERO).await;
            std::future::pending::<()>().await;
        };
        let effect = tokio::select! {
            effect = &mut judged => effect,
            () = film => None,
        };
        // Fails harmlessly if the task has ended.
        let _ = self.client.cancel_task(&task, "it is judged").await;
        Some(JudgedClip {
            label: clip.label.clone(),
            effect,
        })
    }

    fn task(&self, goal: &str) -> wire::CreateTaskRequest {
        wire::CreateTaskRequest {
            task: Some(wire::Task {
                goal: goal.to_owned(),
                desktop_selector: Some(wire::DesktopSelector {
                    desktop: self.name.clone(),
                    ..wire::DesktopSelector::default()
                }),
                ..wire::Task::default()
            }),
            ..wire::CreateTaskRequest::default()
        }
    }
}

/// Returns the last verdict on the first action of a task, before any other action.
async fn judgement(client: Client<Channel>, task: String) -> Option<Effect> {
    let mut updates = client.watch(&task);
    let mut effect = None;
    while let Some(update) = updates.next().await {
        let Update::Event { event, .. } = update.expect("the watch continues") else {
            continue;
        };
        match event.kind {
            Some(Kind::EffectJudged(judged)) => effect = judged.effect,
            // Observing longer is part of the same attempt; other retries are not.
            Some(Kind::ActionIntended(intended)) if !intended.retry_of.is_empty() => return effect,
            Some(Kind::StepFinished(_) | Kind::Failed(_) | Kind::Cancelled(_)) => return effect,
            _ => {}
        }
    }
    effect
}

/// Opens displays with a shared orchestrator.
async fn open(count: usize, folder: &std::path::Path) -> Vec<PlaybackDesktop> {
    let mut desktops = Vec::new();
    for _ in 0..count {
        desktops.push(TestDesktop::bare().await);
    }
    let displays: Vec<String> = desktops
        .iter()
        .map(|desktop| desktop.display.clone())
        .collect();
    let settings = PerceptionSettings {
        displays: displays.clone(),
        ..PerceptionSettings::default()
    };
    let perception = PerceptionConfig::resolve(settings, &installed_data(), []);
    let perception = perception.expect("the settings are valid").start().await;
    let perception = Arc::new(perception.expect("Perception starts"));
    assert!(perception.ready().await, "the models are installed");

    let planner = motorium_planner::Settings::default().resolve();
    let nearby = LocalServices {
        planner: Arc::new(planner.expect("the defaults are valid")),
        perception: None,
        executor: None,
    };
    let pool = DesktopPool::new(connector(ClientConfig::new(""), nearby));
    let mut stages = Vec::new();
    for (number, display) in displays.iter().enumerate() {
        let stage = PlaybackServices::new(display);
        let place = Desktop {
            name: DesktopName::from_segment(&format!("film{number}")).expect("letters"),
            perception_endpoint: None,
            executor_endpoint: None,
            display: Some(DisplayId::new(display)),
            platform: Platform::Linux,
            labels: [].into(),
            tenants: [].into(),
        };
        let ports = Ports {
            perception: perception.clone(),
            planner: stage.clone(),
            executor: stage.clone(),
        };
        stages.push((place.name.to_string(), stage));
        pool.insert(place, ports);
    }
    let client = serve(pool, folder).await;
    let theatre = |((name, stage), desktop): ((String, Arc<PlaybackServices>), TestDesktop)| {
        PlaybackDesktop {
            name,
            player: Player::start(&desktop.display),
            stage,
            client: client.clone(),
            _desktop: desktop,
        }
    };
    stages.into_iter().zip(desktops).map(theatre).collect()
}

/// Serves the orchestrator until the process ends.
async fn serve(desktops: DesktopPool, folder: &std::path::Path) -> Client<Channel> {
    let config = Settings::default()
        .resolve()
        .expect("the defaults are valid");
    let storage = StoreSettings::default().open(folder, AuditLog::off()).await;
    let shutdown = Shutdown::new();
    let orchestrator = Orchestrator::new(
        &config,
        storage.expect("the store opens"),
        desktops,
        &shutdown,
    );
    let server = Builder::new(ServerConfig::loopback())
        .service(orchestrator.edge().tonic(), FILE_DESCRIPTOR_SET);
    let running = server.start(&shutdown).await.expect("a free port");
    let url = format!("http://{}", running.local_address());
    orchestrator.start();
    tokio::spawn(running.join());
    let endpoint = Endpoint::from_shared(url).expect("an address");
    Client::new(endpoint.connect_lazy())
}

/// Plays all clips of these recordings on all displays.
async fn show_all(films: Vec<std::path::PathBuf>, theatres: Vec<PlaybackDesktop>) -> EffectScore {
    let (clips, queue) = mpsc::channel::<Clip>(AHEAD);
    let reader = tokio::task::spawn_blocking(move || {
        for film in films {
            // The receiver is only gone if this process panics.
            recording::read(&film, |clip| drop(clips.blocking_send(clip)));
        }
    });
    let queue = Arc::new(Mutex::new(queue));
    let show = |mut theatre: PlaybackDesktop| {
        let queue = queue.clone();
        async move {
            let mut score = EffectScore::default();
            loop {
                let clip = queue.lock().await.recv().await;
                let Some(clip) = clip else { return score };
                score.add(&clip.label, theatre.show(&clip).await);
            }
        }
    };
    let scores = futures::future::join_all(theatres.into_iter().map(show)).await;
    reader.await.expect("the recordings are readable");
    scores
        .into_iter()
        .fold(EffectScore::default(), EffectScore::plus)
}

fn main() -> ExitCode {
    let variable = |name: &str| std::env::var(name).ok();
    let number =
        |name: &str| variable(name).map(|text| text.parse::<f64>().expect("it is a number"));
    let wanted = variable("FILMS");
    let is_wanted = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        wanted
            .as_ref()
            .is_none_or(|wanted| wanted.split(',').any(|one| one == name))
    };
    let films = recording::list(&motorium_tests::root().join("tests/fixtures/effects"));
    let films: Vec<_> = films.into_iter().filter(is_wanted).collect();
    let count = number("AT_A_TIME").unwrap_or(4.0) as usize;
    let min_score = number("LEAST").unwrap_or(0.97);
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let score = runtime.block_on(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let theatres = open(count, folder.path()).await;
        show_all(films, theatres).await
    });
    print!("{}", score.table());
    println!("{}", score.json());
    if score.is_at_least(min_score) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
