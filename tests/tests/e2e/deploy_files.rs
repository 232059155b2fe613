//! The files of `deploy/`: web pages and documents are opened where there is no token, and what can be seen there opens nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use motorium_client::{Channel, Config};
use motorium_kit::config::Secret;
use motorium_proto::v1::executor::executor_service_client::ExecutorServiceClient;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use motorium_proto::v1::perception::perception_service_client::PerceptionServiceClient;
use motorium_proto::v1::planner::planner_service_client::PlannerServiceClient;
use motorium_proto::v1::{executor, orchestrator, perception, planner};
use motorium_tests::desktop::TestDesktop;
use motorium_tests::programs::{self, Process, ProgramResult};
use motorium_tests::services::{Server, TestSetup};
use rustix::process::Signal;
use serde_yaml_ng::Value;
use tonic::{Code, Status};

/// Image of the services that start or show applications.
const DESKTOP_IMAGE: &str = "motorium/desktop";
/// Place of secrets in a container.
const SECRETS: &str = "/run/secrets/";
/// Value of a secret of the Executor. A program of its user must not find it.
const CANARY: &str = "canary-7b20";

/// Returns the compose file, with its anchors resolved.
fn compose() -> Value {
    let path = motorium_tests::root().join("deploy/compose/compose.yaml");
    let text = fs::read_to_string(path).unwrap();
    let mut file: Value = serde_yaml_ng::from_str(&text).unwrap();
    file.apply_merge().unwrap();
    file
}

fn words(service: &Value, key: &str) -> BTreeSet<String> {
    let listed = service.get(key).and_then(Value::as_sequence);
    let listed = listed.into_iter().flatten();
    let word = |value: &Value| value.as_str().expect("it is in its short form").to_owned();
    listed.map(word).collect()
}

fn variables(service: &Value) -> BTreeMap<String, String> {
    let variables = service.get("environment").and_then(Value::as_mapping);
    let variables = variables.into_iter().flatten();
    let word = |value: &Value| value.as_str().expect("it is quoted").to_owned();
    let variables = variables.map(|(name, value)| (word(name), word(value)));
    variables.collect()
}

#[test]
fn containers_with_applications_hold_no_token_and_reach_no_other_service() {
    let file = compose();
    let services = file["services"].as_mapping().unwrap();
    let with_applications: Vec<&str> = services
        .iter()
        .filter(|(_, service)| service["image"] == DESKTOP_IMAGE)
        .map(|(name, _)| name.as_str().unwrap())
        .collect();
    assert_eq!(with_applications, ["executor", "display"]);
    for (name, service) in services {
        let name = name.as_str().unwrap();
        let secrets = words(service, "secrets");
        let is_digests = |secret: &String| secret.ends_with("-callers");
        let variables = variables(service);
        if with_applications.contains(&name) {
            assert!(secrets.iter().all(is_digests), "{name}: {secrets:?}");
            let is_secret = |name: &&String| name.contains("TOKEN") || name.contains("KEY");
            let given: Vec<_> = variables.keys().filter(is_secret).collect();
            assert!(given.is_empty(), "{name}: {given:?}");
            assert!(service.get("env_file").is_none(), "{name}");
        }
        let has_token_of_people = secrets.contains("token");
        let may_have_it = ["orchestrator", "gateway"].contains(&name);
        assert_eq!(has_token_of_people, may_have_it, "{name}");
        // A variable names no secret that the service does not have.
        for value in variables.values() {
            if let Some(secret) = value.strip_prefix(SECRETS) {
                assert!(secrets.contains(secret), "{name}: {secret}");
            }
        }
        // The Executor shares a network with the Orchestrator, and with nothing else.
        let shared =
            |network: &&String| words(&file["services"]["executor"], "networks").contains(*network);
        let networks = words(service, "networks");
        let shared: Vec<_> = networks.iter().filter(shared).collect();
        match name {
            "executor" => {}
            "orchestrator" => assert_eq!(shared, ["desktop"]),
            _ => assert!(shared.is_empty(), "{name}: {shared:?}"),
        }
    }
    assert_eq!(file["services"]["display"]["network_mode"], "none");
    // The gateway sends the token of a person to these only.
    let gateway = variables(&file["services"]["gateway"]);
    assert!(!gateway["MOTORIUM_CLIENT__AUDIENCES"].contains("executor"));
}

