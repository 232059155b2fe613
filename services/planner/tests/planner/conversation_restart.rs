//! A provider that no longer has a conversation, or stores none: the conversation restarts instead of failing
//! permanently.

use motorium_proto::service::Planner as _;
use serde_json::{Value, json};

use crate::fake_provider::Provider;
use crate::fixtures::fixture;
use crate::task::Task;

struct Setup {
    task: Task,
    provider: Provider,
}

impl Setup {
    async fn start() -> Self {
        let provider = Provider::start().await;
        let settings = format!(
            r#"
            backends = ["openai_computer"]
            retry = {{ max_retries = 0 }}
            [providers.openai]
            base_url = "{}/v1"
            "#,
            provider.url
        );
        Self {
            task: Task::new(&settings, "save the file"),
            provider,
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

    /// Returns the bodies of all requests so far.
    fn sent(&self) -> Vec<Value> {
        let received = self.provider.received().into_iter();
        received.map(|received| received.body).collect()
    }
}

#[tokio::test]
async fn a_conversation_that_the_provider_has_lost_begins_anew_once() {
    let mut stage = Setup::start().await;
    stage.acts("resp_1");
    stage.task.step().await;
    stage.refuses("Previous response with id 'resp_1' not found.");
    stage.acts("resp_2");
    let planned = stage.task.step().await;
    assert!(planned.attempts.is_empty(), "no other backend is needed");
    stage.acts("resp_3");
    stage.task.step().await;
    let sent = stage.sent();
    assert_eq!(sent[1]["previous_response_id"], "resp_1");
    assert!(sent[2].get("previous_response_id").is_none());
    let anew = sent[2].to_string();
    assert!(
        anew.contains("save the file") && anew.contains("Step 1"),
        "{anew:.500}"
    );
    // Later steps continue normally.
    assert_eq!(sent[3]["previous_response_id"], "resp_2");
}

#[tokio::test]
async fn zero_retention_account_gets_full_conversations() {
    let mut stage = Setup::start().await;
    stage.acts("resp_1");
    stage.task.step().await;
    stage.refuses(
        "Previous response cannot be used for this organization due to Zero Data Retention.",
    );
    stage.acts("resp_2");
    stage.task.step().await;
    stage.acts("resp_3");
    stage.task.step().await;
    let sent = stage.sent();
    assert_eq!(
        sent.len(),
        4,
        "it is refused once and never asked for again"
    );
    for body in &sent[2..] {
        assert_eq!(body["store"], false);
        assert!(body.get("previous_response_id").is_none());
        crate::request_dump::leave("openai-responses", "anew", body);
    }
    assert!(sent[3].to_string().contains("computer_call_output"));
}

#[tokio::test]
async fn a_refusal_that_has_nothing_to_do_with_the_conversation_fails_the_step() {
    let mut stage = Setup::start().await;
    stage.acts("resp_1");
    stage.task.step().await;
    stage.refuses("Unknown parameter.");
    stage.refuses("Unknown parameter.");
    let task = &stage.task;
    let error = task.service.plan(task.request.clone()).await.unwrap_err();
    assert_eq!(error.reason, "ALL_BACKENDS_FAILED");
    assert_eq!(stage.sent().len(), 3);
}
