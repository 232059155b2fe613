//! Invariants of every request: each call has exactly one result, in its place; no result lacks its call; model turns are
//! verbatim; images are within limits.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::fake_task::FakeTask;

/// Above this number of images, Anthropic's API limits their size.
const MAX_LARGE_IMAGES: usize = 20;

/// Returns a body without pixels, for messages.
pub(super) fn short(body: &Value) -> Value {
    match body {
        Value::String(text) if text.len() > 2000 => json!(format!("{}…", &text[..40])),
        Value::Array(values) => values.iter().map(short).collect(),
        Value::Object(values) => {
            let values = values
                .iter()
                .map(|(key, value)| (key.clone(), short(value)));
            Value::Object(values.collect())
        }
        other => other.clone(),
    }
}

/// Returns the objects of this type within a value, in order.
pub(super) fn of_type<'a>(value: &'a Value, kind: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    collect(value, kind, &mut found);
    found
}

fn collect<'a>(value: &'a Value, kind: &str, found: &mut Vec<&'a Value>) {
    if value["type"] == kind {
        found.push(value);
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, kind, found)),
        Value::Object(values) => values
            .values()
            .for_each(|value| collect(value, kind, found)),
        _ => {}
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn ids(blocks: &[Value], kind: &str, key: &str) -> Vec<String> {
    let blocks = blocks.iter().filter(|block| block["type"] == kind);
    blocks
        .map(|block| block[key].as_str().unwrap_or("none").to_owned())
        .collect()
}

/// Returns the violations in a request to Anthropic's API.
pub(super) fn anthropic(body: &Value, world: &FakeTask) -> Vec<String> {
    let messages = list(&body["messages"]);
    let mut problems = Vec::new();
    let mut expect = |holds: bool, problem: String| {
        if !holds {
            problems.push(problem);
        }
    };
    for (index, message) in messages.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        expect(
            message["role"] == role,
            format!("message {index} is not of the {role}"),
        );
        expect(
            !list(&message["content"]).is_empty(),
            format!("message {index} is empty"),
        );
        if role == "assistant" {
            let verbatim = world
                .model_turns
                .iter()
                .any(|turn| turn["content"] == message["content"]);
            expect(
                verbatim,
                format!("message {index} is not what the model said"),
            );
        }
    }
    expect(
        messages.len() % 2 == 1,
        "the last message is the model's".to_owned(),
    );
    for (index, message) in messages
        .iter()
        .enumerate()
        .filter(|(index, _)| index % 2 == 0)
    {
        let content = list(&message["content"]);
        let before = index
            .checked_sub(1)
            .map_or(&[][..], |before| list(&messages[before]["content"]));
        let calls = ids(before, "tool_use", "id");
        let results = ids(content, "tool_result", "tool_use_id");
        expect(
            calls == results,
            format!("message {index} answers {results:?} to {calls:?}"),
        );
        let first = content.iter().take(results.len());
        let in_front =
            first.filter(|block| block["type"] == "tool_result").count() == results.len();
        expect(
            in_front,
            format!("message {index} has something before its results"),
        );
        for (call, result) in before
            .iter()
            .filter(|block| block["type"] == "tool_use")
            .zip(content)
        {
            let same = call["toolset_name"] == result["toolset_name"];
            expect(same, format!("message {index} changes a toolset"));
            let text_only = result["is_error"] != true || of_type(result, "image").is_empty();
            expect(
                text_only,
                format!("message {index} shows an image in an error"),
            );
        }
    }
    let images = of_type(&body["messages"], "image");
    expect(
        images.len() <= MAX_LARGE_IMAGES,
        format!("{} images", images.len()),
    );
    let whole = images
        .iter()
        .all(|image| image["source"]["data"].is_string());
    expect(whole, "an image has no pixels".to_owned());
    let newest = messages.last().map(Value::to_string).unwrap_or_default();
    let shown = !world.begins || newest.contains(&world.screen());
    expect(shown, "the screen is not shown as it is".to_owned());
    let marks = body.to_string().matches("\"cache_control\"").count();
    expect(marks == 2, format!("{marks} marks for the cache"));
    expect(
        body.get("temperature").is_none(),
        "a temperature".to_owned(),
    );
    problems
}

/// Returns the violations in a request to OpenAI's Responses API.
pub(super) fn openai(body: &Value, world: &FakeTask) -> Vec<String> {
    let input = list(&body["input"]);
    let mut problems = Vec::new();
    let mut expect = |holds: bool, problem: String| {
        if !holds {
            problems.push(problem);
        }
    };
    let kind = |item: &Value| item["type"].as_str().unwrap_or("message").to_owned();
    let is_call = |item: &&Value| matches!(kind(item).as_str(), "computer_call" | "function_call");
    let is_output = |item: &&Value| kind(item).ends_with("_call_output");
    // If the provider stores the conversation, the calls are in the response that is named.
    let named = world
        .model_turns
        .iter()
        .filter(|turn| turn["id"].is_string() && turn["id"] == body["previous_response_id"]);
    let before: Vec<&Value> = named.flat_map(|turn| list(&turn["output"])).collect();
    let calls: Vec<&Value> = before
        .iter()
        .copied()
        .chain(input)
        .filter(is_call)
        .collect();
    let outputs: Vec<&Value> = input.iter().filter(is_output).collect();
    let of = |items: &[&Value]| -> Vec<String> {
        let id = |item: &&Value| item["call_id"].as_str().unwrap_or("none").to_owned();
        items.iter().map(id).collect()
    };
    expect(
        of(&calls) == of(&outputs),
        format!("{:?} answers {:?}", of(&outputs), of(&calls)),
    );
    expect(!input.is_empty(), "nothing is said".to_owned());
    for (call, output) in calls.iter().zip(&outputs) {
        let fitting = kind(output) == format!("{}_output", kind(call));
        expect(fitting, format!("{} for {}", kind(output), kind(call)));
        let pending: BTreeSet<&str> = warnings(&call["pending_safety_checks"]);
        let accepted = warnings(&output["acknowledged_safety_checks"]);
        expect(
            pending == accepted,
            format!("{accepted:?} for the warnings {pending:?}"),
        );
        let by_a_person = accepted.iter().all(|id| world.accepted.contains(*id));
        expect(by_a_person, format!("nobody has accepted {accepted:?}"));
        let empty = output["acknowledged_safety_checks"]
            .as_array()
            .is_some_and(Vec::is_empty);
        expect(!empty, "an empty list of accepted warnings".to_owned());
    }
    for (index, item) in input
        .iter()
        .enumerate()
        .filter(|(_, item)| kind(item) == "reasoning")
    {
        let followed = input
            .get(index + 1)
            .is_some_and(|next| next["role"] != "user" && !is_output(&next));
        expect(
            followed,
            format!("the reasoning {index} has lost what it was about"),
        );
        let verbatim = world
            .model_turns
            .iter()
            .any(|turn| list(&turn["output"]).contains(item));
        expect(verbatim, format!("the reasoning {index} was changed"));
    }
    let image_count = body.to_string().matches("data:image/png;base64,").count();
    expect(image_count <= 50, format!("{image_count} images"));
    let shown = !world.begins || body["input"].to_string().contains(&world.screen());
    expect(shown, "the screen is not shown as it is".to_owned());
    expect(
        body.get("temperature").is_none(),
        "a temperature".to_owned(),
    );
    problems
}

fn warnings(checks: &Value) -> BTreeSet<&str> {
    list(checks)
        .iter()
        .filter_map(|check| check["id"].as_str())
        .collect()
}
