//! Downscaled images for the page, embedded as data URIs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use motorium_imaging::codec;
use motorium_imaging::resize;
use motorium_imaging::space::{ImageSizeLimit, ModelSpace, fit};
use motorium_proto::domain::frame::ImageContent;
use motorium_proto::service::ImageFormat;

/// Maximum width and height of an image in the page, in pixels. Bounds the size of the page for long tasks.
const MAX_SIDE_PX: u32 = 1280;
/// JPEG quality at which small text stays legible.
const JPEG_QUALITY: u8 = 82;
/// Maximum size of an image that is embedded unchanged, in bytes. Re-encoding a small file gains nothing.
const MAX_UNSCALED_BYTES: usize = 120 * 1024;

/// Returns a stored image as a data URI, downscaled if needed. Returns `None` if it cannot be decoded.
pub(super) async fn data_uri(stored: Bytes) -> Option<String> {
    let shrinking = tokio::task::spawn_blocking(move || shrink(&stored));
    shrinking.await.ok().flatten()
}

fn shrink(stored: &[u8]) -> Option<String> {
    let (width, height) = codec::dimensions(stored).ok()?;
    let pixels = codec::decode(stored).ok()?;
    if stored.len() < MAX_UNSCALED_BYTES && width.max(height) <= MAX_SIDE_PX {
        return Some(address(stored_type(stored), stored));
    }
    let size = codec::size_of(&pixels);
    let space = ModelSpace::whole(size, fit(size, ImageSizeLimit::long_side(MAX_SIDE_PX))).ok()?;
    let small = resize::render(&pixels, &space).ok()?;
    let quality = ImageFormat::Jpeg {
        quality: JPEG_QUALITY,
    };
    let encoded = codec::encode(&small, quality).ok()?;
    match encoded.content {
        ImageContent::Bytes(bytes) => Some(address(&encoded.media_type, &bytes)),
        ImageContent::BlobUri(_) => None,
    }
}

fn stored_type(stored: &[u8]) -> &'static str {
    match stored {
        [0x89, b'P', ..] => "image/png",
        [0xff, 0xd8, ..] => "image/jpeg",
        _ => "image/webp",
    }
}

fn address(media_type: &str, content: &[u8]) -> String {
    format!("data:{media_type};base64,{}", BASE64.encode(content))
}
