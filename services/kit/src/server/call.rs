//! What happens to every call between the connection and its handler.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderMap, Request, Response, header};
use motorium_proto::error::{ErrorReport, reason};
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic::body::Body;
use tonic::service::Routes;
use tower::Service;
use tracing::{Instrument as _, debug_span};

use crate::caller::Caller;
use crate::config::Secret;
use crate::deadline::{Deadline, cut, header as timeout, passed};
use crate::error_info::{self, deadline_exceeded, shutting_down};
use crate::panics;

/// Services whose endless streams end as soon as the server drains; health also answers without a token.
const HEALTH: &str = "/grpc.health.v1.Health/";
const REFLECTION: &str = "/grpc.reflection.";

/// When calls are to end.
#[derive(Debug, Clone, Default)]
pub(super) struct Stops {
    /// The server takes no new connections and finishes what it has.
    pub(super) draining: CancellationToken,
    /// Whatever still runs is cut off.
    pub(super) stopping: CancellationToken,
}

/// What every call of one server shares.
#[derive(Debug, Clone)]
pub(super) struct Calls {
    token: Option<Secret>,
    stops: Stops,
}

impl Calls {
    pub(super) fn new(token: Option<Secret>, stops: Stops) -> Self {
        Self { token, stops }
    }

    /// The routes behind all of it.
    pub(super) fn serving(self, routes: Routes) -> Served {
        Served {
            calls: self,
            routes,
        }
    }

    fn admit(&self, path: &str, headers: &HeaderMap) -> Result<(), ErrorReport> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        if path.starts_with(HEALTH) {
            return Ok(());
        }
        let presented = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(bearer);
        match presented {
            Some(presented) if token.matches(presented) => Ok(()),
            Some(_) => Err(unauthenticated("the token is not the right one")),
            None => Err(unauthenticated(
                "a token is needed: send the header `authorization: Bearer <token>`",
            )),
        }
    }

    /// When the call at `path` ends, at the latest, and what its caller is told.
    fn last_moment(
        &self,
        path: &str,
        deadline: Option<Deadline>,
    ) -> Pin<Box<dyn Future<Output = ErrorReport> + Send>> {
        let infrastructure = path.starts_with(HEALTH) || path.starts_with(REFLECTION);
        let stops = self.stops.clone();
        let method = path.to_owned();
        let ended = async move {
            if infrastructure {
                stops.draining.cancelled().await;
                // One turn more, so that watchers of health still get the news.
                tokio::task::yield_now().await;
            } else {
                stops.stopping.cancelled().await;
            }
        };
        Box::pin(async move {
            tokio::select! {
                biased;
                () = passed(deadline) => deadline_exceeded(&method),
                () = ended => shutting_down(),
            }
        })
    }
}

/// The token of an `authorization` header; the scheme's name may be written in any case.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

fn unauthenticated(problem: &str) -> ErrorReport {
    ErrorReport::new(Code::Unauthenticated, reason::UNAUTHENTICATED, problem)
}

/// The routes, guarded.
#[derive(Debug, Clone)]
pub(super) struct Served {
    calls: Calls,
    routes: Routes,
}

impl Service<Request<Body>> for Served {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<Body>>::poll_ready(&mut self.routes, cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The deadline is taken here and not in the future: tonic starts its own timer, whose bare CANCELLED must not
        // come first, after this function has returned.
        let deadline = timeout::parse(request.headers()).map(Deadline::after);
        let path = request.uri().path().to_owned();
        let span = debug_span!("call", method = %path);
        let ready = self.routes.clone();
        let routes = std::mem::replace(&mut self.routes, ready);
        let calls = self.calls.clone();
        Box::pin(
            async move { Ok(answer(calls, routes, request, path, deadline).await) }
                .instrument(span),
        )
    }
}

/// The whole way of a call, from the outside in.
async fn answer(
    calls: Calls,
    mut routes: Routes,
    mut request: Request<Body>,
    path: String,
    deadline: Option<Deadline>,
) -> Response<Body> {
    if let Err(refused) = calls.admit(&path, request.headers()) {
        return error_info::response(refused);
    }
    if let Some(deadline) = deadline {
        request.extensions_mut().insert(deadline);
    }
    let caller = Caller::of(request.extensions());
    let handler = caller.scope(async {
        match routes.call(request).await {
            Ok(response) => response,
        }
    });
    // Nothing outlives its deadline, or the server; neither the handler nor what it streams.
    let bounded = cut(handler, deadline, calls.last_moment(&path, deadline));
    // Whatever tonic answered by itself gets its reason.
    let explained = async { error_info::explained(bounded.await, path.clone()) };
    // A defect in a handler costs one call, not the connection.
    panics::caught(explained).await
}
