//! Renders frames for a model, and converts the model's coordinates back.
//!
//! - [`sizes`]: image sizes of each provider
//! - `image_cache`: recently rendered images
//! - [`sent`]: an image that was sent, and the meaning of coordinates in it
//! - [`RequestImages`]: the images of one request, rendered on demand
//!
//! Each backend renders from full resolution; an image made for one provider is never reused for another. Nothing is
//! fetched here: an image that is only a reference is an error.

mod image_cache;
pub mod sent;
pub mod sizes;

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use image::RgbaImage;
use motorium_imaging::codec::{self, CodecError};
use motorium_imaging::marks;
use motorium_imaging::resize::{self, ResizeError};
use motorium_imaging::space::{ImageSize, SpaceError};
use motorium_proto::domain::element::Element;
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};
use motorium_proto::service::{ImageFormat, PlanRequest};
use motorium_text::hex;

use image_cache::Encoded;

pub use sent::{CoordinateConvention, CoordinateError, ReportedPoint, SentImage};
pub use sizes::SizeRule;

/// An image that cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the request has no screenshot")]
    NoImage,
    #[error("the request has no image with the checksum {0}")]
    Unknown(Checksum),
    #[error(
        "the image is only a reference ({uri}), which the Planner does not fetch; send its bytes"
    )]
    Reference { uri: String },
    #[error("the image is {width}x{height} pixels, but its frame is {frame_width}x{frame_height}")]
    SizeMismatch {
        width: u32,
        height: u32,
        frame_width: i32,
        frame_height: i32,
    },
    #[error("the image needs {bytes} bytes of base64 even as a JPEG; at most {limit} are allowed")]
    TooManyBytes { bytes: usize, limit: usize },
    #[error(transparent)]
    Codec(#[from] CodecError),
    #[error(transparent)]
    Region(#[from] ResizeError),
    #[error(transparent)]
    Space(#[from] SpaceError),
}

/// SHA-256 of an encoded image, by which conversations refer to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checksum(pub [u8; 32]);

impl Checksum {
    /// Parses the 64 hexadecimal digits that a [`Checksum`] is displayed as.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        hex::decode(digits).map(Self)
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checksum({self})")
    }
}

/// Image requirements of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSpec {
    pub rule: SizeRule,
    pub convention: CoordinateConvention,
    /// Maximum size of one image that the provider accepts, in bytes of base64; larger ones are sent as JPEG.
    pub max_base64_bytes: usize,
}

/// An encoded image for a request.
#[derive(Clone, PartialEq)]
pub struct RenderedImage {
    pub view: SentImage,
    /// Checksum of the original image in the request.
    pub original: Checksum,
    pub media_type: &'static str,
    pub base64: String,
}

impl RenderedImage {
    fn new(view: SentImage, original: Checksum, encoded: &Encoded) -> Self {
        Self {
            view,
            original,
            media_type: encoded.media_type,
            base64: encoded.base64.clone(),
        }
    }

    /// Returns a data URL with the image.
    #[must_use]
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64)
    }

    /// Returns the image as it was sent, byte for byte.
    #[must_use]
    pub fn to_image(&self) -> Option<Image> {
        // `base64` was encoded here, so it decodes.
        let bytes = STANDARD.decode(&self.base64).ok()?;
        let ImageSize { width, height, .. } = self.view.sent();
        Some(Image {
            sha256: codec::sha256(&bytes),
            content: ImageContent::Bytes(bytes.into()),
            media_type: self.media_type.to_owned(),
            width,
            height,
        })
    }
}

impl fmt::Debug for RenderedImage {
    // Pixels are private, and large.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendered")
            .field("view", &self.view)
            .field("original", &self.original)
            .field("media_type", &self.media_type)
            .field("base64", &format_args!("{} bytes", self.base64.len()))
            .finish()
    }
}

/// The images of one request. Cheap to create: nothing is decoded until a backend needs it.
pub struct RequestImages {
    frame: CaptureSize,
    current: Option<Image>,
    /// Images of earlier steps, and those of the user.
    others: Vec<Image>,
    /// Pixels of `current`, from the first use until [`RequestImages::release`].
    decoded: Mutex<Option<Arc<RgbaImage>>>,
    /// Pixels as sent, without annotations, until [`RequestImages::cache_current`].
    resized: Mutex<Option<Resized>>,
    /// Checksums under which the images that were rendered are stored, by a hash of their base64.
    names: Mutex<HashMap<u64, Checksum>>,
}

