//! Frames that have been captured, kept for a while so that they can be compared, encoded and referred to.
//!
//! Bounded by bytes and by number; the oldest go first. Ids begin with a number of this process, so that an id from
//! before a restart is unknown rather than that of another frame. A frame never changes once it is stored.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use image::RgbaImage;
use motorium_imaging::difference::GreyFrame;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::{DisplayId, FrameId};
use uuid::Uuid;

use crate::capture::cursor::CursorImage;
use crate::error::Error;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most frames.
    pub frames: usize,
    /// Most bytes of pixels. One frame is kept even if it is larger.
    pub bytes: usize,
}

/// A frame with its pixels.
#[derive(Debug)]
pub struct StoredFrame {
    pub frame: Frame,
    /// Without the cursor; shared with the frame before if nothing changed.
    pub pixels: Arc<RgbaImage>,
    /// To be drawn into pictures of this frame; `None` if it was to be left out.
    pub cursor: Option<CursorImage>,
    /// What was painted over, in the display's pixels.
    pub hidden: Vec<CaptureRect>,
    grey: OnceLock<Arc<GreyFrame>>,
    scene: OnceLock<(View, Arc<Scene>)>,
}

/// Which part of a display a frame shows, as its request named it: the numbers of elements hold within one view.
pub type View = (DisplayId, String);

impl StoredFrame {
    /// A frame, not yet stored.
    #[must_use]
    pub fn new(
        frame: Frame,
        pixels: Arc<RgbaImage>,
        cursor: Option<CursorImage>,
        hidden: Vec<CaptureRect>,
    ) -> Self {
        Self {
            frame,
            pixels,
            cursor,
            hidden,
            grey: OnceLock::new(),
            scene: OnceLock::new(),
        }
    }

    /// Its pixels in grey; computed by the first call.
    pub fn grey(&self) -> &GreyFrame {
        self.grey
            .get_or_init(|| Arc::new(GreyFrame::of(&self.pixels)))
    }

    /// What was found on it, if it has been parsed.
    #[must_use]
    pub fn scene(&self) -> Option<&(View, Arc<Scene>)> {
        self.scene.get()
    }

    /// Keeps what was found on it. A frame is parsed once; a second scene is not taken.
    pub fn set_scene(&self, view: View, scene: Arc<Scene>) {
        let _ = self.scene.set((view, scene));
    }

    /// Pixels in colour and in grey.
    fn bytes(&self) -> usize {
        self.pixels.as_raw().len() / 4 * 5
    }
}

impl Kept {
    /// The memory that is held for a frame alone: nothing if another one has the same pixels.
    fn held_for(&self, frame: &StoredFrame) -> usize {
        let is_shared = |other: &Arc<StoredFrame>| Arc::ptr_eq(&other.pixels, &frame.pixels);
        if self.frames.iter().any(is_shared) {
            return 0;
        }
        frame.bytes()
    }
}

/// The frames that are kept.
#[derive(Debug)]
pub struct FrameStore {
    limits: Limits,
    process: String,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    frames: VecDeque<Arc<StoredFrame>>,
    bytes: usize,
    count: u64,
}

impl FrameStore {
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let (process, ..) = Uuid::new_v4().as_fields();
        Self {
            limits,
            process: format!("{process:08x}"),
            kept: Mutex::default(),
        }
    }

    /// A new frame's id.
    #[must_use]
    pub fn next_id(&self) -> FrameId {
        let mut kept = self.kept();
        kept.count += 1;
        FrameId::new(format!("{}-{}", self.process, kept.count))
    }

    /// Keeps a frame, and lets go of the oldest ones if there is no room. If nothing changed since the newest frame of
    /// the same part of the same display, its pixels are shared.
    pub fn keep(&self, mut frame: StoredFrame) -> Arc<StoredFrame> {
        if let Some(before) = self.newest_like(&frame)
            && before.pixels == frame.pixels
        {
            frame.pixels = Arc::clone(&before.pixels);
            if let Some(grey) = before.grey.get() {
                let _ = frame.grey.set(Arc::clone(grey));
            }
        }
        let frame = Arc::new(frame);
        let mut kept = self.kept();
        kept.bytes += kept.held_for(&frame);
        kept.frames.push_back(Arc::clone(&frame));
        while kept.frames.len() > 1
            && (kept.frames.len() > self.limits.frames || kept.bytes > self.limits.bytes)
        {
            let oldest = kept.frames.pop_front().expect("there is more than one");
            kept.bytes -= kept.held_for(&oldest);
        }
        frame
    }

    /// The frame of that id.
    ///
    /// # Errors
    /// [`Error::FrameExpired`] if it is not kept any more, or never was.
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

    fn newest_like(&self, frame: &StoredFrame) -> Option<Arc<StoredFrame>> {
        let kept = self.kept();
        let mut newest_first = kept.frames.iter().rev();
        let found = newest_first.find(|other| {
            other.frame.display == frame.frame.display
                && other.frame.bounds() == frame.frame.bounds()
        });
        found.cloned()
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use image::Rgba;
    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

    use super::*;

    /// Bytes that a frame of ten by ten pixels takes.
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
        store.keep(StoredFrame::new(frame, Arc::new(pixels), None, Vec::new()))
    }

    /// Stores `count` different frames and tells how many of them are left.
    fn check(limits: Limits, count: u8, expected: usize) {
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
    fn the_oldest_frames_make_room() {
        check(
            Limits {
                frames: 3,
                bytes: 100 * FRAME,
            },
            5,
            3,
        );
        check(
            Limits {
                frames: 100,
                bytes: 2 * FRAME,
            },
            5,
            2,
        );
        check(
            Limits {
                frames: 100,
                bytes: 2 * FRAME - 1,
            },
            5,
            1,
        );
        check(
            Limits {
                frames: 100,
                bytes: 0,
            },
            5,
            1,
        );
    }

    #[test]
    fn an_expired_frame_says_what_to_do() {
        let store = FrameStore::new(Limits {
            frames: 1,
            bytes: usize::MAX,
        });
        let first = keep(&store, 0);
        keep(&store, 1);
        let error = store.get(&first.frame.id).unwrap_err();
        assert!(error.to_string().contains("capture again"), "{error}");
        let other_process = FrameStore::new(Limits {
            frames: 9,
            bytes: usize::MAX,
        });
        assert_ne!(first.frame.id, keep(&other_process, 0).frame.id);
    }

    #[test]
    fn frames_that_look_the_same_share_their_pixels() {
        let store = FrameStore::new(Limits {
            frames: 9,
            bytes: usize::MAX,
        });
        let (first, same, other) = (keep(&store, 7), keep(&store, 7), keep(&store, 8));
        assert_ne!(first.frame.id, same.frame.id);
        assert!(Arc::ptr_eq(&first.pixels, &same.pixels));
        assert!(!Arc::ptr_eq(&same.pixels, &other.pixels));
    }

    #[test]
    fn shared_pixels_take_room_once() {
        let store = FrameStore::new(Limits {
            frames: 9,
            bytes: 2 * FRAME,
        });
        let still: Vec<_> = (0..5).map(|_| keep(&store, 7)).collect();
        let other = keep(&store, 8);
        let kept = |frame: &Arc<StoredFrame>| store.get(&frame.frame.id).is_ok();
        assert!(still.iter().chain([&other]).all(kept));
        // Their room is free when the last of them goes.
        let last = keep(&store, 9);
        assert!(!still.iter().any(kept));
        assert!(kept(&other) && kept(&last));
    }
}
