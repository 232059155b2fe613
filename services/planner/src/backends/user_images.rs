//! Images that the user gave, as a model is shown them besides the screenshots.
//!
//! Each follows a line that names its file. A model with room for few images is shown the latest of them; the prompt says
//! which images exist and which of them are shown (`prompt::background`). What they show is the user's own, so it is
//! not delimited as untrusted.

use motorium_proto::domain::session::UserImage;
use motorium_proto::service::PlanRequest;

use super::dialect::{RequestError, StepContext};
use crate::models::Model;
use crate::prompt::Language;
use crate::screenshot::{Checksum, RenderedImage};

/// An image of the user with the line before it.
#[derive(Debug)]
pub(super) struct LabelledImage {
    pub(super) label: String,
    pub(super) image: RenderedImage,
}

/// Returns the maximum number of images of the user in a request. The other half of what the model takes is left for the
/// current screenshot and earlier ones.
pub(super) fn max_shown(model: &Model) -> usize {
    model.max_images / 2
}

/// Returns the images of the user that a model is shown: the latest, in their order.
pub(super) fn shown<'a>(request: &'a PlanRequest, model: &Model) -> Vec<&'a UserImage> {
    let images = request.context.images.iter();
    let images: Vec<&UserImage> = images.filter(|one| one.image.is_some()).collect();
    let first = images.len().saturating_sub(max_shown(model));
    images[first..].to_vec()
}

/// Renders the images of the user for a model that gets each step in a separate request.
///
/// # Errors
/// Fails if an image is only a reference, or cannot be decoded.
pub(super) fn rendered(step: &StepContext<'_>) -> Result<Vec<LabelledImage>, RequestError> {
    let images = shown(step.request, step.model).into_iter();
    let labelled = images.filter_map(|one| {
        let checksum = Checksum(one.image.as_ref()?.sha256);
        let rendered = step.images.whole(step.model.image_spec, checksum);
        Some(rendered.map(|image| LabelledImage {
            label: label(one, step.request),
            image,
        }))
    });
    Ok(labelled.collect::<Result<_, _>>()?)
}

/// Returns the line before an image.
pub(super) fn label(image: &UserImage, request: &PlanRequest) -> String {
    let UserImage { name, step, .. } = image;
    match (
        Language::of(request.language.as_deref(), &request.goal),
        step,
    ) {
        (Language::English, 0 | 1) => {
            format!("The image \"{name}\", which the user has attached:")
        }
        (Language::English, step) => {
            format!("The image \"{name}\", which the user attached before step {step}:")
        }
        (Language::Chinese, 0 | 1) => format!("用户附上的图片“{name}”："),
        (Language::Chinese, step) => format!("用户在第{step}步之前附上的图片“{name}”："),
    }
}
