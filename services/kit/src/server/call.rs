//! Middleware that every call passes between the connection and its handler.
//!
//! It does not decode messages: tonic does.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Extensions, HeaderMap, Request, Response};
use motorium_proto::error::{ErrorReport, reason};
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::service::Routes;
use tower::Service;
use tracing::{Instrument as _, debug_span};

use super::authentication::Authentication;
use super::refusal::{RefusalObserver, RefusedCall};
use crate::authorisation::AuthorisationTable;
use crate::connection_origin::ConnectionOrigin;
use crate::deadline::{Deadline, header as timeout, wait_for_deadline, with_cutoff};
use crate::error_info::{self, deadline_exceeded, shutting_down};
use crate::panics;
use crate::principal::Principal;

/// Services whose endless streams end as soon as the server drains. Health also requires no token.
const HEALTH: &str = "/grpc.health.v1.Health/";
const REFLECTION: &str = "/grpc.reflection.";

/// Signals that end calls.
#[derive(Debug, Clone, Default)]
pub(super) struct StopSignals {
    /// The server accepts no new connections and finishes running calls.
    pub(super) draining: CancellationToken,
    /// Running calls are cut off.
    pub(super) stopping: CancellationToken,
}

/// State shared by all calls of one server.
#[derive(Debug, Clone)]
pub(super) struct CallLayer {
    authentication: Authentication,
    authorisation: AuthorisationTable,
    refusals: Option<Arc<dyn RefusalObserver>>,
    stops: StopSignals,
}

impl CallLayer {
    pub(super) fn new(
        authentication: Authentication,
        authorisation: AuthorisationTable,
        refusals: Option<Arc<dyn RefusalObserver>>,
        stops: StopSignals,
    ) -> Self {
        Self {
            authentication,
            authorisation,
            refusals,
            stops,
        }
    }

    /// Wraps the routes.
    pub(super) fn layer(self, routes: Routes) -> CallService {
        CallService {
            calls: self,
            routes,
        }
    }

    /// Returns the principal of a call that it may make. Health checks need none, and reflection needs any.
    async fn admit(
        &self,
        path: &str,
        headers: &HeaderMap,
        connection: &Extensions,
    ) -> Result<Principal, ErrorReport> {
        if path.starts_with(HEALTH) {
            return Ok(Principal::local());
        }
        let authenticated = self.authentication.principal(headers, connection).await;
        let principal = authenticated.inspect_err(|report| self.report(path, None, report))?;
        if !path.starts_with(REFLECTION) {
            let checked = self.authorisation.check(path, &principal);
            checked.inspect_err(|report| self.report(path, Some(&principal), report))?;
        }
        Ok(principal)
    }

    /// Reports a refused call. One of a method that is not served is no attempt at anything, if its caller is known.
    fn report(&self, path: &str, caller: Option<&Principal>, report: &ErrorReport) {
        let Some(observer) = &self.refusals else {
            return;
        };
        if report.reason == reason::NOT_SERVED {
            return;
        }
        let served = self.authorisation.lists(path);
        let method = path.rsplit('/').next().filter(|_| served);
        observer.refused(RefusedCall {
            method: method.map(str::to_owned),
            caller: caller.cloned(),
            reason: report.reason.clone(),
        });
    }

    /// Returns the cutoff of the call at `path`: its deadline or the end of the server, with the error for the caller.
    fn cutoff(
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
                // Yields once, so that watchers of health still receive the status change.
                tokio::task::yield_now().await;
            } else {
                stops.stopping.cancelled().await;
            }
        };
        Box::pin(async move {
            tokio::select! {
                biased;
                () = wait_for_deadline(deadline) => deadline_exceeded(&method),
                () = ended => shutting_down(),
            }
        })
    }
}

/// The routes behind the middleware.
#[derive(Debug, Clone)]
pub(super) struct CallService {
    calls: CallLayer,
    routes: Routes,
}

impl Service<Request<Body>> for CallService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<Body>>::poll_ready(&mut self.routes, cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The deadline is computed here, not in the future: tonic starts its own timer after this function has returned,
        // and its bare CANCELLED must not come first.
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

/// Processes a call, from the outermost layer to the handler.
async fn answer(
    calls: CallLayer,
    mut routes: Routes,
    mut request: Request<Body>,
    path: String,
    deadline: Option<Deadline>,
) -> Response<Body> {
    let admitted = calls.admit(&path, request.headers(), request.extensions());
    let principal = match admitted.await {
        Ok(principal) => principal,
        Err(refused) => return error_info::response(refused),
    };
    if let Some(deadline) = deadline {
        request.extensions_mut().insert(deadline);
    }
    let origin = ConnectionOrigin::of(request.extensions());
    // Boxed, because each layer around it would contain its state once more.
    let handler = Box::pin(origin.scope(principal.scope(async {
        match routes.call(request).await {
            Ok(response) => response,
        }
    })));
    // Neither the handler nor its stream outlives the deadline or the server.
    let bounded = with_cutoff(handler, deadline, calls.cutoff(&path, deadline));
    // Statuses that tonic itself returned get a reason.
    let explained = async { error_info::with_error_info(bounded.await, path.clone()) };
    // A panic in a handler fails one call, not the connection.
    panics::catch_panics(explained).await
}
