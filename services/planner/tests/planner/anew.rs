//! A provider that no longer has a conversation, or keeps none: it is begun anew instead of failing for good.

use motorium_kit::config::Environment;
use motorium_planner::{PlannerService, Settings};
use motorium_proto::domain::decision::{Next, PastAction, PastStep};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::frame::Image;
use motorium_proto::service::{ImageFormat, PlanRequest, Planned, Planner as _};
use serde_json::{Value, json};

use crate::dialogue::request;
use crate::fixtures::fixture;
use crate::loopback::Provider;

struct Task {
    service: PlannerService,
    provider: Provider,
    request: PlanRequest,
}

impl Task {
    async fn start() -> Self {
        let provider = Provider::start().await;
        let settings = format!(
            r#"
            backends = ["openai_computer"]
            retry = {{ times = 0 }}
            [providers.openai]
            base_url = "{}/v1"
            "#,
            provider.url
        );
        let settings: Settings = toml::from_str(&settings).unwrap();
        Self {
            service: settings.resolve_in(&Environment::default()).unwrap(),
            provider,
            request: PlanRequest {
                image: Some(screen_of(1)),
                ..request("save the file", "button 20,40 80x30 \"Save\"")
            },
        }
    }

    fn refuses(&self, words: &str) {
        let error = json!({"error": {"message": words, "type": "invalid_request_error",
            "param": "previous_response_id", "code": null}});
        self.provider.will_answer(400, error);
    }

    fn acts(&self, response: &str) {
        let mut answer = fixture("openai-responses/batch.json");
        answer["id"] = json!(response);
        for item in answer["output"].as_array_mut().unwrap() {
            if item["type"] == "computer_call" {
                item["call_id"] = json!(format!("call-{response}"));
            }
        }
        self.provider.will_answer(200, answer);
    }

    /// Decides a step and performs it.
    async fn step(&mut self) -> Planned {
        let planned = self.service.plan(self.request.clone()).await.unwrap();
        let Next::Act(actions) = &planned.decision.next else {
            panic!("{:?}", planned.decision)
        };
        let past = actions.iter().map(|planned| PastAction {
            planned: planned.clone(),
            outcome: ActionOutcome::new(ActionResult::Performed, ""),
            effect: None,
            retries: 0,
        });
        let number = self.request.history.len() as u32 + 1;
        self.request.history.push(PastStep {
            step: number,
            actions: past.collect(),
            image: self.request.image.clone(),
            frame_size: Some(self.request.frame.size),
            ..PastStep::default()
        });
        let decision = &planned.decision;
        self.request.conversation = decision.conversation.clone();
        self.request
            .conversation_backend
            .clone_from(&decision.backend);
        self.request.image = Some(screen_of(number as u8 + 1));
        planned
    }

    /// The bodies of all requests so far.
    fn sent(&self) -> Vec<Value> {
        let received = self.provider.received().into_iter();
        received.map(|received| received.body).collect()
    }
}

fn screen_of(shade: u8) -> Image {
    let pixels = image::RgbaImage::from_pixel(1000, 800, image::Rgba([shade * 20, 100, 200, 255]));
    motorium_imaging::picture::encode(&pixels, ImageFormat::Png).unwrap()
}

#[tokio::test]
async fn a_conversation_that_the_provider_has_lost_begins_anew_once() {
    let mut task = Task::start().await;
    task.acts("resp_1");
    task.step().await;
    task.refuses("Previous response with id 'resp_1' not found.");
    task.acts("resp_2");
    let planned = task.step().await;
    assert!(planned.attempts.is_empty(), "no other backend is needed");
    task.acts("resp_3");
    task.step().await;
    let sent = task.sent();
    assert_eq!(sent[1]["previous_response_id"], "resp_1");
    assert!(sent[2].get("previous_response_id").is_none());
    let anew = sent[2].to_string();
    assert!(
        anew.contains("save the file") && anew.contains("Step 1"),
        "{anew:.500}"
    );
    // After that it goes on as usual.
    assert_eq!(sent[3]["previous_response_id"], "resp_2");
}

#[tokio::test]
async fn for_an_account_that_nothing_is_kept_for_everything_is_sent() {
    let mut task = Task::start().await;
    task.acts("resp_1");
    task.step().await;
    task.refuses(
        "Previous response cannot be used for this organization due to Zero Data Retention.",
    );
    task.acts("resp_2");
    task.step().await;
    task.acts("resp_3");
    task.step().await;
    let sent = task.sent();
    assert_eq!(
        sent.len(),
        4,
        "it is refused once and never asked for again"
    );
    for body in &sent[2..] {
        assert_eq!(body["store"], false);
        assert!(body.get("previous_response_id").is_none());
        crate::contract::leave("openai-responses", "anew", body);
    }
    assert!(sent[3].to_string().contains("computer_call_output"));
}

#[tokio::test]
async fn a_refusal_that_has_nothing_to_do_with_the_conversation_fails_the_step() {
    let mut task = Task::start().await;
    task.acts("resp_1");
    task.step().await;
    task.refuses("Unknown parameter.");
    task.refuses("Unknown parameter.");
    let error = task.service.plan(task.request.clone()).await.unwrap_err();
    assert_eq!(error.reason, "ALL_BACKENDS_FAILED");
    assert_eq!(task.sent().len(), 3);
}
