//! Tool declarations for the model: `computer_use`, and the functions of the task.

use motorium_proto::domain::decision::FunctionDeclaration;
use motorium_proto::service::PlanRequest;
use serde_json::{Value, json};

use crate::backends::native::toolbox::parameters;
use crate::response::tool_calls::computer_use::{ACTIONS, NAME, OPEN_APPLICATION};
use crate::screenshot::{CoordinateConvention, SentImage};

/// Returns the declarations, one per line.
pub(super) fn lines(request: &PlanRequest, view: &SentImage) -> String {
    let functions = request.functions.iter().map(function);
    let can_open = !request.applications.is_empty();
    let all: Vec<String> = std::iter::once(computer(view, can_open))
        .chain(functions)
        .map(|tool| tool.to_string())
        .collect();
    all.join("\n")
}

/// Returns the size in the model's coordinate units.
fn resolution(view: &SentImage) -> (u32, u32) {
    match view.convention() {
        CoordinateConvention::Thousandths => (1000, 1000),
        CoordinateConvention::Fractions => (1, 1),
        CoordinateConvention::SentPixels | CoordinateConvention::ResizedPixels => {
            (view.counted().width, view.counted().height)
        }
    }
}

/// Returns the declaration of `computer_use`, with the opening of applications if any can be opened.
fn computer(view: &SentImage, can_open: bool) -> Value {
    let (width, height) = resolution(view);
    let names: Vec<&str> = ACTIONS
        .iter()
        .copied()
        .chain(can_open.then_some(OPEN_APPLICATION))
        .collect();
    let (opening, opened) = match can_open {
        true => (OPENING, ", or the application, for `open_application`"),
        false => ("", ""),
    };
    let description = format!(
        "Operate a computer with mouse and keyboard, and look at it through screenshots.\n\
         * The screen's resolution is {width}x{height}.\n\
         * Point at the middle of what you mean, not at its edge.\n\
         * If nothing changes after an action, try something else, or wait."
    );
    json!({"type": "function", "function": {
        "name": NAME,
        "description": description,
        "parameters": {
            "type": "object",
            "required": ["action"],
            "properties": {
                "action": {"type": "string", "enum": names, "description": format!("{ACTION}{opening}")},
                "keys": {"type": "array", "items": {"type": "string"}, "description": "The keys of a chord, for `key`."},
                "text": {"type": "string", "description": format!("The text, for `type` and `answer`{opened}.")},
                "coordinate": {"type": "array", "items": {"type": "number"}, "description": "Where: [x, y], from the left and from the top."},
                "pixels": {"type": "number", "description": "How far, for `scroll` (positive is up) and `hscroll` (positive is right)."},
                "time": {"type": "number", "description": "How many seconds, for `wait`."},
                "status": {"type": "string", "enum": ["success", "failure"], "description": "How the task ended, for `terminate`."},
            },
        },
    }})
}

const ACTION: &str = "\
* `key`: press the keys together.\n\
* `type`: enter the text where the keyboard focus is.\n\
* `mouse_move`: move the pointer to the coordinate.\n\
* `left_click`, `right_click`, `middle_click`, `double_click`, `triple_click`: click at the coordinate.\n\
* `left_click_drag`: drag from where the pointer is to the coordinate.\n\
* `scroll`, `hscroll`: turn the wheel.\n\
* `wait`: wait for the screen to change.\n\
* `answer`: tell the user the answer; the task is over then.\n\
* `terminate`: end the task.";
const OPENING: &str = "\n* `open_application`: open an application that the task lists.";

fn function(declaration: &FunctionDeclaration) -> Value {
    json!({"type": "function", "function": {
        "name": declaration.name,
        "description": declaration.description,
        "parameters": parameters(&declaration.parameters_json_schema),
    }})
}
