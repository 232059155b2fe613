//! Responses of servers with OpenAI's chat protocol, from files that the official package parses too: over a real socket,
//! with each backend that uses it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use motorium_planner::backends::dialect::Dialect;
use motorium_planner::models::Api;
use motorium_proto::domain::action::{Action, Target};
use motorium_proto::domain::decision::Next;
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::{PlanRequest, Planner as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::fake_provider::Provider;
use crate::fixtures::fixture;
use crate::kinds::check_listed;
use crate::request::{request, solid_screenshot};
use crate::task::service;

/// Result of a step.
struct Served {
    /// The decision, or the error: `click 60,55`, `done`, `INVALID_RESPONSE: …`.
    outcome: String,
    requests: Vec<Value>,
    annotated: Option<Image>,
}

/// Runs a step with a server that responds with these files in order.
async fn serve(kind: &str, model: &str, answers: &[&str]) -> Served {
    let provider = Provider::start().await;
    let settings = format!(
        r#"
        backends = ["it"]
        [backend.it]
        kind = "{kind}"
        provider = "own"
        model = "{model}"
        [providers.own]
        base_url = "{}/v1"
        [retry]
        initial_backoff = "1ms"
        "#,
        provider.url
    );
    for name in answers {
        let code = name.rsplit('.').next().and_then(|code| code.parse().ok());
        let answer = fixture(&format!("openai-chat/{name}.json"));
        provider.will_answer(code.unwrap_or(200), answer);
    }
    let step = PlanRequest {
        image: Some(solid_screenshot(0)),
        ..request("Save the file.", "button 20,40 80x30 \"Save\"")
    };
    let (outcome, annotated) = match service(&settings).plan(step).await {
        Ok(planned) => (describe(&planned.decision.next), planned.annotated_image),
        Err(error) => {
            let outcome = format!("{}: {}", error.metadata["it"], error.message);
            (outcome, None)
        }
    };
    let received = provider.received();
    assert_eq!(received.len(), answers.len(), "{outcome}");
    for (number, received) in received.iter().enumerate() {
        let name = format!("served-{kind}-{}-{number}", answers.join("-"));
        crate::request_dump::leave("openai-chat", &name, &received.body);
    }
    Served {
        outcome,
        requests: received.into_iter().map(|received| received.body).collect(),
        annotated,
    }
}

/// Returns whether the requests of a dialect have this protocol.
fn is_chat(dialect: &dyn Dialect) -> bool {
    dialect.api() == Api::OpenaiChat
}

fn describe(next: &Next) -> String {
    match next {
        Next::Act(actions) => match &actions[0].action {
            Action::Click { at: Some(at), .. } => match at {
                Target::Point(CapturePoint { x, y, .. }) => format!("click {x},{y}"),
                Target::Element(id) => format!("click [{}]", id.0),
                other => format!("{other:?}"),
            },
            other => format!("{other:?}"),
        },
        Next::Done { .. } => "done".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The image of a request, as a server receives it.
fn received_image(body: &Value) -> Vec<u8> {
    let turns = body["messages"].as_array().unwrap().iter();
    let parts = turns
        .filter_map(|turn| turn["content"].as_array())
        .flatten();
    let mut urls = parts.filter_map(|part| part["image_url"]["url"].as_str());
    let url = urls.next_back().expect("an image was sent");
    let data = url.strip_prefix("data:image/png;base64,").unwrap();
    STANDARD.decode(data).unwrap()
}

#[tokio::test]
async fn the_annotated_screenshot_is_returned_as_the_server_received_it() {
    // Also if the first answer had to be repaired.
    for answers in [&["som"][..], &["empty", "som"]] {
        let served = serve("operator", "local-vl", answers).await;
        let image = served.annotated.expect("one was sent");
        let ImageContent::Bytes(bytes) = image.content else {
            panic!("the bytes are returned")
        };
        assert!(bytes == received_image(&served.requests[0]));
        assert_eq!(image.sha256, <[u8; 32]>::from(Sha256::digest(&bytes)));
    }
    let served = serve("qwen_vl", "qwen3-vl-plus", &["qwen_call"]).await;
    assert_eq!(served.annotated, None, "it is shown the plain screenshot");
}

#[tokio::test]
async fn answers_are_read_as_servers_give_them() {
    for (kind, model, answers, expected) in [
        ("operator", "local-vl", &["som"][..], "click [1]"),
        ("operator", "local-vl", &["som_fenced"], "click [1]"),
        ("operator", "local-vl", &["som_in_reasoning"], "click [1]"),
        ("operator", "local-vl", &["som_thought_first"], "click [1]"),
        ("operator", "local-vl", &["empty", "som"], "click [1]"),
        ("operator", "local-vl", &["som_cut_off", "som"], "click [1]"),
        (
            "operator",
            "local-vl",
            &["loading.503", "rate_limit.429", "som"],
            "click [1]",
        ),
        ("qwen_vl", "qwen3-vl-plus", &["qwen_call"], "click 60,55"),
        ("qwen_vl", "qwen3.5-27b", &["qwen_xml"], "click 60,55"),
        ("qwen_vl", "qwen3-vl-plus", &["qwen_parsed"], "click 60,55"),
        (
            "qwen_vl",
            "qwen3-vl-plus",
            &["qwen_beyond", "qwen_call"],
            "click 60,55",
        ),
        ("opencua", "opencua-7b", &["opencua_click"], "click 60,54"),
        ("opencua", "opencua-7b", &["opencua_end"], "done"),
        (
            "opencua",
            "opencua-7b",
            &["opencua_foreign_code", "opencua_click"],
            "click 60,54",
        ),
    ] {
        let served = serve(kind, model, answers).await;
        assert_eq!(served.outcome, expected, "{kind} {answers:?}");
    }
}

#[tokio::test]
async fn failed_decision_has_a_plain_message() {
    for (kind, answers, reason, part) in [
        ("operator", &["refusal"][..], "REFUSED", "I cannot help"),
        ("opencua", &["filtered"], "REFUSED", "content filter"),
        (
            "operator",
            &["key.401"],
            "PERMANENT",
            "does not accept the key",
        ),
        ("operator", &["model.404"], "PERMANENT", "has no such model"),
        (
            "operator",
            &["too_long.400"],
            "PERMANENT",
            "maximum context length",
        ),
        (
            "opencua",
            &["opencua_foreign_code", "opencua_foreign_code"],
            "INVALID_RESPONSE",
            "import",
        ),
    ] {
        let outcome = serve(kind, "local-vl", answers).await.outcome;
        assert!(outcome.starts_with(reason), "{outcome}");
        assert!(outcome.contains(part), "{outcome}");
    }
}

#[tokio::test]
async fn a_setting_that_an_endpoint_refuses_is_left_out_by_every_backend() {
    let cases = [
        ("operator", "local-vl", "som"),
        ("qwen_vl", "qwen3-vl-plus", "qwen_call"),
        ("opencua", "opencua-7b", "opencua_click"),
    ];
    check_listed(&cases.map(|(kind, ..)| kind), is_chat);
    for (kind, model, good) in cases {
        let served = serve(kind, model, &["no_temperature.400", good]).await;
        let sent = |key: &str| {
            let bodies = served.requests.iter();
            bodies
                .map(|body| body.get(key).is_some())
                .collect::<Vec<_>>()
        };
        assert_eq!(sent("temperature"), [true, false], "{kind}");
        assert!(!sent("top_p")[1], "{kind}");
    }
    let served = serve("operator", "local-vl", &["no_schema.400", "som"]).await;
    let form = |body: &Value| body["response_format"]["type"].clone();
    assert_eq!(form(&served.requests[0]), "json_schema");
    assert_eq!(form(&served.requests[1]), "json_object");
}

#[tokio::test]
async fn an_answer_that_was_cut_off_gets_more_room() {
    let cases = [
        ("operator", "local-vl", "som_cut_off", "som"),
        ("qwen_vl", "qwen3-vl-plus", "qwen_cut_off", "qwen_call"),
        ("opencua", "opencua-7b", "opencua_cut_off", "opencua_click"),
    ];
    check_listed(&cases.map(|(kind, ..)| kind), is_chat);
    for (kind, model, cut_off, good) in cases {
        let served = serve(kind, model, &[cut_off, good]).await;
        let room = |body: &Value| body["max_tokens"].as_u64().unwrap();
        let (first, second) = (room(&served.requests[0]), room(&served.requests[1]));
        assert_eq!(second, 2 * first, "{kind}");
    }
}
