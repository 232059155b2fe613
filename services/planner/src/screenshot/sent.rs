//! An image as it was sent to a model, and the conversion between the model's coordinates and the frame.
//!
//! Models use different conventions: pixels of the sent image, pixels after the provider's resizing, thousandths,
//! fractions. A coordinate from a model is a [`ReportedPoint`], which cannot be confused with a frame point: only its
//! image can convert it.
//!
//! Invariant: a point outside the image is an error and is never clamped. A frame pixel converted back and forth stays
//! within one unit of the coarser of the two grids.

use std::fmt;

use euclid::Point2D;
use motorium_imaging::space::{ImageSize, ModelRect, ModelSpace, SpaceError};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, ModelPoint, NormalisedPoint,
};

use super::sizes::SizeRule;

/// Unit of coordinates as a model reports them; the image's convention defines the scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {}
/// A point as a model reports it.
pub type ReportedPoint = Point2D<f64, Reported>;

/// Coordinate convention of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoordinateConvention {
    /// Pixels of the image as sent.
    SentPixels,
    /// Pixels of the image after the provider's own resizing.
    ResizedPixels,
    /// Thousandths of the image, 0 to 1000 on both axes.
    Thousandths,
    /// Fractions of the image, 0 to 1 on both axes.
    Fractions,
}

/// An image as sent: a region of a frame, its size, and the model's coordinate convention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SentImage {
    /// Conversion from the region of the frame to the image of the model's coordinates.
    counted: ModelSpace,
    sent: ImageSize,
    convention: CoordinateConvention,
}

/// Coordinates that do not lie in the image.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum CoordinateError {
    #[error("the point ({x}, {y}) is outside the screenshot: {range}")]
    Outside { x: f64, y: f64, range: Range },
    #[error(
        "the point ({x}, {y}) seems to be given in fractions of the screenshot, but {unit} are wanted: {range}"
    )]
    Fractional {
        x: f64,
        y: f64,
        unit: &'static str,
        range: Range,
    },
    #[error("the region from ({x1}, {y1}) to ({x2}, {y2}) is empty")]
    EmptyRegion { x1: f64, y1: f64, x2: f64, y2: f64 },
}

/// Largest coordinates of an image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    x: f64,
    y: f64,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x goes from 0 to {} and y from 0 to {}", self.x, self.y)
    }
}

impl SentImage {
    /// Returns an image of a whole frame, at the size that the rule prescribes.
    ///
    /// # Errors
    /// Fails if the frame is empty.
    pub fn whole(
        frame: CaptureSize,
        rule: SizeRule,
        convention: CoordinateConvention,
    ) -> Result<Self, SpaceError> {
        Self::of_region(CaptureRect::from_size(frame), rule, convention)
    }

    /// Returns an image of a region of a frame (zoom).
    ///
    /// # Errors
    /// Fails if the region is empty.
    pub fn of_region(
        region: CaptureRect,
        rule: SizeRule,
        convention: CoordinateConvention,
    ) -> Result<Self, SpaceError> {
        Self::sent_at(rule.sent_size(region.size()), region, rule, convention)
    }

    /// Returns an image of a region of a frame at a given size, independent of the rule: smaller to save bytes, or larger
    /// to zoom.
    ///
    /// # Errors
    /// Fails if the region or the size is empty.
    pub fn sent_at(
        sent: ImageSize,
        region: CaptureRect,
        rule: SizeRule,
        convention: CoordinateConvention,
    ) -> Result<Self, SpaceError> {
        let counted = match convention {
            CoordinateConvention::ResizedPixels => rule.resized_size(sent),
            _ => sent,
        };
        Ok(Self {
            counted: ModelSpace::for_region(region, counted)?,
            sent,
            convention,
        })
    }

    /// Returns the region that it shows, in frame pixels.
    #[must_use]
    pub fn region(&self) -> CaptureRect {
        self.counted.region()
    }

    /// Returns the size as sent, in pixels.
    #[must_use]
    pub fn sent(&self) -> ImageSize {
        self.sent
    }

    /// Returns the size of the image that the model's coordinates refer to, in pixels.
    #[must_use]
    pub fn counted(&self) -> ImageSize {
        self.counted.image_size()
    }

    /// Returns the extent of the coordinate range, horizontally and vertically.
    #[must_use]
    pub fn extent(&self) -> (f64, f64) {
        let size = self.counted();
        match self.convention {
            CoordinateConvention::SentPixels | CoordinateConvention::ResizedPixels => {
                (f64::from(size.width), f64::from(size.height))
            }
            CoordinateConvention::Thousandths => (1000.0, 1000.0),
            CoordinateConvention::Fractions => (1.0, 1.0),
        }
    }

    /// Returns the coordinate convention.
    #[must_use]
    pub fn convention(&self) -> CoordinateConvention {
        self.convention
    }

    /// Returns the conversion from the region of the frame to the sent image, for rendering and annotations.
    ///
    /// # Errors
    /// Never fails for an existing image; the type cannot express that.
    pub fn space(&self) -> Result<ModelSpace, SpaceError> {
        ModelSpace::for_region(self.region(), self.sent)
    }

