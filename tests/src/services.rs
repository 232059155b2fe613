//! Motorium's services in their deployments: four programs on four ports, or `motorium up`.
//!
//! Ports are chosen by the system and read from the log. A restarted service keeps its port and data folder.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use motorium_client::{Channel, Client, Config};
use motorium_kit::loopback_token::LoopbackToken;
use serde_json::Value;
use tempfile::TempDir;

use crate::desktop::{CHROMIUM, TestDesktop};
use crate::programs::{self, Process, ProgramResult, binary};
use crate::scripted_planner::ScriptedPlanner;

/// A free port of the loopback interface.
const ANY_PORT: &str = "127.0.0.1:0";

/// Variables that name a proxy.
const PROXY_VARIABLES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];
/// A proxy at which nothing listens.
const MISSING_PROXY: &str = "http://127.0.0.1:9";

/// Setup of the programs: a data folder, a configuration, an environment.
#[derive(Debug)]
pub struct TestSetup {
    folder: TempDir,
    /// Environment variables of the programs.
    pub environment: BTreeMap<String, String>,
}

impl TestSetup {
    /// Creates a setup for a desktop's display, with the models, an editor and a browser.
    ///
    /// # Panics
    /// If files cannot be written.
    #[must_use]
    pub fn on(desktop: &TestDesktop) -> Self {
        Self::new(desktop.environment().clone())
    }

    /// Creates a setup without a display.
    ///
    /// # Panics
    /// If files cannot be written.
    #[must_use]
    pub fn without_display() -> Self {
        Self::new(BTreeMap::new())
    }

    fn new(mut environment: BTreeMap<String, String>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let home = folder.path().to_string_lossy().into_owned();
        environment.entry("HOME".to_owned()).or_insert(home);
        // Nothing that goes to this machine may ask it: every test shows that.
        for name in PROXY_VARIABLES {
            environment.insert(name.to_owned(), MISSING_PROXY.to_owned());
        }
        let setup = Self {
            folder,
            environment,
        };
        std::fs::create_dir(setup.data()).expect("the folder is writable");
        link_models(&setup.data());
        std::fs::write(setup.config(), configuration(&setup.environment))
            .expect("the folder is writable");
        setup
    }

    /// Returns the data folder.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("motorium.toml")
    }

    /// Returns a command for one of the programs with this setup, without further arguments.
    #[must_use]
    pub fn command(&self, program: &str) -> std::process::Command {
        let mut command = programs::command(binary(program), &self.environment);
        command
            .args(["--config".as_ref(), self.config().as_os_str()])
            .args(["--data".as_ref(), self.data().as_os_str()]);
        command
    }

    /// Returns a command for one of the programs that ignores SIGXFSZ. With a file size limit, writes then fail as on a
    /// full disk instead of ending the program.
    #[must_use]
    pub fn command_with_file_size_limit(&self, program: &str) -> std::process::Command {
        let mut command = programs::command("sh", &self.environment);
        command
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(binary(program))
            .args(["--config".as_ref(), self.config().as_os_str()])
            .args(["--data".as_ref(), self.data().as_os_str()]);
        command
    }

    /// Runs `motorium` to its end.
    pub async fn motorium(&self, arguments: &[&str]) -> ProgramResult {
        let mut command = self.command("motorium");
        command.args(arguments);
        programs::run(command).await
    }
}

/// Returns the data folder that `tools/setup` filled.
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

/// Links the models that `tools/setup` installed into a data folder.
fn link_models(data: &Path) {
    let installed = installed_data();
    for name in ["models", "onnxruntime"] {
        let target = installed.join(name);
        assert!(
            target.is_dir(),
            "{} is missing; run tools/setup",
            target.display()
        );
        std::os::unix::fs::symlink(target, data.join(name)).expect("the folder is writable");
    }
}

/// Returns one configuration file for all services, as an operator would write it.
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
        policy = "free"
        [perception]
        listen = ANY_PORT
        [planner]
        listen = ANY_PORT
        [gateway]
        listen = ANY_PORT
        [executor]
        listen = ANY_PORT
        browser = browser
        [executor.rules]
        // The pages of the tests are on this machine.
        url_hosts = ["*", "127.0.0.1", "localhost"]
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
    /// Address of the server.
    pub address: SocketAddr,
    token: LoopbackToken,
}

impl Server {
    /// Starts a service (`planner`) with these settings (`planner.timeout=5s`) and waits until it is ready.
    pub async fn start(setup: &TestSetup, service: &str, settings: &[String]) -> Self {
        let mut command = setup.command(&format!("motorium-{service}"));
        command.args(settings.iter().map(|setting| format!("--set={setting}")));
        Self::start_by(command).await
    }

    /// Starts a service with a custom command and waits until it is ready.
    pub async fn start_by(command: std::process::Command) -> Self {
        let token = token_of(&command);
        let mut process = Process::start(command);
        let output = process.stderr.clone();
        let address = process.line("the address", &output, ready_address).await;
        Self {
            process,
            address,
            token,
        }
    }

    /// Returns the URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns a channel to the service.
    #[must_use]
    pub fn channel(&self) -> Channel {
        channel(&self.url(), self.token.clone())
    }
}

/// Returns the token of the user as a command sees it: each setup has a user's folder of its own.
fn token_of(command: &std::process::Command) -> LoopbackToken {
    LoopbackToken::of_user(|wanted| {
        let mut variables = command.get_envs();
        let (_, value) = variables.find(|(name, _)| *name == wanted)?;
        value?.to_str()
    })
}

