//! Elements as lines of a prompt:
//!
//! ```text
//! [3] ● button | "Save" | top right
//! [4] ● checkbox, checked | "Remember me" | left
//! [7] ○ label | "3 files selected" | bottom left
//! ```
//!
//! `●` marks an interactable element, `○` a static one.
//!
//! Invariant: an element is exactly one line, whatever its text contains. Screen text cannot end its quotes, start a
//! new line, or hide behind invisible characters.
//!
//! It does not choose the elements: `select` does.

use std::fmt::{Display, Write as _};

use motorium_proto::domain::action::FramePart;
use motorium_proto::domain::element::{Element, ElementState};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, NormalisedPoint, NormalisedRect,
};
use motorium_text::characters::is_invisible;

use crate::space::normalise;

/// Marker of an interactable element.
pub const INTERACTABLE: char = '●';
/// Marker of a static element.
pub const STATIC: char = '○';
/// Breaks a line like `\n`, but is no control character.
const LINE_SEPARATOR: char = '\u{2028}';
/// Breaks a line like `\n`, but is no control character.
const PARAGRAPH_SEPARATOR: char = '\u{2029}';
/// Maximum number of characters of an element's text. Longer text is cut and ends in `…`.
pub const MAX_CONTENT_CHARS: usize = 120;

/// Returns the lines of several elements, each with a line end.
#[must_use]
pub fn lines<'a>(elements: impl IntoIterator<Item = &'a Element>) -> String {
    lines_in(elements, false)
}

/// Returns the lines of several elements, each with a line end; the places in Chinese or in English.
#[must_use]
pub fn lines_in<'a>(elements: impl IntoIterator<Item = &'a Element>, chinese: bool) -> String {
    elements.into_iter().fold(String::new(), |text, element| {
        let place = frame_part(&element.bounds);
        let line = if chinese {
            line_at(element, chinese_place(place))
        } else {
            line_at(element, place)
        };
        text + &line + "\n"
    })
}

fn chinese_place(place: FramePart) -> &'static str {
    match place {
        FramePart::TopLeft => "左上",
        FramePart::Top => "上",
        FramePart::TopRight => "右上",
        FramePart::Left => "左",
        FramePart::Centre => "中间",
        FramePart::Right => "右",
        FramePart::BottomLeft => "左下",
        FramePart::Bottom => "下",
        FramePart::BottomRight => "右下",
    }
}

/// Returns the line of one element, without a line end.
#[must_use]
pub fn line(element: &Element) -> String {
    line_at(element, frame_part(&element.bounds))
}

fn line_at(element: &Element, place: impl Display) -> String {
    let mark = if element.interactable {
        INTERACTABLE
    } else {
        STATIC
    };
    let state = state_words(element.state);
    let content = quoted(&element.content);
    format!(
        "[{}] {mark} {}{state} | {content} | {}",
        element.id, element.kind, place
    )
}

/// Returns the ninth of the frame that contains a point.
#[must_use]
pub fn part_at(point: CapturePoint, frame: CaptureSize) -> FramePart {
    frame_part(&normalise(CaptureRect::new(point, point), frame))
}

/// Returns the ninth of the frame that contains the centre of a box.
#[must_use]
pub fn frame_part(bounds: &NormalisedRect) -> FramePart {
    let NormalisedPoint { x, y, .. } = bounds.center();
    let third = |fraction: f64| {
        if fraction < 1.0 / 3.0 {
            0
        } else {
            1 + usize::from(fraction >= 2.0 / 3.0)
        }
    };
    FramePart::ALL[third(y) * 3 + third(x)]
}

/// Returns the known states as words after the kind.
fn state_words(state: ElementState) -> String {
    let words = [
        (state.checked, ", checked", ", not checked"),
        (state.selected, ", selected", ""),
        (state.disabled, ", disabled", ""),
        (state.focused, ", focused", ""),
        (state.expanded, ", expanded", ", collapsed"),
        (state.placeholder, ", placeholder", ""),
    ];
    let word = |(known, yes, no)| match known {
        Some(true) => yes,
        Some(false) => no,
        None => "",
    };
    words.into_iter().map(word).collect()
}

/// Quotes a text, limited to [`MAX_CONTENT_CHARS`] characters.
fn quoted(text: &str) -> String {
    let text = text.trim();
    let cut = text
        .char_indices()
        .nth(MAX_CONTENT_CHARS)
        .map(|(end, _)| text[..end].trim_end());
    let mut quoted = String::with_capacity(text.len().min(MAX_CONTENT_CHARS * 4) + 8);
    quoted.push('"');
    for character in cut.unwrap_or(text).chars() {
        push_escaped(&mut quoted, character);
    }
    quoted.push_str(if cut.is_some() { "…\"" } else { "\"" });
    quoted
}

