//! Perception of a simulated application: the full contract, without pixels.
//!
//! Frames are kept in memory and lost on a restart, as in the real service.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use motorium_proto::domain::effect::{ChangeMap, ChangedRegion};
use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState, Scene};
use motorium_proto::domain::frame::{Display, Frame, Image, ImageContent, Window};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, LogicalSize, NormalisedPoint, NormalisedRect,
};
use motorium_proto::domain::id::{DisplayId, ElementId, FrameId};
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    CaptureRequest, CapturedFrame, CompareRequest, Comparison, FrameRequest, IdleReport,
    Observation, ObserveRequest, Perception, Result, WaitForIdleRequest,
};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};
use tonic::Code;

use crate::application::{Application, BUTTONS, SIZE, ScreenState, button, clock, count};

/// Display id of every desktop.
pub(crate) const DISPLAY: &str = ":1";
/// Simulated duration of parsing a screen.
const PARSE_TIME: Duration = Duration::from_millis(40);
/// Interval for polling for changes.
const POLL_INTERVAL: Duration = Duration::from_millis(8);
/// Maximum number of kept frames.
const MAX_KEPT_FRAMES: usize = 64;
/// Size of an image in bytes.
const IMAGE_BYTES: usize = 20_000;

#[derive(Debug, Default)]
struct Frames {
    /// Number of restarts, part of the frame ids.
    generation: u64,
    last: u64,
    kept: VecDeque<(FrameId, ScreenState)>,
}

/// Perception of one desktop.
#[derive(Debug)]
pub(crate) struct SimulatedPerception {
    application: Arc<Application>,
    frames: Mutex<Frames>,
}

impl SimulatedPerception {
    pub(crate) fn new(application: Arc<Application>) -> Self {
        Self {
            application,
            frames: Mutex::default(),
        }
    }

    /// Drops all frames, as a restart does.
    pub(crate) fn forget(&self) {
        let mut frames = self.frames();
        frames.generation += 1;
        frames.kept.clear();
    }

    fn frames(&self) -> MutexGuard<'_, Frames> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) -> (Frame, ScreenState) {
        let shown = self.application.shown();
        let mut frames = self.frames();
        frames.last += 1;
        let id = FrameId::new(format!("{}-{}", frames.generation, frames.last));
        frames.kept.push_back((id.clone(), shown.clone()));
        while frames.kept.len() > MAX_KEPT_FRAMES {
            frames.kept.pop_front();
        }
        (frame(id), shown)
    }

    fn kept(&self, id: &FrameId) -> Result<ScreenState> {
        let frames = self.frames();
        let kept = frames.kept.iter().find(|(kept, _)| kept == id);
        let shown = kept.map(|(_, shown)| shown.clone());
        shown.ok_or_else(|| {
            let message = format!("no frame {id}: it has expired, or the service was restarted");
            ErrorReport::new(Code::NotFound, "FRAME_NOT_FOUND", message)
        })
    }
}

fn frame(id: FrameId) -> Frame {
    let window = Window {
        id: "1".to_owned(),
        title: "Workshop".to_owned(),
        application: "workshop".to_owned(),
        process: None,
        bounds: CaptureRect::from_origin_and_size(CapturePoint::zero(), SIZE),
        active: true,
        minimised: false,
        modal: false,
    };
    Frame {
        id,
        display: DisplayId::new(DISPLAY),
        origin: CapturePoint::zero(),
        size: SIZE,
        scale: 1.0,
        captured_at: SystemTime::now(),
        cursor: None,
        monitors: vec![],
        windows: vec![window],
    }
}

/// Returns an image whose bytes are unique to the frame.
fn simulated_image(frame: &Frame) -> Image {
    let mut bytes = vec![7; IMAGE_BYTES];
    let stamp = format!("{} {:?}", frame.id, frame.captured_at);
    bytes[..stamp.len()].copy_from_slice(stamp.as_bytes());
    Image {
        sha256: Sha256::digest(&bytes).into(),
        content: ImageContent::Bytes(bytes.into()),
        media_type: "image/png".to_owned(),
        width: 1920,
        height: 1080,
    }
}

fn element(id: usize, kind: ElementKind, content: String, bounds: CaptureRect) -> Element {
    let corner = |point: CapturePoint| {
        NormalisedPoint::new(
            f64::from(point.x) / f64::from(SIZE.width),
            f64::from(point.y) / f64::from(SIZE.height),
        )
    };
    Element {
        id: ElementId(u32::try_from(id).unwrap_or(0)),
        interactable: kind == ElementKind::Button,
        kind,
        content,
        bounds: NormalisedRect::new(corner(bounds.min), corner(bounds.max)),
        confidence: 0.9,
        centre: bounds.center(),
        source: ElementSource::Both,
        state: ElementState::default(),
    }
}

