//! Text recognition: lines of English and Chinese text, or of other languages with other models.
//!
//! [`PaddleReader`] runs two models of the PP-OCR family with ONNX Runtime, PP-OCRv4 by default: one detects text
//! regions ([`text_detection`], [`regions`]), the other recognises one line at a time ([`text_recognition`],
//! [`charset`], [`decode`]). Text on screens is upright, so there is no orientation model. Results are cached by pixels
//! ([`cache`]).

mod cache;
mod charset;
mod decode;
mod long_lines;
mod model_variant;
mod regions;
mod resolution;
mod text_detection;
mod text_recognition;

use std::fmt;
use std::path::{Path, PathBuf};

use image::RgbaImage;
use motorium_proto::domain::geometry::CaptureRect;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::parse::runtime::LazyModel;
use crate::parse::{check_cancelled, cpu, runtime};
use cache::LineCache;
use decode::DecodedLine;
pub use resolution::ScanResolution;
use text_detection::TextDetector;
use text_recognition::TextRecogniser;

/// Recognised line of text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextLine {
    pub bounds: CaptureRect,
    pub text: String,
    /// Centre of each character, as a fraction of the width; empty if unknown.
    pub char_positions: Vec<f32>,
    /// Mean probability of the characters, 0 to 1.
    pub confidence: f32,
}

impl TextLine {
    /// Creates a line with unknown character positions.
    #[must_use]
    pub fn new(bounds: CaptureRect, text: impl Into<String>, confidence: f32) -> Self {
        Self {
            bounds,
            text: text.into(),
            char_positions: Vec::new(),
            confidence,
        }
    }
}

/// Detects and recognises text. Calls block: run them outside the async workers.
pub trait Reader: Send + Sync + fmt::Debug {
    /// Detects the text regions of `pixels`, each at most one line, in image pixels and in no particular order. Also
    /// returns the resolution that was used, which depends on the text height.
    ///
    /// # Errors
    /// [`Error::Cancelled`] soon after `cancel` is set; [`Error::ModelFileMissing`] or [`Error::ModelFileUnusable`] if
    /// the models cannot be loaded.
    fn detect_text(
        &self,
        pixels: &RgbaImage,
        cancel: &CancellationToken,
    ) -> Result<(Vec<CaptureRect>, ScanResolution), Error>;

    /// Detects text in the region `within`, at the resolution that [`Self::detect_text`] chose for an image of the same
    /// size. The region is inside the image; nothing outside it is scanned.
    ///
    /// # Errors
    /// Fails under the conditions of [`Self::detect_text`].
    fn detect_text_in(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        detail: ScanResolution,
        cancel: &CancellationToken,
    ) -> Result<Vec<CaptureRect>, Error>;

    /// Recognises the text of `boxes`, all of which are inside the image; `None` where the confidence is too low. Also
    /// returns the number of boxes that were not in the cache.
    ///
    /// # Errors
    /// Fails under the conditions of [`Self::detect_text`].
    fn recognise(
        &self,
        pixels: &RgbaImage,
        boxes: &[CaptureRect],
        cancel: &CancellationToken,
    ) -> Result<(usize, Vec<Option<TextLine>>), Error>;

    /// Loads the models that the first call would load.
    ///
    /// # Errors
    /// Fails under the conditions of [`Self::detect_text`].
    fn warm_up(&self) -> Result<(), Error>;
}

/// Paths of ONNX Runtime and the models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFiles {
    /// The ONNX Runtime library.
    pub runtime: PathBuf,
    /// Text detection model.
    pub text_detection: PathBuf,
    /// Text recognition model.
    pub text_recognition: PathBuf,
    /// Charset, one character per line, if the model does not contain it.
    pub charset: Option<PathBuf>,
}

impl ModelFiles {
    /// Returns the files in the layout of the data folder that set-up creates: for each model the fastest existing
    /// variant that suits this CPU.
    #[must_use]
    pub fn in_folder(data: &Path) -> Self {
        let models = data.join("models/ocr");
        Self {
            runtime: data.join("onnxruntime/libonnxruntime.so"),
            text_detection: model_variant::locator(&models),
            text_recognition: model_variant::recogniser(&models, cpu::has_vnni()),
            charset: None,
        }
    }
}

