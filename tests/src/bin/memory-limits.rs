//! Peak of the memory of a service under each limit of `docs/threat-model.md` (`make memory`).
//!
//! Each case fills one limit of a program that was just started, with more than it allows, and prints how far its memory rose.
//! It judges nothing: the tests that the threat model names do. With names as arguments, only these cases run.

#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::routing::get;
use futures::future::join_all;
use futures::stream::{self, StreamExt as _};
use motorium_client::{Channel, Client};
use motorium_proto::v1::orchestrator as wire;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::services::{Server, TestSetup};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// Characters of a goal and of instructions, the most that are accepted.
const MAX_TEXT: usize = 16_384;
/// Characters of a message, the most that are accepted.
const MAX_MESSAGE: usize = 100_000;
/// Number of calls at a time.
const CONCURRENCY: usize = 64;
/// Time after which the memory of open watches and connections is measured.
const OPEN_TIME: Duration = Duration::from_secs(3);

/// Names of the cases, in order.
const CASES: [&str; 9] = [
    "instructions",
    "labels",
    "messages",
    "requests",
    "files",
    "watches",
    "connections",
    "list_tasks",
    "devtools_messages",
];

/// Result of a case.
struct Filled {
    accepted: usize,
    refused: usize,
}

impl Filled {
    fn of<T, E>(results: &[Result<T, E>]) -> Self {
        let accepted = results.iter().filter(|result| result.is_ok()).count();
        Self {
            accepted,
            refused: results.len() - accepted,
        }
    }
}

#[tokio::main]
async fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "| limit | accepted | refused | memory before, MiB | peak, MiB | log of SQLite, MiB |"
    );
    println!("|---|---|---|---|---|---|");
    for case in CASES {
        if chosen.is_empty() || chosen.iter().any(|name| name == case) {
            run(case).await;
        }
    }
}

async fn run(case: &str) {
    if case == "devtools_messages" {
        return devtools_messages().await;
    }
    let setup = TestSetup::without_display();
    // Nothing answers there: tasks stay in the queue.
    let settings = ["orchestrator.planner=http://127.0.0.1:9".to_owned()];
    let server = Server::start(&setup, "orchestrator", &settings).await;
    let client = || Client::new(server.channel());
    if case == "list_tasks" {
        create(&client(), 1_500, with_texts).await;
    }
    let process = server.process.id();
    let before = begin(process);
    let filled = match case {
        "instructions" => create(&client(), 5_000, with_texts).await,
        "labels" => create(&client(), 2_000, with_labels).await,
        "messages" => messages(&client()).await,
        "requests" => requests(&client()).await,
        "files" => files(&client()).await,
        "watches" => watches(&server).await,
        "connections" => connections(&server).await,
        _ => lists(&client()).await,
    };
    print(case, &filled, before, process, Some(&setup.data()));
}

/// Resets the peak of a process, and returns its memory in MiB.
fn begin(process: u32) -> f64 {
    // 5 resets the peak (`man 5 proc`, clear_refs).
    std::fs::write(format!("/proc/{process}/clear_refs"), "5").expect("the process is ours");
    mib_of(process, "VmRSS:")
}

fn mib_of(process: u32, field: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next());
    kib.and_then(|kib| kib.parse::<f64>().ok())
        .expect("it is a number")
        / 1024.0
}

fn print(case: &str, filled: &Filled, before: f64, process: u32, data: Option<&Path>) {
    let peak = mib_of(process, "VmHWM:");
    let log = data.and_then(|data| std::fs::metadata(data.join("tasks.db-wal")).ok());
    let log = log.map_or_else(
        || "-".to_owned(),
        |log| format!("{:.1}", log.len() as f64 / f64::from(1 << 20)),
    );
    let Filled { accepted, refused } = filled;
    println!("| {case} | {accepted} | {refused} | {before:.0} | {peak:.0} | {log} |");
}

fn with_texts() -> wire::Task {
    wire::Task {
        goal: "g".repeat(MAX_TEXT),
        instructions: "i".repeat(MAX_TEXT),
        ..wire::Task::default()
    }
}

fn with_labels() -> wire::Task {
    let label = |number: usize| (format!("{number:0256}"), "v".repeat(256));
    wire::Task {
        goal: "do it".to_owned(),
        labels: (0..100).map(label).collect(),
        ..wire::Task::default()
    }
}

/// Creates this many tasks, and one whose goal is too long.
async fn create(client: &Client<Channel>, count: usize, task: fn() -> wire::Task) -> Filled {
    let request = |task: wire::Task| wire::CreateTaskRequest {
        task: Some(task),
        ..wire::CreateTaskRequest::default()
    };
    let calls = (0..=count).map(|number| {
        let mut task = task();
        if number == count {
            task.goal = "g".repeat(MAX_TEXT + 1);
        }
        let client = client.clone();
        async move { client.create(request(task)).await.map(drop) }
    });
    let results: Vec<_> = stream::iter(calls)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    Filled::of(&results)
}

async fn first_task(client: &Client<Channel>) -> String {
    let request = wire::CreateTaskRequest {
        task: Some(with_texts()),
        ..wire::CreateTaskRequest::default()
    };
    client.create(request).await.expect("it is accepted").name
}

async fn messages(client: &Client<Channel>) -> Filled {
    let name = first_task(client).await;
    let calls = (0..=200).map(|number| {
        let request = wire::SendMessageRequest {
            name: name.clone(),
            text: "m".repeat(MAX_MESSAGE + usize::from(number == 200)),
            ..wire::SendMessageRequest::default()
        };
        let client = client.clone();
        async move { client.raw().send_message(request).await.map(drop) }
    });
    let results: Vec<_> = stream::iter(calls)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    Filled::of(&results)
}

