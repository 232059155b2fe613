//! Clicks, drags and scrolling as received by a page.

use std::time::Duration;

use motorium_executor::drivers::x11::X11Driver;
use motorium_executor::drivers::{Driver as _, Error};
use motorium_proto::domain::action::{Action, Button, ScrollAmount};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use serde_json::Value;

use crate::support::page::{self, Page, of_kind};
use crate::support::{Desktop, start_server, wait_for};
use crate::{driver, perform};

/// A page, the driver, and the position of the page's corner on the display.
struct PointerFixture {
    desktop: Desktop,
    driver: X11Driver,
    page: Page,
    corner: CapturePoint,
}

impl PointerFixture {
    async fn open() -> Self {
        Self::open_page(page::POINTER).await
    }

    async fn open_page(html: &'static str) -> Self {
        let mut desktop = Desktop::start("us").await;
        let driver = driver(&desktop.display);
        let page = Page::open(&mut desktop, html).await;
        // The first move over the page reveals its position.
        perform(
            &driver,
            Action::Move {
                to: CapturePoint::new(600, 500),
            },
        )
        .await
        .unwrap();
        let seen = page
            .wait("the first movement", |event| event["kind"] == "mousemove")
            .await;
        let corner = CapturePoint::new(600 - number(&seen, "x"), 500 - number(&seen, "y"));
        Self {
            desktop,
            driver,
            page,
            corner,
        }
    }

    /// Converts a point of the page to the display.
    fn at(&self, x: i32, y: i32) -> CapturePoint {
        self.corner + euclid_vector(x, y)
    }

