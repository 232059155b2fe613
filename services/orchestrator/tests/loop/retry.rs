//! Retries of actions without effect: which strategies are tried, in which order, and what is never retried.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button, ScrollAmount, Target};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::effect::Verdict;
use motorium_proto::domain::id::ElementId;
use motorium_proto::error::{ErrorReport, FieldError};
use motorium_proto::service::CaptureArea;
use motorium_proto::v1::common::EffectVerdict;
use motorium_proto::v1::orchestrator::action_retried::RetryStrategy;
use motorium_proto::v1::orchestrator::event::Kind;

use motorium_kit::config::HumanDuration;
use motorium_orchestrator::config::Settings;
use tonic::Code;

use crate::replay;
use crate::support::cluster::Cluster;
use crate::support::script::{act, click, click_once, scroll_down, typing};
use crate::support::simulated_desktop::box_of;
use crate::support::task_events::TaskEvents;

fn ways(story: &TaskEvents) -> Vec<RetryStrategy> {
    story.all(|kind| match kind {
        Kind::ActionRetried(retried) => Some(retried.strategy()),
        _ => None,
    })
}

#[tokio::test]
async fn scrolls_and_drags_at_a_point_are_judged_there() {
    let at = |element| Target::Element(ElementId(element));
    let scroll = Action::Scroll {
        at: Some(at(1)),
        amount: ScrollAmount::Notches { x: 0, y: 3 },
        modifiers: Vec::new(),
    };
    let drag = Action::Drag {
        path: vec![at(1), at(2)],
        button: Button::Left,
        modifiers: Vec::new(),
        duration: None,
        hold: None,
    };
    // A scroll that moves nothing at its point has come to an end there.
    let (ended, elsewhere) = (EffectVerdict::EndReached, EffectVerdict::ChangedElsewhere);
    for (action, beside) in [(scroll, ended), (drag, elsewhere)] {
        let planned = || PlannedAction {
            action: action.clone(),
            ..scroll_down()
        };
        let cluster = Cluster::start(vec![act([planned()])]).await;
        let story = cluster.carry_out().await;
        assert_eq!(story.verdicts(), [EffectVerdict::Confirmed], "{action:?}");
        let cluster = Cluster::start(vec![act([planned()])]).await;
        cluster.world.pop_up(9, "elsewhere", None);
        let story = cluster.carry_out().await;
        assert_eq!(story.verdicts(), [beside], "{action:?}");
    }
}

#[tokio::test]
async fn ineffective_click_is_retried_at_an_offset_point() {
    use EffectVerdict::{Confirmed, NoEffect};

    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.ignore_actions(1);
    let story = cluster.carry_out().await;
    assert_eq!(story.verdicts(), [NoEffect, NoEffect, Confirmed]);
    assert_eq!(ways(&story), ONCE_MORE);
    let clicks = cluster.world.clicks();
    assert_eq!(clicks.len(), 2);
    let centre = box_of(1).center();
    assert_eq!(clicks[0], (centre.x, centre.y));
    assert_ne!(clicks[1], clicks[0]);
    for (x, y) in clicks {
        assert!((x - centre.x).abs() <= 3 && (y - centre.y).abs() <= 3);
    }
}

/// Strategies of a click that may carry out a command.
const ONCE_MORE: [RetryStrategy; 2] = [RetryStrategy::ReobservedEffect, RetryStrategy::OffsetPoint];

/// A second click on a button may order or post a second time.
#[tokio::test]
async fn a_button_without_effect_is_clicked_twice_at_most() {
    for max_retries in [2, 10] {
        let cluster = Cluster::start_with(vec![act([click(1)])], |settings| {
            settings.retry.max_retries = max_retries;
        })
        .await;
        cluster.world.ignore_actions(9);
        let story = cluster.carry_out().await;
        assert_eq!(ways(&story), ONCE_MORE);
        assert_eq!(cluster.world.clicks().len(), 2);
        let action = &cluster.world.plans()[1].history[0].actions[0];
        assert_eq!(action.effect.as_ref().unwrap().verdict, Verdict::NoEffect);
    }
}

