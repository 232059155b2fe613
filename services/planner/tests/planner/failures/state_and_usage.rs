//! State that is kept between calls, and usage counts.

use motorium_kit::server::HealthCheck as _;
use motorium_planner::Settings;
use motorium_planner::backends::UsageMeter;
use motorium_planner::backends::estimate::{self, Estimate};
use motorium_planner::models::{Api, ModelTable};
use motorium_proto::domain::decision::{Next, RemainingLimits};
use motorium_proto::service::{BackendState, PlanRequest, Planner as _};
use serde_json::{Value, json};

use super::expected::{good, says};
use super::server::Reply;
use super::{Setup, chat, decision, step};

#[tokio::test]
async fn repeatedly_failing_backend_opens_its_circuit() {
    let stage = Setup::with(vec![Reply::of(529, "", "{}")]).await;
    for _ in 0..3 {
        assert_eq!(stage.plan().await.unwrap().decision.backend, "operator");
    }
    assert_eq!(stage.claude.received().len(), 9);
    let planned = stage.plan().await.unwrap();
    assert_eq!(planned.attempts[0].reason, "CIRCUIT_OPEN");
    assert_eq!(stage.claude.received().len(), 9, "it is left alone");
    let backends = stage.service.list_backends().await.unwrap();
    assert_eq!(backends[0].state, BackendState::CircuitOpen);
    assert!(
        backends[0]
            .last_error
            .as_ref()
            .unwrap()
            .contains("overloaded")
    );
    assert_eq!(backends[1].state, BackendState::Ready);
    assert!(backends[1].median_latency.is_some());
    assert_eq!(backends[1].usage.input_tokens, Some(4 * 1400));
}

#[tokio::test]
async fn a_planner_whose_circuits_are_all_open_cannot_work() {
    let overloaded = || vec![Reply::of(529, "", "{}")];
    let stage = Setup::with_both(overloaded(), overloaded()).await;
    for _ in 0..3 {
        assert_eq!(stage.service.check().await, Ok(()));
        stage.plan().await.unwrap_err();
    }
    let problem = stage.service.check().await.unwrap_err();
    for part in ["claude_som: ", "operator: ", "overloaded"] {
        assert!(problem.contains(part), "{problem}");
    }
}

#[tokio::test]
async fn a_schema_that_is_refused_is_not_sent_again() {
    let refusal = || {
        Reply::of(
            400,
            "",
            json!({"error": {"message": "response_format is not supported"}}),
        )
    };
    let good = || Reply::success(&chat(&decision("click", 1)));
    let stage = Setup::with_both(
        vec![Reply::of(401, "", "{}")],
        vec![refusal(), refusal(), good()],
    )
    .await;
    stage.plan().await.unwrap();
    stage.plan().await.unwrap();
    let forms: Vec<Value> = stage
        .other
        .received()
        .iter()
        .map(|body| body["response_format"]["type"].clone())
        .collect();
    assert_eq!(
        forms,
        [
            json!("json_schema"),
            json!("json_object"),
            Value::Null,
            Value::Null
        ]
    );
}

#[tokio::test]
async fn call_over_budget_is_not_made() {
    let stage = Setup::with(vec![good()]).await;
    let request = PlanRequest {
        remaining: RemainingLimits {
            tokens: Some(1500),
            ..RemainingLimits::default()
        },
        ..step()
    };
    let error = stage.service.plan(request).await.unwrap_err();
    assert!(
        error.message.contains("tokens, but only 1500 are left"),
        "{}",
        error.message
    );
    assert_eq!(error.metadata["claude_som"], "OVER_BUDGET");
    assert!(stage.claude.received().is_empty() && stage.other.received().is_empty());
}

/// Prices at which any call costs more than a cent.
const HIGH_PRICES: &str = r#"
    [[models]]
    names = ["claude-*"]
    prices = { input = 1000.0, output = 1000.0 }
"#;

#[test]
fn cost_limit_applies_to_the_estimated_tokens() {
    let settings: Settings = toml::from_str(HIGH_PRICES).unwrap();
    let models = ModelTable::with(settings.models);
    let model = models.get("claude-opus-4-6", Api::AnthropicMessages);
    let body = json!({"system": "a word ".repeat(300)});
    let left = |cost_micros_usd| RemainingLimits {
        cost_micros_usd: Some(cost_micros_usd),
        ..RemainingLimits::default()
    };
    let estimate = Estimate::of(&body, 0, &model, step().frame.size);
    let cost = estimate.cost_micros_usd.unwrap();
    let usage = UsageMeter::default();
    assert_eq!(cost, estimate.tokens * 1000);
    assert_eq!(estimate::check(estimate, left(cost), &usage), Ok(()));
    let error = estimate::check(estimate, left(cost - 1), &usage).unwrap_err();
    assert_eq!(error.reason(), "OVER_BUDGET");
    assert!(error.to_string().contains("are left"), "{error}");
    // With an unknown price, a cost limit blocks nothing.
    let unknown = ModelTable::default().get("claude-opus-4-6", Api::AnthropicMessages);
    let estimate = Estimate::of(&body, 0, &unknown, step().frame.size);
    assert_eq!(estimate::check(estimate, left(1), &usage), Ok(()));
}

