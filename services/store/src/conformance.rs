//! Conformance suite for implementations of [`TaskStore`].
//!
//! [`task_store_conformance!`](crate::task_store_conformance) generates one test per case; each gets a new, empty store
//! and its own times. The cases only check behaviour that a caller can observe, and are independent of the database.

mod upkeep;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::future::{join_all, try_join_all};
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use motorium_proto::limits::{MAX_PAGE_BYTES, REQUEST_ID_WINDOW};

use crate::invariants::{is_fenced, is_gapless};
use crate::{
    Append, Appended, Claim, Collection, CreateTask, Error, EventRow, ListResources, ListTasks,
    NewEvent, PutResource, RequestId, ResourceRow, SessionQuery, TaskRow, TaskStore,
};

pub use upkeep::*;

/// Generates one test per case. The argument is an async function or closure that returns a new `Arc<dyn TaskStore>` and
/// a guard that must live as long.
#[macro_export]
macro_rules! task_store_conformance {
    ($new:expr) => {
        $crate::task_store_conformance!($new;
            creates_a_task_with_its_first_event
            refuses_a_name_that_is_taken
            creates_once_for_a_repeated_request
            refuses_a_request_id_for_another_request
            forgets_a_request_after_its_window
            does_not_remember_a_request_that_failed
            numbers_events_without_gaps
            appends_all_or_nothing
            appends_many_at_once
            takes_bodies_of_any_size_and_content
            appends_once_for_a_repeated_request
            refuses_an_append_with_a_stale_sequence
            users_append_without_a_lease
            keeps_notes_beside_events
            reads_events_in_batches
            does_not_find_unknown_tasks
            claims_for_one_owner_at_a_time
            append_renews_the_lease_if_requested
            claims_again_after_the_lease_or_for_the_same_owner
            fences_an_owner_that_is_too_late
            releases_a_claimed_task
            lists_claimable_tasks_by_priority_and_age
            serialises_the_tasks_of_a_session
            lists_by_state_session_and_labels
            pages_through_a_list
            binds_a_page_token_to_its_list
            lists_while_tasks_are_created
            keeps_sessions_and_desktops
            lists_desktops_by_labels
            lists_by_tenant
            removes_desktops
            keeps_times_in_milliseconds
            numbers_events_without_gaps_for_many_at_once
            claims_each_task_once_for_many_at_once
            creates_once_for_the_same_request_many_times_at_once
            deletes_a_task_and_nothing_of_another
            does_not_delete_a_task_that_has_not_ended
            a_run_cannot_write_to_a_deleted_task_of_the_same_name
            deletes_a_session_alone_or_with_its_tasks
            a_session_is_deleted_before_or_after_a_new_task
            deletes_a_task_once_for_many_at_once
            lists_old_tasks_and_deletes_their_notes
            lists_old_sessions_without_tasks
            deletes_old_uploads_that_no_task_of_their_tenant_uses
            ends_a_page_at_its_bytes
            knows_which_blobs_are_used
            lists_unindexed_tasks_by_their_order
            gives_a_duty_to_one_owner_at_a_time
            states_are_those_of_the_caller
        );
    };
    ($new:expr; $($case:ident)+) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            let (store, _alive) = ($new)().await;
            $crate::conformance::$case(store).await;
        }
    )+};
}

type Store = Arc<dyn TaskStore>;

/// State of a task that waits for an owner. The store itself gives states no meaning.
const PENDING: i32 = 1;
/// State of a task that has an owner.
const RUNNING: i32 = 2;
/// Tenant of tasks and resources of which a case says nothing else.
const HOME: &str = "home";
/// Duration of a lease on the timeline of the tests.
const TTL: Duration = Duration::from_secs(15);

/// Returns a time, in seconds from the start of the test's own timeline.
fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

fn name(segment: &str) -> TaskName {
    TaskName::from_segment(segment).unwrap()
}

fn event(body: impl Into<Bytes>) -> NewEvent {
    NewEvent {
        at: at(1),
        kind: "happened",
        body: body.into(),
    }
}

fn events(count: usize) -> Vec<NewEvent> {
    (0..count)
        .map(|number| event(format!("event {number}")))
        .collect()
}

fn request(id: &str, body: u8) -> Option<RequestId> {
    Some(RequestId {
        id: id.to_owned(),
        fingerprint: [body; 32],
    })
}

