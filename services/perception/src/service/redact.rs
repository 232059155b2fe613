//! Redaction: paints over hidden content before anything is stored, encoded or returned.
//!
//! Windows and regions are painted over first and never parsed. Text is found by text recognition, and unrecognised
//! text is not redacted: to be certain, redact a window or a region.

use std::sync::Arc;

use image::{Rgba, RgbaImage};
use motorium_proto::domain::frame::Window;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::error::FieldError;
use motorium_proto::service::{Redaction, SensitiveText};
use motorium_text::sensitive;
use regex::{Regex, RegexBuilder};

use super::multi_line;
use crate::capture::RawCapture;
use crate::error::Error;
use crate::parse::Parse;
use crate::parse::queue::ParseQueue;
use crate::parse::read::TextLine;

/// Colour of redacted areas.
const REDACTION_COLOUR: Rgba<u8> = Rgba([0, 0, 0, u8::MAX]);

/// Maximum number of redactions in a request, in addition to the configured ones.
// Bounds the work of one capture; a screen has a few fields with secrets.
const MAX_REDACTIONS: usize = 64;

/// Maximum height of the title bar that a window manager draws above a window, in pixels at scale 1.
// More than common themes need: a strip of desktop that is redacted as well is better than a title that is not.
const TITLE_BAR: f64 = 40.0;
/// Maximum width of the border that a window manager draws around a window, in pixels at scale 1.
const BORDER: f64 = 8.0;

/// Maximum memory of a compiled pattern; a request must not exhaust the service's memory.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Set of redaction rules.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor {
    /// Boxes in pixels of the frame.
    regions: Vec<CaptureRect>,
    /// Boxes in capture pixels of every display.
    display_regions: Vec<CaptureRect>,
    /// Window ids, or lower-case application names.
    windows: Vec<String>,
    patterns: Vec<Regex>,
    sensitive_text: Vec<SensitiveText>,
}

impl Redactor {
    /// Returns these rules extended by those of a request.
    ///
    /// # Errors
    /// If a pattern is not a regular expression; the error names the field.
    pub(super) fn with_requested(&self, requested: &[Redaction]) -> Result<Self, Error> {
        if requested.len() > MAX_REDACTIONS {
            let problem = format!(
                "has {} entries, the maximum is {MAX_REDACTIONS}",
                requested.len()
            );
            return Err(FieldError::new("redactions", problem).into());
        }
        let mut redactor = self.clone();
        for (index, redaction) in requested.iter().enumerate() {
            redactor.add(redaction).map_err(|problem| {
                FieldError::new(format!("redactions[{index}].text_pattern"), problem)
            })?;
        }
        Ok(redactor)
    }

    /// Adds a rule.
    ///
    /// # Errors
    /// If a pattern is not a valid regular expression.
    pub(crate) fn add(&mut self, redaction: &Redaction) -> Result<(), String> {
        match redaction {
            Redaction::Region(region) => self.regions.push(*region),
            Redaction::Window(window) => self.windows.push(window.clone()),
            Redaction::SensitiveText(kind) => self.sensitive_text.push(*kind),
            Redaction::TextPattern(pattern) => self.patterns.push(compile(pattern)?),
        }
        Ok(())
    }

    /// Adds a box of every display, in capture pixels.
    pub(crate) fn add_display_region(&mut self, region: CaptureRect) {
        self.display_regions.push(region);
    }

    /// Redacts windows, text and display regions: everything that does not depend on the requested area.
    pub(super) async fn redact_contents(
        &self,
        shot: &mut RawCapture,
        parser: &ParseQueue,
    ) -> Result<(), Error> {
        self.redact_windows(shot);
        let corner = shot.bounds.min.to_vector();
        for region in &self.display_regions {
            redact_region(shot, region.translate(-corner));
        }
        self.redact_text(shot, parser).await
    }

    /// Parses a capture and redacts matching text. Text cut off at an edge would not match, so this is for whole
    /// displays.
    async fn redact_text(&self, shot: &mut RawCapture, parser: &ParseQueue) -> Result<(), Error> {
        if !self.has_text_rules() {
            return Ok(());
        }
        if !parser.is_local() {
            let problem = "text redaction requires `perception.parser = \"embedded\"`, and this service sends images to another one; \
                           redact regions or windows";
            return Err(FieldError::new("redactions", problem).into());
        }
        let mut parse = parser.parse(Arc::clone(&shot.pixels)).await?;
        self.redact_lines(shot, &mut parse);
        Ok(())
    }

