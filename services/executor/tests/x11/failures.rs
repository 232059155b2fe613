//! Displays that hang, end and come back; actions that are stopped halfway.

use std::time::Duration;

use motorium_executor::drivers::x11::{Options, X11Driver};
use motorium_executor::drivers::{Driver as _, Error};
use motorium_proto::domain::action::{Action, Button};
use motorium_proto::domain::geometry::CapturePoint;
use tokio_util::sync::CancellationToken;

use crate::support::page::{self, Page};
use crate::support::server::OtherClient;
use crate::support::{Desktop, WAIT_TIMEOUT, start_server, start_server_at, wait_for};
use crate::text::received;
use crate::{driver, perform, type_text};

const MOVE: Action<CapturePoint> = Action::Move {
    to: CapturePoint::new(5, 5),
};

fn impatient(display: &str) -> X11Driver {
    let options = Options {
        display: display.to_owned(),
        display_timeout: Duration::from_secs(2),
        scale: None,
        launcher: motorium_executor::drivers::launch::Launcher::default(),
    };
    X11Driver::start(options).unwrap()
}

#[tokio::test]
async fn suspended_display_server_times_out_and_recovers() {
    let (server, display) = start_server(640, 480);
    let driver = impatient(&display);
    perform(&driver, MOVE).await.unwrap();
    server.signal("STOP");
    for _ in 0..2 {
        let asked = tokio::time::timeout(WAIT_TIMEOUT, perform(&driver, MOVE))
            .await
            .expect("a response in time");
        let failure = asked.unwrap_err();
        assert!(
            matches!(failure.error, Error::DisplayTimedOut { .. }),
            "{failure}"
        );
        assert!(!failure.input_sent, "detected before anything was sent");
        assert!(driver.pointer().await.unwrap_err().is_display());
    }
    server.signal("CONT");
    perform(&driver, MOVE).await.unwrap();
}

#[tokio::test]
async fn terminated_display_server_is_reported_and_reconnected() {
    // A number that no other test's server gets in the meantime: those take the lowest free one.
    let display = format!(":{}", 1_000 + std::process::id() % 50_000);
    let server = start_server_at(&display, 640, 480);
    let driver = impatient(&display);
    perform(&driver, MOVE).await.unwrap();
    drop(server);
    let failure = perform(&driver, MOVE).await.unwrap_err();
    assert!(
        matches!(failure.error, Error::NoDisplay { .. }),
        "{failure}"
    );
    let _server = start_server_at(&display, 640, 480);
    let performed = perform(&driver, MOVE).await.unwrap();
    assert_eq!(performed.pointer, Some(CapturePoint::new(5, 5)));
}

#[tokio::test]
async fn nonexistent_display_is_reported() {
    for display in [":65432", "nonsense", ""] {
        let failure = perform(&impatient(display), MOVE).await.unwrap_err();
        assert!(
            matches!(failure.error, Error::NoDisplay { .. }),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn stop_interrupts_typing_immediately() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    let text: String = "The quick brown fox JUMPS over the lazy dog. ".repeat(2_000);
    let stop = CancellationToken::new();
    let typing = driver.perform(type_text(&text).into(), &stop);
    // The page cannot report the start: a browser flooded with keys reports nothing until they end. The whole text
    // takes half a minute or more.
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        stop.cancel();
    };
    let (outcome, ()) = tokio::join!(typing, stopping);
    let failure = outcome.unwrap_err();
    assert_eq!((failure.error, failure.input_sent), (Error::Stopped, true));
    assert!(OtherClient::connect(&desktop.display).pressed().is_empty());
    let got = received(&driver, &page).await;
    assert!(
        !got.is_empty() && got.len() < text.len() && text.starts_with(&got),
        "a prefix of the text"
    );
}

#[tokio::test]
async fn a_caller_who_goes_away_stops_the_action() {
    let desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let foreigner = OtherClient::connect(&desktop.display);
    let path = vec![CapturePoint::new(10, 10), CapturePoint::new(500, 500)];
    let drag = Action::Drag {
        path,
        button: Button::Left,
        modifiers: Vec::new(),
        duration: Some(Duration::from_secs(50)),
        hold: None,
    };
    {
        let dragging = perform(&driver, drag);
        let seen = wait_for("the button to be down", || {
            (!foreigner.pressed().is_empty()).then_some(())
        });
        tokio::select! {
            _ = dragging => panic!("the drag takes longer"),
            () = seen => {}
        }
    }
    wait_for("the button to be up", || {
        foreigner.pressed().is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn nothing_is_sent_after_a_stop() {
    let (_server, display) = start_server(640, 480);
    let driver = driver(&display);
    perform(&driver, MOVE).await.unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let elsewhere = Action::Move {
        to: CapturePoint::new(50, 50),
    };
    let failure = driver.perform(elsewhere.into(), &stop).await.unwrap_err();
    assert_eq!((failure.error, failure.input_sent), (Error::Stopped, false));
    assert_eq!(driver.pointer().await.unwrap(), CapturePoint::new(5, 5));
    let waiting = Action::Wait {
        duration: Duration::from_secs(3600),
    };
    assert_eq!(
        driver
            .perform(waiting.into(), &stop)
            .await
            .unwrap_err()
            .error,
        Error::Stopped
    );
}
