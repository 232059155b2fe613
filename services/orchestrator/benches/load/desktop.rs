//! A simulated desktop and its services, with delays, images, and a change after every action.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::action::{Action, ActionKind, Button, Target};
use motorium_proto::domain::decision::{Decision, Next, PlannedAction, Usage};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, ChangeMap, ChangedRegion};
use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState, Scene};
use motorium_proto::domain::frame::{Frame, Image, ImageContent};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, NormalisedPoint, NormalisedRect,
};
use motorium_proto::domain::id::{DesktopEpoch, DisplayId, ElementId, FrameId};
use motorium_proto::service::{
    AcquireRequest, ActionProgress, BackendInfo, BackendState, Capabilities, CaptureRequest,
    CapturedFrame, CompareRequest, Comparison, Executor, FileInfo, FileRequest, IdleReport,
    LookUpRequest, Observation, ObserveRequest, Perception, PerformRequest, PlanRequest,
    PlannedDecision, Planner, ReleaseRequest, RenewRequest, Result, WaitForIdleRequest,
};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

const OBSERVE_TIME: Duration = Duration::from_millis(60);
/// Average time of a decision. Individual times vary as a real model's do: with equal ones, all tasks would step in
/// lockstep, with more work than cores in one half of a second and none in the other.
const DECISION_TIME: Duration = Duration::from_millis(1500);
const ACTION_TIME: Duration = Duration::from_millis(20);
const SETTLE_TIME: Duration = Duration::from_millis(120);
const CAPTURE_TIME: Duration = Duration::from_millis(2);
/// Number of elements on the screen.
const ELEMENTS: u32 = 60;
const SIZE: CaptureSize = CaptureSize::new(1920, 1080);
/// Multiples of the golden ratio's fraction, modulo 1, are evenly distributed.
const GOLDEN_RATIO_FRACTION: f64 = 0.618_033_988_749_895;

/// The orchestrator's own time of each step, of all desktops.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timings {
    steps: Arc<Mutex<Vec<Duration>>>,
    count: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Timings {
    fn note(&self, own: Duration) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.push(own);
        self.count.store(steps.len(), Ordering::Relaxed);
    }

    /// Returns the number of steps so far.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Returns whether any task has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Returns the own times of these steps, sorted.
    pub(crate) fn own(&self, numbers: Range<usize>) -> Vec<Duration> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = steps[numbers].to_vec();
        own.sort_unstable();
        own
    }
}

/// Time during which no call of a desktop was running.
#[derive(Debug, Default)]
struct BenchState {
    calls: u32,
    idle_since: Option<Instant>,
    idle: Duration,
}

/// A simulated desktop and its services.
#[derive(Debug)]
pub(crate) struct SimulatedDesktop {
    number: usize,
    steps: usize,
    image_bytes: usize,
    /// Hash state of the common prefix of all images. A real desktop hashes on another machine, so the prefix is hashed
    /// once to keep that work out of the measurement.
    hash_of_blank: Sha256,
    timings: Timings,
    ledger: Mutex<BenchState>,
    frames: AtomicU64,
    epoch: AtomicU64,
}

/// A running call.
struct Call<'a>(&'a SimulatedDesktop);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut ledger = self.0.ledger();
        ledger.calls -= 1;
        if ledger.calls == 0 {
            ledger.idle_since = Some(Instant::now());
        }
    }
}

fn place(number: u32) -> CaptureRect {
    let corner = CapturePoint::new(
        100 + i32::try_from(number % 10).unwrap_or(0) * 150,
        100 + i32::try_from(number / 10).unwrap_or(0) * 100,
    );
    CaptureRect::new(corner, CapturePoint::new(corner.x + 100, corner.y + 40))
}

impl SimulatedDesktop {
    pub(crate) fn new(
        number: usize,
        steps: usize,
        image_bytes: usize,
        timings: Timings,
    ) -> Arc<Self> {
        Arc::new(Self {
            number,
            steps,
            image_bytes,
            hash_of_blank: Sha256::new_with_prefix(vec![7; image_bytes]),
            timings,
            ledger: Mutex::default(),
            frames: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
        })
    }

