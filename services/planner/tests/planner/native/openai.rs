//! The exchange with OpenAI's models.

use motorium_planner::backends::openai_computer::{ConversationStorage, OpenAiComputer};
use motorium_planner::response::ResponseError;
use motorium_proto::domain::action::{Action, Button, ScrollAmount};
use motorium_proto::domain::decision::{Next, PlannedAction};
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::effect::ActionResult::{Failed, Performed};
use serde_json::{Value, json};

use super::fake_task::{FakeTask, Outcome};
use crate::fixtures::fixture;

const STORED: OpenAiComputer = OpenAiComputer {
    conversation_storage: ConversationStorage::Stored,
};
const SENT: OpenAiComputer = OpenAiComputer {
    conversation_storage: ConversationStorage::Stateless,
};

fn answer(name: &str) -> Value {
    fixture(&format!("openai-responses/{name}.json"))
}

fn world(dialect: OpenAiComputer, name: &'static str) -> FakeTask {
    FakeTask::new(dialect, "gpt-5.6-sol", Some(name))
}

fn actions(next: &Next) -> &[PlannedAction] {
    match next {
        Next::Act(actions) => actions,
        other => panic!("{other:?}"),
    }
}

fn kinds(body: &Value) -> Vec<String> {
    let items = body["input"].as_array().unwrap();
    let kind = |item: &Value| item["type"].as_str().unwrap_or("message").to_owned();
    items.iter().map(kind).collect()
}

