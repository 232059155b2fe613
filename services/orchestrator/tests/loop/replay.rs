//! A task is exported and replayed from its recording: decisions and events are the same, and an alteration is reported
//! at its step.

use std::fs;
use std::path::Path;
use std::time::Duration;

use motorium_kit::config::HumanDuration;
use motorium_orchestrator::config::RecordingSwitch;
use motorium_orchestrator::replay::{ReplayReport, replay};
use motorium_proto::domain::decision::{Next, PlannedAction, SafetyCheck, Usage};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::common;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::exchange::Outcome;
use motorium_proto::v1::orchestrator::{Exchange, Recording};
use motorium_proto::v1::perception::{ImageOptions, ObserveRequest};
use motorium_proto::v1::planner::{PlanResponse, ResolveTargetRequest};
use motorium_recording::trajectory::{PAGE, unpack};
use prost::Message as _;
use tempfile::TempDir;
use tonic::Code;

use crate::completion::expecting_text;
use crate::support::cluster::Cluster;
use crate::support::faulty_store::CrashPoint;
use crate::support::script::{
    act, ask, click, click_once, done, done_because, give_up, lasting, scroll_down, typing,
    typing_secret,
};

/// Exports a task into a folder.
async fn exported(cluster: &Cluster, task: &str) -> TempDir {
    let request = wire::ExportTrajectoryRequest {
        name: task.to_owned(),
    };
    let pieces = cluster.client().raw().export_trajectory(request).await;
    let mut pieces = pieces.unwrap().into_inner();
    let mut archive = Vec::new();
    while let Some(piece) = pieces.message().await.unwrap() {
        archive.extend(piece.chunk);
    }
    let folder = tempfile::tempdir().unwrap();
    unpack(archive.as_slice(), folder.path()).unwrap();
    folder
}

pub(crate) async fn replayed(folder: &Path) -> ReplayReport {
    let folder = folder.to_owned();
    let replaying = tokio::task::spawn_blocking(move || replay(&folder));
    replaying.await.unwrap().unwrap()
}

/// Asserts that the replay of an ended task matches, and covers every event except the creation.
pub(crate) async fn check(cluster: &Cluster, task: &str) -> TempDir {
    check_after(cluster, task, 1).await
}

/// Asserts that the replay of an ended task matches, and covers every event except `before` ones, which no run wrote.
pub(crate) async fn check_after(cluster: &Cluster, task: &str, before: usize) -> TempDir {
    let folder = exported(cluster, task).await;
    let verdict = replayed(folder.path()).await;
    let lines = verdict.lines().join("\n");
    assert!(verdict.is_same(), "{lines}");
    assert_eq!(verdict.events_replayed, verdict.events - before, "{lines}");
    assert_eq!(verdict.notes, [""; 0]);
    folder
}

async fn check_task(cluster: &Cluster, task: wire::Task) {
    let name = cluster.create_with(task).await;
    cluster.follow(&name).await;
    check(cluster, &name).await;
}

async fn check_script(script: Vec<Next>, prepare: impl FnOnce(&Cluster)) {
    let cluster = Cluster::start(script).await;
    prepare(&cluster);
    check_task(&cluster, wire::Task::default()).await;
}

fn verified(element: u32) -> PlannedAction {
    PlannedAction {
        verify_pointer: true,
        ..click(element)
    }
}

#[tokio::test]
async fn clicks_typing_and_scrolling_replay() {
    check_script(vec![act([click(1)]), done("clicked")], |_| {}).await;
    check_script(vec![act([click(1), typing("a"), click(2)])], |_| {}).await;
    check_script(vec![act([typing_secret("bank")]), act([click(3)])], |_| {}).await;
    check_script(vec![act([scroll_down()])], |cluster| {
        cluster.world.ignore_actions(1)
    })
    .await;
}

#[tokio::test]
async fn retries_and_ineffective_actions_replay() {
    check_script(vec![act([click(1)])], |cluster| {
        cluster.world.ignore_actions(2)
    })
    .await;
    check_script(vec![act([click_once(1)]), act([click(2)])], |cluster| {
        cluster.world.ignore_actions(1);
    })
    .await;
    check_script(vec![act([click(1)])], |cluster| cluster.world.come_late()).await;
    check_script(vec![act([click(1)])], |cluster| cluster.world.animate(1)).await;
    check_script((1..5).map(|_| act([click(1)])).collect(), |cluster| {
        cluster.world.ignore_actions(12);
    })
    .await;
}

