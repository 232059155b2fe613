//! Questions besides the steps of a task, over real sockets: data with the elements that it was read from, and described
//! targets.

use motorium_planner::PlannerService;
use motorium_planner::backends::estimate::Estimate;
use motorium_planner::backends::phrasebook::Phrasebook;
use motorium_planner::models::{Api, ModelTable};
use motorium_planner::prompt::Prompts;
use motorium_planner::router::Router;
use motorium_proto::domain::decision::{RemainingLimits, Usage};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::ElementId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    ExtractRequest, Extraction, ImageFormat, Planner as _, PointerRequest, ResolveRequest,
    ResolvedTarget, Result, SummarizeRequest, TargetQuery,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

use crate::fake_provider::Provider;
use crate::task::service;
use motorium_phrasebook::screens::{DescribedScreen, screen};

const INVOICE: &str = r#"
    window 0,0 640x500 "Invoice" active
    label  20,40  100x20 "Total"
    label  140,40 100x20 "12.50"
    label  20,80  100x20 "Number"
    label  140,80 100x20 "4711"
    label  20,120 100x20 "Ada Lovelace"
    label  20,160 100x20 "4711"
    button 20,200 80x30  "Delete"
    button 20,240 80x30  "Delete"
    button 20,280 80x30  "Save"
"#;

struct QuestionFixture {
    provider: Provider,
    service: PlannerService,
    /// Remaining limits of the task.
    remaining: RemainingLimits,
}

impl QuestionFixture {
    async fn start() -> Self {
        let provider = Provider::start().await;
        let settings = format!(
            r#"
            backends = ["operator", "phrasebook"]
            [backend.operator]
            provider = "own"
            model = "local-vl"
            [providers.own]
            base_url = "{}/v1"
            "#,
            provider.url
        );
        Self {
            service: service(&settings),
            provider,
            remaining: RemainingLimits::default(),
        }
    }

    /// Sets the model's next response.
    fn will_say(&self, text: impl ToString) {
        let answer = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_763_683_200, "model": "local-vl",
            "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null,
                "message": {"role": "assistant", "refusal": null, "content": text.to_string()}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}});
        self.provider.will_answer(200, answer);
    }

    async fn extract(&self, schema: &Value) -> Result<Extraction> {
        let DescribedScreen { frame, scene } = screen(INVOICE);
        let request = ExtractRequest {
            json_schema: schema.to_string(),
            instruction: "what the invoice says".to_owned(),
            frame,
            image: None,
            scene,
            page_text: None,
            backends: Vec::new(),
            remaining: self.remaining,
        };
        let extracted = self.service.extract(request).await;
        self.leave("extract");
        extracted
    }

    async fn resolve(&self, description: &str) -> Result<ResolvedTarget> {
        let resolved = self.service.resolve_target(described(description)).await;
        self.leave("target");
        resolved
    }

    fn leave(&self, name: &str) {
        for (number, received) in self.provider.received().iter().enumerate() {
            let name = format!("asked-{name}-{number}");
            crate::request_dump::leave("openai-chat", &name, &received.body);
        }
    }
}

fn described(description: &str) -> ResolveRequest {
    let DescribedScreen { frame, scene } = screen(INVOICE);
    let pixels = image::RgbaImage::new(1000, 800);
    ResolveRequest {
        target: TargetQuery::Described {
            description: description.to_owned(),
            image: Some(motorium_imaging::codec::encode(&pixels, ImageFormat::Png).unwrap()),
            backends: Vec::new(),
            remaining: RemainingLimits::default(),
        },
        frame,
        scene,
    }
}

fn invoice() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["total", "number", "lines"],
        "properties": {
            "total": {"type": "string"},
            "number": {"type": "integer"},
            "customer": {"type": ["string", "null"]},
            "lines": {"type": "array"},
        },
    })
}

fn sources(extraction: &Extraction) -> Vec<(&str, u32, &str)> {
    let source = extraction.sources.iter();
    source
        .map(|source| {
            (
                source.json_pointer.as_str(),
                source.element.0,
                source.content.as_str(),
            )
        })
        .collect()
}

