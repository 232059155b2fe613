//! Implementation of the Perception service: screens, parser, frame store and marks.
//!
//! Each call is a short sequence of steps implemented elsewhere. Errors are converted to reports only here.
//!
//! A frame of a region has its own coordinate space with (0, 0) at the upper left corner of the region. Its monitors,
//! windows, cursor and elements use that space. `origin` is the position of the corner on the display.

mod images;
mod input_marks;
mod live_stream;
mod multi_line;
mod redact;
mod screens;
mod view_memory;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use motorium_imaging::codec::{self, size_of};
use motorium_imaging::difference;
use motorium_imaging::marks::{prompt, select};
use motorium_imaging::resize::crop;
use motorium_imaging::shift;
use motorium_kit::server::HealthCheck;
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::frame::{Cursor, Display, Frame, ImageContent, Monitor, Window};
use motorium_proto::domain::geometry::{CapturePx, CaptureRect};
use motorium_proto::domain::id::{ElementId, FrameId};
use motorium_proto::error::FieldError;
use motorium_proto::service::{
    CaptureArea, CaptureRequest, CapturedFrame, CompareRequest, Comparison, FrameRequest,
    FrameUpdate, IdleReport, MarkInputRequest, Observation, ObserveRequest, ParseOptions,
    ParseRequest, ParsedImage, Perception, Result, ResultStream, SceneDelta, StageTiming,
    StreamRequest, WaitForIdleRequest,
};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::capture::{self, Area, RawCapture, Screen};
use crate::error::Error;
use crate::frames::{FrameLimits, FrameStore, StoredFrame, ViewKey};
use crate::marks;
use crate::parse::queue::{AdmittedParser, ParseQueue};
use crate::parse::{Parse, magnify};
use crate::settle;
use input_marks::{InputMark, InputMarks};
pub(crate) use redact::Redactor;
pub use screens::{Driver, Screens};
use view_memory::ViewMemory;

/// In-process Perception service. Share it with `Arc`.
#[derive(Debug)]
pub struct PerceptionService {
    screens: Screens,
    parser: Arc<ParseQueue>,
    frames: FrameStore,
    view_memory: Arc<ViewMemory>,
    /// Redaction rules of the configuration, which apply to every request.
    redactor: Redactor,
    /// Permits of live streams.
    stream_slots: Arc<Semaphore>,
    /// Input that live streams show.
    input_marks: Arc<InputMarks>,
    /// True once the models are loaded.
    models_ready: watch::Receiver<bool>,
    /// Cancels background work when the service is dropped.
    shutdown: CancellationToken,
    _shutdown_on_drop: DropGuard,
}

/// Maximum number of live streams; each holds an image or two for its viewer.
const MAX_STREAMS: usize = 32;

/// Delay before another attempt to load the models.
// Models may be installed while the service runs, and it is not ready until they are loaded. Next to an installation, a few
// seconds do not matter.
const WARM_UP_RETRY_INTERVAL: Duration = Duration::from_secs(5);

impl PerceptionService {
    /// Creates the service. No display is opened and no model loaded yet. `hidden` is redacted in every image.
    pub(crate) fn new(
        screens: Screens,
        parser: ParseQueue,
        limits: FrameLimits,
        redactor: Redactor,
    ) -> Self {
        let shutdown = CancellationToken::new();
        Self {
            screens,
            parser: Arc::new(parser),
            frames: FrameStore::new(limits),
            view_memory: Arc::default(),
            redactor,
            stream_slots: Arc::new(Semaphore::new(MAX_STREAMS)),
            input_marks: Arc::default(),
            models_ready: watch::channel(false).1,
            _shutdown_on_drop: shutdown.clone().drop_guard(),
            shutdown,
        }
    }