/// Returns the text of our last message.
fn last_user_text(body: &Value) -> String {
    let items = body["input"].as_array().unwrap();
    let ours = items.iter().rfind(|item| item["role"] == "user").unwrap();
    let parts = ours["content"].as_array().unwrap().iter();
    let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

/// Returns a response with one computer action.
fn call(action: Value) -> Value {
    json!({"id": "resp_x", "status": "completed", "output": [
        {"type": "computer_call", "id": "cu_x", "call_id": "call_x", "actions": [action]}]})
}

#[test]
fn the_newer_tool_is_only_named_and_the_older_one_described() {
    let asked = world(STORED, "first").ask();
    assert_eq!(asked.body["tools"][0], json!({"type": "computer"}));
    assert_eq!(
        asked.body["reasoning"],
        json!({"effort": "low", "summary": "concise"})
    );
    assert_eq!(asked.body.get("truncation"), None);
    let mut older = FakeTask::new(STORED, "computer-use-preview", Some("preview-first"));
    let asked = older.ask();
    assert_eq!(
        asked.body["tools"][0],
        json!({"type": "computer_use_preview", "display_width": 1000, "display_height": 800,
            "environment": "linux"})
    );
    assert_eq!(asked.body["truncation"], "auto");
    let reading = older.decide(&[answer("preview")]);
    assert_eq!(actions(&reading.next)[0].intent, "click \"Save\"");
    older.carry_out(&reading, &[Performed]);
    older.ask();
}

#[test]
fn the_older_tool_is_told_the_kind_of_desktop() {
    for (platform, expected) in [
        (Platform::Windows, "windows"),
        (Platform::Macos, "mac"),
        (Platform::Browser, "browser"),
        (Platform::Linux, "linux"),
        (Platform::Unknown, "linux"),
    ] {
        let mut task = FakeTask::new(STORED, "computer-use-preview", None);
        task.request.platform = platform;
        let asked = task.ask();
        assert_eq!(asked.body["tools"][0]["environment"], expected);
    }
}

#[test]
fn stored_conversation_sends_only_new_items() {
    let mut world = world(STORED, "stored");
    let reading = world.decide(&[answer("screenshot"), answer("batch")]);
    let intents: Vec<&str> = actions(&reading.next)
        .iter()
        .map(|planned| planned.intent.as_str())
        .collect();
    assert_eq!(
        intents,
        [
            "click \"Save\"",
            "type \"notes.txt\"",
            "press ctrl+s",
            "wait"
        ]
    );
    assert_eq!(reading.progress, "I save the file under its name.");
    world.carry_out(&reading, &[Performed; 4]);
    let asked = world.ask();
    assert_eq!(asked.body["previous_response_id"], "resp_2");
    assert_eq!(kinds(&asked.body), ["computer_call_output", "message"]);
    // Instructions and tools are not inherited from the previous response.
    assert!(asked.body["instructions"].is_string() && asked.body["tools"].is_array());
}

#[test]
fn stateless_conversation_resends_every_item_unchanged() {
    let mut world = world(SENT, "sent");
    let reading = world.decide(&[answer("screenshot"), answer("batch")]);
    world.carry_out(&reading, &[Performed; 4]);
    let asked = world.ask();
    assert_eq!(asked.body["store"], false);
    assert_eq!(
        asked.body["include"],
        json!(["reasoning.encrypted_content"])
    );
    assert_eq!(asked.body.get("previous_response_id"), None);
    assert_eq!(
        kinds(&asked.body),
        [
            "message",
            "reasoning",
            "computer_call",
            "computer_call_output",
            "reasoning",
            "computer_call",
            "computer_call_output",
            "message",
        ]
    );
    assert_eq!(asked.body["input"][4], answer("batch")["output"][0]);
}

#[test]
fn failed_action_is_reported_with_the_screenshot() {
    for dialect in [STORED, SENT] {
        let mut world = world(dialect, "failed-action");
        let reading = world.decide(&[answer("batch")]);
        world.carry_out(&reading, &[Performed, Failed]);
        let asked = world.ask();
        assert_eq!(
            last_user_text(&asked.body),
            "Action 2 of 4: Failed: said by the test"
        );
    }
}

#[test]
fn actions_before_an_invalid_action_are_performed() {
    let mut world = world(SENT, "half-wrong");
    let reading = world.decide(&[answer("half_wrong")]);
    assert_eq!(actions(&reading.next).len(), 1);
    world.carry_out(&reading, &[Performed]);
    let text = last_user_text(&world.ask().body);
    assert!(
        text.starts_with("Action 2 of 2: Coordinate outside the screen"),
        "{text}"
    );
}

#[test]
fn point_outside_the_screen_is_repaired_once() {
    for dialect in [STORED, SENT] {
        let mut world = world(dialect, "outside");
        let reading = world.decide(&[answer("outside"), answer("batch")]);
        assert_eq!(actions(&reading.next).len(), 4);
        let mut second = answer("outside");
        second["id"] = json!("resp_4b");
        second["output"][1]["call_id"] = json!("call_4b");
        let mut world = self::world(dialect, "outside-twice");
        let Outcome::Gave(response_error) = world.plan(&[answer("outside"), second]) else {
            panic!("a decision")
        };
        assert!(
            response_error
                .to_string()
                .starts_with("Action 1 of 1: Coordinate outside"),
            "{response_error}"
        );
    }
}

#[test]
fn acknowledged_safety_check_is_sent_with_the_call_output() {
    for dialect in [STORED, SENT] {
        for name in ["warned", "warned_look"] {
            let mut world = world(dialect, name);
            let reading = world.decide(&[answer(name)]);
            assert_eq!(reading.safety_checks.len(), 1);
            assert_eq!(reading.safety_checks[0].code, "sensitive_domain");
            assert_eq!(actions(&reading.next).len(), 1);
            world.carry_out(&reading, &[Performed]);
            world.accept(&reading.safety_checks);
            let asked = world.ask();
            let items = asked.body["input"].as_array().unwrap();
            let output = items
                .iter()
                .find(|item| item["type"] == "computer_call_output")
                .unwrap();
            let call = &answer(name)["output"][1];
            assert_eq!(
                output["acknowledged_safety_checks"],
                call["pending_safety_checks"]
            );
        }
    }
}

#[test]
fn unacknowledged_safety_check_gets_no_call_output() {
    for dialect in [STORED, SENT] {
        let mut world = world(dialect, "denied");
        let reading = world.decide(&[answer("warned")]);
        world.carry_out(&reading, &[]);
        world
            .request
            .notices
            .push("the user did not allow it".to_owned());
        let asked = world.ask();
        assert_eq!(kinds(&asked.body), ["message"]);
        assert_eq!(asked.body.get("previous_response_id"), None);
        assert!(last_user_text(&asked.body).contains("the user did not allow it"));
    }
}

#[test]
fn a_function_gets_its_output_and_the_screen_is_shown_beside_it() {
    let mut world = world(SENT, "function");
    let reading = world.decide(&[answer("function")]);
    let Next::CallFunctions(calls) = &reading.next else {
        panic!("{reading:?}")
    };
    assert_eq!(calls[0].name, "billing.lookup");
    world.carry_out(&reading, &[Performed]);
    let asked = world.ask();
    let items = asked.body["input"].as_array().unwrap();
    assert_eq!(items[3]["output"], "{\"paid\":true}");
    assert_eq!(items[4]["content"][0]["type"], "input_image");
}

#[test]
fn an_answer_without_a_call_is_the_end() {
    let mut world = world(SENT, "done");
    let reading = world.decide(&[answer("done")]);
    let Next::Done { answer: text, .. } = &reading.next else {
        panic!("{reading:?}")
    };
    assert_eq!(text, "The file is saved.");
    // The orchestrator does not accept the claimed end.
    world.carry_out(&reading, &[]);
    world
        .request
        .notices
        .push("the goal is not reached yet".to_owned());
    let asked = world.ask();
    assert_eq!(
        kinds(&asked.body),
        ["message", "reasoning", "message", "message"]
    );
    assert!(last_user_text(&asked.body).contains("the goal is not reached yet"));
}

/// Returns a response without calls: the summary of its reasoning, and a message.
fn words(reasoning: &str, message: &str) -> Value {
    let mut output = vec![json!({"type": "reasoning", "id": "rs_x",
        "summary": [{"type": "summary_text", "text": reasoning}]})];
    if !message.is_empty() {
        output.push(
            json!({"type": "message", "id": "msg_x", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": message, "annotations": []}]}),
        );
    }
    json!({"id": "resp_x", "status": "completed", "output": output})
}

#[test]
fn response_with_only_reasoning_is_repaired() {
    let thinks = || words("The file seems to be saved.", "");
    let asked_again = FakeTask::new(STORED, "gpt-5.6-sol", None).plan(&[thinks()]);
    let Outcome::Gave(response_error) = asked_again else {
        panic!("{asked_again:?}")
    };
    assert!(
        response_error
            .to_string()
            .contains("neither a call nor an answer")
    );
    let reading = FakeTask::new(STORED, "gpt-5.6-sol", None).decide(&[thinks(), answer("batch")]);
    assert!(matches!(reading.next, Next::Act(_)), "{reading:?}");
}

#[test]
fn text_question_is_asked_but_an_offer_is_not() {
    let next = |message: &str| {
        let response = words("", message);
        FakeTask::new(STORED, "gpt-5.6-sol", None)
            .decide(&[response])
            .next
    };
    for question in [
        "I see two files. Which one shall I save?",
        "要保存哪一个文件？",
        "Should I overwrite `notes.txt`? ",
    ] {
        let Next::Ask {
            question: asked, ..
        } = next(question)
        else {
            panic!("{question}")
        };
        assert_eq!(asked, question.trim());
    }
    for answer in [
        "It is saved.",
        "It is saved. Is there anything else I can do for you?",
        "已保存。还需要别的吗？",
    ] {
        assert!(matches!(next(answer), Next::Done { .. }), "{answer}");
    }
}

/// Returns a response that calls one of the tools beside the computer.
fn tool_call(name: &str, arguments: Value) -> Value {
    json!({"id": "resp_x", "status": "completed", "output": [
        {"type": "function_call", "id": "fc_x", "call_id": "call_x", "name": name,
            "arguments": arguments.to_string()}]})
}

#[test]
fn the_browser_applications_and_windows_are_functions() {
    let done = |name: &str, arguments: Value| {
        let reading =
            FakeTask::new(SENT, "gpt-5.6-sol", None).decide(&[tool_call(name, arguments)]);
        match reading.next {
            Next::Act(actions) => format!("{:?}", actions[0].action),
            other => format!("{other:?}"),
        }
    };
    let address = json!({"url": "https://shop.example"});
    assert!(done("go_to_url", address).contains("GoToUrl"));
    assert_eq!(done("go_back", json!({})), "GoBack");
    assert_eq!(done("go_forward", json!({})), "GoForward");
    assert_eq!(done("refresh", json!({})), "Refresh");
    assert!(done("open_application", json!({"name": "files"})).contains("\"Files\""));
    assert!(done("focus_window", json!({"window": "Notes"})).contains("FocusWindow"));
    assert!(done("read_page", json!({})).contains("Extract"));
    let unknown = FakeTask::new(SENT, "gpt-5.6-sol", None)
        .plan(&[tool_call("open_application", json!({"name": "Shell"}))]);
    let Outcome::Gave(response_error) = unknown else {
        panic!("{unknown:?}")
    };
    assert!(
        response_error.to_string().contains("these can: Files"),
        "{response_error}"
    );
}

#[test]
fn current_url_is_sent_with_the_call_output() {
    let url = "https://shop.example/cart";
    let mut newer = FakeTask::new(SENT, "gpt-5.6-sol", None);
    let reading = newer.decide(&[answer("batch")]);
    newer.carry_out(&reading, &[Performed, Performed, Performed]);
    newer.request.current_url = Some(url.to_owned());
    assert!(last_user_text(&newer.ask().body).contains(url));

    let mut older = FakeTask::new(SENT, "computer-use-preview", None);
    let reading = older.decide(&[answer("preview")]);
    older.carry_out(&reading, &[Performed]);
    older.request.current_url = Some(url.to_owned());
    let body = older.ask().body;
    let items = body["input"].as_array().unwrap();
    let output = items
        .iter()
        .find(|item| item["type"] == "computer_call_output");
    assert_eq!(output.unwrap()["output"]["current_url"], url);
}

#[test]
fn a_list_of_keys_is_pressed_in_order_or_as_a_chord() {
    let pressed = |keys: Value| {
        let response = call(json!({"type": "keypress", "keys": keys}));
        let reading = FakeTask::new(SENT, "gpt-5.6-sol", None).decide(&[response]);
        let intents = actions(&reading.next).iter();
        intents
            .map(|planned| planned.intent.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        pressed(json!(["DOWN", "DOWN", "ENTER"])),
        ["press down", "press down", "press enter"]
    );
    assert_eq!(pressed(json!(["CTRL", "S"])), ["press ctrl+s"]);
    assert_eq!(
        pressed(json!(["CTRL+A", "DELETE"])),
        ["press ctrl+a", "press delete"]
    );
}

#[test]
fn refusals_and_failures_are_distinguished() {
    let gave = |name: &'static str| match world(SENT, name).plan(&[answer(name)]) {
        Outcome::Gave(response_error) => response_error,
        other => panic!("{other:?}"),
    };
    let message = |message: &str| message.to_owned();
    assert_eq!(
        gave("refusal"),
        ResponseError::Refused {
            message: message("I will not do that.")
        }
    );
    let message = message("the provider's filter stopped the answer");
    assert_eq!(gave("filtered"), ResponseError::Refused { message });
    assert_eq!(gave("cut_off"), ResponseError::Truncated { limit: 4096 });
    assert_eq!(
        gave("failed"),
        ResponseError::invalid("The response is failed. The model failed.")
    );
}

#[test]
fn every_action_of_the_tool_is_understood() {
    let check = |action: Value, expected: &str| {
        let got = match FakeTask::new(SENT, "gpt-5.6-sol", None).plan(&[call(action.clone())]) {
            Outcome::Decided(reading) => actions(&reading.next)[0].intent.clone(),
            Outcome::Gave(response_error) => {
                response_error.to_string().replace("Action 1 of 1: ", "")
            }
        };
        assert_eq!(got, expected, "{action}");
    };
    check(
        json!({"type": "click", "button": "right", "x": 60, "y": 55}),
        "right-click \"Save\"",
    );
    check(
        json!({"type": "click", "button": "wheel", "x": 0, "y": 0}),
        "middle-click a point at the top left",
    );
    check(
        json!({"type": "click", "button": "back", "x": 0, "y": 0}),
        "go back",
    );
    check(
        json!({"type": "double_click", "x": 60, "y": 55, "keys": null}),
        "double-click \"Save\"",
    );
    check(
        json!({"type": "click", "button": "left", "x": 60, "y": 55, "keys": ["CTRL"]}),
        "ctrl+click \"Save\"",
    );
    check(
        json!({"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 60, "y": 55}]}),
        "drag from a point at the top left to \"Save\"",
    );
    check(
        json!({"type": "move", "x": 1, "y": 2}),
        "move the pointer to a point at the top left",
    );
    check(
        json!({"type": "keypress", "keys": ["CTRL", "SHIFT", "T"]}),
        "press ctrl+shift+t",
    );
    check(
        json!({"type": "type", "text": "penguin"}),
        "type \"penguin\"",
    );
    check(json!({"type": "wait"}), "wait");
    check(
        json!({"type": "fly"}),
        "The computer has no action \"fly\".",
    );
    check(json!({"type": "click", "x": 1}), "click needs x and y.");
    check(
        json!({"type": "drag", "path": [{"x": 1, "y": 2}]}),
        "drag needs a path of at least two points.",
    );
    check(
        json!({"type": "keypress", "keys": ["FLURB"]}),
        "No key is called \"FLURB\".",
    );
    check(
        json!({"type": "click", "button": "nose", "x": 1, "y": 1}),
        "The mouse has no button \"nose\".",
    );
    check(
        json!({"type": "scroll", "x": 1, "y": 1, "scroll_x": 0, "scroll_y": 0}),
        "scroll needs scroll_x or scroll_y.",
    );
}

#[test]
fn pixels_become_clicks_of_the_wheel() {
    let check = |scroll_x: i32, scroll_y: i32, expected: (i32, i32)| {
        let response = call(
            json!({"type": "scroll", "x": 1, "y": 1, "scroll_x": scroll_x, "scroll_y": scroll_y}),
        );
        let reading = FakeTask::new(SENT, "gpt-5.6-sol", None).decide(&[response]);
        let Action::Scroll {
            amount: ScrollAmount::Notches { x, y },
            ..
        } = actions(&reading.next)[0].action
        else {
            panic!("{reading:?}")
        };
        assert_eq!((x, y), expected);
    };
    check(0, 300, (0, 3));
    check(0, -250, (0, -3));
    check(20, 0, (1, 0));
    check(-149, 0, (-1, 0));
}

#[test]
fn the_wheel_is_the_middle_button() {
    let response = call(json!({"type": "click", "button": "wheel", "x": 1, "y": 1}));
    let reading = FakeTask::new(SENT, "gpt-5.6-sol", None).decide(&[response]);
    let Action::Click { button, .. } = &actions(&reading.next)[0].action else {
        panic!("{reading:?}")
    };
    assert_eq!(*button, Button::Middle);
}

#[test]
fn every_field_is_honoured_or_refused() {
    let check = |action: Value, expected: &str| {
        let got = match FakeTask::new(SENT, "gpt-5.6-sol", None).plan(&[call(action.clone())]) {
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
        assert!(got.contains(expected), "{action}: {got}");
    };
    // A text with a place goes to that place.
    check(
        json!({"type": "type", "text": "a", "x": 60, "y": 55}),
        "click \"Save\"; type \"a\"",
    );
    check(
        json!({"type": "type", "text": "a", "x": 60}),
        "type needs x and y.",
    );
    for (action, refused) in [
        (
            json!({"type": "keypress", "keys": ["A"], "x": 1, "y": 1}),
            "x, y",
        ),
        (json!({"type": "wait", "x": 1, "y": 1}), "x, y"),
        (
            json!({"type": "move", "x": 1, "y": 1, "keys": ["CTRL"]}),
            "keys",
        ),
        (
            json!({"type": "move", "x": 1, "y": 1, "button": "left"}),
            "button",
        ),
        (
            json!({"type": "click", "x": 1, "y": 1, "text": "a"}),
            "text",
        ),
        (
            json!({"type": "click", "x": 1, "y": 1, "scroll_y": 5}),
            "scroll_y",
        ),
        (
            json!({"type": "double_click", "x": 1, "y": 1, "button": "right"}),
            "button",
        ),
        (
            json!({"type": "type", "text": "a", "keys": ["CTRL"]}),
            "keys",
        ),
    ] {
        check(action, &format!("takes no {refused}"));
    }
    // As tools of other providers write them.
    check(
        json!({"type": "scroll", "x": 1, "y": 1, "direction": "down"}),
        "scroll down",
    );
    check(json!({"type": "press", "keys": "ctrl+s"}), "press ctrl+s");
    check(json!({"type": "key", "key": "enter"}), "press enter");
    check(json!({"type": "done", "text": "saved"}), "done: saved");
    check(json!({"type": "fail", "text": "no file"}), "fail: no file");
    check(json!({"type": "terminate", "status": "success"}), "done: ");
    check(
        json!({"type": "terminate", "status": "odd"}),
        "terminate needs a status",
    );
}

#[test]
fn provider_stored_tokens_count_towards_the_next_call() {
    let mut stored = FakeTask::new(STORED, "gpt-5.6-sol", None);
    let first = stored.ask();
    assert_eq!(first.kept_tokens, 0);
    let response = answer("batch");
    let reading = stored.decide(std::slice::from_ref(&response));
    stored.carry_out(&reading, &[Performed, Performed, Performed]);
    let usage = &response["usage"];
    let counted =
        usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap();
    assert_eq!(stored.ask().kept_tokens, counted);

    let mut sent = FakeTask::new(SENT, "gpt-5.6-sol", None);
    let reading = sent.decide(&[response]);
    sent.carry_out(&reading, &[Performed, Performed, Performed]);
    assert_eq!(sent.ask().kept_tokens, 0, "all of it is in the request");
}

#[test]
fn a_conversation_that_the_model_cannot_hold_begins_anew() {
    let mut stored = FakeTask::new(STORED, "gpt-5.6-sol", None);
    let reading = stored.decide(&[answer("batch")]);
    stored.carry_out(&reading, &[Performed, Performed, Performed]);
    let goes_on = |world: &mut FakeTask| !world.ask().body["previous_response_id"].is_null();
    assert!(goes_on(&mut stored));
    stored.model().context_tokens = Some(2000);
    assert!(!goes_on(&mut stored));
}
