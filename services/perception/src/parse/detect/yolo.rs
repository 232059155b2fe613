//! Runs a detection model with the YOLOv8 layout.
//!
//! One input `[1, 3, height, width]`, RGB from 0 to 1, with sides that are multiples of 32; one output, see
//! [`super::postprocess`]. Images are processed at full size, because a checkbox is 13 pixels wide; only images larger
//! than 2560×1440 are scaled down, since everything is drawn larger on such displays. There is no tiling: 1920×1080 is
//! one pass. If the model's metadata says so ([`LARGE_FROM_KEY`]), large elements come from additional passes at
//! smaller scales, because the receptive field of a small model is a few hundred pixels.

use std::path::PathBuf;

use image::RgbaImage;
use motorium_imaging::codec::size_of;
use motorium_imaging::resize::{FilterType, ResizeAlg, ResizeOptions, RgbaResizer};
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use ndarray::ArrayView4;
use ort::session::Session;
use ort::value::{Outlet, TensorRef, ValueType};
use tokio_util::sync::CancellationToken;

use super::postprocess::{Candidate, decode_output};
use super::refine::{Regions, refine};
use super::{Detection, Detector, class_names, multiscale};
use crate::error::Error;
use crate::parse::runtime::LazyModel;
use crate::parse::{check_cancelled, cpu, runtime};

/// Models trained in `training/`: int8, and float for CPUs on which int8 would saturate.
const BUILT_IN_INT8: &[u8] = include_bytes!("../../../models/detector.int8.onnx");
const BUILT_IN_FLOAT: &[u8] = include_bytes!("../../../models/detector.onnx");

/// Sides of the input must be multiples of this.
const GRID: usize = 32;
/// Maximum number of image pixels before scaling down, as in training.
const MAX_PIXELS: f64 = 2560.0 * 1440.0;
/// Metadata key for the length, in input pixels, from which elements are taken from the smaller scales.
const LARGE_FROM_KEY: &str = "large_from";
/// Context around a region, in pixels: rows and buttons are recognised by what is beside them.
const CONTEXT_PX: i32 = 96;
/// Grey padding beside an image that does not end on the grid, as in training.
const PADDING_VALUE: f32 = 114.0 / 255.0;

/// Detection model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetectorModel {
    BuiltIn,
    File(PathBuf),
}

/// Settings of the detector.
#[derive(Debug, Clone, PartialEq)]
pub struct DetectSettings {
    pub model: DetectorModel,
    /// The ONNX Runtime library.
    pub runtime: PathBuf,
    /// Number of threads.
    pub threads: usize,
    /// Confidence threshold, 0 to 1.
    pub confidence_threshold: f32,
}

/// Detector with a YOLO model. The model is loaded by the first call and processes one image at a time.
#[derive(Debug)]
pub struct YoloDetector {
    settings: DetectSettings,
    network: LazyModel<YoloModel>,
}

#[derive(Debug)]
struct YoloModel {
    session: Session,
    kinds: Vec<ElementKind>,
    /// Length of large elements in input pixels. `None`: a single pass.
    large_from: Option<f64>,
    resizer: RgbaResizer,
    /// Input buffer, reused between calls: 25 MB for a whole screen.
    input: Vec<f32>,
}

impl YoloDetector {
    #[must_use]
    pub fn new(settings: DetectSettings) -> Self {
        Self {
            settings,
            network: LazyModel::new(),
        }
    }

    fn with_model<T>(
        &self,
        work: impl FnOnce(&mut YoloModel) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.network.with(|| YoloModel::load(&self.settings), work)
    }
}

impl Detector for YoloDetector {
    fn detect(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        cancel: &CancellationToken,
    ) -> Result<Vec<Detection>, Error> {
        let found = self.with_model(|network| {
            check_cancelled(cancel)?;
            network.detect_in(pixels, within, self.settings.confidence_threshold, cancel)
        })?;
        check_cancelled(cancel)?;
        Ok(found)
    }

