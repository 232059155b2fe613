//! The orchestrator dies and another one continues from the same store: no action is performed twice, and the task
//! ends.

use std::fs;
use std::path::{Path, PathBuf};

use motorium_proto::domain::decision::Next;
use motorium_proto::domain::effect::ActionResult as Left;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::service::CaptureRequest;
use motorium_proto::v1::common::ActionResult;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use motorium_store::older_schema::rewrite_sqlite;
use motorium_store::{Append, Durability, NewEvent, SqliteStore, TaskStore as _};
use prost::Message as _;

use crate::support::cluster::Cluster;
use crate::support::faulty_store::CrashPoint;
use crate::support::script::{act, ask, click, click_text, done, typing, typing_secret};
use crate::support::task_events::TaskEvents;

fn script() -> Vec<Next> {
    vec![
        act([click(1), typing("a")]),
        act([typing("b"), click(2)]),
        done("saved"),
    ]
}

/// Returns the kinds of the actions that reached the application.
fn performed(cluster: &Cluster) -> Vec<String> {
    let done = cluster.world.done();
    let kinds = done.iter().map(|done| format!("{:?}", done.action.kind()));
    kinds.collect()
}

/// Asserts that the script's actions reached the application.
fn check_done(cluster: &Cluster, context: &str) {
    let expected = ["Click", "TypeText", "TypeText", "Click"];
    assert_eq!(performed(cluster), expected, "{context}");
}

fn task_with_files() -> wire::Task {
    wire::Task {
        attachments: vec![wire::Attachment {
            name: "in.txt".to_owned(),
            data: "a file".into(),
            ..wire::Attachment::default()
        }],
        results: vec!["in.txt".to_owned()],
        ..wire::Task::default()
    }
}

async fn writes_of_an_undisturbed_run() -> usize {
    let cluster = Cluster::start(script()).await;
    let story = cluster.carry_out_with(task_with_files()).await;
    assert_eq!(story.answer(), "saved");
    check_done(&cluster, "undisturbed");
    cluster.writes()
}

async fn die_at(point: CrashPoint) {
    let mut cluster = Cluster::start_until(script(), Some(point)).await;
    let name = cluster.create_with(task_with_files()).await;
    cluster.crash_point_reached().await;
    cluster.crash().await;
    let story = cluster.follow(&name).await;
    let context = format!("{point:?}:\n{}", story.text());
    assert_eq!(story.answer(), "saved", "{context}");
    check_done(&cluster, &context);
    assert!(story.count("recovered") <= 1, "{context}");
    assert!(
        story
            .results()
            .iter()
            .all(|result| *result == ActionResult::Performed || *result == ActionResult::Cancelled),
        "{context}"
    );
    let intended = story.count("action_intended");
    assert_eq!(intended, story.results().len(), "{context}");
}

#[tokio::test]
async fn before_each_write_of_the_journal() {
    for number in 1..=writes_of_an_undisturbed_run().await {
        die_at(CrashPoint::Before(number)).await;
    }
}

#[tokio::test]
async fn after_each_write_of_the_journal() {
    for number in 1..=writes_of_an_undisturbed_run().await {
        die_at(CrashPoint::After(number)).await;
    }
}

#[tokio::test]
async fn secret_field_stays_redacted_after_any_crash() {
    let script = || {
        let entering = act([click(1), typing_secret("bank")]);
        vec![entering, act([click(2)]), done("in")]
    };
    let undisturbed = Cluster::start(script()).await;
    undisturbed.carry_out().await;
    for number in 1..=undisturbed.writes() {
        let mut cluster = Cluster::start_until(script(), Some(CrashPoint::After(number))).await;
        let name = cluster.create().await;
        cluster.crash_point_reached().await;
        cluster.crash().await;
        cluster.follow(&name).await;
        let looks = cluster.world.looks();
        // The second action is the secret.
        let mut later = looks.iter().filter(|(done, _)| *done >= 2);
        let hides = |(_, look): &(usize, CaptureRequest)| !look.redactions.is_empty();
        assert!(later.all(hides), "{number}: {looks:?}");
    }
}

/// Kills the orchestrator during a call, so that the service sees its caller vanish.
async fn die_during(held: &'static str) -> (Cluster, TaskEvents) {
    die_in(script(), held).await
}