#[tokio::test]
async fn a_click_that_has_evidently_arrived_is_not_repeated() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.ignore_actions(9);
    // As the look of a pressed button does.
    cluster.world.flicker();
    let story = cluster.carry_out().await;
    assert_eq!(ways(&story), [RetryStrategy::ReobservedEffect]);
    assert_eq!(cluster.world.clicks().len(), 1);
}

#[tokio::test]
async fn a_click_on_a_risky_label_is_not_repeated_whatever_the_planner_calls_it() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.label(1, "Order now");
    cluster.world.ignore_actions(9);
    let story = cluster.carry_out().await;
    assert_eq!(ways(&story), [RetryStrategy::ReobservedEffect]);
    assert_eq!(cluster.world.clicks().len(), 1);
}

async fn clicks_in_vain(change: impl FnOnce(&mut Settings)) -> Vec<(i32, i32)> {
    let cluster = Cluster::start_with(vec![act([click(1)])], change).await;
    cluster.world.make_text_field(1);
    cluster.world.ignore_actions(9);
    cluster.carry_out().await;
    cluster.world.clicks()
}

#[tokio::test]
async fn the_number_of_retries_and_their_offset_are_configurable() {
    let none = clicks_in_vain(|settings| settings.retry.enabled = false).await;
    assert_eq!(none.len(), 1);
    let one = clicks_in_vain(|settings| {
        settings.retry.max_retries = 1;
        settings.retry.offset_px = 5;
    })
    .await;
    assert_eq!(one.len(), 2);
    let (x, y) = (one[1].0 - one[0].0, one[1].1 - one[0].1);
    assert_eq!(x.abs() + y.abs(), 5);
}

#[tokio::test]
async fn an_effect_that_comes_late_keeps_the_click_from_being_repeated() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.come_late();
    let story = cluster.carry_out().await;
    assert_eq!(ways(&story), [RetryStrategy::ReobservedEffect]);
    assert_eq!(cluster.world.done().len(), 1, "it would be undone");
    assert_eq!(story.verdicts().len(), 2);
    assert_ne!(story.verdicts()[1], EffectVerdict::NoEffect);
}

#[tokio::test]
async fn a_change_that_passes_does_not_end_the_wait_for_an_effect() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.come_late();
    cluster.world.flicker();
    let story = cluster.carry_out().await;
    assert_eq!(ways(&story), [], "the answer comes within the window");
    assert_eq!(cluster.world.done().len(), 1);
    assert_ne!(story.verdicts(), [EffectVerdict::NoEffect]);
}

#[tokio::test]
async fn nothing_is_typed_after_a_click_whose_target_moved() {
    let cluster = Cluster::start(vec![act([click(1), typing("a")])]).await;
    cluster.world.shift();
    let story = cluster.carry_out().await;
    assert_eq!(story.verdicts(), [EffectVerdict::TargetMoved]);
    assert_eq!(ways(&story), []);
    assert_eq!(cluster.world.done().len(), 1);
    let action = &cluster.world.plans()[1].history[0].actions[0];
    assert_eq!(
        action.effect.as_ref().unwrap().verdict,
        Verdict::TargetMoved
    );
}

/// The kind of a target is a guess of the detector.
#[tokio::test]
async fn a_field_without_effect_is_clicked_twice_at_most() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.make_text_field(1);
    cluster.world.ignore_actions(9);
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    assert_eq!(ways(&story), ONCE_MORE);
    assert_eq!(cluster.world.clicks().len(), 2);
    replay::check(&cluster, &name).await;
}

fn trust_kinds(settings: &mut Settings) {
    settings.retry.trust_kinds = true;
}

