//! Image codecs: encodes and decodes PNG, lossless WebP and JPEG, and converts captured BGRX to RGBA.
//!
//! Frames are opaque, so all formats are written without alpha.
//!
//! Invariant: decoding allocates no pixels before the size of the image has been accepted.

use std::fmt;
use std::io::Cursor;

use bytes::Bytes;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::codecs::webp::WebPEncoder;
use image::metadata::Orientation;
use image::{
    ColorType, DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError,
    ImageFormat, ImageReader, Limits, RgbaImage,
};
use jpeg_encoder::{ColorType as JpegColour, SamplingFactor};
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};
use motorium_proto::service::ImageFormat as Format;
use multiversion::multiversion;
use sha2::{Digest, Sha256};

/// Maximum side of a decoded image, in pixels: four 4K screens side by side. This is also the limit of WebP.
pub const MAX_SIDE: u32 = 16_384;
/// Maximum number of pixels of a decoded image.
// More than any display has, and little enough that a small file cannot exhaust the memory.
pub const MAX_PIXELS: u64 = 100_000_000;
/// Maximum memory of a decoder; enough for [`MAX_PIXELS`] of 8-bit RGBA.
const MAX_DECODER_BYTES: u64 = 512 << 20;

/// Error of encoding, decoding or converting an image.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    #[error(
        "an image of {width}x{height} pixels is too large: the maximum is {MAX_SIDE} per side and {MAX_PIXELS} in total"
    )]
    TooLarge { width: u32, height: u32 },
    #[error("an image of {width}x{height} pixels is empty: both sides must be at least 1")]
    Empty { width: u32, height: u32 },
    #[error("the image format is not supported")]
    UnknownFormat,
    #[error("the {format} image cannot be decoded: {reason}")]
    Unreadable {
        format: &'static str,
        reason: String,
    },
    #[error("the image cannot be encoded as {format}: {reason}")]
    NotEncoded {
        format: &'static str,
        reason: String,
    },
    #[error("{got} bytes are too few for {height} rows of {stride} bytes with {width} pixels each")]
    BufferTooSmall {
        width: u32,
        height: u32,
        stride: usize,
        got: usize,
    },
}

/// Encodes an image without alpha and computes its checksum.
///
/// # Errors
/// If the image is empty, or larger than [`MAX_SIDE`] and [`MAX_PIXELS`] allow.
pub fn encode(pixels: &RgbaImage, format: Format) -> Result<Image, CodecError> {
    let (width, height) = pixels.dimensions();
    check_size(width, height)?;
    let data = match format {
        Format::Png => encode_png(pixels),
        Format::WebpLossless => encode_webp(pixels),
        Format::Jpeg { quality } => encode_jpeg(pixels, quality.clamp(1, 100)),
    }?;
    Ok(Image {
        sha256: sha256(&data),
        content: ImageContent::Bytes(Bytes::from(data)),
        media_type: media_type(format).to_owned(),
        width,
        height,
    })
}

/// Returns the media type of a format.
#[must_use]
pub fn media_type(format: Format) -> &'static str {
    match format {
        Format::Png => "image/png",
        Format::WebpLossless => "image/webp",
        Format::Jpeg { .. } => "image/jpeg",
    }
}

/// Returns the size of an image in capture pixels.
#[must_use]
pub fn size_of(pixels: &RgbaImage) -> CaptureSize {
    let side = |length: u32| i32::try_from(length).unwrap_or(i32::MAX);
    CaptureSize::new(side(pixels.width()), side(pixels.height()))
}

/// Uses the fastest compression: screenshots have many equal rows, so a higher level saves few bytes.
fn encode_png(pixels: &RgbaImage) -> Result<Vec<u8>, CodecError> {
    let mut data = Vec::new();
    PngEncoder::new_with_quality(&mut data, CompressionType::Fast, FilterType::Adaptive)
        .write_image(
            &without_alpha(pixels),
            pixels.width(),
            pixels.height(),
            ExtendedColorType::Rgb8,
        )
        .map_err(|error| not_encoded("PNG", error))?;
    Ok(data)
}

fn encode_webp(pixels: &RgbaImage) -> Result<Vec<u8>, CodecError> {
    let mut data = Vec::new();
    WebPEncoder::new_lossless(&mut data)
        .write_image(
            &without_alpha(pixels),
            pixels.width(),
            pixels.height(),
            ExtendedColorType::Rgb8,
        )
        .map_err(|error| not_encoded("WebP", error))?;
    Ok(data)
}

