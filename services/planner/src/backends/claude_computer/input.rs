//! What the computer tool is told to do, as actions of ours. All versions of the tool name the same actions; only some
//! have a closer look.
//!
//! Nothing is put right silently: a point outside the screenshot, an unknown key or a missing field is told to the model.

use motorium_proto::domain::action::{Action, Button, ScrollAmount, Target};
use motorium_proto::domain::key::Key;
use serde::Deserialize;
use serde_json::Value;

use super::request::Tool;
use crate::answer::keys;
use crate::backends::native::acts::{self, Sight};
use crate::backends::native::turn::Meaning;

/// Most wheel clicks at once.
const MOST_NOTCHES: f64 = 100.0;
/// Most repetitions of a key, as the tool has it.
const MOST_REPEATS: u32 = 100;

#[derive(Debug, Deserialize)]
struct Input {
    coordinate: Option<[f64; 2]>,
    start_coordinate: Option<[f64; 2]>,
    text: Option<String>,
    /// The modifiers of a click, in the oldest version.
    key: Option<String>,
    scroll_direction: Option<String>,
    scroll_amount: Option<f64>,
    duration: Option<f64>,
    region: Option<[f64; 4]>,
    repeat: Option<u32>,
}

/// What an action of the tool means.
pub(super) fn read(action: &str, input: &Value, tool: Tool, sight: &Sight<'_>) -> Meaning {
    let input = match Input::deserialize(input) {
        Ok(input) => input,
        Err(error) => {
            return Meaning::Invalid(format!("The input of {action} is malformed: {error}."));
        }
    };
    match action {
        "screenshot" => Meaning::Look(None),
        "cursor_position" => Meaning::Pointer,
        "zoom" if tool.zooms() => match region(&input, sight) {
            Ok(region) => Meaning::Look(Some(region)),
            Err(problem) => Meaning::Invalid(problem),
        },
        _ => Meaning::acts(actions(action, &input, sight).and_then(|actions| {
            let within = actions.into_iter().map(acts::within_limits);
            within
                .map(|action| action.map(|action| sight.planned(action)))
                .collect()
        })),
    }
}

fn actions(action: &str, input: &Input, sight: &Sight<'_>) -> Result<Vec<Action<Target>>, String> {
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
        "type" => one(acts::type_text(&required(
            input.text.clone(),
            action,
            "text",
        )?)),
        "key" => chords(input),
        "hold_key" => one(Action::HoldKey {
            keys: keys::chord(&required(input.text.clone(), action, "text")?)?,
            duration: acts::seconds(required(input.duration, action, "duration")?)?,
        }),
        "wait" => one(Action::Wait {
            duration: acts::seconds(input.duration.unwrap_or(1.0))?,
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

/// Where the action is; `None` is where the pointer is.
fn at(input: &Input, sight: &Sight<'_>) -> Result<Option<Target>, String> {
    input.coordinate.map(|said| sight.target(said)).transpose()
}

fn click(
    input: &Input,
    sight: &Sight<'_>,
    button: Button,
    count: u8,
) -> Result<Action<Target>, String> {
    Ok(acts::click(at(input, sight)?, button, count, held(input)?))
}

fn held(input: &Input) -> Result<Vec<Key>, String> {
    let named = input.text.as_deref().or(input.key.as_deref());
    keys::modifiers(named.unwrap_or_default())
}

fn drag(input: &Input, sight: &Sight<'_>) -> Result<Action<Target>, String> {
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

fn scroll(input: &Input, sight: &Sight<'_>) -> Result<Action<Target>, String> {
    let amount = required(input.scroll_amount, "scroll", "scroll_amount")?.round();
    if !(1.0..=MOST_NOTCHES).contains(&amount) {
        return Err("scroll_amount has to be from 1 to 100 wheel clicks.".to_owned());
    }
    // From 1 to 100, and whole.
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
    if !(1..=MOST_REPEATS).contains(&repeat) {
        return Err("repeat has to be from 1 to 100.".to_owned());
    }
    let chords = keys::chords(&required(input.text.clone(), "key", "text")?)?;
    let chord = |keys| Action::KeyChord { keys, repeat };
    Ok(chords.into_iter().map(chord).collect())
}

fn region(input: &Input, sight: &Sight<'_>) -> Result<[i32; 4], String> {
    sight.region(required(input.region, "zoom", "region")?)
}
