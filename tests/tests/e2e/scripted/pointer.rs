//! Somebody pushes the mouse away: the pointer is brought back before the click, or nothing is clicked.

use std::sync::Arc;

use image::{Rgb, RgbImage};
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::{PointerCheck, PointerRequest};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::user_request;
use motorium_tests::input::Nudge;
use motorium_tests::script::{act, click_surely, done};
use motorium_tests::stage::{Stage, Told};
use motorium_tests::until;

use super::task;

/// How far the pointer is pushed down or up: out of the button.
const PUSH: i16 = 30;
/// A pointer this near counts as there, in pixels.
const TOLERANCE: i32 = 14;

/// A model that sees where the pointer really is, once whoever pushes it has done so.
fn watch_pointer(stage: &Stage, nudge: Nudge) -> Arc<Nudge> {
    let nudge = Arc::new(nudge);
    let seen_by = Arc::clone(&nudge);
    stage
        .script
        .look_for_pointer(move |request: PointerRequest| {
            let nudge = Arc::clone(&seen_by);
            Box::pin(async move {
                let (x, y) = nudge.pointer().await;
                let off = request.target - CapturePoint::new(x, y);
                PointerCheck {
                    on_target: off.x.abs() <= TOLERANCE && off.y.abs() <= TOLERANCE,
                    dx: off.x,
                    dy: off.y,
                    usage: Usage::default(),
                }
            })
        });
    nudge
}

/// The one check of the pointer.
#[track_caller]
fn the_check(told: &Told) -> wire::PointerChecked {
    let checks = told.story.all(|kind| match kind {
        Kind::PointerChecked(checked) => Some(checked.clone()),
        _ => None,
    });
    let [checked] = &checks[..] else {
        panic!("{} checks:\n{}", checks.len(), told.story.text());
    };
    checked.clone()
}

/// Whether the ring that marks the pointer is around this place: its colour is nowhere else on the page.
fn is_marked(picture: &RgbImage, (x, y): (i32, i32)) -> bool {
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
                .and_then(|(x, y)| picture.get_pixel_checked(x, y))
                .is_some_and(is_ring)
        })
}

/// The kept picture with the pointer marked, where the event says that it is.
async fn assert_marked(stage: &Stage, title: &str, told: &Told, checked: &wire::PointerChecked) {
    let pictures = stage.keep_pictures(title, &told.story).await;
    let marked = pictures
        .iter()
        .find(|picture| picture.name.ends_with("-pointer"));
    let marked = marked.expect("the marked picture is kept");
    let pointer = checked.pointer.expect("it was read");
    assert!(
        is_marked(&marked.pixels, (pointer.x, pointer.y)),
        "no mark at {pointer:?} in {}",
        marked.name
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pointer_that_was_pushed_is_brought_back_or_nothing_is_clicked() {
    let mut stage = Stage::start().await;
    corrected(&mut stage).await;
    given_up(&mut stage).await;
}

async fn corrected(stage: &mut Stage) {
    let nudge = stage.desktop.nudge(|nth| (nth == 0).then_some((0, PUSH)));
    let nudge = watch_pointer(stage, nudge);
    let decisions = [act(click_surely("Beacon")), done("it is clicked")];
    let told = stage.carry_out(task("click"), decisions).await;
    let checked = the_check(&told);
    assert!(checked.on_target, "\n{}", told.story.text());
    // Back by the error, which nobody makes any more, and back again.
    assert_eq!(checked.corrections, 2, "\n{}", told.story.text());
    assert_marked(stage, "pointer-corrected", &told, &checked).await;
    stage.assert_clicked_as_told(&told.story).await;
    assert_eq!(stage.presses().len(), 1);
    assert_eq!(stage.clicked_elements(), ["beacon".to_owned()].into());
    assert_eq!(nudge.pointer().await, stage.presses()[0]);
}

/// Wherever the pointer is brought, it is pushed away again, each time to the other side.
async fn given_up(stage: &mut Stage) {
    stage.site.load_anew().await;
    let sides = |nth: usize| Some((0, if nth.is_multiple_of(2) { PUSH } else { -PUSH }));
    let _nudge = watch_pointer(stage, stage.desktop.nudge(sides));
    let decisions = [act(click_surely("Beacon"))];
    let told = stage.carry_out(task("click"), decisions).await;
    let checked = the_check(&told);
    assert!(!checked.on_target, "\n{}", told.story.text());
    assert_eq!(checked.corrections, 4, "\n{}", told.story.text());
    assert_marked(stage, "pointer-given-up", &told, &checked).await;

    let client = stage.client();
    let asked = client.get_task(&told.task).await.unwrap().user_request;
    let asked = asked.expect("the user is asked");
    assert_eq!(asked.kind(), user_request::Kind::Hands);
    assert!(asked.message.contains("Nothing was clicked"), "{asked:?}");

    // The user does it, and the planner is told.
    let done_by_hand = wire::AcknowledgeUserActionRequest {
        name: told.task.clone(),
        ..wire::AcknowledgeUserActionRequest::default()
    };
    client
        .raw()
        .acknowledge_user_action(done_by_hand)
        .await
        .unwrap();
    let next = stage.script.asked().await;
    assert_eq!(next.request.user_messages, ["I have done it"]);
    assert!(
        next.request
            .notices
            .iter()
            .any(|said| said.contains("pointer")),
        "{:?}",
        next.request.notices
    );
    next.decide(done("the user has done it"));
    until("the end", || async {
        client.get_task(&told.task).await.unwrap().end_time
    })
    .await;
    assert_eq!(stage.presses(), [], "nothing was clicked");
}
