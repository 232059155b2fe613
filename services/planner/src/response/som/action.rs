//! A single action of a response.
//!
//! It does not parse the object around the action: [`super`] does.

use std::time::Duration;

use motorium_proto::domain::action::{
    Action, Button, ControlCharacters, ScrollAmount, Target, Text,
};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::key::Key;

use super::arguments;
use super::fields::Fields;
use super::schema::unknown_action;
use crate::response::ResponseError;
use crate::response::model_actions::parse_text;
use crate::response::validate::ValidationContext;

/// Wheel clicks of a scroll without an amount: trades the number of steps against scrolling too far.
const DEFAULT_SCROLL_NOTCHES: u32 = 5;
/// Maximum number of wheel clicks per action: bounds what one response can do.
const MAX_SCROLL_NOTCHES: u32 = 100;
/// Duration of a wait without an amount, in milliseconds.
// Short: a model that needs more looks at the screen and waits again.
const DEFAULT_WAIT_MS: u32 = 1000;
/// Maximum duration of one wait, in milliseconds: bounds how long one action can block a step.
const MAX_WAIT_MS: u32 = 60_000;

/// Field names that models use by mistake for a place.
const MISTAKEN_POINT_NAMES: [&str; 9] = [
    "coordinate",
    "coordinates",
    "point",
    "position",
    "location",
    "id",
    "element",
    "bbox",
    "box",
];

/// Parses one action. An action that enters text into a place is preceded by the click that focuses it.
///
/// # Errors
/// Fails with a message for the model if the action is unknown or cannot be performed here.
pub(super) fn read(
    fields: Fields<'_>,
    ground: &ValidationContext<'_>,
    focus: &mut Focus,
) -> Result<Vec<PlannedAction>, ResponseError> {
    arguments::check(&fields.word("action"), fields, ground)?;
    let reader = ActionParser { fields, ground };
    let action = reader.action()?;
    action
        .check_limits()
        .map_err(|error| ResponseError::invalid(error.to_string()))?;
    let target = reader.target()?;
    let click = target
        .filter(|target| enters_text(&action) && !focus.is_on(target, ground))
        .map(|target| reader.planned(focusing(target)));
    let action = reader.planned(action);
    let actions: Vec<PlannedAction> = click.into_iter().chain([action]).collect();
    actions
        .iter()
        .for_each(|planned| focus.follow(&planned.action));
    Ok(actions)
}

/// The element that has the keyboard within a response, as far as its own actions tell.
#[derive(Debug, Default)]
pub(super) struct Focus(Option<Target>);

impl Focus {
    fn follow(&mut self, action: &Action<Target>) {
        match action {
            Action::Click { at: Some(at), .. } => self.0 = Some(at.clone()),
            // Selecting its content keeps a field focused; a click would undo the selection.
            Action::KeyChord { keys, .. } if !keys.contains(&Key::Tab) => {}
            Action::TypeText { .. } | Action::Paste { .. } | Action::Wait { .. } => {}
            _ => self.0 = None,
        }
    }

    fn is_on(&self, target: &Target, ground: &ValidationContext<'_>) -> bool {
        let seen = match target {
            Target::Element(id) => ground.scene_element(id.0),
            _ => None,
        };
        let is_seen_focused = seen.is_some_and(|element| element.state.focused == Some(true));
        match &self.0 {
            Some(focused) => focused == target,
            None => is_seen_focused,
        }
    }
}

fn enters_text(action: &Action<Target>) -> bool {
    matches!(action, Action::TypeText { .. } | Action::Paste { .. })
}

fn focusing(target: Target) -> Action<Target> {
    Action::Click {
        at: Some(target),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
    }
}

#[derive(Clone, Copy)]
struct ActionParser<'a> {
    fields: Fields<'a>,
    ground: &'a ValidationContext<'a>,
}

