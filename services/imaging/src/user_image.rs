//! Images that users give to a task, as models are shown them: upright, opaque, and bounded in size.
//!
//! A file that fits is not encoded again, so that nothing is lost. Scaling to what one model takes is the Planner's.

use bytes::Bytes;
use fast_image_resize::ResizeOptions;
use image::RgbaImage;
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::service::ImageFormat;

use crate::codec::{self, CodecError, Upright};
use crate::resize::{ResamplingError, RgbaResizer};

/// Maximum side in pixels: the largest that any of Claude's models takes unchanged, and more than most others take.
pub const MAX_SIDE: u32 = 2576;
/// Quality of a JPEG, at which small text in a photo stays readable.
const JPEG_QUALITY: u8 = 90;
/// Factor by which both sides shrink until the encoded image is small enough: a third fewer pixels each time.
const SHRINK_FACTOR: f64 = 0.8;

/// An image that cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum UserImageError {
    #[error(transparent)]
    Codec(#[from] CodecError),
    #[error(transparent)]
    Resampling(#[from] ResamplingError),
}

/// Returns the image that models are shown of a file, with at most `max_bytes`; `None` if the file is not a PNG, JPEG or
/// WebP image by its content.
///
/// # Errors
/// If the image is damaged, or larger than [`codec::MAX_SIDE`] and [`codec::MAX_PIXELS`] allow.
pub fn shown(file: &Bytes, max_bytes: usize) -> Result<Option<Image>, UserImageError> {
    let Some(media_type) = codec::detected_media_type(file) else {
        return Ok(None);
    };
    let Upright { pixels, is_changed } = codec::decode_upright(file)?;
    let is_small = longest(&pixels) <= MAX_SIDE && file.len() <= max_bytes;
    if is_small && !is_changed {
        return Ok(Some(Image {
            sha256: codec::sha256(file),
            content: ImageContent::Bytes(file.clone()),
            media_type: media_type.to_owned(),
            width: pixels.width(),
            height: pixels.height(),
        }));
    }
    encoded(pixels, media_type, max_bytes).map(Some)
}

/// Encodes pixels, scaled down as far as their number of bytes requires.
fn encoded(
    mut pixels: RgbaImage,
    media_type: &str,
    max_bytes: usize,
) -> Result<Image, UserImageError> {
    let side = longest(&pixels);
    if side > MAX_SIDE {
        pixels = scaled(&pixels, f64::from(MAX_SIDE) / f64::from(side))?;
    }
    loop {
        for format in formats(media_type) {
            let image = codec::encode(&pixels, *format)?;
            // An image of one pixel cannot shrink any more.
            if size(&image) <= max_bytes || longest(&pixels) == 1 {
                return Ok(image);
            }
        }
        pixels = scaled(&pixels, SHRINK_FACTOR)?;
    }
}

/// Returns the formats to try. A PNG keeps text sharp; as a PNG, a photo would have many times its bytes.
fn formats(media_type: &str) -> &'static [ImageFormat] {
    const JPEG: ImageFormat = ImageFormat::Jpeg {
        quality: JPEG_QUALITY,
    };
    match media_type {
        "image/jpeg" => &[JPEG],
        _ => &[ImageFormat::Png, JPEG],
    }
}

fn scaled(pixels: &RgbaImage, factor: f64) -> Result<RgbaImage, UserImageError> {
    let side = |length: u32| ((f64::from(length) * factor).floor() as u32).max(1);
    let (width, height) = (side(pixels.width()), side(pixels.height()));
    let options = ResizeOptions::new();
    let mut resizer = RgbaResizer::default();
    let scaled = resizer.resize(pixels, pixels.dimensions(), (width, height), &options)?;
    let scaled = RgbaImage::from_raw(width, height, scaled);
    Ok(scaled.expect("the resizer returns four bytes for each pixel"))
}

fn longest(pixels: &RgbaImage) -> u32 {
    pixels.width().max(pixels.height())
}