/// Uses full chroma resolution: subsampling blurs coloured text.
fn encode_jpeg(pixels: &RgbaImage, quality: u8) -> Result<Vec<u8>, CodecError> {
    let side = |length: u32| u16::try_from(length).map_err(|error| not_encoded("JPEG", error));
    let (width, height) = (side(pixels.width())?, side(pixels.height())?);
    let mut data = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut data, quality);
    encoder.set_sampling_factor(SamplingFactor::F_1_1);
    encoder
        .encode(pixels, width, height, JpegColour::Rgba)
        .map_err(|error| not_encoded("JPEG", error))?;
    Ok(data)
}

fn not_encoded(format: &'static str, error: impl fmt::Display) -> CodecError {
    CodecError::NotEncoded {
        format,
        reason: error.to_string(),
    }
}

/// Computes the checksum under which an image is stored and referenced.
#[must_use]
pub fn sha256(data: &[u8]) -> [u8; 32] {
    Sha256::digest(data).into()
}

/// Decodes a PNG, WebP or JPEG, detected by content, to opaque 8-bit pixels: deeper channels are rounded, the first
/// image of an animation is used, and transparency is flattened on white. EXIF orientation is not applied.
///
/// # Errors
/// If the format is unsupported, the image is too large or empty, or the data is damaged.
pub fn decode(data: &[u8]) -> Result<RgbaImage, CodecError> {
    let format = known_format(data)?;
    let mut reader = ImageReader::with_format(Cursor::new(data), format);
    reader.limits(limits());
    let decoder = reader
        .into_decoder()
        .map_err(|error| unreadable(format, error))?;
    let (width, height) = decoder.dimensions();
    check_size(width, height)?;
    if decoder.color_type() == ColorType::Rgb8 {
        return decode_rgb(decoder).map_err(|error| unreadable(format, error));
    }
    let image = DynamicImage::from_decoder(decoder).map_err(|error| unreadable(format, error))?;
    let has_alpha = image.color().has_alpha();
    let mut pixels = image.into_rgba8();
    if has_alpha {
        flatten_on_white(&mut pixels);
    }
    Ok(pixels)
}

/// A decoded image from a user: upright, and opaque.
#[derive(Debug, Clone)]
pub struct Upright {
    pub pixels: RgbaImage,
    /// True if the encoded image differs: it was turned, or its transparency was flattened.
    pub is_changed: bool,
}

/// Decodes as [`decode`], and applies the EXIF orientation: cameras store photos lying on their side.
///
/// # Errors
/// Fails under the conditions of [`decode`].
pub fn decode_upright(data: &[u8]) -> Result<Upright, CodecError> {
    let format = known_format(data)?;
    let mut reader = ImageReader::with_format(Cursor::new(data), format);
    reader.limits(limits());
    let mut decoder = reader
        .into_decoder()
        .map_err(|error| unreadable(format, error))?;
    let (width, height) = decoder.dimensions();
    check_size(width, height)?;
    // Malformed metadata does not make the pixels unreadable.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image =
        DynamicImage::from_decoder(decoder).map_err(|error| unreadable(format, error))?;
    image.apply_orientation(orientation);
    let has_alpha = image.color().has_alpha();
    let mut pixels = image.into_rgba8();
    if has_alpha {
        flatten_on_white(&mut pixels);
    }
    Ok(Upright {
        pixels,
        is_changed: has_alpha || orientation != Orientation::NoTransforms,
    })
}

/// Returns the media type of a PNG, WebP or JPEG, detected by content; `None` for anything else.
#[must_use]
pub fn detected_media_type(data: &[u8]) -> Option<&'static str> {
    Some(match known_format(data).ok()? {
        ImageFormat::Png => "image/png",
        ImageFormat::WebP => "image/webp",
        _ => "image/jpeg",
    })
}

/// Decodes RGB, the format of almost every screenshot. The generic conversion of the library takes several times as
/// long.
fn decode_rgb(decoder: impl ImageDecoder) -> Result<RgbaImage, ImageError> {
    let (width, height) = decoder.dimensions();
    let mut rgb = vec![0; width as usize * height as usize * 3];
    decoder.read_image(&mut rgb)?;
    let mut pixels = RgbaImage::new(width, height);
    add_alpha(&rgb, &mut pixels);
    Ok(pixels)
}

