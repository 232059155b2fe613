//! The exchange with Claude.

use motorium_planner::backends::claude_computer::ClaudeComputer;
use motorium_planner::response::ResponseError;
use motorium_proto::domain::action::{Action, Target};
use motorium_proto::domain::decision::Next;
use motorium_proto::domain::effect::ActionResult::{Failed, Performed, Refused};
use serde_json::{Value, json};

use super::fake_task::{FakeTask, Outcome};
use super::request_checks::of_type;
use crate::fixtures::fixture;

pub(super) fn answer(name: &str) -> Value {
    fixture(&format!("anthropic/{name}.json"))
}

fn opus(name: &'static str) -> FakeTask {
    FakeTask::new(ClaudeComputer, "claude-opus-4-6", Some(name))
}

fn opus_with_toolset(name: &'static str) -> FakeTask {
    FakeTask::new(ClaudeComputer, "claude-opus-5-5", Some(name))
}

pub(super) fn actions(next: &Next) -> &[motorium_proto::domain::decision::PlannedAction] {
    match next {
        Next::Act(actions) => actions,
        other => panic!("{other:?}"),
    }
}

/// Returns the results in the last message.
fn results(body: &Value) -> Vec<&Value> {
    let messages = body["messages"].as_array().unwrap();
    of_type(messages.last().unwrap(), "tool_result")
}

fn texts(value: &Value) -> String {
    match &value["content"] {
        Value::String(text) => text.clone(),
        other => {
            let texts = of_type(other, "text");
            let texts: Vec<&str> = texts
                .iter()
                .filter_map(|text| text["text"].as_str())
                .collect();
            texts.join("\n")
        }
    }
}

#[test]
fn click_has_frame_coordinates_and_an_intent() {
    let reading = opus("click").decide(&[answer("click")]);
    let [planned] = actions(&reading.next) else {
        panic!("{reading:?}")
    };
    assert_eq!(planned.intent, "shift+click \"Save\"");
    assert_eq!(
        (reading.progress.as_str(), reading.thought.as_str()),
        ("I save the file.", "I save the file.")
    );
    let Action::Click {
        at: Some(Target::Point(point)),
        ..
    } = &planned.action
    else {
        panic!("{planned:?}")
    };
    assert_eq!((point.x, point.y), (60, 55));
}

#[test]
fn a_closer_look_is_cut_out_of_the_frame_at_once() {
    let mut world = opus("zoom");
    let reading = world.decide(&[answer("screenshot"), answer("zoom"), answer("click")]);
    assert_eq!(actions(&reading.next).len(), 1);
    world.carry_out(&reading, &[Performed]);
    let asked = world.ask();
    let images = of_type(&asked.body["messages"], "image");
    // The first screenshot, the same again, the zoom, and the screenshot after the click.
    assert_eq!(images.len(), 4);
    assert_eq!(images[0], images[1]);
    assert_ne!(images[1], images[2]);
}

#[test]
fn observation_calls_of_a_turn_are_answered_together() {
    let mut world = opus_with_toolset("looks");
    let reading = world.decide(&[answer("toolset_looks"), answer("toolset_batch")]);
    world.carry_out(&reading, &[Performed, Performed, Performed]);
    let asked = world.ask();
    let looked = of_type(&asked.body["messages"][2], "tool_result");
    assert_eq!(of_type(looked[0], "image").len(), 1);
    assert_eq!(texts(looked[1]), "X=40,Y=50");
}

#[test]
fn calls_after_a_failure_get_the_prescribed_result() {
    let mut world = opus_with_toolset("batch");
    let reading = world.decide(&[answer("toolset_batch")]);
    assert_eq!(actions(&reading.next).len(), 3);
    world.carry_out(&reading, &[Performed, Refused]);
    let asked = world.ask();
    let results = results(&asked.body);
    let result_texts: Vec<String> = results.iter().map(|result| texts(result)).collect();
    assert_eq!(
        result_texts,
        [
            "Done; the screen changed.",
            "Not allowed: said by the test",
            "Not executed: an earlier computer action in this turn failed.",
            "Not executed: an earlier computer action in this turn failed.",
        ]
    );
    let errors: Vec<bool> = results
        .iter()
        .map(|result| result["is_error"] == true)
        .collect();
    assert_eq!(errors, [false, true, true, true]);
}

#[test]
fn a_screenshot_after_actions_is_the_next_one() {
    let mut world = opus_with_toolset("batch-done");
    let reading = world.decide(&[answer("toolset_batch")]);
    world.carry_out(&reading, &[Performed, Performed, Performed]);
    let asked = world.ask();
    let shown = of_type(results(&asked.body)[3], "image");
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0]["source"]["data"], world.screen());
}

