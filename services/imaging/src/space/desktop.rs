//! Capture pixels and input coordinates of a desktop with one or more monitors.
//!
//! Platforms place monitors on one plane of input coordinates, which may be negative (a monitor to the left of the
//! primary one). Frames place them on one plane of capture pixels that begins at (0, 0). With different scales the two
//! planes are not similar, so each monitor has a space of its own, and the gaps between monitors belong to none.
//!
//! Perception arranges frames and the Executor sends input by the same type, so a pixel of a frame is where it was seen.
//!
//! Invariant: monitors that do not overlap on the input plane do not overlap in the frame.

use euclid::{Box2D, Point2D, Size2D};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, LogicalPoint, LogicalPt, LogicalSize,
};

use super::{DisplaySpace, SpaceError, check_frame};

/// Box in input coordinates.
pub type LogicalRect = Box2D<f64, LogicalPt>;
/// A position in whole input coordinates, which is all that platforms take.
pub type InputPoint = Point2D<i32, LogicalPt>;

/// A monitor as its platform describes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlatformMonitor {
    /// Place on the plane of input coordinates.
    pub bounds: LogicalRect,
    /// Capture pixels per input coordinate.
    pub scale: f64,
}

impl PlatformMonitor {
    /// Returns a monitor at (0, 0).
    #[must_use]
    pub fn at_zero(size: LogicalSize, scale: f64) -> Self {
        Self {
            bounds: LogicalRect::from_size(size),
            scale,
        }
    }

    /// Returns the size in capture pixels. The edges are rounded and not their distance, so that neighbours share an edge.
    fn capture_size(&self) -> CaptureSize {
        let edge = |corner: LogicalPoint| (corner * self.scale).round();
        let size = edge(self.bounds.max) - edge(self.bounds.min);
        size.to_size().to_i32().cast_unit()
    }
}

/// Capture pixels and input coordinates of a desktop.
#[derive(Debug, Clone, PartialEq)]
pub struct DesktopSpace {
    monitors: Vec<PlacedMonitor>,
    size: CaptureSize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct PlacedMonitor {
    /// Place in the frame.
    bounds: CaptureRect,
    /// Place on the plane of input coordinates.
    input: LogicalRect,
    space: DisplaySpace,
}

impl DesktopSpace {
    /// Arranges monitors in a frame, in their order.
    ///
    /// # Errors
    /// If there is no monitor, one has no pixels, or a scale is not a positive number.
    pub fn of_monitors(monitors: &[PlatformMonitor]) -> Result<Self, SpaceError> {
        // The largest scale for all positions: then a monitor never needs more room than its place offers. Where all
        // scales are equal, which is the usual case, this is exact.
        let scale = monitors.iter().map(|monitor| monitor.scale);
        let scale = scale.fold(0.0, f64::max);
        let corner_of = |monitor: &PlatformMonitor| -> CapturePoint {
            (monitor.bounds.min * scale).round().to_i32().cast_unit()
        };
        let corner = monitors.iter().map(corner_of).reduce(CapturePoint::min);
        let corner = corner.unwrap_or_default().to_vector();
        let placed = monitors.iter().map(|monitor| {
            let size = monitor.capture_size();
            Ok(PlacedMonitor {
                bounds: CaptureRect::from_origin_and_size(corner_of(monitor) - corner, size),
                input: monitor.bounds,
                space: DisplaySpace::new(size, monitor.scale)?.with_origin(monitor.bounds.min),
            })
        });
        let monitors = placed.collect::<Result<Vec<_>, SpaceError>>()?;
        let frame = monitors.iter().map(|monitor| monitor.bounds);
        let size = frame.reduce(|all, bounds| all.union(&bounds));
        let size = size.map_or(CaptureSize::zero(), |all| all.size());
        check_frame(size)?;
        Ok(Self { monitors, size })
    }

    /// Size of the frame.
    #[must_use]
    pub fn size(&self) -> CaptureSize {
        self.size
    }

    /// Places of the monitors in the frame, in the order in which they were given.
    pub fn monitors(&self) -> impl Iterator<Item = CaptureRect> {
        self.monitors.iter().map(|monitor| monitor.bounds)
    }

    /// Returns the logical point of a pixel's top left corner; `None` if no monitor shows the pixel.
    #[must_use]
    pub fn to_logical(&self, pixel: CapturePoint) -> Option<LogicalPoint> {
        let monitor = self.showing(pixel)?;
        Some(
            monitor
                .space
                .to_logical(pixel - monitor.bounds.min.to_vector()),
        )
    }