    fn warm_up(&self) -> Result<(), Error> {
        self.with_model(|_| Ok(()))
    }
}

impl YoloModel {
    fn load(settings: &DetectSettings) -> Result<Self, Error> {
        let environment = runtime::environment(&settings.runtime)?;
        let mut session = match &settings.model {
            DetectorModel::File(path) => {
                runtime::session_from_file(&environment, path, settings.threads)?
            }
            DetectorModel::BuiltIn => {
                let model = if cpu::has_vnni() {
                    BUILT_IN_INT8
                } else {
                    BUILT_IN_FLOAT
                };
                runtime::session_from_memory(&environment, model, settings.threads)
                    .map_err(failed)?
            }
        };
        let unusable = |detail| match &settings.model {
            DetectorModel::File(path) => Error::ModelFileUnusable {
                path: path.clone(),
                detail,
            },
            DetectorModel::BuiltIn => failed(detail),
        };
        let kinds = kinds(&mut session).map_err(unusable)?;
        let large_from = large_from(&session).map_err(unusable)?;
        Ok(Self {
            session,
            kinds,
            large_from,
            resizer: RgbaResizer::default(),
            input: Vec::new(),
        })
    }

    fn detect_in(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        min_score: f32,
        cancel: &CancellationToken,
    ) -> Result<Vec<Detection>, Error> {
        if within.is_empty() {
            return Ok(Vec::new());
        }
        let seen = with_context(within, CaptureRect::from_size(size_of(pixels)));
        let found = self.detect_multiscale(pixels, seen, min_score, cancel)?;
        Ok(refine(found, pixels, Regions { seen, within }, min_score))
    }

    /// Runs the full-size pass, and the passes at smaller scales if large elements are possible. Some results are below
    /// `min_score`. Coordinates start at the upper left corner of the region.
    fn detect_multiscale(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        min_score: f32,
        cancel: &CancellationToken,
    ) -> Result<Vec<Candidate>, Error> {
        let scale = base_scale(pixels.width(), pixels.height());
        let lowest = min_score.min(multiscale::MIN_SCORE);
        let longer_side = within.width().max(within.height()) as f32;
        let large = self.large_from.map(|shown| (shown / scale) as f32);
        multiscale::run_passes(longer_side, large, |share| {
            check_cancelled(cancel)?;
            self.detect_at_scale(pixels, within, share * scale, lowest)
        })
    }

    /// Runs one pass. Coordinates start at the upper left corner of the region.
    fn detect_at_scale(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        scale: f64,
        min_score: f32,
    ) -> Result<Vec<Candidate>, Error> {
        let shown = [within.width(), within.height()]
            .map(|side| ((f64::from(side) * scale).round() as usize).max(1));
        let padded = shown.map(|side| side.next_multiple_of(GRID));
        if scale < 1.0 {
            let small = self.downscale(pixels, within, shown)?;
            let row = |y: usize| &small[y * shown[0] * 4..][..shown[0] * 4];
            fill(&mut self.input, row, shown, padded);
        } else {
            let (left, top) = (within.min.x as usize, within.min.y as usize);
            let stride = pixels.width() as usize * 4;
            let row = |y: usize| &pixels.as_raw()[(top + y) * stride + left * 4..][..shown[0] * 4];
            fill(&mut self.input, row, shown, padded);
        }
        self.run(padded, min_score, scale)
    }

