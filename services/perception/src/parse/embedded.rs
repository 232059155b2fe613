//! In-process parser: detector, text recognition, and a cache of recently parsed images.
//!
//! An image that was parsed before is returned from the cache; of a similar one, only the differences are scanned
//! ([`incremental`]). The most similar image is found by comparison, so callers with different displays, windows and
//! regions can share one parser without identifying themselves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use image::RgbaImage;
use motorium_imaging::codec::size_of;
use motorium_imaging::exact_diff;
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::detect::{Detection, Detector};
use super::incremental::{self, IncrementalResult, Located};
use super::read::{Reader, ScanResolution, TextLine};
use super::{Parse, ParseStats, Parser, backdrop, field_text};
use crate::error::Error;

/// Maximum number of cached images: those that an application switches between, or that several callers parse. Their
/// pixels are mostly shared with the frame store.
const MAX_CACHED_IMAGES: usize = 16;

/// Maximum memory of the cached pixels, in bytes. The latest image is cached even if it is larger.
const MAX_CACHED_BYTES: usize = 128 << 20;

/// Fraction of differing area below which the search for the most similar image stops.
// The rest is parsed in less time than a search for a better match would take.
const SIMILAR_FRACTION: f64 = 0.02;

/// Parser with a detector, text recognition and a cache.
#[derive(Debug)]
pub struct EmbeddedParser {
    detector: Arc<dyn Detector>,
    reader: Arc<dyn Reader>,
    /// Cached images, the latest first.
    cache: Mutex<VecDeque<ParsedImage>>,
}

/// Parsed image with its results.
#[derive(Debug, Clone)]
struct ParsedImage {
    pixels: Arc<RgbaImage>,
    /// All detections, including those behind a backdrop: it may disappear from an area that is scanned incrementally.
    detections: Arc<[Detection]>,
    unobscured: Arc<[Detection]>,
    text: Arc<[TextRegion]>,
    /// Resolution at which the text was detected.
    detail: ScanResolution,
    lines: Arc<[TextLine]>,
}

/// Text region and its recognised text. Failed recognition is cached as well, so that it is not retried.
#[derive(Debug, Clone)]
struct TextRegion {
    bounds: CaptureRect,
    line: Option<TextLine>,
}

impl Located for Detection {
    fn bounds(&self) -> CaptureRect {
        self.bounds
    }

    fn is_invalidated_by(&self, changed: CaptureRect) -> bool {
        // Far inside a large box only the content changes, not the box itself.
        // 24 px: a change closer to the border may move the border itself.
        const RIM: i32 = 24;
        self.bounds.intersects(&changed) && !self.bounds.inflate(-RIM, -RIM).contains_box(&changed)
    }
}

