//! A test web: one server for all hosts below `.test`, which records the requests per host.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;

use super::wait_for;

/// Pages by path. `REDIRECT address` redirects, and `PORT` stands for the server's port.
type Pages = BTreeMap<&'static str, String>;

#[derive(Clone)]
pub(crate) struct Web {
    pub(crate) port: u16,
    pages: Arc<Pages>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Web {
    pub(crate) async fn serve(pages: &[(&'static str, &str)]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let filled = |page: &str| page.replace("PORT", &port.to_string());
        let pages = pages.iter().map(|&(path, page)| (path, filled(page)));
        let web = Self {
            port,
            pages: Arc::new(pages.collect()),
            asked: Arc::default(),
        };
        let router = Router::new().fallback(answer).with_state(web.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        web
    }

    /// Returns a URL of this web.
    pub(crate) fn address(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    /// Returns the requests to a host so far, as paths with queries.
    pub(crate) fn asked_of(&self, host: &str) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let paths = asked
            .iter()
            .filter_map(|one| one.strip_prefix(host)?.strip_prefix(' '));
        paths
            .filter(|path| *path != "/favicon.ico")
            .map(str::to_owned)
            .collect()
    }

    /// Waits until a path of a host was requested.
    pub(crate) async fn wait_asked(&self, host: &str, path: &str) {
        wait_for(&format!("{host}{path} to be asked for"), || {
            self.asked_of(host)
                .iter()
                .any(|asked| asked == path)
                .then_some(())
        })
        .await;
    }

    pub(crate) fn forget(&self) {
        self.asked.lock().unwrap().clear();
    }
}

async fn answer(State(web): State<Web>, headers: HeaderMap, request: Request) -> impl IntoResponse {
    let host = headers[HOST].to_str().unwrap().split(':').next().unwrap();
    let uri = request.uri();
    let path = uri.path_and_query().unwrap().as_str();
    web.asked.lock().unwrap().push(format!("{host} {path}"));
    let page = web
        .pages
        .get(uri.path())
        .map_or("", String::as_str)
        .to_owned();
    let mut answer = HeaderMap::new();
    let kind = match uri.path().ends_with(".js") {
        true => "text/javascript",
        false => "text/html; charset=utf-8",
    };
    // Read the whole body first: a browser treats an early response as a failure.
    to_bytes(request.into_body(), usize::MAX).await.unwrap();
    answer.insert(CONTENT_TYPE, kind.parse().unwrap());
    match page.strip_prefix("REDIRECT ") {
        Some(onward) => {
            answer.insert(LOCATION, onward.parse().unwrap());
            (StatusCode::FOUND, answer, String::new())
        }
        None => (StatusCode::OK, answer, page),
    }
}