fn size(image: &Image) -> usize {
    match &image.content {
        ImageContent::Bytes(bytes) => bytes.len(),
        ImageContent::BlobUri(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use image::codecs::jpeg::JpegEncoder;
    use image::{DynamicImage, ImageEncoder as _, Rgb, RgbImage, Rgba};

    use super::*;

    const MAX_BYTES: usize = 200_000;

    fn bytes(image: &Image) -> Bytes {
        match &image.content {
            ImageContent::Bytes(bytes) => bytes.clone(),
            ImageContent::BlobUri(uri) => panic!("{uri}"),
        }
    }

    fn file(pixels: &RgbaImage, format: ImageFormat) -> Bytes {
        bytes(&codec::encode(pixels, format).unwrap())
    }

    fn show(file: &Bytes) -> Image {
        shown(file, MAX_BYTES).unwrap().unwrap()
    }

    /// An image of which every pixel differs, so that it does not compress.
    fn noise(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_fn(width, height, |x, y| {
            let mixed = (x * 7919 + y * 104_729).wrapping_mul(2_654_435_761);
            Rgba([mixed as u8, (mixed >> 8) as u8, (mixed >> 16) as u8, 255])
        })
    }

    #[test]
    fn an_image_that_fits_stays_as_it_is() {
        let pixels = RgbaImage::from_pixel(40, 30, Rgba([1, 2, 3, 255]));
        let formats = [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::WebpLossless, "image/webp"),
            (ImageFormat::Jpeg { quality: 90 }, "image/jpeg"),
        ];
        for (format, media_type) in formats {
            let file = file(&pixels, format);
            let image = show(&file);
            assert_eq!(bytes(&image), file);
            assert_eq!(image.media_type, media_type);
            assert_eq!((image.width, image.height), (40, 30));
            assert_eq!(image.sha256, codec::sha256(&file));
        }
    }

    #[test]
    fn a_large_image_is_scaled_down_with_its_proportions() {
        let wide = RgbaImage::from_pixel(6000, 1500, Rgba([9, 9, 9, 255]));
        let image = show(&file(&wide, ImageFormat::Png));
        assert_eq!((image.width, image.height), (2576, 644));
        assert_eq!(image.media_type, "image/png");
    }

    #[test]
    fn an_image_of_many_bytes_becomes_a_jpeg_and_smaller_until_it_fits() {
        let image = show(&file(&noise(600, 400), ImageFormat::Png));
        assert_eq!(image.media_type, "image/jpeg");
        assert!(bytes(&image).len() <= MAX_BYTES);
        let image = show(&file(&noise(1500, 1000), ImageFormat::Png));
        assert!(bytes(&image).len() <= MAX_BYTES);
        assert!(image.width < 1500, "{}", image.width);
        let proportion = f64::from(image.width) / f64::from(image.height);
        assert!((proportion - 1.5).abs() < 0.02, "{proportion}");
    }

    #[test]
    fn a_transparent_image_is_shown_on_white() {
        let mut png = Vec::new();
        let transparent = RgbaImage::from_pixel(4, 4, Rgba([0, 0, 0, 0]));
        DynamicImage::from(transparent)
            .write_to(&mut std::io::Cursor::new(&mut png), image::ImageFormat::Png)
            .unwrap();
        let pixels = codec::decode(&bytes(&show(&png.into()))).unwrap();
        assert_eq!(pixels.get_pixel(1, 1), &Rgba([255, 255, 255, 255]));
    }

    #[test]
    fn a_photo_that_lies_on_its_side_is_turned() {
        /// EXIF data with the orientation 6: the camera was turned to the right.
        const TURNED: &[u8] = &[
            b'M', b'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0,
        ];
        let mut jpeg = Vec::new();
        let mut encoder = JpegEncoder::new(&mut jpeg);
        encoder.set_exif_metadata(TURNED.to_vec()).unwrap();
        let lying = RgbImage::from_fn(64, 32, |x, _| Rgb([if x < 32 { 255 } else { 0 }; 3]));
        DynamicImage::from(lying)
            .write_with_encoder(encoder)
            .unwrap();
        let image = show(&jpeg.into());
        assert_eq!((image.width, image.height), (32, 64));
        let pixels = codec::decode(&bytes(&image)).unwrap();
        assert!(pixels.get_pixel(16, 8)[0] > 200 && pixels.get_pixel(16, 56)[0] < 55);
    }

    #[test]
    fn other_files_are_not_images_and_damaged_images_are_said_to_be() {
        assert!(
            shown(&Bytes::from_static(b"%PDF-1.7"), MAX_BYTES)
                .unwrap()
                .is_none()
        );
        assert!(
            shown(&Bytes::from_static(b"GIF89a"), MAX_BYTES)
                .unwrap()
                .is_none()
        );
        assert!(shown(&Bytes::new(), MAX_BYTES).unwrap().is_none());
        let whole = file(&noise(50, 50), ImageFormat::Png);
        let error = shown(&whole.slice(..whole.len() / 2), MAX_BYTES).unwrap_err();
        assert!(error.to_string().contains("cannot be decoded"), "{error}");
    }
}
