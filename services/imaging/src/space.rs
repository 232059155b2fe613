//! Conversion between coordinate spaces; the only place that does it.
//!
//! There are four spaces: capture pixels (of a frame), logical points (of input), model pixels (of an image shown to a
//! model, often smaller than the frame and sometimes a crop), and fractions of the frame. Points of different spaces
//! have different types.
//!
//! Conventions: a capture pixel is the unit square from its index to the next, so that the centre of a box is inside
//! one of its pixels. A logical point is a position on the continuous plane, and the corner of a pixel is its position;
//! a model pixel denotes the centre of the pixel with that index, as models do.
//!
//! Invariant: a conversion to another space and back is off by at most one pixel (of the coarser space), and any
//! external input (from a model, a box in fractions, a logical point) maps to a point inside the frame.
//!
//! It neither determines the scale of a display nor chooses the size of a model image.

use euclid::{Box2D, Size2D};
use motorium_proto::domain::frame::Display;
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, LogicalPoint, LogicalSize, ModelPoint, ModelPx,
    ModelSize, NormalisedPoint, NormalisedRect,
};

mod desktop;

pub use desktop::{DesktopSpace, InputPoint, LogicalRect, PlatformMonitor};

/// Box in an image shown to a model.
pub type ModelRect = Box2D<f64, ModelPx>;
/// Size of an image shown to a model, in whole pixels.
pub type ImageSize = Size2D<u32, ModelPx>;

/// Error of a coordinate conversion.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SpaceError {
    #[error("a frame of {width}x{height} pixels is empty: both sides must be at least 1")]
    EmptyFrame { width: i32, height: i32 },
    #[error("a scale of {scale} is invalid: use capture pixels per logical point, greater than 0")]
    UnusableScale { scale: f64 },
    #[error("an image of {width}x{height} pixels is empty: both sides must be at least 1")]
    EmptyImage { width: u32, height: u32 },
}

/// Tolerance added before rounding down, because a quotient that should be an integer may be slightly lower. Far
/// smaller than a pixel, far larger than the error at 2^14 pixels.
const ROUNDING_SLACK: f64 = 1e-6;

/// Capture pixels and input coordinates of one display.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DisplaySpace {
    size: CaptureSize,
    origin: LogicalPoint,
    scale: f64,
}

impl DisplaySpace {
    /// Creates the space of a display with a frame of `size` capture pixels, `scale` capture pixels per logical point,
    /// and its top left corner at the logical point (0, 0).
    ///
    /// # Errors
    /// If the frame is empty, or the scale is not a positive number.
    pub fn new(size: CaptureSize, scale: f64) -> Result<Self, SpaceError> {
        check_frame(size)?;
        if !(scale.is_finite() && scale > 0.0) {
            return Err(SpaceError::UnusableScale { scale });
        }
        Ok(Self {
            size,
            origin: LogicalPoint::zero(),
            scale,
        })
    }

    /// Creates the space of a display as Perception describes it.
    ///
    /// # Errors
    /// Fails under the conditions of [`DisplaySpace::new`].
    pub fn from_display(display: &Display) -> Result<Self, SpaceError> {
        Self::new(display.size, display.scale)
    }

    /// Moves the top left corner to `origin`, for platforms on which several displays share one plane of input
    /// coordinates.
    #[must_use]
    pub fn with_origin(self, origin: LogicalPoint) -> Self {
        Self { origin, ..self }
    }

    /// Size of the frame.
    #[must_use]
    pub fn size(&self) -> CaptureSize {
        self.size
    }

    /// Capture pixels per logical point.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Size of the display in input coordinates.
    #[must_use]
    pub fn logical_size(&self) -> LogicalSize {
        LogicalSize::new(
            f64::from(self.size.width) / self.scale,
            f64::from(self.size.height) / self.scale,
        )
    }