#[tokio::test]
async fn values_come_with_the_elements_that_they_were_read_from() {
    let desk = QuestionFixture::start().await;
    desk.will_say(json!({
        "data": {"total": "12.50 EUR", "number": 4711, "customer": null, "lines": [{"a/b": "Save"}]},
        "sources": {"/total": 2, "/number": "[4]", "/customer": 5, "/lines/3": 1},
    }));
    let extraction = desk.extract(&invoice()).await.unwrap();
    let data: Value = serde_json::from_str(&extraction.json).unwrap();
    assert_eq!(data["number"], 4711);
    assert!(
        data.get("sources").is_none(),
        "the schema's own fields alone"
    );
    // Named by the model; named by the model; the customer is null; found because only one element has this text.
    assert_eq!(
        sources(&extraction),
        [
            ("/total", 2, "12.50"),
            ("/number", 4, "4711"),
            ("/lines/0/a~1b", 9, "Save")
        ]
    );
    let total =
        CaptureRect::from_origin_and_size(CapturePoint::new(140, 40), CaptureSize::new(100, 20));
    assert_eq!(extraction.sources[0].bounds, Some(total));
    assert_eq!(extraction.usage.input_tokens, Some(100));
}

#[tokio::test]
async fn invalid_or_ambiguous_sources_are_dropped() {
    let desk = QuestionFixture::start().await;
    desk.will_say(json!({
        "data": {"total": "12.50", "number": 4711, "lines": []},
        "sources": {"/total": 99},
    }));
    let extraction = desk.extract(&invoice()).await.unwrap();
    // There is no element 99, and two elements contain 4711.
    assert_eq!(sources(&extraction), []);
}

