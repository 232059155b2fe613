//! Fuzzed messages: actions that validation does not accept never reach the driver.
//!
//! `MOTORIUM_MESSAGES=100000` sets the number of messages.

use std::time::Duration;

use motorium_proto::domain::action::{Action, ActionKind, ScrollAmount, Text};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use motorium_proto::limits::{MAX_CHORD_KEYS, MAX_CHORD_REPEATS, MAX_DRAG_POINTS, MAX_TEXT_CHARS};
use motorium_proto::service::PerformRequest;
use motorium_proto::v1::common as wire;
use motorium_proto::v1::executor::PerformRequest as WireRequest;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::{ServiceFixture, Transport};

const DEFAULT_MESSAGES: u32 = 3_000;
/// Maximum action duration of the rules, short enough that allowed waits cost little.
const MAX_ACTION_DURATION: Duration = Duration::from_millis(2);

/// Generates valid, misspelt and malformed key names.
fn key_name() -> impl Strategy<Value = String> {
    let known = prop::sample::select(Key::NAMES).prop_map(|(name, _)| name.to_owned());
    prop_oneof![
        4 => known,
        2 => "[ -~]",
        2 => "(ctrl|alt|shift|Delete|F[0-9]{1,3}|\\+){1,4}",
        1 => "\\PC{0,20}",
        1 => any::<String>(),
    ]
}

fn keys() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(key_name(), 0..12)
}

fn text() -> impl Strategy<Value = Option<wire::TextInput>> {
    use wire::text_input::Source;

    let literal = prop_oneof![
        any::<String>(),
        "\\PC{0,50}",
        Just("x".repeat(MAX_TEXT_CHARS + 1)),
    ];
    let source = prop_oneof![
        4 => literal.prop_map(Source::Literal).prop_map(Some),
        1 => "login|[a-z./]{0,8}".prop_map(Source::Secret).prop_map(Some),
        1 => Just(None),
    ];
    prop::option::of(source.prop_map(|source| wire::TextInput { source }))
}

fn coordinate() -> impl Strategy<Value = i32> {
    prop_oneof![6 => 0..1000, 1 => -3..3, 1 => 990..1010, 1 => any::<i32>()]
}

fn target() -> impl Strategy<Value = wire::Target> {
    use wire::target::Target;

    let point = (coordinate(), coordinate());
    let point = point.prop_map(|(x, y)| Some(Target::Point(wire::PixelPoint { x, y })));
    let target = prop_oneof![
        8 => point,
        1 => any::<u32>().prop_map(|id| Some(Target::ElementId(id))),
        1 => Just(None),
    ];
    target.prop_map(|target| wire::Target { target })
}

fn window() -> impl Strategy<Value = Option<wire::focus_window_action::Window>> {
    use wire::focus_window_action::Window;

    prop::option::of(prop_oneof![
        any::<String>().prop_map(Window::Id),
        "\\PC{0,9}".prop_map(Window::Title),
        any::<String>().prop_map(Window::Application),
    ])
}

fn duration() -> impl Strategy<Value = Option<prost_types::Duration>> {
    let usual = (0..2i64, 0..3_000_000);
    let any = (any::<i64>(), any::<i32>());
    let given = prop_oneof![usual, any];
    prop::option::of(given.prop_map(|(seconds, nanos)| prost_types::Duration { seconds, nanos }))
}

fn number() -> impl Strategy<Value = i32> {
    prop_oneof![4 => -2..5, 1 => any::<i32>()]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..5u32, 1 => any::<u32>()]
}

fn action() -> impl Strategy<Value = wire::Action> {
    use wire::action::Action as Wire;

    let at = || prop::option::of(target());
    let url = || {
        prop_oneof![
            "https?://[a-z.@:/%]{0,20}",
            "(javascript|data|file):\\PC{0,9}",
            any::<String>()
        ]
    };
    let action = prop_oneof![
        at().prop_map(|to| Wire::Move(wire::MoveAction { to })),
        (at(), number(), count(), keys()).prop_map(|(at, button, count, modifiers)| {
            Wire::Click(wire::ClickAction {
                at,
                button,
                count,
                modifiers,
            })
        }),
        (at(), number())
            .prop_map(|(at, button)| Wire::MouseDown(wire::MouseDownAction { at, button })),
        (at(), number()).prop_map(|(at, button)| Wire::MouseUp(wire::MouseUpAction { at, button })),
        (
            prop_oneof![
                9 => prop::collection::vec(target(), 0..5),
                1 => prop::collection::vec(target(), MAX_DRAG_POINTS..MAX_DRAG_POINTS + 2),
            ],
            number(),
            keys(),
            duration(),
            duration()
        )
            .prop_map(|(path, button, modifiers, duration, hold)| {
                Wire::Drag(wire::DragAction {
                    path,
                    button,
                    modifiers,
                    duration,
                    hold,
                })
            }),
        (at(), number(), number(), number(), keys()).prop_map(|(at, unit, x, y, modifiers)| {
            Wire::Scroll(wire::ScrollAction {
                at,
                unit,
                x,
                y,
                modifiers,
            })
        }),
        (text(), number()).prop_map(|(text, control_characters)| {
            Wire::TypeText(wire::TypeTextAction {
                text,
                control_characters,
            })
        }),
        (keys(), count())
            .prop_map(|(keys, repeat)| { Wire::KeyChord(wire::KeyChordAction { keys, repeat }) }),
        (keys(), duration())
            .prop_map(|(keys, duration)| { Wire::HoldKey(wire::HoldKeyAction { keys, duration }) }),
        duration().prop_map(|duration| Wire::Wait(wire::WaitAction { duration })),
        text().prop_map(|text| Wire::SetClipboard(wire::SetClipboardAction { text })),
        text().prop_map(|text| Wire::Paste(wire::PasteAction { text })),
        "editor|\\PC{0,9}"
            .prop_map(|name| { Wire::OpenApplication(wire::OpenApplicationAction { name }) }),
        url().prop_map(|url| Wire::OpenUrl(wire::OpenUrlAction { url })),
        url().prop_map(|url| Wire::GoToUrl(wire::GoToUrlAction { url })),
        window().prop_map(|window| Wire::FocusWindow(wire::FocusWindowAction { window })),
        Just(Wire::GoBack(wire::GoBackAction {})),
        Just(Wire::GoForward(wire::GoForwardAction {})),
        Just(Wire::Refresh(wire::RefreshAction {})),
    ];
    prop::option::weighted(0.98, action).prop_map(|action| wire::Action { action })
}

