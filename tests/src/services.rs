//! Motorium's services as an operator runs them: four programs on four ports, or `motorium up`.
//!
//! Ports are chosen by the system and read from the log. A service that is killed and started again gets the port that
//! it had, and the same data folder.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use motorium_client::Client;
use serde_json::Value;
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};

use crate::desktop::{CHROMIUM, Desktop};
use crate::programs::{self, Finished, Process, binary};
use crate::script::Script;

/// A free port of the loopback interface.
const ANY_PORT: &str = "127.0.0.1:0";

/// What programs are started with: a data folder, a configuration, an environment.
#[derive(Debug)]
pub struct Setup {
    folder: TempDir,
    /// Variables of the programs.
    pub environment: BTreeMap<String, String>,
}

impl Setup {
    /// For the display of a desktop, with the models and with an editor and a browser to open.
    ///
    /// # Panics
    /// If there is no room for files.
    #[must_use]
    pub fn on(desktop: &Desktop) -> Self {
        Self::new(desktop.environment().clone())
    }

    /// Without any display.
    ///
    /// # Panics
    /// If there is no room for files.
    #[must_use]
    pub fn without_display() -> Self {
        Self::new(BTreeMap::new())
    }

    fn new(mut environment: BTreeMap<String, String>) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let home = folder.path().to_string_lossy().into_owned();
        environment.entry("HOME".to_owned()).or_insert(home);
        let setup = Self {
            folder,
            environment,
        };
        std::fs::create_dir(setup.data()).expect("the folder can be written");
        link_models(&setup.data());
        std::fs::write(setup.config(), configuration(&setup.environment))
            .expect("the folder can be written");
        setup
    }

    /// The data folder.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("motorium.toml")
    }

    /// A command that starts one of the programs with this, its arguments still to come.
    #[must_use]
    pub fn command(&self, program: &str) -> std::process::Command {
        let mut command = programs::command(binary(program), &self.environment);
        command
            .args(["--config".as_ref(), self.config().as_os_str()])
            .args(["--data".as_ref(), self.data().as_os_str()]);
        command
    }

    /// The same for a program whose writes fail beyond the limit on the size of its files, instead of ending it: such a
    /// limit is a full disk that can be made at any time.
    #[must_use]
    pub fn command_on_a_small_disk(&self, program: &str) -> std::process::Command {
        let mut command = programs::command("sh", &self.environment);
        command
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(binary(program))
            .args(["--config".as_ref(), self.config().as_os_str()])
            .args(["--data".as_ref(), self.data().as_os_str()]);
        command
    }

    /// Runs `motorium` to its end.
    pub async fn motorium(&self, arguments: &[&str]) -> Finished {
        let mut command = self.command("motorium");
        command.args(arguments);
        programs::run(command).await
    }
}

/// The data folder that `tools/setup` filled.
///
/// # Panics
/// If there is no home folder.
#[must_use]
pub fn installed_data() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let installed = variable("MOTORIUM_DATA").or_else(|| {
        let home = || Some(variable("HOME")?.join(".local/share"));
        Some(variable("XDG_DATA_HOME").or_else(home)?.join("motorium"))
    });
    installed.expect("there is a home folder")
}

/// The models, where `tools/setup` put them.
fn link_models(data: &Path) {
    let installed = installed_data();
    for name in ["models", "onnxruntime"] {
        let target = installed.join(name);
        assert!(
            target.is_dir(),
            "there is no {}; run tools/setup",
            target.display()
        );
        std::os::unix::fs::symlink(target, data.join(name)).expect("the folder can be written");
    }
}

/// One file for all services, as an operator would have it.
fn configuration(environment: &BTreeMap<String, String>) -> String {
    let program = |program: &str, arguments: &[&str]| {
        toml::Value::Table(toml::toml! {
            program = program
            arguments = (arguments.to_vec())
            environment = (environment.clone())
        })
    };
    let editor = program("mousepad", &["--disable-server"]);
    let browser = program("chromium", &CHROMIUM);
    let table = toml::toml! {
        [log]
        format = "json"
        [orchestrator]
        listen = ANY_PORT
        rules = "free"
        [perception]
        listen = ANY_PORT
        [planner]
        listen = ANY_PORT
        [executor]
        listen = ANY_PORT
        browser = browser
        [executor.applications]
        editor = editor
    };
    table.to_string()
}

/// One service as a process.
#[derive(Debug)]
pub struct Server {
    /// The process.
    pub process: Process,
    /// Where it answers.
    pub address: SocketAddr,
}

impl Server {
    /// Starts a service (`planner`) with these settings (`planner.timeout=5s`) and waits until it is ready.
    pub async fn start(setup: &Setup, service: &str, settings: &[String]) -> Self {
        let mut command = setup.command(&format!("motorium-{service}"));
        command.args(settings.iter().map(|setting| format!("--set={setting}")));
        Self::start_by(command).await
    }

    /// Starts a service by a command of one's own, and waits until it is ready.
    pub async fn start_by(command: std::process::Command) -> Self {
        let mut process = Process::start(command);
        let output = process.stderr.clone();
        let address = process.line("the address", &output, ready_address).await;
        Self { process, address }
    }

    /// Its address for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A channel to it.
    #[must_use]
    pub fn channel(&self) -> Channel {
        channel(&self.url())
    }
}

fn ready_address(line: &str) -> Option<SocketAddr> {
    let entry: Value = serde_json::from_str(line).ok()?;
    (entry["message"] == "ready").then(|| entry["address"].as_str()?.parse().ok())?
}