#[tokio::test]
async fn missing_sources_are_found_on_the_screen() {
    let desk = QuestionFixture::start().await;
    desk.will_say(r#"{"total": "12.50", "number": 1, "customer": " Ada  Lovelace", "lines": []}"#);
    let extraction = desk.extract(&invoice()).await.unwrap();
    assert_eq!(
        sources(&extraction),
        [("/total", 2, "12.50"), ("/customer", 5, "Ada Lovelace")]
    );
}

#[tokio::test]
async fn data_that_is_not_as_the_schema_wants_it_is_asked_for_once_more() {
    let desk = QuestionFixture::start().await;
    desk.will_say(json!({"data": {"total": 12.5, "number": 4711, "lines": []}, "sources": {}}));
    desk.will_say(json!({"data": {"total": "12.50", "number": 4711, "lines": []}, "sources": {}}));
    let extraction = desk.extract(&invoice()).await.unwrap();
    assert_eq!(extraction.usage.calls, 2);
    let again = desk.provider.received()[1].body.to_string();
    assert!(again.contains("/total: 12.5 is not of type"), "{again}");
}

#[tokio::test]
async fn a_description_in_plain_words_needs_no_model() {
    let desk = QuestionFixture::start().await;
    for words in ["the Save button", "\"Save\"", "the \"Save\" button"] {
        let resolved = desk.resolve(words).await.unwrap();
        assert_eq!(resolved.element, Some(ElementId(9)), "{words}");
        assert_eq!(resolved.point, CapturePoint::new(60, 295));
        assert_eq!(resolved.candidates[0].content, "Save");
        assert_eq!(resolved.usage, Usage::default());
    }
    assert!(desk.provider.received().is_empty());
}

#[tokio::test]
async fn described_target_is_resolved_by_a_model() {
    let desk = QuestionFixture::start().await;
    desk.will_say(json!({"candidates": [
        {"element_id": 7, "confidence": 0.2}, {"element_id": 9, "confidence": 0.9}]}));
    let resolved = desk
        .resolve("the thing that keeps my changes")
        .await
        .unwrap();
    assert_eq!(resolved.element, Some(ElementId(9)));
    let candidates: Vec<(u32, f64)> = resolved
        .candidates
        .iter()
        .map(|candidate| (candidate.element.0, candidate.score))
        .collect();
    assert_eq!(candidates, [(9, 0.9), (7, 0.2)]);
    assert_eq!(resolved.usage.output_tokens, Some(10));
    let body = desk.provider.received()[0].body.to_string();
    assert!(body.contains("the thing that keeps my changes") && body.contains("[9]"));
    assert!(body.contains("data:image/"), "the numbered screen is shown");
}

#[tokio::test]
async fn ambiguous_or_unlikely_targets_are_not_resolved() {
    let desk = QuestionFixture::start().await;
    desk.will_say(json!({"candidates": [
        {"element_id": 7, "confidence": 0.6}, {"element_id": 8, "confidence": 0.55}]}));
    let error = desk.resolve("the Delete button").await.unwrap_err();
    assert_eq!(error.reason, "TARGET_AMBIGUOUS");
    assert_eq!(error.usage().input_tokens, Some(100), "it was asked for");
    assert_eq!(
        error.metadata["candidates"],
        r#"[7] "Delete", [8] "Delete""#
    );

    desk.will_say(json!({"candidates": [{"element_id": 1, "confidence": 0.1}]}));
    let error = desk.resolve("the thing that prints").await.unwrap_err();
    assert_eq!(error.reason, "TARGET_NOT_FOUND");
    assert_eq!(error.usage().input_tokens, Some(100), "it was asked for");
    assert_eq!(error.metadata["nearest"], r#""Total""#);

    desk.will_say(json!({"candidates": []}));
    let error = desk.resolve("the thing that flies").await.unwrap_err();
    assert_eq!(error.reason, "TARGET_NOT_FOUND");
}

#[tokio::test]
async fn an_element_that_is_not_there_is_asked_for_once_more() {
    let desk = QuestionFixture::start().await;
    desk.will_say(json!({"candidates": [{"element_id": 99, "confidence": 1}]}));
    desk.will_say(json!({"candidates": [{"element_id": 9, "confidence": 1}]}));
    let resolved = desk.resolve("the thing that keeps it").await.unwrap();
    assert_eq!(
        (resolved.element, resolved.usage.calls),
        (Some(ElementId(9)), 2)
    );
}

#[tokio::test]
async fn without_a_model_only_names_are_found() {
    let prompts = Arc::new(Prompts::built_in().unwrap());
    let router = Router::new(vec![Arc::new(Phrasebook)], Duration::from_secs(5));
    let service = PlannerService::new(router, prompts);
    let resolve = async |words| service.resolve_target(described(words)).await;
    let found = resolve("the Save button").await.unwrap();
    assert_eq!(found.element, Some(ElementId(9)));
    let reason = |error: motorium_proto::error::ErrorReport| error.reason;
    assert_eq!(
        resolve("the Delete button").await.map_err(reason),
        Err("TARGET_AMBIGUOUS".to_owned())
    );
    for words in ["the thing that keeps it", "the button", "3", "the last"] {
        let reason = resolve(words).await.map_err(reason);
        assert!(reason.is_err(), "{words}: {reason:?}");
    }
    assert_eq!(
        resolve("the thing that keeps it").await.map_err(reason),
        Err("MODEL_REQUIRED".to_owned())
    );
}

#[tokio::test]
async fn a_question_that_would_take_more_than_is_left_is_not_asked() {
    let mut desk = QuestionFixture::start().await;
    desk.remaining.tokens = Some(100);
    let error = desk.extract(&invoice()).await.unwrap_err();
    assert_eq!(error.metadata["operator"], "OVER_BUDGET");
    assert!(error.message.contains("but only 100 are left"), "{error:?}");
    assert!(desk.provider.received().is_empty());

    let described = described("the thing that keeps my changes");
    let TargetQuery::Described {
        description,
        image,
        backends,
        ..
    } = described.target
    else {
        unreachable!("it is described")
    };
    let request = ResolveRequest {
        target: TargetQuery::Described {
            description,
            image,
            backends,
            remaining: desk.remaining,
        },
        ..described
    };
    let error = desk.service.resolve_target(request).await.unwrap_err();
    assert_eq!(error.metadata["operator"], "OVER_BUDGET");

    // A summary without a model still works.
    let summary = SummarizeRequest {
        goal: "save the file".to_owned(),
        history: Vec::new(),
        answer: "It is saved.".to_owned(),
        succeeded: true,
        language: None,
        backends: Vec::new(),
        remaining: desk.remaining,
        fallback: String::new(),
    };
    let summary = desk.service.summarize(summary).await.unwrap();
    assert_eq!(summary.text, "It is saved.");
    assert!(desk.provider.received().is_empty());
}

#[tokio::test]
async fn extraction_repair_budget_excludes_earlier_usage() {
    let mut desk = QuestionFixture::start().await;
    let good = json!({"data": {"total": "12.50", "number": 4711, "lines": []}, "sources": {}});
    desk.will_say(&good);
    desk.extract(&invoice()).await.unwrap();
    let model = ModelTable::default().get("local-vl", Api::OpenaiChat);
    let body = desk.provider.received()[0].body.clone();
    let once = Estimate::of(&body, 0, &model, CaptureSize::new(1000, 800)).tokens;
    // The budget covers the repair only if the usage of the first response is ignored.
    desk.will_say("no");
    desk.remaining.tokens = Some(once + 50);
    let error = desk.extract(&invoice()).await.unwrap_err();
    assert_eq!(error.metadata["operator"], "OVER_BUDGET");
    assert_eq!(error.usage().calls, 1);
}

/// Returns the texts of the model in responses.
fn texts_of<'a>(responses: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let responses = responses.into_iter();
    let texts = responses.map(|response| {
        let response: Value = serde_json::from_str(response).unwrap();
        let text = response["choices"][0]["message"]["content"].as_str();
        text.unwrap().to_owned()
    });
    texts.collect()
}

#[tokio::test]
async fn answers_carry_the_responses_of_the_provider() {
    let asked = QuestionFixture::start().await;
    let any = json!({});
    asked.will_say("none");
    asked.will_say(r#"{"data": 7}"#);
    let extraction = asked.extract(&any).await.unwrap();
    assert_eq!(texts_of(&extraction.responses), ["none", r#"{"data": 7}"#]);
    assert_eq!(extraction.requests.len(), 2);

    asked.will_say("It is done.");
    let request = SummarizeRequest {
        goal: "save it".to_owned(),
        history: Vec::new(),
        answer: String::new(),
        succeeded: true,
        language: None,
        backends: Vec::new(),
        remaining: RemainingLimits::default(),
        fallback: String::new(),
    };
    let summary = asked.service.summarize(request).await.unwrap();
    assert_eq!(texts_of(&summary.responses), ["It is done."]);

    let answer = r#"{"on_target": true, "dx": 0, "dy": 0}"#;
    asked.will_say(answer);
    let pixels = image::RgbaImage::new(1000, 800);
    let image = motorium_imaging::codec::encode(&pixels, ImageFormat::Png).unwrap();
    let image_sha256 = image.sha256;
    let request = PointerRequest {
        intent: "click Save".to_owned(),
        target: CapturePoint::new(60, 295),
        target_bounds: None,
        pointer: CapturePoint::new(60, 295),
        annotated_image: Some(image),
        backends: Vec::new(),
        remaining: RemainingLimits::default(),
        tolerance_px: None,
    };
    let check = asked.service.locate_pointer(request).await.unwrap();
    assert_eq!(texts_of(&check.responses), [answer]);
    let [request] = check.requests.as_slice() else {
        panic!("one request: {:?}", check.requests);
    };
    let shown = motorium_text::hex::encode(&image_sha256);
    assert!(
        request.contains(&format!("<image artifacts/{shown}>")),
        "{request}"
    );
    assert!(request.contains("click Save"), "{request}");

    let answer = r#"{"candidates": [{"element_id": 9, "confidence": 0.9}]}"#;
    asked.will_say(answer);
    let resolved = asked.resolve("where the form is kept").await.unwrap();
    assert_eq!(texts_of(&resolved.responses), [answer]);
}

#[tokio::test]
async fn errors_carry_the_responses_of_the_provider() {
    let asked = QuestionFixture::start().await;
    let kept = |error: &ErrorReport| texts_of(&error.model_responses());
    // A mistake that is repeated is not reported again.
    asked.will_say("none");
    asked.will_say("none");
    let error = asked.extract(&json!({})).await.unwrap_err();
    assert_eq!(error.reason, "ALL_BACKENDS_FAILED");
    assert_eq!(kept(&error), ["none", "none"]);

    let answer = r#"{"candidates": [{"element_id": 9, "confidence": 0.1}]}"#;
    asked.will_say(answer);
    let error = asked.resolve("where the form is kept").await.unwrap_err();
    assert_eq!(error.reason, "TARGET_NOT_FOUND");
    assert_eq!(kept(&error), [answer]);
}
