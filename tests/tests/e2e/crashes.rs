//! A task survives the crash of whoever carries it out, and does nothing twice.
//!
//! The errand itself checks, after every run, that nothing was pressed or typed twice, that the log has no gaps, and
//! that nothing stays pressed.

use std::time::Duration;

use motorium_proto::v1::common::ActionResult;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::errand::{Errand, Kill, Told};
use motorium_tests::{tasks, until};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// A crash right after each of these is a case of its own.
const JOURNAL_POINTS: [&str; 4] = [
    "Observed",
    "ActionIntended",
    "ActionPerformed",
    "StepFinished",
];
/// Clauses of the errand. Each makes every kind of journal point at least once: where it is not known whether an action
/// arrived, the rest of its clause is left to the person who is asked, so there can be fewer actions than undisturbed.
const CLAUSES: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_at_each_journal_point() {
    let mut errand = Errand::prepare().await;
    let undisturbed = errand.run(Kill::Never).await;
    assert_eq!(undisturbed.questions, 0);
    for kind in JOURNAL_POINTS {
        let told = errand.run(Kill::AtEach(kind)).await;
        tell(&told);
        assert!(
            told.kills.len() >= CLAUSES,
            "killed only at {:?}:\n{}",
            told.kills,
            tasks::described(&told.events)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_at_random_times() {
    let seed = rand::random();
    eprintln!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let times = (0..5).map(|_| Duration::from_millis(random.random_range(0..1500)));
    let mut errand = Errand::prepare().await;
    let told = errand.run(Kill::After(times.collect())).await;
    tell(&told);
}

fn tell(told: &Told) {
    eprintln!(
        "{} kills, {} questions, {} things done by hand, {} events: {}",
        told.kills.len(),
        told.questions,
        told.done_by_hand,
        told.events.len(),
        told.kills.join(", ")
    );
}

/// The hands die in the middle of a text: what was typed stays as it is, nothing of it is typed again, no key stays
/// down, and the task asks instead of guessing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_the_executor_while_it_types() {
    let mut errand = Errand::prepare().await;
    let text: String = ('a'..='z').cycle().take(14_000).collect();
    let client = errand.services.client();
    let keys = errand.desktop.listen_for_keys();
    let task = client
        .create_task(&format!("type \"{text}\" into \"Notes\""))
        .await
        .unwrap();
    let typed = |errand: &Errand| {
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
            panic!("it ended instead of asking:\n{}", tasks::described(&events));
        }
        now.user_request
    })
    .await;
    errand.site.quiet_for(Duration::from_secs(1)).await;
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
        tasks::described(&events)
    );
}