    /// Returns the logical point of a pixel's top left corner. Platforms with integer points take its floor. A pixel
    /// outside the frame gives a point outside the display; rejecting it is up to the caller.
    #[must_use]
    pub fn to_logical(&self, pixel: CapturePoint) -> LogicalPoint {
        LogicalPoint::new(
            f64::from(pixel.x) / self.scale,
            f64::from(pixel.y) / self.scale,
        ) + self.origin.to_vector()
    }

    /// Returns the pixel under a logical point; the nearest pixel of the frame if the point is outside.
    #[must_use]
    pub fn to_capture(&self, point: LogicalPoint) -> CapturePoint {
        let from_corner = point - self.origin;
        pixel_inside(
            from_corner.x * self.scale,
            from_corner.y * self.scale,
            CaptureRect::from_size(self.size),
        )
    }

    /// Returns the click point of a box in fractions of the frame: ((x1 + x2) / 2 · W, (y1 + y2) / 2 · H) of the W×H
    /// logical points of the display.
    #[must_use]
    pub fn click_point(&self, bounds: &NormalisedRect) -> LogicalPoint {
        let size = self.logical_size();
        let centre = bounds.center();
        LogicalPoint::new(centre.x * size.width, centre.y * size.height) + self.origin.to_vector()
    }
}

/// Converts a box of pixels to fractions of its frame, clamped to 0 to 1.
#[must_use]
pub fn normalise(bounds: CaptureRect, frame: CaptureSize) -> NormalisedRect {
    let fraction =
        |pixels: i32, side: i32| (f64::from(pixels) / f64::from(side.max(1))).clamp(0.0, 1.0);
    NormalisedRect::new(
        NormalisedPoint::new(
            fraction(bounds.min.x, frame.width),
            fraction(bounds.min.y, frame.height),
        ),
        NormalisedPoint::new(
            fraction(bounds.max.x, frame.width),
            fraction(bounds.max.y, frame.height),
        ),
    )
}

/// Converts a box in fractions of the frame to pixels: edges are rounded to the nearest pixel edge; the result is
/// inside the frame and contains at least the pixel of [`centre`].
#[must_use]
pub fn denormalise(bounds: &NormalisedRect, frame: CaptureSize) -> CaptureRect {
    let edge =
        |fraction: f64, side: i32| ((fraction * f64::from(side)).round() as i32).clamp(0, side);
    let middle = centre(bounds, frame);
    let span = |low: f64, high: f64, side: i32, middle: i32| {
        let (low, high) = (edge(low, side), edge(high, side));
        if low < high {
            (low, high)
        } else {
            (middle, middle + 1)
        }
    };
    let (x1, x2) = span(bounds.min.x, bounds.max.x, frame.width, middle.x);
    let (y1, y2) = span(bounds.min.y, bounds.max.y, frame.height, middle.y);
    CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
}

/// Returns the centre pixel of a box in fractions of the frame; always inside the frame.
#[must_use]
pub fn centre(bounds: &NormalisedRect, frame: CaptureSize) -> CapturePoint {
    fraction_to_pixel(bounds.center(), CaptureRect::from_size(frame))
}

/// Model pixels and frame pixels: an image of a region of the frame at the size shown to a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelSpace {
    region: CaptureRect,
    image_size: ImageSize,
}

impl ModelSpace {
    /// Creates the space of an image of a whole frame.
    ///
    /// # Errors
    /// If the frame or the image is empty.
    pub fn whole(frame: CaptureSize, image_size: ImageSize) -> Result<Self, SpaceError> {
        Self::for_region(CaptureRect::from_size(frame), image_size)
    }

    /// Creates the space of an image of a region, for zooming.
    ///
    /// # Errors
    /// If the region or the image is empty.
    pub fn for_region(region: CaptureRect, image_size: ImageSize) -> Result<Self, SpaceError> {
        check_frame(region.size())?;
        if image_size.is_empty() {
            return Err(SpaceError::EmptyImage {
                width: image_size.width,
                height: image_size.height,
            });
        }
        Ok(Self { region, image_size })
    }

