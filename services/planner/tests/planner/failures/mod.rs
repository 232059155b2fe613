//! What becomes of every failure of a provider: how often it is asked, how long is waited, who answers instead, and what
//! people are told. Over real sockets; the pauses between two attempts are
//! taken as they would be, and what is waited for in vain is waited for by a clock that stands still meanwhile.

mod answers;
mod expected;
mod over_time;
mod server;
mod transport;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use image::{Rgba, RgbaImage};
use motorium_imaging::picture;
use motorium_kit::config::Secret;
use motorium_planner::PlannerService;
use motorium_planner::backends::Backend;
use motorium_planner::backends::claude_som::ClaudeSom;
use motorium_planner::backends::dialect::Dialect;
use motorium_planner::backends::model::{ModelBackend, Parts};
use motorium_planner::backends::operator::Operator;
use motorium_planner::models::Models;
use motorium_planner::prompt::Prompts;
use motorium_planner::provider::Endpoint;
use motorium_planner::provider::endpoint::Address;
use motorium_planner::router::pauses::Pauses;
use motorium_planner::router::{Router, Rules};
use motorium_proto::service::{ImageFormat, PlanRequest, Planned, Planner as _, Result};
use serde_json::{Value, json};

use self::server::{Reply, Server};
use crate::request::request;

const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
const STALL_TIMEOUT: Duration = Duration::from_millis(300);
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1500);

const SCREEN: &str = r#"button 20,20 80x30 "Save""#;

/// Pauses that are written down and not made, without chance.
#[derive(Debug, Clone, Default)]
struct Noted(Arc<Mutex<Vec<u128>>>);

impl Pauses for Noted {
    fn wait(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(time.as_millis());
        Box::pin(std::future::ready(()))
    }

    fn chance(&self) -> f64 {
        0.0
    }
}

/// Claude behind one provider, and a chat endpoint behind another that takes over.
struct Stage {
    service: PlannerService,
    claude: Server,
    other: Server,
    pauses: Noted,
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").finish_non_exhaustive()
    }
}

impl Stage {
    async fn with(script: Vec<Reply>) -> Self {
        Self::with_both(script, vec![Reply::success(&chat(&decision("click", 1)))]).await
    }

    async fn with_both(claude: Vec<Reply>, other: Vec<Reply>) -> Self {
        let (claude, other) = (Server::start(claude).await, Server::start(other).await);
        let base = format!("http://{}", claude.address);
        Self::at(&base, claude, other)
    }

    /// With Claude at another address than its provider's.
    fn at(base: &str, claude: Server, other: Server) -> Self {
        let pauses = Noted::default();
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
                Arc::new(Operator::default()),
                "local-vl",
                &second,
            ),
        ];
        let mut rules = Rules::within(Duration::from_secs(20));
        rules.bounds.attempt_timeout = ATTEMPT_TIMEOUT;
        rules.pauses = Arc::new(pauses.clone());
        let prompts = Arc::new(Prompts::built_in().unwrap());
        Self {
            service: PlannerService::new(Router::with_rules(backends, &rules), prompts),
            claude,
            other,
            pauses,
        }
    }

    async fn plan(&self) -> Result<Planned> {
        self.service.plan(step()).await
    }

    fn waited(&self) -> Vec<u128> {
        self.pauses.0.lock().unwrap().clone()
    }
}

fn backend(name: &str, dialect: Arc<dyn Dialect>, model: &str, base: &str) -> Arc<dyn Backend> {
    let address = Address {
        api: dialect.api(),
        base_url: base.parse().unwrap(),
        key: Some(Secret::new("sk-of-the-test")),
        proxy: None,
        ca_file: None,
        anthropic_version: "2023-06-01".to_owned(),
        connect_timeout: CONNECT_TIMEOUT,
        stall_timeout: STALL_TIMEOUT,
    };
    Arc::new(ModelBackend::new(Parts {
        name: name.to_owned(),
        model: Models::default().get(model, dialect.api()),
        dialect,
        endpoint: Ok(Endpoint::new(&address).unwrap()),
        prompts: Arc::new(Prompts::built_in().unwrap()),
    }))
}

/// A step on a screen with a picture.
fn step() -> PlanRequest {
    let pixels = RgbaImage::from_pixel(1000, 800, Rgba([40, 100, 200, 255]));
    PlanRequest {
        image: Some(picture::encode(&pixels, ImageFormat::Png).unwrap()),
        ..request("save the file", SCREEN)
    }
}

/// An answer that acts on an element.
fn decision(action: &str, element: i64) -> Value {
    json!({
        "thought": "The button is there.", "progress": "Saving", "suspected_injections": [], "next": "act",
        "actions": [{"intent": "click \"Save\"", "action": action, "element_id": element, "x": -1, "y": -1, "path": [],
            "button": "left", "count": 1, "text": "", "keys": "", "amount": -1, "verify_pointer": false}],
        "message": "", "evidence": [], "needs_hands": false, "function": "", "arguments": "", "json_schema": ""})
}

/// The same as Claude says it.
fn claude(text: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-6",
        "content": [{"type": "thinking", "thinking": "", "signature": "EuYB"}, {"type": "text", "text": text}],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 2000, "output_tokens": 100, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}})
}

/// The same as a chat endpoint says it.
fn chat(decision: &Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "local-vl",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null,
            "message": {"role": "assistant", "refusal": null, "content": decision.to_string()}}],
        "usage": {"prompt_tokens": 1400, "completion_tokens": 40, "total_tokens": 1440}})
}
