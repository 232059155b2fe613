//! Conformance suite of [`Screen`], run for each implementation.

use image::imageops;
use motorium_perception::capture::{Area, CaptureOptions, Screen};
use motorium_perception::error::Error;
use motorium_proto::domain::geometry::CaptureSize;
use tokio::time::timeout;

use crate::support::{Client, Desktop, NewWindow, TEST_TIMEOUT, at, pattern};

fn whole() -> CaptureOptions {
    CaptureOptions::default()
}

fn part(area: Area) -> CaptureOptions {
    CaptureOptions {
        area,
        list_windows: false,
        precise_window_list: false,
    }
}

/// Runs the suite on a display of 800×600 with a window manager and no other window.
async fn conforms(screen: &dyn Screen, client: &Client) {
    describes(screen).await;
    lists_windows(screen, client).await;
    captures_pixel_by_pixel(screen, client).await;
    refuses_unknown_capture_areas(screen).await;
    reports_changes(screen, client).await;
}

async fn describes(screen: &dyn Screen) {
    let display = screen.describe().await.unwrap();
    assert_eq!(display.id, *screen.id());
    assert_eq!(display.size, CaptureSize::new(800, 600));
    assert_eq!(display.monitors.len(), 1);
    assert_eq!(display.monitors[0].bounds, at(0, 0, 800, 600));
    assert!(display.monitors[0].primary);
    assert!((display.scale - 1.0).abs() < f64::EPSILON);
}

