//! Number of requests that one decision can cost, and the time that backends leave to each other.

use std::path::PathBuf;
use std::time::Duration;

use motorium_planner::backends::call::RequestLimits;
use motorium_planner::backends::model::max_requests;
use motorium_proto::service::Planner as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::fake_provider::Provider;
use crate::fixtures::fixture;
use crate::task::Task;

/// A turn of Claude with this input of the computer tool.
fn turn(number: usize, input: &Value) -> Value {
    json!({"id": "msg_x", "type": "message", "role": "assistant", "model": "claude-opus-4-6",
        "content": [{"type": "tool_use", "id": format!("toolu_{number}"), "name": "computer", "input": input}],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 100, "output_tokens": 10}})
}

fn refused(words: &str) -> Value {
    json!({"type": "error", "error": {"type": "invalid_request_error", "message": words}})
}

#[tokio::test]
async fn a_decision_costs_no_more_requests_than_documented() {
    let claude = Provider::start().await;
    for words in ["temperature", "output_config", "output_config"] {
        claude.will_answer(400, refused(words));
    }
    for _ in 0..2 {
        claude.will_answer(503, json!({}));
    }
    for number in 0..4 {
        claude.will_answer(200, turn(number, &json!({"action": "screenshot"})));
    }
    for number in 4..8 {
        let unknown = json!({"action": format!("levitate_{number}")});
        claude.will_answer(200, turn(number, &unknown));
    }
    let settings = format!(
        r#"
        backends = ["claude_computer"]
        retry = {{ initial_backoff = "1ms" }}
        [providers.anthropic]
        base_url = "{}"
        "#,
        claude.url
    );
    let task = Task::new(&settings, "save the file");
    let failed = task.service.plan(task.request.clone()).await.unwrap_err();
    assert!(failed.message.contains("levitate_7"), "{}", failed.message);

    // This dialect has no stored conversation, no outputs with a URL, and none to restart in the first step.
    let limit = max_requests(RequestLimits::default());
    assert_eq!(claude.received().len(), limit as usize - 3);
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/planner.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let sentence = format!("at most {limit} requests");
    assert!(
        docs.contains(&sentence),
        "docs/planner.md has to say \"{sentence}\""
    );
}

/// Returns the URL of a server that accepts connections and never answers.
async fn hanging() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    url
}

#[tokio::test(start_paused = true)]
async fn backends_that_hang_leave_the_last_one_its_time() {
    let third = Provider::start().await;
    third.will_answer(200, fixture("openai-chat/opencua_click.json"));
    let settings = format!(
        r#"
        backends = ["one", "two", "three"]
        decision_timeout = "60s"
        [backend.one]
        kind = "opencua"
        provider = "first"
        model = "opencua-7b"
        [backend.two]
        kind = "opencua"
        provider = "second"
        model = "opencua-7b"
        [backend.three]
        kind = "opencua"
        provider = "third"
        model = "opencua-7b"
        [providers.first]
        base_url = "{}"
        [providers.second]
        base_url = "{}"
        [providers.third]
        base_url = "{}/v1"
        "#,
        hanging().await,
        hanging().await,
        third.url
    );
    let task = Task::new(&settings, "save the file");
    let began = Instant::now();
    let planned = task.service.plan(task.request.clone()).await.unwrap();
    assert_eq!(planned.decision.backend, "three");
    let reasons: Vec<&str> = planned
        .attempts
        .iter()
        .map(|attempt| attempt.reason.as_str())
        .collect();
    assert_eq!(reasons, ["TIMED_OUT", "TIMED_OUT"]);
    let waited = began.elapsed();
    assert!(
        (Duration::from_secs(40)..Duration::from_secs(45)).contains(&waited),
        "a third of the time each: {waited:?}"
    );
}