fn labels<const N: usize>(labels: [(&str, &str); N]) -> BTreeMap<String, String> {
    labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// Returns a pending task of this name, with its first event.
///
/// # Panics
/// If the name is no segment of a task's name.
#[must_use]
pub fn new_task(segment: &str) -> CreateTask {
    CreateTask {
        name: name(segment),
        uid: format!("uid of {segment}"),
        tenant: HOME.to_owned(),
        session: None,
        state: PENDING,
        priority: 0,
        run_after: None,
        labels: BTreeMap::new(),
        snapshot: Bytes::from_static(b"as created"),
        first_event: event("created"),
        request: None,
        now: at(0),
    }
}

fn append_to(segment: &str, events: Vec<NewEvent>) -> Append {
    Append {
        name: name(segment),
        epoch: None,
        expected_seq: None,
        events,
        notes: None,
        view: None,
        request: None,
        lease: None,
        now: at(2),
    }
}

/// Creates the sessions of the tests' tasks.
async fn sessions(store: &Store) {
    for name in ["sessions/x", "sessions/y"] {
        let session = put(Collection::Sessions, name, "session");
        store.put_resource(session).await.unwrap();
    }
}

async fn created(store: &Store, segment: &str) -> TaskRow {
    store.create_task(new_task(segment)).await.unwrap().task
}

async fn claimed(store: &Store, segment: &str, owner: &str, now: SystemTime) -> Claim {
    store
        .claim(&name(segment), owner, TTL, now)
        .await
        .unwrap()
        .expect("the task should be free")
}

async fn log(store: &Store, segment: &str) -> Vec<EventRow> {
    store
        .events(&name(segment), EventSeq(0), u32::MAX)
        .await
        .unwrap()
}

fn bodies(events: &[EventRow]) -> Vec<&[u8]> {
    events.iter().map(|event| event.body.as_ref()).collect()
}

fn segments(tasks: &[TaskRow]) -> Vec<&str> {
    tasks.iter().map(|task| task.name.segment()).collect()
}

pub async fn creates_a_task_with_its_first_event(store: Store) {
    let answer = store.create_task(new_task("a")).await.unwrap();
    assert!(!answer.repeated);
    let expected = TaskRow {
        name: name("a"),
        uid: "uid of a".to_owned(),
        tenant: HOME.to_owned(),
        state: PENDING,
        snapshot: Bytes::from_static(b"as created"),
        last_seq: EventSeq(1),
        epoch: TaskEpoch(0),
        owner: None,
        lease_until: None,
        create_time: at(0),
        update_time: at(0),
    };
    assert_eq!(answer.task, expected);
    assert_eq!(store.get_task(&name("a")).await.unwrap(), expected);
    let first = EventRow {
        seq: EventSeq(1),
        at: at(1),
        kind: "happened".to_owned(),
        body: "created".into(),
    };
    assert_eq!(log(&store, "a").await, [first]);
}

pub async fn refuses_a_name_that_is_taken(store: Store) {
    created(&store, "a").await;
    let again = store
        .create_task(CreateTask {
            snapshot: Bytes::from_static(b"other"),
            ..new_task("a")
        })
        .await;
    assert!(matches!(again, Err(Error::TaskExists { task }) if task == name("a")));
    assert_eq!(
        store.get_task(&name("a")).await.unwrap().snapshot,
        "as created"
    );
}

pub async fn creates_once_for_a_repeated_request(store: Store) {
    let task = |segment: &str| CreateTask {
        request: request("r", 1),
        ..new_task(segment)
    };
    let first = store.create_task(task("a")).await.unwrap();
    store.append(append_to("a", events(1))).await.unwrap();
    // The caller need not remember the assigned name: the repeated request has another one.
    let again = store.create_task(task("b")).await.unwrap();
    assert_eq!(
        (again.repeated, again.task.name, again.task.uid),
        (true, name("a"), first.task.uid)
    );
    assert_eq!(again.task.last_seq, EventSeq(2));
    assert!(matches!(
        store.get_task(&name("b")).await,
        Err(Error::TaskNotFound { .. })
    ));
}

pub async fn refuses_a_request_id_for_another_request(store: Store) {
    store
        .create_task(CreateTask {
            request: request("r", 1),
            ..new_task("a")
        })
        .await
        .unwrap();
    let other = store
        .create_task(CreateTask {
            request: request("r", 2),
            ..new_task("b")
        })
        .await;
    assert!(matches!(other, Err(Error::RequestIdReused { id }) if id == "r"));
    let other = store
        .append(Append {
            request: request("r", 2),
            ..append_to("a", events(1))
        })
        .await;
    assert!(matches!(other, Err(Error::RequestIdReused { .. })));
    assert_eq!(log(&store, "a").await.len(), 1);
}

pub async fn forgets_a_request_after_its_window(store: Store) {
    let task = |segment: &str, now| CreateTask {
        request: request("r", 1),
        now,
        ..new_task(segment)
    };
    store.create_task(task("a", at(0))).await.unwrap();
    let just_before = at(0) + REQUEST_ID_WINDOW - Duration::from_millis(1);
    assert!(
        store
            .create_task(task("b", just_before))
            .await
            .unwrap()
            .repeated
    );
    let after = store
        .create_task(task("c", at(0) + REQUEST_ID_WINDOW))
        .await
        .unwrap();
    assert_eq!((after.repeated, after.task.name), (false, name("c")));
}

pub async fn does_not_remember_a_request_that_failed(store: Store) {
    created(&store, "a").await;
    let task = |segment: &str| CreateTask {
        request: request("r", 1),
        ..new_task(segment)
    };
    assert!(matches!(
        store.create_task(task("a")).await,
        Err(Error::TaskExists { .. })
    ));
    assert!(!store.create_task(task("b")).await.unwrap().repeated);
}

pub async fn numbers_events_without_gaps(store: Store) {
    created(&store, "a").await;
    created(&store, "b").await;
    let two = store.append(append_to("a", events(2))).await.unwrap();
    assert_eq!(
        two,
        Appended {
            first_seq: EventSeq(2),
            last_seq: EventSeq(3),
            repeated: false
        }
    );
    let other = store.append(append_to("b", events(1))).await.unwrap();
    assert_eq!(other.last_seq, EventSeq(2), "tasks count for themselves");
    let view = Some((RUNNING, Bytes::from_static(b"running")));
    let three = store
        .append(Append {
            view,
            ..append_to("a", events(1))
        })
        .await
        .unwrap();
    assert_eq!(
        (three.first_seq, three.last_seq),
        (EventSeq(4), EventSeq(4))
    );

    let task = store.get_task(&name("a")).await.unwrap();
    assert_eq!(
        (task.state, task.snapshot, task.last_seq),
        (RUNNING, Bytes::from_static(b"running"), EventSeq(4))
    );
    assert_eq!((task.create_time, task.update_time), (at(0), at(2)));
    assert_eq!(
        bodies(&log(&store, "a").await),
        [&b"created"[..], b"event 0", b"event 1", b"event 0"]
    );
}

pub async fn appends_all_or_nothing(store: Store) {
    let before = created(&store, "a").await;
    let view = Some((RUNNING, Bytes::from_static(b"running")));
    for refused in [
        Append {
            expected_seq: Some(EventSeq(7)),
            view: view.clone(),
            ..append_to("a", events(3))
        },
        Append {
            epoch: Some(TaskEpoch(7)),
            view,
            ..append_to("a", events(3))
        },
    ] {
        let request = request("r", 1);
        store
            .append(Append { request, ..refused })
            .await
            .unwrap_err();
    }
    assert_eq!(store.get_task(&name("a")).await.unwrap(), before);
    assert_eq!(log(&store, "a").await.len(), 1);
    let later = store
        .append(Append {
            request: request("r", 1),
            ..append_to("a", events(1))
        })
        .await
        .unwrap();
    assert!(!later.repeated);
}

pub async fn appends_many_at_once(store: Store) {
    created(&store, "a").await;
    let many = store.append(append_to("a", events(2500))).await.unwrap();
    assert_eq!(
        (many.first_seq, many.last_seq),
        (EventSeq(2), EventSeq(2501))
    );
    let none = store.append(append_to("a", Vec::new())).await.unwrap();
    assert_eq!(none.last_seq, EventSeq(2501));
    let log = log(&store, "a").await;
    assert!(is_gapless(EventSeq(0), log.iter().map(|event| event.seq)));
    assert_eq!(
        (log.len(), log[2500].body.as_ref()),
        (2501, &b"event 2499"[..])
    );
}

pub async fn takes_bodies_of_any_size_and_content(store: Store) {
    let every_byte: Vec<u8> = (0..=255).collect();
    let contents = [Vec::new(), every_byte, vec![0; 3 << 20]].map(Bytes::from);
    let first_event = event(contents[2].clone());
    let task = CreateTask {
        snapshot: contents[1].clone(),
        first_event,
        ..new_task("a")
    };
    assert_eq!(
        store.create_task(task).await.unwrap().task.snapshot,
        contents[1]
    );
    store
        .append(append_to(
            "a",
            contents.iter().cloned().map(event).collect(),
        ))
        .await
        .unwrap();
    let log = log(&store, "a").await;
    assert_eq!(log[0].body, contents[2]);
    assert!(log[1..].iter().map(|event| &event.body).eq(&contents));
}

pub async fn appends_once_for_a_repeated_request(store: Store) {
    created(&store, "a").await;
    let append = || Append {
        request: request("r", 1),
        ..append_to("a", events(2))
    };
    let first = store.append(append()).await.unwrap();
    store.append(append_to("a", events(1))).await.unwrap();
    let again = store.append(append()).await.unwrap();
    assert_eq!(
        again,
        Appended {
            repeated: true,
            ..first
        }
    );
    assert_eq!(log(&store, "a").await.len(), 4);
}

pub async fn refuses_an_append_with_a_stale_sequence(store: Store) {
    created(&store, "a").await;
    let expecting = |seq| Append {
        expected_seq: Some(EventSeq(seq)),
        ..append_to("a", events(1))
    };
    store.append(expecting(1)).await.unwrap();
    let error = store.append(expecting(1)).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Conflict {
                expected: EventSeq(1),
                last: EventSeq(2),
                ..
            }
        ),
        "{error}"
    );
    store.append(expecting(2)).await.unwrap();
}