/// Flattens transparency on white, the usual background of a page.
fn flatten_on_white(pixels: &mut RgbaImage) {
    for pixel in pixels.as_chunks_mut::<4>().0 {
        let alpha = u16::from(pixel[3]);
        for channel in &mut pixel[..3] {
            // Rounded to nearest; exact for opaque and for fully transparent pixels.
            let laid = u16::from(*channel) * alpha + 255 * (255 - alpha);
            *channel = ((laid + 127) / 255) as u8;
        }
        pixel[3] = u8::MAX;
    }
}

/// Returns the width and height stated in the header of an image.
///
/// # Errors
/// Fails under the conditions of [`decode`], as far as the header shows it.
pub fn dimensions(data: &[u8]) -> Result<(u32, u32), CodecError> {
    let format = known_format(data)?;
    let mut reader = ImageReader::with_format(Cursor::new(data), format);
    reader.limits(limits());
    let (width, height) = reader
        .into_dimensions()
        .map_err(|error| unreadable(format, error))?;
    check_size(width, height)?;
    Ok((width, height))
}

fn known_format(data: &[u8]) -> Result<ImageFormat, CodecError> {
    match image::guess_format(data) {
        Ok(format @ (ImageFormat::Png | ImageFormat::WebP | ImageFormat::Jpeg)) => Ok(format),
        _ => Err(CodecError::UnknownFormat),
    }
}

/// Limits the memory only, so that the error can name the size; `check_size` limits the sides before pixels are
/// decoded.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODER_BYTES);
    limits
}

fn unreadable(format: ImageFormat, error: ImageError) -> CodecError {
    let format = match format {
        ImageFormat::Png => "PNG",
        ImageFormat::WebP => "WebP",
        _ => "JPEG",
    };
    CodecError::Unreadable {
        format,
        reason: error.to_string(),
    }
}

fn check_size(width: u32, height: u32) -> Result<(), CodecError> {
    if width == 0 || height == 0 {
        return Err(CodecError::Empty { width, height });
    }
    if width > MAX_SIDE || height > MAX_SIDE || u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(CodecError::TooLarge { width, height });
    }
    Ok(())
}

fn without_alpha(pixels: &RgbaImage) -> Vec<u8> {
    let mut rgb = vec![0; pixels.len() / 4 * 3];
    drop_alpha(pixels, &mut rgb);
    rgb
}

#[multiversion(targets = "simd")]
fn drop_alpha(rgba: &[u8], rgb: &mut [u8]) {
    let (from, _) = rgba.as_chunks::<4>();
    let (to, _) = rgb.as_chunks_mut::<3>();
    for (to, from) in to.iter_mut().zip(from) {
        *to = [from[0], from[1], from[2]];
    }
}

#[multiversion(targets = "simd")]
fn add_alpha(rgb: &[u8], rgba: &mut [u8]) {
    let (from, _) = rgb.as_chunks::<3>();
    let (to, _) = rgba.as_chunks_mut::<4>();
    for (to, from) in to.iter_mut().zip(from) {
        *to = [from[0], from[1], from[2], u8::MAX];
    }
}

/// Converts rows of an X11 image (blue, green, red, unused; `stride` bytes per row) to opaque RGBA.
///
/// # Errors
/// If the image is empty or too large, or the buffer is smaller than its rows.
pub fn from_bgrx(
    data: &[u8],
    width: u32,
    height: u32,
    stride: usize,
) -> Result<RgbaImage, CodecError> {
    check_size(width, height)?;
    let mut pixels = RgbaImage::new(width, height);
    refill_from_bgrx(&mut pixels, data, stride)?;
    Ok(pixels)
}

/// Converts rows of an X11 image into an existing image, in the format of [`from_bgrx`]. Reusing the memory saves more
/// than the conversion costs.
///
/// # Errors
/// If the buffer is smaller than its rows.
pub fn refill_from_bgrx(
    pixels: &mut RgbaImage,
    data: &[u8],
    stride: usize,
) -> Result<(), CodecError> {
    let (width, height) = pixels.dimensions();
    let row_bytes = width as usize * 4;
    let needed = stride * (height.max(1) as usize - 1) + row_bytes;
    if stride < row_bytes || data.len() < needed {
        return Err(CodecError::BufferTooSmall {
            width,
            height,
            stride,
            got: data.len(),
        });
    }
    for (to, from) in pixels
        .chunks_exact_mut(row_bytes.max(1))
        .zip(data.chunks(stride.max(1)))
    {
        swap_row(&from[..row_bytes], to);
    }
    Ok(())
}

