//! Screenshots of suspected prompt injections, for the approver.
//!
//! They are cropped from the step's screenshot with a margin, because the page may have changed by the time the planner
//! answers. Whether the text is an injection is not judged here.

use bytes::Bytes;
use motorium_imaging::codec;
use motorium_imaging::resize;
use motorium_proto::domain::decision::SuspectedInjection;
use motorium_proto::domain::frame::Image;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::ImageFormat;

use super::context::RunContext;
use super::{RunResult, capture};
use motorium_task::approval_context::evidence_area;
use motorium_task::event::Artifact;

/// Maximum number of suspected injections with a screenshot; of further ones only the text is kept.
// A person judges the first few; each image costs storage.
const MAX_EVIDENCE_IMAGES: usize = 4;

/// Returns a screenshot for each of the first suspected injections with a known position.
pub(super) async fn injection_evidence(
    run: &mut RunContext,
    suspected_injections: &[SuspectedInjection],
) -> RunResult<Vec<Option<Artifact>>> {
    let places = suspected_injections.iter().take(MAX_EVIDENCE_IMAGES);
    let places: Vec<_> = places
        .map(|suspected| suspected.bounds.map(evidence_area))
        .collect();
    let shown = crop_screenshot(run, places.clone()).await;
    let step = run.task().open_step().map_or(0, |step| step.number);
    let mut artifacts = Vec::new();
    for (number, (place, cut)) in (1..).zip(places.into_iter().zip(shown)) {
        let image = match (place, cut) {
            (None, _) => None,
            (Some(_), Some(image)) => Some(image),
            // The stored screenshot is unavailable; the current screen is the next best evidence.
            (Some(place), None) => capture::capture_area(run, Some(place)).await?.image,
        };
        let name = format!("suspicion-{step}-{number}");
        artifacts.push(run.store_image(image.as_ref(), &name).await?);
    }
    Ok(artifacts)
}

/// Crops these areas from the step's screenshot, if it can be read.
async fn crop_screenshot(run: &RunContext, places: Vec<Option<CaptureRect>>) -> Vec<Option<Image>> {
    let count = places.len();
    let screenshot = run.task().open_step().and_then(|step| step.image.clone());
    let Some(screenshot) = screenshot else {
        return vec![None; count];
    };
    let Ok(image) = run.recorder.blobs().get(screenshot.sha256).await else {
        return vec![None; count];
    };
    let cut = tokio::task::spawn_blocking(move || crop_all(&image, &places)).await;
    cut.unwrap_or_else(|_| vec![None; count])
}

fn crop_all(image: &Bytes, places: &[Option<CaptureRect>]) -> Vec<Option<Image>> {
    let Ok(pixels) = codec::decode(image) else {
        return vec![None; places.len()];
    };
    let whole = CaptureRect::from_size(codec::size_of(&pixels));
    let cut = |place: &Option<CaptureRect>| {
        let place = place.as_ref()?.intersection(&whole)?;
        let part = resize::crop(&pixels, place).ok()?;
        codec::encode(&part, ImageFormat::Png).ok()
    };
    places.iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::frame::ImageContent;
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn rect(left: i32, top: i32, right: i32, bottom: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(left, top),
            CapturePoint::new(right, bottom),
        )
    }

    fn check(place: CaptureRect, expected: Option<(u32, u32)>) {
        let pixels = codec::from_bgrx(&[0; 100 * 50 * 4], 100, 50, 100 * 4).unwrap();
        let whole = codec::encode(&pixels, ImageFormat::WebpLossless).unwrap();
        let ImageContent::Bytes(whole) = whole.content else {
            panic!("it was encoded here");
        };
        let cut = crop_all(&whole, &[Some(place), None]);
        let size = cut[0].as_ref().map(|image| (image.width, image.height));
        assert_eq!(size, expected, "{place:?}");
        assert_eq!(cut[1], None);
    }

    #[test]
    fn crops_are_clipped_to_the_screenshot() {
        check(rect(10, 10, 30, 20), Some((20, 10)));
        check(rect(-10, 40, 30, 60), Some((30, 10)));
        check(rect(200, 10, 230, 20), None);
    }

    #[test]
    fn invalid_image_yields_no_crop() {
        let nothing = crop_all(&Bytes::from_static(b"none"), &[Some(rect(0, 0, 9, 9))]);
        assert_eq!(nothing, [None]);
    }
}