pub async fn users_append_without_a_lease(store: Store) {
    created(&store, "a").await;
    let claim = claimed(&store, "a", "one", at(0)).await;
    store.append(append_to("a", events(1))).await.unwrap();
    // The owner continues: a user's event does not affect the lease.
    let owners = Append {
        epoch: Some(claim.epoch),
        ..append_to("a", events(1))
    };
    assert_eq!(store.append(owners).await.unwrap().last_seq, EventSeq(3));
}

pub async fn keeps_notes_beside_events(store: Store) {
    created(&store, "a").await;
    created(&store, "b").await;
    let noted = |count, notes: Bytes| Append {
        notes: Some(notes),
        ..append_to("a", events(count))
    };
    let long = Bytes::from(vec![3; 300_000]);
    store
        .append(noted(3, Bytes::from_static(b"\0one")))
        .await
        .unwrap();
    store.append(append_to("a", events(2))).await.unwrap();
    store.append(noted(1200, long.clone())).await.unwrap();
    let request = Some(RequestId {
        id: "r".to_owned(),
        fingerprint: [1; 32],
    });
    let last = Bytes::from_static(b"three");
    for _ in 0..2 {
        let repeatable = Append {
            request: request.clone(),
            ..noted(2, last.clone())
        };
        store.append(repeatable).await.unwrap();
    }
    let notes = store.notes(&name("a")).await.unwrap();
    let first = (EventSeq(4), Bytes::from_static(b"\0one"));
    assert_eq!(
        notes,
        [first, (EventSeq(1206), long), (EventSeq(1208), last)]
    );
    assert_eq!(log(&store, "a").await.len(), 1208);
    assert_eq!(store.notes(&name("b")).await.unwrap(), []);
}

