//! Fail-over of a PostgreSQL store to a standby that is promoted.

use std::time::Duration;

use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_store::conformance::new_task;
use motorium_store::local_postgres::LocalPostgres;
use motorium_store::{Error, PostgresStore, TaskStore as _};
use tokio::time::timeout;

fn task(name: &str) -> TaskName {
    TaskName::from_segment(name).unwrap()
}

/// Waits until the store creates this task.
async fn create_when_back(store: &PostgresStore, name: &str) {
    let created = async {
        while let Err(error) = store.create_task(new_task(name)).await {
            assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let created = timeout(Duration::from_secs(30), created).await;
    assert!(created.is_ok(), "the store does not come back");
}

async fn has(store: &PostgresStore, name: &str) -> bool {
    match store.events(&task(name), EventSeq(0), 10).await {
        Ok(events) => !events.is_empty(),
        Err(Error::TaskNotFound { .. }) => false,
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_standby_is_written_to_and_a_former_primary_never_again() {
    let mut primary = LocalPostgres::start();
    let mut standby = primary.standby().await;
    let first = primary.database().await;
    let both = standby.added_to(&first);
    let store = PostgresStore::open(&both).await.unwrap();
    for number in 0..20 {
        let name = format!("before{number}");
        store.create_task(new_task(&name)).await.unwrap();
    }

    primary.kill();
    let gone = store.get_task(&task("before0")).await.unwrap_err();
    assert!(matches!(gone, Error::Unreachable { .. }), "{gone:?}");
    standby.promote().await;
    create_when_back(&store, "after").await;
    for number in 0..20 {
        assert!(has(&store, &format!("before{number}")).await, "{number}");
    }

    // The former primary is back, takes connections, and does not know that there is another.
    primary.restart();
    primary.recovered().await;
    let former = PostgresStore::open(&first).await.unwrap();
    assert!(has(&former, "before0").await && !has(&former, "after").await);
    let fresh = PostgresStore::open(&both).await.unwrap();
    for (store, name) in [(&store, "one"), (&fresh, "another")] {
        store.create_task(new_task(name)).await.unwrap();
        assert!(has(&fresh, name).await && !has(&former, name).await);
    }

    // Nor is it used when it is the only one.
    standby.kill();
    for store in [&store, &fresh] {
        let refused = store.create_task(new_task("last")).await.unwrap_err();
        assert!(matches!(refused, Error::Unreachable { .. }), "{refused:?}");
    }
    assert!(!has(&former, "last").await);
}

#[tokio::test]
async fn a_standby_alone_is_no_store() {
    let primary = LocalPostgres::start();
    let database = primary.database().await;
    let standby = primary.standby().await;
    let own = format!(":{}/", primary.port());
    let standby_alone = database.replace(&own, &format!(":{}/", standby.port()));
    let both_the_same = standby.added_to(&standby_alone);
    let refused = PostgresStore::open(&both_the_same).await.unwrap_err();
    assert!(matches!(refused, Error::Unreachable { .. }), "{refused:?}");
    assert!(refused.to_string().contains("standby"), "{refused}");
    // The order does not matter.
    let place = format!("127.0.0.1:{}/", primary.port());
    let standby_first = database.replace(&place, &format!("127.0.0.1:{},{place}", standby.port()));
    let store = PostgresStore::open(&standby_first).await.unwrap();
    store.create_task(new_task("a")).await.unwrap();
}
