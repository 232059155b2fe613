//! The HTTP service of the protocol, and its sessions: each belongs to the caller that opened it, for as long as it may be served.
//!
//! Identifiers of sessions are no credentials. A request with another caller's is answered as one of an unknown session.
//! Requests of the protocol without sessions (2026-07-28) have none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Extension, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures::future::BoxFuture;
use futures::{Stream, StreamExt as _, stream};
use http::{HeaderMap, Method, header};
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::server::McpServer;
use crate::access::Admission;
use crate::caller::{Caller, Fingerprint};
use crate::error::Error;
use crate::json::MAX_JSON_BYTES;
use crate::quota::StreamPermit;
use crate::socket::StreamContext;

/// Header of a session.
const SESSION_ID: &str = "mcp-session-id";
/// Method of the message that opens a session.
const INITIALIZE: &str = "initialize";
/// Maximum number of sessions of a caller.
// A client has one for as long as it runs.
const MAX_SESSIONS: usize = 20;
/// Time without messages after which a session ends. A call that waits for a person is silent for as long as an approval lasts.
const KEEP_ALIVE: Duration = Duration::from_secs(30 * 60);

/// The sessions of the protocol.
#[derive(Debug, Clone)]
pub(crate) struct McpService {
    manager: Arc<LocalSessionManager>,
    owners: Arc<Mutex<HashMap<String, Fingerprint>>>,
    /// Requests that may open a session, by their caller. They count as sessions.
    opening: Arc<Mutex<HashMap<Fingerprint, usize>>>,
    server: McpServer,
    context: StreamContext,
    ended: CancellationToken,
}

impl McpService {
    pub(crate) fn new(context: StreamContext, direct_actions: bool) -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(KEEP_ALIVE);
        let ended = CancellationToken::new();
        let (draining, ends) = (context.shutdown.clone(), ended.clone());
        tokio::spawn(async move {
            draining.draining().await;
            ends.cancel();
        });
        Self {
            manager: Arc::new(manager),
            owners: Arc::default(),
            opening: Arc::default(),
            server: McpServer::new(Arc::clone(&context.upstream), direct_actions),
            context,
            ended,
        }
    }

    /// Returns the HTTP service.
    pub(crate) fn http(&self) -> StreamableHttpService<McpServer, LocalSessionManager> {
        // `guard` has checked the host and the origin, and knows the public ones too.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(MAX_JSON_BYTES)
            .with_cancellation_token(self.ended.clone());
        let server = self.server.clone();
        StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::clone(&self.manager),
            config,
        )
    }

    fn owners(&self) -> std::sync::MutexGuard<'_, HashMap<String, Fingerprint>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses the session of another caller.
    fn check_owner(&self, session: &str, caller: &Caller) -> Result<(), Error> {
        match self.owners().get(session) {
            Some(owner) if *owner == caller.identity() => Ok(()),
            _ => Err(Error::McpSessionNotFound),
        }
    }

    /// Forgets sessions that have ended, and refuses another one of a caller that has too many. A session may be opened for as
    /// long as the returned value lives.
    async fn make_room(&self, caller: &Caller) -> Result<Opening, Error> {
        let known: Vec<String> = self.owners().keys().cloned().collect();
        let mut ended = Vec::new();
        for session in known {
            let exists = self.manager.has_session(&session.as_str().into()).await;
            if !exists.unwrap_or(false) {
                ended.push(session);
            }
        }
        let mut owners = self.owners();
        owners.retain(|session, _| !ended.contains(session));
        let own = owners.values().filter(|owner| **owner == caller.identity());
        Opening::begin(&self.opening, caller.identity(), own.count())
    }
}

/// A request that may open a session.
#[derive(Debug)]
struct Opening {
    opening: Arc<Mutex<HashMap<Fingerprint, usize>>>,
    owner: Fingerprint,
}

impl Opening {
    /// Refuses a session of a caller that has `sessions` already, counting those that are being opened.
    fn begin(
        opening: &Arc<Mutex<HashMap<Fingerprint, usize>>>,
        owner: Fingerprint,
        sessions: usize,
    ) -> Result<Self, Error> {
        let mut requests = opening.lock().unwrap_or_else(PoisonError::into_inner);
        let count = requests.get(&owner).copied().unwrap_or_default();
        if sessions + count >= MAX_SESSIONS {
            return Err(Error::StreamLimit {
                limit: MAX_SESSIONS,
            });
        }
        requests.insert(owner, count + 1);
        Ok(Self {
            opening: Arc::clone(opening),
            owner,
        })
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let mut requests = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = requests.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                requests.remove(&self.owner);
            }
        }
    }
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}