    /// Returns the whole input coordinates nearest to the centre of a pixel, on the monitor that shows it; `None` if no
    /// monitor does.
    ///
    /// They are at most half an input coordinate away from the centre, except in the last row and column of a monitor.
    #[must_use]
    pub fn to_input(&self, pixel: CapturePoint) -> Option<InputPoint> {
        let monitor = self.showing(pixel)?;
        let corner = self.to_logical(pixel)?;
        let half_a_pixel = 0.5 / monitor.space.scale();
        let nearest = |corner: f64, low: f64, high: f64| {
            // Ties go down, so that at scale 1 a pixel is the coordinate of the same number.
            let nearest = (corner + half_a_pixel - 0.5).ceil();
            // The coordinate of the far edge is on the next monitor.
            nearest.min(high.ceil() - 1.0).max(low.ceil()) as i32
        };
        let input = monitor.input;
        Some(InputPoint::new(
            nearest(corner.x, input.min.x, input.max.x),
            nearest(corner.y, input.min.y, input.max.y),
        ))
    }

    /// Returns the pixel under a logical point; the nearest pixel of the nearest monitor if it is on none.
    #[must_use]
    pub fn to_capture(&self, point: LogicalPoint) -> CapturePoint {
        let monitor = self.nearest(point);
        monitor.space.to_capture(point) + monitor.bounds.min.to_vector()
    }

    /// Returns the place of a box in the frame. It may extend beyond its monitor, as windows do.
    #[must_use]
    pub fn to_capture_rect(&self, bounds: &LogicalRect) -> CaptureRect {
        let monitor = self.nearest(bounds.center());
        let scale = monitor.space.scale();
        let corner = (bounds.min - monitor.input.min) * scale;
        let size: Size2D<f64, LogicalPt> = bounds.size() * scale;
        CaptureRect::from_origin_and_size(
            monitor.bounds.min + corner.round().to_i32().cast_unit(),
            size.round().to_i32().cast_unit(),
        )
    }

    fn showing(&self, pixel: CapturePoint) -> Option<&PlacedMonitor> {
        self.monitors
            .iter()
            .find(|monitor| monitor.bounds.contains(pixel))
    }

