//! Sessions are conversations: a follow-up task knows the earlier tasks of its session, and waits for their end.

use motorium_kit::config::HumanDuration;
use motorium_proto::domain::decision::Next;
use motorium_proto::domain::session::{EarlierTask, TaskEnd};
use motorium_proto::v1::common::EarlierMessage;
use motorium_proto::v1::common::earlier_message::Role;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::export_session_request::Format;
use motorium_proto::v1::orchestrator::task::State;

use crate::desktops::{desktop_at, drain, elsewhere, register};
use crate::replay;
use crate::support::cluster::{Cluster, DESKTOP};
use crate::support::in_time;
use crate::support::script::{act, ask, click, done, give_up};

const SESSION: &str = "sessions/chat";

/// A cluster with a session. Tasks that wait for an answer keep their desktop only for a moment.
async fn conversation(script: Vec<Next>) -> Cluster {
    let cluster = Cluster::start_with(script, |settings| {
        settings.release_desktop_after = Some(HumanDuration::milliseconds(100));
    })
    .await;
    let request = wire::CreateSessionRequest {
        session_id: "chat".to_owned(),
        ..wire::CreateSessionRequest::default()
    };
    let created = cluster.client().raw().create_session(request).await;
    created.unwrap();
    cluster
}

fn task(goal: &str) -> wire::Task {
    wire::Task {
        session: SESSION.to_owned(),
        goal: goal.to_owned(),
        ..wire::Task::default()
    }
}

/// Returns the earlier tasks in the planner's last request.
fn earlier_tasks(cluster: &Cluster) -> Vec<EarlierTask> {
    let plans = cluster.world.plans();
    plans.last().unwrap().context.earlier_tasks.clone()
}

/// Waits until a pending task waits for another one of its session, and returns the explanation.
async fn waits_for(cluster: &Cluster, waiting: &str, predecessor: &str) -> String {
    let waited = async {
        loop {
            let task = cluster.get(waiting).await;
            assert_eq!(task.state(), State::Pending);
            let wait = task.desktop_wait.unwrap_or_default();
            if wait.session_task == predecessor {
                return wait.message;
            }
            tokio::task::yield_now().await;
        }
    };
    in_time("a task to wait for its session", waited).await
}

