//! Input of the computer tool, converted into actions. All versions of the tool share the action names; only some support
//! zoom.
//!
//! Nothing is corrected: a point outside the screenshot, an unknown key or a missing field is reported to the model.

use motorium_proto::domain::action::{Action, Button, ScrollAmount, Target};
use motorium_proto::domain::key::Key;
use serde::Deserialize;
use serde_json::Value;

use super::setup::ComputerToolVersion;
use crate::backends::native::actions::{self, KeyNames, ScreenshotContext};
use crate::backends::native::turn::CallMeaning;
use crate::response::keys;

/// Maximum number of wheel clicks per call: bounds what one response can do.
const MAX_NOTCHES: f64 = 100.0;
/// Wheel clicks of a scroll that gives only a direction: about half a page.
const DEFAULT_NOTCHES: f64 = 5.0;
/// Maximum number of key repetitions, as documented for the tool.
const MAX_REPEATS: u32 = 100;

#[derive(Debug, Deserialize)]
struct Input {
    coordinate: Option<[f64; 2]>,
    start_coordinate: Option<[f64; 2]>,
    text: Option<String>,
    /// Modifiers of a click, in the oldest tool version; a chord for `key`, as some models write it.
    key: Option<String>,
    /// A chord as a list, as some models write it.
    keys: Option<KeyNames>,
    #[serde(alias = "direction")]
    scroll_direction: Option<String>,
    /// Outcome of `terminate`.
    status: Option<String>,
    #[serde(alias = "amount")]
    scroll_amount: Option<f64>,
    duration: Option<f64>,
    region: Option<[f64; 4]>,
    repeat: Option<u32>,
}

/// Optional fields that an action takes; `None` for an unknown action. Another field is refused: dropped silently, the
/// model would believe that it was honoured.
fn taken(action: &str) -> Option<&'static [&'static str]> {
    Some(match action {
        "left_click" | "right_click" | "middle_click" | "double_click" | "triple_click" => {
            &["coordinate", "text", "key", "keys"]
        }
        "mouse_move" | "left_mouse_down" | "left_mouse_up" => &["coordinate"],
        "left_click_drag" => &["coordinate", "start_coordinate", "text", "key", "keys"],
        "scroll" => &[
            "coordinate",
            "scroll_direction",
            "scroll_amount",
            "text",
            "key",
            "keys",
        ],
        "type" => &["text", "coordinate"],
        "key" | "press" => &["text", "key", "keys", "repeat"],
        "hold_key" => &["text", "key", "keys", "duration"],
        "wait" => &["duration"],
        "zoom" => &["region"],
        _ => return None,
    })
}

impl Input {
    /// Returns the names of the fields that have a value.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let text = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
        [
            ("coordinate", self.coordinate.is_some()),
            ("start_coordinate", self.start_coordinate.is_some()),
            ("text", text(&self.text)),
            ("key", text(&self.key)),
            ("keys", self.keys.is_some()),
            ("scroll_direction", text(&self.scroll_direction)),
            ("scroll_amount", self.scroll_amount.is_some()),
            ("duration", self.duration.is_some()),
            ("region", self.region.is_some()),
            ("repeat", self.repeat.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_given)| is_given.then_some(name))
    }

    fn check_fields(&self, action: &str) -> Result<(), String> {
        let Some(taken) = taken(action) else {
            return Ok(());
        };
        match self.given().find(|name| !taken.contains(name)) {
            Some(name) => Err(format!(
                "{action} takes no {name}. It takes {}.",
                taken.join(", ")
            )),
            None => Ok(()),
        }
    }

    /// Returns the chord of a key action, in whichever field it is.
    fn chord(&self, action: &str) -> Result<String, String> {
        let named = self.text.clone().or_else(|| self.key.clone());
        let chord = named.or_else(|| self.keys.as_ref().map(KeyNames::chord));
        required(chord, action, "text")
    }
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
    if let Err(problem) = input.check_fields(action) {
        return CallMeaning::Invalid(problem);
    }
    match action {
        "done" | "terminate" | "fail" => {
            actions::ending(action, input.status.as_deref(), input.text.as_deref())
        }
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
        "type" => {
            let text = required(input.text.clone(), action, "text")?;
            Ok(actions::type_into(at(input, sight)?, &text))
        }
        "key" | "press" => chords(input),
        "hold_key" => one(Action::HoldKey {
            keys: keys::chord(&input.chord(action)?)?,
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
    input
        .coordinate
        .map(|coordinate| sight.target(coordinate))
        .transpose()
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
    let named = input.text.clone().or_else(|| input.key.clone());
    let named = named.or_else(|| input.keys.as_ref().map(KeyNames::chord));
    keys::modifiers(&named.unwrap_or_default())
}

fn drag(input: &Input, sight: &ScreenshotContext<'_>) -> Result<Action<Target>, String> {
    let to = sight.target(required(input.coordinate, "left_click_drag", "coordinate")?)?;
    let from = match input.start_coordinate {
        Some(coordinate) => sight.target(coordinate)?,
        None => required(sight.cursor(), "left_click_drag", "start_coordinate")?,
    };
    Ok(Action::Drag {
        path: vec![from, to],
        button: Button::Left,
        modifiers: held(input)?,
        duration: None,
        hold: None,
    })
}

fn scroll(input: &Input, sight: &ScreenshotContext<'_>) -> Result<Action<Target>, String> {
    let amount = input.scroll_amount.unwrap_or(DEFAULT_NOTCHES).round();
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
    let chords = keys::chords(&input.chord("key")?)?;
    let chord = |keys| Action::KeyChord { keys, repeat };
    Ok(chords.into_iter().map(chord).collect())
}

fn region(input: &Input, sight: &ScreenshotContext<'_>) -> Result<[i32; 4], String> {
    sight.region(required(input.region, "zoom", "region")?)
}
