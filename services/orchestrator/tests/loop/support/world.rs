//! Stand-ins for Perception, Planner and Executor, scripted and watched.
//!
//! They keep the contract as far as the loop can see: frames that are compared are frames that were captured, an action
//! id is performed at most once, a lease that was taken over is refused. What they answer comes from a script; every
//! call is written down, can be held, and can be made to fail. No pixels, no clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::convert::wire_time;
use motorium_proto::domain::action::{Action, ActionKind, Button, Target};
use motorium_proto::domain::decision::{Decision, Next, SafetyCheck, SuspectedInjection, Usage};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::{
    ActionOutcome, ActionResult, ChangeMap, ChangedRegion, NOTHING_SENT,
};
use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState, Scene};
use motorium_proto::domain::frame::{Display, Frame, Image, ImageContent};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, NormalisedPoint, NormalisedRect,
};
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId, ElementId, FrameId};
use motorium_proto::error::{ErrorReport, reason};
use motorium_proto::service::Capabilities;
use motorium_proto::service::{
    AcquireRequest, ActionProgress, AnswerStream, AwaitQuiet, BackendAttempt, BackendInfo,
    BackendState, CaptureArea, CaptureRequest, Captured, CompareRequest, Comparison, Executor,
    ExtractRequest, Extraction, FileInfo, FrameUpdate, HumanInput, HumanInputKind, ImageOptions,
    Observation, ObserveRequest, PageText, ParseRequest, Parsed, Perception, PerformRequest,
    PlanRequest, Planned, Planner, PointerCheck, PointerRequest, PutFile, Quiet, ResolveRequest,
    Resolved, Result, Sought, StreamRequest, SummarizeRequest, Summary,
};
use motorium_proto::v1::common as wire;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tonic::Code;

/// The one display.
pub(crate) const DISPLAY: &str = ":1";
/// Elements on every screen; their numbers begin with 1.
const ELEMENTS: u32 = 9;

/// An action as it reached the application.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Done {
    pub(crate) id: ActionId,
    pub(crate) action: Action<CapturePoint>,
}

/// Everything that the three services share, and what tests see of it.
#[derive(Debug)]
pub(crate) struct World {
    /// Every call, by its name, in order.
    calls: watch::Sender<Vec<&'static str>>,
    /// Calls of these names wait.
    held: watch::Sender<BTreeSet<&'static str>>,
    /// Grows when everything that is being performed is to stop.
    stops: watch::Sender<u64>,
    /// What people have done.
    people: watch::Sender<Vec<HumanInput>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    script: Vec<Next>,
    faults: BTreeMap<&'static str, VecDeque<ErrorReport>>,
    plans: Vec<PlanRequest>,
    captures: Vec<CaptureRequest>,
    looks: Vec<(usize, CaptureRequest)>,
    lookups: Vec<ActionId>,
    usage: Usage,
    attempts: Vec<BackendAttempt>,
    safety_checks: Vec<SafetyCheck>,
    converses: bool,
    suspicions: Vec<SuspectedInjection>,

    frames: BTreeMap<String, u64>,
    last_frame: u64,
    title: String,
    /// How often the screen has changed.
    changes: u64,
    changed_at: Option<CapturePoint>,
    in_vain: u32,

    epoch: u64,
    holder: Option<String>,
    /// When the lease runs out by itself; never, for a holder that a test has set.
    held_until: Option<SystemTime>,
    outcomes: VecDeque<ActionOutcome>,
    journal: BTreeMap<ActionId, ActionProgress>,
    forgets: bool,
    done: Vec<Done>,
    /// Action ids that were asked for a second time: a mistake of the loop.
    repeated: Vec<ActionId>,
    files: BTreeMap<String, Bytes>,

