//! The whole display as it was last captured, of which only what was drawn since is fetched again.
//!
//! A capture of a display on which nothing was drawn costs one question to the server, and gives the very same pixels:
//! whoever compares them sees at once that nothing changed. That rests on DAMAGE, which drivers have been seen to bypass;
//! so the whole is fetched every now and then all the same.

use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use motorium_proto::domain::geometry::CaptureRect;
use tokio::time::Instant;
use x11rb::connection::Connection as _;
use x11rb::protocol::damage::{ConnectionExt as _, Damage, ReportLevel};
use x11rb::protocol::xfixes::{ConnectionExt as _, Region};

use super::connection::{Connection, Fault};
use super::damage::boxes_of;

/// For so long it is believed what the server says of what was drawn.
const TRUSTED: Duration = Duration::from_secs(5);

/// More boxes than this are fetched as one that holds them all: each costs a round trip.
const MOST_BOXES: usize = 8;

/// Share of the display from which on it is fetched as a whole.
const MOST: f64 = 0.4;

/// Pixels of the whole display, and who knows what was drawn since.
#[derive(Debug)]
pub(super) struct Mirror {
    damage: Damage,
    region: Region,
    pixels: Arc<RgbaImage>,
    /// When all of them were fetched.
    complete_at: Instant,
}

/// What has to be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stale {
    Nothing,
    Parts(Vec<CaptureRect>),
    Everything,
}

impl Mirror {
    /// Begins to take note of what is drawn. `fetch` gets everything, afterwards, so that nothing falls in between.
    pub(super) fn begin(
        connection: &Connection,
        fetch: impl FnOnce() -> Result<RgbaImage, Fault>,
    ) -> Result<Self, Fault> {
        let x = &connection.x;
        let (damage, region) = (x.generate_id()?, x.generate_id()?);
        x.damage_create(damage, connection.root, ReportLevel::NON_EMPTY)?;
        x.xfixes_create_region(region, &[])?;
        let mut mirror = Self {
            damage,
            region,
            pixels: Arc::default(),
            complete_at: Instant::now(),
        };
        match fetch() {
            Ok(pixels) => mirror.replace(pixels),
            Err(fault) => {
                mirror.end(connection)?;
                return Err(fault);
            }
        }
        Ok(mirror)
    }

    pub(super) fn pixels(&self) -> Arc<RgbaImage> {
        Arc::clone(&self.pixels)
    }

    /// For the parts to be drawn into; a copy if somebody still looks at the pixels as they were.
    pub(super) fn pixels_mut(&mut self) -> &mut RgbaImage {
        Arc::make_mut(&mut self.pixels)
    }

    pub(super) fn replace(&mut self, pixels: RgbaImage) {
        // Whoever has the pixels from before sees at once that they are the same.
        if *self.pixels != pixels {
            self.pixels = Arc::new(pixels);
        }
        self.complete_at = Instant::now();
    }

    /// Asks what was drawn since it was last asked. What is drawn while the answer is acted upon is told the next time.
    pub(super) fn stale(&self, connection: &Connection, now: Instant) -> Result<Stale, Fault> {
        let x = &connection.x;
        x.damage_subtract(self.damage, x11rb::NONE, self.region)?;
        let drawn = x.xfixes_fetch_region(self.region)?.reply()?;
        if now.saturating_duration_since(self.complete_at) >= TRUSTED {
            return Ok(Stale::Everything);
        }
        let whole = CaptureRect::from_size(connection.size);
        Ok(stale(boxes_of(&drawn.rectangles, whole), whole))
    }

    pub(super) fn end(&self, connection: &Connection) -> Result<(), Fault> {
        connection.x.damage_destroy(self.damage)?;
        connection.x.xfixes_destroy_region(self.region)?;
        Ok(())
    }
}

fn stale(drawn: Vec<CaptureRect>, whole: CaptureRect) -> Stale {
    let Some(all) = drawn.iter().copied().reduce(|all, one| all.union(&one)) else {
        return Stale::Nothing;
    };
    let parts = if drawn.len() > MOST_BOXES {
        vec![all]
    } else {
        drawn
    };
    let area = |of: CaptureRect| of.to_f64().area();
    let fetched: f64 = parts.iter().copied().map(area).sum();
    if fetched > MOST * area(whole) {
        return Stale::Everything;
    }
    Stale::Parts(parts)
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
    fn only_what_was_drawn_is_fetched_unless_it_is_much() {
        let whole = at(0, 0, 1000, 1000);
        assert_eq!(stale(vec![], whole), Stale::Nothing);
        let few = vec![at(0, 0, 10, 10), at(900, 900, 50, 10)];
        assert_eq!(stale(few.clone(), whole), Stale::Parts(few));
        let many: Vec<_> = (0..20).map(|row| at(10, row * 4, 100, 2)).collect();
        assert_eq!(stale(many, whole), Stale::Parts(vec![at(10, 0, 100, 78)]));
        assert_eq!(stale(vec![at(0, 0, 900, 900)], whole), Stale::Everything);
    }
}