pub async fn reads_events_in_batches(store: Store) {
    created(&store, "a").await;
    store.append(append_to("a", events(10))).await.unwrap();
    let mut seen = vec![];
    loop {
        let after = seen.last().copied().unwrap_or(EventSeq(0));
        let batch = store.events(&name("a"), after, 4).await.unwrap();
        assert!(batch.len() <= 4 && is_gapless(after, batch.iter().map(|event| event.seq)));
        if batch.is_empty() {
            break;
        }
        seen.extend(batch.iter().map(|event| event.seq));
    }
    assert_eq!(seen.len(), 11);
    assert!(
        store
            .events(&name("a"), EventSeq(11), 4)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        store
            .events(&name("a"), EventSeq(999), 4)
            .await
            .unwrap()
            .is_empty()
    );
}

pub async fn does_not_find_unknown_tasks(store: Store) {
    created(&store, "a").await;
    let missing = name("b");
    let errors = [
        store.get_task(&missing).await.unwrap_err(),
        store.events(&missing, EventSeq(0), 1).await.unwrap_err(),
        store.notes(&missing).await.unwrap_err(),
        store.append(append_to("b", events(1))).await.unwrap_err(),
        store.claim(&missing, "one", TTL, at(0)).await.unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(&error, Error::TaskNotFound { task } if *task == missing),
            "{error}"
        );
    }
}

pub async fn claims_for_one_owner_at_a_time(store: Store) {
    created(&store, "a").await;
    let claim = claimed(&store, "a", "one", at(10)).await;
    assert_eq!(
        (claim.epoch, claim.task.epoch),
        (TaskEpoch(1), TaskEpoch(1))
    );
    assert_eq!(
        (claim.task.owner.as_deref(), claim.task.lease_until),
        (Some("one"), Some(at(10) + TTL))
    );
    assert!(
        store
            .claim(&name("a"), "two", TTL, at(24))
            .await
            .unwrap()
            .is_none()
    );
    store
        .renew(&name("a"), claim.epoch, TTL, at(20))
        .await
        .unwrap();
    assert!(
        store
            .claim(&name("a"), "two", TTL, at(34))
            .await
            .unwrap()
            .is_none(),
        "the lease was renewed"
    );
}

pub async fn append_renews_the_lease_if_requested(store: Store) {
    created(&store, "a").await;
    let claim = claimed(&store, "a", "one", at(0)).await;
    let append = |epoch, lease, now| Append {
        epoch,
        lease,
        now: at(now),
        ..append_to("a", events(1))
    };
    let until = async || store.get_task(&name("a")).await.unwrap().lease_until;
    let ours = Some(claim.epoch);
    store.append(append(ours, None, 8)).await.unwrap();
    assert_eq!(until().await, Some(at(0) + TTL));
    store.append(append(ours, Some(TTL), 9)).await.unwrap();
    assert_eq!(until().await, Some(at(9) + TTL));
    // A user's command renews no lease.
    store.append(append(None, Some(TTL), 10)).await.unwrap();
    assert_eq!(until().await, Some(at(9) + TTL));
    let repeatable = Append {
        request: request("keep", 1),
        ..append(ours, Some(TTL), 11)
    };
    store.append(repeatable).await.unwrap();
    assert_eq!(until().await, Some(at(11) + TTL));
    // A rejected append changes nothing.
    let refused = Append {
        expected_seq: Some(EventSeq(99)),
        ..append(ours, Some(TTL), 12)
    };
    store.append(refused).await.unwrap_err();
    assert_eq!(until().await, Some(at(11) + TTL));
}

pub async fn claims_again_after_the_lease_or_for_the_same_owner(store: Store) {
    created(&store, "a").await;
    let first = claimed(&store, "a", "one", at(0)).await;
    let same = claimed(&store, "a", "one", at(1)).await;
    let other = claimed(&store, "a", "two", at(16)).await;
    assert!(is_fenced([first.epoch, same.epoch, other.epoch]));
    assert!(first.epoch < same.epoch && same.epoch < other.epoch);
}

pub async fn fences_an_owner_that_is_too_late(store: Store) {
    created(&store, "a").await;
    let late = claimed(&store, "a", "one", at(0)).await;
    let by = |epoch| Append {
        epoch: Some(epoch),
        ..append_to("a", events(1))
    };
    // Only a replaced owner is too late: an expired lease without a new claim stays usable.
    store.append(by(late.epoch)).await.unwrap();
    store
        .renew(&name("a"), late.epoch, TTL, at(100))
        .await
        .unwrap();
    let new = claimed(&store, "a", "two", at(200)).await;

    let appended = store.append(by(late.epoch)).await;
    assert!(matches!(appended, Err(Error::LeaseLost { task }) if task == name("a")));
    // A lost lease is reported first, even if there are other errors.
    let appended = store
        .append(Append {
            expected_seq: Some(EventSeq(99)),
            ..by(late.epoch)
        })
        .await;
    assert!(matches!(appended, Err(Error::LeaseLost { .. })));
    assert!(matches!(
        store.renew(&name("a"), late.epoch, TTL, at(201)).await,
        Err(Error::LeaseLost { .. })
    ));
    store.release(&name("a"), late.epoch).await.unwrap();
    assert_eq!(
        store.get_task(&name("a")).await.unwrap().owner.as_deref(),
        Some("two")
    );
    store.append(by(new.epoch)).await.unwrap();
    assert_eq!(log(&store, "a").await.len(), 3);
}

