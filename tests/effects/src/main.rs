//! The judgement of effects, scored on films of real applications: `make effects`.
//!
//! Each clip is shown on a real display, to the real Perception, and judged by the real loop: it looks, waits as long as
//! the film shows nobody doing anything, does what was done in the film, and judges. Its verdict is held against the
//! label, which was made without looking at pixels (tests/fixtures/effects). What the verdict does not say (UNKNOWN)
//! counts as neither. The last line of the output is one JSON object.
//!
//! `FILMS` names some of them (`form-light,desk`), `AT_A_TIME` is the number of displays (4), `LEAST` the precision and the
//! recall below which the exit code says no (0.97).

#![expect(clippy::print_stdout, reason = "the scores are the output")]

mod film;
mod player;
mod score;
mod stage;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use motorium_client::{Client, Update};
use motorium_kit::client::Config as ClientConfig;
use motorium_kit::server::{Builder, Config as ServerConfig};
use motorium_kit::shutdown::Shutdown;
use motorium_orchestrator::config::{Nearby, connector};
use motorium_orchestrator::desktops::Desktops;
use motorium_orchestrator::run::Ports;
use motorium_orchestrator::storage::Settings as StoreSettings;
use motorium_orchestrator::{Orchestrator, Settings};
use motorium_perception::{Config as PerceptionConfig, Settings as PerceptionSettings};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::desktop::{Desktop as Place, Platform};
use motorium_proto::domain::id::{DesktopName, DisplayId};
use motorium_proto::v1::common::Effect;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::desktop::Desktop;
use motorium_tests::services::installed_data;
use tokio::sync::{Mutex, mpsc};
use tonic::transport::{Channel, Endpoint};

use crate::film::Clip;
use crate::player::Player;
use crate::score::{Judged, Score};
use crate::stage::{Moment, Stage};

/// Clips that are in memory beside those that are shown.
const AHEAD: usize = 2;

/// One display with everything that belongs to it.
struct Theatre {
    name: String,
    player: Player,
    stage: Arc<Stage>,
    client: Client<Channel>,
    _desktop: Desktop,
}

