//! Store of captured frames, kept so that they can be compared, encoded and referenced.
//!
//! Bounded by bytes and by count; the oldest frames are evicted first. Ids start with a random prefix per process, so
//! an id from before a restart is unknown instead of naming another frame. A stored frame never changes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use image::RgbaImage;
use motorium_imaging::grey::GreyFrame;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::{DisplayId, FrameId};
use uuid::Uuid;

use crate::capture::cursor::CursorImage;
use crate::error::Error;

/// Limits of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLimits {
    /// Maximum number of frames.
    pub frames: usize,
    /// Maximum bytes of pixels. One frame is kept even if it is larger.
    pub bytes: usize,
}

/// A frame with its pixels.
#[derive(Debug)]
pub struct StoredFrame {
    pub frame: Frame,
    /// Pixels without the cursor. Shared with the previous frame if nothing changed.
    pub pixels: Arc<RgbaImage>,
    /// Cursor to draw into images of this frame; `None` if the request omitted it.
    pub cursor: Option<CursorImage>,
    /// Redacted boxes, in capture pixels of the display.
    pub redacted: Vec<CaptureRect>,
    grey: OnceLock<Arc<GreyFrame>>,
    scene: OnceLock<(ViewKey, Arc<Scene>)>,
}

/// Display and capture area of a frame, as its request named them. Element ids are stable within one view.
pub type ViewKey = (DisplayId, String);

impl StoredFrame {
    /// Creates a frame that is not yet stored.
    #[must_use]
    pub fn new(
        frame: Frame,
        pixels: Arc<RgbaImage>,
        cursor: Option<CursorImage>,
        redacted: Vec<CaptureRect>,
    ) -> Self {
        Self {
            frame,
            pixels,
            cursor,
            redacted,
            grey: OnceLock::new(),
            scene: OnceLock::new(),
        }
    }

    /// The lightness of the pixels; computed by the first call.
    pub fn grey(&self) -> &GreyFrame {
        self.grey
            .get_or_init(|| Arc::new(GreyFrame::from_rgba(&self.pixels)))
    }

    /// Parsed scene of the frame, if it has been parsed.
    #[must_use]
    pub fn scene(&self) -> Option<&(ViewKey, Arc<Scene>)> {
        self.scene.get()
    }

    /// Stores the parsed scene. A frame is parsed once; a second scene is ignored.
    pub fn set_scene(&self, view: ViewKey, scene: Arc<Scene>) {
        let _ = self.scene.set((view, scene));
    }

    /// Memory of the pixels and of their lightness.
    fn bytes(&self) -> usize {
        self.pixels.as_raw().len() / 4 * 5
    }
}

impl StoreState {
    /// Memory held only by this frame: 0 if another frame shares its pixels.
    fn exclusive_bytes(&self, frame: &StoredFrame) -> usize {
        let is_shared = |other: &Arc<StoredFrame>| Arc::ptr_eq(&other.pixels, &frame.pixels);
        if self.frames.iter().any(is_shared) {
            return 0;
        }
        frame.bytes()
    }
}

/// Store of recent frames.
#[derive(Debug)]
pub struct FrameStore {
    limits: FrameLimits,
    process_prefix: String,
    state: Mutex<StoreState>,
}

#[derive(Debug, Default)]
struct StoreState {
    /// Oldest first.
    frames: VecDeque<Arc<StoredFrame>>,
    bytes: usize,
    last_id: u64,
}

impl FrameStore {
    #[must_use]
    pub fn new(limits: FrameLimits) -> Self {
        let (process, ..) = Uuid::new_v4().as_fields();
        Self {
            limits,
            process_prefix: format!("{process:08x}"),
            state: Mutex::default(),
        }
    }

    /// Allocates the id of a new frame.
    #[must_use]
    pub fn next_id(&self) -> FrameId {
        let mut kept = self.kept();
        kept.last_id += 1;
        FrameId::new(format!("{}-{}", self.process_prefix, kept.last_id))
    }

    /// Stores a frame and evicts the oldest ones over the limits. If nothing changed since the newest frame of the same
    /// area of the same display, the pixels are shared.
    pub fn insert(&self, mut frame: StoredFrame) -> Arc<StoredFrame> {
        if let Some(before) = self.latest_of_area(&frame)
            && before.pixels == frame.pixels
        {
            frame.pixels = Arc::clone(&before.pixels);
            if let Some(grey) = before.grey.get() {
                let _ = frame.grey.set(Arc::clone(grey));
            }
        }
        let frame = Arc::new(frame);
        let mut kept = self.kept();
        kept.bytes += kept.exclusive_bytes(&frame);
        kept.frames.push_back(Arc::clone(&frame));
        while kept.frames.len() > 1
            && (kept.frames.len() > self.limits.frames || kept.bytes > self.limits.bytes)
        {
            let oldest = kept.frames.pop_front().expect("there is more than one");
            kept.bytes -= kept.exclusive_bytes(&oldest);
        }
        frame
    }

