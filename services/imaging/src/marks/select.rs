//! Selects elements if there are more than fit.

use std::cmp::Reverse;

use motorium_proto::domain::element::Element;

/// Default maximum number of elements in a prompt.
// Bounds the prompt, and numbers of more boxes would cover the screenshot.
pub const DEFAULT_MAX_ELEMENTS: usize = 40;

/// Returns at most `max` elements (`None`: all), in input order. Interactable elements take precedence, then higher
/// confidence, then shorter text: names of controls are short, prose is long.
#[must_use]
pub fn select(elements: &[Element], max: Option<usize>) -> Vec<&Element> {
    let max = max.unwrap_or(elements.len());
    if elements.len() <= max {
        return elements.iter().collect();
    }
    let mut by_worth: Vec<usize> = (0..elements.len()).collect();
    by_worth.sort_by_key(|index| Reverse(priority(&elements[*index])));
    let mut kept = by_worth[..max].to_vec();
    kept.sort_unstable();
    kept.into_iter().map(|index| &elements[index]).collect()
}

/// Sort key of an element. Confidence is rounded to tenths, because smaller differences are not meaningful.
fn priority(element: &Element) -> (bool, i32, Reverse<usize>) {
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
        // Among equals the shortest wins, then the first.
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
