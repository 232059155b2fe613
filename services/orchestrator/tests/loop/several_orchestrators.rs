//! Several orchestrators on one PostgreSQL database.

use futures::StreamExt as _;
use motorium_client::Update;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_store::local_postgres::LocalPostgres;

use crate::support::cluster::Cluster;
use crate::support::in_time;
use crate::support::script::{act, click};
use crate::support::task_events::{TaskEvents, is_end};

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
