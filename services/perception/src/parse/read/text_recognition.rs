//! Recognises lines of text in parallel, each at its own width.
//!
//! The time per line is proportional to its width, and batching gains nothing on a CPU (measured). Every line therefore
//! runs alone at its exact width on one of several single-threaded sessions. A single line uses all threads.
//!
//! It does not find the lines: `text_detection` does.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use image::RgbaImage;
use motorium_imaging::resize::{FilterType, ResizeAlg, ResizeOptions, RgbaResizer};
use motorium_proto::domain::geometry::CaptureRect;
use ndarray::ArrayView4;
use ort::environment::Environment;
use ort::session::Session;
use ort::value::TensorRef;
use tokio_util::sync::CancellationToken;

use super::cache::{Fingerprint, LineCache, rows};
use super::charset;
use super::decode::{Charset, DecodedLine};
use super::{check_cancelled, long_lines};
use crate::error::Error;
use crate::parse::runtime;

/// Height of a line in the model's input.
const LINE_HEIGHT: u32 = 48;

/// Widths are rounded up to a multiple of this; the rest is blank.
const WIDTH_STEP: u32 = 16;

/// Runs the text recognition model.
#[derive(Debug)]
pub(super) struct TextRecogniser {
    /// Workers with one thread each.
    workers: Vec<RecognitionWorker>,
    /// Worker with all threads, for a single line; `None` if there is only one thread.
    all_threads: Option<RecognitionWorker>,
    charset: Charset,
}

#[derive(Debug)]
struct RecognitionWorker {
    session: Session,
    resizer: RgbaResizer,
    input: Vec<f32>,
}

impl TextRecogniser {
    pub(super) fn load(
        environment: &Environment,
        model: &Path,
        charset_file: Option<&Path>,
        threads: usize,
    ) -> Result<Self, Error> {
        let worker = |threads| RecognitionWorker::load(environment, model, threads);
        let mut workers = (0..threads.max(1))
            .map(|_| worker(1))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut together = (threads > 1).then(|| worker(threads)).transpose()?;
        let charset = charset::load(&workers[0].session, model, charset_file)?;
        for worker in workers.iter_mut().chain(&mut together) {
            let classes = worker.probe()?;
            if classes != charset.len() {
                return Err(Error::ModelFileUnusable {
                    path: charset_file.unwrap_or(model).to_owned(),
                    detail: format!(
                        "it lists {} characters, but {} has {}",
                        charset.len().saturating_sub(2),
                        model.display(),
                        classes.saturating_sub(2)
                    ),
                });
            }
        }
        Ok(Self {
            workers,
            all_threads: together,
            charset,
        })
    }

    /// Recognises the boxes of `pixels`, all of which are inside the image. Also returns the number of cache misses.
    pub(super) fn read(
        &mut self,
        pixels: &RgbaImage,
        boxes: &[CaptureRect],
        cache: &mut LineCache,
        cancel: &CancellationToken,
    ) -> Result<(usize, Vec<DecodedLine>), Error> {
        let keys: Vec<_> = boxes
            .iter()
            .map(|&bounds| Fingerprint::of_line(pixels, bounds))
            .collect();
        let mut lines: Vec<Option<DecodedLine>> = keys.iter().map(|&key| cache.get(key)).collect();
        let mut unread: Vec<usize> = (0..boxes.len())
            .filter(|&index| lines[index].is_none())
            .collect();
        // Widest first, so that no worker starts a long line at the end.
        unread.sort_by_key(|&index| std::cmp::Reverse(scaled_width(boxes[index])));
        for (index, line) in self.read_all(pixels, boxes, &unread, cancel)? {
            cache.insert(keys[index], line.clone());
            lines[index] = Some(line);
        }
        let lines = lines.into_iter().map(Option::unwrap_or_default).collect();
        Ok((unread.len(), lines))
    }

    fn read_all(
        &mut self,
        pixels: &RgbaImage,
        boxes: &[CaptureRect],
        unread: &[usize],
        cancel: &CancellationToken,
    ) -> Result<Vec<(usize, DecodedLine)>, Error> {
        let next = AtomicUsize::new(0);
        let charset_file = &self.charset;
        if let (&[index], Some(together)) = (unread, &mut self.all_threads) {
            check_cancelled(cancel)?;
            return Ok(vec![(
                index,
                together.read(pixels, boxes[index], charset_file)?,
            )]);
        }
        let take = |worker: &mut RecognitionWorker| {
            let mut done = Vec::new();
            while let Some(&index) = unread.get(next.fetch_add(1, Ordering::Relaxed)) {
                check_cancelled(cancel)?;
                done.push((index, worker.read(pixels, boxes[index], charset_file)?));
            }
            Ok(done)
        };
        let helpers = self.workers.len().min(unread.len()).saturating_sub(1);
        let (first, others) = self
            .workers
            .split_first_mut()
            .expect("there is at least one worker");
        std::thread::scope(|scope| {
            let threads: Vec<_> = others
                .iter_mut()
                .take(helpers)
                .map(|worker| scope.spawn(|| take(worker)))
                .collect();
            let mut done: Vec<(usize, DecodedLine)> = take(first)?;
            for thread in threads {
                let theirs: Result<_, Error> = thread
                    .join()
                    .unwrap_or_else(|_| Err(failed("a recognition thread panicked")));
                done.append(&mut theirs?);
            }
            Ok(done)
        })
    }
}

