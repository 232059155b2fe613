//! A local provider that records every request, and gives prepared responses in order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

#[derive(Debug, Default)]
struct ProviderState {
    received: Vec<Received>,
    answers: VecDeque<(u16, Value)>,
}

/// A fake provider that runs as long as the test's runtime.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    pub(crate) url: String,
    state: Arc<Mutex<ProviderState>>,
}

impl Provider {
    /// Starts the provider.
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<Mutex<ProviderState>>::default();
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&state));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, state }
    }

    /// Appends a response.
    pub(crate) fn will_answer(&self, status: u16, body: Value) {
        self.state.lock().unwrap().answers.push_back((status, body));
    }

    /// Returns every request so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap().received.clone()
    }
}

async fn answer(
    State(state): State<Arc<Mutex<ProviderState>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut state = state.lock().unwrap();
    state.received.push(Received {
        path: uri.path().to_owned(),
        headers,
        body: serde_json::from_slice(&body).unwrap(),
    });
    let (status, answer) = state
        .answers
        .pop_front()
        .expect("an answer for every request");
    let status = StatusCode::from_u16(status).unwrap();
    let json = [(header::CONTENT_TYPE, "application/json")];
    (status, json, answer.to_string()).into_response()
}
