//! The screen as it was when it last changed, to tell what of it has really changed.
//!
//! What changed too little to count is not taken over: seen against what was there before, it either goes back (a caret)
//! or becomes more (a wheel that turns).

use std::sync::Arc;

use image::RgbaImage;
use image::imageops;
use motorium_imaging::difference::{self, Comparison, GreyFrame};
use motorium_imaging::picture::size_of;
use motorium_imaging::resize::crop;
use motorium_proto::domain::effect::ChangedRegion;
use motorium_proto::domain::geometry::CaptureRect;

use crate::capture::{Area, CaptureRequest, Screen, Shot};
use crate::error::Error;
use crate::frames::StoredFrame;

#[derive(Debug)]
pub(super) struct Shadow {
    pixels: Arc<RgbaImage>,
    /// Regions in which changes do not count.
    ignore: Vec<CaptureRect>,
}

impl Shadow {
    pub(super) fn new(pixels: Arc<RgbaImage>, ignore: Vec<CaptureRect>) -> Self {
        Self { pixels, ignore }
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

    /// Captures what may have changed, and takes over what `counts` of the changes.
    pub(super) async fn look_again(
        self,
        screen: &dyn Screen,
        drawn: CaptureRect,
        mut counts: impl FnMut(&[ChangedRegion]) -> Vec<CaptureRect>,
    ) -> Result<Self, Error> {
        let request = CaptureRequest {
            area: Area::Region(drawn),
            list_windows: false,
        };
        let shot = match screen.capture(request).await {
            // What was reported lay where the display does not reach any more.
            Err(Error::RegionOutside { .. }) => screen.capture(CaptureRequest::default()).await?,
            other => other?,
        };
        if size_of(&self.pixels) != shot.display.size {
            let shot = screen.capture(CaptureRequest::default()).await?;
            counts(&[ChangedRegion {
                bounds: shot.bounds,
                changed_pixels: area(shot.bounds),
            }]);
            return Ok(Self {
                pixels: shot.pixels,
                ignore: self.ignore,
            });
        }
        let (mut shadow, shot, regions) = off_the_workers(move || {
            let regions = self.differences(&shot);
            (self, shot, regions)
        })
        .await?;
        for region in counts(&regions) {
            shadow.take_over(&shot, region);
        }
        Ok(shadow)
    }

    fn differences(&self, shot: &Shot) -> Vec<ChangedRegion> {
        let Ok(before) = crop(&self.pixels, shot.bounds) else {
            return Vec::new();
        };
        if before == *shot.pixels {
            return Vec::new();
        }
        let (before, now) = (GreyFrame::of(&before), GreyFrame::of(&shot.pixels));
        compare(&before, &now, shot.bounds, &self.ignore)
    }

    fn take_over(&mut self, shot: &Shot, region: CaptureRect) {
        let corner = shot.bounds.min.to_vector();
        let Ok(part) = crop(&shot.pixels, region.translate(-corner)) else {
            return;
        };
        let to = region.min;
        imageops::replace(
            Arc::make_mut(&mut self.pixels),
            &part,
            to.x.into(),
            to.y.into(),
        );
    }
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