impl RecognitionWorker {
    fn load(environment: &Environment, model: &Path, threads: usize) -> Result<Self, Error> {
        Ok(Self {
            session: runtime::session_from_file(environment, model, threads)?,
            resizer: RgbaResizer::default(),
            input: Vec::new(),
        })
    }

    /// Runs a black line to warm up, and returns the number of classes of the model.
    fn probe(&mut self) -> Result<usize, Error> {
        let width = WIDTH_STEP as usize;
        fill(
            &mut self.input,
            &vec![0; LINE_HEIGHT as usize * width * 4],
            width,
            width,
        );
        self.run(WIDTH_STEP, |_, classes| classes)
    }

    fn read(
        &mut self,
        pixels: &RgbaImage,
        bounds: CaptureRect,
        charset_file: &Charset,
    ) -> Result<DecodedLine, Error> {
        let mut read = Vec::new();
        for piece in long_lines::split(pixels, bounds) {
            read.push((piece, self.read_piece(pixels, piece.bounds, charset_file)?));
        }
        Ok(long_lines::join(bounds, read))
    }

    fn read_piece(
        &mut self,
        pixels: &RgbaImage,
        bounds: CaptureRect,
        charset_file: &Charset,
    ) -> Result<DecodedLine, Error> {
        let width = scaled_width(bounds);
        let padded = width.next_multiple_of(WIDTH_STEP);
        let line = self.scale(pixels, bounds, width)?;
        fill(&mut self.input, &line, width as usize, padded as usize);
        let mut decoded = self.run(padded, |probabilities, _| {
            charset_file.decode(probabilities)
        })?;
        let wider = padded as f32 / width as f32;
        for place in &mut decoded.char_positions {
            *place = (*place * wider).min(1.0);
        }
        Ok(decoded)
    }

    /// Runs the model on `input`, and passes the probabilities and their number per step to `decode`.
    fn run<T>(&mut self, padded: u32, decode: impl FnOnce(&[f32], usize) -> T) -> Result<T, Error> {
        let shape = (1, 3, LINE_HEIGHT as usize, padded as usize);
        let input = ArrayView4::from_shape(shape, &self.input).map_err(failed)?;
        let outputs = self
            .session
            .run(ort::inputs![
                TensorRef::from_array_view(input).map_err(failed)?
            ])
            .map_err(failed)?;
        let (shape, probabilities) = outputs[0].try_extract_tensor::<f32>().map_err(failed)?;
        let classes = shape.last().map_or(0, |&classes| classes as usize);
        Ok(decode(probabilities, classes))
    }

    fn scale(
        &mut self,
        pixels: &RgbaImage,
        bounds: CaptureRect,
        width: u32,
    ) -> Result<Vec<u8>, Error> {
        let crop: Vec<u8> = rows(pixels, bounds).flatten().copied().collect();
        let size = (bounds.width() as u32, bounds.height() as u32);
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
            .use_alpha(false);
        self.resizer
            .resize(&crop, size, (width, LINE_HEIGHT), &options)
            .map_err(failed)
    }
}

/// Returns the width of a line after scaling to the model's height.
fn scaled_width(bounds: CaptureRect) -> u32 {
    let scaled =
        f64::from(bounds.width()) * f64::from(LINE_HEIGHT) / f64::from(bounds.height().max(1));
    (scaled.ceil() as u32).max(1)
}

/// Writes the planes blue, green, red of `(x/255 - 0.5) / 0.5` into `planes`. The area to the right of the line is 0,
/// as in training.
fn fill(planes: &mut Vec<f32>, rgba: &[u8], width: usize, padded: usize) {
    planes.clear();
    planes.resize(3 * LINE_HEIGHT as usize * padded, 0.0);
    for (plane, channel) in planes
        .chunks_exact_mut(LINE_HEIGHT as usize * padded)
        .zip([2, 1, 0])
    {
        for (to, from) in plane
            .chunks_exact_mut(padded)
            .zip(rgba.chunks_exact(width * 4))
        {
            for (value, pixel) in to.iter_mut().zip(from.as_chunks::<4>().0) {
                *value = f32::from(pixel[channel]) / 127.5 - 1.0;
            }
        }
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::ParseFailed {
        detail: format!("recognising a line: {error}"),
    }
}