fn scene(frame: &Frame, shown: &ScreenState) -> Scene {
    let rows = BUTTONS.iter().zip(shown.counts).enumerate();
    let mut elements: Vec<Element> = rows
        .flat_map(|(row, (name, times))| {
            let name = (*name).to_owned();
            let times = format!("{times} times");
            [
                element(2 * row + 1, ElementKind::Button, name, button(row)),
                element(2 * row + 2, ElementKind::Label, times, count(row)),
            ]
        })
        .collect();
    let (hour, minute) = (shown.clock / 3600 % 24, shown.clock / 60 % 60);
    let time = format!("{hour:02}:{minute:02}:{:02}", shown.clock % 60);
    let id = elements.len() + 1;
    elements.push(element(id, ElementKind::Label, time, clock()));
    Scene {
        frame: frame.id.clone(),
        elements,
        relations: vec![],
    }
}

/// Returns the boxes in which two states differ, except in the ignored regions.
fn differences(
    before: &ScreenState,
    after: &ScreenState,
    ignore: &[CaptureRect],
) -> Vec<CaptureRect> {
    let rows = before.counts.iter().zip(after.counts).enumerate();
    let counts = rows
        .filter(|(_, (before, after))| *before != after)
        .map(|(row, _)| count(row));
    let clock = (before.clock != after.clock).then(clock);
    let seen = |place: &CaptureRect| !ignore.iter().any(|ignored| ignored.contains_box(place));
    counts.chain(clock).filter(seen).collect()
}

#[async_trait]
impl Perception for SimulatedPerception {
    async fn list_displays(&self) -> Result<Vec<Display>> {
        Ok(vec![Display {
            id: DisplayId::new(DISPLAY),
            size: SIZE,
            logical_size: LogicalSize::new(f64::from(SIZE.width), f64::from(SIZE.height)),
            scale: 1.0,
            monitors: vec![],
        }])
    }

    async fn capture(&self, request: CaptureRequest) -> Result<CapturedFrame> {
        let (frame, _) = self.look();
        let image = request.image.map(|_| simulated_image(&frame));
        Ok(CapturedFrame { frame, image })
    }

    async fn observe(&self, request: ObserveRequest) -> Result<Observation> {
        sleep(PARSE_TIME).await;
        let (frame, shown) = self.look();
        Ok(Observation {
            image: request.capture.image.map(|_| simulated_image(&frame)),
            annotated_image: request.annotated_image.map(|_| simulated_image(&frame)),
            scene: scene(&frame, &shown),
            frame,
            prompt_lines: vec![],
            delta: None,
            timings: vec![],
        })
    }

    async fn compare(&self, request: CompareRequest) -> Result<Comparison> {
        let (before, after) = (self.kept(&request.before)?, self.kept(&request.after)?);
        let places = differences(&before, &after, &request.ignore);
        let region = |bounds: &CaptureRect| ChangedRegion {
            bounds: *bounds,
            changed_pixels: 200,
        };
        let near = |place: &CaptureRect| {
            let touched = places.iter().any(|changed| changed.intersects(place));
            if touched { 0.05 } else { 0.0 }
        };
        Ok(Comparison {
            vertical_shifts: Vec::new(),
            measured_shares: request.measured_regions.iter().map(near).collect(),
            change: ChangeMap {
                changed_pixels: 200 * places.len() as u64,
                changed_share: 0.0001 * places.len() as f64,
                regions: places.iter().map(region).collect(),
                ..ChangeMap::default()
            },
        })
    }

    async fn wait_for_idle(&self, request: WaitForIdleRequest) -> Result<IdleReport> {
        let began = Instant::now();
        let mut seen = match &request.since_frame {
            Some(id) => self.kept(id)?,
            None => self.application.shown(),
        };
        let (mut first, mut last) = (None, None);
        let mut places = Vec::new();
        loop {
            let shown = self.application.shown();
            let now = Instant::now();
            let changed = differences(&seen, &shown, &request.ignore);
            if !changed.is_empty() {
                places.extend(changed);
                first.get_or_insert(now - began);
                last = Some(now);
                seen = shown;
            }
            let settled = match last {
                Some(last) => now - last >= request.idle_duration,
                None => now - began >= request.first_change_timeout,
            };
            if settled || now - began >= request.timeout {
                return Ok(IdleReport {
                    settled,
                    changed: first.is_some(),
                    elapsed: now - began,
                    first_change_after: first,
                    still_changing: if settled { vec![] } else { places },
                    background_motion: vec![],
                });
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    async fn get_frame(&self, request: FrameRequest) -> Result<CapturedFrame> {
        self.kept(&request.frame)?;
        let frame = frame(request.frame);
        let image = Some(simulated_image(&frame));
        Ok(CapturedFrame { frame, image })
    }
}
