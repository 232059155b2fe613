//! Live stream for viewers: a whole frame first, then only the changed tiles.
//!
//! Frames are made on demand, so a slow reader gets fewer of them, and the rate is limited. An unchanged screen costs
//! one small request every quarter of a second.
//!
//! Viewers also see the input: a halo around the pointer, a ripple at each click, and the box of its target. They are drawn
//! into the sent copies only.

use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use motorium_imaging::codec::size_of;
use motorium_imaging::exact_diff;
use motorium_imaging::marks::input;
use motorium_imaging::resize::crop;
use motorium_kit::connection_origin::ConnectionOrigin;
use motorium_proto::domain::frame::{Cursor, Frame};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::FrameId;
use motorium_proto::service::{FrameTile, FrameUpdate, ImageOptions, ResultStream, StreamRequest};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::images::{self, Overlay, run_blocking};
use super::input_marks::{self, InputMark, InputMarks};
use super::redact::Redactor;
use crate::capture::{CaptureOptions, ChangeStream, RawCapture, Screen, cursor};
use crate::error::Error;
use crate::parse::queue::ParseQueue;

/// Maximum frame rate, in frames per second.
// Viewers do not see more, and each frame is encoded.
const MAX_FRAMES_PER_SECOND: u32 = 30;

/// Interval at which the pointer is polled while nothing is drawn.
///
/// The server does not report pointer motion. Once the pointer moves, the stream polls at its frame rate.
const POINTER_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Maximum number of tiles per update; above it, one whole image is cheaper.
// Each tile is an image with headers of its own.
const MAX_TILES: usize = 24;

/// Fraction of changed area above which one whole image is cheaper.
// One encoder run over everything beats many over half of it.
const FULL_FRAME_FRACTION: f64 = 0.5;

/// Parts of the service that a stream uses.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) screen: Arc<dyn Screen>,
    pub(super) redactor: Redactor,
    pub(super) parser: Arc<ParseQueue>,
    pub(super) marks: Arc<InputMarks>,
}

/// Starts a stream. Its frames are not stored; their ids begin with `prefix`.
pub(super) async fn stream(
    sources: Sources,
    request: StreamRequest,
    prefix: FrameId,
) -> Result<ResultStream<FrameUpdate>, Error> {
    let pace = request
        .max_frames_per_second
        .clamp(1, MAX_FRAMES_PER_SECOND);
    let mut ticks = interval(Duration::from_secs(1) / pace);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let changes = sources.screen.watch().await?;
    let mut marks_added = sources.marks.subscribe();
    marks_added.mark_unchanged();
    let watch = LiveStream {
        marks_added,
        sources,
        changes,
        ticks,
        image: request.image,
        shows_input: !request.omit_input_marks,
        prefix,
        sequence: 0,
        dirty: true,
        last_sent: None,
    };
    // The stream is polled outside its call, but must queue for the parser as one from the same connection.
    let origin = ConnectionOrigin::current();
    let updates = futures::stream::try_unfold(watch, move |mut watch| async move {
        let update = origin.scope(watch.next()).await?;
        Ok(Some((update, watch)))
    });
    Ok(Box::pin(updates))
}

#[derive(Debug)]
struct LiveStream {
    sources: Sources,
    marks_added: watch::Receiver<()>,
    changes: Box<dyn ChangeStream>,
    ticks: Interval,
    image: ImageOptions,
    shows_input: bool,
    prefix: FrameId,
    sequence: u64,
    /// True if something was drawn that has not been sent.
    dirty: bool,
    /// Last sent content; `None` before the first frame.
    last_sent: Option<SentFrame>,
}

#[derive(Debug)]
struct SentFrame {
    pixels: Arc<RgbaImage>,
    pointer: Option<CapturePoint>,
    /// It has marks of input, which the next frame shows older or no more.
    is_marked: bool,
}

/// Marks to draw into one frame.
#[derive(Debug)]
struct InputOverlay {
    /// Draw the halo around the pointer.
    halo: bool,
    marks: Vec<(f32, InputMark)>,
}

impl LiveStream {
    /// Waits for the next update.
    async fn next(&mut self) -> Result<FrameUpdate, Error> {
        loop {
            self.ticks.tick().await;
            if !self.has_changed().await? {
                self.wait_for_change().await?;
                continue;
            }
            let mut shot = self
                .sources
                .screen
                .capture(CaptureOptions {
                    list_windows: true,
                    precise_window_list: self.sources.redactor.has_window_rules(),
                    ..Default::default()
                })
                .await?;
            let Sources {
                redactor, parser, ..
            } = &self.sources;
            match redactor.redact_contents(&mut shot, parser).await {
                // Unchecked content must not be sent; the parser may be free for the next frame.
                Err(Error::ParserBusy) => continue,
                other => other?,
            }
            redactor.redact_regions(&mut shot);
            let shown = self.last_sent.take();
            let image = self.image;
            let overlay = InputOverlay {
                halo: self.shows_input,
                marks: self.marks(),
            };
            let (frame, shown, tiles) =
                run_blocking(move || diff_frame(shot, &overlay, shown, image)).await??;
            self.last_sent = Some(shown);
            self.dirty = false;
            if tiles.is_empty() {
                continue;
            }
            let sequence = self.sequence;
            self.sequence += 1;
            let id = FrameId::new(format!("{}-{sequence}", self.prefix));
            return Ok(FrameUpdate {
                sequence,
                frame: Frame { id, ..frame },
                tiles,
            });
        }
    }

