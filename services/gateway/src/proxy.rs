//! gRPC-Web: passes calls of browsers on to the services, with the token of the caller.
//!
//! Messages are not decoded. tonic-web translates between gRPC-Web and gRPC, and everything else passes through unchanged.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Bytes;
use futures::future::BoxFuture;
use futures::{Stream, stream};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, Request, Response, Uri, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use motorium_kit::client::Channel;
use tonic::Status;
use tonic::body::Body;
use tonic_web::{GrpcWebLayer, GrpcWebService};
use tower::{Layer as _, Service, ServiceExt as _};

use crate::access::Admission;
use crate::caller::Caller;
use crate::error::Error;
use crate::quota::{Quotas, StreamPermit};
use crate::upstream::{DesktopService, Upstream};

/// Full name of the Orchestrator's service.
pub(crate) const ORCHESTRATOR: &str = "motorium.orchestrator.v1.OrchestratorService";
/// Full name of Perception's service.
const PERCEPTION: &str = "motorium.perception.v1.PerceptionService";
/// Full name of the Executor's service.
const EXECUTOR: &str = "motorium.executor.v1.ExecutorService";
/// Prefix of the paths of desktops.
pub(crate) const DESKTOPS: &str = "/api/desktops/";

/// Headers that pass on to a service. All others are of the browser and of the connection to it.
static FORWARDED_HEADERS: [HeaderName; 5] = [
    header::CONTENT_TYPE,
    header::TE,
    HeaderName::from_static("grpc-timeout"),
    HeaderName::from_static("grpc-encoding"),
    HeaderName::from_static("grpc-accept-encoding"),
];

/// Passes calls on to the service that their path names.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    upstream: Arc<Upstream>,
    quotas: Arc<Quotas>,
}

impl Proxy {
    /// Creates the proxy, with the translation of gRPC-Web around it.
    pub(crate) fn for_browsers(
        upstream: Arc<Upstream>,
        quotas: Arc<Quotas>,
    ) -> GrpcWebService<Self> {
        GrpcWebLayer::new().layer(Self { upstream, quotas })
    }

    async fn forward(self, request: Request<Body>) -> Result<Response<Body>, Error> {
        // The middleware has identified the caller of every request that arrives here.
        let caller = request.extensions().get::<Caller>().cloned();
        let admission = request.extensions().get::<Admission>().cloned();
        let (caller, admission) = caller.zip(admission).ok_or(Error::LoginRequired)?;
        let permit = self.quotas.open_stream(caller.identity())?;
        let (channel, method) = self.route(&caller, request.uri().path()).await?;
        let response = call(channel, method, request).await;
        Ok(response.map(|body| {
            let streamed = StreamedBody {
                body,
                revoked: admission.revoked(),
                _permit: permit,
            };
            Body::new(StreamBody::new(streamed.into_frames()))
        }))
    }

    /// Returns the service that a path names, and the path of the method there.
    async fn route(&self, caller: &Caller, path: &str) -> Result<(Channel, PathAndQuery), Error> {
        let Some(rest) = path.strip_prefix(DESKTOPS) else {
            let channel = self.upstream.orchestrator_channel(caller)?;
            return Ok((channel, method_path(path)?));
        };
        let not_found = || Error::RouteNotFound {
            path: path.to_owned(),
        };
        let (desktop, method) = rest.split_once('/').ok_or_else(not_found)?;
        let service = match method.split('/').next() {
            Some(PERCEPTION) => DesktopService::Perception,
            Some(EXECUTOR) => DesktopService::Executor,
            _ => return Err(not_found()),
        };
        let method = method_path(&format!("/{method}"))?;
        let address = self.upstream.desktop(caller, desktop).await?;
        let channel = self.upstream.desktop_channel(caller, &address, service)?;
        Ok((channel, method))
    }
}

/// The body of a response, for as long as its caller may be served.
struct StreamedBody {
    body: Body,
    revoked: BoxFuture<'static, Error>,
    _permit: StreamPermit,
}

impl StreamedBody {
    fn into_frames(self) -> impl Stream<Item = Result<Frame<Bytes>, Status>> {
        stream::unfold(Some(self), |streamed| async move {
            let mut streamed = streamed?;
            tokio::select! {
                biased;
                error = &mut streamed.revoked => {
                    let status = error.report().into_status();
                    Some((Ok(Frame::trailers(trailers(status))), None))
                }
                frame = streamed.body.frame() => frame.map(|frame| (frame, Some(streamed))),
            }
        })
    }
}

fn trailers(status: Status) -> HeaderMap {
    let mut headers = status.into_http::<Body>().into_parts().0.headers;
    headers.remove(header::CONTENT_TYPE);
    headers
}

fn method_path(path: &str) -> Result<PathAndQuery, Error> {
    PathAndQuery::try_from(path).map_err(|_| Error::RouteNotFound {
        path: path.to_owned(),
    })
}

async fn call(channel: Channel, method: PathAndQuery, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let mut forwarded = Request::new(body);
    *forwarded.method_mut() = head.method;
    *forwarded.version_mut() = http::Version::HTTP_2;
    *forwarded.uri_mut() = Uri::from(method);
    for name in &FORWARDED_HEADERS {
        if let Some(value) = head.headers.get(name) {
            forwarded.headers_mut().insert(name, value.clone());
        }
    }
    let Ok(response) = channel.oneshot(forwarded).await;
    response
}

impl Service<Request<Body>> for Proxy {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let proxy = self.clone();
        Box::pin(async move {
            let response = proxy.forward(request).await;
            Ok(response.unwrap_or_else(|error| error.report().into_status().into_http()))
        })
    }
}
