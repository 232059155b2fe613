//! The service: screens, parser, frames and marks put together as the contract wants them.
//!
//! Each call is a short sequence of steps that live elsewhere. Errors become reports here and nowhere else.
//!
//! A frame of a part of a display has a coordinate space of its own, with (0, 0) at the part's upper left corner; its
//! monitors, windows, cursor and elements are given in that space too. Its origin says where that corner lies.

mod live;
mod memory;
mod pictures;
mod redact;
mod screens;
mod sensitive;
mod together;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use motorium_imaging::difference;
use motorium_imaging::marks::{prompt, select};
use motorium_imaging::picture::{self, size_of};
use motorium_imaging::resize::crop;
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::frame::{Cursor, Display, Frame, ImageContent, Monitor, Window};
use motorium_proto::domain::geometry::{CapturePx, CaptureRect};
use motorium_proto::domain::id::{ElementId, FrameId};
use motorium_proto::error::FieldError;
use motorium_proto::service::{
    AnswerStream, AwaitQuiet, CaptureArea, CaptureRequest, Captured, CompareRequest, Comparison,
    FrameUpdate, ImageOptions, Observation, ObserveRequest, ParseOptions, ParseRequest, Parsed,
    Perception, Quiet, Result, SceneDelta, StageTiming, StreamRequest,
};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::capture::{self, Area, Screen, Shot};
use crate::error::Error;
use crate::frames::{FrameStore, Limits, StoredFrame, View};
use crate::marks;
use crate::parse::queue::{Admitted, ParseQueue};
use crate::parse::{Parse, magnify};
use crate::settle;
use memory::Memories;
pub(crate) use redact::Redactor;
pub use screens::{Driver, Screens};

/// Perception, as an object. Cheap to share by `Arc`.
#[derive(Debug)]
pub struct PerceptionService {
    screens: Screens,
    parser: Arc<ParseQueue>,
    frames: FrameStore,
    memories: Arc<Memories>,
    /// What is hidden from everybody, whatever a request says.
    hidden: Redactor,
    /// Streams of live pictures that may still be opened.
    streams: Arc<Semaphore>,
    /// Whether the models are loaded and warm.
    warm: watch::Receiver<bool>,
    /// Ends what goes on by itself when the service goes.
    gone: CancellationToken,
    _gone_when_dropped: DropGuard,
}

/// Most streams of live pictures at a time; each holds a picture or two for its viewer.
const MAX_STREAMS: usize = 32;

/// After how long the models are looked for again that could not be loaded.
const WARM_UP_AGAIN: Duration = Duration::from_secs(5);

impl PerceptionService {
    /// Puts the parts together. Nothing is opened or loaded yet. What is `hidden` never leaves the process.
    pub(crate) fn new(
        screens: Screens,
        parser: ParseQueue,
        limits: Limits,
        hidden: Redactor,
    ) -> Self {
        let gone = CancellationToken::new();
        Self {
            screens,
            parser: Arc::new(parser),
            frames: FrameStore::new(limits),
            memories: Arc::default(),
            hidden,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            warm: watch::channel(false).1,
            _gone_when_dropped: gone.clone().drop_guard(),
            gone,
        }
    }

    /// Begins to load the models, and goes on trying. What is wrong with them is told by the calls that need them, and
    /// in the log.
    pub(crate) fn warm_up(&mut self) {
        let (warm, is_warm) = watch::channel(false);
        self.warm = is_warm;
        let (parser, gone) = (Arc::clone(&self.parser), self.gone.clone());
        tokio::spawn(async move {
            let mut known = None;
            while let Err(error) = parser.warm_up().await {
                if known.as_ref() != Some(&error) {
                    tracing::warn!(%error, "text cannot be read yet");
                    known = Some(error);
                }
                tokio::select! {
                    () = tokio::time::sleep(WARM_UP_AGAIN) => {}
                    () = gone.cancelled() => return,
                }
            }
            warm.send_replace(true);
        });
    }

    /// Waits until the models are loaded and warm. False if the service goes before, or never began to load them.
    pub fn ready(&self) -> impl Future<Output = bool> + Send + use<> {
        let mut warm = self.warm.clone();
        async move { warm.wait_for(|warm| *warm).await.is_ok() }
    }

