//! The program itself, killed and restarted while it acts on a real display.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use motorium_kit::client::{Channel, Config as ClientConfig, is_serving};
use motorium_kit::server::LIVENESS;
use motorium_proto::domain::action::{Action, Button, Text};
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DesktopEpoch};
use motorium_proto::domain::key::Key;
use motorium_proto::service::{
    ActionProgress, Executor as _, LookUpRequest, ReadClipboardRequest, ReadPageRequest,
    RenewRequest,
};

use crate::browser::{chromium, free_port};
use crate::support::page::{self, Page};
use crate::support::served::{ExecutorProcess, TTL, release_processes};
use crate::support::server::OtherClient;
use crate::support::web::Web;
use crate::support::{Desktop, WAIT_TIMEOUT, send_signal, wait_for};
use crate::{chord, click_at, type_text};

const SHORT: Duration = Duration::from_secs(1);

fn hold_control() -> Action<CapturePoint> {
    Action::HoldKey {
        keys: vec![Key::Control, Key::Shift],
        duration: Duration::from_secs(50),
    }
}

#[tokio::test]
async fn one_action_id_is_one_click_also_across_a_kill() {
    let mut desktop = Desktop::start("us").await;
    let page = Page::open(&mut desktop, page::POINTER).await;
    let served = ExecutorProcess::start(&desktop).await;
    let epoch = served.acquire(TTL).await;
    let click = click_at(CapturePoint::new(300, 300));
    let first = served
        .executor
        .perform(served.request(epoch, "pay", click.clone()))
        .await
        .unwrap();
    assert_eq!(
        (first.result, first.already_performed),
        (ActionResult::Performed, false)
    );
    assert_eq!(first.pointer, Some(CapturePoint::new(300, 300)));
    assert!(
        served
            .executor
            .perform(served.request(epoch, "pay", click.clone()))
            .await
            .unwrap()
            .already_performed
    );
    served.process.signal("KILL");
    drop(served);
    let served = ExecutorProcess::start(&desktop).await;
    assert!(
        served
            .executor
            .perform(served.request(epoch, "pay", click))
            .await
            .unwrap()
            .already_performed
    );
    served
        .executor
        .perform(served.request(epoch, "last", chord("f9")))
        .await
        .unwrap();
    page.wait("the last key", |event| event["key"] == "F9")
        .await;
    let clicks = page
        .events()
        .iter()
        .filter(|event| event["kind"] == "click")
        .count();
    assert_eq!(clicks, 1);
}

#[tokio::test]
async fn a_killed_program_leaves_nothing_pressed_once_it_is_back() {
    let desktop = Desktop::start("us").await;
    let foreigner = OtherClient::connect(&desktop.display);
    let served = ExecutorProcess::start(&desktop).await;
    let epoch = served.acquire(TTL).await;
    let lent = served
        .executor
        .perform(served.request(epoch, "lends", type_text("äöü")))
        .await
        .unwrap();
    assert_eq!(lent.result, ActionResult::Performed);
    assert!(!foreigner.lent().is_empty());
    let request = served.request(epoch, "holds", hold_control());
    tokio::select! {
        _ = served.executor.perform(request.clone()) => panic!("the hold takes longer"),
        () = wait_for("the keys to be down", || (foreigner.pressed().len() == 2).then_some(())) => {
            for process in release_processes(&desktop.display) {
                send_signal(process, "KILL");
            }
            // Killed before the call is dropped, so that it does not get the cancellation.
            served.process.signal("KILL");
        }
    }
    served.process.wait_gone();
    assert_eq!(
        foreigner.pressed().len(),
        2,
        "without the releasing process a killed program cannot release keys"
    );
    drop(served);
    let served = ExecutorProcess::start(&desktop).await;
    assert!(
        foreigner.pressed().is_empty(),
        "the next process releases them before it serves calls"
    );
    assert!(foreigner.lent().is_empty());
    let progress = served
        .executor
        .look_up_action(LookUpRequest {
            display: None,
            action_id: ActionId::new("holds"),
        })
        .await
        .unwrap();
    assert_eq!(progress, ActionProgress::Unknown);
    let outcome = served.executor.perform(request).await.unwrap();
    assert_eq!(
        (outcome.result, outcome.already_performed),
        (ActionResult::Unknown, true)
    );
    assert!(foreigner.pressed().is_empty(), "the action is not repeated");
}

