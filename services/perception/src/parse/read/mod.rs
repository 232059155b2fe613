//! Reading: the lines of text on a picture, English and Chinese.
//!
//! [`PaddleReader`] runs the two PP-OCRv4 models through ONNX Runtime: one finds regions of text ([`locate`],
//! [`regions`]), the other reads one line at a time ([`recognise`], [`decode`]). Text on screens is upright, so no
//! model looks for rotated lines. What has been read is remembered by its pixels ([`cache`]).

mod cache;
mod decode;
mod locate;
mod recognise;
mod regions;
mod runtime;
mod variant;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use image::RgbaImage;
use motorium_proto::domain::geometry::CaptureRect;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use cache::{Cache, Fingerprint};
use locate::Locator;
use recognise::Recogniser;

/// A line of text that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct TextLine {
    pub bounds: CaptureRect,
    pub text: String,
    /// Mean probability of its characters, 0 to 1.
    pub confidence: f32,
}

/// What was read, and how long it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// From top to bottom and left to right by their upper left corners.
    pub lines: Arc<[TextLine]>,
    /// Finding the regions of text.
    pub locating: Duration,
    /// Reading them.
    pub recognising: Duration,
    /// How many lines were known by their pixels.
    pub remembered: usize,
}

/// Reads text. It computes and blocks: call it off the runtime's workers.
pub trait Reader: Send + Sync + fmt::Debug {
    /// The lines of text on `pixels`.
    ///
    /// # Errors
    /// [`Error::Cancelled`] soon after `cancel` is set; [`Error::ModelFileMissing`] or [`Error::ModelFileUnusable`] if
    /// the models cannot be loaded.
    fn read(&self, pixels: &RgbaImage, cancel: &CancellationToken) -> Result<Reading, Error>;

    /// Loads whatever the first call would load.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn warm_up(&self) -> Result<(), Error>;
}

/// Where the library and the models are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFiles {
    /// The ONNX Runtime library.
    pub runtime: PathBuf,
    /// Finds regions of text.
    pub locate: PathBuf,
    /// Reads a line.
    pub recognise: PathBuf,
}

impl ModelFiles {
    /// The files in the layout that the set-up script makes of the data folder: of each model the fastest variant that
    /// is there and suits this processor.
    #[must_use]
    pub fn in_folder(data: &Path) -> Self {
        let models = data.join("models/ocr");
        Self {
            runtime: data.join("onnxruntime/libonnxruntime.so"),
            locate: variant::locator(&models),
            recognise: variant::recogniser(&models, variant::multiplies_bytes()),
        }
    }
}

/// How to read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadSettings {
    /// Threads to compute with.
    pub threads: usize,
    /// Pictures are scaled down to this long side, in pixels, before regions of text are looked for.
    pub locate_long_side: u32,
    /// Lines that are less certain than this are left out, 0 to 1.
    pub min_confidence: f32,
    /// How many lines are remembered.
    pub remembered_lines: usize,
}

impl Default for ReadSettings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // More threads gain little on one picture, and each reading thread holds buffers of its own.
        Self {
            threads: cores.min(4),
            locate_long_side: 1920,
            min_confidence: 0.5,
            remembered_lines: 16_384,
        }
    }
}

/// Reads with the PP-OCRv4 models. They are loaded by the first call.
#[derive(Debug)]
pub struct PaddleReader {
    files: ModelFiles,
    settings: ReadSettings,
    /// `None` until the models are loaded. One picture is read at a time.
    engine: Mutex<Option<Engine>>,
}

#[derive(Debug)]
struct Engine {
    locator: Locator,
    recogniser: Recogniser,
    cache: Cache,
}

impl PaddleReader {
    #[must_use]
    pub fn new(files: ModelFiles, settings: ReadSettings) -> Self {
        Self {
            files,
            settings,
            engine: Mutex::new(None),
        }
    }

    fn with_engine<T>(
        &self,
        work: impl FnOnce(&mut Engine) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        if engine.is_none() {
            *engine = Some(Engine::load(&self.files, &self.settings)?);
        }
        work(engine.as_mut().expect("it was loaded just above"))
    }
}

impl Reader for PaddleReader {
    fn read(&self, pixels: &RgbaImage, cancel: &CancellationToken) -> Result<Reading, Error> {
        self.with_engine(|engine| engine.read(pixels, &self.settings, cancel))
    }

    fn warm_up(&self) -> Result<(), Error> {
        self.with_engine(|_| Ok(()))
    }
}

impl Engine {
    fn load(files: &ModelFiles, settings: &ReadSettings) -> Result<Self, Error> {
        let started = Instant::now();
        let environment = runtime::environment(&files.runtime)?;
        let locator = Locator::load(
            &environment,
            &files.locate,
            settings.threads,
            settings.locate_long_side,
        )?;
        let recogniser = Recogniser::load(&environment, &files.recognise, settings.threads)?;
        tracing::info!(
            locate = %files.locate.display(),
            recognise = %files.recognise.display(),
            elapsed_ms = started.elapsed().as_millis(),
            threads = settings.threads,
            "text models loaded"
        );
        Ok(Self {
            locator,
            recogniser,
            cache: Cache::new(settings.remembered_lines),
        })
    }

    fn read(
        &mut self,
        pixels: &RgbaImage,
        settings: &ReadSettings,
        cancel: &CancellationToken,
    ) -> Result<Reading, Error> {
        let started = Instant::now();
        let frame = Fingerprint::of(pixels);
        if let Some(lines) = self.cache.frame(frame) {
            let remembered = lines.len();
            return Ok(Reading {
                lines,
                locating: started.elapsed(),
                recognising: Duration::ZERO,
                remembered,
            });
        }
        let mut boxes = self.locator.locate(pixels)?;
        boxes.sort_by_key(|found| (found.min.y, found.min.x));
        let locating = started.elapsed();
        stop_if(cancel)?;

        let started = Instant::now();
        let (texts, remembered) = self
            .recogniser
            .read(pixels, &boxes, &mut self.cache, cancel)?;
        let lines: Arc<[TextLine]> = boxes
            .into_iter()
            .zip(texts)
            .filter(|(_, line)| line.confidence >= settings.min_confidence && !line.text.is_empty())
            .map(|(bounds, line)| TextLine {
                bounds,
                text: line.text,
                confidence: line.confidence,
            })
            .collect();
        self.cache.remember_frame(frame, Arc::clone(&lines));
        Ok(Reading {
            lines,
            locating,
            recognising: started.elapsed(),
            remembered,
        })
    }
}

fn stop_if(cancel: &CancellationToken) -> Result<(), Error> {
    if cancel.is_cancelled() {
        Err(Error::Cancelled)
    } else {
        Ok(())
    }
}
