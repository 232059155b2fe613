//! The part of a stored conversation that is the same for every provider: the format, its dependencies, open calls.

use motorium_proto::domain::decision::PastStep;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::calls::{self, PendingCall, StepsSince};
use super::conversation_image::ConversationImage;
use crate::backends::dialect::{ModelRequest, StepContext};
use crate::backends::user_images;
use crate::response::ResponseError;

/// Version of the stored format; a conversation in another format is restarted.
const FORMAT_VERSION: u32 = 1;

/// State of a conversation beside the provider's messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConversationState {
    form: u32,
    /// Fingerprint of what it depends on: model, tools, system prompt, screenshot size.
    setup: String,
    /// Last step in the history when the model was asked last.
    after: u32,
    /// Calls of the model's last turn that have no results yet.
    #[serde(default)]
    calls: Vec<PendingCall>,
    /// Suspected injections that the model has reported since its last decision.
    #[serde(default)]
    suspected: Vec<String>,
    /// Images of the user that the conversation shows, by name and checksum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    user_images: Vec<UserImageKey>,
}

/// An image of the user in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct UserImageKey {
    name: String,
    sha256: String,
    /// Step of its message: the same image may be attached again after the conversation has dropped it.
    #[serde(default)]
    step: u32,
}

impl ConversationState {
    /// Returns the state of a conversation that starts after this history.
    pub(crate) fn new(setup: String, history: &[PastStep]) -> Self {
        Self {
            form: FORMAT_VERSION,
            setup,
            after: calls::last_step(history),
            calls: Vec::new(),
            suspected: Vec::new(),
            user_images: Vec::new(),
        }
    }

    /// Takes the images of the user that the conversation does not show yet, each with its label.
    pub(crate) fn take_new_user_images(
        &mut self,
        step: &StepContext<'_>,
    ) -> Vec<(String, ConversationImage)> {
        let shown = user_images::shown(step.request, step.model).into_iter();
        let images = shown.filter_map(|image| {
            let placed = ConversationImage::of_user(image)?;
            let known = UserImageKey {
                name: image.name.clone(),
                sha256: placed.sha256.clone(),
                step: image.step,
            };
            if self.user_images.contains(&known) {
                return None;
            }
            self.user_images.push(known);
            Some((user_images::label(image, step.request), placed))
        });
        images.collect()
    }

    /// Returns the step since the last request, if there is one. `None` if the conversation cannot be continued: its
    /// format or its dependencies changed, or other backends decided as well.
    pub(crate) fn step_since<'a>(
        &self,
        setup: &str,
        history: &'a [PastStep],
    ) -> Option<Option<&'a PastStep>> {
        if self.form != FORMAT_VERSION || self.setup != setup {
            return None;
        }
        match StepsSince::step(self.after, history) {
            StepsSince::None => Some(None),
            StepsSince::One(last) => Some(Some(last)),
            StepsSince::Many => None,
        }
    }

    /// Records that the model is asked after this history.
    pub(crate) fn ask_after(&mut self, history: &[PastStep]) {
        self.after = calls::last_step(history);
    }

    /// Returns the calls without results.
    pub(crate) fn calls(&self) -> &[PendingCall] {
        &self.calls
    }

    /// Takes the calls in order to give each its result.
    pub(crate) fn take_calls(&mut self) -> Vec<PendingCall> {
        std::mem::take(&mut self.calls)
    }

    /// Records the calls of a response, and the injections that it reports.
    pub(crate) fn receive(&mut self, calls: Vec<PendingCall>, suspected: Vec<String>) {
        self.calls = calls;
        self.suspected.extend(suspected);
    }

    /// Takes the injections that the model has reported since its last decision.
    pub(crate) fn take_suspected(&mut self) -> Vec<String> {
        std::mem::take(&mut self.suspected)
    }
}

/// Returns the conversation that a request was built from.
pub(crate) fn restore<T: DeserializeOwned>(
    model_request: &ModelRequest,
) -> Result<T, ResponseError> {
    T::deserialize(&model_request.context)
        .map_err(|error| ResponseError::invalid(format!("The conversation is lost: {error}.")))
}
