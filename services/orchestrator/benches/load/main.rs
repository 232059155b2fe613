//! Load benchmark: many concurrent tasks on one orchestrator (`make load`).
//!
//! Desktops are simulated in this process, with realistic delays: an observation 60 ms, a decision 0.5 to 2.5 s, an
//! action 20 ms, a settled screen after 120 ms. The orchestrator, its store and its blobs are real. For each number of
//! tasks it prints steps per second, the orchestrator's own time per step (when the task waits for no service), and the
//! memory per running task, including its simulated desktop.
//!
//! Environment: `LOAD_TASKS` (10,100,1000), `LOAD_STEPS` (20), `LOAD_IMAGE_BYTES` (bytes per image, 100000; two per step,
//! half of them new), `LOAD_STORES` (sqlite,postgres,postgres2; the last with two orchestrators).

#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod desktop;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use desktop::{SimulatedDesktop, Timings};
use motorium_client::Client;
use motorium_kit::client::Config as ClientConfig;
use motorium_kit::server::{Builder, Config as ServerConfig, RunningServer};
use motorium_kit::shutdown::Shutdown;
use motorium_orchestrator::config::{LocalServices, connector};
use motorium_orchestrator::desktops::DesktopPool;
use motorium_orchestrator::storage::Settings as StoreSettings;
use motorium_orchestrator::{Orchestrator, Settings};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::desktop::{Desktop, Platform};
use motorium_proto::domain::id::{DesktopName, DisplayId};
use motorium_proto::v1::orchestrator as wire;
use motorium_recording::ports::Ports;
use motorium_store::Durability;
use motorium_store::audit::AuditLog;
use motorium_store::local_postgres::LocalPostgres;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tonic::transport::{Channel, Endpoint};

/// Number of warm-up steps per task, which are not counted because tasks start one after another.
// Steps after the end of the first task are not counted either, because the load then drops.
const WARM_UP_STEPS: usize = 2;

#[derive(Debug, Clone, Copy)]
struct Load {
    tasks: usize,
    steps: usize,
    image_bytes: usize,
}

struct ServedDesktop {
    shutdown: Shutdown,
    running: RunningServer,
    working: JoinHandle<()>,
    client: Client<Channel>,
}

fn numbers(name: &str, default: &str) -> Vec<usize> {
    let text = std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let number = |part: &str| {
        let number = part.trim().parse();
        number.unwrap_or_else(|_| panic!("{name} is no list of numbers: {text}"))
    };
    text.split(',').map(number).collect()
}

/// Starts an orchestrator with desktops of its own.
async fn serve(
    number: usize,
    stores: StoreSettings,
    folder: &Path,
    all: &[Arc<SimulatedDesktop>],
) -> ServedDesktop {
    let settings = Settings {
        name: Some(format!("load{number}")),
        ..Settings::default()
    };
    let config = settings.resolve().expect("defaults are right");
    let storage = stores
        .open(folder, AuditLog::off())
        .await
        .expect("the store opens");
    let desktops = DesktopPool::new(connector(
        ClientConfig::new(""),
        LocalServices {
            planner: all[0].clone(),
            perception: None,
            executor: None,
        },
    ));
    for (index, simulated) in all.iter().enumerate() {
        let desktop = Desktop {
            name: DesktopName::from_segment(&format!("d{number}-{index}")).expect("letters"),
            perception_endpoint: None,
            executor_endpoint: None,
            display: Some(DisplayId::new(":1")),
            platform: Platform::Linux,
            labels: [].into(),
            tenants: [].into(),
        };
        let ports = Ports {
            perception: simulated.clone(),
            planner: simulated.clone(),
            executor: simulated.clone(),
        };
        desktops.insert(desktop, ports);
    }
    let shutdown = Shutdown::new();
    let orchestrator = Orchestrator::new(&config, storage, desktops, &shutdown);
    let server = Builder::new(ServerConfig::loopback())
        .service(orchestrator.edge().tonic(), FILE_DESCRIPTOR_SET);
    let running = server.start(&shutdown).await.expect("a free port");
    let url = format!("http://{}", running.local_address());
    let endpoint = Endpoint::from_shared(url).expect("an address");
    ServedDesktop {
        shutdown,
        running,
        working: orchestrator.start(),
        client: Client::new(endpoint.connect_lazy()),
    }
}