#[tokio::test]
async fn failures_of_actions_and_services() {
    let refused = || ActionOutcome::new(ActionResult::Refused, "not on the list");
    check_script(vec![act([click(1)]), act([click(2)])], |cluster| {
        cluster.world.answer(refused());
    })
    .await;
    let away = ErrorReport::new(Code::Unavailable, "TRANSPORT", "the connection broke");
    check_script(vec![act([click(1)])], |cluster| {
        cluster.world.fail("plan", 2, &away);
        cluster.world.fail("compare", 1, &away);
    })
    .await;
    check_script(
        vec![act([click(42)]), done("there is no such thing")],
        |_| {},
    )
    .await;
    check_script(vec![act([click(1)]), give_up("it cannot be done")], |_| {}).await;
    check_script(
        vec![
            done_because("saved", "Saved!"),
            done_because("saved", "Saved!"),
        ],
        |_| {},
    )
    .await;
}

#[tokio::test]
async fn pointer_corrections_page_cycles_and_videos_replay() {
    check_script(vec![act([verified(1)])], |cluster| {
        cluster.world.miss([(60, 0), (60, -40), (60, -38)]);
    })
    .await;
    check_script(vec![act([click(1)]), act([click(2)])], |cluster| {
        cluster.world.play_video()
    })
    .await;
    check_script((1..6).map(|_| act([click(1)])).collect(), |cluster| {
        cluster.world.turn_pages()
    })
    .await;
}

#[tokio::test]
async fn limits_are_reached_at_the_same_place() {
    let cluster = Cluster::start((1..9).map(|number| act([click(number)])).collect()).await;
    let limits = wire::Limits {
        max_steps: 2,
        ..wire::Limits::default()
    };
    let task = wire::Task {
        limits: Some(limits),
        ..wire::Task::default()
    };
    check_task(&cluster, task).await;

    let cluster = Cluster::start((1..9).map(|number| act([click(number)])).collect()).await;
    cluster.world.charge(Usage {
        input_tokens: Some(1000),
        output_tokens: Some(10),
        calls: 1,
        ..Usage::default()
    });
    let limits = wire::Limits {
        max_tokens: 2500,
        ..wire::Limits::default()
    };
    let task = wire::Task {
        limits: Some(limits),
        ..wire::Task::default()
    };
    check_task(&cluster, task).await;
}

#[tokio::test]
async fn time_limit_during_a_planner_call_replays() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    let name = cluster.create_with(lasting(2)).await;
    cluster.world.called("wait_for_idle", 1).await;
    cluster.world.hold("plan");
    let story = cluster.follow(&name).await;
    assert_eq!(story.failure().0, "TIME_LIMIT");
    check(&cluster, &name).await;
}

#[tokio::test]
async fn attachments_and_results_replay() {
    let cluster = Cluster::start(vec![act([click(1)]), done("fetched")]).await;
    let task = wire::Task {
        attachments: vec![wire::Attachment {
            name: "in.txt".to_owned(),
            data: "a file".into(),
            ..wire::Attachment::default()
        }],
        results: vec!["in.txt".to_owned(), "missing.txt".to_owned()],
        ..wire::Task::default()
    };
    check_task(&cluster, task).await;
}

#[tokio::test]
async fn questions_messages_and_answers() {
    let cluster = Cluster::start(vec![ask("which one?"), act([click(2)])]).await;
    let name = cluster.create().await;
    cluster.acknowledge_once_asked(&name, 1, "the second").await;
    cluster.follow(&name).await;
    check(&cluster, &name).await;

    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    cluster.say(&name, "be quick").await;
    cluster.world.release("plan");
    cluster.follow(&name).await;
    check(&cluster, &name).await;
}

