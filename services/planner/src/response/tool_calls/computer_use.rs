//! Calls of `computer_use`, the function that Qwen-VL models were trained on.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button, ControlCharacters, ScrollAmount};
use motorium_proto::domain::key::Key;
use serde_json::{Map, Value};

use super::ToolCall;
use crate::response::model_actions::{ModelActions, TaskEnding, parse_text};
use crate::screenshot::ReportedPoint;

/// Name of the function.
pub const NAME: &str = "computer_use";
/// Actions of the function, under the names that the models know.
pub const ACTIONS: &[&str] = &[
    "key",
    "type",
    "mouse_move",
    "left_click",
    "left_click_drag",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
    "scroll",
    "hscroll",
    "wait",
    "terminate",
    "answer",
];
/// Maximum scroll distance per call, in pixels: bounds what one response can do.
const MAX_SCROLL_PIXELS: f64 = 20_000.0;
/// Maximum wait per call, in seconds.
const MAX_SECONDS: f64 = 60.0;
/// Duration of a wait without `time`.
const DEFAULT_WAIT: Duration = Duration::from_secs(1);

/// A call that cannot be performed. The message is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ComputerUseError(String);

/// Converts calls into actions, in order.
///
/// # Errors
/// Fails if a call cannot be performed, or something follows the end of the task.
pub fn read(calls: &[ToolCall]) -> Result<ModelActions, ComputerUseError> {
    let mut commands = ModelActions {
        actions: Vec::new(),
        ending: None,
    };
    for call in calls {
        if !call.name.eq_ignore_ascii_case(NAME) {
            return Err(problem(format!(
                "there is no function `{}`; use {NAME}",
                call.name
            )));
        }
        add(&mut commands, &Arguments(&call.arguments))?;
    }
    if commands.actions.is_empty() && commands.ending.is_none() {
        return Err(problem("no action is asked for"));
    }
    Ok(commands)
}

fn add(commands: &mut ModelActions, arguments: &Arguments<'_>) -> Result<(), ComputerUseError> {
    let action = arguments.text("action")?.to_lowercase();
    let action = action.trim();
    if let Some(ending) = &commands.ending {
        // Models often send `terminate` after `answer`, which has already ended the task.
        let over = action == "terminate" && matches!(ending, TaskEnding::Done(_));
        return if over {
            Ok(())
        } else {
            Err(problem("nothing can follow the end of the task"))
        };
    }
    match action {
        "answer" => commands.ending = Some(TaskEnding::Done(arguments.text("text")?)),
        "terminate" => commands.ending = Some(ending(arguments)?),
        "left_click_drag" => commands.actions.extend(drag(arguments)?),
        _ => commands.actions.push(input(action, arguments)?),
    }
    Ok(())
}

fn input(
    action: &str,
    arguments: &Arguments<'_>,
) -> Result<Action<ReportedPoint>, ComputerUseError> {
    match action {
        "key" => chord(arguments),
        "type" => typed(arguments),
        "mouse_move" => Ok(Action::Move {
            to: arguments.needed_point("coordinate")?,
        }),
        "left_click" | "click" => click(arguments, Button::Left, 1),
        "right_click" => click(arguments, Button::Right, 1),
        "middle_click" => click(arguments, Button::Middle, 1),
        "double_click" => click(arguments, Button::Left, 2),
        "triple_click" => click(arguments, Button::Left, 3),
        "scroll" => scroll(arguments, |pixels| ScrollAmount::Pixels {
            x: 0,
            y: -pixels,
        }),
        "hscroll" => scroll(arguments, |pixels| ScrollAmount::Pixels { x: pixels, y: 0 }),
        "wait" => wait(arguments),
        _ => Err(problem(format!(
            "there is no action `{action}`; there are: {}",
            ACTIONS.join(", ")
        ))),
    }
}

/// Argument names that models use by mistake for a point.
const MISTAKEN_POINT_NAMES: [&str; 6] =
    ["coordinates", "point", "position", "location", "bbox", "x"];

fn click(
    arguments: &Arguments<'_>,
    button: Button,
    count: u8,
) -> Result<Action<ReportedPoint>, ComputerUseError> {
    Ok(Action::Click {
        at: arguments.point("coordinate")?,
        button,
        count,
        modifiers: Vec::new(),
    })
}

/// Drags from `start_coordinate`, or from the pointer if it is absent.
fn drag(arguments: &Arguments<'_>) -> Result<Vec<Action<ReportedPoint>>, ComputerUseError> {
    let to = arguments.needed_point("coordinate")?;
    let button = Button::Left;
    Ok(match arguments.point("start_coordinate")? {
        Some(from) => vec![Action::Drag {
            path: vec![from, to],
            button,
            modifiers: Vec::new(),
            duration: None,
        }],
        None => vec![
            Action::MouseDown { at: None, button },
            Action::Move { to },
            Action::MouseUp { at: None, button },
        ],
    })
}