    fn ledger(&self) -> std::sync::MutexGuard<'_, BenchState> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self) -> Call<'_> {
        let mut ledger = self.ledger();
        ledger.calls += 1;
        if let Some(since) = ledger.idle_since.take() {
            ledger.idle += since.elapsed();
        }
        drop(ledger);
        Call(self)
    }

    /// Returns the time of a step's decision: between a third and five thirds of the average.
    fn decision(&self, step: usize) -> Duration {
        let spread =
            ((self.number * (self.steps + 1) + step) as f64 * GOLDEN_RATIO_FRACTION).fract();
        DECISION_TIME.mul_f64(1.0 / 3.0 + spread * 4.0 / 3.0)
    }

    fn frame(&self) -> Frame {
        let number = self.frames.fetch_add(1, Ordering::Relaxed);
        Frame {
            id: FrameId::new(format!("f{number}")),
            display: DisplayId::new(":1"),
            origin: CapturePoint::zero(),
            size: SIZE,
            scale: 1.0,
            captured_at: SystemTime::now(),
            cursor: None,
            monitors: vec![],
            windows: vec![],
        }
    }

    /// Returns an image with unique content.
    fn image(&self, frame: &Frame) -> Image {
        let stamp = format!("{:p} {}", self, frame.id);
        let mut bytes = vec![7; self.image_bytes];
        bytes.extend_from_slice(stamp.as_bytes());
        let hash = self.hash_of_blank.clone().chain_update(&stamp);
        Image {
            sha256: hash.finalize().into(),
            content: ImageContent::Bytes(bytes.into()),
            media_type: "image/webp".to_owned(),
            width: 1920,
            height: 1080,
        }
    }
}

fn scene(frame: &Frame) -> Scene {
    let element = |number: u32| {
        let bounds = place(number);
        let corner = |point: CapturePoint| {
            NormalisedPoint::new(f64::from(point.x) / 1920.0, f64::from(point.y) / 1080.0)
        };
        Element {
            id: ElementId(number),
            kind: ElementKind::Button,
            content: format!("Button {number} of {}", frame.id),
            bounds: NormalisedRect::new(corner(bounds.min), corner(bounds.max)),
            interactable: true,
            confidence: 0.9,
            centre: bounds.center(),
            source: ElementSource::Both,
            state: ElementState::default(),
        }
    };
    Scene {
        frame: frame.id.clone(),
        elements: (1..=ELEMENTS).map(element).collect(),
        relations: vec![],
    }
}

#[async_trait]
impl Perception for SimulatedDesktop {
    async fn capture(&self, _: CaptureRequest) -> Result<CapturedFrame> {
        let _call = self.call();
        sleep(CAPTURE_TIME).await;
        Ok(CapturedFrame {
            frame: self.frame(),
            image: None,
        })
    }

    async fn observe(&self, request: ObserveRequest) -> Result<Observation> {
        let _call = self.call();
        sleep(OBSERVE_TIME).await;
        let frame = self.frame();
        Ok(Observation {
            image: request.capture.image.map(|_| self.image(&frame)),
            annotated_image: None,
            scene: scene(&frame),
            frame,
            prompt_lines: vec![],
            delta: None,
            timings: vec![],
        })
    }

    async fn compare(&self, request: CompareRequest) -> Result<Comparison> {
        let _call = self.call();
        sleep(CAPTURE_TIME).await;
        let acted = !request.measured_regions.is_empty();
        let region = ChangedRegion {
            bounds: place(3),
            changed_pixels: 900,
        };
        let change = ChangeMap {
            changed_pixels: if acted { 900 } else { 0 },
            regions: acted.then_some(region).into_iter().collect(),
            ..ChangeMap::default()
        };
        Ok(Comparison {
            vertical_shifts: Vec::new(),
            change,
            measured_shares: request.measured_regions.iter().map(|_| 0.5).collect(),
        })
    }

    async fn wait_for_idle(&self, _: WaitForIdleRequest) -> Result<IdleReport> {
        let _call = self.call();
        sleep(SETTLE_TIME).await;
        Ok(IdleReport {
            settled: true,
            changed: true,
            elapsed: SETTLE_TIME,
            first_change_after: None,
            still_changing: vec![],
            background_motion: vec![],
        })
    }
}

