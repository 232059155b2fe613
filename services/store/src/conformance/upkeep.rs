//! Cases for [`StoreUpkeep`](crate::StoreUpkeep): deletion, the index of used blobs, and duties.
//!
//! Nothing here is particular to one database.

use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use motorium_proto::domain::id::{EventSeq, TaskName};

use super::{
    HOME, PENDING, RUNNING, Store, TTL, append_to, at, claimed, created, events, labels, log, name,
    new_task, put, request, segments,
};
use crate::{
    Append, BlobId, Collection, CreateTask, Error, ListTasks, OldSessions, OldTasks, PutResource,
    TaskCursor, TaskPart, Tenants, UnindexedTask,
};

/// State of a task that has ended.
const ENDED: i32 = 5;

async fn end(store: &Store, segment: &str, seconds: u64) {
    let append = Append {
        view: Some((ENDED, Bytes::from_static(b"ended"))),
        notes: Some(Bytes::from_static(b"recorded")),
        now: at(seconds),
        ..append_to(segment, events(2))
    };
    store.append(append).await.unwrap();
}

async fn ended(store: &Store, segment: &str) {
    created(store, segment).await;
    end(store, segment, 2).await;
}

async fn session(store: &Store, name: &str) {
    let put = put(Collection::Sessions, name, "session");
    store.put_resource(put).await.unwrap();
}

fn in_session(segment: &str, session: &str) -> CreateTask {
    CreateTask {
        session: Some(session.to_owned()),
        ..new_task(segment)
    }
}

fn blob(number: u8) -> BlobId {
    BlobId::from([number; 32])
}

async fn listed(store: &Store) -> Vec<String> {
    let list = ListTasks {
        page_size: 100,
        ..ListTasks::default()
    };
    let page = store.list_tasks(list).await.unwrap();
    let names = segments(&page.items).into_iter().map(str::to_owned);
    names.collect()
}

async fn index(store: &Store, segment: &str, blobs: &[BlobId]) -> UnindexedTask {
    let unindexed = store.unindexed(TaskCursor::default(), 100).await.unwrap();
    let task = unindexed
        .into_iter()
        .find(|task| task.name == name(segment));
    let task = task.expect("the task should have events that are not indexed");
    store.index_blobs(&task, blobs).await.unwrap();
    task
}

fn old(before: u64, with: Option<TaskPart>) -> OldTasks {
    OldTasks {
        states: vec![ENDED],
        tenants: Tenants::AllBut(Vec::new()),
        before: at(before),
        with,
        limit: 100,
    }
}

pub async fn deletes_a_task_and_nothing_of_another(store: Store) {
    let task = |segment: &str, id: &str| CreateTask {
        request: request(id, 1),
        labels: labels([("team", segment)]),
        ..new_task(segment)
    };
    for (segment, id) in [("a", "one"), ("b", "two")] {
        store.create_task(task(segment, id)).await.unwrap();
        end(&store, segment, 2).await;
    }
    store.delete_task(&name("a"), &[ENDED]).await.unwrap();
    let gone = |answer: Result<(), Error>| {
        assert!(
            matches!(&answer, Err(Error::TaskNotFound { task }) if *task == name("a")),
            "{answer:?}"
        );
    };
    gone(store.get_task(&name("a")).await.map(drop));
    gone(store.events(&name("a"), EventSeq(0), 9).await.map(drop));
    gone(store.notes(&name("a")).await.map(drop));
    gone(store.append(append_to("a", events(1))).await.map(drop));
    gone(store.claim(&name("a"), "one", TTL, at(3)).await.map(drop));
    gone(store.delete_task(&name("a"), &[ENDED]).await);
    assert_eq!(listed(&store).await, ["b"]);
    assert_eq!(log(&store, "b").await.len(), 3);
    assert_eq!(store.notes(&name("b")).await.unwrap().len(), 1);

    // Its name and its request id are free, and nothing of it comes back with them.
    let again = store.create_task(task("a", "one")).await.unwrap();
    assert!(!again.repeated);
    assert_eq!(log(&store, "a").await.len(), 1);
    assert!(store.notes(&name("a")).await.unwrap().is_empty());
    assert!(store.create_task(task("b", "two")).await.unwrap().repeated);
}