    /// Redacts the recognised text that matches and removes it from the result. A magnified parse finds text that was
    /// too small before.
    pub(super) fn redact_lines(&self, shot: &mut RawCapture, parse: &mut Parse) {
        for hidden in self.remove_matching_lines(parse) {
            redact_region(shot, hidden);
        }
    }

    /// Redacts the recognised text that matches in an image that is not a capture, and removes it from the result.
    pub(super) fn redact_image(&self, pixels: &mut Arc<RgbaImage>, parse: &mut Parse) {
        for hidden in self.remove_matching_lines(parse) {
            fill(Arc::make_mut(pixels), hidden);
        }
    }

    /// Redacts regions given in pixels of the frame.
    pub(super) fn redact_regions(&self, shot: &mut RawCapture) {
        for &region in &self.regions {
            redact_region(shot, region);
        }
    }

    /// Redacts the visible parts of windows and clears their titles.
    fn redact_windows(&self, shot: &mut RawCapture) {
        let corner = shot.bounds.min.to_vector();
        let scale = shot.display.scale;
        let mut above: Vec<CaptureRect> = Vec::new();
        let mut hidden = Vec::new();
        for window in &mut shot.windows {
            let is_hidden = self.matches_window(window);
            if is_hidden || self.matches_line(&window.title) {
                window.title.clear();
            }
            if window.minimised {
                continue;
            }
            if is_hidden {
                hidden.extend(visible_parts(with_decoration(window.bounds, scale), &above));
            }
            if !shot.non_opaque_windows.contains(&window.id) {
                above.push(window.bounds);
            }
        }
        for seen in hidden {
            redact_region(shot, seen.translate(-corner));
        }
    }

    /// Removes the matching lines and returns their boxes.
    fn remove_matching_lines(&self, parse: &mut Parse) -> Vec<CaptureRect> {
        if !self.has_text_rules() {
            return Vec::new();
        }
        let hidden = self.matching_lines(&parse.lines);
        let (hidden, visible): (Vec<_>, Vec<_>) = parse
            .lines
            .iter()
            .zip(hidden)
            .partition(|(_, hidden)| *hidden);
        let boxes = hidden.iter().map(|(line, _)| line.bounds).collect();
        parse.lines = visible.into_iter().map(|(line, _)| line.clone()).collect();
        boxes
    }

    /// Returns which lines match. Rules are applied independently: text redacted by one rule still counts for another.
    fn matching_lines(&self, lines: &[TextLine]) -> Vec<bool> {
        let by_pattern = self.patterns.iter().map(|pattern| {
            let matches = |text: &str| pattern.is_match(text);
            multi_line::matching(lines, matches, matches)
        });
        let by_kind = self.sensitive_text.iter().map(|&kind| {
            let matches = |text: &str| sensitive::is_in(text, kind);
            // A column of numbers is not a card number, so lines are not joined vertically.
            let wraps = kind != SensitiveText::CardNumber;
            multi_line::matching(lines, matches, |text| wraps && matches(text))
        });
        let mut hidden = vec![false; lines.len()];
        for of_one_rule in by_pattern.chain(by_kind) {
            for (hidden, also) in hidden.iter_mut().zip(of_one_rule) {
                *hidden |= also;
            }
        }
        hidden
    }

    /// Returns whether text must be recognised to apply the rules.
    pub(crate) fn has_text_rules(&self) -> bool {
        !self.patterns.is_empty() || !self.sensitive_text.is_empty()
    }

    fn matches_line(&self, text: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.is_match(text))
            || self
                .sensitive_text
                .iter()
                .any(|&kind| sensitive::is_in(text, kind))
    }

    /// Returns whether the rules need to know which window covers which pixels.
    pub(super) fn has_window_rules(&self) -> bool {
        !self.windows.is_empty()
    }

    fn matches_window(&self, window: &Window) -> bool {
        self.windows.iter().any(|name| window.is_named(name))
    }
}

fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| format!("is not a valid regular expression: {error}"))
}

/// Extends a window by the maximum decoration.
fn with_decoration(bounds: CaptureRect, scale: f64) -> CaptureRect {
    let pixels = |length: f64| (length * scale).ceil() as i32;
    let outer = bounds.inflate(pixels(BORDER), pixels(BORDER));
    CaptureRect::new(
        euclid::point2(outer.min.x, bounds.min.y - pixels(TITLE_BAR)),
        outer.max,
    )
}