/// Middleware: lets a caller use its own sessions only, and ends what it receives when it may no longer be served.
pub(crate) async fn check_session(
    State(service): State<McpService>,
    Extension(caller): Extension<Caller>,
    Extension(admission): Extension<Admission>,
    request: Request,
    next: Next,
) -> Result<Response, Error> {
    let permit = service.context.quotas.open_stream(caller.identity())?;
    let session = session_id(request.headers()).map(str::to_owned);
    let (request, opening) = match &session {
        Some(session) => {
            service.check_owner(session, &caller)?;
            (request, None)
        }
        None => {
            let (request, may_open) = may_open_session(request).await?;
            let opening = match may_open {
                true => Some(service.make_room(&caller).await?),
                false => None,
            };
            (request, opening)
        }
    };
    let response = match opening {
        None => next.run(request).await,
        Some(opening) => {
            // In a task of its own: a session that was opened has its owner also if the client does not wait for the response.
            let opened = tokio::spawn(open(
                service.clone(),
                caller.identity(),
                opening,
                request,
                next,
            ));
            opened
                .await
                .unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
        }
    };
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let is_stream =
        content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return Ok(response);
    }
    Ok(response.map(|body| {
        let streamed = Streamed {
            data: Box::pin(body.into_data_stream()),
            revoked: admission.revoked(),
            _permit: permit,
        };
        Body::from_stream(streamed.into_stream())
    }))
}

/// Returns a request without a session, and whether it may open one. Requests of the protocol without sessions wait for a task
/// as long as others, and are no sessions.
async fn may_open_session(request: Request) -> Result<(Request, bool), Error> {
    if request.method() != Method::POST {
        return Ok((request, false));
    }
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_JSON_BYTES).await;
    let body = body.map_err(|_| Error::BodyTooLarge {
        limit: MAX_JSON_BYTES,
    })?;
    let may_open = may_initialize(&body);
    Ok((Request::from_parts(parts, Body::from(body)), may_open))
}

/// Returns false if a message is certainly not the one that opens a session.
fn may_initialize(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message {
        method: String,
    }
    let message: Result<Message, _> = serde_json::from_slice(message);
    message.map_or(true, |message| message.method == INITIALIZE)
}

/// Carries out a request without a session, which may open one.
async fn open(
    service: McpService,
    owner: Fingerprint,
    opening: Opening,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    if let Some(opened) = session_id(response.headers()) {
        service.owners().insert(opened.to_owned(), owner);
    }
    // Not before the session has its owner, by which it is counted from now on.
    drop(opening);
    response
}

/// The events of a response, for as long as its caller may be served.
struct Streamed<S> {
    data: std::pin::Pin<Box<S>>,
    revoked: BoxFuture<'static, Error>,
    _permit: StreamPermit,
}

impl<S: Stream<Item = Result<Bytes, axum::Error>> + Send + 'static> Streamed<S> {
    fn into_stream(self) -> impl Stream<Item = Result<Bytes, axum::Error>> + Send {
        stream::unfold(self, |mut streamed| async move {
            let part = tokio::select! {
                biased;
                _ = &mut streamed.revoked => None,
                part = streamed.data.next() => part,
            };
            part.map(|part| (part, streamed))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_message_that_certainly_opens_no_session_is_spared() {
        assert!(!may_initialize(br#"{"id": 1, "method": "tools/call"}"#));
        for message in [
            r#"{"method": "initialize"}"#,
            r#"{"method": "tools/call", "method": "initialize"}"#,
            r#"{"method": "init\u0069alize"}"#,
            r#"[{"method": "tools/call"}]"#,
            r#"{"method": 1}"#,
            "{",
            "",
        ] {
            assert!(may_initialize(message.as_bytes()), "{message}");
        }
    }

    #[test]
    fn sessions_that_are_being_opened_count() {
        let opening = Arc::default();
        let begin = |token, sessions| Opening::begin(&opening, Fingerprint::of(token), sessions);
        let parallel: Vec<Opening> = (0..MAX_SESSIONS - 5)
            .map(|_| begin("one", 5).unwrap())
            .collect();
        begin("one", 5).unwrap_err();
        begin("two", 0).unwrap();
        drop(parallel);
        begin("one", 5).unwrap();
        begin("one", MAX_SESSIONS).unwrap_err();
    }
}