pub async fn does_not_delete_a_task_that_has_not_ended(store: Store) {
    created(&store, "a").await;
    let refused = store.delete_task(&name("a"), &[ENDED]).await;
    assert!(
        matches!(&refused, Err(Error::TaskNotEnded { task }) if *task == name("a")),
        "{refused:?}"
    );
    assert_eq!(log(&store, "a").await.len(), 1);
    assert!(matches!(
        store.delete_task(&name("b"), &[ENDED]).await,
        Err(Error::TaskNotFound { .. })
    ));
}

pub async fn a_run_cannot_write_to_a_deleted_task_of_the_same_name(store: Store) {
    created(&store, "a").await;
    let claim = claimed(&store, "a", "one", at(1)).await;
    end(&store, "a", 2).await;
    store.delete_task(&name("a"), &[ENDED]).await.unwrap();
    created(&store, "a").await;
    let second = claimed(&store, "a", "two", at(2)).await;
    // Both have the first epoch of their tasks, but only one has a task.
    let late = Append {
        epoch: Some(claim.epoch),
        expected_seq: Some(EventSeq(3)),
        ..append_to("a", events(1))
    };
    assert!(store.append(late).await.is_err());
    let right = Append {
        epoch: Some(second.epoch),
        expected_seq: Some(EventSeq(1)),
        ..append_to("a", events(1))
    };
    store.append(right).await.unwrap();
}

pub async fn deletes_a_session_alone_or_with_its_tasks(store: Store) {
    session(&store, "sessions/x").await;
    session(&store, "sessions/y").await;
    for (segment, session) in [
        ("a", "sessions/x"),
        ("b", "sessions/x"),
        ("c", "sessions/y"),
    ] {
        store
            .create_task(in_session(segment, session))
            .await
            .unwrap();
    }
    end(&store, "a", 2).await;
    let refused = store.delete_session("sessions/x", &[ENDED], false).await;
    assert!(
        matches!(&refused, Err(Error::SessionNotEmpty { tasks: 2, .. })),
        "{refused:?}"
    );
    let refused = store.delete_session("sessions/x", &[ENDED], true).await;
    assert!(
        matches!(&refused, Err(Error::TaskNotEnded { task }) if *task == name("b")),
        "{refused:?}"
    );
    assert_eq!(listed(&store).await, ["c", "b", "a"], "nothing is deleted");
    end(&store, "b", 2).await;
    let mut deleted = store
        .delete_session("sessions/x", &[ENDED], true)
        .await
        .unwrap();
    deleted.sort();
    assert_eq!(deleted, [name("a"), name("b")]);
    assert_eq!(listed(&store).await, ["c"]);
    assert!(matches!(
        store.get_resource("sessions/x").await,
        Err(Error::ResourceNotFound { .. })
    ));
    assert!(matches!(
        store.delete_session("sessions/x", &[ENDED], true).await,
        Err(Error::ResourceNotFound { .. })
    ));
    let orphan = store.create_task(in_session("d", "sessions/x")).await;
    assert!(
        matches!(&orphan, Err(Error::ResourceNotFound { name }) if name == "sessions/x"),
        "{orphan:?}"
    );
}

pub async fn a_session_is_deleted_before_or_after_a_new_task(store: Store) {
    for round in 0..20 {
        let name = format!("sessions/s{round}");
        session(&store, &name).await;
        let (creating, deleting) = (store.clone(), store.clone());
        let (session, task) = (name.clone(), format!("t{round}"));
        let creating =
            tokio::spawn(async move { creating.create_task(in_session(&task, &session)).await });
        let session = name.clone();
        let deleting =
            tokio::spawn(async move { deleting.delete_session(&session, &[ENDED], false).await });
        let (created, deleted) = (creating.await.unwrap(), deleting.await.unwrap());
        let is_there = store.get_resource(&name).await.is_ok();
        match (created, deleted) {
            (Ok(_), Err(Error::SessionNotEmpty { .. })) => assert!(is_there),
            (Err(Error::ResourceNotFound { .. }), Ok(_)) => assert!(!is_there),
            both => panic!("{both:?}"),
        }
    }
}

