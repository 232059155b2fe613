//! OpenCUA.

use motorium_planner::backends::opencua::{
    HistoryKind, OpenCua, Options, PromptGeneration, ThoughtLevel,
};
use motorium_planner::response::ResponseError;
use motorium_proto::domain::decision::Next;
use motorium_proto::domain::effect::Verdict;
use serde_json::json;

use motorium_planner::backends::dialect::Dialect as _;
use motorium_planner::screenshot::RequestImages;

use super::{FakeTask, chat, clicked, transcript};

fn response(thought: &str, action: &str, code: &str) -> String {
    format!("## Thought:\n{thought}\n\n## Action:\n{action}\n\n## Code:\n```python\n{code}\n```\n")
}

#[test]
fn the_first_step_is_asked_in_the_form_of_the_first_family() {
    let world = FakeTask::new("opencua-7b");
    let asked = world.ask(&OpenCua::default());
    insta::assert_snapshot!("opencua_first_step", transcript(&asked.body));
    let settings =
        ["model", "temperature", "top_p", "max_tokens"].map(|key| asked.body[key].clone());
    assert_eq!(
        settings,
        [json!("opencua-7b"), json!(0.0), json!(0.9), json!(2048)]
    );
}

#[test]
fn every_level_and_family_has_its_instruction() {
    let mut all = String::new();
    for family in [PromptGeneration::V1, PromptGeneration::V2] {
        for level in [ThoughtLevel::L1, ThoughtLevel::L2, ThoughtLevel::L3] {
            let dialect = OpenCua::new(Options {
                family: Some(family),
                level,
                history: None,
            });
            let asked = FakeTask::new("opencua-7b").ask(&dialect);
            let system = asked.body["messages"][0]["content"]
                .as_str()
                .unwrap()
                .to_owned();
            all += &format!("=== {family:?} {level:?}\n{system}\n");
        }
    }
    insta::assert_snapshot!("opencua_instructions", all);
}

/// Five steps, the first by another backend and the third without effect: two are shown as images, the others as text.
fn under_way(dialect: &OpenCua, model: &str) -> FakeTask {
    let mut world = FakeTask::new(model);
    world.another("The menu is closed.", "open the File menu");
    let click = |x: i32| format!("pyautogui.click(x={x}, y=20)");
    world.go_on(
        dialect,
        &response("The menu is open.", "Click Save as.", &click(10)),
        Verdict::Confirmed,
    );
    world.go_on(
        dialect,
        &response("Nothing yet.", "Click Save as again.", &click(11)),
        Verdict::NoEffect,
    );
    world.go_on(
        dialect,
        &response("A dialog.", "Click the name.", &click(12)),
        Verdict::Confirmed,
    );
    let seen = format!(
        "## Observation:\nA field with a caret.\n{}",
        response("Type.", "Type the name.", "pyautogui.write('a')")
    );
    world.go_on(dialect, &seen, Verdict::ChangedElsewhere);
    world
        .request
        .user_messages
        .push("Call it report.".to_owned());
    world.request.notices.push("Two steps are left.".to_owned());
    world.request.instructions = "Never overwrite a file.".to_owned();
    world
}

#[test]
fn recent_steps_are_shown_and_older_ones_described() {
    let dialect = OpenCua::default();
    let asked = under_way(&dialect, "opencua-7b").ask(&dialect);
    insta::assert_snapshot!("opencua_under_way", transcript(&asked.body));
}

#[test]
fn history_kind_selects_the_history_text() {
    let mut all = String::new();
    for kind in [
        HistoryKind::Action,
        HistoryKind::Thought,
        HistoryKind::Observation,
    ] {
        let dialect = OpenCua::new(Options {
            history: Some(kind),
            ..Options::default()
        });
        let asked = under_way(&dialect, "opencua-7b").ask(&dialect);
        let messages = asked.body["messages"].as_array().unwrap();
        let last = messages[messages.len() - 2]["content"].as_str().unwrap();
        all += &format!("=== {kind:?}\n{last}\n");
    }
    insta::assert_snapshot!("opencua_kinds_of_history", all);
    let by_name = |model: &str| {
        transcript(
            &under_way(&OpenCua::default(), model)
                .ask(&OpenCua::default())
                .body,
        )
    };
    assert!(by_name("xlangai/OpenCUA-72B").contains("## Thought:\nA dialog."));
    assert!(!by_name("xlangai/OpenCUA-32B").contains("## Thought:\nA dialog."));
}

#[test]
fn a_task_with_functions_is_left_to_another_backend_with_the_reason() {
    let dialect = OpenCua::default();
    let mut world = FakeTask::new("opencua-7b");
    world.request.functions = vec![motorium_proto::domain::decision::FunctionDeclaration {
        name: "billing.lookup".to_owned(),
        description: String::new(),
        parameters_json_schema: String::new(),
    }];
    let images = RequestImages::of(&world.request);
    let error = dialect.build_request(&world.step(&images)).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("cannot call functions") && message.contains("billing.lookup"),
        "{message}"
    );
}

#[test]
fn current_url_reaches_chat_models() {
    let mut world = FakeTask::new("opencua-7b");
    world.request.current_url = Some("https://shop.example/cart".to_owned());
    let text = transcript(&world.ask(&OpenCua::default()).body);
    assert!(text.contains("https://shop.example/cart"), "{text}");
    let mut world = FakeTask::new("qwen3-vl-plus");
    world.request.current_url = Some("https://shop.example/cart".to_owned());
    let text = transcript(&world.ask(&motorium_planner::backends::qwen_vl::QwenVl).body);
    assert!(text.contains("https://shop.example/cart"), "{text}");
}

