//! Conversion between messages and domain values.
//!
//! Receiving validates required fields, ranges and formats, and errors name the field. Sending cannot fail. Messages with
//! the fields of a domain type are converted by a table of their fields (module `tables`).
//!
//! Rules that depend on the state of a service are not checked here.

#[macro_use]
mod tables;

mod action;
mod decision;
mod desktop;
mod effect;
mod element;
mod executor;
mod frame;
mod geometry;
mod perception;
mod planner;
mod session;

use std::time::{Duration, SystemTime};

use crate::domain::id::DisplayId;
use crate::error::FieldError;

/// Converts a required message.
///
/// # Errors
/// If the message is missing or invalid; the error names the field.
pub fn require<T, D>(field: &str, message: Option<T>) -> Result<D, FieldError>
where
    D: TryFrom<T, Error = FieldError>,
{
    let message = message.ok_or_else(|| FieldError::missing(field))?;
    D::try_from(message).map_err(|error| error.within(field))
}

/// Converts an optional message.
///
/// # Errors
/// If the message is present and invalid; the error names the field.
pub fn optional<T, D>(field: &str, message: Option<T>) -> Result<Option<D>, FieldError>
where
    D: TryFrom<T, Error = FieldError>,
{
    message
        .map(D::try_from)
        .transpose()
        .map_err(|error| error.within(field))
}

/// Converts a repeated message.
///
/// # Errors
/// For the first invalid message; the error has its index.
pub fn try_from_messages<T, D>(field: &str, messages: Vec<T>) -> Result<Vec<D>, FieldError>
where
    D: TryFrom<T, Error = FieldError>,
{
    let value = |(index, message)| {
        D::try_from(message).map_err(|error| error.within(&format!("{field}[{index}]")))
    };
    messages.into_iter().enumerate().map(value).collect()
}

/// Converts domain values to messages.
pub fn into_messages<D, T: From<D>>(values: Vec<D>) -> Vec<T> {
    values.into_iter().map(T::from).collect()
}

/// Converts a duration message.
///
/// # Errors
/// If it is negative or malformed.
pub fn duration(
    field: &str,
    message: Option<prost_types::Duration>,
) -> Result<Option<Duration>, FieldError> {
    let value = message.map(Duration::try_from).transpose();
    value.map_err(|_| FieldError::new(field, "must be a non-negative duration"))
}

/// Converts a duration to a message. A duration beyond the range of the message (292 billion years) is capped.
#[must_use]
pub fn wire_duration(duration: Duration) -> prost_types::Duration {
    // Sending must not fail, and a duration beyond this range is unlimited for any purpose.
    duration.try_into().unwrap_or(prost_types::Duration {
        seconds: i64::MAX,
        nanos: 0,
    })
}

/// Converts a required timestamp message.
///
/// # Errors
/// If it is missing or out of the range of the system's clock.
pub fn time(
    field: &str,
    message: Option<prost_types::Timestamp>,
) -> Result<SystemTime, FieldError> {
    let message = message.ok_or_else(|| FieldError::missing(field))?;
    SystemTime::try_from(message)
        .map_err(|_| FieldError::new(field, "is outside the range of timestamps of this machine"))
}

/// Converts a time to a message.
#[must_use]
pub fn wire_time(time: SystemTime) -> prost_types::Timestamp {
    prost_types::Timestamp::from(time)
}

/// Converts a required enumeration value; unspecified counts as missing.
fn required_enum<W, D>(
    field: &str,
    number: i32,
    value: impl Fn(W) -> Option<D>,
) -> Result<D, FieldError>
where
    W: TryFrom<i32>,
{
    let known = W::try_from(number)
        .map_err(|_| FieldError::new(field, format!("has the unknown value {number}")))?;
    value(known).ok_or_else(|| FieldError::missing(field))
}