#[tokio::test]
async fn planner_is_notified_after_three_retry_strategies() {
    let script = vec![act([click(1)]), act([click(2)])];
    let cluster = Cluster::start_with(script, trust_kinds).await;
    cluster.world.make_text_field(1);
    cluster.world.ignore_actions(4);
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "it is done");
    assert_eq!(
        ways(&story),
        [
            RetryStrategy::OffsetPoint,
            RetryStrategy::OtherPoint,
            RetryStrategy::RelocatedTarget
        ]
    );
    let clicks = cluster.world.clicks();
    assert_eq!(clicks.len(), 5);
    let centre = box_of(1).center();
    assert!(
        (clicks[2].0 - centre.x).abs() > 3,
        "another point of the target: {clicks:?}"
    );
    assert_eq!(
        clicks[3],
        (centre.x, centre.y),
        "where the closer look finds it"
    );
    let closer = cluster.world.looks();
    let closer = closer
        .iter()
        .filter(|(_, look)| look.area != CaptureArea::Display);
    assert_eq!(closer.count(), 1);
    let action = &cluster.world.plans()[1].history[0].actions[0];
    assert_eq!(action.retries, 3);
    assert_eq!(action.effect.as_ref().unwrap().verdict, Verdict::NoEffect);
}

#[tokio::test]
async fn target_lost_in_the_magnified_view_is_reported() {
    let cannot_look = ErrorReport::invalid(FieldError::new("parsing", "the area is too large"));
    for can_look in [true, false] {
        let cluster = Cluster::start_with(vec![act([click(1)])], trust_kinds).await;
        cluster.world.make_text_field(1);
        cluster.world.ignore_actions(9);
        match can_look {
            true => cluster.world.hide_when_closer(),
            false => cluster.world.fail("observe_area", 1, &cannot_look),
        }
        let story = cluster.carry_out().await;
        assert_eq!(story.answer(), "it is done", "a second look ends no task");
        assert_eq!(cluster.world.clicks().len(), 3);
        assert_eq!(story.count("target_not_resolved"), 1);
        let notices = &cluster.world.plans()[1].notices;
        assert!(
            notices[0].contains("no longer found in a magnified view"),
            "{notices:?}"
        );
    }
}

#[tokio::test]
async fn unsafe_action_is_reobserved_but_not_retried() {
    let send = PlannedAction {
        intent: "click \"Send\"".to_owned(),
        ..click(1)
    };
    for action in [click_once(1), typing("a"), send] {
        let cluster = Cluster::start(vec![act([action])]).await;
        cluster.world.ignore_actions(9);
        let story = cluster.carry_out().await;
        assert_eq!(
            story.verdicts(),
            [EffectVerdict::NoEffect, EffectVerdict::NoEffect]
        );
        assert_eq!(ways(&story), [RetryStrategy::ReobservedEffect]);
        assert_eq!(cluster.world.done().len(), 1);
    }
}

#[tokio::test]
async fn scroll_at_its_end_is_reported_to_the_planner() {
    let cluster = Cluster::start(vec![act([scroll_down()])]).await;
    cluster.world.ignore_actions(9);
    let story = cluster.carry_out().await;
    assert_eq!(story.verdicts(), [EffectVerdict::EndReached]);
    assert_eq!(cluster.world.done().len(), 1);
    let action = &cluster.world.plans()[1].history[0].actions[0];
    assert_eq!(action.effect.as_ref().unwrap().verdict, Verdict::EndReached);
}

#[tokio::test]
async fn scroll_at_its_end_reverses_if_configured() {
    let cluster = Cluster::start_with(vec![act([scroll_down()])], |settings| {
        settings.reverse_scroll_at_end = true;
    })
    .await;
    cluster.world.ignore_actions(1);
    let story = cluster.carry_out().await;
    assert_eq!(ways(&story), [RetryStrategy::ReversedScroll]);
    assert_eq!(
        story.verdicts(),
        [EffectVerdict::EndReached, EffectVerdict::Confirmed]
    );
    let amounts: Vec<ScrollAmount> = cluster
        .world
        .done()
        .into_iter()
        .filter_map(|done| match done.action {
            Action::Scroll { amount, .. } => Some(amount),
            _ => None,
        })
        .collect();
    let notches = |y| ScrollAmount::Notches { x: 0, y };
    assert_eq!(amounts, [notches(3), notches(-3)]);
}