    /// Region of the frame that the image shows.
    #[must_use]
    pub fn region(&self) -> CaptureRect {
        self.region
    }

    /// Size of the image in whole pixels.
    #[must_use]
    pub fn image_size(&self) -> ImageSize {
        self.image_size
    }

    /// Size of the image.
    #[must_use]
    pub fn model_size(&self) -> ModelSize {
        self.image_size.to_f64()
    }

    /// Returns whether a model's point is inside the image. [`ModelSpace::to_capture`] clamps, so callers that reject
    /// invented points must check this first.
    #[must_use]
    pub fn contains(&self, point: ModelPoint) -> bool {
        let size = self.model_size();
        let inside = |value: f64, side: f64| value >= -0.5 && value < side;
        inside(point.x, size.width) && inside(point.y, size.height)
    }

    /// Returns the frame pixel under the centre of a model pixel; the nearest pixel of the region if the point is
    /// outside.
    #[must_use]
    pub fn to_capture(&self, point: ModelPoint) -> CapturePoint {
        let (x_ratio, y_ratio) = self.ratio();
        let from_corner = self.region.min.to_f64();
        let x = from_corner.x + (point.x + 0.5) * x_ratio;
        let y = from_corner.y + (point.y + 0.5) * y_ratio;
        pixel_inside(x, y, self.region)
    }

    /// Returns the position of a frame pixel's centre in the image. A pixel outside the region gives a point outside
    /// the image.
    #[must_use]
    pub fn to_model(&self, pixel: CapturePoint) -> ModelPoint {
        let (x_ratio, y_ratio) = self.ratio();
        let from_corner = (pixel - self.region.min).to_f64();
        ModelPoint::new(
            (from_corner.x + 0.5) / x_ratio - 0.5,
            (from_corner.y + 0.5) / y_ratio - 0.5,
        )
    }

    /// Returns the frame pixel at a position in fractions of the image, clamped to the region. Divide by 1000 first for
    /// models that answer in thousandths.
    #[must_use]
    pub fn fraction_to_capture(&self, fraction: NormalisedPoint) -> CapturePoint {
        fraction_to_pixel(fraction, self.region)
    }

    /// Converts a box of frame pixels to the image, edge for edge; it may be partly or completely outside.
    #[must_use]
    pub fn rect_to_model(&self, bounds: CaptureRect) -> ModelRect {
        let (x_ratio, y_ratio) = self.ratio();
        let place = |corner: CapturePoint| {
            let from_corner = (corner - self.region.min).to_f64();
            ModelPoint::new(from_corner.x / x_ratio, from_corner.y / y_ratio)
        };
        ModelRect::new(place(bounds.min), place(bounds.max))
    }

    /// Converts a box in fractions of a `frame` to the image; it may be partly or completely outside.
    #[must_use]
    pub fn normalised_to_model(&self, bounds: &NormalisedRect, frame: CaptureSize) -> ModelRect {
        self.rect_to_model(denormalise(bounds, frame))
    }

    /// Returns the frame pixels that a box of the image touches, clamped to the region, at least one pixel. The corners
    /// may be in any order.
    #[must_use]
    pub fn rect_to_capture(&self, bounds: &ModelRect) -> CaptureRect {
        let (x_ratio, y_ratio) = self.ratio();
        let span = |a: f64, b: f64, ratio: f64, low: i32, high: i32| {
            let start = (f64::from(low) + a.min(b) * ratio + ROUNDING_SLACK).floor() as i32;
            let end = (f64::from(low) + a.max(b) * ratio - ROUNDING_SLACK).ceil() as i32;
            let start = start.clamp(low, high - 1);
            (start, end.clamp(start + 1, high))
        };
        let Self { region, .. } = *self;
        let (x1, x2) = span(
            bounds.min.x,
            bounds.max.x,
            x_ratio,
            region.min.x,
            region.max.x,
        );
        let (y1, y2) = span(
            bounds.min.y,
            bounds.max.y,
            y_ratio,
            region.min.y,
            region.max.y,
        );
        CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
    }

