//! Resolves the capture area of a request to a box of a display. Pure; shared by all screens.

use motorium_proto::domain::frame::{Display, Window};
use motorium_proto::domain::geometry::CaptureRect;

use super::Area;
use crate::error::Error;

/// Returns the box of `area`, clipped to the display. `windows` is only used for [`Area::Window`].
///
/// # Errors
/// If the monitor or window does not exist, or the box does not intersect the display.
pub fn resolve(area: &Area, display: &Display, windows: &[Window]) -> Result<CaptureRect, Error> {
    let whole = CaptureRect::from_size(display.size);
    let region = match area {
        Area::Whole => return Ok(whole),
        Area::Region(region) => *region,
        Area::Monitor(name) => monitor(display, name)?,
        Area::Window(id) => window(display, windows, id)?,
    };
    region
        .intersection(&whole)
        .filter(|inside| !inside.is_empty())
        .ok_or(Error::RegionOutside {
            region,
            size: display.size,
        })
}

fn monitor(display: &Display, name: &str) -> Result<CaptureRect, Error> {
    let mut monitors = display.monitors.iter();
    let found = monitors
        .find(|monitor| monitor.name == name)
        .map(|monitor| monitor.bounds);
    found.ok_or_else(|| {
        let known: Vec<_> = display
            .monitors
            .iter()
            .map(|monitor| format!("`{}`", monitor.name))
            .collect();
        Error::MonitorNotFound {
            display: display.id.clone(),
            monitor: name.to_owned(),
            known: known.join(", "),
        }
    })
}

fn window(display: &Display, windows: &[Window], id: &str) -> Result<CaptureRect, Error> {
    let mut windows = windows.iter();
    let found = windows
        .find(|window| window.id == id && !window.minimised)
        .map(|window| window.bounds);
    found.ok_or_else(|| Error::WindowNotFound {
        display: display.id.clone(),
        window: id.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::frame::Monitor;
    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize, LogicalSize};
    use motorium_proto::domain::id::DisplayId;

    use super::*;

    fn at(x1: i32, y1: i32, x2: i32, y2: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
    }

    /// Two monitors of 800×600 side by side, and a window that reaches beyond the left edge.
    fn check(area: Area, expected: Result<CaptureRect, &str>) {
        let monitor = |name: &str, bounds| Monitor {
            name: name.to_owned(),
            bounds,
            primary: false,
        };
        let display = Display {
            id: DisplayId::new(":1"),
            size: CaptureSize::new(1600, 600),
            logical_size: LogicalSize::new(1600.0, 600.0),
            scale: 1.0,
            monitors: vec![
                monitor("left", at(0, 0, 800, 600)),
                monitor("right", at(800, 0, 1600, 600)),
            ],
        };
        let window = |id: &str, minimised| Window {
            id: id.to_owned(),
            title: String::new(),
            application: String::new(),
            process: None,
            bounds: at(-50, 100, 150, 200),
            active: false,
            minimised,
            modal: false,
        };
        let got = resolve(
            &area,
            &display,
            &[window("0x1", false), window("0x2", true)],
        );
        match expected {
            Ok(bounds) => assert_eq!(got.unwrap(), bounds, "{area:?}"),
            Err(part) => {
                let message = got.unwrap_err().to_string();
                assert!(message.contains(part), "{area:?}: {message}");
            }
        }
    }

    #[test]
    fn areas_are_cut_to_the_display() {
        check(Area::Whole, Ok(at(0, 0, 1600, 600)));
        check(Area::Monitor("right".to_owned()), Ok(at(800, 0, 1600, 600)));
        check(
            Area::Monitor("up".to_owned()),
            Err("it has `left`, `right`"),
        );
        check(Area::Window("0x1".to_owned()), Ok(at(0, 100, 150, 200)));
        check(
            Area::Window("0x2".to_owned()),
            Err("no visible window `0x2`"),
        );
        check(Area::Region(at(-10, -10, 20, 30)), Ok(at(0, 0, 20, 30)));
        check(
            Area::Region(at(1600, 0, 1700, 100)),
            Err("outside the frame of 1600×600"),
        );
        check(Area::Region(at(20, 20, 20, 40)), Err("outside"));
    }
}
