//! From a frame to what a model is sent, and back from what the model says of it.
//!
//! - [`sizes`]: how large a picture each provider takes
//! - `shelf`: pictures that were rendered lately
//! - [`sent`]: a picture that was sent, and what coordinates in it mean
//! - [`Pictures`]: the pictures of one request, rendered when a backend asks for them
//!
//! Each backend renders anew from the full resolution: what was made for one provider is never passed on to another.
//! Nothing here fetches: a picture that travels as a reference is an error.

pub mod sent;
mod shelf;
pub mod sizes;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use image::RgbaImage;
use motorium_imaging::marks;
use motorium_imaging::picture::{self, PictureError};
use motorium_imaging::resize::{self, ResizeError};
use motorium_imaging::space::{PictureSize, SpaceError};
use motorium_proto::domain::element::Element;
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};
use motorium_proto::service::{ImageFormat, PlanRequest};

use shelf::Encoded;

pub use sent::{Convention, OffPicture, SaidPoint, SentPicture};
pub use sizes::SizeRule;

/// Why there is no picture to send.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the request has no picture of the screen")]
    NoImage,
    #[error("the request has no picture with the checksum {0}")]
    Unknown(Checksum),
    #[error("the picture is only referred to ({uri}), and this Planner cannot fetch it")]
    Reference { uri: String },
    #[error(
        "the picture is {width}x{height} pixels, and its frame is {frame_width}x{frame_height}"
    )]
    OtherSize {
        width: u32,
        height: u32,
        frame_width: i32,
        frame_height: i32,
    },
    #[error("the picture takes {bytes} bytes even as a JPEG, and at most {limit} are allowed")]
    TooManyBytes { bytes: usize, limit: usize },
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error(transparent)]
    Region(#[from] ResizeError),
    #[error(transparent)]
    Space(#[from] SpaceError),
}

/// The SHA-256 of an encoded picture, by which conversations refer to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checksum(pub [u8; 32]);

impl Checksum {
    /// Reads the 64 hexadecimal digits that [`Checksum`] is written as.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        if digits.len() != 64 || !digits.is_ascii() {
            return None;
        }
        let mut checksum = [0; 32];
        for (byte, pair) in checksum.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Self(checksum))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checksum({self})")
    }
}

/// How a model wants its pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taste {
    pub rule: SizeRule,
    pub convention: Convention,
    /// Most bytes in Base64 that the provider takes of one picture; above that it is sent as a JPEG.
    pub max_base64: usize,
}

/// A picture, ready to be put into a request.
#[derive(Clone, PartialEq)]
pub struct Rendered {
    pub view: SentPicture,
    /// Of the picture that it was made from, as the request has it.
    pub original: Checksum,
    pub media_type: &'static str,
    pub base64: String,
}

impl Rendered {
    fn new(view: SentPicture, original: Checksum, encoded: &Encoded) -> Self {
        Self {
            view,
            original,
            media_type: encoded.media_type,
            base64: encoded.base64.clone(),
        }
    }

    /// As a URL that holds the picture itself.
    #[must_use]
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64)
    }
}

impl fmt::Debug for Rendered {
    // Pixels are private, and long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendered")
            .field("view", &self.view)
            .field("original", &self.original)
            .field("media_type", &self.media_type)
            .field("base64", &format_args!("{} bytes", self.base64.len()))
            .finish()
    }
}

/// The pictures of one request. Cheap to make: nothing is decoded until a backend wants it.
pub struct Pictures {
    frame: CaptureSize,
    current: Option<Image>,
    past: Vec<Image>,
    /// The pixels of `current`, from the first use to [`Pictures::release`].
    decoded: Mutex<Option<Arc<RgbaImage>>>,
    /// The same as they were sent, before marks were drawn on them, until [`Pictures::keep_for_later`].
    resized: Mutex<Option<Resized>>,
}

/// Pixels of the screen at the size at which they were sent.
struct Resized {
    view: SentPicture,
    pixels: RgbaImage,
}

