//! Monitors and scale of a display.

use motorium_proto::domain::frame::{Display, Monitor};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize, LogicalSize};
use motorium_proto::domain::id::DisplayId;
use x11rb::protocol::randr::ConnectionExt as _;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _};

use super::connection::{ScreenConnection, X11Fault};

/// Dots per inch at scale 1 (the X11 desktop convention).
const DPI_AT_SCALE_ONE: f64 = 96.0;

/// Maximum length of the resource database that is read, in words of four bytes.
const MAX_RESOURCE_WORDS: u32 = 64 * 1024;

/// Queries the layout. `scale` overrides the scale that the desktop reports.
pub(super) fn read(
    connection: &ScreenConnection,
    id: &DisplayId,
    scale: Option<f64>,
) -> Result<Display, X11Fault> {
    let geometry = connection.server.x.get_geometry(connection.server.root)?;
    let monitors = if connection.extensions.monitors {
        Some(
            connection
                .server
                .x
                .randr_get_monitors(connection.server.root, true)?,
        )
    } else {
        None
    };
    let resources = connection.server.x.get_property(
        false,
        connection.server.root,
        AtomEnum::RESOURCE_MANAGER,
        AtomEnum::STRING,
        0,
        MAX_RESOURCE_WORDS,
    )?;
    let geometry = geometry.reply()?;
    let size = CaptureSize::new(geometry.width.into(), geometry.height.into());
    let names_and_boxes = match monitors {
        Some(cookie) => cookie.reply()?.monitors,
        None => Vec::new(),
    };
    let mut monitors = Vec::with_capacity(names_and_boxes.len());
    for monitor in names_and_boxes {
        let name = connection.server.x.get_atom_name(monitor.name)?.reply()?;
        monitors.push(Monitor {
            name: String::from_utf8_lossy(&name.name).into_owned(),
            bounds: CaptureRect::from_origin_and_size(
                CapturePoint::new(monitor.x.into(), monitor.y.into()),
                CaptureSize::new(monitor.width.into(), monitor.height.into()),
            ),
            primary: monitor.primary,
        });
    }
    let resources = resources.reply()?.value;
    let scale = scale.or_else(|| scale_of(&resources)).unwrap_or(1.0);
    Ok(describe(id, size, monitors, scale))
}

fn describe(id: &DisplayId, size: CaptureSize, mut monitors: Vec<Monitor>, scale: f64) -> Display {
    if monitors.is_empty() {
        let bounds = CaptureRect::from_size(size);
        monitors.push(Monitor {
            name: "screen".to_owned(),
            bounds,
            primary: true,
        });
    }
    // A virtual server has one monitor and does not mark it as primary.
    if !monitors.iter().any(|monitor| monitor.primary) {
        monitors[0].primary = true;
    }
    let logical_size = LogicalSize::new(
        f64::from(size.width) / scale,
        f64::from(size.height) / scale,
    );
    Display {
        id: id.clone(),
        size,
        logical_size,
        scale,
        monitors,
    }
}

/// Derives the scale from the desktop's resource database (`Xft.dpi`), if it has a plausible value.
fn scale_of(resources: &[u8]) -> Option<f64> {
    let text = String::from_utf8_lossy(resources);
    let dpi = text
        .lines()
        .find_map(|line| line.strip_prefix("Xft.dpi:"))?;
    let dpi: f64 = dpi.trim().parse().ok()?;
    let scale = dpi / DPI_AT_SCALE_ONE;
    (0.5..=8.0).contains(&scale).then_some(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(resources: &str, expected: Option<f64>) {
        assert_eq!(scale_of(resources.as_bytes()), expected, "{resources:?}");
    }

    #[test]
    fn the_scale_is_read_from_the_resource_database() {
        check("", None);
        check("Xft.dpi:\t144\n", Some(1.5));
        check(
            "*customization: -color\nXft.dpi: 96\nXft.antialias: 1\n",
            Some(1.0),
        );
        check("Xft.dpi: 120.0", Some(1.25));
        check("Xft.dpi: large", None);
        check("Xft.dpi: 0", None);
        check("Xft.dpi: -96", None);
        check("Xft.dpi: 1e9", None);
        check("xterm*Xft.dpi: 144", None);
    }
}
