//! An action that had no effect: what is tried, in which order, and what never is.

use motorium_proto::domain::effect::Verdict;
use motorium_proto::v1::common::{ActionResult, EffectVerdict};
use motorium_proto::v1::orchestrator::action_retried::Way;
use motorium_tests::script::{act, click, done, scroll_down, typing};
use motorium_tests::stage::{Stage, Told};
use motorium_tests::until;

use super::task;

/// Clicks what says this and then is done; keeps the pictures, and makes sure that the page was clicked as the events
/// say.
async fn click_on(stage: &mut Stage, text: &str, title: &str) -> Told {
    stage.site.load_anew().await;
    let told = stage
        .carry_out(task("click"), [act(click(text)), done("it is clicked")])
        .await;
    stage
        .keep_pictures(&format!("ladder-{title}"), &told.story)
        .await;
    stage.assert_clicked_as_told(&told.story).await;
    told
}

#[track_caller]
fn check(told: &Told, ways: &[Way], last: EffectVerdict) {
    assert_eq!(told.story.ways(), ways, "\n{}", told.story.text());
    let mut verdicts = vec![EffectVerdict::NoEffect; ways.len()];
    verdicts.push(last);
    assert_eq!(told.story.verdicts(), verdicts, "\n{}", told.story.text());
}

/// How far two clicks are apart.
fn apart(one: (i32, i32), other: (i32, i32)) -> i32 {
    (one.0 - other.0).abs().max((one.1 - other.1).abs())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_click_in_vain_climbs_the_ladder_as_far_as_it_has_to() {
    use Way::{Moved, OtherPoint, SecondLook};

    let mut stage = Stage::start().await;

    let told = click_on(&mut stage, "Harbour", "moved").await;
    check(&told, &[Moved], EffectVerdict::Confirmed);
    let clicks = stage.presses();
    assert!((1..=3).contains(&apart(clicks[0], clicks[1])), "{clicks:?}");

    let told = click_on(&mut stage, "Lantern", "other-point").await;
    check(&told, &[Moved, OtherPoint], EffectVerdict::Confirmed);
    let clicks = stage.presses();
    assert!(apart(clicks[0], clicks[2]) >= 8, "{clicks:?}");

    second_look(&mut stage).await;
    moved_meanwhile(&mut stage).await;

    // Nothing helps, and the planner is told.
    let told = click_on(&mut stage, "Quarry", "in-vain").await;
    check(
        &told,
        &[Moved, OtherPoint, SecondLook],
        EffectVerdict::NoEffect,
    );
    let past = &told.asked[1].history[0].actions[0];
    assert_eq!(past.retries, 3);
    let verdict = past.effect.as_ref().map(|effect| effect.verdict);
    assert_eq!(verdict, Some(Verdict::NoEffect));
}

/// Clicks the meadow, which has got this order while the planner thought.
async fn click_the_meadow_after(stage: &mut Stage, order: &str, title: &str) -> Told {
    stage.site.load_anew().await;
    let name = stage.begin(task("click")).await;
    let asked = stage.script.asked().await;
    stage.site.order(order).await;
    asked.decide(act(click("Meadow")));
    let told = stage.carry_on(name, []).await;
    stage.keep_pictures(title, &told.story).await;
    stage.assert_clicked_as_told(&told.story).await;
    let pressed = stage.site.inputs();
    let pressed = pressed
        .iter()
        .any(|entry| entry.kind == "click" && entry.target == "meadow");
    assert!(pressed, "\n{}", told.story.text());
    told
}

/// What helps last is to look once more.
async fn second_look(stage: &mut Stage) {
    use Way::{Moved, OtherPoint, SecondLook};

    let told = click_the_meadow_after(stage, "stall", "ladder-second-look").await;
    check(
        &told,
        &[Moved, OtherPoint, SecondLook],
        EffectVerdict::Confirmed,
    );
}

/// The button moves after the planner has seen it: it is clicked where it is, and not where it was.
async fn moved_meanwhile(stage: &mut Stage) {
    let told = click_the_meadow_after(stage, "shift", "ladder-moved-meanwhile").await;
    check(&told, &[], EffectVerdict::Confirmed);
    assert_eq!(stage.presses().len(), 1);
}

/// What three notches of the wheel scroll, in pixels.
const THREE_NOTCHES: f64 = 360.0;

/// How far the wheel was turned down and up, in pixels, as the page has it: browsers give several notches in one event.
async fn turned(stage: &Stage, down_and_up: (f64, f64)) {
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

async fn scroll_at_the_end(stage: &mut Stage, title: &str) -> Told {
    stage.site.load_anew().await;
    stage.site.order("end").await;
    let decisions = [act(scroll_down("Entry 58")), done("it is scrolled")];
    let told = stage.carry_out(task("scroll"), decisions).await;
    stage.keep_pictures(title, &told.story).await;
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_help_is_not_sent_again() {
    let mut stage = Stage::start().await;

    // A text may have gone anywhere: it is looked for once more, and not typed again.
    let decisions = [
        act(click("Sealed word")),
        act(typing("marmalade")),
        done("it is typed"),
    ];
    let told = stage.carry_out(task("type"), decisions).await;
    stage.keep_pictures("ladder-text", &told.story).await;
    assert_eq!(
        told.story.ways(),
        [Way::LookedAgain],
        "\n{}",
        told.story.text()
    );
    assert_eq!(told.story.results(), [ActionResult::Performed; 2]);
    let past = &told.asked[2].history[1].actions[0];
    assert_eq!(past.retries, 0);
    let typed = || {
        let inputs = stage.site.inputs().into_iter();
        let keys = inputs.filter(|entry| entry.kind == "keydown");
        keys.map(|entry| entry.text).collect::<String>()
    };
    until("the text", || async { (typed().len() >= 9).then_some(()) }).await;
    assert_eq!(typed(), "marmalade");

    // Nor is a wheel turned further at the end of a list …
    let told = scroll_at_the_end(&mut stage, "ladder-end").await;
    check(&told, &[], EffectVerdict::EndReached);
    let past = &told.asked[1].history[0].actions[0];
    let verdict = past.effect.as_ref().map(|effect| effect.verdict);
    assert_eq!(verdict, Some(Verdict::EndReached), "the planner is told");
    turned(&stage, (THREE_NOTCHES, 0.0)).await;

    // … but the other way, where that is wanted.
    stage
        .services
        .restart_orchestrator(&["orchestrator.scroll_back=true"])
        .await;
    let told = scroll_at_the_end(&mut stage, "ladder-back").await;
    assert_eq!(told.story.ways(), [Way::OtherDirection]);
    let verdicts = [EffectVerdict::EndReached, EffectVerdict::Confirmed];
    assert_eq!(told.story.verdicts(), verdicts, "\n{}", told.story.text());
    turned(&stage, (THREE_NOTCHES, THREE_NOTCHES)).await;
}
