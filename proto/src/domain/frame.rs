//! Frames and their metadata: displays, monitors, windows, the cursor, images.

use std::time::SystemTime;

use bytes::Bytes;

use super::geometry::{CapturePoint, CaptureRect, CaptureSize, LogicalSize};
use super::id::{DisplayId, FrameId};

/// A screen that can be captured and acted on.
#[derive(Debug, Clone, PartialEq)]
pub struct Display {
    pub id: DisplayId,
    /// Size of a frame of the whole display.
    pub size: CaptureSize,
    /// Size in input coordinates.
    pub logical_size: LogicalSize,
    /// Capture pixels per logical point.
    pub scale: f64,
    pub monitors: Vec<Monitor>,
}

/// A monitor, as a box of the display's frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Monitor {
    pub name: String,
    pub bounds: CaptureRect,
    pub primary: bool,
}

/// A top-level window. Lists of windows have the topmost first.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Identifier assigned by the window system, as text. Valid on its display only.
    pub id: String,
    pub title: String,
    /// Class of the application (`Mousepad`, `chromium`).
    pub application: String,
    pub process: Option<u32>,
    /// Client area, without the decoration of the window manager.
    pub bounds: CaptureRect,
    pub active: bool,
    pub minimised: bool,
    /// True for a dialog or another window that blocks its parent.
    pub modal: bool,
}

impl Window {
    /// Returns true if a setting or request means this window: by its application or its identifier.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        is_same_application(&self.application, name) || self.id.eq_ignore_ascii_case(name)
    }
}

/// Returns true if both are the class of one application. Case does not count, and a window without a class belongs to no
/// application that can be named.
#[must_use]
pub fn is_same_application(one: &str, other: &str) -> bool {
    !one.is_empty() && one.to_lowercase() == other.to_lowercase()
}

/// Window classes of browsers, in lower case.
// Only browsers that have the common shortcuts for address, back, forward and reload.
const BROWSERS: &[&str] = &[
    "brave-browser",
    "chrome",
    "chromium",
    "chromium-browser",
    "epiphany",
    "falkon",
    "firefox",
    "firefox-esr",
    "google chrome",
    "google-chrome",
    "google-chrome-beta",
    "google-chrome-stable",
    "google-chrome-unstable",
    "librewolf",
    "microsoft edge",
    "microsoft-edge",
    "microsoft-edge-beta",
    "microsoft-edge-dev",
    "microsoft-edge-stable",
    "midori",
    "msedge",
    "navigator",
    "opera",
    "org.gnome.epiphany",
    "vivaldi-stable",
];

/// Returns true if `application` is the window class of a browser.
#[must_use]
pub fn is_browser(application: &str) -> bool {
    BROWSERS.contains(&application.to_lowercase().as_str())
}

/// The mouse cursor at the time of capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Position of the hot spot.
    pub position: CapturePoint,
    /// True if the cursor is drawn into the frame.
    pub drawn: bool,
}

/// Metadata of a captured frame, without its pixels.
///
/// A frame shows the whole display or a part of it. Cursor, monitors, windows and elements are in the frame's own pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub id: FrameId,
    pub display: DisplayId,
    /// Position of the frame's pixel (0, 0) in the frame of the whole display.
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
    /// Returns the box that the frame covers, in the frame of the whole display.
    #[must_use]
    pub fn bounds(&self) -> CaptureRect {
        CaptureRect::from_origin_and_size(self.origin, self.size)
    }

    /// Returns true if the active window is a browser, or may be one because no window is known.
    #[must_use]
    pub fn is_browser_in_front(&self) -> bool {
        self.active_window()
            .is_none_or(|window| is_browser(&window.application))
    }

    /// Returns the window with keyboard focus, if the window manager reports one.
    #[must_use]
    pub fn active_window(&self) -> Option<&Window> {
        self.windows.iter().find(|window| window.active)
    }
}

/// An encoded image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub content: ImageContent,
    /// `image/png`, `image/webp` or `image/jpeg`.
    pub media_type: String,
    pub width: u32,
    pub height: u32,
    /// SHA-256 of the encoded bytes.
    pub sha256: [u8; 32],
}

/// Content of an image: its bytes, or a reference into a shared blob store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageContent {
    Bytes(Bytes),
    BlobUri(String),
}
