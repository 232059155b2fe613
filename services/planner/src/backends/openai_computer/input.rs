//! Input of the computer tool, converted into actions. The newer tool has several actions per call, the older one has
//! one.
//!
//! Actions are parsed in order up to the first invalid one. The valid ones are performed, and the model is told of the
//! error.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button, ScrollAmount, Target};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::key::Key;
use serde::Deserialize;
use serde_json::Value;

use crate::backends::native::actions::{self, ScreenshotContext};
use crate::backends::native::turn::CallMeaning;
use crate::response::keys;

/// Pixels per wheel click. OpenAI's tool scrolls in pixels; browsers scroll about this far per click.
const PIXELS_PER_NOTCH: f64 = 100.0;
const MAX_NOTCHES: f64 = 100.0;
/// Duration of a wait: the tool's action has none.
const DEFAULT_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize)]
struct Input {
    x: Option<f64>,
    y: Option<f64>,
    button: Option<String>,
    keys: Option<Vec<String>>,
    path: Option<Vec<Point>>,
    scroll_x: Option<f64>,
    scroll_y: Option<f64>,
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Point {
    x: f64,
    y: f64,
}

/// Parses a call.
pub(super) fn read(call: &Value, sight: &ScreenshotContext<'_>) -> CallMeaning {
    let asked: Vec<&Value> = match call["actions"].as_array() {
        Some(actions) => actions.iter().collect(),
        None => call.get("action").into_iter().collect(),
    };
    let mut actions = Vec::new();
    for (index, said) in asked.iter().enumerate() {
        match one(said, sight) {
            Ok(action) => actions.extend(action),
            Err(problem) => {
                let problem = format!("Action {} of {}: {problem}", index + 1, asked.len());
                return CallMeaning::Actions {
                    actions,
                    problem: Some(problem),
                };
            }
        }
    }
    if actions.is_empty() {
        // Every result shows the screen in any case.
        return CallMeaning::Screenshot(None);
    }
    CallMeaning::actions(Ok(actions))
}

/// Parses one action; `None` for a screenshot.
fn one(said: &Value, sight: &ScreenshotContext<'_>) -> Result<Option<PlannedAction>, String> {
    let kind = said["type"].as_str().unwrap_or_default();
    let input =
        Input::deserialize(said).map_err(|error| format!("{kind} is malformed: {error}."))?;
    if kind == "screenshot" {
        return Ok(None);
    }
    let action = actions::within_limits(action(kind, &input, sight)?)?;
    Ok(Some(sight.planned(action)))
}

fn action(
    kind: &str,
    input: &Input,
    sight: &ScreenshotContext<'_>,
) -> Result<Action<Target>, String> {
    match kind {
        "click" => click(input, sight),
        "double_click" => {
            let at = at(kind, input, sight)?;
            Ok(actions::click(Some(at), Button::Left, 2, held(input)?))
        }
        "move" => Ok(Action::Move {
            to: at(kind, input, sight)?,
        }),
        "drag" => drag(input, sight),
        "scroll" => scroll(input, sight),
        "keypress" => {
            let names = input.keys.as_deref().unwrap_or_default();
            Ok(Action::KeyChord {
                keys: keys::listed(names.iter().map(String::as_str))?,
                repeat: 1,
            })
        }
        "type" => {
            let text = input.text.as_deref().ok_or("type needs text.")?;
            Ok(actions::type_text(text))
        }
        "wait" => Ok(Action::Wait {
            duration: DEFAULT_WAIT,
        }),
        _ => Err(format!("The computer has no action \"{kind}\".")),
    }
}

fn at(kind: &str, input: &Input, sight: &ScreenshotContext<'_>) -> Result<Target, String> {
    match (input.x, input.y) {
        (Some(x), Some(y)) => sight.target([x, y]),
        _ => Err(format!("{kind} needs x and y.")),
    }
}

fn click(input: &Input, sight: &ScreenshotContext<'_>) -> Result<Action<Target>, String> {
    let named = input.button.as_deref().unwrap_or("left").to_lowercase();
    let button = match named.as_str() {
        "left" => Button::Left,
        "right" => Button::Right,
        "wheel" | "middle" => Button::Middle,
        // The side buttons of a mouse.
        "back" => return Ok(Action::GoBack),
        "forward" => return Ok(Action::GoForward),
        _ => return Err(format!("The mouse has no button \"{named}\".")),
    };
    let at = at("click", input, sight)?;
    Ok(actions::click(Some(at), button, 1, held(input)?))
}

fn held(input: &Input) -> Result<Vec<Key>, String> {
    let names = input.keys.as_deref().unwrap_or_default();
    keys::listed_modifiers(names.iter().map(String::as_str))
}

fn drag(input: &Input, sight: &ScreenshotContext<'_>) -> Result<Action<Target>, String> {
    let path = input.path.as_deref().unwrap_or_default();
    if path.len() < 2 {
        return Err("drag needs a path of at least two points.".to_owned());
    }
    let path = path.iter().map(|point| sight.target([point.x, point.y]));
    Ok(Action::Drag {
        path: path.collect::<Result<_, _>>()?,
        button: Button::Left,
        modifiers: held(input)?,
        duration: None,
    })
}

fn scroll(input: &Input, sight: &ScreenshotContext<'_>) -> Result<Action<Target>, String> {
    let x = notches(input.scroll_x.unwrap_or_default());
    let y = notches(input.scroll_y.unwrap_or_default());
    if (x, y) == (0, 0) {
        return Err("scroll needs scroll_x or scroll_y.".to_owned());
    }
    Ok(Action::Scroll {
        at: Some(at("scroll", input, sight)?),
        amount: ScrollAmount::Notches { x, y },
        modifiers: held(input)?,
    })
}

/// Converts pixels into wheel clicks, at least one for any non-zero distance.
fn notches(pixels: f64) -> i32 {
    if pixels == 0.0 || !pixels.is_finite() {
        return 0;
    }
    let clicks = (pixels.abs() / PIXELS_PER_NOTCH)
        .round()
        .clamp(1.0, MAX_NOTCHES);
    (clicks * pixels.signum()) as i32
}