    /// Runs the model on `input`.
    fn run(
        &mut self,
        [width, height]: [usize; 2],
        min_score: f32,
        scale: f64,
    ) -> Result<Vec<Candidate>, Error> {
        let input = ArrayView4::from_shape((1, 3, height, width), &self.input).map_err(failed)?;
        let outputs = self
            .session
            .run(ort::inputs![
                TensorRef::from_array_view(input).map_err(failed)?
            ])
            .map_err(failed)?;
        let (shape, values) = outputs[0].try_extract_tensor::<f32>().map_err(failed)?;
        let rows = 4 + self.kinds.len();
        if shape.len() != 3 || shape[1] != rows as i64 || !values.len().is_multiple_of(rows) {
            return Err(failed(format!(
                "the output has the unexpected shape {shape}"
            )));
        }
        Ok(decode_output(values, &self.kinds, min_score, scale))
    }

    /// Scales the region to the input size, four bytes a pixel.
    fn downscale(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        [width, height]: [usize; 2],
    ) -> Result<Vec<u8>, Error> {
        let part = within.to_f64();
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Box))
            .crop(part.min.x, part.min.y, part.width(), part.height())
            .use_alpha(false);
        let size = (pixels.width(), pixels.height());
        self.resizer
            .resize(
                pixels.as_raw(),
                size,
                (width as u32, height as u32),
                &options,
            )
            .map_err(failed)
    }
}

/// Required layout of a model, for error messages.
const EXPECTED_LAYOUT: &str = "it must have one input [1, 3, height, width] with dynamic height and width, and one output \
    [1, 4 + classes, cells], like a YOLOv8 detector that was exported with dynamic sizes and without non-maximum \
    suppression";

/// Returns the kinds of the model's classes, or why its layout is not supported.
fn kinds(session: &mut Session) -> Result<Vec<ElementKind>, String> {
    let input = shape_of(session.inputs(), "input")?;
    if input.len() != 4 || input[2..].iter().any(|side| *side >= 0) {
        return Err(format!(
            "its input has the shape {input:?}; {EXPECTED_LAYOUT}"
        ));
    }
    let output = shape_of(session.outputs(), "output")?;
    // Exporters need not declare shapes, so a small image is tried.
    let found =
        probe_output_shape(session).map_err(|error| format!("{error}; {EXPECTED_LAYOUT}"))?;
    let classes = match found.as_slice() {
        [1, rows, _] => usize::try_from(*rows)
            .ok()
            .and_then(|rows| rows.checked_sub(4)),
        _ => None,
    };
    let Some(classes) = classes.filter(|classes| *classes > 0) else {
        return Err(format!(
            "its output has the shape {output:?}, and {found:?} for a small image; {EXPECTED_LAYOUT}"
        ));
    };
    let metadata = session.metadata().map_err(|error| error.to_string())?;
    Ok(class_names::kinds(
        metadata.custom(class_names::METADATA_KEY).as_deref(),
        classes,
    ))
}

/// Returns the length of large elements in input pixels, if the file declares it.
fn large_from(session: &Session) -> Result<Option<f64>, String> {
    let metadata = session.metadata().map_err(|error| error.to_string())?;
    let Some(text) = metadata.custom(LARGE_FROM_KEY) else {
        return Ok(None);
    };
    let pixels = text.trim().parse().ok();
    let usable = pixels.filter(|pixels: &f64| pixels.is_finite() && *pixels > 0.0);
    usable.map(Some).ok_or_else(|| {
        format!("its metadata has \"{text}\" under \"{LARGE_FROM_KEY}\"; it must be a number of pixels above 0")
    })
}

/// Returns the shape of the only input or output, with -1 for dynamic sides.
fn shape_of(outlets: &[Outlet], which: &str) -> Result<Vec<i64>, String> {
    let [outlet] = outlets else {
        return Err(format!(
            "it has {} {which}s; {EXPECTED_LAYOUT}",
            outlets.len()
        ));
    };
    match outlet.dtype() {
        ValueType::Tensor { shape, .. } => Ok(shape.to_vec()),
        _ => Err(format!("its {which} is not a tensor; {EXPECTED_LAYOUT}")),
    }
}

