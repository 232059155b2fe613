//! The Orchestrator's health when its database is taken away.

use std::time::Duration;

use motorium_kit::client::{Channel, Config as ClientConfig, is_serving};
use motorium_kit::server::LIVENESS;
use motorium_store::local_postgres::LocalPostgres;

use crate::support::cluster::Cluster;
use crate::support::in_time;

/// Waits until the health is this one. The process is alive in any case.
pub(crate) async fn becomes(cluster: &Cluster, serving: bool) {
    let config = ClientConfig::new(format!("http://{}", cluster.address()));
    let channel = Channel::connect_lazy(&config).unwrap();
    let reached = async {
        while is_serving(channel.clone(), "").await.unwrap() != serving {
            assert!(is_serving(channel.clone(), LIVENESS).await.unwrap());
            // Checks are made every two seconds.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    in_time("another health", reached).await;
}

#[tokio::test]
async fn without_its_file_the_orchestrator_does_not_serve() {
    let cluster = Cluster::start(Vec::new()).await;
    becomes(&cluster, true).await;
    let (file, aside) = (
        cluster.data().join("tasks.db"),
        cluster.data().join("elsewhere.db"),
    );
    std::fs::rename(&file, &aside).unwrap();
    becomes(&cluster, false).await;
    std::fs::rename(&aside, &file).unwrap();
    becomes(&cluster, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_database_server_the_orchestrator_does_not_serve() {
    let mut server = LocalPostgres::start();
    let cluster = Cluster::start_two(Vec::new(), server.database().await).await;
    becomes(&cluster, true).await;
    server.kill();
    becomes(&cluster, false).await;
    server.restart();
    becomes(&cluster, true).await;
}
