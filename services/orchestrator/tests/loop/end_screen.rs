//! The screen after the last action of a task that failed or was stopped: no later step shows it.

use std::time::Duration;

use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use tokio::time::Instant;

use crate::replay;
use crate::support::cluster::Cluster;
use crate::support::script::{act, click, give_up, one_step, typing, typing_secret};

/// Returns the contents of the screenshots before and after the last step.
async fn before_and_after(cluster: &Cluster, task: &str) -> (String, String) {
    let client = cluster.client();
    let steps = client.list_steps(task).await.unwrap();
    let last = steps.last().unwrap();
    let read = async |name: &str| {
        let (artifact, content) = client.get_artifact(name).await.unwrap();
        assert_eq!(artifact.media_type, "image/webp");
        String::from_utf8(content.to_vec()).unwrap()
    };
    (
        read(&last.frame_before).await,
        read(&last.frame_after).await,
    )
}

#[tokio::test]
async fn a_task_that_fails_after_an_action_shows_the_screen_after_it() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    let name = cluster.create_with(one_step()).await;
    let story = cluster.follow(&name).await;
    story.check_failure("STEP_LIMIT", "the limit of 1 steps is used up");
    let (before, after) = before_and_after(&cluster, &name).await;
    assert!(after.starts_with("picture of frame-"), "{after}");
    assert_ne!(before, after, "the click has changed the screen");

    let folder = replay::check(&cluster, &name).await;
    let exported = folder.path().join("frames/step-001-after.webp");
    assert_eq!(std::fs::read_to_string(exported).unwrap(), after);
    let steps = std::fs::read_to_string(folder.path().join("steps.jsonl")).unwrap();
    assert!(
        steps.contains(r#""frame_after":"frames/step-001-after.webp""#),
        "{steps}"
    );
}

#[tokio::test]
async fn each_action_of_a_step_has_the_screen_after_it() {
    let script = vec![act([
        click(1),
        typing("hello"),
        typing_secret("bank"),
        click(2),
    ])];
    let cluster = Cluster::start(script).await;
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    let shown: Vec<Option<String>> = story.all(|kind| match kind {
        Kind::EffectJudged(judged) => Some(judged.screenshot.as_ref().map(|it| it.name.clone())),
        _ => None,
    });
    let has_screenshot: Vec<bool> = shown.iter().map(Option::is_some).collect();
    assert_eq!(
        has_screenshot,
        [true, true, false, false],
        "not after a secret, whose place is not known yet, and not before the next observation"
    );
    let mut contents = Vec::new();
    for artifact in shown.iter().flatten() {
        let (_, content) = cluster.client().get_artifact(artifact).await.unwrap();
        contents.push(content);
    }
    assert_ne!(contents[0], contents[1]);
    let folder = replay::check(&cluster, &name).await;
    let evidence = std::fs::read_dir(folder.path().join("evidence")).unwrap();
    assert!(evidence.count() >= 2, "they are exported");
}

#[tokio::test]
async fn a_task_that_is_cancelled_after_an_action_shows_the_screen_after_it() {
    let cluster = Cluster::start(vec![act([click(1), click(2)])]).await;
    cluster.world.hold("wait_for_idle");
    let name = cluster.create().await;
    cluster.world.called("wait_for_idle", 1).await;
    assert_eq!(cluster.cancel(&name).await.state(), State::Cancelled);
    let story = cluster.follow(&name).await;
    assert_eq!(story.count("end_screen_captured"), 1);
    let (before, after) = before_and_after(&cluster, &name).await;
    assert_ne!(before, after, "the first click has changed the screen");
}

/// A display that does not respond is no reason to wait with the end.
#[tokio::test]
async fn a_cancelled_task_waits_a_second_at_most_for_its_last_screen() {
    let cluster = Cluster::start(vec![act([click(1), click(2)])]).await;
    cluster.world.hold("wait_for_idle");
    let name = cluster.create().await;
    cluster.world.called("wait_for_idle", 1).await;
    cluster.world.hold("capture");
    let began = Instant::now();
    assert_eq!(cluster.cancel(&name).await.state(), State::Cancelled);
    // A second for the screen; the rest is for a busy machine.
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    let story = cluster.follow(&name).await;
    assert_eq!(story.count("end_screen_captured"), 0);
    let steps = cluster.client().list_steps(&name).await.unwrap();
    assert_eq!(steps.last().unwrap().frame_after, "");
}

#[tokio::test]
async fn a_step_without_an_action_ends_on_its_own_screen() {
    let cluster = Cluster::start(vec![act([click(1)]), give_up("no")]).await;
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    story.check_failure("PLANNER_GAVE_UP", "no");
    assert_eq!(story.count("end_screen_captured"), 0);
    let (before, after) = before_and_after(&cluster, &name).await;
    assert_eq!(before, after);
}