    /// Returns the frame with this id.
    ///
    /// # Errors
    /// [`Error::FrameExpired`] if the frame was evicted or never existed.
    pub fn get(&self, id: &FrameId) -> Result<Arc<StoredFrame>, Error> {
        let kept = self.kept();
        let found = kept
            .frames
            .iter()
            .rev()
            .find(|stored| stored.frame.id == *id);
        found
            .cloned()
            .ok_or_else(|| Error::FrameExpired { frame: id.clone() })
    }

    fn latest_of_area(&self, frame: &StoredFrame) -> Option<Arc<StoredFrame>> {
        let kept = self.kept();
        let mut newest_first = kept.frames.iter().rev();
        let found = newest_first.find(|other| {
            other.frame.display == frame.frame.display
                && other.frame.bounds() == frame.frame.bounds()
        });
        found.cloned()
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use image::Rgba;
    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

    use super::*;

    /// Bytes of a frame of ten by ten pixels.
    const FRAME: usize = 500;

    fn keep(store: &FrameStore, shade: u8) -> Arc<StoredFrame> {
        let frame = Frame {
            id: store.next_id(),
            display: DisplayId::new(":1"),
            origin: CapturePoint::zero(),
            size: CaptureSize::new(10, 10),
            scale: 1.0,
            captured_at: SystemTime::now(),
            cursor: None,
            monitors: Vec::new(),
            windows: Vec::new(),
        };
        let pixels = RgbaImage::from_pixel(10, 10, Rgba([shade, shade, shade, 255]));
        store.insert(StoredFrame::new(frame, Arc::new(pixels), None, Vec::new()))
    }

    /// Stores `count` different frames and checks how many remain.
    fn check(limits: FrameLimits, count: u8, expected: usize) {
        let store = FrameStore::new(limits);
        let frames: Vec<_> = (0..count).map(|shade| keep(&store, shade)).collect();
        let (gone, left): (Vec<_>, Vec<_>) = frames
            .iter()
            .partition(|frame| store.get(&frame.frame.id).is_err());
        assert_eq!(left.len(), expected, "{limits:?}");
        assert!(gone.iter().all(|old| {
            left.iter()
                .all(|new| old.pixels.get_pixel(0, 0)[0] < new.pixels.get_pixel(0, 0)[0])
        }));
    }

    #[test]
    fn oldest_frames_are_evicted_beyond_the_limits() {
        check(
            FrameLimits {
                frames: 3,
                bytes: 100 * FRAME,
            },
            5,
            3,
        );
        check(
            FrameLimits {
                frames: 100,
                bytes: 2 * FRAME,
            },
            5,
            2,
        );
        check(
            FrameLimits {
                frames: 100,
                bytes: 2 * FRAME - 1,
            },
            5,
            1,
        );
        check(
            FrameLimits {
                frames: 100,
                bytes: 0,
            },
            5,
            1,
        );
    }

    #[test]
    fn expired_frame_error_suggests_capturing_again() {
        let store = FrameStore::new(FrameLimits {
            frames: 1,
            bytes: usize::MAX,
        });
        let first = keep(&store, 0);
        keep(&store, 1);
        let error = store.get(&first.frame.id).unwrap_err();
        assert!(error.to_string().contains("capture again"), "{error}");
        let other_process = FrameStore::new(FrameLimits {
            frames: 9,
            bytes: usize::MAX,
        });
        assert_ne!(first.frame.id, keep(&other_process, 0).frame.id);
    }

    #[test]
    fn frames_that_look_the_same_share_their_pixels() {
        let store = FrameStore::new(FrameLimits {
            frames: 9,
            bytes: usize::MAX,
        });
        let (first, same, other) = (keep(&store, 7), keep(&store, 7), keep(&store, 8));
        assert_ne!(first.frame.id, same.frame.id);
        assert!(Arc::ptr_eq(&first.pixels, &same.pixels));
        assert!(!Arc::ptr_eq(&same.pixels, &other.pixels));
    }

    #[test]
    fn shared_pixels_count_once_towards_the_limit() {
        let store = FrameStore::new(FrameLimits {
            frames: 9,
            bytes: 2 * FRAME,
        });
        let still: Vec<_> = (0..5).map(|_| keep(&store, 7)).collect();
        let other = keep(&store, 8);
        let kept = |frame: &Arc<StoredFrame>| store.get(&frame.frame.id).is_ok();
        assert!(still.iter().chain([&other]).all(kept));
        // Their memory is freed when the last of them is evicted.
        let last = keep(&store, 9);
        assert!(!still.iter().any(kept));
        assert!(kept(&other) && kept(&last));
    }
}
