//! The screen at one time, with encodings that its viewers share.
//!
//! Invariant: each size of a snapshot is encoded at most once, and only for a viewer that is ready for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use image::RgbaImage;
use motorium_imaging::codec;
use motorium_imaging::resize::{FilterType, ResizeAlg, ResizeOptions, RgbaResizer, place};
use motorium_kit::blocking;
use motorium_proto::domain::frame::ImageContent;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::ImageFormat;
use motorium_proto::v1::common::{Image, image::Content};
use motorium_proto::v1::perception::StreamFramesResponse;
use serde::Serialize;
use tokio::sync::OnceCell;

use crate::time::rfc3339_of;

/// Quality of the images for viewers. Text stays legible; above it, files grow faster than the eye sees.
const JPEG_QUALITY: u8 = 82;

/// Sizes of images in eighths of the screen. Viewers of about the same size share one.
const EIGHTHS: [u32; 6] = [1, 2, 3, 4, 6, 8];

/// Size of an image, in pixels.
pub(super) type Size = (u32, u32);

/// An update that cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum UpdateError {
    #[error("an update without a frame")]
    NoFrame,
    #[error("a tile without an image, or outside the screen")]
    Tile,
    #[error(transparent)]
    Codec(#[from] codec::CodecError),
}

/// The screen at one time.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) index: u64,
    time: String,
    cursor: Option<Cursor>,
    pixels: Arc<RgbaImage>,
    messages: Mutex<HashMap<Size, Arc<OnceCell<Bytes>>>>,
}

/// Position of the pointer, in screen pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Cursor {
    x: i32,
    y: i32,
}

/// Header of a message to viewers.
#[derive(Debug, Serialize)]
struct Header<'a> {
    index: u64,
    time: &'a str,
    width: u32,
    height: u32,
    screen_width: u32,
    screen_height: u32,
    cursor: Option<Cursor>,
    format: &'static str,
}

impl Snapshot {
    /// Applies an update of Perception to the pixels before it.
    pub(super) fn after(
        before: Option<Arc<RgbaImage>>,
        update: &StreamFramesResponse,
        index: u64,
    ) -> Result<Self, UpdateError> {
        let frame = update.frame.as_ref().ok_or(UpdateError::NoFrame)?;
        let size = frame.size.ok_or(UpdateError::NoFrame)?;
        let size = (size.width.unsigned_abs(), size.height.unsigned_abs());
        // The first tile copies the pixels: the snapshot before still has them, for viewers that are late.
        let mut pixels = before.filter(|before| before.dimensions() == size);
        for tile in &update.tiles {
            let bounds = tile.bounds.ok_or(UpdateError::Tile)?;
            let image = tile
                .image
                .as_ref()
                .and_then(bytes)
                .ok_or(UpdateError::Tile)?;
            let decoded = codec::decode(image)?;
            if decoded.dimensions() == size {
                pixels = Some(Arc::new(decoded));
                continue;
            }
            let canvas = pixels.as_mut().ok_or(UpdateError::Tile)?;
            let corner = CapturePoint::new(bounds.x1, bounds.y1);
            place(Arc::make_mut(canvas), &decoded, corner);
        }
        let cursor = frame.cursor.as_ref().and_then(|cursor| cursor.position);
        Ok(Self {
            index,
            time: rfc3339_of(frame.capture_time.as_ref()),
            cursor: cursor.map(|at| Cursor { x: at.x, y: at.y }),
            pixels: pixels.ok_or(UpdateError::Tile)?,
            messages: Mutex::default(),
        })
    }

    pub(super) fn pixels(&self) -> Arc<RgbaImage> {
        Arc::clone(&self.pixels)
    }

    /// Returns the message for a viewer that shows the screen in a size. Encodes it unless another viewer has it already.
    pub(super) async fn message(
        self: Arc<Self>,
        wanted: Option<Size>,
    ) -> Result<Bytes, UpdateError> {
        let size = image_size(self.pixels.dimensions(), wanted);
        let cell = {
            let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(messages.entry(size).or_default())
        };
        let snapshot = Arc::clone(&self);
        let encoded = cell.get_or_try_init(|| blocking::run(move || snapshot.encode(size)));
        encoded.await.cloned()
    }

    fn encode(&self, size: Size) -> Result<Bytes, UpdateError> {
        let format = ImageFormat::Jpeg {
            quality: JPEG_QUALITY,
        };
        let image = match size == self.pixels.dimensions() {
            true => codec::encode(&self.pixels, format)?,
            false => codec::encode(&scaled(&self.pixels, size), format)?,
        };
        let (screen_width, screen_height) = self.pixels.dimensions();
        let header = Header {
            index: self.index,
            time: &self.time,
            width: size.0,
            height: size.1,
            screen_width,
            screen_height,
            cursor: self.cursor,
            format: "jpeg",
        };
        let header = serde_json::to_vec(&header).expect("the header has text keys only");
        let length = u32::try_from(header.len()).expect("the header is short");
        let ImageContent::Bytes(image) = image.content else {
            return Err(UpdateError::Tile);
        };
        let parts = [&length.to_be_bytes()[..], &header, &image];
        Ok(parts.concat().into())
    }
}

