//! Runs a network in the layout that YOLOv8 made usual.
//!
//! One input `[1, 3, height, width]`, RGB from 0 to 1, sides in multiples of 32; one output, see [`super::answer`]. A picture
//! is looked at in its own pixels, because a checkbox has 13 of them; only one that is larger than 2560×1440 is made smaller,
//! since on such displays everything is drawn larger. There are no tiles: 1920×1080 is one look. What is large is taken
//! from others, from afar, if a network's file says so ([`LARGE_FROM`]): a small network sees no further than some hundred
//! pixels.

use std::path::PathBuf;

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use image::RgbaImage;
use motorium_imaging::picture::size_of;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use ndarray::ArrayView4;
use ort::session::Session;
use ort::value::{Outlet, TensorRef, ValueType};
use tokio_util::sync::CancellationToken;

use super::answer::{Candidate, apart, candidates, detection};
use super::{Detection, Detector, captions, edges, looks, names, pages, rows, series};
use crate::error::Error;
use crate::parse::runtime::OnDemand;
use crate::parse::{processor, runtime, stop_if};

/// The network that is trained in `training/`: in 8 bits, and for processors that would saturate in them, in 32.
const BUILT_IN_INT8: &[u8] = include_bytes!("../../../models/detector.int8.onnx");
const BUILT_IN_FLOAT: &[u8] = include_bytes!("../../../models/detector.onnx");

/// The network wants sides that are multiples of this.
const GRID: usize = 32;
/// Most pixels that are looked at, as in training.
const MOST_PIXELS: f64 = 2560.0 * 1440.0;
/// Key of the metadata under which a file says how many shown pixels long or high is what is taken from looks from afar.
const LARGE_FROM: &str = "large_from";
/// Pixels around a part that are looked at as well: what a row or a button is shows beside it.
const SURROUNDINGS: i32 = 96;
/// What is beside a picture that does not end on the grid: a grey, as in training.
const FILLING: f32 = 114.0 / 255.0;

/// Which network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Model {
    BuiltIn,
    File(PathBuf),
}

/// How to look.
#[derive(Debug, Clone, PartialEq)]
pub struct DetectSettings {
    pub model: Model,
    /// The ONNX Runtime library.
    pub runtime: PathBuf,
    /// Threads to compute with.
    pub threads: usize,
    /// What is less certain than this is left out, 0 to 1.
    pub least_confidence: f32,
}

/// Finds controls with a network. It is loaded by the first call; one picture is looked at at a time.
#[derive(Debug)]
pub struct YoloDetector {
    settings: DetectSettings,
    network: OnDemand<Network>,
}

#[derive(Debug)]
struct Network {
    session: Session,
    kinds: Vec<ElementKind>,
    /// In shown pixels. Without it there is one look alone.
    large_from: Option<f64>,
    resizer: Resizer,
    /// Kept between calls: of a whole screen it is 25 MB.
    input: Vec<f32>,
}

impl YoloDetector {
    #[must_use]
    pub fn new(settings: DetectSettings) -> Self {
        Self {
            settings,
            network: OnDemand::new(),
        }
    }

    fn with_network<T>(
        &self,
        work: impl FnOnce(&mut Network) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.network.with(|| Network::load(&self.settings), work)
    }
}

impl Detector for YoloDetector {
    fn detect(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        cancel: &CancellationToken,
    ) -> Result<Vec<Detection>, Error> {
        let found = self.with_network(|network| {
            stop_if(cancel)?;
            network.look(pixels, within, self.settings.least_confidence, cancel)
        })?;
        stop_if(cancel)?;
        Ok(found)
    }

    fn warm_up(&self) -> Result<(), Error> {
        self.with_network(|_| Ok(()))
    }
}

impl Network {
    fn load(settings: &DetectSettings) -> Result<Self, Error> {
        let environment = runtime::environment(&settings.runtime)?;
        let mut session = match &settings.model {
            Model::File(path) => runtime::session(&environment, path, settings.threads)?,
            Model::BuiltIn => {
                let model = if processor::multiplies_bytes() {
                    BUILT_IN_INT8
                } else {
                    BUILT_IN_FLOAT
                };
                runtime::built_in(&environment, model, settings.threads).map_err(failed)?
            }
        };
        let unusable = |detail| match &settings.model {
            Model::File(path) => Error::ModelFileUnusable {
                path: path.clone(),
                detail,
            },
            Model::BuiltIn => failed(detail),
        };
        let kinds = kinds(&mut session).map_err(unusable)?;
        let large_from = large_from(&session).map_err(unusable)?;
        Ok(Self {
            session,
            kinds,
            large_from,
            resizer: Resizer::new(),
            input: Vec::new(),
        })
    }

