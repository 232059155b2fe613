//! The coordinate spaces as types: a point of one space does not compile where another is wanted.
//!
//! This module only names the spaces and their shapes. The conversions between them live in one place,
//! `motorium_imaging::space`.

use euclid::{Box2D, Point2D, Size2D};

/// Pixels of a captured frame: integers, origin at the frame's top left corner. A frame of a part of a display counts
/// from the part's corner; its `origin` leads to the display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapturePx {}

/// Points in which the platform takes input: what the mouse cursor moves in. On X11 one point is one pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalPt {}

/// Pixels of the (usually smaller) picture that a model was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPx {}

/// Fractions of the frame, 0 to 1 on both axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalised {}

/// A pixel of a captured frame.
pub type CapturePoint = Point2D<i32, CapturePx>;
/// A box of frame pixels: `min` is inside, `max` is the first pixel outside.
pub type CaptureRect = Box2D<i32, CapturePx>;
/// The extent of a frame in pixels.
pub type CaptureSize = Size2D<i32, CapturePx>;

/// A point in input coordinates.
pub type LogicalPoint = Point2D<f64, LogicalPt>;
/// The extent of a display in input coordinates.
pub type LogicalSize = Size2D<f64, LogicalPt>;

/// A point in a picture shown to a model.
pub type ModelPoint = Point2D<f64, ModelPx>;
/// The extent of a picture shown to a model.
pub type ModelSize = Size2D<f64, ModelPx>;

/// A point in fractions of the frame.
pub type NormalisedPoint = Point2D<f64, Normalised>;
/// A box in fractions of the frame, `x1, y1, x2, y2` in 0 to 1.
pub type NormalisedRect = Box2D<f64, Normalised>;
