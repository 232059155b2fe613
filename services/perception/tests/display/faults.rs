//! Display servers that stop, die, restart and resize: the right error within the timeout, and recovery afterwards.

use std::future::Future;
use std::time::Duration;

use motorium_perception::capture::x11::X11Screen;
use motorium_perception::capture::{Area, CaptureOptions, Screen as _};
use motorium_perception::error::Error;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::domain::id::DisplayId;
use tokio::time::timeout;

use crate::support::{CALL_TIMEOUT, Client, Desktop, TEST_TIMEOUT, at, pattern};

/// Fails if a call takes longer than its timeout plus a margin.
async fn in_time<T>(call: impl Future<Output = T>) -> T {
    timeout(CALL_TIMEOUT + Duration::from_secs(3), call)
        .await
        .expect("the call took too long")
}

fn whole() -> CaptureOptions {
    CaptureOptions::default()
}

#[tokio::test]
async fn a_display_that_is_not_there_is_named() {
    let check = async |name: &str, part: &str| {
        let opened = X11Screen::new(DisplayId::new(name), CALL_TIMEOUT, None);
        let error = match opened {
            Ok(screen) => in_time(screen.capture(whole())).await.unwrap_err(),
            Err(error) => error,
        };
        let is_named = matches!(
            error,
            Error::DisplayNotFound { .. } | Error::DisplayUnavailable { .. }
        );
        assert!(is_named, "{name}: {error}");
        assert!(error.to_string().contains(part), "{name}: {error}");
    };
    check(":54321", "no server is listening").await;
    check("", "must have the form").await;
    check("desk", "must have the form").await;
    // A request must not make the service connect to another host.
    check("example.com:0", "only local displays").await;
    check("tcp/localhost:0", "only local displays").await;
}

#[tokio::test]
async fn a_stopped_server_times_out_and_is_used_again_when_it_goes_on() {
    let desktop = Desktop::start();
    let screen = desktop.screen();
    in_time(screen.capture(whole())).await.unwrap();
    desktop.suspend();
    // Several calls at once, all waiting for the same server.
    let (first, second, third) = tokio::join!(
        in_time(screen.capture(whole())),
        in_time(screen.windows()),
        in_time(screen.cursor_position()),
    );
    for error in [first.unwrap_err(), second.unwrap_err(), third.unwrap_err()] {
        assert!(matches!(error, Error::DisplayTimedOut { .. }), "{error}");
    }
    // A screen that was never connected.
    let error = in_time(desktop.screen().describe()).await.unwrap_err();
    assert!(matches!(error, Error::DisplayTimedOut { .. }), "{error}");
    desktop.resume();
    in_time(screen.capture(whole())).await.unwrap();
}

#[tokio::test]
async fn a_server_that_dies_is_lost_and_found_again() {
    let mut desktop = Desktop::start();
    let screen = desktop.screen();
    in_time(screen.capture(whole())).await.unwrap();
    desktop.kill();
    for _ in 0..2 {
        let error = in_time(screen.capture(whole())).await.unwrap_err();
        assert!(matches!(error, Error::DisplayLost { .. }), "{error}");
    }
    desktop.restart();
    let expected = pattern(800, 600, 3);
    Client::connect(&desktop.display).show(&expected, 0, 0);
    let shot = in_time(screen.capture(whole())).await.unwrap();
    assert_eq!(shot.pixels.dimensions(), (800, 600));
}

#[tokio::test]
async fn display_loss_ends_a_change_watch() {
    let mut desktop = Desktop::start();
    let screen = desktop.screen();
    let mut changes = screen.watch().await.unwrap();
    desktop.kill();
    let error = in_time(changes.next()).await.unwrap_err();
    assert!(matches!(error, Error::DisplayLost { .. }), "{error}");
    desktop.restart();
    screen.watch().await.unwrap();
}

#[tokio::test]
async fn resized_display_is_captured_at_its_new_size() {
    let mut desktop = Desktop::start_resizable();
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    assert_eq!(
        screen.capture(whole()).await.unwrap().pixels.dimensions(),
        (800, 600)
    );
    for (mode, width, height) in [
        ("1280x720", 1280, 720),
        ("640x480", 640, 480),
        ("1920x1080", 1920, 1080),
    ] {
        desktop.run_to_end("xrandr", &["-s", mode]);
        let expected = pattern(width, height, width);
        let window = client.show(&expected, 0, 0);
        let shot = in_time(screen.capture(whole())).await.unwrap();
        assert!(*shot.pixels == expected, "{mode}");
        let display = screen.describe().await.unwrap();
        assert_eq!(display.size.to_u32().to_tuple(), (width, height));
        assert_eq!(display.monitors[0].bounds.size(), display.size);
        client.close(window);
    }
}