fn chord(arguments: &Arguments<'_>) -> Result<Action<ReportedPoint>, ComputerUseError> {
    let names = match arguments.get("keys") {
        Some(Value::Array(names)) => names,
        Some(name) => vec![name],
        None => return Err(problem("`keys` is missing")),
    };
    let mut keys = Vec::new();
    for name in &names {
        let name = name
            .as_str()
            .ok_or_else(|| problem("`keys` must be names of keys"))?;
        keys.extend(Key::parse_chord("keys", name).map_err(|error| problem(error.description))?);
    }
    let action = Action::KeyChord { keys, repeat: 1 };
    action
        .check_limits()
        .map_err(|error| problem(error.to_string()))?;
    Ok(action)
}

fn typed(arguments: &Arguments<'_>) -> Result<Action<ReportedPoint>, ComputerUseError> {
    let text = arguments.text("text")?;
    if text.is_empty() {
        return Err(problem("`text` is empty"));
    }
    let action = Action::TypeText {
        text: parse_text(&text),
        control_characters: ControlCharacters::AsKeys,
    };
    action
        .check_limits()
        .map_err(|error| problem(error.to_string()))?;
    Ok(action)
}

/// Scrolls up or right for positive numbers.
fn scroll(
    arguments: &Arguments<'_>,
    amount: impl FnOnce(i32) -> ScrollAmount,
) -> Result<Action<ReportedPoint>, ComputerUseError> {
    let pixels = arguments
        .number("pixels")?
        .ok_or_else(|| problem("`pixels` is missing"))?
        .round();
    if pixels == 0.0 || !(-MAX_SCROLL_PIXELS..=MAX_SCROLL_PIXELS).contains(&pixels) {
        return Err(problem(format!(
            "`pixels` is 1 to {MAX_SCROLL_PIXELS} in either direction, not {pixels}"
        )));
    }
    Ok(Action::Scroll {
        at: arguments.point("coordinate")?,
        amount: amount(pixels as i32),
        modifiers: Vec::new(),
    })
}

fn wait(arguments: &Arguments<'_>) -> Result<Action<ReportedPoint>, ComputerUseError> {
    let duration = match arguments.number("time")? {
        None => DEFAULT_WAIT,
        Some(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => Duration::from_secs_f64(seconds),
        Some(seconds) => {
            return Err(problem(format!(
                "`time` is 0 to {MAX_SECONDS} seconds, not {seconds}"
            )));
        }
    };
    Ok(Action::Wait { duration })
}

fn ending(arguments: &Arguments<'_>) -> Result<TaskEnding, ComputerUseError> {
    let status = arguments.text("status")?.to_lowercase();
    let words = if arguments.get("text").is_some() {
        arguments.text("text")?
    } else {
        String::new()
    };
    match status.trim() {
        "success" => Ok(TaskEnding::Done(words)),
        "failure" | "fail" => Ok(TaskEnding::Fail(words)),
        other => Err(problem(format!(
            "`{other}` is no status: success and failure are"
        ))),
    }
}

fn problem(words: impl Into<String>) -> ComputerUseError {
    ComputerUseError(words.into())
}

/// Arguments of a call. In XML every value is a text; some models write JSON that way too.
struct Arguments<'a>(&'a Map<String, Value>);

impl Arguments<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        let value = self.0.get(name).filter(|value| !value.is_null())?;
        match value.as_str().map(str::trim) {
            Some(text) if text.starts_with(['[', '(']) => {
                let list = text.replacen('(', "[", 1).replace(')', "]");
                Some(serde_json::from_str(&list).unwrap_or_else(|_| value.clone()))
            }
            _ => Some(value.clone()),
        }
    }

    /// Returns the value as text, even if it looks like another type.
    fn text(&self, name: &str) -> Result<String, ComputerUseError> {
        match self.0.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(_) => Err(problem(format!("`{name}` must be a text"))),
            None => Err(problem(format!("`{name}` is missing"))),
        }
    }

    fn number(&self, name: &str) -> Result<Option<f64>, ComputerUseError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        number(&value)
            .map(Some)
            .ok_or_else(|| problem(format!("`{name}` must be a number")))
    }

    fn point(&self, name: &str) -> Result<Option<ReportedPoint>, ComputerUseError> {
        let Some(value) = self.get(name) else {
            // Falling back to the pointer position would act on an unintended place.
            return match MISTAKEN_POINT_NAMES
                .iter()
                .find(|other| self.get(other).is_some())
            {
                Some(other) => Err(problem(format!(
                    "`{other}` names no place here; give `{name}`"
                ))),
                None => Ok(None),
            };
        };
        let pair = value.as_array().filter(|pair| pair.len() == 2);
        pair.and_then(|pair| Some(ReportedPoint::new(number(&pair[0])?, number(&pair[1])?)))
            .map(Some)
            .ok_or_else(|| problem(format!("`{name}` must be two numbers, [x, y]")))
    }

    fn needed_point(&self, name: &str) -> Result<ReportedPoint, ComputerUseError> {
        self.point(name)?
            .ok_or_else(|| problem(format!("`{name}` is missing")))
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    number.filter(|number: &f64| number.is_finite())
}
