//! Cancelling stops the hands.

use std::time::Duration;

use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::errand::Errand;
use motorium_tests::site::Entry;
use motorium_tests::{tasks, until};
use tokio::time::Instant;

/// Typing it takes several seconds.
const CHARACTERS: usize = 14_000;
/// No key for so long: none is on its way.
const SILENCE: Duration = Duration::from_secs(1);

/// The time from the call to the last key is printed; 100 ms are promised. Asserted is what does not depend on how busy
/// the machine is: the text is broken off, nothing comes after, nothing stays pressed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_task_types_no_further() {
    let errand = Errand::prepare().await;
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
        let now = keys.struck();
        struck += now;
        if now > 0 {
            last_key = Instant::now();
        }
        let silent = last_key.elapsed() > SILENCE;
        async move { silent.then_some(()) }
    })
    .await;
    eprintln!(
        "answered {answered:?} after the call; {struck} keys came after it, the last {:?} after it",
        last_key - called
    );
    let inputs = errand.site.quiet_for(SILENCE).await;
    let is_key = |entry: &&Entry| entry.kind == "keydown";
    let typed = inputs.iter().filter(is_key).count();
    assert!(typed < CHARACTERS, "everything was typed all the same");

    let events = tasks::follow(&client, &task.name).await;
    let Some(Kind::Cancelled(end)) = &events.last().unwrap().kind else {
        panic!("it was not cancelled:\n{}", tasks::described(&events));
    };
    assert_eq!(end.reason, "changed my mind");
    assert_eq!(cancelled.name, task.name);
    assert_eq!(errand.desktop.pressed(), Vec::<String>::new());

    // Cancelling what has ended changes nothing, and says so by giving it as it is.
    let again = client.cancel_task(&task.name, "again").await;
    assert!(again.is_ok(), "{again:?}");
}