async fn transcript(cluster: &Cluster, format: Format) -> String {
    let request = wire::ExportSessionRequest {
        name: SESSION.to_owned(),
        format: format.into(),
    };
    let mut pieces = cluster
        .client()
        .raw()
        .export_session(request)
        .await
        .unwrap()
        .into_inner();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.message().await.unwrap() {
        bytes.extend(piece.chunk);
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn follow_up_task_receives_the_earlier_tasks() {
    let cluster = conversation(vec![act([click(1)]), done("saved as report.pdf")]).await;
    let first = cluster.create_with(task("save the report")).await;
    cluster.follow(&first).await;
    assert_eq!(earlier_tasks(&cluster), [], "the first task follows none");
    let second = cluster.create_with(task("send it to Ann")).await;
    let story = cluster.follow(&second).await;
    assert_eq!(story.count("session_loaded"), 1);
    let [earlier] = earlier_tasks(&cluster).try_into().unwrap();
    assert_eq!(earlier.task, first);
    assert_eq!(earlier.goal, "save the report");
    assert_eq!(earlier.outcome, TaskEnd::Succeeded);
    assert_eq!(earlier.answer, "saved as report.pdf");
    assert_eq!(earlier.actions, ["click \"Button 1\""]);
    // The creation and the earlier tasks come before the run, and a wait where the first task has not left its desktop yet.
    let before = 2 + story.count("desktop_awaited");
    replay::check_after(&cluster, &second, before).await;
    // Tasks of other sessions, and without one, know nothing of it.
    cluster.carry_out().await;
    assert_eq!(earlier_tasks(&cluster), []);
}

#[tokio::test]
async fn follow_up_task_goes_on_at_the_desktop_of_the_session() {
    let clicks = vec![act([click(1)])];
    let cluster = conversation(clicks).await;
    let (annex, served) = elsewhere().await;
    register(&cluster, desktop_at(&served.url())).await.unwrap();
    let counts = || (cluster.world.done().len(), annex.done().len());
    let at_home = wire::DesktopSelector {
        desktop: DESKTOP.to_owned(),
        ..wire::DesktopSelector::default()
    };
    let first = wire::Task {
        desktop_selector: Some(at_home.clone()),
        ..task("save the report")
    };
    cluster.carry_out_with(first).await;
    // A task of no session takes the first desktop, which is the other one.
    cluster.carry_out().await;
    assert_eq!(counts(), (1, 1));

    // Busy: it waits, and says for what.
    cluster.world.hold("perform");
    let other = wire::Task {
        desktop_selector: Some(at_home),
        ..wire::Task::default()
    };
    let other = cluster.create_with(other).await;
    cluster.happened(&other, "started").await;
    let second = cluster.create_with(task("send it to Ann")).await;
    let story = cluster.happened(&second, "desktop_awaited").await;
    assert_eq!(story.count("started"), 0);
    let wait = cluster.get(&second).await.desktop_wait.unwrap_or_default();
    assert!(wait.message.contains(DESKTOP), "{}", wait.message);
    cluster.world.release("perform");
    cluster.follow(&second).await;
    assert_eq!(counts(), (3, 1));

    // Drained: it goes on elsewhere.
    drain(&cluster, DESKTOP).await.unwrap();
    cluster.carry_out_with(task("close it")).await;
    assert_eq!(counts(), (3, 2));
}

#[tokio::test]
async fn follow_up_task_receives_failures_and_user_messages() {
    let cluster = conversation(vec![ask("which one?"), give_up("there is no such file")]).await;
    let first = cluster.create_with(task("open the file")).await;
    cluster
        .acknowledge_once_asked(&first, 1, "the newest one")
        .await;
    cluster.follow(&first).await;
    let second = cluster.create_with(task("try again")).await;
    cluster.happened(&second, "user_asked").await;
    let [earlier] = earlier_tasks(&cluster).try_into().unwrap();
    assert_eq!(earlier.outcome, TaskEnd::Failed);
    assert!(earlier.answer.contains("no such file"), "{earlier:?}");
    assert_eq!(earlier.user_messages, ["the newest one"]);
}

#[tokio::test]
async fn follow_up_task_waits_for_the_previous_task() {
    let cluster = conversation(vec![ask("which one?"), done("ok")]).await;
    let first = cluster.create_with(task("open it")).await;
    let second = cluster.create_with(task("close it")).await;
    let third = cluster.create_with(task("open it again")).await;
    // The desktop is free now, and tasks outside of the session use it.
    cluster.happened(&first, "desktop_released").await;
    let stranger = cluster.create().await;
    cluster.acknowledge_once_asked(&stranger, 1, "any").await;
    cluster.follow(&stranger).await;

    let message = waits_for(&cluster, &second, &first).await;
    assert!(message.contains("belongs to the same session"), "{message}");
    waits_for(&cluster, &third, &first).await;
    let story = cluster.happened(&second, "desktop_awaited").await;
    assert_eq!(story.count("started"), 0);

    cluster
        .acknowledge_once_asked(&first, 1, "the left one")
        .await;
    cluster.follow(&first).await;
    cluster
        .acknowledge_once_asked(&second, 1, "the right one")
        .await;
    cluster.follow(&second).await;
    cluster.acknowledge_once_asked(&third, 1, "both").await;
    cluster.follow(&third).await;
    let goals: Vec<String> = earlier_tasks(&cluster)
        .into_iter()
        .map(|task| task.goal)
        .collect();
    assert_eq!(goals, ["open it", "close it"]);
}

#[tokio::test]
async fn a_cancelled_task_lets_the_next_one_of_its_session_start() {
    let cluster = conversation(vec![ask("which one?")]).await;
    let first = cluster.create_with(task("open it")).await;
    cluster.happened(&first, "user_asked").await;
    let second = cluster.create_with(task("close it")).await;
    waits_for(&cluster, &second, &first).await;
    cluster.cancel(&first).await;
    cluster.happened(&second, "user_asked").await;
    assert_eq!(earlier_tasks(&cluster)[0].outcome, TaskEnd::Cancelled);
}

#[tokio::test]
async fn phrasebook_resolves_it_to_the_earlier_target() {
    let cluster = conversation(Vec::new()).await;
    cluster.world.use_phrasebook();
    let first = cluster.carry_out_with(task(r#"click "Button 2""#)).await;
    let second = cluster.carry_out_with(task("double click it")).await;
    let clicks = cluster.world.clicks();
    assert_eq!(clicks[0], clicks[1], "{}{}", first.text(), second.text());
}

#[tokio::test]
async fn a_session_is_exported_as_a_transcript() {
    let cluster = conversation(vec![ask("which one?"), act([click(1)]), done("ok")]).await;
    let first = cluster.create_with(task("open it")).await;
    cluster
        .acknowledge_once_asked(&first, 1, "the left one")
        .await;
    cluster.follow(&first).await;
    let markdown = transcript(&cluster, Format::Unspecified).await;
    let order = [
        "> open it",
        "> which one?",
        "> the left one",
        "- progress 1",
        "> ok",
    ];
    let places: Vec<_> = order.map(|text| markdown.find(text)).into();
    assert!(places.iter().all(Option::is_some), "{markdown}");
    assert!(places.is_sorted(), "{markdown}");
    let json: serde_json::Value =
        serde_json::from_str(&transcript(&cluster, Format::Json).await).unwrap();
    assert_eq!(json["tasks"][0]["task"], first);
    assert_eq!(json["tasks"][0]["state"], "SUCCEEDED");
    let unknown = wire::ExportSessionRequest {
        name: "sessions/none".to_owned(),
        ..wire::ExportSessionRequest::default()
    };
    let refused = cluster.client().raw().export_session(unknown).await;
    assert_eq!(refused.unwrap_err().code(), tonic::Code::NotFound);
}

#[tokio::test]
async fn each_task_of_a_transcript_is_told_in_its_own_language() {
    let cluster = conversation(vec![done("ok"), done("好了")]).await;
    for goal in ["open it", "打开它"] {
        let name = cluster.create_with(task(goal)).await;
        cluster.follow(&name).await;
    }
    let markdown = transcript(&cluster, Format::Markdown).await;
    let (_, sections) = markdown.split_once("\n## 1. ").unwrap();
    let (english, chinese) = sections.split_once("\n## 2. ").unwrap();
    for part in ["(succeeded)", "**User**", "**Motorium**"] {
        assert!(english.contains(part), "{english}");
    }
    for part in ["（已完成）", "**用户**", "**Motorium**"] {
        assert!(chinese.contains(part), "{chinese}");
    }
    let is_english = |part: &&str| chinese.contains(*part);
    assert!(!["User", "succeeded"].iter().any(is_english), "{chinese}");
}

#[tokio::test]
async fn a_conversation_from_elsewhere_is_continued() {
    let message = |role: Role, text: String| EarlierMessage {
        role: role.into(),
        text,
    };
    let cluster = Cluster::start(Vec::new()).await;
    cluster.world.use_phrasebook();
    let continued = wire::Task {
        goal: "click it".to_owned(),
        earlier_messages: vec![
            message(Role::User, "x".repeat(9_000)),
            message(Role::User, r#"wait for "Button 2""#.to_owned()),
            message(Role::Assistant, "it is there".to_owned()),
        ],
        ..wire::Task::default()
    };
    let name = cluster.create_with(continued.clone()).await;
    cluster.follow(&name).await;
    assert_eq!(
        cluster.world.clicks().len(),
        1,
        "the button that was named before"
    );
    let messages = cluster.world.plans().pop().unwrap().context.messages;
    let length: usize = messages.iter().map(|it| it.text.chars().count()).sum();
    assert_eq!(messages.len(), 3);
    assert!(length <= 8_001, "{length}");
    assert_eq!(messages[2].text, "it is there");
    replay::check(&cluster, &name).await;

    let too_many = wire::CreateTaskRequest {
        task: Some(wire::Task {
            earlier_messages: vec![message(Role::User, "x".to_owned()); 101],
            ..continued
        }),
        ..wire::CreateTaskRequest::default()
    };
    let refused = cluster.client().create(too_many).await.unwrap_err();
    assert!(
        refused.message.contains("task.earlier_messages"),
        "{refused}"
    );
}