pub async fn deletes_a_task_once_for_many_at_once(store: Store) {
    ended(&store, "a").await;
    let deletions = (0..8).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.delete_task(&name("a"), &[ENDED]).await })
    });
    let appends = (0..8).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.append(append_to("a", events(3))).await.map(drop) })
    });
    let all = deletions.chain(appends).collect::<Vec<_>>();
    let outcomes = join_all(all).await.into_iter().map(Result::unwrap);
    let mut deleted = 0;
    for (number, outcome) in outcomes.enumerate() {
        match outcome {
            Ok(()) => deleted += usize::from(number < 8),
            Err(Error::TaskNotFound { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(deleted, 1);
    assert!(listed(&store).await.is_empty());
}

pub async fn lists_old_tasks_and_deletes_their_notes(store: Store) {
    for (segment, seconds) in [("a", 10), ("b", 20), ("c", 30)] {
        created(&store, segment).await;
        end(&store, segment, seconds).await;
    }
    created(&store, "running").await;
    let names = |names: Vec<TaskName>| -> Vec<String> {
        names.iter().map(|name| name.segment().to_owned()).collect()
    };
    let list = async |query: OldTasks| names(store.old_tasks(query).await.unwrap());
    assert_eq!(list(old(30, None)).await, ["a", "b"]);
    let first = OldTasks {
        limit: 1,
        ..old(30, None)
    };
    assert_eq!(list(first).await, ["a"]);
    let other = CreateTask {
        tenant: "acme".to_owned(),
        ..new_task("of-acme")
    };
    store.create_task(other).await.unwrap();
    end(&store, "of-acme", 15).await;
    let of = |tenants| OldTasks {
        tenants,
        ..old(25, None)
    };
    assert_eq!(list(old(25, None)).await, ["a", "b", "of-acme"]);
    let acme = || "acme".to_owned();
    assert_eq!(list(of(Tenants::One(acme()))).await, ["of-acme"]);
    assert_eq!(list(of(Tenants::AllBut(vec![acme()]))).await, ["a", "b"]);
    store.delete_task(&name("of-acme"), &[ENDED]).await.unwrap();
    assert_eq!(list(old(99, Some(TaskPart::Notes))).await, ["a", "b", "c"]);
    store.delete_notes(&name("a")).await.unwrap();
    assert_eq!(list(old(99, Some(TaskPart::Notes))).await, ["b", "c"]);
    assert!(store.notes(&name("a")).await.unwrap().is_empty());
    assert_eq!(store.notes(&name("b")).await.unwrap().len(), 1);
    assert_eq!(log(&store, "a").await.len(), 3, "the events stay");
    assert!(matches!(
        store.delete_notes(&name("x")).await,
        Err(Error::TaskNotFound { .. })
    ));
}

pub async fn lists_old_sessions_without_tasks(store: Store) {
    for name in ["sessions/empty", "sessions/used", "sessions/left"] {
        session(&store, name).await;
    }
    store
        .create_task(in_session("a", "sessions/used"))
        .await
        .unwrap();
    let later = CreateTask {
        now: at(50),
        ..in_session("b", "sessions/left")
    };
    store.create_task(later).await.unwrap();
    end(&store, "b", 51).await;
    store.delete_task(&name("b"), &[ENDED]).await.unwrap();
    let of = async |tenants: Tenants, seconds| {
        let query = OldSessions {
            tenants,
            before: at(seconds),
            limit: 9,
        };
        store.old_sessions(query).await.unwrap()
    };
    let before = async |seconds| of(Tenants::AllBut(Vec::new()), seconds).await;
    let acme = || "acme".to_owned();
    assert!(of(Tenants::One(acme()), 51).await.is_empty());
    assert_eq!(of(Tenants::AllBut(vec![acme()]), 51).await.len(), 2);
    assert!(before(0).await.is_empty());
    assert_eq!(before(50).await, ["sessions/empty"]);
    assert_eq!(
        before(51).await,
        ["sessions/empty", "sessions/left"],
        "the last task of a session makes it new"
    );
}

pub async fn deletes_old_uploads_that_no_task_of_their_tenant_uses(store: Store) {
    let note = async |tenant: &str, number: u8, second: u64| {
        let name = format!("tenants/{tenant}/uploads/{}", blob(number));
        let put = PutResource {
            tenant: tenant.to_owned(),
            replace: true,
            now: at(second),
            ..put(Collection::Uploads, &name, "")
        };
        store.put_resource(put).await.unwrap();
        name
    };
    ended(&store, "a").await;
    index(&store, "a", &[blob(1)]).await;
    let used = note(HOME, 1, 0).await;
    let of_other = note("other", 1, 0).await;
    let unused = note(HOME, 2, 0).await;
    let renewed = note(HOME, 3, 0).await;
    let young = note(HOME, 4, 50).await;
    let old = async |after: &str, limit| store.old_uploads(at(50), after, limit).await.unwrap();
    let mut all = [&used, &of_other, &unused, &renewed].map(String::clone);
    all.sort();
    assert_eq!(old("", 9).await, all);
    assert_eq!(old("", 1).await, all[..1]);
    assert_eq!(old(&all[0], 9).await, all[1..]);
    note(HOME, 3, 60).await;
    let mut deleted = Vec::new();
    for name in [&used, &of_other, &unused, &renewed, &young] {
        if store.delete_unused_upload(name, at(50)).await.unwrap() {
            deleted.push(name.clone());
        }
    }
    assert_eq!(deleted, [of_other, unused]);
    store.delete_task(&name("a"), &[ENDED]).await.unwrap();
    assert!(store.delete_unused_upload(&used, at(50)).await.unwrap());
    assert!(!store.delete_unused_upload(&used, at(50)).await.unwrap());
    // Nothing but uploads is deleted.
    session(&store, "sessions/s").await;
    assert!(
        !store
            .delete_unused_upload("sessions/s", at(99))
            .await
            .unwrap()
    );
}

pub async fn knows_which_blobs_are_used(store: Store) {
    ended(&store, "a").await;
    ended(&store, "b").await;
    let used = async || {
        let all: Vec<BlobId> = (1..=5).map(blob).collect();
        let mut used: Vec<BlobId> = store.used_blobs(&all).await.unwrap().into_iter().collect();
        used.sort();
        used
    };
    assert!(used().await.is_empty());
    index(&store, "a", &[blob(1), blob(2), blob(2)]).await;
    index(&store, "b", &[blob(2), blob(3)]).await;
    assert_eq!(used().await, [blob(1), blob(2), blob(3)]);
    let unindexed = store.unindexed(TaskCursor::default(), 9).await.unwrap();
    assert_eq!(unindexed, []);

    store.append(append_to("a", events(1))).await.unwrap();
    let indexed = index(&store, "a", &[blob(4)]).await;
    assert_eq!(
        (indexed.indexed_seq, indexed.last_seq),
        (EventSeq(3), EventSeq(4))
    );
    store.delete_task(&name("a"), &[ENDED]).await.unwrap();
    assert_eq!(
        used().await,
        [blob(2), blob(3)],
        "another task uses the second"
    );
    // What was read before the deletion comes too late.
    store.index_blobs(&indexed, &[blob(5)]).await.unwrap();
    assert_eq!(used().await, [blob(2), blob(3)]);

    let blobs = || old(99, Some(TaskPart::Blobs));
    assert_eq!(store.old_tasks(blobs()).await.unwrap(), [name("b")]);
    store.release_blobs(&name("b"), &[blob(3)]).await.unwrap();
    assert_eq!(used().await, [blob(3)]);
    assert_eq!(store.old_tasks(blobs()).await.unwrap(), []);
}

pub async fn lists_unindexed_tasks_by_their_order(store: Store) {
    for segment in ["a", "b", "c"] {
        created(&store, segment).await;
    }
    let mut found = Vec::new();
    let mut after = TaskCursor::default();
    while let [task] = store.unindexed(after, 1).await.unwrap().as_slice() {
        after = task.cursor;
        found.push(task.name.segment().to_owned());
        // It grows while the list is read, and is not listed again.
        store.append(append_to("a", events(1))).await.unwrap();
    }
    assert_eq!(found, ["a", "b", "c"]);
}

pub async fn gives_a_duty_to_one_owner_at_a_time(store: Store) {
    let take = async |owner: &str, seconds| {
        let taken = store.take_duty("sweep", owner, Duration::from_secs(10), at(seconds));
        taken.await.unwrap()
    };
    assert!(take("one", 0).await);
    assert!(!take("two", 9).await);
    assert!(take("one", 9).await, "renewed");
    assert!(!take("two", 18).await);
    assert!(take("two", 19).await, "expired");
    store.release_duty("sweep", "one").await.unwrap();
    assert!(!take("one", 20).await);
    store.release_duty("sweep", "two").await.unwrap();
    assert!(take("one", 20).await);
    assert!(store.take_duty("other", "two", TTL, at(20)).await.unwrap());
    store.check().await.unwrap();
}

pub async fn states_are_those_of_the_caller(store: Store) {
    created(&store, "a").await;
    let running = Append {
        view: Some((RUNNING, Bytes::new())),
        ..append_to("a", events(1))
    };
    store.append(running).await.unwrap();
    assert!(
        store
            .delete_task(&name("a"), &[PENDING, ENDED])
            .await
            .is_err()
    );
    store
        .delete_task(&name("a"), &[PENDING, RUNNING])
        .await
        .unwrap();
}
