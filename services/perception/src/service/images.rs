//! Encodes images of frames: with the cursor, at the requested size, with or without marks.

use std::borrow::Cow;
use std::num::NonZero;
use std::sync::{Arc, LazyLock};

use image::RgbaImage;
use motorium_imaging::codec::{self, CodecError, size_of};
use motorium_imaging::marks;
use motorium_imaging::resize;
use motorium_imaging::space::{ImageSize, ImageSizeLimit, ModelSpace, fit};
use motorium_proto::domain::element::Element;
use motorium_proto::domain::frame::Image;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::service::ImageOptions;
use tokio::sync::Semaphore;

use crate::capture::cursor;
use crate::error::Error;
use crate::frames::StoredFrame;

/// Images requested of a frame.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RequestedImages {
    pub(super) plain: Option<ImageOptions>,
    pub(super) annotated: Option<ImageOptions>,
    /// Marks the mouse pointer in the plain image.
    pub(super) pointer: bool,
}

/// Encoded images.
#[derive(Debug, Default)]
pub(super) struct RenderedImages {
    pub(super) plain: Option<Image>,
    pub(super) annotated: Option<Image>,
}

/// Encodes the images of a frame; marks show `elements`.
pub(super) async fn render(
    stored: Arc<StoredFrame>,
    wanted: RequestedImages,
    elements: Vec<Element>,
) -> Result<RenderedImages, Error> {
    if wanted.plain.is_none() && wanted.annotated.is_none() {
        return Ok(RenderedImages::default());
    }
    run_blocking(move || {
        let pixels = with_cursor(&stored);
        let cursor = stored.frame.cursor.as_ref().filter(|_| wanted.pointer);
        let pointer = cursor.map_or(Overlay::Nothing, |cursor| Overlay::Pointer(cursor.position));
        let plain = wanted
            .plain
            .map(|options| draw(&pixels, options, pointer))
            .transpose()?;
        let marked = wanted
            .annotated
            .map(|options| draw(&pixels, options, Overlay::Marks(&elements)))
            .transpose()?;
        Ok(RenderedImages {
            plain,
            annotated: marked,
        })
    })
    .await?
}

/// Encodes the annotated image of pixels that are not a stored frame.
pub(super) async fn render_annotated(
    pixels: Arc<RgbaImage>,
    options: ImageOptions,
    elements: Vec<Element>,
) -> Result<Image, Error> {
    run_blocking(move || draw(&pixels, options, Overlay::Marks(&elements))).await?
}

fn with_cursor(stored: &StoredFrame) -> Cow<'_, RgbaImage> {
    let Some(cursor) = &stored.cursor else {
        return Cow::Borrowed(&stored.pixels);
    };
    let mut pixels = RgbaImage::clone(&stored.pixels);
    cursor::draw(&mut pixels, stored.frame.bounds(), cursor);
    Cow::Owned(pixels)
}

/// Overlay drawn over an image.
#[derive(Debug, Clone, Copy)]
pub(super) enum Overlay<'a> {
    Nothing,
    Marks(&'a [Element]),
    Pointer(CapturePoint),
}

/// Scales an image, draws the overlay, and encodes it.
pub(super) fn draw(
    pixels: &RgbaImage,
    options: ImageOptions,
    overlay: Overlay<'_>,
) -> Result<Image, Error> {
    let size = size_of(pixels);
    let image_size = size_within(size, options.fit);
    let space = ModelSpace::whole(size, image_size).map_err(unexpected)?;
    let mut image = if image_size == size.to_u32().cast_unit() {
        Cow::Borrowed(pixels)
    } else {
        Cow::Owned(resize::render(pixels, &space).map_err(unexpected)?)
    };
    match overlay {
        Overlay::Marks(elements) if !elements.is_empty() => {
            marks::draw(image.to_mut(), &marks::marks(elements, size, &space));
        }
        Overlay::Pointer(at) => marks::pointer::draw_pointer(image.to_mut(), space.to_model(at)),
        Overlay::Marks(_) | Overlay::Nothing => {}
    }
    codec::encode(&image, options.format).map_err(not_encoded)
}

/// Returns the size within the limit, or the original size without one.
pub(super) fn size_within(size: CaptureSize, limit: Option<CaptureSize>) -> ImageSize {
    let Some(limit) = limit else {
        return size.to_u32().cast_unit();
    };
    let side = |length: i32| length.max(1).unsigned_abs();
    fit(
        size,
        ImageSizeLimit::within(side(limit.width), side(limit.height)),
    )
}

fn not_encoded(error: CodecError) -> Error {
    match error {
        CodecError::TooLarge { width, height } => Error::ImageTooLarge {
            width,
            height,
            limit: codec::MAX_PIXELS,
        },
        other => unexpected(other),
    }
}

fn unexpected(error: impl std::fmt::Display) -> Error {
    Error::Internal {
        detail: format!("encoding an image: {error}"),
    }
}

/// Limits concurrent image work: each job holds images, and more jobs than cores gain nothing.
static IMAGE_WORK: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    Semaphore::new(2 * cores)
});

/// Runs `work` on a blocking thread.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let turn = IMAGE_WORK.acquire().await;
    // Released only when the work has really ended, even if the caller is gone.
    let work = move || {
        let _turn = turn;
        work()
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::Internal {
        detail: format!("processing an image: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_fit_the_limit_and_are_never_enlarged() {
        let check = |limit: Option<(i32, i32)>, expected: (u32, u32)| {
            let got = size_within(
                CaptureSize::new(1920, 1080),
                limit.map(|(width, height)| CaptureSize::new(width, height)),
            );
            assert_eq!(got.to_tuple(), expected, "{limit:?}");
        };
        check(None, (1920, 1080));
        check(Some((1280, 1280)), (1280, 720));
        check(Some((4000, 540)), (960, 540));
        check(Some((4000, 4000)), (1920, 1080));
        check(Some((1, 1)), (1, 1));
        check(Some((0, -5)), (1, 1));
    }
}