#[async_trait]
impl Planner for SimulatedDesktop {
    async fn plan(&self, request: PlanRequest) -> Result<PlannedDecision> {
        let _call = self.call();
        let done = request.history.len();
        if done > 0 {
            let idle = std::mem::take(&mut self.ledger().idle);
            self.timings.note(idle);
        } else {
            self.ledger().idle = Duration::ZERO;
        }
        // The request is dropped before waiting, as a client does.
        let frame = request.frame.clone();
        drop(request);
        sleep(self.decision(done)).await;
        let act = PlannedAction {
            action: Action::Click {
                at: Some(Target::Element(ElementId(3))),
                button: Button::Left,
                count: 1,
                modifiers: vec![],
            },
            intent: "open the next page".to_owned(),
            verify_pointer: false,
            repeatable: true,
        };
        let next = if done < self.steps {
            Next::Act(vec![act])
        } else {
            self.timings.end();
            Next::Done {
                answer: "done".to_owned(),
                evidence: vec![],
            }
        };
        Ok(PlannedDecision {
            decision: Decision {
                thought: "The next page is behind the third button.".to_owned(),
                progress: "opening the next page".to_owned(),
                next,
                safety_checks: vec![],
                conversation: Bytes::from_static(&[7; 200]),
                backend: "simulated".to_owned(),
                model: "simulated".to_owned(),
                usage: Usage {
                    input_tokens: Some(3000),
                    output_tokens: Some(100),
                    calls: 1,
                    ..Usage::default()
                },
                suspected_injections: vec![],
                conversation_images: vec![],
            },
            attempts: vec![],
            // The same bytes as the screenshot: half of what is stored is new.
            annotated_image: Some(self.image(&frame)),
            requests: Vec::new(),
            responses: Vec::new(),
        })
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        Ok(vec![BackendInfo {
            name: "simulated".to_owned(),
            state: BackendState::Ready,
            model: "simulated".to_owned(),
            last_error: None,
            median_latency: None,
            usage: Usage::default(),
            needs_image: true,
        }])
    }
}

#[async_trait]
impl Executor for SimulatedDesktop {
    async fn acquire_desktop(&self, request: AcquireRequest) -> Result<Lease> {
        let epoch = self.epoch.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Lease {
            display: DisplayId::new(":1"),
            epoch: DesktopEpoch(epoch),
            expires_at: SystemTime::now() + request.ttl,
            journal_checkpoint: None,
        })
    }

    async fn renew_lease(&self, request: RenewRequest) -> Result<Lease> {
        Ok(Lease {
            display: request.display,
            epoch: request.epoch,
            expires_at: SystemTime::now() + request.ttl,
            journal_checkpoint: None,
        })
    }

    async fn release_desktop(&self, _: ReleaseRequest) -> Result<()> {
        Ok(())
    }

    async fn perform(&self, _: PerformRequest) -> Result<ActionOutcome> {
        let _call = self.call();
        sleep(ACTION_TIME).await;
        Ok(ActionOutcome::new(ActionResult::Performed, ""))
    }

    async fn look_up_action(&self, _: LookUpRequest) -> Result<ActionProgress> {
        Ok(ActionProgress::NotStarted)
    }

    async fn release_all(&self, _: Option<DisplayId>) -> Result<Vec<String>> {
        Ok(vec![])
    }

    async fn get_pointer(&self, _: Option<DisplayId>) -> Result<CapturePoint> {
        Ok(place(3).center())
    }

    async fn stat_file(&self, _: FileRequest) -> Result<Option<FileInfo>> {
        Ok(None)
    }

    async fn get_capabilities(&self, _: Option<DisplayId>) -> Result<Capabilities> {
        Ok(Capabilities {
            driver: "simulated".to_owned(),
            action_kinds: ActionKind::ALL.to_vec(),
            applications: vec![],
            url_patterns: vec![],
            forbidden_chords: vec![],
            max_actions_per_second: None,
            secrets: vec![],
            limitations: vec![],
            files_folder: String::new(),
        })
    }
}
