//! Parsing of model responses: Python and tool calls.

mod pyautogui;
mod tool_calls;

use motorium_planner::response::model_actions::{ModelActions, TaskEnding};
use motorium_planner::screenshot::ReportedPoint;
use motorium_proto::domain::action::{Action, Button, ScrollAmount, Text};
use motorium_proto::domain::key::Key;

/// Formats all actions on one line.
fn describe(commands: &ModelActions) -> String {
    let actions = commands.actions.iter().map(describe_action);
    let ending = commands.ending.as_ref().map(|ending| match ending {
        TaskEnding::Done(answer) => format!("done {answer:?}"),
        TaskEnding::Fail(reason) => format!("fail {reason:?}"),
    });
    actions.chain(ending).collect::<Vec<_>>().join("; ")
}

fn describe_action(action: &Action<ReportedPoint>) -> String {
    match action {
        Action::Move { to } => format!("move {}", describe_point(to)),
        Action::Click {
            at,
            button,
            count,
            modifiers,
        } => format!(
            "{}{} x{count}{}",
            describe_modifiers(modifiers),
            describe_button(*button),
            describe_place(at)
        ),
        Action::MouseDown { at, button } => {
            format!("{} down{}", describe_button(*button), describe_place(at))
        }
        Action::MouseUp { at, button } => {
            format!("{} up{}", describe_button(*button), describe_place(at))
        }
        Action::Drag {
            path,
            button,
            modifiers,
            duration,
            hold: _,
        } => {
            let path: Vec<String> = path.iter().map(describe_point).collect();
            let time = duration.map_or_else(String::new, |time| format!(" in {time:?}"));
            format!(
                "{}{} drag {}{time}",
                describe_modifiers(modifiers),
                describe_button(*button),
                path.join(" to ")
            )
        }
        Action::Scroll {
            at,
            amount,
            modifiers,
        } => {
            let amount = match amount {
                ScrollAmount::Notches { x, y } => format!("{x},{y} notches"),
                ScrollAmount::Pixels { x, y } => format!("{x},{y} pixels"),
            };
            format!(
                "{}scroll {amount}{}",
                describe_modifiers(modifiers),
                describe_place(at)
            )
        }
        Action::TypeText { text, .. } => match text {
            Text::Literal(text) => format!("type {text:?}"),
            Text::Secret(name) => format!("type secret {name}"),
        },
        Action::KeyChord { keys, repeat } => format!("press {} x{repeat}", describe_keys(keys)),
        Action::HoldKey { keys, duration } => format!("hold {} {duration:?}", describe_keys(keys)),
        Action::Wait { duration } => format!("wait {duration:?}"),
        other => format!("{}", other.kind()),
    }
}

fn describe_point(point: &ReportedPoint) -> String {
    format!("({}, {})", point.x, point.y)
}

fn describe_place(at: &Option<ReportedPoint>) -> String {
    at.map_or_else(String::new, |point| {
        format!(" at {}", describe_point(&point))
    })
}

fn describe_button(button: Button) -> String {
    format!("{button:?}").to_lowercase()
}

fn describe_keys(keys: &[Key]) -> String {
    let names: Vec<String> = keys.iter().map(Key::to_string).collect();
    names.join("+")
}

fn describe_modifiers(keys: &[Key]) -> String {
    if keys.is_empty() {
        String::new()
    } else {
        format!("{}+", describe_keys(keys))
    }
}
