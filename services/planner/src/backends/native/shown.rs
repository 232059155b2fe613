//! Pictures within a conversation. A conversation is kept without pixels: where a picture stood, there is a place holder
//! with its checksum and the region that was cut out of it; whoever sends the conversation fills it again.
//!
//! Only what this program wrote is filled. What a model said is passed on as it is, whatever it looks like.

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::backends::dialect::Step;
use crate::picture::{Checksum, Error, Pictures, Rendered, Taste};

/// Pictures that are kept free in a conversation.
const ROOM_TO_LOOK: usize = 4;
/// So many of the latest pictures stay where there are too many. They are taken away together and not one in each step,
/// because a provider's cache ends where the first one is missing.
const LATEST: usize = 3;
const PLACEHOLDER: &str = "motorium_picture";

/// A picture that a model is or was shown: a whole screen, or a region of it from close by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shown {
    pub(crate) sha256: String,
    /// Left, top, right, bottom, in pixels of the frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) region: Option<[i32; 4]>,
}

impl Shown {
    /// The whole screen as it is.
    pub(crate) fn current(pictures: &Pictures) -> Result<Self, Error> {
        let sha256 = pictures
            .current_checksum()
            .ok_or(Error::NoImage)?
            .to_string();
        Ok(Self {
            sha256,
            region: None,
        })
    }

    /// What stands for it.
    pub(crate) fn placeholder(&self) -> Value {
        json!({ PLACEHOLDER: self })
    }

    fn of(value: &Value) -> Option<Self> {
        let object = value.as_object().filter(|object| object.len() == 1)?;
        Shown::deserialize(object.get(PLACEHOLDER)?).ok()
    }

    fn is_given(&self, pictures: &Pictures) -> bool {
        Checksum::parse(&self.sha256).is_some_and(|checksum| pictures.has(checksum))
    }

    pub(crate) fn rendered(&self, pictures: &Pictures, taste: Taste) -> Result<Rendered, Error> {
        let checksum = Checksum::parse(&self.sha256).ok_or(Error::NoImage)?;
        let is_current = pictures.current_checksum() == Some(checksum);
        match self.region {
            Some([left, top, right, bottom]) => {
                let (min, max) = (
                    CapturePoint::new(left, top),
                    CapturePoint::new(right, bottom),
                );
                pictures.closer_of(taste, checksum, CaptureRect::new(min, max))
            }
            None if is_current => pictures.current(taste),
            None => pictures.past(taste, checksum),
        }
    }
}

/// The pictures that stand for themselves in those parts of a conversation that are ours, in order.
pub(crate) fn all(parts: &[Value], is_ours: fn(&Value) -> bool) -> Vec<Shown> {
    let mut found = Vec::new();
    let ours = parts.iter().filter(|part| is_ours(part));
    ours.for_each(|part| collect(part, &mut found));
    found
}

fn collect(value: &Value, found: &mut Vec<Shown>) {
    if let Some(shown) = Shown::of(value) {
        found.push(shown);
        return;
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(values) => values.values().for_each(|value| collect(value, found)),
        _ => {}
    }
}

/// Which of the pictures of a conversation can be shown again, with room for the model to look more than once within a
/// step: those that are given, and of these only the latest if they are too many.
pub(crate) fn can_be_shown(shown: &[Shown], step: &Step<'_>) -> Vec<bool> {
    let is_given = |shown: &Shown| shown.is_given(step.pictures);
    let mut kept: Vec<bool> = shown.iter().map(is_given).collect();
    let room = step.model.max_images.saturating_sub(ROOM_TO_LOOK).max(1);
    let given = kept.iter().filter(|kept| **kept).count();
    if given > room {
        let without = given - LATEST.min(room);
        let oldest = kept.iter_mut().filter(|kept| **kept).take(without);
        oldest.for_each(|kept| *kept = false);
    }
    kept
}

/// Of which screens these are pictures, each once.
pub(crate) fn checksums(shown: &[Shown]) -> Vec<Checksum> {
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

/// The parts of a conversation with every picture in its place, in the form that `as_sent` gives it; those that are not
/// ours as they are.
pub(crate) fn filled(
    parts: &[Value],
    is_ours: fn(&Value) -> bool,
    mut as_sent: impl FnMut(&Shown) -> Result<Value, Error>,
) -> Result<Vec<Value>, Error> {
    let filled = parts.iter().map(|part| match is_ours(part) {
        true => fill(part, &mut as_sent),
        false => Ok(part.clone()),
    });
    filled.collect()
}

fn fill(
    value: &Value,
    as_sent: &mut impl FnMut(&Shown) -> Result<Value, Error>,
) -> Result<Value, Error> {
    if let Some(shown) = Shown::of(value) {
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

    fn shown() -> Shown {
        Shown {
            sha256: "ab".repeat(32),
            region: Some([1, 2, 3, 4]),
        }
    }

    #[test]
    fn a_picture_is_found_again_where_it_stood() {
        let part = |role, picture| json!({"role": role, "content": [{"type": "text", "text": "t"}, picture]});
        let parts = ["user", "assistant"].map(|role| part(role, shown().placeholder()));
        let is_ours = |part: &Value| part["role"] == "user";
        assert_eq!(all(&parts, is_ours), [shown()]);
        let sent = filled(&parts, is_ours, |_| Ok(json!("pixels"))).unwrap();
        let ours = part("user", json!("pixels"));
        assert_eq!(
            sent,
            [ours, parts[1].clone()],
            "what was said stays as it is"
        );
    }

    #[test]
    fn what_only_looks_alike_is_left_alone() {
        let alike = [
            json!({"motorium_picture": {"sha256": 3}}),
            json!({"motorium_picture": shown(), "more": 1}),
        ];
        assert_eq!(all(&alike, |_| true), []);
        let sent = filled(&alike, |_| true, |_| Err(Error::NoImage)).unwrap();
        assert_eq!(sent, alike);
    }
}
