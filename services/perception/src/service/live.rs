//! Live pictures for people who watch: a whole frame first, then what has changed.
//!
//! Nothing is computed ahead: a frame is made when the reader asks for the next one, so a slow reader gets fewer, and
//! the pace is limited besides. A screen on which nothing happens costs one small request every quarter of a second.

use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use motorium_imaging::changes;
use motorium_imaging::picture::size_of;
use motorium_imaging::resize::crop;
use motorium_kit::caller::Caller;
use motorium_proto::domain::frame::{Cursor, Frame};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::FrameId;
use motorium_proto::service::{AnswerStream, FrameTile, FrameUpdate, ImageOptions, StreamRequest};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::pictures::{self, Overlay, off_the_workers};
use super::redact::Redactor;
use crate::capture::{CaptureRequest, Changes, Screen, Shot, cursor};
use crate::error::Error;
use crate::parse::queue::ParseQueue;

/// Fastest pace that is granted, in frames a second.
const MAX_PACE: u32 = 30;

/// How often it is looked whether a pointer that rested has begun to move, while nothing is drawn.
const POINTER_LOOK: Duration = Duration::from_millis(250);

/// With more tiles than this, one whole picture is cheaper.
const MAX_TILES: usize = 24;

/// From this share of changed area on, one whole picture is cheaper.
const MOST_OF_IT: f64 = 0.5;

/// Begins to stream. Frames of the stream are not stored; their ids begin with `prefix`.
pub(super) async fn stream(
    screen: Arc<dyn Screen>,
    request: StreamRequest,
    prefix: FrameId,
    redactor: Redactor,
    parser: Arc<ParseQueue>,
) -> Result<AnswerStream<FrameUpdate>, Error> {
    let pace = request.max_frames_per_second.clamp(1, MAX_PACE);
    let mut ticks = interval(Duration::from_secs(1) / pace);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let changes = screen.watch().await?;
    let watch = Watch {
        screen,
        changes,
        ticks,
        image: request.image,
        redactor,
        parser,
        prefix,
        sequence: 0,
        due: true,
        shown: None,
    };
    // A stream is polled outside of its call, and waits for the parser on behalf of the same caller.
    let caller = Caller::current();
    let updates = futures::stream::try_unfold(watch, move |mut watch| async move {
        let update = caller.scope(watch.next()).await?;
        Ok(Some((update, watch)))
    });
    Ok(Box::pin(updates))
}

#[derive(Debug)]
struct Watch {
    screen: Arc<dyn Screen>,
    changes: Box<dyn Changes>,
    ticks: Interval,
    image: ImageOptions,
    redactor: Redactor,
    parser: Arc<ParseQueue>,
    prefix: FrameId,
    sequence: u64,
    /// Something was drawn that the reader has not seen.
    due: bool,
    /// What the reader has seen last; `None` before the first frame.
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    pixels: Arc<RgbaImage>,
    pointer: Option<CapturePoint>,
}

impl Watch {
    /// Waits until there is something new to see.
    async fn next(&mut self) -> Result<FrameUpdate, Error> {
        loop {
            self.ticks.tick().await;
            if !self.has_changed().await? {
                self.rest().await?;
                continue;
            }
            let mut shot = self
                .screen
                .capture(CaptureRequest {
                    list_windows: true,
                    exactly: self.redactor.hides_windows(),
                    ..Default::default()
                })
                .await?;
            match self.redactor.hide_contents(&mut shot, &self.parser).await {
                // Nothing is sent that could not be read; the next picture may find the parser free.
                Err(Error::ParserBusy) => continue,
                other => other?,
            }
            self.redactor.hide_regions(&mut shot);
            let shown = self.shown.take();
            let image = self.image;
            let (frame, shown, tiles) = off_the_workers(move || show(shot, shown, image)).await??;
            self.shown = Some(shown);
            self.due = false;
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

    /// Waits until something is drawn, or it is time to look at the pointer again, of which nobody tells.
    async fn rest(&mut self) -> Result<(), Error> {
        tokio::select! {
            change = self.changes.next() => {
                change?;
                self.due = true;
            }
            () = tokio::time::sleep(POINTER_LOOK) => {}
        }
        Ok(())
    }

    /// Whether anything was drawn, or the pointer was moved, since the last frame.
    async fn has_changed(&mut self) -> Result<bool, Error> {
        let pointer = self.screen.cursor().await?;
        // Everything that has been reported so far belongs to the frame that is taken now. It stays due until that
        // frame has been made: reports are told once.
        while let Some(change) = futures::FutureExt::now_or_never(self.changes.next()) {
            change?;
            self.due = true;
        }
        self.due |= self
            .shown
            .as_ref()
            .is_none_or(|shown| shown.pointer != pointer);
        Ok(self.due)
    }
}

/// What to send of a new picture, and what the reader then has seen.
fn show(
    shot: Shot,
    before: Option<Shown>,
    image: ImageOptions,
) -> Result<(Frame, Shown, Vec<FrameTile>), Error> {
    let mut pixels = shot.pixels;
    let drawn = shot
        .cursor
        .as_ref()
        .is_some_and(|image| cursor::draw(Arc::make_mut(&mut pixels), shot.bounds, image));
    let pointer = shot.cursor.as_ref().map(|cursor| cursor.position);
    let shown = Shown { pixels, pointer };
    let whole = CaptureRect::from_size(size_of(&shown.pixels));
    let regions = match &before {
        Some(before) => changed_regions(before, &shown, whole),
        None => vec![whole],
    };
    let scaled = pictures::size_within(whole.size(), image.fit);
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

/// Where a person can see a difference, which is any: two colours that are equally bright are none the less two.
fn changed_regions(before: &Shown, now: &Shown, whole: CaptureRect) -> Vec<CaptureRect> {
    let Some(boxes) = changes::boxes(&before.pixels, &now.pixels) else {
        return vec![whole];
    };
    let regions = changes::joined(&boxes);
    let area: f64 = regions
        .iter()
        .map(|region| region.size().to_f64().area())
        .sum();
    if regions.len() > MAX_TILES || area > MOST_OF_IT * whole.size().to_f64().area() {
        return vec![whole];
    }
    regions
}

/// The picture of a region, scaled as the whole frame is: from its width to `scaled_width`.
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
    let image = pictures::draw(&part, ImageOptions { fit, ..image }, Overlay::Nothing)?;
    Ok(FrameTile { bounds, image })
}
