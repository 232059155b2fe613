//! Conformance suite of all drivers.

use motorium_executor::drivers::x11::{Options, X11Driver};
use motorium_executor::drivers::{Driver, Error};
use motorium_proto::domain::action::{Action, Button, ScrollAmount};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

use crate::support::Desktop;
use crate::support::page::{self, Page};
use crate::{chord, perform, type_text};

/// Text that needs no remapping, with common sources of errors: capitals, characters on other levels, a line break.
const TEXT: &str = "Sphinx of black QUARTZ, judge my vow: {[()]} ~@#$%^&*_+|\\/<>?\n42 times";

/// Scales that desktops offer, as overrides of a driver.
const SCALES: [f64; 3] = [1.25, 1.5, 2.0];

#[tokio::test]
async fn x11() {
    let mut desktop = Desktop::start("us").await;
    let driver = crate::driver(&desktop.display);
    conforms(&mut desktop, &driver).await;
    for scale in SCALES {
        let options = Options {
            scale: Some(scale),
            ..crate::options(&desktop.display)
        };
        let scaled = X11Driver::start(options).unwrap();
        input_is_divided_by_the_scale(&driver, &scaled, scale).await;
    }
}

#[cfg(feature = "driver-enigo")]
#[tokio::test]
async fn enigo() {
    use motorium_executor::drivers::launch::Launcher;
    use motorium_executor::drivers::portable::{Options, PortableDriver};

    let mut desktop = Desktop::start("us").await;
    let options = Options {
        display: desktop.display.clone(),
        display_timeout: std::time::Duration::from_secs(5),
        scale: None,
        launcher: Launcher::default(),
    };
    let driver = PortableDriver::start(options.clone()).unwrap();
    conforms(&mut desktop, &driver).await;
    for scale in SCALES {
        let options = Options {
            scale: Some(scale),
            ..options.clone()
        };
        let scaled = PortableDriver::start(options).unwrap();
        input_is_divided_by_the_scale(&driver, &scaled, scale).await;
    }
}

async fn conforms(desktop: &mut Desktop, driver: &dyn Driver) {
    text_and_chords(desktop, driver).await;
    pointer(desktop, driver).await;
}

async fn text_and_chords(desktop: &mut Desktop, driver: &dyn Driver) {
    let page = Page::open(desktop, page::TEXT).await;
    perform(driver, type_text(TEXT)).await.unwrap();
    assert_eq!(received(driver, &page).await, TEXT);
    perform(driver, type_text("unwanted")).await.unwrap();
    perform(driver, chord("ctrl+a")).await.unwrap();
    perform(driver, chord("Delete")).await.unwrap();
    perform(driver, type_text("wanted")).await.unwrap();
    assert_eq!(received(driver, &page).await, "wanted");
    perform(driver, chord("alt+F4")).await.unwrap();
}

/// Returns and clears the content of the text area.
async fn received(driver: &dyn Driver, page: &Page) -> String {
    page.clear();
    perform(driver, chord("f9")).await.unwrap();
    let report = page
        .wait("the page's text", |event| event["kind"] == "text")
        .await;
    report["value"].as_str().unwrap().to_owned()
}

async fn pointer(desktop: &mut Desktop, driver: &dyn Driver) {
    let page = Page::open(desktop, page::POINTER).await;
    let to = CapturePoint::new(400, 450);
    let click = |button, count| Action::Click {
        at: Some(to),
        button,
        count,
        modifiers: Vec::new(),
    };
    for (button, count, kind, detail) in [
        (Button::Left, 1, "click", 1),
        (Button::Left, 2, "dblclick", 2),
        (Button::Right, 1, "contextmenu", 0),
        (Button::Middle, 1, "auxclick", 1),
    ] {
        let is_whole = page::has("mouseup", usize::from(count));
        let events = page.events_of(driver, click(button, count), is_whole).await;
        let last = events.iter().rfind(|event| event["kind"] == kind);
        let last = last.unwrap_or_else(|| panic!("no {kind} in {events:?}"));
        assert_eq!(last["detail"], detail, "{events:?}");
    }
    let scroll = Action::Scroll {
        at: Some(to),
        amount: ScrollAmount::Notches { x: 0, y: 2 },
        modifiers: Vec::new(),
    };
    let events = page.events_of(driver, scroll, page::has("wheel", 1)).await;
    let down: i64 = events.iter().filter_map(|event| event["dy"].as_i64()).sum();
    assert!(down > 0, "{events:?}");

    assert_eq!(driver.pointer().await.unwrap(), to);
    let outside = Action::Move {
        to: CapturePoint::new(5_000, 10),
    };
    let failure = perform(driver, outside).await.unwrap_err();
    assert!(
        matches!(failure.error, Error::OutOfBounds { .. }),
        "{failure}"
    );
    assert_eq!(driver.pointer().await.unwrap(), to);
}

/// Both drivers are of one display. The plain one tells where the pointer is in the display's own coordinates.
async fn input_is_divided_by_the_scale(plain: &dyn Driver, scaled: &dyn Driver, scale: f64) {
    let size = plain.size().await.unwrap();
    let in_pixels = (size.to_f64() * scale).round().to_i32();
    assert_eq!(scaled.size().await.unwrap(), in_pixels);
    let last = CapturePoint::new(in_pixels.width - 1, in_pixels.height - 1);
    let aims = (0..10).map(|step| CapturePoint::new(400 + step, 300 + 3 * step));
    for to in aims.chain([CapturePoint::zero(), last]) {
        let outcome = perform(scaled, Action::Move { to }).await.unwrap();
        assert_eq!(outcome.pointer, Some(to), "scale {scale}");
        assert_eq!(scaled.pointer().await.unwrap(), to, "scale {scale}");
        let at = plain.pointer().await.unwrap();
        // Half an input coordinate from the centre of the pixel; a whole one in the last row and column.
        let off =
            at.to_f64() - (to.to_f64() + CapturePoint::splat(1).to_f64().to_vector() * 0.5) / scale;
        let tolerance = if to == last { 1.0 } else { 0.5 };
        assert!(
            off.x.abs() <= tolerance && off.y.abs() <= tolerance,
            "scale {scale}: {to:?} at {at:?}"
        );
    }
    let to = CapturePoint::from(in_pixels.to_tuple());
    let failure = perform(scaled, Action::Move { to }).await.unwrap_err();
    let size = CaptureSize::from(in_pixels);
    assert_eq!(failure.error, Error::OutOfBounds { point: to, size });
}