pub async fn releases_a_claimed_task(store: Store) {
    created(&store, "a").await;
    let first = claimed(&store, "a", "one", at(0)).await;
    store.release(&name("a"), first.epoch).await.unwrap();
    let task = store.get_task(&name("a")).await.unwrap();
    assert_eq!((task.owner, task.lease_until), (None, None));
    let late = store
        .append(Append {
            epoch: Some(first.epoch),
            ..append_to("a", events(1))
        })
        .await;
    assert!(
        matches!(late, Err(Error::LeaseLost { .. })),
        "a released lease is lost"
    );
    let second = claimed(&store, "a", "two", at(1)).await;
    assert!(second.epoch > first.epoch);
}

pub async fn lists_claimable_tasks_by_priority_and_age(store: Store) {
    let make = |segment: &str, priority, run_after, state| {
        let task = CreateTask {
            priority,
            run_after,
            state,
            ..new_task(segment)
        };
        let store = store.clone();
        async move { store.create_task(task).await.unwrap() }
    };
    make("old", 0, None, PENDING).await;
    make("ended", 9, None, 5).await;
    make("later", 0, Some(at(50)), PENDING).await;
    make("young", 0, None, PENDING).await;
    make("urgent", 1, None, PENDING).await;
    make("idle", -1, None, PENDING).await;
    make("taken", 0, None, RUNNING).await;
    claimed(&store, "taken", "one", at(0)).await;

    let states = [PENDING, RUNNING];
    let due = |owner, now, limit| {
        let store = store.clone();
        async move { store.claimable(&states, owner, now, limit).await.unwrap() }
    };
    assert_eq!(
        segments(&due("two", at(1), 9).await),
        ["urgent", "old", "young", "idle"]
    );
    assert_eq!(segments(&due("two", at(1), 2).await), ["urgent", "old"]);
    assert_eq!(
        segments(&due("one", at(1), 9).await),
        ["urgent", "old", "young", "taken", "idle"]
    );
    assert_eq!(
        segments(&due("two", at(60), 9).await),
        ["urgent", "old", "later", "young", "taken", "idle"]
    );
    assert_eq!(
        segments(&store.claimable(&[RUNNING], "one", at(1), 9).await.unwrap()),
        ["taken"]
    );
}

pub async fn serialises_the_tasks_of_a_session(store: Store) {
    let tasks = [
        ("first", PENDING, Some("sessions/x"), None),
        ("later", PENDING, Some("sessions/x"), Some(at(50))),
        ("second", PENDING, Some("sessions/x"), None),
        ("stranger", RUNNING, Some("sessions/y"), None),
        ("loner", RUNNING, None, None),
    ];
    sessions(&store).await;
    for (segment, state, session, run_after) in tasks {
        let task = CreateTask {
            state,
            session: session.map(str::to_owned),
            run_after,
            ..new_task(segment)
        };
        store.create_task(task).await.unwrap();
    }
    let predecessor = |segment: &'static str, leased_only, now| {
        let store = store.clone();
        async move {
            let query = SessionQuery {
                session: "sessions/x".to_owned(),
                task: name(segment),
                started: vec![RUNNING],
                waiting: PENDING,
                leased_only,
                now,
            };
            let row = store.session_predecessor(query).await.unwrap();
            row.map(|row| row.name.segment().to_owned())
        }
    };
    assert_eq!(predecessor("first", false, at(1)).await, None);
    assert_eq!(
        predecessor("second", false, at(1)).await.as_deref(),
        Some("first")
    );
    // One that is not due yet waits for those that are; once it is due, younger ones wait for it.
    assert_eq!(
        predecessor("later", false, at(1)).await.as_deref(),
        Some("first")
    );
    assert_eq!(predecessor("second", true, at(1)).await, None);
    let claim = claimed(&store, "first", "one", at(1)).await;
    assert_eq!(
        predecessor("second", true, at(2)).await.as_deref(),
        Some("first")
    );
    let started = Append {
        view: Some((RUNNING, Bytes::new())),
        ..append_to("first", events(1))
    };
    store.append(started).await.unwrap();
    store.release(&name("first"), claim.epoch).await.unwrap();
    assert_eq!(
        predecessor("second", false, at(2)).await.as_deref(),
        Some("first")
    );
    assert_eq!(
        predecessor("second", true, at(2)).await,
        None,
        "its orchestrator is gone"
    );
    let ended = Append {
        view: Some((5, Bytes::new())),
        ..append_to("first", events(1))
    };
    store.append(ended).await.unwrap();
    assert_eq!(predecessor("second", false, at(2)).await, None);
    assert_eq!(
        predecessor("second", false, at(60)).await.as_deref(),
        Some("later")
    );
}

pub async fn lists_by_state_session_and_labels(store: Store) {
    let tasks = [
        (
            "a",
            PENDING,
            Some("sessions/x"),
            labels([("team", "red"), ("app", "mail")]),
        ),
        ("b", RUNNING, Some("sessions/x"), labels([("team", "red")])),
        ("c", RUNNING, Some("sessions/y"), labels([("team", "blue")])),
        ("d", PENDING, None, labels([])),
    ];
    sessions(&store).await;
    for (segment, state, session, labels) in tasks {
        let session = session.map(str::to_owned);
        store
            .create_task(CreateTask {
                state,
                session,
                labels,
                ..new_task(segment)
            })
            .await
            .unwrap();
    }
    let list = |states: &[i32], session: Option<&str>, labels| ListTasks {
        page_size: 9,
        page_token: None,
        states: states.to_vec(),
        session: session.map(str::to_owned),
        tenant: None,
        labels,
    };
    for (list, expected) in [
        (list(&[], None, labels([])), vec!["d", "c", "b", "a"]),
        (list(&[RUNNING], None, labels([])), vec!["c", "b"]),
        (
            list(&[RUNNING, PENDING], Some("sessions/x"), labels([])),
            vec!["b", "a"],
        ),
        (list(&[], None, labels([("team", "red")])), vec!["b", "a"]),
        (
            list(&[], None, labels([("team", "red"), ("app", "mail")])),
            vec!["a"],
        ),
        (
            list(&[RUNNING], Some("sessions/x"), labels([("team", "red")])),
            vec!["b"],
        ),
        (list(&[], None, labels([("team", "green")])), vec![]),
        (list(&[7], None, labels([])), vec![]),
    ] {
        let page = store.list_tasks(list.clone()).await.unwrap();
        assert_eq!(
            (segments(&page.items), page.next),
            (expected, None),
            "{list:?}"
        );
    }
}