fn push_escaped(text: &mut String, character: char) {
    match character {
        '"' => text.push_str("\\\""),
        '\\' => text.push_str("\\\\"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        LINE_SEPARATOR | PARAGRAPH_SEPARATOR => push_code_point(text, character),
        _ if character.is_control() || is_invisible(character) => push_code_point(text, character),
        _ => text.push(character),
    }
}

/// Writes a character as its code point, for example `\u{200b}`.
fn push_code_point(text: &mut String, character: char) {
    write!(text, "\\u{{{:x}}}", u32::from(character)).expect("writing to a string succeeds");
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::element::{ElementKind, ElementSource};
    use motorium_proto::domain::geometry::CapturePoint;
    use motorium_proto::domain::id::ElementId;
    use proptest::prelude::*;

    use super::*;

    fn element(content: &str, x: f64, y: f64) -> Element {
        Element {
            id: ElementId(3),
            kind: ElementKind::TextField,
            content: content.to_owned(),
            bounds: NormalisedRect::new(
                NormalisedPoint::new(x - 0.01, y - 0.01),
                NormalisedPoint::new(x + 0.01, y + 0.01),
            ),
            interactable: true,
            confidence: 1.0,
            centre: CapturePoint::zero(),
            source: ElementSource::Both,
            state: ElementState::default(),
        }
    }

    fn check_content(content: &str, expected: &str) {
        assert_eq!(
            line(&element(content, 0.1, 0.1)),
            format!("[3] ● text_field | {expected} | top left")
        );
    }

    #[test]
    fn content_is_one_quoted_line() {
        check_content("Name", r#""Name""#);
        check_content("", r#""""#);
        check_content("  Name\n", r#""Name""#);
        check_content("say \"hi\"", r#""say \"hi\"""#);
        check_content(r"C:\temp", r#""C:\\temp""#);
        check_content("two\nlines\tand\r\na tab", r#""two\nlines\tand\r\na tab""#);
        check_content("保存文件", r#""保存文件""#);
        check_content("a\u{202e}b\u{200b}c\u{7}", r#""a\u{202e}b\u{200b}c\u{7}""#);
        check_content("a\u{e0041}\u{fe0f}", r#""a\u{e0041}\u{fe0f}""#);
        check_content(&"x".repeat(120), &format!("\"{}\"", "x".repeat(120)));
        check_content(&"字".repeat(121), &format!("\"{}…\"", "字".repeat(120)));
    }

    fn check_place(x: f64, y: f64, expected: &str) {
        assert_eq!(frame_part(&element("", x, y).bounds).as_str(), expected);
    }

    #[test]
    fn places() {
        check_place(0.1, 0.1, "top left");
        check_place(0.5, 0.1, "top");
        check_place(0.9, 0.1, "top right");
        check_place(0.1, 0.5, "left");
        check_place(0.5, 0.5, "centre");
        check_place(0.9, 0.5, "right");
        check_place(0.1, 0.9, "bottom left");
        check_place(0.5, 0.9, "bottom");
        check_place(0.9, 0.9, "bottom right");
        check_place(7.0, -7.0, "top right");
    }

    #[test]
    fn non_interactable_elements_have_a_different_marker() {
        let title = Element {
            kind: ElementKind::Label,
            interactable: false,
            ..element("Title", 0.5, 0.1)
        };
        assert_eq!(line(&title), r#"[3] ○ label | "Title" | top"#);
    }

    #[test]
    fn known_element_state_is_listed() {
        let state = ElementState {
            checked: Some(false),
            focused: Some(true),
            disabled: Some(false),
            ..ElementState::default()
        };
        let field = Element {
            kind: ElementKind::Checkbox,
            state,
            ..element("Remember me", 0.5, 0.5)
        };
        assert_eq!(
            line(&field),
            r#"[3] ● checkbox, not checked, focused | "Remember me" | centre"#
        );
    }

    #[test]
    fn a_list_has_a_line_for_each() {
        let photo = Element {
            kind: ElementKind::Image,
            interactable: false,
            ..element("", 0.1, 0.1)
        };
        let elements = [element("a", 0.1, 0.1), element("b", 0.1, 0.1), photo];
        assert_eq!(lines(&elements).lines().count(), 3);
        assert_eq!(lines(&[]), "");
    }

    proptest! {
        #[test]
        fn element_listing_is_one_line_for_any_content(content in any::<String>()) {
            let line = line(&element(&content, 0.5, 0.5));
            let breaks = ['\n', '\r', '\u{2028}', '\u{85}'];
            prop_assert!(!line.contains(breaks), "{line:?}");
            let inner = line.strip_prefix("[3] ● text_field | \"").and_then(|rest| rest.strip_suffix("\" | centre"));
            let inner = inner.expect("the line has the expected prefix and suffix");
            // No quote within that is not escaped.
            let unescaped = inner.replace("\\\\", "").replace("\\\"", "");
            prop_assert!(!unescaped.contains('"'));
        }
    }
}
