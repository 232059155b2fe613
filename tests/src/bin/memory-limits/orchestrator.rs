//! Requests, files and connections of callers to an Orchestrator.

use std::time::Duration;

use futures::future::join_all;
use futures::stream::{self, StreamExt as _};
use motorium_client::{Channel, Client};
use motorium_proto::v1::orchestrator as wire;
use motorium_tests::services::{Server, TestSetup};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::{Filled, Measured, Measurement};

/// Characters of a goal and of instructions, the most that are accepted.
const MAX_TEXT: usize = 16_384;
/// Characters of a message, the most that are accepted.
const MAX_MESSAGE: usize = 100_000;
/// Number of calls at a time.
pub(crate) const CONCURRENCY: usize = 64;
/// Time after which the memory of open watches and connections is measured.
const OPEN_TIME: Duration = Duration::from_secs(3);

/// Fills this limit.
pub(crate) async fn fill(case: &str) -> Measured {
    let setup = TestSetup::without_display();
    // Nothing answers there: tasks stay in the queue.
    let settings = ["orchestrator.planner=http://127.0.0.1:9".to_owned()];
    let server = Server::start(&setup, "orchestrator", &settings).await;
    let client = || Client::new(server.channel());
    match case {
        "list_tasks" => {
            create(&client(), 1_500, with_texts).await;
        }
        "exports" => {
            messages(&client()).await;
        }
        _ => {}
    }
    let measurement = Measurement::begin(server.process.id(), Some(&setup.data()));
    let filled = match case {
        "instructions" => create(&client(), 5_000, with_texts).await,
        "labels" => create(&client(), 2_000, with_labels).await,
        "messages" => messages(&client()).await,
        "requests" => requests(&client()).await,
        "files" => files(&client()).await,
        "watches" => watches(&server).await,
        "connections" => connections(&server).await,
        "exports" => exports(&setup, &server).await,
        _ => lists(&client()).await,
    };
    measurement.end(filled)
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

/// Exports a task with 20 MB of messages, several times at once.
async fn exports(setup: &TestSetup, server: &Server) -> Filled {
    let url = server.url();
    let listed = setup
        .motorium(&["tasks", "list", "--names", "--server", &url])
        .await;
    let task = listed.stdout.trim();
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let exported = (0..8).map(|number| {
        let (url, to) = (&url, folder.path().join(number.to_string()));
        async move {
            let to = to.to_string_lossy();
            let command = ["tasks", "export", task, "--to", &to, "--server", url];
            let ended = setup.motorium(&command).await;
            (ended.code == Some(0)).then_some(()).ok_or(())
        }
    });
    Filled::of(&join_all(exported).await)
}
