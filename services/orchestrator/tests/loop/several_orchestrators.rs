//! Several orchestrators on one PostgreSQL database.

use futures::StreamExt as _;
use motorium_client::{Client, Update};
use motorium_proto::v1::common::desktop::State;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State as TaskState;
use motorium_store::local_postgres::LocalPostgres;

use crate::desktops::{desktop_at, register};
use crate::support::cluster::Cluster;
use crate::support::in_time;
use crate::support::script::{act, ask, click};
use crate::support::task_events::{TaskEvents, is_end};
use tonic::transport::Channel;

/// Returns the orchestrators that ran the task, in order.
fn carriers(story: &TaskEvents) -> Vec<String> {
    story.all(|kind| match kind {
        Kind::Started(started) => Some(started.orchestrator.clone()),
        Kind::Recovered(recovered) => Some(recovered.orchestrator.clone()),
        _ => None,
    })
}

#[tokio::test]
async fn surviving_orchestrator_finishes_the_task_of_a_killed_one() {
    let server = LocalPostgres::start();
    let script = vec![act([click(1), click(2)])];
    let mut cluster = Cluster::start_two(script, server.database().await).await;
    cluster.world.hold("wait_for_idle");
    let name = cluster.create().await;
    // The first click was performed and its outcome is stored.
    cluster.world.called("wait_for_idle", 1).await;
    let begun = cluster.happened(&name, "action_performed").await;
    let dead = carriers(&begun).remove(0);
    cluster.kill_one_of_two(&dead).await;
    cluster.world.release("wait_for_idle");
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "it is done");
    let carriers = carriers(&story);
    assert_eq!(carriers.len(), 2, "{carriers:?}");
    assert_ne!(carriers[1], dead);
    assert_eq!(cluster.world.done().len(), 2, "each click once");
}