    /// Frame pixels per model pixel.
    fn ratio(&self) -> (f64, f64) {
        let size = self.model_size();
        (
            f64::from(self.region.width()) / size.width,
            f64::from(self.region.height()) / size.height,
        )
    }
}

/// Maximum size of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSizeLimit {
    /// Maximum width in pixels.
    pub width: u32,
    pub height: u32,
    /// Maximum total number of pixels.
    pub pixels: u64,
}

impl ImageSizeLimit {
    /// Limits width and height.
    #[must_use]
    pub fn within(width: u32, height: u32) -> Self {
        Self {
            width,
            height,
            pixels: u64::MAX,
        }
    }

    /// Limits both sides.
    #[must_use]
    pub fn long_side(side: u32) -> Self {
        Self::within(side, side)
    }

    /// Limits the total number of pixels as well.
    #[must_use]
    pub fn with_pixels(self, pixels: u64) -> Self {
        Self { pixels, ..self }
    }
}

/// Returns the largest size with the aspect ratio of `size` within the limit; never larger than `size`, never empty.
#[must_use]
pub fn fit(size: CaptureSize, limit: ImageSizeLimit) -> ImageSize {
    let (width, height) = (f64::from(size.width.max(1)), f64::from(size.height.max(1)));
    let by_side = (f64::from(limit.width) / width).min(f64::from(limit.height) / height);
    let by_area = (limit.pixels as f64 / (width * height)).sqrt();
    let factor = by_side.min(by_area).min(1.0);
    // Rounded down, so that no limit is exceeded by a fraction of a pixel.
    let side = |length: f64| ((length * factor + ROUNDING_SLACK).floor() as u32).max(1);
    ImageSize::new(side(width), side(height))
}

fn check_frame(size: CaptureSize) -> Result<(), SpaceError> {
    if size.width >= 1 && size.height >= 1 {
        return Ok(());
    }
    Err(SpaceError::EmptyFrame {
        width: size.width,
        height: size.height,
    })
}

/// Returns the pixel at a position on the continuous plane, or the nearest one within `bounds`, which must not be
/// empty.
fn pixel_inside(x: f64, y: f64, bounds: CaptureRect) -> CapturePoint {
    let pixel = |value: f64, low: i32, high: i32| {
        ((value + ROUNDING_SLACK).floor() as i32).clamp(low, high - 1)
    };
    CapturePoint::new(
        pixel(x, bounds.min.x, bounds.max.x),
        pixel(y, bounds.min.y, bounds.max.y),
    )
}