#[tokio::test]
async fn the_cursor_is_handed_out_beside_the_pixels() {
    let desktop = Desktop::start();
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    for (x, y) in [(400, 300), (0, 0), (799, 599)] {
        client.move_pointer(x, y);
        let place = CapturePoint::new(x.into(), y.into());
        assert_eq!(screen.cursor_position().await.unwrap(), Some(place));
        let cursor = screen.capture(whole()).await.unwrap().cursor.unwrap();
        assert_eq!(cursor.position, place);
        assert!(
            cursor.argb.iter().any(|pixel| pixel >> 24 == 0xFF),
            "the cursor has no opaque pixel"
        );
        // A region outside the cursor still reports its position.
        let region = CaptureOptions {
            area: Area::Region(at(100, 100, 10, 10)),
            list_windows: false,
            precise_window_list: false,
        };
        assert_eq!(
            screen
                .capture(region)
                .await
                .unwrap()
                .cursor
                .unwrap()
                .position,
            place
        );
    }
}

#[tokio::test]
async fn scale_comes_from_the_desktop_or_the_configuration() {
    let desktop = Desktop::start();
    let client = Client::connect(&desktop.display);
    let screen = desktop.screen();
    client.set_resources("Xft.antialias: 1\nXft.dpi: 144\n");
    let display = screen.describe().await.unwrap();
    assert_eq!(
        (display.scale, display.size),
        (1.5, CaptureSize::new(800, 600))
    );
    assert!((display.logical_size.width - 533.33).abs() < 0.01);
    let configured = X11Screen::new(desktop.id(), CALL_TIMEOUT, Some(2.0)).unwrap();
    assert_eq!(configured.describe().await.unwrap().scale, 2.0);
}

#[tokio::test]
async fn popups_and_dialogs_are_windows_too() {
    let mut desktop = Desktop::start();
    desktop.start_window_manager().await;
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    let parent = client.open(&crate::support::NewWindow {
        bounds: (20, 40, 400, 300),
        title: "Document",
        class: "Editor",
        ..Default::default()
    });
    let dialog = client.open(&crate::support::NewWindow {
        bounds: (60, 80, 200, 100),
        title: "Save changes?",
        class: "Editor",
        modal_for: Some(parent),
        ..Default::default()
    });
    let popup = client.show(&pattern(120, 150, 4), 500, 100);
    let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
    let windows = loop {
        let windows = screen.windows().await.unwrap();
        let is_there = |id: u32| windows.iter().any(|window| window.id == format!("{id:#x}"));
        // The window manager creates its own bar asynchronously.
        if [parent, dialog, popup].into_iter().all(is_there)
            && windows.iter().any(|window| window.active)
            && windows.iter().any(|window| window.application == "TaskBar")
        {
            break windows;
        }
        assert!(tokio::time::Instant::now() < deadline, "{windows:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let find = |id: u32| {
        windows
            .iter()
            .find(|window| window.id == format!("{id:#x}"))
            .unwrap()
    };
    assert!(find(dialog).modal && !find(parent).modal && !find(popup).modal);
    assert!(find(dialog).active);
    assert_eq!(find(popup).bounds, at(500, 100, 120, 150));
    let place = |id: u32| {
        windows
            .iter()
            .position(|window| window.id == format!("{id:#x}"))
            .unwrap()
    };
    assert!(
        place(dialog) < place(parent),
        "a dialog lies above its parent: {windows:?}"
    );

    // The window manager's bar is identified by its content, not by its frame.
    assert!(
        windows.iter().all(|window| window.title != "Frame"),
        "{windows:?}"
    );

    // A window's content can be captured by its id, including pop-ups.
    let area = Area::Window(format!("{popup:#x}"));
    let shot = screen
        .capture(CaptureOptions {
            area,
            list_windows: false,
            precise_window_list: false,
        })
        .await
        .unwrap();
    assert!(*shot.pixels == pattern(120, 150, 4));
}
