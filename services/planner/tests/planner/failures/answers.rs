//! Invalid responses, and responses that only look invalid. Each test is a row of the failure matrix.

use serde_json::json;

use super::expected::{Expected, accepted, check, for_good, good, judge, repaired, says};
use super::server::Reply;
use super::{Setup, claude, decision};

#[tokio::test]
async fn json_that_is_none() {
    let stage = Setup::with(vec![says(r#"{"next": act}"#), good()]).await;
    judge(&stage, repaired()).await;
    let complaint = stage.claude.received()[1]["messages"][2]["content"].to_string();
    assert!(complaint.contains("no whole JSON object"), "{complaint}");
}

#[tokio::test]
async fn fenced_json() {
    let text = format!("```json\n{}\n```", decision("click", 1));
    check(vec![says(&text)], accepted()).await;
}

#[tokio::test]
async fn prose_around_json() {
    let text = format!("I will {{click}} it: {} There.", decision("click", 1));
    check(vec![says(&text)], accepted()).await;
}

#[tokio::test]
async fn empty_content_once() {
    let empty = json!({"content": [], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 0}});
    check(vec![Reply::success(&empty), good()], repaired()).await;
}

#[tokio::test]
async fn empty_content_twice() {
    let empty = json!({"content": [], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 0}});
    check(
        vec![Reply::success(&empty)],
        Expected {
            requests: 2,
            ..for_good("INVALID_RESPONSE", "the answer is empty")
        },
    )
    .await;
}

#[tokio::test]
async fn json_in_the_reasoning() {
    let text = decision("click", 1).to_string();
    let answer = json!({"choices": [{"finish_reason": "stop", "message": {"content": "", "reasoning_content": text}}]});
    let stage = Setup::with_both(
        vec![Reply::of(401, "", "{}")],
        vec![Reply::success(&answer)],
    )
    .await;
    judge(&stage, for_good("PERMANENT", "key")).await;
    assert_eq!(stage.other.received().len(), 1);
}

#[tokio::test]
async fn a_refusal() {
    let refusal = json!({"content": [], "stop_reason": "refusal", "usage": {"input_tokens": 1, "output_tokens": 0},
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": "not that"}});
    check(
        vec![Reply::success(&refusal)],
        for_good("REFUSED", "refused: cyber: not that"),
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_is_cut_off() {
    let mut cut = claude(&decision("click", 1).to_string());
    cut["stop_reason"] = json!("max_tokens");
    let stage = Setup::with(vec![Reply::success(&cut), good()]).await;
    judge(&stage, repaired()).await;
    let room: Vec<u64> = stage
        .claude
        .received()
        .iter()
        .map(|body| body["max_tokens"].as_u64().unwrap())
        .collect();
    assert_eq!(room, [8192, 16_384], "it gets more room");
}

#[tokio::test]
async fn unknown_blocks() {
    let mut answer = claude(&decision("click", 1).to_string());
    let blocks = answer["content"].as_array_mut().unwrap();
    blocks.insert(0, json!({"type": "hologram", "text": "{}"}));
    check(vec![Reply::success(&answer)], accepted()).await;
}

#[tokio::test]
async fn an_unknown_action() {
    let stage = Setup::with(vec![says(&decision("levitate", 1).to_string()), good()]).await;
    judge(&stage, repaired()).await;
    let complaint = stage.claude.received()[1]["messages"][2]["content"].to_string();
    assert!(
        complaint.contains("actions[0]: there is no action `levitate`"),
        "{complaint}"
    );
}

#[tokio::test]
async fn an_element_that_is_not_there() {
    check(
        vec![says(&decision("click", 99).to_string())],
        Expected {
            requests: 2,
            ..for_good("INVALID_RESPONSE", "there is no element 99")
        },
    )
    .await;
}

#[tokio::test]
async fn a_point_outside_of_the_screen_is_not_moved_inside() {
    let mut outside = decision("click", -1);
    outside["actions"][0]["x"] = json!(5000);
    outside["actions"][0]["y"] = json!(10);
    check(
        vec![says(&outside.to_string())],
        Expected {
            requests: 2,
            ..for_good("INVALID_RESPONSE", "outside the screenshot")
        },
    )
    .await;
}