#[test]
fn every_container_has_a_health_check_and_a_limit_of_its_memory() {
    let file = compose();
    for (name, service) in file["services"].as_mapping().unwrap() {
        let name = name.as_str().unwrap();
        let check = words(&service["healthcheck"], "test");
        assert!(check.contains("CMD"), "{name}: {check:?}");
        assert!(service["healthcheck"]["interval"].is_string(), "{name}");
        assert!(service.get("mem_limit").is_some(), "{name}");
    }
}

/// Listens on the port of the gateway's health check, and answers with this; with nothing if it is empty.
const ANSWERING: &str = "import socket, sys, time\n\
    server = socket.create_server(('127.0.0.1', 0))\n\
    print(server.getsockname()[1], flush=True)\n\
    client = server.accept()[0]\n\
    client.recv(64)\n\
    client.sendall(sys.argv[1].encode()) if sys.argv[1] else time.sleep(60)\n";

#[tokio::test]
async fn the_health_check_of_the_gateway_demands_an_answer() {
    let file = compose();
    let check = file["services"]["gateway"]["healthcheck"]["test"].as_sequence();
    let script = check.unwrap().last().unwrap().as_str().unwrap();
    // An answer is waited for on a busy machine as well; silence, for as long as it takes to tell.
    for (answer, timeout, is_healthy) in [
        ("HTTP/1.0 403 Forbidden\r\n\r\n", "60", true),
        ("", "1", false),
    ] {
        let mut serving = programs::command("python3", &BTreeMap::new());
        serving.args(["-c", ANSWERING, answer]);
        let mut serving = Process::start(serving);
        let output = serving.stdout.clone();
        let port = |line: &str| line.trim().parse::<u16>().ok();
        let port = serving.line("the port", &output, port).await;
        // Compose takes two dollars for one, and ends a check after its timeout.
        let script = script.replace("$$", "$").replace("7780", &port.to_string());
        let mut checking = programs::command("timeout", &BTreeMap::new());
        checking.args([timeout, "bash", "-c", &script]);
        let ended = programs::run(checking).await;
        assert_eq!(ended.code == Some(0), is_healthy, "{ended:?}");
    }
}

#[test]
fn units_with_applications_hold_no_token() {
    let folder = motorium_tests::root().join("deploy/systemd");
    let unit =
        |name: &str| fs::read_to_string(folder.join(format!("motorium-{name}.service"))).unwrap();
    let values = |unit: &str, key: &str| -> Vec<String> {
        let lines = unit.lines().filter_map(|line| line.strip_prefix(key));
        lines.map(str::to_owned).collect()
    };
    let of_people = |name: &str| {
        values(&unit(name), "LoadCredential=").contains(&"token:/etc/motorium/token".to_owned())
    };
    assert!(of_people("orchestrator") && of_people("gateway"));
    for name in ["planner", "perception", "executor"] {
        let credentials = values(&unit(name), "LoadCredential=");
        assert_eq!(credentials.len(), 1, "{credentials:?}");
        assert!(credentials[0].ends_with("callers.toml"), "{credentials:?}");
    }
    assert_eq!(
        values(&unit("executor"), "EnvironmentFile="),
        ["/etc/motorium/display"]
    );
    assert!(!unit("executor").to_lowercase().contains("token_file"));
    assert!(
        !unit("gateway").contains(":7703"),
        "it sends the tokens of people to no Executor"
    );
}

/// Lines that every unit has, and what happens without them.
const HARDENING: &[(&str, &str)] = &[
    (
        "OOMPolicy=continue",
        "a page that takes all memory ends the service",
    ),
    ("MemoryMax=", "it takes the memory of the whole machine"),
    (
        "ProtectProc=invisible",
        "programs on the desktop see the services' processes",
    ),
    ("Type=notify", "it is taken for ready before it serves"),
    ("WatchdogSec=30", "a service that hangs is not restarted"),
    ("LoadCredential=", "a secret is readable by another user"),
    ("DynamicUser=yes", "it runs as root"),
    ("ProtectSystem=strict", "it writes to the system"),
    ("NoNewPrivileges=yes", "it gains privileges"),
    ("UMask=0077", "its files are readable by others"),
];

