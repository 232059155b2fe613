//! Redaction of a page's text: what a screenshot must not show, the text must not tell. Pure.
//!
//! Values of secrets are masked by the Executor, the only service that knows them.

use motorium_proto::domain::frame::Frame;
use motorium_proto::service::{Redaction, SensitiveText};
use motorium_text::sensitive;
use regex::Regex;

/// Replacement for a redacted line.
const REDACTED: &str = "[redacted]";

/// Content that hides a line of text.
enum LineRule {
    Pattern(Regex),
    Sensitive(SensitiveText),
}

impl LineRule {
    fn hides(&self, line: &str) -> bool {
        match self {
            Self::Pattern(pattern) => pattern.is_match(line),
            Self::Sensitive(kind) => sensitive::is_in(line, *kind),
        }
    }
}

/// Returns the text of the page in the active window without its redacted lines. `None` if a part of the window is redacted,
/// because it is not known which lines are there, or if a pattern cannot be used.
pub(super) fn redacted(text: &str, frame: &Frame, redactions: &[Redaction]) -> Option<String> {
    let window = frame.active_window();
    let place = window.map_or(frame.bounds(), |window| window.bounds);
    let mut rules = Vec::new();
    for redaction in redactions {
        match redaction {
            Redaction::Region(region) if region.intersects(&place) => return None,
            Redaction::Window(name) if window.is_some_and(|window| window.is_named(name)) => {
                return None;
            }
            Redaction::Region(_) | Redaction::Window(_) => {}
            Redaction::TextPattern(pattern) => {
                rules.push(LineRule::Pattern(Regex::new(pattern).ok()?));
            }
            Redaction::SensitiveText(kind) => rules.push(LineRule::Sensitive(*kind)),
        }
    }
    let lines = text.split('\n').map(|line| {
        let is_hidden = rules.iter().any(|rule| rule.hides(line));
        if is_hidden { REDACTED } else { line }
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use motorium_proto::domain::frame::Window;
    use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
    use motorium_proto::domain::id::{DisplayId, FrameId};

    use super::*;

    const PAGE: &str = "Cart\nann@example.org\nCard 4111 1111 1111 1111\nTotal 12";

    fn rect(x: i32, width: i32) -> CaptureRect {
        CaptureRect::from_origin_and_size(CapturePoint::new(x, 0), CaptureSize::new(width, 100))
    }

    /// Returns a frame with a browser in its left half.
    fn frame() -> Frame {
        Frame {
            id: FrameId::new("f"),
            display: DisplayId::new(":1"),
            origin: CapturePoint::zero(),
            size: CaptureSize::new(200, 100),
            scale: 1.0,
            captured_at: SystemTime::UNIX_EPOCH,
            cursor: None,
            monitors: Vec::new(),
            windows: vec![Window {
                id: "7".to_owned(),
                title: "Cart".to_owned(),
                application: "Chromium".to_owned(),
                process: None,
                bounds: rect(0, 100),
                active: true,
                minimised: false,
                modal: false,
            }],
        }
    }

    #[track_caller]
    fn check(redactions: &[Redaction], expected: Option<&str>) {
        assert_eq!(redacted(PAGE, &frame(), redactions).as_deref(), expected);
    }

    #[test]
    fn page_text_lines_are_redacted_like_the_screenshot() {
        check(&[], Some(PAGE));
        let cards = Redaction::SensitiveText(SensitiveText::CardNumber);
        let addresses = Redaction::SensitiveText(SensitiveText::EmailAddress);
        check(
            &[cards, addresses],
            Some("Cart\n[redacted]\n[redacted]\nTotal 12"),
        );
        let pattern = Redaction::TextPattern("^Total".to_owned());
        check(&[pattern], Some(&PAGE.replace("Total 12", "[redacted]")));
        check(&[Redaction::TextPattern("(".to_owned())], None);
    }

    #[test]
    fn a_window_with_hidden_parts_has_no_text() {
        check(&[Redaction::Region(rect(90, 20))], None);
        check(&[Redaction::Region(rect(100, 20))], Some(PAGE));
        check(&[Redaction::Window("chromium".to_owned())], None);
        check(&[Redaction::Window("7".to_owned())], None);
        check(&[Redaction::Window("8".to_owned())], Some(PAGE));
    }
}
