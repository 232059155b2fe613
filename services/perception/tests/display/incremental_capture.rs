//! Incremental captures equal full captures, after any sequence of changes.

use std::sync::Arc;

use motorium_perception::capture::{CaptureOptions, Screen};

use crate::support::{Client, Desktop, pattern};

async fn captured(screen: &dyn Screen) -> Arc<image::RgbaImage> {
    let shot = screen.capture(CaptureOptions::default()).await;
    shot.unwrap().pixels
}

/// Deterministic pseudo-random numbers (Lehmer generator, modulus 2³¹ - 1).
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, limit: i16) -> i16 {
        self.0 = self.0 * 48_271 % 0x7fff_ffff;
        (self.0 % limit as u64) as i16
    }
}

/// Opens, draws, raises and closes windows: many times, once, or not at all between two captures.
async fn check_incremental_capture_matches_a_new_one(desktop: &Desktop, seed: u64) {
    let client = Client::connect(&desktop.display);
    let screen = desktop.screen();
    let mut chance = Lcg(seed);
    let mut windows = Vec::new();
    let mut before = captured(&screen).await;
    for round in 0..40u32 {
        let acts = [0, 1, 1, 2, 20][chance.below(5) as usize];
        for act in 0..acts {
            let image = pattern(20 + act * 7, 10 + act * 5, round * 31 + act);
            let (left, top) = (chance.below(780), chance.below(580));
            let one = windows.get(chance.below(8) as usize).copied();
            match (chance.below(4), one) {
                (0, Some(window)) => client.raise(window),
                (1, Some(window)) => {
                    client.close(window);
                    windows.retain(|&other| other != window);
                }
                (2, Some(window)) => client.draw(window, &image, 3, 2),
                _ => windows.push(client.show(&image, left, top)),
            }
        }
        let now = captured(&screen).await;
        let anew = captured(&desktop.screen()).await;
        assert!(
            *now == *anew,
            "seed {seed}, round {round} after {acts} acts"
        );
        if acts == 0 {
            assert!(
                Arc::ptr_eq(&now, &before),
                "nothing was drawn in round {round}"
            );
        }
        before = now;
    }
}

#[tokio::test]
async fn on_xvfb() {
    let desktop = Desktop::start();
    for seed in [1, 2, 3] {
        check_incremental_capture_matches_a_new_one(&desktop, seed).await;
    }
}

#[tokio::test]
async fn on_tigervnc() {
    check_incremental_capture_matches_a_new_one(&Desktop::start_resizable(), 4).await;
}

#[tokio::test]
async fn when_the_screen_changes_its_size() {
    let mut desktop = Desktop::start_resizable();
    let screen = desktop.screen();
    let client = Client::connect(&desktop.display);
    captured(&screen).await;
    for (size, seed) in [("1024x768", 5), ("640x480", 6), ("800x600", 7)] {
        desktop.run_to_end("xrandr", &["-s", size]);
        client.show(&pattern(60, 40, seed), 30, 20);
        let now = captured(&screen).await;
        assert_eq!(format!("{}x{}", now.width(), now.height()), size);
        assert!(*now == *captured(&desktop.screen()).await, "{size}");
    }
}