async fn die_in(script: Vec<Next>, held: &'static str) -> (Cluster, TaskEvents) {
    let mut cluster = Cluster::start(script).await;
    cluster.world.hold(held);
    let name = cluster.create().await;
    cluster.world.called(held, 1).await;
    cluster.kill().await;
    if held == "perform" {
        cluster.world.called("stopped", 1).await;
    }
    cluster.world.release(held);
    cluster.start_again().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "saved", "died during {held}");
    check_done(&cluster, held);
    (cluster, story)
}

#[tokio::test]
async fn during_each_call() {
    let mut in_words = script();
    in_words[0] = act([click_text("Button 1"), typing("a")]);
    for held in [
        "observe",
        "plan",
        "resolve_target",
        "wait_for_idle",
        "compare",
    ] {
        let (cluster, story) = die_in(in_words.clone(), held).await;
        assert_eq!(story.count("recovered"), 1, "{held}");
        assert_eq!(cluster.world.lookups(), [], "{held}: nothing was open");
    }
}

#[tokio::test]
async fn before_a_desktop_was_leased() {
    let (_, story) = die_during("acquire_desktop").await;
    assert_eq!(story.count("recovered"), 0, "it had not begun");
    assert_eq!(story.count("started"), 1);
}

#[tokio::test]
async fn before_anything_of_an_action_was_sent() {
    let (cluster, story) = die_during("perform").await;
    let looked_up: Vec<String> = cluster.world.lookups().iter().map(id_in_task).collect();
    assert_eq!(looked_up.first().map(String::as_str), Some("1/0/0"));
    let done: Vec<String> = cluster
        .world
        .done()
        .iter()
        .map(|done| id_in_task(&done.id))
        .collect();
    assert_eq!(
        done,
        ["1/0/1", "1/1/0", "2/0/0", "2/1/0"],
        "due again, and the rest after it"
    );
    assert_eq!(story.count("user_asked"), 0);
    assert_eq!(story.count("action_retried"), 1);
    let actions = &cluster.world.plans()[1].history[0].actions;
    assert!(
        actions
            .iter()
            .all(|action| action.outcome.result == Left::Performed)
    );
}

fn id_in_task(id: &motorium_proto::domain::id::ActionId) -> String {
    id.as_str().split_once('/').unwrap().1.to_owned()
}

#[tokio::test]
async fn after_an_action_was_sent_and_before_its_outcome_was_stored() {
    let (cluster, story) = die_during("answer").await;
    let looked_up: Vec<String> = cluster.world.lookups().iter().map(id_in_task).collect();
    assert_eq!(looked_up, ["1/0/0"], "the executor's journal is asked");
    assert_eq!(story.results(), [ActionResult::Performed; 4]);
    assert!(story.outcomes()[0].already_performed || story.count("recovered") == 1);
}

#[tokio::test]
async fn action_with_unknown_outcome_is_not_repeated() {
    let mut cluster = Cluster::start(script()).await;
    cluster.world.hold("answer");
    let name = cluster.create().await;
    cluster.world.called("answer", 1).await;
    cluster.kill().await;
    cluster.world.forget_actions();
    cluster.world.release("answer");
    cluster.start_again().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "saved");
    let unknown = story.all(|kind| match kind {
        Kind::Recovered(recovered) => Some(recovered.unknown_actions.clone()),
        _ => None,
    });
    let first = format!("{}/1/0/0", name.strip_prefix("tasks/").unwrap());
    assert_eq!(unknown, [vec![first]]);
    assert_eq!(story.results()[0], ActionResult::Unknown);
    let done: Vec<String> = cluster
        .world
        .done()
        .iter()
        .map(|done| id_in_task(&done.id))
        .collect();
    assert_eq!(
        done,
        ["1/0/0", "2/0/0", "2/1/0"],
        "the rest of its step is dropped"
    );
    let action = &cluster.world.plans()[1].history[0].actions[0];
    assert_eq!(action.outcome.result, Left::Unknown);
}

