//! Detects the text regions of an image.
//!
//! It does not read the text: `text_recognition` does.

use std::path::Path;

use image::RgbaImage;
use motorium_imaging::codec::size_of;
use motorium_imaging::resize::{FilterType, ResizeAlg, ResizeOptions, RgbaResizer};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use ndarray::ArrayView4;
use ort::environment::Environment;
use ort::session::Session;
use ort::value::TensorRef;
use tokio_util::sync::CancellationToken;

use super::resolution::{self, ScanResolution};
use super::{check_cancelled, regions};
use crate::error::Error;
use crate::parse::runtime;

/// Sides of the input must be multiples of this.
const GRID: u32 = 32;

/// Runs the text detection model.
#[derive(Debug)]
pub(super) struct TextDetector {
    session: Session,
    /// Long side of the first scan.
    long_side: u32,
    resizer: RgbaResizer,
    /// Input buffer, reused between calls: 25 MB at full size.
    input: Vec<f32>,
}

impl TextDetector {
    pub(super) fn load(
        environment: &Environment,
        model: &Path,
        threads: usize,
        long_side: u32,
    ) -> Result<Self, Error> {
        let session = runtime::session_from_file(environment, model, threads)?;
        Ok(Self {
            session,
            long_side: long_side.max(GRID),
            resizer: RgbaResizer::default(),
            input: Vec::new(),
        })
    }

    /// Detects text in `pixels`. Returns boxes in image pixels, in no particular order, and the resolution that was
    /// used.
    ///
    /// # Errors
    /// [`Error::Cancelled`] between two scans, or if the model cannot be run.
    pub(super) fn detect_all(
        &mut self,
        pixels: &RgbaImage,
        cancel: &CancellationToken,
    ) -> Result<(Vec<CaptureRect>, ScanResolution), Error> {
        let whole = CaptureRect::from_size(size_of(pixels));
        let longer_side = longer_side(pixels);
        let mut detail = ScanResolution::first(longer_side, self.long_side);
        let mut found = self.detect_once(pixels, whole, detail)?;
        while let Some(more) = detail.next(&found, longer_side) {
            detail = more;
            found = self.detect_in_bands(pixels, whole, detail, &found, cancel)?;
        }
        Ok((found, detail))
    }

    /// Detects text in the region `within`, at the resolution used for the whole image.
    ///
    /// # Errors
    /// Fails under the conditions of [`Self::detect_all`].
    pub(super) fn detect_in(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        detail: ScanResolution,
        cancel: &CancellationToken,
    ) -> Result<Vec<CaptureRect>, Error> {
        // Uses the same steps as a full scan, because each takes the tall boxes from the previous one.
        let longer_side = longer_side(pixels);
        let mut step = ScanResolution::first(longer_side, self.long_side);
        let mut found = self.detect_once(pixels, within, step)?;
        while step < detail {
            step = step.doubled(longer_side);
            found = self.detect_in_bands(pixels, within, step, &found, cancel)?;
        }
        Ok(found)
    }

    fn detect_in_bands(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        detail: ScanResolution,
        before: &[CaptureRect],
        cancel: &CancellationToken,
    ) -> Result<Vec<CaptureRect>, Error> {
        let scale = f64::from(detail.0) / f64::from(longer_side(pixels));
        let mut found = Vec::new();
        for band in resolution::bands(within, scale) {
            check_cancelled(cancel)?;
            let shown = self.detect_once(pixels, band.shown, detail)?;
            found.extend(shown.into_iter().filter(|&found| band.takes(found)));
        }
        Ok(resolution::merge_tall(found, before, scale))
    }