fn sha256(field: &str, bytes: &[u8]) -> Result<[u8; 32], FieldError> {
    bytes.try_into().map_err(|_| {
        FieldError::new(
            field,
            format!("has {} bytes; a SHA-256 has 32", bytes.len()),
        )
    })
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn display_name(display: Option<DisplayId>) -> String {
    display
        .map(|display| display.as_str().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::domain::action::{Action, Target, Text};
    use crate::domain::frame::Frame;
    use crate::domain::geometry::{CapturePoint, CaptureSize};
    use crate::service::{PerformRequest, PlanRequest, WaitForIdleRequest};
    use crate::v1::{common, executor, perception, planner};

    fn point(x: i32, y: i32) -> Option<common::Target> {
        Some(Target::Point(CapturePoint::new(x, y)).into())
    }

    fn check_action(action: common::action::Action, expected: Result<&str, &str>) {
        let message = common::Action {
            action: Some(action),
        };
        let got = Action::<Target>::try_from(message);
        match (got, expected) {
            (Ok(action), Ok(kind)) => assert_eq!(action.kind().as_str(), kind),
            (Err(error), Err(field)) => assert_eq!(error.field, field, "{error}"),
            (got, expected) => panic!("got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn an_action_at_fault_is_named_by_its_field() {
        use common::action::Action as A;

        check_action(
            A::Click(common::ClickAction {
                at: point(3, 4),
                ..Default::default()
            }),
            Ok("click"),
        );
        check_action(
            A::Click(common::ClickAction {
                count: 4,
                ..Default::default()
            }),
            Err("click.count"),
        );
        check_action(
            A::Click(common::ClickAction {
                button: 9,
                ..Default::default()
            }),
            Err("click.button"),
        );
        check_action(
            A::Click(common::ClickAction {
                modifiers: vec!["ctrl".into(), "flurb".into()],
                ..Default::default()
            }),
            Err("click.modifiers[1]"),
        );
        check_action(A::Move(common::MoveAction { to: None }), Err("move.to"));
        check_action(
            A::Drag(common::DragAction {
                path: vec![point(1, 1).unwrap()],
                ..Default::default()
            }),
            Err("drag.path"),
        );
        check_action(A::Scroll(common::ScrollAction::default()), Err("scroll.y"));
        check_action(
            A::TypeText(common::TypeTextAction::default()),
            Err("type_text.text"),
        );
        check_action(
            A::KeyChord(common::KeyChordAction::default()),
            Err("key_chord.keys"),
        );
        let chord = common::KeyChordAction {
            keys: vec!["ctrl+s".into()],
            repeat: 0,
        };
        check_action(A::KeyChord(chord), Ok("key_chord"));
        check_action(
            A::Wait(common::WaitAction { duration: None }),
            Err("wait.duration"),
        );
        check_action(
            A::Wait(common::WaitAction {
                duration: Some(prost_types::Duration {
                    seconds: -1,
                    nanos: 0,
                }),
            }),
            Err("wait.duration"),
        );
        check_action(
            A::FocusWindow(common::FocusWindowAction { window: None }),
            Err("focus_window.window"),
        );
    }

    #[test]
    fn the_executor_takes_points_only() {
        let message = executor::PerformRequest {
            display: ":1".into(),
            action_id: "a".into(),
            action: Some(
                Action::Move {
                    to: Target::Element(crate::domain::id::ElementId(3)),
                }
                .into(),
            ),
            ..Default::default()
        };
        let error = PerformRequest::try_from(message).unwrap_err();
        assert_eq!(error.field, "action.move.to.target");
    }

    #[test]
    fn every_action_survives_the_wire() {
        use crate::domain::action::{
            ActionKind, Button, ControlCharacters, ScrollAmount, TextAnchor, WindowSelector,
        };
        use crate::domain::key::Key;
        use std::time::Duration;

        let anchor = || {
            Target::Text(TextAnchor {
                text: "Save".into(),
                ..TextAnchor::default()
            })
        };
        let text = || Text::Literal("你好 {}[]~@#€".into());
        let actions: Vec<Action<Target>> = vec![
            Action::Move { to: anchor() },
            Action::Click {
                at: Some(anchor()),
                button: Button::Right,
                count: 2,
                modifiers: vec![Key::Control],
            },
            Action::MouseDown {
                at: None,
                button: Button::Middle,
            },
            Action::MouseUp {
                at: None,
                button: Button::Back,
            },
            Action::Drag {
                path: vec![anchor(), Target::Point(CapturePoint::new(-3, 8))],
                button: Button::Left,
                modifiers: vec![],
                duration: Some(Duration::from_millis(250)),
                hold: Some(Duration::from_millis(400)),
            },
            Action::Scroll {
                at: None,
                amount: ScrollAmount::Notches { x: -2, y: 3 },
                modifiers: vec![Key::Shift],
            },
            Action::Scroll {
                at: None,
                amount: ScrollAmount::Pixels { x: 0, y: -100 },
                modifiers: vec![],
            },
            Action::TypeText {
                text: text(),
                control_characters: ControlCharacters::AsText,
            },
            Action::TypeText {
                text: Text::Secret("bank".into()),
                control_characters: ControlCharacters::AsKeys,
            },
            Action::KeyChord {
                keys: vec![Key::Control, Key::Function(5)],
                repeat: 3,
            },
            Action::HoldKey {
                keys: vec![Key::Character('w')],
                duration: Duration::from_secs(1),
            },
            Action::Wait {
                duration: Duration::from_millis(1),
            },
            Action::SetClipboard { text: text() },
            Action::Paste { text: Some(text()) },
            Action::Paste { text: None },
            Action::OpenApplication {
                name: "editor".into(),
            },
            Action::OpenUrl {
                url: "https://example.org".into(),
            },
            Action::FocusWindow {
                window: WindowSelector::Title("Untitled".into()),
            },
            Action::GoToUrl {
                url: "https://example.org".into(),
            },
            Action::GoBack,
            Action::GoForward,
            Action::Refresh,
        ];
        let mut missing = ActionKind::ALL.to_vec();
        for action in actions {
            missing.retain(|kind| *kind != action.kind());
            let message = common::Action::from(action.clone());
            assert_eq!(Action::<Target>::try_from(message).unwrap(), action);
        }
        assert_eq!(missing, [], "add an example of these kinds");
    }

    #[test]
    fn absent_fields_have_the_documented_defaults() {
        let quiet =
            WaitForIdleRequest::try_from(perception::WaitForIdleRequest::default()).unwrap();
        assert_eq!(quiet, WaitForIdleRequest::default());
    }

    #[test]
    fn frame_origin_round_trips_and_defaults_to_zero() {
        let frame = |origin: Option<CapturePoint>| common::Frame {
            size: Some(CaptureSize::new(100, 90).into()),
            capture_time: Some(prost_types::Timestamp::default()),
            origin: origin.map(Into::into),
            ..Default::default()
        };
        let part = Frame::try_from(frame(Some(CapturePoint::new(350, 250)))).unwrap();
        assert_eq!(part.bounds().min, CapturePoint::new(350, 250));
        assert_eq!(part.bounds().max, CapturePoint::new(450, 340));
        assert_eq!(Frame::try_from(common::Frame::from(part.clone())), Ok(part));

        let whole = Frame::try_from(frame(None)).unwrap();
        assert_eq!(whole.bounds().min, CapturePoint::zero());
    }

    #[test]
    fn a_goal_is_required_and_bounded() {
        let check = |goal: String, part: &str| {
            let error = PlanRequest::try_from(planner::PlanRequest {
                goal,
                ..Default::default()
            })
            .unwrap_err();
            assert_eq!(error.field, "goal");
            assert!(error.description.contains(part), "{error}");
        };
        check(String::new(), "is empty");
        check("  \n".into(), "is empty");
        check(
            "a".repeat(crate::limits::MAX_GOAL_CHARS + 1),
            "at most 16384",
        );
    }
}
