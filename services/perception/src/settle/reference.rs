//! Reference image of the screen at its last significant change.
//!
//! Insignificant changes are not copied into the reference: compared with it, they either revert (a caret) or
//! accumulate (a progress indicator). Identical redraws are not reported.

use std::sync::Arc;

use image::RgbaImage;
use image::imageops;
use motorium_imaging::codec::size_of;
use motorium_imaging::difference::{self, CompareOptions};
use motorium_imaging::exact_diff;
use motorium_imaging::resize::crop;
use motorium_proto::domain::effect::ChangedRegion;
use motorium_proto::domain::geometry::CaptureRect;
use tokio::time::Instant;

use crate::capture::{Area, CaptureOptions, RawCapture, Screen};
use crate::error::Error;
use crate::frames::StoredFrame;

#[derive(Debug)]
pub(super) struct ReferenceScreen {
    /// Pixels at the last significant change.
    pixels: Arc<RgbaImage>,
    /// Pixels at the last capture.
    last_seen: Arc<RgbaImage>,
    /// Regions in which changes are ignored.
    ignore: Vec<CaptureRect>,
}

impl ReferenceScreen {
    pub(super) fn new(pixels: Arc<RgbaImage>, ignore: Vec<CaptureRect>) -> Self {
        Self {
            last_seen: Arc::clone(&pixels),
            pixels,
            ignore,
        }
    }

    /// Returns the differences from an earlier frame.
    pub(super) async fn differences_from(
        self,
        since: Arc<StoredFrame>,
    ) -> Result<(Self, Vec<ChangedRegion>), Error> {
        run_blocking(move || {
            let bounds = since.frame.bounds();
            let part = crop(&self.pixels, bounds);
            // Without the part, the display has become smaller, so it has changed completely.
            let now = part.as_ref().unwrap_or(&self.pixels);
            // Redacted areas of the frame are visible here and must not count as changes.
            let ignore = [self.ignore.as_slice(), &since.redacted].concat();
            let regions = compare(&since.pixels, now, bounds, &ignore);
            (self, regions)
        })
        .await
    }

    /// Captures the drawn region and copies the changes that `counts` accepts into the reference. The time passed to it
    /// is that of the capture, which may be later than the report and include later drawing.
    pub(super) async fn update(
        self,
        screen: &dyn Screen,
        drawn: CaptureRect,
        mut counts: impl FnMut(Instant, &[ChangedRegion]) -> Vec<CaptureRect>,
    ) -> Result<Self, Error> {
        let request = CaptureOptions {
            area: Area::Region(drawn),
            list_windows: false,
            precise_window_list: false,
        };
        let shot = match screen.capture(request).await {
            // The reported region is outside the display, which has become smaller.
            Err(Error::RegionOutside { .. }) => screen.capture(CaptureOptions::default()).await?,
            other => other?,
        };
        if size_of(&self.pixels) != shot.display.size {
            let shot = screen.capture(CaptureOptions::default()).await?;
            let all = ChangedRegion {
                bounds: shot.bounds,
                changed_pixels: area(shot.bounds),
            };
            counts(Instant::now(), &[all]);
            return Ok(Self::new(shot.pixels, self.ignore));
        }
        let seen_at = Instant::now();
        let mut shadow = self;
        let (mut shadow, shot, regions) = run_blocking(move || {
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

    /// Returns the differences from the reference, within the areas that changed since the last capture.
    fn differences(&mut self, shot: &RawCapture) -> Vec<ChangedRegion> {
        let bounds = shot.bounds;
        let (Ok(before), Ok(seen)) = (crop(&self.pixels, bounds), crop(&self.last_seen, bounds))
        else {
            return Vec::new();
        };
        if seen == *shot.pixels {
            return Vec::new();
        }
        put(&mut self.last_seen, &shot.pixels, bounds);
        // Any difference is considered: a fade consists of steps that are too small individually.
        let recent_changes = exact_diff::changed_boxes(&seen, &shot.pixels).unwrap_or_default();
        let is_recent = |region: &ChangedRegion| {
            let inside = region.bounds.translate(-bounds.min.to_vector());
            recent_changes.iter().any(|new| new.intersects(&inside))
        };
        let mut regions = compare(&before, &shot.pixels, bounds, &self.ignore);
        regions.retain(is_recent);
        regions
    }
}

fn put(pixels: &mut Arc<RgbaImage>, part: &RgbaImage, bounds: CaptureRect) {
    let to = bounds.min;
    imageops::replace(Arc::make_mut(pixels), part, to.x.into(), to.y.into());
}

/// Compares two images of the box `bounds`; the regions are in capture pixels of the display.
fn compare(
    before: &RgbaImage,
    now: &RgbaImage,
    bounds: CaptureRect,
    ignore: &[CaptureRect],
) -> Vec<ChangedRegion> {
    let corner = bounds.min.to_vector();
    let ignore: Vec<_> = ignore
        .iter()
        .map(|region| region.translate(-corner))
        .collect();
    let comparison = CompareOptions {
        ignore: &ignore,
        ..CompareOptions::default()
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

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::Internal {
        detail: format!("comparing images: {error}"),
    })
}