fn channel(url: &str) -> Channel {
    Endpoint::from_shared(url.to_owned())
        .expect("it is an address")
        .connect_timeout(Duration::from_secs(5))
        .connect_lazy()
}

/// Four services on four ports.
#[derive(Debug)]
pub struct Services {
    /// What they were started with.
    pub setup: Setup,
    /// They carry tasks through.
    pub orchestrator: Server,
    /// The eyes.
    pub perception: Server,
    /// The head.
    pub planner: Server,
    /// The hands.
    pub executor: Server,
    /// Whom the Orchestrator asks for decisions.
    decider: String,
    /// What may be done unattended.
    rules: &'static str,
}

impl Services {
    /// Starts them for a desktop.
    pub async fn start(desktop: &Desktop) -> Self {
        let setup = Setup::on(desktop);
        let [perception, planner, executor] = others(&setup).await;
        let decider = planner.url();
        Self::with_orchestrator(setup, perception, planner, executor, decider, "free").await
    }

    /// The same with an Orchestrator that asks a script for decisions, and the script.
    pub async fn start_with_script(desktop: &Desktop) -> (Self, Script) {
        let setup = Setup::on(desktop);
        let [perception, planner, executor] = others(&setup).await;
        let script = Script::serve(planner.channel()).await;
        let decider = script.url.clone();
        // As they come: a test of these is a person who approves.
        let rules = "careful";
        let services =
            Self::with_orchestrator(setup, perception, planner, executor, decider, rules).await;
        (services, script)
    }

    async fn with_orchestrator(
        setup: Setup,
        perception: Server,
        planner: Server,
        executor: Server,
        decider: String,
        rules: &'static str,
    ) -> Self {
        let settings = connections(&decider, &perception, &executor, rules);
        let orchestrator = Server::start(&setup, "orchestrator", &settings).await;
        Self {
            setup,
            orchestrator,
            perception,
            planner,
            executor,
            decider,
            rules,
        }
    }

    /// A client of the Orchestrator, on a connection of its own.
    #[must_use]
    pub fn client(&self) -> Client<Channel> {
        Client::new(self.orchestrator.channel())
    }

    /// Kills the Orchestrator at once, and starts it again.
    pub async fn crash_orchestrator(&mut self) {
        self.restart_orchestrator(&[]).await;
    }

    /// Ends the Orchestrator, and starts it again with these settings too.
    pub async fn restart_orchestrator(&mut self, more: &[&str]) {
        self.orchestrator.process.kill();
        let mut settings = connections(&self.decider, &self.perception, &self.executor, self.rules);
        settings.push(format!("orchestrator.listen={}", self.orchestrator.address));
        settings.extend(more.iter().map(|&setting| setting.to_owned()));
        self.orchestrator = Server::start(&self.setup, "orchestrator", &settings).await;
    }

    /// Kills the Executor at once, and starts it again.
    pub async fn crash_executor(&mut self) {
        self.executor.process.kill();
        let settings = [format!("executor.listen={}", self.executor.address)];
        self.executor = Server::start(&self.setup, "executor", &settings).await;
    }
}

/// All but the Orchestrator: Perception, Planner, Executor.
async fn others(setup: &Setup) -> [Server; 3] {
    let (perception, planner, executor) = tokio::join!(
        Server::start(setup, "perception", &[]),
        Server::start(setup, "planner", &[]),
        Server::start(setup, "executor", &[]),
    );
    [perception, planner, executor]
}

/// The settings of an Orchestrator that name the others.
fn connections(decider: &str, perception: &Server, executor: &Server, rules: &str) -> Vec<String> {
    vec![
        format!("orchestrator.rules={rules}"),
        format!("orchestrator.planner={decider}"),
        format!(
            "orchestrator.desktops.local.perception={}",
            perception.url()
        ),
        format!("orchestrator.desktops.local.executor={}", executor.url()),
    ]
}

/// `motorium up`: all services in one process.
#[derive(Debug)]
pub struct AllInOne {
    /// What it was started with.
    pub setup: Setup,
    /// The process.
    pub process: Process,
    /// The Orchestrator's address for clients.
    pub url: String,
    /// The display that it works on.
    pub display: String,
}

impl AllInOne {
    /// Starts it and waits until it says how to submit a task.
    pub async fn start(setup: Setup, arguments: &[&str]) -> Self {
        let mut command = setup.command("motorium");
        command.arg("up").args(arguments);
        let mut process = Process::start(command);
        let output = process.stdout.clone();
        let ready = |line: &str| line.starts_with("submit a task").then_some(());
        process.line("the hint", &output, ready).await;
        let word = |line: &str, first: &str| {
            let rest = line.strip_prefix(first)?;
            rest.split_whitespace().last().map(str::to_owned)
        };
        let find = |first: &str| {
            let lines = output.lines();
            let found = lines.iter().find_map(|line| word(line, first));
            found.unwrap_or_else(|| panic!("`motorium up` names no {first}: {lines:?}"))
        };
        let url = format!("http://{}", find("orchestrator"));
        let lines = output.lines();
        let display = lines
            .first()
            .and_then(|line| line.split_whitespace().last());
        let display = display
            .expect("its first line names the display")
            .to_owned();
        Self {
            setup,
            process,
            url,
            display,
        }
    }

    /// A client of the Orchestrator.
    #[must_use]
    pub fn client(&self) -> Client<Channel> {
        Client::new(channel(&self.url))
    }
}