    /// Scans a region once, scaled like the whole image.
    fn detect_once(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        detail: ScanResolution,
    ) -> Result<Vec<CaptureRect>, Error> {
        let original = pixels.dimensions();
        let scaled = fit(original, detail.0);
        let part = ScaledPart::covering(within, original, scaled);
        let padded = (
            part.width.next_multiple_of(GRID),
            part.height.next_multiple_of(GRID),
        );
        let size = (part.width as usize, part.height as usize);
        if scaled == original {
            let row = |y: usize| {
                let start = (part.top as usize + y) * original.0 as usize + part.left as usize;
                &pixels.as_raw()[start * 4..][..size.0 * 4]
            };
            fill(&mut self.input, row, size, padded);
        } else {
            let small = self.scale(pixels, &part, scaled)?;
            let row = |y: usize| &small[y * size.0 * 4..][..size.0 * 4];
            fill(&mut self.input, row, size, padded);
        }
        let boxes = self.run(padded)?;
        let corner = CapturePoint::new(part.left as i32, part.top as i32).to_vector();
        let inside = CaptureRect::from_size(CaptureSize::new(size.0 as i32, size.1 as i32));
        Ok(boxes
            .into_iter()
            .filter_map(|found| found.intersection(&inside))
            .filter_map(|found| scale_back(found.translate(corner), scaled, original))
            .collect())
    }

    /// Runs the model on `input`.
    fn run(&mut self, padded: (u32, u32)) -> Result<Vec<CaptureRect>, Error> {
        let shape = (1, 3, padded.1 as usize, padded.0 as usize);
        let input = ArrayView4::from_shape(shape, &self.input).map_err(failed)?;
        let outputs = self
            .session
            .run(ort::inputs![
                TensorRef::from_array_view(input).map_err(failed)?
            ])
            .map_err(failed)?;
        let (_, map) = outputs[0].try_extract_tensor::<f32>().map_err(failed)?;
        if map.len() != padded.0 as usize * padded.1 as usize {
            return Err(failed("the text map and the image have different sizes"));
        }
        Ok(regions::find(map, padded.0, padded.1))
    }

    fn scale(
        &mut self,
        pixels: &RgbaImage,
        part: &ScaledPart,
        scaled: (u32, u32),
    ) -> Result<Vec<u8>, Error> {
        let (from_width, from_height) = pixels.dimensions();
        let across = f64::from(from_width) / f64::from(scaled.0);
        let down = f64::from(from_height) / f64::from(scaled.1);
        let (left, top) = (f64::from(part.left) * across, f64::from(part.top) * down);
        // Keeps the crop inside the image despite rounding.
        let width = (f64::from(part.width) * across).min(f64::from(from_width) - left);
        let height = (f64::from(part.height) * down).min(f64::from(from_height) - top);
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
            .crop(left, top, width, height)
            .use_alpha(false);
        let size = (from_width, from_height);
        self.resizer
            .resize(pixels.as_raw(), size, (part.width, part.height), &options)
            .map_err(failed)
    }
}

fn longer_side(pixels: &RgbaImage) -> u32 {
    pixels.width().max(pixels.height()).max(1)
}

/// Region of the scaled image, in its pixels; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ScaledPart {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
}

impl ScaledPart {
    /// Returns the smallest region that shows all of `within`, a box of the original image.
    fn covering(within: CaptureRect, original: (u32, u32), scaled: (u32, u32)) -> Self {
        let along = |from: i32, to: i32, original: u32, scaled: u32| {
            let scale = f64::from(scaled) / f64::from(original.max(1));
            let first = (f64::from(from.max(0)) * scale).floor() as u32;
            let end = (f64::from(to.max(0)) * scale).ceil() as u32;
            let first = first.min(scaled.saturating_sub(1));
            (first, end.min(scaled).saturating_sub(first).max(1))
        };
        let (left, width) = along(within.min.x, within.max.x, original.0, scaled.0);
        let (top, height) = along(within.min.y, within.max.y, original.1, scaled.1);
        Self {
            left,
            top,
            width,
            height,
        }
    }
}

/// Returns the largest size with the same aspect ratio whose long side is within the limit; never larger than the
/// original.
fn fit((width, height): (u32, u32), long_side: u32) -> (u32, u32) {
    let longer_side = width.max(height);
    if longer_side <= long_side {
        return (width, height);
    }
    let scale = f64::from(long_side) / f64::from(longer_side);
    let scaled = |side: u32| ((f64::from(side) * scale).round() as u32).max(1);
    (scaled(width), scaled(height))
}

