//! A picture as it was sent to a model, and the way between what the model says of it and the frame.
//!
//! Models count differently: in pixels of the picture that was sent, in pixels of what their provider made of it, in
//! thousandths, in fractions. What a model says is a [`SaidPoint`] and cannot be taken for a point of the frame: only
//! the picture that it was said of knows what it means.
//!
//! Invariant: a point outside the picture is an error, never moved inside. A pixel of the frame is found again within
//! one unit of the coarser of the two countings.

use std::fmt;

use euclid::Point2D;
use motorium_imaging::space::{ModelRect, ModelSpace, PictureSize, SpaceError};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, ModelPoint, NormalisedPoint,
};

use super::sizes::SizeRule;

/// Numbers as a model says them. Their unit is the convention of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {}
/// A point as a model says it.
pub type SaidPoint = Point2D<f64, Said>;

/// How a model counts in a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// In pixels of the picture as it was sent.
    SentPixels,
    /// In pixels of the picture as the model sees it after its provider's own resizing.
    SeenPixels,
    /// In thousandths of the picture, 0 to 1000 on both axes.
    Thousandths,
    /// In fractions of the picture, 0 to 1 on both axes.
    Fractions,
}

/// What was sent: a region of a frame, at some size, to a model that counts in some way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SentPicture {
    /// From the region of the frame to the picture that the model counts in.
    counted: ModelSpace,
    sent: PictureSize,
    convention: Convention,
}

/// What a model says of a picture does not lie in it.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum OffPicture {
    #[error("the point ({x}, {y}) is outside the screenshot: {range}")]
    Outside { x: f64, y: f64, range: Range },
    #[error(
        "the point ({x}, {y}) seems to be given in fractions of the screenshot, but pixels are wanted: {range}"
    )]
    Fractional { x: f64, y: f64, range: Range },
    #[error("the region from ({x1}, {y1}) to ({x2}, {y2}) has no inside")]
    EmptyRegion { x1: f64, y1: f64, x2: f64, y2: f64 },
}

/// The greatest coordinates that a picture has.
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

impl SentPicture {
    /// A picture of a whole frame, sent at the size that the rule wants.
    ///
    /// # Errors
    /// If the frame has no inside.
    pub fn whole(
        frame: CaptureSize,
        rule: SizeRule,
        convention: Convention,
    ) -> Result<Self, SpaceError> {
        Self::of_region(CaptureRect::from_size(frame), rule, convention)
    }

    /// A picture of a region of a frame, for a closer look.
    ///
    /// # Errors
    /// If the region has no inside.
    pub fn of_region(
        region: CaptureRect,
        rule: SizeRule,
        convention: Convention,
    ) -> Result<Self, SpaceError> {
        Self::sent_at(rule.sent(region.size()), region, rule, convention)
    }

    /// A picture of a region of a frame, sent at that size whatever the rule would have chosen: smaller to save
    /// bytes, or larger for a closer look.
    ///
    /// # Errors
    /// If the region or the size has no inside.
    pub fn sent_at(
        sent: PictureSize,
        region: CaptureRect,
        rule: SizeRule,
        convention: Convention,
    ) -> Result<Self, SpaceError> {
        let counted = match convention {
            Convention::SeenPixels => rule.seen(sent),
            _ => sent,
        };
        Ok(Self {
            counted: ModelSpace::of_region(region, counted)?,
            sent,
            convention,
        })
    }

    /// What it shows, in pixels of the frame.
    #[must_use]
    pub fn region(&self) -> CaptureRect {
        self.counted.region()
    }

    /// Extent of the picture as it was sent, in whole pixels.
    #[must_use]
    pub fn sent(&self) -> PictureSize {
        self.sent
    }

    /// Extent of the picture in which the model counts, in whole pixels.
    #[must_use]
    pub fn counted(&self) -> PictureSize {
        self.counted.picture()
    }

    /// The greatest numbers that the model counts to, across and down.
    #[must_use]
    pub fn extent(&self) -> (f64, f64) {
        let size = self.counted();
        match self.convention {
            Convention::SentPixels | Convention::SeenPixels => {
                (f64::from(size.width), f64::from(size.height))
            }
            Convention::Thousandths => (1000.0, 1000.0),
            Convention::Fractions => (1.0, 1.0),
        }
    }

