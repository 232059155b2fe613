//! Qwen-VL.

use motorium_planner::backends::dialect::Dialect;
use motorium_planner::backends::opencua::OpenCua;
use motorium_planner::backends::qwen_vl::QwenVl;
use motorium_planner::response::ResponseError;
use motorium_proto::domain::decision::{FunctionCall, FunctionDeclaration, FunctionResult, Next};
use motorium_proto::domain::effect::Verdict;
use serde_json::json;

use super::{FakeTask, chat, clicked, transcript};

fn call(arguments: &str) -> String {
    format!(
        "<tool_call>\n{{\"name\": \"computer_use\", \"arguments\": {{{arguments}}}}}\n</tool_call>"
    )
}

fn click(words: &str, x: i32, y: i32) -> String {
    format!(
        "Action: {words}\n{}",
        call(&format!(
            "\"action\": \"left_click\", \"coordinate\": [{x}, {y}]"
        ))
    )
}

#[test]
fn the_first_step_is_asked_with_the_functions_in_the_system_prompt() {
    let asked = FakeTask::new("qwen3-vl-plus").ask(&QwenVl);
    insta::assert_snapshot!("qwen_vl_first_step", transcript(&asked.body));
    assert_eq!(asked.body["temperature"], json!(0.0));
    assert!(asked.body.get("tools").is_none());
}

#[test]
fn prompt_states_the_coordinate_size_of_each_generation() {
    let system = |model: &str| transcript(&FakeTask::new(model).ask(&QwenVl).body);
    assert!(system("qwen2.5-vl-72b-instruct").contains("The screen's resolution is 1008x812."));
    assert!(system("qwen3-vl-plus").contains("The screen's resolution is 1000x1000."));
    assert!(system("qwen3.5-27b").contains("The screen's resolution is 1000x1000."));
}

#[test]
fn each_generation_uses_its_coordinate_convention() {
    let at = |model: &str, x: i32, y: i32| {
        let reading = FakeTask::new(model).read(&QwenVl, &chat(&click("Click Save.", x, y)));
        clicked(&reading.unwrap())
    };
    assert_eq!(at("qwen2.5-vl-72b-instruct", 504, 406), (500, 400));
    assert_eq!(at("qwen3-vl-plus", 500, 500), (500, 400));
    assert_eq!(at("qwen3-vl-plus", 1000, 1000), (999, 799));
    assert_eq!(at("qwen3-vl-plus", 999, 999), (999, 799));
}

#[test]
fn fractional_coordinates_are_refused() {
    for model in ["qwen3-vl-plus", "qwen2.5-vl-72b-instruct"] {
        for point in ["[0.4531, 0.5]", "[0.002, 1]", "[0, 0.9]"] {
            let answer = call(&format!(
                "\"action\": \"left_click\", \"coordinate\": {point}"
            ));
            let response_error = FakeTask::new(model)
                .read(&QwenVl, &chat(&answer))
                .unwrap_err();
            let message = response_error.to_string();
            assert!(
                message.contains("seems to be given in fractions of the screenshot"),
                "{model} {point}: {message}"
            );
        }
    }
}

/// Five steps: three are shown as images, the others as text.
fn under_way() -> FakeTask {
    let mut world = FakeTask::new("qwen3-vl-plus");
    world.another("The menu is closed.", "open the File menu");
    world.go_on(
        &QwenVl,
        &click("Click Save as.", 10, 20),
        Verdict::Confirmed,
    );
    world.another("The dialog is open.", "click the name");
    world.go_on(
        &QwenVl,
        &click("Click the name again.", 11, 20),
        Verdict::NoEffect,
    );
    world.go_on(&QwenVl, &click("Click OK.", 12, 20), Verdict::Confirmed);
    world
        .request
        .user_messages
        .push("Call it report.".to_owned());
    world
}

#[test]
fn the_last_steps_are_shown_with_its_own_answers() {
    let asked = under_way().ask(&QwenVl);
    let text = transcript(&asked.body);
    let (_, after_system) = text.split_once("--- user").unwrap();
    insta::assert_snapshot!("qwen_vl_under_way", after_system);
}

#[test]
fn current_facts_are_beside_the_current_screenshot() {
    let mut world = under_way();
    world.request.remaining.steps = Some(3);
    world.request.current_url = Some("https://shop.example/cart".to_owned());
    world.request.notices = vec!["The claim was refused.".to_owned()];
    let text = transcript(&world.ask(&QwenVl).body);
    let (before, now) = text.rsplit_once("--- user").unwrap();
    for shown_text in [
        "https://shop.example/cart",
        "The claim was refused.",
        "This is step 6; left: 3 steps.",
    ] {
        assert!(
            now.contains(shown_text) && !before.contains(shown_text),
            "{shown_text}\n{text}"
        );
    }
}

#[test]
fn an_answer_is_a_decision() {
    let world = FakeTask::new("qwen3-vl-plus");
    let text = format!("The dialog is open.\n{}", click("Click Save.", 500, 320));
    let reading = world.read(&QwenVl, &chat(&text)).unwrap();
    assert_eq!(reading.thought, "The dialog is open.\nAction: Click Save.");
    assert_eq!(reading.progress, "Click Save.");
    assert_eq!(clicked(&reading), (500, 256));
    let done = world
        .read(
            &QwenVl,
            &chat(&call("\"action\": \"answer\", \"text\": \"42\"")),
        )
        .unwrap();
    assert!(matches!(done.next, Next::Done { answer, .. } if answer == "42"));
}

