//! Reading: the lines of text on a picture, English and Chinese unless other models are configured.
//!
//! [`PaddleReader`] runs two models of the PP-OCR family through ONNX Runtime, PP-OCRv4 if nobody says otherwise: one
//! finds regions of text ([`locate`], [`regions`]), the other reads one line at a time ([`recognise`], [`alphabet`],
//! [`decode`]). Text on screens is upright, so no model looks for rotated lines. What has been read is remembered by its
//! pixels ([`cache`]).

mod alphabet;
mod cache;
mod decode;
mod detail;
mod locate;
mod pieces;
mod recognise;
mod regions;
mod variant;

use std::fmt;
use std::path::{Path, PathBuf};

use image::RgbaImage;
use motorium_proto::domain::geometry::CaptureRect;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::parse::runtime::OnDemand;
use crate::parse::{processor, runtime, stop_if};
use cache::Cache;
use decode::Decoded;
pub use detail::Detail;
use locate::Locator;
use recognise::Recogniser;

/// A line of text that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct TextLine {
    pub bounds: CaptureRect,
    pub text: String,
    /// Where the middle of each of its characters is, as a share of its width; empty if that is not known.
    pub places: Vec<f32>,
    /// Mean probability of its characters, 0 to 1.
    pub confidence: f32,
}

impl TextLine {
    /// A line of which it is not known where its characters are.
    #[must_use]
    pub fn new(bounds: CaptureRect, text: impl Into<String>, confidence: f32) -> Self {
        Self {
            bounds,
            text: text.into(),
            places: Vec::new(),
            confidence,
        }
    }
}

/// Finds text and reads it. It computes and blocks: call it off the runtime's workers.
pub trait Reader: Send + Sync + fmt::Debug {
    /// The regions of text on `pixels`, a line or less each, in the picture's own pixels and in no particular order; and
    /// the detail that they were found with, which depends on how tall the text is.
    ///
    /// # Errors
    /// [`Error::Cancelled`] soon after `cancel` is set; [`Error::ModelFileMissing`] or [`Error::ModelFileUnusable`] if
    /// the models cannot be loaded.
    fn survey(
        &self,
        pixels: &RgbaImage,
        cancel: &CancellationToken,
    ) -> Result<(Vec<CaptureRect>, Detail), Error>;

    /// The regions of text in the part `within`, looked for as [`Self::survey`] did on a picture of the same size. The
    /// part lies inside; nothing outside of it is looked at.
    ///
    /// # Errors
    /// As [`Self::survey`].
    fn locate(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        detail: Detail,
        cancel: &CancellationToken,
    ) -> Result<Vec<CaptureRect>, Error>;

    /// What the boxes say, all of which lie inside the picture; `None` where nothing can be read with confidence. Also
    /// tells how many had to be read, because they had not been before.
    ///
    /// # Errors
    /// As [`Self::survey`].
    fn recognise(
        &self,
        pixels: &RgbaImage,
        boxes: &[CaptureRect],
        cancel: &CancellationToken,
    ) -> Result<(usize, Vec<Option<TextLine>>), Error>;

    /// Loads whatever the first call would load.
    ///
    /// # Errors
    /// As [`Self::survey`].
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
    /// The signs that it reads, one a line, if it does not carry them itself.
    pub alphabet: Option<PathBuf>,
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
            recognise: variant::recogniser(&models, processor::multiplies_bytes()),
            alphabet: None,
        }
    }
}

/// How to read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadSettings {
    /// Threads to compute with.
    pub threads: usize,
    /// Pictures are scaled down to this long side, in pixels, before regions of text are looked for. Where much text is
    /// small then, it is looked for in more detail.
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

/// Reads with two models of the PP-OCR family. They are loaded by the first call.
#[derive(Debug)]
pub struct PaddleReader {
    files: ModelFiles,
    settings: ReadSettings,
    /// One picture is read at a time.
    engine: OnDemand<Engine>,
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
            engine: OnDemand::new(),
        }
    }

    fn with_engine<T>(
        &self,
        work: impl FnOnce(&mut Engine) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let load = || Engine::load(&self.files, &self.settings);
        self.engine.with(load, work)
    }
}

impl Reader for PaddleReader {
    fn survey(
        &self,
        pixels: &RgbaImage,
        cancel: &CancellationToken,
    ) -> Result<(Vec<CaptureRect>, Detail), Error> {
        self.with_engine(|engine| {
            stop_if(cancel)?;
            engine.locator.survey(pixels, cancel)
        })
    }

    fn locate(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        detail: Detail,
        cancel: &CancellationToken,
    ) -> Result<Vec<CaptureRect>, Error> {
        self.with_engine(|engine| {
            stop_if(cancel)?;
            engine.locator.locate(pixels, within, detail, cancel)
        })
    }

    fn recognise(
        &self,
        pixels: &RgbaImage,
        boxes: &[CaptureRect],
        cancel: &CancellationToken,
    ) -> Result<(usize, Vec<Option<TextLine>>), Error> {
        let (read, texts) = self.with_engine(|engine| {
            stop_if(cancel)?;
            let cache = &mut engine.cache;
            engine.recogniser.read(pixels, boxes, cache, cancel)
        })?;
        let is_certain = |text: &Decoded| {
            text.confidence >= self.settings.min_confidence && !text.text.is_empty()
        };
        let lines = boxes.iter().zip(texts).map(|(&bounds, text)| {
            is_certain(&text).then_some(TextLine {
                bounds,
                text: text.text,
                places: text.places,
                confidence: text.confidence,
            })
        });
        Ok((read, lines.collect()))
    }

    fn warm_up(&self) -> Result<(), Error> {
        let nothing = RgbaImage::new(64, 64);
        self.survey(&nothing, &CancellationToken::new()).map(drop)
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
        let recogniser = Recogniser::load(
            &environment,
            &files.recognise,
            files.alphabet.as_deref(),
            settings.threads,
        )?;
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
}