/// Returns whether the contract, the limits and these rules accept an action. Deliberately independent of their
/// implementation.
fn is_named(action: &Action<CapturePoint>) -> bool {
    let may_be_touched = |at: &CapturePoint| {
        (0..1000).contains(&at.x) && (0..1000).contains(&at.y) && (at.x >= 10 || at.y >= 10)
    };
    let has = |keys: &[Key], key: Key| keys.contains(&key);
    let may_be_struck = |keys: &[Key]| {
        let leaves = has(keys, Key::Delete)
            || has(keys, Key::Backspace)
            || (1..=12).any(|number| has(keys, Key::Function(number)));
        let held = has(keys, Key::Control) && has(keys, Key::Alt);
        (1..=MAX_CHORD_KEYS).contains(&keys.len()) && !(held && leaves)
    };
    let fits = |text: &Text| match text {
        Text::Literal(text) => text.chars().count() <= MAX_TEXT_CHARS,
        Text::Secret(name) => name == "login",
    };
    let is_literal = |text: &Text| matches!(text, Text::Literal(_));
    let named = match action {
        Action::Click {
            count, modifiers, ..
        } => (1..=3).contains(count) && modifiers.len() <= MAX_CHORD_KEYS,
        Action::Drag {
            path,
            modifiers,
            hold,
            ..
        } => {
            (2..=MAX_DRAG_POINTS).contains(&path.len())
                && modifiers.len() <= MAX_CHORD_KEYS
                && hold.is_none_or(|hold| hold <= MAX_ACTION_DURATION)
        }
        Action::Scroll { amount, .. } => {
            let (ScrollAmount::Notches { x, y } | ScrollAmount::Pixels { x, y }) = amount;
            (*x, *y) != (0, 0)
        }
        Action::TypeText { text, .. } => fits(text),
        Action::SetClipboard { text } => is_literal(text) && fits(text),
        Action::Paste { text } => text
            .as_ref()
            .is_none_or(|text| is_literal(text) && fits(text)),
        Action::KeyChord { keys, repeat } => {
            may_be_struck(keys) && (1..=MAX_CHORD_REPEATS).contains(repeat)
        }
        Action::HoldKey { keys, duration } => {
            may_be_struck(keys) && *duration <= MAX_ACTION_DURATION
        }
        Action::Wait { duration } => *duration <= MAX_ACTION_DURATION,
        Action::OpenApplication { name } => name == "editor",
        Action::OpenUrl { url } | Action::GoToUrl { url } => url.starts_with("https://"),
        Action::GoBack => false,
        Action::Move { .. }
        | Action::MouseDown { .. }
        | Action::MouseUp { .. }
        | Action::FocusWindow { .. }
        | Action::GoForward
        | Action::Refresh => true,
    };
    named && action.targets().all(may_be_touched)
}

#[tokio::test]
async fn invalid_actions_never_reach_the_driver() {
    let home = tempfile::tempdir().unwrap();
    let scene = ServiceFixture::start_by(Transport::InProcess, home, |parts| {
        parts.policy.rules.max_action_duration = MAX_ACTION_DURATION;
        parts.retention.sync = false;
    })
    .await;
    let epoch = scene.acquire("fuzz", false).await.unwrap().epoch;
    let messages = std::env::var("MOTORIUM_MESSAGES");
    let messages = messages.map_or(DEFAULT_MESSAGES, |number| number.parse().unwrap());
    let (mut runner, actions) = (TestRunner::deterministic(), action());
    let mut performed = 0;
    let mut never_valid = ActionKind::ALL.to_vec();
    for nth in 0..messages {
        let action = actions.new_tree(&mut runner).unwrap().current();
        let request = WireRequest {
            display: ":1".to_owned(),
            epoch: epoch.0,
            action_id: format!("message {nth}"),
            retry_of: String::new(),
            action: Some(action.clone()),
            named_hosts: Vec::new(),
            creator: String::new(),
            tenant: String::new(),
            addresses: Vec::new(),
        };
        // An invalid request names the invalid field; a valid one gets an answer, even if it is a refusal.
        match PerformRequest::try_from(request) {
            Err(error) => assert!(!error.field.is_empty(), "{action:?}: {error}"),
            Ok(request) => {
                never_valid.retain(|kind| *kind != request.action.kind());
                let answer = scene.executor.perform(request).await;
                performed += u32::from(answer.is_ok());
            }
        }
        let reached = scene.driver.actions();
        if let Some(stranger) = reached.iter().find(|action| !is_named(action)) {
            panic!("unexpected action {stranger:?} from {action:?}");
        }
        scene.driver.clear();
    }
    assert_eq!(never_valid, [], "generate valid messages of these kinds");
    assert!(
        performed > messages / 10,
        "only {performed} of {messages} were requests"
    );
}