#[tokio::test]
async fn pauses_and_take_overs_replay() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    cluster.world.hold("perform");
    let name = cluster.create().await;
    cluster.world.called("perform", 1).await;
    cluster.pause(&name).await;
    cluster.world.called("release_all", 1).await;
    cluster.world.release("perform");
    cluster.happened(&name, "action_performed").await;
    cluster.resume(&name).await;
    cluster.follow(&name).await;
    check(&cluster, &name).await;

    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    cluster.take_over(&name).await;
    cluster.world.called("release_all", 1).await;
    cluster.world.person_types(3);
    cluster.happened(&name, "human_acted").await;
    cluster.world.release("plan");
    cluster.hand_back(&name).await;
    cluster.follow(&name).await;
    check(&cluster, &name).await;
}

#[tokio::test]
async fn a_task_that_is_cancelled() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    let name = cluster.create().await;
    cluster.world.called("wait_for_idle", 1).await;
    cluster.world.hold("plan");
    cluster.world.called("plan", 2).await;
    cluster.cancel(&name).await;
    check(&cluster, &name).await;
}

async fn resolve(cluster: &Cluster, task: &str, approve: bool) {
    cluster.happened(task, "user_asked").await;
    let asked = cluster.get(task).await.user_request.unwrap();
    let request = wire::ResolveApprovalRequest {
        name: asked.approval,
        approve,
        message: "not today".to_owned(),
        user: "somebody".to_owned(),
        ..wire::ResolveApprovalRequest::default()
    };
    cluster
        .client()
        .raw()
        .resolve_approval(request)
        .await
        .unwrap();
}

async fn shop(approval_timeout: Duration) -> Cluster {
    let cluster = Cluster::start_with(vec![act([click(1)]), done("paid")], |settings| {
        settings.policy = "careful".to_owned();
        settings.approval_timeout = HumanDuration(approval_timeout);
    })
    .await;
    cluster.world.label(1, "Pay now");
    cluster
}

#[tokio::test]
async fn approvals_given_refused_and_lapsed() {
    for approve in [true, false] {
        let cluster = shop(Duration::from_secs(60)).await;
        let name = cluster.create().await;
        resolve(&cluster, &name, approve).await;
        cluster.follow(&name).await;
        check(&cluster, &name).await;
    }
    let cluster = shop(Duration::from_millis(300)).await;
    check_task(&cluster, wire::Task::default()).await;

    let cluster = Cluster::start(vec![act([click(1)]), done("read")]).await;
    cluster.world.warn(SafetyCheck {
        id: "1".to_owned(),
        code: "malicious_instructions".to_owned(),
        message: "the page gives orders".to_owned(),
    });
    let name = cluster.create().await;
    resolve(&cluster, &name, true).await;
    cluster.follow(&name).await;
    check(&cluster, &name).await;
}

#[tokio::test]
async fn task_that_released_its_desktop_replays() {
    let script = vec![ask("which one?"), act([click(1)]), done("ok")];
    let cluster = Cluster::start_with(script, |settings| {
        settings.release_desktop_after = Some(HumanDuration::milliseconds(100));
    })
    .await;
    let name = cluster.create().await;
    cluster.happened(&name, "desktop_released").await;
    cluster.acknowledge(&name, "the left one").await;
    cluster.follow(&name).await;
    // The creation comes before the first run, and the answer between the two runs.
    check_after(&cluster, &name, 2).await;
}

fn three_clicks() -> Vec<Next> {
    vec![act([click(1)]), act([click(2)]), done("saved")]
}

#[tokio::test]
async fn task_that_survived_a_crash_replays_completely() {
    let undisturbed = Cluster::start(three_clicks()).await;
    undisturbed.carry_out().await;
    for number in 1..=undisturbed.writes() {
        for point in [CrashPoint::Before(number), CrashPoint::After(number)] {
            let mut cluster = Cluster::start_until(three_clicks(), Some(point)).await;
            let name = cluster.create().await;
            cluster.crash_point_reached().await;
            cluster.crash().await;
            cluster.follow(&name).await;
            check(&cluster, &name).await;
        }
    }
}

#[tokio::test]
async fn task_interrupted_during_a_call_replays() {
    for held in ["observe", "plan", "perform", "answer", "wait_for_idle"] {
        let mut cluster = Cluster::start(three_clicks()).await;
        cluster.world.hold(held);
        let name = cluster.create().await;
        // Twice, so that the second run is interrupted as well.
        for time in 1..=2 {
            cluster.world.called(held, time).await;
            cluster.kill().await;
            if time == 2 {
                cluster.world.release(held);
            }
            cluster.start_again().await;
            if held == "answer" {
                // The action was already sent, so it is not sent again.
                cluster.world.release(held);
                break;
            }
        }
        cluster.follow(&name).await;
        check(&cluster, &name).await;
    }
}