#[test]
fn every_unit_confines_its_service_and_survives_a_page() {
    let folder = motorium_tests::root().join("deploy/systemd");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let units: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|it| it == "service"))
        .collect();
    assert_eq!(units.len(), 6);
    for unit in units {
        let text = fs::read_to_string(&unit).unwrap();
        for (line, otherwise) in HARDENING {
            let has_it = text.lines().any(|it| match line.ends_with('=') {
                true => it.starts_with(line) && it.len() > line.len(),
                false => it == *line,
            });
            assert!(has_it, "{} lacks {line}: {otherwise}", unit.display());
        }
    }
}

/// A deployment with the tokens and the variables of `compose.yaml`.
struct Deployment {
    setup: TestSetup,
    tokens: PathBuf,
}

impl Deployment {
    fn create(desktop: &TestDesktop) -> Self {
        let setup = TestSetup::on(desktop);
        let folder = setup.data().parent().unwrap().to_owned();
        let tokens = folder.join("tokens");
        let user = rustix::process::geteuid().as_raw().to_string();
        let script = motorium_tests::root().join("deploy/create-tokens");
        let mut creating = Command::new(script);
        creating.arg(&tokens).args([&user, "one", "two"]);
        assert!(creating.status().unwrap().success());
        // Executors run as another user here.
        open_to_all(&folder);
        Self { setup, tokens }
    }

    fn token(&self, name: &str) -> String {
        let token = fs::read_to_string(self.tokens.join(name)).unwrap();
        token.trim().to_owned()
    }

    /// Returns what `compose.yaml` sets for a service, with the files of this deployment.
    fn variables(&self, service: &str) -> Vec<(String, String)> {
        let file = compose();
        let path_of = |value: String| match value.strip_prefix(SECRETS) {
            Some(secret) => {
                let source = file["secrets"][secret]["file"].as_str().unwrap();
                let name = source.strip_prefix("secrets/").unwrap();
                self.tokens.join(name).to_string_lossy().into_owned()
            }
            None => value,
        };
        let variables = variables(&file["services"][service]).into_iter();
        variables
            .filter(|(name, _)| name.starts_with("MOTORIUM_") && name != "MOTORIUM_CONFIG")
            .map(|(name, value)| (name, path_of(value)))
            .collect()
    }

    async fn start(&self, service: &str, settings: &[String]) -> Server {
        let mut command = self.setup.command(&format!("motorium-{service}"));
        command.envs(self.variables(service));
        command.args(settings.iter().map(|setting| format!("--set={setting}")));
        Server::start_by(command).await
    }

    /// Starts the Executor of a desktop as a user without rights, as in a container.
    async fn start_executor(
        &self,
        desktop: &TestDesktop,
        name: &str,
        settings: &[&str],
    ) -> (Server, TestSetup) {
        let setup = TestSetup::on(desktop);
        open_to_all(setup.data().parent().unwrap());
        if rustix::process::geteuid().is_root() {
            chown(setup.data(), Some(programs::NOBODY), Some(programs::NOBODY)).unwrap();
        }
        let mut command = setup.command("motorium-executor");
        command.envs(self.variables("executor"));
        let callers = self.tokens.join(format!("{name}-executor-callers.toml"));
        command
            .env("MOTORIUM_SERVER__CALLERS_FILE", callers)
            .env("MOTORIUM_SECRET_BANK", CANARY)
            .args(settings.iter().map(|setting| format!("--set={setting}")));
        (Server::start_by(programs::as_nobody(&command)).await, setup)
    }
}

fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
}

fn channel(server: &Server, token: Option<&str>) -> Channel {
    let config = Config {
        token: token.map(Secret::new),
        ..Config::new(server.url())
    };
    Channel::connect_lazy(&config).unwrap()
}