impl fmt::Debug for Pictures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pictures")
            .field("frame", &self.frame)
            .field("current", &self.current.as_ref().map(checksum))
            .field("past", &self.past.iter().map(checksum).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Pictures {
    /// Those of a request: its frame's, and those of its history.
    #[must_use]
    pub fn of(request: &PlanRequest) -> Self {
        Self {
            frame: request.frame.size,
            current: request.image.clone(),
            past: request
                .history
                .iter()
                .filter_map(|step| step.image.clone())
                .collect(),
            decoded: Mutex::new(None),
            resized: Mutex::new(None),
        }
    }

    /// One picture by itself, as the screen that it shows.
    #[must_use]
    pub fn of_image(image: &Image) -> Self {
        Self {
            frame: CaptureSize::new(side(image.width), side(image.height)),
            current: Some(image.clone()),
            past: Vec::new(),
            decoded: Mutex::new(None),
            resized: Mutex::new(None),
        }
    }

    /// Whether there is a picture of the screen as it is.
    #[must_use]
    pub fn has_current(&self) -> bool {
        self.current.is_some()
    }

    /// The checksum of the picture of the screen as it is.
    #[must_use]
    pub fn current_checksum(&self) -> Option<Checksum> {
        self.current.as_ref().map(checksum)
    }

    /// Whether the request has a picture of that checksum, in its frame or in its history.
    #[must_use]
    pub fn has(&self, wanted: Checksum) -> bool {
        self.find(wanted).is_some()
    }

    /// The screen as it is.
    ///
    /// # Errors
    /// If there is no picture of it, or it cannot be read.
    pub fn current(&self, taste: Taste) -> Result<Rendered, Error> {
        self.marked(taste, &[])
    }

    /// The screen as it is, with a numbered box around each of the elements.
    ///
    /// # Errors
    /// If there is no picture of it, or it cannot be read.
    pub fn marked(&self, taste: Taste, elements: &[Element]) -> Result<Rendered, Error> {
        let image = self.current.as_ref().ok_or(Error::NoImage)?;
        self.check_size(image.width, image.height)?;
        let view = SentPicture::whole(self.frame, taste.rule, taste.convention)?;
        if elements.is_empty() {
            return plain(image, view, taste, || self.decoded());
        }
        let frame = self.decoded()?;
        let space = view.space()?;
        let mut pixels = resize::render(&frame, &space)?;
        if view.sent() != size_of(image) {
            let pixels = pixels.clone();
            *lock(&self.resized) = Some(Resized { view, pixels });
        }
        marks::draw(&mut pixels, &marks::marks(elements, self.frame, &space));
        let encoded = encoded(&pixels, taste)?;
        Ok(Rendered::new(view, checksum(image), &encoded))
    }

    /// A region of the screen as it is, made as large as the model takes it: a closer look.
    ///
    /// # Errors
    /// If there is no picture, or the region is not inside the frame.
    pub fn closer(&self, taste: Taste, region: CaptureRect) -> Result<Rendered, Error> {
        let image = self.current.as_ref().ok_or(Error::NoImage)?;
        self.check_size(image.width, image.height)?;
        let sent = enlarged(region.size(), taste.rule);
        let view = SentPicture::sent_at(sent, region, taste.rule, taste.convention)?;
        let pixels = resize::render(&*self.decoded()?, &view.space()?)?;
        let encoded = encoded(&pixels, taste)?;
        Ok(Rendered::new(view, checksum(image), &encoded))
    }

    /// The same, of a screen that was shown before.
    ///
    /// # Errors
    /// If there is no such picture, or the region is not inside it.
    pub fn closer_of(
        &self,
        taste: Taste,
        wanted: Checksum,
        region: CaptureRect,
    ) -> Result<Rendered, Error> {
        if self.current_checksum() == Some(wanted) {
            return self.closer(taste, region);
        }
        let image = self.find(wanted).ok_or(Error::Unknown(wanted))?;
        let sent = enlarged(region.size(), taste.rule);
        let view = SentPicture::sent_at(sent, region, taste.rule, taste.convention)?;
        let pixels = resize::render(&picture::decode(bytes(image)?)?, &view.space()?)?;
        let encoded = encoded(&pixels, taste)?;
        Ok(Rendered::new(view, wanted, &encoded))
    }

    /// The picture of that checksum, from the frame or from the history.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn past(&self, taste: Taste, wanted: Checksum) -> Result<Rendered, Error> {
        let image = self.find(wanted).ok_or(Error::Unknown(wanted))?;
        let size = CaptureSize::new(side(image.width), side(image.height));
        let view = SentPicture::whole(size, taste.rule, taste.convention)?;
        plain(image, view, taste, || {
            Ok(Arc::new(picture::decode(bytes(image)?)?))
        })
    }

    /// Puts the screen as it is on the shelf, without marks, as the next steps will show it: now it is decoded and resized.
    /// What cannot be kept is made anew when it is wanted.
    pub fn keep_for_later(&self, taste: Taste) {
        let resized = lock(&self.resized).take();
        let (Some(Resized { view, pixels }), Some(image)) = (resized, &self.current) else {
            return;
        };
        let kept =
            key(image, view, taste).and_then(|key| shelf::get(key, || encoded(&pixels, taste)));
        if let Err(error) = kept {
            tracing::debug!(%error, "the screen is not kept for later steps");
        }
    }

    /// Lets go of the pixels: while a model thinks, many requests wait and none of them looks at pixels.
    pub fn release(&self) {
        *lock(&self.decoded) = None;
        *lock(&self.resized) = None;
    }

    fn find(&self, wanted: Checksum) -> Option<&Image> {
        let mut all = self.current.iter().chain(&self.past);
        all.find(|image| checksum(image) == wanted)
    }

    fn check_size(&self, width: u32, height: u32) -> Result<(), Error> {
        let frame = self.frame;
        if (side(width), side(height)) == (frame.width, frame.height) {
            return Ok(());
        }
        Err(Error::OtherSize {
            width,
            height,
            frame_width: frame.width,
            frame_height: frame.height,
        })
    }

    /// The pixels of the frame, decoded at the first use.
    fn decoded(&self) -> Result<Arc<RgbaImage>, Error> {
        let mut kept = lock(&self.decoded);
        if let Some(pixels) = &*kept {
            return Ok(Arc::clone(pixels));
        }
        let image = self.current.as_ref().ok_or(Error::NoImage)?;
        let pixels = Arc::new(picture::decode(bytes(image)?)?);
        self.check_size(pixels.width(), pixels.height())?;
        *kept = Some(Arc::clone(&pixels));
        Ok(pixels)
    }
}