#[tokio::test]
async fn repair_budget_excludes_usage_of_the_first_response() {
    let stage = Setup::with(vec![good()]).await;
    stage.plan().await.unwrap();
    let model = ModelTable::default().get("claude-opus-4-6", Api::AnthropicMessages);
    let first = Estimate::of(&stage.claude.received()[0], 0, &model, step().frame.size).tokens;
    let stage = Setup::with(vec![says("no"), good()]).await;
    let request = PlanRequest {
        remaining: RemainingLimits {
            // The budget covers the repair only if the usage of the first response is ignored.
            tokens: Some(first + 1000),
            ..RemainingLimits::default()
        },
        ..step()
    };
    let error = stage.service.plan(request).await.unwrap_err();
    assert_eq!(error.metadata["claude_som"], "OVER_BUDGET");
    assert_eq!(stage.claude.received().len(), 1);
    assert_eq!(error.usage().input_tokens, Some(2000));
}

#[tokio::test]
async fn usage_of_failed_attempts_is_counted() {
    // The repair request fails, and the whole call is retried.
    let stage = Setup::with(vec![says("no"), Reply::of(529, "", "{}"), good()]).await;
    let usage = stage.plan().await.unwrap().decision.usage;
    assert_eq!((usage.calls, usage.input_tokens), (2, Some(4000)));

    // The attempt times out before the repair is answered.
    let stage = Setup::with(vec![says("no"), Reply::Silence]).await;
    let in_vain = stage.plan().await.unwrap().attempts;
    assert_eq!(in_vain[0].reason, "TIMED_OUT");
    assert_eq!(in_vain[0].usage.input_tokens, Some(2000));
    let backends = stage.service.list_backends().await.unwrap();
    assert_eq!(backends[0].usage.input_tokens, Some(2000));

    // No backend decides.
    let nobody = Reply::success(&chat(&json!("no")));
    let stage = Setup::with_both(vec![says("no")], vec![nobody]).await;
    let error = stage.plan().await.unwrap_err();
    assert_eq!(error.reason, "ALL_BACKENDS_FAILED");
    let usage = error.usage();
    assert_eq!(
        (usage.calls, usage.input_tokens, usage.output_tokens),
        (4, Some(2 * 2000 + 2 * 1400), Some(2 * 100 + 2 * 40))
    );
}

#[tokio::test]
async fn every_response_is_kept_as_it_was_sent() {
    let overloaded = r#"{"error": {"message": "Overloaded", "details": ["a", 1]}}"#;
    let stage = Setup::with(vec![says("no"), Reply::of(529, "", overloaded), good()]).await;
    let planned = stage.plan().await.unwrap();
    let responses = planned.responses.iter();
    let responses: Vec<Value> = responses
        .map(|response| serde_json::from_str(response).unwrap())
        .collect();
    assert_eq!(responses.len(), 3, "also what was no decision");
    let text = |index: usize| responses[index]["content"][1]["text"].as_str().unwrap();
    assert_eq!(text(0), "no");
    let overloaded: Value = serde_json::from_str(overloaded).unwrap();
    assert_eq!(responses[1], json!({"status": 529, "body": overloaded}));
    let requests: Vec<Value> = planned
        .requests
        .iter()
        .map(|request| serde_json::from_str(request).unwrap())
        .collect();
    let received = stage.claude.received();
    let shown = planned.annotated_image.as_ref().unwrap().sha256;
    let name = format!("<image artifacts/{}>", motorium_text::hex::encode(&shown));
    assert_eq!((requests.len(), received.len()), (3, 3));
    for (kept, sent) in requests.iter().zip(&received) {
        assert_eq!(kept["system"], sent["system"]);
        assert_eq!(kept["tools"], sent["tools"]);
        let text = kept.to_string();
        assert!(text.contains(&name), "{text}");
        assert!(!text.contains("base64,") && !text.contains("characters of base64"));
    }
    let repair = requests[1].to_string();
    assert!(
        repair.contains(r#""text":"no""#),
        "the repair shows the response: {repair}"
    );
    assert!(text(2).contains("\"click\""), "{responses:?}");

    // Also those of a backend before.
    let stage = Setup::with(vec![says("no")]).await;
    let planned = stage.plan().await.unwrap();
    assert_eq!(planned.decision.backend, "operator");
    assert_eq!(planned.responses.len(), 3);
    assert_eq!(planned.requests.len(), 3);

    let long = "x".repeat(600_000);
    let stage = Setup::with(vec![says(&long), good()]).await;
    let stage_of_two = Setup::with(vec![says(&long), says(&format!("{long}y")), good()]).await;
    assert!(!stage.plan().await.unwrap().responses[0].contains("left_out"));
    let kept = stage_of_two.plan().await.unwrap().responses;
    assert!(
        kept[1].contains("left_out") && kept.len() == 3,
        "{}",
        kept[1].len()
    );
}

#[tokio::test]
async fn usage_includes_the_repair() {
    let stage = Setup::with(vec![says("no"), good()]).await;
    let planned = stage.plan().await.unwrap();
    let usage = planned.decision.usage;
    assert_eq!(
        (usage.calls, usage.input_tokens, usage.output_tokens),
        (2, Some(4000), Some(200))
    );
    assert_eq!(usage.cost_micros_usd, None, "the price is not known");
    assert!(matches!(planned.decision.next, Next::Act(_)));
}