/// Redacts a box of a capture, given in its own pixels, and records it.
fn redact_region(shot: &mut RawCapture, region: CaptureRect) {
    fill(Arc::make_mut(&mut shot.pixels), region);
    shot.redacted
        .push(region.translate(shot.bounds.min.to_vector()));
}

/// Returns the parts of a box that other boxes do not cover.
fn visible_parts(whole: CaptureRect, above: &[CaptureRect]) -> Vec<CaptureRect> {
    let mut left = vec![whole];
    for &cover in above {
        left = left
            .into_iter()
            .flat_map(|part| subtract(part, cover))
            .collect();
    }
    left
}

/// Subtracts a box from another: the parts above, below, left and right of it.
fn subtract(part: CaptureRect, cover: CaptureRect) -> Vec<CaptureRect> {
    let Some(covered) = part.intersection(&cover) else {
        return vec![part];
    };
    let piece = |x1, y1, x2, y2| CaptureRect::new(euclid::point2(x1, y1), euclid::point2(x2, y2));
    let pieces = [
        piece(part.min.x, part.min.y, part.max.x, covered.min.y),
        piece(part.min.x, covered.max.y, part.max.x, part.max.y),
        piece(part.min.x, covered.min.y, covered.min.x, covered.max.y),
        piece(covered.max.x, covered.min.y, part.max.x, covered.max.y),
    ];
    pieces
        .into_iter()
        .filter(|piece| !piece.is_empty())
        .collect()
}

