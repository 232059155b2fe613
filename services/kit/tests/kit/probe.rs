//! A small test service on top of the kit, and helpers to call it. Its messages are the well-known wrappers.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, Stream, StreamExt as _};
use http::{Request, Response};
use motorium_kit::authorisation::AuthorisationTable;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::Secret;
use motorium_kit::connection_origin::ConnectionOrigin;
use motorium_kit::deadline::Deadline;
use motorium_kit::principal::{Principal, Role};
use motorium_kit::server::{Builder, Config, RunningServer};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::ErrorReport;
use prost::Message as _;
use prost_types::{
    FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, ServiceDescriptorProto,
};
use tokio::sync::watch;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::server::{NamedService, ServerStreamingService, UnaryService};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;
use tower::Service;

pub(crate) const NAME: &str = "kit.test.v1.ProbeService";

/// Counts of the probe's handlers, which tests wait on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HandlerCounts {
    pub(crate) entered: usize,
    pub(crate) dropped: usize,
}

/// The test service. Each method exercises one behaviour of the kit.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    seen: Arc<watch::Sender<HandlerCounts>>,
    shutdown: Shutdown,
    next: Option<Channel>,
}

impl Probe {
    pub(crate) fn new(shutdown: &Shutdown) -> Self {
        Self {
            seen: Arc::new(watch::Sender::new(HandlerCounts::default())),
            shutdown: shutdown.clone(),
            next: None,
        }
    }

    /// Sets the service that `Relay` calls.
    pub(crate) fn relaying_to(mut self, next: Channel) -> Self {
        self.next = Some(next);
        self
    }

    pub(crate) fn seen(&self) -> watch::Receiver<HandlerCounts> {
        self.seen.subscribe()
    }

    fn enter(&self) -> Inside {
        self.seen.send_modify(|seen| seen.entered += 1);
        Inside(self.seen.clone())
    }

    async fn unary(
        self,
        method: &str,
        request: tonic::Request<Vec<u8>>,
    ) -> Result<Vec<u8>, Status> {
        let inside = self.enter();
        match method {
            "Echo" => Ok(request.into_inner()),
            "Blow" => Ok(vec![0; number(request.get_ref())]),
            "Left" => {
                assert_eq!(
                    request.extensions().get::<Deadline>().copied(),
                    Deadline::current()
                );
                let left =
                    Deadline::current().map_or(0, |deadline| deadline.remaining().as_micros());
                Ok(left.to_string().into_bytes())
            }
            "Origin" => Ok(format!("{:?}", ConnectionOrigin::current()).into_bytes()),
            "Principal" => {
                let principal = Principal::current().expect("a call has one");
                let roles: Vec<&str> = principal.roles().iter().map(|role| role.name()).collect();
                let (name, tenant, roles) = (principal.name(), principal.tenant(), roles.join(" "));
                Ok(format!("{name} {tenant} {roles}").into_bytes())
            }
            "Hang" => std::future::pending().await,
            "Drain" => {
                self.shutdown.draining().await;
                Ok(b"drained".to_vec())
            }
            "Relay" => call(self.next.expect("a channel to relay to"), "Left", b"").await,
            "Panic" => panic!("a handler that panics"),
            "Bare" => Err(Status::internal("bare")),
            "Detailed" => Err(
                ErrorReport::new(Code::NotFound, "THERE_IS_NONE", "no such thing").into_status(),
            ),
            _ => {
                drop(inside);
                Err(Status::unimplemented(""))
            }
        }
    }

    fn streaming(self, method: &str) -> Result<Drops, Status> {
        let inside = self.enter();
        let shutdown = self.shutdown;
        let every = Duration::from_millis(20);
        let items: Drops = match method {
            "Drip" => Box::pin(stream::unfold(
                (inside, 0),
                move |(inside, count)| async move {
                    tokio::time::sleep(every).await;
                    (count < 40).then_some((Ok(vec![count]), (inside, count + 1)))
                },
            )),
            "Flood" => Box::pin(stream::unfold(inside, |inside| async move {
                Some((Ok(vec![0; 100]), inside))
            })),
            "Deadlines" => Box::pin(stream::iter(0..2).map(move |_| {
                let _inside = &inside;
                Ok(vec![u8::from(Deadline::current().is_some())])
            })),
            "UntilDrained" => Box::pin(stream::once(async { Ok(vec![0]) }).chain(stream::once(
                async move {
                    shutdown.draining().await;
                    drop(inside);
                    Ok(vec![1])
                },
            ))),
            "Endless" => Box::pin(stream::once(async { Ok(vec![0]) }).chain(stream::once(
                async move {
                    let _inside = inside;
                    std::future::pending().await
                },
            ))),
            "PanicLater" => Box::pin(stream::once(async { Ok(vec![0]) }).chain(stream::once(
                async move {
                    let _inside = inside;
                    // Yields first: an item that is ready together with the panic would be lost.
                    tokio::task::yield_now().await;
                    panic!("a stream that panics")
                },
            ))),
            _ => return Err(Status::unimplemented("")),
        };
        Ok(items)
    }
}