/// A whole picture without marks: as it came, or resized, which is done once for all steps that show it.
fn plain(
    image: &Image,
    view: SentPicture,
    taste: Taste,
    decode: impl FnOnce() -> Result<Arc<RgbaImage>, Error>,
) -> Result<Rendered, Error> {
    if let Some(encoded) = as_it_is(image, view, taste)? {
        return Ok(Rendered::new(view, checksum(image), &encoded));
    }
    let kept = shelf::get(key(image, view, taste)?, || {
        let pixels = resize::render(&*decode()?, &view.space()?)?;
        encoded(&pixels, taste)
    })?;
    Ok(Rendered::new(view, checksum(image), &kept))
}

/// What a picture is kept by.
fn key(image: &Image, view: SentPicture, taste: Taste) -> Result<shelf::Key, Error> {
    Ok(shelf::Key {
        // Not the one that the request states: nobody gets the picture of another by stating its checksum.
        original: Checksum(picture::sha256(bytes(image)?)),
        sent: view.sent(),
        max_base64: taste.max_base64,
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A picture that need not be changed, unless it is of a kind that not every provider reads.
fn as_it_is(image: &Image, view: SentPicture, taste: Taste) -> Result<Option<Encoded>, Error> {
    let media_type = match image.media_type.as_str() {
        "image/png" => "image/png",
        "image/jpeg" => "image/jpeg",
        _ => return Ok(None),
    };
    if view.sent() != size_of(image) {
        return Ok(None);
    }
    let data = bytes(image)?;
    // The head of the picture is believed, not what the request says of it.
    let (width, height) = picture::dimensions(data)?;
    if PictureSize::new(width, height) != view.sent() || base64_length(data) > taste.max_base64 {
        return Ok(None);
    }
    Ok(Some(Encoded {
        media_type,
        base64: STANDARD.encode(data),
    }))
}

/// Good enough to read small text by.
const JPEG: ImageFormat = ImageFormat::Jpeg { quality: 90 };

/// As a PNG, which every provider reads and which keeps text sharp; as a JPEG where that would be too large.
fn encoded(pixels: &RgbaImage, taste: Taste) -> Result<Encoded, Error> {
    let limit = taste.max_base64;
    let mut image = picture::encode(pixels, ImageFormat::Png)?;
    let mut media_type = picture::media_type(ImageFormat::Png);
    if base64_length(bytes(&image)?) > limit {
        image = picture::encode(pixels, JPEG)?;
        media_type = picture::media_type(JPEG);
    }
    let data = bytes(&image)?;
    if base64_length(data) > limit {
        let bytes = base64_length(data);
        return Err(Error::TooManyBytes { bytes, limit });
    }
    Ok(Encoded {
        media_type,
        base64: STANDARD.encode(data),
    })
}

/// A region as large as the rule allows it, with its proportions.
fn enlarged(region: CaptureSize, rule: SizeRule) -> PictureSize {
    /// More than this shows nothing that was not seen before.
    const MOST: i32 = 8;
    /// In pixels, where the rule knows no end.
    const MOST_PIXELS: i64 = 4_000_000;
    let times = |times: i32| {
        CaptureSize::new(
            region.width.saturating_mul(times),
            region.height.saturating_mul(times),
        )
    };
    let unresized = |size: CaptureSize| {
        i64::from(size.width) * i64::from(size.height) <= MOST_PIXELS
            && rule.sent(size)
                == PictureSize::new(size.width.unsigned_abs(), size.height.unsigned_abs())
    };
    let largest = (2..=MOST).rev().find(|by| unresized(times(*by)));
    rule.sent(times(largest.unwrap_or(1)))
}

fn bytes(image: &Image) -> Result<&Bytes, Error> {
    match &image.content {
        ImageContent::Bytes(bytes) => Ok(bytes),
        ImageContent::BlobUri(uri) => Err(Error::Reference { uri: uri.clone() }),
    }
}

fn checksum(image: &Image) -> Checksum {
    Checksum(image.sha256)
}

fn base64_length(data: &[u8]) -> usize {
    data.len().div_ceil(3) * 4
}

fn size_of(image: &Image) -> PictureSize {
    PictureSize::new(image.width, image.height)
}

fn side(length: u32) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}