    /// Returns the marks to show now.
    fn marks(&self) -> Vec<(f32, InputMark)> {
        match self.shows_input {
            true => self.sources.marks.shown(self.sources.screen.id()),
            false => Vec::new(),
        }
    }

    /// Waits until something is drawn or marked, or until the pointer has to be polled.
    async fn wait_for_change(&mut self) -> Result<(), Error> {
        tokio::select! {
            // The marks live as long as this stream. A new one makes the next frame differ.
            _ = self.marks_added.changed(), if self.shows_input => {}
            change = self.changes.next() => {
                change?;
                self.dirty = true;
            }
            () = tokio::time::sleep(POINTER_POLL_INTERVAL) => {}
        }
        Ok(())
    }

    /// Returns whether something was drawn, or the pointer was moved, since the last frame.
    async fn has_changed(&mut self) -> Result<bool, Error> {
        let pointer = self.sources.screen.cursor_position().await?;
        // All pending reports belong to the frame that is captured now. The flag stays set until that frame has been
        // made, because each report arrives only once.
        while let Some(change) = futures::FutureExt::now_or_never(self.changes.next()) {
            change?;
            self.dirty = true;
        }
        self.dirty |= self
            .last_sent
            .as_ref()
            .is_none_or(|shown| shown.pointer != pointer || shown.is_marked);
        self.dirty |= !self.marks().is_empty();
        Ok(self.dirty)
    }
}

/// Computes the frame, the tiles to send, and the content that the reader then has.
fn diff_frame(
    shot: RawCapture,
    overlay: &InputOverlay,
    before: Option<SentFrame>,
    image: ImageOptions,
) -> Result<(Frame, SentFrame, Vec<FrameTile>), Error> {
    let mut pixels = shot.pixels;
    let (corner, scale) = (shot.bounds.min, shot.display.scale as f32);
    let pointer = shot.cursor.as_ref().map(|cursor| cursor.position);
    if let Some(pointer) = pointer.filter(|_| overlay.halo) {
        let at = pointer - corner.to_vector();
        input::draw_halo(Arc::make_mut(&mut pixels), at, scale);
    }
    let drawn = shot
        .cursor
        .as_ref()
        .is_some_and(|image| cursor::draw(Arc::make_mut(&mut pixels), shot.bounds, image));
    let is_marked = !overlay.marks.is_empty();
    if is_marked {
        input_marks::draw(Arc::make_mut(&mut pixels), corner, scale, &overlay.marks);
    }
    let shown = SentFrame {
        pixels,
        pointer,
        is_marked,
    };
    let whole = CaptureRect::from_size(size_of(&shown.pixels));
    let regions = match &before {
        Some(before) => changed_regions(before, &shown, whole),
        None => vec![whole],
    };
    let scaled = images::size_within(whole.size(), image.fit);
    let tiles = regions
        .into_iter()
        .map(|bounds| tile(&shown.pixels, bounds, scaled.width, image))
        .collect::<Result<_, Error>>()?;
    let frame = Frame {
        id: FrameId::new(""),
        display: shot.display.id,
        origin: shot.bounds.min,
        size: whole.size(),
        scale: shot.display.scale,
        captured_at: shot.captured_at,
        cursor: pointer.map(|position| Cursor { position, drawn }),
        monitors: shot.display.monitors,
        windows: shot.windows,
    };
    Ok((frame, shown, tiles))
}

/// Returns the changed regions. Any colour difference counts, even between equally bright colours.
fn changed_regions(before: &SentFrame, now: &SentFrame, whole: CaptureRect) -> Vec<CaptureRect> {
    let Some(boxes) = exact_diff::changed_boxes(&before.pixels, &now.pixels) else {
        return vec![whole];
    };
    let regions = exact_diff::join_rows(&boxes);
    let area: f64 = regions
        .iter()
        .map(|region| region.size().to_f64().area())
        .sum();
    if regions.len() > MAX_TILES || area > FULL_FRAME_FRACTION * whole.size().to_f64().area() {
        return vec![whole];
    }
    regions
}

/// Encodes a region, scaled like the whole frame to `scaled_width`.
fn tile(
    pixels: &RgbaImage,
    bounds: CaptureRect,
    scaled_width: u32,
    image: ImageOptions,
) -> Result<FrameTile, Error> {
    let part = crop(pixels, bounds).map_err(|error| Error::Internal {
        detail: error.to_string(),
    })?;
    let scale = f64::from(scaled_width) / f64::from(pixels.width());
    let scaled = |side: i32| ((f64::from(side) * scale).round() as i32).max(1);
    let fit =
        (scale < 1.0).then(|| CaptureSize::new(scaled(bounds.width()), scaled(bounds.height())));
    let image = images::draw(&part, ImageOptions { fit, ..image }, Overlay::Nothing)?;
    Ok(FrameTile { bounds, image })
}
