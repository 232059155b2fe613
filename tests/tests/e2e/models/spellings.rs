//! Actions as models write them that were trained on other tools: alone, with a direction, with the keys as a list, or with the
//! end of the task as an action. The documented spellings of each protocol are in [`super::dialect`].

use serde_json::{Value, json};

use super::dialect::{element_called, resized, thousandths};
use super::sight::Sight;

/// An action in such a spelling.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Spelling {
    /// Types into a control without a click before: the text that names it in a list of elements, its centre on the screenshot,
    /// and the text to type.
    TypeInto(&'static str, (f64, f64), String),
    /// Scrolls down without a distance.
    ScrollDown,
    /// Goes to the beginning of the field, deletes a character and presses Return, one after the other.
    CorrectAndEnter,
    /// Ends with success, without an answer.
    Done,
    /// Ends with failure for this reason.
    Fail(&'static str),
}

/// Returns one JSON object.
pub(super) fn som(spelling: &Spelling, sight: &Sight) -> Value {
    match spelling {
        Spelling::TypeInto(label, _, text) => {
            let element = element_called(&sight.text, label);
            json!({"thought": "The field is empty.", "element_id": element, "action": "type", "text": text})
        }
        Spelling::ScrollDown => {
            json!({"thought": "The form is below.", "action": "scroll", "direction": "down"})
        }
        Spelling::CorrectAndEnter => json!({"thought": "One letter is too many.", "actions": [
            {"action": "hotkey", "keys": ["ctrl", "home"]},
            {"action": "key", "keys": ["delete"]},
            {"action": "press", "key": "enter"},
        ]}),
        Spelling::Done => json!({"thought": "It is saved.", "action": "done"}),
        Spelling::Fail(reason) => json!({"thought": reason, "action": "fail"}),
    }
}

/// Returns one JSON object, in which `terminate` ends the task.
pub(super) fn som_with_terminate(spelling: &Spelling, sight: &Sight) -> Value {
    match spelling {
        Spelling::Done => json!({"thought": "", "action": "terminate", "status": "success"}),
        Spelling::Fail(reason) => {
            json!({"thought": "", "action": "terminate", "status": "failure", "text": reason})
        }
        _ => som(spelling, sight),
    }
}

/// Returns the input of Anthropic's computer tool.
pub(super) fn claude(spelling: &Spelling, sight: &Sight) -> Value {
    match spelling {
        Spelling::TypeInto(_, (x, y), text) => {
            json!({"action": "type", "coordinate": [x.round(), y.round()], "text": text})
        }
        Spelling::ScrollDown => {
            let (x, y) = sight.centre();
            json!({"action": "scroll", "coordinate": [x, y], "direction": "down"})
        }
        Spelling::CorrectAndEnter => {
            json!({"action": "press", "text": "ctrl+Home Delete Return"})
        }
        Spelling::Done => json!({"action": "done"}),
        Spelling::Fail(reason) => json!({"action": "fail", "text": reason}),
    }
}

/// Returns an action of OpenAI's computer tool.
pub(super) fn openai(spelling: &Spelling, sight: &Sight) -> Value {
    match spelling {
        Spelling::TypeInto(_, (x, y), text) => {
            json!({"type": "type", "x": x.round(), "y": y.round(), "text": text})
        }
        Spelling::ScrollDown => {
            let (x, y) = sight.centre();
            json!({"type": "scroll", "x": x, "y": y, "direction": "down"})
        }
        Spelling::CorrectAndEnter => {
            json!({"type": "keypress", "keys": ["HOME", "DELETE", "ENTER"]})
        }
        Spelling::Done => json!({"type": "terminate", "status": "success"}),
        Spelling::Fail(reason) => {
            json!({"type": "terminate", "status": "failure", "text": reason})
        }
    }
}

/// Returns Python code.
pub(super) fn opencua(spelling: &Spelling, sight: &Sight) -> String {
    match spelling {
        // Code has no place for a text but the click before it.
        Spelling::TypeInto(_, at, text) => {
            let (x, y) = resized(*at, sight);
            let text = json!(text);
            format!("pyautogui.click(x={x:.0}, y={y:.0})\npyautogui.write(message={text})")
        }
        Spelling::ScrollDown => "pyautogui.scroll(-5)".to_owned(),
        Spelling::CorrectAndEnter => "pyautogui.press(['home', 'delete', 'enter'])".to_owned(),
        Spelling::Done => "DONE".to_owned(),
        Spelling::Fail(reason) => format!("computer.terminate(status='fail', answer={reason:?})"),
    }
}

/// Returns the arguments of calls of `computer_use`.
pub(super) fn qwen(spelling: &Spelling, sight: &Sight) -> Vec<Value> {
    match spelling {
        Spelling::TypeInto(_, at, text) => {
            vec![json!({"action": "type", "coordinate": thousandths(*at, sight), "text": text})]
        }
        Spelling::ScrollDown => vec![json!({"action": "scroll", "direction": "down"})],
        Spelling::CorrectAndEnter => vec![
            json!({"action": "key", "keys": ["ctrl", "home"]}),
            json!({"action": "press", "key": "delete"}),
            json!({"action": "press", "keys": "enter"}),
        ],
        Spelling::Done => vec![json!({"action": "done"})],
        Spelling::Fail(reason) => vec![json!({"action": "fail", "text": reason})],
    }
}
