//! Coordinate spaces as types: mixing points of two spaces does not compile.
//!
//! This module only defines the types. Conversions between the spaces are in `motorium_imaging::space`.

use euclid::{Box2D, Point2D, Size2D};

/// Pixels of a captured frame: integers, with the origin at the frame's top left corner. For a frame of a part of a
/// display, add the frame's `origin` to get display pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapturePx {}

/// Logical points: the units of input and of the mouse cursor. On X11 one point is one pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalPt {}

/// Pixels of the (usually smaller) image that a model receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPx {}

/// Fractions of the frame, 0 to 1 on both axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalised {}

/// A pixel of a captured frame.
pub type CapturePoint = Point2D<i32, CapturePx>;
/// A box of frame pixels: `min` is inclusive, `max` exclusive.
pub type CaptureRect = Box2D<i32, CapturePx>;
/// The size of a frame in pixels.
pub type CaptureSize = Size2D<i32, CapturePx>;

/// A point in input coordinates.
pub type LogicalPoint = Point2D<f64, LogicalPt>;
/// The size of a display in input coordinates.
pub type LogicalSize = Size2D<f64, LogicalPt>;

/// A point in an image for a model.
pub type ModelPoint = Point2D<f64, ModelPx>;
/// The size of an image for a model.
pub type ModelSize = Size2D<f64, ModelPx>;

/// A point in fractions of the frame.
pub type NormalisedPoint = Point2D<f64, Normalised>;
/// A box in fractions of the frame, `x1, y1, x2, y2` in 0 to 1.
pub type NormalisedRect = Box2D<f64, Normalised>;
