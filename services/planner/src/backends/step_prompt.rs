//! Values of the prompts beside a plain screenshot, the same for every such backend.

use super::dialect::StepContext;
use super::user_images;
use crate::prompt::history::CoordinateFormat;
use crate::prompt::{Error, PromptContext};

/// Returns the values. There is no list of elements: the model sees them itself.
///
/// # Errors
/// Fails if the template of the background cannot be rendered.
pub(super) fn values(step: &StepContext<'_>) -> Result<PromptContext, Error> {
    let places = CoordinateFormat::Model {
        image_spec: step.model.image_spec,
        frame: step.request.frame.size,
        numbered: false,
    };
    let of_user = user_images::shown(step.request, step.model);
    PromptContext::of(step.request, [], step.prompts, places, &of_user)
}
