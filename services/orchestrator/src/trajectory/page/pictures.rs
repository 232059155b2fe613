//! Pictures for a page: small, and in the page itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use motorium_imaging::picture;
use motorium_imaging::resize;
use motorium_imaging::space::{ModelSpace, PictureLimit, fit};
use motorium_proto::domain::frame::ImageContent;
use motorium_proto::service::ImageFormat;

/// A picture of a page is at most so wide and high, in pixels.
const LONGEST_SIDE: u32 = 1280;
/// Small text stays legible.
const QUALITY: u8 = 82;
/// A picture that is stored smaller than this goes into the page as it is, in bytes.
const SMALL: usize = 120 * 1024;

/// A picture for the page, as an address that holds it. Nothing, if it is none.
pub(super) async fn shrunk(stored: Bytes) -> Option<String> {
    let shrinking = tokio::task::spawn_blocking(move || shrink(&stored));
    shrinking.await.ok().flatten()
}

fn shrink(stored: &[u8]) -> Option<String> {
    let (width, height) = picture::dimensions(stored).ok()?;
    let pixels = picture::decode(stored).ok()?;
    if stored.len() < SMALL && width.max(height) <= LONGEST_SIDE {
        return Some(address(stored_type(stored), stored));
    }
    let size = picture::size_of(&pixels);
    let space = ModelSpace::whole(size, fit(size, PictureLimit::long_side(LONGEST_SIDE))).ok()?;
    let small = resize::render(&pixels, &space).ok()?;
    let quality = ImageFormat::Jpeg { quality: QUALITY };
    let encoded = picture::encode(&small, quality).ok()?;
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