pub async fn pages_through_a_list(store: Store) {
    for number in 0..7 {
        created(&store, &format!("t{number}")).await;
    }
    for (size, pages) in [(1, 7), (2, 4), (3, 3), (6, 2), (7, 1), (100, 1)] {
        let mut list = ListTasks {
            page_size: size,
            ..ListTasks::default()
        };
        let mut seen = Vec::new();
        for page in 1.. {
            let found = store.list_tasks(list.clone()).await.unwrap();
            assert!(!found.items.is_empty());
            seen.extend(found.items);
            list.page_token = found.next;
            if list.page_token.is_none() {
                assert_eq!(page, pages, "pages of {size}");
                break;
            }
        }
        assert_eq!(segments(&seen), ["t6", "t5", "t4", "t3", "t2", "t1", "t0"]);
    }
}

pub async fn binds_a_page_token_to_its_list(store: Store) {
    for segment in ["a", "b", "c"] {
        created(&store, segment).await;
    }
    let list = ListTasks {
        page_size: 1,
        ..ListTasks::default()
    };
    let token = store.list_tasks(list.clone()).await.unwrap().next;
    let larger = ListTasks {
        page_size: 2,
        page_token: token.clone(),
        ..list.clone()
    };
    assert_eq!(
        segments(&store.list_tasks(larger).await.unwrap().items),
        ["b", "a"]
    );
    for other in [
        ListTasks {
            page_token: token.clone(),
            states: vec![PENDING],
            ..list.clone()
        },
        ListTasks {
            page_token: token.clone(),
            session: Some("sessions/x".to_owned()),
            ..list.clone()
        },
        ListTasks {
            page_token: token,
            labels: labels([("a", "b")]),
            ..list.clone()
        },
        ListTasks {
            page_token: Some("nonsense".to_owned()),
            ..list
        },
    ] {
        assert!(matches!(
            store.list_tasks(other).await,
            Err(Error::BadPageToken)
        ));
    }
}

pub async fn ends_a_page_at_its_bytes(store: Store) {
    for (number, bytes) in [
        MAX_PAGE_BYTES / 2,
        2 * MAX_PAGE_BYTES,
        MAX_PAGE_BYTES / 2,
        1,
    ]
    .into_iter()
    .enumerate()
    {
        let task = CreateTask {
            snapshot: vec![0; bytes].into(),
            ..new_task(&format!("t{number}"))
        };
        store.create_task(task).await.unwrap();
    }
    let mut pages = Vec::new();
    let mut list = ListTasks {
        page_size: 100,
        ..ListTasks::default()
    };
    loop {
        let page = store.list_tasks(list.clone()).await.unwrap();
        pages.push(segments(&page.items).join(" "));
        list.page_token = page.next;
        if list.page_token.is_none() {
            break;
        }
    }
    assert_eq!(
        pages,
        ["t3 t2", "t1", "t0"],
        "a row larger than a page is one"
    );
}

pub async fn lists_while_tasks_are_created(store: Store) {
    for number in 0..4 {
        created(&store, &format!("t{number}")).await;
    }
    let first = ListTasks {
        page_size: 2,
        ..ListTasks::default()
    };
    let page = store.list_tasks(first.clone()).await.unwrap();
    created(&store, "new").await;
    let rest = store
        .list_tasks(ListTasks {
            page_token: page.next,
            ..first
        })
        .await
        .unwrap();
    assert_eq!(
        segments(&rest.items),
        ["t1", "t0"],
        "nothing twice, nothing left out"
    );
}

fn put(collection: Collection, name: &str, body: &'static str) -> PutResource {
    PutResource {
        collection,
        name: name.to_owned(),
        tenant: HOME.to_owned(),
        body: Bytes::from_static(body.as_bytes()),
        labels: BTreeMap::new(),
        replace: false,
        request: None,
        now: at(0),
    }
}

fn list_of(collection: Collection) -> ListResources {
    ListResources {
        collection,
        tenant: None,
        page_size: 9,
        page_token: None,
        labels: BTreeMap::new(),
    }
}

fn names(resources: &[ResourceRow]) -> Vec<&str> {
    resources
        .iter()
        .map(|resource| resource.name.as_str())
        .collect()
}