    /// Performs an action and returns the page's events once `count` of this kind have arrived.
    async fn events_of(
        &self,
        action: Action<CapturePoint>,
        (kind, count): (&'static str, usize),
    ) -> Vec<Value> {
        let is_whole = page::has(kind, count);
        self.page.events_of(&self.driver, action, is_whole).await
    }
}

fn euclid_vector(x: i32, y: i32) -> motorium_proto::domain::geometry::CaptureSize {
    motorium_proto::domain::geometry::CaptureSize::new(x, y)
}

fn number(event: &Value, name: &str) -> i32 {
    i32::try_from(event[name].as_i64().unwrap()).unwrap()
}

fn click(at: CapturePoint, button: Button, count: u8, modifiers: &[Key]) -> Action<CapturePoint> {
    Action::Click {
        at: Some(at),
        button,
        count,
        modifiers: modifiers.to_vec(),
    }
}

#[tokio::test]
async fn clicks_have_the_requested_count_and_button() {
    let scene = PointerFixture::open().await;
    for count in 1..=3 {
        // At different points, so that consecutive gestures are not merged into one.
        let at = scene.at(200 * i32::from(count), 600);
        let gesture = click(at, Button::Left, count, &[]);
        let events = scene
            .events_of(gesture, ("mouseup", usize::from(count)))
            .await;
        let clicks: Vec<_> = of_kind(&events, "click")
            .iter()
            .map(|event| number(event, "detail"))
            .collect();
        assert_eq!(clicks, (1..=i32::from(count)).collect::<Vec<_>>());
        assert_eq!(of_kind(&events, "dblclick").len(), usize::from(count >= 2));
        assert_eq!(
            (
                number(of_kind(&events, "click")[0], "x"),
                number(of_kind(&events, "click")[0], "y")
            ),
            (200 * i32::from(count), 600)
        );
    }
    let events = scene
        .events_of(
            click(scene.at(150, 350), Button::Right, 1, &[]),
            ("contextmenu", 1),
        )
        .await;
    assert_eq!(of_kind(&events, "contextmenu").len(), 1);
    assert_eq!(of_kind(&events, "contextmenu")[0]["target"], "box");
    let events = scene
        .events_of(
            click(scene.at(30, 30), Button::Middle, 1, &[]),
            ("mouseup", 1),
        )
        .await;
    assert_eq!(number(of_kind(&events, "auxclick")[0], "button"), 1);
    let held = [Key::Control, Key::Shift];
    let events = scene
        .events_of(
            click(scene.at(30, 60), Button::Left, 1, &held),
            ("mouseup", 1),
        )
        .await;
    let seen = of_kind(&events, "click")[0];
    assert_eq!(
        (&seen["ctrl"], &seen["shift"], &seen["alt"]),
        (&true.into(), &true.into(), &false.into())
    );
}

/// Applications fuse two presses at one place within half a second, whichever process sent them.
#[tokio::test]
async fn consecutive_clicks_are_not_fused_into_a_double_click() {
    let scene = PointerFixture::open().await;
    let at = scene.at(30, 600);
    let single = || click(at, Button::Left, 1, &[]);
    let beside = CapturePoint::new(at.x + 3, at.y - 2);
    for action in [single(), single(), click(beside, Button::Left, 1, &[])] {
        perform(&scene.driver, action).await.unwrap();
    }
    // As another process: its driver has its own connection and no memory.
    let other = driver(&scene.desktop.display);
    let pressed = Action::MouseDown {
        at: Some(at),
        button: Button::Left,
    };
    let released = Action::MouseUp {
        at: None,
        button: Button::Left,
    };
    perform(&other, pressed).await.unwrap();
    perform(&other, released).await.unwrap();
    let four = || (of_kind(&scene.page.events(), "click").len() >= 4).then_some(());
    wait_for("four clicks", four).await;
    assert!(of_kind(&scene.page.events(), "dblclick").is_empty());
    let events = scene
        .events_of(click(at, Button::Left, 2, &[]), ("dblclick", 1))
        .await;
    let details = |events: &[Value]| -> Vec<i32> {
        let clicks = of_kind(events, "click");
        clicks.iter().map(|event| number(event, "detail")).collect()
    };
    assert_eq!(details(&events), [1, 2], "a wanted double click stays one");
    let events = scene.events_of(single(), ("click", 1)).await;
    assert_eq!(details(&events), [1]);
    assert!(of_kind(&events, "dblclick").is_empty());
}

#[tokio::test]
async fn clicks_of_one_kind_arrive_singly_in_a_row() {
    let scene = PointerFixture::open().await;
    let at = scene.at(30, 600);
    scene.page.clear();
    for _ in 0..3 {
        perform(&scene.driver, click(at, Button::Left, 1, &[]))
            .await
            .unwrap();
    }
    wait_for("three clicks", || {
        (of_kind(&scene.page.events(), "click").len() >= 3).then_some(())
    })
    .await;
    let events = scene.page.events();
    let details: Vec<_> = of_kind(&events, "click")
        .iter()
        .map(|event| number(event, "detail"))
        .collect();
    assert_eq!(details, [1, 1, 1]);
    assert!(of_kind(&events, "dblclick").is_empty());
}

#[tokio::test]
async fn the_side_buttons_reach_the_page() {
    let scene = PointerFixture::open().await;
    for (button, expected) in [(Button::Back, 3), (Button::Forward, 4)] {
        let at = scene.at(30, 600);
        let events = scene
            .events_of(click(at, button, 1, &[]), ("mouseup", 1))
            .await;
        assert_eq!(number(of_kind(&events, "mousedown")[0], "button"), expected);
    }
}

/// A list that is reordered by a long press: a drag without options moves its items, and one without a hold does not.
#[tokio::test]
async fn a_drag_holds_before_it_moves() {
    let scene = PointerFixture::open_page(page::LONG_PRESS_LIST).await;
    let drag = |hold| Action::Drag {
        path: vec![scene.at(100, 50), scene.at(100, 250)],
        button: Button::Left,
        modifiers: Vec::new(),
        duration: Some(Duration::from_millis(300)),
        hold,
    };
    let order = async |action| {
        let events = scene.events_of(action, ("order", 1)).await;
        let order = of_kind(&events, "order")[0]["order"].as_str();
        (order.unwrap().to_owned(), events)
    };
    let unmoved = "alpha beta gamma";
    assert_eq!(order(drag(Some(Duration::ZERO))).await.0, unmoved);
    let (moved, events) = order(drag(None)).await;
    assert_eq!(moved, "beta gamma alpha", "{events:?}");
    let (moved, events) = order(drag(Some(Duration::from_millis(600)))).await;
    assert_eq!(moved, "gamma alpha beta", "{events:?}");
}

/// A scaled page reports CSS pixels, each of which covers several display pixels. The offset between each click and
/// the page's corner must be constant within one CSS pixel.
#[tokio::test]
async fn clicks_land_on_their_pixel_at_every_scale() {
    for scale in [1.0, 1.25, 1.5, 2.0] {
        let mut desktop = Desktop::start("us").await;
        let driver = driver(&desktop.display);
        let page = Page::open_scaled(&mut desktop, page::POINTER, scale).await;
        let (mut corners_x, mut corners_y) = (Vec::new(), Vec::new());
        for nth in 0..40 {
            // All over the page, at every remainder of the scale.
            let at = CapturePoint::new(20 + nth * 29, 150 + nth * 37 % 500);
            page.clear();
            let clicked = perform(&driver, click(at, Button::Left, 1, &[])).await;
            assert_eq!(clicked.unwrap().pointer, Some(at));
            let what = format!("a click at {at:?}, scale {scale}");
            let seen = page.wait(&what, |event| event["kind"] == "mousedown").await;
            assert_eq!(seen["scale"].as_f64(), Some(scale));
            corners_x.push(f64::from(at.x) - seen["x"].as_f64().unwrap() * scale);
            corners_y.push(f64::from(at.y) - seen["y"].as_f64().unwrap() * scale);
        }
        for corners in [corners_x, corners_y] {
            let min = corners.iter().copied().fold(f64::MAX, f64::min);
            let max = corners.iter().copied().fold(f64::MIN, f64::max);
            assert!(max - min < scale, "{scale}: from {min} to {max}");
        }
    }
}

#[tokio::test]
async fn a_drag_is_followed_and_dropped() {
    let scene = PointerFixture::open().await;
    let path = vec![scene.at(150, 350), scene.at(300, 420), scene.at(350, 380)];
    let drag = |path| Action::Drag {
        path,
        button: Button::Left,
        modifiers: Vec::new(),
        duration: None,
        hold: None,
    };
    let events = scene.events_of(drag(path), ("mouseup", 1)).await;
    let (down, up) = (
        of_kind(&events, "mousedown")[0],
        of_kind(&events, "mouseup")[0],
    );
    assert_eq!((number(down, "x"), number(down, "y")), (150, 350));
    assert_eq!((number(up, "x"), number(up, "y")), (350, 380));
    let moved: Vec<_> = of_kind(&events, "mousemove")
        .into_iter()
        .filter(|event| number(event, "buttons") == 1)
        .collect();
    // The browser merges the moves of one frame, on a busy machine all of them; only the last is certain.
    let last = moved.last().expect("movements with the button down");
    assert_eq!((number(last, "x"), number(last, "y")), (350, 380));

    scene.page.clear();
    let to_target = drag(vec![scene.at(150, 150), scene.at(600, 400)]);
    perform(&scene.driver, to_target).await.unwrap();
    // The browser may ignore keys for a moment after a drop, so none is pressed here.
    let dropped = scene
        .page
        .wait("the drop", |event| event["kind"] == "drop")
        .await;
    assert_eq!(dropped["data"], "box");
    assert_eq!(of_kind(&scene.page.events(), "dragstart").len(), 1);
}

#[tokio::test]
async fn scrolling_goes_by_notches_on_both_axes() {
    let scene = PointerFixture::open().await;
    let total = |events: &[Value], axis: &str| {
        of_kind(events, "wheel")
            .iter()
            .map(|event| number(event, axis))
            .sum::<i32>()
    };
    for (amount, x, y) in [
        (ScrollAmount::Notches { x: 0, y: 3 }, 0, 360),
        (ScrollAmount::Notches { x: 2, y: 0 }, 240, 0),
        (ScrollAmount::Pixels { x: 0, y: -240 }, 0, -240),
        (ScrollAmount::Notches { x: -1, y: 12 }, -120, 1440),
    ] {
        let scroll = Action::Scroll {
            at: Some(scene.at(800, 100)),
            amount,
            modifiers: Vec::new(),
        };
        let both = |events: &[Value]| (total(events, "dx"), total(events, "dy"));
        let is_whole = |events: &[Value]| both(events) == (x, y);
        let events = scene.page.events_of(&scene.driver, scroll, is_whole).await;
        assert_eq!(both(&events), (x, y), "{amount:?}");
    }
}

#[tokio::test]
async fn a_held_button_stays_until_it_is_released() {
    let scene = PointerFixture::open().await;
    let (from, to) = (scene.at(150, 350), scene.at(250, 450));
    let down = Action::MouseDown {
        at: Some(from),
        button: Button::Left,
    };
    let events = scene.events_of(down, ("mousedown", 1)).await;
    assert_eq!(of_kind(&events, "mousedown").len(), 1);
    let events = scene.events_of(Action::Move { to }, ("mousemove", 1)).await;
    assert_eq!(
        number(of_kind(&events, "mousemove").last().unwrap(), "buttons"),
        1
    );
    let up = Action::MouseUp {
        at: None,
        button: Button::Left,
    };
    let events = scene.events_of(up, ("mouseup", 1)).await;
    assert_eq!(number(of_kind(&events, "mouseup")[0], "x"), 250);
}

#[tokio::test]
async fn pointer_is_read_back_and_never_leaves_the_screen() {
    let (_server, display) = start_server(800, 600);
    let driver = driver(&display);
    assert_eq!(
        (
            driver.size().await.unwrap().width,
            driver.size().await.unwrap().height
        ),
        (800, 600)
    );
    for (x, y) in [(0, 0), (799, 599), (400, 300)] {
        let performed = perform(
            &driver,
            Action::Move {
                to: CapturePoint::new(x, y),
            },
        )
        .await
        .unwrap();
        assert_eq!(performed.pointer, Some(CapturePoint::new(x, y)));
    }
    for (x, y) in [(800, 0), (0, 600), (-1, 5), (70_000, 5)] {
        let point = CapturePoint::new(x, y);
        for action in [
            Action::Move { to: point },
            click(point, Button::Left, 1, &[Key::Control]),
            Action::Drag {
                path: vec![CapturePoint::new(1, 1), point],
                button: Button::Left,
                modifiers: Vec::new(),
                duration: None,
                hold: None,
            },
        ] {
            let failure = perform(&driver, action).await.unwrap_err();
            assert!(
                matches!(failure.error, Error::OutOfBounds { .. }),
                "{failure}"
            );
            assert!(!failure.input_sent);
        }
    }
    assert_eq!(
        driver.pointer().await.unwrap(),
        CapturePoint::new(400, 300),
        "the pointer did not move"
    );
    let four = click(CapturePoint::new(1, 1), Button::Left, 4, &[]);
    assert!(matches!(
        perform(&driver, four).await.unwrap_err().error,
        Error::InvalidAction { .. }
    ));
}
