//! Screen fingerprints that need no pixels.
//!
//! Pure. Two [`Fingerprint`]s are equal if the same elements are at the same positions of the same window. Digits of texts
//! that show a time are ignored, because a clock would otherwise make every screen a new one.

use motorium_imaging::space::denormalise;
use motorium_proto::domain::element::{Element, ElementState, Scene};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use sha2::{Digest as _, Sha256};

/// Number of grid cells per axis to which positions are rounded. Absorbs jitter of detected boxes below 1/256 of the frame.
const GRID: f64 = 128.0;

/// Fingerprint of a screen's content. Equal for screens that show the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Fingerprint(pub [u8; 8]);

impl Fingerprint {
    /// Computes the fingerprint of the visible elements and the active window.
    #[must_use]
    pub fn of(scene: &Scene, frame: &Frame) -> Self {
        let mut hash = Sha256::new();
        let window = frame.active_window();
        hash.update(window.map_or("", |window| window.id.as_str()));
        hash.update([0]);
        hash.update(window.map_or(String::new(), |window| without_time_digits(&window.title)));
        for element in &scene.elements {
            hash.update([0]);
            hash.update(element.kind.as_str());
            hash.update([0]);
            hash.update(without_time_digits(&element.content));
            hash.update(place(element));
            hash.update(state(element));
        }
        let digest = hash.finalize();
        let (first, _) = digest.split_first_chunk().expect("a digest has 32 bytes");
        Self(*first)
    }
}

fn place(element: &Element) -> [u8; 8] {
    let bounds = &element.bounds;
    let part = |value: f64| (value * GRID).round() as i16;
    let parts = [bounds.min.x, bounds.min.y, bounds.max.x, bounds.max.y].map(part);
    let mut bytes = [0; 8];
    for (place, part) in bytes.as_chunks_mut().0.iter_mut().zip(parts) {
        *place = part.to_le_bytes();
    }
    bytes
}

fn state(element: &Element) -> [u8; 6] {
    let ElementState {
        checked,
        selected,
        disabled,
        focused,
        expanded,
        placeholder,
    } = element.state;
    [checked, selected, disabled, focused, expanded, placeholder]
        // Unknown is a value of its own and not the same as false.
        .map(|known| known.map_or(2, u8::from))
}

/// Returns the text, without its digits if it shows a time.
pub fn without_time_digits(text: &str) -> String {
    if contains_time(text) {
        text.chars().filter(|c| !c.is_ascii_digit()).collect()
    } else {
        text.to_owned()
    }
}

/// Returns true if a text contains a time, for example `9:41` or `12:30:05`.
#[must_use]
pub fn contains_time(text: &str) -> bool {
    minute_of_time(text).is_some()
}

/// Returns the minute of the first time in a text, for example 3 for `14:03` and `2:03:27 PM`.
#[must_use]
pub fn minute_of_time(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split(':').collect();
    parts.windows(2).find_map(|pair| {
        let hour = pair[0].chars().rev().take_while(char::is_ascii_digit);
        let digits = pair[1].chars().take_while(char::is_ascii_digit);
        let minute: String = digits.collect();
        // Exactly two digits of minutes below 60: `16:9` is a ratio and `3:75` a score.
        let is_time = (1..=2).contains(&hour.count()) && minute.len() == 2;
        minute.parse().ok().filter(|minute| is_time && *minute < 60)
    })
}

/// Returns the bounding box of an element of a frame, in display pixels.
#[must_use]
pub fn bounds_on_display(element: &Element, frame: &Frame) -> CaptureRect {
    denormalise(&element.bounds, frame.size).translate(frame.origin.to_vector())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
    use motorium_proto::domain::id::{DisplayId, FrameId};

    use super::*;
    use crate::samples::element;

    fn fingerprint(elements: &[(&str, f64)]) -> Fingerprint {
        let element =
            |(content, left): &(&str, f64)| element(content, [*left, 0.5, *left + 0.1, 0.6]);
        let scene = Scene {
            frame: FrameId::new("f"),
            elements: elements.iter().map(element).collect(),
            relations: vec![],
        };
        let frame = Frame {
            id: FrameId::new("f"),
            display: DisplayId::new(":1"),
            origin: CapturePoint::zero(),
            size: CaptureSize::new(100, 100),
            scale: 1.0,
            captured_at: SystemTime::UNIX_EPOCH,
            cursor: None,
            monitors: vec![],
            windows: vec![],
        };
        Fingerprint::of(&scene, &frame)
    }

    #[test]
    fn a_screen_is_known_by_its_words_and_places_and_not_by_its_clock() {
        let one = fingerprint(&[("Save", 0.1), ("10:41", 0.9)]);
        assert_eq!(one, fingerprint(&[("Save", 0.1), ("10:42", 0.9)]));
        assert_eq!(one, fingerprint(&[("Save", 0.1001), ("10:41", 0.9)]));
        for other in [
            fingerprint(&[("Saved", 0.1), ("10:41", 0.9)]),
            fingerprint(&[("Save", 0.2), ("10:41", 0.9)]),
            fingerprint(&[("Save", 0.1)]),
        ] {
            assert_ne!(one, other);
        }
        assert_ne!(
            fingerprint(&[("Count: 1", 0.1)]),
            fingerprint(&[("Count: 2", 0.1)])
        );
    }

    #[test]
    fn times_are_recognised() {
        for text in ["9:41", "12:30:05", "Sun Nov 22, 10:31 AM", "время 07:05"] {
            assert!(contains_time(text), "{text}");
        }
        for text in ["", "1:2", "a:12", "ratio 16:900", "Save", "::::"] {
            assert!(!contains_time(text), "{text}");
        }
    }
}
