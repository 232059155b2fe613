//! Attacks by an address that is typed into an address bar instead of opened: the Executor is told it, and judges it by its rules.

use std::time::Duration;

use motorium_kit::config::HumanDuration;
use motorium_proto::v1::orchestrator as wire;

use crate::approvals::waiting;
use crate::replay;
use crate::support::cluster::Cluster;
use crate::support::script::{act, done, enter, typing};

/// Has an address typed in a browser whose focus is not known, and opened.
async fn typed(policy: &str, address: &str) -> Cluster {
    let script = vec![
        act([typing(address)]),
        act([enter("Open the address")]),
        done("opened"),
    ];
    let cluster = Cluster::start_with(script, |settings| {
        settings.policy = policy.to_owned();
        settings.approval_timeout = HumanDuration(Duration::from_secs(600));
    })
    .await;
    cluster.world.show_page("https://shop.example/");
    cluster
}

fn weather() -> wire::Task {
    wire::Task {
        goal: "look at the weather".to_owned(),
        ..wire::Task::default()
    }
}

#[tokio::test]
async fn the_executor_is_told_a_typed_address_under_every_policy() {
    let cluster = typed("free", "ann:pw@pay.example:8443/secret?x=1").await;
    let name = cluster.create_with(weather()).await;
    cluster.follow(&name).await;
    let received = cluster.world.typed_addresses();
    let web = "https://pay.example:8443/".to_owned();
    // When it is typed, and when it is opened. Neither a password nor a path is part of it.
    assert_eq!(received, ["ann:", &web, "ann:", &web]);
    assert_eq!(cluster.world.named_hosts(), [""; 0]);
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn a_private_address_counts_as_named_once_a_person_has_approved_it() {
    let free = typed("free", "localhost:3000/admin").await;
    let name = free.create_with(weather()).await;
    free.follow(&name).await;
    assert_eq!(free.world.typed_addresses()[0], "https://localhost:3000/");
    assert_eq!(free.world.named_hosts(), [""; 0], "it was not asked");

    let careful = typed("careful", "localhost:3000/admin").await;
    let name = careful.create_with(weather()).await;
    careful.happened(&name, "user_asked").await;
    let [approval] = waiting(&careful, &name).await.try_into().unwrap();
    assert!(
        approval.reason.contains("that the user did not name"),
        "{approval:?}"
    );
    let approve = wire::ResolveApprovalRequest {
        name: approval.name,
        approve: true,
        ..wire::ResolveApprovalRequest::default()
    };
    careful
        .client()
        .raw()
        .resolve_approval(approve)
        .await
        .unwrap();
    careful.happened(&name, "action_performed").await;
    assert_eq!(careful.world.named_hosts(), ["localhost:3000"]);
    careful.cancel(&name).await;
}
