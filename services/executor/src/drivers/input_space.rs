//! Input coordinates of a driver's display: the one way from the pixels of a request to what a platform is sent, and
//! back.
//!
//! It does not find out how the monitors are arranged; each driver asks its platform.

use motorium_imaging::space::{DesktopSpace, InputPoint, PlatformMonitor, SpaceError};
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

use super::Error;

/// Capture pixels and input coordinates of a display, as it is arranged now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InputSpace(DesktopSpace);

impl InputSpace {
    /// Creates the space of these monitors. `scale` replaces their scales, if it is set.
    ///
    /// # Errors
    /// If there is no monitor, or one is empty.
    pub(crate) fn new(monitors: &[PlatformMonitor], scale: Option<f64>) -> Result<Self, Error> {
        let monitors: Vec<PlatformMonitor> = monitors
            .iter()
            .map(|monitor| PlatformMonitor {
                scale: scale.unwrap_or(monitor.scale),
                ..*monitor
            })
            .collect();
        let arranged = DesktopSpace::of_monitors(&monitors);
        Ok(Self(arranged.map_err(|error: SpaceError| {
            Error::Rejected {
                cause: format!("its monitors cannot be used: {error}"),
            }
        })?))
    }

    /// Size of the display in capture pixels.
    pub(crate) fn size(&self) -> CaptureSize {
        self.0.size()
    }

    /// Returns where to send input that is meant for a pixel.
    ///
    /// # Errors
    /// If no monitor shows the pixel. Platforms would silently clamp such a point to an edge.
    pub(crate) fn to_input(&self, point: CapturePoint) -> Result<InputPoint, Error> {
        let size = self.size();
        self.0
            .to_input(point)
            .ok_or(Error::OutOfBounds { point, size })
    }

    /// Returns the pixel at which the pointer is. `aim` is the pixel that it was last sent to: where several pixels
    /// share input coordinates, the pointer on them is on that one.
    pub(crate) fn to_capture(
        &self,
        pointer: InputPoint,
        aim: Option<CapturePoint>,
    ) -> CapturePoint {
        aim.filter(|&aim| self.0.to_input(aim) == Some(pointer))
            .unwrap_or_else(|| self.0.to_capture(pointer.to_f64()))
    }
}

#[cfg(test)]
mod tests {
    use motorium_imaging::space::LogicalRect;
    use motorium_proto::domain::geometry::{LogicalPoint, LogicalSize};

    use super::*;

    /// A primary monitor, and one to its left and higher.
    fn two_monitors(scale: f64) -> [PlatformMonitor; 2] {
        let left = LogicalRect::from_origin_and_size(
            LogicalPoint::new(-1280.0, -200.0),
            LogicalSize::new(1280.0, 1024.0),
        );
        [
            PlatformMonitor::at_zero(LogicalSize::new(1440.0, 900.0), scale),
            PlatformMonitor {
                bounds: left,
                scale,
            },
        ]
    }

    #[test]
    fn the_pointer_is_read_back_where_it_was_sent_at_every_scale() {
        for scale in [1.0, 1.25, 1.5, 2.0] {
            let space = InputSpace::new(&two_monitors(scale), None).unwrap();
            // Every remainder of the scales, on both monitors.
            for (x, y) in (0..40).map(|step| (100 + step, 900 + step)) {
                let on_primary = CapturePoint::new((1280.0 * scale) as i32 + x, y);
                for aim in [CapturePoint::new(x, y), on_primary] {
                    let sent = space.to_input(aim).unwrap();
                    assert_eq!(space.to_capture(sent, Some(aim)), aim, "scale {scale}");
                    // Without knowing the aim it is at most one pixel of the input coordinates away.
                    let off = space.to_capture(sent, None) - aim;
                    let tolerance = scale.ceil() as i32;
                    assert!(
                        off.x.abs() <= tolerance && off.y.abs() <= tolerance,
                        "{aim:?}: {off:?}"
                    );
                }
            }
            // A pointer that was moved away is where it is.
            let (aim, elsewhere) = (CapturePoint::new(100, 900), InputPoint::new(0, 0));
            let read = space.to_capture(elsewhere, Some(aim));
            assert_eq!(read, space.to_capture(elsewhere, None));
            assert_ne!(read, aim);
        }
    }

    #[test]
    fn an_override_replaces_the_scale_of_every_monitor() {
        let found = InputSpace::new(&two_monitors(1.0), Some(2.0)).unwrap();
        assert_eq!(found, InputSpace::new(&two_monitors(2.0), None).unwrap());
        assert_eq!(found.to_input((0, 0).into()).unwrap(), (-1280, -200).into());
        assert_eq!(
            found.to_input((2760, 600).into()).unwrap(),
            (100, 100).into()
        );
    }

    #[test]
    fn a_pixel_that_no_monitor_shows_is_refused() {
        let space = InputSpace::new(&two_monitors(1.5), None).unwrap();
        for point in [(-1, 0), (0, 1600), (1921, 299), (4080, 400)] {
            let point = point.into();
            let refused = Err(Error::OutOfBounds {
                point,
                size: CaptureSize::new(4080, 1650),
            });
            assert_eq!(space.to_input(point), refused);
        }
    }
}
