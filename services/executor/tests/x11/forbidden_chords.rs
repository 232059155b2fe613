//! Forbidden chords in spellings that hide them, on several layouts: compared by what the keys do.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use motorium_executor::drivers::x11::X11Driver;
use motorium_executor::drivers::{Driver as _, DriverFailure, Error, PreparedAction};
use motorium_executor::guard::rules::Chord;
use motorium_proto::domain::action::{Action, Button, ControlCharacters, Text};
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use motorium_proto::service::Executor as _;
use tokio_util::sync::CancellationToken;

use crate::support::served::{ExecutorProcess, TTL};
use crate::support::server::OtherClient;
use crate::support::{Desktop, start_server};
use crate::{chord, driver, type_text};

/// Layout, forbidden chord, and spellings that press it.
const PRESSED: &[(&str, &str, &[&str])] = &[
    (
        "us",
        "ctrl+w",
        &["ctrl+w", "CTRL+W", "Control_R+w", "w+ctrl", "ctrl+shift+w"],
    ),
    ("us", "alt+f4", &["alt+F4", "altleft+f4", "shift+option+f4"]),
    (
        "us",
        "ctrl+shift+1",
        &["ctrl+!", "ctrl+shift+!", "shift+ctrl+KP_1"],
    ),
    (
        "us",
        "ctrl+alt+delete",
        &["ctrl+alt+KP_Decimal", "alt+del+ctrl"],
    ),
    ("us", "alt+tab", &["alt+shift+tab", "tab+alt"]),
    ("us", "enter", &["KP_Enter", "ctrl+Return"]),
    ("us", "super", &["super_l", "win+e", "cmd"]),
    ("de", "ctrl+z", &["ctrl+z", "ctrl+Z"]),
    ("de", "ctrl+shift+7", &["ctrl+/", "ctrl+shift+slash"]),
    ("de", "ctrl+@", &["ctrl+@", "ctrl+altgr+q"]),
    ("fr", "ctrl+1", &["ctrl+1", "ctrl+&", "ctrl+shift+&"]),
    ("fr", "ctrl+w", &["ctrl+w", "ctrl+W"]),
    ("ru", "ctrl+w", &["ctrl+w", "ctrl+ц", "ctrl+Ц"]),
    ("ru", "ctrl+shift+1", &["ctrl+!"]),
    ("ru", "alt+f4", &["alt+f4"]),
    ("us,ru", "ctrl+w", &["ctrl+ц", "ctrl+w"]),
    ("us,ru", "ctrl+ц", &["ctrl+w", "ctrl+W"]),
];

/// Layout, forbidden chord, and other chords that it must not hide.
const OTHERS: &[(&str, &str, &[&str])] = &[
    ("us", "ctrl+w", &["ctrl+q", "w", "shift+w", "alt+w"]),
    ("us", "ctrl+!", &["ctrl+1"]),
    ("de", "ctrl+z", &["ctrl+y"]),
    ("de", "ctrl+@", &["ctrl+q"]),
    ("fr", "ctrl+w", &["ctrl+z"]),
    ("fr", "ctrl+shift+1", &["ctrl+&"]),
    ("us,ru", "ctrl+w", &["ctrl+й", "ц"]),
];

fn set_layout(display: &str, layout: &str) {
    let set = Command::new("setxkbmap")
        .args(["-display", display, layout])
        .status()
        .unwrap();
    assert!(set.success(), "setxkbmap {layout}");
}

async fn perform(
    driver: &X11Driver,
    action: Action<CapturePoint>,
    forbidden: &str,
) -> Result<(), DriverFailure> {
    let work = PreparedAction {
        forbidden_chords: Arc::new([Chord::parse(forbidden).unwrap()]),
        ..action.into()
    };
    let outcome = driver.perform(work, &CancellationToken::new()).await;
    outcome.map(drop)
}

#[track_caller]
fn assert_refused(outcome: Result<(), DriverFailure>, forbidden: &str, situation: &str) {
    let failure = outcome.expect_err(situation);
    let chord = forbidden.to_owned();
    assert_eq!(
        failure.error,
        Error::ChordForbidden { chord },
        "{situation}"
    );
    assert!(!failure.input_sent, "{situation}");
}

#[tokio::test]
async fn a_forbidden_chord_is_refused_in_every_spelling_that_presses_it() {
    let (_server, display) = start_server(640, 480);
    let driver = driver(&display);
    for (layout, forbidden, spellings) in PRESSED {
        set_layout(&display, layout);
        for spelling in *spellings {
            let situation = format!("{spelling} on {layout}");
            let pressed = perform(&driver, chord(spelling), forbidden).await;
            assert_refused(pressed, forbidden, &situation);
            let keys = Key::parse_chord("keys", spelling).unwrap();
            let duration = Duration::from_millis(1);
            let held = perform(&driver, Action::HoldKey { keys, duration }, forbidden).await;
            assert_refused(held, forbidden, &situation);
        }
    }
    for (layout, forbidden, others) in OTHERS {
        set_layout(&display, layout);
        for other in *others {
            let pressed = perform(&driver, chord(other), forbidden).await;
            assert!(pressed.is_ok(), "{other} on {layout}: {pressed:?}");
        }
    }
    assert!(OtherClient::connect(&display).pressed().is_empty());
}

#[tokio::test]
async fn a_forbidden_chord_is_not_reached_by_text_clicks_or_keys_of_others() {
    let (_server, display) = start_server(640, 480);
    set_layout(&display, "us");
    let driver = driver(&display);
    for (text, forbidden) in [
        ("run\n", "enter"),
        ("run\r", "enter"),
        ("run\r\n", "kpenter"),
        ("a\tb", "tab"),
        ("Now!", "shift+1"),
    ] {
        let typed = perform(&driver, type_text(text), forbidden).await;
        assert_refused(typed, forbidden, text);
    }
    perform(&driver, type_text("run"), "enter").await.unwrap();
    let click = Action::Click {
        at: Some(CapturePoint::new(5, 5)),
        button: Button::Left,
        count: 1,
        modifiers: vec![Key::Super],
    };
    let clicked = perform(&driver, click, "super").await;
    assert_refused(clicked, "super", "a click with a modifier");
    let foreigner = OtherClient::connect(&display);
    foreigner.press_super();
    let with_lock = perform(&driver, chord("capslock+l"), "super+l").await;
    assert_refused(with_lock, "super+l", "with a modifier that a person holds");
}

#[tokio::test]
async fn a_refused_chord_names_its_rule() {
    let desktop = Desktop::start("us,ru").await;
    std::fs::write(
        desktop.path("motorium.toml"),
        "[executor.rules]\nforbidden_chords = [\"ctrl+shift+w\", \"ctrl+1\"]\n",
    )
    .unwrap();
    let served = ExecutorProcess::start(&desktop).await;
    let epoch = served.acquire(TTL).await;
    for (id, keys) in [("by name", "shift+ctrl+Ц"), ("by layout", "ctrl+!")] {
        let request = served.request(epoch, id, chord(keys));
        let outcome = served.executor.perform(request).await.unwrap();
        assert_eq!(outcome.result, ActionResult::Refused, "{id}");
        assert_eq!(outcome.rule.as_deref(), Some("rules.forbidden_chords"));
    }
    let lines = Action::TypeText {
        text: Text::Literal("x\n".to_owned()),
        control_characters: ControlCharacters::AsKeys,
    };
    let request = served.request(epoch, "text", lines);
    let outcome = served.executor.perform(request).await.unwrap();
    assert_eq!(outcome.result, ActionResult::Performed);
}
