//! Claude's computer tool in all versions, with every action.

use motorium_planner::backends::claude_computer::ClaudeComputer;
use motorium_planner::backends::degraded_features::DegradedFeatures;
use motorium_planner::backends::dialect::{Dialect as _, StepContext};
use motorium_planner::models::{Api, ModelTable};
use motorium_planner::prompt::Prompts;
use motorium_planner::screenshot::RequestImages;
use motorium_proto::domain::decision::Next;
use serde_json::{Value, json};

use super::claude::{actions, answer};
use super::fake_task::{FakeTask, Outcome};

/// Returns a response with one call of the tool.
fn call(input: Value) -> Value {
    let block = json!({"type": "tool_use", "id": "toolu_x", "name": "computer", "input": input});
    json!({"content": [block], "stop_reason": "tool_use"})
}

#[test]
fn the_version_of_the_tool_is_the_models() {
    let check = |model: &str, tool: Value, beta: Option<&str>, thinking: Value| {
        let mut world = FakeTask::new(ClaudeComputer, model, None);
        let asked = world.ask();
        assert_eq!(asked.body["tools"][0], tool, "{model}");
        assert_eq!(asked.body["thinking"], thinking, "{model}");
        let sent = asked
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
        let expected = beta.map(|beta| ("anthropic-beta", beta));
        assert_eq!(
            sent.collect::<Vec<_>>(),
            expected.into_iter().collect::<Vec<_>>(),
            "{model}"
        );
    };
    check(
        "claude-sonnet-4-5",
        json!({"type": "computer_20250124", "name": "computer", "display_width_px": 1000, "display_height_px": 800}),
        Some("computer-use-2025-01-24"),
        json!({"type": "enabled", "budget_tokens": 2048}),
    );
    check(
        "claude-opus-4-6",
        json!({"type": "computer_20251124", "name": "computer", "display_width_px": 1000, "display_height_px": 800,
            "enable_zoom": true}),
        Some("computer-use-2025-11-24"),
        json!({"type": "adaptive"}),
    );
    check(
        "claude-opus-5-5",
        json!({"type": "computer_toolset_20260801"}),
        None,
        Value::Null,
    );
}

