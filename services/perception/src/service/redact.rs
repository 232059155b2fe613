//! Paints over what must not be seen, before anything is stored, encoded or told.

use std::sync::Arc;

use image::{Rgba, RgbaImage};
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::error::FieldError;
use motorium_proto::service::Redaction;
use regex::{Regex, RegexBuilder};

use crate::capture::Shot;
use crate::error::Error;
use crate::parse::Parse;

/// What is painted instead.
const PAINT: Rgba<u8> = Rgba([0, 0, 0, u8::MAX]);

/// Most memory that a compiled pattern may take; a request must not be able to use up the service's.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// What to hide.
#[derive(Debug)]
pub(super) struct Redactor {
    regions: Vec<CaptureRect>,
    patterns: Vec<Regex>,
}

impl Redactor {
    /// # Errors
    /// If a pattern is not a regular expression; the error names the field.
    pub(super) fn new(redactions: &[Redaction]) -> Result<Self, Error> {
        let mut redactor = Self {
            regions: Vec::new(),
            patterns: Vec::new(),
        };
        for (index, redaction) in redactions.iter().enumerate() {
            match redaction {
                Redaction::Region(region) => redactor.regions.push(*region),
                Redaction::TextPattern(pattern) => redactor.patterns.push(compile(index, pattern)?),
            }
        }
        Ok(redactor)
    }

    /// Whether text has to be read to know what to hide.
    pub(super) fn hides_text(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// Paints over the regions; they are given in the frame's own pixels.
    pub(super) fn hide_regions(&self, shot: &mut Shot) {
        for &region in &self.regions {
            paint(&mut shot.pixels, region);
        }
    }

    /// Paints over the lines that match, whole, because it is not known where in a line a word stands; and forgets
    /// what was read there.
    pub(super) fn hide_text(&self, pixels: &mut Arc<RgbaImage>, parse: &mut Parse) {
        if !self.hides_text() {
            return;
        }
        let is_hidden = |text: &str| self.patterns.iter().any(|pattern| pattern.is_match(text));
        let (hidden, left): (Vec<_>, Vec<_>) = parse
            .lines
            .iter()
            .cloned()
            .partition(|line| is_hidden(&line.text));
        if hidden.is_empty() {
            return;
        }
        let pixels = Arc::make_mut(pixels);
        for line in hidden {
            paint(pixels, line.bounds);
        }
        parse.lines = Arc::from(left);
    }
}

fn compile(index: usize, pattern: &str) -> Result<Regex, Error> {
    let compiled = RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build();
    compiled.map_err(|error| {
        let field = format!("redactions[{index}].text_pattern");
        FieldError::new(field, format!("is not a regular expression: {error}")).into()
    })
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
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;
    use crate::parse::Effort;
    use crate::parse::read::TextLine;

    fn at(x1: i32, y1: i32, x2: i32, y2: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
    }

    fn painted(pixels: &RgbaImage) -> usize {
        pixels.pixels().filter(|pixel| **pixel == PAINT).count()
    }

    #[test]
    fn regions_are_cut_to_the_picture() {
        let check = |region, expected| {
            let mut pixels = RgbaImage::from_pixel(10, 10, Rgba([255; 4]));
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
            line("Name", at(0, 4, 10, 6)),
        ];
        let mut parse = Parse {
            detections: Arc::new([]),
            lines: Arc::new(lines),
            effort: Effort::default(),
        };
        let mut pixels = Arc::new(RgbaImage::from_pixel(10, 10, Rgba([255; 4])));
        let redactor = Redactor::new(&[Redaction::TextPattern(r"\d{4} \d{4}".to_owned())]).unwrap();
        redactor.hide_text(&mut pixels, &mut parse);
        assert_eq!(painted(&pixels), 20);
        assert_eq!(
            parse
                .lines
                .iter()
                .map(|line| line.text.as_str())
                .collect::<Vec<_>>(),
            ["Name"]
        );
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let error = Redactor::new(&[
            Redaction::Region(at(0, 0, 1, 1)),
            Redaction::TextPattern("(".to_owned()),
        ])
        .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("redactions[1].text_pattern: is not a regular expression"),
            "{error}"
        );
    }
}
