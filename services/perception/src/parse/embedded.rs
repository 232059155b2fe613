//! The parser of this process: a detector and a reader, and the last few pictures with what was found on them.
//!
//! A picture that was seen is known; of one that is much like it only what differs is looked at ([`again`]). Which of
//! the pictures is nearest is found by comparing, so that callers with different displays, windows and regions can
//! share one parser without saying who they are.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use image::RgbaImage;
use motorium_imaging::changes;
use motorium_imaging::picture::size_of;
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::again::{self, Again, Placed};
use super::detect::{Detection, Detector};
use super::read::{Detail, Reader, TextLine};
use super::{Effort, Parse, Parser, veil};
use crate::error::Error;

/// How many pictures are remembered: those that an application switches between, or that several callers look at.
/// Their pixels are mostly shared with the frames that the service keeps.
const PICTURES: usize = 16;

/// Memory for their pixels, in bytes. The latest is remembered even if it is larger.
const PICTURE_BYTES: usize = 128 << 20;

/// A picture that differs in less than this share from a remembered one is compared with no other.
const NEAR: f64 = 0.02;

/// A detector and a reader with a memory.
#[derive(Debug)]
pub struct EmbeddedParser {
    detector: Arc<dyn Detector>,
    reader: Arc<dyn Reader>,
    /// The latest first.
    known: Mutex<VecDeque<Known>>,
}

/// A picture, and what is on it.
#[derive(Debug, Clone)]
struct Known {
    pixels: Arc<RgbaImage>,
    /// Those behind a veil among them: it may go away over what is looked at again only in part.
    detections: Arc<[Detection]>,
    in_reach: Arc<[Detection]>,
    text: Arc<[Text]>,
    /// What the text was found with.
    detail: Detail,
    lines: Arc<[TextLine]>,
}

/// A region of text, and what it says. What could not be read is remembered as well: it need not be tried again.
#[derive(Debug, Clone)]
struct Text {
    bounds: CaptureRect,
    line: Option<TextLine>,
}

impl Placed for Detection {
    fn bounds(&self) -> CaptureRect {
        self.bounds
    }

