//! Conversion of points, boxes and sizes. Checks that boxes are not inverted and sizes not empty.
//!
//! It does not convert between coordinate spaces: `motorium_imaging::space` does.

use crate::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, LogicalSize, NormalisedRect,
};
use crate::error::FieldError;
use crate::v1::common as wire;

impl TryFrom<wire::PixelPoint> for CapturePoint {
    type Error = FieldError;

    fn try_from(point: wire::PixelPoint) -> Result<Self, FieldError> {
        Ok(CapturePoint::new(point.x, point.y))
    }
}

impl From<CapturePoint> for wire::PixelPoint {
    fn from(point: CapturePoint) -> Self {
        Self {
            x: point.x,
            y: point.y,
        }
    }
}

impl TryFrom<wire::PixelBox> for CaptureRect {
    type Error = FieldError;

    fn try_from(wire::PixelBox { x1, y1, x2, y2 }: wire::PixelBox) -> Result<Self, FieldError> {
        if x1 > x2 || y1 > y2 {
            return Err(FieldError::new(
                "x2",
                format!(
                    "the box {x1},{y1},{x2},{y2} is inverted; x1 must not exceed x2, nor y1 exceed y2"
                ),
            ));
        }
        Ok(CaptureRect::new(
            CapturePoint::new(x1, y1),
            CapturePoint::new(x2, y2),
        ))
    }
}

impl From<CaptureRect> for wire::PixelBox {
    fn from(rect: CaptureRect) -> Self {
        Self {
            x1: rect.min.x,
            y1: rect.min.y,
            x2: rect.max.x,
            y2: rect.max.y,
        }
    }
}

impl TryFrom<wire::PixelSize> for CaptureSize {
    type Error = FieldError;

    fn try_from(wire::PixelSize { width, height }: wire::PixelSize) -> Result<Self, FieldError> {
        if width < 1 || height < 1 {
            return Err(FieldError::new(
                "width",
                format!("the size {width}×{height} is empty"),
            ));
        }
        Ok(CaptureSize::new(width, height))
    }
}

impl From<CaptureSize> for wire::PixelSize {
    fn from(size: CaptureSize) -> Self {
        Self {
            width: size.width,
            height: size.height,
        }
    }
}

impl TryFrom<wire::LogicalSize> for LogicalSize {
    type Error = FieldError;

    fn try_from(size: wire::LogicalSize) -> Result<Self, FieldError> {
        Ok(LogicalSize::new(size.width, size.height))
    }
}

impl From<LogicalSize> for wire::LogicalSize {
    fn from(size: LogicalSize) -> Self {
        Self {
            width: size.width,
            height: size.height,
        }
    }
}

impl TryFrom<wire::NormalisedBox> for NormalisedRect {
    type Error = FieldError;

    fn try_from(
        wire::NormalisedBox { x1, y1, x2, y2 }: wire::NormalisedBox,
    ) -> Result<Self, FieldError> {
        let unit = 0.0..=1.0;
        let inside = [x1, y1, x2, y2].iter().all(|edge| unit.contains(edge));
        if !inside || x1 > x2 || y1 > y2 {
            return Err(FieldError::new(
                "x1",
                format!("the box {x1},{y1},{x2},{y2} is not within 0 to 1"),
            ));
        }
        Ok(NormalisedRect::new(
            euclid::point2(x1, y1),
            euclid::point2(x2, y2),
        ))
    }
}

impl From<NormalisedRect> for wire::NormalisedBox {
    fn from(rect: NormalisedRect) -> Self {
        Self {
            x1: rect.min.x,
            y1: rect.min.y,
            x2: rect.max.x,
            y2: rect.max.y,
        }
    }
}
