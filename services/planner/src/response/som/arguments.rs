//! The fields that each action takes. A field that an action does not take is refused if it has a value: dropped silently,
//! the model would believe that it was honoured.
//!
//! Placeholders are no values: the schema requires every field of every action.

use motorium_proto::domain::element::Element;

use super::fields::Fields;
use super::schema::unknown_action;
use crate::response::ResponseError;
use crate::response::validate::ValidationContext;

/// An optional field of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// `element_id`, or `x` and `y`.
    Place,
    Path,
    Button,
    Count,
    Text,
    Keys,
    Amount,
    Direction,
}

use Field::{Amount, Button, Count, Direction, Keys, Path, Place, Text};

/// Returns the fields that an action takes; `None` for an unknown action.
fn taken(action: &str) -> Option<&'static [Field]> {
    Some(match action {
        "click" | "left_click" | "double_click" | "triple_click" | "right_click"
        | "middle_click" => &[Place, Button, Count, Keys],
        "move" | "hover" | "mouse_move" => &[Place],
        "mouse_down" | "mouse_up" => &[Place, Button],
        "drag" => &[Place, Path, Button, Keys],
        "scroll" => &[Place, Keys, Amount, Direction],
        "scroll_up" | "scroll_down" | "scroll_left" | "scroll_right" => &[Place, Keys, Amount],
        "type_text" | "type" => &[Place, Text],
        "paste" => &[Place, Text],
        "press_keys" | "press" | "key" | "keypress" | "press_key" | "hotkey" | "key_chord" => {
            &[Keys, Text, Amount]
        }
        "hold_keys" | "hold_key" => &[Keys, Text, Amount],
        "wait" => &[Amount],
        "set_clipboard" | "open_application" | "open_url" | "go_to_url" | "goto" | "navigate"
        | "focus_window" => &[Text],
        "go_back" | "back" | "go_forward" | "forward" | "refresh" | "reload" | "close" => &[],
        _ => return None,
    })
}

/// Checks that the action takes every field that has a value.
///
/// # Errors
/// Fails with a message for the model that says how to write it instead.
pub(super) fn check(
    action: &str,
    fields: Fields<'_>,
    ground: &ValidationContext<'_>,
) -> Result<(), ResponseError> {
    let taken = taken(action).ok_or_else(|| unknown_action(action))?;
    let all = [Place, Path, Button, Count, Text, Keys, Amount, Direction];
    for field in all.iter().filter(|field| !taken.contains(field)) {
        if let Some(advice) = refused(*field, fields, ground)? {
            return Err(ResponseError::invalid(format!(
                "{action} takes no {advice}"
            )));
        }
    }
    Ok(())
}

/// Returns the name of a field that has a value, with what to do instead.
fn refused(
    field: Field,
    fields: Fields<'_>,
    ground: &ValidationContext<'_>,
) -> Result<Option<&'static str>, ResponseError> {
    let is_number = |name| fields.number(name).map(|number| number.is_some());
    // Models write 0 and 1 for "does not apply" as well.
    let counts = |name| {
        fields
            .number(name)
            .map(|number| number.is_some_and(|number| !matches!(number, 0.0 | 1.0)))
    };
    Ok(match field {
        Place if is_number("element_id")? || is_point(fields)? => {
            Some("place; click the element first, then use the keyboard")
        }
        Path if !fields.objects("path")?.is_empty() => Some("`path`; a drag does"),
        Button if !matches!(fields.word("button").as_str(), "" | "left" | "none") => {
            Some("`button`; click, drag, mouse_down and mouse_up do")
        }
        Count if counts("count")? => Some("`count`; a click does"),
        Text if !fields.text("text").is_empty() && !is_label(fields, ground)? => {
            Some("`text`; type_text and paste do")
        }
        Keys if !fields.keys().trim().is_empty() => Some("`keys`; use press_keys"),
        Amount if counts("amount")? => Some("`amount`"),
        Direction if !fields.direction().is_empty() => Some("direction; a scroll does"),
        _ => None,
    })
}

/// Returns whether a point is named. The origin counts as a placeholder here: nothing is at the corner of a screen.
fn is_point(fields: Fields<'_>) -> Result<bool, ResponseError> {
    let (x, y) = (fields.number("x")?, fields.number("y")?);
    let at_origin = x.is_none_or(|x| x == 0.0) && y.is_none_or(|y| y == 0.0);
    Ok(!at_origin)
}

/// Returns whether the text only repeats the label of the element that the action names.
fn is_label(fields: Fields<'_>, ground: &ValidationContext<'_>) -> Result<bool, ResponseError> {
    let id = fields.whole("element_id")?;
    let element = id.and_then(|id| ground.scene_element(id));
    let text = fields.text("text").trim().to_lowercase();
    let repeats = |element: &Element| element.content.trim().to_lowercase() == text;
    Ok(element.is_some_and(repeats))
}