impl ActionParser<'_> {
    fn planned(&self, action: Action<Target>) -> PlannedAction {
        let intent = self.fields.text("intent").trim().to_owned();
        PlannedAction {
            intent: if intent.is_empty() {
                action.kind().to_string()
            } else {
                intent
            },
            verify_pointer: self.fields.flag("verify_pointer") && !enters_text(&action),
            repeatable: action.is_repeatable(),
            action,
        }
    }

    fn action(&self) -> Result<Action<Target>, ResponseError> {
        let word = self.fields.word("action");
        Ok(match word.as_str() {
            "click" => self.click(self.button()?, self.count()?)?,
            "left_click" => self.click(self.named_button(Button::Left)?, self.count()?)?,
            "double_click" => self.click(self.button()?, self.named_count(2)?)?,
            "triple_click" => self.click(self.button()?, self.named_count(3)?)?,
            "right_click" => self.click(self.named_button(Button::Right)?, self.count()?)?,
            "middle_click" => self.click(self.named_button(Button::Middle)?, self.count()?)?,
            "move" | "hover" | "mouse_move" => Action::Move {
                to: self.needed_target()?,
            },
            "mouse_down" => Action::MouseDown {
                at: self.target()?,
                button: self.button()?,
            },
            "mouse_up" => Action::MouseUp {
                at: self.target()?,
                button: self.button()?,
            },
            "drag" => self.drag()?,
            "scroll" => self.scroll_in_direction()?,
            "scroll_up" => self.scroll(0, -1)?,
            "scroll_down" => self.scroll(0, 1)?,
            "scroll_left" => self.scroll(-1, 0)?,
            "scroll_right" => self.scroll(1, 0)?,
            "type_text" | "type" => Action::TypeText {
                text: self.entered()?,
                control_characters: ControlCharacters::AsKeys,
            },
            "press_keys" | "press" | "key" | "keypress" | "press_key" | "hotkey" | "key_chord" => {
                Action::KeyChord {
                    keys: self.keys()?,
                    repeat: self.fields.whole("amount")?.unwrap_or(1).max(1),
                }
            }
            "hold_keys" | "hold_key" => Action::HoldKey {
                keys: self.keys()?,
                duration: self.duration()?,
            },
            "wait" => Action::Wait {
                duration: self.duration()?,
            },
            "set_clipboard" => Action::SetClipboard {
                text: self.pasted()?,
            },
            "paste" => Action::Paste {
                text: self.has_text().then(|| self.pasted()).transpose()?,
            },
            "open_application" => Action::OpenApplication {
                name: self.ground.application(&self.needed_text()?)?,
            },
            "open_url" => Action::OpenUrl {
                url: self.needed_text()?,
            },
            "go_to_url" | "goto" | "navigate" => Action::GoToUrl {
                url: self.needed_text()?,
            },
            "focus_window" => Action::FocusWindow {
                window: self.ground.window(&self.needed_text()?)?,
            },
            "go_back" | "back" => Action::GoBack,
            "go_forward" | "forward" => Action::GoForward,
            "refresh" | "reload" => Action::Refresh,
            "close" => Action::KeyChord {
                keys: chord(self.ground.closing_chord())?,
                repeat: 1,
            },
            _ => return Err(unknown_action(&word)),
        })
    }

    fn click(&self, button: Button, count: u8) -> Result<Action<Target>, ResponseError> {
        Ok(Action::Click {
            at: self.target()?,
            button,
            count,
            modifiers: self.modifiers()?,
        })
    }

    fn drag(&self) -> Result<Action<Target>, ResponseError> {
        let places = self.fields.objects("path")?;
        let needed = |place: Fields<'_>| {
            target(place, self.ground)?
                .ok_or_else(|| ResponseError::invalid("a place of `path` names nothing"))
        };
        let mut path: Vec<Target> = places
            .into_iter()
            .map(needed)
            .collect::<Result<_, ResponseError>>()?;
        match self.target()? {
            // The place of the action itself is where it begins.
            Some(start) if path.len() == 1 => path.insert(0, start),
            Some(start) if path.first().is_some_and(|first| *first != start) => {
                return Err(ResponseError::invalid(
                    "its place and the first one of `path` are not the same; give `path` alone",
                ));
            }
            _ => {}
        }
        if path.len() < 2 {
            return Err(ResponseError::invalid(
                "a drag needs a `path` of at least two places, where it begins and where it ends",
            ));
        }
        Ok(Action::Drag {
            path,
            button: self.button()?,
            modifiers: self.modifiers()?,
            duration: None,
            hold: None,
        })
    }

    fn scroll_in_direction(&self) -> Result<Action<Target>, ResponseError> {
        match self.fields.direction().as_str() {
            "up" => self.scroll(0, -1),
            "down" => self.scroll(0, 1),
            "left" => self.scroll(-1, 0),
            "right" => self.scroll(1, 0),
            _ => Err(ResponseError::invalid(
                "a scroll needs a `direction`: up, down, left or right",
            )),
        }
    }

    fn scroll(&self, x: i32, y: i32) -> Result<Action<Target>, ResponseError> {
        let clicks = self.amount(DEFAULT_SCROLL_NOTCHES, MAX_SCROLL_NOTCHES, "wheel clicks")?;
        let clicks = i32::try_from(clicks).unwrap_or(i32::MAX);
        Ok(Action::Scroll {
            at: self.target()?,
            amount: ScrollAmount::Notches {
                x: x * clicks,
                y: y * clicks,
            },
            modifiers: self.modifiers()?,
        })
    }

    fn target(&self) -> Result<Option<Target>, ResponseError> {
        target(self.fields, self.ground)
    }

    fn needed_target(&self) -> Result<Target, ResponseError> {
        self.target()?
            .ok_or_else(|| ResponseError::invalid("it names neither an element nor a point"))
    }

    fn button(&self) -> Result<Button, ResponseError> {
        match self.fields.word("button").as_str() {
            "" | "left" | "none" => Ok(Button::Left),
            "right" => Ok(Button::Right),
            "middle" => Ok(Button::Middle),
            "back" => Ok(Button::Back),
            "forward" => Ok(Button::Forward),
            other => Err(ResponseError::invalid(format!(
                "`{other}` is no button; there are left, right, middle, back and forward"
            ))),
        }
    }

    /// Returns the button that the action's name says; `button` may repeat it, or be left at its usual value.
    fn named_button(&self, named: Button) -> Result<Button, ResponseError> {
        match self.button()? {
            Button::Left => Ok(named),
            button if button == named => Ok(named),
            _ => Err(ResponseError::invalid(
                "`button` and the name of the action are not the same button",
            )),
        }
    }

    /// Returns the count that the action's name says; `count` may repeat it, or be left at its usual value.
    fn named_count(&self, named: u8) -> Result<u8, ResponseError> {
        match self.count()? {
            1 => Ok(named),
            count if count == named => Ok(named),
            _ => Err(ResponseError::invalid(
                "`count` and the name of the action are not the same number",
            )),
        }
    }

    fn count(&self) -> Result<u8, ResponseError> {
        match self.fields.number("count")? {
            None => Ok(1),
            Some(0.0 | 1.0) => Ok(1),
            Some(2.0) => Ok(2),
            Some(3.0) => Ok(3),
            Some(count) => Err(ResponseError::invalid(format!(
                "a click is given {count} times; 1, 2 and 3 are possible"
            ))),
        }
    }

    fn keys(&self) -> Result<Vec<Key>, ResponseError> {
        let (keys, text) = (self.fields.keys(), self.fields.text("text"));
        match (keys.trim().is_empty(), text.trim().is_empty()) {
            // Some models put the chord into the `text` field.
            (true, _) => chord(&text),
            (false, true) => chord(&keys),
            (false, false) => Err(ResponseError::invalid(
                "it has `keys` and `text`; type_text enters text, press_keys presses keys",
            )),
        }
    }

    fn modifiers(&self) -> Result<Vec<Key>, ResponseError> {
        let keys = self.fields.keys();
        if keys.trim().is_empty() {
            return Ok(Vec::new());
        }
        let keys = chord(&keys)?;
        match keys.iter().find(|key| !key.is_modifier()) {
            None => Ok(keys),
            Some(key) => Err(ResponseError::invalid(format!(
                "`{key}` cannot be held during this action; ctrl, shift, alt and super can"
            ))),
        }
    }

    fn duration(&self) -> Result<Duration, ResponseError> {
        let milliseconds = self.amount(DEFAULT_WAIT_MS, MAX_WAIT_MS, "milliseconds")?;
        Ok(Duration::from_millis(milliseconds.into()))
    }

    fn amount(&self, usual: u32, max: u32, unit: &str) -> Result<u32, ResponseError> {
        match self.fields.number("amount")? {
            None => Ok(usual),
            Some(0.0) => Ok(usual),
            Some(amount) if amount >= 1.0 && amount <= f64::from(max) => Ok(amount as u32),
            Some(amount) => Err(ResponseError::invalid(format!(
                "`amount` is {amount}; 1 to {max} {unit} are possible"
            ))),
        }
    }

    fn has_text(&self) -> bool {
        !self.fields.text("text").is_empty()
    }

    fn needed_text(&self) -> Result<String, ResponseError> {
        let text = self.fields.text("text").trim().to_owned();
        if text.is_empty() {
            return Err(ResponseError::invalid("its `text` is empty"));
        }
        Ok(text)
    }

    /// Returns the text to enter, with leading and trailing spaces.
    fn entered(&self) -> Result<Text, ResponseError> {
        let text = self.fields.text("text");
        if text.is_empty() {
            return Err(ResponseError::invalid("its `text` is empty"));
        }
        Ok(parse_text(&text))
    }

    fn pasted(&self) -> Result<Text, ResponseError> {
        match self.entered()? {
            Text::Secret(_) => Err(ResponseError::invalid(
                "a secret never goes through the clipboard; use type_text",
            )),
            text => Ok(text),
        }
    }
}

fn chord(keys: &str) -> Result<Vec<Key>, ResponseError> {
    Key::parse_chord("keys", keys).map_err(|error| ResponseError::invalid(error.to_string()))
}

/// Returns the target that a place names: an element or else a point; `None` if nothing is named.
fn target(
    place: Fields<'_>,
    ground: &ValidationContext<'_>,
) -> Result<Option<Target>, ResponseError> {
    if let Some(id) = place.whole("element_id")? {
        let element = ground.element(id)?;
        if let (Some(x), Some(y)) = (place.number("x")?, place.number("y")?) {
            ground.check_point_in_element(id, x, y)?;
        }
        return Ok(Some(element));
    }
    match (place.number("x")?, place.number("y")?) {
        (Some(x), Some(y)) => ground.point(x, y).map(Some),
        (None, None) => match place.first_of(&MISTAKEN_POINT_NAMES) {
            // Falling back to the pointer position would act on an unintended place.
            Some(name) => Err(ResponseError::invalid(format!(
                "`{name}` names no place here; give `element_id`, or `x` and `y`"
            ))),
            None => Ok(None),
        },
        _ => Err(ResponseError::invalid("a point needs both `x` and `y`")),
    }
}
