//! Capture: a screen's pixels, cursor, monitors and windows, and word of what changes on it.
//!
//! [`Screen`] is the seam. The X11 implementation ([`x11`]) is ours; the portable one goes through a library (feature
//! `driver-xcap`). One conformance suite runs against both. Nothing here parses pixels or keeps frames.
//!
//! Invariant: no call on a screen blocks for ever. A server that has stopped or died gives a typed error within the
//! configured time-out, and the next call after its return succeeds.

pub mod area;
pub mod cursor;
#[cfg(feature = "driver-xcap")]
pub mod portable;
mod ticks;
#[cfg(target_os = "linux")]
pub mod x11;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use image::RgbaImage;
use motorium_proto::domain::frame::{Display, Window};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::DisplayId;

use crate::error::Error;
use cursor::CursorImage;

/// One display that can be looked at.
#[async_trait]
pub trait Screen: Send + Sync + fmt::Debug {
    /// The display's name, as requests give it.
    fn id(&self) -> &DisplayId;

    /// Its extent, scale and monitors.
    async fn describe(&self) -> Result<Display, Error>;

    /// Takes a picture, with the facts that belong to it, all of one moment.
    async fn capture(&self, wanted: CaptureRequest) -> Result<Shot, Error>;

    /// Where the cursor's hot spot is; `None` if the platform does not tell. An answer of either kind comes from a
    /// display that is there.
    async fn cursor(&self) -> Result<Option<CapturePoint>, Error>;

    /// The windows, topmost first, pop-ups included.
    async fn windows(&self) -> Result<Vec<Window>, Error>;

    /// Whether it will never answer again, by a defect: another one has to be opened.
    fn has_ended(&self) -> bool {
        false
    }

    /// Begins to report changes. Everything drawn after this call has returned is reported.
    async fn watch(&self) -> Result<Box<dyn Changes>, Error>;
}

/// What part of a display is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Area {
    /// Everything.
    #[default]
    Whole,
    /// The monitor of that name.
    Monitor(String),
    /// What the screen shows within the client area of the window of that id.
    Window(String),
    /// A box of frame pixels; the part outside of the display is cut off.
    Region(CaptureRect),
}

/// What is wanted of a display.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureRequest {
    pub area: Area,
    /// Also list the windows.
    pub list_windows: bool,
    /// Let the list be of the very moment of the picture, and careful about what covers what, where the platform can:
    /// for whoever hides windows. It costs more. Under a compositor the picture may still be one repaint older.
    pub exactly: bool,
}

/// A picture and what was true when it was taken.
#[derive(Debug, Clone)]
pub struct Shot {
    /// The pixels without the cursor, so that a pointer that moves does not look like a screen that changes.
    /// The same as of the capture before where the driver knows that nothing was drawn.
    pub pixels: Arc<RgbaImage>,
    /// Which box of the display the picture shows.
    pub bounds: CaptureRect,
    pub display: Display,
    /// The cursor, to be drawn where a picture is made for somebody; `None` if the platform does not tell.
    pub cursor: Option<CursorImage>,
    /// Topmost first; empty unless asked for.
    pub windows: Vec<Window>,
    /// Windows by their ids that need not cover what is below them: they are translucent, or on another workspace.
    pub see_through: Vec<String>,
    /// What was painted over, in the display's pixels.
    pub hidden: Vec<CaptureRect>,
    pub captured_at: SystemTime,
}

/// Reports what changes on a screen, until it is dropped.
#[async_trait]
pub trait Changes: Send + fmt::Debug {
    /// Waits for the next change. It may be dropped while waiting without losing one.
    async fn next(&mut self) -> Result<Change, Error>;
}

/// Something was drawn, perhaps what was there before.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Boxes that cover what was drawn; they may overlap.
    pub regions: Vec<CaptureRect>,
}
