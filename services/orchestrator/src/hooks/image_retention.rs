//! Image retention hook: limits how many images of earlier steps a model is sent.
//!
//! The latest images are kept; each dropped one becomes a line of text. A model that gets each step in a separate
//! request is sent `images`. In a continued conversation, the provider caches the prompt up to the first difference
//! from the previous call, and a removed image is such a difference. With `chunk` above 1, the images of a conversation
//! therefore grow to `images + chunk - 1` and are then cut to `images` at once, so that only one step in `chunk` misses
//! the cache. The number depends only on the task's events, so it is the same after a crash.

use async_trait::async_trait;
use motorium_proto::error::FieldError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{Amendment, HookEvent, HookPoint, HookPoints, ModelCallAmendment};
use super::{Error, Hook, HookContext, HookVerdict};

/// The current image and the three before it, as many as the planner's `history_images`.
const DEFAULT_IMAGES: u32 = 4;
/// With four images this means at most eleven, and a cache hit in seven of eight steps.
const DEFAULT_CHUNK: u32 = 8;

/// Settings of the hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Name of the hook in events and errors. Unique among the hooks.
    pub name: String,
    /// Number of images that are sent, including the current one.
    pub max_images: u32,
    /// Number of images that are removed from a conversation at once.
    pub eviction_batch: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "image_retention".to_owned(),
            max_images: DEFAULT_IMAGES,
            eviction_batch: DEFAULT_CHUNK,
        }
    }
}

/// Keeps the latest images.
#[derive(Debug, Default)]
pub struct ImageRetentionHook(Settings);

impl ImageRetentionHook {
    /// # Errors
    /// If either number is 0.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        let given = |field: &str, number: u32| {
            let problem = "is 0; give 1 or more";
            (number > 0)
                .then_some(())
                .ok_or_else(|| FieldError::new(field, problem))
        };
        given("max_images", settings.max_images)?;
        given("eviction_batch", settings.eviction_batch)?;
        Ok(Self(settings))
    }

    /// Returns how many of `past` earlier images are sent when the conversation contains `held` of them.
    fn shown(&self, past: u32, held: u32) -> u32 {
        let Settings {
            max_images: images,
            eviction_batch: chunk,
            ..
        } = self.0;
        let usual = images - 1;
        let is_full = held > usual + (chunk - 1);
        past.min(if is_full { usual } else { usual.max(held) })
    }
}

#[async_trait]
impl Hook for ImageRetentionHook {
    fn name(&self) -> &str {
        &self.0.name
    }

    async fn points(&self) -> Result<HookPoints, Error> {
        Ok([HookPoint::BeforeModelCall].into())
    }

    async fn call(
        &self,
        _: &HookContext<'_>,
        hook_event: &HookEvent<'_>,
    ) -> Result<HookVerdict, Error> {
        let HookEvent::BeforeModelCall(call) = hook_event else {
            return Ok(HookVerdict::Continue);
        };
        let amendment = ModelCallAmendment {
            notices: Vec::new(),
            max_past_images: Some(self.shown(call.past_images, call.conversation_images)),
        };
        Ok(HookVerdict::Amend(Amendment::ModelCall(amendment)))
    }

    fn records_amendments(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(images: u32, chunk: u32) -> ImageRetentionHook {
        let settings = Settings {
            max_images: images,
            eviction_batch: chunk,
            ..Settings::default()
        };
        ImageRetentionHook::new(settings).unwrap()
    }

    /// Images sent step by step to a model whose conversation keeps all it was sent.
    fn held(images: u32, chunk: u32) -> Vec<u32> {
        let hook = hook(images, chunk);
        let mut held = 0;
        let shown = (0..8).map(|past| {
            let shown = hook.shown(past, held);
            held = shown + 1;
            shown
        });
        shown.collect()
    }

    #[test]
    fn latest_images_are_retained() {
        let shown = |images, chunk| {
            (0..8)
                .map(|past| hook(images, chunk).shown(past, 0))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(3, 1), [0, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(shown(3, 8), [0, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(shown(1, 1), [0; 8]);
        assert_eq!(held(3, 1), [0, 1, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn conversation_images_are_dropped_in_chunks() {
        assert_eq!(held(3, 4), [0, 1, 2, 3, 4, 5, 2, 3]);
        assert_eq!(held(1, 3), [0, 1, 2, 0, 1, 2, 0, 1]);
    }

    #[test]
    fn image_retention_of_zero_is_refused() {
        let none = Settings {
            max_images: 0,
            ..Settings::default()
        };
        let error = ImageRetentionHook::new(none).unwrap_err();
        assert_eq!(error.description, "is 0; give 1 or more");
    }
}