pub async fn keeps_sessions_and_desktops(store: Store) {
    use Collection::{Desktops, Sessions};
    let first = store
        .put_resource(put(Sessions, "sessions/a", "one"))
        .await
        .unwrap();
    assert_eq!(
        (first.body.as_ref(), first.create_time, first.update_time),
        (&b"one"[..], at(0), at(0))
    );
    assert_eq!(store.get_resource("sessions/a").await.unwrap(), first);

    let again = store.put_resource(put(Sessions, "sessions/a", "two")).await;
    assert!(matches!(again, Err(Error::ResourceExists { name }) if name == "sessions/a"));
    let replaced = PutResource {
        replace: true,
        now: at(5),
        ..put(Sessions, "sessions/a", "two")
    };
    let replaced = store.put_resource(replaced).await.unwrap();
    assert_eq!(
        (
            replaced.body.as_ref(),
            replaced.create_time,
            replaced.update_time
        ),
        (&b"two"[..], at(0), at(5))
    );

    let asked = |name: &str, body| PutResource {
        request: request("r", body),
        ..put(Desktops, name, "desk")
    };
    store.put_resource(asked("desktops/b", 1)).await.unwrap();
    assert_eq!(
        store
            .put_resource(asked("desktops/c", 1))
            .await
            .unwrap()
            .name,
        "desktops/b"
    );
    assert!(matches!(
        store.put_resource(asked("desktops/d", 2)).await,
        Err(Error::RequestIdReused { .. })
    ));

    assert_eq!(
        names(&store.list_resources(list_of(Sessions)).await.unwrap().items),
        ["sessions/a"]
    );
    assert_eq!(
        names(&store.list_resources(list_of(Desktops)).await.unwrap().items),
        ["desktops/b"]
    );
    let missing = store.get_resource("desktops/c").await;
    assert!(matches!(missing, Err(Error::ResourceNotFound { name }) if name == "desktops/c"));
}

pub async fn lists_desktops_by_labels(store: Store) {
    let desktop = |name: &str, os: &str, zone: &str| PutResource {
        labels: labels([("os", os), ("zone", zone)]),
        replace: true,
        ..put(Collection::Desktops, name, "desk")
    };
    for desktop in [
        desktop("desktops/a", "linux", "1"),
        desktop("desktops/b", "linux", "2"),
        desktop("desktops/c", "windows", "1"),
        desktop("desktops/d", "linux", "1"),
        // Labels are replaced, not merged.
        desktop("desktops/d", "windows", "2"),
    ] {
        store.put_resource(desktop).await.unwrap();
    }
    let list = |labels| ListResources {
        labels,
        ..list_of(Collection::Desktops)
    };
    for (labels, expected) in [
        (labels([("os", "linux")]), vec!["desktops/b", "desktops/a"]),
        (labels([("os", "linux"), ("zone", "1")]), vec!["desktops/a"]),
        (labels([("zone", "2")]), vec!["desktops/d", "desktops/b"]),
        (labels([("os", "macos")]), vec![]),
    ] {
        assert_eq!(
            names(&store.list_resources(list(labels)).await.unwrap().items),
            expected
        );
    }
    let paged = ListResources {
        page_size: 3,
        ..list(labels([]))
    };
    let page = store.list_resources(paged.clone()).await.unwrap();
    assert_eq!(
        names(&page.items),
        ["desktops/d", "desktops/c", "desktops/b"]
    );
    let rest = store
        .list_resources(ListResources {
            page_token: page.next.clone(),
            ..paged
        })
        .await
        .unwrap();
    assert_eq!((names(&rest.items), rest.next), (vec!["desktops/a"], None));
    let foreign = ListTasks {
        page_size: 3,
        page_token: page.next,
        ..ListTasks::default()
    };
    assert!(matches!(
        store.list_tasks(foreign).await,
        Err(Error::BadPageToken)
    ));
}

pub async fn removes_desktops(store: Store) {
    let desktop = PutResource {
        labels: labels([("os", "linux")]),
        ..put(Collection::Desktops, "desktops/a", "desk")
    };
    store.put_resource(desktop).await.unwrap();
    let remove = |id: u8, now| store.remove_resource("desktops/a", request("r", id), now);
    remove(1, at(1)).await.unwrap();
    let gone = store.get_resource("desktops/a").await;
    assert!(matches!(gone, Err(Error::ResourceNotFound { .. })));
    // A desktop of the same name has none of its labels, and the old request does not remove it.
    let again = put(Collection::Desktops, "desktops/a", "desk");
    store.put_resource(again).await.unwrap();
    remove(1, at(2)).await.unwrap();
    store.get_resource("desktops/a").await.unwrap();
    let list = ListResources {
        labels: labels([("os", "linux")]),
        ..list_of(Collection::Desktops)
    };
    assert_eq!(store.list_resources(list).await.unwrap().items, []);
    let reused = remove(2, at(2)).await;
    assert!(matches!(reused, Err(Error::RequestIdReused { .. })));
    let missing = store.remove_resource("desktops/b", None, at(3)).await;
    assert!(matches!(missing, Err(Error::ResourceNotFound { name }) if name == "desktops/b"));
}