    /// Converts a reported point into a frame pixel.
    ///
    /// # Errors
    /// Fails if the point is outside the image, not a number, or in another convention.
    pub fn to_capture(&self, reported: ReportedPoint) -> Result<CapturePoint, CoordinateError> {
        self.check_unit(reported)?;
        match self.unit() {
            None => self.pixel_to_capture(reported),
            Some(unit) => self.fraction_to_capture(reported, unit),
        }
    }

    fn pixel_to_capture(&self, reported: ReportedPoint) -> Result<CapturePoint, CoordinateError> {
        let ReportedPoint { x, y, .. } = reported;
        let point = ModelPoint::new(x, y);
        if !self.counted.contains(point) {
            return Err(self.outside(reported));
        }
        Ok(self.counted.to_capture(point))
    }

    /// Rejects fractions from a model that counts in another unit: they would all lie at the top left corner.
    fn check_unit(&self, reported: ReportedPoint) -> Result<(), CoordinateError> {
        let unit = match self.convention {
            CoordinateConvention::SentPixels | CoordinateConvention::ResizedPixels => "pixels",
            CoordinateConvention::Thousandths => "thousandths",
            CoordinateConvention::Fractions => return Ok(()),
        };
        let ReportedPoint { x, y, .. } = reported;
        // Whole numbers are accepted: 0 and 1 are also pixels, and thousandths.
        let (fraction, whole) = (0.0..=1.0, |value: f64| value.fract() == 0.0);
        if fraction.contains(&x) && fraction.contains(&y) && !(whole(x) && whole(y)) {
            let range = self.range();
            return Err(CoordinateError::Fractional { x, y, unit, range });
        }
        Ok(())
    }

    fn fraction_to_capture(
        &self,
        reported: ReportedPoint,
        unit: f64,
    ) -> Result<CapturePoint, CoordinateError> {
        let inside = 0.0..=unit;
        if !(inside.contains(&reported.x) && inside.contains(&reported.y)) {
            return Err(self.outside(reported));
        }
        let fraction = NormalisedPoint::new(reported.x / unit, reported.y / unit);
        Ok(self.counted.fraction_to_capture(fraction))
    }

    /// Converts a frame pixel into the model's coordinates: integers, except for fractions.
    ///
    /// # Errors
    /// Fails if the image does not show that pixel.
    pub fn to_reported(&self, pixel: CapturePoint) -> Result<ReportedPoint, CoordinateError> {
        let place = self.counted.to_model(pixel);
        if !self.region().contains(pixel) {
            return Err(self.outside(ReportedPoint::new(place.x.round(), place.y.round())));
        }
        let size = self.counted.model_size();
        let coordinate = |place: f64, side: f64| match self.unit() {
            None => place.round().clamp(0.0, side - 1.0),
            Some(unit) => {
                let fraction = (place + 0.5) / side;
                if self.convention == CoordinateConvention::Fractions {
                    fraction
                } else {
                    (fraction * unit).round()
                }
            }
        };
        Ok(ReportedPoint::new(
            coordinate(place.x, size.width),
            coordinate(place.y, size.height),
        ))
    }

    /// Converts a box, given by two corners in any order, into frame pixels.
    ///
    /// # Errors
    /// Fails if a corner is outside the image (its far edges are inside), or the box is empty.
    pub fn area(
        &self,
        one: ReportedPoint,
        other: ReportedPoint,
    ) -> Result<CaptureRect, CoordinateError> {
        let unit = self.unit();
        let size = self.counted.model_size();
        let (x_unit, y_unit) = unit.map_or((size.width, size.height), |unit| (unit, unit));
        // A box may begin at the corner itself, but not both of its corners are fractions.
        self.check_unit(other)?;
        for corner in [one, other] {
            if !((0.0..=x_unit).contains(&corner.x) && (0.0..=y_unit).contains(&corner.y)) {
                return Err(self.outside(corner));
            }
        }
        if one.x == other.x || one.y == other.y {
            let (x1, y1, x2, y2) = (one.x, one.y, other.x, other.y);
            return Err(CoordinateError::EmptyRegion { x1, y1, x2, y2 });
        }
        let corner = |reported: ReportedPoint| {
            ModelPoint::new(
                reported.x / x_unit * size.width,
                reported.y / y_unit * size.height,
            )
        };
        Ok(self
            .counted
            .rect_to_capture(&ModelRect::new(corner(one), corner(other))))
    }

    /// Returns the coordinate of a whole side, if the convention is not pixels.
    fn unit(&self) -> Option<f64> {
        match self.convention {
            CoordinateConvention::SentPixels | CoordinateConvention::ResizedPixels => None,
            CoordinateConvention::Thousandths => Some(1000.0),
            CoordinateConvention::Fractions => Some(1.0),
        }
    }

    fn range(&self) -> Range {
        let size = self.counted.model_size();
        match self.unit() {
            None => Range {
                x: size.width - 1.0,
                y: size.height - 1.0,
            },
            Some(unit) => Range { x: unit, y: unit },
        }
    }

    fn outside(&self, reported: ReportedPoint) -> CoordinateError {
        CoordinateError::Outside {
            x: reported.x,
            y: reported.y,
            range: self.range(),
        }
    }
}