fn fill(pixels: &mut RgbaImage, region: CaptureRect) {
    let (width, height) = pixels.dimensions();
    let along = |from: i32, to: i32, side: u32| from.max(0) as u32..(to.max(0) as u32).min(side);
    for y in along(region.min.y, region.max.y, height) {
        for x in along(region.min.x, region.max.x, width) {
            pixels.put_pixel(x, y, REDACTION_COLOUR);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use motorium_proto::domain::frame::Display;
    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize, LogicalSize};
    use motorium_proto::domain::id::DisplayId;
    use proptest::prelude::*;

    use super::*;
    use crate::parse::ParseStats;

    fn at(x1: i32, y1: i32, x2: i32, y2: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
    }

    fn white() -> RgbaImage {
        RgbaImage::from_pixel(10, 10, Rgba([255; 4]))
    }

    fn painted(pixels: &RgbaImage) -> usize {
        pixels
            .pixels()
            .filter(|pixel| **pixel == REDACTION_COLOUR)
            .count()
    }

    fn redactor(redactions: &[Redaction]) -> Redactor {
        Redactor::default().with_requested(redactions).unwrap()
    }

    #[test]
    fn redacted_regions_are_clipped_to_the_image() {
        let check = |region, expected| {
            let mut pixels = white();
            fill(&mut pixels, region);
            assert_eq!(painted(&pixels), expected, "{region:?}");
        };
        check(at(2, 3, 4, 6), 6);
        check(at(-5, -5, 2, 2), 4);
        check(at(8, 8, 50, 50), 4);
        check(at(20, 20, 30, 30), 0);
        check(at(5, 5, 2, 2), 0);
    }

    #[test]
    fn matching_lines_are_redacted() {
        let line = |text: &str, bounds| TextLine::new(bounds, text, 1.0);
        let lines = [
            line("Card 4111 1111", at(0, 0, 10, 2)),
            line("Write to ann@example.org", at(0, 6, 10, 8)),
            line("Name", at(0, 4, 10, 6)),
        ];
        let mut parse = Parse {
            detections: Arc::new([]),
            lines: Arc::new(lines),
            effort: ParseStats::default(),
        };
        let redactor = redactor(&[
            Redaction::TextPattern(r"\d{4} \d{4}".to_owned()),
            Redaction::SensitiveText(SensitiveText::EmailAddress),
        ]);
        let mut pixels = Arc::new(white());
        redactor.redact_image(&mut pixels, &mut parse);
        assert_eq!(painted(&pixels), 40);
        let texts: Vec<_> = parse.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["Name"]);
    }

    #[test]
    fn overlapping_redaction_rules_match_independently() {
        let line = |x, text: &str| TextLine::new(at(x, 0, x + 40, 20), text, 1.0);
        let fields = [
            line(0, "4111"),
            line(60, "1111"),
            line(120, "1111"),
            line(180, "1111"),
        ];
        let redactor = redactor(&[
            Redaction::TextPattern("^1111$".to_owned()),
            Redaction::SensitiveText(SensitiveText::CardNumber),
        ]);
        assert_eq!(redactor.matching_lines(&fields), [true; 4]);
    }

    fn window(id: &str, application: &str, title: &str, bounds: CaptureRect) -> Window {
        Window {
            id: id.to_owned(),
            title: title.to_owned(),
            application: application.to_owned(),
            process: None,
            bounds,
            active: false,
            minimised: false,
            modal: false,
        }
    }

    fn shot(windows: Vec<Window>) -> RawCapture {
        RawCapture {
            pixels: Arc::new(white()),
            bounds: at(100, 100, 110, 110),
            display: Display {
                id: DisplayId::new(":1"),
                size: CaptureSize::new(200, 200),
                logical_size: LogicalSize::new(200.0, 200.0),
                scale: 1.0,
                monitors: Vec::new(),
            },
            cursor: None,
            windows,
            non_opaque_windows: Vec::new(),
            redacted: Vec::new(),
            captured_at: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn visible_parts_of_a_window_are_redacted() {
        let check = |hidden: &str, windows: &[Window], expected: usize, titles: &[&str]| {
            let mut shot = shot(windows.to_vec());
            redactor(&[Redaction::Window(hidden.to_owned())]).redact_windows(&mut shot);
            assert_eq!(painted(&shot.pixels), expected, "{hidden}");
            let got: Vec<_> = shot
                .windows
                .iter()
                .map(|window| window.title.as_str())
                .collect();
            assert_eq!(got, titles);
        };
        // The client area starts below the frame; only the border is within the captured region.
        let vault = window("0x12", "KeePassXC", "Vault", at(90, 140, 96, 150));
        let editor = window("0x34", "Mousepad", "Notes", at(102, 98, 120, 120));
        // Columns 82 to 104 and rows 100 to 158 are hidden, of which 4 columns and all 10 rows lie in the frame.
        check(
            "keepassxc",
            &[vault.clone(), editor.clone()],
            40,
            &["", "Notes"],
        );
        check("0x12", &[vault.clone(), editor.clone()], 40, &["", "Notes"]);
        // The editor covers half of it and stays visible.
        check(
            "KeePassXC",
            &[editor.clone(), vault.clone()],
            20,
            &["Notes", ""],
        );
        let minimised = Window {
            minimised: true,
            ..vault.clone()
        };
        check("KeePassXC", &[minimised, editor.clone()], 0, &["", "Notes"]);
        // A translucent window covers nothing.
        let mut through = shot(vec![editor, vault]);
        through.non_opaque_windows = vec!["0x34".to_owned()];
        redactor(&[Redaction::Window("KeePassXC".to_owned())]).redact_windows(&mut through);
        assert_eq!(painted(&through.pixels), 40);
        assert_eq!(through.redacted, [at(82, 100, 104, 158)]);
    }

    #[test]
    fn matching_window_titles_are_removed() {
        let windows = vec![window(
            "1",
            "Mail",
            "Inbox of ann@example.org",
            at(100, 100, 105, 105),
        )];
        let mut shot = shot(windows);
        redactor(&[Redaction::SensitiveText(SensitiveText::EmailAddress)])
            .redact_windows(&mut shot);
        assert_eq!(shot.windows[0].title, "");
        assert_eq!(painted(&shot.pixels), 0);
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let requested = [
            Redaction::Region(at(0, 0, 1, 1)),
            Redaction::TextPattern("(".to_owned()),
        ];
        let error = Redactor::default().with_requested(&requested).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("redactions[1].text_pattern: is not a valid regular expression"),
            "{error}"
        );
    }

    fn boxes() -> impl Strategy<Value = CaptureRect> {
        (0i32..20, 0i32..20, 1i32..12, 1i32..12).prop_map(|(x, y, w, h)| at(x, y, x + w, y + h))
    }

    proptest! {
        #[test]
        fn visible_parts_cover_exactly_the_uncovered_points(
            whole in boxes(),
            above in proptest::collection::vec(boxes(), 0..5),
        ) {
            let seen = visible_parts(whole, &above);
            for (x, y) in (0..32).flat_map(|y| (0..32).map(move |x| (x, y))) {
                let here = CapturePoint::new(x, y);
                let visible = whole.contains(here) && !above.iter().any(|cover| cover.contains(here));
                prop_assert_eq!(seen.iter().filter(|part| part.contains(here)).count(), usize::from(visible));
            }
        }
    }
}
