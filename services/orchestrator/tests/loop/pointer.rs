//! The pointer is moved to its target before a click that asks for it; without it there, no click happens.

use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use motorium_proto::v1::orchestrator::user_request;

use crate::approvals::{resolve_saying, waiting};
use crate::support::cluster::Cluster;
use crate::support::script::{act, click, typing};
use crate::support::simulated_desktop::box_of;
use crate::support::task_events::TaskEvents;

fn verified(element: u32) -> PlannedAction {
    PlannedAction {
        verify_pointer: true,
        ..click(element)
    }
}

fn checks(story: &TaskEvents) -> Vec<wire::PointerChecked> {
    story.all(|kind| match kind {
        Kind::PointerChecked(checked) => Some(checked.clone()),
        _ => None,
    })
}

#[tokio::test]
async fn a_pointer_that_misses_is_corrected_by_its_error() {
    let cluster = Cluster::start(vec![act([verified(1)])]).await;
    cluster.world.miss([(60, 0), (60, -40), (60, -38)]);
    let story = cluster.carry_out().await;
    let [checked] = &checks(&story)[..] else {
        panic!("one check:\n{}", story.text());
    };
    assert!(checked.on_target);
    assert_eq!(checked.corrections, 2);
    let image = checked.image.as_ref().expect("the annotated image is kept");
    assert!(image.size_bytes > 0);
    let client = cluster.client();
    let (_, content) = client.get_artifact(&image.name).await.unwrap();
    assert_eq!(content.len() as u64, image.size_bytes, "it can be fetched");
    let centre = box_of(1).center();
    assert_eq!(
        cluster.world.moves(),
        [
            (centre.x, centre.y),
            (centre.x - 60, centre.y),
            (centre.x - 60, centre.y + 40)
        ]
    );
    assert_eq!(
        cluster.world.clicks(),
        [(centre.x - 60, centre.y + 40)],
        "the click is sent to where the pointer is on its target"
    );
}

#[tokio::test]
async fn unreached_pointer_target_asks_the_user_without_clicking() {
    let cluster = Cluster::start(vec![act([verified(1), typing("x")])]).await;
    // The pointer does not move at all.
    cluster
        .world
        .miss([(60, 0), (120, 0), (180, 0), (240, 0), (300, 0)]);
    let name = cluster.create().await;
    let story = cluster.happened(&name, "user_asked").await;
    let [checked] = &checks(&story)[..] else {
        panic!("one check:\n{}", story.text());
    };
    assert_eq!((checked.on_target, checked.corrections), (false, 4));
    assert_eq!(cluster.world.moves().len(), 5);
    let task = cluster.get(&name).await;
    assert_eq!(task.state(), State::AwaitingUser);
    let request = task.user_request.unwrap();
    assert_eq!(request.kind(), user_request::Kind::ManualAction);
    assert!(
        request.message.contains("Nothing was clicked"),
        "{}",
        request.message
    );

    cluster.acknowledge(&name, "").await;
    cluster.follow(&name).await;
    assert_eq!(cluster.world.done(), [], "the rest of its step is dropped");
    let plan = &cluster.world.plans()[1];
    assert_eq!(plan.user_messages, ["I have done it"]);
    assert!(plan.notices[0].contains("pointer"), "{:?}", plan.notices);
}

#[tokio::test]
async fn model_verified_pointer_position_becomes_the_target() {
    let cluster = Cluster::start(vec![act([verified(1)])]).await;
    cluster.world.locate([(false, 10, -2), (true, 0, 0)]);
    let story = cluster.carry_out().await;
    let checked = &checks(&story)[0];
    assert!(checked.on_target);
    assert_eq!(checked.corrections, 1);
    let centre = box_of(1).center();
    assert_eq!(
        cluster.world.moves(),
        [(centre.x, centre.y), (centre.x + 10, centre.y - 2)]
    );
    assert_eq!(
        cluster.world.clicks(),
        [(centre.x + 10, centre.y - 2)],
        "the model's correction is the new target"
    );
    let target = checked.target.unwrap();
    assert_eq!((target.x, target.y), (centre.x + 10, centre.y - 2));
    let usage = checked.usage.unwrap();
    assert_eq!((usage.calls, usage.input_tokens), (2, Some(2000)));
    let task = story.0[0].task.clone();
    let total = cluster.get(&task).await.usage.unwrap();
    assert_eq!(
        total.input_tokens,
        Some(2000),
        "it counts against the limits"
    );
}

