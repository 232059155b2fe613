//! Invalid responses, and responses that only look invalid. Each test is a row of the failure matrix.

use serde_json::json;

use super::expected::{Expected, accepted, check, for_good, good, judge, repaired, says};
use super::server::Reply;
use super::{Setup, claude, decision};

#[tokio::test]
async fn malformed_json_is_repaired() {
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
async fn a_small_object_before_the_decision() {
    let text = format!(r#"I see {{"windows": 2}}, so: {}"#, decision("click", 1));
    check(vec![says(&text)], accepted()).await;
}

#[tokio::test]
async fn the_decision_twice_over() {
    let text = format!("{0}\n{0}", decision("click", 1));
    check(vec![says(&text)], accepted()).await;
}

#[tokio::test]
async fn two_decisions_in_one_answer() {
    let text = format!("{}\n{}", decision("click", 1), decision("double_click", 1));
    let stage = Setup::with(vec![says(&text), good()]).await;
    judge(&stage, repaired()).await;
    let complaint = stage.claude.received()[1]["messages"][2]["content"].to_string();
    assert!(
        complaint.contains("the answer has 2 decisions"),
        "{complaint}"
    );
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
async fn two_different_mistakes_in_one_step() {
    let mut point = decision("click", -1);
    point["actions"][0]["x"] = json!("left");
    let script = vec![
        says(&decision("levitate", 1).to_string()),
        says(&point.to_string()),
        says("no"),
        good(),
    ];
    let expected = Expected {
        requests: 4,
        ..repaired()
    };
    let stage = Setup::with(script).await;
    judge(&stage, expected).await;
    let last = stage.claude.received()[3]["messages"].to_string();
    for complaint in ["levitate", "`x` is \\\"left\\\"", "no whole JSON object"] {
        assert!(last.contains(complaint), "{complaint} in {last}");
    }
}

#[tokio::test]
async fn repairs_are_limited() {
    let wrong = |element| says(&decision("click", element).to_string());
    let expected = Expected {
        requests: 4,
        ..for_good("INVALID_RESPONSE", "there is no element 94")
    };
    check((91..100).map(wrong).collect(), expected).await;
}

#[tokio::test]
async fn transient_repair_failure_resends_only_the_repair() {
    let stage = Setup::with(vec![says("no"), Reply::of(503, "", "{}"), good()]).await;
    let expected = Expected {
        requests: 3,
        waited: &[500],
        ..repaired()
    };
    judge(&stage, expected).await;
    let received = stage.claude.received();
    assert_eq!(received[1], received[2], "the repair alone is sent again");
    assert_ne!(received[0], received[1]);
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