    /// Takes a picture with everything hidden that must not be seen. With text to hide the whole display is looked at:
    /// a number that is cut in two at the edge of a part would not be known as one.
    async fn shoot(
        &self,
        screen: &dyn Screen,
        area: &CaptureArea,
        redactor: &Redactor,
    ) -> std::result::Result<Shot, Error> {
        let part = area_of(area);
        let wanted = capture::CaptureRequest {
            area: if redactor.hides_text() {
                Area::Whole
            } else {
                part.clone()
            },
            list_windows: true,
            exactly: redactor.hides_windows(),
        };
        let mut shot = screen.capture(wanted).await?;
        redactor.hide_contents(&mut shot, &self.parser).await?;
        if redactor.hides_text() {
            let bounds = capture::area::resolve(&part, &shot.display, &shot.windows)?;
            let part = crop(&shot.pixels, bounds).map_err(|error| Error::Internal {
                detail: error.to_string(),
            })?;
            shot.pixels = Arc::new(part);
            shot.bounds = bounds;
        }
        redactor.hide_regions(&mut shot);
        Ok(shot)
    }

    /// Captures, hides what must not be seen, and stores the frame. With text to hide, it has to be read first.
    async fn take(&self, request: &CaptureRequest) -> std::result::Result<Arc<StoredFrame>, Error> {
        let redactor = self.hidden.and(&request.redactions)?;
        let screen = self.screens.get(request.display.as_ref())?;
        let mut shot = self.shoot(&*screen, &request.area, &redactor).await?;
        let pixels = std::mem::take(&mut shot.pixels);
        Ok(self.keep(shot, pixels, request.omit_cursor))
    }

    fn keep(
        &self,
        shot: Shot,
        pixels: Arc<image::RgbaImage>,
        omit_cursor: bool,
    ) -> Arc<StoredFrame> {
        let drawn = !omit_cursor
            && shot
                .cursor
                .as_ref()
                .is_some_and(|cursor| cursor.shows_in(shot.bounds));
        let corner = shot.bounds.min.to_vector();
        let frame = Frame {
            id: self.frames.next_id(),
            display: shot.display.id,
            origin: shot.bounds.min,
            size: shot.bounds.size(),
            scale: shot.display.scale,
            captured_at: shot.captured_at,
            cursor: shot.cursor.as_ref().map(|cursor| Cursor {
                position: cursor.position - corner,
                drawn,
            }),
            monitors: shot
                .display
                .monitors
                .into_iter()
                .filter_map(|monitor| monitor_in(monitor, shot.bounds))
                .collect(),
            windows: shot
                .windows
                .into_iter()
                .map(|window| window_in(window, corner))
                .collect(),
        };
        let cursor = shot.cursor.filter(|_| drawn);
        self.frames
            .keep(StoredFrame::new(frame, pixels, cursor, shot.hidden))
    }

    async fn observe_frame(
        &self,
        request: &ObserveRequest,
    ) -> std::result::Result<Observation, Error> {
        let mut clock = Clock::start();
        let redactor = self.hidden.and(&request.capture.redactions)?;
        let screen = self.screens.get(request.capture.display.as_ref())?;
        let view: View = (screen.id().clone(), format!("{:?}", request.capture.area));
        let before = self.scene_before(request.since_frame.as_ref(), &view)?;
        let mut shot = self
            .shoot(&*screen, &request.capture.area, &redactor)
            .await?;
        clock.lap("capture");

        let mut parse = self
            .parse(Arc::clone(&shot.pixels), request.parsing)
            .await?;
        clock.parsed(&parse);
        if redactor.hides_text() {
            let hide = move || {
                redactor.hide_read(&mut shot, &mut parse);
                (shot, parse)
            };
            (shot, parse) = pictures::off_the_workers(hide).await?;
        }

        let pixels = std::mem::take(&mut shot.pixels);
        let stored = self.keep(shot, pixels, request.capture.omit_cursor);
        let (id, size) = (stored.frame.id.clone(), stored.frame.size);
        let (memories, join_paragraphs) =
            (Arc::clone(&self.memories), request.parsing.join_paragraphs);
        let number = move || {
            let make =
                |memory: &marks::Memory| marks::scene(id, size, &parse, join_paragraphs, memory);
            (memories.number(&view, make), view)
        };
        let (scene, view) = pictures::off_the_workers(number).await?;
        let scene = Arc::new(scene);
        let delta = before.map(|(since, before)| delta(since, &before, &scene));
        stored.set_scene(view, Arc::clone(&scene));
        let shown = selected(&scene, request.max_elements);
        clock.lap("merge");

        let wanted = pictures::Wanted {
            plain: request.capture.image,
            marked: request.marked_image,
            pointer: request.capture.mark_pointer,
        };
        let elements = shown.elements.clone();
        let made = pictures::make(Arc::clone(&stored), wanted, elements).await?;
        clock.lap("encode");
        Ok(Observation {
            frame: stored.frame.clone(),
            image: made.plain,
            prompt_lines: shown.elements.iter().map(prompt::line).collect(),
            scene: shown,
            marked_image: made.marked,
            delta,
            timings: clock.laps,
        })
    }