/// Updates a region: the rows of the box `bounds`, without padding.
///
/// # Errors
/// If the box is not inside the image, or the buffer is smaller than its rows.
pub fn patch_from_bgrx(
    pixels: &mut RgbaImage,
    bounds: CaptureRect,
    data: &[u8],
) -> Result<(), CodecError> {
    if bounds.is_empty() {
        return Ok(());
    }
    let (width, height) = (bounds.width() as u32, bounds.height() as u32);
    let row_bytes = width as usize * 4;
    let inside = CaptureRect::from_size(size_of(pixels)).contains_box(&bounds);
    if !inside || data.len() < row_bytes * height as usize {
        return Err(CodecError::BufferTooSmall {
            width,
            height,
            stride: row_bytes,
            got: data.len(),
        });
    }
    let stride = pixels.width() as usize * 4;
    let first = bounds.min.y as usize * stride + bounds.min.x as usize * 4;
    let rows = (**pixels)[first..].chunks_mut(stride);
    for (to, from) in rows.zip(data.chunks_exact(row_bytes).take(height as usize)) {
        swap_row(from, &mut to[..row_bytes]);
    }
    Ok(())
}

#[multiversion(targets = "simd")]
fn swap_row(bgrx: &[u8], rgba: &mut [u8]) {
    let (from, _) = bgrx.as_chunks::<4>();
    let (to, _) = rgba.as_chunks_mut::<4>();
    for (to, from) in to.iter_mut().zip(from) {
        // One 32-bit word per pixel, which the compiler vectorises.
        let word = u32::from_le_bytes(*from);
        let swapped = ((word >> 16) & 0xff) | (word & 0xff00) | ((word & 0xff) << 16) | 0xff00_0000;
        *to = swapped.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use proptest::prelude::*;

    use super::*;

    /// Opaque test image with edges and colours.
    fn sample(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_fn(width, height, |x, y| {
            Rgba([
                (x * 7) as u8,
                (y * 13) as u8,
                if (x / 3 + y / 5) % 2 == 0 { 255 } else { 20 },
                255,
            ])
        })
    }

    fn bytes(image: &Image) -> &[u8] {
        match &image.content {
            ImageContent::Bytes(bytes) => bytes,
            ImageContent::BlobUri(uri) => panic!("{uri} is a reference"),
        }
    }

    #[test]
    fn lossless_formats_bring_every_pixel_back() {
        for format in [Format::Png, Format::WebpLossless] {
            let pixels = sample(63, 41);
            let image = encode(&pixels, format).unwrap();
            assert_eq!(decode(bytes(&image)).unwrap(), pixels, "{format:?}");
            assert_eq!(dimensions(bytes(&image)).unwrap(), (63, 41));
            assert_eq!((image.width, image.height), (63, 41));
            assert_eq!(image.sha256, sha256(bytes(&image)));
        }
    }

    #[test]
    fn jpeg_brings_nearly_every_pixel_back() {
        let pixels = RgbaImage::from_pixel(64, 64, Rgba([200, 30, 90, 255]));
        let image = encode(&pixels, Format::Jpeg { quality: 90 }).unwrap();
        assert_eq!(image.media_type, "image/jpeg");
        for (got, expected) in decode(bytes(&image)).unwrap().iter().zip(pixels.iter()) {
            assert!(got.abs_diff(*expected) <= 4);
        }
    }

    #[test]
    fn an_impossible_quality_is_brought_into_range() {
        for quality in [0, 255] {
            assert!(encode(&sample(8, 8), Format::Jpeg { quality }).is_ok());
        }
    }

    /// A PNG header that states a size, with almost no pixels.
    fn png_head(width: u32, height: u32) -> Vec<u8> {
        let mut png = bytes(&encode(&sample(1, 1), Format::Png).unwrap()).to_vec();
        png[16..20].copy_from_slice(&width.to_be_bytes());
        png[20..24].copy_from_slice(&height.to_be_bytes());
        let checksum = crc32(&png[12..29]);
        png[29..33].copy_from_slice(&checksum.to_be_bytes());
        png
    }

    fn crc32(data: &[u8]) -> u32 {
        !data.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg())
            })
        })
    }

    #[test]
    fn oversized_image_is_refused_by_its_header() {
        for (width, height) in [(16_385, 1), (1, 16_385), (10_001, 10_000)] {
            let refused = decode(&png_head(width, height)).unwrap_err();
            assert!(
                matches!(refused, CodecError::TooLarge { width: w, height: h } if (w, h) == (width, height)),
                "{refused}"
            );
            assert!(matches!(
                dimensions(&png_head(width, height)),
                Err(CodecError::TooLarge { .. })
            ));
        }
    }

    #[test]
    fn absurd_image_dimensions_are_refused_by_the_header() {
        let refused = decode(&png_head(u32::MAX >> 1, u32::MAX >> 1)).unwrap_err();
        assert!(refused.to_string().contains("limit exceeded"), "{refused}");
    }

    fn check_refused(data: &[u8], expected: &str) {
        let message = decode(data).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn undecodable_images_are_refused() {
        check_refused(b"", "the image format is not supported");
        check_refused(
            b"GIF89a\x01\x00\x01\x00",
            "the image format is not supported",
        );
        check_refused(b"<svg/>", "the image format is not supported");
        let png = encode(&sample(30, 30), Format::Png).unwrap();
        check_refused(&bytes(&png)[..60], "PNG image cannot be decoded");
        let jpeg = encode(&sample(30, 30), Format::Jpeg { quality: 80 }).unwrap();
        check_refused(&bytes(&jpeg)[..20], "JPEG image cannot be decoded");
        let webp = encode(&sample(30, 30), Format::WebpLossless).unwrap();
        check_refused(&bytes(&webp)[..30], "WebP image cannot be decoded");
    }

    /// Animations with two frames of 4×3 pixels, the first red, the second blue, as Pillow writes them.
    const ANIMATED: [&[u8]; 2] = [
        b"RIFF\x84\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x03\0\0\x02\0\0ANIM\x06\0\0\0\0\0\0\0\0\0ANMF(\0\0\0\
          \0\0\0\0\0\0\x03\0\0\x02\0\0d\0\0\x02VP8L\x0f\0\0\0/\x03\x80\0\0\x07\x10\xfd\x8f\xfe\x07\"\xa2\
          \xff\x01\0ANMF(\0\0\0\0\0\0\0\0\0\x03\0\0\x02\0\0d\0\0\0VP8L\x0f\0\0\0/\x03\x80\0\0\x07\x10\xd1\
          \xff\xfe\x07\"\xa2\xff\x01\0",
        b"\x89PNG\x0d\x0a\x1a\x0a\0\0\0\x0dIHDR\0\0\0\x04\0\0\0\x03\x08\x02\0\0\0;\x969\x91\0\0\0\x08acTL\
          \0\0\0\x02\0\0\0\0\xf3\x8d\x93p\0\0\0\x1afcTL\0\0\0\0\0\0\0\x04\0\0\0\x03\0\0\0\0\0\0\0\0\0\x01\
          \0\x0a\0\0\xccs\x0c\xfb\0\0\0\x10IDATx\x9cc\xfc\xcf\x80\0L\x0c\xb88\0&v\x01\x05\xe4\xf3\xb8\xd5\
          \0\0\0\x1afcTL\0\0\0\x01\0\0\0\x04\0\0\0\x03\0\0\0\0\0\0\0\0\0\x01\0\x0a\0\0W\0\xe6/\0\0\0\x18fd\
          AT\0\0\0\x02x\x9ccd`\xf8\xcf\0\x03L\x0cH\0\x85\x03\0$x\x01\x05\xf6.\x8aS\0\0\0\0IEND\xaeB`\x82",
    ];

    #[test]
    fn animated_image_is_decoded_to_its_first_frame() {
        for animated in ANIMATED {
            let pixels = decode(animated).unwrap();
            let red = RgbaImage::from_pixel(4, 3, image::Rgba([255, 0, 0, 255]));
            assert_eq!(pixels, red);
        }
    }

    #[test]
    fn every_pixel_format_decodes_to_opaque_8_bit_rgba() {
        let check = |image: DynamicImage, expected: [u8; 4]| {
            let mut data = Cursor::new(Vec::new());
            image.write_to(&mut data, ImageFormat::Png).unwrap();
            let pixels = decode(data.get_ref()).unwrap();
            assert_eq!(pixels.get_pixel(1, 1).0, expected, "{:?}", image.color());
        };
        let deep = image::Rgb([0x1234u16, 0x8000, 0xffff]);
        check(
            image::ImageBuffer::from_pixel(2, 2, deep).into(),
            [0x12, 0x80, 0xff, 255],
        );
        check(
            image::GrayImage::from_pixel(2, 2, image::Luma([77])).into(),
            [77, 77, 77, 255],
        );
        let transparent = |rgba| RgbaImage::from_pixel(2, 2, image::Rgba(rgba)).into();
        check(transparent([10, 20, 30, 255]), [10, 20, 30, 255]);
        check(transparent([10, 20, 30, 0]), [255, 255, 255, 255]);
        check(transparent([0, 0, 0, 128]), [127, 127, 127, 255]);
        check(
            image::GrayAlphaImage::from_pixel(2, 2, image::LumaA([0, 0])).into(),
            [255, 255, 255, 255],
        );
    }

    #[test]
    fn empty_image_is_refused() {
        assert!(matches!(
            encode(&RgbaImage::new(0, 5), Format::Png),
            Err(CodecError::Empty { .. })
        ));
        assert!(matches!(
            from_bgrx(&[], 0, 0, 0),
            Err(CodecError::Empty { .. })
        ));
    }

    #[test]
    fn a_short_buffer_is_refused() {
        assert!(from_bgrx(&[0; 31], 2, 4, 8).is_err());
        assert!(from_bgrx(&[0; 32], 2, 4, 8).is_ok());
        assert!(from_bgrx(&[0; 32], 2, 4, 7).is_err());
        // The last row need not be padded.
        assert!(from_bgrx(&[0; 3 * 12 + 8], 2, 4, 12).is_ok());
    }

    #[test]
    fn a_part_is_drawn_where_it_belongs_and_nowhere_else() {
        let white = RgbaImage::from_pixel(5, 4, image::Rgba([255; 4]));
        let part = |x: i32, y: i32, width: i32, height: i32| {
            CaptureRect::from_origin_and_size((x, y).into(), (width, height).into())
        };
        let mut pixels = white;
        patch_from_bgrx(&mut pixels, part(3, 1, 2, 3), &[1, 2, 3, 0].repeat(6)).unwrap();
        for (x, y, pixel) in pixels.enumerate_pixels() {
            let drawn = x >= 3 && y >= 1;
            let expected = if drawn { [3, 2, 1, 255] } else { [255; 4] };
            assert_eq!(pixel.0, expected, "{x}, {y}");
        }
        assert!(patch_from_bgrx(&mut pixels, part(4, 1, 2, 3), &[0; 24]).is_err());
        assert!(patch_from_bgrx(&mut pixels, part(0, 0, 2, 3), &[0; 23]).is_err());
        assert!(patch_from_bgrx(&mut pixels, part(-1, 0, 2, 3), &[0; 24]).is_err());
    }

    proptest! {
        #[test]
        fn damaged_bytes_never_panic(mut position in 0usize..2000, byte in any::<u8>(), webp in any::<bool>()) {
            let format = if webp { Format::WebpLossless } else { Format::Png };
            let mut data = bytes(&encode(&sample(40, 30), format).unwrap()).to_vec();
            position %= data.len();
            data[position] = byte;
            // Both outcomes are correct; it must not panic.
            let _ = decode(&data);
        }

        #[test]
        fn bgrx_conversion_matches_the_naive_one(width in 1u32..70, height in 1u32..5, padding in 0usize..9, seed in any::<u8>()) {
            let stride = width as usize * 4 + padding;
            let data: Vec<u8> = (0..stride * height as usize).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect();
            let pixels = from_bgrx(&data, width, height, stride).unwrap();
            for (x, y, pixel) in pixels.enumerate_pixels() {
                let at = y as usize * stride + x as usize * 4;
                prop_assert_eq!(pixel.0, [data[at + 2], data[at + 1], data[at], 255]);
            }
        }
    }
}
