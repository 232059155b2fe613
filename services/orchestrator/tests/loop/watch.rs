//! Watching a task: from the beginning, from any token, of an ended task, and with invalid tokens.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use motorium_client::{Client, Update};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use motorium_proto::v1::orchestrator::watch_task_response::Content;
use motorium_store::ResumeToken;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

use crate::support::cluster::Cluster;
use crate::support::in_time;
use crate::support::script::{act, click};

/// Returns all messages of a watch stream until it ends.
async fn watch(cluster: &Cluster, task: &str, token: &str) -> Vec<wire::WatchTaskResponse> {
    let request = wire::WatchTaskRequest {
        name: task.to_owned(),
        resume_token: token.to_owned(),
    };
    let messages = cluster.client().raw().watch_task(request).await.unwrap();
    let messages = in_time(
        "the end of a watch",
        messages.into_inner().collect::<Vec<_>>(),
    )
    .await;
    messages.into_iter().map(Result::unwrap).collect()
}

/// Returns the error of a refused watch.
async fn refusal(cluster: &Cluster, task: &str, token: &str) -> ErrorReport {
    let request = wire::WatchTaskRequest {
        name: task.to_owned(),
        resume_token: token.to_owned(),
    };
    let refused = cluster.client().raw().watch_task(request).await;
    ErrorReport::from_status(&refused.map(|_| ()).unwrap_err())
}

fn sequences(messages: &[wire::WatchTaskResponse]) -> Vec<i64> {
    let events = messages
        .iter()
        .filter_map(|message| match &message.content {
            Some(Content::Event(event)) => Some(event.sequence),
            _ => None,
        });
    events.collect()
}

async fn ended_task() -> (Cluster, String, i64) {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    let name = cluster.create().await;
    let last = cluster.follow(&name).await.0.len() as i64;
    (cluster, name, last)
}

#[tokio::test]
async fn watch_sends_a_snapshot_then_every_event() {
    let (cluster, name, last) = ended_task().await;
    let messages = watch(&cluster, &name, "").await;
    let Some(Content::Snapshot(task)) = &messages[0].content else {
        panic!("{:?}", messages[0]);
    };
    assert_eq!(
        (task.name.as_str(), task.state()),
        (name.as_str(), State::Succeeded)
    );
    assert_eq!(sequences(&messages), (1..=last).collect::<Vec<_>>());
    assert!(
        messages
            .iter()
            .all(|message| !message.resume_token.is_empty())
    );
}

#[tokio::test]
async fn watch_resumes_after_any_token_without_duplicates() {
    let (cluster, name, last) = ended_task().await;
    let messages = watch(&cluster, &name, "").await;
    for (seen, message) in (0..).zip(&messages) {
        let rest = watch(&cluster, &name, &message.resume_token).await;
        assert_eq!(sequences(&rest), (seen + 1..=last).collect::<Vec<_>>());
        assert_eq!(rest.len() as i64, last - seen, "no second snapshot");
    }
}

#[tokio::test]
async fn events_are_streamed_live_to_every_watcher() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    let client = cluster.client();
    let (mut one, mut other) = (client.watch(&name), client.watch(&name));
    for updates in [&mut one, &mut other] {
        loop {
            let update = in_time("the first step", updates.next()).await;
            if let Update::Event { event, .. } = update.unwrap().unwrap()
                && matches!(event.kind, Some(Kind::Observed(_)))
            {
                break;
            }
        }
    }
    cluster.world.release("plan");
    let (one, other) = (
        one.collect::<Vec<_>>().await,
        other.collect::<Vec<_>>().await,
    );
    assert_eq!(one, other);
    assert!(one.len() > 5);
}

#[tokio::test]
async fn the_client_s_watch_from_the_last_token_ends() {
    let (cluster, name, last) = ended_task().await;
    let client = cluster.client();
    let updates: Vec<_> = in_time("the end", client.watch(&name).collect()).await;
    let tokens: Vec<String> = updates
        .into_iter()
        .filter_map(|update| match update.unwrap() {
            Update::Event { resume_token, .. } => Some(resume_token),
            _ => None,
        })
        .collect();
    assert_eq!(tokens.len() as i64, last);
    for (seen, token) in tokens.iter().enumerate() {
        let rest = client.watch_from(&name, token).collect::<Vec<_>>();
        let rest = in_time("the end of a watch from a token", rest).await;
        assert_eq!(rest.len(), tokens.len() - seen - 1);
    }
}

#[tokio::test]
async fn a_watch_goes_on_where_a_dead_orchestrator_left_it() {
    let mut cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    let mut seen = Vec::new();
    let mut token = String::new();
    let mut updates = cluster.client().watch(&name);
    while !seen.contains(&5) {
        let update = in_time("the first step", updates.next()).await;
        if let Update::Event {
            event,
            resume_token,
        } = update.unwrap().unwrap()
        {
            seen.push(event.sequence);
            token = resume_token;
        }
    }
    cluster.crash().await;
    cluster.world.release("plan");
    let rest = cluster.client().watch_from(&name, &token);
    let rest: Vec<_> = in_time("the end", rest.collect()).await;
    seen.extend(rest.into_iter().filter_map(|update| match update.unwrap() {
        Update::Event { event, .. } => Some(event.sequence),
        _ => None,
    }));
    assert!(seen.iter().copied().eq(1..=seen.len() as i64), "{seen:?}");
}