impl EmbeddedParser {
    #[must_use]
    pub fn new(detector: Arc<dyn Detector>, reader: Arc<dyn Reader>) -> Self {
        Self {
            detector,
            reader,
            cache: Mutex::default(),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, VecDeque<ParsedImage>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the most similar cached image and where the new one differs from it.
    fn nearest(&self, pixels: &Arc<RgbaImage>) -> Option<(ParsedImage, Vec<CaptureRect>)> {
        let known: Vec<ParsedImage> = self.known().iter().cloned().collect();
        // Equality checks stop at the first difference, so an identical image costs almost nothing.
        if let Some(same) = known.iter().find(|known| known.pixels == *pixels) {
            return Some((same.clone(), Vec::new()));
        }
        let whole = f64::from(pixels.width()) * f64::from(pixels.height());
        let mut nearest: Option<(f64, ParsedImage, Vec<CaptureRect>)> = None;
        for known in known {
            let Some(changed) = exact_diff::changed_boxes(&known.pixels, pixels) else {
                continue;
            };
            let share = changed.iter().map(|part| part.to_f64().area()).sum::<f64>() / whole;
            if nearest
                .as_ref()
                .is_none_or(|(nearest_share, ..)| share < *nearest_share)
            {
                nearest = Some((share, known, changed));
            }
            if share < SIMILAR_FRACTION {
                break;
            }
        }
        nearest.map(|(_, known, changed)| (known, changed))
    }

    /// Moves the image to the front of the cache and evicts the least recently used ones.
    fn remember(&self, latest: ParsedImage) {
        let mut known = self.known();
        known.retain(|known| !Arc::ptr_eq(&known.text, &latest.text));
        known.push_front(latest);
        known.truncate(MAX_CACHED_IMAGES);
        let mut bytes = 0;
        let fitting = known.iter().take_while(|known| {
            bytes += known.pixels.as_raw().len();
            bytes <= MAX_CACHED_BYTES
        });
        let fitting = fitting.count().max(1);
        known.truncate(fitting);
    }

    /// Returns all text regions and the resolution at which they were detected.
    fn read(
        &self,
        pixels: &RgbaImage,
        before: Option<(&ParsedImage, &[CaptureRect])>,
        cancel: &CancellationToken,
        effort: &mut ParseStats,
    ) -> Result<(Vec<TextRegion>, ScanResolution), Error> {
        let started = Instant::now();
        let (located, detail) = self.locate(pixels, before, cancel)?;
        effort.text_detection += started.elapsed();
        effort.scanned_fraction =
            located.scanned_pixels as f64 / area(size_of(pixels)).max(1) as f64;

        let started = Instant::now();
        let (read, lines) = self.reader.recognise(pixels, &located.found, cancel)?;
        effort.text_recognition = started.elapsed();
        effort.recognised_lines = read;

        let kept = before.map_or(&[][..], |(known, _)| &known.text);
        let kept = located.kept.iter().map(|&index| kept[index].clone());
        let found = located.found.into_iter().zip(lines);
        let found = found.map(|(bounds, line)| TextRegion { bounds, line });
        Ok((kept.chain(found).collect(), detail))
    }

    /// Reads the regions again that the border of a field divides, each part by itself.
    fn cut_at_fields(
        &self,
        pixels: &RgbaImage,
        text: Vec<TextRegion>,
        detections: &[Detection],
        cancel: &CancellationToken,
    ) -> Result<Vec<TextRegion>, Error> {
        let fields = field_text::fields(detections);
        let mut whole = Vec::with_capacity(text.len());
        let mut parts = Vec::new();
        for region in text {
            let cut = field_text::cut(region.bounds, region.line.as_ref(), &fields);
            match cut.is_empty() {
                true => whole.push(region),
                false => parts.extend(cut),
            }
        }
        if parts.is_empty() {
            return Ok(whole);
        }
        let (_, lines) = self.reader.recognise(pixels, &parts, cancel)?;
        let read = parts.into_iter().zip(lines);
        whole.extend(read.map(|(bounds, line)| TextRegion { bounds, line }));
        Ok(whole)
    }

    fn detect(
        &self,
        pixels: &RgbaImage,
        before: Option<(&ParsedImage, &[CaptureRect])>,
        cancel: &CancellationToken,
    ) -> Result<Arc<[Detection]>, Error> {
        let known = before.map_or(&[][..], |(known, _)| &known.detections);
        let again = incremental::find(
            before.map(|(_, changed)| (known, changed)),
            size_of(pixels),
            |part| self.detector.detect(pixels, part, cancel),
        )?;
        let kept = again.kept.iter().map(|&index| known[index].clone());
        Ok(kept.chain(again.found.iter().cloned()).collect())
    }

    /// Detects text regions; returns them with the resolution that was used.
    fn locate(
        &self,
        pixels: &RgbaImage,
        before: Option<(&ParsedImage, &[CaptureRect])>,
        cancel: &CancellationToken,
    ) -> Result<(IncrementalResult<CaptureRect>, ScanResolution), Error> {
        let bounds = |known: &ParsedImage| {
            known
                .text
                .iter()
                .map(|text| text.bounds)
                .collect::<Vec<_>>()
        };
        let mut detail = before.map(|(known, _)| known.detail);
        let known = before.map(|(known, changed)| (bounds(known), changed));
        let known = known
            .as_ref()
            .map(|(bounds, changed)| (&bounds[..], *changed));
        let size = size_of(pixels);
        let located = incremental::find(known, size, |part| match detail {
            Some(detail) if part != CaptureRect::from_size(size) => {
                self.reader.detect_text_in(pixels, part, detail, cancel)
            }
            _ => {
                let (found, chosen) = self.reader.detect_text(pixels, cancel)?;
                detail = Some(chosen);
                Ok(found)
            }
        })?;
        let detail = detail.expect("the resolution is set by the first scan");
        let kept = located.kept.iter().filter_map(|&index| {
            let (known, _) = known?;
            known.get(index).copied()
        });
        let now: Vec<CaptureRect> = kept.chain(located.found.iter().copied()).collect();
        if detail.is_sufficient(&now, size) {
            return Ok((located, detail));
        }
        // Small text has appeared, for which a full scan would choose a higher resolution.
        let (found, detail) = self.reader.detect_text(pixels, cancel)?;
        let anew = IncrementalResult {
            kept: Vec::new(),
            found,
            scanned_pixels: located.scanned_pixels + area(size),
        };
        Ok((anew, detail))
    }
}

impl Parser for EmbeddedParser {
    fn parse(&self, pixels: &Arc<RgbaImage>, cancel: &CancellationToken) -> Result<Parse, Error> {
        let started = Instant::now();
        let before = self.nearest(pixels);
        let before = before
            .as_ref()
            .map(|(known, changed)| (known, changed.as_slice()));
        let mut effort = ParseStats::default();
        if let Some((known, [])) = before {
            effort.text_detection = started.elapsed();
            self.remember(known.clone());
            return Ok(known.parse(effort));
        }
        effort.text_detection = started.elapsed();
        // Detection and text recognition are independent, and detection finishes much earlier, so both run in parallel.
        let (detections, read) = std::thread::scope(|scope| {
            let detecting = scope.spawn(|| {
                let started = Instant::now();
                let found = self.detect(pixels, before, cancel).map(|found| {
                    // 0: the detector has applied its confidence threshold, so that every detection is evidence.
                    let in_reach = backdrop::without_obscured(pixels, Arc::clone(&found), 0.0);
                    (found, in_reach)
                });
                (found, started.elapsed())
            });
            let read = self.read(pixels, before, cancel, &mut effort);
            (detecting.join(), read)
        });
        let (text, detail) = read?;
        let (detections, took) =
            detections.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        effort.detection = took;
        let (detections, in_reach) = detections?;
        let text = self.cut_at_fields(pixels, text, &in_reach, cancel)?;
        let latest = ParsedImage::new(Arc::clone(pixels), detections, in_reach, text, detail);
        let parse = latest.parse(effort);
        self.remember(latest);
        Ok(parse)
    }

    fn warm_up(&self) -> Result<(), Error> {
        self.detector.warm_up()?;
        self.reader.warm_up()
    }
}

impl ParsedImage {
    fn new(
        pixels: Arc<RgbaImage>,
        detections: Arc<[Detection]>,
        unobscured: Arc<[Detection]>,
        mut text: Vec<TextRegion>,
        detail: ScanResolution,
    ) -> Self {
        text.sort_by_key(|text| (text.bounds.min.y, text.bounds.min.x));
        let lines = text.iter().filter_map(|text| text.line.clone()).collect();
        Self {
            pixels,
            detections,
            unobscured,
            text: text.into(),
            detail,
            lines,
        }
    }

    fn parse(&self, effort: ParseStats) -> Parse {
        Parse {
            detections: Arc::clone(&self.unobscured),
            lines: Arc::clone(&self.lines),
            effort,
        }
    }
}

fn area(size: CaptureSize) -> u64 {
    size.to_u64().area()
}
