//! Handling of every provider failure: number of requests, waits, the backend that decides instead, and the message. Over
//! real sockets. Waits between attempts are recorded and not made; timeouts run on a paused clock.

mod answers;
mod expected;
mod server;
mod state_and_usage;
mod transport;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use image::{Rgba, RgbaImage};
use motorium_imaging::codec;
use motorium_kit::config::Secret;
use motorium_planner::PlannerService;
use motorium_planner::backends::Backend;
use motorium_planner::backends::call::sleeper::Sleeper;
use motorium_planner::backends::chat_som::ChatSom;
use motorium_planner::backends::claude_som::ClaudeSom;
use motorium_planner::backends::dialect::Dialect;
use motorium_planner::backends::model::{ModelBackend, ModelBackendParts};
use motorium_planner::models::ModelTable;
use motorium_planner::prompt::Prompts;
use motorium_planner::provider::Endpoint;
use motorium_planner::provider::endpoint::EndpointConfig;

use motorium_planner::router::{Router, RouterConfig};
use motorium_proto::service::{ImageFormat, PlanRequest, PlannedDecision, Planner as _, Result};
use serde_json::{Value, json};

use self::server::{Reply, Server};
use crate::request::request;

const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
const STALL_TIMEOUT: Duration = Duration::from_millis(300);
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1500);

const SCREEN: &str = r#"button 20,20 80x30 "Save""#;

/// A sleeper that records waits without waiting, and has no jitter.
#[derive(Debug, Clone, Default)]
struct RecordingSleeper(Arc<Mutex<Vec<u128>>>);

impl Sleeper for RecordingSleeper {
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(time.as_millis());
        Box::pin(std::future::ready(()))
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

/// Claude at one provider, and a chat endpoint at another as fallback.
struct Setup {
    service: PlannerService,
    claude: Server,
    other: Server,
    pauses: RecordingSleeper,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").finish_non_exhaustive()
    }
}

impl Setup {
    async fn with(script: Vec<Reply>) -> Self {
        Self::with_both(script, vec![Reply::success(&chat(&decision("click", 1)))]).await
    }

    async fn with_both(claude: Vec<Reply>, other: Vec<Reply>) -> Self {
        let (claude, other) = (Server::start(claude).await, Server::start(other).await);
        let base = format!("http://{}", claude.address);
        Self::at(&base, claude, other)
    }

    /// Creates the set-up with Claude at another URL.
    fn at(base: &str, claude: Server, other: Server) -> Self {
        let pauses = RecordingSleeper::default();
        let second = format!("http://{}/v1", other.address);
        let backends: Vec<Arc<dyn Backend>> = vec![
            backend(
                "claude_som",
                Arc::new(ClaudeSom::default()),
                "claude-opus-4-6",
                base,
            ),
            backend(
                "operator",
                Arc::new(ChatSom::default()),
                "local-vl",
                &second,
            ),
        ];
        let mut rules = RouterConfig::with_timeout(Duration::from_secs(20));
        rules.limits.requests.attempt_timeout = ATTEMPT_TIMEOUT;
        rules.sleeper = Arc::new(pauses.clone());
        let prompts = Arc::new(Prompts::built_in().unwrap());
        Self {
            service: PlannerService::new(Router::with_config(backends, &rules), prompts),
            claude,
            other,
            pauses,
        }
    }

    async fn plan(&self) -> Result<PlannedDecision> {
        self.service.plan(step()).await
    }

    fn waited(&self) -> Vec<u128> {
        self.pauses.0.lock().unwrap().clone()
    }
}

fn backend(name: &str, dialect: Arc<dyn Dialect>, model: &str, base: &str) -> Arc<dyn Backend> {
    let address = EndpointConfig {
        api: dialect.api(),
        base_url: base.parse().unwrap(),
        key: Some(Secret::new("sk-of-the-test")),
        proxy: None,
        ca_file: None,
        anthropic_version: "2023-06-01".to_owned(),
        organization: None,
        project: None,
        headers: Default::default(),
        connect_timeout: CONNECT_TIMEOUT,
        stall_timeout: STALL_TIMEOUT,
    };
    Arc::new(ModelBackend::new(ModelBackendParts {
        name: name.to_owned(),
        model: ModelTable::default().get(model, dialect.api()),
        dialect,
        endpoint: Ok(Endpoint::new(&address).unwrap()),
        prompts: Arc::new(Prompts::built_in().unwrap()),
    }))
}

/// A step with a screenshot.
fn step() -> PlanRequest {
    let pixels = RgbaImage::from_pixel(1000, 800, Rgba([40, 100, 200, 255]));
    PlanRequest {
        image: Some(codec::encode(&pixels, ImageFormat::Png).unwrap()),
        ..request("save the file", SCREEN)
    }
}

/// A response that acts on an element.
fn decision(action: &str, element: i64) -> Value {
    json!({
        "thought": "The button is there.", "progress": "Saving", "suspected_injections": [], "next": "act",
        "actions": [{"intent": "click \"Save\"", "action": action, "element_id": element, "x": -1, "y": -1, "path": [],
            "button": "left", "count": 1, "text": "", "keys": "", "amount": -1, "verify_pointer": false}],
        "message": "", "evidence": [], "needs_hands": false, "function": "", "arguments": "", "json_schema": ""})
}

/// The response in Claude's format.
fn claude(text: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-6",
        "content": [{"type": "thinking", "thinking": "", "signature": "EuYB"}, {"type": "text", "text": text}],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 2000, "output_tokens": 100, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}})
}

/// The response in the format of a chat endpoint.
fn chat(decision: &Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "local-vl",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null,
            "message": {"role": "assistant", "refusal": null, "content": decision.to_string()}}],
        "usage": {"prompt_tokens": 1400, "completion_tokens": 40, "total_tokens": 1440}})
}
