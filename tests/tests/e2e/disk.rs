//! Disks that are full or read-only: the service says so and is not serving, and goes on when it can write again.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use motorium_client::{Channel, Client};
use motorium_kit::client::is_serving;
use motorium_kit::server::LIVENESS;
use motorium_proto::v1::orchestrator as wire;
use motorium_tests::programs;
use motorium_tests::services::{Server, TestSetup};
use motorium_tests::until;

/// Size of the disk. Holds the empty stores many times.
const DISK: &str = "64m";

/// An orchestrator in a mount namespace of its own, in which `script` has prepared the data folder, the first argument.
fn command(setup: &TestSetup, script: &str) -> Command {
    let mut command = programs::command("unshare", &setup.environment);
    let program = setup.command("motorium-orchestrator");
    command
        .args(["--map-root-user", "--mount", "sh", "-c"])
        .arg(format!("{script} && shift && exec \"$@\""))
        .arg("sh")
        .arg(setup.data())
        .args(program.get_args().skip(3))
        .arg("--set=orchestrator.planner=http://127.0.0.1:9");
    command
}

/// Runs a script in the namespaces of the service; its first argument is the data folder.
fn inside(server: &Server, data: &Path, script: &str) {
    let status = Command::new("nsenter")
        .arg(format!("--target={}", server.process.id()))
        .args(["--user", "--mount", "--preserve-credentials"])
        .args(["sh", "-c", script, "sh"])
        .arg(data)
        .status();
    assert!(status.unwrap().success(), "{script}");
}

/// Waits until the health is this one. The process is alive in any case.
async fn becomes(server: &Server, serving: bool) {
    let channel = server.channel();
    until("another health", || async {
        let alive = is_serving(channel.clone(), LIVENESS).await;
        assert!(alive.unwrap());
        let is_now = is_serving(channel.clone(), "").await.unwrap();
        (is_now == serving).then_some(())
    })
    .await;
}

async fn create(server: &Server) -> Result<String, tonic::Status> {
    let client: Client<Channel> = Client::new(server.channel());
    let request = wire::CreateTaskRequest {
        task: Some(wire::Task {
            goal: "do it".to_owned(),
            ..wire::Task::default()
        }),
        ..wire::CreateTaskRequest::default()
    };
    Ok(client.create(request).await?.name)
}

/// Returns what the service has logged about its health since a line.
fn health_problems(server: &Server, since: usize) -> String {
    let lines = server.process.stderr.lines();
    let lines = lines.iter().skip(since);
    let not_serving = lines.filter(|line| line.contains("not serving"));
    not_serving.cloned().collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_goes_on_when_its_disk_can_be_written_again() {
    let setup = TestSetup::without_display();
    let data = setup.data();
    let mount = format!("mount -t tmpfs -o size={DISK} none \"$1\"");
    let server = Server::start_by(command(&setup, &mount)).await;
    becomes(&server, true).await;
    let first = create(&server).await.unwrap();

    // `dd` ends with an error when the disk is full.
    let fill = "dd if=/dev/zero of=\"$1/filler\" bs=64k 2>/dev/null; test -s \"$1/filler\"";
    inside(&server, &data, fill);
    becomes(&server, false).await;
    assert!(
        health_problems(&server, 0).contains("is full"),
        "{}",
        health_problems(&server, 0)
    );
    create(&server).await.unwrap_err();
    inside(&server, &data, "rm \"$1/filler\"");
    becomes(&server, true).await;
    let second = create(&server).await.unwrap();

    let since = server.process.stderr.lines().len();
    let read_only = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    inside(&server, &data, read_only);
    becomes(&server, false).await;
    let words = health_problems(&server, since);
    assert!(words.contains("ead-only"), "{words}");
    inside(&server, &data, "umount \"$1\"");
    becomes(&server, true).await;
    let client = Client::new(server.channel());
    for name in [first, second, create(&server).await.unwrap()] {
        assert_eq!(client.get_task(&name).await.unwrap().name, name);
    }
}

#[tokio::test]
async fn a_service_that_cannot_write_at_its_start_names_the_folder() {
    let setup = TestSetup::without_display();
    let mount = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    let started = programs::run(command(&setup, mount));
    let ended = tokio::time::timeout(Duration::from_secs(60), started).await;
    let ended = ended.expect("it ends");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let folder = setup.data().to_string_lossy().into_owned();
    assert!(
        ended.stderr.contains(&folder) && ended.stderr.contains("ead-only"),
        "{}",
        ended.stderr
    );
}