#[tokio::test]
async fn an_answer_altered_in_a_run_that_died_is_reported_at_its_step() {
    let mut cluster = Cluster::start(three_clicks()).await;
    let name = cluster.create().await;
    cluster.world.called("wait_for_idle", 1).await;
    cluster.world.hold("wait_for_idle");
    cluster.world.called("wait_for_idle", 2).await;
    cluster.kill().await;
    cluster.world.release("wait_for_idle");
    cluster.start_again().await;
    cluster.follow(&name).await;
    let folder = check(&cluster, &name).await;
    alter(folder.path(), 2, think_otherwise);
    check_difference(&replayed(folder.path()).await, 2, "decided");
}

#[tokio::test]
async fn a_task_that_ended_before_its_first_step_was_over() {
    let cluster = Cluster::start(three_clicks()).await;
    cluster.world.hold("observe");
    let name = cluster.create().await;
    cluster.world.called("observe", 1).await;
    cluster.cancel(&name).await;
    cluster.follow(&name).await;
    check(&cluster, &name).await;
}

/// Exports a task of three steps.
async fn three_steps() -> TempDir {
    let script = vec![act([click(1)]), act([click(2)]), done("saved")];
    let cluster = Cluster::start(script).await;
    let name = cluster.create().await;
    cluster.follow(&name).await;
    exported(&cluster, &name).await
}

/// Alters the first run's recording of a step.
fn alter(folder: &Path, step: u32, change: impl Fn(&mut Exchange)) {
    edit(folder, |recording| {
        let exchanges = recording.exchanges.iter_mut();
        exchanges
            .filter(|exchange| exchange.step == step)
            .for_each(change);
    });
}

/// Edits the first run's recording.
fn edit(folder: &Path, change: impl FnOnce(&mut Recording)) {
    let path = folder.join("recording/run-001.binpb.zst");
    let plain = zstd::stream::decode_all(fs::read(&path).unwrap().as_slice()).unwrap();
    let mut recording = Recording::decode(plain.as_slice()).unwrap();
    change(&mut recording);
    let packed = zstd::bulk::compress(&recording.encode_to_vec(), 3).unwrap();
    fs::write(path, packed).unwrap();
}

fn check_difference(verdict: &ReplayReport, step: u32, words: &str) {
    let difference = verdict.difference.as_ref().expect("something was altered");
    let lines = verdict.lines().join("\n");
    assert_eq!(difference.step, step, "{lines}");
    assert!(difference.what.contains(words), "{lines}");
}

/// Turns a recording into one of an earlier version, which asked the planner for the point of an element and Perception
/// for an annotated image.
fn make_earlier(recording: &mut Recording) {
    let target = common::target::Target::ElementId(1);
    let asked = ResolveTargetRequest {
        target: Some(common::Target {
            target: Some(target),
        }),
        ..ResolveTargetRequest::default()
    };
    let exchanges = std::mem::take(&mut recording.exchanges);
    for mut exchange in exchanges {
        if exchange.method.ends_with("/Perform") {
            recording.exchanges.push(Exchange {
                method: "/motorium.planner.v1.PlannerService/ResolveTarget".to_owned(),
                request: asked.encode_to_vec().into(),
                ..exchange.clone()
            });
        }
        if exchange.method.ends_with("/Observe") {
            let mut asked = ObserveRequest::decode(exchange.request.clone()).unwrap();
            asked.annotated_image = Some(ImageOptions::default());
            exchange.request = asked.encode_to_vec().into();
        }
        recording.exchanges.push(exchange);
    }
}

#[tokio::test]
async fn a_recording_of_an_earlier_version_is_replayed() {
    let folder = three_steps().await;
    edit(folder.path(), make_earlier);
    let verdict = replayed(folder.path()).await;
    let lines = verdict.lines().join("\n");
    assert!(verdict.is_same(), "{lines}");
    assert_eq!(verdict.events_replayed, verdict.events - 1, "{lines}");
}