    fn nearest(&self, point: LogicalPoint) -> &PlacedMonitor {
        let distance = |monitor: &&PlacedMonitor| {
            let inside = point.clamp(monitor.input.min, monitor.input.max);
            // The far edge belongs to the next monitor, which is as near.
            let is_on = monitor.input.contains(point);
            (!is_on, (point - inside).square_length())
        };
        self.monitors
            .iter()
            .min_by(|one, other| {
                let (one, other) = (distance(one), distance(other));
                one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
            })
            .expect("there is at least one monitor")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn monitor(x: f64, y: f64, width: f64, height: f64, scale: f64) -> PlatformMonitor {
        let bounds = LogicalRect::from_origin_and_size(
            LogicalPoint::new(x, y),
            LogicalSize::new(width, height),
        );
        PlatformMonitor { bounds, scale }
    }

    fn space(monitors: &[PlatformMonitor]) -> DesktopSpace {
        DesktopSpace::of_monitors(monitors).unwrap()
    }

    /// A monitor to the left of the primary one and higher, as platforms describe it: with negative coordinates.
    fn left_and_primary(left: f64, primary: f64) -> DesktopSpace {
        space(&[
            monitor(0.0, 0.0, 1440.0, 900.0, primary),
            monitor(-1280.0, -200.0, 1280.0, 1024.0, left),
        ])
    }

    #[track_caller]
    fn check(space: &DesktopSpace, pixel: (i32, i32), input: Option<(i32, i32)>) {
        let found = space.to_input(pixel.into());
        assert_eq!(found, input.map(Into::into), "{pixel:?}");
    }

    #[test]
    fn a_pixel_is_its_own_input_coordinate_at_scale_one() {
        let space = space(&[PlatformMonitor::at_zero(
            LogicalSize::new(1920.0, 1080.0),
            1.0,
        )]);
        assert_eq!(space.size(), CaptureSize::new(1920, 1080));
        for pixel in [(0, 0), (1, 2), (959, 540), (1919, 1079)] {
            check(&space, pixel, Some(pixel));
        }
        check(&space, (1920, 0), None);
        check(&space, (0, -1), None);
    }

    #[test]
    fn input_is_divided_by_the_scale() {
        let at = |scale| {
            space(&[PlatformMonitor::at_zero(
                LogicalSize::new(800.0, 600.0),
                scale,
            )])
        };
        check(&at(1.25), (500, 250), Some((400, 200)));
        check(&at(1.5), (600, 300), Some((400, 200)));
        check(&at(2.0), (800, 400), Some((400, 200)));
        // The last pixel is on the last coordinate and not on the next monitor.
        check(&at(2.0), (1599, 1199), Some((799, 599)));
    }

    #[test]
    fn monitors_at_negative_coordinates_begin_the_frame() {
        let equal = left_and_primary(1.0, 1.0);
        assert_eq!(equal.size(), CaptureSize::new(2720, 1100));
        check(&equal, (0, 0), Some((-1280, -200)));
        check(&equal, (1280, 200), Some((0, 0)));
        check(&equal, (2719, 1099), Some((1439, 899)));
        // Above the primary monitor and below the left one nothing is shown.
        check(&equal, (1280, 199), None);
        check(&equal, (0, 1024), None);

        let mixed = left_and_primary(1.0, 2.0);
        check(&mixed, (0, 0), Some((-1280, -200)));
        check(&mixed, (1279, 1023), Some((-1, 823)));
        check(&mixed, (2560, 400), Some((0, 0)));
        check(&mixed, (2560 + 800, 400 + 400), Some((400, 200)));
        check(&mixed, (2000, 500), None);
    }

    #[test]
    fn windows_beyond_the_screen_edge_keep_their_position() {
        let mixed = left_and_primary(1.0, 2.0);
        let window = LogicalRect::new(
            LogicalPoint::new(1300.0, 800.0),
            LogicalPoint::new(1500.0, 860.0),
        );
        let placed = mixed.to_capture_rect(&window);
        assert_eq!(placed.min, CapturePoint::new(2560 + 2600, 400 + 1600));
        assert_eq!(placed.size(), CaptureSize::new(400, 120));
    }

    #[test]
    fn no_monitors_and_unusable_scales_are_errors() {
        let empty = SpaceError::EmptyFrame {
            width: 0,
            height: 0,
        };
        assert_eq!(DesktopSpace::of_monitors(&[]), Err(empty));
        let unusable = monitor(0.0, 0.0, 10.0, 10.0, -1.0);
        assert!(DesktopSpace::of_monitors(&[unusable]).is_err());
    }

    fn scale() -> impl Strategy<Value = f64> {
        prop_oneof![
            Just(1.0),
            Just(1.25),
            Just(1.5),
            Just(1.75),
            Just(2.0),
            Just(3.0)
        ]
    }

    /// A row of monitors that begins left of zero, each higher or lower than the one before it.
    fn row() -> impl Strategy<Value = Vec<PlatformMonitor>> {
        let one = (400..2000, 300..1200, -500..500, scale());
        (prop::collection::vec(one, 1..4), -4000..0).prop_map(|(monitors, start)| {
            let mut x = f64::from(start);
            let place = |(width, height, y, scale): (i32, i32, i32, f64)| {
                let placed = monitor(x, f64::from(y), f64::from(width), f64::from(height), scale);
                x = placed.bounds.max.x;
                placed
            };
            monitors.into_iter().map(place).collect()
        })
    }

    proptest! {
        #[test]
        fn monitors_do_not_overlap(monitors in row()) {
            let places: Vec<CaptureRect> = space(&monitors).monitors().collect();
            for (at, one) in places.iter().enumerate() {
                for other in &places[at + 1..] {
                    prop_assert!(one.intersection(other).is_none_or(|both| both.is_empty()), "{places:?}");
                }
            }
        }

        #[test]
        fn pixel_round_trips_through_logical_points(monitors in row(), which in any::<prop::sample::Index>(), x in 0.0..1.0, y in 0.0..1.0) {
            let space = space(&monitors);
            let places: Vec<CaptureRect> = space.monitors().collect();
            let place = which.get(&places);
            let pixel = place.min + (place.size().to_f64() * 1.0).to_vector().component_mul((x, y).into()).to_i32();
            prop_assert_eq!(space.to_capture(space.to_logical(pixel).unwrap()), pixel);
        }

        /// Platforms take whole coordinates only, so half of one is the best that there is.
        #[test]
        fn input_is_within_half_a_coordinate_of_the_centre_of_its_pixel(monitors in row(), which in any::<prop::sample::Index>(), x in 0.0..1.0, y in 0.0..1.0) {
            let space = space(&monitors);
            let places: Vec<CaptureRect> = space.monitors().collect();
            let at = which.index(places.len());
            let (place, monitor) = (places[at], monitors[at]);
            // The last row and column are exempt.
            let inner = place.size() - CaptureSize::splat(monitor.scale.ceil() as i32);
            let pixel = place.min + inner.to_f64().to_vector().component_mul((x, y).into()).to_i32();
            let input = space.to_input(pixel).unwrap();
            prop_assert!(monitor.bounds.contains(input.to_f64()));
            let centre = space.to_logical(pixel).unwrap() + LogicalPoint::splat(0.5 / monitor.scale).to_vector();
            let off = input.to_f64() - centre;
            prop_assert!(off.x.abs() <= 0.5 + 1e-9 && off.y.abs() <= 0.5 + 1e-9, "{off:?}");
        }
    }
}