pub async fn lists_by_tenant(store: Store) {
    let of = |tenant: &str| Some(tenant.to_owned());
    for (segment, tenant) in [("a", "acme"), ("b", HOME), ("c", "acme")] {
        let task = CreateTask {
            tenant: tenant.to_owned(),
            ..new_task(segment)
        };
        let created = store.create_task(task).await.unwrap().task;
        assert_eq!(created.tenant, tenant);
        // An append leaves a task in its tenant.
        store.append(append_to(segment, events(1))).await.unwrap();
        let session = PutResource {
            tenant: tenant.to_owned(),
            ..put(Collection::Sessions, &format!("sessions/{segment}"), "s")
        };
        store.put_resource(session).await.unwrap();
    }
    let page = ListTasks {
        page_size: 1,
        tenant: of("acme"),
        ..ListTasks::default()
    };
    let first = store.list_tasks(page.clone()).await.unwrap();
    assert_eq!(segments(&first.items), ["c"]);
    let next = ListTasks {
        page_token: first.next.clone(),
        ..page
    };
    let second = store.list_tasks(next.clone()).await.unwrap();
    assert_eq!((segments(&second.items), second.next), (vec!["a"], None));
    // The token of one tenant's list opens no other.
    for tenant in [None, of(HOME)] {
        let list = ListTasks {
            tenant,
            ..next.clone()
        };
        let refused = store.list_tasks(list).await;
        assert!(matches!(refused, Err(Error::BadPageToken)));
    }
    for (tenant, tasks, sessions) in [
        (of("acme"), vec!["c", "a"], vec!["sessions/c", "sessions/a"]),
        (of(HOME), vec!["b"], vec!["sessions/b"]),
        (of("nowhere"), vec![], vec![]),
        (
            None,
            vec!["c", "b", "a"],
            vec!["sessions/c", "sessions/b", "sessions/a"],
        ),
    ] {
        let list = ListTasks {
            page_size: 9,
            tenant: tenant.clone(),
            ..ListTasks::default()
        };
        let listed = store.list_tasks(list).await.unwrap();
        assert_eq!(segments(&listed.items), tasks);
        let list = ListResources {
            tenant,
            ..list_of(Collection::Sessions)
        };
        let listed = store.list_resources(list).await.unwrap();
        assert_eq!(names(&listed.items), sessions);
    }
    // A name is taken in every tenant, and one that is replaced keeps its tenant.
    let foreign = CreateTask {
        tenant: "acme".to_owned(),
        ..new_task("b")
    };
    let taken = store.create_task(foreign).await;
    assert!(matches!(taken, Err(Error::TaskExists { .. })));
    let replaced = PutResource {
        tenant: HOME.to_owned(),
        replace: true,
        ..put(Collection::Sessions, "sessions/a", "s")
    };
    assert_eq!(store.put_resource(replaced).await.unwrap().tenant, "acme");
}

pub async fn keeps_times_in_milliseconds(store: Store) {
    let now = at(0) + Duration::from_micros(1_234_567);
    store
        .create_task(CreateTask {
            now,
            ..new_task("a")
        })
        .await
        .unwrap();
    assert_eq!(
        store.get_task(&name("a")).await.unwrap().create_time,
        at(0) + Duration::from_millis(1234)
    );
}

pub async fn numbers_events_without_gaps_for_many_at_once(store: Store) {
    created(&store, "a").await;
    let claim = claimed(&store, "a", "one", at(0)).await;
    let writers = (0..8).map(|writer| {
        let store = store.clone();
        let epoch = (writer == 0).then_some(claim.epoch);
        tokio::spawn(async move {
            let mut own = Vec::new();
            for round in 0..25 {
                let appended = store
                    .append(Append {
                        epoch,
                        ..append_to("a", events(1 + round % 3))
                    })
                    .await
                    .unwrap();
                own.push(appended);
            }
            own
        })
    });
    let written = try_join_all(writers).await.unwrap();
    let mut ranges: Vec<_> = written
        .iter()
        .flatten()
        .map(|appended| (appended.first_seq.0, appended.last_seq.0))
        .collect();
    ranges.sort_unstable();
    let follow = ranges
        .iter()
        .zip(ranges.iter().skip(1))
        .all(|(one, next)| one.1 + 1 == next.0);
    assert!(
        follow && ranges[0].0 == 2,
        "each append has a range of its own"
    );
    assert!(
        written
            .iter()
            .all(|own| own.is_sorted_by_key(|appended| appended.first_seq))
    );
    let log = log(&store, "a").await;
    assert!(is_gapless(EventSeq(0), log.iter().map(|event| event.seq)));
    assert_eq!(
        log.last().map(|event| event.seq),
        Some(store.get_task(&name("a")).await.unwrap().last_seq)
    );
}

pub async fn claims_each_task_once_for_many_at_once(store: Store) {
    // More tasks than claimants, so that every claimant competes several times.
    const TASKS: usize = 12;
    for number in 0..TASKS {
        created(&store, &format!("t{number}")).await;
    }
    let owners = (0..6).map(|owner| {
        let store = store.clone();
        tokio::spawn(async move {
            let owner = format!("owner {owner}");
            let mut mine = Vec::new();
            for task in store
                .claimable(&[PENDING], &owner, at(0), 100)
                .await
                .unwrap()
            {
                let claim = store.claim(&task.name, &owner, TTL, at(0)).await.unwrap();
                mine.extend(claim.map(|claim| claim.task.name));
            }
            mine
        })
    });
    let claimed: Vec<TaskName> = try_join_all(owners).await.unwrap().concat();
    let distinct: BTreeSet<_> = claimed.iter().collect();
    assert_eq!((claimed.len(), distinct.len()), (TASKS, TASKS));
}

pub async fn creates_once_for_the_same_request_many_times_at_once(store: Store) {
    let creations = (0..8).map(|number| {
        let store = store.clone();
        let task = CreateTask {
            request: request("r", 1),
            ..new_task(&format!("t{number}"))
        };
        tokio::spawn(async move { store.create_task(task).await.unwrap() })
    });
    let created: Vec<_> = join_all(creations)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(
        created.iter().filter(|created| !created.repeated).count(),
        1
    );
    let names: BTreeSet<_> = created.iter().map(|created| &created.task.name).collect();
    assert_eq!(names.len(), 1);
}
