//! Claude fails in the middle of a task, and OpenCUA takes over. Over real sockets, with both providers on this machine.

use std::path::PathBuf;

use motorium_proto::service::{BackendState, Planner as _};
use serde_json::{Value, json};

use crate::fake_provider::Provider;
use crate::fixtures::fixture;
use crate::task::Task;

struct Setup {
    task: Task,
    claude: Provider,
    opencua: Provider,
}

impl Setup {
    async fn start() -> Self {
        let (claude, opencua) = (Provider::start().await, Provider::start().await);
        let settings = format!(
            r#"
            backends = ["claude_computer", "opencua"]
            retry = {{ max_retries = 1, initial_backoff = "1ms" }}
            circuit_breaker = {{ failure_threshold = 2, open_duration = "1h" }}

            [backend.claude_computer]
            provider = "anthropic"
            model = "claude-opus-4-6"

            [backend.opencua]
            provider = "own"
            model = "opencua-7b"

            [providers.anthropic]
            base_url = "{}"

            [providers.own]
            base_url = "{}/v1"
            "#,
            claude.url, opencua.url
        );
        Self {
            task: Task::new(&settings, "save the file as notes.txt"),
            claude,
            opencua,
        }
    }
}

/// A click call from Claude with a unique id.
fn click(number: u32) -> Value {
    let mut answer = fixture("anthropic/click.json");
    answer["content"][2]["id"] = json!(format!("toolu_{number}"));
    answer
}

#[tokio::test]
async fn fallback_model_continues_when_the_first_fails() {
    let mut stage = Setup::start().await;
    (1..=3).for_each(|number| stage.claude.will_answer(200, click(number)));
    for _ in 0..3 {
        let planned = stage.task.step().await;
        assert_eq!(planned.decision.backend, "claude_computer");
        assert!(planned.attempts.is_empty());
    }
    let overloaded = fixture("anthropic/overloaded.529.json");
    // Two steps with two attempts each; then the circuit opens.
    (0..4).for_each(|_| stage.claude.will_answer(529, overloaded.clone()));
    (0..3).for_each(|_| {
        stage
            .opencua
            .will_answer(200, fixture("openai-chat/opencua_click.json"))
    });
    let mut reasons = Vec::new();
    for _ in 0..3 {
        let planned = stage.task.step().await;
        assert_eq!(planned.decision.backend, "opencua");
        reasons.extend(planned.attempts.into_iter().map(|attempt| attempt.reason));
    }
    assert_eq!(reasons, ["TRANSIENT", "TRANSIENT", "CIRCUIT_OPEN"]);
    assert_eq!(stage.claude.received().len(), 3 + 4);
    assert_eq!(stage.opencua.received().len(), 3);
    let backends = stage.task.service.list_backends().await.unwrap();
    let states: Vec<BackendState> = backends.iter().map(|backend| backend.state).collect();
    assert_eq!(states, [BackendState::CircuitOpen, BackendState::Ready]);

    check_claude(&stage.claude);
    check_opencua(&stage.opencua);
    documented("claude_computer", &stage.claude.received()[3].body);
    documented("opencua", &stage.opencua.received()[0].body);
}

fn check_claude(claude: &Provider) {
    let received = claude.received();
    for (number, request) in received.iter().enumerate() {
        assert_eq!(request.path, "/v1/messages");
        assert_eq!(request.headers["anthropic-beta"], "computer-use-2025-11-24");
        crate::request_dump::leave(
            "anthropic-beta",
            &format!("fallback-{number}"),
            &request.body,
        );
    }
    // A retry is identical to the byte.
    assert_eq!(received[3].body, received[4].body);
}

fn check_opencua(opencua: &Provider) {
    for (number, request) in opencua.received().iter().enumerate() {
        assert_eq!(request.path, "/v1/chat/completions");
        crate::request_dump::leave("openai-chat", &format!("fallback-{number}"), &request.body);
        let body = request.body.to_string();
        // At most three images, the current one last, and nothing that only Claude understands.
        assert_eq!(body.matches("data:image/").count(), 3);
        assert!(!body.contains("tool_use") && !body.contains("signature"));
        assert!(body.contains("save the file as notes.txt"));
    }
}

/// Compares a request with `docs/fallback.md`, without pixels and with long texts truncated.
fn documented(name: &str, body: &Value) {
    let shown = format!("{:#}", cut(body));
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/fallback.md");
    let docs = std::fs::read_to_string(file).unwrap();
    assert!(
        docs.contains(&shown),
        "docs/fallback.md has to show this as the request of {name}:\n{shown}"
    );
}

fn cut(value: &Value) -> Value {
    const MAX_CHARACTERS: usize = 90;
    match value {
        Value::String(text) => match text.char_indices().nth(MAX_CHARACTERS) {
            Some((end, _)) if !text.starts_with("Task") => json!(format!("{}…", &text[..end])),
            _ => value.clone(),
        },
        Value::Array(values) => values.iter().map(cut).collect(),
        Value::Object(values) => {
            let values = values.iter().filter(|(key, _)| *key != "tools");
            values
                .map(|(key, value)| (key.clone(), cut(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        other => other.clone(),
    }
}