#[tokio::test]
async fn background_animation_is_not_an_effect() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.animate(9);
    cluster.world.ignore_actions(1);
    let story = cluster.carry_out().await;
    assert_eq!(
        story.verdicts(),
        [
            EffectVerdict::NoEffect,
            EffectVerdict::NoEffect,
            EffectVerdict::Confirmed
        ]
    );
}

#[tokio::test]
async fn video_playing_during_planning_is_not_an_effect() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.play_video();
    cluster.world.ignore_actions(1);
    cluster.world.hold("plan");
    let name = cluster.create().await;
    // A large area that changed once may be a late effect; if it changes again, it is a video.
    cluster.world.called("compare", 2).await;
    cluster.world.release("plan");
    let story = cluster.follow(&name).await;
    assert_eq!(
        story.verdicts(),
        [
            EffectVerdict::NoEffect,
            EffectVerdict::NoEffect,
            EffectVerdict::Confirmed
        ]
    );
}

#[tokio::test]
async fn effect_on_a_moving_target_is_judged_by_text() {
    // The text is unchanged, so the effect is unknown and nothing is retried.
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.animate(1);
    cluster.world.ignore_actions(9);
    let story = cluster.carry_out().await;
    assert_eq!(story.verdicts(), [EffectVerdict::Unknown]);
    assert_eq!(cluster.world.done().len(), 1);

    // The same if the text cannot be read.
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.animate(1);
    let cannot_look = ErrorReport::new(Code::Internal, "PARSE_FAILED", "a defect");
    cluster.world.fail("observe_area", 1, &cannot_look);
    let story = cluster.carry_out().await;
    assert_eq!(story.verdicts(), [EffectVerdict::Unknown]);
    assert_eq!(story.answer(), "it is done");

    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.animate(1);
    cluster.world.rename(1, "Pressed");
    let story = cluster.carry_out().await;
    assert_eq!(story.verdicts(), [EffectVerdict::Confirmed]);
}

#[tokio::test]
async fn configured_effect_threshold_uses_the_changed_share() {
    let clicks = async |threshold| {
        let cluster = Cluster::start_with(vec![act([click(1)])], |settings| {
            settings.effect_threshold = threshold;
        })
        .await;
        let story = cluster.carry_out().await;
        (story.verdicts(), cluster.world.clicks().len())
    };
    // A hundred pixels change at every click, which is far below two percent.
    let (verdicts, sent) = clicks(Some(0.02)).await;
    assert_eq!(verdicts, [EffectVerdict::NoEffect]);
    assert_eq!(sent, 1, "something changed, so nothing is tried again");
    let (verdicts, sent) = clicks(None).await;
    assert_eq!((verdicts, sent), (vec![EffectVerdict::Confirmed], 1));
}

/// An effect has to begin within the window of the action's kind.
#[tokio::test]
async fn effect_windows_are_configurable_by_the_kind_of_action() {
    let cluster = Cluster::start_with(vec![act([click(1), typing("hello")])], |settings| {
        settings.effect_windows.click = HumanDuration::milliseconds(900);
        settings.effect_windows.input = HumanDuration::milliseconds(500);
    })
    .await;
    cluster.carry_out().await;
    // Less by the time that has passed since the action.
    let is_begun = |window: &Duration, of: u64| {
        let whole = Duration::from_millis(of);
        (whole - Duration::from_millis(200)..=whole).contains(window)
    };
    let windows = cluster.world.effect_windows();
    assert!(is_begun(&windows[0], 900), "{windows:?}");
    assert!(is_begun(&windows[1], 500), "{windows:?}");
}