    /// The scene of an earlier frame, if it is still known.
    ///
    /// # Errors
    /// If that frame shows another view: its numbers are those of other elements.
    fn scene_before(
        &self,
        since: Option<&FrameId>,
        view: &View,
    ) -> std::result::Result<Option<(FrameId, Arc<Scene>)>, Error> {
        let Some((since, stored)) = since.and_then(|id| Some((id, self.frames.get(id).ok()?)))
        else {
            return Ok(None);
        };
        match stored.scene() {
            Some((known, _)) if known != view => {
                let problem = "shows another display or another part of it; elements are numbered for each part by itself";
                Err(FieldError::new("since_frame", problem).into())
            }
            Some((_, scene)) => Ok(Some((since.clone(), Arc::clone(scene)))),
            None => Ok(None),
        }
    }

    /// What is on a picture, looked at as the options say.
    async fn parse(
        &self,
        pixels: Arc<image::RgbaImage>,
        options: ParseOptions,
    ) -> std::result::Result<Parse, Error> {
        let held = pixels.as_raw().len();
        let look = move |parser: &Admitted<'_>| look(parser, &pixels, options);
        self.parser.in_turn(held, look).await
    }

    async fn parse_picture(&self, request: ParseRequest) -> std::result::Result<Parsed, Error> {
        let mut clock = Clock::start();
        let ImageContent::Bytes(bytes) = request.image.content else {
            let error = FieldError::new(
                "image",
                "must bring its bytes; a reference cannot be followed",
            );
            return Err(error.into());
        };
        let held = bytes.len();
        let alone = self.parser.alone_if_large(&bytes).await?;
        // Decoded only when it is its turn: until then it holds as little as it was sent as.
        let decode_and_look = move |parser: &Admitted<'_>| {
            let _alone = alone;
            let started = Instant::now();
            let pixels = picture::decode(&bytes).map_err(|error| Error::ImageUnreadable {
                detail: error.to_string(),
            })?;
            let (pixels, decoding) = (Arc::new(pixels), started.elapsed());
            let parse = look(parser, &pixels, request.parsing)?;
            Ok((pixels, decoding, parse))
        };
        let (mut pixels, decoding, mut parse) = self.parser.in_turn(held, decode_and_look).await?;
        self.hidden.hide_on(&mut pixels, &mut parse);
        clock.note("decode", decoding);
        clock.parsed(&parse);

        let size = size_of(&pixels);
        let no_frame = FrameId::new("");
        let (scene, _) = marks::scene(
            no_frame,
            size,
            &parse,
            request.parsing.join_paragraphs,
            &marks::Memory::default(),
        );
        let shown = selected(&scene, request.max_elements);
        clock.lap("merge");

