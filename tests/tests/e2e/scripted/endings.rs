//! How tasks end that do not go as they should: limits, circles, claims that do not hold.

use std::iter;
use std::time::{Duration, SystemTime};

use motorium_proto::domain::decision::Next;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::expectation::Expectation;
use motorium_proto::v1::orchestrator::loop_noticed::{Measure, Pattern};
use motorium_tests::script::{act, click, click_point, done};
use motorium_tests::stage::{Stage, Told};
use motorium_tests::tasks;

use super::task;

fn limited(limits: wire::Limits) -> wire::Task {
    wire::Task {
        limits: Some(limits),
        ..task("click for ever")
    }
}

/// Every click has an effect, so that there is no other reason to end.
fn for_ever() -> impl Iterator<Item = Next> {
    iter::repeat_with(|| act(click("Beacon")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_used_up_ends_a_task_and_says_so() {
    let mut stage = Stage::start().await;
    let limits = wire::Limits {
        max_steps: 3,
        ..wire::Limits::default()
    };
    let told = stage.carry_out(limited(limits), for_ever()).await;
    stage.keep_pictures("limit-steps", &told.story).await;
    let (reason, message) = told.story.failure();
    assert_eq!(reason, "STEP_LIMIT", "{message}");
    assert!(message.contains("the limit of 3 steps"), "{message}");
    assert_eq!(told.asked.len(), 3, "nobody decides what cannot be done");
    stage.assert_clicked_as_told(&told.story).await;
    assert_eq!(stage.presses().len(), 3);

    stage.site.load_anew().await;
    let limit = Duration::from_secs(2);
    let limits = wire::Limits {
        max_duration: Some(limit.try_into().expect("it is short")),
        ..wire::Limits::default()
    };
    let told = stage.carry_out(limited(limits), for_ever()).await;
    stage.keep_pictures("limit-duration", &told.story).await;
    let (reason, message) = told.story.failure();
    assert_eq!(reason, "TIME_LIMIT", "{message}");
    assert!(message.contains("the time limit of 2 s"), "{message}");
    stage.assert_clicked_as_told(&told.story).await;
    assert_eq!(stage.desktop.pressed(), Vec::<String>::new());
    let took = duration(&told);
    // It began when it was given to somebody, a little after it was created.
    assert!(took >= limit, "{took:?}");
    // The step that it is in is still ended, which takes a busy machine some seconds.
    assert!(took < limit + Duration::from_secs(15), "{took:?}");
}

/// From the first event to the last.
fn duration(told: &Told) -> Duration {
    let time = |event: Option<&wire::Event>| {
        let time = event
            .and_then(|event| event.time)
            .expect("events have times");
        SystemTime::try_from(time).expect("it is after 1970")
    };
    let (first, last) = (told.story.0.first(), told.story.0.last());
    time(last)
        .duration_since(time(first))
        .expect("time goes on")
}

/// Where nothing is.
const NOWHERE: CapturePoint = CapturePoint::new(1150, 400);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_click_in_vain_is_told_then_forbidden_then_asked_about() {
    let mut stage = Stage::start().await;
    let again_and_again = iter::repeat_with(|| act(click_point(NOWHERE)));
    let told = stage.carry_out(task("click"), again_and_again).await;
    stage.keep_pictures("circles", &told.story).await;
    let noticed = told.story.all(|kind| match kind {
        Kind::LoopNoticed(noticed) => Some((noticed.pattern(), noticed.measure())),
        _ => None,
    });
    let measures = [Measure::Tell, Measure::Forbid, Measure::Ask];
    let repetitions = measures.map(|measure| (Pattern::Repetition, measure));
    assert_eq!(noticed, repetitions, "\n{}", told.story.text());
    // Three times, and twice more after the planner was told; then it is not performed any more.
    let acted = told.story.clicks();
    let firsts = told.story.all(|kind| match kind {
        Kind::ActionIntended(intended) => intended.retry_of.is_empty().then_some(()),
        _ => None,
    });
    assert_eq!(firsts.len(), 5, "\n{}", told.story.text());
    stage.assert_clicked_as_told(&told.story).await;
    assert_eq!(stage.presses().len(), acted.len());
    let notices = |nth: usize| told.asked[nth].notices.join("; ");
    assert!(
        notices(3).contains("consider another way"),
        "{}",
        notices(3)
    );
    assert!(notices(5).contains("choose another way"), "{}", notices(5));

    let client = stage.client();
    let asked = client.get_task(&told.task).await.unwrap().user_request;
    let question = asked.expect("the user is asked").message;
    assert!(question.contains("How shall I go on?"), "{question}");
    client.cancel_task(&told.task, "enough").await.unwrap();
}

fn expecting(expectations: [Expectation; 2]) -> wire::Task {
    let expectations = expectations.map(|expectation| wire::Expectation {
        expectation: Some(expectation),
    });
    wire::Task {
        expectations: expectations.into(),
        ..task("store everything")
    }
}

fn stored() -> wire::Task {
    expecting([
        Expectation::TextOnScreen("Everything is stored".to_owned()),
        Expectation::WindowTitle("Finished".to_owned()),
    ])
}

/// Whether each check of the claim was passed, and what was missing.
fn checks(told: &Told) -> Vec<(bool, String)> {
    told.story.all(|kind| match kind {
        Kind::CompletionChecked(checked) => Some((checked.passed, checked.missing.join("; "))),
        _ => None,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_of_success_is_looked_after() {
    let mut stage = Stage::start().await;
    let claim = || done("everything is stored");

    // Twice a claim that does not hold.
    let told = stage.carry_out(stored(), [claim(), claim()]).await;
    stage.keep_pictures("claim-false", &told.story).await;
    let (reason, message) = told.story.failure();
    assert_eq!(reason, "EXPECTATION_NOT_MET", "{message}");
    assert_eq!(told.asked.len(), 2, "it goes back once");
    let back = told.asked[1].notices.join("; ");
    for missing in ["Everything is stored", "Finished"] {
        assert!(message.contains(missing), "{message}");
        assert!(back.contains(missing), "{back}");
    }
    let refused: Vec<bool> = checks(&told)
        .into_iter()
        .map(|(passed, _)| passed)
        .collect();
    assert_eq!(refused, [false, false]);
    assert_eq!(stage.presses(), [], "it was asked for nothing");

    // Once, and then the work is done.
    let repaired = [claim(), act(click("Finish")), claim()];
    let told = stage.carry_out(stored(), repaired).await;
    stage.keep_pictures("claim-repaired", &told.story).await;
    assert_eq!(tasks::answer(&told.story.0), "everything is stored");
    let passed: Vec<bool> = checks(&told)
        .into_iter()
        .map(|(passed, _)| passed)
        .collect();
    assert_eq!(passed, [false, true]);
    stage.assert_clicked_as_told(&told.story).await;

    // At once a claim that holds.
    let told = stage.carry_out(stored(), [claim()]).await;
    stage.keep_pictures("claim-true", &told.story).await;
    assert_eq!(tasks::answer(&told.story.0), "everything is stored");
    assert_eq!(checks(&told), [(true, String::new())]);
}
