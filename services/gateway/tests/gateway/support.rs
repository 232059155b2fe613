//! A gateway in front of stand-ins for the Orchestrator and Perception, and clients of it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::post;
use futures::stream::{self, BoxStream, StreamExt as _};
use http::{HeaderMap, HeaderValue, header};
use http_body_util::{BodyExt as _, StreamBody};
use image::{Rgba, RgbaImage};
use motorium_gateway::{Gateway, LocalAccess, Services as GatewayServices, Settings};
use motorium_imaging::codec;
use motorium_kit::client::Config as ClientConfig;
use motorium_kit::config::Secret;
use motorium_kit::http_client;
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::ImageFormat;
use motorium_proto::v1::common::{Desktop, Frame, PixelBox, PixelSize};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State as TaskState;
use motorium_proto::v1::perception::{FrameTile, StreamFramesResponse};
use prost::Message;
use reqwest::{Client, RequestBuilder};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::Code;

/// Token of the services.
pub(crate) const TOKEN: &str = "the-token-of-the-services";
/// Size of the test screen.
pub(crate) const SCREEN: (u32, u32) = (320, 160);

/// Recorded calls of the stand-ins, and their behaviour.
#[derive(Debug)]
pub(crate) struct Services {
    /// `authorization` headers of all calls.
    pub(crate) authorizations: Mutex<Vec<Option<String>>>,
    /// Names of all called methods.
    pub(crate) methods: Mutex<Vec<String>>,
    /// Colour of the screen. A change is a new frame.
    pub(crate) screen: watch::Sender<[u8; 3]>,
    /// Goal of the last created task.
    pub(crate) goal: Mutex<String>,
    /// Result files of the last created task.
    pub(crate) results: Mutex<Vec<String>>,
    /// Names of all created tasks, the last of which waits for an answer if `asks` is set.
    pub(crate) tasks: Mutex<Vec<String>>,
    pub(crate) asks: std::sync::atomic::AtomicBool,
    /// No task can be watched.
    pub(crate) refuses_watches: std::sync::atomic::AtomicBool,
    /// Answers and messages that tasks have received.
    pub(crate) messages: Mutex<Vec<String>>,
    /// Effects by the ids of their requests, each with the method and the body.
    requests: Mutex<HashMap<String, (String, Bytes)>>,
    /// Bytes of the last finished upload.
    pub(crate) uploaded: Mutex<Option<usize>>,
    token: Option<&'static str>,
    address: Mutex<Option<SocketAddr>>,
}

/// A running gateway.
pub(crate) struct TestGateway {
    pub(crate) services: Arc<Services>,
    pub(crate) address: SocketAddr,
    /// Host name of the page.
    pub(crate) host: String,
    pub(crate) gateway: Gateway,
    pub(crate) client: Client,
    shutdown: Shutdown,
    data: TempDir,
}

impl TestGateway {
    /// Starts a gateway whose services demand a token.
    pub(crate) async fn start() -> Self {
        Self::start_with(Some(TOKEN), Settings::default()).await
    }

    /// Starts a gateway with these settings, on a free port.
    pub(crate) async fn start_with(token: Option<&'static str>, settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let services = serve(token).await;
        let (gateway, shutdown) = start_gateway(&services, settings, folder.path()).await;
        let host = page_host(&gateway);
        // Browsers resolve names below `localhost` themselves.
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let client = http_client::plaintext().unwrap().resolve(&host, loopback);
        let client = client.build().unwrap();
        Self {
            services,
            address: gateway.local_address(),
            host,
            gateway,
            client,
            shutdown,
            data: folder,
        }
    }

