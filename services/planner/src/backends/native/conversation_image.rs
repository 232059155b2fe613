//! Images in a conversation. A conversation is stored without pixels: each image is a placeholder with its checksum and
//! region, which is filled when the conversation is sent.
//!
//! Only placeholders that this program wrote are filled. Model turns are passed on verbatim, even if they look like one.

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::session::UserImage;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::backends::dialect::StepContext;
use crate::backends::user_images;
use crate::screenshot::{Checksum, Error, ImageSpec, RenderedImage, RequestImages};

/// Image slots that are kept free in a conversation: one for each observation that a step allows (`MAX_FOLLOW_UPS`).
const RESERVED_IMAGES: usize = 4;
/// Number of latest images that are kept when there are too many. The rest is removed at once and not one per step,
/// because a provider's cache ends at the first removed image.
const RETAINED_IMAGES: usize = 3;
const PLACEHOLDER: &str = "motorium_picture";

/// An image that a model was or is shown: the whole screen, a zoomed region, or an image of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConversationImage {
    pub(crate) sha256: String,
    /// Left, top, right, bottom, in frame pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) region: Option<[i32; 4]>,
    /// True for an image of the user, and not of the screen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_of_user: bool,
}

impl ConversationImage {
    /// Returns the current whole screen.
    pub(crate) fn current(images: &RequestImages) -> Result<Self, Error> {
        let sha256 = images.current_checksum().ok_or(Error::NoImage)?.to_string();
        Ok(Self {
            sha256,
            region: None,
            is_of_user: false,
        })
    }

    /// Returns an image of the user; `None` if the request does not have it.
    pub(crate) fn of_user(image: &UserImage) -> Option<Self> {
        let sha256 = Checksum(image.image.as_ref()?.sha256).to_string();
        Some(Self {
            sha256,
            region: None,
            is_of_user: true,
        })
    }

    /// Returns its placeholder.
    pub(crate) fn placeholder(&self) -> Value {
        json!({ PLACEHOLDER: self })
    }

    fn of(value: &Value) -> Option<Self> {
        let object = value.as_object().filter(|object| object.len() == 1)?;
        ConversationImage::deserialize(object.get(PLACEHOLDER)?).ok()
    }

    fn is_given(&self, images: &RequestImages) -> bool {
        Checksum::parse(&self.sha256).is_some_and(|checksum| images.has(checksum))
    }

    pub(crate) fn rendered(
        &self,
        images: &RequestImages,
        image_spec: ImageSpec,
    ) -> Result<RenderedImage, Error> {
        let checksum = Checksum::parse(&self.sha256).ok_or(Error::NoImage)?;
        let is_current = images.current_checksum() == Some(checksum);
        match self.region {
            Some([left, top, right, bottom]) => {
                let (min, max) = (
                    CapturePoint::new(left, top),
                    CapturePoint::new(right, bottom),
                );
                images.zoomed_of(image_spec, checksum, CaptureRect::new(min, max))
            }
            None if is_current => images.current(image_spec),
            None => images.whole(image_spec, checksum),
        }
    }
}

/// Returns the placeholders in our parts of a conversation, in order.
pub(crate) fn all(parts: &[Value], is_ours: fn(&Value) -> bool) -> Vec<ConversationImage> {
    let mut found = Vec::new();
    let ours = parts.iter().filter(|part| is_ours(part));
    ours.for_each(|part| collect(part, &mut found));
    found
}

fn collect(value: &Value, found: &mut Vec<ConversationImage>) {
    if let Some(shown) = ConversationImage::of(value) {
        found.push(shown);
        return;
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(values) => values.values().for_each(|value| collect(value, found)),
        _ => {}
    }
}