async fn lists_windows(screen: &dyn Screen, client: &Client) {
    let lower = client.open(&NewWindow {
        bounds: (50, 60, 300, 200),
        title: "发票 – Invoice",
        class: "Ledger",
        ..NewWindow::default()
    });
    listed(screen, "the first window", |titles| titles.len() == 1).await;
    let upper = client.open(&NewWindow {
        bounds: (200, 100, 300, 200),
        title: "Upper",
        class: "Other",
        ..NewWindow::default()
    });
    listed(screen, "the second window on top", |titles| {
        titles == ["Upper", "发票 – Invoice"]
    })
    .await;
    client.raise(lower);
    listed(screen, "the first window on top", |titles| {
        titles == ["发票 – Invoice", "Upper"]
    })
    .await;

    let windows = screen.windows().await.unwrap();
    let found = windows
        .iter()
        .find(|window| window.title == "发票 – Invoice")
        .unwrap();
    assert_eq!(found.application, "Ledger");
    assert_eq!(found.process, Some(std::process::id()));
    assert_eq!(found.bounds.size(), CaptureSize::new(300, 200));
    assert!(!found.minimised);

    client.minimise(lower);
    let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
    loop {
        let windows = screen.windows().await.unwrap();
        // A minimised window may be listed as minimised or omitted, but not as open.
        let is_open = |title: &str| {
            windows
                .iter()
                .any(|window| window.title == title && !window.minimised)
        };
        if is_open("Upper") && !is_open("发票 – Invoice") {
            break;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "still open: {windows:?}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    client.close(lower);
    client.close(upper);
    listed(screen, "no window", |titles| titles.is_empty()).await;
}

/// Waits until the titles of the test windows, topmost first, satisfy `condition`.
async fn listed(screen: &dyn Screen, what: &str, condition: impl Fn(&[&str]) -> bool) {
    let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
    loop {
        let windows = screen.windows().await.unwrap();
        let ours = windows
            .iter()
            .filter(|window| ["Ledger", "Other"].contains(&window.application.as_str()));
        let titles: Vec<_> = ours.map(|window| window.title.as_str()).collect();
        if condition(&titles) {
            return;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "timed out waiting for {what}: {windows:?}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn captures_pixel_by_pixel(screen: &dyn Screen, client: &Client) {
    let expected = pattern(800, 600, 1);
    let window = client.show(&expected, 0, 0);
    // The pointer is inside the area and must not be in the pixels.
    client.move_pointer(400, 300);

    let shot = screen.capture(whole()).await.unwrap();
    assert_eq!(shot.bounds, at(0, 0, 800, 600));
    assert!(
        *shot.pixels == expected,
        "the capture differs from what was drawn"
    );

    let monitor = screen.describe().await.unwrap().monitors[0].name.clone();
    let shot = screen.capture(part(Area::Monitor(monitor))).await.unwrap();
    assert!(*shot.pixels == expected);

    let shot = screen
        .capture(part(Area::Region(at(101, 53, 77, 31))))
        .await
        .unwrap();
    assert_eq!(shot.bounds, at(101, 53, 77, 31));
    assert!(*shot.pixels == imageops::crop_imm(&expected, 101, 53, 77, 31).to_image());

    let shot = screen
        .capture(part(Area::Region(at(790, -20, 100, 40))))
        .await
        .unwrap();
    assert_eq!(shot.bounds, at(790, 0, 10, 20));
    assert!(*shot.pixels == imageops::crop_imm(&expected, 790, 0, 10, 20).to_image());
    client.close(window);
}

async fn refuses_unknown_capture_areas(screen: &dyn Screen) {
    let outside = screen
        .capture(part(Area::Region(at(800, 0, 10, 10))))
        .await
        .unwrap_err();
    assert!(matches!(outside, Error::RegionOutside { .. }), "{outside}");
    let monitor = screen
        .capture(part(Area::Monitor("no such".to_owned())))
        .await
        .unwrap_err();
    assert!(
        matches!(monitor, Error::MonitorNotFound { .. }),
        "{monitor}"
    );
    let window = screen
        .capture(part(Area::Window("0xfff".to_owned())))
        .await
        .unwrap_err();
    assert!(matches!(window, Error::WindowNotFound { .. }), "{window}");
}

async fn reports_changes(screen: &dyn Screen, client: &Client) {
    let mut changes = screen.watch().await.unwrap();
    let window = client.show(&pattern(40, 30, 2), 300, 200);
    let drawn = at(300, 200, 40, 30);
    let covered = async {
        loop {
            let change = changes.next().await.unwrap();
            if change
                .regions
                .iter()
                .any(|region| region.contains_box(&drawn))
            {
                return;
            }
        }
    };
    timeout(TEST_TIMEOUT, covered)
        .await
        .expect("what was drawn was not reported");
    client.close(window);
}

#[tokio::test]
async fn x11() {
    let mut desktop = Desktop::start();
    desktop.start_window_manager().await;
    conforms(&desktop.screen(), &Client::connect(&desktop.display)).await;
}

#[tokio::test]
async fn x11_without_extensions() {
    let mut desktop = Desktop::start_on(
        "Xvfb",
        &[
            "-screen",
            "0",
            "800x600x24",
            "-extension",
            "MIT-SHM",
            "-extension",
            "DAMAGE",
            "-extension",
            "RANDR",
        ],
    );
    desktop.start_window_manager().await;
    conforms(&desktop.screen(), &Client::connect(&desktop.display)).await;
}

#[tokio::test]
async fn x11_on_tigervnc() {
    let mut desktop = Desktop::start_resizable();
    desktop.start_window_manager().await;
    conforms(&desktop.screen(), &Client::connect(&desktop.display)).await;
}

/// Environment variable that marks the process of the portable driver.
#[cfg(feature = "driver-xcap")]
const CHILD: &str = "MOTORIUM_TEST_PORTABLE_CHILD";

/// The library reads its display from the environment, so the suite runs in a separate process.
#[cfg(feature = "driver-xcap")]
#[tokio::test]
async fn portable() {
    use motorium_perception::capture::portable::PortableScreen;

    if std::env::var_os(CHILD).is_some() {
        let display = std::env::var("DISPLAY").unwrap();
        let id = motorium_proto::domain::id::DisplayId::new(display.clone());
        let screen = PortableScreen::new(id, crate::support::CALL_TIMEOUT, None).unwrap();
        return conforms(&screen, &Client::connect(&display)).await;
    }
    let mut desktop = Desktop::start();
    desktop.start_window_manager().await;
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["conformance::portable", "--exact", "--nocapture"])
        .env(CHILD, "1")
        .env("DISPLAY", &desktop.display)
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