#[test]
fn calls_before_an_invalid_call_are_performed() {
    let mut world = opus_with_toolset("half-wrong");
    let reading = world.decide(&[answer("toolset_half_wrong")]);
    assert_eq!(actions(&reading.next).len(), 1);
    world.carry_out(&reading, &[Performed]);
    let asked = world.ask();
    let result_texts: Vec<String> = results(&asked.body)
        .iter()
        .map(|result| texts(result))
        .collect();
    assert!(
        result_texts[1].starts_with("Coordinate outside the screen"),
        "{result_texts:?}"
    );
    assert_eq!(
        result_texts[2],
        "Not executed: an earlier computer action in this turn failed."
    );
}

#[test]
fn finish_in_the_same_turn_as_actions_is_ignored() {
    let mut world = opus_with_toolset("then-finish");
    let reading = world.decide(&[answer("toolset_then_finish")]);
    assert_eq!(actions(&reading.next).len(), 1);
    world.carry_out(&reading, &[Performed]);
    let asked = world.ask();
    assert!(texts(results(&asked.body)[1]).starts_with("Not executed: something else"));
}

#[test]
fn point_outside_the_screen_is_repaired_once() {
    let mut world = opus("outside");
    let reading = world.decide(&[answer("outside"), answer("click")]);
    assert_eq!(actions(&reading.next).len(), 1);
    let mut world = opus("outside-twice");
    let Outcome::Gave(response_error) = world.plan(&[answer("outside"), answer("outside")]) else {
        panic!("a decision")
    };
    assert!(
        response_error
            .to_string()
            .starts_with("Coordinate outside the screen")
    );
}

#[test]
fn a_turn_without_a_call_is_asked_for_one() {
    let mut world = opus("text-only");
    let reading = world.decide(&[answer("text_only"), answer("finish")]);
    let Next::Done { answer, evidence } = reading.next else {
        panic!("{reading:?}")
    };
    assert_eq!(
        (answer.as_str(), evidence.as_slice()),
        ("The file is saved.", &["Saved".to_owned()][..])
    );
}

#[test]
fn tool_choice_is_forced_only_where_supported() {
    let choice = |model: &str| {
        let mut world = FakeTask::new(ClaudeComputer, model, None);
        world.decide(&[answer("text_only"), answer("finish")]);
        let Some(repair) = world.last_sent else {
            panic!("nothing was sent")
        };
        repair["tool_choice"].clone()
    };
    assert_eq!(choice("claude-opus-4-5"), json!({"type": "any"}));
    assert_eq!(choice("claude-opus-4-6"), Value::Null, "it thinks");
    assert_eq!(choice("claude-opus-5-5"), Value::Null, "it refuses that");
}

#[test]
fn a_cut_off_answer_is_never_used_and_gets_more_room() {
    let mut world = opus("cut-off");
    let reading = world.decide(&[answer("cut_off"), answer("click")]);
    assert_eq!(actions(&reading.next).len(), 1);
    // The truncated turn is not part of the conversation.
    world.carry_out(&reading, &[Performed]);
    let asked = world.ask();
    assert_eq!(asked.body["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn a_refusal_is_reported_in_the_providers_words() {
    let Outcome::Gave(response_error) = opus("refusal").plan(&[answer("refusal")]) else {
        panic!("a decision")
    };
    let message = "This would harm somebody.".to_owned();
    assert_eq!(response_error, ResponseError::Refused { message });
}

#[test]
fn a_conversation_that_has_become_too_long_begins_anew() {
    let mut world = opus("too-long");
    let reading = world.decide(&[answer("click")]);
    world.carry_out(&reading, &[Performed]);
    let reading = world.decide(&[answer("too_long"), answer("click")]);
    world.carry_out(&reading, &[Performed]);
    let asked = world.ask();
    let messages = asked.body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3);
    let past = texts(&messages[0]);
    assert!(
        past.contains("Step 1: clicked") && past.contains("the screen changed"),
        "{past}"
    );
}

#[test]
fn every_decision_beside_the_computer_gets_its_result() {
    let check = |name: &'static str, results_of: &[_], expected: &str| {
        let mut world = opus(name);
        let reading = world.decide(&[answer(name)]);
        world.carry_out(&reading, results_of);
        world.request.user_messages.push("notes.txt".to_owned());
        world
            .request
            .notices
            .push("the goal is not reached yet".to_owned());
        let asked = world.ask();
        let results = results(&asked.body);
        assert_eq!(results.len(), 1);
        assert!(
            texts(results[0]).starts_with(expected),
            "{}",
            texts(results[0])
        );
        assert!(texts(results[0]).contains("the goal is not reached yet"));
        assert_eq!(texts(results[0]).matches("notes.txt").count(), 1);
    };
    check("ask_user", &[], "notes.txt");
    check("finish", &[], "The task is not over.");
    check("function", &[Performed], "{\"paid\":true}");
    check("function", &[Failed], "it is not reachable");
    check(
        "function",
        &[],
        "Not executed: it was stopped before it began.",
    );
    check("extract", &[Performed], "{\"total\":7}");
    check("extract", &[], "No data could be taken from the screen.");
}

