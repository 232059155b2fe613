//! `motorium act`: a single action under the same policy and lease as a task's.

use std::time::Duration;

use motorium_proto::service::{AcquireRequest, Executor as _, ExecutorClient, ReleaseRequest};
use motorium_proto::v1::orchestrator::task::State;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::programs::{self, Process, ProgramResult};
use motorium_tests::services::{AllInOne, Server, TestSetup};
use motorium_tests::{free_port, until};
use rustix::process::Signal;

#[track_caller]
fn check(finished: &ProgramResult, code: i32, part: &str) {
    let output = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, Some(code), "{output}");
    assert!(output.contains(part), "{output}");
}

/// A process that performs one action has to connect to the browser first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actions_of_a_single_process_lead_the_browser() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    let port = free_port();
    let devtools = format!("--remote-debugging-port={port}");
    desktop.open_browser(&[&devtools], &site.url("misleading.html?kind=dead&seed=1"));
    site.wait_until_loaded().await;
    let setup = TestSetup::on(&desktop);
    let setting = format!("--set=executor.devtools=http://127.0.0.1:{port}");
    let page = || site.log().last().map(|entry| entry.page.clone());
    let other = site.url("misleading.html?kind=disabled&seed=1");
    let actions: [&[&str]; 2] = [&["refresh"], &["go", &other]];
    for action in actions {
        let before = page();
        let words = [&[&setting, "act", "--in-process"], action].concat();
        check(&setup.motorium(&words).await, 0, "performed");
        until("another page", || async {
            (page() != before).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_codes_of_performed_refused_and_failed_actions() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show_logger(&mut desktop).await;
    let setup = TestSetup::on(&desktop);
    let act = async |words: &[&str]| {
        let words = [&["act", "--in-process"], words].concat();
        setup.motorium(&words).await
    };
    check(
        &act(&["click", "200", "300"]).await,
        0,
        "performed; pointer at 200, 300",
    );
    until("the click", || async {
        (!site.inputs().is_empty()).then_some(())
    })
    .await;
    check(
        &act(&["click", "99999", "300"]).await,
        1,
        "outside the display",
    );
    // Beside everything, so that nothing is dragged, and over a text field, which gets the focus.
    let nowhere = act(&["drag", "900", "300", "1100", "300"]).await;
    check(&nowhere, 1, "sent (nothing changed)");
    let field = act(&["drag", "200", "550", "400", "550"]).await;
    check(&field, 0, "changed at the target");
    check(
        &act(&["key", "ctrl+alt+delete"]).await,
        1,
        "refused by rules.forbidden_chords",
    );
    check(
        &act(&["open", "nothing"]).await,
        1,
        "the application `nothing` is not allowed",
    );
    check(
        &act(&["type", &"x".repeat(100_001)]).await,
        2,
        "exceeds the maximum of 100000",
    );
    check(
        &act(&["key", "ctrl+flurb"]).await,
        2,
        "no key is called `flurb`",
    );
    check(
        &act(&["type", "--secret", "bank"]).await,
        1,
        "secret_allowed_windows",
    );
}

/// Runs a command of a terminal without a display, beside `motorium up`.
async fn beside(up: &AllInOne, words: &[&str]) -> ProgramResult {
    let mut command = up.setup.command("motorium");
    command.args(&up.addresses).args(words);
    command.env_remove("DISPLAY").env("USER", "ann");
    command.env("MOTORIUM_SERVER", &up.url);
    programs::run(command).await
}

/// `see` and `doctor` look at the desktop of `up`, and `act` is an action of the person who has taken its task over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_beside_a_running_up_use_its_desktop() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show_logger(&mut desktop).await;
    let mut up = AllInOne::start(TestSetup::on(&desktop), &[]).await;
    let image = up.setup.data().join("seen.png");
    let image = image.to_string_lossy();
    let seen = beside(&up, &["see", "--output", &image]).await;
    check(&seen, 0, "Harbour");
    check(&beside(&up, &["doctor"]).await, 0, "Motorium runs");

    let task = up.client().create_task("wait 60 seconds").await.unwrap();
    let name = task.name;
    until("the task", || async {
        let task = up.client().get_task(&name).await.unwrap();
        (task.state() == State::Running).then_some(())
    })
    .await;
    let inputs = || site.inputs().len();
    let before = inputs();
    let click = ["act", "click", "200", "300"];
    let refused = beside(&up, &click).await;
    check(&refused, 2, &format!("`motorium tasks take-over {name}`"));
    assert!(!refused.stderr.contains("take_over"), "{refused:?}");
    assert_eq!(inputs(), before, "{:?}", site.inputs());

    check(&beside(&up, &["tasks", "take-over", &name]).await, 0, &name);
    check(&beside(&up, &click).await, 0, "which you have taken over");
    until("the click", || async { (inputs() > before).then_some(()) }).await;
    let opened = beside(&up, &["act", "open", "editor"]).await;
    check(&opened, 2, "tasks hand-back");
    check(&beside(&up, &["tasks", "hand-back", &name]).await, 0, &name);

    let output = up.process.stderr.clone();
    up.process.signal(Signal::INT);
    let unfinished = |line: &str| line.contains("1 unfinished task goes on").then_some(());
    up.process.line("the task", &output, unfinished).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_executor_is_used_and_its_lease_respected() {
    let desktop = TestDesktop::start().await;
    let setup = TestSetup::on(&desktop);
    let server = Server::start(&setup, "executor", &[]).await;
    let executor = ExecutorClient::new(server.channel());
    let url = server.url();
    let lease = executor
        .acquire_desktop(AcquireRequest {
            display: None,
            holder: "a task".to_owned(),
            ttl: Duration::from_secs(600),
            take_over: false,
            tenant: None,
        })
        .await
        .unwrap();
    let words = ["act", "--executor", &url, "move", "10", "20"];
    check(&setup.motorium(&words).await, 2, "used by `a task`");
    executor
        .release_desktop(ReleaseRequest {
            display: lease.display,
            epoch: lease.epoch,
        })
        .await
        .unwrap();
    check(&setup.motorium(&words).await, 0, "pointer at 10, 20");

    // When interrupted it releases the keys, reports it, and releases the desktop.
    let mut command = setup.command("motorium");
    command.args([
        "act",
        "--executor",
        &url,
        "hold",
        "ctrl+shift",
        "--for",
        "60s",
    ]);
    let mut holding = Process::start(command);
    until("both keys", || async {
        (desktop.pressed().len() == 2).then_some(())
    })
    .await;
    holding.signal(Signal::INT);
    let code = holding.ended().await.code();
    assert_eq!(code, Some(130), "{:?}", holding.stdout.lines());
    assert!(
        holding.stdout.lines().concat().starts_with("stopped"),
        "{:?}",
        holding.stdout.lines()
    );
    until("no key", || async {
        desktop.pressed().is_empty().then_some(())
    })
    .await;
    check(&setup.motorium(&words).await, 0, "performed");
}

/// The address of this machine that a person gives is opened without any setting, and no other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_address_is_opened_if_the_person_named_it() {
    let desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    let setup = TestSetup::on(&desktop);
    let url = site.url("logger.html");
    let public_only = "--set=executor.rules.url_hosts=[\"*\"]";
    let goal = format!("open {url}");
    check(
        &setup
            .motorium(&[public_only, "run", "--in-process", &goal])
            .await,
        0,
        "",
    );
    site.wait_until_loaded().await;
    check(
        &setup
            .motorium(&[public_only, "act", "--in-process", "url", &url])
            .await,
        0,
        "performed",
    );
    let denied = "--set=executor.rules.denied_url_hosts=[\"127.0.0.0/8\"]";
    check(
        &setup
            .motorium(&[public_only, denied, "act", "--in-process", "url", &url])
            .await,
        1,
        "denied by 127.0.0.0/8",
    );
}

/// A closed terminal, Ctrl-\, and SIGKILL, after which another process releases the keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_held_by_a_command_are_released_however_it_ends() {
    let desktop = TestDesktop::start().await;
    let setup = TestSetup::on(&desktop);
    for signal in [Signal::HUP, Signal::QUIT, Signal::KILL] {
        let mut command = setup.command("motorium");
        command.args(["act", "--in-process", "hold", "ctrl+shift", "--for", "60s"]);
        let mut holding = Process::start(command);
        until("both keys", || async {
            (desktop.pressed().len() == 2).then_some(())
        })
        .await;
        holding.signal(signal);
        holding.ended().await;
        until("no key", || async {
            desktop.pressed().is_empty().then_some(())
        })
        .await;
    }
}