fn code<T>(called: Result<T, Status>) -> Code {
    called.err().map_or(Code::Ok, |status| status.code())
}

async fn creates_a_task(server: &Server, token: Option<&str>) -> Code {
    let task = orchestrator::Task {
        goal: "wait 1 s".to_owned(),
        ..orchestrator::Task::default()
    };
    let request = orchestrator::CreateTaskRequest {
        task: Some(task),
        ..orchestrator::CreateTaskRequest::default()
    };
    code(
        OrchestratorServiceClient::new(channel(server, token))
            .create_task(request)
            .await,
    )
}

async fn reads_tasks(server: &Server, token: Option<&str>) -> Code {
    let request = orchestrator::ListTasksRequest::default();
    code(
        OrchestratorServiceClient::new(channel(server, token))
            .list_tasks(request)
            .await,
    )
}

async fn asks_the_planner(server: &Server, token: Option<&str>) -> Code {
    let request = planner::ListBackendsRequest::default();
    code(
        PlannerServiceClient::new(channel(server, token))
            .list_backends(request)
            .await,
    )
}

async fn sees_the_screen(server: &Server, token: Option<&str>) -> Code {
    let request = perception::ListDisplaysRequest::default();
    code(
        PerceptionServiceClient::new(channel(server, token))
            .list_displays(request)
            .await,
    )
}