    /// Loads the models in the background and retries until it succeeds. Errors are logged and returned by the calls
    /// that need the models.
    pub(crate) fn warm_up(&mut self) {
        let (warm, is_warm) = watch::channel(false);
        self.models_ready = is_warm;
        let (parser, gone) = (Arc::clone(&self.parser), self.shutdown.clone());
        tokio::spawn(async move {
            let mut known = None;
            while let Err(error) = parser.warm_up().await {
                if known.as_ref() != Some(&error) {
                    tracing::warn!(%error, "models are not available yet, retrying");
                    known = Some(error);
                }
                tokio::select! {
                    () = tokio::time::sleep(WARM_UP_RETRY_INTERVAL) => {}
                    () = gone.cancelled() => return,
                }
            }
            warm.send_replace(true);
        });
    }

    /// Waits until the models are loaded. Returns false if the service is dropped before, or loading was never started.
    pub fn ready(&self) -> impl Future<Output = bool> + Send + use<> {
        let mut warm = self.models_ready.clone();
        async move { warm.wait_for(|warm| *warm).await.is_ok() }
    }

    /// Captures with all redactions applied. If text has to be redacted, the whole display is captured first: a number
    /// cut at the edge of a region would not be recognised.
    async fn capture_redacted(
        &self,
        screen: &dyn Screen,
        area: &CaptureArea,
        redactor: &Redactor,
    ) -> std::result::Result<RawCapture, Error> {
        let part = area_of(area);
        let wanted = capture::CaptureOptions {
            area: if redactor.has_text_rules() {
                Area::Whole
            } else {
                part.clone()
            },
            list_windows: true,
            precise_window_list: redactor.has_window_rules(),
        };
        let mut shot = screen.capture(wanted).await?;
        redactor.redact_contents(&mut shot, &self.parser).await?;
        if redactor.has_text_rules() {
            let bounds = capture::area::resolve(&part, &shot.display, &shot.windows)?;
            let part = crop(&shot.pixels, bounds).map_err(|error| Error::Internal {
                detail: error.to_string(),
            })?;
            shot.pixels = Arc::new(part);
            shot.bounds = bounds;
        }
        redactor.redact_regions(&mut shot);
        Ok(shot)
    }

    /// Captures, redacts and stores a frame. Text redaction requires a parse.
    async fn capture_frame(
        &self,
        request: &CaptureRequest,
    ) -> std::result::Result<Arc<StoredFrame>, Error> {
        let redactor = self.redactor.with_requested(&request.redactions)?;
        let screen = self.screens.get(request.display.as_ref())?;
        let mut shot = self
            .capture_redacted(&*screen, &request.area, &redactor)
            .await?;
        let pixels = std::mem::take(&mut shot.pixels);
        Ok(self.store_frame(shot, pixels, request.omit_cursor))
    }

    fn store_frame(
        &self,
        shot: RawCapture,
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
            .insert(StoredFrame::new(frame, pixels, cursor, shot.redacted))
    }

