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

use super::sensitive;
use crate::capture::Shot;
use crate::error::Error;
use crate::parse::Parse;
use crate::parse::queue::ParseQueue;

/// What is painted instead.
const PAINT: Rgba<u8> = Rgba([0, 0, 0, u8::MAX]);

/// Most memory that a compiled pattern may take; a request must not be able to use up the service's.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// What to hide.
#[derive(Debug)]
pub(super) struct Redactor {
    regions: Vec<CaptureRect>,
    /// Identifiers, or names of applications in small letters.
    windows: Vec<String>,
    patterns: Vec<Regex>,
    kinds: Vec<SensitiveText>,
}

impl Redactor {
    /// What the configuration hides `always`, and what a request hides besides.
    ///
    /// # Errors
    /// If a pattern is not a regular expression; the error names the field.
    pub(super) fn new(always: &[Redaction], requested: &[Redaction]) -> Result<Self, Error> {
        let mut redactor = Self {
            regions: Vec::new(),
            windows: Vec::new(),
            patterns: Vec::new(),
            kinds: Vec::new(),
        };
        for redaction in always {
            redactor.add(redaction, "perception.hide")?;
        }
        for (index, redaction) in requested.iter().enumerate() {
            redactor.add(redaction, &format!("redactions[{index}].text_pattern"))?;
        }
        Ok(redactor)
    }

    fn add(&mut self, redaction: &Redaction, field: &str) -> Result<(), Error> {
        match redaction {
            Redaction::Region(region) => self.regions.push(*region),
            Redaction::Window(window) => self.windows.push(window.to_lowercase()),
            Redaction::SensitiveText(kind) => self.kinds.push(*kind),
            Redaction::TextPattern(pattern) => self.patterns.push(compile(field, pattern)?),
        }
        Ok(())
    }

    /// Hides everything in a shot. With text to hide, it has to be read first; then what is on the picture is given
    /// back, because it is known.
    pub(super) async fn hide(
        &self,
        shot: &mut Shot,
        parser: &ParseQueue,
    ) -> Result<Option<Parse>, Error> {
        self.hide_places(shot);
        if !self.hides_text() {
            return Ok(None);
        }
        let mut pixels = Arc::new(std::mem::take(&mut shot.pixels));
        let mut parse = parser.parse(Arc::clone(&pixels)).await?;
        self.hide_text(&mut pixels, &mut parse);
        shot.pixels = Arc::unwrap_or_clone(pixels);
        Ok(Some(parse))
    }

    /// Paints over regions and windows, and takes the titles away that must not be read. Regions are given in the
    /// frame's own pixels.
    pub(super) fn hide_places(&self, shot: &mut Shot) {
        for &region in &self.regions {
            paint(&mut shot.pixels, region);
        }
        let corner = shot.bounds.min.to_vector();
        let mut above: Vec<CaptureRect> = Vec::new();
        for window in &mut shot.windows {
            if self.hides_window(window) {
                for seen in without(window.bounds, &above) {
                    paint(&mut shot.pixels, seen.translate(-corner));
                }
                window.title.clear();
            } else if self.hides_line(&window.title) {
                window.title.clear();
            }
            if !window.minimised {
                above.push(window.bounds);
            }
        }
    }

    /// Paints over the lines that match, whole, because it is not known where in a line a word stands; and forgets
    /// what was read there.
    pub(super) fn hide_text(&self, pixels: &mut Arc<RgbaImage>, parse: &mut Parse) {
        if !self.hides_text() {
            return;
        }
        let (hidden, left): (Vec<_>, Vec<_>) = parse
            .lines
            .iter()
            .cloned()
            .partition(|line| self.hides_line(&line.text));
        if hidden.is_empty() {
            return;
        }
        let pixels = Arc::make_mut(pixels);
        for line in hidden {
            paint(pixels, line.bounds);
        }
        parse.lines = Arc::from(left);
    }

    fn hides_text(&self) -> bool {
        !self.patterns.is_empty() || !self.kinds.is_empty()
    }

    fn hides_line(&self, text: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.is_match(text))
            || self.kinds.iter().any(|&kind| sensitive::is_in(text, kind))
    }

    fn hides_window(&self, window: &Window) -> bool {
        let application = window.application.to_lowercase();
        let id = window.id.to_lowercase();
        !window.minimised
            && self
                .windows
                .iter()
                .any(|hidden| *hidden == application || *hidden == id)
    }
}

fn compile(field: &str, pattern: &str) -> Result<Regex, Error> {
    let compiled = RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build();
    compiled.map_err(|error| {
        FieldError::new(field, format!("is not a regular expression: {error}")).into()
    })
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
    use crate::parse::read::TextLine;

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
        Redactor::new(&[], redactions).unwrap()
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
    fn lines_that_match_disappear_from_pixels_and_text() {
        let line = |text: &str, bounds| TextLine {
            bounds,
            text: text.to_owned(),
            confidence: 1.0,
        };
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
        let mut pixels = Arc::new(white());
        let redactor = redactor(&[
            Redaction::TextPattern(r"\d{4} \d{4}".to_owned()),
            Redaction::SensitiveText(SensitiveText::EmailAddress),
        ]);
        redactor.hide_text(&mut pixels, &mut parse);
        assert_eq!(painted(&pixels), 40);
        assert_eq!(
            parse
                .lines
                .iter()
                .map(|line| line.text.as_str())
                .collect::<Vec<_>>(),
            ["Name"]
        );
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
            pixels: white(),
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
            captured_at: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_is_seen_of_a_window_is_hidden() {
        let check = |hidden: &str, windows: &[Window], expected: usize, titles: &[&str]| {
            let mut shot = shot(windows.to_vec());
            redactor(&[Redaction::Window(hidden.to_owned())]).hide_places(&mut shot);
            assert_eq!(painted(&shot.pixels), expected, "{hidden}");
            let got: Vec<_> = shot
                .windows
                .iter()
                .map(|window| window.title.as_str())
                .collect();
            assert_eq!(got, titles);
        };
        let vault = window("0x12", "KeePassXC", "Vault", at(98, 98, 104, 104));
        let editor = window("0x34", "Mousepad", "Notes", at(102, 98, 120, 120));
        // Alone, by name or by identifier; the part outside of the frame is not there.
        check(
            "keepassxc",
            &[vault.clone(), editor.clone()],
            16,
            &["", "Notes"],
        );
        check("0x12", &[vault.clone(), editor.clone()], 16, &["", "Notes"]);
        // The editor lies over its right half, and stays to be seen.
        check(
            "KeePassXC",
            &[editor.clone(), vault.clone()],
            8,
            &["Notes", ""],
        );
        let minimised = Window {
            minimised: true,
            ..vault
        };
        check("KeePassXC", &[minimised, editor], 0, &["Vault", "Notes"]);
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
        redactor(&[Redaction::SensitiveText(SensitiveText::EmailAddress)]).hide_places(&mut shot);
        assert_eq!(shot.windows[0].title, "");
        assert_eq!(painted(&shot.pixels), 0);
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let requested = [
            Redaction::Region(at(0, 0, 1, 1)),
            Redaction::TextPattern("(".to_owned()),
        ];
        let error = Redactor::new(&[], &requested).unwrap_err();
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
