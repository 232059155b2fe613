//! How many pictures of earlier steps a model is shown again.
//!
//! The latest ones are kept, the others become a line each. Providers cache a conversation up to the first place at which
//! it differs from the last call, and a picture that is taken away is such a place. With `chunk` above 1 the pictures grow
//! to `images + chunk - 1` and then shrink to `images` at once, so that only every so many steps are without the cache. How
//! many are shown depends on how many there are, and on nothing else: it is the same after a crash.

use async_trait::async_trait;
use motorium_proto::error::FieldError;
use serde::{Deserialize, Serialize};

use super::happening::{Amendment, Happening, ModelCallAmendment, Point, Points};
use super::{Context, Error, Hook, Verdict};

/// The present picture and the two before it.
const DEFAULT_IMAGES: u32 = 3;
/// At most ten pictures, and a provider's cache holds for seven steps of eight. Backends that tell a model each step by
/// itself, without a conversation, show the last three in any case.
const DEFAULT_CHUNK: u32 = 8;

/// As written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub name: String,
    /// Pictures that are shown, with the present one.
    pub images: u32,
    /// So many are taken away at once.
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

    /// How many of so many earlier pictures are shown.
    fn shown(&self, past: u32) -> u32 {
        let too_many = (past + 1).saturating_sub(self.0.images);
        past - (too_many - too_many % self.0.chunk)
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
            max_past_images: Some(self.shown(call.past_images)),
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

    fn shown(images: u32, chunk: u32) -> Vec<u32> {
        let hook = ImageRetention::new(Settings {
            images,
            chunk,
            ..Settings::default()
        });
        let hook = hook.unwrap();
        (0..8).map(|past| hook.shown(past)).collect()
    }

    #[test]
    fn the_latest_pictures_are_kept() {
        assert_eq!(shown(3, 1), [0, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(shown(1, 1), [0; 8]);
    }

    #[test]
    fn in_chunks_they_grow_and_are_taken_away_at_once() {
        assert_eq!(shown(3, 4), [0, 1, 2, 3, 4, 5, 2, 3]);
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
