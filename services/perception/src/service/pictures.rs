//! Encoded pictures of frames: with the cursor, at the size that is wanted, with or without marks.

use std::borrow::Cow;
use std::num::NonZero;
use std::sync::{Arc, LazyLock};

use image::RgbaImage;
use motorium_imaging::marks;
use motorium_imaging::picture::{self, PictureError, size_of};
use motorium_imaging::resize;
use motorium_imaging::space::{ModelSpace, PictureLimit, PictureSize, fit};
use motorium_proto::domain::element::Element;
use motorium_proto::domain::frame::Image;
use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
use motorium_proto::service::ImageOptions;
use tokio::sync::Semaphore;

use crate::capture::cursor;
use crate::error::Error;
use crate::frames::StoredFrame;

/// Which pictures of a frame are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted {
    pub(super) plain: Option<ImageOptions>,
    pub(super) marked: Option<ImageOptions>,
    /// Mark the mouse pointer in the plain one.
    pub(super) pointer: bool,
}

/// The pictures that were made.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) plain: Option<Image>,
    pub(super) marked: Option<Image>,
}

/// Makes pictures of a frame; marks are those of `elements`.
pub(super) async fn make(
    stored: Arc<StoredFrame>,
    wanted: Wanted,
    elements: Vec<Element>,
) -> Result<Made, Error> {
    if wanted.plain.is_none() && wanted.marked.is_none() {
        return Ok(Made::default());
    }
    off_the_workers(move || {
        let pixels = with_cursor(&stored);
        let cursor = stored.frame.cursor.as_ref().filter(|_| wanted.pointer);
        let pointer = cursor.map_or(Overlay::Nothing, |cursor| Overlay::Pointer(cursor.position));
        let plain = wanted
            .plain
            .map(|options| draw(&pixels, options, pointer))
            .transpose()?;
        let marked = wanted
            .marked
            .map(|options| draw(&pixels, options, Overlay::Marks(&elements)))
            .transpose()?;
        Ok(Made { plain, marked })
    })
    .await?
}

/// Makes the marked picture of pixels that are no frame.
pub(super) async fn marked(
    pixels: Arc<RgbaImage>,
    options: ImageOptions,
    elements: Vec<Element>,
) -> Result<Image, Error> {
    off_the_workers(move || draw(&pixels, options, Overlay::Marks(&elements))).await?
}

fn with_cursor(stored: &StoredFrame) -> Cow<'_, RgbaImage> {
    let Some(cursor) = &stored.cursor else {
        return Cow::Borrowed(&stored.pixels);
    };
    let mut pixels = RgbaImage::clone(&stored.pixels);
    cursor::draw(&mut pixels, stored.frame.bounds(), cursor);
    Cow::Owned(pixels)
}

/// What is drawn over a picture.
#[derive(Debug, Clone, Copy)]
pub(super) enum Overlay<'a> {
    Nothing,
    Marks(&'a [Element]),
    Pointer(CapturePoint),
}

/// Scales, marks and encodes.
pub(super) fn draw(
    pixels: &RgbaImage,
    options: ImageOptions,
    overlay: Overlay<'_>,
) -> Result<Image, Error> {
    let size = size_of(pixels);
    let picture_size = size_within(size, options.fit);
    let space = ModelSpace::whole(size, picture_size).map_err(unexpected)?;
    let mut picture = if picture_size == size.to_u32().cast_unit() {
        Cow::Borrowed(pixels)
    } else {
        Cow::Owned(resize::render(pixels, &space).map_err(unexpected)?)
    };
    match overlay {
        Overlay::Marks(elements) if !elements.is_empty() => {
            marks::draw(picture.to_mut(), &marks::marks(elements, size, &space));
        }
        Overlay::Pointer(at) => marks::pointer::draw_pointer(picture.to_mut(), space.to_model(at)),
        Overlay::Marks(_) | Overlay::Nothing => {}
    }
    picture::encode(&picture, options.format).map_err(not_encoded)
}

/// The size of a picture of that many pixels; without a limit its own.
pub(super) fn size_within(size: CaptureSize, limit: Option<CaptureSize>) -> PictureSize {
    let Some(limit) = limit else {
        return size.to_u32().cast_unit();
    };
    let side = |length: i32| length.max(1).unsigned_abs();
    fit(
        size,
        PictureLimit::within(side(limit.width), side(limit.height)),
    )
}

fn not_encoded(error: PictureError) -> Error {
    match error {
        PictureError::TooLarge { width, height } => Error::ImageTooLarge {
            width,
            height,
            limit: picture::MAX_PIXELS,
        },
        other => unexpected(other),
    }
}

fn unexpected(error: impl std::fmt::Display) -> Error {
    Error::Internal {
        detail: format!("making a picture: {error}"),
    }
}

/// Work on pictures that goes on at the same time: each holds some, and more than there are cores gain nothing.
static AT_WORK: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    Semaphore::new(2 * cores)
});

/// Has `work` done where it may take its time.
pub(super) async fn off_the_workers<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let turn = AT_WORK.acquire().await;
    // Held until the work has really ended, also if nobody waits for it any more.
    let work = move || {
        let _turn = turn;
        work()
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::Internal {
        detail: format!("working on a picture: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_fit_into_the_limit_and_are_never_made_larger() {
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
