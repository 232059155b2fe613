//! Tests of the drivers on real displays, with real applications that report what they received.

mod at_most_once;
mod browser;
mod clipboard;
mod conformance;
mod disk_and_clock;
mod failures;
mod forbidden_chords;
mod human_input;
mod keyboard;
mod killed;
mod pointer;
mod served;
mod support;
mod text;
mod windows;

use std::time::Duration;

use motorium_executor::drivers::launch::Launcher;
use motorium_executor::drivers::x11::{Options, X11Driver};
use motorium_executor::drivers::{Driver, DriverFailure, DriverOutcome};
use motorium_proto::domain::action::{Action, Button, ControlCharacters, Text};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use tokio_util::sync::CancellationToken;

/// Creates a driver for a test desktop.
fn driver(display: &str) -> X11Driver {
    X11Driver::start(options(display)).unwrap()
}

/// Returns the options of a driver for a test desktop.
fn options(display: &str) -> Options {
    Options {
        display: display.to_owned(),
        display_timeout: Duration::from_secs(5),
        scale: None,
        launcher: Launcher::default(),
    }
}

async fn perform(
    driver: &dyn Driver,
    action: Action<CapturePoint>,
) -> Result<DriverOutcome, DriverFailure> {
    driver
        .perform(action.into(), &CancellationToken::new())
        .await
}

fn type_text(text: &str) -> Action<CapturePoint> {
    Action::TypeText {
        text: Text::Literal(text.to_owned()),
        control_characters: ControlCharacters::AsKeys,
    }
}

fn chord(keys: &str) -> Action<CapturePoint> {
    Action::KeyChord {
        keys: Key::parse_chord("keys", keys).unwrap(),
        repeat: 1,
    }
}

/// Returns a single click of the left button.
fn click_at(at: CapturePoint) -> Action<CapturePoint> {
    Action::Click {
        at: Some(at),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
    }
}