    /// How the model counts.
    #[must_use]
    pub fn convention(&self) -> Convention {
        self.convention
    }

    /// From the region of the frame to the picture as it was sent: for rendering, and for marks.
    ///
    /// # Errors
    /// Never for a picture that exists; the spaces do not know that.
    pub fn space(&self) -> Result<ModelSpace, SpaceError> {
        ModelSpace::of_region(self.region(), self.sent)
    }

    /// The pixel of the frame that a model means.
    ///
    /// # Errors
    /// If the point is outside the picture, is no number, or is given in another convention.
    pub fn to_capture(&self, said: SaidPoint) -> Result<CapturePoint, OffPicture> {
        match self.unit() {
            None => self.pixel_to_capture(said),
            Some(unit) => self.fraction_to_capture(said, unit),
        }
    }

    fn pixel_to_capture(&self, said: SaidPoint) -> Result<CapturePoint, OffPicture> {
        let SaidPoint { x, y, .. } = said;
        let point = ModelPoint::new(x, y);
        if !self.counted.contains(point) {
            return Err(self.outside(said));
        }
        let (unit, whole) = (0.0..=1.0, |value: f64| value.fract() == 0.0);
        if unit.contains(&x) && unit.contains(&y) && !(whole(x) && whole(y)) {
            let range = self.range();
            return Err(OffPicture::Fractional { x, y, range });
        }
        Ok(self.counted.to_capture(point))
    }

    fn fraction_to_capture(&self, said: SaidPoint, unit: f64) -> Result<CapturePoint, OffPicture> {
        let inside = 0.0..=unit;
        if !(inside.contains(&said.x) && inside.contains(&said.y)) {
            return Err(self.outside(said));
        }
        let fraction = NormalisedPoint::new(said.x / unit, said.y / unit);
        Ok(self.counted.fraction_to_capture(fraction))
    }

    /// How the model would name a pixel of the frame: in whole numbers, except where it counts in fractions.
    ///
    /// # Errors
    /// If the picture does not show that pixel.
    pub fn to_said(&self, pixel: CapturePoint) -> Result<SaidPoint, OffPicture> {
        let place = self.counted.to_model(pixel);
        if !self.region().contains(pixel) {
            return Err(self.outside(SaidPoint::new(place.x.round(), place.y.round())));
        }
        let size = self.counted.model_size();
        let said = |place: f64, side: f64| match self.unit() {
            None => place.round().clamp(0.0, side - 1.0),
            Some(unit) => {
                let fraction = (place + 0.5) / side;
                if self.convention == Convention::Fractions {
                    fraction
                } else {
                    (fraction * unit).round()
                }
            }
        };
        Ok(SaidPoint::new(
            said(place.x, size.width),
            said(place.y, size.height),
        ))
    }

    /// The pixels of the frame in a box that a model names by two corners, in any order.
    ///
    /// # Errors
    /// If a corner is outside the picture (its far edges are not), or the box has no inside.
    pub fn area(&self, one: SaidPoint, other: SaidPoint) -> Result<CaptureRect, OffPicture> {
        let unit = self.unit();
        let size = self.counted.model_size();
        let (x_unit, y_unit) = unit.map_or((size.width, size.height), |unit| (unit, unit));
        for corner in [one, other] {
            if !((0.0..=x_unit).contains(&corner.x) && (0.0..=y_unit).contains(&corner.y)) {
                return Err(self.outside(corner));
            }
        }
        if one.x == other.x || one.y == other.y {
            let (x1, y1, x2, y2) = (one.x, one.y, other.x, other.y);
            return Err(OffPicture::EmptyRegion { x1, y1, x2, y2 });
        }
        let corner = |said: SaidPoint| {
            ModelPoint::new(said.x / x_unit * size.width, said.y / y_unit * size.height)
        };
        Ok(self
            .counted
            .rect_to_capture(&ModelRect::new(corner(one), corner(other))))
    }

    /// What the whole side of a picture counts, where that is not its pixels.
    fn unit(&self) -> Option<f64> {
        match self.convention {
            Convention::SentPixels | Convention::SeenPixels => None,
            Convention::Thousandths => Some(1000.0),
            Convention::Fractions => Some(1.0),
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

    fn outside(&self, said: SaidPoint) -> OffPicture {
        OffPicture::Outside {
            x: said.x,
            y: said.y,
            range: self.range(),
        }
    }
}
