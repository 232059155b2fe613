//! What the service remembers between calls: the numbers of elements, and what moves by itself.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::DisplayId;
use tokio::time::Instant;

use crate::frames::View;
use crate::marks::Memory;

/// How many views keep their numbers. A view is a part of a display as requests name it.
const VIEWS: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// How long something is known to move by itself after it was seen to.
const NOISE_AGE: Duration = Duration::from_secs(10);

/// The memories of all views and displays.
#[derive(Debug)]
pub(super) struct Memories {
    numbers: Mutex<LruCache<View, Arc<Mutex<Memory>>>>,
    noise: Mutex<HashMap<DisplayId, Vec<(Instant, CaptureRect)>>>,
}

impl Default for Memories {
    fn default() -> Self {
        Self {
            numbers: Mutex::new(LruCache::new(VIEWS)),
            noise: Mutex::default(),
        }
    }
}

impl Memories {
    /// Makes a scene with the memory of its view, and keeps what is to be remembered. Others that look at the same view
    /// wait; those that look at another one do not.
    pub(super) fn number(
        &self,
        view: &View,
        make: impl FnOnce(&Memory) -> (Scene, Memory),
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

    /// These regions of the display move by themselves.
    pub(super) fn remember_noise(&self, display: &DisplayId, regions: &[CaptureRect]) {
        let now = Instant::now();
        let mut noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        let known = noise.entry(display.clone()).or_default();
        known.retain(|&(seen, region)| now - seen < NOISE_AGE && !regions.contains(&region));
        known.extend(regions.iter().map(|&region| (now, region)));
    }

    /// What moves by itself within the box `bounds` of the display, in that box's own space.
    pub(super) fn noise(&self, display: &DisplayId, bounds: CaptureRect) -> Vec<CaptureRect> {
        let now = Instant::now();
        let noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        let known = noise.get(display).into_iter().flatten();
        known
            .filter(|(seen, _)| now - *seen < NOISE_AGE)
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
        let memories = Memories::default();
        let (display, other) = (DisplayId::new(":1"), DisplayId::new(":2"));
        let whole = CaptureRect::from_size(CaptureSize::new(800, 600));
        memories.remember_noise(&display, &[at(10, 10)]);
        tokio::time::advance(NOISE_AGE / 2).await;
        memories.remember_noise(&display, &[at(50, 50)]);
        assert_eq!(memories.noise(&display, whole), [at(10, 10), at(50, 50)]);
        assert_eq!(memories.noise(&other, whole), []);
        tokio::time::advance(NOISE_AGE / 2).await;
        assert_eq!(memories.noise(&display, whole), [at(50, 50)]);
        // A frame of a part of the display has its own corner.
        assert_eq!(memories.noise(&display, at(40, 40)), [at(10, 10)]);
    }
}
