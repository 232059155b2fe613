//! What was captured: displays, monitors, windows, the cursor, and the description of one frame.

use std::time::SystemTime;

use bytes::Bytes;

use super::geometry::{CapturePoint, CaptureRect, CaptureSize, LogicalSize};
use super::id::{DisplayId, FrameId};

/// One screen that can be captured and acted on.
#[derive(Debug, Clone, PartialEq)]
pub struct Display {
    pub id: DisplayId,
    /// Extent of a whole frame.
    pub size: CaptureSize,
    /// Extent in input coordinates.
    pub logical_size: LogicalSize,
    /// Capture pixels per logical point.
    pub scale: f64,
    pub monitors: Vec<Monitor>,
}

/// One monitor, as a box of the display's frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Monitor {
    pub name: String,
    pub bounds: CaptureRect,
    pub primary: bool,
}

/// A top-level window, topmost first wherever they stand in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The window system's number in text; meaningful on this display alone.
    pub id: String,
    pub title: String,
    /// The application's class (`Mousepad`, `chromium`).
    pub application: String,
    pub process: Option<u32>,
    /// Client area, without the frame that the window manager draws.
    pub bounds: CaptureRect,
    pub active: bool,
    pub minimised: bool,
    /// A dialog or another window that keeps its parent from being used.
    pub modal: bool,
}

/// Classes of windows that understand a browser's keys, in lower case.
const BROWSERS: &[&str] = &[
    "brave-browser",
    "chromium",
    "chromium-browser",
    "epiphany",
    "falkon",
    "firefox",
    "firefox-esr",
    "google-chrome",
    "librewolf",
    "microsoft-edge",
    "midori",
    "navigator",
    "opera",
    "org.gnome.epiphany",
    "vivaldi-stable",
];

/// Whether windows of this class are a browser's.
#[must_use]
pub fn is_browser(application: &str) -> bool {
    BROWSERS.contains(&application.to_lowercase().as_str())
}

/// Where the mouse cursor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The cursor's hot spot.
    pub position: CapturePoint,
    /// Whether the cursor was drawn into the frame.
    pub drawn: bool,
}

/// Everything about a frame but its pixels.
///
/// It shows the whole display or a part of it. Cursor, monitors, windows and elements are in the frame's own pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub id: FrameId,
    pub display: DisplayId,
    /// Where its pixel (0, 0) lies in the frame of the whole display.
    pub origin: CapturePoint,
    pub size: CaptureSize,
    /// Capture pixels per logical point.
    pub scale: f64,
    pub captured_at: SystemTime,
    pub cursor: Option<Cursor>,
    pub monitors: Vec<Monitor>,
    pub windows: Vec<Window>,
}

impl Frame {
    /// The box that it shows, in the frame of the whole display.
    #[must_use]
    pub fn bounds(&self) -> CaptureRect {
        CaptureRect::from_origin_and_size(self.origin, self.size)
    }

    /// The window that has the keyboard, if the window manager names one.
    #[must_use]
    pub fn active_window(&self) -> Option<&Window> {
        self.windows.iter().find(|window| window.active)
    }
}

/// An encoded picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub content: ImageContent,
    /// `image/png`, `image/webp` or `image/jpeg`.
    pub media_type: String,
    pub width: u32,
    pub height: u32,
    /// Of the encoded bytes.
    pub sha256: [u8; 32],
}

/// A picture travels as bytes, or as a reference into a shared blob store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageContent {
    Bytes(Bytes),
    BlobUri(String),
}
