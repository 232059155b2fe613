//! Abnormal ends of tasks: limits, loops, false declarations of success.

use std::iter;
use std::time::{Duration, SystemTime};

use motorium_proto::domain::decision::Next;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::expectation::Expectation;
use motorium_proto::v1::orchestrator::loop_detected::{Mitigation, Pattern};
use motorium_tests::scripted_planner::{act, click, click_point, done};
use motorium_tests::tasks;
use motorium_tests::testbed::{TaskRun, Testbed};

use super::task;

fn limited(limits: wire::Limits) -> wire::Task {
    wire::Task {
        limits: Some(limits),
        ..task("click for ever")
    }
}

/// Returns endless clicks. Each has an effect, so that only the limit ends the task.
fn for_ever() -> impl Iterator<Item = Next> {
    iter::repeat_with(|| act(click("Beacon")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exceeded_limits_fail_the_task() {
    let mut stage = Testbed::start().await;
    let limits = wire::Limits {
        max_steps: 3,
        ..wire::Limits::default()
    };
    let run = stage.run_task(limited(limits), for_ever()).await;
    stage.save_screenshots("limit-steps", &run.events).await;
    let (reason, message) = run.events.failure();
    assert_eq!(reason, "STEP_LIMIT", "{message}");
    assert!(message.contains("the limit of 3 steps"), "{message}");
    assert_eq!(
        run.plan_requests.len(),
        3,
        "the planner is not called beyond the limit"
    );
    stage.assert_clicks_match(&run.events).await;
    assert_eq!(stage.presses().len(), 3);

    stage.site.reload_page().await;
    let limit = Duration::from_secs(2);
    let limits = wire::Limits {
        max_duration: Some(limit.try_into().expect("it is short")),
        ..wire::Limits::default()
    };
    let run = stage.run_task(limited(limits), for_ever()).await;
    stage.save_screenshots("limit-duration", &run.events).await;
    let (reason, message) = run.events.failure();
    assert_eq!(reason, "TIME_LIMIT", "{message}");
    assert!(message.contains("the time limit of 2 s"), "{message}");
    stage.assert_clicks_match(&run.events).await;
    assert_eq!(stage.desktop.pressed(), Vec::<String>::new());
    let took = duration(&run);
    // The limit counts from the start of the task, shortly after its creation.
    assert!(took >= limit, "{took:?}");
    // The current step is still completed, which takes a busy machine some seconds.
    assert!(took < limit + Duration::from_secs(15), "{took:?}");
}

/// Returns the time from the first event to the last.
fn duration(run: &TaskRun) -> Duration {
    let time = |event: Option<&wire::Event>| {
        let time = event
            .and_then(|event| event.time)
            .expect("events have times");
        SystemTime::try_from(time).expect("it is after 1970")
    };
    let (first, last) = (run.events.0.first(), run.events.0.last());
    time(last)
        .duration_since(time(first))
        .expect("events are in order")
}

/// An empty point of the page.
const NOWHERE: CapturePoint = CapturePoint::new(1150, 400);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_click_is_reported_then_rejected_then_asked_about() {
    let mut stage = Testbed::start().await;
    let again_and_again = iter::repeat_with(|| act(click_point(NOWHERE)));
    let run = stage.run_task(task("click"), again_and_again).await;
    stage.save_screenshots("circles", &run.events).await;
    let noticed = run.events.filter_map(|kind| match kind {
        Kind::LoopDetected(noticed) => Some((noticed.pattern(), noticed.mitigation())),
        _ => None,
    });
    let measures = [
        Mitigation::NotifyPlanner,
        Mitigation::BlockActions,
        Mitigation::AskUser,
    ];
    let repetitions = measures.map(|measure| (Pattern::Repetition, measure));
    assert_eq!(noticed, repetitions, "\n{}", run.events.text());
    // Three times, and twice more after the planner was notified; then the action is rejected.
    let acted = run.events.clicks();
    let firsts = run.events.filter_map(|kind| match kind {
        Kind::ActionIntended(intended) => intended.retry_of.is_empty().then_some(()),
        _ => None,
    });
    assert_eq!(firsts.len(), 5, "\n{}", run.events.text());
    stage.assert_clicks_match(&run.events).await;
    assert_eq!(stage.presses().len(), acted.len());
    let notices = |nth: usize| run.plan_requests[nth].notices.join("; ");
    assert!(
        notices(3).contains("consider another way"),
        "{}",
        notices(3)
    );
    assert!(notices(5).contains("choose another way"), "{}", notices(5));

    let client = stage.client();
    let asked = client.get_task(&run.task).await.unwrap().user_request;
    let question = asked.expect("the user is asked").message;
    assert!(question.contains("How shall I go on?"), "{question}");
    client.cancel_task(&run.task, "enough").await.unwrap();
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

/// Returns for each completion check whether it passed, and the unmet expectations.
fn checks(run: &TaskRun) -> Vec<(bool, String)> {
    run.events.filter_map(|kind| match kind {
        Kind::CompletionChecked(checked) => {
            Some((checked.passed, checked.unmet_expectations.join("; ")))
        }
        _ => None,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn declared_success_is_verified() {
    let mut stage = Testbed::start().await;
    let claim = || done("everything is stored");

    // Two false declarations of success.
    let run = stage.run_task(stored(), [claim(), claim()]).await;
    stage.save_screenshots("claim-false", &run.events).await;
    let (reason, message) = run.events.failure();
    assert_eq!(reason, "EXPECTATION_NOT_MET", "{message}");
    assert_eq!(
        run.plan_requests.len(),
        2,
        "the planner gets one more chance"
    );
    let back = run.plan_requests[1].notices.join("; ");
    for missing in ["Everything is stored", "Finished"] {
        assert!(message.contains(missing), "{message}");
        assert!(back.contains(missing), "{back}");
    }
    let refused: Vec<bool> = checks(&run).into_iter().map(|(passed, _)| passed).collect();
    assert_eq!(refused, [false, false]);
    assert_eq!(stage.presses(), [], "no action was requested");

    // One false declaration, then the missing action.
    let repaired = [claim(), act(click("Finish")), claim()];
    let run = stage.run_task(stored(), repaired).await;
    stage.save_screenshots("claim-repaired", &run.events).await;
    assert_eq!(tasks::answer(&run.events.0), "everything is stored");
    let passed: Vec<bool> = checks(&run).into_iter().map(|(passed, _)| passed).collect();
    assert_eq!(passed, [false, true]);
    stage.assert_clicks_match(&run.events).await;

    // A correct declaration at once.
    let run = stage.run_task(stored(), [claim()]).await;
    stage.save_screenshots("claim-true", &run.events).await;
    assert_eq!(tasks::answer(&run.events.0), "everything is stored");
    assert_eq!(checks(&run), [(true, String::new())]);
}