/// Sends requests of 4 MiB at a time, and some that are longer.
async fn requests(client: &Client<Channel>) -> Filled {
    let calls = (0..256).map(|number| {
        let length = if number % 8 == 0 {
            5 << 20
        } else {
            (4 << 20) - 1024
        };
        let request = wire::CreateTaskRequest {
            task: Some(wire::Task {
                goal: "g".repeat(length),
                ..wire::Task::default()
            }),
            ..wire::CreateTaskRequest::default()
        };
        let client = client.clone();
        async move { client.create(request).await.map(drop) }
    });
    let results: Vec<_> = stream::iter(calls)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    Filled::of(&results)
}

/// Uploads files of 64 MiB, more at a time than a caller may, and one that is longer.
async fn files(client: &Client<Channel>) -> Filled {
    let calls = (0..6_u8).map(|number| {
        let chunks = 64 + usize::from(number == 5);
        let chunk = move |_| wire::UploadFileRequest {
            chunk: vec![number; 1 << 20].into(),
        };
        let client = client.clone();
        async move {
            let chunks = stream::iter((0..chunks).map(chunk));
            client.raw().upload_file(chunks).await.map(drop)
        }
    });
    Filled::of(&join_all(calls).await)
}

async fn watches(server: &Server) -> Filled {
    let name = first_task(&Client::new(server.channel())).await;
    // A connection has 256 calls at most.
    let clients: Vec<_> = (0..6).map(|_| Client::new(server.channel())).collect();
    let calls = (0..1_100).map(|number| {
        let request = wire::WatchTaskRequest {
            name: name.clone(),
            ..wire::WatchTaskRequest::default()
        };
        let client = clients[number % clients.len()].clone();
        async move { client.raw().watch_task(request).await }
    });
    let open: Vec<_> = stream::iter(calls)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    sleep(OPEN_TIME).await;
    Filled::of(&open)
}

async fn connections(server: &Server) -> Filled {
    let mut open = Vec::new();
    for _ in 0..600 {
        let stream = TcpStream::connect(server.address).await;
        open.push(stream.expect("the address listens"));
    }
    sleep(OPEN_TIME).await;
    let mut bytes = [0; 64];
    let results: Vec<Result<(), ()>> = open
        .iter()
        .map(|stream| match stream.try_read(&mut bytes) {
            Ok(0) => Err(()),
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => Err(()),
            _ => Ok(()),
        })
        .collect();
    Filled::of(&results)
}

async fn lists(client: &Client<Channel>) -> Filled {
    let calls = (0..256).map(|_| {
        let request = wire::ListTasksRequest {
            page_size: 1_000,
            ..wire::ListTasksRequest::default()
        };
        let client = client.clone();
        async move { client.raw().list_tasks(request).await.map(drop) }
    });
    let results: Vec<_> = stream::iter(calls)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    Filled::of(&results)
}

/// Size of a message of the browser.
const DEVTOOLS_MESSAGE: usize = 256 << 20;

/// Has a browser send the Executor a message about an upload that is far longer than what it keeps of one.
async fn devtools_messages() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let sent = Arc::new(tokio::sync::Notify::new());
    let socket = json!({ "webSocketDebuggerUrl": format!("ws://{address}/devtools") });
    let version = move || async move { Json::<Value>(socket) };
    let notify = Arc::clone(&sent);
    let devtools = move |upgrade: WebSocketUpgrade| async move {
        let upgrade = upgrade.max_message_size(usize::MAX);
        upgrade.on_upgrade(move |socket| browse(socket, notify))
    };
    let router = Router::new()
        .route("/json/version", get(version))
        .route("/devtools", get(devtools));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let desktop = TestDesktop::bare().await;
    let setup = TestSetup::on(&desktop);
    let settings = [format!("executor.devtools=http://{address}")];
    let server = Server::start(&setup, "executor", &settings).await;
    let process = server.process.id();
    let before = begin(process);
    sent.notified().await;
    sleep(OPEN_TIME).await;
    let filled = Filled {
        accepted: 1,
        refused: 0,
    };
    print("devtools_messages", &filled, before, process, None);
}

/// Answers every call, and reports a request with a long upload once requests are intercepted.
async fn browse(mut socket: WebSocket, sent: Arc<tokio::sync::Notify>) {
    while let Some(Ok(message)) = socket.recv().await {
        let Message::Text(text) = message else {
            continue;
        };
        let call: Value = serde_json::from_str(&text).expect("it is a call");
        let result = match call["method"].as_str() {
            Some("Target.getTargets") => json!({ "targetInfos": [] }),
            _ => json!({}),
        };
        let answer = json!({ "id": call["id"], "result": result }).to_string();
        if socket.send(Message::Text(answer.into())).await.is_err() {
            return;
        }
        if call["method"] == "Fetch.enable" {
            let mut event = String::with_capacity(DEVTOOLS_MESSAGE + 1024);
            event.push_str(
                "{\"method\":\"Fetch.requestPaused\",\"params\":{\"requestId\":\"1\",\"request\":{\"url\":\"http://good.test/\",\"postData\":\"",
            );
            event.extend(std::iter::repeat_n('x', DEVTOOLS_MESSAGE));
            event.push_str("\"}}}");
            let _ = socket.send(Message::Text(event.into())).await;
        }
        // The Executor has read the event, and lets the request go on.
        if call["method"] == "Fetch.continueRequest" || call["method"] == "Fetch.failRequest" {
            sent.notify_one();
        }
    }
}