#[test]
fn history_without_images_is_sent_as_text() {
    let dialect = OpenCua::default();
    let mut world = under_way(&dialect, "opencua-7b");
    for step in &mut world.request.history {
        step.image = None;
    }
    let asked = world.ask(&dialect);
    let text = transcript(&asked.body);
    assert_eq!(text.matches("<screen").count(), 1, "{text}");
    assert_eq!(text.matches("--- assistant").count(), 1, "{text}");
}

#[test]
fn an_answer_is_a_decision_in_pixels_of_the_frame() {
    let world = FakeTask::new("opencua-7b");
    let answer = response(
        "The dialog is open.",
        "Click the Save button.",
        "pyautogui.click(x=504, y=406)",
    );
    let reading = world.read(&OpenCua::default(), &chat(&answer)).unwrap();
    // The image of 1000×800 is resized to 1008×812.
    assert_eq!(clicked(&reading), (500, 400));
    assert_eq!(reading.thought, "The dialog is open.");
    assert_eq!(reading.progress, "Click the Save button.");
    let Next::Act(actions) = reading.next else {
        panic!("it acts");
    };
    assert_eq!(actions[0].intent, "Click the Save button.");
    assert!(actions[0].repeatable);
}

#[test]
fn kimi_based_model_uses_fractional_coordinates() {
    let world = FakeTask::new("OpenCUA-A3B");
    let answer = chat("```python\npyautogui.click(x=0.5, y=0.25)\n```");
    assert_eq!(
        clicked(&world.read(&OpenCua::default(), &answer).unwrap()),
        (500, 200)
    );
}

#[test]
fn endings() {
    let world = FakeTask::new("opencua-72b");
    let read = |code: &str| {
        let answer = format!(
            "## Thought:\nAll done.\n## Action:\nEnd the task.\n## Code:\n```code\n{code}\n```"
        );
        world
            .read(&OpenCua::default(), &chat(&answer))
            .unwrap()
            .next
    };
    let done = |answer: &str| Next::Done {
        answer: answer.to_owned(),
        evidence: Vec::new(),
    };
    assert_eq!(
        read("computer.terminate(status=\"success\")"),
        done("End the task.")
    );
    assert_eq!(
        read("computer.terminate(status='success', answer='7 files')"),
        done("7 files")
    );
    let failed = Next::Fail {
        reason: "End the task.".to_owned(),
    };
    assert_eq!(read("computer.terminate(status=\"fail\")"), failed);
    // Actions before the end are performed; the model then declares the end again.
    assert!(matches!(
        read("pyautogui.press('enter')\ncomputer.terminate(status='success')"),
        Next::Act(_)
    ));
}

fn check_misread(text: &str, expected: &str) {
    let response_error = FakeTask::new("opencua-7b")
        .read(&OpenCua::default(), &chat(text))
        .unwrap_err();
    assert!(
        response_error.to_string().contains(expected),
        "{text}: {response_error}"
    );
}

#[test]
fn invalid_response_is_reported_with_its_reason() {
    check_misread("I click Save.", "no code");
    check_misread("```python\nfor x in y: pass\n```", "line 1");
    check_misread(
        "```python\npyautogui.click(1008, 5)\n```",
        "outside the screenshot: x goes from 0 to 1007",
    );
    check_misread("```python\npyautogui.click(0.5, 0.5)\n```", "fractions");
    check_misread("", "empty");
    let mut cut = chat("```python\npyautogui.click(1, 2)\n```");
    cut["choices"][0]["finish_reason"] = json!("length");
    let response_error = FakeTask::new("opencua-7b")
        .read(&OpenCua::default(), &cut)
        .unwrap_err();
    assert!(
        matches!(response_error, ResponseError::Truncated { .. }),
        "{response_error}"
    );
}

#[test]
fn repair_request_states_the_error_and_raises_temperature() {
    let world = FakeTask::new("opencua-7b");
    let answer = chat("```python\npyautogui.click(2000, 5)\n```");
    let response_error = world.read(&OpenCua::default(), &answer).unwrap_err();
    let repair = world.repair(&OpenCua::default(), &answer, &response_error);
    let text = transcript(&repair.body);
    assert!(text.ends_with(
        "--- assistant\n```python\npyautogui.click(2000, 5)\n```\n--- user\nYour answer cannot be carried out: the point (2000, 5) is \
         outside the screenshot: x goes from 0 to 1007 and y from 0 to 811. Nothing of it was done. Answer again, in the same form.\n"
    ), "{text}");
    assert_eq!(repair.body["temperature"], json!(0.2));
    assert_eq!(repair.view, world.ask(&OpenCua::default()).view);
}

#[test]
fn a_goal_in_chinese_is_asked_in_chinese() {
    let mut world = FakeTask::new("opencua-7b");
    world.request.goal = "保存文件".to_owned();
    let text = transcript(&world.ask(&OpenCua::default()).body);
    assert!(
        text.contains("你是一个图形界面智能体") && text.contains("# Task Instruction:\n保存文件\n"),
        "{text}"
    );
}
