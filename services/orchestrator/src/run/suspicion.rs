//! How words look that seem to give orders to the planner, for the person who is asked.
//!
//! They are cut out of the picture of the step, with what is around them: a page may show something else by the time that
//! the planner has answered. Whether they are orders is not judged here.

use bytes::Bytes;
use motorium_imaging::picture;
use motorium_imaging::resize;
use motorium_proto::domain::decision::SuspectedInjection;
use motorium_proto::domain::frame::Image;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::ImageFormat;

use super::permission::with_surroundings;
use super::{Flow, Runner};
use crate::task::event::Artifact;

/// Of more suspicions than these only the words are kept.
const SHOWN: usize = 4;

impl Runner {
    /// A picture for each of the first suspicions whose place is known.
    pub(super) async fn pictures_of(
        &mut self,
        suspicions: &[SuspectedInjection],
    ) -> Flow<Vec<Option<Artifact>>> {
        let places = suspicions.iter().take(SHOWN);
        let places: Vec<_> = places
            .map(|suspicion| suspicion.bounds.map(with_surroundings))
            .collect();
        let shown = self.cut_out(places.clone()).await;
        let step = self.task.open_step().map_or(0, |step| step.number);
        let mut pictures = Vec::new();
        for (number, (place, cut)) in (1..).zip(places.into_iter().zip(shown)) {
            let image = match (place, cut) {
                (None, _) => None,
                (Some(_), Some(image)) => Some(image),
                // Better as it looks now than not at all.
                (Some(place), None) => self.picture_of(Some(place)).await?.image,
            };
            let name = format!("suspicion-{step}-{number}");
            pictures.push(self.keep(image.as_ref(), &name).await?);
        }
        Ok(pictures)
    }

    /// These places in the picture of the step, as far as it can be read.
    async fn cut_out(&self, places: Vec<Option<CaptureRect>>) -> Vec<Option<Image>> {
        let count = places.len();
        let picture = self.task.open_step().and_then(|step| step.image.clone());
        let Some(picture) = picture else {
            return vec![None; count];
        };
        let Ok(picture) = self.blobs.get(picture.sha256).await else {
            return vec![None; count];
        };
        let cut = tokio::task::spawn_blocking(move || cut_out(&picture, &places)).await;
        cut.unwrap_or_else(|_| vec![None; count])
    }
}

fn cut_out(picture: &Bytes, places: &[Option<CaptureRect>]) -> Vec<Option<Image>> {
    let Ok(pixels) = picture::decode(picture) else {
        return vec![None; places.len()];
    };
    let whole = CaptureRect::from_size(picture::size_of(&pixels));
    let cut = |place: &Option<CaptureRect>| {
        let place = place.as_ref()?.intersection(&whole)?;
        let part = resize::crop(&pixels, place).ok()?;
        picture::encode(&part, ImageFormat::Png).ok()
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
        let pixels = picture::from_bgrx(&[0; 100 * 50 * 4], 100, 50, 100 * 4).unwrap();
        let whole = picture::encode(&pixels, ImageFormat::WebpLossless).unwrap();
        let ImageContent::Bytes(whole) = whole.content else {
            panic!("it was encoded here");
        };
        let cut = cut_out(&whole, &[Some(place), None]);
        let size = cut[0].as_ref().map(|image| (image.width, image.height));
        assert_eq!(size, expected, "{place:?}");
        assert_eq!(cut[1], None);
    }

    #[test]
    fn what_lies_in_the_picture_is_cut_out() {
        check(rect(10, 10, 30, 20), Some((20, 10)));
        check(rect(-10, 40, 30, 60), Some((30, 10)));
        check(rect(200, 10, 230, 20), None);
    }

    #[test]
    fn what_is_no_picture_shows_nothing() {
        let nothing = cut_out(&Bytes::from_static(b"none"), &[Some(rect(0, 0, 9, 9))]);
        assert_eq!(nothing, [None]);
    }
}
