//! Which elements get a place where there is not room for all.

use std::cmp::Reverse;

use motorium_proto::domain::element::Element;

/// How many elements a prompt lists unless it is asked for another number.
pub const DEFAULT_MAX_ELEMENTS: usize = 40;

/// At most `max` elements (`None`: all of them), in the order in which they came. What can be acted on wins, then
/// what is seen with more confidence, then short text: names of things one can act on are short, prose is long.
#[must_use]
pub fn select(elements: &[Element], max: Option<usize>) -> Vec<&Element> {
    let max = max.unwrap_or(elements.len());
    if elements.len() <= max {
        return elements.iter().collect();
    }
    let mut by_worth: Vec<usize> = (0..elements.len()).collect();
    by_worth.sort_by_key(|index| Reverse(worth(&elements[*index])));
    let mut kept = by_worth[..max].to_vec();
    kept.sort_unstable();
    kept.into_iter().map(|index| &elements[index]).collect()
}

/// Confidence counts in steps of a tenth: within one, recognisers give differences that mean nothing.
fn worth(element: &Element) -> (bool, i32, Reverse<usize>) {
    let confidence = (element.confidence * 10.0).round() as i32;
    (
        element.interactable,
        confidence,
        Reverse(element.content.chars().count()),
    )
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::element::{ElementKind, ElementSource, ElementState};
    use motorium_proto::domain::geometry::{CapturePoint, NormalisedRect};
    use motorium_proto::domain::id::ElementId;

    use super::*;

    fn element(id: u32, interactable: bool, confidence: f32, content: &str) -> Element {
        Element {
            id: ElementId(id),
            kind: ElementKind::Label,
            content: content.to_owned(),
            bounds: NormalisedRect::zero(),
            interactable,
            confidence,
            centre: CapturePoint::zero(),
            source: ElementSource::Ocr,
            state: ElementState::default(),
        }
    }

    fn check(elements: &[(bool, f32, &str)], max: Option<usize>, expected: &[u32]) {
        let elements: Vec<Element> = elements
            .iter()
            .zip(1..)
            .map(|((interactable, confidence, text), id)| {
                element(id, *interactable, *confidence, text)
            })
            .collect();
        let kept: Vec<u32> = select(&elements, max)
            .iter()
            .map(|element| element.id.0)
            .collect();
        assert_eq!(kept, expected);
    }

    #[test]
    fn selection() {
        let scene = [
            (false, 0.99, "Title"),
            (true, 0.4, "Save"),
            (false, 0.6, "faint"),
            (true, 0.9, "Open"),
        ];
        check(&scene, None, &[1, 2, 3, 4]);
        check(&scene, Some(9), &[1, 2, 3, 4]);
        check(&scene, Some(3), &[1, 2, 4]);
        check(&scene, Some(2), &[2, 4]);
        check(&scene, Some(1), &[4]);
        check(&scene, Some(0), &[]);
        check(&[], Some(5), &[]);
        // Among equals the short one, and of those the first.
        check(
            &[
                (false, 0.98, "a long sentence of prose"),
                (false, 0.96, "OK"),
            ],
            Some(1),
            &[2],
        );
        check(&[(false, 0.9, "one"), (false, 0.9, "two")], Some(1), &[1]);
        check(
            &[(false, f32::NAN, "one"), (false, 0.9, "two")],
            Some(1),
            &[2],
        );
    }
}