    pointer: CapturePoint,
    /// Where the pointer was told to go.
    moves: Vec<(i32, i32)>,
    /// By how much the next moves miss; the last one stays.
    misses: VecDeque<(i32, i32)>,
    /// What a model says of the pointer.
    located: VecDeque<PointerCheck>,
    /// A place that changes all the time.
    stirs: Option<CaptureRect>,
    /// What an element says from so many changes on.
    renamed: Option<(u32, u64, &'static str)>,
    /// What other elements say.
    says: BTreeMap<u32, &'static str>,
    /// How often places were drawn anew by themselves.
    redrawn: u32,
    /// What lights up when the pointer comes to it, and what it says then, if something else.
    lights_up: Option<(u32, Option<&'static str>)>,
    /// It takes some frames to do so: nobody who does not wait for it sees it.
    takes_frames: bool,
    /// What the pointer has come to and has not lit up yet.
    pointed_at: Option<(u32, Option<&'static str>)>,
    /// How many of the changes are not to be seen at other places.
    drawn_apart: u64,
    /// A caret blinks: every other look at a part of the screen shows it.
    caret: bool,
    extractions: VecDeque<Result<&'static str>>,
    hides_when_closer: bool,
    turns_pages: bool,
    /// An action in vain comes to something when the screen has been compared so often.
    comes_late: Option<u32>,
}

impl State {
    fn answer_the_pointer(&mut self, (element, content): (u32, Option<&'static str>)) {
        self.redrawn += 1;
        self.changes += 1;
        self.changed_at = Some(box_of(element).center());
        if let Some(content) = content {
            self.renamed = Some((element, 0, content));
        }
    }

    /// What the planner's conversation shows after this request.
    fn shown_again(&self, request: &PlanRequest) -> Vec<[u8; 32]> {
        let past = request.history.iter().map(|step| &step.image);
        let shown = past.chain([&request.image]).flatten();
        shown
            .filter(|_| self.converses)
            .map(|image| image.sha256)
            .collect()
    }
}

impl World {
    /// A world in which the planner decides these, one after the other, and then that it is done.
    pub(crate) fn new(script: Vec<Next>) -> Arc<Self> {
        Arc::new(Self {
            calls: watch::Sender::default(),
            held: watch::Sender::default(),
            stops: watch::Sender::default(),
            people: watch::Sender::default(),
            state: Mutex::new(State {
                script,
                title: "Editor".to_owned(),
                ..State::default()
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // === What tests do ===

    /// What is written on an element seems to give orders to the planner.
    pub(crate) fn give_orders(&self, element: u32, quote: &str) {
        self.state().suspicions.push(SuspectedInjection {
            quote: quote.to_owned(),
            bounds: Some(box_of(element)),
        });
    }

    /// A person at the desktop clicks on an element.
    pub(crate) fn person_clicks(&self, element: u32) {
        let input = HumanInput {
            at: SystemTime::UNIX_EPOCH,
            kind: HumanInputKind::Click {
                at: box_of(element).center(),
                button: Button::Left,
            },
        };
        self.people.send_modify(|deeds| deeds.push(input));
    }

    /// A person at the desktop types something.
    pub(crate) fn person_types(&self, characters: u32) {
        let input = HumanInput {
            at: SystemTime::UNIX_EPOCH,
            kind: HumanInputKind::Typing { characters },
        };
        self.people.send_modify(|deeds| deeds.push(input));
    }

    /// Lets calls of this name wait from now on.
    pub(crate) fn hold(&self, call: &'static str) {
        self.held.send_modify(|held| {
            held.insert(call);
        });
    }

    /// Lets them go on.
    pub(crate) fn release(&self, call: &'static str) {
        self.held.send_modify(|held| {
            held.remove(call);
        });
    }

    /// Lets the next calls of this name fail.
    pub(crate) fn fail(&self, call: &'static str, times: usize, report: &ErrorReport) {
        let faults = std::iter::repeat_n(report.clone(), times);
        self.state().faults.entry(call).or_default().extend(faults);
    }

    /// The next actions that are performed change nothing on the screen.
    pub(crate) fn act_in_vain(&self, times: u32) {
        self.state().in_vain = times;
    }

    /// The pointer misses where it is told to go by so much, the first time, the second, and so on; the last error stays.
    pub(crate) fn miss<const N: usize>(&self, misses: [(i32, i32); N]) {
        self.state().misses = misses.into();
    }

    /// A model says this of the pointer, the first time, the second, and so on.
    pub(crate) fn locate<const N: usize>(&self, answers: [(bool, i32, i32); N]) {
        let answer = |(on_target, dx, dy)| PointerCheck {
            on_target,
            dx,
            dy,
            usage: Usage {
                input_tokens: Some(1000),
                output_tokens: Some(10),
                calls: 1,
                ..Usage::default()
            },
        };
        self.state().located = answers.map(answer).into();
    }

    /// This element's place changes all the time.
    pub(crate) fn stir(&self, element: u32) {
        self.state().stirs = Some(box_of(element));
    }

    /// A large place, below all elements, changes all the time, as a film does.
    pub(crate) fn show_a_film(&self) {
        self.state().stirs = Some(rect(100, 200, 600, 400));
    }

    /// This element says something else once an action has had an effect.
    pub(crate) fn rename(&self, element: u32, content: &'static str) {
        self.state().renamed = Some((element, 1, content));
    }

    /// This element says so.
    pub(crate) fn label(&self, element: u32, content: &'static str) {
        self.state().renamed = Some((element, 0, content));
    }

    /// This element says so as well, from now on. Nothing else looks otherwise for it.
    pub(crate) fn say(&self, element: u32, content: &'static str) {
        let mut state = self.state();
        if state.says.insert(element, content).is_some() {
            state.changes += 1;
            state.changed_at = Some(box_of(element).center());
            state.drawn_apart += 1;
        }
    }

    /// Somebody else looks at the screen.
    pub(crate) fn look(&self) {
        self.frame();
    }

    /// By itself, an element comes to say something else.
    pub(crate) fn turn_into(&self, element: u32, content: &'static str) {
        let mut state = self.state();
        state.renamed = Some((element, 0, content));
        state.changes += 1;
        state.changed_at = Some(box_of(element).center());
    }

    /// What is drawn on the screen changes by itself.
    pub(crate) fn redraw(&self) {
        self.state().redrawn += 1;
    }

    /// This element looks otherwise as soon as the pointer comes to it, and may say something else.
    pub(crate) fn light_up(&self, element: u32, content: Option<&'static str>) {
        self.state().lights_up = Some((element, content));
    }

    /// The same, some frames after the pointer has come: whoever waits for a change there sees it.
    pub(crate) fn light_up_in_some_frames(&self, element: u32, content: Option<&'static str>) {
        self.light_up(element, content);
        self.state().takes_frames = true;
    }

    /// A caret blinks wherever one looks closely.
    pub(crate) fn blink(&self) {
        self.state().caret = true;
    }

    /// Every action leads from one page to another and back.
    pub(crate) fn turn_pages(&self) {
        self.state().turns_pages = true;
    }

    /// The next action comes to something only after it has been judged.
    pub(crate) fn come_late(&self) {
        let mut state = self.state();
        state.in_vain = 1;
        // Before the action, and for its effect.
        state.comes_late = Some(2);
    }

    /// A look at a part of the screen sees nothing.
    pub(crate) fn hide_when_closer(&self) {
        self.state().hides_when_closer = true;
    }

    /// What is extracted next, or why nothing is.
    pub(crate) fn extract(&self, answer: Result<&'static str>) {
        self.state().extractions.push_back(answer);
    }

    /// The next action ends so, and is not done unless it says so.
    pub(crate) fn answer(&self, outcome: ActionOutcome) {
        self.state().outcomes.push_back(outcome);
    }

    /// Every decision comes with this.
    pub(crate) fn charge(&self, usage: Usage) {
        self.state().usage = usage;
    }

    /// Whether the planner keeps what it is shown in a conversation that goes on.
    pub(crate) fn converse(&self, converses: bool) {
        self.state().converses = converses;
    }

    /// Every decision was preceded by this.
    pub(crate) fn skip_backend(&self, attempt: BackendAttempt) {
        self.state().attempts.push(attempt);
    }

    /// Every decision comes with this warning.
    pub(crate) fn warn(&self, check: SafetyCheck) {
        self.state().safety_checks.push(check);
    }

    /// The planner finds these orders on every screen.
    pub(crate) fn suspect(&self, quote: &str) {
        self.state().suspicions.push(SuspectedInjection {
            quote: quote.to_owned(),
            bounds: None,
        });
    }

    /// Perception forgets its frames, as after a restart.
    pub(crate) fn forget_frames(&self) {
        self.state().frames.clear();
    }

    /// The Executor cannot say any more what became of its actions.
    pub(crate) fn forget_actions(&self) {
        self.state().forgets = true;
    }

    /// Somebody else holds the display, or nobody.
    pub(crate) fn set_holder(&self, holder: Option<&str>) {
        let mut state = self.state();
        state.holder = holder.map(str::to_owned);
        state.held_until = None;
    }

    /// The lease is somebody else's from now on.
    pub(crate) fn supersede(&self) {
        self.state().epoch += 1;
    }

    /// A file in the desktop's folder.
    pub(crate) fn add_file(&self, name: &str, content: &'static [u8]) {
        let content = Bytes::from_static(content);
        self.state().files.insert(name.to_owned(), content);
    }

    // === What tests see ===

    /// What reached the application.
    pub(crate) fn done(&self) -> Vec<Done> {
        let state = self.state();
        assert_eq!(state.repeated, [], "an action id was used a second time");
        state.done.clone()
    }

    /// Where clicks went.
    pub(crate) fn clicks(&self) -> Vec<(i32, i32)> {
        let points = self.done().into_iter().filter_map(|done| {
            let point = done.action.targets().next().copied()?;
            Some((point.x, point.y))
        });
        points.collect()
    }

    /// Where the pointer was told to go.
    pub(crate) fn moves(&self) -> Vec<(i32, i32)> {
        self.state().moves.clone()
    }

    /// What the planner was asked.
    pub(crate) fn plans(&self) -> Vec<PlanRequest> {
        self.state().plans.clone()
    }

    /// What was captured without being parsed.
    /// How the screen was looked at, each time with how many actions had been done before.
    pub(crate) fn looks(&self) -> Vec<(usize, CaptureRequest)> {
        self.state().looks.clone()
    }

    pub(crate) fn captures(&self) -> Vec<CaptureRequest> {
        self.state().captures.clone()
    }

    /// Actions whose fate was asked for.
    pub(crate) fn lookups(&self) -> Vec<ActionId> {
        self.state().lookups.clone()
    }

    pub(crate) fn files(&self) -> BTreeMap<String, Bytes> {
        self.state().files.clone()
    }

    pub(crate) fn count(&self, call: &'static str) -> usize {
        self.calls
            .borrow()
            .iter()
            .filter(|name| **name == call)
            .count()
    }

    /// Waits until a call of this name has come so often. Three names are no calls: `answer` is when an action
    /// has reached the application, `stopped` when its caller has vanished before, `released` when the desktop was given
    /// back.
    pub(crate) async fn called(&self, call: &'static str, times: usize) {
        let mut calls = self.calls.subscribe();
        let often =
            |calls: &Vec<&'static str>| calls.iter().filter(|name| **name == call).count() >= times;
        super::in_time(call, calls.wait_for(often)).await.unwrap();
    }

    // === Inside a call ===

    fn begin(&self, call: &'static str) -> Result<()> {
        self.calls.send_modify(|calls| calls.push(call));
        let mut state = self.state();
        match state.faults.get_mut(call).and_then(VecDeque::pop_front) {
            Some(report) => Err(report),
            None => Ok(()),
        }
    }

    async fn while_held(&self, call: &'static str) {
        let mut held = self.held.subscribe();
        let free = held.wait_for(|held| !held.contains(call)).await;
        free.expect("the world holds the sender");
    }

    async fn enter(&self, call: &'static str) -> Result<()> {
        self.begin(call)?;
        self.while_held(call).await;
        Ok(())
    }

    fn frame(&self) -> Frame {
        self.frame_of(whole())
    }

    fn frame_of(&self, part: CaptureRect) -> Frame {
        let mut state = self.state();
        state.last_frame += 1;
        let (id, changes) = (format!("frame-{}", state.last_frame), state.changes);
        let title = if state.turns_pages {
            format!("page {}", changes % 2)
        } else {
            state.title.clone()
        };
        state.frames.insert(id.clone(), changes);
        let window = wire::Window {
            id: "1".to_owned(),
            title,
            bounds: Some(whole().into()),
            active: true,
            ..wire::Window::default()
        };
        let frame = wire::Frame {
            id,
            display: DISPLAY.to_owned(),
            origin: Some(part.min.into()),
            size: Some(part.size().into()),
            scale: 1.0,
            capture_time: Some(wire_time(SystemTime::now())),
            windows: vec![window],
            ..wire::Frame::default()
        };
        frame.try_into().expect("the frame keeps the contract")
    }

    fn one_more_comparison(&self) {
        let mut state = self.state();
        match state.comes_late {
            // Seen by the next capture, not by what has been captured already.
            Some(1) => {
                state.comes_late = None;
                state.changes += 1;
            }
            Some(left) => state.comes_late = Some(left - 1),
            None => {}
        }
    }

    /// What an element says now.
    fn content(&self, number: u32) -> String {
        let state = self.state();
        match state.renamed {
            Some((renamed, from, content)) if renamed == number && state.changes >= from => {
                content.to_owned()
            }
            _ => match state.says.get(&number) {
                Some(content) => (*content).to_owned(),
                None => format!("Button {number}"),
            },
        }
    }

    /// What a part of the screen looks like, for as long as nothing changes.
    fn drawn_in(&self, part: CaptureRect) -> FrameId {
        let state = self.state();
        let caret = state.caret && state.last_frame.is_multiple_of(2);
        FrameId::new(format!(
            "{part:?} after {} and {}{}",
            state.changes - state.drawn_apart,
            state.redrawn,
            if caret { " with a caret" } else { "" }
        ))
    }

    fn changes_at(&self, frame: &FrameId) -> Result<u64> {
        let known = self.state().frames.get(frame.as_str()).copied();
        known.ok_or_else(|| {
            ErrorReport::new(Code::NotFound, "FRAME_EXPIRED", format!("no frame {frame}"))
        })
    }

    fn check_lease(&self, epoch: DesktopEpoch) -> Result<()> {
        if epoch.0 == self.state().epoch {
            return Ok(());
        }
        let message = "the desktop was leased anew";
        Err(ErrorReport::new(
            Code::FailedPrecondition,
            "LEASE_SUPERSEDED",
            message,
        ))
    }

    /// The application gets the action, and the screen changes.
    fn do_it(&self, id: &ActionId, action: Action<CapturePoint>) {
        let mut state = self.state();
        if let Action::Move { to } = action {
            let miss = match state.misses.len() {
                0 | 1 => state.misses.front().copied().unwrap_or_default(),
                _ => state.misses.pop_front().unwrap_or_default(),
            };
            state.moves.push((to.x, to.y));
            let pointer = CapturePoint::new(to.x + miss.0, to.y + miss.1);
            state.pointer = pointer;
            let lit = |(element, _): &(u32, _)| box_of(*element).contains(pointer);
            if let Some(lit) = state.lights_up.take_if(|what| lit(what)) {
                if state.takes_frames {
                    state.pointed_at = Some(lit);
                } else {
                    state.answer_the_pointer(lit);
                }
            }
            return;
        }
        if state.in_vain > 0 {
            state.in_vain -= 1;
        } else {
            state.changes += 1;
            state.changed_at = action.targets().last().copied();
        }
        let id = id.clone();
        state.done.push(Done { id, action });
    }

    fn finish(&self, id: &ActionId, outcome: ActionOutcome) -> ActionOutcome {
        let finished = ActionProgress::Finished(outcome.clone());
        self.state().journal.insert(id.clone(), finished);
        outcome
    }
}

fn whole() -> CaptureRect {
    rect(0, 0, 1000, 200)
}

fn rect(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
    CaptureRect::new(
        CapturePoint::new(x, y),
        CapturePoint::new(x + width, y + height),
    )
}

/// Where the elements are: a row of boxes of 40 by 20 pixels.
pub(crate) fn box_of(element: u32) -> CaptureRect {
    rect(i32::try_from(element).unwrap() * 100, 90, 40, 20)
}

/// What can be seen of the elements within a part of the display.
fn scene(frame: &FrameId, part: CaptureRect, content: impl Fn(u32) -> String) -> Scene {
    let corner = part.min.to_vector();
    let element = |number: u32| {
        let bounds = box_of(number).translate(-corner);
        let place = |point: CapturePoint| {
            NormalisedPoint::new(
                f64::from(point.x) / f64::from(part.width()),
                f64::from(point.y) / f64::from(part.height()),
            )
        };
        Element {
            id: ElementId(number),
            kind: ElementKind::Button,
            content: content(number),
            bounds: NormalisedRect::new(place(bounds.min), place(bounds.max)),
            interactable: true,
            confidence: 0.9,
            centre: bounds.center(),
            source: ElementSource::Both,
            state: ElementState::default(),
        }
    };
    Scene {
        frame: frame.clone(),
        elements: (1..=ELEMENTS)
            .filter(|number| part.contains_box(&box_of(*number)))
            .map(element)
            .collect(),
        relations: Vec::new(),
    }
}

fn picture(frame: &FrameId) -> Image {
    let bytes = Bytes::from(format!("picture of {frame}"));
    Image {
        sha256: Sha256::digest(&bytes).into(),
        content: ImageContent::Bytes(bytes),
        media_type: "image/webp".to_owned(),
        width: 1000,
        height: 200,
    }
}

fn not_scripted<T>(call: &str) -> Result<T> {
    let message = format!("{call} is not scripted");
    Err(ErrorReport::new(
        Code::Unimplemented,
        reason::NOT_SERVED,
        message,
    ))
}

/// The three services; clones of the world behind the traits.
#[derive(Debug, Clone)]
pub(crate) struct StandIn(pub(crate) Arc<World>);

#[async_trait]
impl Perception for StandIn {
    async fn list_displays(&self) -> Result<Vec<Display>> {
        not_scripted("ListDisplays")
    }

    async fn capture(&self, request: CaptureRequest) -> Result<Captured> {
        self.0.enter("capture").await?;
        let frame = self.0.frame();
        let drawn = match &request.area {
            CaptureArea::Region(part) => self.0.drawn_in(*part),
            _ => frame.id.clone(),
        };
        let image = request.image.map(|_| picture(&drawn));
        self.0.state().captures.push(request);
        Ok(Captured { frame, image })
    }

    async fn observe(&self, request: ObserveRequest) -> Result<Observation> {
        self.0.enter("observe").await?;
        let done = self.0.done().len();
        self.0.state().looks.push((done, request.capture.clone()));
        let part = match request.capture.area {
            CaptureArea::Region(part) => part,
            _ => whole(),
        };
        let frame = self.0.frame_of(part);
        let picture = |wanted: Option<ImageOptions>| wanted.map(|_| picture(&frame.id));
        Ok(Observation {
            image: picture(request.capture.image),
            marked_image: picture(request.marked_image),
            scene: if part != whole() && self.0.state().hides_when_closer {
                scene(&frame.id, CaptureRect::zero(), |_| String::new())
            } else {
                scene(&frame.id, part, |number| self.0.content(number))
            },
            frame,
            prompt_lines: Vec::new(),
            delta: None,
            timings: Vec::new(),
        })
    }

    async fn parse(&self, _: ParseRequest) -> Result<Parsed> {
        not_scripted("Parse")
    }

    async fn compare(&self, request: CompareRequest) -> Result<Comparison> {
        self.0.enter("compare").await?;
        self.0.one_more_comparison();
        let before = self.0.changes_at(&request.before)?;
        let after = self.0.changes_at(&request.after)?;
        let place = self.0.state().changed_at.unwrap_or_default();
        let regions = (before != after).then(|| ChangedRegion {
            bounds: rect(place.x - 5, place.y - 5, 10, 10),
            changed_pixels: 100,
        });
        let stirs = self.0.state().stirs;
        let ignored = |place: &CaptureRect| request.ignore.iter().any(|r| r.contains_box(place));
        let stirred = stirs
            .filter(|place| !ignored(place))
            .map(|bounds| ChangedRegion {
                bounds,
                changed_pixels: 100,
            });
        // What is hidden by what moves anyway is not seen either.
        let regions = regions.filter(|region| !ignored(&region.bounds));
        let regions: Vec<_> = regions.into_iter().chain(stirred).collect();
        let change = ChangeMap {
            changed_pixels: 100 * regions.len() as u64,
            regions,
            ..ChangeMap::default()
        };
        Ok(Comparison {
            change,
            near_shares: request.near.iter().map(|_| 0.1).collect(),
        })
    }

    async fn await_quiet(&self, request: AwaitQuiet) -> Result<Quiet> {
        self.0.enter("await_quiet").await?;
        let is_watched = |(element, _): &mut (u32, _)| {
            let center = box_of(*element).center();
            !request.ignore.iter().any(|place| place.contains(center))
        };
        let mut state = self.0.state();
        if let Some(lit) = state.pointed_at.take_if(is_watched) {
            state.answer_the_pointer(lit);
        }
        drop(state);
        let since = request.since_frame.as_ref();
        let before = since.map(|since| self.0.changes_at(since)).transpose()?;
        let changed = before.is_some_and(|before| before != self.0.state().changes);
        Ok(Quiet {
            settled: true,
            changed,
            elapsed: Duration::from_millis(1),
            first_change_after: None,
            still_changing: Vec::new(),
            noise: Vec::new(),
        })
    }

    async fn stream_frames(&self, _: StreamRequest) -> Result<AnswerStream<FrameUpdate>> {
        not_scripted("StreamFrames")
    }

    async fn get_frame(&self, _: FrameId, _: ImageOptions) -> Result<Captured> {
        not_scripted("GetFrame")
    }
}

#[async_trait]
impl Planner for StandIn {
    /// How far the script has come lies in the conversation, as with every planner.
    async fn plan(&self, request: PlanRequest) -> Result<Planned> {
        self.0.state().plans.push(request.clone());
        self.0.enter("plan").await?;
        let position = request.conversation.first().copied().unwrap_or_default();
        let state = self.0.state();
        let finished = || Next::Done {
            answer: "it is done".to_owned(),
            evidence: Vec::new(),
        };
        let next = state.script.get(usize::from(position)).cloned();
        let decision = Decision {
            thought: format!("thought {position}"),
            progress: format!("progress {position}"),
            next: next.unwrap_or_else(finished),
            safety_checks: state.safety_checks.clone(),
            conversation: Bytes::from(vec![position.saturating_add(1)]),
            backend: "scripted".to_owned(),
            model: String::new(),
            usage: state.usage,
            suspected_injections: state.suspicions.clone(),
            conversation_images: state.shown_again(&request),
        };
        Ok(Planned {
            decision,
            attempts: state.attempts.clone(),
        })
    }

    async fn summarize(&self, _: SummarizeRequest) -> Result<Summary> {
        not_scripted("Summarize")
    }

    async fn extract(&self, _: ExtractRequest) -> Result<Extraction> {
        self.0.enter("extract").await?;
        let answer = self.0.state().extractions.pop_front();
        match answer {
            None => not_scripted("Extract"),
            Some(answer) => Ok(Extraction {
                sources: Vec::new(),
                json: answer?.to_owned(),
                usage: Usage {
                    input_tokens: Some(500),
                    output_tokens: Some(50),
                    calls: 1,
                    ..Usage::default()
                },
            }),
        }
    }

    async fn locate_pointer(&self, request: PointerRequest) -> Result<PointerCheck> {
        self.0.enter("locate_pointer").await?;
        assert!(request.marked_image.is_some(), "a model wants to see it");
        let answer = self.0.state().located.pop_front();
        answer.map_or_else(|| not_scripted("LocatePointer"), Ok)
    }

    async fn resolve_target(&self, request: ResolveRequest) -> Result<Resolved> {
        self.0.enter("resolve_target").await?;
        let id = match request.target {
            Sought::Target(Target::Element(id)) => id,
            Sought::Target(Target::Point(point)) => {
                let over = |number: &u32| box_of(*number).contains(point);
                let around = CaptureRect::new(point, point).inflate(3, 3);
                return Ok(Resolved {
                    point,
                    bounds: (1..=ELEMENTS).find(over).map_or(around, box_of),
                    element: None,
                    candidates: Vec::new(),
                    usage: Usage::default(),
                });
            }
            Sought::Target(Target::Text(_)) | Sought::Described { .. } => {
                return not_scripted("ResolveTarget for text");
            }
        };
        let Some(element) = request.scene.element(id) else {
            let message = format!("there is no element {id} on the screen");
            return Err(ErrorReport::new(
                Code::NotFound,
                "ELEMENT_NOT_FOUND",
                message,
            ));
        };
        Ok(Resolved {
            point: element.centre,
            bounds: box_of(id.0),
            element: Some(id),
            candidates: Vec::new(),
            usage: Usage::default(),
        })
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        self.0.enter("list_backends").await?;
        Ok(vec![BackendInfo {
            name: "scripted".to_owned(),
            state: BackendState::Ready,
            model: String::new(),
            last_error: None,
            median_latency: None,
            usage: Usage::default(),
            needs_image: true,
        }])
    }
}

/// An action that has begun. One that is dropped in the middle is written down as stopped.
struct Begun<'a> {
    world: &'a World,
    id: ActionId,
    ended: bool,
}

impl Begun<'_> {
    fn end(mut self, outcome: ActionOutcome) -> ActionOutcome {
        self.ended = true;
        self.world.finish(&self.id, outcome)
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.world.finish(&self.id, stopped());
            self.world.calls.send_modify(|calls| calls.push("stopped"));
        }
    }
}

fn stopped() -> ActionOutcome {
    ActionOutcome::new(ActionResult::Cancelled, format!("stopped; {NOTHING_SENT}"))
}

#[async_trait]
impl Executor for StandIn {
    async fn acquire_desktop(&self, request: AcquireRequest) -> Result<Lease> {
        self.0.enter("acquire_desktop").await?;
        let mut state = self.0.state();
        let now = SystemTime::now();
        if state.held_until.is_some_and(|until| until <= now) {
            state.holder = None;
        }
        if let Some(holder) = state
            .holder
            .as_ref()
            .filter(|name| **name != request.holder)
        {
            let message = format!("the desktop is leased by {holder}");
            return Err(ErrorReport::new(
                Code::FailedPrecondition,
                "DESKTOP_LEASED",
                message,
            ));
        }
        state.epoch += 1;
        state.holder = Some(request.holder);
        state.held_until = Some(now + request.ttl);
        Ok(Lease {
            display: DisplayId::new(DISPLAY),
            epoch: DesktopEpoch(state.epoch),
            expires_at: now + request.ttl,
        })
    }

    async fn renew_lease(
        &self,
        display: DisplayId,
        epoch: DesktopEpoch,
        ttl: Duration,
    ) -> Result<Lease> {
        self.0.enter("renew_lease").await?;
        self.0.check_lease(epoch)?;
        let expires_at = SystemTime::now() + ttl;
        self.0.state().held_until = Some(expires_at);
        Ok(Lease {
            display,
            epoch,
            expires_at,
        })
    }

    async fn release_desktop(&self, _: DisplayId, epoch: DesktopEpoch) -> Result<()> {
        self.0.enter("release_desktop").await?;
        self.0.check_lease(epoch)?;
        self.0.state().holder = None;
        self.0.calls.send_modify(|calls| calls.push("released"));
        Ok(())
    }

    /// Held at `perform` nothing has been sent yet; held at `answer` all of it has.
    async fn perform(&self, request: PerformRequest) -> Result<ActionOutcome> {
        self.0.begin("perform")?;
        self.0.check_lease(request.epoch)?;
        let id = request.action_id;
        let known = self.0.state().journal.get(&id).cloned();
        if known.is_some() {
            self.0.state().repeated.push(id);
            return Ok(stopped());
        }
        let running = ActionProgress::Running;
        self.0.state().journal.insert(id.clone(), running);
        let begun = Begun {
            world: &self.0,
            id: id.clone(),
            ended: false,
        };
        let mut stops = self.0.stops.subscribe();
        tokio::select! {
            () = self.0.while_held("perform") => {}
            _ = stops.changed() => return Ok(begun.end(stopped())),
        }
        let scripted = self.0.state().outcomes.pop_front();
        let outcome = scripted.unwrap_or_else(|| ActionOutcome::new(ActionResult::Performed, ""));
        if outcome.result == ActionResult::Performed {
            self.0.do_it(&id, request.action);
        }
        let outcome = begun.end(outcome);
        self.0.calls.send_modify(|calls| calls.push("answer"));
        self.0.while_held("answer").await;
        Ok(outcome)
    }

    async fn look_up_action(&self, _: Option<DisplayId>, id: ActionId) -> Result<ActionProgress> {
        self.0.state().lookups.push(id.clone());
        self.0.enter("look_up_action").await?;
        let state = self.0.state();
        if state.forgets {
            return Ok(ActionProgress::Unknown);
        }
        let known = state.journal.get(&id).cloned();
        Ok(known.unwrap_or(ActionProgress::NotStarted))
    }

    async fn release_all(&self, _: Option<DisplayId>) -> Result<Vec<String>> {
        self.0.stops.send_modify(|stops| *stops += 1);
        self.0.enter("release_all").await?;
        Ok(Vec::new())
    }

    async fn get_pointer(&self, _: Option<DisplayId>) -> Result<CapturePoint> {
        Ok(self.0.state().pointer)
    }

    async fn read_page(&self, _: Option<DisplayId>, _: usize) -> Result<PageText> {
        not_scripted("ReadPage")
    }

    async fn put_file(&self, file: PutFile) -> Result<FileInfo> {
        self.0.enter("put_file").await?;
        self.0.check_lease(file.epoch)?;
        let info = describe(&file.name, &file.content);
        self.0.state().files.insert(file.name, file.content);
        Ok(info)
    }

    async fn get_file(&self, _: Option<DisplayId>, name: &str) -> Result<(FileInfo, Bytes)> {
        self.0.enter("get_file").await?;
        let content = self.0.state().files.get(name).cloned();
        let content = content.ok_or_else(|| {
            ErrorReport::new(
                Code::NotFound,
                "FILE_NOT_FOUND",
                format!("there is no file {name}"),
            )
        })?;
        Ok((describe(name, &content), content))
    }

    async fn stat_file(&self, _: Option<DisplayId>, name: &str) -> Result<Option<FileInfo>> {
        self.0.enter("stat_file").await?;
        let content = self.0.state().files.get(name).cloned();
        Ok(content.map(|content| describe(name, &content)))
    }

    async fn get_capabilities(&self, _: Option<DisplayId>) -> Result<Capabilities> {
        self.0.enter("get_capabilities").await?;
        Ok(Capabilities {
            driver: "scripted".to_owned(),
            action_kinds: ActionKind::ALL.to_vec(),
            applications: vec!["editor".to_owned()],
            url_patterns: Vec::new(),
            forbidden_chords: Vec::new(),
            max_actions_per_second: None,
            secrets: Vec::new(),
            limitations: Vec::new(),
        })
    }

    async fn watch_human_input(&self, _: Option<DisplayId>) -> Result<AnswerStream<HumanInput>> {
        let deeds = (self.0.people.subscribe(), 0);
        let next = |(mut deeds, told): (watch::Receiver<Vec<HumanInput>>, usize)| async move {
            let all = deeds.wait_for(|deeds| deeds.len() > told).await.ok()?;
            let next = all[told].clone();
            drop(all);
            Some((Ok(next), (deeds, told + 1)))
        };
        Ok(Box::pin(futures::stream::unfold(deeds, next)))
    }
}

fn describe(name: &str, content: &Bytes) -> FileInfo {
    FileInfo {
        name: name.to_owned(),
        size_bytes: content.len() as u64,
        modified_at: SystemTime::now(),
        sha256: Sha256::digest(content).into(),
        path: format!("/desktop/{name}"),
    }
}
