//! User input is reported, and the driver's own input is not.
//!
//! Another program simulates the user, through XTest like the driver itself, which is the harder case. On a VNC server
//! a viewer's input comes from separate devices.

use std::time::Duration;

use motorium_executor::drivers::{Driver as _, HumanInputReceiver};
use motorium_proto::domain::action::{Action, Button, ScrollAmount};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use motorium_proto::service::HumanInputKind;
use tokio::time::timeout;

use crate::support::server::OtherClient;
use crate::support::{Desktop, start_server};
use crate::{chord, driver, perform, type_text};

/// Timeout of a report.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Keycodes of evdev's US layout.
const A: u8 = 38;
const B: u8 = 56;
const CONTROL: u8 = 37;

async fn next(watch: &mut HumanInputReceiver) -> HumanInputKind {
    let received = timeout(WAIT_TIMEOUT, watch.recv()).await;
    received
        .expect("nothing was reported")
        .unwrap()
        .unwrap()
        .kind
}

#[tokio::test]
async fn human_input_is_detected_and_synthetic_input_ignored() {
    let desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let person = OtherClient::connect(&desktop.display);
    let mut watch = driver.watch_human().await.unwrap().unwrap();

    // All kinds of input that the driver can send, including remapped keys.
    let at = |x, y| Some(CapturePoint::new(x, y));
    let click = Action::Click {
        at: at(300, 300),
        button: Button::Left,
        count: 3,
        modifiers: vec![Key::Control],
    };
    let scroll = Action::Scroll {
        at: at(320, 310),
        amount: ScrollAmount::Notches { x: 1, y: -7 },
        modifiers: Vec::new(),
    };
    let drag = Action::Drag {
        path: vec![CapturePoint::new(100, 100), CapturePoint::new(400, 200)],
        button: Button::Left,
        modifiers: Vec::new(),
        duration: None,
        hold: None,
    };
    let typed = type_text("Hello, World! äöü and so on, ABC");
    for action in [click, scroll, drag, typed, chord("ctrl+shift+a")] {
        perform(&driver, action).await.unwrap();
    }

    person.move_to(500, 400);
    assert_eq!(
        next(&mut watch).await,
        HumanInputKind::Move {
            to: CapturePoint::new(500, 400)
        },
        "the first report is the user's input"
    );
    person.click(1);
    let clicked = HumanInputKind::Click {
        at: CapturePoint::new(500, 400),
        button: Button::Left,
    };
    assert_eq!(next(&mut watch).await, clicked);
    for key in [A, B, A, A, B] {
        person.tap(key);
    }
    assert_eq!(
        next(&mut watch).await,
        HumanInputKind::Typing { characters: 5 }
    );
    person.press_key(CONTROL);
    person.tap(A);
    person.release_key(CONTROL);
    let struck = HumanInputKind::Chord {
        keys: vec![Key::Control, Key::Character('a')],
    };
    assert_eq!(next(&mut watch).await, struck);
    for button in [5, 5, 5, 4] {
        person.click(button);
    }
    let scrolled = HumanInputKind::Scroll {
        at: CapturePoint::new(500, 400),
        x: 0,
        y: 2,
    };
    assert_eq!(next(&mut watch).await, scrolled);
}

#[tokio::test]
async fn a_watch_ends_with_its_display() {
    let (server, display) = start_server(800, 600);
    let driver = driver(&display);
    let mut watch = driver.watch_human().await.unwrap().unwrap();
    server.signal("KILL");
    server.wait_gone();
    let received = timeout(WAIT_TIMEOUT, watch.recv())
        .await
        .expect("the watch continues");
    assert!(received.unwrap().is_err_and(|error| error.is_display()));
    assert!(watch.recv().await.is_none());
    assert!(driver.watch_human().await.is_err());
}
