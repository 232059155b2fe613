//! The events of a session as server-sent events.
//!
//! Each event has an id from which a broken stream continues without loss. The log of the session is read from its start
//! again for that, because a chat event depends on earlier events of its task.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Extension, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::BoxFuture;
use futures::stream;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::limits::HEARTBEAT_INTERVAL;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::watch_session_response::Content;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tonic::Streaming;
use utoipa::IntoParams;

use super::narration::{ChatData, Narration};
use super::requests::{ensure_session, session_name};
use crate::access::Admission;
use crate::caller::Caller;
use crate::error::Error;
use crate::query::Query;
use crate::quota::StreamPermit;
use crate::socket::StreamContext;

/// Time after which a browser connects again.
const RETRY: Duration = Duration::from_secs(1);
/// Header of the last received event, which browsers send when they connect again.
const LAST_EVENT_ID: &str = "last-event-id";
/// Characters of a task's key in event ids. Few enough that an id with a hundred tasks fits into a header.
const KEY_CHARACTERS: usize = 8;

/// Parameters of a stream.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// Session, as in `/api/chat/send`.
    session_id: String,
}

/// Streams the events of a session, past and future ones.
#[utoipa::path(get, path = "/api/chat/stream", tag = "chat", params(StreamQuery,
    ("last-event-id" = Option<String>, Header, description = "Id of the last received event")),
    responses((status = 200, content_type = "text/event-stream", body = ChatData,
        description = "Events; the kind is in the field `event`"),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn follow(
    State(context): State<StreamContext>,
    Extension(caller): Extension<Caller>,
    Extension(admission): Extension<Admission>,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let permit = context.quotas.open_stream(caller.identity())?;
    let session = session_name(&query.session_id)?;
    let mut client = context.upstream.orchestrator(&caller)?;
    ensure_session(&mut client, &session).await?;
    let request = wire::WatchSessionRequest {
        name: session,
        resume_token: String::new(),
    };
    let responses = client.watch_session(request).await?.into_inner();
    let known = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    let follower = Follower {
        responses,
        narrations: HashMap::new(),
        position: known.map(Position::parse).unwrap_or_default(),
        queue: VecDeque::from([Event::default().retry(RETRY).comment("connected")]),
        shutdown: context.shutdown,
        revoked: admission.revoked(),
        _permit: permit,
    };
    let events = stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    let keep_alive = KeepAlive::new()
        .interval(HEARTBEAT_INTERVAL)
        .text("heartbeat");
    let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
    // Proxies that collect responses would hold events back.
    let unbuffered = [
        (HeaderName::from_static("x-accel-buffering"), "no"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in unbuffered {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

struct Follower {
    responses: Streaming<wire::WatchSessionResponse>,
    narrations: HashMap<String, Narration>,
    position: Position,
    queue: VecDeque<Event>,
    shutdown: Shutdown,
    revoked: BoxFuture<'static, Error>,
    _permit: StreamPermit,
}

impl Follower {
    /// Returns the next event, or `None` at the end: the browser then connects again.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            let response = tokio::select! {
                response = self.responses.message() => response,
                _ = &mut self.revoked => return None,
                () = self.shutdown.draining() => return None,
            };
            match response {
                Ok(Some(response)) => self.receive(response),
                Ok(None) => return None,
                Err(status) => {
                    tracing::debug!(%status, "an event stream has ended");
                    return None;
                }
            }
        }
    }

    fn receive(&mut self, response: wire::WatchSessionResponse) {
        let Some(Content::Event(event)) = response.content else {
            return;
        };
        let narration = self.narrations.entry(event.task.clone()).or_default();
        let chat_event = narration.add(&event);
        if !self.position.advance(&event.task, event.sequence) {
            return;
        }
        if let Some(chat_event) = chat_event {
            let data =
                serde_json::to_string(&chat_event.data).expect("the data has text keys only");
            let event = Event::default().event(chat_event.kind.name()).data(data);
            self.queue.push_back(event.id(self.position.to_text()));
        }
    }
}

/// The last delivered event of each task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Position(BTreeMap<String, i64>);

impl Position {
    /// Parses the id of an event. Malformed parts are skipped: their events are sent once more.
    fn parse(id: &str) -> Self {
        let parts = id.split('.').filter_map(|part| {
            let (key, sequence) = part.split_once('=')?;
            Some((key.to_owned(), sequence.parse().ok()?))
        });
        Self(parts.collect())
    }

    fn to_text(&self) -> String {
        let parts: Vec<String> = self
            .0
            .iter()
            .map(|(key, sequence)| format!("{key}={sequence}"))
            .collect();
        parts.join(".")
    }

    /// Notes an event. Returns false if it was delivered before.
    fn advance(&mut self, task: &str, sequence: i64) -> bool {
        let last = self.0.entry(key(task)).or_default();
        let is_new = sequence > *last;
        *last = sequence.max(*last);
        is_new
    }
}

fn key(task: &str) -> String {
    let mut text = URL_SAFE_NO_PAD.encode(Sha256::digest(task.as_bytes()));
    text.truncate(KEY_CHARACTERS);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_survives_as_an_id_and_knows_what_was_delivered() {
        let mut position = Position::default();
        assert!(position.advance("tasks/a", 1) && position.advance("tasks/a", 2));
        assert!(position.advance("tasks/b", 1));
        let mut resumed = Position::parse(&position.to_text());
        assert_eq!(resumed, position);
        assert!(!resumed.advance("tasks/a", 2) && !resumed.advance("tasks/a", 1));
        assert!(resumed.advance("tasks/a", 3) && resumed.advance("tasks/c", 1));
    }

    #[test]
    fn a_malformed_id_starts_from_the_beginning() {
        for id in ["", "x", "=", "a=b", "a=1=2", "a=99999999999999999999"] {
            assert_eq!(Position::parse(id), Position::default(), "{id}");
        }
    }
}
