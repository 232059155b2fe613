//! The drivers on real displays, with real applications that tell what they received.

mod browser;
mod clipboard;
mod conformance;
mod human;
mod keyboard;
mod machine;
mod pointer;
mod served;
mod storm;
mod support;
mod text;
mod trouble;
mod windows;

use std::time::Duration;

use motorium_executor::drivers::launch::Launcher;
use motorium_executor::drivers::x11::{Options, X11Driver};
use motorium_executor::drivers::{Driver, Failure, Performed};
use motorium_proto::domain::action::{Action, Button, ControlCharacters, Text};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use tokio_util::sync::CancellationToken;

/// A driver on a desktop of the tests.
fn driver(display: &str) -> X11Driver {
    let options = Options {
        display: display.to_owned(),
        patience: Duration::from_secs(5),
        launcher: Launcher::default(),
    };
    X11Driver::start(options).unwrap()
}

async fn perform(driver: &dyn Driver, action: Action<CapturePoint>) -> Result<Performed, Failure> {
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

/// A single click of the left button.
fn click_at(at: CapturePoint) -> Action<CapturePoint> {
    Action::Click {
        at: Some(at),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
    }
}
