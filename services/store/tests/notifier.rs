//! Notifications on PostgreSQL reach other processes, also after a restart of the server.

use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::id::TaskName;
use motorium_store::local_postgres::LocalPostgres;
use motorium_store::{Durability, Error, TaskSubscription, open};
use tokio::time::timeout;

async fn is_notified(subscription: &mut TaskSubscription) -> bool {
    timeout(Duration::from_secs(10), subscription.notified())
        .await
        .is_ok()
}

#[tokio::test]
async fn notification_reaches_other_processes_once() {
    let server = LocalPostgres::start();
    let database = server.database().await;
    let one = open(&database, Durability::Normal).await.unwrap().notifier;
    let other = open(&database, Durability::Normal).await.unwrap().notifier;
    let task = TaskName::from_segment("a").unwrap();
    let (mut here, mut there) = (one.subscribe(&task), other.subscribe(&task));
    one.notify(&task);
    assert!(is_notified(&mut here).await && is_notified(&mut there).await);
    let again = timeout(Duration::from_millis(300), here.notified()).await;
    assert!(again.is_err(), "the process received its own notification");
    for _ in 0..100 {
        other.notify(&task);
    }
    assert!(is_notified(&mut here).await);
}

#[tokio::test]
async fn reconnection_notifies_every_subscriber() {
    let mut server = LocalPostgres::start();
    let database = server.database().await;
    let opened = open(&database, Durability::Normal).await.unwrap();
    let task = TaskName::from_segment("a").unwrap();
    let mut subscription = opened.notifier.subscribe(&task);
    server.kill();
    let gone = opened.tasks.get_task(&task).await.unwrap_err();
    assert!(matches!(gone, Error::Unreachable { .. }), "{gone:?}");
    server.restart();
    assert!(
        is_notified(&mut subscription).await,
        "all subscribers are notified after a reconnection"
    );
    let store = Arc::clone(&opened.tasks);
    let back = timeout(Duration::from_secs(20), async move {
        while !matches!(store.get_task(&task).await, Err(Error::TaskNotFound { .. })) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert!(back.await.is_ok(), "the store does not recover");
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_named_without_its_password() {
    let refused = open("postgres://me:hunter2@127.0.0.1:1/none", Durability::Normal);
    let error = refused.await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    let words = format!("{error} {error:?}");
    assert!(words.contains("127.0.0.1:1/none"), "{words}");
    assert!(!words.contains("hunter2"), "{words}");
    let server = LocalPostgres::start();
    let missing = format!("postgres://motorium@127.0.0.1:{}/nowhere", server.port());
    let error = open(&missing, Durability::Normal).await.unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
    let malformed = open("postgres://[", Durability::Normal).await.unwrap_err();
    assert!(
        matches!(malformed, Error::UnknownBackend { .. }),
        "{malformed:?}"
    );
}