/// Pixels of the screen at the size that was sent.
struct Resized {
    view: SentImage,
    pixels: RgbaImage,
}

impl fmt::Debug for RequestImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestImages")
            .field("frame", &self.frame)
            .field("current", &self.current.as_ref().map(checksum))
            .field(
                "others",
                &self.others.iter().map(checksum).collect::<Vec<_>>(),
            )
            .finish_non_exhaustive()
    }
}

impl RequestImages {
    /// Returns the images of a request: the frame's, those of its history, and those of the user.
    #[must_use]
    pub fn of(request: &PlanRequest) -> Self {
        let past = request.history.iter().map(|step| &step.image);
        let of_user = request.context.images.iter().map(|one| &one.image);
        Self {
            frame: request.frame.size,
            current: request.image.clone(),
            others: past.chain(of_user).flatten().cloned().collect(),
            decoded: Mutex::new(None),
            resized: Mutex::new(None),
            names: Mutex::default(),
        }
    }

    /// Returns a single image as the current screen.
    #[must_use]
    pub fn of_image(image: &Image) -> Self {
        Self {
            frame: CaptureSize::new(side(image.width), side(image.height)),
            current: Some(image.clone()),
            others: Vec::new(),
            decoded: Mutex::new(None),
            resized: Mutex::new(None),
            names: Mutex::default(),
        }
    }

    /// Returns whether there is an image of the current screen.
    #[must_use]
    pub fn has_current(&self) -> bool {
        self.current.is_some()
    }

    /// Returns the checksum of the current screen's image.
    #[must_use]
    pub fn current_checksum(&self) -> Option<Checksum> {
        self.current.as_ref().map(checksum)
    }

    /// Returns whether the request has an image with this checksum.
    #[must_use]
    pub fn has(&self, wanted: Checksum) -> bool {
        self.find(wanted).is_some()
    }

    /// Renders the current screen.
    ///
    /// # Errors
    /// Fails if there is no image of it, or it cannot be decoded.
    pub fn current(&self, image_spec: ImageSpec) -> Result<RenderedImage, Error> {
        self.annotated(image_spec, &[])
    }

    /// Renders the current screen with a numbered box around each of the elements.
    ///
    /// # Errors
    /// Fails if there is no image of it, or it cannot be decoded.
    pub fn annotated(
        &self,
        image_spec: ImageSpec,
        elements: &[Element],
    ) -> Result<RenderedImage, Error> {
        let image = self.current.as_ref().ok_or(Error::NoImage)?;
        self.check_size(image.width, image.height)?;
        let view = SentImage::whole(self.frame, image_spec.rule, image_spec.convention)?;
        if elements.is_empty() {
            let rendered = plain(image, view, image_spec, || self.decoded())?;
            return Ok(self.named(rendered, checksum(image)));
        }
        let frame = self.decoded()?;
        let space = view.space()?;
        let mut pixels = resize::render(&frame, &space)?;
        if view.sent() != size_of(image) {
            let pixels = pixels.clone();
            *lock(&self.resized) = Some(Resized { view, pixels });
        }
        marks::draw(&mut pixels, &marks::marks(elements, self.frame, &space));
        let encoded = encoded(&pixels, image_spec)?;
        let rendered = RenderedImage::new(view, checksum(image), &encoded);
        // With its annotations it is another image, which is stored beside the screenshot.
        let stored = rendered
            .to_image()
            .map_or(rendered.original, |it| checksum(&it));
        Ok(self.named(rendered, stored))
    }

    /// Returns the checksum under which an image that was rendered is stored: that of the whole image for a region of it.
    #[must_use]
    pub fn name_of(&self, base64: &str) -> Option<Checksum> {
        lock(&self.names).get(&hash(base64)).copied()
    }

    fn named(&self, rendered: RenderedImage, stored: Checksum) -> RenderedImage {
        lock(&self.names).insert(hash(&rendered.base64), stored);
        rendered
    }