    async fn observe_frame(
        &self,
        request: &ObserveRequest,
    ) -> std::result::Result<Observation, Error> {
        let mut clock = StageClock::start();
        let redactor = self.redactor.with_requested(&request.capture.redactions)?;
        let screen = self.screens.get(request.capture.display.as_ref())?;
        let view: ViewKey = (screen.id().clone(), format!("{:?}", request.capture.area));
        let before = self.scene_before(request.since_frame.as_ref(), &view)?;
        let mut shot = self
            .capture_redacted(&*screen, &request.capture.area, &redactor)
            .await?;
        clock.finish_stage("capture");

        let mut parse = self
            .parse(Arc::clone(&shot.pixels), request.parsing)
            .await?;
        clock.add_parse(&parse);
        if redactor.has_text_rules() {
            let hide = move || {
                redactor.redact_lines(&mut shot, &mut parse);
                (shot, parse)
            };
            (shot, parse) = images::run_blocking(hide).await?;
        }

        let pixels = std::mem::take(&mut shot.pixels);
        let stored = self.store_frame(shot, pixels, request.capture.omit_cursor);
        let (id, size) = (stored.frame.id.clone(), stored.frame.size);
        let (memories, join_paragraphs) = (
            Arc::clone(&self.view_memory),
            request.parsing.join_paragraphs,
        );
        let number = move || {
            let make = |memory: &marks::TrackedElements| {
                marks::scene(id, size, &parse, join_paragraphs, memory)
            };
            (memories.update(&view, make), view)
        };
        let (scene, view) = images::run_blocking(number).await?;
        let scene = Arc::new(scene);
        let delta = before.map(|(since, before)| delta(since, &before, &scene));
        stored.set_scene(view, Arc::clone(&scene));
        let shown = selected(&scene, request.max_elements);
        clock.finish_stage("merge");

        let wanted = images::RequestedImages {
            plain: request.capture.image,
            annotated: request.annotated_image,
            pointer: request.capture.mark_pointer,
        };
        let elements = shown.elements.clone();
        let made = images::render(Arc::clone(&stored), wanted, elements).await?;
        clock.finish_stage("encode");
        Ok(Observation {
            frame: stored.frame.clone(),
            image: made.plain,
            prompt_lines: prompt_lines(request.include_prompt_lines, &shown),
            scene: shown,
            annotated_image: made.annotated,
            delta,
            timings: clock.timings,
        })
    }

    /// Returns the scene of an earlier frame, if it is still stored.
    ///
    /// # Errors
    /// If that frame shows another view, whose ids are unrelated.
    fn scene_before(
        &self,
        since: Option<&FrameId>,
        view: &ViewKey,
    ) -> std::result::Result<Option<(FrameId, Arc<Scene>)>, Error> {
        let Some((since, stored)) = since.and_then(|id| Some((id, self.frames.get(id).ok()?)))
        else {
            return Ok(None);
        };
        match stored.scene() {
            Some((known, _)) if known != view => {
                let problem =
                    "shows another display or area; element ids are valid only within one area";
                Err(FieldError::new("since_frame", problem).into())
            }
            Some((_, scene)) => Ok(Some((since.clone(), Arc::clone(scene)))),
            None => Ok(None),
        }
    }

    /// Parses an image with the given options.
    async fn parse(
        &self,
        pixels: Arc<image::RgbaImage>,
        options: ParseOptions,
    ) -> std::result::Result<Parse, Error> {
        let held = pixels.as_raw().len();
        let look = move |parser: &AdmittedParser<'_>| parse_magnified(parser, &pixels, options);
        self.parser.run(held, look).await
    }

    async fn parse_image(&self, request: ParseRequest) -> std::result::Result<ParsedImage, Error> {
        let mut clock = StageClock::start();
        let ImageContent::Bytes(bytes) = request.image.content else {
            let error = FieldError::new(
                "image",
                "must contain the bytes; references are not supported",
            );
            return Err(error.into());
        };
        let held = bytes.len();
        let alone = self.parser.reserve_if_large(&bytes).await?;
        // Decoded only when a permit is held: until then the request holds only its encoded bytes.
        let decode_and_look = move |parser: &AdmittedParser<'_>| {
            let _alone = alone;
            let started = Instant::now();
            let pixels = codec::decode(&bytes).map_err(|error| Error::ImageUnreadable {
                detail: error.to_string(),
            })?;
            let (pixels, decoding) = (Arc::new(pixels), started.elapsed());
            let parse = parse_magnified(parser, &pixels, request.parsing)?;
            Ok((pixels, decoding, parse))
        };
        let (mut pixels, decoding, mut parse) = self.parser.run(held, decode_and_look).await?;
        self.redactor.redact_image(&mut pixels, &mut parse);
        clock.add("decode", decoding);
        clock.add_parse(&parse);

        let size = size_of(&pixels);
        let no_frame = FrameId::new("");
        let (scene, _) = marks::scene(
            no_frame,
            size,
            &parse,
            request.parsing.join_paragraphs,
            &marks::TrackedElements::default(),
        );
        let shown = selected(&scene, request.max_elements);
        clock.finish_stage("merge");

