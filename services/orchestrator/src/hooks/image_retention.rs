//! How many pictures of earlier steps a model is shown again.
//!
//! The latest ones are kept, the others become a line each. A model that is told each step by itself gets `images`. Where
//! a conversation goes on, its provider caches it up to the first place at which it differs from the last call, and a picture
//! that is taken away is such a place: with `chunk` above 1 the pictures of a conversation grow to `images + chunk - 1` and
//! then shrink to `images` at once, so that only every so many steps are without the cache. How many are shown depends on
//! what the task's events say, and on nothing else: it is the same after a crash.

use async_trait::async_trait;
use motorium_proto::error::FieldError;
use serde::{Deserialize, Serialize};

use super::happening::{Amendment, Happening, ModelCallAmendment, Point, Points};
use super::{Context, Error, Hook, Verdict};

/// The present picture and the two before it.
const DEFAULT_IMAGES: u32 = 3;
/// At most ten pictures, and a provider's cache holds for seven steps of eight.
const DEFAULT_CHUNK: u32 = 8;

/// As written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub name: String,
    /// Pictures that are shown, with the present one.
    pub images: u32,
    /// So many of a conversation's are taken away at once.
    pub chunk: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "image_retention".to_owned(),
            images: DEFAULT_IMAGES,
            chunk: DEFAULT_CHUNK,
        }
    }
}

/// Keeps the latest pictures.
#[derive(Debug, Default)]
pub struct ImageRetention(Settings);

impl ImageRetention {
    /// # Errors
    /// If not even the present picture is to be shown, or none is to be taken away.
    pub fn new(settings: Settings) -> Result<Self, FieldError> {
        let given = |field: &str, number: u32| {
            let problem = "is 0; give 1 or more";
            (number > 0)
                .then_some(())
                .ok_or_else(|| FieldError::new(field, problem))
        };
        given("images", settings.images)?;
        given("chunk", settings.chunk)?;
        Ok(Self(settings))
    }

    /// How many of so many earlier pictures are shown, where so many of them are held by a conversation.
    fn shown(&self, past: u32, held: u32) -> u32 {
        let Settings { images, chunk, .. } = self.0;
        let usual = images - 1;
        let is_full = held > usual + (chunk - 1);
        past.min(if is_full { usual } else { usual.max(held) })
    }
}

#[async_trait]
impl Hook for ImageRetention {
    fn name(&self) -> &str {
        &self.0.name
    }

    async fn points(&self) -> Result<Points, Error> {
        Ok([Point::BeforeModelCall].into())
    }

    async fn call(&self, _: &Context<'_>, happening: &Happening<'_>) -> Result<Verdict, Error> {
        let Happening::BeforeModelCall(call) = happening else {
            return Ok(Verdict::Continue);
        };
        let amendment = ModelCallAmendment {
            notices: Vec::new(),
            max_past_images: Some(self.shown(call.past_images, call.held_images)),
        };
        Ok(Verdict::Amend(Amendment::ModelCall(amendment)))
    }

    fn is_noted(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(images: u32, chunk: u32) -> ImageRetention {
        let settings = Settings {
            images,
            chunk,
            ..Settings::default()
        };
        ImageRetention::new(settings).unwrap()
    }

    /// What is shown step by step, to a model that keeps in its conversation whatever it is shown.
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
    fn the_latest_pictures_are_kept() {
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
    fn those_of_a_conversation_grow_and_are_taken_away_at_once() {
        assert_eq!(held(3, 4), [0, 1, 2, 3, 4, 5, 2, 3]);
        assert_eq!(held(1, 3), [0, 1, 2, 0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_model_is_shown_what_it_is_asked_about() {
        let none = Settings {
            images: 0,
            ..Settings::default()
        };
        let error = ImageRetention::new(none).unwrap_err();
        assert_eq!(error.description, "is 0; give 1 or more");
    }
}