    /// Restarts the gateway. It has another port.
    pub(crate) async fn restart(&mut self) {
        self.shutdown.drain();
        let (gateway, shutdown) =
            start_gateway(&self.services, Settings::default(), self.data.path()).await;
        self.address = gateway.local_address();
        self.gateway = gateway;
        self.shutdown = shutdown;
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.host, self.address.port())
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(self.url(path))
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(self.url(path))
    }

    /// Follows a login link and returns the cookie.
    pub(crate) async fn log_in(&self) -> String {
        let response = self
            .client
            .get(self.gateway.login_link().unwrap())
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 303);
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    /// Returns the folder of the gateway.
    pub(crate) fn folder(&self) -> std::path::PathBuf {
        self.data.path().join("gateway")
    }
}

/// Returns the host name of the page, which login links have.
fn page_host(gateway: &Gateway) -> String {
    let link = gateway.login_link().unwrap();
    let (_, rest) = link.split_once("://").unwrap();
    rest.split([':', '/']).next().unwrap().to_owned()
}

impl Drop for TestGateway {
    fn drop(&mut self) {
        self.shutdown.stop();
    }
}

async fn start_gateway(
    services: &Services,
    settings: Settings,
    folder: &std::path::Path,
) -> (Gateway, Shutdown) {
    let settings = Settings {
        listen: "127.0.0.1:0".parse().unwrap(),
        ..settings
    };
    let uri = format!("http://{}", services.address.lock().unwrap().unwrap());
    let behind = GatewayServices {
        orchestrator: uri.clone(),
        perception: uri.clone(),
        executor: uri,
        client: ClientConfig::new(""),
        are_own: true,
        refusals: None,
    };
    let access = match services.token {
        Some(token) => LocalAccess::OfServices(Some(Secret::new(token))),
        None => LocalAccess::Own,
    };
    let folder = folder.join("gateway");
    let shutdown = Shutdown::new();
    let config = settings.resolve().unwrap();
    let gateway = Gateway::start(&config, behind, access, folder, &shutdown)
        .await
        .unwrap();
    (gateway, shutdown)
}