/// Returns the header and the image of a message.
pub(super) fn parts_of(mut message: Bytes) -> (String, Bytes) {
    const LENGTH: usize = size_of::<u32>();
    let length = message.split_to(LENGTH.min(message.len()));
    let length = length.as_ref().try_into().map_or(0, u32::from_be_bytes) as usize;
    let header = message.split_to(length.min(message.len()));
    (String::from_utf8_lossy(&header).into_owned(), message)
}

fn bytes(image: &Image) -> Option<&[u8]> {
    match image.content.as_ref()? {
        Content::Data(data) => Some(data),
        Content::BlobUri(_) => None,
    }
}

/// Returns the smallest size that is not smaller than what a viewer shows.
fn image_size(screen: Size, wanted: Option<Size>) -> Size {
    let Some(wanted) = wanted else {
        return screen;
    };
    let covers = |size: Size| size.0 >= wanted.0 || size.1 >= wanted.1;
    let sizes = EIGHTHS.map(|eighths| {
        let side = |side: u32| (side * eighths).div_ceil(8).max(1);
        (side(screen.0), side(screen.1))
    });
    sizes
        .into_iter()
        .find(|size| covers(*size))
        .unwrap_or(screen)
}

fn scaled(pixels: &RgbaImage, size: Size) -> RgbaImage {
    // Hamming keeps text about as legible as Lanczos at half of its cost.
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Hamming));
    let resized =
        RgbaResizer::default().resize(pixels.as_raw(), pixels.dimensions(), size, &options);
    let bytes = resized.expect("the pixels have the size of their image");
    RgbaImage::from_raw(size.0, size.1, bytes).expect("the resizer returns four bytes a pixel")
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use motorium_proto::v1::common::{Frame, PixelBox, PixelPoint, PixelSize};
    use motorium_proto::v1::perception::FrameTile;

    use super::*;

    fn tile(at: (i32, i32), size: (u32, u32), colour: [u8; 3]) -> FrameTile {
        let [red, green, blue] = colour;
        let pixels = RgbaImage::from_pixel(size.0, size.1, Rgba([red, green, blue, 255]));
        let encoded = codec::encode(&pixels, ImageFormat::Png).unwrap();
        FrameTile {
            bounds: Some(PixelBox {
                x1: at.0,
                y1: at.1,
                x2: at.0 + size.0 as i32,
                y2: at.1 + size.1 as i32,
            }),
            image: Some(encoded.into()),
        }
    }

    fn update(size: (i32, i32), tiles: Vec<FrameTile>) -> StreamFramesResponse {
        let cursor = motorium_proto::v1::common::Cursor {
            position: Some(PixelPoint { x: 3, y: 4 }),
            drawn: true,
        };
        StreamFramesResponse {
            sequence: 0,
            frame: Some(Frame {
                size: Some(PixelSize {
                    width: size.0,
                    height: size.1,
                }),
                cursor: Some(cursor),
                ..Frame::default()
            }),
            tiles,
        }
    }

    #[tokio::test]
    async fn viewers_see_the_tiles_over_what_was_there_before() {
        let whole = update((64, 32), vec![tile((0, 0), (64, 32), [200, 0, 0])]);
        let first = Snapshot::after(None, &whole, 1).unwrap();
        let part = update((64, 32), vec![tile((32, 0), (32, 32), [0, 0, 200])]);
        let second = Arc::new(Snapshot::after(Some(first.pixels()), &part, 2).unwrap());

        let message = Arc::clone(&second).message(None).await.unwrap();
        let (length, rest) = message.split_at(4);
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        let header: serde_json::Value = serde_json::from_slice(&rest[..length]).unwrap();
        assert_eq!(header["index"], 2);
        assert_eq!(header["cursor"], serde_json::json!({"x": 3, "y": 4}));
        assert_eq!(
            (&header["width"], &header["screen_height"]),
            (&64.into(), &32.into())
        );
        let shown = codec::decode(&rest[length..]).unwrap();
        assert!(shown.get_pixel(8, 16)[0] > 150 && shown.get_pixel(56, 16)[2] > 150);
        assert!(
            first.pixels().get_pixel(56, 16)[0] > 150,
            "earlier frames stay as they were"
        );
    }

    #[test]
    fn an_update_that_fits_no_screen_is_an_error() {
        let part = update((64, 32), vec![tile((32, 0), (32, 32), [0, 0, 200])]);
        assert!(Snapshot::after(None, &part, 1).is_err());
        assert!(Snapshot::after(None, &update((64, 32), Vec::new()), 1).is_err());
        assert!(Snapshot::after(None, &StreamFramesResponse::default(), 1).is_err());
    }

    #[test]
    fn images_are_at_least_as_large_as_the_viewer() {
        let check = |wanted: Option<Size>, expected: Size| {
            assert_eq!(image_size((1920, 1080), wanted), expected, "{wanted:?}");
        };
        check(None, (1920, 1080));
        check(Some((4000, 3000)), (1920, 1080));
        check(Some((960, 540)), (960, 540));
        check(Some((961, 541)), (1440, 810));
        // The screen fills the width of a tall viewer.
        check(Some((390, 844)), (480, 270));
        check(Some((1, 1)), (240, 135));
    }
}
