//! Proxies that understand requests: they deliver a request late, twice, out of order, or lose its response.
//!
//! A [`link`](crate::link) can only treat the bytes of a connection, so that what it delays ends with the connection. A
//! proxy between an orchestrator and an executor has read the whole request, and may deliver it after its caller has
//! given up, on a connection of its own.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

/// Delay of a late delivery, in milliseconds: from within the same action to after the end of its task's lease.
const LATE_MS: Range<u64> = 50..9_000;
/// Delay of a request that others may overtake, in milliseconds.
const REORDER_MS: Range<u64> = 0..600;
/// Calls with streams of messages. They cannot be delivered again.
const STREAMS: [&str; 4] = ["/PutFile", "/GetFile", "/WatchHumanInput", "/Watch"];

type Body = UnsyncBoxBody<Bytes, hyper::Error>;
type Sender = SendRequest<Full<Bytes>>;

/// Treatment of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ProxyCondition {
    #[default]
    Forward,
    /// The caller gets an error at once, and the request is delivered later.
    Late,
    /// The request is delivered, and delivered again later.
    Duplicated,
    /// Requests overtake each other.
    Reordered,
    /// The request is delivered, and the caller gets an error in place of its response.
    ResponseLost,
}

/// A proxy to one address.
#[derive(Debug)]
pub(crate) struct RequestProxy {
    pub(crate) address: SocketAddr,
    condition: watch::Sender<ProxyCondition>,
    deliveries: Arc<Mutex<LateDeliveries>>,
}

/// Deliveries after the caller had its answer, by their result.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub(crate) struct LateDeliveries {
    /// Answered with success.
    pub(crate) accepted: usize,
    /// Answered with an error.
    pub(crate) refused: usize,
    /// Not delivered: the executor was not reached.
    pub(crate) undelivered: usize,
}

impl LateDeliveries {
    pub(crate) fn add(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.undelivered += other.undelivered;
    }
}

impl RequestProxy {
    /// Opens a proxy to `target`, which runs as long as the runtime.
    pub(crate) async fn to(target: SocketAddr, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (condition, seen) = watch::channel(ProxyCondition::Forward);
        let deliveries = Arc::default();
        let route = Route {
            target,
            condition: seen,
            deliveries: Arc::clone(&deliveries),
            random: Arc::new(Mutex::new(StdRng::seed_from_u64(seed))),
        };
        tokio::spawn(accept(listener, route));
        Self {
            address,
            condition,
            deliveries,
        }
    }

    pub(crate) fn set(&self, condition: ProxyCondition) {
        self.condition.send_replace(condition);
    }

    pub(crate) fn late_deliveries(&self) -> LateDeliveries {
        *lock(&self.deliveries)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Target and condition of a proxy, and its randomness.
#[derive(Debug, Clone)]
struct Route {
    target: SocketAddr,
    condition: watch::Receiver<ProxyCondition>,
    deliveries: Arc<Mutex<LateDeliveries>>,
    random: Arc<Mutex<StdRng>>,
}

/// A request that was read whole.
#[derive(Debug, Clone)]
struct WholeRequest {
    head: http::request::Parts,
    body: Bytes,
}

impl WholeRequest {
    fn to_request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.head.method.clone();
        *request.uri_mut() = self.head.uri.clone();
        *request.headers_mut() = self.head.headers.clone();
        request
    }
}

async fn accept(listener: TcpListener, route: Route) {
    while let Ok((near, _)) = listener.accept().await {
        let _ = near.set_nodelay(true);
        let route = route.clone();
        tokio::spawn(async move {
            // One connection beyond for each one here, so that both end together.
            let Ok(far) = route.connect().await else {
                return;
            };
            let ended = far.clone();
            let handler = service_fn(move |request| {
                let (route, far) = (route.clone(), far.clone());
                async move { Ok::<_, Infallible>(route.handle(request, far).await) }
            });
            let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(near), handler);
            tokio::select! {
                _ = serving => {}
                () = closed(ended) => {}
            }
        });
    }
}

/// Waits until a connection has ended.
async fn closed(sender: Sender) {
    while !sender.is_closed() {
        sleep(Duration::from_millis(20)).await;
    }
}

impl Route {
    async fn connect(&self) -> Result<Sender, ()> {
        let far = TcpStream::connect(self.target).await.map_err(drop)?;
        let _ = far.set_nodelay(true);
        let connected =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(far)).await;
        let (sender, connection) = connected.map_err(drop)?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn delay(&self, range: Range<u64>) -> Duration {
        Duration::from_millis(lock(&self.random).random_range(range))
    }

    async fn handle(&self, request: Request<Incoming>, far: Sender) -> Response<Body> {
        let (head, body) = request.into_parts();
        let Ok(body) = body.collect().await else {
            return broken();
        };
        let request = WholeRequest {
            body: body.to_bytes(),
            head,
        };
        let path = request.head.uri.path();
        let is_stream = STREAMS.iter().any(|stream| path.ends_with(stream));
        let condition = *self.condition.borrow();
        match condition {
            _ if is_stream => forward(&request, far).await,
            ProxyCondition::Forward => forward(&request, far).await,
            ProxyCondition::Late => {
                self.deliver_later(request);
                broken()
            }
            ProxyCondition::Duplicated => {
                self.deliver_later(request.clone());
                forward(&request, far).await
            }
            ProxyCondition::Reordered => {
                sleep(self.delay(REORDER_MS)).await;
                forward(&request, far).await
            }
            ProxyCondition::ResponseLost => {
                drop(forward(&request, far).await);
                broken()
            }
        }
    }

    /// Delivers a request after a while on a connection of its own, whatever has become of its caller.
    fn deliver_later(&self, request: WholeRequest) {
        let route = self.clone();
        let delay = route.delay(LATE_MS);
        tokio::spawn(async move {
            sleep(delay).await;
            let delivered = route.deliver(&request).await;
            let mut deliveries = lock(&route.deliveries);
            match delivered {
                Some(true) => deliveries.accepted += 1,
                Some(false) => deliveries.refused += 1,
                None => deliveries.undelivered += 1,
            }
        });
    }

    /// Delivers a request and returns whether its response is a success; `None` without a response.
    async fn deliver(&self, request: &WholeRequest) -> Option<bool> {
        let mut far = self.connect().await.ok()?;
        let response = far.send_request(request.to_request()).await.ok()?;
        let is_ok = |headers: &HeaderMap| headers.get("grpc-status").map(|status| status == "0");
        let early = is_ok(response.headers());
        let body = response.into_body().collect().await.ok()?;
        early.or_else(|| body.trailers().and_then(is_ok))
    }
}

async fn forward(request: &WholeRequest, mut far: Sender) -> Response<Body> {
    match far.send_request(request.to_request()).await {
        Ok(response) => response.map(BodyExt::boxed_unsync),
        Err(_) => broken(),
    }
}

/// Returns the response of a proxy that has lost its server, which gRPC takes for `UNAVAILABLE`.
fn broken() -> Response<Body> {
    let never = |never: Infallible| match never {};
    let mut response = Response::new(Empty::new().map_err(never).boxed_unsync());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}