#[tokio::test]
async fn abandoned_call_releases_held_keys() {
    let desktop = Desktop::start("us").await;
    let foreigner = OtherClient::connect(&desktop.display);
    let served = ExecutorProcess::start(&desktop).await;
    let epoch = served.acquire(TTL).await;
    tokio::select! {
        _ = served.executor.perform(served.request(epoch, "holds", hold_control())) => panic!("the hold takes longer"),
        () = wait_for("the keys to be down", || (foreigner.pressed().len() == 2).then_some(())) => {}
    }
    wait_for("the keys to be up", || {
        foreigner.pressed().is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn lease_expiry_and_shutdown_release_held_input() {
    let desktop = Desktop::start("us").await;
    let foreigner = OtherClient::connect(&desktop.display);
    let served = ExecutorProcess::start(&desktop).await;
    let down = |id: &str, epoch| {
        let down = Action::MouseDown {
            at: Some(CapturePoint::new(600, 400)),
            button: Button::Left,
        };
        served.request(epoch, id, down)
    };
    let epoch = served.acquire(TTL).await;
    served.executor.perform(down("one", epoch)).await.unwrap();
    assert_eq!(foreigner.pressed(), ["button 1"]);
    // Shortened only now, so that the lease does not expire before the button is pressed.
    let request = RenewRequest {
        display: served.display.clone(),
        epoch,
        ttl: SHORT,
    };
    let renewed = served.executor.renew_lease(request).await;
    renewed.unwrap();
    wait_for("the end of the lease", || {
        foreigner.pressed().is_empty().then_some(())
    })
    .await;
    let epoch = served.acquire(TTL).await;
    served.executor.perform(down("two", epoch)).await.unwrap();
    served
        .executor
        .perform(served.request(epoch, "lends", type_text("äöü")))
        .await
        .unwrap();
    assert_eq!(foreigner.pressed(), ["button 1"]);
    served.process.signal("TERM");
    served.process.wait_gone();
    assert!(foreigner.pressed().is_empty());
    assert!(foreigner.lent().is_empty());
}

#[tokio::test]
async fn rules_reload_from_file_without_a_restart() {
    let desktop = Desktop::start("us").await;
    let served = ExecutorProcess::start(&desktop).await;
    let file = desktop.path("motorium.toml");
    let epoch = served.acquire(TTL).await;
    let attempts = std::cell::Cell::new(0);
    let result = async || {
        attempts.set(attempts.get() + 1);
        let id = format!("attempt {}", attempts.get());
        let request = served.request(epoch, &id, chord("f9"));
        served.executor.perform(request).await.unwrap()
    };
    let until = async |expected: ActionResult| {
        let deadline = tokio::time::Instant::now() + WAIT_TIMEOUT;
        loop {
            let outcome = result().await;
            if outcome.result == expected {
                return outcome;
            }
            assert!(tokio::time::Instant::now() < deadline, "{outcome:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    assert_eq!(result().await.result, ActionResult::Performed);
    std::fs::write(&file, "[executor.rules]\nforbidden_chords = [\"f9\"]\n").unwrap();
    let refused = until(ActionResult::Refused).await;
    assert_eq!(refused.rule.as_deref(), Some("rules.forbidden_chords"));
    // An invalid configuration changes nothing.
    std::fs::write(&file, "[executor.rules]\nforbidden_chords = [\"flurb\"]\n").unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(result().await.result, ActionResult::Refused);
    std::fs::write(&file, "").unwrap();
    until(ActionResult::Performed).await;
}

#[tokio::test]
async fn a_secret_on_the_clipboard_stays_on_the_desktop() {
    let desktop = Desktop::start("us").await;
    let secrets = desktop.path("secrets");
    std::fs::create_dir(&secrets).unwrap();
    std::fs::set_permissions(&secrets, std::fs::Permissions::from_mode(0o700)).unwrap();
    let file = secrets.join("shop_password");
    std::fs::write(&file, "correct horse").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let config = format!("[executor]\nsecrets = \"{}\"\n", secrets.display());
    std::fs::write(desktop.path("motorium.toml"), config).unwrap();
    let served = ExecutorProcess::start(&desktop).await;
    let epoch = served.acquire(TTL).await;
    let display = served.request(epoch, "any", hold_control()).display;
    let read = async |epoch| {
        let display = display.clone();
        let request = ReadClipboardRequest {
            display,
            epoch,
            only_if_copied: false,
        };
        served.executor.read_clipboard(request).await
    };
    let set = async |id: &str, text: &str| {
        let action = Action::SetClipboard {
            text: Text::Literal(text.to_owned()),
        };
        let performed = served.executor.perform(served.request(epoch, id, action));
        assert_eq!(performed.await.unwrap().result, ActionResult::Performed);
    };
    set("a", "an address").await;
    assert_eq!(read(epoch).await.unwrap().text, "an address");
    for (id, text) in [("b", "correct horse"), ("c", "key: correct horse\n")] {
        set(id, text).await;
        let kept = read(epoch).await.unwrap();
        assert!(kept.withheld && kept.text.is_empty(), "{text}");
    }
    let former = read(DesktopEpoch(epoch.0 + 1)).await.unwrap_err();
    assert_eq!(former.reason, "LEASE_UNKNOWN");
}

#[tokio::test]
async fn a_browser_is_held_to_the_addresses_that_the_file_names() {
    let web = Web::serve(&[("/", "<title>Here</title>words")]).await;
    let desktop = Desktop::start("us").await;
    let port = free_port();
    let file = desktop.path("motorium.toml");
    let configured = |rules: &str| {
        let browser = toml::to_string(&chromium(&desktop, port)).unwrap();
        let (program, environment) = browser.split_once("[environment]").unwrap();
        let config = format!(
            "[executor]\ndevtools = \"http://127.0.0.1:{port}\"\n{rules}\n\
             [executor.browser]\n{program}\n[executor.browser.environment]{environment}"
        );
        std::fs::write(&file, config).unwrap();
    };
    // The hosts of the test web are on this machine.
    configured("rules.url_hosts = [\"*\", \"127.0.0.1\"]");
    let served = ExecutorProcess::start(&desktop).await;
    let read = async || {
        let request = ReadPageRequest {
            display: None,
            max_characters: 1_000,
        };
        served.executor.read_page(request).await
    };
    let error = read().await.unwrap_err();
    assert_eq!(error.reason, "BROWSER_UNREACHABLE");

    let epoch = served.acquire(TTL).await;
    let url = web.address("good.test", "/");
    let open = Action::OpenUrl { url: url.clone() };
    let opened = served
        .executor
        .perform(served.request(epoch, "open", open.clone()))
        .await;
    assert_eq!(opened.unwrap().result, ActionResult::Performed);
    let page = read().await.unwrap();
    assert_eq!(
        (page.url, &*page.title, &*page.text),
        (url, "Here", "words")
    );

    configured("rules.url_hosts = [\"*\", \"127.0.0.1\"]\nrules.denied_url_hosts = [\"*.test\"]");
    let deadline = tokio::time::Instant::now() + WAIT_TIMEOUT;
    while read().await.unwrap().url != "about:blank" {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the page is still shown"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let refused = served
        .executor
        .perform(served.request(epoch, "again", open))
        .await;
    assert_eq!(
        refused.unwrap().rule.as_deref(),
        Some("rules.denied_url_hosts")
    );
}

#[tokio::test]
async fn without_its_display_the_program_is_alive_and_does_not_serve() {
    let mut desktop = Desktop::start("us").await;
    let served = ExecutorProcess::start(&desktop).await;
    let channel = Channel::connect_lazy(&ClientConfig::new(served.url.clone())).unwrap();
    let becomes = async |expected: bool| {
        let reached = async {
            while is_serving(channel.clone(), "").await.unwrap() != expected {
                // Checks are made every two seconds.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(WAIT_TIMEOUT, reached).await.unwrap();
    };
    becomes(true).await;
    desktop.server.signal("STOP");
    becomes(false).await;
    desktop.server.signal("CONT");
    becomes(true).await;
    desktop.kill_server();
    becomes(false).await;
    assert!(is_serving(channel.clone(), LIVENESS).await.unwrap());
}
