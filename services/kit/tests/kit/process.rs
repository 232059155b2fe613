//! A complete server program (`examples/minimal.rs`), as an operator sees it.

use std::path::PathBuf;
use std::process::Stdio;

use motorium_kit::client::{self, Channel};
use motorium_kit::config::Secret;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::probe::with_timeout;

/// Returns the example program, which Cargo builds with the tests, two folders above the test binary.
fn program() -> Command {
    let tests = std::env::current_exe().unwrap();
    let path: PathBuf = tests
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/minimal");
    let mut command = Command::new(path);
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn line_with(lines: &mut Lines<BufReader<ChildStderr>>, message: &str) -> serde_json::Value {
    loop {
        let line = with_timeout(lines.next_line())
            .await
            .unwrap()
            .unwrap_or_else(|| panic!("no line says `{message}`"));
        assert!(!line.contains("sesame"), "a secret in the log: {line}");
        let fields: serde_json::Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {line}"));
        if fields["message"] == message {
            return fields;
        }
    }
}

fn signal(child: &Child, signal: Signal) {
    let id = i32::try_from(child.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
}

#[tokio::test]
async fn it_becomes_ready_answers_and_ends_when_asked() {
    let mut child = program()
        .args(["--set", "server.token=sesame"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let ready = line_with(&mut lines, "ready").await;
    let uri = format!("http://{}", ready["address"].as_str().unwrap());
    let config = client::Config {
        token: Some(Secret::new("sesame")),
        ..client::Config::new(uri)
    };
    let channel = Channel::connect_lazy(&config).unwrap();
    HealthClient::new(channel)
        .check(HealthCheckRequest::default())
        .await
        .unwrap();

    signal(&child, Signal::TERM);
    line_with(&mut lines, "draining").await;
    line_with(&mut lines, "ended").await;
    assert!(with_timeout(child.wait()).await.unwrap().success());
}

#[tokio::test]
async fn configuration_errors_exit_with_a_one_line_message() {
    for (arguments, expected) in [
        (
            ["--set", "perception.listne=x"],
            "error: unknown setting `perception.listne` (from --set); did you mean `listen`?",
        ),
        (
            ["--config", "/nowhere.toml"],
            "error: reading the configuration file /nowhere.toml: No such file or directory",
        ),
        (
            ["--set", "perception.listen=0.0.0.0:0"],
            "error: refusing to listen on 0.0.0.0:0 without client authentication",
        ),
    ] {
        let output = with_timeout(program().args(arguments).output())
            .await
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[tokio::test]
async fn it_explains_its_flags() {
    let output = with_timeout(program().arg("--help").output())
        .await
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for flag in [
        "--config <FILE>",
        "--data <FOLDER>",
        "--set <KEY=VALUE>",
        "--version",
    ] {
        assert!(text.contains(flag), "{text}");
    }
}
