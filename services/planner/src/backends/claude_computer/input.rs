//! Input of the computer tool, converted into actions. All versions of the tool share the action names; only some support
//! zoom.
//!
//! Nothing is corrected: a point outside the screenshot, an unknown key or a missing field is reported to the model.

use motorium_proto::domain::action::{Action, Button, ScrollAmount, Target};
use motorium_proto::domain::key::Key;
use serde::Deserialize;
use serde_json::Value;

use super::setup::ComputerToolVersion;
use crate::backends::native::actions::{self, ScreenshotContext};
use crate::backends::native::turn::CallMeaning;
use crate::response::keys;

/// Maximum number of wheel clicks per call: bounds what one response can do.
const MAX_NOTCHES: f64 = 100.0;
/// Maximum number of key repetitions, as documented for the tool.
const MAX_REPEATS: u32 = 100;

#[derive(Debug, Deserialize)]
struct Input {
    coordinate: Option<[f64; 2]>,
    start_coordinate: Option<[f64; 2]>,
    text: Option<String>,
    /// Modifiers of a click, in the oldest tool version.
    key: Option<String>,
    scroll_direction: Option<String>,
    scroll_amount: Option<f64>,
    duration: Option<f64>,
    region: Option<[f64; 4]>,
    repeat: Option<u32>,
}

/// Parses an action of the tool.
pub(super) fn read(
    action: &str,
    input: &Value,
    tool: ComputerToolVersion,
    sight: &ScreenshotContext<'_>,
) -> CallMeaning {
    let input = match Input::deserialize(input) {
        Ok(input) => input,
        Err(error) => {
            return CallMeaning::Invalid(format!("The input of {action} is malformed: {error}."));
        }
    };
    match action {
        "screenshot" => CallMeaning::Screenshot(None),
        "cursor_position" => CallMeaning::Pointer,
        "zoom" if tool.zooms() => match region(&input, sight) {
            Ok(region) => CallMeaning::Screenshot(Some(region)),
            Err(problem) => CallMeaning::Invalid(problem),
        },
        _ => CallMeaning::actions(actions(action, &input, sight).and_then(|actions| {
            let within = actions.into_iter().map(actions::within_limits);
            within
                .map(|action| action.map(|action| sight.planned(action)))
                .collect()
        })),
    }
}

fn actions(
    action: &str,
    input: &Input,
    sight: &ScreenshotContext<'_>,
) -> Result<Vec<Action<Target>>, String> {
    let click = |button, count| click(input, sight, button, count);
    match action {
        "left_click" => one(click(Button::Left, 1)?),
        "right_click" => one(click(Button::Right, 1)?),
        "middle_click" => one(click(Button::Middle, 1)?),
        "double_click" => one(click(Button::Left, 2)?),
        "triple_click" => one(click(Button::Left, 3)?),
        "mouse_move" => one(Action::Move {
            to: sight.target(required(input.coordinate, action, "coordinate")?)?,
        }),
        "left_click_drag" => one(drag(input, sight)?),
        "left_mouse_down" => one(Action::MouseDown {
            at: at(input, sight)?,
            button: Button::Left,
        }),
        "left_mouse_up" => one(Action::MouseUp {
            at: at(input, sight)?,
            button: Button::Left,
        }),
        "scroll" => one(scroll(input, sight)?),
        "type" => one(actions::type_text(&required(
            input.text.clone(),
            action,
            "text",
        )?)),
        "key" => chords(input),
        "hold_key" => one(Action::HoldKey {
            keys: keys::chord(&required(input.text.clone(), action, "text")?)?,
            duration: actions::seconds(required(input.duration, action, "duration")?)?,
        }),
        "wait" => one(Action::Wait {
            duration: actions::seconds(input.duration.unwrap_or(1.0))?,
        }),
        _ => Err(format!("The computer has no action \"{action}\".")),
    }
}

fn one(action: Action<Target>) -> Result<Vec<Action<Target>>, String> {
    Ok(vec![action])
}

fn required<T>(value: Option<T>, action: &str, field: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("{action} needs {field}."))
}

/// Returns the place of the action; `None` means the current pointer.
fn at(input: &Input, sight: &ScreenshotContext<'_>) -> Result<Option<Target>, String> {
    input.coordinate.map(|said| sight.target(said)).transpose()
}

fn click(
    input: &Input,
    sight: &ScreenshotContext<'_>,
    button: Button,
    count: u8,
) -> Result<Action<Target>, String> {
    Ok(actions::click(
        at(input, sight)?,
        button,
        count,
        held(input)?,
    ))
}

fn held(input: &Input) -> Result<Vec<Key>, String> {
    let named = input.text.as_deref().or(input.key.as_deref());
    keys::modifiers(named.unwrap_or_default())
}

fn drag(input: &Input, sight: &ScreenshotContext<'_>) -> Result<Action<Target>, String> {
    let to = sight.target(required(input.coordinate, "left_click_drag", "coordinate")?)?;
    let from = match input.start_coordinate {
        Some(said) => sight.target(said)?,
        None => required(sight.cursor(), "left_click_drag", "start_coordinate")?,
    };
    Ok(Action::Drag {
        path: vec![from, to],
        button: Button::Left,
        modifiers: held(input)?,
        duration: None,
    })
}

fn scroll(input: &Input, sight: &ScreenshotContext<'_>) -> Result<Action<Target>, String> {
    let amount = required(input.scroll_amount, "scroll", "scroll_amount")?.round();
    if !(1.0..=MAX_NOTCHES).contains(&amount) {
        return Err("scroll_amount has to be from 1 to 100 wheel clicks.".to_owned());
    }
    // Lossless: the range check above leaves 1 to 100, and the value is rounded.
    let notches = amount as i32;
    let direction = required(
        input.scroll_direction.as_deref(),
        "scroll",
        "scroll_direction",
    )?;
    let (x, y) = match direction.to_lowercase().as_str() {
        "up" => (0, -notches),
        "down" => (0, notches),
        "left" => (-notches, 0),
        "right" => (notches, 0),
        _ => return Err("scroll_direction has to be up, down, left or right.".to_owned()),
    };
    Ok(Action::Scroll {
        at: at(input, sight)?,
        amount: ScrollAmount::Notches { x, y },
        modifiers: held(input)?,
    })
}

fn chords(input: &Input) -> Result<Vec<Action<Target>>, String> {
    let repeat = input.repeat.unwrap_or(1);
    if !(1..=MAX_REPEATS).contains(&repeat) {
        return Err("repeat has to be from 1 to 100.".to_owned());
    }
    let chords = keys::chords(&required(input.text.clone(), "key", "text")?)?;
    let chord = |keys| Action::KeyChord { keys, repeat };
    Ok(chords.into_iter().map(chord).collect())
}

fn region(input: &Input, sight: &ScreenshotContext<'_>) -> Result<[i32; 4], String> {
    sight.region(required(input.region, "zoom", "region")?)
}
