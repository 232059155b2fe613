//! Tool declarations for the model: `computer_use`, and the functions of the task.

use motorium_proto::domain::decision::FunctionDeclaration;
use motorium_proto::service::PlanRequest;
use serde_json::{Value, json};

use crate::backends::native::toolbox::parameters;
use crate::response::tool_calls::computer_use::{ACTIONS, NAME};
use crate::screenshot::{CoordinateConvention, SentImage};

/// Returns the declarations, one per line.
pub(super) fn lines(request: &PlanRequest, view: &SentImage) -> String {
    let functions = request.functions.iter().map(function);
    let all: Vec<String> = std::iter::once(computer(view))
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

fn computer(view: &SentImage) -> Value {
    let (width, height) = resolution(view);
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
                "action": {"type": "string", "enum": ACTIONS, "description": ACTION},
                "keys": {"type": "array", "items": {"type": "string"}, "description": "The keys of a chord, for `key`."},
                "text": {"type": "string", "description": "The text, for `type` and `answer`."},
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

fn function(declaration: &FunctionDeclaration) -> Value {
    json!({"type": "function", "function": {
        "name": declaration.name,
        "description": declaration.description,
        "parameters": parameters(&declaration.parameters_json_schema),
    }})
}