/// Turns a recording into one from before actions were fenced.
fn remove_fences(recording: &mut Recording) {
    let exchanges = &mut recording.exchanges;
    let before = exchanges.len();
    exchanges.retain(|exchange| !exchange.method.ends_with("/FenceAction"));
    assert_eq!(exchanges.len(), before - 1, "one action was to be fenced");
    remove_setting(recording, "fence_actions");
}

/// Turns a recording into one from before it had a setting.
fn remove_setting(recording: &mut Recording, name: &str) {
    for exchange in &mut recording.exchanges {
        if let Some(Outcome::Response(answer)) = &mut exchange.outcome
            && let Ok(mut settings) = serde_json::from_slice::<serde_json::Value>(answer)
            && let Some(members) = settings.as_object_mut()
            && members.remove(name).is_some()
        {
            *answer = settings.to_string().into();
        }
    }
}

#[tokio::test]
async fn a_recording_from_before_actions_were_fenced_is_replayed() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.cannot_fence();
    let busy = ErrorReport::new(Code::Unavailable, "OVERLOADED", "too much to do");
    cluster.world.fail("perform", 1, &busy);
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let folder = check(&cluster, &name).await;
    edit(folder.path(), remove_fences);
    let verdict = replayed(folder.path()).await;
    let lines = verdict.lines().join("\n");
    assert!(verdict.is_same(), "{lines}");
    assert_eq!(verdict.events_replayed, verdict.events - 1, "{lines}");
}

#[tokio::test]
async fn a_recording_from_before_strict_claims_is_judged_as_it_was() {
    let claim = || done("ready");
    let cluster = Cluster::start(vec![claim(), claim()]).await;
    let name = cluster
        .create_with(expecting_text("Button 1 Button 2"))
        .await;
    let story = cluster.follow(&name).await;
    story.check_failure("EXPECTATION_NOT_MET", "Button 1 Button 2");
    let folder = check(&cluster, &name).await;
    edit(folder.path(), |recording| {
        remove_setting(recording, "strict_claims");
    });
    // The earlier version put the texts of the screen together, and was content at once.
    let verdict = replayed(folder.path()).await;
    assert!(!verdict.is_same());
}

#[tokio::test]
async fn a_recording_from_before_estimates_counts_unknown_usage_as_nothing() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)]), done("ok")]).await;
    cluster.world.charge(Usage {
        calls: 1,
        ..Usage::default()
    });
    let limits = wire::Limits {
        max_tokens: 5000,
        ..wire::Limits::default()
    };
    let task = wire::Task {
        limits: Some(limits),
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    assert_eq!(cluster.follow(&name).await.failure().0, "TOKEN_LIMIT");
    let folder = check(&cluster, &name).await;
    edit(folder.path(), |recording| {
        remove_setting(recording, "estimate_usage");
    });
    // The earlier version told the planner that all tokens were left, and went on.
    let verdict = replayed(folder.path()).await;
    assert!(!verdict.is_same());
}

fn think_otherwise(exchange: &mut Exchange) {
    if let Some(Outcome::Response(answer)) = &mut exchange.outcome
        && exchange.method.ends_with("/Plan")
    {
        let mut planned = PlanResponse::decode(answer.clone()).unwrap();
        planned.decision.as_mut().unwrap().thought = "something else".to_owned();
        *answer = planned.encode_to_vec().into();
    }
}

#[tokio::test]
async fn altered_screenshot_is_reported_at_its_step() {
    let folder = three_steps().await;
    fs::write(
        folder.path().join("frames/step-002.webp"),
        "another picture",
    )
    .unwrap();
    let verdict = replayed(folder.path()).await;
    check_difference(
        &verdict,
        2,
        "frames/step-002.webp differs from the recording",
    );
    assert_eq!(verdict.steps[0].same, Some(true));
    assert_eq!(verdict.steps[2].same, None);
}

#[tokio::test]
async fn an_altered_screen_is_reported_by_its_element() {
    let folder = three_steps().await;
    let path = folder.path().join("scenes/step-003.json");
    let scene = fs::read_to_string(&path).unwrap();
    fs::write(&path, scene.replace("\"Button 7\"", "\"Delete all\"")).unwrap();
    let verdict = replayed(folder.path()).await;
    check_difference(&verdict, 3, "element 7 “Button 7” differs");
}

