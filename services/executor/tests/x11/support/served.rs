//! The program itself, serving a test display.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId};
use motorium_proto::service::{AcquireRequest, Executor as _, ExecutorClient, PerformRequest};
use serde_json::Value;
use tonic::transport::Channel;

use super::{Desktop, Process};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_motorium-executor");
/// Lease duration, longer than any test.
pub(crate) const TTL: Duration = Duration::from_secs(600);

/// The program, serving one display.
pub(crate) struct ExecutorProcess {
    pub(crate) process: Process,
    pub(crate) executor: ExecutorClient<Channel>,
    pub(crate) url: String,
    pub(crate) display: DisplayId,
}

impl ExecutorProcess {
    pub(crate) async fn start(desktop: &Desktop) -> Self {
        Self::start_by(desktop, desktop.command(PROGRAM)).await
    }

    /// Starts the program with a custom command, to which its arguments are added.
    pub(crate) async fn start_by(desktop: &Desktop, mut command: Command) -> Self {
        let config = desktop.path("motorium.toml");
        if !config.exists() {
            std::fs::write(&config, "").unwrap();
        }
        command.env("MOTORIUM_DATA", desktop.path("data"));
        command.arg("--config").arg(config);
        command.args([
            "--set",
            "executor.listen=127.0.0.1:0",
            "--set",
            "log.format=json",
            // These tests are about input; the kit's are about callers.
            "--set",
            "server.loopback_token=false",
        ]);
        let mut process = Process::start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
        let address = address(&mut process);
        let url = format!("http://{address}");
        let channel = Channel::from_shared(url.clone())
            .unwrap()
            .connect()
            .await
            .unwrap();
        let display = DisplayId::new(desktop.display.as_str());
        Self {
            process,
            executor: ExecutorClient::new(channel),
            url,
            display,
        }
    }

    pub(crate) async fn acquire(&self, ttl: Duration) -> DesktopEpoch {
        let request = AcquireRequest {
            display: None,
            holder: "test".to_owned(),
            ttl,
            take_over: false,
            tenant: None,
        };
        self.executor.acquire_desktop(request).await.unwrap().epoch
    }

    pub(crate) fn request(
        &self,
        epoch: DesktopEpoch,
        id: &str,
        action: Action<CapturePoint>,
    ) -> PerformRequest {
        let action_id = ActionId::new(id);
        PerformRequest {
            display: self.display.clone(),
            epoch,
            action_id,
            retry_of: None,
            action,
            named_hosts: Vec::new(),
            creator: None,
            tenant: None,
            addresses: Vec::new(),
        }
    }
}

/// Returns the processes that release what a program holds on a display, once that program is killed.
pub(crate) fn release_processes(display: &str) -> Vec<i32> {
    let is_one = |process: i32| {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .skip(1)
            .eq([b"release-input", display.as_bytes(), b""])
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|process| is_one(*process)).collect()
}

/// Reads the program's address from its log. The rest of the log is drained.
fn address(process: &mut Process) -> String {
    let mut lines = BufReader::new(process.stderr()).lines();
    let mut log = Vec::new();
    let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let entry: Option<Value> = serde_json::from_str(&line).ok();
        log.push(line);
        let ready = entry.filter(|entry| entry["message"] == "ready")?;
        Some(ready["address"].as_str().unwrap().to_owned())
    });
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    address.unwrap_or_else(|| panic!("the program is not ready: {log:#?}"))
}