    /// Renders a region of the current screen, enlarged as far as the model allows (zoom).
    ///
    /// # Errors
    /// Fails if there is no image, or the region is not inside the frame.
    pub fn zoomed(
        &self,
        image_spec: ImageSpec,
        region: CaptureRect,
    ) -> Result<RenderedImage, Error> {
        let image = self.current.as_ref().ok_or(Error::NoImage)?;
        self.check_size(image.width, image.height)?;
        let sent = enlarged(region.size(), image_spec.rule);
        let view = SentImage::sent_at(sent, region, image_spec.rule, image_spec.convention)?;
        let pixels = resize::render(&*self.decoded()?, &view.space()?)?;
        let encoded = encoded(&pixels, image_spec)?;
        let rendered = RenderedImage::new(view, checksum(image), &encoded);
        Ok(self.named(rendered, checksum(image)))
    }

    /// Renders a region of an earlier screen.
    ///
    /// # Errors
    /// Fails if there is no such image, or the region is not inside it.
    pub fn zoomed_of(
        &self,
        image_spec: ImageSpec,
        wanted: Checksum,
        region: CaptureRect,
    ) -> Result<RenderedImage, Error> {
        if self.current_checksum() == Some(wanted) {
            return self.zoomed(image_spec, region);
        }
        let image = self.find(wanted).ok_or(Error::Unknown(wanted))?;
        let sent = enlarged(region.size(), image_spec.rule);
        let view = SentImage::sent_at(sent, region, image_spec.rule, image_spec.convention)?;
        let pixels = resize::render(&codec::decode(bytes(image)?)?, &view.space()?)?;
        let encoded = encoded(&pixels, image_spec)?;
        Ok(self.named(RenderedImage::new(view, wanted, &encoded), wanted))
    }

    /// Renders the image with this checksum as a whole, whichever of the request it is.
    ///
    /// # Errors
    /// Fails if there is none, or it cannot be decoded.
    pub fn whole(&self, image_spec: ImageSpec, wanted: Checksum) -> Result<RenderedImage, Error> {
        let image = self.find(wanted).ok_or(Error::Unknown(wanted))?;
        let size = CaptureSize::new(side(image.width), side(image.height));
        let view = SentImage::whole(size, image_spec.rule, image_spec.convention)?;
        let rendered = plain(image, view, image_spec, || {
            Ok(Arc::new(codec::decode(bytes(image)?)?))
        })?;
        Ok(self.named(rendered, wanted))
    }

    /// Caches the current screen without annotations, as later steps will show it, while it is decoded and resized. An
    /// image that cannot be cached is rendered again when needed.
    pub fn cache_current(&self, image_spec: ImageSpec) {
        let resized = lock(&self.resized).take();
        let (Some(Resized { view, pixels }), Some(image)) = (resized, &self.current) else {
            return;
        };
        let kept = key(image, view, image_spec)
            .and_then(|key| image_cache::get(key, || encoded(&pixels, image_spec)));
        if let Err(error) = kept {
            tracing::debug!(%error, "the screenshot is not cached for later steps");
        }
    }

    /// Releases the pixels: while models think, many requests wait and none needs its pixels.
    pub fn release(&self) {
        *lock(&self.decoded) = None;
        *lock(&self.resized) = None;
    }

    fn find(&self, wanted: Checksum) -> Option<&Image> {
        let mut all = self.current.iter().chain(&self.others);
        all.find(|image| checksum(image) == wanted)
    }

    fn check_size(&self, width: u32, height: u32) -> Result<(), Error> {
        let frame = self.frame;
        if (side(width), side(height)) == (frame.width, frame.height) {
            return Ok(());
        }
        Err(Error::SizeMismatch {
            width,
            height,
            frame_width: frame.width,
            frame_height: frame.height,
        })
    }

    /// Returns the pixels of the frame, decoded at the first use.
    fn decoded(&self) -> Result<Arc<RgbaImage>, Error> {
        let mut kept = lock(&self.decoded);
        if let Some(pixels) = &*kept {
            return Ok(Arc::clone(pixels));
        }
        let image = self.current.as_ref().ok_or(Error::NoImage)?;
        let pixels = Arc::new(codec::decode(bytes(image)?)?);
        self.check_size(pixels.width(), pixels.height())?;
        *kept = Some(Arc::clone(&pixels));
        Ok(pixels)
    }
}