fn fraction_to_pixel(fraction: NormalisedPoint, bounds: CaptureRect) -> CapturePoint {
    let x = f64::from(bounds.min.x) + fraction.x * f64::from(bounds.width());
    let y = f64::from(bounds.min.y) + fraction.y * f64::from(bounds.height());
    pixel_inside(x, y, bounds)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIDES: std::ops::RangeInclusive<i32> = 1..=8000;

    fn frame() -> impl Strategy<Value = CaptureSize> {
        (SIDES, SIDES).prop_map(|(width, height)| CaptureSize::new(width, height))
    }

    /// Common desktop scales, and values in between.
    fn scale() -> impl Strategy<Value = f64> {
        prop_oneof![
            proptest::sample::select(vec![
                0.5,
                1.0,
                1.25,
                4.0 / 3.0,
                1.5,
                1.75,
                2.0,
                2.25,
                2.5,
                3.0,
                4.0
            ]),
            0.5..4.0
        ]
    }

    fn image_size() -> impl Strategy<Value = ImageSize> {
        (1u32..=8000, 1u32..=8000).prop_map(|(width, height)| ImageSize::new(width, height))
    }

    /// Generates a non-empty box inside `frame`.
    fn inside(frame: CaptureSize) -> impl Strategy<Value = CaptureRect> {
        let span = |side: i32| (0..side).prop_flat_map(move |low| (Just(low), low + 1..=side));
        (span(frame.width), span(frame.height)).prop_map(|((x1, x2), (y1, y2))| {
            CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
        })
    }

    fn pixel_of(bounds: CaptureRect) -> impl Strategy<Value = CapturePoint> {
        (bounds.min.x..bounds.max.x, bounds.min.y..bounds.max.y)
            .prop_map(|(x, y)| CapturePoint::new(x, y))
    }

    fn frame_and_pixel() -> impl Strategy<Value = (CaptureSize, CapturePoint)> {
        frame().prop_flat_map(|frame| (Just(frame), pixel_of(CaptureRect::from_size(frame))))
    }

    fn frame_and_box() -> impl Strategy<Value = (CaptureSize, CaptureRect)> {
        frame().prop_flat_map(|frame| (Just(frame), inside(frame)))
    }

    fn region_and_pixel() -> impl Strategy<Value = (CaptureRect, CapturePoint)> {
        frame_and_box().prop_flat_map(|(_, region)| (Just(region), pixel_of(region)))
    }

    proptest! {
        #[test]
        fn pixel_round_trips_through_logical_points((size, pixel) in frame_and_pixel(), scale in scale(), x in -9000.0..9000.0) {
            let display = DisplaySpace::new(size, scale).unwrap().with_origin(LogicalPoint::new(x, -x));
            prop_assert_eq!(display.to_capture(display.to_logical(pixel)), pixel);
        }

        #[test]
        fn logical_point_round_trips_within_a_pixel(size in frame(), scale in scale(), x in 0.0..1.0, y in 0.0..1.0) {
            let display = DisplaySpace::new(size, scale).unwrap();
            let extent = display.logical_size();
            let point = LogicalPoint::new(x * extent.width, y * extent.height);
            let off = (display.to_logical(display.to_capture(point)) - point) * scale;
            prop_assert!(off.x.abs() <= 1.001 && off.y.abs() <= 1.001, "{off:?}");
        }

        #[test]
        fn a_whole_logical_point_is_itself_where_the_scale_is_one((size, pixel) in frame_and_pixel()) {
            let display = DisplaySpace::new(size, 1.0).unwrap();
            prop_assert_eq!(display.to_logical(pixel), pixel.to_f64().cast_unit());
        }

        #[test]
        fn any_logical_point_lands_inside_the_frame(size in frame(), scale in scale(), x in any::<f64>(), y in any::<f64>()) {
            let display = DisplaySpace::new(size, scale).unwrap();
            prop_assert!(CaptureRect::from_size(size).contains(display.to_capture(LogicalPoint::new(x, y))));
        }

        #[test]
        fn pixel_round_trips_through_model_space((region, pixel) in region_and_pixel(), image_size in image_size()) {
            let space = ModelSpace::for_region(region, image_size).unwrap();
            let shown = space.to_model(pixel);
            prop_assert!(space.contains(shown));
            prop_assert_eq!(space.to_capture(shown), pixel);
        }

        #[test]
        fn whole_model_pixel_round_trips_within_a_pixel(
            (_, region) in frame_and_box(), image_size in image_size(), x in 0.0..1.0, y in 0.0..1.0
        ) {
            let space = ModelSpace::for_region(region, image_size).unwrap();
            let size = space.model_size();
            let (x, y): (f64, f64) = (x * size.width, y * size.height);
            let answered = ModelPoint::new(x.floor(), y.floor());
            let back = space.to_model(space.to_capture(answered));
            let (x_ratio, y_ratio) = space.ratio();
            // One pixel of the coarser space, seen in model pixels.
            prop_assert!((back.x - answered.x).abs() <= (1.0 / x_ratio).max(1.0) + 1e-3);
            prop_assert!((back.y - answered.y).abs() <= (1.0 / y_ratio).max(1.0) + 1e-3);
        }

        #[test]
        fn any_model_point_lands_inside_the_region(
            (_, region) in frame_and_box(), image_size in image_size(), x in any::<f64>(), y in any::<f64>()
        ) {
            let space = ModelSpace::for_region(region, image_size).unwrap();
            prop_assert!(region.contains(space.to_capture(ModelPoint::new(x, y))));
            prop_assert!(region.contains(space.fraction_to_capture(NormalisedPoint::new(x, y))));
        }

        #[test]
        fn a_point_stays_in_its_box_in_the_model((size, bounds) in frame_and_box(), image_size in image_size()) {
            let space = ModelSpace::whole(size, image_size).unwrap();
            let shown = space.rect_to_model(bounds);
            let middle = space.to_model(centre(&normalise(bounds, size), size));
            // A model pixel denotes its index; its centre is half a pixel further.
            let middle = middle + euclid::Vector2D::new(0.5, 0.5);
            prop_assert!(shown.contains(middle));
        }

        #[test]
        fn box_round_trips_through_model_space((size, bounds) in frame_and_box(), image_size in image_size()) {
            let space = ModelSpace::whole(size, image_size).unwrap();
            prop_assert_eq!(space.rect_to_capture(&space.rect_to_model(bounds)), bounds);
        }

        #[test]
        fn a_box_of_the_model_is_never_empty(
            (_, region) in frame_and_box(), image_size in image_size(),
            x1 in any::<f64>(), y1 in any::<f64>(), x2 in any::<f64>(), y2 in any::<f64>()
        ) {
            let space = ModelSpace::for_region(region, image_size).unwrap();
            let back = space.rect_to_capture(&ModelRect::new(ModelPoint::new(x1, y1), ModelPoint::new(x2, y2)));
            prop_assert!(!back.is_empty() && region.contains_box(&back));
        }

        #[test]
        fn box_round_trips_through_normalised_coordinates((size, bounds) in frame_and_box()) {
            prop_assert_eq!(denormalise(&normalise(bounds, size), size), bounds);
        }

        #[test]
        fn normalised_coordinates_round_trip_within_a_pixel(size in frame(), corners in proptest::array::uniform4(0.0..=1.0f64)) {
            let [x1, y1, x2, y2] = corners;
            let given = NormalisedRect::new(
                NormalisedPoint::new(x1.min(x2), y1.min(y2)),
                NormalisedPoint::new(x1.max(x2), y1.max(y2)),
            );
            let pixels = denormalise(&given, size);
            prop_assert!(!pixels.is_empty() && CaptureRect::from_size(size).contains_box(&pixels));
            prop_assert!(pixels.contains(centre(&given, size)));
            let back = normalise(pixels, size);
            let (width, height) = (f64::from(size.width), f64::from(size.height));
            for (off, side) in [
                (back.min.x - given.min.x, width), (back.max.x - given.max.x, width),
                (back.min.y - given.min.y, height), (back.max.y - given.max.y, height),
            ] {
                prop_assert!((off * side).abs() <= 1.0 + 1e-6);
            }
        }

        #[test]
        fn a_click_lands_in_its_box((size, bounds) in frame_and_box(), scale in scale()) {
            let display = DisplaySpace::new(size, scale).unwrap();
            let click = display.click_point(&normalise(bounds, size));
            prop_assert!(bounds.contains(display.to_capture(click)));
            prop_assert!(bounds.contains(centre(&normalise(bounds, size), size)));
        }

        #[test]
        fn fitted_image_keeps_to_the_size_limit(
            size in frame(), width in 1u32..4000, height in 1u32..4000, pixels in 1u64..4_000_000
        ) {
            let fitted = fit(size, ImageSizeLimit::within(width, height).with_pixels(pixels));
            prop_assert!(fitted.width >= 1 && fitted.height >= 1);
            prop_assert!(fitted.width <= size.width as u32 && fitted.height <= size.height as u32);
            prop_assert!(fitted.width <= width && fitted.height <= height);
            // A side is at least one pixel, even if the area limit is exceeded then.
            let thin = fitted.width == 1 || fitted.height == 1;
            prop_assert!(thin || u64::from(fitted.width) * u64::from(fitted.height) <= pixels);
        }
    }

    fn check_click(size: (i32, i32), scale: f64, bounds: [f64; 4], expected: (f64, f64)) {
        let display = DisplaySpace::new(CaptureSize::new(size.0, size.1), scale).unwrap();
        let [x1, y1, x2, y2] = bounds;
        let click = display.click_point(&NormalisedRect::new(
            NormalisedPoint::new(x1, y1),
            NormalisedPoint::new(x2, y2),
        ));
        assert!(
            (click - LogicalPoint::new(expected.0, expected.1)).length() < 1e-9,
            "{click:?}"
        );
    }

    #[test]
    fn click_points() {
        check_click((1920, 1080), 1.0, [0.25, 0.5, 0.75, 1.0], (960.0, 810.0));
        check_click((1920, 1080), 1.5, [0.25, 0.5, 0.75, 1.0], (640.0, 540.0));
        check_click((3840, 2160), 2.0, [0.0, 0.0, 0.1, 0.1], (96.0, 54.0));
    }

    fn check_fit(size: (i32, i32), limit: ImageSizeLimit, expected: (u32, u32)) {
        let fitted = fit(CaptureSize::new(size.0, size.1), limit);
        assert_eq!((fitted.width, fitted.height), expected);
    }

    #[test]
    fn fitting() {
        let long_side = ImageSizeLimit::long_side;
        check_fit((1920, 1080), long_side(1280), (1280, 720));
        check_fit((1080, 1920), long_side(1280), (720, 1280));
        check_fit((1920, 1080), ImageSizeLimit::within(1280, 360), (640, 360));
        check_fit(
            (1920, 1080),
            long_side(4000).with_pixels(518_400),
            (960, 540),
        );
        check_fit((800, 600), long_side(1280), (800, 600));
        check_fit((8000, 2), long_side(100), (100, 1));
    }

    #[test]
    fn points_in_an_enlarged_crop_map_to_the_frame() {
        let region = CaptureRect::new(CapturePoint::new(100, 200), CapturePoint::new(200, 250));
        let space = ModelSpace::for_region(region, ImageSize::new(400, 200)).unwrap();
        assert_eq!(
            space.to_capture(ModelPoint::new(0.0, 0.0)),
            CapturePoint::new(100, 200)
        );
        assert_eq!(
            space.to_capture(ModelPoint::new(399.0, 199.0)),
            CapturePoint::new(199, 249)
        );
        assert_eq!(
            space.to_capture(ModelPoint::new(9999.0, -7.0)),
            CapturePoint::new(199, 200)
        );
        assert_eq!(
            space.fraction_to_capture(NormalisedPoint::new(0.5, 1.0)),
            CapturePoint::new(150, 249)
        );
    }

    #[test]
    fn empty_sizes_and_unusable_scales_are_refused() {
        let empty = CaptureSize::new(0, 10);
        assert_eq!(
            DisplaySpace::new(empty, 1.0),
            Err(SpaceError::EmptyFrame {
                width: 0,
                height: 10
            })
        );
        let size = CaptureSize::new(10, 10);
        for scale in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(
                DisplaySpace::new(size, scale),
                Err(SpaceError::UnusableScale { scale })
            );
        }
        assert!(DisplaySpace::new(size, f64::NAN).is_err());
        assert!(ModelSpace::whole(size, ImageSize::new(3, 0)).is_err());
    }
}