async fn serve(token: Option<&'static str>) -> Arc<Services> {
    let services = Arc::new(Services {
        authorizations: Mutex::default(),
        methods: Mutex::default(),
        screen: watch::Sender::new([200, 0, 0]),
        goal: Mutex::default(),
        results: Mutex::default(),
        tasks: Mutex::default(),
        asks: false.into(),
        refuses_watches: false.into(),
        messages: Mutex::default(),
        requests: Mutex::default(),
        uploaded: Mutex::default(),
        token,
        address: Mutex::default(),
    });
    let router = Router::new()
        .route("/{service}/{method}", post(answer))
        .with_state(Arc::clone(&services));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    *services.address.lock().unwrap() = Some(listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    services
}

async fn answer(
    State(services): State<Arc<Services>>,
    Path((_, method)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let authorization = headers.get(header::AUTHORIZATION);
    let authorization = authorization.map(|value| value.to_str().unwrap().to_owned());
    services
        .authorizations
        .lock()
        .unwrap()
        .push(authorization.clone());
    services.methods.lock().unwrap().push(method.clone());
    let expected = services.token.map(|token| format!("Bearer {token}"));
    if expected.is_some() && authorization != expected {
        return status(16, "the token is wrong");
    }
    if method == "OperateDesktop" {
        return many(outcomes(body).boxed());
    }
    let body = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    let Ok(body) = body else {
        return status(1, "the request was cancelled");
    };
    match method.as_str() {
        "ListDesktops" => one(&desktops()),
        "CreateSession" => status(6, "it exists"),
        "ListTasks" => one(&services.list_tasks(&first(&body))),
        "GetTask" => one(&wire::GetTaskResponse {
            task: Some(wire::Task {
                result_files: result_files(),
                ..task("click", TaskState::AwaitingUser)
            }),
        }),
        "ListSteps" => one(&wire::ListStepsResponse::default()),
        "CreateTask" => {
            let request: wire::CreateTaskRequest = first(&body);
            let id = request.request_id.clone();
            services
                .once(&method, &id, &body, || {
                    let wire::Task { goal, results, .. } = request.task.unwrap();
                    *services.results.lock().unwrap() = results;
                    services.goal.lock().unwrap().clone_from(&goal);
                    let mut tasks = services.tasks.lock().unwrap();
                    let name = format!("tasks/t{}", tasks.len() + 1);
                    tasks.push(name);
                })
                .unwrap_or_else(|| {
                    let goal = services.goal.lock().unwrap().clone();
                    let name = services.tasks.lock().unwrap().last().cloned();
                    one(&wire::CreateTaskResponse {
                        task: Some(wire::Task {
                            name: name.unwrap_or_default(),
                            ..task(&goal, TaskState::Pending)
                        }),
                    })
                })
        }
        "SendMessage" => {
            let request: wire::SendMessageRequest = first(&body);
            let id = request.request_id.clone();
            let name = request.name.clone();
            services
                .once(&method, &id, &body, || {
                    services.messages.lock().unwrap().push(request.text);
                    services.asks.store(false, Ordering::Relaxed);
                })
                .unwrap_or_else(|| {
                    one(&wire::SendMessageResponse {
                        task: Some(wire::Task {
                            name,
                            ..task("click", TaskState::Running)
                        }),
                    })
                })
        }
        "AcknowledgeUserAction" => {
            let request: wire::AcknowledgeUserActionRequest = first(&body);
            let id = request.request_id.clone();
            services
                .once(&method, &id, &body, || {
                    services.messages.lock().unwrap().push(request.message);
                })
                .unwrap_or_else(|| one(&wire::AcknowledgeUserActionResponse::default()))
        }
        "CancelTask" => one(&wire::CancelTaskResponse::default()),
        "UploadFile" => {
            let size = messages(&body)
                .map(|message| {
                    wire::UploadFileRequest::decode(message)
                        .unwrap()
                        .chunk
                        .len()
                })
                .sum();
            *services.uploaded.lock().unwrap() = Some(size);
            one(&wire::UploadFileResponse {
                upload: "uploads/u1".to_owned(),
                size_bytes: size as u64,
            })
        }
        "GetArtifact" => artifact(&first::<wire::GetArtifactRequest>(&body).name),
        "WatchTask" if services.refuses_watches.load(Ordering::Relaxed) => {
            status(5, "there is no such task")
        }
        "WatchSession" | "WatchTask" => {
            many(stream::iter(session()).chain(stream::pending()).boxed())
        }
        "GetCaller" => one(&wire::GetCallerResponse {
            name: "ann".to_owned(),
            tenant: "acme".to_owned(),
            roles: vec!["author".to_owned()],
        }),
        "WatchScreen" => {
            let name = first::<wire::WatchScreenRequest>(&body).name;
            if name != "tasks/t1" {
                return status(5, "there is no such task");
            }
            let screen = services.screen.subscribe();
            let updates = frames(screen).map(|update| {
                let update = Some(update);
                frame(&wire::WatchScreenResponse { update })
            });
            many(updates.boxed())
        }
        "StreamFrames" => {
            let screen = services.screen.subscribe();
            many(frames(screen).map(|update| frame(&update)).boxed())
        }
        _ => status(12, "it is not served"),
    }
}

impl Services {
    /// Has the effect of a request unless one with its id had it before, as the Orchestrator does. Returns the refusal of an id
    /// that another request had.
    fn once(
        &self,
        method: &str,
        id: &str,
        body: &Bytes,
        effect: impl FnOnce(),
    ) -> Option<Response> {
        let mut requests = self.requests.lock().unwrap();
        match requests.get(id) {
            Some((known, content)) if known == method && content == body => {}
            Some(_) => {
                let text = "the request id was used for another request";
                let report = ErrorReport::new(Code::InvalidArgument, "REQUEST_ID_REUSED", text);
                return Some(report.into_status().into_http());
            }
            None => {
                if !id.is_empty() {
                    requests.insert(id.to_owned(), (method.to_owned(), body.clone()));
                }
                drop(requests);
                effect();
            }
        }
        None
    }

    fn list_tasks(&self, request: &wire::ListTasksRequest) -> wire::ListTasksResponse {
        let mut names = self.tasks.lock().unwrap().clone();
        names.reverse();
        let asks = self.asks.load(Ordering::Relaxed);
        let asking = request.states.contains(&TaskState::AwaitingUser.into());
        if asking {
            names.truncate(usize::from(asks));
        }
        let question = wire::UserRequest {
            kind: wire::user_request::Kind::Question.into(),
            ..wire::UserRequest::default()
        };
        let tasks = names.into_iter().map(|name| wire::Task {
            name,
            user_request: asking.then(|| question.clone()),
            ..task("click", TaskState::AwaitingUser)
        });
        wire::ListTasksResponse {
            tasks: tasks.collect(),
            ..wire::ListTasksResponse::default()
        }
    }
}

fn desktops() -> wire::ListDesktopsResponse {
    let desktop = Desktop {
        name: "desktops/local".to_owned(),
        display: ":7".to_owned(),
        ..Desktop::default()
    };
    wire::ListDesktopsResponse {
        desktops: vec![desktop],
        next_page_token: String::new(),
    }
}

fn task(goal: &str, state: TaskState) -> wire::Task {
    wire::Task {
        name: "tasks/t1".to_owned(),
        session: "sessions/s1".to_owned(),
        goal: goal.to_owned(),
        state: state.into(),
        ..wire::Task::default()
    }
}

/// A file that was fetched, and one that was not found.
fn result_files() -> Vec<wire::ResultFile> {
    let page = wire::Artifact {
        name: "tasks/t1/artifacts/page".to_owned(),
        media_type: "text/html".to_owned(),
        size_bytes: 8,
        ..wire::Artifact::default()
    };
    let fetched = wire::ResultFile {
        name: "report.html".to_owned(),
        artifact: Some(page),
        ..wire::ResultFile::default()
    };
    let missing = wire::ResultFile {
        name: "none.txt".to_owned(),
        error: "there is no such file".to_owned(),
        ..wire::ResultFile::default()
    };
    vec![fetched, missing]
}

/// Two tasks of a session, told over three events.
fn session() -> Vec<Bytes> {
    let event = |sequence, kind| wire::WatchSessionResponse {
        resume_token: format!("token-{sequence}"),
        content: Some(wire::watch_session_response::Content::Event(wire::Event {
            task: "tasks/t1".to_owned(),
            sequence,
            kind: Some(kind),
            state: TaskState::Running.into(),
            ..wire::Event::default()
        })),
    };
    let created = wire::TaskCreated {
        task: Some(task("click", TaskState::Pending)),
    };
    let line = |text: &str| {
        Kind::ProgressAdded(wire::ProgressAdded {
            text: text.to_owned(),
        })
    };
    let responses = [
        event(1, Kind::Created(created)),
        event(2, line("first")),
        event(3, line("second")),
    ];
    responses.iter().map(frame).collect()
}

fn artifact(name: &str) -> Response {
    let (media_type, file_name) = match name.rsplit('/').next() {
        Some("page") => ("text/html", "page.html"),
        Some("image") => ("image/png", ""),
        _ => return status(5, "there is no such artifact"),
    };
    let metadata = wire::Artifact {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        size_bytes: 8,
        sha256: vec![7; 32].into(),
        file_name: file_name.to_owned(),
    };
    let part = |part| wire::GetArtifactResponse { part: Some(part) };
    let responses = [
        part(wire::get_artifact_response::Part::Artifact(metadata)),
        part(wire::get_artifact_response::Part::Chunk(
            Bytes::from_static(b"<script>"),
        )),
    ];
    many(stream::iter(responses.iter().map(frame).collect::<Vec<_>>()).boxed())
}

fn frames(
    screen: watch::Receiver<[u8; 3]>,
) -> impl futures::Stream<Item = StreamFramesResponse> + Send {
    let mut screen = screen;
    screen.mark_changed();
    stream::unfold(screen, |mut screen| async move {
        screen.changed().await.ok()?;
        let [red, green, blue] = *screen.borrow_and_update();
        let pixels = RgbaImage::from_pixel(SCREEN.0, SCREEN.1, Rgba([red, green, blue, 255]));
        let image = codec::encode(&pixels, ImageFormat::Png).unwrap();
        let (width, height) = (SCREEN.0 as i32, SCREEN.1 as i32);
        let bounds = PixelBox {
            x1: 0,
            y1: 0,
            x2: width,
            y2: height,
        };
        let update = StreamFramesResponse {
            sequence: 0,
            frame: Some(Frame {
                size: Some(PixelSize { width, height }),
                ..Frame::default()
            }),
            tiles: vec![FrameTile {
                bounds: Some(bounds),
                image: Some(image.into()),
            }],
        };
        Some((update, screen))
    })
}

/// Answers the start with its task, and every input with its outcome.
fn outcomes(body: Body) -> impl futures::Stream<Item = Bytes> + Send {
    let state = (body.into_data_stream(), Vec::new());
    stream::unfold(state, |(mut parts, mut received)| async move {
        loop {
            if let Some(prefix) = received.get(1..5) {
                let length = u32::from_be_bytes(prefix.try_into().unwrap()) as usize;
                if received.len() >= 5 + length {
                    let message = Bytes::from(received[5..5 + length].to_vec());
                    received.drain(..5 + length);
                    return Some((outcome(message), (parts, received)));
                }
            }
            received.extend_from_slice(&parts.next().await?.ok()?);
        }
    })
}

fn outcome(request: Bytes) -> Bytes {
    use wire::operate_desktop_request::Part;
    use wire::operate_desktop_response::Part as ResponsePart;

    let request = wire::OperateDesktopRequest::decode(request).unwrap();
    let part = match request.part.unwrap() {
        Part::Start(start) => ResponsePart::Task(wire::Task {
            name: start.name,
            ..wire::Task::default()
        }),
        Part::Input(input) => ResponsePart::Outcome(wire::OperatorInputOutcome {
            sequence: input.sequence,
            ..wire::OperatorInputOutcome::default()
        }),
    };
    frame(&wire::OperateDesktopResponse { part: Some(part) })
}

/// Returns a message of gRPC with its prefix.
pub(crate) fn frame(message: &impl Message) -> Bytes {
    let encoded = message.encode_to_vec();
    let length = u32::try_from(encoded.len()).unwrap();
    [&[0], &length.to_be_bytes()[..], &encoded].concat().into()
}

/// Returns the messages of a body, without their prefixes.
pub(crate) fn messages(body: &Bytes) -> impl Iterator<Item = Bytes> {
    let mut rest = body.clone();
    std::iter::from_fn(move || {
        let length: [u8; 4] = rest.get(1..5)?.try_into().unwrap();
        let mut message = rest.split_to(5 + u32::from_be_bytes(length) as usize);
        Some(message.split_off(5))
    })
}

fn first<M: Message + Default>(body: &Bytes) -> M {
    M::decode(messages(body).next().unwrap()).unwrap()
}

fn one(message: &impl Message) -> Response {
    many(stream::iter([frame(message)]).boxed())
}

fn many(messages: BoxStream<'static, Bytes>) -> Response {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let data = messages.map(http_body::Frame::data);
    let end = stream::iter([http_body::Frame::trailers(trailers)]);
    let body = StreamBody::new(data.chain(end).map(Ok::<_, Infallible>));
    Response::builder()
        .header(header::CONTENT_TYPE, "application/grpc")
        .body(Body::new(body))
        .unwrap()
}

fn status(code: u16, message: &str) -> Response {
    Response::builder()
        .header(header::CONTENT_TYPE, "application/grpc")
        .header("grpc-status", code)
        .header("grpc-message", message)
        .body(Body::empty())
        .unwrap()
}

/// Waits for a condition that other tasks make true.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), waiting).await;
    assert!(waited.is_ok(), "{what}");
}