#[test]
fn calls_that_the_server_has_read_are_calls() {
    let mut answer = chat("");
    answer["choices"][0]["message"]["content"] = json!(null);
    answer["choices"][0]["message"]["tool_calls"] = json!([{"id": "c1", "type": "function", "function":
        {"name": "computer_use", "arguments": "{\"action\": \"left_click\", \"coordinate\": [500, 500]}"}}]);
    let world = FakeTask::new("qwen3-vl-plus");
    assert_eq!(clicked(&world.read(&QwenVl, &answer).unwrap()), (500, 400));
    answer["choices"][0]["finish_reason"] = json!("length");
    assert!(matches!(
        world.read(&QwenVl, &answer),
        Err(ResponseError::Truncated { .. })
    ));
}

#[test]
fn functions_of_the_task_can_be_called() {
    let mut world = FakeTask::new("qwen3-vl-plus");
    world.request.functions.push(FunctionDeclaration {
        name: "billing.lookup".to_owned(),
        description: "Looks an invoice up.".to_owned(),
        parameters_json_schema: r#"{"type":"object","properties":{"id":{"type":"integer"}}}"#
            .to_owned(),
    });
    let text = transcript(&world.ask(&QwenVl).body);
    assert!(text.contains(r#""name":"billing.lookup""#), "{text}");
    let lookup = r#"<tool_call>{"name": "billing.lookup", "arguments": {"id": 7}}</tool_call>"#;
    let expected = Next::CallFunctions(vec![FunctionCall {
        call_id: "step-1-call-1".to_owned(),
        name: "billing.lookup".to_owned(),
        arguments_json: r#"{"id":7}"#.to_owned(),
    }]);
    let next = |text: &str| world.read(&QwenVl, &chat(text)).unwrap().next;
    assert_eq!(next(lookup), expected);
    assert_eq!(
        next(&format!("{lookup}{}", call("\"action\": \"wait\""))),
        expected
    );
    assert!(
        matches!(next(&format!("{}{lookup}", call("\"action\": \"wait\""))), Next::Act(actions) if actions.len() == 1)
    );
    let wrong =
        r#"<tool_call>{"name": "billing.lookup", "arguments": {"id": "seven"}}</tool_call>"#;
    let response_error = world.read(&QwenVl, &chat(wrong)).unwrap_err().to_string();
    assert!(
        response_error.contains("the arguments of `billing.lookup`"),
        "{response_error}"
    );
}

/// Adds a step with a function call and this result.
fn look_up(world: &mut FakeTask, result: &str) {
    world.another("", "look the invoice up");
    let step = world.request.history.last_mut().unwrap();
    step.function_calls.push(FunctionCall {
        call_id: "c".to_owned(),
        name: "billing.lookup".to_owned(),
        arguments_json: "{}".to_owned(),
    });
    step.function_results.push(FunctionResult {
        call_id: "c".to_owned(),
        outcome: Ok(result.to_owned()),
    });
}

#[test]
fn function_result_is_sent_with_the_next_screenshot() {
    let mut world = FakeTask::new("qwen3-vl-plus");
    look_up(&mut world, r#"{"paid":true}"#);
    let text = transcript(&world.ask(&QwenVl).body);
    let last = "--- user\n<screen 1 at 1000x800>\n<untrusted source=\"billing.lookup\">\n{\"paid\":true}\n</untrusted>\n\nThis is step 2.\n";
    assert!(text.ends_with(last), "{text}");
}

#[test]
fn long_function_results_of_many_steps_are_bounded_and_the_latest_kept() {
    for (model, dialect) in [
        ("qwen3-vl-plus", &QwenVl as &dyn Dialect),
        ("opencua-7b", &OpenCua::default()),
    ] {
        let mut world = FakeTask::new(model);
        for number in 0..40 {
            let result = format!("invoice {number}: {}", "9".repeat(64 << 10));
            look_up(&mut world, &result);
        }
        let text = transcript(&world.ask(dialect).body);
        assert!(text.len() < 60_000, "{model}: {} bytes", text.len());
        assert!(text.contains("invoice 39: 99"), "{model}");
        assert!(!text.contains("invoice 3: "), "{model}");
    }
}

#[test]
fn invalid_response_is_reported_with_its_reason() {
    let response_error = |text: &str| {
        FakeTask::new("qwen3-vl-plus")
            .read(&QwenVl, &chat(text))
            .unwrap_err()
            .to_string()
    };
    assert!(response_error("I would click.").contains("no tool call"));
    assert!(response_error(&click("", 1001, 5)).contains("x goes from 0 to 1000"));
    assert!(response_error(&call("\"action\": \"fly\"")).contains("no action `fly`"));
    assert!(
        response_error("<tool_call>{\"name\": \"shell\", \"arguments\": {}}")
            .contains("no function `shell`")
    );
}
