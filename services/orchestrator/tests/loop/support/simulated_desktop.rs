//! Scripted fakes of Perception, Planner and Executor.
//!
//! They honour the API as far as the loop can observe: frames that are compared were captured before, an action id is
//! performed at most once, a lost lease is refused. Responses come from a script; every call is recorded, can be held,
//! and can be made to fail. No clock, and no pixels but those of a button that [`SimulatedDesktop::draw`] draws.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use image::{Rgba, RgbaImage};
use motorium_imaging::codec;
use motorium_planner::backends::phrasebook::Phrasebook;
use motorium_planner::backends::{Backend as _, CallContext};
use motorium_proto::convert::wire_time;
use motorium_proto::domain::action::{Action, ActionKind, Button, Target};
use motorium_proto::domain::decision::{Decision, Next, SafetyCheck, SuspectedInjection, Usage};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, ChangeMap, ChangedRegion};
use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState, Scene};
use motorium_proto::domain::frame::{Frame, Image, ImageContent};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, NormalisedPoint, NormalisedRect,
};
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId, ElementId, FrameId};
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    AcquireRequest, ActionProgress, BackendAttempt, BackendInfo, BackendState, Capabilities,
    CaptureArea, CaptureRequest, CapturedFrame, ClipboardText, CompareRequest, Comparison,
    DeleteFilesRequest, DownloadedFile, Executor, ExtractRequest, Extraction, FenceRequest,
    FileInfo, FileRequest, FrameTile, FrameUpdate, HumanInput, HumanInputKind, IdleReport,
    ImageFormat, LookUpRequest, MarkInputRequest, Observation, ObserveRequest, PageText,
    Perception, PerformRequest, PlanRequest, PlannedDecision, Planner, PointerCheck,
    PointerRequest, PutFile, ReadClipboardRequest, ReadPageRequest, ReleaseRequest, RenewRequest,
    ResolveRequest, ResolvedTarget, Result, ResultStream, StreamRequest, SummarizeRequest, Summary,
    TargetQuery, WaitForIdleRequest, not_served,
};
use motorium_proto::v1::common as wire;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tonic::Code;

/// Name of the display.
pub(crate) const DISPLAY: &str = ":1";
/// Number of elements on every screen; their ids start at 1.
const ELEMENTS: u32 = 9;

/// An action that reached the application.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReceivedAction {
    pub(crate) id: ActionId,
    pub(crate) action: Action<CapturePoint>,
}

/// State shared by the three services, and visible to tests.
#[derive(Debug)]
pub(crate) struct SimulatedDesktop {
    /// Names of all calls, in order.
    calls: watch::Sender<Vec<&'static str>>,
    /// Names of calls that are held.
    held: watch::Sender<BTreeSet<&'static str>>,
    /// Incremented when all running actions have to stop.
    stops: watch::Sender<u64>,
    /// Human input.
    people: watch::Sender<Vec<HumanInput>>,
    state: Mutex<DesktopState>,
}

#[derive(Debug, Default)]
struct DesktopState {
    script: Vec<Next>,
    /// The phrasebook decides instead of the script.
    uses_phrasebook: bool,
    /// The planner takes no images.
    sees_nothing: bool,
    faults: BTreeMap<&'static str, VecDeque<ErrorReport>>,
    plans: Vec<PlanRequest>,
    /// Annotated screenshots that the model received.
    shown_to_model: Vec<Image>,
    captures: Vec<CaptureRequest>,
    /// Input that viewers were shown.
    marks: Vec<MarkInputRequest>,
    looks: Vec<(usize, CaptureRequest)>,
    lookups: Vec<ActionId>,
    usage: Usage,
    attempts: Vec<BackendAttempt>,
    safety_checks: Vec<SafetyCheck>,
    /// Name of the model that decides; empty for none.
    model: String,
    converses: bool,
    suspected_injections: Vec<SuspectedInjection>,

    frames: BTreeMap<String, u64>,
    last_frame: u64,
    title: String,
    /// Number of screen changes.
    changes: u64,
    changed_at: Option<CapturePoint>,
    in_vain: u32,
    /// URL of the page, if the window is a browser.
    page: Option<String>,
    page_text: &'static str,
    clipboard: ClipboardText,
    /// Requests for extractions.
    extracted_from: Vec<ExtractRequest>,

    epoch: u64,
    holder: Option<String>,
    /// Expiry of the lease; none for a holder set by a test.
    held_until: Option<SystemTime>,
    outcomes: VecDeque<ActionOutcome>,
    journal: BTreeMap<ActionId, ActionProgress>,
    forgets: bool,
    /// Ids of actions that were fenced.
    fenced: BTreeSet<ActionId>,
    /// The Executor is of a version without fences.
    cannot_fence: bool,
    /// Checkpoints in the journal.
    checkpoints: BTreeSet<String>,
    /// Number of journals that were lost; part of the names of checkpoints.
    journals_lost: u32,
    /// Errors that callers of the next actions see while a proxy keeps their calls; `None` for no answer at all.
    kept_calls: VecDeque<Option<ErrorReport>>,
    /// Calls that a proxy keeps.
    kept: VecDeque<PerformRequest>,
    done: Vec<ReceivedAction>,
    /// Private hosts that the user named, as the last call said.
    named_hosts: Vec<String>,
    /// Addresses that an address bar may open, of all calls.
    typed_addresses: Vec<String>,
    /// Action ids that were performed twice, which is a bug in the loop.
    repeated: Vec<ActionId>,
    files: BTreeMap<String, Bytes>,
    /// Names of the files that were there before every task.
    old_files: BTreeSet<String>,

