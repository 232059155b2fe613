//! One process or four: the same task produces the same events.

use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::multi_step_task;
use motorium_tests::page_server::PageServer;
use motorium_tests::services::{AllInOne, Services, TestSetup};
use motorium_tests::tasks;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn up_and_four_programs_make_the_same_events() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show_logger(&mut desktop).await;

    let services = Services::start(&desktop).await;
    let of_four = tasks::run_task(&services.client(), &multi_step_task::goal()).await;
    tasks::answer(&of_four);
    let inputs_of_four = inputs(&site);
    drop(services);

    site.reload_logger().await;
    let up = AllInOne::start(TestSetup::on(&desktop), &[]).await;
    assert_eq!(up.display, desktop.display, "it uses the existing display");
    let of_one = tasks::run_task(&up.client(), &multi_step_task::goal()).await;

    let (four, one) = (shared_parts(&of_four), shared_parts(&of_one));
    assert_eq!(four, one, "\n{}", tasks::describe(&of_one));
    assert_eq!(inputs_of_four, inputs(&site), "the page received the same");
}

/// Returns the parts of the events that both deployments must share: all but names, times, images and screen positions.
fn shared_parts(events: &[wire::Event]) -> Vec<String> {
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

/// Returns the name of the innermost variant with a payload: `Click` for `Some(Some(Click(Click { …`.
fn variant(words: &str) -> String {
    let inner = words.trim_start_matches("Some(");
    inner.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// Returns the input that the page received, without times.
fn inputs(site: &PageServer) -> Vec<(String, String, String)> {
    site.inputs()
        .into_iter()
        .map(|entry| (entry.kind, entry.target, entry.text))
        .collect()
}
