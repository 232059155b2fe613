//! Copy of the whole display, updated by fetching only what was drawn since the last capture.
//!
//! A capture without changes costs one round trip and returns the same `Arc` of pixels, so equality is cheap to detect.
//! This relies on DAMAGE, which some drivers bypass; the whole display is therefore fetched periodically.

use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use motorium_proto::domain::geometry::CaptureRect;
use tokio::time::Instant;
use x11rb::connection::Connection as _;
use x11rb::protocol::damage::{ConnectionExt as _, Damage, ReportLevel};
use x11rb::protocol::xfixes::{ConnectionExt as _, Region};

use super::connection::{ScreenConnection, X11Fault};
use super::damage::clipped_boxes;

/// Interval after which the whole display is fetched regardless of DAMAGE.
///
/// Bounds how long a missed update can stay visible.
const FULL_REFRESH_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of boxes fetched separately; more are merged into one, because each costs a round trip.
const MAX_REGIONS: usize = 8;

/// Fraction of the display from which one full fetch is cheaper than patching.
const FULL_FETCH_FRACTION: f64 = 0.4;

/// Pixels of the whole display, with the damage object that tracks later drawing.
#[derive(Debug)]
pub(super) struct ScreenMirror {
    damage: Damage,
    region: Region,
    pixels: Arc<RgbaImage>,
    /// Time of the last full fetch.
    refreshed_at: Instant,
}

/// Part of the display that has to be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stale {
    Nothing,
    Regions(Vec<CaptureRect>),
    Everything,
}

impl ScreenMirror {
    /// Starts tracking damage, then calls `fetch` for the whole display, so that nothing drawn in between is lost.
    pub(super) fn begin(
        connection: &ScreenConnection,
        fetch: impl FnOnce() -> Result<RgbaImage, X11Fault>,
    ) -> Result<Self, X11Fault> {
        let x = &connection.server.x;
        let (damage, region) = (x.generate_id()?, x.generate_id()?);
        x.damage_create(damage, connection.server.root, ReportLevel::NON_EMPTY)?;
        x.xfixes_create_region(region, &[])?;
        let mut mirror = Self {
            damage,
            region,
            pixels: Arc::default(),
            refreshed_at: Instant::now(),
        };
        match fetch() {
            Ok(pixels) => mirror.replace(pixels),
            Err(fault) => {
                mirror.close(connection)?;
                return Err(fault);
            }
        }
        Ok(mirror)
    }

    pub(super) fn pixels(&self) -> Arc<RgbaImage> {
        Arc::clone(&self.pixels)
    }

    /// Returns the pixels for patching; copies them first if they are shared.
    pub(super) fn pixels_mut(&mut self) -> &mut RgbaImage {
        Arc::make_mut(&mut self.pixels)
    }

    pub(super) fn replace(&mut self, pixels: RgbaImage) {
        // Holders of the previous pixels can detect equality by pointer.
        if *self.pixels != pixels {
            self.pixels = Arc::new(pixels);
        }
        self.refreshed_at = Instant::now();
    }

    /// Queries what was drawn since the last query. Drawing that happens later is reported by the next one.
    pub(super) fn stale(
        &self,
        connection: &ScreenConnection,
        now: Instant,
    ) -> Result<Stale, X11Fault> {
        let x = &connection.server.x;
        x.damage_subtract(self.damage, x11rb::NONE, self.region)?;
        let drawn = x.xfixes_fetch_region(self.region)?.reply()?;
        if now.saturating_duration_since(self.refreshed_at) >= FULL_REFRESH_INTERVAL {
            return Ok(Stale::Everything);
        }
        let whole = CaptureRect::from_size(connection.size);
        Ok(stale(clipped_boxes(&drawn.rectangles, whole), whole))
    }

    pub(super) fn close(&self, connection: &ScreenConnection) -> Result<(), X11Fault> {
        connection.server.x.damage_destroy(self.damage)?;
        connection.server.x.xfixes_destroy_region(self.region)?;
        Ok(())
    }
}

fn stale(drawn: Vec<CaptureRect>, whole: CaptureRect) -> Stale {
    let Some(all) = drawn.iter().copied().reduce(|all, one| all.union(&one)) else {
        return Stale::Nothing;
    };
    let parts = if drawn.len() > MAX_REGIONS {
        vec![all]
    } else {
        drawn
    };
    let area = |of: CaptureRect| of.to_f64().area();
    let fetched: f64 = parts.iter().copied().map(area).sum();
    if fetched > FULL_FETCH_FRACTION * area(whole) {
        return Stale::Everything;
    }
    Stale::Regions(parts)
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn at(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    #[test]
    fn only_damaged_regions_are_fetched_unless_large() {
        let whole = at(0, 0, 1000, 1000);
        assert_eq!(stale(vec![], whole), Stale::Nothing);
        let few = vec![at(0, 0, 10, 10), at(900, 900, 50, 10)];
        assert_eq!(stale(few.clone(), whole), Stale::Regions(few));
        let many: Vec<_> = (0..20).map(|row| at(10, row * 4, 100, 2)).collect();
        assert_eq!(stale(many, whole), Stale::Regions(vec![at(10, 0, 100, 78)]));
        assert_eq!(stale(vec![at(0, 0, 900, 900)], whole), Stale::Everything);
    }
}