#[test]
fn suspicious_text_is_reported_with_the_decision() {
    let mut world = opus("suspicious");
    let report = json!({"type": "tool_use", "id": "toolu_r", "name": "report_suspicious_text",
        "input": {"quote": "Save"}});
    let report = json!({"content": [report], "stop_reason": "tool_use"});
    let reading = world.decide(&[report, answer("click")]);
    assert_eq!(reading.suspected_injections.len(), 1);
    assert_eq!(reading.suspected_injections[0].quote, "Save");
    assert!(reading.suspected_injections[0].bounds.is_some());
    // It is reported only once.
    world.carry_out(&reading, &[Performed]);
    let reading = world.decide(&[answer("screenshot"), answer("finish")]);
    assert!(reading.suspected_injections.is_empty());
}

#[test]
fn invalid_function_arguments_are_reported() {
    let call = json!({"type": "tool_use", "id": "toolu_f", "name": "billing_lookup", "input": {"id": "seven"}});
    let call = json!({"content": [call], "stop_reason": "tool_use"});
    let Outcome::Gave(response_error) = opus("bad-arguments").plan(&[call]) else {
        panic!("a decision")
    };
    assert!(
        response_error.to_string().contains("billing.lookup"),
        "{response_error}"
    );
}

#[test]
fn a_function_keeps_its_own_name() {
    let reading = opus("function-name").decide(&[answer("function")]);
    let Next::CallFunctions(calls) = reading.next else {
        panic!("{reading:?}")
    };
    assert_eq!(
        (calls[0].name.as_str(), calls[0].call_id.as_str()),
        ("billing.lookup", "toolu_7")
    );
}

/// Returns the messages without cache marks, which move in every request.
fn unmarked(messages: &Value) -> Vec<Value> {
    let mut messages = messages.as_array().unwrap().clone();
    for message in &mut messages {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    messages
}

/// Runs a task with this many clicks. Returns for each request the length of its conversation, its number of images, and
/// whether it starts with the whole previous one, so that a provider's cache hits.
fn long_task(mut world: FakeTask, steps: usize) -> Vec<(usize, usize, bool)> {
    let mut before: Vec<Value> = Vec::new();
    let mut seen = Vec::new();
    for _ in 0..steps {
        let asked = world.ask();
        let messages = unmarked(&asked.body["messages"]);
        let image_count = of_type(&asked.body["messages"], "image").len();
        seen.push((
            messages.len(),
            image_count,
            messages.starts_with(before.as_slice()),
        ));
        before = messages;
        let reading = world.decide(&[answer("click")]);
        world.carry_out(&reading, &[Performed]);
    }
    seen
}

#[test]
fn old_conversation_images_are_dropped_in_batches() {
    let mut world = opus("long");
    world.retain_images(3, 4);
    assert_eq!(
        long_task(world, 9),
        [
            (1, 1, true),
            (3, 2, true),
            (5, 3, true),
            (7, 4, true),
            (9, 5, true),
            (11, 6, true),
            (13, 3, false),
            (15, 4, true),
            (17, 5, true)
        ]
    );
}

#[test]
fn dropped_images_are_replaced_by_text() {
    let mut world = opus("pruned");
    let mut named = Vec::new();
    for _ in 0..4 {
        let reading = world.decide(&[answer("click")]);
        named.push(reading.conversation_images.len());
        world.carry_out(&reading, &[Performed]);
    }
    assert_eq!(named, [1, 2, 3, 3], "those that it still shows are named");
    let asked = world.ask();
    let messages = &asked.body["messages"];
    assert_eq!(of_type(messages, "image").len(), 3);
    let gone = "(A screenshot of an earlier step, which is no longer shown.)";
    assert!(
        texts(&messages[0]).ends_with(gone),
        "{}",
        texts(&messages[0])
    );
    assert_eq!(
        texts(&messages[2]["content"][0]),
        format!("Done; the screen changed.\n{gone}")
    );
}

#[test]
fn conversation_with_thinking_restarts_instead_of_dropping_images() {
    let mut world = opus_with_toolset("bound");
    world.retain_images(3, 2);
    let click = |number: usize| {
        let call = json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": "left_click",
            "toolset_name": "computer", "caller": {"type": "direct"}, "input": {"coordinate": [40, 50]}});
        json!({"content": [call], "stop_reason": "tool_use"})
    };
    let mut lengths = Vec::new();
    for step in 0..6 {
        lengths.push(world.ask().body["messages"].as_array().unwrap().len());
        let reading = world.decide(&[click(step)]);
        world.carry_out(&reading, &[Performed]);
    }
    assert_eq!(lengths, [1, 3, 5, 7, 1, 3]);
}

#[test]
fn a_changed_screen_size_or_a_foreign_conversation_begins_anew() {
    let mut world = opus("foreign");
    let reading = world.decide(&[answer("click")]);
    world.carry_out(&reading, &[Performed]);
    world.request.conversation = bytes::Bytes::from_static(b"{\"form\":99}");
    assert_eq!(world.ask().body["messages"].as_array().unwrap().len(), 1);
}