/// Renders a whole image without annotations: unchanged if possible, or resized once for all steps that show it.
fn plain(
    image: &Image,
    view: SentImage,
    image_spec: ImageSpec,
    decode: impl FnOnce() -> Result<Arc<RgbaImage>, Error>,
) -> Result<RenderedImage, Error> {
    if let Some(encoded) = as_it_is(image, view, image_spec)? {
        return Ok(RenderedImage::new(view, checksum(image), &encoded));
    }
    let kept = image_cache::get(key(image, view, image_spec)?, || {
        let pixels = resize::render(&*decode()?, &view.space()?)?;
        encoded(&pixels, image_spec)
    })?;
    Ok(RenderedImage::new(view, checksum(image), &kept))
}

/// Returns the cache key of an image.
fn key(image: &Image, view: SentImage, image_spec: ImageSpec) -> Result<image_cache::Key, Error> {
    Ok(image_cache::Key {
        // Computed, not taken from the request: a forged checksum must not give access to the image of another task.
        original: Checksum(codec::sha256(bytes(image)?)),
        sent: view.sent(),
        max_base64: image_spec.max_base64_bytes,
    })
}

/// Hashes the base64 of an image. Only the few images of one request are told apart by it.
fn hash(base64: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    base64.hash(&mut hasher);
    hasher.finish()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the image unchanged, if it has the right size and a type that every provider reads.
fn as_it_is(
    image: &Image,
    view: SentImage,
    image_spec: ImageSpec,
) -> Result<Option<Encoded>, Error> {
    let media_type = match image.media_type.as_str() {
        "image/png" => "image/png",
        "image/jpeg" => "image/jpeg",
        _ => return Ok(None),
    };
    if view.sent() != size_of(image) {
        return Ok(None);
    }
    let data = bytes(image)?;
    // The size in the image header counts, not the one that the request states.
    let (width, height) = codec::dimensions(data)?;
    if ImageSize::new(width, height) != view.sent()
        || base64_length(data) > image_spec.max_base64_bytes
    {
        return Ok(None);
    }
    Ok(Some(Encoded {
        media_type,
        base64: STANDARD.encode(data),
    }))
}

/// Quality at which small text stays readable.
const JPEG: ImageFormat = ImageFormat::Jpeg { quality: 90 };

/// Encodes as PNG, which every provider reads and which keeps text sharp; as JPEG if the PNG is too large.
fn encoded(pixels: &RgbaImage, image_spec: ImageSpec) -> Result<Encoded, Error> {
    let limit = image_spec.max_base64_bytes;
    let mut image = codec::encode(pixels, ImageFormat::Png)?;
    let mut media_type = codec::media_type(ImageFormat::Png);
    if base64_length(bytes(&image)?) > limit {
        image = codec::encode(pixels, JPEG)?;
        media_type = codec::media_type(JPEG);
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

/// Returns the largest size that the rule allows for a region, with the same proportions.
fn enlarged(region: CaptureSize, rule: SizeRule) -> ImageSize {
    /// Maximum enlargement: more shows no further detail.
    const MAX_ENLARGEMENT: i32 = 8;
    /// Maximum number of pixels if the rule has no limit: bounds the size of the request.
    const MAX_PIXELS: i64 = 4_000_000;
    let times = |times: i32| {
        CaptureSize::new(
            region.width.saturating_mul(times),
            region.height.saturating_mul(times),
        )
    };
    let unresized = |size: CaptureSize| {
        i64::from(size.width) * i64::from(size.height) <= MAX_PIXELS
            && rule.sent_size(size)
                == ImageSize::new(size.width.unsigned_abs(), size.height.unsigned_abs())
    };
    let largest = (2..=MAX_ENLARGEMENT).rev().find(|by| unresized(times(*by)));
    rule.sent_size(times(largest.unwrap_or(1)))
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

fn size_of(image: &Image) -> ImageSize {
    ImageSize::new(image.width, image.height)
}

fn side(length: u32) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}