#[tokio::test]
async fn an_altered_answer_of_the_model_is_reported_at_its_step() {
    let folder = three_steps().await;
    alter(folder.path(), 2, think_otherwise);
    let verdict = replayed(folder.path()).await;
    check_difference(&verdict, 2, "decided");
    assert_eq!(verdict.difference.unwrap().got, "\"something else\"");
}

#[tokio::test]
async fn an_altered_effect_is_reported_at_its_step() {
    // The logged verdict is altered: the replay judges Perception's recorded answers again and arrives at another one.
    let folder = three_steps().await;
    let path = folder.path().join("events.jsonl");
    let events = fs::read_to_string(&path).unwrap();
    let altered = events.lines().map(|line| {
        if line.contains("effectJudged") && line.contains("\"step\":2") {
            assert!(line.contains("EFFECT_VERDICT_CONFIRMED"), "{line}");
            line.replace("EFFECT_VERDICT_CONFIRMED", "EFFECT_VERDICT_NO_EFFECT") + "\n"
        } else {
            line.to_owned() + "\n"
        }
    });
    fs::write(&path, altered.collect::<String>()).unwrap();
    let verdict = replayed(folder.path()).await;
    check_difference(&verdict, 2, "the event effectJudged differs");
    let difference = verdict.difference.unwrap();
    assert_eq!(difference.expected, "\"EFFECT_VERDICT_NO_EFFECT\"");
    assert_eq!(difference.got, "\"EFFECT_VERDICT_CONFIRMED\"");
}

#[tokio::test]
async fn replay_without_a_recording_is_refused() {
    let script = vec![act([click(1)])];
    let cluster = Cluster::start_with(script, |settings| settings.recording = RecordingSwitch::Off);
    let cluster = cluster.await;
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let folder = exported(&cluster, &name).await;
    assert!(folder.path().join(PAGE).exists());
    let refused = replay(folder.path()).unwrap_err().to_string();
    assert!(
        refused.contains("`orchestrator.recording` was off"),
        "{refused}"
    );
}

#[tokio::test]
async fn the_export_of_a_chinese_task_is_chinese_and_its_data_is_not() {
    let cluster = Cluster::start(vec![act([click(1)]), done("好了")]).await;
    let task = wire::Task {
        goal: "点击“保存”".to_owned(),
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    cluster.follow(&name).await;
    let folder = exported(&cluster, &name).await;
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    let page = read(PAGE);
    for text in [
        "<html lang=\"zh\">",
        "任务记录",
        "已完成。",
        "第 1 步",
        "已生效",
    ] {
        assert!(page.contains(text), "{text} is missing:\n{page}");
    }
    for english in [
        "Trajectory",
        "Done.",
        "Step 1",
        "confirmed",
        "Started",
        "observe",
    ] {
        assert!(!page.contains(english), "{english}:\n{page}");
    }
    let answer = read("answer.md");
    assert!(answer.contains("已完成。"), "{answer}");
    assert!(answer.contains("| 步数 | 2 |"), "{answer}");
    let steps = read("steps.jsonl");
    for name in [
        r#""outcome":"performed""#,
        r#""effect":"confirmed""#,
        r#""decision":"act""#,
        r#""observe":"#,
    ] {
        assert!(steps.contains(name), "{name} is missing:\n{steps}");
    }
}

#[tokio::test]
async fn exported_page_escapes_untrusted_text() {
    let hostile = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>";
    let cluster = Cluster::start(vec![act([click(1)]), done(hostile)]).await;
    let task = wire::Task {
        instructions: hostile.to_owned(),
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    cluster.follow(&name).await;
    let folder = exported(&cluster, &name).await;
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    let page = read(PAGE);
    assert!(
        !page.contains("<script>alert") && !page.contains("<img src=x"),
        "{page}"
    );
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(read("steps.jsonl").lines().count(), 2);
    let events = read("events.jsonl");
    assert!(
        events
            .lines()
            .all(|line| line.contains("\"state\":\"STATE_"))
    );
    assert!(events.lines().last().unwrap().contains("STATE_SUCCEEDED"));
    assert!(read("answer.md").contains("Done."));
    for file in [
        "task.json",
        "events.jsonl",
        "manifest.json",
        "frames/step-001-annotated.png",
    ] {
        assert!(folder.path().join(file).exists(), "{file}");
    }
}