#[tokio::test]
async fn repeated_crashes_at_the_same_action() {
    let mut cluster = Cluster::start(script()).await;
    cluster.world.hold("perform");
    let name = cluster.create().await;
    for time in 1..=3 {
        cluster.world.called("perform", time).await;
        cluster.kill().await;
        cluster.world.called("stopped", time).await;
        if time == 3 {
            cluster.world.release("perform");
        }
        cluster.start_again().await;
    }
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "saved");
    check_done(&cluster, "three crashes");
    assert_eq!(story.count("recovered"), 3);
}

#[tokio::test]
async fn while_the_user_is_asked() {
    let mut cluster = Cluster::start(vec![ask("which one?"), done("saved")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    cluster.crash().await;
    let task = cluster.get(&name).await;
    assert_eq!(task.state(), State::AwaitingUser);
    assert_eq!(task.user_request.unwrap().message, "which one?");
    cluster.happened(&name, "recovered").await;
    cluster.acknowledge(&name, "the left one").await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "saved");
    assert_eq!(story.count("user_asked"), 1, "nobody is asked twice");
    assert_eq!(cluster.world.plans()[1].user_messages, ["the left one"]);
}

#[tokio::test]
async fn while_it_is_paused() {
    let mut cluster = Cluster::start(script()).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    cluster.pause(&name).await;
    cluster.crash().await;
    cluster.world.release("plan");
    cluster.happened(&name, "recovered").await;
    assert_eq!(cluster.get(&name).await.state(), State::Paused);
    assert_eq!(cluster.world.done(), []);
    cluster.resume(&name).await;
    assert_eq!(cluster.follow(&name).await.answer(), "saved");
    check_done(&cluster, "paused");
}

#[tokio::test]
async fn crash_during_a_cancellation() {
    let mut cluster = Cluster::start_until(script(), Some(CrashPoint::Before(3))).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let client = cluster.client();
    let task = name.clone();
    let cancelling = tokio::spawn(async move { client.cancel_task(&task, "enough").await });
    cluster.crash_point_reached().await;
    cluster.kill().await;
    let _ = cancelling.await.unwrap();
    cluster.world.release("plan");
    cluster.start_again().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.kinds().last().unwrap(), "cancelled");
    assert_eq!(cluster.world.done(), []);
}

#[tokio::test]
async fn tasks_that_wait_are_still_there() {
    let mut cluster = Cluster::start(Vec::new()).await;
    cluster.world.hold("acquire_desktop");
    let mut names = Vec::new();
    for _ in 0..3 {
        names.push(cluster.create().await);
    }
    cluster.crash().await;
    cluster.world.release("acquire_desktop");
    for name in names {
        assert_eq!(cluster.follow(&name).await.answer(), "it is done");
    }
}