#[tokio::test]
async fn only_risky_clicks_are_checked_by_default() {
    let delete = PlannedAction {
        intent: "click \"Delete\"".to_owned(),
        ..click(2)
    };
    let cluster = Cluster::start(vec![act([click(1), delete])]).await;
    let story = cluster.carry_out().await;
    assert_eq!(checks(&story).len(), 1);
    assert_eq!(cluster.world.count("locate_pointer"), 0);
    let centre = box_of(2).center();
    assert_eq!(cluster.world.moves(), [(centre.x, centre.y)]);
    assert_eq!(cluster.world.clicks().len(), 2);
}

#[tokio::test]
async fn every_click_is_checked_where_that_is_configured() {
    let cluster = Cluster::start_with(vec![act([click(1)])], |settings| {
        settings.pointer_check.all_clicks = true;
        settings.pointer_check.max_corrections = 1;
    })
    .await;
    cluster.world.locate([(false, 300, 0), (false, 5, 0)]);
    let name = cluster.create().await;
    let story = cluster.happened(&name, "user_asked").await;
    assert_eq!(checks(&story)[0].corrections, 1);
    assert_eq!(cluster.world.clicks(), []);
}

#[tokio::test]
async fn a_policy_demands_a_check_of_some_clicks() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.cedar");
    let demand = r#"
        @id("everything") permit (principal, action, resource);
        @id("next") forbid (principal, action == Action::"performUnverified", resource)
        when { resource.text == "Next" };
    "#;
    std::fs::write(&rules, demand).unwrap();
    let cluster = Cluster::start_with(vec![act([click(1), click(2)])], |settings| {
        settings.policy = rules.to_string_lossy().into_owned();
    })
    .await;
    cluster.world.label(2, "Next");
    cluster.world.locate([(true, 0, 0)]);
    let story = cluster.carry_out().await;
    assert_eq!(checks(&story).len(), 1);
    assert_eq!(
        cluster.world.count("locate_pointer"),
        1,
        "a model looks at it"
    );
    let centre = box_of(2).center();
    assert_eq!(cluster.world.moves(), [(centre.x, centre.y)]);
    assert_eq!(cluster.world.clicks().len(), 2);
}

#[tokio::test]
async fn every_click_is_checked_where_the_task_asks_for_it() {
    for (verify_clicks, moves) in [(true, 1), (false, 0)] {
        let cluster = Cluster::start(vec![act([click(1)])]).await;
        let task = wire::Task {
            verify_clicks,
            ..wire::Task::default()
        };
        cluster.carry_out_with(task).await;
        assert_eq!(cluster.world.moves().len(), moves, "{verify_clicks}");
        assert_eq!(cluster.world.clicks().len(), 1);
    }
}

#[tokio::test]
async fn pointer_correction_cannot_leave_the_approved_area() {
    let cluster = Cluster::start_with(vec![act([verified(1)])], |settings| {
        settings.policy = "careful".to_owned();
    })
    .await;
    cluster.world.label(1, "Pay now");
    cluster.world.locate([(false, 300, 0), (true, 0, 0)]);
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
    resolve_saying(&cluster, &approval.name, true, "")
        .await
        .unwrap();
    cluster.happened_times(&name, "user_asked", 2).await;
    assert_eq!(cluster.world.clicks(), []);
}