/// Settings of text recognition.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadSettings {
    /// Number of threads.
    pub threads: usize,
    /// Long side, in pixels, to which images are scaled for text detection. If much text is small, a higher resolution
    /// is used.
    pub text_detection_max_side: u32,
    /// Confidence threshold of lines, 0 to 1.
    pub min_confidence: f32,
    /// Number of cached lines.
    pub cache_lines: usize,
}

impl Default for ReadSettings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // More than four threads gain little on one image, and each recognition worker has its own buffers.
        Self {
            threads: cores.min(4),
            // A Full HD screen is read at its own size. Larger screens are scaled down, and read again at more if their
            // text is small.
            text_detection_max_side: 1920,
            // A lower threshold keeps text that was guessed from icons and edges; a higher one drops small and pale
            // text.
            min_confidence: 0.5,
            // A page full of text has about 150 lines, so that about a hundred such pages are kept.
            cache_lines: 16_384,
        }
    }
}

/// Text reader with two models of the PP-OCR family. They are loaded by the first call.
#[derive(Debug)]
pub struct PaddleReader {
    files: ModelFiles,
    settings: ReadSettings,
    /// Processes one image at a time.
    engine: LazyModel<OcrEngine>,
}

#[derive(Debug)]
struct OcrEngine {
    locator: TextDetector,
    recogniser: TextRecogniser,
    cache: LineCache,
}

impl PaddleReader {
    #[must_use]
    pub fn new(files: ModelFiles, settings: ReadSettings) -> Self {
        Self {
            files,
            settings,
            engine: LazyModel::new(),
        }
    }

    fn with_engine<T>(
        &self,
        work: impl FnOnce(&mut OcrEngine) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let load = || OcrEngine::load(&self.files, &self.settings);
        self.engine.with(load, work)
    }
}

impl Reader for PaddleReader {
    fn detect_text(
        &self,
        pixels: &RgbaImage,
        cancel: &CancellationToken,
    ) -> Result<(Vec<CaptureRect>, ScanResolution), Error> {
        self.with_engine(|engine| {
            check_cancelled(cancel)?;
            engine.locator.detect_all(pixels, cancel)
        })
    }

    fn detect_text_in(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        detail: ScanResolution,
        cancel: &CancellationToken,
    ) -> Result<Vec<CaptureRect>, Error> {
        self.with_engine(|engine| {
            check_cancelled(cancel)?;
            engine.locator.detect_in(pixels, within, detail, cancel)
        })
    }

    fn recognise(
        &self,
        pixels: &RgbaImage,
        boxes: &[CaptureRect],
        cancel: &CancellationToken,
    ) -> Result<(usize, Vec<Option<TextLine>>), Error> {
        let (read, texts) = self.with_engine(|engine| {
            check_cancelled(cancel)?;
            let cache = &mut engine.cache;
            engine.recogniser.read(pixels, boxes, cache, cancel)
        })?;
        let is_certain = |text: &DecodedLine| {
            text.confidence >= self.settings.min_confidence && !text.text.is_empty()
        };
        let lines = boxes.iter().zip(texts).map(|(&bounds, text)| {
            is_certain(&text).then_some(TextLine {
                bounds,
                text: text.text,
                char_positions: text.char_positions,
                confidence: text.confidence,
            })
        });
        Ok((read, lines.collect()))
    }

    fn warm_up(&self) -> Result<(), Error> {
        let nothing = RgbaImage::new(64, 64);
        self.detect_text(&nothing, &CancellationToken::new())
            .map(drop)
    }
}

impl OcrEngine {
    fn load(files: &ModelFiles, settings: &ReadSettings) -> Result<Self, Error> {
        let started = Instant::now();
        let environment = runtime::environment(&files.runtime)?;
        let locator = TextDetector::load(
            &environment,
            &files.text_detection,
            settings.threads,
            settings.text_detection_max_side,
        )?;
        let recogniser = TextRecogniser::load(
            &environment,
            &files.text_recognition,
            files.charset.as_deref(),
            settings.threads,
        )?;
        tracing::info!(
            locate = %files.text_detection.display(),
            recognise = %files.text_recognition.display(),
            elapsed_ms = started.elapsed().as_millis(),
            threads = settings.threads,
            "text models loaded"
        );
        Ok(Self {
            locator,
            recogniser,
            cache: LineCache::new(settings.cache_lines),
        })
    }
}