    fn is_touched_by(&self, changed: CaptureRect) -> bool {
        // Deep inside a large box it is the box's content that changes.
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
            known: Mutex::default(),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, VecDeque<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The remembered picture that is most like this one, and where this one differs from it.
    fn nearest(&self, pixels: &Arc<RgbaImage>) -> Option<(Known, Vec<CaptureRect>)> {
        let known: Vec<Known> = self.known().iter().cloned().collect();
        // Comparing for equality ends at the first difference, so that a picture that is known costs next to nothing.
        if let Some(same) = known.iter().find(|known| known.pixels == *pixels) {
            return Some((same.clone(), Vec::new()));
        }
        let whole = f64::from(pixels.width()) * f64::from(pixels.height());
        let mut nearest: Option<(f64, Known, Vec<CaptureRect>)> = None;
        for known in known {
            let Some(changed) = changes::boxes(&known.pixels, pixels) else {
                continue;
            };
            let share = changed.iter().map(|part| part.to_f64().area()).sum::<f64>() / whole;
            if nearest.as_ref().is_none_or(|(least, ..)| share < *least) {
                nearest = Some((share, known, changed));
            }
            if share < NEAR {
                break;
            }
        }
        nearest.map(|(_, known, changed)| (known, changed))
    }

    /// Puts the picture before all others; the one that has not been asked for longest is forgotten.
    fn remember(&self, latest: Known) {
        let mut known = self.known();
        known.retain(|known| !Arc::ptr_eq(&known.text, &latest.text));
        known.push_front(latest);
        known.truncate(PICTURES);
        let mut bytes = 0;
        let fitting = known.iter().take_while(|known| {
            bytes += known.pixels.as_raw().len();
            bytes <= PICTURE_BYTES
        });
        let fitting = fitting.count().max(1);
        known.truncate(fitting);
    }

    /// All text, and the detail that it was found with.
    fn read(
        &self,
        pixels: &RgbaImage,
        before: Option<(&Known, &[CaptureRect])>,
        cancel: &CancellationToken,
        effort: &mut Effort,
    ) -> Result<(Vec<Text>, Detail), Error> {
        let started = Instant::now();
        let (located, detail) = self.locate(pixels, before, cancel)?;
        effort.locating += started.elapsed();
        effort.looked_at = located.looked_at as f64 / area(size_of(pixels)).max(1) as f64;

        let started = Instant::now();
        let (read, lines) = self.reader.recognise(pixels, &located.found, cancel)?;
        effort.recognising = started.elapsed();
        effort.read = read;

        let kept = before.map_or(&[][..], |(known, _)| &known.text);
        let kept = located.kept.iter().map(|&index| kept[index].clone());
        let found = located.found.into_iter().zip(lines);
        let found = found.map(|(bounds, line)| Text { bounds, line });
        Ok((kept.chain(found).collect(), detail))
    }

    fn detect(
        &self,
        pixels: &RgbaImage,
        before: Option<(&Known, &[CaptureRect])>,
        cancel: &CancellationToken,
    ) -> Result<Arc<[Detection]>, Error> {
        let known = before.map_or(&[][..], |(known, _)| &known.detections);
        let again = again::look(
            before.map(|(_, changed)| (known, changed)),
            size_of(pixels),
            |part| self.detector.detect(pixels, part, cancel),
        )?;
        let kept = again.kept.iter().map(|&index| known[index].clone());
        Ok(kept.chain(again.found.iter().cloned()).collect())
    }

    /// Where text stands, and the detail that it was found with.
    fn locate(
        &self,
        pixels: &RgbaImage,
        before: Option<(&Known, &[CaptureRect])>,
        cancel: &CancellationToken,
    ) -> Result<(Again<CaptureRect>, Detail), Error> {
        let bounds = |known: &Known| {
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
        let located = again::look(known, size, |part| match detail {
            Some(detail) if part != CaptureRect::from_size(size) => {
                self.reader.locate(pixels, part, detail, cancel)
            }
            _ => {
                let (found, chosen) = self.reader.survey(pixels, cancel)?;
                detail = Some(chosen);
                Ok(found)
            }
        })?;
        let detail = detail.expect("whatever is not known is surveyed");
        let kept = located.kept.iter().filter_map(|&index| {
            let (known, _) = known?;
            known.get(index).copied()
        });
        let now: Vec<CaptureRect> = kept.chain(located.found.iter().copied()).collect();
        if detail.suits(&now, size) {
            return Ok((located, detail));
        }
        // Small text has come: looked at anew, all of it would be looked at in more detail.
        let (found, detail) = self.reader.survey(pixels, cancel)?;
        let anew = Again {
            kept: Vec::new(),
            found,
            looked_at: located.looked_at + area(size),
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
        let mut effort = Effort::default();
        if let Some((known, [])) = before {
            effort.locating = started.elapsed();
            self.remember(known.clone());
            return Ok(known.parse(effort));
        }
        effort.locating = started.elapsed();
        // Controls are found long before text is read, and neither needs the other.
        let (detections, read) = std::thread::scope(|scope| {
            let detecting = scope.spawn(|| {
                let started = Instant::now();
                let found = self.detect(pixels, before, cancel).map(|found| {
                    let in_reach = veil::without_veiled(pixels, Arc::clone(&found));
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
        effort.detecting = took;
        let (detections, in_reach) = detections?;
        let latest = Known::new(Arc::clone(pixels), detections, in_reach, text, detail);
        let parse = latest.parse(effort);
        self.remember(latest);
        Ok(parse)
    }

    fn warm_up(&self) -> Result<(), Error> {
        self.detector.warm_up()?;
        self.reader.warm_up()
    }
}

impl Known {
    fn new(
        pixels: Arc<RgbaImage>,
        detections: Arc<[Detection]>,
        in_reach: Arc<[Detection]>,
        mut text: Vec<Text>,
        detail: Detail,
    ) -> Self {
        text.sort_by_key(|text| (text.bounds.min.y, text.bounds.min.x));
        let lines = text.iter().filter_map(|text| text.line.clone()).collect();
        Self {
            pixels,
            detections,
            in_reach,
            text: text.into(),
            detail,
            lines,
        }
    }

    fn parse(&self, effort: Effort) -> Parse {
        Parse {
            detections: Arc::clone(&self.in_reach),
            lines: Arc::clone(&self.lines),
            effort,
        }
    }
}

fn area(size: CaptureSize) -> u64 {
    size.to_u64().area()
}