/// Passes bytes between a client and a server, and can stand still as a stopped process does: connections are accepted, and nothing
/// is answered.
struct Relay {
    address: SocketAddr,
    stands_still: tokio::sync::watch::Sender<bool>,
}

impl Relay {
    async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay = Self {
            address: listener.local_addr().unwrap(),
            stands_still: tokio::sync::watch::Sender::default(),
        };
        let state = relay.stands_still.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let state = state.clone();
                tokio::spawn(async move {
                    let server = TcpStream::connect(server).await.unwrap();
                    let (client, server) = (client.into_split(), server.into_split());
                    tokio::join!(
                        pass(client.0, server.1, state.clone()),
                        pass(server.0, client.1, state)
                    );
                });
            }
        });
        relay
    }

    fn client(&self) -> Client<Channel> {
        let url = format!("http://{}", self.address);
        Client::new(Endpoint::from_shared(url).unwrap().connect_lazy())
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut stands_still: tokio::sync::watch::Receiver<bool>,
) {
    let mut bytes = vec![0; 65536];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if stands_still.wait_for(|still| !still).await.is_err()
            || to.write_all(&bytes[..count]).await.is_err()
        {
            return;
        }
    }
}

#[tokio::test]
async fn silent_server_is_reported_and_awaited() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    let relay = Relay::start(cluster.address()).await;
    let silence = Duration::from_millis(500);
    let mut updates = relay.client().with_silence(silence).watch(&name);
    let mut seen = Vec::new();
    while seen.len() < 5 {
        let update = in_time("the first step", updates.next()).await;
        if let Update::Event { event, .. } = update.unwrap().unwrap() {
            seen.push(event.sequence);
        }
    }
    relay.stands_still.send_replace(true);
    for _ in 0..3 {
        let update = in_time("the silence", updates.next()).await;
        let update = update.unwrap().unwrap();
        assert!(
            matches!(update, Update::Silent { silence: reported } if reported >= silence),
            "{update:?}"
        );
    }
    relay.stands_still.send_replace(false);
    cluster.world.release("plan");
    let rest: Vec<_> = in_time("the end", updates.collect()).await;
    let rest: Vec<Update> = rest.into_iter().map(Result::unwrap).collect();
    assert!(rest.contains(&Update::Restored), "{rest:?}");
    seen.extend(rest.into_iter().filter_map(|update| match update {
        Update::Event { event, .. } => Some(event.sequence),
        _ => None,
    }));
    assert!(seen.iter().copied().eq(1..=seen.len() as i64), "{seen:?}");
}

#[tokio::test]
async fn a_token_of_another_task_is_refused() {
    let (cluster, name, _) = ended_task().await;
    let other = cluster.create().await;
    cluster.follow(&other).await;
    let token = watch(&cluster, &other, "").await[2].resume_token.clone();
    let report = refusal(&cluster, &name, &token).await;
    assert_eq!(
        (report.code, report.reason.as_str()),
        (Code::OutOfRange, "RESUME_TOKEN_EXPIRED")
    );
    assert!(
        report.message.contains("watch again without one"),
        "{report}"
    );
    let update = cluster.client().watch_from(&name, &token).next().await;
    let update = update.unwrap().unwrap_err();
    assert_eq!(
        update.reason, "RESUME_TOKEN_EXPIRED",
        "the client does not try for ever"
    );
}

#[tokio::test]
async fn a_token_that_is_ahead_of_the_task_is_refused() {
    let (cluster, name, last) = ended_task().await;
    let token = watch(&cluster, &name, "").await[0].resume_token.clone();
    let mut token = ResumeToken::parse(&token).unwrap();
    token.seq.0 = last + 1;
    let report = refusal(&cluster, &name, &token.format()).await;
    assert_eq!(
        (report.code, report.reason.as_str()),
        (Code::OutOfRange, "RESUME_TOKEN_EXPIRED")
    );
    assert_eq!(report.metadata["last"], last.to_string());
}

#[tokio::test]
async fn malformed_watch_token_is_refused() {
    let (cluster, name, _) = ended_task().await;
    for token in ["garbage", "AAAA", "!!", "djF8eA"] {
        let report = refusal(&cluster, &name, token).await;
        assert_eq!(report.code, Code::InvalidArgument, "{token}");
        assert_eq!(report.reason, "RESUME_TOKEN_INVALID");
        assert!(
            report
                .message
                .contains("or none to start from the beginning"),
            "{report}"
        );
    }
}

#[tokio::test]
async fn internal_event_fields_are_not_published() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    let task = wire::Task {
        attachments: vec![wire::Attachment {
            name: "private.txt".to_owned(),
            data: Bytes::from_static(b"private"),
            ..wire::Attachment::default()
        }],
        ..wire::Task::default()
    };
    let story = cluster.carry_out_with(task).await;
    for event in &story.0 {
        match event.kind.as_ref().unwrap() {
            Kind::Created(created) => {
                let attachment = &created.task.as_ref().unwrap().attachments[0];
                assert_eq!(
                    (attachment.name.as_str(), attachment.data.len()),
                    ("private.txt", 0)
                );
            }
            Kind::Decided(decided) => {
                assert!(decided.decision.as_ref().unwrap().conversation.is_empty());
            }
            _ => {}
        }
    }
}