    fn look(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        least: f32,
        cancel: &CancellationToken,
    ) -> Result<Vec<Detection>, Error> {
        if within.is_empty() {
            return Ok(Vec::new());
        }
        let seen = surrounded(within, CaptureRect::from_size(size_of(pixels)));
        let mut found = self.look_from_everywhere(pixels, seen, least, cancel)?;
        rows::move_to_their_text(&mut found, pixels, seen);
        let mut found = apart(found, CaptureSize::new(seen.width(), seen.height()));
        series::believe(&mut found);
        found.retain(|found| found.score >= least);
        let sure = captions::without_captions(&found).into_iter();
        let on_edges = sure.filter_map(detection).map(|found| Detection {
            bounds: edges::on_edges(pixels, found.bounds.translate(seen.min.to_vector())),
            ..found
        });
        let on_edges: Vec<Detection> = on_edges.collect();
        Ok(pages::without_pages(&on_edges)
            .into_iter()
            .filter(|found| within.contains(found.bounds.center()))
            .filter_map(|found| {
                // What goes on beyond the part ends at its edge, which tells the caller that it does.
                let bounds = found.bounds.intersection(&within)?;
                Some(Detection { bounds, ..found })
            })
            .collect())
    }

    /// The look in the picture's own pixels, and those from afar where something large may be. Some of what is found is less
    /// certain than `least`. In pixels from the part's upper left corner.
    fn look_from_everywhere(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        least: f32,
        cancel: &CancellationToken,
    ) -> Result<Vec<Candidate>, Error> {
        let scale = own_scale(pixels.width(), pixels.height());
        let lowest = least.min(looks::LEAST_SCORE);
        let near = self.look_at_all_of(pixels, within, scale, lowest)?;
        let longest = within.width().max(within.height()) as f32;
        let large = self.large_from.map(|shown| (shown / scale) as f32);
        let Some(large) = large.filter(|large| longest >= *large) else {
            return Ok(near);
        };
        let [half, quarter] = looks::FROM_AFAR;
        stop_if(cancel)?;
        let afar = self.look_at_all_of(pixels, within, half * scale, lowest)?;
        let mut farthest = Vec::new();
        if longest >= looks::HUGE * large {
            stop_if(cancel)?;
            farthest = self.look_at_all_of(pixels, within, quarter * scale, lowest)?;
        }
        Ok(looks::merged(near, [afar, farthest], large))
    }

    /// In pixels from the part's upper left corner.
    fn look_at_all_of(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        scale: f64,
        least: f32,
    ) -> Result<Vec<Candidate>, Error> {
        let shown = [within.width(), within.height()]
            .map(|side| ((f64::from(side) * scale).round() as usize).max(1));
        let padded = shown.map(|side| side.next_multiple_of(GRID));
        if scale < 1.0 {
            let small = self.smaller(pixels, within, shown)?;
            let row = |y: usize| &small[y * shown[0] * 4..][..shown[0] * 4];
            fill(&mut self.input, row, shown, padded);
        } else {
            let (left, top) = (within.min.x as usize, within.min.y as usize);
            let stride = pixels.width() as usize * 4;
            let row = |y: usize| &pixels.as_raw()[(top + y) * stride + left * 4..][..shown[0] * 4];
            fill(&mut self.input, row, shown, padded);
        }
        self.run(padded, least, scale)
    }

    /// What is on what is in `input`.
    fn run(
        &mut self,
        [width, height]: [usize; 2],
        least: f32,
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
            return Err(failed(format!("the answer has the shape {shape}")));
        }
        Ok(candidates(values, &self.kinds, least, scale))
    }

    /// The part at the size at which it is shown, four bytes a pixel.
    fn smaller(
        &mut self,
        pixels: &RgbaImage,
        within: CaptureRect,
        [width, height]: [usize; 2],
    ) -> Result<Vec<u8>, Error> {
        let from = ImageRef::new(
            pixels.width(),
            pixels.height(),
            pixels.as_raw(),
            PixelType::U8x4,
        )
        .map_err(failed)?;
        let mut to = Image::new(width as u32, height as u32, PixelType::U8x4);
        let part = within.to_f64();
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Box))
            .crop(part.min.x, part.min.y, part.width(), part.height())
            .use_alpha(false);
        self.resizer
            .resize(&from, &mut to, &options)
            .map_err(failed)?;
        Ok(to.into_vec())
    }
}

/// What a network has to be.
const EXPECTED: &str = "it must have one input [1, 3, height, width] with free height and width, and one output \
    [1, 4 + classes, cells], as a detector of the family YOLOv8 has that was exported with free sizes and without overlap \
    suppression";

