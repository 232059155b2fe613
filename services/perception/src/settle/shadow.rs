//! The screen as it was last seen, to tell what of it has really changed.

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

    /// Captures what may have changed, and tells what has.
    pub(super) async fn look_again(
        self,
        screen: &dyn Screen,
        drawn: CaptureRect,
    ) -> Result<(Self, Vec<ChangedRegion>), Error> {
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
            return self.start_over(screen).await;
        }
        off_the_workers(move || self.take_over(&shot)).await
    }

    async fn start_over(self, screen: &dyn Screen) -> Result<(Self, Vec<ChangedRegion>), Error> {
        let shot = screen.capture(CaptureRequest::default()).await?;
        let whole = ChangedRegion {
            bounds: shot.bounds,
            changed_pixels: area(shot.bounds),
        };
        Ok((
            Self {
                pixels: shot.pixels,
                ignore: self.ignore,
            },
            vec![whole],
        ))
    }

    fn take_over(mut self, shot: &Shot) -> (Self, Vec<ChangedRegion>) {
        let Ok(before) = crop(&self.pixels, shot.bounds) else {
            return (self, Vec::new());
        };
        if before == *shot.pixels {
            return (self, Vec::new());
        }
        let regions = compare(
            &GreyFrame::of(&before),
            &GreyFrame::of(&shot.pixels),
            shot.bounds,
            &self.ignore,
        );
        let corner = shot.bounds.min;
        imageops::replace(
            Arc::make_mut(&mut self.pixels),
            &*shot.pixels,
            corner.x.into(),
            corner.y.into(),
        );
        (self, regions)
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
