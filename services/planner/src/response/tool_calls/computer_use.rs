//! Calls of `computer_use`, the function that Qwen-VL models were trained on.
//!
//! Points are not converted to frame pixels here.

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
/// Action that opens an application by its name. The models do not know it: it is declared where there is an application to open.
pub const OPEN_APPLICATION: &str = "open_application";
/// Maximum scroll distance per call, in pixels: bounds what one response can do.
const MAX_SCROLL_PIXELS: f64 = 20_000.0;
/// Distance of a scroll without `pixels`: about half a window.
const DEFAULT_SCROLL_PIXELS: f64 = 500.0;
/// Maximum wait per call, in seconds.
// Bounds how long one response can block a step.
const MAX_SECONDS: f64 = 60.0;
/// Duration of a wait without `time`.
// Short: a model that needs more looks at the screen and waits again.
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
        add(&mut commands, &ToolArguments(&call.arguments))?;
    }
    if commands.actions.is_empty() && commands.ending.is_none() {
        return Err(problem("no action is asked for"));
    }
    Ok(commands)
}

fn add(commands: &mut ModelActions, arguments: &ToolArguments<'_>) -> Result<(), ComputerUseError> {
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
    check_fields(action, arguments)?;
    match action {
        "answer" => commands.ending = Some(TaskEnding::Done(arguments.text("text")?)),
        "done" | "finish" | "finished" => {
            commands.ending = Some(TaskEnding::Done(words(arguments)?));
        }
        "fail" | "failed" => commands.ending = Some(TaskEnding::Fail(words(arguments)?)),
        "terminate" => commands.ending = Some(ending(arguments)?),
        "left_click_drag" => commands.actions.extend(drag(arguments)?),
        "type" => commands.actions.extend(typed_into(arguments)?),
        _ => commands.actions.push(input(action, arguments)?),
    }
    Ok(())
}

/// Optional arguments of all actions. One that an action does not take is refused: dropped silently, the model would
/// believe that it was honoured.
const OPTIONAL: &[&str] = &[
    "coordinate",
    "start_coordinate",
    "keys",
    "key",
    "text",
    "pixels",
    "direction",
    "time",
    "status",
];

/// Returns the optional arguments that an action takes; `None` for an unknown action.
fn taken(action: &str) -> Option<&'static [&'static str]> {
    Some(match action {
        "key" | "press" | "keypress" => &["keys", "key"],
        "type" => &["text", "coordinate"],
        "mouse_move" => &["coordinate"],
        "left_click" | "click" | "right_click" | "middle_click" | "double_click"
        | "triple_click" => &["coordinate", "keys"],
        "left_click_drag" => &["coordinate", "start_coordinate", "keys"],
        "scroll" | "hscroll" => &["coordinate", "pixels", "direction", "keys"],
        "wait" => &["time"],
        "answer" | "done" | "finish" | "finished" | "fail" | "failed" => &["text", "status"],
        "terminate" => &["status", "text"],
        OPEN_APPLICATION => &["text"],
        _ => return None,
    })
}

fn check_fields(action: &str, arguments: &ToolArguments<'_>) -> Result<(), ComputerUseError> {
    let taken = taken(action).ok_or_else(|| unknown(action))?;
    let foreign = OPTIONAL
        .iter()
        .filter(|name| !taken.contains(name))
        .find(|name| arguments.is_given(name));
    match foreign {
        Some(name) => Err(problem(format!(
            "`{action}` takes no `{name}`; it takes {}",
            taken.join(", ")
        ))),
        None => Ok(()),
    }
}

fn input(
    action: &str,
    arguments: &ToolArguments<'_>,
) -> Result<Action<ReportedPoint>, ComputerUseError> {
    match action {
        "key" | "press" | "keypress" => chord(arguments),
        "mouse_move" => Ok(Action::Move {
            to: arguments.needed_point("coordinate")?,
        }),
        "left_click" | "click" => click(arguments, Button::Left, 1),
        "right_click" => click(arguments, Button::Right, 1),
        "middle_click" => click(arguments, Button::Middle, 1),
        "double_click" => click(arguments, Button::Left, 2),
        "triple_click" => click(arguments, Button::Left, 3),
        "scroll" | "hscroll" => scroll(action, arguments),
        "wait" => wait(arguments),
        OPEN_APPLICATION => Ok(Action::OpenApplication {
            name: arguments.text("text")?.trim().to_owned(),
        }),
        _ => Err(unknown(action)),
    }
}

fn unknown(action: &str) -> ComputerUseError {
    problem(format!(
        "there is no action `{action}`; there are: {}",
        ACTIONS.join(", ")
    ))
}

/// Argument names that models use by mistake for a point.
const MISTAKEN_POINT_NAMES: [&str; 6] =
    ["coordinates", "point", "position", "location", "bbox", "x"];

fn click(
    arguments: &ToolArguments<'_>,
    button: Button,
    count: u8,
) -> Result<Action<ReportedPoint>, ComputerUseError> {
    Ok(Action::Click {
        at: arguments.point("coordinate")?,
        button,
        count,
        modifiers: held(arguments)?,
    })
}