fn ready_address(line: &str) -> Option<SocketAddr> {
    let entry: Value = serde_json::from_str(line).ok()?;
    // The gateway has no server of the kit, and says so in words of its own.
    let is_ready = entry["message"] == "ready" || entry["message"] == "the gateway is ready";
    is_ready.then(|| entry["address"].as_str()?.parse().ok())?
}

fn channel(url: &str, token: LoopbackToken) -> Channel {
    let config = Config {
        loopback_token: Some(token),
        ..Config::new(url)
    };
    Channel::connect_lazy(&config).expect("it is an address")
}

/// Four services on four ports.
#[derive(Debug)]
pub struct Services {
    /// Setup of the services.
    pub setup: TestSetup,
    /// Orchestrator.
    pub orchestrator: Server,
    /// Perception.
    pub perception: Server,
    /// Planner.
    pub planner: Server,
    /// Executor.
    pub executor: Server,
    /// URL of the planner that the Orchestrator uses.
    planner_url: String,
    /// Policy of the Orchestrator.
    policy: &'static str,
}

impl Services {
    /// Starts the services for a desktop.
    pub async fn start(desktop: &TestDesktop) -> Self {
        let setup = TestSetup::on(desktop);
        let [perception, planner, executor] = start_dependencies(&setup).await;
        let decider = planner.url();
        Self::with_orchestrator(setup, perception, planner, executor, decider, "free").await
    }

    /// Starts the services with a scripted planner; returns both.
    pub async fn start_with_script(desktop: &TestDesktop) -> (Self, ScriptedPlanner) {
        let setup = TestSetup::on(desktop);
        let [perception, planner, executor] = start_dependencies(&setup).await;
        let script = ScriptedPlanner::serve(planner.channel()).await;
        let decider = script.url.clone();
        // The default policy: these tests approve actions themselves.
        let rules = "careful";
        let services =
            Self::with_orchestrator(setup, perception, planner, executor, decider, rules).await;
        (services, script)
    }

    async fn with_orchestrator(
        setup: TestSetup,
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
            planner_url: decider,
            policy: rules,
        }
    }

    /// Returns a client of the Orchestrator with its own connection.
    #[must_use]
    pub fn client(&self) -> Client<Channel> {
        Client::new(self.orchestrator.channel())
    }

    /// Kills the Orchestrator and restarts it.
    pub async fn crash_orchestrator(&mut self) {
        self.restart_orchestrator(&[]).await;
    }

    /// Kills the Orchestrator and restarts it with additional settings.
    pub async fn restart_orchestrator(&mut self, more: &[&str]) {
        self.orchestrator.process.kill();
        let mut settings = connections(
            &self.planner_url,
            &self.perception,
            &self.executor,
            self.policy,
        );
        settings.push(format!("orchestrator.listen={}", self.orchestrator.address));
        settings.extend(more.iter().map(|&setting| setting.to_owned()));
        self.orchestrator = Server::start(&self.setup, "orchestrator", &settings).await;
    }

    /// Kills the Executor and restarts it.
    pub async fn crash_executor(&mut self) {
        self.executor.process.kill();
        let settings = [format!("executor.listen={}", self.executor.address)];
        self.executor = Server::start(&self.setup, "executor", &settings).await;
    }
}

/// Starts Perception, Planner and Executor.
async fn start_dependencies(setup: &TestSetup) -> [Server; 3] {
    let (perception, planner, executor) = tokio::join!(
        Server::start(setup, "perception", &[]),
        Server::start(setup, "planner", &[]),
        Server::start(setup, "executor", &[]),
    );
    [perception, planner, executor]
}

/// Returns the Orchestrator's settings for its policy and the other services.
fn connections(decider: &str, perception: &Server, executor: &Server, rules: &str) -> Vec<String> {
    vec![
        format!("orchestrator.policy={rules}"),
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
    /// Setup of the program.
    pub setup: TestSetup,
    /// The process.
    pub process: Process,
    /// URL of the Orchestrator.
    pub url: String,
    /// Link that logs a browser in, once.
    pub login_link: String,
    /// Display that it uses.
    pub display: String,
    /// Settings with the addresses of its Perception and Executor, for commands that look for them.
    pub addresses: [String; 2],
}

impl AllInOne {
    /// Starts the program with these settings and arguments, and waits until it prints how to submit a task.
    pub async fn start(setup: TestSetup, arguments: &[&str]) -> Self {
        let mut command = setup.command("motorium");
        let is_setting = |argument: &&&str| argument.starts_with("--set=");
        let (settings, arguments): (Vec<&str>, Vec<&str>) = arguments.iter().partition(is_setting);
        command.args(settings).arg("up").args(arguments);
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
            found.unwrap_or_else(|| panic!("`motorium up` prints no {first}: {lines:?}"))
        };
        let url = format!("http://{}", find("orchestrator"));
        let login_link = find("open the page");
        let addresses = ["perception", "executor"]
            .map(|service| format!("--set={service}.listen={}", find(service)));
        let lines = output.lines();
        let display = lines
            .first()
            .and_then(|line| line.split_whitespace().last());
        let display = display
            .expect("the first line contains the display")
            .to_owned();
        Self {
            setup,
            process,
            url,
            login_link,
            display,
            addresses,
        }
    }

    /// Returns a client of the Orchestrator.
    #[must_use]
    pub fn client(&self) -> Client<Channel> {
        let token = token_of(&self.setup.command("motorium"));
        Client::new(channel(&self.url, token))
    }
}
