//! Parsing of model responses: Python and tool calls.

mod pyautogui;
mod tool_calls;

use motorium_planner::response::model_actions::{ModelActions, TaskEnding};
use motorium_planner::screenshot::ReportedPoint;
use motorium_proto::domain::action::{Action, Button, ScrollAmount, Text};
use motorium_proto::domain::key::Key;

/// Formats all actions on one line.
fn told(commands: &ModelActions) -> String {
    let actions = commands.actions.iter().map(told_action);
    let ending = commands.ending.as_ref().map(|ending| match ending {
        TaskEnding::Done(answer) => format!("done {answer:?}"),
        TaskEnding::Fail(reason) => format!("fail {reason:?}"),
    });
    actions.chain(ending).collect::<Vec<_>>().join("; ")
}

fn told_action(action: &Action<ReportedPoint>) -> String {
    match action {
        Action::Move { to } => format!("move {}", told_point(to)),
        Action::Click {
            at,
            button,
            count,
            modifiers,
        } => format!(
            "{}{} x{count}{}",
            told_modifiers(modifiers),
            told_button(*button),
            told_place(at)
        ),
        Action::MouseDown { at, button } => {
            format!("{} down{}", told_button(*button), told_place(at))
        }
        Action::MouseUp { at, button } => format!("{} up{}", told_button(*button), told_place(at)),
        Action::Drag {
            path,
            button,
            modifiers,
            duration,
            hold: _,
        } => {
            let path: Vec<String> = path.iter().map(told_point).collect();
            let time = duration.map_or_else(String::new, |time| format!(" in {time:?}"));
            format!(
                "{}{} drag {}{time}",
                told_modifiers(modifiers),
                told_button(*button),
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
                told_modifiers(modifiers),
                told_place(at)
            )
        }
        Action::TypeText { text, .. } => match text {
            Text::Literal(text) => format!("type {text:?}"),
            Text::Secret(name) => format!("type secret {name}"),
        },
        Action::KeyChord { keys, repeat } => format!("press {} x{repeat}", told_keys(keys)),
        Action::HoldKey { keys, duration } => format!("hold {} {duration:?}", told_keys(keys)),
        Action::Wait { duration } => format!("wait {duration:?}"),
        other => format!("{}", other.kind()),
    }
}

fn told_point(point: &ReportedPoint) -> String {
    format!("({}, {})", point.x, point.y)
}

fn told_place(at: &Option<ReportedPoint>) -> String {
    at.map_or_else(String::new, |point| format!(" at {}", told_point(&point)))
}

fn told_button(button: Button) -> String {
    format!("{button:?}").to_lowercase()
}

fn told_keys(keys: &[Key]) -> String {
    let names: Vec<String> = keys.iter().map(Key::to_string).collect();
    names.join("+")
}

fn told_modifiers(keys: &[Key]) -> String {
    if keys.is_empty() {
        String::new()
    } else {
        format!("{}+", told_keys(keys))
    }
}