#[tokio::test]
async fn downtime_does_not_count_towards_the_time_limit() {
    let mut cluster = Cluster::start(vec![act([click(1)]), done("saved")]).await;
    cluster.world.hold("plan");
    let limits = wire::Limits {
        max_duration: Some(std::time::Duration::from_secs(5).try_into().unwrap()),
        ..wire::Limits::default()
    };
    let task = wire::Task {
        goal: "save".to_owned(),
        limits: Some(limits),
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    cluster.world.called("plan", 1).await;
    cluster.kill().await;
    // Longer than the task's time limit.
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    cluster.world.release("plan");
    cluster.start_again().await;
    assert_eq!(cluster.follow(&name).await.answer(), "saved");
}

/// Appends an event of a kind and with a field that only a later version has. Returns its number and its content.
async fn append_of_the_future(store: &SqliteStore, task: &TaskName) -> (EventSeq, Vec<u8>) {
    let last = store.get_task(task).await.unwrap().last_seq;
    let now = std::time::SystemTime::now();
    let event = wire::Event {
        task: task.to_string(),
        sequence: last.0 + 1,
        time: Some(now.into()),
        state: State::Running.into(),
        ..wire::Event::default()
    };
    let mut body = event.encode_to_vec();
    // Field 250, a message of four bytes; field 251, a number.
    body.extend([0xd2, 0x0f, 4, b'n', b'e', b'w', b'!', 0xd8, 0x0f, 7]);
    let append = Append {
        name: task.clone(),
        epoch: None,
        expected_seq: Some(last),
        events: vec![NewEvent {
            at: now,
            kind: "of_the_future",
            body: body.clone().into(),
        }],
        notes: None,
        view: None,
        request: None,
        lease: None,
        now,
    };
    let appended = store.append(append).await.unwrap();
    (appended.last_seq, body)
}

/// Returns a killed orchestrator and its task, which has performed the first of its actions.
async fn killed_in_flight() -> (Cluster, String) {
    let mut cluster = Cluster::start(script()).await;
    cluster.world.hold("wait_for_idle");
    let name = cluster.create().await;
    cluster.world.called("wait_for_idle", 1).await;
    cluster.happened(&name, "action_performed").await;
    cluster.kill().await;
    (cluster, name)
}

#[tokio::test]
async fn a_task_in_flight_goes_on_after_an_event_of_a_later_version_which_is_kept_as_it_is() {
    let (mut cluster, name) = killed_in_flight().await;
    // A later version ran on this store, and was replaced by this one again.
    let task = TaskName::parse("name", &name).unwrap();
    let file = cluster.data().join("tasks.db");
    let store = SqliteStore::open(&file, Durability::Normal).await.unwrap();
    let (seq, body) = append_of_the_future(&store, &task).await;
    cluster.world.release("wait_for_idle");
    cluster.start_again().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "saved");
    check_done(&cluster, "after an event of the future");
    let before = EventSeq(seq.0 - 1);
    let kept = store.events(&task, before, 1).await.unwrap().remove(0);
    assert_eq!((kept.seq, kept.body.as_ref()), (seq, body.as_slice()));
    let shown = story.0.iter().find(|event| event.sequence == seq.0);
    let shown = shown.expect("clients see that there is an event");
    assert_eq!((shown.kind.clone(), shown.state()), (None, State::Running));
}

#[tokio::test]
async fn a_task_in_flight_goes_on_after_an_upgrade_from_any_earlier_form_of_the_store() {
    for schema in 1..=3 {
        let (mut cluster, name) = killed_in_flight().await;
        rewrite_sqlite(&cluster.data().join("tasks.db"), schema).await;
        cluster.world.release("wait_for_idle");
        cluster.start_again().await;
        assert_eq!(cluster.follow(&name).await.answer(), "saved", "{schema}");
        check_done(&cluster, &format!("after an upgrade from schema {schema}"));
    }
}

/// Returns the folder with the store of version 0.1.0, in which a task has performed the first of its actions.
fn store_of_a_former_version() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store-0.1.0")
}

/// Copies the files of a store.
fn copy_store(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_store(&entry.path(), &place),
            false => drop(fs::copy(entry.path(), place).unwrap()),
        }
    }
}

#[tokio::test]
#[ignore = "writes the store that the next test opens, once for a version"]
async fn a_store_with_a_task_in_flight_is_left() {
    let (cluster, _) = killed_in_flight().await;
    let file = cluster.data().join("tasks.db");
    // Moves the log into the file.
    let store = SqliteStore::open(&file, Durability::Normal).await.unwrap();
    store.close().await;
    let folder = store_of_a_former_version();
    fs::create_dir_all(&folder).unwrap();
    fs::copy(file, folder.join("tasks.db")).unwrap();
    copy_store(&cluster.data().join("blobs"), &folder.join("blobs"));
}

#[tokio::test]
async fn a_task_in_flight_of_a_former_version_goes_on_once() {
    let mut cluster = Cluster::start(script()).await;
    cluster.kill().await;
    for file in ["tasks.db", "tasks.db-wal", "tasks.db-shm"] {
        let _ = fs::remove_file(cluster.data().join(file));
    }
    copy_store(&store_of_a_former_version(), cluster.data());
    cluster.start_again().await;
    let request = wire::ListTasksRequest::default();
    let listed = cluster.client().raw().list_tasks(request).await;
    let tasks = listed.unwrap().into_inner().tasks;
    let [task] = tasks.as_slice() else {
        panic!("{tasks:?}");
    };
    let story = cluster.follow(&task.name).await;
    assert_eq!(story.answer(), "saved", "{}", story.text());
    // The click of the former version is not repeated.
    assert_eq!(performed(&cluster), ["TypeText", "TypeText", "Click"]);
}
