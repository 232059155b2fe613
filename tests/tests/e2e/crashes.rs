//! A task survives crashes of the services without repeating an action.
//!
//! `MultiStepTask::run` checks after every run that nothing was pressed or typed twice, that the event log has no gaps, and
//! that no key or button stays pressed.

use std::time::Duration;

use motorium_proto::v1::common::ActionResult;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::multi_step_task::{CrashSchedule, MultiStepTask, TaskReport};
use motorium_tests::{tasks, until};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// Kinds of events after each of which the Orchestrator is killed.
const JOURNAL_POINTS: [&str; 4] = [
    "Observed",
    "ActionIntended",
    "ActionPerformed",
    "StepFinished",
];
/// Clauses of the task, and the minimum number of crashes: each clause produces every kind of event at least once. There can
/// be fewer actions than without crashes, because the user completes a clause whose action has an unknown outcome.
const CLAUSES: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_at_each_journal_point() {
    let mut errand = MultiStepTask::start().await;
    let undisturbed = errand.run(CrashSchedule::Never).await;
    assert_eq!(undisturbed.questions, 0);
    for kind in JOURNAL_POINTS {
        let report = errand.run(CrashSchedule::OnEvent(kind)).await;
        print_report(&report);
        assert!(
            report.crashes.len() >= CLAUSES,
            "killed only at {:?}:\n{}",
            report.crashes,
            tasks::describe(&report.events)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_at_random_times() {
    let seed = rand::random();
    eprintln!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let times = (0..5).map(|_| Duration::from_millis(random.random_range(0..1500)));
    let mut errand = MultiStepTask::start().await;
    let report = errand
        .run(CrashSchedule::AfterDelays(times.collect()))
        .await;
    print_report(&report);
}

fn print_report(report: &TaskReport) {
    eprintln!(
        "{} crashes, {} questions, {} manual actions, {} events: {}",
        report.crashes.len(),
        report.questions,
        report.manual_actions,
        report.events.len(),
        report.crashes.join(", ")
    );
}

/// The Executor is killed while typing: no character is typed twice, no key stays pressed, and the task asks the user.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_the_executor_while_it_types() {
    let mut errand = MultiStepTask::start().await;
    let text: String = ('a'..='z').cycle().take(14_000).collect();
    let client = errand.services.client();
    let keys = errand.desktop.listen_for_keys();
    let task = client
        .create_task(&format!("type \"{text}\" into \"Notes\""))
        .await
        .unwrap();
    let typed = |errand: &MultiStepTask| {
        let inputs = errand.site.inputs();
        let keys = inputs.iter().filter(|entry| entry.kind == "keydown");
        keys.map(|entry| entry.text.clone()).collect::<String>()
    };
    keys.first_key().await;
    errand.services.crash_executor().await;

    until("the task to ask", || async {
        let now = client.get_task(&task.name).await.unwrap();
        if now.end_time.is_some() {
            let events = tasks::follow(&client, &task.name).await;
            panic!(
                "the task ended instead of asking:\n{}",
                tasks::describe(&events)
            );
        }
        now.user_request
    })
    .await;
    errand.site.wait_for_idle(Duration::from_secs(1)).await;
    let typed = typed(&errand);
    eprintln!("{} of {} characters were typed", typed.len(), text.len());
    assert!(
        text.starts_with(&typed),
        "typed twice, or out of order: {typed}"
    );
    assert!(typed.len() < text.len(), "it was not interrupted");
    assert_eq!(errand.desktop.pressed(), Vec::<String>::new());

    client.cancel_task(&task.name, "enough").await.unwrap();
    let events = tasks::follow(&client, &task.name).await;
    let results: Vec<ActionResult> = events
        .iter()
        .filter_map(|event| match &event.kind {
            Some(Kind::ActionPerformed(performed)) => performed.outcome.as_ref(),
            _ => None,
        })
        .map(motorium_proto::v1::common::ActionOutcome::result)
        .collect();
    assert_eq!(
        results,
        [ActionResult::Performed, ActionResult::Unknown],
        "the click into the field, then the text:\n{}",
        tasks::describe(&events)
    );
}
