//! `motorium act`: one action, under the rules and the lease of a task.

use std::time::Duration;

use motorium_proto::service::{AcquireRequest, Executor as _, ExecutorClient};
use motorium_tests::desktop::Desktop;
use motorium_tests::programs::{Finished, Process};
use motorium_tests::services::{Server, Setup};
use motorium_tests::site::Site;
use motorium_tests::until;
use rustix::process::Signal;

#[track_caller]
fn check(finished: &Finished, code: i32, part: &str) {
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, Some(code), "{said}");
    assert!(said.contains(part), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_is_done_refused_or_failed_and_the_code_says_which() {
    let mut desktop = Desktop::start().await;
    let site = Site::serve().await;
    site.show_logger(&mut desktop).await;
    let setup = Setup::on(&desktop);
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
        "outside of the display",
    );
    check(
        &act(&["key", "ctrl+alt+delete"]).await,
        1,
        "refused by rules.forbidden_chords",
    );
    check(
        &act(&["open", "nothing"]).await,
        1,
        "`nothing` is not among the applications",
    );
    check(
        &act(&["type", &"x".repeat(100_001)]).await,
        2,
        "at most 100000",
    );
    check(
        &act(&["key", "ctrl+flurb"]).await,
        2,
        "no key is called `flurb`",
    );
    check(
        &act(&["type", "--secret", "bank"]).await,
        1,
        "secret_targets",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_executor_is_asked_and_whoever_holds_the_desktop_comes_first() {
    let desktop = Desktop::start().await;
    let setup = Setup::on(&desktop);
    let server = Server::start(&setup, "executor", &[]).await;
    let executor = ExecutorClient::new(server.channel());
    let url = server.url();
    let lease = executor
        .acquire_desktop(AcquireRequest {
            display: None,
            holder: "a task".to_owned(),
            ttl: Duration::from_secs(600),
            take_over: false,
        })
        .await
        .unwrap();
    let words = ["act", "--executor", &url, "move", "10", "20"];
    check(&setup.motorium(&words).await, 2, "leased by `a task`");
    executor
        .release_desktop(lease.display, lease.epoch)
        .await
        .unwrap();
    check(&setup.motorium(&words).await, 0, "pointer at 10, 20");

    // Interrupted in the middle it lets go, says so, and gives the desktop back.
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
    assert_eq!(code, Some(1), "{:?}", holding.stdout.lines());
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