/// Writes the planes blue, green, red of `(x/255 - 0.5) / 0.5` into `planes`. The padding repeats the last column and
/// row, so that it does not look like an edge.
fn fill<'a>(
    planes: &mut Vec<f32>,
    row: impl Fn(usize) -> &'a [u8],
    (width, height): (usize, usize),
    (padded_width, padded_height): (u32, u32),
) {
    let padded_width = padded_width as usize;
    let plane = padded_width * padded_height as usize;
    planes.resize(3 * plane, 0.0);
    let (blue, rest) = planes.split_at_mut(plane);
    let (green, red) = rest.split_at_mut(plane);
    for (channel, to) in [(2, blue), (1, green), (0, red)] {
        for (y, to) in to.chunks_exact_mut(padded_width).enumerate() {
            let (inside, rim) = to.split_at_mut(width);
            let from = row(y.min(height - 1));
            for (value, pixel) in inside.iter_mut().zip(from.as_chunks::<4>().0) {
                *value = f32::from(pixel[channel]) / 127.5 - 1.0;
            }
            rim.fill(inside[width - 1]);
        }
    }
}

/// Converts a box of the scaled image to the original; `None` if it is in the padding.
fn scale_back(found: CaptureRect, scaled: (u32, u32), original: (u32, u32)) -> Option<CaptureRect> {
    let along = |value: i32, scaled: u32, original: u32, round: fn(f64) -> f64| {
        let place = round(f64::from(value) * f64::from(original) / f64::from(scaled));
        (place as i32).clamp(0, original as i32)
    };
    let min = CapturePoint::new(
        along(found.min.x, scaled.0, original.0, f64::floor),
        along(found.min.y, scaled.1, original.1, f64::floor),
    );
    let max = CapturePoint::new(
        along(found.max.x, scaled.0, original.0, f64::ceil),
        along(found.max.y, scaled.1, original.1, f64::ceil),
    );
    let bounds = CaptureRect::new(min, max);
    (!bounds.is_empty()).then_some(bounds)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::ParseFailed {
        detail: format!("detecting text: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_only_scaled_down() {
        let check = |size, expected| assert_eq!(fit(size, 1920), expected, "{size:?}");
        check((1920, 1080), (1920, 1080));
        check((400, 40), (400, 40));
        check((3840, 2160), (1920, 1080));
        check((1080, 2400), (864, 1920));
        check((40_000, 10), (1920, 1));
    }

    #[test]
    fn text_detection_planes_are_bgr_with_edge_padding() {
        let mut planes = Vec::new();
        // Two pixels: red, then white.
        let row = |_| &[255, 0, 0, 255, 255, 255, 255, 255][..];
        fill(&mut planes, row, (2, 1), (3, 2));
        let blue = [-1.0, 1.0, 1.0].repeat(2);
        let red = [1.0, 1.0, 1.0].repeat(2);
        assert_eq!(planes, [blue.clone(), blue, red].concat());
    }

    #[test]
    fn regions_are_scaled_like_the_whole_image() {
        let check = |within: [i32; 4], scaled, expected: [u32; 4]| {
            let [left, top, right, bottom] = within;
            let within = CaptureRect::new(
                CapturePoint::new(left, top),
                CapturePoint::new(right, bottom),
            );
            let part = ScaledPart::covering(within, (3840, 2160), scaled);
            let got = [part.left, part.top, part.width, part.height];
            assert_eq!(got, expected, "{within:?}");
        };
        check([0, 0, 3840, 2160], (3840, 2160), [0, 0, 3840, 2160]);
        check([64, 32, 128, 96], (3840, 2160), [64, 32, 64, 64]);
        check([0, 0, 3840, 2160], (1920, 1080), [0, 0, 1920, 1080]);
        check([65, 33, 127, 95], (1920, 1080), [32, 16, 32, 32]);
        check([3839, 2159, 3840, 2160], (1920, 1080), [1919, 1079, 1, 1]);
    }

    #[test]
    fn text_boxes_are_in_original_image_pixels() {
        let check = |found: [i32; 4], expected: Option<[i32; 4]>| {
            let rect = |[x1, y1, x2, y2]: [i32; 4]| {
                CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
            };
            assert_eq!(
                scale_back(rect(found), (960, 540), (1920, 1080)),
                expected.map(rect),
                "{found:?}"
            );
        };
        check([10, 20, 30, 40], Some([20, 40, 60, 80]));
        check([950, 530, 970, 544], Some([1900, 1060, 1920, 1080]));
        check([960, 10, 992, 20], None);
    }
}
