//! The HTTP service of the protocol, and its sessions: each belongs to the caller that opened it, for as long as it may be served.
//!
//! Identifiers of sessions are no credentials. A request with another caller's is answered as one of an unknown session.
//! Requests of the protocol without sessions (2026-07-28) have none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures::future::BoxFuture;
use futures::{Stream, StreamExt as _, stream};
use http::{HeaderMap, header};
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
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

    /// Forgets sessions that have ended, and refuses another one of a caller that has too many.
    async fn make_room(&self, caller: &Caller) -> Result<(), Error> {
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
        match own.count() < MAX_SESSIONS {
            true => Ok(()),
            false => Err(Error::StreamLimit {
                limit: MAX_SESSIONS,
            }),
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
    let session = session_id(request.headers()).map(str::to_owned);
    match &session {
        Some(session) => service.check_owner(session, &caller)?,
        None => service.make_room(&caller).await?,
    }
    let permit = service.context.quotas.open_stream(caller.identity())?;
    let response = next.run(request).await;
    if session.is_none()
        && let Some(opened) = session_id(response.headers())
    {
        let owner = caller.identity();
        service.owners().insert(opened.to_owned(), owner);
    }
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
