//! Capture: pixels, cursor, monitors and windows of a display, and notification of changes.
//!
//! [`Screen`] is the interface. [`x11`] implements it natively; the portable driver uses a library (feature
//! `driver-xcap`). One conformance suite runs against both. Nothing here parses pixels or stores frames.
//!
//! Invariant: no call on a screen blocks forever. A server that has stopped or died gives a typed error within the
//! configured timeout, and the first call after its return succeeds.

pub mod area;
pub mod cursor;
mod polling;
#[cfg(feature = "driver-xcap")]
pub mod portable;
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

/// One display that can be captured.
#[async_trait]
pub trait Screen: Send + Sync + fmt::Debug {
    /// Id of the display, as used in requests.
    fn id(&self) -> &DisplayId;

    /// Returns size, scale and monitors of the display.
    async fn describe(&self) -> Result<Display, Error>;

    /// Captures pixels and metadata at one moment.
    async fn capture(&self, wanted: CaptureOptions) -> Result<RawCapture, Error>;

    /// Returns the position of the cursor's hot spot, or `None` if the platform does not report it. Either answer
    /// proves that the display is reachable.
    async fn cursor_position(&self) -> Result<Option<CapturePoint>, Error>;

    /// Lists the windows, topmost first, including pop-ups.
    async fn windows(&self) -> Result<Vec<Window>, Error>;

    /// Returns whether the screen has failed permanently, so that a new one has to be opened.
    fn is_terminated(&self) -> bool {
        false
    }

    /// Subscribes to changes. Everything drawn after this call returns is reported.
    async fn watch(&self) -> Result<Box<dyn ChangeStream>, Error>;
}

/// Area of a display to capture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Area {
    /// The whole display.
    #[default]
    Whole,
    /// The monitor with this name.
    Monitor(String),
    /// The visible pixels within the client area of the window with this id.
    Window(String),
    /// A box in capture pixels. The part outside the display is clipped.
    Region(CaptureRect),
}

/// Options of one capture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureOptions {
    pub area: Area,
    /// Includes the window list.
    pub list_windows: bool,
    /// Requires the window list to match the captured pixels exactly and to say which windows cover others, where the
    /// platform supports it. Needed to redact windows; costs more. Under a compositor the pixels may still be one
    /// repaint older.
    pub precise_window_list: bool,
}

/// Captured pixels and the metadata of that moment.
#[derive(Debug, Clone)]
pub struct RawCapture {
    /// Pixels without the cursor, so that a moving pointer does not count as a change. Shared with the previous capture
    /// if the driver knows that nothing was drawn.
    pub pixels: Arc<RgbaImage>,
    /// Box of the display that the pixels show.
    pub bounds: CaptureRect,
    pub display: Display,
    /// Cursor to draw into encoded images; `None` if the platform does not report it.
    pub cursor: Option<CursorImage>,
    /// Windows, topmost first; empty unless requested.
    pub windows: Vec<Window>,
    /// Ids of windows that may not cover what is below them: they are translucent or on another workspace.
    pub non_opaque_windows: Vec<String>,
    /// Redacted boxes, in capture pixels of the display.
    pub redacted: Vec<CaptureRect>,
    pub captured_at: SystemTime,
}

/// Stream of changes of a screen, until it is dropped.
#[async_trait]
pub trait ChangeStream: Send + fmt::Debug {
    /// Waits for the next change. Cancel-safe: dropping the future loses no change.
    async fn next(&mut self) -> Result<ScreenChange, Error>;
}

/// Notification that something was drawn, possibly identical to the previous content.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenChange {
    /// Boxes that cover the drawn pixels; they may overlap.
    pub regions: Vec<CaptureRect>,
}
