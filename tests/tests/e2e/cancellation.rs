//! Cancelling a task stops its input.

use std::time::Duration;

use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::multi_step_task::MultiStepTask;
use motorium_tests::page_server::PageEvent;
use motorium_tests::{tasks, until};
use tokio::time::Instant;

/// Number of characters to type. Takes several seconds, long enough to cancel in between.
const CHARACTERS: usize = 14_000;
/// After this time without a key, none is in flight.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// Prints the time from the call to the last key (target: 100 ms). Asserts what does not depend on the machine's load: the
/// text is incomplete, no input follows, no key stays pressed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_task_types_no_further() {
    let errand = MultiStepTask::start().await;
    let text: String = ('a'..='z').cycle().take(CHARACTERS).collect();
    let client = errand.services.client();
    let goal = format!("type \"{text}\" into \"Notes\"");
    let keys = errand.desktop.listen_for_keys();
    let task = client.create_task(&goal).await.unwrap();
    keys.first_key().await;

    let called = Instant::now();
    let cancelled = client
        .cancel_task(&task.name, "changed my mind")
        .await
        .unwrap();
    let answered = called.elapsed();
    let mut last_key = called;
    let mut struck = 0;
    until("the keys to end", || {
        let now = keys.keys_pressed();
        struck += now;
        if now > 0 {
            last_key = Instant::now();
        }
        let silent = last_key.elapsed() > IDLE_TIME;
        async move { silent.then_some(()) }
    })
    .await;
    eprintln!(
        "answered {answered:?} after the call; {struck} keys came after it, the last {:?} after it",
        last_key - called
    );
    let inputs = errand.site.wait_for_idle(IDLE_TIME).await;
    let is_key = |entry: &&PageEvent| entry.kind == "keydown";
    let typed = inputs.iter().filter(is_key).count();
    assert!(
        typed < CHARACTERS,
        "the whole text was typed despite the cancellation"
    );

    let events = tasks::follow(&client, &task.name).await;
    let Some(Kind::Cancelled(end)) = &events.last().unwrap().kind else {
        panic!("the task was not cancelled:\n{}", tasks::describe(&events));
    };
    assert_eq!(end.reason, "changed my mind");
    assert_eq!(cancelled.name, task.name);
    assert_eq!(errand.desktop.pressed(), Vec::<String>::new());

    // Cancelling an ended task is a no-op that returns the task.
    let again = client.cancel_task(&task.name, "again").await;
    assert!(again.is_ok(), "{again:?}");
}