        let annotated_image = match request.annotated_image {
            Some(options) => {
                let elements = shown.elements.clone();
                Some(images::render_annotated(pixels, options, elements).await?)
            }
            None => None,
        };
        clock.finish_stage("encode");
        Ok(ParsedImage {
            size,
            prompt_lines: prompt_lines(request.include_prompt_lines, &shown),
            scene: shown,
            annotated_image,
            timings: clock.timings,
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
            .view_memory
            .known_motion(&after.frame.display, after.frame.bounds());
        images::run_blocking(move || compare(&before, &after, &request, noise)).await
    }

    async fn wait_until_idle(
        &self,
        request: &WaitForIdleRequest,
    ) -> std::result::Result<IdleReport, Error> {
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
        let idle = settle::wait_for_idle(&*screen, since, request).await?;
        self.view_memory
            .record_motion(screen.id(), &idle.background_motion);
        Ok(idle)
    }
}

impl HealthCheck for PerceptionService {
    /// Checks that a display answers.
    fn check(&self) -> BoxFuture<'_, std::result::Result<(), String>> {
        let described = self.screens.describe_all();
        Box::pin(async move { described.await.map(drop).map_err(|error| error.to_string()) })
    }
}

// Every method of the contract is served: a default would hide a forgotten one.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Perception for PerceptionService {
    async fn list_displays(&self) -> Result<Vec<Display>> {
        Ok(self.screens.describe_all().await?)
    }

    async fn capture(&self, request: CaptureRequest) -> Result<CapturedFrame> {
        let stored = self.capture_frame(&request).await?;
        let frame = stored.frame.clone();
        let wanted = images::RequestedImages {
            plain: request.image,
            annotated: None,
            pointer: request.mark_pointer,
        };
        let made = images::render(stored, wanted, Vec::new()).await?;
        Ok(CapturedFrame {
            frame,
            image: made.plain,
        })
    }

    async fn observe(&self, request: ObserveRequest) -> Result<Observation> {
        Ok(self.observe_frame(&request).await?)
    }

    async fn parse(&self, request: ParseRequest) -> Result<ParsedImage> {
        Ok(self.parse_image(request).await?)
    }

    async fn compare(&self, request: CompareRequest) -> Result<Comparison> {
        Ok(self.compare_frames(request).await?)
    }

    async fn wait_for_idle(&self, request: WaitForIdleRequest) -> Result<IdleReport> {
        Ok(self.wait_until_idle(&request).await?)
    }

    async fn stream_frames(&self, request: StreamRequest) -> Result<ResultStream<FrameUpdate>> {
        let screen = self.screens.get(request.display.as_ref())?;
        let open = Arc::clone(&self.stream_slots).try_acquire_owned();
        let open = open.map_err(|_| Error::TooManyStreams { max: MAX_STREAMS })?;
        let prefix = self.frames.next_id();
        let redactor = self.redactor.with_requested(&request.redactions)?;
        let sources = live_stream::Sources {
            screen,
            redactor,
            parser: Arc::clone(&self.parser),
            marks: Arc::clone(&self.input_marks),
        };
        let updates = live_stream::stream(sources, request, prefix).await?;
        // Holds the permit until the reader drops the stream.
        let counted = updates.inspect(move |_| {
            let _ = &open;
        });
        Ok(Box::pin(counted))
    }

    async fn mark_input(&self, request: MarkInputRequest) -> Result<()> {
        let screen = self.screens.get(request.display.as_ref())?;
        let MarkInputRequest {
            presses, target, ..
        } = request;
        let display = screen.id().clone();
        self.input_marks.add(display, InputMark { presses, target });
        Ok(())
    }

    async fn get_frame(&self, request: FrameRequest) -> Result<CapturedFrame> {
        let stored = self.frames.get(&request.frame)?;
        let frame = stored.frame.clone();
        let wanted = images::RequestedImages {
            plain: Some(request.image),
            ..images::RequestedImages::default()
        };
        let made = images::render(stored, wanted, Vec::new()).await?;
        Ok(CapturedFrame {
            frame,
            image: made.plain,
        })
    }
}