/// Returns the resident memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let words = line.expect("it is listed").split_whitespace().next();
    words.and_then(|word| word.parse().ok()).expect("a number")
}

async fn create(client: &Client<Channel>) {
    let request = wire::CreateTaskRequest {
        task: Some(wire::Task {
            goal: "go on".to_owned(),
            ..wire::Task::default()
        }),
        ..wire::CreateTaskRequest::default()
    };
    client.create(request).await.expect("it is created");
}

async fn measure(load: Load, store: &str, folder: &Path) {
    let server = store
        .starts_with("postgres")
        .then(|| LocalPostgres::start_with(Durability::Full));
    let database = match &server {
        Some(server) => Some(server.database().await.into()),
        None => None,
    };
    let count = if store == "postgres2" { 2 } else { 1 };
    let timings = Timings::default();
    let mut served = Vec::new();
    for number in 0..count {
        let stores = StoreSettings {
            tasks: database.clone(),
            ..StoreSettings::default()
        };
        let share = load.tasks / count;
        let desktops: Vec<_> = (0..share)
            .map(|index| {
                let number = number * share + index;
                SimulatedDesktop::new(number, load.steps, load.image_bytes, timings.clone())
            })
            .collect();
        served.push(serve(number, stores, folder, &desktops).await);
    }
    // The first call of each kind allocates memory that all tasks share.
    let before = resident();
    for number in 0..load.tasks {
        create(&served[number % count].client).await;
    }
    let warm = load.tasks * WARM_UP_STEPS;
    while timings.count() < warm {
        sleep(Duration::from_millis(50)).await;
    }
    let (began, at_first) = (Instant::now(), timings.count());
    let mut peak = resident();
    while !timings.is_over() {
        sleep(Duration::from_millis(50)).await;
        peak = peak.max(resident());
    }
    let counted = at_first..timings.count();
    let elapsed = began.elapsed().as_secs_f64();
    let own = timings.own(counted.clone());
    assert!(
        !own.is_empty(),
        "tasks ended before the last of them had begun: take more steps with LOAD_STEPS"
    );
    let at = |share: f64| own[((own.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let figures = json!({
        "store": store,
        "orchestrators": count,
        "tasks": load.tasks,
        "steps_per_second": (counted.len() as f64 / elapsed).round(),
        "own_ms_p50": (at(0.5) * 10.0).round() / 10.0,
        "own_ms_p95": (at(0.95) * 10.0).round() / 10.0,
        "kib_per_task": (peak - before.min(peak)) / load.tasks as u64,
    });
    println!("{figures}");
    for ServedDesktop {
        shutdown,
        running,
        working,
        ..
    } in served
    {
        shutdown.drain();
        running.stop().await.expect("it ends");
        working.await.expect("it ends");
    }
}

fn main() {
    let steps = numbers("LOAD_STEPS", "20")[0];
    let image_bytes = numbers("LOAD_IMAGE_BYTES", "100000")[0];
    let stores = std::env::var("LOAD_STORES");
    let stores = stores.unwrap_or_else(|_| "sqlite,postgres,postgres2".to_owned());
    // Deleted only at the end: on some file systems, creating files is slow right after deleting thousands.
    let mut folders = Vec::new();
    for store in stores.split(',') {
        for tasks in numbers("LOAD_TASKS", "10,100,1000") {
            // A separate runtime per run, so that nothing of the last one is left; two threads, one per core.
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("threads");
            let load = Load {
                tasks,
                steps,
                image_bytes,
            };
            let folder = tempfile::tempdir().expect("a temporary folder");
            runtime.block_on(measure(load, store, folder.path()));
            folders.push(folder);
        }
    }
}
