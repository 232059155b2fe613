//! Paints over what must not be seen, before anything is stored, encoded or told.
//!
//! Places are painted over first and never looked at. Text is found by reading it, and what cannot be read is not found:
//! whoever must be sure hides a window or a region.

use std::sync::Arc;

use image::{Rgba, RgbaImage};
use motorium_proto::domain::frame::Window;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::error::FieldError;
use motorium_proto::service::{Redaction, SensitiveText};
use regex::{Regex, RegexBuilder};

use super::{sensitive, together};
use crate::capture::Shot;
use crate::error::Error;
use crate::parse::Parse;
use crate::parse::queue::ParseQueue;
use crate::parse::read::TextLine;

/// What is painted instead.
const PAINT: Rgba<u8> = Rgba([0, 0, 0, u8::MAX]);

/// Most things that one request may hide besides those of the configuration.
const MAX_REDACTIONS: usize = 64;

/// What a window manager may draw around a window, in pixels at a scale of 1: its title stands above it.
const TITLE_BAR: f64 = 40.0;
const BORDER: f64 = 8.0;

/// Most memory that a compiled pattern may take; a request must not be able to use up the service's.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// What to hide.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor {
    /// In the frame's own pixels.
    regions: Vec<CaptureRect>,
    /// In pixels of every display.
    display_regions: Vec<CaptureRect>,
    /// Identifiers, or names of applications in small letters.
    windows: Vec<String>,
    patterns: Vec<Regex>,
    kinds: Vec<SensitiveText>,
}

impl Redactor {
    /// What this hides, and what a request hides besides.
    ///
    /// # Errors
    /// If a pattern is not a regular expression; the error names the field.
    pub(super) fn and(&self, requested: &[Redaction]) -> Result<Self, Error> {
        if requested.len() > MAX_REDACTIONS {
            let problem = format!(
                "has {}, and at most {MAX_REDACTIONS} are taken",
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

    /// Hides one thing more.
    ///
    /// # Errors
    /// What is wrong with a pattern.
    pub(crate) fn add(&mut self, redaction: &Redaction) -> Result<(), String> {
        match redaction {
            Redaction::Region(region) => self.regions.push(*region),
            Redaction::Window(window) => self.windows.push(window.to_lowercase()),
            Redaction::SensitiveText(kind) => self.kinds.push(*kind),
            Redaction::TextPattern(pattern) => self.patterns.push(compile(pattern)?),
        }
        Ok(())
    }

    /// Hides a box of every display, in its pixels.
    pub(crate) fn add_display_region(&mut self, region: CaptureRect) {
        self.display_regions.push(region);
    }

    /// Hides windows, text, and parts of the display: all that does not depend on which part of it is wanted.
    pub(super) async fn hide_contents(
        &self,
        shot: &mut Shot,
        parser: &ParseQueue,
    ) -> Result<(), Error> {
        self.hide_windows(shot);
        let corner = shot.bounds.min.to_vector();
        for region in &self.display_regions {
            cover(shot, region.translate(-corner));
        }
        self.hide_text(shot, parser).await
    }

    /// Reads a shot and hides the text that matches. What is cut off at the edge of a part would not match, so this is
    /// for whole displays.
    async fn hide_text(&self, shot: &mut Shot, parser: &ParseQueue) -> Result<(), Error> {
        if !self.hides_text() {
            return Ok(());
        }
        if !parser.is_here() {
            let problem = "hides text, which has to be read first, and `perception.parser` sends pictures elsewhere; \
                           hide regions or windows";
            return Err(FieldError::new("redactions", problem).into());
        }
        let mut parse = parser.parse(Arc::clone(&shot.pixels)).await?;
        self.hide_read(shot, &mut parse);
        Ok(())
    }

    /// Paints over the text that was read on a shot and matches, and leaves it out of what was read. A closer look reads
    /// what was too small before.
    pub(super) fn hide_read(&self, shot: &mut Shot, parse: &mut Parse) {
        for hidden in self.forget_text(parse) {
            cover(shot, hidden);
        }
    }

    /// As [`Self::hide_read`], on a picture that is no shot.
    pub(super) fn hide_on(&self, pixels: &mut Arc<RgbaImage>, parse: &mut Parse) {
        for hidden in self.forget_text(parse) {
            paint(Arc::make_mut(pixels), hidden);
        }
    }

    /// Paints over regions, which are given in the frame's own pixels.
    pub(super) fn hide_regions(&self, shot: &mut Shot) {
        for &region in &self.regions {
            cover(shot, region);
        }
    }

    /// Paints over what may be seen of windows, and takes the titles away that must not be read.
    fn hide_windows(&self, shot: &mut Shot) {
        let corner = shot.bounds.min.to_vector();
        let scale = shot.display.scale;
        let mut above: Vec<CaptureRect> = Vec::new();
        let mut hidden = Vec::new();
        for window in &mut shot.windows {
            let is_hidden = self.hides_window(window);
            if is_hidden || self.hides_line(&window.title) {
                window.title.clear();
            }
            if window.minimised {
                continue;
            }
            if is_hidden {
                hidden.extend(without(with_decoration(window.bounds, scale), &above));
            }
            if !shot.see_through.contains(&window.id) {
                above.push(window.bounds);
            }
        }
        for seen in hidden {
            cover(shot, seen.translate(-corner));
        }
    }

    /// Leaves the lines out that must not be told, and says where they stand.
    fn forget_text(&self, parse: &mut Parse) -> Vec<CaptureRect> {
        if !self.hides_text() {
            return Vec::new();
        }
        let hidden = self.hidden_among(&parse.lines);
        let (hidden, told): (Vec<_>, Vec<_>) = parse
            .lines
            .iter()
            .zip(hidden)
            .partition(|(_, hidden)| *hidden);
        let boxes = hidden.iter().map(|(line, _)| line.bounds).collect();
        parse.lines = told.into_iter().map(|(line, _)| line.clone()).collect();
        boxes
    }

    /// Which of the lines are hidden. Each rule is asked by itself: what one hides is still part of what another looks
    /// for.
    fn hidden_among(&self, lines: &[TextLine]) -> Vec<bool> {
        let by_pattern = self.patterns.iter().map(|pattern| {
            let matches = |text: &str| pattern.is_match(text);
            together::matching(lines, matches, matches)
        });
        let by_kind = self.kinds.iter().map(|&kind| {
            let matches = |text: &str| sensitive::is_in(text, kind);
            // Columns of numbers are no card's.
            let wraps = kind != SensitiveText::CardNumber;
            together::matching(lines, matches, |text| wraps && matches(text))
        });
        let mut hidden = vec![false; lines.len()];
        for of_one_rule in by_pattern.chain(by_kind) {
            for (hidden, also) in hidden.iter_mut().zip(of_one_rule) {
                *hidden |= also;
            }
        }
        hidden
    }

    /// Whether text has to be read to know what to hide.
    pub(crate) fn hides_text(&self) -> bool {
        !self.patterns.is_empty() || !self.kinds.is_empty()
    }

    fn hides_line(&self, text: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.is_match(text))
            || self.kinds.iter().any(|&kind| sensitive::is_in(text, kind))
    }

    /// Whether it has to be known which pixels are whose.
    pub(super) fn hides_windows(&self) -> bool {
        !self.windows.is_empty()
    }

    fn hides_window(&self, window: &Window) -> bool {
        let application = window.application.to_lowercase();
        let id = window.id.to_lowercase();
        self.windows
            .iter()
            .any(|hidden| *hidden == application || *hidden == id)
    }
}

fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| format!("is not a regular expression: {error}"))
}

