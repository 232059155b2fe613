//! A fake provider for many concurrent calls. It reads each request to its end, discards it, waits a fixed time, and
//! always gives the same response.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use motorium_planner::models::Api;
use motorium_planner::provider::Endpoint;
use motorium_planner::provider::endpoint::{CONNECT_TIMEOUT, EndpointConfig, STALL_TIMEOUT};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::time::Instant;

/// Thinking time of the fake model: shorter than a real model's, long enough for the work done meanwhile.
const THINKING: Duration = Duration::from_millis(150);

/// A listening fake provider. It ends with the process.
pub(crate) struct Provider {
    api: Api,
    port: u16,
    thought: ThinkingTime,
}

/// Total time that the provider has waited, over all responses.
#[derive(Clone, Default)]
pub(crate) struct ThinkingTime(Arc<AtomicU64>);

impl ThinkingTime {
    pub(crate) fn so_far(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Acquire))
    }

    /// Waits, and adds the measured time: a sleep may last longer than requested.
    async fn think(&self) {
        let began = Instant::now();
        tokio::time::sleep(THINKING).await;
        let nanoseconds = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanoseconds, Ordering::AcqRel);
    }
}

impl Provider {
    /// Starts a provider that answers once `at_once` requests have arrived, and then all of them.
    pub(crate) async fn start(api: Api, at_once: usize) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let everybody = Arc::new(Barrier::new(at_once));
        let thought = ThinkingTime::default();
        let thinks = thought.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, api, Arc::clone(&everybody), thinks.clone()));
            }
        });
        Ok(Self { api, port, thought })
    }

    pub(crate) fn thought(&self) -> ThinkingTime {
        self.thought.clone()
    }

    /// Returns an endpoint for this provider.
    pub(crate) fn endpoint(&self) -> anyhow::Result<Endpoint> {
        Ok(Endpoint::new(&EndpointConfig {
            api: self.api,
            base_url: format!("http://127.0.0.1:{}", self.port).parse()?,
            key: None,
            proxy: None,
            ca_file: None,
            anthropic_version: "2023-06-01".to_owned(),
            organization: None,
            project: None,
            headers: Default::default(),
            connect_timeout: CONNECT_TIMEOUT,
            stall_timeout: STALL_TIMEOUT,
        })?)
    }
}

/// Answers every request of a connection.
async fn serve(
    stream: TcpStream,
    api: Api,
    everybody: Arc<Barrier>,
    thought: ThinkingTime,
) -> std::io::Result<()> {
    let mut stream = BufStream::new(stream);
    while let Some(length) = head(&mut stream).await? {
        let mut body = (&mut stream).take(length);
        tokio::io::copy(&mut body, &mut tokio::io::sink()).await?;
        everybody.wait().await;
        thought.think().await;
        let answer = answer(api).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(answer.as_bytes()).await?;
        stream.flush().await?;
    }
    Ok(())
}

/// Reads the head of a request and returns the length of its body. `None` at the end of the connection.
async fn head(stream: &mut BufStream<TcpStream>) -> std::io::Result<Option<u64>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            return Ok(Some(length));
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
}

/// A decision in the format of each dialect that uses this protocol.
fn answer(api: Api) -> Value {
    let usage = json!({"input_tokens": 2000, "output_tokens": 80, "prompt_tokens": 2000, "completion_tokens": 80});
    match api {
        Api::AnthropicMessages => {
            let text = json!({"thought": "It is there.", "progress": "Save.", "action": "click", "element_id": 7});
            json!({"stop_reason": "end_turn", "usage": usage, "content": [{"type": "text", "text": text.to_string()}]})
        }
        Api::OpenaiResponses | Api::OpenaiChat => {
            let code = "```python\npyautogui.click(x=500, y=400)\n```";
            let call = r#"<tool_call>{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [500, 400]}}</tool_call>"#;
            json!({"usage": usage, "choices": [{"finish_reason": "stop", "message": {"content": format!("{code}\n{call}")}}]})
        }
    }
}
