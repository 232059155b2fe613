//! What people do while a task is under way, and what the planner learns of it.

use std::time::Duration;

use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_tests::person::Person;
use motorium_tests::script::{act, click, done};
use motorium_tests::stage::Stage;
use motorium_tests::watched::Watched;

use super::task;

/// How long a person waits before they click once more.
const PATIENCE_OF_A_PERSON: Duration = Duration::from_millis(500);

/// What the person did, in the words of the event.
fn deed(kind: &Kind) -> Option<String> {
    match kind {
        Kind::HumanActed(acted) => Some(acted.description.clone()),
        _ => None,
    }
}

/// Where an element of the page is on the screen.
async fn place_of(stage: &mut Stage, element: &str) -> (i32, i32) {
    let found = [act(click(element)), done("found")];
    let told = stage.carry_out(task("find it"), found).await;
    stage.site.load_anew().await;
    told.story.clicks()[0]
}

async fn take_over(stage: &Stage, name: &str) {
    let request = wire::TakeOverRequest {
        name: name.to_owned(),
        user: "somebody".to_owned(),
        ..wire::TakeOverRequest::default()
    };
    stage.client().raw().take_over(request).await.unwrap();
}

async fn hand_back(stage: &Stage, name: &str, message: &str) {
    let request = wire::HandBackRequest {
        name: name.to_owned(),
        message: message.to_owned(),
        ..wire::HandBackRequest::default()
    };
    stage.client().raw().hand_back(request).await.unwrap();
}

/// Clicks until it is told: watching begins a moment after the desktop was taken.
async fn click_until_told(person: &Person, at: (i32, i32), task: &Watched) {
    loop {
        person.click(at);
        let told = task.saw("HumanActed");
        if tokio::time::timeout(PATIENCE_OF_A_PERSON, told)
            .await
            .is_ok()
        {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_takes_over_and_hands_back() {
    let mut stage = Stage::start().await;
    let beacon = place_of(&mut stage, "Beacon").await;
    let person = stage.desktop.person();

    let name = stage.begin(task("light the beacon and finish")).await;
    let watched = Watched::follow(&stage.client(), name.clone());
    let mut thinks = stage.script.asked().await;
    take_over(&stage, &name).await;
    // Whatever would have been decided, it was of another screen.
    thinks.given_up().await;
    click_until_told(&person, beacon, &watched).await;
    stage.site.order("focus").await;
    person.type_letters("open sesame");
    let counted = "typed 11 characters";
    watched
        .saw_that(counted, |event| {
            event.kind.as_ref().and_then(deed).as_deref() == Some(counted)
        })
        .await;
    assert!(stage.script.is_idle(), "nobody is asked meanwhile");
    hand_back(&stage, &name, "the beacon is lit by hand").await;

    let decisions = [act(click("Finish")), done("finished")];
    let told = stage.carry_on(name, decisions).await;
    stage.keep_pictures("take-over", &told.story).await;
    let said = told.asked[0].user_messages.join("\n");
    let (x, y) = beacon;
    assert!(said.contains(&format!("clicked at ({x}, {y})")), "{said}");
    assert!(said.contains(counted), "{said}");
    assert!(said.contains("the beacon is lit by hand"), "{said}");
    let text = told.story.text();
    assert!(
        !text.contains("sesame"),
        "what was typed is nobody's business:\n{text}"
    );
    assert_eq!(told.story.clicks().len(), 1, "the agent's own");
}