/// Drags from `start_coordinate`, or from the pointer if it is absent.
fn drag(arguments: &ToolArguments<'_>) -> Result<Vec<Action<ReportedPoint>>, ComputerUseError> {
    let to = arguments.needed_point("coordinate")?;
    let button = Button::Left;
    let modifiers = held(arguments)?;
    Ok(match arguments.point("start_coordinate")? {
        Some(from) => vec![Action::Drag {
            path: vec![from, to],
            button,
            modifiers,
            duration: None,
            hold: None,
        }],
        None if !modifiers.is_empty() => {
            return Err(problem("`keys` of a drag need `start_coordinate`"));
        }
        None => vec![
            Action::MouseDown { at: None, button },
            Action::Move { to },
            Action::MouseUp { at: None, button },
        ],
    })
}

fn chord(arguments: &ToolArguments<'_>) -> Result<Action<ReportedPoint>, ComputerUseError> {
    let keys = named_keys(arguments)?.ok_or_else(|| problem("`keys` is missing"))?;
    let action = Action::KeyChord { keys, repeat: 1 };
    action
        .check_limits()
        .map_err(|error| problem(error.to_string()))?;
    Ok(action)
}

/// Returns the keys of a call: a list of names, or one name or chord.
fn named_keys(arguments: &ToolArguments<'_>) -> Result<Option<Vec<Key>>, ComputerUseError> {
    let names = match arguments.get("keys").or_else(|| arguments.get("key")) {
        Some(Value::Array(names)) => names,
        Some(name) => vec![name],
        None => return Ok(None),
    };
    let mut keys = Vec::new();
    for name in &names {
        let name = name
            .as_str()
            .ok_or_else(|| problem("`keys` must be names of keys"))?;
        keys.extend(Key::parse_chord("keys", name).map_err(|error| problem(error.description))?);
    }
    Ok(Some(keys))
}

/// Returns the modifiers that are held during an action.
fn held(arguments: &ToolArguments<'_>) -> Result<Vec<Key>, ComputerUseError> {
    if !arguments.is_given("keys") {
        return Ok(Vec::new());
    }
    let keys = named_keys(arguments)?.unwrap_or_default();
    match keys.iter().find(|key| !key.is_modifier()) {
        None => Ok(keys),
        Some(key) => Err(problem(format!(
            "`{key}` cannot be held during this action; ctrl, shift, alt and super can"
        ))),
    }
}

/// Types a text, after a click on the place that it goes to, if one is given.
fn typed_into(
    arguments: &ToolArguments<'_>,
) -> Result<Vec<Action<ReportedPoint>>, ComputerUseError> {
    let typing = typed(arguments)?;
    let click = arguments.point("coordinate")?.map(|at| Action::Click {
        at: Some(at),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
    });
    Ok(click.into_iter().chain([typing]).collect())
}

fn typed(arguments: &ToolArguments<'_>) -> Result<Action<ReportedPoint>, ComputerUseError> {
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

/// Scrolls up or right for positive numbers, or in the direction that is given.
fn scroll(
    action: &str,
    arguments: &ToolArguments<'_>,
) -> Result<Action<ReportedPoint>, ComputerUseError> {
    let direction = match arguments.is_given("direction") {
        true => Some(arguments.text("direction")?.trim().to_lowercase()),
        false => None,
    };
    let distance = match (arguments.number("pixels")?, &direction) {
        (Some(pixels), _) => pixels.round(),
        (None, Some(_)) => DEFAULT_SCROLL_PIXELS,
        (None, None) => return Err(problem("`pixels` is missing")),
    };
    if distance == 0.0 || !(-MAX_SCROLL_PIXELS..=MAX_SCROLL_PIXELS).contains(&distance) {
        return Err(problem(format!(
            "`pixels` is 1 to {MAX_SCROLL_PIXELS} in either direction, not {distance}"
        )));
    }
    let pixels = distance as i32;
    let (x, y) = match direction.as_deref() {
        None if action == "hscroll" => (pixels, 0),
        None => (0, -pixels),
        Some("up") => (0, -pixels.abs()),
        Some("down") => (0, pixels.abs()),
        Some("left") => (-pixels.abs(), 0),
        Some("right") => (pixels.abs(), 0),
        Some(other) => {
            return Err(problem(format!(
                "`{other}` is no direction; up, down, left and right are"
            )));
        }
    };
    Ok(Action::Scroll {
        at: arguments.point("coordinate")?,
        amount: ScrollAmount::Pixels { x, y },
        modifiers: held(arguments)?,
    })
}

fn wait(arguments: &ToolArguments<'_>) -> Result<Action<ReportedPoint>, ComputerUseError> {
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

fn ending(arguments: &ToolArguments<'_>) -> Result<TaskEnding, ComputerUseError> {
    let status = arguments.text("status")?.to_lowercase();
    let words = words(arguments)?;
    match status.trim() {
        "success" => Ok(TaskEnding::Done(words)),
        "failure" | "fail" => Ok(TaskEnding::Fail(words)),
        other => Err(problem(format!(
            "`{other}` is no status: success and failure are"
        ))),
    }
}

/// Returns the words that go with the end of the task; empty if there are none.
fn words(arguments: &ToolArguments<'_>) -> Result<String, ComputerUseError> {
    match arguments.get("text") {
        Some(_) => arguments.text("text"),
        None => Ok(String::new()),
    }
}

fn problem(words: impl Into<String>) -> ComputerUseError {
    ComputerUseError(words.into())
}

/// Arguments of a call. In XML every value is a text; some models write JSON that way too.
struct ToolArguments<'a>(&'a Map<String, Value>);

impl ToolArguments<'_> {
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

    /// Returns whether an argument has a value. Models that have to write every argument leave the others empty.
    fn is_given(&self, name: &str) -> bool {
        match self.0.get(name) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.trim().is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(_) => true,
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
