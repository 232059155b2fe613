//! State kept between calls: element ids per view, and background motion per display.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::DisplayId;
use tokio::time::Instant;

use crate::frames::ViewKey;
use crate::marks::TrackedElements;

/// Maximum number of views with tracked ids. A view is a capture area of a display.
const MAX_VIEWS: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// Time for which a region counts as background motion after it was last observed.
// Longer than a step, so that a spinner between two steps is still known; short enough that its place shows
// effects again.
const MOTION_TTL: Duration = Duration::from_secs(10);

/// State of all views and displays.
#[derive(Debug)]
pub(super) struct ViewMemory {
    numbers: Mutex<LruCache<ViewKey, Arc<Mutex<TrackedElements>>>>,
    noise: Mutex<HashMap<DisplayId, Vec<(Instant, CaptureRect)>>>,
}

impl Default for ViewMemory {
    fn default() -> Self {
        Self {
            numbers: Mutex::new(LruCache::new(MAX_VIEWS)),
            noise: Mutex::default(),
        }
    }
}

impl ViewMemory {
    /// Builds a scene with the ids tracked for its view, and stores the new state. Calls for the same view wait for
    /// each other; calls for other views do not.
    pub(super) fn update(
        &self,
        view: &ViewKey,
        make: impl FnOnce(&TrackedElements) -> (Scene, TrackedElements),
    ) -> Scene {
        let numbers = {
            let mut views = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(views.get_or_insert(view.clone(), Arc::default))
        };
        let mut numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let (scene, memory) = make(&numbers);
        *numbers = memory;
        scene
    }

    /// Records regions of a display with background motion.
    pub(super) fn record_motion(&self, display: &DisplayId, regions: &[CaptureRect]) {
        let now = Instant::now();
        let mut noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        let known = noise.entry(display.clone()).or_default();
        known.retain(|&(seen, region)| now - seen < MOTION_TTL && !regions.contains(&region));
        known.extend(regions.iter().map(|&region| (now, region)));
    }

    /// Returns the background motion within the box `bounds` of the display, relative to that box.
    pub(super) fn known_motion(
        &self,
        display: &DisplayId,
        bounds: CaptureRect,
    ) -> Vec<CaptureRect> {
        let now = Instant::now();
        let noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        let known = noise.get(display).into_iter().flatten();
        known
            .filter(|(seen, _)| now - *seen < MOTION_TTL)
            .map(|(_, region)| region.translate(-bounds.min.to_vector()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

    use super::*;

    fn at(x: i32, y: i32) -> CaptureRect {
        CaptureRect::from_origin_and_size(CapturePoint::new(x, y), CaptureSize::new(3, 18))
    }

    #[tokio::test(start_paused = true)]
    async fn noise_is_forgotten_after_a_while() {
        let memories = ViewMemory::default();
        let (display, other) = (DisplayId::new(":1"), DisplayId::new(":2"));
        let whole = CaptureRect::from_size(CaptureSize::new(800, 600));
        memories.record_motion(&display, &[at(10, 10)]);
        tokio::time::advance(MOTION_TTL / 2).await;
        memories.record_motion(&display, &[at(50, 50)]);
        assert_eq!(
            memories.known_motion(&display, whole),
            [at(10, 10), at(50, 50)]
        );
        assert_eq!(memories.known_motion(&other, whole), []);
        tokio::time::advance(MOTION_TTL / 2).await;
        assert_eq!(memories.known_motion(&display, whole), [at(50, 50)]);
        // A frame of a region has its own origin.
        assert_eq!(memories.known_motion(&display, at(40, 40)), [at(10, 10)]);
    }
}
