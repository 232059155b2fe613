//! Motion in which nothing counts, such as a spinner.

use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_text::values;

use super::read::value_elements;
use crate::effect::is_small;
use crate::screen::bounds_on_display;

/// Minimum number of letters of a word. Text recognition takes a spinner for one or two.
const MIN_WORD_LETTERS: usize = 3;

/// Returns the areas of motion in which nothing counts: small ones that show neither words nor values and do not touch the target.
#[must_use]
pub fn harmless_motion(
    moving: &[CaptureRect],
    scene: &Scene,
    frame: &Frame,
    target: Option<CaptureRect>,
) -> Vec<CaptureRect> {
    let values = value_elements(scene, frame, frame.bounds());
    let elements = scene.elements.iter();
    let worded = elements.filter(|element| has_words(&element.content));
    let worded: Vec<CaptureRect> = worded
        .map(|element| bounds_on_display(element, frame))
        .chain(values.into_iter().map(|(bounds, _)| bounds))
        .chain(target)
        .collect();
    let is_harmless = |area: &&CaptureRect| {
        is_small(**area) && !worded.iter().any(|bounds| area.intersects(bounds))
    };
    moving.iter().filter(is_harmless).copied().collect()
}

/// Returns true if a text has a word, which a spinner or a progress in per cent has not.
fn has_words(text: &str) -> bool {
    let text = values::without_times(text);
    text.chars().filter(|letter| letter.is_alphabetic()).count() >= MIN_WORD_LETTERS
}
