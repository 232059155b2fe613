//! The screen as it was when it last changed, to tell what of it has really changed.
//!
//! What changed too little to count is not taken over: seen against what was there before, it either goes back (a caret)
//! or becomes more (a wheel that turns). What is drawn once more as it was is told no second time.

use std::sync::Arc;

use image::RgbaImage;
use image::imageops;
use motorium_imaging::changes;
use motorium_imaging::difference::{self, Comparison, GreyFrame};
use motorium_imaging::picture::size_of;
use motorium_imaging::resize::crop;
use motorium_proto::domain::effect::ChangedRegion;
use motorium_proto::domain::geometry::CaptureRect;
use tokio::time::Instant;

use crate::capture::{Area, CaptureRequest, Screen, Shot};
use crate::error::Error;
use crate::frames::StoredFrame;

#[derive(Debug)]
pub(super) struct Shadow {
    /// As it was when it last changed.
    pixels: Arc<RgbaImage>,
    /// As it was last seen.
    seen: Arc<RgbaImage>,
    /// Regions in which changes do not count.
    ignore: Vec<CaptureRect>,
}

impl Shadow {
    pub(super) fn new(pixels: Arc<RgbaImage>, ignore: Vec<CaptureRect>) -> Self {
        Self {
            seen: Arc::clone(&pixels),
            pixels,
            ignore,
        }
    }

    /// What differs from an earlier frame.
    pub(super) async fn differences_from(
        self,
        since: Arc<StoredFrame>,
    ) -> Result<(Self, Vec<ChangedRegion>), Error> {
        off_the_workers(move || {
            let bounds = since.frame.bounds();
            let now = match crop(&self.pixels, bounds) {
                Ok(part) => GreyFrame::of(&part),
                // The display is smaller than it was: it has changed as a whole.
                Err(_) => GreyFrame::of(&self.pixels),
            };
            // What was hidden in the frame is not hidden here, and has not changed for that.
            let ignore = [self.ignore.as_slice(), &since.hidden].concat();
            let regions = compare(since.grey(), &now, bounds, &ignore);
            (self, regions)
        })
        .await
    }

    /// Captures what may have changed, and takes over what `counts` of the changes. It is told when they were seen, which may
    /// be after they were reported: a capture also shows what was drawn since.
    pub(super) async fn look_again(
        self,
        screen: &dyn Screen,
        drawn: CaptureRect,
        mut counts: impl FnMut(Instant, &[ChangedRegion]) -> Vec<CaptureRect>,
    ) -> Result<Self, Error> {
        let request = CaptureRequest {
            area: Area::Region(drawn),
            list_windows: false,
            exactly: false,
        };
        let shot = match screen.capture(request).await {
            // What was reported lay where the display does not reach any more.
            Err(Error::RegionOutside { .. }) => screen.capture(CaptureRequest::default()).await?,
            other => other?,
        };
        if size_of(&self.pixels) != shot.display.size {
            let shot = screen.capture(CaptureRequest::default()).await?;
            let all = ChangedRegion {
                bounds: shot.bounds,
                changed_pixels: area(shot.bounds),
            };
            counts(Instant::now(), &[all]);
            return Ok(Self::new(shot.pixels, self.ignore));
        }
        let seen_at = Instant::now();
        let mut shadow = self;
        let (mut shadow, shot, regions) = off_the_workers(move || {
            let regions = shadow.differences(&shot);
            (shadow, shot, regions)
        })
        .await?;
        for region in counts(seen_at, &regions) {
            let corner = shot.bounds.min.to_vector();
            if let Ok(part) = crop(&shot.pixels, region.translate(-corner)) {
                put(&mut shadow.pixels, &part, region);
            }
        }
        Ok(shadow)
    }

    /// What differs from when it last changed, of what differs from when it was last seen.
    fn differences(&mut self, shot: &Shot) -> Vec<ChangedRegion> {
        let bounds = shot.bounds;
        let (Ok(before), Ok(seen)) = (crop(&self.pixels, bounds), crop(&self.seen, bounds)) else {
            return Vec::new();
        };
        if seen == *shot.pixels {
            return Vec::new();
        }
        put(&mut self.seen, &shot.pixels, bounds);
        // The least difference is news: what fades in does so by steps that are too small to count each.
        let news = changes::boxes(&seen, &shot.pixels).unwrap_or_default();
        let is_news = |region: &ChangedRegion| {
            let inside = region.bounds.translate(-bounds.min.to_vector());
            news.iter().any(|new| new.intersects(&inside))
        };
        let now = GreyFrame::of(&shot.pixels);
        let mut regions = compare(&GreyFrame::of(&before), &now, bounds, &self.ignore);
        regions.retain(is_news);
        regions
    }
}

fn put(pixels: &mut Arc<RgbaImage>, part: &RgbaImage, bounds: CaptureRect) {
    let to = bounds.min;
    imageops::replace(Arc::make_mut(pixels), part, to.x.into(), to.y.into());
}

/// Compares two pictures of the box `bounds`; regions are in the display's pixels.
fn compare(
    before: &GreyFrame,
    now: &GreyFrame,
    bounds: CaptureRect,
    ignore: &[CaptureRect],
) -> Vec<ChangedRegion> {
    let corner = bounds.min.to_vector();
    let ignore: Vec<_> = ignore
        .iter()
        .map(|region| region.translate(-corner))
        .collect();
    let comparison = Comparison {
        ignore: &ignore,
        ..Comparison::default()
    };
    difference::compare(before, now, &comparison)
        .regions
        .into_iter()
        .map(|region| ChangedRegion {
            bounds: region.bounds.translate(corner),
            changed_pixels: region.changed_pixels,
        })
        .collect()
}

fn area(bounds: CaptureRect) -> u64 {
    bounds.size().to_u64().area()
}

async fn off_the_workers<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::Internal {
        detail: format!("comparing pictures: {error}"),
    })
}