        let marked_image = match request.marked_image {
            Some(options) => {
                let elements = shown.elements.clone();
                Some(pictures::marked(pixels, options, elements).await?)
            }
            None => None,
        };
        clock.lap("encode");
        Ok(Parsed {
            size,
            prompt_lines: shown.elements.iter().map(prompt::line).collect(),
            scene: shown,
            marked_image,
            timings: clock.laps,
        })
    }

    async fn compare_frames(
        &self,
        request: CompareRequest,
    ) -> std::result::Result<Comparison, Error> {
        let (before, after) = (
            self.frames.get(&request.before)?,
            self.frames.get(&request.after)?,
        );
        let noise = self
            .memories
            .noise(&after.frame.display, after.frame.bounds());
        pictures::off_the_workers(move || compare(&before, &after, &request, noise)).await
    }

    async fn wait_for_quiet(&self, request: &AwaitQuiet) -> std::result::Result<Quiet, Error> {
        let screen = self.screens.get(request.display.as_ref())?;
        let since = request
            .since_frame
            .as_ref()
            .map(|id| self.frames.get(id))
            .transpose()?;
        if let Some(since) = &since
            && since.frame.display != *screen.id()
        {
            let problem = format!("shows display {}, not {}", since.frame.display, screen.id());
            return Err(FieldError::new("since_frame", problem).into());
        }
        let quiet = settle::await_quiet(&*screen, since, request).await?;
        self.memories.remember_noise(screen.id(), &quiet.noise);
        Ok(quiet)
    }
}

#[async_trait]
impl Perception for PerceptionService {
    async fn list_displays(&self) -> Result<Vec<Display>> {
        Ok(self.screens.describe_all().await?)
    }

    async fn capture(&self, request: CaptureRequest) -> Result<Captured> {
        let stored = self.take(&request).await?;
        let frame = stored.frame.clone();
        let wanted = pictures::Wanted {
            plain: request.image,
            marked: None,
            pointer: request.mark_pointer,
        };
        let made = pictures::make(stored, wanted, Vec::new()).await?;
        Ok(Captured {
            frame,
            image: made.plain,
        })
    }

    async fn observe(&self, request: ObserveRequest) -> Result<Observation> {
        Ok(self.observe_frame(&request).await?)
    }

    async fn parse(&self, request: ParseRequest) -> Result<Parsed> {
        Ok(self.parse_picture(request).await?)
    }

    async fn compare(&self, request: CompareRequest) -> Result<Comparison> {
        Ok(self.compare_frames(request).await?)
    }

    async fn await_quiet(&self, request: AwaitQuiet) -> Result<Quiet> {
        Ok(self.wait_for_quiet(&request).await?)
    }

    async fn stream_frames(&self, request: StreamRequest) -> Result<AnswerStream<FrameUpdate>> {
        let screen = self.screens.get(request.display.as_ref())?;
        let open = Arc::clone(&self.streams).try_acquire_owned();
        let open = open.map_err(|_| Error::TooManyStreams { most: MAX_STREAMS })?;
        let prefix = self.frames.next_id();
        let redactor = self.hidden.and(&request.redactions)?;
        let parser = Arc::clone(&self.parser);
        let updates = live::stream(screen, request, prefix, redactor, parser).await?;
        // Counts as open until the reader lets go of it.
        let counted = updates.inspect(move |_| {
            let _ = &open;
        });
        Ok(Box::pin(counted))
    }

    async fn get_frame(&self, frame: FrameId, image: ImageOptions) -> Result<Captured> {
        let stored = self.frames.get(&frame)?;
        let frame = stored.frame.clone();
        let wanted = pictures::Wanted {
            plain: Some(image),
            ..pictures::Wanted::default()
        };
        let made = pictures::make(stored, wanted, Vec::new()).await?;
        Ok(Captured {
            frame,
            image: made.plain,
        })
    }
}

fn look(
    parser: &Admitted<'_>,
    pixels: &Arc<image::RgbaImage>,
    options: ParseOptions,
) -> std::result::Result<Parse, Error> {
    let Some(times) = options.magnification else {
        return parser.parse(pixels);
    };
    let enlarged = magnify::enlarged(pixels, times)?;
    Ok(magnify::reduced(parser.parse(&enlarged)?, times))
}