/// Returns which images of a conversation can be shown again: those that are available, and only the latest of them if
/// there are too many. Room is left for further looks within a step. The user's images are kept apart from the screens,
/// because no later one replaces them.
pub(crate) fn can_be_shown(shown: &[ConversationImage], step: &StepContext<'_>) -> Vec<bool> {
    let is_given = |shown: &ConversationImage| shown.is_given(step.images);
    let mut kept: Vec<bool> = shown.iter().map(is_given).collect();
    let max_of_user = user_images::max_shown(step.model);
    let of_user = keep_latest(&mut kept, shown, true, max_of_user, max_of_user);
    let max_images = step.model.max_images;
    let room = max_images.saturating_sub(RESERVED_IMAGES + of_user).max(1);
    keep_latest(&mut kept, shown, false, room, RETAINED_IMAGES.min(room));
    kept
}

/// Removes the oldest images of one kind, down to `retained`, if more than `max` of it are kept. Returns the number that
/// is kept.
fn keep_latest(
    kept: &mut [bool],
    shown: &[ConversationImage],
    of_user: bool,
    max: usize,
    retained: usize,
) -> usize {
    let of_kind = kept.iter_mut().zip(shown);
    let of_kind = of_kind.filter(|(kept, shown)| **kept && shown.is_of_user == of_user);
    let of_kind: Vec<&mut bool> = of_kind.map(|(kept, _)| kept).collect();
    let count = of_kind.len();
    if count <= max {
        return count;
    }
    let oldest = of_kind.into_iter().take(count - retained);
    oldest.for_each(|kept| *kept = false);
    retained
}

/// Returns the checksums of the images, without duplicates.
pub(crate) fn checksums(shown: &[ConversationImage]) -> Vec<Checksum> {
    let checksums = shown
        .iter()
        .filter_map(|shown| Checksum::parse(&shown.sha256));
    let mut once: Vec<Checksum> = Vec::new();
    for checksum in checksums {
        if !once.contains(&checksum) {
            once.push(checksum);
        }
    }
    once
}

/// Returns the parts of a conversation with every image inserted, in the form that `as_sent` produces. Parts that are not
/// ours stay verbatim.
pub(crate) fn fill_images(
    parts: &[Value],
    is_ours: fn(&Value) -> bool,
    mut as_sent: impl FnMut(&ConversationImage) -> Result<Value, Error>,
) -> Result<Vec<Value>, Error> {
    let filled = parts.iter().map(|part| match is_ours(part) {
        true => fill(part, &mut as_sent),
        false => Ok(part.clone()),
    });
    filled.collect()
}

fn fill(
    value: &Value,
    as_sent: &mut impl FnMut(&ConversationImage) -> Result<Value, Error>,
) -> Result<Value, Error> {
    if let Some(shown) = ConversationImage::of(value) {
        return as_sent(&shown);
    }
    Ok(match value {
        Value::Array(values) => {
            let values = values.iter().map(|value| fill(value, as_sent));
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        Value::Object(values) => {
            let values = values
                .iter()
                .map(|(key, value)| Ok((key.clone(), fill(value, as_sent)?)));
            Value::Object(values.collect::<Result<_, Error>>()?)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown() -> ConversationImage {
        ConversationImage {
            sha256: "ab".repeat(32),
            region: Some([1, 2, 3, 4]),
            is_of_user: false,
        }
    }

    #[test]
    fn image_placeholders_are_filled_in_place() {
        let part =
            |role, image| json!({"role": role, "content": [{"type": "text", "text": "t"}, image]});
        let parts = ["user", "assistant"].map(|role| part(role, shown().placeholder()));
        let is_ours = |part: &Value| part["role"] == "user";
        assert_eq!(all(&parts, is_ours), [shown()]);
        let sent = fill_images(&parts, is_ours, |_| Ok(json!("pixels"))).unwrap();
        let ours = part("user", json!("pixels"));
        assert_eq!(
            sent,
            [ours, parts[1].clone()],
            "what was said stays as it is"
        );
    }

    #[test]
    fn lookalike_placeholders_are_left_unchanged() {
        let alike = [
            json!({"motorium_picture": {"sha256": 3}}),
            json!({"motorium_picture": shown(), "more": 1}),
        ];
        assert_eq!(all(&alike, |_| true), []);
        let sent = fill_images(&alike, |_| true, |_| Err(Error::NoImage)).unwrap();
        assert_eq!(sent, alike);
    }
}