/// The kinds of what a network finds, or why it is none of the layout that is understood.
fn kinds(session: &mut Session) -> Result<Vec<ElementKind>, String> {
    let input = shape_of(session.inputs(), "input")?;
    if input.len() != 4 || input[2..].iter().any(|side| *side >= 0) {
        return Err(format!("its input has the shape {input:?}; {EXPECTED}"));
    }
    let output = shape_of(session.outputs(), "output")?;
    // An exporter need not write shapes down, so a small picture is tried.
    let found = try_out(session).map_err(|error| format!("{error}; {EXPECTED}"))?;
    let classes = match found.as_slice() {
        [1, rows, _] => usize::try_from(*rows)
            .ok()
            .and_then(|rows| rows.checked_sub(4)),
        _ => None,
    };
    let Some(classes) = classes.filter(|classes| *classes > 0) else {
        return Err(format!(
            "its output has the shape {output:?}, and {found:?} for a small picture; {EXPECTED}"
        ));
    };
    let metadata = session.metadata().map_err(|error| error.to_string())?;
    Ok(names::kinds(
        metadata.custom(names::KEY).as_deref(),
        classes,
    ))
}

/// From how many shown pixels on things are looked for from afar, if the file says so.
fn large_from(session: &Session) -> Result<Option<f64>, String> {
    let metadata = session.metadata().map_err(|error| error.to_string())?;
    let Some(text) = metadata.custom(LARGE_FROM) else {
        return Ok(None);
    };
    let pixels = text.trim().parse().ok();
    let usable = pixels.filter(|pixels: &f64| pixels.is_finite() && *pixels > 0.0);
    usable.map(Some).ok_or_else(|| {
        format!("its metadata has \"{text}\" under \"{LARGE_FROM}\"; that has to be a number of pixels above 0")
    })
}

/// The shape of the only one of these, with -1 for what is free.
fn shape_of(outlets: &[Outlet], which: &str) -> Result<Vec<i64>, String> {
    let [outlet] = outlets else {
        return Err(format!("it has {} {which}s; {EXPECTED}", outlets.len()));
    };
    match outlet.dtype() {
        ValueType::Tensor { shape, .. } => Ok(shape.to_vec()),
        _ => Err(format!("its {which} is no tensor; {EXPECTED}")),
    }
}

/// The shape of the answer to a picture of two by two cells.
fn try_out(session: &mut Session) -> Result<Vec<i64>, ort::Error> {
    let blank = vec![FILLING; 3 * 4 * GRID * GRID];
    let input = TensorRef::from_array_view(([1, 3, 2 * GRID, 2 * GRID], &*blank))?;
    let outputs = session.run(ort::inputs![input])?;
    let (shape, _) = outputs[0].try_extract_tensor::<f32>()?;
    Ok(shape.to_vec())
}

/// A part with what surrounds it, on the network's grid also as it is seen from afar, so that it gives about what the whole
/// picture gives. Not from farthest: what is huge need not lie as exactly, and a small part would become twice as large.
fn surrounded(within: CaptureRect, whole: CaptureRect) -> CaptureRect {
    let grid = (GRID as f64 / looks::FROM_AFAR[0]) as i32;
    let onto_grid = |side: i32| (side - SURROUNDINGS).div_euclid(grid) * grid;
    let min = CapturePoint::new(onto_grid(within.min.x), onto_grid(within.min.y));
    let max = within.inflate(SURROUNDINGS, SURROUNDINGS).max;
    let seen = CaptureRect::new(min, max).intersection(&whole);
    seen.unwrap_or(within)
}

/// How many pixels are shown for one of a picture of that size. It is the same for a part of it.
fn own_scale(width: u32, height: u32) -> f64 {
    let pixels = f64::from(width) * f64::from(height);
    (MOST_PIXELS / pixels.max(1.0)).sqrt().min(1.0)
}

/// Writes the planes red, green, blue from 0 to 1, with grey on the right and below up to the padded size. Sides are width
/// and height.
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
            beside.fill(FILLING);
        }
        below.fill(FILLING);
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::ParseFailed {
        detail: format!("looking for controls: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_larger_than_1440_lines_is_made_smaller() {
        assert!((own_scale(1920, 1080) - 1.0).abs() < f64::EPSILON);
        assert!((own_scale(2560, 1440) - 1.0).abs() < f64::EPSILON);
        assert!((own_scale(5120, 2880) - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn parts_are_shown_with_their_surroundings_on_the_grid() {
        let rect = |[x1, y1, x2, y2]: [i32; 4]| {
            CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
        };
        let check = |within, expected| {
            let whole = rect([0, 0, 800, 600]);
            assert_eq!(
                surrounded(rect(within), whole),
                rect(expected),
                "{within:?}"
            );
        };
        check([320, 200, 330, 210], [192, 64, 426, 306]);
        check([0, 0, 800, 600], [0, 0, 800, 600]);
        check([10, 590, 20, 600], [0, 448, 116, 600]);
    }

    #[test]
    fn planes_are_red_green_blue_with_grey_beside() {
        let mut planes = Vec::new();
        // Two pixels: red, then white.
        let row = |_| &[255, 0, 0, 255, 255, 255, 255, 255][..];
        fill(&mut planes, row, [2, 1], [3, 2]);
        let grey = FILLING;
        let red = [1.0, 1.0, grey, grey, grey, grey];
        let blue = [0.0, 1.0, grey, grey, grey, grey];
        assert_eq!(planes, [red, blue, blue].concat());
    }
}