/// A window with whatever its manager may have drawn around it.
fn with_decoration(bounds: CaptureRect, scale: f64) -> CaptureRect {
    let pixels = |length: f64| (length * scale).ceil() as i32;
    let outer = bounds.inflate(pixels(BORDER), pixels(BORDER));
    CaptureRect::new(
        euclid::point2(outer.min.x, bounds.min.y - pixels(TITLE_BAR)),
        outer.max,
    )
}

/// Paints over a box of a shot, in its own pixels, and keeps in mind where.
fn cover(shot: &mut Shot, region: CaptureRect) {
    paint(Arc::make_mut(&mut shot.pixels), region);
    shot.hidden
        .push(region.translate(shot.bounds.min.to_vector()));
}

/// What is left of a box when others are laid over it.
fn without(whole: CaptureRect, above: &[CaptureRect]) -> Vec<CaptureRect> {
    let mut left = vec![whole];
    for &cover in above {
        left = left
            .into_iter()
            .flat_map(|part| rest_of(part, cover))
            .collect();
    }
    left
}

/// What of a box lies outside of another: above, below, left and right of it.
fn rest_of(part: CaptureRect, cover: CaptureRect) -> Vec<CaptureRect> {
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

fn paint(pixels: &mut RgbaImage, region: CaptureRect) {
    let (width, height) = pixels.dimensions();
    let along = |from: i32, to: i32, side: u32| from.max(0) as u32..(to.max(0) as u32).min(side);
    for y in along(region.min.y, region.max.y, height) {
        for x in along(region.min.x, region.max.x, width) {
            pixels.put_pixel(x, y, PAINT);
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
    use crate::parse::Effort;

    fn at(x1: i32, y1: i32, x2: i32, y2: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
    }

    fn white() -> RgbaImage {
        RgbaImage::from_pixel(10, 10, Rgba([255; 4]))
    }

    fn painted(pixels: &RgbaImage) -> usize {
        pixels.pixels().filter(|pixel| **pixel == PAINT).count()
    }

    fn redactor(redactions: &[Redaction]) -> Redactor {
        Redactor::default().and(redactions).unwrap()
    }

    #[test]
    fn regions_are_cut_to_the_picture() {
        let check = |region, expected| {
            let mut pixels = white();
            paint(&mut pixels, region);
            assert_eq!(painted(&pixels), expected, "{region:?}");
        };
        check(at(2, 3, 4, 6), 6);
        check(at(-5, -5, 2, 2), 4);
        check(at(8, 8, 50, 50), 4);
        check(at(20, 20, 30, 30), 0);
        check(at(5, 5, 2, 2), 0);
    }

    #[test]
    fn lines_that_match_are_not_told() {
        let line = |text: &str, bounds| TextLine::new(bounds, text, 1.0);
        let lines = [
            line("Card 4111 1111", at(0, 0, 10, 2)),
            line("Write to ann@example.org", at(0, 6, 10, 8)),
            line("Name", at(0, 4, 10, 6)),
        ];
        let mut parse = Parse {
            detections: Arc::new([]),
            lines: Arc::new(lines),
            effort: Effort::default(),
        };
        let redactor = redactor(&[
            Redaction::TextPattern(r"\d{4} \d{4}".to_owned()),
            Redaction::SensitiveText(SensitiveText::EmailAddress),
        ]);
        let mut pixels = Arc::new(white());
        redactor.hide_on(&mut pixels, &mut parse);
        assert_eq!(painted(&pixels), 40);
        let told: Vec<_> = parse.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(told, ["Name"]);
    }

    #[test]
    fn what_one_rule_hides_is_part_of_what_another_hides() {
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
        assert_eq!(redactor.hidden_among(&fields), [true; 4]);
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

    fn shot(windows: Vec<Window>) -> Shot {
        Shot {
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
            see_through: Vec::new(),
            hidden: Vec::new(),
            captured_at: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_is_seen_of_a_window_is_hidden() {
        let check = |hidden: &str, windows: &[Window], expected: usize, titles: &[&str]| {
            let mut shot = shot(windows.to_vec());
            redactor(&[Redaction::Window(hidden.to_owned())]).hide_windows(&mut shot);
            assert_eq!(painted(&shot.pixels), expected, "{hidden}");
            let got: Vec<_> = shot
                .windows
                .iter()
                .map(|window| window.title.as_str())
                .collect();
            assert_eq!(got, titles);
        };
        // Its client area begins below the frame, so that of the title bar nothing shows but the border's width.
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
        // The editor lies over half of it, and stays to be seen.
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
        through.see_through = vec!["0x34".to_owned()];
        redactor(&[Redaction::Window("KeePassXC".to_owned())]).hide_windows(&mut through);
        assert_eq!(painted(&through.pixels), 40);
        assert_eq!(through.hidden, [at(82, 100, 104, 158)]);
    }

    #[test]
    fn titles_that_match_are_taken_away() {
        let windows = vec![window(
            "1",
            "Mail",
            "Inbox of ann@example.org",
            at(100, 100, 105, 105),
        )];
        let mut shot = shot(windows);
        redactor(&[Redaction::SensitiveText(SensitiveText::EmailAddress)]).hide_windows(&mut shot);
        assert_eq!(shot.windows[0].title, "");
        assert_eq!(painted(&shot.pixels), 0);
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let requested = [
            Redaction::Region(at(0, 0, 1, 1)),
            Redaction::TextPattern("(".to_owned()),
        ];
        let error = Redactor::default().and(&requested).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("redactions[1].text_pattern: is not a regular expression"),
            "{error}"
        );
    }

    fn boxes() -> impl Strategy<Value = CaptureRect> {
        (0i32..20, 0i32..20, 1i32..12, 1i32..12).prop_map(|(x, y, w, h)| at(x, y, x + w, y + h))
    }

    proptest! {
        #[test]
        fn a_point_is_hidden_where_nothing_lies_over_the_window(
            whole in boxes(),
            above in proptest::collection::vec(boxes(), 0..5),
        ) {
            let seen = without(whole, &above);
            for (x, y) in (0..32).flat_map(|y| (0..32).map(move |x| (x, y))) {
                let here = CapturePoint::new(x, y);
                let visible = whole.contains(here) && !above.iter().any(|cover| cover.contains(here));
                prop_assert_eq!(seen.iter().filter(|part| part.contains(here)).count(), usize::from(visible));
            }
        }
    }
}