fn area_of(area: &CaptureArea) -> Area {
    match area {
        CaptureArea::Display => Area::Whole,
        CaptureArea::Monitor(name) => Area::Monitor(name.clone()),
        CaptureArea::Window(id) => Area::Window(id.clone()),
        CaptureArea::Region(region) => Area::Region(*region),
    }
}

/// The part of a monitor that a frame of the box `bounds` shows, in the frame's space.
fn monitor_in(monitor: Monitor, bounds: CaptureRect) -> Option<Monitor> {
    let shown = monitor.bounds.intersection(&bounds)?;
    Some(Monitor {
        bounds: shown.translate(-bounds.min.to_vector()),
        ..monitor
    })
}

fn window_in(window: Window, corner: euclid::Vector2D<i32, CapturePx>) -> Window {
    Window {
        bounds: window.bounds.translate(-corner),
        ..window
    }
}

/// The elements that are shown, and what is known of them among each other.
fn selected(scene: &Scene, max: Option<u32>) -> Scene {
    let elements: Vec<Element> = select(&scene.elements, max.map(|max| max as usize))
        .into_iter()
        .cloned()
        .collect();
    let is_shown = |id: ElementId| elements.iter().any(|element| element.id == id);
    let relations = scene.relations.iter().copied();
    let relations = relations.filter(|known| is_shown(known.from) && is_shown(known.to));
    Scene {
        frame: scene.frame.clone(),
        relations: relations.collect(),
        elements,
    }
}

/// What has changed from one scene of a view to the next.
fn delta(since_frame: FrameId, before: &Scene, scene: &Scene) -> SceneDelta {
    let ids = |elements: &[Element], wanted: &dyn Fn(&Element) -> bool| -> Vec<ElementId> {
        let wanted = elements.iter().filter(|element| wanted(element));
        wanted.map(|element| element.id).collect()
    };
    SceneDelta {
        since_frame,
        added: ids(&scene.elements, &|element| {
            before.element(element.id).is_none()
        }),
        removed: ids(&before.elements, &|element| {
            scene.element(element.id).is_none()
        }),
        changed: ids(&scene.elements, &|element| {
            let known = before.element(element.id);
            known.is_some_and(|known| !says_the_same(known, element))
        }),
    }
}

/// Whether an element has stayed as it was, apart from a shift by the rounding of its box.
fn says_the_same(known: &Element, now: &Element) -> bool {
    let same_facts =
        known.kind == now.kind && known.content == now.content && known.state == now.state;
    same_facts
        && (known.centre - now.centre)
            .abs()
            .lower_than(euclid::vec2(3, 3))
            .all()
}

/// Compares two frames; what is known to move by itself does not count.
fn compare(
    before: &StoredFrame,
    after: &StoredFrame,
    request: &CompareRequest,
    noise: Vec<CaptureRect>,
) -> Comparison {
    let ignore = [request.ignore.as_slice(), &noise].concat();
    let options = difference::Comparison {
        threshold: request.threshold,
        ignore: &ignore,
    };
    let near_share = |&near: &CaptureRect| {
        let changed = difference::changed_within(before.grey(), after.grey(), near, &options);
        changed as f64 / near.size().to_u64().area().max(1) as f64
    };
    Comparison {
        near_shares: request.near.iter().map(near_share).collect(),
        change: difference::compare(before.grey(), after.grey(), &options),
    }
}

/// Measures stages.
struct Clock {
    last: Instant,
    laps: Vec<StageTiming>,
}

impl Clock {
    fn start() -> Self {
        Self {
            last: Instant::now(),
            laps: Vec::new(),
        }
    }

    /// The stage that has just ended.
    fn lap(&mut self, stage: &str) {
        let now = Instant::now();
        self.note(stage, now - self.last);
        self.last = now;
    }

    /// The stages of a parse that has just ended.
    fn parsed(&mut self, parse: &Parse) {
        let effort = &parse.effort;
        self.note("queue", effort.waiting);
        self.note("detect", effort.detecting);
        self.note("locate", effort.locating);
        self.note("read", effort.recognising);
        self.last = Instant::now();
    }

    fn note(&mut self, stage: &str, elapsed: std::time::Duration) {
        self.laps.push(StageTiming {
            stage: stage.to_owned(),
            elapsed,
        });
    }
}
