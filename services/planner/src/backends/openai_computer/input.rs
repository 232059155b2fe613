//! Input of the computer tool, converted into actions. The newer tool has several actions per call, the older one has
//! one.
//!
//! Actions are parsed in order up to the first invalid one. The valid ones are performed, and the model is told of the
//! error.
//!
//! It does not talk to the provider.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button, ScrollAmount, Target};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::key::Key;
use serde::Deserialize;
use serde_json::Value;

use crate::backends::native::actions::{self, KeyNames, ScreenshotContext};
use crate::backends::native::turn::CallMeaning;
use crate::response::keys;

/// Pixels per wheel click. OpenAI's tool scrolls in pixels; browsers scroll about this far per click.
const PIXELS_PER_NOTCH: f64 = 100.0;
// Bounds what one response can do.
const MAX_NOTCHES: f64 = 100.0;
/// Wheel clicks of a scroll that gives only a direction: about half a page.
const DEFAULT_NOTCHES: i32 = 5;
/// Duration of a wait: the tool's action has none.
const DEFAULT_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize)]
struct Input {
    x: Option<f64>,
    y: Option<f64>,
    button: Option<String>,
    #[serde(alias = "key")]
    keys: Option<KeyNames>,
    path: Option<Vec<Point>>,
    scroll_x: Option<f64>,
    scroll_y: Option<f64>,
    direction: Option<String>,
    text: Option<String>,
}

/// Optional fields that an action takes; `None` for an unknown action. Another field is refused: dropped silently, the
/// model would believe that it was honoured.
fn taken(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "click" => &["x, y", "button", "keys"],
        "double_click" => &["x, y", "keys"],
        "move" => &["x, y"],
        "drag" => &["path", "keys"],
        "scroll" => &["x, y", "scroll_x", "scroll_y", "direction", "keys"],
        "keypress" | "press" | "key" => &["keys"],
        "type" => &["text", "x, y"],
        "wait" => &[],
        _ => return None,
    })
}

impl Input {
    /// Returns the names of the fields that have a value.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let text = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
        let scrolls = |distance: Option<f64>| distance.is_some_and(|distance| distance != 0.0);
        let keys = self
            .keys
            .as_ref()
            .is_some_and(|keys| !keys.names().is_empty());
        let path = self.path.as_ref().is_some_and(|path| !path.is_empty());
        [
            ("x, y", self.x.is_some() || self.y.is_some()),
            ("button", text(&self.button)),
            ("keys", keys),
            ("path", path),
            ("scroll_x", scrolls(self.scroll_x)),
            ("scroll_y", scrolls(self.scroll_y)),
            ("direction", text(&self.direction)),
            ("text", text(&self.text)),
        ]
        .into_iter()
        .filter_map(|(name, is_given)| is_given.then_some(name))
    }

    fn check_fields(&self, kind: &str) -> Result<(), String> {
        let Some(taken) = taken(kind) else {
            return Ok(());
        };
        match self.given().find(|name| !taken.contains(name)) {
            Some(name) => Err(format!("{kind} takes no {name}.")),
            None => Ok(()),
        }
    }

    fn key_names(&self) -> Vec<&str> {
        self.keys.as_ref().map(KeyNames::names).unwrap_or_default()
    }
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
    if let [raw_action] = asked.as_slice()
        && let Some(ending) = ending(raw_action)
    {
        return ending;
    }
    let mut actions = Vec::new();
    for (index, raw_action) in asked.iter().enumerate() {
        match one(raw_action, sight) {
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

/// Returns the end of the task that a single action declares.
fn ending(raw_action: &Value) -> Option<CallMeaning> {
    let kind = raw_action["type"].as_str()?;
    matches!(kind, "done" | "fail" | "terminate").then(|| {
        actions::ending(
            kind,
            raw_action["status"].as_str(),
            raw_action["text"].as_str(),
        )
    })
}

/// Parses one action; nothing for a screenshot, and several for a text with a place or a list of keys.
fn one(raw_action: &Value, sight: &ScreenshotContext<'_>) -> Result<Vec<PlannedAction>, String> {
    let kind = raw_action["type"].as_str().unwrap_or_default();
    let input =
        Input::deserialize(raw_action).map_err(|error| format!("{kind} is malformed: {error}."))?;
    if kind == "screenshot" {
        return Ok(Vec::new());
    }
    input.check_fields(kind)?;
    let read = match kind {
        "type" => typed(&input, sight)?,
        "keypress" | "press" | "key" => presses(&input)?,
        _ => vec![action(kind, &input, sight)?],
    };
    let within = read.into_iter().map(actions::within_limits);
    within
        .map(|action| action.map(|action| sight.planned(action)))
        .collect()
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
        "wait" => Ok(Action::Wait {
            duration: DEFAULT_WAIT,
        }),
        _ => Err(format!("The computer has no action \"{kind}\".")),
    }
}

fn typed(input: &Input, sight: &ScreenshotContext<'_>) -> Result<Vec<Action<Target>>, String> {
    let text = input.text.as_deref().ok_or("type needs text.")?;
    let has_place = input.x.is_some() || input.y.is_some();
    let place = has_place.then(|| at("type", input, sight)).transpose()?;
    Ok(actions::type_into(place, text))
}

fn presses(input: &Input) -> Result<Vec<Action<Target>>, String> {
    let chords = keys::listed_presses(input.key_names())?;
    let press = |keys| Action::KeyChord { keys, repeat: 1 };
    Ok(chords.into_iter().map(press).collect())
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
    keys::listed_modifiers(input.key_names())
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
        hold: None,
    })
}

fn scroll(input: &Input, sight: &ScreenshotContext<'_>) -> Result<Action<Target>, String> {
    let x = notches(input.scroll_x.unwrap_or_default());
    let y = notches(input.scroll_y.unwrap_or_default());
    let (x, y) = match input.direction.as_deref().map(str::to_lowercase).as_deref() {
        None | Some("") => (x, y),
        Some(direction) => directed(direction, (x, y))?,
    };
    if (x, y) == (0, 0) {
        return Err("scroll needs scroll_x or scroll_y.".to_owned());
    }
    Ok(Action::Scroll {
        at: Some(at("scroll", input, sight)?),
        amount: ScrollAmount::Notches { x, y },
        modifiers: held(input)?,
    })
}

/// Returns the wheel clicks of a scroll in a direction: as many as are given, or the usual ones.
fn directed(direction: &str, (x, y): (i32, i32)) -> Result<(i32, i32), String> {
    let given = x.abs().max(y.abs());
    let notches = if given == 0 { DEFAULT_NOTCHES } else { given };
    match direction {
        "up" => Ok((0, -notches)),
        "down" => Ok((0, notches)),
        "left" => Ok((-notches, 0)),
        "right" => Ok((notches, 0)),
        _ => Err("direction has to be up, down, left or right.".to_owned()),
    }
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