type Drops = Pin<Box<dyn Stream<Item = Result<Vec<u8>, Status>> + Send>>;

/// Counts a handler that ends, either because it is done or because it was dropped.
struct Inside(Arc<watch::Sender<HandlerCounts>>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.send_modify(|seen| seen.dropped += 1);
    }
}

fn number(text: &[u8]) -> usize {
    std::str::from_utf8(text).unwrap().parse().unwrap()
}

impl NamedService for Probe {
    const NAME: &'static str = NAME;
}

struct Method(Probe, String);

impl UnaryService<Vec<u8>> for Method {
    type Response = Vec<u8>;
    type Future = BoxFuture<'static, Result<tonic::Response<Vec<u8>>, Status>>;

    fn call(&mut self, request: tonic::Request<Vec<u8>>) -> Self::Future {
        let (probe, method) = (self.0.clone(), self.1.clone());
        Box::pin(async move {
            probe
                .unary(&method, request)
                .await
                .map(tonic::Response::new)
        })
    }
}

impl ServerStreamingService<Vec<u8>> for Method {
    type Response = Vec<u8>;
    type ResponseStream = Drops;
    type Future = BoxFuture<'static, Result<tonic::Response<Drops>, Status>>;

    fn call(&mut self, _: tonic::Request<Vec<u8>>) -> Self::Future {
        let (probe, method) = (self.0.clone(), self.1.clone());
        Box::pin(async move { probe.streaming(&method).map(tonic::Response::new) })
    }
}

impl Service<Request<Body>> for Probe {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let name = request.uri().path().rsplit('/').next().unwrap().to_owned();
        let streams = [
            "Drip",
            "Flood",
            "Deadlines",
            "UntilDrained",
            "Endless",
            "PanicLater",
        ];
        let streaming = streams.contains(&name.as_str());
        let method = Method(self.clone(), name);
        let mut grpc = tonic::server::Grpc::new(ProstCodec::<Vec<u8>, Vec<u8>>::default());
        Box::pin(async move {
            Ok(if streaming {
                grpc.server_streaming(method, request).await
            } else {
                grpc.unary(method, request).await
            })
        })
    }
}

/// Returns the descriptors of the probe.
pub(crate) fn descriptors() -> &'static [u8] {
    static SET: OnceLock<Vec<u8>> = OnceLock::new();
    SET.get_or_init(|| {
        let wrapper = ".google.protobuf.BytesValue".to_owned();
        let method = MethodDescriptorProto {
            name: Some("Echo".to_owned()),
            input_type: Some(wrapper.clone()),
            output_type: Some(wrapper),
            ..Default::default()
        };
        let service = ServiceDescriptorProto {
            name: Some("ProbeService".to_owned()),
            method: vec![method],
            options: None,
        };
        let file = FileDescriptorProto {
            name: Some("kit/test/v1/probe.proto".to_owned()),
            package: Some("kit.test.v1".to_owned()),
            dependency: vec!["google/protobuf/wrappers.proto".to_owned()],
            service: vec![service],
            syntax: Some("proto3".to_owned()),
            ..Default::default()
        };
        FileDescriptorSet { file: vec![file] }.encode_to_vec()
    })
}

/// The methods of the probe.
const METHODS: &[(&str, &[Role])] = &[
    ("Echo", ANY),
    ("Blow", ANY),
    ("Left", ANY),
    ("Origin", ANY),
    ("Principal", &[Role::Author]),
    ("Hang", ANY),
    ("Drain", ANY),
    ("Relay", ANY),
    ("Panic", ANY),
    ("Bare", ANY),
    ("Detailed", ANY),
    ("Drip", ANY),
    ("Flood", ANY),
    ("Deadlines", ANY),
    ("UntilDrained", ANY),
    ("Endless", ANY),
    ("PanicLater", ANY),
    ("Unknown", ANY),
];
const ANY: &[Role] = &Role::ALL;

/// Returns the configuration of a server on a free port that knows the methods of the probe.
pub(crate) fn config() -> Config {
    Config {
        authorisation: AuthorisationTable::of(&[(NAME, METHODS)]),
        ..Config::loopback()
    }
}