fn parse_magnified(
    parser: &AdmittedParser<'_>,
    pixels: &Arc<image::RgbaImage>,
    options: ParseOptions,
) -> std::result::Result<Parse, Error> {
    let Some(times) = options.magnification else {
        return parser.parse(pixels);
    };
    let enlarged = magnify::magnify(pixels, times)?;
    Ok(magnify::unmagnify(parser.parse(&enlarged)?, times))
}

fn area_of(area: &CaptureArea) -> Area {
    match area {
        CaptureArea::Display => Area::Whole,
        CaptureArea::Monitor(name) => Area::Monitor(name.clone()),
        CaptureArea::Window(id) => Area::Window(id.clone()),
        CaptureArea::Region(region) => Area::Region(*region),
    }
}

/// Clips a monitor to a frame with the box `bounds` and converts it to the frame's space.
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

/// Selects at most `max` elements, with the relations among them.
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

/// Returns the prompt lines of the elements, if they are requested.
fn prompt_lines(requested: bool, shown: &Scene) -> Vec<String> {
    let elements = requested.then_some(&shown.elements);
    elements.into_iter().flatten().map(prompt::line).collect()
}

/// Computes the difference between two scenes of a view.
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
            known.is_some_and(|known| !is_unchanged(known, element))
        }),
    }
}

/// Returns whether an element is unchanged, apart from rounding of its box.
fn is_unchanged(known: &Element, now: &Element) -> bool {
    let same_facts =
        known.kind == now.kind && known.content == now.content && known.state == now.state;
    same_facts
        && (known.centre - now.centre)
            .abs()
            // 3 px: detected boxes vary by a pixel or two between frames.
            .lower_than(euclid::vec2(3, 3))
            .all()
}

/// Compares two frames; known background motion is ignored.
fn compare(
    before: &StoredFrame,
    after: &StoredFrame,
    request: &CompareRequest,
    noise: Vec<CaptureRect>,
) -> Comparison {
    let ignore = [request.ignore.as_slice(), &noise].concat();
    let options = difference::CompareOptions {
        threshold: request.threshold,
        ignore: &ignore,
    };
    let near_share = |&near: &CaptureRect| {
        let changed = difference::changed_within(&before.pixels, &after.pixels, near, &options);
        changed as f64 / near.size().to_u64().area().max(1) as f64
    };
    let is_same_image = Arc::ptr_eq(&before.pixels, &after.pixels);
    let shift = |&region: &CaptureRect| match is_same_image {
        true => 0,
        false => shift::vertical_shift(before.grey(), after.grey(), region).unwrap_or_default(),
    };
    Comparison {
        vertical_shifts: request.shift_regions.iter().map(shift).collect(),
        measured_shares: request.measured_regions.iter().map(near_share).collect(),
        change: difference::compare(&before.pixels, &after.pixels, &options),
    }
}

/// Measures the stages of a call.
struct StageClock {
    last: Instant,
    timings: Vec<StageTiming>,
}

impl StageClock {
    fn start() -> Self {
        Self {
            last: Instant::now(),
            timings: Vec::new(),
        }
    }

    /// Records the stage that has just ended.
    fn finish_stage(&mut self, stage: &str) {
        let now = Instant::now();
        self.add(stage, now - self.last);
        self.last = now;
    }

    /// Records the stages of a parse.
    fn add_parse(&mut self, parse: &Parse) {
        let effort = &parse.effort;
        self.add("queue", effort.queued);
        self.add("detect", effort.detection);
        self.add("locate", effort.text_detection);
        self.add("read", effort.text_recognition);
        self.last = Instant::now();
    }

    fn add(&mut self, stage: &str, elapsed: std::time::Duration) {
        self.timings.push(StageTiming {
            stage: stage.to_owned(),
            elapsed,
        });
    }
}
