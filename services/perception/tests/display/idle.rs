//! Waiting for idle on real screens: typing, animation, carets, and servers that fail during the wait.

use std::time::Duration;

use motorium_perception::capture::{CaptureOptions, Screen as _};
use motorium_perception::error::Error;
use motorium_perception::settle::wait_for_idle;
use motorium_proto::domain::frame::Window;
use motorium_proto::service::WaitForIdleRequest;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep};

use crate::support::{Client, Desktop, TEST_TIMEOUT, at, pattern};

fn request() -> WaitForIdleRequest {
    // Longer than the defaults, so that load on the machine does not affect the outcome.
    WaitForIdleRequest {
        first_change_timeout: Duration::from_millis(1500),
        idle_duration: Duration::from_millis(500),
        timeout: Duration::from_secs(8),
        ..WaitForIdleRequest::default()
    }
}

/// Delays missed ticks instead of catching up: three blinks of a caret at once would count as an animation.
fn every(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

#[tokio::test]
async fn a_screen_on_which_nothing_happens() {
    let desktop = Desktop::start();
    let quiet = wait_for_idle(&desktop.screen(), None, &request())
        .await
        .unwrap();
    assert!(quiet.settled && !quiet.changed, "{quiet:?}");
    assert_eq!(quiet.first_change_after, None);
    assert!(quiet.elapsed >= request().first_change_timeout, "{quiet:?}");
}

#[tokio::test]
async fn small_spinner_keeps_the_screen_from_settling() {
    let desktop = Desktop::start();
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    let dot = pattern(6, 6, 1);
    let window = client.show(&image::RgbaImage::new(40, 40), 100, 100);
    let request = request();
    let turn = async {
        // Each position differs from the previous one by two dots of 36 pixels, which individually are ignored.
        let mut positions = [(2, 2), (20, 2), (32, 16), (20, 32), (2, 32), (2, 16)]
            .into_iter()
            .cycle();
        let (mut left, mut top) = positions.next().unwrap();
        let mut ticks = every(Duration::from_millis(40));
        loop {
            client.draw(window, &image::RgbaImage::new(6, 6), left, top);
            (left, top) = positions.next().unwrap();
            client.draw(window, &dot, left, top);
            ticks.tick().await;
        }
    };
    let quiet = tokio::select! {
        quiet = wait_for_idle(&screen, None, &request) => quiet.unwrap(),
        () = turn => unreachable!("it turns forever"),
    };
    assert!(!quiet.settled, "{quiet:?}");
}

#[tokio::test]
async fn identical_small_redraws_do_not_prevent_settling() {
    let desktop = Desktop::start();
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    let window = client.show(&image::RgbaImage::new(40, 40), 100, 100);
    let tick = pattern(6, 6, 1);
    let request = request();
    let draw = async {
        let mut ticks = every(Duration::from_millis(30));
        loop {
            ticks.tick().await;
            client.draw(window, &tick, 10, 10);
        }
    };
    let quiet = tokio::select! {
        quiet = wait_for_idle(&screen, None, &request) => quiet.unwrap(),
        () = draw => unreachable!("it is drawn forever"),
    };
    assert!(quiet.settled && !quiet.changed, "{quiet:?}");
    assert!(quiet.background_motion.is_empty(), "{quiet:?}");
}

/// A fade with individually insignificant steps is still a change, and the screen is idle only after it.
#[tokio::test]
async fn slow_fade_is_waited_for() {
    let desktop = Desktop::start();
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    let shaded =
        |shade: u8| image::RgbaImage::from_pixel(200, 100, image::Rgba([shade, shade, shade, 255]));
    let window = client.show(&shaded(0), 100, 100);
    let request = request();
    let fade = async {
        let mut ticks = every(Duration::from_millis(20));
        for shade in (0..=250).step_by(5) {
            ticks.tick().await;
            client.draw(window, &shaded(shade), 0, 0);
        }
        tokio::time::Instant::now()
    };
    let waiting = async {
        let quiet = wait_for_idle(&screen, None, &request).await.unwrap();
        (quiet, tokio::time::Instant::now())
    };
    let ((quiet, quiet_at), faded_at) = tokio::join!(waiting, fade);
    assert!(quiet.settled && quiet.changed, "{quiet:?}");
    assert!(quiet_at > faded_at, "it was still fading: {quiet:?}");
}

#[tokio::test]
async fn opening_window_settles_after_its_last_change() {
    let desktop = Desktop::start();
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    let act = async {
        sleep(Duration::from_millis(300)).await;
        client.show(&pattern(200, 100, 5), 50, 50);
        sleep(Duration::from_millis(80)).await;
        let last_drawn_at = Instant::now();
        client.show(&pattern(200, 100, 6), 300, 50);
        last_drawn_at
    };
    let request = request();
    let waiting = async {
        let quiet = wait_for_idle(&screen, None, &request).await.unwrap();
        (quiet, Instant::now())
    };
    let ((quiet, quiet_at), last_drawn_at) = tokio::join!(waiting, act);
    assert!(quiet.settled && quiet.changed, "{quiet:?}");
    let first = quiet.first_change_after.unwrap();
    assert!(
        first >= Duration::from_millis(300) && first < quiet.elapsed,
        "{quiet:?}"
    );
    let rested = quiet_at - last_drawn_at;
    assert!(
        rested >= request.idle_duration,
        "after {rested:?}: {quiet:?}"
    );
    assert!(quiet.still_changing.is_empty());
}

#[tokio::test]
async fn animation_times_out_with_its_region() {
    let desktop = Desktop::start();
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    let window = client.show(&pattern(60, 60, 0), 400, 300);
    let animate = async {
        let mut ticks = every(Duration::from_millis(20));
        for seed in 1.. {
            ticks.tick().await;
            client.draw(window, &pattern(60, 60, seed), 0, 0);
        }
    };
    let request = WaitForIdleRequest {
        timeout: Duration::from_secs(3),
        ..request()
    };
    let quiet = tokio::select! {
        quiet = wait_for_idle(&screen, None, &request) => quiet.unwrap(),
        () = animate => unreachable!("the animation does not end"),
    };
    assert!(!quiet.settled && quiet.changed, "{quiet:?}");
    assert_eq!(quiet.still_changing, [at(400, 300, 60, 60)]);
    // The same screen is idle if that region is ignored.
    let ignoring = WaitForIdleRequest {
        ignore: vec![at(395, 295, 70, 70)],
        ..request
    };
    let animate = async {
        let mut ticks = every(Duration::from_millis(20));
        for seed in 1.. {
            ticks.tick().await;
            client.draw(window, &pattern(60, 60, seed), 0, 0);
        }
    };
    let quiet = tokio::select! {
        quiet = wait_for_idle(&screen, None, &ignoring) => quiet.unwrap(),
        () = animate => unreachable!("the animation does not end"),
    };
    assert!(quiet.settled && !quiet.changed, "{quiet:?}");
}

#[tokio::test]
async fn a_caret_does_not_count() {
    let desktop = Desktop::start();
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    let caret = client.show(&pattern(3, 18, 1), 100, 100);
    let blink = async {
        let mut ticks = every(Duration::from_millis(250));
        for seed in 1.. {
            ticks.tick().await;
            client.draw(caret, &pattern(3, 18, seed), 0, 0);
        }
    };
    let request = request();
    let quiet = tokio::select! {
        quiet = wait_for_idle(&screen, None, &request) => quiet.unwrap(),
        () = blink => unreachable!("the caret does not stop"),
    };
    assert!(quiet.settled && !quiet.changed, "{quiet:?}");
    assert_eq!(quiet.background_motion.len(), 1, "{quiet:?}");
    assert!(
        at(100, 100, 3, 18).contains_box(&quiet.background_motion[0]),
        "{quiet:?}"
    );
}

#[tokio::test]
async fn identical_redraws_are_not_changes() {
    let desktop = Desktop::start();
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    let image = pattern(200, 200, 7);
    let window = client.show(&image, 100, 100);
    let redraw = async {
        let mut ticks = every(Duration::from_millis(20));
        loop {
            ticks.tick().await;
            client.draw(window, &image, 0, 0);
        }
    };
    let request = request();
    let quiet = tokio::select! {
        quiet = wait_for_idle(&screen, None, &request) => quiet.unwrap(),
        () = redraw => unreachable!("the drawing does not end"),
    };
    assert!(quiet.settled && !quiet.changed, "{quiet:?}");
}

#[tokio::test]
async fn display_failure_during_a_wait_is_an_error() {
    let mut desktop = Desktop::start();
    let screen = desktop.screen();
    screen.capture(CaptureOptions::default()).await.unwrap();
    let request = request();
    let die = async {
        sleep(Duration::from_millis(100)).await;
        desktop.kill();
    };
    let started = Instant::now();
    let (quiet, ()) = tokio::join!(wait_for_idle(&screen, None, &request), die);
    assert!(matches!(quiet.unwrap_err(), Error::DisplayLost { .. }));
    assert!(started.elapsed() < Duration::from_secs(5));

    let desktop = Desktop::start();
    let screen = desktop.screen();
    screen.capture(CaptureOptions::default()).await.unwrap();
    let stop = async {
        sleep(Duration::from_millis(100)).await;
        desktop.suspend();
    };
    let (quiet, ()) = tokio::join!(wait_for_idle(&screen, None, &request), stop);
    assert!(matches!(quiet.unwrap_err(), Error::DisplayTimedOut { .. }));
}

#[tokio::test]
async fn typing_into_an_editor_with_a_blinking_caret() {
    /// Keycode of `a` on the keyboards that X servers emulate.
    const KEY_A: u8 = 38;
    let mut desktop = Desktop::start_large().await;
    desktop.run("mousepad", &["--disable-server"]);
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    let deadline = Instant::now() + TEST_TIMEOUT;
    let is_ready = |windows: &[Window]| {
        windows
            .iter()
            .any(|window| window.active && window.application == "Mousepad")
    };
    while !is_ready(&screen.windows().await.unwrap()) {
        assert!(Instant::now() < deadline, "the editor did not open");
        sleep(Duration::from_millis(20)).await;
    }
    wait_for_idle(&screen, None, &request()).await.unwrap();
    let request = WaitForIdleRequest {
        first_change_timeout: TEST_TIMEOUT / 2,
        timeout: TEST_TIMEOUT,
        ..request()
    };
    for _ in 0..3 {
        let typing = async {
            for _ in 0..10 {
                client.tap(KEY_A);
                sleep(Duration::from_millis(30)).await;
            }
            Instant::now()
        };
        let waiting = async {
            let quiet = wait_for_idle(&screen, None, &request).await.unwrap();
            (quiet, Instant::now())
        };
        let ((quiet, quiet_at), typed_at) = tokio::join!(waiting, typing);
        assert!(quiet.changed && quiet.settled, "{quiet:?}");
        assert!(
            quiet_at > typed_at,
            "idle before the typing ended: {quiet:?}"
        );
    }
}
