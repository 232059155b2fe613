//! The pointer is displaced before a click: it is moved back, or nothing is clicked.

use std::sync::Arc;

use image::{Rgb, RgbImage};
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::{PointerCheck, PointerRequest};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::user_request;
use motorium_tests::input::PointerDisturbance;
use motorium_tests::scripted_planner::{act, click_verified, done};
use motorium_tests::testbed::{TaskRun, Testbed};
use motorium_tests::until;

use super::task;

/// Displacement of the pointer, in pixels: out of the button.
const PUSH: i16 = 30;
/// Tolerance for the pointer to count as on target, in pixels.
const TOLERANCE: i32 = 14;

/// Answers pointer checks with the real position, after the displacement has happened.
fn watch_pointer(stage: &Testbed, nudge: PointerDisturbance) -> Arc<PointerDisturbance> {
    let nudge = Arc::new(nudge);
    let seen_by = Arc::clone(&nudge);
    stage
        .script
        .set_pointer_locator(move |request: PointerRequest| {
            let nudge = Arc::clone(&seen_by);
            Box::pin(async move {
                let (x, y) = nudge.pointer().await;
                let off = request.target - CapturePoint::new(x, y);
                PointerCheck {
                    on_target: off.x.abs() <= TOLERANCE && off.y.abs() <= TOLERANCE,
                    dx: off.x,
                    dy: off.y,
                    usage: Usage::default(),
                    requests: Vec::new(),
                    responses: Vec::new(),
                }
            })
        });
    nudge
}

/// Returns the only pointer check of the task.
#[track_caller]
fn the_check(run: &TaskRun) -> wire::PointerChecked {
    let checks = run.events.filter_map(|kind| match kind {
        Kind::PointerChecked(checked) => Some(checked.clone()),
        _ => None,
    });
    let [checked] = &checks[..] else {
        panic!("{} checks:\n{}", checks.len(), run.events.text());
    };
    checked.clone()
}

/// Returns whether the ring that marks the pointer is around this point. Its colour is nowhere else on the page.
fn is_marked(screenshot: &RgbImage, (x, y): (i32, i32)) -> bool {
    let is_ring = |pixel: &Rgb<u8>| {
        let [red, green, blue] = pixel.0;
        red > 200 && green < 100 && blue < 100
    };
    // The ring is 12 px wide to its outer edge and 4 px thick.
    [(-10, 0), (10, 0), (0, 10)]
        .into_iter()
        .all(|(right, down)| {
            let place = (x + right, y + down);
            let place = u32::try_from(place.0).ok().zip(u32::try_from(place.1).ok());
            place
                .and_then(|(x, y)| screenshot.get_pixel_checked(x, y))
                .is_some_and(is_ring)
        })
}

/// Asserts that the saved screenshot marks the pointer at the position of the event.
async fn assert_marked(
    stage: &Testbed,
    title: &str,
    run: &TaskRun,
    checked: &wire::PointerChecked,
) {
    let screenshots = stage.save_screenshots(title, &run.events).await;
    let marked = screenshots
        .iter()
        .find(|screenshot| screenshot.name.ends_with("-pointer"));
    let marked = marked.expect("the annotated screenshot is saved");
    let pointer = checked.pointer.expect("it was read");
    assert!(
        is_marked(&marked.pixels, (pointer.x, pointer.y)),
        "no mark at {pointer:?} in {}",
        marked.name
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pointer_that_was_pushed_is_brought_back_or_nothing_is_clicked() {
    let mut stage = Testbed::start().await;
    corrected(&mut stage).await;
    given_up(&mut stage).await;
}

async fn corrected(stage: &mut Testbed) {
    let nudge = stage
        .desktop
        .disturb_pointer(|nth| (nth == 0).then_some((0, PUSH)));
    let nudge = watch_pointer(stage, nudge);
    let decisions = [act(click_verified("Beacon")), done("it is clicked")];
    let run = stage.run_task(task("click"), decisions).await;
    let checked = the_check(&run);
    assert!(checked.on_target, "\n{}", run.events.text());
    // The first correction overshoots, because the displacement happens only once; the second one fixes that.
    assert_eq!(checked.corrections, 2, "\n{}", run.events.text());
    assert_marked(stage, "pointer-corrected", &run, &checked).await;
    stage.assert_clicks_match(&run.events).await;
    assert_eq!(stage.presses().len(), 1);
    assert_eq!(stage.clicked_elements(), ["beacon".to_owned()].into());
    assert_eq!(nudge.pointer().await, stage.presses()[0]);
}

/// The pointer is displaced after every move, alternately down and up.
async fn given_up(stage: &mut Testbed) {
    stage.site.reload_page().await;
    let sides = |nth: usize| Some((0, if nth.is_multiple_of(2) { PUSH } else { -PUSH }));
    let _nudge = watch_pointer(stage, stage.desktop.disturb_pointer(sides));
    let decisions = [act(click_verified("Beacon"))];
    let run = stage.run_task(task("click"), decisions).await;
    let checked = the_check(&run);
    assert!(!checked.on_target, "\n{}", run.events.text());
    assert_eq!(checked.corrections, 4, "\n{}", run.events.text());
    assert_marked(stage, "pointer-given-up", &run, &checked).await;

    let client = stage.client();
    let asked = client.get_task(&run.task).await.unwrap().user_request;
    let asked = asked.expect("the user is asked");
    assert_eq!(asked.kind(), user_request::Kind::ManualAction);
    assert!(asked.message.contains("Nothing was clicked"), "{asked:?}");

    // The user performs the action, and the planner is notified.
    let done_by_hand = wire::AcknowledgeUserActionRequest {
        name: run.task.clone(),
        ..wire::AcknowledgeUserActionRequest::default()
    };
    client
        .raw()
        .acknowledge_user_action(done_by_hand)
        .await
        .unwrap();
    let next = stage.script.next_request().await;
    assert_eq!(next.request.user_messages, ["I have done it"]);
    assert!(
        next.request
            .notices
            .iter()
            .any(|notice| notice.contains("pointer")),
        "{:?}",
        next.request.notices
    );
    next.decide(done("the user has done it"));
    until("the end", || async {
        client.get_task(&run.task).await.unwrap().end_time
    })
    .await;
    assert_eq!(stage.presses(), [], "nothing was clicked");
}