/// Starts a probe.
pub(crate) async fn serve(config: Config, probe: Probe, shutdown: &Shutdown) -> RunningServer {
    Builder::new(config)
        .service(probe, descriptors())
        .start(shutdown)
        .await
        .unwrap()
}

/// Starts a probe with the default configuration.
pub(crate) async fn plain() -> (RunningServer, Probe) {
    let shutdown = Shutdown::new();
    let probe = Probe::new(&shutdown);
    (serve(config(), probe.clone(), &shutdown).await, probe)
}

pub(crate) fn uri(server: &RunningServer) -> String {
    format!("http://{}", server.local_address())
}

/// Returns a channel of the kit to a server.
pub(crate) fn channel(server: &RunningServer) -> Channel {
    Channel::connect_lazy(&client::Config::new(uri(server))).unwrap()
}

/// Returns a plain tonic channel to a server, as a third-party client would use.
pub(crate) async fn foreign(server: &RunningServer) -> tonic::transport::Channel {
    tonic::transport::Endpoint::new(uri(server))
        .unwrap()
        .connect()
        .await
        .unwrap()
}

/// Returns a request with this timeout.
pub(crate) fn within(millis: u64) -> tonic::Request<Vec<u8>> {
    let mut request = tonic::Request::new(Vec::new());
    request.set_timeout(Duration::from_millis(millis));
    request
}

pub(crate) async fn call<C>(channel: C, method: &str, body: &[u8]) -> Result<Vec<u8>, Status>
where
    C: GrpcService<Body>,
    C::ResponseBody: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    <C::ResponseBody as http_body::Body>::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    C::Error: std::fmt::Debug,
{
    send(channel, method, tonic::Request::new(body.to_vec())).await
}

pub(crate) async fn send<C>(
    channel: C,
    method: &str,
    request: tonic::Request<Vec<u8>>,
) -> Result<Vec<u8>, Status>
where
    C: GrpcService<Body>,
    C::ResponseBody: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    <C::ResponseBody as http_body::Body>::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    C::Error: std::fmt::Debug,
{
    let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(64 << 20);
    grpc.ready().await.unwrap();
    let path = format!("/{NAME}/{method}").parse().unwrap();
    let codec = ProstCodec::<Vec<u8>, Vec<u8>>::default();
    grpc.unary(request, path, codec)
        .await
        .map(tonic::Response::into_inner)
}

/// Calls a streaming method and reads to the end. Returns the number of items and the final status.
pub(crate) async fn read<C>(
    channel: C,
    method: &str,
    request: tonic::Request<Vec<u8>>,
) -> (Vec<Vec<u8>>, Result<(), Status>)
where
    C: GrpcService<Body>,
    C::ResponseBody: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    <C::ResponseBody as http_body::Body>::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    C::Error: std::fmt::Debug,
{
    let mut stream = match open(channel, method, request).await {
        Ok(stream) => stream,
        Err(status) => return (Vec::new(), Err(status)),
    };
    let mut items = Vec::new();
    loop {
        match stream.message().await {
            Ok(Some(item)) => items.push(item),
            Ok(None) => return (items, Ok(())),
            Err(status) => return (items, Err(status)),
        }
    }
}

pub(crate) async fn open<C>(
    channel: C,
    method: &str,
    request: tonic::Request<Vec<u8>>,
) -> Result<tonic::Streaming<Vec<u8>>, Status>
where
    C: GrpcService<Body>,
    C::ResponseBody: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    <C::ResponseBody as http_body::Body>::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    C::Error: std::fmt::Debug,
{
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.unwrap();
    let path = format!("/{NAME}/{method}").parse().unwrap();
    let codec = ProstCodec::<Vec<u8>, Vec<u8>>::default();
    grpc.server_streaming(request, path, codec)
        .await
        .map(tonic::Response::into_inner)
}

/// Serves the probe until the end of the test.
pub(crate) async fn serve_alone(config: Config) -> RunningServer {
    let shutdown = Shutdown::new();
    serve(config, Probe::new(&shutdown), &shutdown).await
}

/// Returns a channel whose calls carry this token.
pub(crate) fn with_token(server: &RunningServer, token: &str) -> Channel {
    let config = client::Config {
        token: Some(Secret::new(token)),
        ..client::Config::new(uri(server))
    };
    Channel::connect_lazy(&config).unwrap()
}

/// Returns the code and the reason of a status.
#[track_caller]
pub(crate) fn code_and_reason<T: std::fmt::Debug>(result: Result<T, Status>) -> (Code, String) {
    let report = ErrorReport::from_status(&result.expect_err("the call should fail"));
    (report.code, report.reason)
}

/// Awaits a future with a timeout, so that a test fails instead of hanging.
pub(crate) async fn with_timeout<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .expect("it should have happened by now")
}
