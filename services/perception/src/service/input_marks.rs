//! Marks of input that live streams show for a moment.
//!
//! The marks come from the Orchestrator, which alone knows the target of an action and when it acts. They belong to a
//! display, so every viewer sees them, also one that has joined later. They are drawn over copies for viewers: no stored
//! frame has them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use image::RgbaImage;
use motorium_imaging::marks::input;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::DisplayId;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time for which a mark is shown.
// Two to three times the 300 ms that a viewer needs to notice something, and shorter than most steps.
const DURATION: Duration = Duration::from_millis(900);

/// Maximum number of marks at a time; the oldest make room.
// A double click and a drag are one mark each, so this is several actions a second.
const MAX_MARKS: usize = 8;

/// Input that is about to be sent, in pixels of the whole display.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct InputMark {
    pub(super) presses: Vec<CapturePoint>,
    pub(super) target: Option<CaptureRect>,
}

/// The recent marks of all displays.
#[derive(Debug)]
pub(super) struct InputMarks {
    marks: Mutex<HashMap<DisplayId, VecDeque<(Instant, InputMark)>>>,
    /// Wakes streams that wait for a change.
    added: watch::Sender<()>,
}

impl Default for InputMarks {
    fn default() -> Self {
        Self {
            marks: Mutex::default(),
            added: watch::channel(()).0,
        }
    }
}

impl InputMarks {
    /// Shows a mark from now on.
    pub(super) fn add(&self, display: DisplayId, mark: InputMark) {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let of_display = marks.entry(display).or_default();
        of_display.push_back((Instant::now(), mark));
        while of_display.len() > MAX_MARKS {
            of_display.pop_front();
        }
        drop(marks);
        self.added.send_replace(());
    }

    /// Returns what is shown now, with each mark's age from 0 to 1.
    pub(super) fn shown(&self, display: &DisplayId) -> Vec<(f32, InputMark)> {
        let now = Instant::now();
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of_display) = marks.get_mut(display) else {
            return Vec::new();
        };
        of_display.retain(|(since, _)| now.duration_since(*since) < DURATION);
        let aged = of_display.iter().map(|(since, mark)| {
            let age = now.duration_since(*since).as_secs_f32() / DURATION.as_secs_f32();
            (age, mark.clone())
        });
        aged.collect()
    }

    /// Returns a receiver that is notified of new marks.
    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.added.subscribe()
    }
}

/// Draws marks onto an image of the display whose upper left corner is at `corner`.
pub(super) fn draw(
    image: &mut RgbaImage,
    corner: CapturePoint,
    scale: f32,
    marks: &[(f32, InputMark)],
) {
    let corner = corner.to_vector();
    for (age, mark) in marks {
        if let Some(target) = mark.target {
            input::draw_target(image, target.translate(-corner), *age, scale);
        }
        for &press in &mark.presses {
            input::draw_ripple(image, press - corner, *age, scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(x: i32) -> InputMark {
        InputMark {
            presses: vec![CapturePoint::new(x, 0)],
            target: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_mark_ages_and_goes() {
        let marks = InputMarks::default();
        let (one, other) = (DisplayId::new(":1"), DisplayId::new(":2"));
        let mut woken = marks.subscribe();
        marks.add(one.clone(), mark(5));
        woken.changed().await.unwrap();
        assert_eq!(marks.shown(&one), [(0.0, mark(5))]);
        assert_eq!(marks.shown(&other), []);
        tokio::time::advance(DURATION / 2).await;
        assert_eq!(marks.shown(&one), [(0.5, mark(5))]);
        tokio::time::advance(DURATION / 2).await;
        assert_eq!(marks.shown(&one), []);
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_latest_marks_are_kept() {
        let marks = InputMarks::default();
        let display = DisplayId::new(":1");
        for x in 0..100 {
            marks.add(display.clone(), mark(x));
        }
        let shown = marks.shown(&display);
        assert_eq!(shown.len(), MAX_MARKS);
        assert_eq!(shown[MAX_MARKS - 1].1, mark(99));
    }
}