/// Takes the database server away while one of the calls is made, for longer than an orchestrator waits for it, and checks that the
/// task goes on.
async fn check_failover(call: &'static str) {
    let mut server = LocalPostgres::start();
    let script = vec![act([click(1), click(2)])];
    let cluster = Cluster::start_two(script, server.database().await).await;
    cluster.world.hold(call);
    let name = cluster.create().await;
    cluster.world.called(call, 1).await;
    server.kill();
    cluster.world.release(call);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    server.restart();
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "it is done", "{call}: {}", story.text());
    assert_eq!(cluster.world.done().len(), 2, "{call}: {}", story.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_goes_on_when_its_database_server_is_back_and_repeats_nothing() {
    // Before a decision is stored, between an intent and its outcome, and after the outcome.
    for call in ["plan", "perform", "wait_for_idle"] {
        check_failover(call).await;
    }
}

#[tokio::test]
async fn a_task_of_one_is_watched_and_cancelled_at_the_other() {
    let server = LocalPostgres::start();
    let cluster = Cluster::start_two(vec![act([click(1)])], server.database().await).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    for client in [cluster.other_client(), cluster.client()] {
        // Whichever orchestrator runs it, one of the two calls is made at the other.
        let mut updates = client.watch(&name);
        let cancelled = client.cancel_task(&name, "enough").await.unwrap();
        let ended = in_time("the end", async {
            loop {
                match updates.next().await.expect("it goes on to the end") {
                    Ok(Update::Event { event, .. }) if is_end(&event) => return *event,
                    _ => {}
                }
            }
        });
        let ended: wire::Event = ended.await;
        assert!(matches!(ended.kind, Some(Kind::Cancelled(_))), "{ended:?}");
        assert_eq!(cancelled.name, name);
    }
    assert_eq!(cluster.world.done(), []);
}

#[tokio::test]
async fn each_task_is_carried_out_by_one_of_them() {
    let server = LocalPostgres::start();
    let cluster = Cluster::start_two(vec![act([click(1)])], server.database().await).await;
    let mut names = Vec::new();
    for _ in 0..6 {
        names.push(cluster.create().await);
    }
    for name in &names {
        let story = cluster.follow(name).await;
        assert_eq!(story.answer(), "it is done");
        assert_eq!(carriers(&story).len(), 1, "{:?}", carriers(&story));
    }
    assert_eq!(cluster.world.done().len(), names.len());
}

#[tokio::test]
async fn a_desktop_whose_executor_forgot_its_lease_gets_no_new_task_while_the_former_one_waits_for_an_answer()
 {
    let server = LocalPostgres::start();
    let cluster = Cluster::start_two(vec![ask("ready?")], server.database().await).await;
    let first = cluster.create().await;
    cluster.happened(&first, "user_asked").await;
    cluster.world.lose_journal(true);
    let second = cluster.create().await;
    let awaited = cluster.happened(&second, "desktop_awaited").await;
    assert!(awaited.text().contains(&first), "{}", awaited.text());
    // Two dispatch rounds of the other orchestrator, which could lease the desktop.
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    assert_eq!(cluster.get(&second).await.state(), TaskState::Pending);
    cluster.acknowledge(&first, "yes").await;
    let ended = cluster.follow(&first).await;
    assert_eq!(ended.answer(), "it is done", "{}", ended.text());
    cluster.happened(&second, "user_asked").await;
}

/// Returns the desktops that an orchestrator knows, with their states.
async fn known(client: &Client<Channel>) -> Vec<(String, State)> {
    let request = wire::ListDesktopsRequest::default();
    let listed = client.raw().list_desktops(request).await.unwrap();
    let desktops = listed.into_inner().desktops.into_iter();
    desktops
        .map(|desktop| (desktop.name.clone(), desktop.state()))
        .collect()
}

#[tokio::test]
async fn each_orchestrator_sees_changes_of_the_desktops_at_once() {
    let server = LocalPostgres::start();
    let cluster = Cluster::start_two(vec![act([click(1)])], server.database().await).await;
    let other = cluster.other_client();
    let annex = "desktops/annex".to_owned();
    let url = cluster.services.url();
    let before = known(&other).await;
    assert_eq!(before.len(), 1);
    register(&cluster, desktop_at(&url)).await.unwrap();
    assert_eq!(known(&other).await[0], (annex.clone(), State::Available));
    // A task may name it there, although it was registered here.
    let task = wire::Task {
        goal: "do it".to_owned(),
        desktop_selector: Some(wire::DesktopSelector {
            desktop: annex.clone(),
            ..wire::DesktopSelector::default()
        }),
        ..wire::Task::default()
    };
    let request = wire::CreateTaskRequest {
        task: Some(task),
        ..wire::CreateTaskRequest::default()
    };
    let name = other.create(request).await.unwrap().name;
    assert_eq!(cluster.follow(&name).await.answer(), "it is done");

    for name in [&annex, &before[0].0] {
        let drain = wire::DrainDesktopRequest {
            name: name.clone(),
            ..wire::DrainDesktopRequest::default()
        };
        other.raw().drain_desktop(drain).await.unwrap();
    }
    let drained = known(&cluster.client()).await;
    assert!(
        drained.iter().all(|(_, state)| *state == State::Draining),
        "{drained:?}"
    );

    let remove = wire::UnregisterDesktopRequest {
        name: annex,
        ..wire::UnregisterDesktopRequest::default()
    };
    let client = cluster.client();
    // The desktop is released a moment after the task has ended.
    let removed = async {
        while let Err(busy) = client.raw().unregister_desktop(remove.clone()).await {
            assert_eq!(busy.code(), tonic::Code::FailedPrecondition);
            tokio::task::yield_now().await;
        }
    };
    in_time("the desktop to be removed", removed).await;
    assert_eq!(known(&other).await.len(), 1);
    let gone = other.raw().unregister_desktop(remove).await.unwrap_err();
    assert_eq!(gone.code(), tonic::Code::NotFound);
}