async fn acts_on(server: &Server, token: Option<&str>) -> Code {
    let request = executor::GetCapabilitiesRequest::default();
    code(
        ExecutorServiceClient::new(channel(server, token))
            .get_capabilities(request)
            .await,
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_beside_the_browser_reach_no_other_service() {
    let desktop = TestDesktop::bare().await;
    let deployment = Deployment::create(&desktop);
    let ((executor, _folder), (other, _other_folder), planner, perception) = tokio::join!(
        deployment.start_executor(&desktop, "one", &[]),
        deployment.start_executor(&desktop, "two", &["executor.driver=recording"]),
        deployment.start("planner", &[]),
        deployment.start("perception", &[]),
    );
    let services = [
        format!("orchestrator.planner={}", planner.url()),
        format!("orchestrator.desktops.one.perception={}", perception.url()),
        format!("orchestrator.desktops.one.executor={}", executor.url()),
    ];
    let orchestrator = deployment.start("orchestrator", &services).await;
    let of_people = deployment.token("token");
    let of_desktop = deployment.token("one-token");

    // The deployment works: a task reaches the Planner and both services of the desktop.
    let token = deployment.tokens.join("token");
    let token = format!("--set=client.token_file={}", token.display());
    let check = "check that \"Terminal\" is not shown";
    let ended = deployment
        .setup
        .motorium(&[&token, "run", "--server", &orchestrator.url(), check])
        .await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(reads_tasks(&orchestrator, Some(&of_people)).await, Code::Ok);
    assert_eq!(
        sees_the_screen(&perception, Some(&of_people)).await,
        Code::Ok
    );
    assert_eq!(acts_on(&executor, Some(&of_desktop)).await, Code::Ok);
    assert_eq!(
        acts_on(&executor, Some(&of_people)).await,
        Code::Unauthenticated
    );

    // A program beside the browser sees the files of its container, and at worst what the Orchestrator sends there.
    let digests = fs::read_to_string(deployment.tokens.join("one-executor-callers.toml")).unwrap();
    let digest = digests.split('"').find(|word| word.len() == 64).unwrap();
    for seen in [None, Some(digest), Some(&of_desktop)] {
        let answers = [
            creates_a_task(&orchestrator, seen).await,
            reads_tasks(&orchestrator, seen).await,
            asks_the_planner(&planner, seen).await,
            acts_on(&other, seen).await,
        ];
        assert_eq!(answers, [Code::Unauthenticated; 4], "{seen:?}");
    }

    // It does not even see that: neither the environment nor the memory of the Executor.
    let read = read_as_nobody(&deployment, executor.process.id()).await;
    assert!(!read.contains(CANARY), "{read}");
    assert_eq!(read.matches("Permission denied").count(), 2, "{read}");
    // What the same user runs otherwise is readable.
    let mut sleeping = programs::command("sleep", &deployment.setup.environment);
    sleeping.arg("60").env("MOTORIUM_SECRET_BANK", CANARY);
    let sleeping = Process::start(programs::as_nobody(&sleeping));
    motorium_tests::until("the environment of another program", async || {
        let read = read_as_nobody(&deployment, sleeping.id()).await;
        let is_open = read.contains(CANARY) && !read.contains("Permission denied");
        is_open.then_some(())
    })
    .await;
}

/// Reads the environment and the map of the memory of a process, as a program of the Executor's user.
async fn read_as_nobody(deployment: &Deployment, process: u32) -> String {
    let mut reading = programs::command("cat", &deployment.setup.environment);
    reading.args(["environ", "maps"].map(|file| format!("/proc/{process}/{file}")));
    let read = programs::run(programs::as_nobody(&reading)).await;
    format!("{}{}", read.stdout, read.stderr)
}

/// The display of an image, on this machine.
struct ImageDisplay {
    script: Process,
    name: String,
    folder: tempfile::TempDir,
    setup: TestSetup,
}

impl ImageDisplay {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let setup = TestSetup::without_display();
        // Other tests let their servers choose, which take small numbers.
        let number = 5000 + std::process::id() % 50_000;
        let name = format!(":{number}");
        let script = motorium_tests::root().join("deploy/images/virtual-display");
        let path = std::env::var("PATH").unwrap();
        let programs = programs::binary("motorium");
        let programs = programs.parent().unwrap().display();
        let mut command = programs::command(script, &setup.environment);
        command
            .env("PATH", format!("{programs}:{path}"))
            .env("DISPLAY", &name)
            .env("XAUTHORITY", folder.path().join("authority"))
            .env("SIZE", "640x480");
        let display = Self {
            script: Process::start(command),
            name,
            folder,
            setup,
        };
        motorium_tests::until("the window manager", async || {
            display.running().contains("icewm").then_some(())
        })
        .await;
        display
    }

    fn running(&self) -> BTreeSet<String> {
        programs::descendants(self.script.id())
            .into_values()
            .collect()
    }

    /// Acts on the display with a cookie.
    async fn act(&self, authority: &Path, action: &[&str]) -> ProgramResult {
        let mut command = self.setup.command("motorium");
        command
            .args(["act", "--in-process"])
            .args(action)
            .env("DISPLAY", &self.name)
            .env("XAUTHORITY", authority);
        programs::run(command).await
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing is awaited in a drop")]
impl Drop for ImageDisplay {
    fn drop(&mut self) {
        // The script ends its programs. A killed one would leave them.
        self.script.signal(Signal::TERM);
        let begun = tokio::time::Instant::now();
        while self.script.status().is_none() {
            if begun.elapsed() > Duration::from_secs(10) {
                self.script.signal(Signal::KILL);
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_display_of_an_image_admits_its_cookie_alone_and_starts_nothing() {
    let display = ImageDisplay::start().await;
    let other = display.folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let other_text = other.to_string_lossy().into_owned();
    let written = display
        .setup
        .motorium(&["display-files", &other_text])
        .await;
    assert_eq!(written.code, Some(0), "{written:?}");
    for cookie in [Path::new("/dev/null"), &other.join("authority")] {
        let refused = display.act(cookie, &["click", "1", "1"]).await;
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stderr.contains("cannot connect"), "{refused:?}");
    }
    let cookie = display.folder.path().join("authority");
    let mode = fs::metadata(&cookie).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "no other user reads it: {mode:o}");

    let started = display.running();
    let actions: [&[&str]; 4] = [
        &["click", "320", "240", "--button", "right"],
        &["key", "alt+ctrl+t"],
        &["key", "ctrl+escape"],
        &["key", "alt+ctrl+space"],
    ];
    for action in actions {
        let done = display.act(&cookie, action).await;
        assert_eq!(done.code, Some(0), "{action:?}: {done:?}");
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(display.running(), started);
    assert!(!started.contains("dbus-daemon"), "{started:?}");
}