/// Returns the output shape for an image of two by two grid cells.
fn probe_output_shape(session: &mut Session) -> Result<Vec<i64>, ort::Error> {
    let blank = vec![PADDING_VALUE; 3 * 4 * GRID * GRID];
    let input = TensorRef::from_array_view(([1, 3, 2 * GRID, 2 * GRID], &*blank))?;
    let outputs = session.run(ort::inputs![input])?;
    let (shape, _) = outputs[0].try_extract_tensor::<f32>()?;
    Ok(shape.to_vec())
}

/// Extends a region by its context and aligns it with the grid of the half-size pass, so that it gives about the same
/// results as the whole image. Not aligned with the quarter-size pass: huge elements need less precision, and a small
/// region would double in size.
fn with_context(within: CaptureRect, whole: CaptureRect) -> CaptureRect {
    let grid = (GRID as f64 / multiscale::SCALES[0]) as i32;
    let onto_grid = |side: i32| (side - CONTEXT_PX).div_euclid(grid) * grid;
    let min = CapturePoint::new(onto_grid(within.min.x), onto_grid(within.min.y));
    let max = within.inflate(CONTEXT_PX, CONTEXT_PX).max;
    let seen = CaptureRect::new(min, max).intersection(&whole);
    seen.unwrap_or(within)
}

/// Returns the number of input pixels per image pixel. A region uses the scale of its whole image.
fn base_scale(width: u32, height: u32) -> f64 {
    let pixels = f64::from(width) * f64::from(height);
    (MAX_PIXELS / pixels.max(1.0)).sqrt().min(1.0)
}

/// Writes the planes red, green, blue from 0 to 1, with grey padding on the right and below. Sizes are width and
/// height.
fn fill<'a>(
    planes: &mut Vec<f32>,
    row: impl Fn(usize) -> &'a [u8],
    [width, height]: [usize; 2],
    [padded_width, padded_height]: [usize; 2],
) {
    let plane = padded_width * padded_height;
    planes.resize(3 * plane, 0.0);
    for (channel, plane) in planes.chunks_exact_mut(plane).enumerate() {
        let (above, below) = plane.split_at_mut(height * padded_width);
        for (y, to) in above.chunks_exact_mut(padded_width).enumerate() {
            let (inside, beside) = to.split_at_mut(width);
            for (value, pixel) in inside.iter_mut().zip(row(y).as_chunks::<4>().0) {
                *value = f32::from(pixel[channel]) / 255.0;
            }
            beside.fill(PADDING_VALUE);
        }
        below.fill(PADDING_VALUE);
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::ParseFailed {
        detail: format!("detecting controls: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_above_1440_lines_are_downscaled() {
        assert!((base_scale(1920, 1080) - 1.0).abs() < f64::EPSILON);
        assert!((base_scale(2560, 1440) - 1.0).abs() < f64::EPSILON);
        assert!((base_scale(5120, 2880) - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn regions_are_detected_with_context_on_the_grid() {
        let rect = |[x1, y1, x2, y2]: [i32; 4]| {
            CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
        };
        let check = |within, expected| {
            let whole = rect([0, 0, 800, 600]);
            assert_eq!(
                with_context(rect(within), whole),
                rect(expected),
                "{within:?}"
            );
        };
        check([320, 200, 330, 210], [192, 64, 426, 306]);
        check([0, 0, 800, 600], [0, 0, 800, 600]);
        check([10, 590, 20, 600], [0, 448, 116, 600]);
    }

    #[test]
    fn detector_planes_are_rgb_with_grey_padding() {
        let mut planes = Vec::new();
        // Two pixels: red, then white.
        let row = |_| &[255, 0, 0, 255, 255, 255, 255, 255][..];
        fill(&mut planes, row, [2, 1], [3, 2]);
        let grey = PADDING_VALUE;
        let red = [1.0, 1.0, grey, grey, grey, grey];
        let blue = [0.0, 1.0, grey, grey, grey, grey];
        assert_eq!(planes, [red, blue, blue].concat());
    }
}
