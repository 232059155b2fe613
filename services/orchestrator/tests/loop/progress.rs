//! The progress line of a step: announced with the decision, and corrected if the step turned out otherwise.

use motorium_proto::v1::orchestrator::event::Kind;

use crate::replay;
use crate::support::cluster::Cluster;
use crate::support::script::{act, click, click_once, done, done_because};
use crate::support::task_events::TaskEvents;

fn corrections(story: &TaskEvents) -> Vec<String> {
    story.all(|kind| match kind {
        Kind::ProgressCorrected(corrected) => Some(corrected.text.clone()),
        _ => None,
    })
}

/// Runs the task to its end; returns its events and the lines of its steps as the API shows them then.
async fn carry_out(cluster: &Cluster) -> (TaskEvents, Vec<String>) {
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    let steps = cluster.client().list_steps(&name).await.unwrap();
    replay::check(cluster, &name).await;
    (story, steps.into_iter().map(|step| step.progress).collect())
}

#[tokio::test]
async fn successful_step_keeps_its_progress_line() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    let (story, lines) = carry_out(&cluster).await;
    assert_eq!(corrections(&story), [""; 0]);
    assert_eq!(lines, ["progress 0", "progress 1", "progress 2"]);
}

#[tokio::test]
async fn a_click_without_effect_corrects_the_line() {
    let cluster = Cluster::start(vec![act([click_once(1)]), act([click(2)])]).await;
    cluster.world.ignore_actions(1);
    let (story, lines) = carry_out(&cluster).await;
    let corrected = corrections(&story);
    assert_eq!(corrected.len(), 1);
    assert!(corrected[0].starts_with("progress 0: "), "{corrected:?}");
    assert_eq!(lines, [corrected[0].as_str(), "progress 1", "progress 2"]);
    let kinds = story.kinds();
    let place = kinds.iter().position(|kind| *kind == "progress_corrected");
    assert_eq!(kinds[place.unwrap() + 1], "step_finished");
}

#[tokio::test]
async fn late_effect_keeps_the_progress_line() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.come_late();
    let (story, lines) = carry_out(&cluster).await;
    assert_eq!(corrections(&story), [""; 0]);
    assert_eq!(lines[0], "progress 0");
}

#[tokio::test]
async fn a_target_that_is_not_there_corrects_the_line() {
    let cluster = Cluster::start(vec![act([click(99)])]).await;
    let (_, lines) = carry_out(&cluster).await;
    assert!(lines[0].contains("no element 99"), "{lines:?}");
    assert_eq!(lines[1], "progress 1");
}

#[tokio::test]
async fn rejected_success_claim_corrects_the_progress_line() {
    let claim = done_because("saved", "Saved!");
    let cluster = Cluster::start(vec![claim, done("not saved")]).await;
    let (story, lines) = carry_out(&cluster).await;
    assert_eq!(story.answer(), "not saved");
    assert!(lines[0].contains("Saved!"), "{lines:?}");
    assert_eq!(lines[1], "progress 1");
}