    pointer: CapturePoint,
    /// Points to which the pointer was moved.
    moves: Vec<(i32, i32)>,
    /// Times within which changes after a known frame were to begin.
    effect_windows: Vec<Duration>,
    /// Frames tell where the pointer is.
    shows_cursor: bool,
    /// Offsets of the next pointer moves; the last one is repeated.
    misses: VecDeque<(i32, i32)>,
    /// Answers to pointer checks.
    located: VecDeque<PointerCheck>,
    /// Area with background motion.
    stirs: Option<CaptureRect>,
    /// Actions change nothing but the look of their targets.
    changes_only_targets: bool,
    /// Field whose inside never changes, whatever is typed.
    empty_field: Option<u32>,
    /// Text that an element shows after this many changes.
    renamed: Option<(u32, u64, &'static str)>,
    /// Texts of other elements.
    says: BTreeMap<u32, &'static str>,
    /// Element that is a text field; the others are buttons.
    field: Option<u32>,
    /// Number of redraws without an action.
    redrawn: u32,
    /// Element that is highlighted under the pointer, and its text then.
    lights_up: Option<(u32, Option<&'static str>)>,
    /// Requests to delete the files of tasks.
    deleted_files: Vec<DeleteFilesRequest>,
    /// Element that is drawn in pixels, and its symbol under the pointer.
    symbol: Option<(u32, Symbol)>,
    /// Element on which the pointer changes the text of another one, that element, and its text then.
    answers_pointer: Option<(u32, u32, &'static str)>,
    /// The highlight appears after some frames, visible only to those who wait for it.
    takes_frames: bool,
    /// Element under the pointer whose highlight is still due.
    pointed_at: Option<(u32, Option<&'static str>)>,
    /// Number of changes that are not visible in other areas.
    drawn_apart: u64,
    /// A blinking caret, visible in every other capture of an area.
    caret: bool,
    extractions: VecDeque<Result<&'static str>>,
    /// Answers that a model writes for tasks that end without one; none without a model.
    summaries: VecDeque<&'static str>,
    /// Requests for such answers.
    summarised: Vec<SummarizeRequest>,
    hides_when_closer: bool,
    turns_pages: bool,
    /// Distance by which a click's target is found to have moved.
    shift: i32,
    /// Number of waits in which something changes and is as before afterwards.
    flickers: u32,
    /// An ignored action takes effect after this many comparisons.
    comes_late: Option<u32>,
    /// Element whose text is all that the next action changes, and that text.
    pops_up: Option<(u32, &'static str)>,
    /// The same element, until this many decisions were asked for.
    popped_up: Option<(u32, Option<usize>)>,
    /// Number of decisions after which it is gone; `None` for never.
    pops_down: Option<usize>,
}

impl DesktopState {
    fn answer_the_pointer(&mut self, (element, content): (u32, Option<&'static str>)) {
        self.redrawn += 1;
        self.changes += 1;
        self.changed_at = Some(box_of(element).center());
        if let Some(content) = content {
            self.renamed = Some((element, 0, content));
        }
    }

    /// Returns the images that the planner's conversation contains after this request.
    fn shown_again(&self, request: &PlanRequest) -> Vec<[u8; 32]> {
        let past = request.history.iter().map(|step| &step.image);
        let shown = past.chain([&request.image]).flatten();
        shown
            .filter(|_| self.converses)
            .map(|image| image.sha256)
            .collect()
    }
}

impl SimulatedDesktop {
    /// Creates a desktop whose planner returns these decisions in order and then claims success.
    pub(crate) fn new(script: Vec<Next>) -> Arc<Self> {
        Arc::new(Self {
            calls: watch::Sender::default(),
            held: watch::Sender::default(),
            stops: watch::Sender::default(),
            people: watch::Sender::default(),
            state: Mutex::new(DesktopState {
                script,
                title: "Editor".to_owned(),
                ..DesktopState::default()
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, DesktopState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // === Test set-up ===

    /// Makes an element's text look like a prompt injection.
    pub(crate) fn show_injection(&self, element: u32, quote: &str) {
        self.state().suspected_injections.push(SuspectedInjection {
            quote: quote.to_owned(),
            bounds: Some(box_of(element)),
        });
    }

    /// Simulates a person's click on an element.
    pub(crate) fn person_clicks(&self, element: u32) {
        let input = HumanInput {
            at: SystemTime::UNIX_EPOCH,
            kind: HumanInputKind::Click {
                at: box_of(element).center(),
                button: Button::Left,
            },
        };
        self.people.send_modify(|inputs| inputs.push(input));
    }

    /// Simulates a person's typing.
    pub(crate) fn person_types(&self, characters: u32) {
        let input = HumanInput {
            at: SystemTime::UNIX_EPOCH,
            kind: HumanInputKind::Typing { characters },
        };
        self.people.send_modify(|inputs| inputs.push(input));
    }

    /// Lets the phrasebook decide instead of the script.
    pub(crate) fn use_phrasebook(&self) {
        self.state().uses_phrasebook = true;
    }

    /// Lets the planner take no images.
    pub(crate) fn see_nothing(&self) {
        self.state().sees_nothing = true;
    }

    /// Holds calls of this name from now on.
    pub(crate) fn hold(&self, call: &'static str) {
        self.held.send_modify(|held| {
            held.insert(call);
        });
    }

    /// Releases held calls of this name.
    pub(crate) fn release(&self, call: &'static str) {
        self.held.send_modify(|held| {
            held.remove(call);
        });
    }

    /// Makes the next calls of this name fail.
    pub(crate) fn fail(&self, call: &'static str, times: usize, report: &ErrorReport) {
        let faults = std::iter::repeat_n(report.clone(), times);
        self.state().faults.entry(call).or_default().extend(faults);
    }

    /// Makes the window a browser that shows this page.
    pub(crate) fn show_page(&self, url: &str) {
        self.state().page = Some(url.to_owned());
    }

    /// Sets what the clipboard has.
    pub(crate) fn copy(&self, text: &str, withheld: bool) {
        self.state().clipboard = ClipboardText {
            text: text.to_owned(),
            withheld,
            not_copied: false,
        };
    }

    /// Keys were pressed, and no program has copied anything since.
    pub(crate) fn copy_late(&self) {
        self.state().clipboard = ClipboardText {
            not_copied: true,
            ..ClipboardText::default()
        };
    }

    /// Sets the text of the page.
    pub(crate) fn write_on_page(&self, text: &'static str) {
        self.state().page_text = text;
    }

    /// Returns the requests for extractions.
    pub(crate) fn extracted_from(&self) -> Vec<ExtractRequest> {
        self.state().extracted_from.clone()
    }

    /// Makes the next actions have no effect on the screen.
    pub(crate) fn ignore_actions(&self, times: u32) {
        self.state().in_vain = times;
    }

    /// Makes pointer moves miss by these offsets, in order; the last one is repeated.
    pub(crate) fn miss<const N: usize>(&self, misses: [(i32, i32); N]) {
        self.state().misses = misses.into();
    }

    /// Sets the answers to pointer checks, in order.
    pub(crate) fn locate<const N: usize>(&self, answers: [(bool, i32, i32); N]) {
        let answer = |(on_target, dx, dy)| PointerCheck {
            requests: vec![r#"{"messages":["where is the pointer"]}"#.to_owned()],
            responses: vec![format!(r#"{{"on_target":{on_target}}}"#)],
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

    /// Makes this element's area change continuously.
    pub(crate) fn animate(&self, element: u32) {
        self.state().stirs = Some(box_of(element));
    }

    /// Makes this field empty whatever is typed into it, although something else answers.
    pub(crate) fn empty_field(&self, element: u32) {
        self.say(element, "");
        self.state().empty_field = Some(element);
    }

    /// Makes actions change nothing but the look of their targets.
    pub(crate) fn change_only_targets(&self) {
        self.state().changes_only_targets = true;
    }

    /// Makes a large area below all elements change continuously, like a video.
    pub(crate) fn play_video(&self) {
        self.state().stirs = Some(rect(100, 200, 600, 400));
    }

    /// Changes this element's text once an action has had an effect.
    pub(crate) fn rename(&self, element: u32, content: &'static str) {
        self.state().renamed = Some((element, 1, content));
    }

    /// Changes this element's text after this number of effects.
    pub(crate) fn rename_from(&self, element: u32, effects: u64, content: &'static str) {
        self.state().renamed = Some((element, effects, content));
    }

    /// Sets this element's text.
    pub(crate) fn label(&self, element: u32, content: &'static str) {
        self.state().renamed = Some((element, 0, content));
    }

    /// Adds text to this element from now on, without any visible change.
    pub(crate) fn say(&self, element: u32, content: &'static str) {
        let mut state = self.state();
        if state.says.insert(element, content).is_some() {
            state.changes += 1;
            state.changed_at = Some(box_of(element).center());
            state.drawn_apart += 1;
        }
    }

    /// Changes the text of an element when the pointer arrives on another one.
    pub(crate) fn say_under_the_pointer(&self, pointed: u32, element: u32, content: &'static str) {
        self.state().answers_pointer = Some((pointed, element, content));
    }

    /// Changes the title of the window.
    pub(crate) fn retitle(&self, title: &str) {
        title.clone_into(&mut self.state().title);
    }

    /// Makes this element a text field.
    pub(crate) fn make_text_field(&self, element: u32) {
        self.state().field = Some(element);
    }

    /// Captures the screen from outside the loop.
    pub(crate) fn capture_once(&self) {
        self.frame();
    }

    /// Changes an element's text without an action.
    pub(crate) fn turn_into(&self, element: u32, content: &'static str) {
        let mut state = self.state();
        state.renamed = Some((element, 0, content));
        state.changes += 1;
        state.changed_at = Some(box_of(element).center());
    }

    /// Redraws the screen without an action.
    pub(crate) fn redraw(&self) {
        self.state().redrawn += 1;
    }

    /// Highlights this element under the pointer, optionally with another text.
    pub(crate) fn light_up(&self, element: u32, content: Option<&'static str>) {
        self.state().lights_up = Some((element, content));
    }

    /// Returns the holders and tenants whose files were to be deleted.
    pub(crate) fn deleted_files(&self) -> Vec<(String, String)> {
        let requests = self.state().deleted_files.clone();
        let named = requests
            .into_iter()
            .map(|it| (it.holder, it.tenant.unwrap_or_default()));
        named.collect()
    }

    /// Draws this element in pixels, with a highlight and this symbol while the pointer is on it.
    pub(crate) fn draw(&self, element: u32, symbol_under_pointer: Symbol) {
        self.state().symbol = Some((element, symbol_under_pointer));
    }

    /// Highlights this element some frames after the pointer has arrived on it.
    pub(crate) fn light_up_in_some_frames(&self, element: u32, content: Option<&'static str>) {
        self.light_up(element, content);
        self.state().takes_frames = true;
    }

    /// Makes a caret blink in captures of small areas.
    pub(crate) fn blink(&self) {
        self.state().caret = true;
    }

    /// Makes every action switch between two pages.
    pub(crate) fn turn_pages(&self) {
        self.state().turns_pages = true;
    }

    /// Makes the next action take effect only after it was judged.
    pub(crate) fn come_late(&self) {
        let mut state = self.state();
        state.in_vain = 1;
        // One comparison before the action, and one for its effect.
        state.comes_late = Some(2);
    }

    /// Makes the page shift under every click.
    pub(crate) fn shift(&self) {
        self.state().shift = 52;
    }

    /// Makes something change and change back while the loop waits for the next effect.
    pub(crate) fn flicker(&self) {
        self.state().flickers = 1;
    }

    /// Makes a text on another element all that the next action changes. It is gone again once this many decisions were asked for.
    pub(crate) fn pop_up(&self, element: u32, content: &'static str, until: Option<usize>) {
        let mut state = self.state();
        state.pops_up = Some((element, content));
        state.pops_down = until;
    }

    /// Makes observations of a part of the screen return no elements.
    pub(crate) fn hide_when_closer(&self) {
        self.state().hides_when_closer = true;
    }

    /// Sets the answer that a model writes for the next task that ends without one.
    pub(crate) fn summarise(&self, answer: &'static str) {
        self.state().summaries.push_back(answer);
    }

    /// Returns the requests for answers of tasks that end without one.
    pub(crate) fn summarised(&self) -> Vec<SummarizeRequest> {
        self.state().summarised.clone()
    }

    /// Sets the result of the next extraction.
    pub(crate) fn extract(&self, answer: Result<&'static str>) {
        self.state().extractions.push_back(answer);
    }

    /// Sets the outcome of the next action, which is performed only if the outcome says so.
    pub(crate) fn answer(&self, outcome: ActionOutcome) {
        self.state().outcomes.push_back(outcome);
    }

    /// Adds this usage to every decision.
    pub(crate) fn charge(&self, usage: Usage) {
        self.state().usage = usage;
    }

    /// Makes the planner keep images in a continued conversation, or not.
    pub(crate) fn set_conversational(&self, converses: bool) {
        self.state().converses = converses;
    }

    /// Adds this skipped backend to every decision.
    pub(crate) fn skip_backend(&self, attempt: BackendAttempt) {
        self.state().attempts.push(attempt);
    }

    /// Makes a model of this name decide.
    pub(crate) fn decide_by_model(&self, model: &str) {
        model.clone_into(&mut self.state().model);
    }

    /// Adds this safety check to every decision.
    pub(crate) fn warn(&self, check: SafetyCheck) {
        self.state().safety_checks.push(check);
    }

    /// Makes the planner report this suspected injection on every screen.
    pub(crate) fn suspect(&self, quote: &str) {
        self.state().suspected_injections.push(SuspectedInjection {
            quote: quote.to_owned(),
            bounds: None,
        });
    }

    /// Drops all of Perception's frames, as a restart does.
    pub(crate) fn forget_frames(&self) {
        self.state().frames.clear();
    }

    /// Clears the Executor's action journal.
    pub(crate) fn forget_actions(&self) {
        self.state().forgets = true;
    }

    /// Loses the Executor's journal. Its lease is kept, unless the whole state is lost.
    pub(crate) fn lose_journal(&self, with_lease: bool) {
        let mut state = self.state();
        state.journal.clear();
        state.fenced.clear();
        state.checkpoints.clear();
        state.journals_lost += 1;
        if with_lease {
            state.epoch = 0;
            state.holder = None;
        }
    }

    /// Replaces the Executor's journal by a copy from the same lease that has no actions yet.
    pub(crate) fn restore_journal_of_lease(&self) {
        self.state().journal.clear();
    }

    /// Makes the Executor one of a version without fences.
    pub(crate) fn cannot_fence(&self) {
        self.state().cannot_fence = true;
    }

    /// Makes a proxy keep the next action's call. Its caller sees this error, or nothing.
    pub(crate) fn keep_next_action(&self, error: Option<ErrorReport>) {
        self.state().kept_calls.push_back(error);
    }

    /// Delivers the oldest call that a proxy kept.
    pub(crate) async fn deliver_kept_action(self: &Arc<Self>) -> Result<ActionOutcome> {
        let kept = self.state().kept.pop_front();
        let request = kept.expect("a call is kept");
        FakeServices(self.clone()).perform(request).await
    }

    /// Sets or clears another holder of the display's lease.
    pub(crate) fn set_holder(&self, holder: Option<&str>) {
        let mut state = self.state();
        state.holder = holder.map(str::to_owned);
        state.held_until = None;
    }

    /// Gives the lease to another holder.
    pub(crate) fn supersede(&self) {
        self.state().epoch += 1;
    }

    /// Adds a file to the desktop's folder.
    pub(crate) fn add_file(&self, name: &str, content: &'static [u8]) {
        let content = Bytes::from_static(content);
        self.state().files.insert(name.to_owned(), content);
    }

    /// Adds a file to the desktop's folder that an earlier task left there.
    pub(crate) fn add_old_file(&self, name: &str, content: &'static [u8]) {
        self.add_file(name, content);
        self.state().old_files.insert(name.to_owned());
    }

    fn describe(&self, name: &str, content: &Bytes) -> FileInfo {
        let is_old = self.state().old_files.contains(name);
        FileInfo {
            name: name.to_owned(),
            size_bytes: content.len() as u64,
            modified_at: match is_old {
                true => SystemTime::UNIX_EPOCH,
                false => SystemTime::now(),
            },
            sha256: Sha256::digest(content).into(),
            path: format!("/desktop/{name}"),
        }
    }

    // === Test observations ===

    /// Returns the actions that reached the application.
    pub(crate) fn done(&self) -> Vec<ReceivedAction> {
        let state = self.state();
        assert_eq!(state.repeated, [], "an action id was used a second time");
        state.done.clone()
    }

    /// Returns the private hosts that the user named, as the last call to perform an action said.
    pub(crate) fn named_hosts(&self) -> Vec<String> {
        self.state().named_hosts.clone()
    }

    /// Returns the addresses that an address bar may open, of all calls to perform an action.
    pub(crate) fn typed_addresses(&self) -> Vec<String> {
        self.state().typed_addresses.clone()
    }

    /// Returns the points of clicks.
    pub(crate) fn clicks(&self) -> Vec<(i32, i32)> {
        let points = self.done().into_iter().filter_map(|done| {
            let point = done.action.targets().next().copied()?;
            Some((point.x, point.y))
        });
        points.collect()
    }

    /// Returns the points of pointer moves.
    pub(crate) fn moves(&self) -> Vec<(i32, i32)> {
        self.state().moves.clone()
    }

    /// Lets frames tell where the pointer is.
    pub(crate) fn show_cursor(&self) {
        self.state().shows_cursor = true;
    }

    /// Returns the times within which changes after a known frame were to begin.
    pub(crate) fn effect_windows(&self) -> Vec<Duration> {
        self.state().effect_windows.clone()
    }

    /// Returns the annotated screenshots that the model received.
    pub(crate) fn shown_to_model(&self) -> Vec<Image> {
        self.state().shown_to_model.clone()
    }

    /// Returns the planner's requests.
    pub(crate) fn plans(&self) -> Vec<PlanRequest> {
        self.state().plans.clone()
    }

    /// Returns the captures of observations, each with the number of actions performed before it.
    pub(crate) fn looks(&self) -> Vec<(usize, CaptureRequest)> {
        self.state().looks.clone()
    }

    /// Returns the captures that were made without parsing.
    pub(crate) fn captures(&self) -> Vec<CaptureRequest> {
        self.state().captures.clone()
    }

    /// Returns the input that viewers were shown.
    pub(crate) fn marks(&self) -> Vec<MarkInputRequest> {
        self.state().marks.clone()
    }

    /// Returns the ids of actions whose progress was asked for.
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

    /// Waits until this call was made this many times. Three names are no calls: `answer` is recorded when an action
    /// has reached the application, `stopped` when its caller vanished before, `released` when the desktop was
    /// released.
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
            application: state.page.as_ref().map_or("", |_| "chromium").to_owned(),
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
            cursor: state.shows_cursor.then(|| wire::Cursor {
                position: Some(state.pointer.into()),
                drawn: false,
            }),
            ..wire::Frame::default()
        };
        frame.try_into().expect("the frame keeps the contract")
    }

    fn one_more_comparison(&self) {
        let mut state = self.state();
        match state.comes_late {
            // Visible in the next capture, not in earlier ones.
            Some(1) => {
                state.comes_late = None;
                state.changes += 1;
            }
            Some(left) => state.comes_late = Some(left - 1),
            None => {}
        }
    }

    /// Removes what has popped up, if it is time.
    fn pop_down(&self) {
        let mut state = self.state();
        let plans = state.plans.len();
        let is_due = |(_, until): &mut (u32, Option<usize>)| until.is_some_and(|at| plans >= at);
        if let Some((element, _)) = state.popped_up.take_if(is_due) {
            state.says.remove(&element);
            state.changes -= 1;
        }
    }

    /// Returns an element's current text.
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

    /// Returns the frame id of an area, which stays the same while nothing changes.
    fn drawn_in(&self, part: CaptureRect) -> FrameId {
        let state = self.state();
        let caret = state.caret && state.last_frame.is_multiple_of(2);
        let lit = state
            .symbol
            .is_some_and(|(element, _)| box_of(element).contains(state.pointer));
        FrameId::new(format!(
            "{part:?} after {} and {}{}{}",
            state.changes - state.drawn_apart,
            state.redrawn,
            if caret { " with a caret" } else { "" },
            if lit { " lit" } else { "" },
        ))
    }

    /// Returns the pixels of an area if they are drawn.
    fn painted(&self, part: CaptureRect) -> Option<Image> {
        let state = self.state();
        let (element, symbol) = state.symbol?;
        let button = box_of(element);
        let is_lit = button.contains(state.pointer);
        let size = part.size().to_u32();
        let pixels = RgbaImage::from_fn(size.width, size.height, |x, y| {
            let at = CapturePoint::new(part.min.x + x.cast_signed(), part.min.y + y.cast_signed());
            let within = at - button.min;
            let is_letter = match symbol {
                Symbol::Other if is_lit => within.x % 7 < 3 && (4..16).contains(&within.y),
                _ => within.x % 4 < 2 && (6..14).contains(&within.y),
            };
            Rgba(match (button.contains(at), is_letter, is_lit) {
                (false, _, _) => [250, 250, 250, 255],
                (true, true, false) => [20, 20, 20, 255],
                (true, false, false) => [225, 225, 225, 255],
                (true, true, true) => [255, 255, 255, 255],
                (true, false, true) => [60, 110, 220, 255],
            })
        });
        Some(codec::encode(&pixels, ImageFormat::Png).unwrap())
    }

    fn changes_at(&self, frame: &FrameId) -> Result<u64> {
        let known = self.state().frames.get(frame.as_str()).copied();
        known.ok_or_else(|| {
            ErrorReport::new(Code::NotFound, "FRAME_EXPIRED", format!("no frame {frame}"))
        })
    }

    /// Returns the name of the checkpoint that an epoch of this journal begins with.
    fn checkpoint(state: &DesktopState, epoch: u64) -> String {
        format!("checkpoint/{}/{epoch}", state.journals_lost)
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

    /// Delivers an action to the application and changes the screen.
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
            let is_on = |(pointed, _, _): &mut (u32, u32, _)| box_of(*pointed).contains(pointer);
            if let Some((_, element, content)) = state.answers_pointer.take_if(is_on) {
                state.says.insert(element, content);
                state.changes += 1;
                state.changed_at = Some(box_of(element).center());
                state.drawn_apart += 1;
            }
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
        if let Some((element, content)) = state.pops_up.take() {
            state.says.insert(element, content);
            state.changes += 1;
            state.changed_at = Some(box_of(element).center());
            state.popped_up = Some((element, state.pops_down));
        } else if state.in_vain > 0 {
            state.in_vain -= 1;
        } else {
            state.changes += 1;
            state.changed_at = action.targets().last().copied();
        }
        let id = id.clone();
        state.done.push(ReceivedAction { id, action });
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

/// Returns the bounding box of an element: a row of boxes of 40 by 20 pixels.
pub(crate) fn box_of(element: u32) -> CaptureRect {
    rect(i32::try_from(element).unwrap() * 100, 90, 40, 20)
}

/// Returns the scene of a part of the display.
fn scene(
    frame: &FrameId,
    part: CaptureRect,
    field: Option<u32>,
    content: impl Fn(u32) -> String,
) -> Scene {
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
            kind: match field {
                Some(field) if field == number => ElementKind::TextField,
                _ => ElementKind::Button,
            },
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

fn screenshot(frame: &FrameId) -> Image {
    let bytes = Bytes::from(format!("picture of {frame}"));
    Image {
        sha256: Sha256::digest(&bytes).into(),
        content: ImageContent::Bytes(bytes),
        media_type: "image/webp".to_owned(),
        width: 1000,
        height: 200,
    }
}

/// The annotated screenshot, as the fake planner gives it to its model.
fn annotated(frame: &FrameId) -> Image {
    let bytes = Bytes::from(format!("annotated picture of {frame}"));
    Image {
        sha256: Sha256::digest(&bytes).into(),
        content: ImageContent::Bytes(bytes),
        media_type: "image/png".to_owned(),
        width: 500,
        height: 100,
    }
}

/// The symbol on a highlighted element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symbol {
    Same,
    Other,
}

/// The three services, sharing one simulated desktop.
#[derive(Debug, Clone)]
pub(crate) struct FakeServices(pub(crate) Arc<SimulatedDesktop>);

#[async_trait]
impl Perception for FakeServices {
    async fn capture(&self, request: CaptureRequest) -> Result<CapturedFrame> {
        self.0.enter("capture").await?;
        let frame = self.0.frame();
        let drawn = match &request.area {
            CaptureArea::Region(part) => self.0.drawn_in(*part),
            _ => frame.id.clone(),
        };
        let painted = match &request.area {
            CaptureArea::Region(part) => self.0.painted(*part),
            _ => None,
        };
        let image = request
            .image
            .map(|_| painted.unwrap_or_else(|| screenshot(&drawn)));
        self.0.state().captures.push(request);
        Ok(CapturedFrame { frame, image })
    }

    async fn stream_frames(&self, _: StreamRequest) -> Result<ResultStream<FrameUpdate>> {
        self.0.enter("stream_frames").await?;
        let frame = self.0.frame();
        let tile = FrameTile {
            bounds: whole(),
            image: screenshot(&frame.id),
        };
        let first = FrameUpdate {
            sequence: 0,
            frame,
            tiles: vec![tile],
        };
        // A still screen: the stream stays open without another frame.
        let still = stream::pending();
        Ok(stream::iter([Ok(first)]).chain(still).boxed())
    }

    async fn mark_input(&self, request: MarkInputRequest) -> Result<()> {
        self.0.state().marks.push(request);
        self.0.enter("mark_input").await
    }

    async fn observe(&self, request: ObserveRequest) -> Result<Observation> {
        self.0.enter("observe").await?;
        if request.capture.area != CaptureArea::Display {
            self.0.enter("observe_area").await?;
        }
        let done = self.0.done().len();
        self.0.state().looks.push((done, request.capture.clone()));
        assert!(
            request.annotated_image.is_none() && !request.include_prompt_lines,
            "the planner makes its own"
        );
        let part = match request.capture.area {
            CaptureArea::Region(part) => part,
            _ => whole(),
        };
        let frame = self.0.frame_of(part);
        Ok(Observation {
            image: request.capture.image.map(|_| screenshot(&frame.id)),
            annotated_image: None,
            scene: if part != whole() && self.0.state().hides_when_closer {
                scene(&frame.id, CaptureRect::zero(), None, |_| String::new())
            } else {
                let field = self.0.state().field;
                scene(&frame.id, part, field, |number| self.0.content(number))
            },
            frame,
            prompt_lines: Vec::new(),
            delta: None,
            timings: Vec::new(),
        })
    }

    async fn compare(&self, request: CompareRequest) -> Result<Comparison> {
        self.0.enter("compare").await?;
        self.0.one_more_comparison();
        let before = self.0.changes_at(&request.before)?;
        let after = self.0.changes_at(&request.after)?;
        let place = self.0.state().changed_at.unwrap_or_default();
        let stirs = self.0.state().stirs;
        // What a button does is also seen beside it, but for one that moves.
        let is_beside = stirs.is_none() && !self.0.state().changes_only_targets;
        let reach = if is_beside { 25 } else { 5 };
        let regions = (before != after).then(|| ChangedRegion {
            bounds: rect(place.x - 5, place.y - reach, 10, 2 * reach),
            changed_pixels: 100,
        });
        let shift = self.0.state().shift;
        let ignored = |place: &CaptureRect| request.ignore.iter().any(|r| r.contains_box(place));
        let stirred = stirs
            .filter(|place| !ignored(place))
            .map(|bounds| ChangedRegion {
                bounds,
                changed_pixels: 100,
            });
        // Ignored areas hide changes.
        let regions = regions.filter(|region| !ignored(&region.bounds));
        let regions: Vec<_> = regions.into_iter().chain(stirred).collect();
        let change = ChangeMap {
            changed_pixels: 100 * regions.len() as u64,
            regions,
            ..ChangeMap::default()
        };
        let empty = self.0.state().empty_field.map(box_of);
        let is_empty = |region: &CaptureRect| empty.is_some_and(|field| field.contains_box(region));
        let share = |region: &CaptureRect| if is_empty(region) { 0.0 } else { 0.1 };
        Ok(Comparison {
            vertical_shifts: request.shift_regions.iter().map(|_| shift).collect(),
            change,
            measured_shares: request.measured_regions.iter().map(share).collect(),
        })
    }

    async fn wait_for_idle(&self, request: WaitForIdleRequest) -> Result<IdleReport> {
        self.0.enter("wait_for_idle").await?;
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
        if since.is_some() {
            let window = request.first_change_timeout;
            self.0.state().effect_windows.push(window);
        }
        let before = since.map(|since| self.0.changes_at(since)).transpose()?;
        let mut state = self.0.state();
        let flickers = state.flickers > 0;
        state.flickers = state.flickers.saturating_sub(1);
        let changed = flickers || before.is_some_and(|before| before != state.changes);
        Ok(IdleReport {
            settled: true,
            changed,
            elapsed: Duration::from_millis(1),
            first_change_after: None,
            still_changing: Vec::new(),
            background_motion: Vec::new(),
        })
    }
}

#[async_trait]
impl Planner for FakeServices {
    /// The script position is kept in the conversation, as with every planner.
    async fn plan(&self, request: PlanRequest) -> Result<PlannedDecision> {
        self.0.state().plans.push(request.clone());
        self.0.pop_down();
        self.0.enter("plan").await?;
        if self.0.state().uses_phrasebook {
            let decided = Phrasebook.plan(&request, &CallContext::default()).await;
            return Ok(PlannedDecision {
                decision: decided.expect("the phrasebook takes the goal").decision,
                attempts: Vec::new(),
                annotated_image: None,
                requests: Vec::new(),
                responses: Vec::new(),
            });
        }
        let position = request.conversation.first().copied().unwrap_or_default();
        let mut state = self.0.state();
        let annotated_image = request.image.as_ref().map(|_| annotated(&request.frame.id));
        state.shown_to_model.extend(annotated_image.clone());
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
            model: state.model.clone(),
            usage: state.usage,
            suspected_injections: state.suspected_injections.clone(),
            conversation_images: state.shown_again(&request),
        };
        Ok(PlannedDecision {
            decision,
            attempts: state.attempts.clone(),
            annotated_image,
            requests: vec![format!(r#"{{"messages":["step {position}"]}}"#)],
            responses: vec![format!(r#"{{"thought":{position}}}"#)],
        })
    }

    async fn summarize(&self, request: SummarizeRequest) -> Result<Summary> {
        self.0.state().summarised.push(request.clone());
        self.0.enter("summarize").await?;
        let written = self.0.state().summaries.pop_front();
        Ok(Summary {
            text: written.map_or(request.fallback, str::to_owned),
            usage: Usage {
                input_tokens: written.map(|_| 300),
                output_tokens: written.map(|_| 30),
                calls: u32::from(written.is_some()),
                ..Usage::default()
            },
            requests: written
                .iter()
                .map(|_| r#"{"messages":["what was done"]}"#.to_owned())
                .collect(),
            responses: written
                .map(|text| format!(r#"{{"summary":"{text}"}}"#))
                .into_iter()
                .collect(),
        })
    }

    async fn extract(&self, request: ExtractRequest) -> Result<Extraction> {
        self.0.state().extracted_from.push(request);
        self.0.enter("extract").await?;
        let answer = self.0.state().extractions.pop_front();
        match answer {
            None => Err(not_served("Extract")),
            Some(answer) => Ok(Extraction {
                sources: Vec::new(),
                json: answer?.to_owned(),
                usage: Usage {
                    input_tokens: Some(500),
                    output_tokens: Some(50),
                    calls: 1,
                    ..Usage::default()
                },
                requests: vec![r#"{"messages":["read it"]}"#.to_owned()],
                responses: vec![r#"{"extracted":1}"#.to_owned()],
            }),
        }
    }

    async fn locate_pointer(&self, request: PointerRequest) -> Result<PointerCheck> {
        self.0.enter("locate_pointer").await?;
        assert!(request.annotated_image.is_some(), "a model wants to see it");
        let answer = self.0.state().located.pop_front();
        answer.ok_or_else(|| not_served("LocatePointer"))
    }

    /// Finds an element with exactly this text; other targets are resolved by the loop itself.
    async fn resolve_target(&self, request: ResolveRequest) -> Result<ResolvedTarget> {
        self.0.enter("resolve_target").await?;
        let TargetQuery::Target(Target::Text(anchor)) = request.target else {
            return Err(not_served(
                "ResolveTarget for targets that are not in words",
            ));
        };
        let mut elements = request.scene.elements.iter();
        let element = elements.find(|element| element.content == anchor.text);
        let element = element.ok_or_else(|| not_served("ResolveTarget for other text"))?;
        Ok(ResolvedTarget {
            point: element.centre,
            bounds: box_of(element.id.0),
            element: Some(element.id),
            candidates: Vec::new(),
            usage: Usage::default(),
            requests: Vec::new(),
            responses: Vec::new(),
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
            needs_image: !self.0.state().sees_nothing,
        }])
    }
}

/// A running action. If it is dropped, it is recorded as stopped.
struct RunningAction<'a> {
    world: &'a SimulatedDesktop,
    id: ActionId,
    ended: bool,
}

impl RunningAction<'_> {
    fn end(mut self, outcome: ActionOutcome) -> ActionOutcome {
        self.ended = true;
        self.world.finish(&self.id, outcome)
    }
}

impl Drop for RunningAction<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.world.finish(&self.id, stopped());
            self.world.calls.send_modify(|calls| calls.push("stopped"));
        }
    }
}

fn stopped() -> ActionOutcome {
    ActionOutcome::cancelled_unsent("stopped")
}

#[async_trait]
impl Executor for FakeServices {
    async fn read_clipboard(&self, _: ReadClipboardRequest) -> Result<ClipboardText> {
        self.0.enter("read_clipboard").await?;
        Ok(self.0.state().clipboard.clone())
    }

    async fn read_page(&self, _: ReadPageRequest) -> Result<PageText> {
        self.0.enter("read_page").await?;
        let state = self.0.state();
        let url = state.page.clone();
        Ok(PageText {
            url: url.ok_or_else(|| not_served("ReadPage"))?,
            title: "Cart".to_owned(),
            text: state.page_text.to_owned(),
            truncated: false,
        })
    }

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
        let epoch = state.epoch;
        let checkpoint = SimulatedDesktop::checkpoint(&state, epoch);
        if !state.cannot_fence {
            state.checkpoints.insert(checkpoint.clone());
        }
        Ok(Lease {
            display: DisplayId::new(DISPLAY),
            epoch: DesktopEpoch(epoch),
            expires_at: now + request.ttl,
            journal_checkpoint: (!state.cannot_fence).then_some(checkpoint),
        })
    }

    async fn renew_lease(&self, request: RenewRequest) -> Result<Lease> {
        self.0.enter("renew_lease").await?;
        self.0.check_lease(request.epoch)?;
        let expires_at = SystemTime::now() + request.ttl;
        self.0.state().held_until = Some(expires_at);
        Ok(Lease {
            display: request.display,
            epoch: request.epoch,
            expires_at,
            journal_checkpoint: None,
        })
    }

    async fn release_desktop(&self, request: ReleaseRequest) -> Result<()> {
        self.0.enter("release_desktop").await?;
        self.0.check_lease(request.epoch)?;
        self.0.state().holder = None;
        self.0.calls.send_modify(|calls| calls.push("released"));
        Ok(())
    }

    /// Held at `perform`, no input has been sent yet; held at `answer`, all of it has.
    async fn perform(&self, request: PerformRequest) -> Result<ActionOutcome> {
        self.0.begin("perform")?;
        let keep = self.0.state().kept_calls.pop_front();
        if let Some(error) = keep {
            self.0.state().kept.push_back(request);
            return match error {
                Some(error) => Err(error),
                None => std::future::pending().await,
            };
        }
        self.0.check_lease(request.epoch)?;
        self.0.state().named_hosts.clone_from(&request.named_hosts);
        self.0
            .state()
            .typed_addresses
            .extend(request.addresses.clone());
        let id = request.action_id;
        if self.0.state().fenced.contains(&id) {
            let message = "the action was fenced";
            return Err(ErrorReport::new(
                Code::FailedPrecondition,
                "ACTION_FENCED",
                message,
            ));
        }
        let known = self.0.state().journal.get(&id).cloned();
        if known.is_some() {
            self.0.state().repeated.push(id);
            return Ok(stopped());
        }
        let running = ActionProgress::Running;
        self.0.state().journal.insert(id.clone(), running);
        let begun = RunningAction {
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

    async fn look_up_action(&self, request: LookUpRequest) -> Result<ActionProgress> {
        let id = request.action_id;
        self.0.state().lookups.push(id.clone());
        self.0.enter("look_up_action").await?;
        let state = self.0.state();
        if state.forgets {
            return Ok(ActionProgress::Unknown);
        }
        let known = state.journal.get(&id).cloned();
        Ok(known.unwrap_or(ActionProgress::NotStarted))
    }

    async fn fence_action(&self, request: FenceRequest) -> Result<ActionProgress> {
        if self.0.state().cannot_fence {
            return Err(not_served("FenceAction"));
        }
        let id = request.action_id;
        self.0.state().lookups.push(id.clone());
        self.0.enter("fence_action").await?;
        self.0.check_lease(request.epoch)?;
        let mut state = self.0.state();
        if state.forgets {
            return Ok(ActionProgress::Unknown);
        }
        if let Some(known) = state.journal.get(&id) {
            return Ok(known.clone());
        }
        state.fenced.insert(id);
        let checkpoint = request.journal_checkpoint;
        let last_action = request.last_action_id;
        let is_complete = checkpoint.is_none_or(|name| state.checkpoints.contains(&name))
            && last_action.is_none_or(|id| state.journal.contains_key(&id));
        Ok(match is_complete {
            true => ActionProgress::NotStarted,
            false => ActionProgress::Unknown,
        })
    }

    async fn release_all(&self, _: Option<DisplayId>) -> Result<Vec<String>> {
        self.0.stops.send_modify(|stops| *stops += 1);
        self.0.enter("release_all").await?;
        Ok(Vec::new())
    }

    async fn get_pointer(&self, _: Option<DisplayId>) -> Result<CapturePoint> {
        Ok(self.0.state().pointer)
    }

    async fn put_file(&self, file: PutFile) -> Result<FileInfo> {
        self.0.enter("put_file").await?;
        self.0.check_lease(file.epoch)?;
        self.0.state().old_files.remove(&file.name);
        let info = self.0.describe(&file.name, &file.content);
        self.0.state().files.insert(file.name, file.content);
        Ok(info)
    }

    async fn get_file(
        &self,
        FileRequest { name, epoch, .. }: FileRequest,
    ) -> Result<DownloadedFile> {
        self.0.enter("get_file").await?;
        self.0.check_lease(epoch.unwrap_or(DesktopEpoch(0)))?;
        let content = self.0.state().files.get(&name).cloned();
        let content = content.ok_or_else(|| {
            ErrorReport::new(
                Code::NotFound,
                "FILE_NOT_FOUND",
                format!("there is no file {name}"),
            )
        })?;
        Ok(DownloadedFile {
            info: self.0.describe(&name, &content),
            content,
        })
    }

    async fn stat_file(
        &self,
        FileRequest { name, epoch, .. }: FileRequest,
    ) -> Result<Option<FileInfo>> {
        self.0.enter("stat_file").await?;
        self.0.check_lease(epoch.unwrap_or(DesktopEpoch(0)))?;
        let content = self.0.state().files.get(&name).cloned();
        Ok(content.map(|content| self.0.describe(&name, &content)))
    }

    async fn delete_files(&self, request: DeleteFilesRequest) -> Result<()> {
        self.0.enter("delete_files").await?;
        self.0.state().deleted_files.push(request);
        Ok(())
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
            files_folder: "/home/ann/files".to_owned(),
        })
    }

    async fn watch_human_input(&self, _: Option<DisplayId>) -> Result<ResultStream<HumanInput>> {
        let inputs = (self.0.people.subscribe(), 0);
        let next = |(mut inputs, sent): (watch::Receiver<Vec<HumanInput>>, usize)| async move {
            let all = inputs.wait_for(|inputs| inputs.len() > sent).await.ok()?;
            let next = all[sent].clone();
            drop(all);
            Some((Ok(next), (inputs, sent + 1)))
        };
        Ok(Box::pin(futures::stream::unfold(inputs, next)))
    }
}
