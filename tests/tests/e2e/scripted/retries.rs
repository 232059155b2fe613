//! Retries of actions without effect: strategies, their order, and actions that are never retried.

use motorium_proto::domain::effect::Verdict;
use motorium_proto::v1::common::{ActionResult, EffectVerdict};
use motorium_proto::v1::orchestrator::action_retried::RetryStrategy;
use motorium_tests::scripted_planner::{act, click, done, scroll_down, typing};
use motorium_tests::testbed::{TaskRun, Testbed};
use motorium_tests::until;

use super::task;

/// Clicks the element with this text, saves the screenshots, and asserts that the page received the clicks of the events.
async fn click_on(stage: &mut Testbed, text: &str, title: &str) -> TaskRun {
    stage.site.reload_page().await;
    let run = stage
        .run_task(task("click"), [act(click(text)), done("it is clicked")])
        .await;
    stage
        .save_screenshots(&format!("ladder-{title}"), &run.events)
        .await;
    stage.assert_clicks_match(&run.events).await;
    run
}

#[track_caller]
fn check(run: &TaskRun, ways: &[RetryStrategy], last: EffectVerdict) {
    assert_eq!(
        run.events.retry_strategies(),
        ways,
        "\n{}",
        run.events.text()
    );
    let mut verdicts = vec![EffectVerdict::NoEffect; ways.len()];
    verdicts.push(last);
    assert_eq!(run.events.verdicts(), verdicts, "\n{}", run.events.text());
}

/// Returns the distance of two clicks (Chebyshev), in pixels.
fn apart(one: (i32, i32), other: (i32, i32)) -> i32 {
    (one.0 - other.0).abs().max((one.1 - other.1).abs())
}

/// A second click on a button may order or post a second time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_without_effect_is_clicked_once_more_at_most() {
    use RetryStrategy::{OffsetPoint, ReobservedEffect};

    let mut stage = Testbed::start().await;

    let run = click_on(&mut stage, "Harbour", "moved").await;
    check(
        &run,
        &[ReobservedEffect, OffsetPoint],
        EffectVerdict::Confirmed,
    );
    let clicks = stage.presses();
    assert!((1..=3).contains(&apart(clicks[0], clicks[1])), "{clicks:?}");

    moved_meanwhile(&mut stage).await;

    // Nothing helps, and the planner is notified.
    let run = click_on(&mut stage, "Quarry", "in-vain").await;
    check(
        &run,
        &[ReobservedEffect, OffsetPoint],
        EffectVerdict::NoEffect,
    );
    assert_eq!(stage.presses().len(), 2);
    let past = &run.plan_requests[1].history[0].actions[0];
    assert_eq!(past.retries, 1);
    let verdict = past.effect.as_ref().map(|effect| effect.verdict);
    assert_eq!(verdict, Some(Verdict::NoEffect));
}

/// Sends a command to the page while the planner decides, then clicks the meadow.
async fn click_the_meadow_after(stage: &mut Testbed, order: &str, title: &str) -> TaskRun {
    stage.site.reload_page().await;
    let name = stage.create_task(task("click")).await;
    let asked = stage.script.next_request().await;
    stage.site.send_command(order).await;
    asked.decide(act(click("Meadow")));
    let run = stage.continue_task(name, []).await;
    stage.save_screenshots(title, &run.events).await;
    stage.assert_clicks_match(&run.events).await;
    let pressed = stage.site.inputs();
    let pressed = pressed
        .iter()
        .any(|entry| entry.kind == "click" && entry.target == "meadow");
    assert!(pressed, "\n{}", run.events.text());
    run
}

/// The button moves after the observation: it is clicked at its new position.
async fn moved_meanwhile(stage: &mut Testbed) {
    let run = click_the_meadow_after(stage, "shift", "ladder-moved-meanwhile").await;
    check(&run, &[], EffectVerdict::Confirmed);
    assert_eq!(stage.presses().len(), 1);
}

/// Scroll distance of three wheel notches in Chromium, in pixels.
const THREE_NOTCHES: f64 = 360.0;

/// Asserts the scrolled distance down and up in pixels, as reported by the page. Browsers merge several notches into one
/// event, so distances are compared instead of counts.
async fn turned(stage: &Testbed, down_and_up: (f64, f64)) {
    let turned = || {
        let inputs = stage.site.inputs().into_iter();
        let turns = inputs.filter(|entry| entry.kind == "wheel");
        let (down, up): (Vec<f64>, Vec<f64>) = turns
            .map(|entry| entry.text.parse::<f64>().expect("it is a number"))
            .partition(|pixels| *pixels > 0.0);
        (down.iter().sum::<f64>(), -up.iter().sum::<f64>())
    };
    let all = down_and_up.0 + down_and_up.1;
    until("the wheel", || async {
        let (down, up) = turned();
        (down + up >= all).then_some(())
    })
    .await;
    assert_eq!(turned(), down_and_up, "pixels down, pixels up");
}

async fn scroll_at_the_end(stage: &mut Testbed, title: &str) -> TaskRun {
    stage.site.reload_page().await;
    stage.site.send_command("end").await;
    let decisions = [act(scroll_down("Entry 58")), done("it is scrolled")];
    let run = stage.run_task(task("scroll"), decisions).await;
    stage.save_screenshots(title, &run.events).await;
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsafe_or_useless_retries_are_not_made() {
    let mut stage = Testbed::start().await;

    // Typed text may have gone anywhere: the screen is observed again, but the text is not retyped.
    let decisions = [
        act(click("Sealed word")),
        act(typing("marmalade")),
        done("it is typed"),
    ];
    let run = stage.run_task(task("type"), decisions).await;
    stage.save_screenshots("ladder-text", &run.events).await;
    assert_eq!(
        run.events.retry_strategies(),
        [RetryStrategy::ReobservedEffect],
        "\n{}",
        run.events.text()
    );
    assert_eq!(run.events.results(), [ActionResult::Performed; 2]);
    let past = &run.plan_requests[2].history[1].actions[0];
    assert_eq!(past.retries, 0);
    let typed = || {
        let inputs = stage.site.inputs().into_iter();
        let keys = inputs.filter(|entry| entry.kind == "keydown");
        keys.map(|entry| entry.text).collect::<String>()
    };
    until("the text", || async { (typed().len() >= 9).then_some(()) }).await;
    assert_eq!(typed(), "marmalade");

    // A scroll is not retried at the end of a list …
    let run = scroll_at_the_end(&mut stage, "ladder-end").await;
    check(&run, &[], EffectVerdict::EndReached);
    let past = &run.plan_requests[1].history[0].actions[0];
    let verdict = past.effect.as_ref().map(|effect| effect.verdict);
    assert_eq!(
        verdict,
        Some(Verdict::EndReached),
        "the planner is notified"
    );
    turned(&stage, (THREE_NOTCHES, 0.0)).await;

    // … except in the other direction, if that is configured.
    stage
        .services
        .restart_orchestrator(&["orchestrator.reverse_scroll_at_end=true"])
        .await;
    let run = scroll_at_the_end(&mut stage, "ladder-back").await;
    assert_eq!(
        run.events.retry_strategies(),
        [RetryStrategy::ReversedScroll]
    );
    let verdicts = [EffectVerdict::EndReached, EffectVerdict::Confirmed];
    assert_eq!(run.events.verdicts(), verdicts, "\n{}", run.events.text());
    turned(&stage, (THREE_NOTCHES, THREE_NOTCHES)).await;
}
