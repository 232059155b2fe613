//! One process or four: the same task makes the same events.

use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::desktop::Desktop;
use motorium_tests::errand;
use motorium_tests::services::{AllInOne, Services, Setup};
use motorium_tests::site::Site;
use motorium_tests::tasks;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn up_and_four_programs_make_the_same_events() {
    let mut desktop = Desktop::start().await;
    let site = Site::serve().await;
    site.show_logger(&mut desktop).await;

    let services = Services::start(&desktop).await;
    let of_four = tasks::carry_out(&services.client(), &errand::goal()).await;
    tasks::answer(&of_four);
    let inputs_of_four = inputs(&site);
    drop(services);

    site.reload().await;
    let up = AllInOne::start(Setup::on(&desktop), &[]).await;
    assert_eq!(
        up.display, desktop.display,
        "it works on the display there is"
    );
    let of_one = tasks::carry_out(&up.client(), &errand::goal()).await;

    let (four, one) = (told(&of_four), told(&of_one));
    assert_eq!(four, one, "\n{}", tasks::described(&of_one));
    assert_eq!(inputs_of_four, inputs(&site), "the page received the same");
}

/// What both must have in common: everything but names, times, pictures and where on the screen things are.
fn told(events: &[wire::Event]) -> Vec<String> {
    events
        .iter()
        .map(|event| {
            let essence = match &event.kind {
                Some(Kind::ActionIntended(intended)) => {
                    let decision = intended.action.as_ref().map(|action| &action.action);
                    variant(&format!("{decision:?}"))
                }
                Some(Kind::ActionPerformed(performed)) => {
                    let outcome = performed.outcome.as_ref();
                    format!("{:?}", outcome.map(|outcome| outcome.result()))
                }
                Some(Kind::Succeeded(end)) => end.answer.clone(),
                _ => String::new(),
            };
            let kind = tasks::kind(event);
            format!("{} step {} {kind} {essence}", event.sequence, event.step)
        })
        .collect()
}

/// The name of the innermost variant with a payload: `Some(Some(Click(Click { …` is a `Click`.
fn variant(words: &str) -> String {
    let inner = words.trim_start_matches("Some(");
    inner.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// What arrived at the page, without the times.
fn inputs(site: &Site) -> Vec<(String, String, String)> {
    site.inputs()
        .into_iter()
        .map(|entry| (entry.kind, entry.target, entry.text))
        .collect()
}
