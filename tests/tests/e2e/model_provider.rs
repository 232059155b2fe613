//! `motorium run` with a model behind a provider that fails: its words and its waits reach the user, and nothing is asked
//! more often than it may be.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::{PageServer, serve_application};
use motorium_tests::programs::ProgramResult;
use motorium_tests::services::TestSetup;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Reaction of the provider to a request.
#[derive(Debug, Clone)]
enum Reply {
    /// Answers with a status, a `retry-after` in seconds and an error.
    Fails(u16, u32, &'static str),
    /// Clicks the element with this text, as the list of elements numbers it.
    Clicks(&'static str),
    /// Says that it is done.
    Done,
}

#[derive(Debug, Default)]
struct Record {
    replies: Vec<Reply>,
    asked_at: Vec<Instant>,
}

/// A chat endpoint that reads the list of elements it is sent.
struct Provider {
    url: String,
    record: Arc<Mutex<Record>>,
}

impl Provider {
    /// Starts a provider with these replies in order; the last one is repeated.
    async fn start(replies: Vec<Reply>) -> Self {
        let record = Arc::new(Mutex::new(Record {
            replies,
            ..Record::default()
        }));
        let application = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&record));
        let (address, _) = serve_application(application).await;
        let url = format!("http://{address}/v1");
        Self { url, record }
    }

    fn asked_at(&self) -> Vec<Instant> {
        self.record.lock().unwrap().asked_at.clone()
    }
}

async fn answer(State(record): State<Arc<Mutex<Record>>>, body: Bytes) -> Response {
    let reply = {
        let mut record = record.lock().unwrap();
        let asked = record.asked_at.len();
        record.asked_at.push(Instant::now());
        record.replies[asked.min(record.replies.len() - 1)].clone()
    };
    match reply {
        Reply::Fails(status, wait, words) => {
            let error = json!({"error": {"type": "rate_limit_error", "message": words}});
            let status = StatusCode::from_u16(status).unwrap();
            let wait = [("retry-after", wait.to_string())];
            (status, wait, Json(error)).into_response()
        }
        Reply::Clicks(label) => {
            let element = element_called(&String::from_utf8_lossy(&body), label);
            let decision = json!({"next": "act", "actions": [
                {"intent": format!("click {label}"), "action": "click", "element_id": element}]});
            // A small object before the decision.
            says(&format!("{{\"seen\": true}} {decision}"))
        }
        Reply::Done => says(r#"{"next": "done", "message": "It is pressed."}"#),
    }
}

pub(crate) fn says(text: &str) -> Response {
    Json(
        json!({"choices": [{"finish_reason": "stop", "message": {"content": text}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10}}),
    )
    .into_response()
}

/// Returns the text with the list of elements that a request has.
pub(crate) fn elements_of(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    let text = body["messages"][1]["content"][0]["text"].as_str().unwrap();
    text.to_owned()
}

/// Returns the number of the element with this text in the list that the request has.
pub(crate) fn element_called(body: &str, label: &str) -> u32 {
    let text = elements_of(body);
    let quoted = format!("\"{label}\"");
    let line = text
        .lines()
        .find(|line| line.starts_with('[') && line.contains(&quoted));
    let line = line.unwrap_or_else(|| panic!("{label} is not in\n{text}"));
    line[1..].split(']').next().unwrap().parse().unwrap()
}

async fn run(desktop: &TestDesktop, provider: &Provider, more: &[&str]) -> ProgramResult {
    let setup = TestSetup::on(desktop);
    let base_url = format!("--set=planner.providers.own.base_url={}", provider.url);
    let settings = [
        "--set=planner.backends=[\"operator\"]",
        "--set=planner.backend.operator.provider=own",
        "--set=planner.backend.operator.model=local-vl",
        base_url.as_str(),
    ];
    let words = ["run", "--in-process", "press Harbour"];
    setup
        .motorium(&[&settings, &words[..], more].concat())
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn provider_retry_after_is_honoured_and_its_message_shown() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show_logger(&mut desktop).await;

    let busy = Reply::Fails(200, 2, "the kitchen is full");
    let replies = vec![busy, Reply::Clicks("Harbour"), Reply::Done];
    let provider = Provider::start(replies).await;
    let done = run(&desktop, &provider, &[]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(site.fields().await["harbour"], "pressed");
    let asked = provider.asked_at();
    assert_eq!(
        asked.len(),
        4,
        "the failure, one for each step, and the second look"
    );
    assert!(asked[1] - asked[0] >= Duration::from_secs(2));

    let closed = Reply::Fails(429, 3600, "the kitchen is closed");
    let provider = Provider::start(vec![closed]).await;
    let failed = run(&desktop, &provider, &["--max-time", "60s"]).await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let output = format!("{}{}", failed.stdout, failed.stderr);
    for words in ["the kitchen is closed", "3600 s", "--max-time"] {
        assert!(output.contains(words), "{words} is not in {output}");
    }
    assert_eq!(
        provider.asked_at().len(),
        1,
        "nothing asks again before then"
    );
    assert!(failed.elapsed < Duration::from_secs(50), "{failed:?}");
}