#[test]
fn every_action_of_the_tool_is_understood() {
    let check = |input: Value, expected: &str| {
        let mut world = FakeTask::new(ClaudeComputer, "claude-opus-4-6", None);
        let got = match world.plan(&[call(input.clone())]) {
            Outcome::Decided(reading) => {
                let intents = actions(&reading.next)
                    .iter()
                    .map(|planned| planned.intent.as_str());
                intents.collect::<Vec<_>>().join("; ")
            }
            Outcome::Gave(response_error) => response_error.to_string(),
        };
        assert_eq!(got, expected, "{input}");
    };
    check(
        json!({"action": "left_click"}),
        "click where the pointer is",
    );
    check(
        json!({"action": "right_click", "coordinate": [60, 55]}),
        "right-click \"Save\"",
    );
    check(
        json!({"action": "middle_click", "coordinate": [0, 0]}),
        "middle-click a point at the top left",
    );
    check(
        json!({"action": "double_click", "coordinate": [999, 799]}),
        "double-click a point at the bottom right",
    );
    check(
        json!({"action": "triple_click", "coordinate": [5, 5]}),
        "triple-click a point at the top left",
    );
    check(
        json!({"action": "mouse_move", "coordinate": [60, 55]}),
        "move the pointer to \"Save\"",
    );
    check(
        json!({"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [60, 55]}),
        "drag from a point at the top left to \"Save\"",
    );
    // Without a start, the drag begins at the pointer.
    check(
        json!({"action": "left_click_drag", "coordinate": [1, 2]}),
        "drag from \"Save\" to a point at the top left",
    );
    check(
        json!({"action": "left_mouse_down"}),
        "press the mouse button where the pointer is",
    );
    check(
        json!({"action": "left_mouse_up"}),
        "release the mouse button where the pointer is",
    );
    check(
        json!({"action": "scroll", "coordinate": [5, 5], "scroll_direction": "Down", "scroll_amount": 3}),
        "scroll down",
    );
    check(json!({"action": "type", "text": "a\nb"}), "type \"a b\"");
    check(
        json!({"action": "type", "text": "secret:mail.password"}),
        "type secret:mail.password",
    );
    check(json!({"action": "key", "text": "ctrl+S"}), "press ctrl+s");
    check(
        json!({"action": "key", "text": "ctrl+a Delete"}),
        "press ctrl+a; press delete",
    );
    check(
        json!({"action": "hold_key", "text": "shift", "duration": 2}),
        "hold shift",
    );
    check(json!({"action": "wait", "duration": 1}), "wait");
    // Invalid input is reported and never corrected.
    check(
        json!({"action": "fly"}),
        "The computer has no action \"fly\".",
    );
    check(json!({}), "The input has no action.");
    check(
        json!({"action": "mouse_move"}),
        "mouse_move needs coordinate.",
    );
    check(json!({"action": "type"}), "type needs text.");
    check(
        json!({"action": "wait", "duration": 4000}),
        "A duration of 4000 seconds is not possible: 0 to 300 are.",
    );
    check(
        json!({"action": "key", "text": "flurb"}),
        "No key is called \"flurb\".",
    );
    check(
        json!({"action": "left_click", "coordinate": [5, 5], "text": "ctrl+a"}),
        "a cannot be held during a mouse action: only ctrl, shift, alt and super can.",
    );
    check(
        json!({"action": "scroll", "scroll_direction": "sideways", "scroll_amount": 3}),
        "scroll_direction has to be up, down, left or right.",
    );
    check(
        json!({"action": "left_click", "coordinate": [-1, 5]}),
        "Coordinate outside the screen: the point (-1, 5) is outside the screenshot: x goes from 0 to 999 and y from 0 to 799.",
    );
    check(
        json!({"action": "zoom", "region": [0, 0, 1200, 10]}),
        "Region outside the screen: the point (1200, 10) is outside the screenshot: x goes from 0 to 999 and y from 0 to 799.",
    );
}

#[test]
fn every_field_is_honoured_or_refused() {
    let check = |input: Value, expected: &str| {
        let mut world = FakeTask::new(ClaudeComputer, "claude-opus-4-6", None);
        let got = match world.plan(&[call(input.clone())]) {
            Outcome::Decided(reading) => match &reading.next {
                Next::Act(actions) => {
                    let intents = actions.iter().map(|planned| planned.intent.as_str());
                    intents.collect::<Vec<_>>().join("; ")
                }
                Next::Done { answer, .. } => format!("done: {answer}"),
                Next::Fail { reason } => format!("fail: {reason}"),
                other => panic!("{other:?}"),
            },
            Outcome::Gave(response_error) => response_error.to_string(),
        };
        assert!(got.contains(expected), "{input}: {got}");
    };
    let save = [60, 55];
    // A text with a place goes to that place.
    check(
        json!({"action": "type", "text": "a", "coordinate": save}),
        "click \"Save\"; type \"a\"",
    );
    for (input, refused) in [
        (
            json!({"action": "key", "text": "a", "coordinate": save}),
            "coordinate",
        ),
        (
            json!({"action": "hold_key", "text": "a", "duration": 1, "coordinate": save}),
            "coordinate",
        ),
        (
            json!({"action": "wait", "duration": 1, "coordinate": save}),
            "coordinate",
        ),
        (
            json!({"action": "mouse_move", "coordinate": save, "text": "x"}),
            "text",
        ),
        (json!({"action": "left_mouse_down", "text": "ctrl"}), "text"),
        (
            json!({"action": "left_click", "coordinate": save, "start_coordinate": save}),
            "start_coordinate",
        ),
        (
            json!({"action": "left_click", "coordinate": save, "scroll_amount": 3}),
            "scroll_amount",
        ),
        (
            json!({"action": "type", "text": "a", "repeat": 3}),
            "repeat",
        ),
        (
            json!({"action": "scroll", "scroll_direction": "up", "duration": 3}),
            "duration",
        ),
    ] {
        check(input, &format!("takes no {refused}"));
    }
    // As tools of other providers write them.
    check(
        json!({"action": "scroll", "direction": "down"}),
        "scroll down",
    );
    check(
        json!({"action": "press", "keys": ["ctrl", "s"]}),
        "press ctrl+s",
    );
    check(json!({"action": "key", "key": "Return"}), "press enter");
    check(json!({"action": "done", "text": "saved"}), "done: saved");
    check(
        json!({"action": "fail", "text": "no file"}),
        "fail: no file",
    );
    check(
        json!({"action": "terminate", "status": "success"}),
        "done: ",
    );
    check(
        json!({"action": "terminate", "status": "failure", "text": "no"}),
        "fail: no",
    );
    check(json!({"action": "terminate"}), "terminate needs a status");
}

#[test]
fn the_oldest_tool_has_no_closer_look() {
    let mut world = FakeTask::new(ClaudeComputer, "claude-sonnet-4-5", Some("no-zoom"));
    let gave = world.plan(&[answer("zoom")]);
    let Outcome::Gave(response_error) = gave else {
        panic!("{gave:?}")
    };
    assert_eq!(
        response_error.to_string(),
        "The computer has no action \"zoom\"."
    );
}

#[test]
fn a_model_without_the_tool_is_not_asked() {
    let world = FakeTask::new(ClaudeComputer, "claude-opus-4-6", None);
    let model = ModelTable::default().get("claude-nobody-9", Api::AnthropicMessages);
    let step = StepContext {
        request: &world.request,
        model: &model,
        images: &RequestImages::of(&world.request),
        prompts: &Prompts::built_in().unwrap(),
        degraded: DegradedFeatures::default(),
    };
    let error = ClaudeComputer.build_request(&step).unwrap_err().to_string();
    assert!(
        error.starts_with("claude-nobody-9 is not known to support"),
        "{error}"
    );
}