impl Theatre {
    /// Shows a clip, and gives what the loop said of it.
    async fn show(&mut self, clip: &Clip) -> Option<Judged> {
        let action = clip.label.action()?;
        let (_, first) = clip.before.first()?;
        self.stage.prepare(&clip.label, action);
        self.player.name(&clip.label.title_before);
        self.player.show(first);
        let task = self.client.create(self.task(&clip.label.id)).await;
        let task = task.expect("the task is a good one").name;
        let judged = judgement(self.client.clone(), task.clone());
        tokio::pin!(judged);
        let film = async {
            self.player.play(&clip.before, Duration::ZERO).await;
            self.stage.is_due();
            self.stage.reached(Moment::Acted).await;
            self.player.name(&clip.label.title_after);
            self.player.play(&clip.after, Duration::ZERO).await;
            std::future::pending::<()>().await;
        };
        let effect = tokio::select! {
            effect = &mut judged => effect,
            () = film => None,
        };
        // It may have ended by itself.
        let _ = self.client.cancel_task(&task, "it is judged").await;
        Some(Judged {
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

/// What was said last of the first action of a task, before anything else was done.
async fn judgement(client: Client<Channel>, task: String) -> Option<Effect> {
    let mut updates = client.watch(&task);
    let mut effect = None;
    while let Some(update) = updates.next().await {
        let Update::Event { event, .. } = update.expect("it can be watched") else {
            continue;
        };
        match event.kind {
            Some(Kind::EffectJudged(judged)) => effect = judged.effect,
            // Looking longer is no other attempt; everything else is.
            Some(Kind::ActionIntended(intended)) if !intended.retry_of.is_empty() => return effect,
            Some(Kind::StepFinished(_) | Kind::Failed(_) | Kind::Cancelled(_)) => return effect,
            _ => {}
        }
    }
    effect
}

/// Displays with one orchestrator for them all.
async fn open(count: usize, folder: &std::path::Path) -> Vec<Theatre> {
    let mut desktops = Vec::new();
    for _ in 0..count {
        desktops.push(Desktop::bare().await);
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
    let perception = perception.expect("they are right").start().await;
    let perception = Arc::new(perception.expect("it starts"));
    assert!(perception.ready().await, "the models are there");

    let head = || {
        motorium_planner::Settings::default()
            .resolve()
            .expect("defaults are right")
    };
    let nearby = Nearby {
        planner: Arc::new(head()),
        perception: None,
        executor: None,
    };
    let pool = Desktops::new(connector(ClientConfig::new(""), nearby));
    let mut stages = Vec::new();
    for (number, display) in displays.iter().enumerate() {
        let stage = Stage::new(display, head());
        let place = Place {
            name: DesktopName::from_segment(&format!("film{number}")).expect("letters"),
            perception_endpoint: None,
            executor_endpoint: None,
            display: Some(DisplayId::new(display)),
            platform: Platform::Linux,
            labels: [].into(),
        };
        let ports = Ports {
            perception: perception.clone(),
            planner: stage.clone(),
            executor: stage.clone(),
        };
        stages.push((place.name.to_string(), stage));
        pool.admit(place, ports);
    }
    let client = serve(pool, folder).await;
    let theatre = |((name, stage), desktop): ((String, Arc<Stage>), Desktop)| Theatre {
        name,
        player: Player::start(&desktop.display),
        stage,
        client: client.clone(),
        _desktop: desktop,
    };
    stages.into_iter().zip(desktops).map(theatre).collect()
}

/// The orchestrator, for as long as the process lives.
async fn serve(desktops: Desktops, folder: &std::path::Path) -> Client<Channel> {
    let config = Settings::default().resolve().expect("defaults are right");
    let storage = StoreSettings::default().open(folder).await;
    let shutdown = Shutdown::new();
    let orchestrator = Orchestrator::new(&config, storage.expect("it opens"), desktops, &shutdown);
    let server = Builder::new(ServerConfig::loopback())
        .service(orchestrator.edge().tonic(), FILE_DESCRIPTOR_SET);
    let running = server.start(&shutdown).await.expect("a free port");
    let url = format!("http://{}", running.local_address());
    orchestrator.start();
    tokio::spawn(running.join());
    let endpoint = Endpoint::from_shared(url).expect("an address");
    Client::new(endpoint.connect_lazy())
}

/// Shows all clips of these films, on as many displays as there are.
async fn show_all(films: Vec<std::path::PathBuf>, theatres: Vec<Theatre>) -> Score {
    let (clips, queue) = mpsc::channel::<Clip>(AHEAD);
    let reader = tokio::task::spawn_blocking(move || {
        for film in films {
            // Nobody listens any more only if this process panics.
            film::read(&film, |clip| drop(clips.blocking_send(clip)));
        }
    });
    let queue = Arc::new(Mutex::new(queue));
    let show = |mut theatre: Theatre| {
        let queue = queue.clone();
        async move {
            let mut score = Score::default();
            loop {
                let clip = queue.lock().await.recv().await;
                let Some(clip) = clip else { return score };
                score.add(&clip.label, theatre.show(&clip).await);
            }
        }
    };
    let scores = futures::future::join_all(theatres.into_iter().map(show)).await;
    reader.await.expect("the films can be read");
    scores.into_iter().fold(Score::default(), Score::plus)
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
    let films = film::list(&motorium_tests::root().join("tests/fixtures/effects"));
    let films: Vec<_> = films.into_iter().filter(is_wanted).collect();
    let count = number("AT_A_TIME").unwrap_or(4.0) as usize;
    let least = number("LEAST").unwrap_or(0.97);
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let score = runtime.block_on(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let theatres = open(count, folder.path()).await;
        show_all(films, theatres).await
    });
    print!("{}", score.table());
    println!("{}", score.json());
    if score.is_at_least(least) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
