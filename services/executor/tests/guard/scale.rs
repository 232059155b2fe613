//! Clicks on displays whose input coordinates differ from the pixels that were captured.

use std::path::Path;
use std::sync::Arc;

use motorium_executor::config::{Config, Settings};
use motorium_executor::desktop::Desktop;
use motorium_executor::drivers::recording::{Options, RecordingDriver};
use motorium_executor::{ExecutorService, InProcessExecutor};
use motorium_imaging::space::{LogicalRect, PlatformMonitor};
use motorium_proto::domain::action::{Action, Button};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize, LogicalPoint, LogicalSize};
use motorium_proto::domain::id::DisplayId;
use motorium_proto::service::{AcquireRequest, Executor};

use crate::{TTL, Transport, parts, reach, request};

fn click(x: i32, y: i32) -> Action<CapturePoint> {
    Action::Click {
        at: Some(CapturePoint::new(x, y)),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
    }
}

async fn acquire(executor: &dyn Executor) -> Lease {
    let request = AcquireRequest {
        display: None,
        holder: "a".to_owned(),
        ttl: TTL,
        take_over: true,
        tenant: None,
    };
    executor.acquire_desktop(request).await.unwrap()
}

/// Clicks once per point, and returns where the display was sent each click. The outcome names the pixel.
async fn clicks(executor: &dyn Executor, file: &Path, pixels: &[(i32, i32)]) -> Vec<(i32, i32)> {
    let lease = acquire(executor).await;
    for (nth, &(x, y)) in pixels.iter().enumerate() {
        let id = format!("{}-{nth}", lease.epoch.0);
        let outcome = executor
            .perform(request(lease.epoch.0, &id, click(x, y)))
            .await
            .unwrap();
        assert_eq!(outcome.result, ActionResult::Performed, "{outcome:?}");
        assert_eq!(outcome.pointer, Some(CapturePoint::new(x, y)));
    }
    let lines = std::fs::read_to_string(file).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let sent: Vec<(i32, i32)> = lines
        .map(|line: serde_json::Value| serde_json::from_value(line["input"][0].clone()).unwrap())
        .collect();
    sent[sent.len() - pixels.len()..].to_vec()
}

#[tokio::test]
async fn the_configured_scale_moves_every_click() {
    let pixels = [(0, 0), (600, 300), (601, 301), (1919, 1079)];
    let expected = [
        (None, pixels),
        (Some(1.25), [(0, 0), (480, 240), (481, 241), (1535, 863)]),
        (Some(1.5), [(0, 0), (400, 200), (401, 201), (1279, 719)]),
        (Some(2.0), [(0, 0), (300, 150), (301, 151), (959, 539)]),
    ];
    for (scale, expected) in expected {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("actions.jsonl");
        let mut settings = Settings {
            driver: "recording".to_owned(),
            displays: vec![":1".to_owned()],
            scale,
            ..Settings::default()
        };
        settings.recording.file = Some(file.clone());
        let config = Config::resolve(settings, home.path(), []).unwrap();
        let service = InProcessExecutor::new(config.start().await.unwrap().service);
        let sent = clicks(&service, &file, &pixels).await;
        assert_eq!(sent, expected, "scale {scale:?}");
    }
}

/// A primary monitor at the input coordinate (0, 0), and one to its left and higher, whose coordinates are negative.
#[tokio::test]
async fn clicks_land_on_the_monitor_that_shows_the_pixel() {
    for (scale, primary_corner) in [
        (1.0, (1280, 200)),
        (1.25, (1600, 250)),
        (1.5, (1920, 300)),
        (2.0, (2560, 400)),
    ] {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("actions.jsonl");
        let left = LogicalRect::from_origin_and_size(
            LogicalPoint::new(-1280.0, -200.0),
            LogicalSize::new(1280.0, 1024.0),
        );
        let primary = PlatformMonitor::at_zero(LogicalSize::new(1440.0, 900.0), scale);
        let options = Options {
            display: DisplayId::new(":1"),
            monitors: vec![
                primary,
                PlatformMonitor {
                    bounds: left,
                    scale,
                },
            ],
            file: Some(file.clone()),
            ..Options::of_size(CaptureSize::new(1, 1))
        };
        let mut parts = parts(
            home.path(),
            Arc::new(RecordingDriver::start(options).unwrap()),
        );
        parts.policy.rules.denied_regions.clear();
        let desktop = Desktop::start(parts).await.unwrap();
        let service = reach(
            ExecutorService::new(vec![desktop]),
            Transport::OverTheNetwork,
        )
        .await;

        let to_pixels = |points: i32| (f64::from(points) * scale) as i32;
        let (x, y) = primary_corner;
        let pixels = [
            (0, 0),
            (to_pixels(400), to_pixels(400)),
            (x, y),
            (x + to_pixels(700), y + to_pixels(460)),
        ];
        let sent = clicks(service.as_ref(), &file, &pixels).await;
        assert_eq!(
            sent,
            [(-1280, -200), (-880, 200), (0, 0), (700, 460)],
            "scale {scale}"
        );

        let lease = acquire(service.as_ref()).await;
        let beside = click(x, y - 1);
        let outcome = service
            .perform(request(lease.epoch.0, "beside", beside))
            .await
            .unwrap();
        assert_eq!(
            outcome.result,
            ActionResult::Failed,
            "no monitor is there: {outcome:?}"
        );
    }
}
