//! Tells the loop what it was told, in memory, and compares what it asks and what it writes down.
//!
//! One position on the tape and one in the log are all there is. What users said is put into the log where the record says
//! that the loop took notice of it. The first difference ends it: whoever asks then is not answered any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use motorium_proto::convert;
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::ActionOutcome;
use motorium_proto::domain::frame::Display;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{
    ActionId, DesktopEpoch, DisplayId, EventSeq, FrameId, TaskEpoch, TaskName,
};
use motorium_proto::service::{
    AcquireRequest, ActionProgress, AnswerStream, AwaitQuiet, BackendInfo, Capabilities,
    CaptureRequest, Captured, CompareRequest, Comparison, Executor, ExtractRequest, Extraction,
    FileInfo, FrameUpdate, HumanInput, ImageOptions, Observation, ObserveRequest, PageText,
    ParseRequest, Parsed, Perception, PerformRequest, PlanRequest, Planned, Planner, PointerCheck,
    PointerRequest, PutFile, Quiet, ResolveRequest, Resolved, Result, StreamRequest,
    SummarizeRequest, Summary,
};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::Exchange;
use motorium_proto::v1::orchestrator::exchange::Answer;
use motorium_proto::v1::perception::ObserveResponse;
use motorium_store::{
    Append, Appended, Claim, CreateTask, Created, Doorbell, Error, EventRow, ListResources,
    ListTasks, Page, PutResource, ResourceRow, TaskRow, TaskStore,
};
use prost::Message as _;
use tokio::sync::watch;

use super::compare;
use super::folder::{Folder, Run};
use super::verdict::Difference;
use crate::log;
use crate::recording::{
    CLOCK, FUNCTIONS, Known, LOG, LOOKOUT, OBSERVE, Playback, RUN, STOPPED, Said, Seen, TIME_UP,
    is_note, report_of,
};
use crate::run::Ports;
use crate::task::ApprovalState;
use crate::task::event::{Event, Recorded};

/// The Executor was asked to let go; nothing hangs on what it says.
const RELEASE_ALL: &str = "/motorium.executor.v1.ExecutorService/ReleaseAll";

/// How a run came to its end.
#[derive(Debug, Clone)]
pub(super) enum Over {
    Same,
    /// It was broken off in the middle of a step, and the record with it.
    RecordEnds,
    Differs(Box<Difference>),
}

pub(super) struct Player {
    task: TaskName,
    log: Vec<Recorded>,
    contents: HashMap<[u8; 32], Bytes>,
    begins: usize,
    ends: usize,
    is_last: bool,
    doorbell: Doorbell,
    state: Mutex<State>,
    /// Changes with every position.
    moved: watch::Sender<u64>,
    over: watch::Sender<Option<Over>>,
}

struct State {
    tape: Vec<Exchange>,
    next: usize,
    rows: Vec<EventRow>,
    now: SystemTime,
    known: Known,
}

impl Player {
    pub(super) fn new(folder: &Folder, run: &Run, doorbell: Doorbell) -> Self {
        let task = folder.task.spec.name.clone();
        let mut tape = run.tape.clone();
        tape.retain(|exchange| exchange.method != RUN);
        let begun = &folder.log[..run.begins];
        let now = begun.last().map_or(SystemTime::UNIX_EPOCH, |last| last.at);
        let rows = begun.iter().map(|recorded| row(&task, recorded)).collect();
        Self {
            log: folder.log.clone(),
            contents: folder.contents(),
            begins: run.begins,
            ends: run.ends,
            is_last: run.is_last,
            task,
            doorbell,
            state: Mutex::new(State {
                tape,
                next: 0,
                rows,
                now,
                known: Known::default(),
            }),
            moved: watch::Sender::new(0),
            over: watch::Sender::new(None),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many events were written in this run.
    pub(super) fn written(&self) -> usize {
        self.state().rows.len() - self.begins
    }

    /// Returns when it is over before the run is.
    pub(super) async fn over(&self) -> Over {
        let mut over = self.over.subscribe();
        let known = over.wait_for(Option::is_some).await;
        known
            .ok()
            .and_then(|over| over.clone())
            .unwrap_or(Over::RecordEnds)
    }

    /// The run has ended by itself.
    pub(super) fn ended(&self) -> Over {
        if let Some(over) = self.over.borrow().clone() {
            return over;
        }
        let written = self.state().rows.len();
        match self.log.get(written) {
            Some(next) if written < self.ends && self.is_last => {
                let expected = compare::essence(next.clone().to_wire(&self.task));
                Over::Differs(Box::new(Difference {
                    step: next.step,
                    what: "the run ended, and the recorded one went on".to_owned(),
                    expected: format!("{:?}", expected.kind),
                    got: "nothing".to_owned(),
                }))
            }
            _ => Over::Same,
        }
    }

    /// Returns when nothing has happened for so long.
    pub(super) async fn stuck(&self, patience: Duration) -> Over {
        let mut moved = self.moved.subscribe();
        while tokio::time::timeout(patience, moved.changed())
            .await
            .is_ok()
        {}
        let state = self.state();
        if !self.is_last && state.rows.len() >= self.ends.min(self.log.len()) {
            return Over::RecordEnds;
        }
        let next = state
            .tape
            .get(state.next)
            .map_or("nothing", |next| next.method.as_str());
        Over::Differs(Box::new(Difference {
            step: self.step(state.rows.len()),
            what: "the run waits for something that did not come".to_owned(),
            expected: next.to_owned(),
            got: "nothing was asked".to_owned(),
        }))
    }

    fn step(&self, written: usize) -> u32 {
        let begun = self.log[..written.min(self.log.len())].iter();
        begun
            .map(|recorded| recorded.step)
            .max()
            .unwrap_or_default()
    }

    fn end(&self, over: Over) {
        self.over.send_if_modified(|known| {
            let is_first = known.is_none();
            if is_first {
                *known = Some(over);
            }
            is_first
        });
    }

    fn differ(&self, step: u32, (what, expected, got): (String, String, String)) {
        self.end(Over::Differs(Box::new(Difference {
            step,
            what,
            expected,
            got,
        })));
    }

    /// Puts into the log what others said by now, as far as the loop took notice of it next.
    fn let_others_speak(&self, state: &mut State) {
        let mut rung = false;
        while let Some(next) = self.log.get(state.rows.len()) {
            if state.rows.len() >= self.ends || !is_foreign(&next.event) {
                break;
            }
            // What the clock says before it is asked for first: the loop may do something in between.
            let noticed = state.tape.get(state.next);
            let is_due = match noticed {
                _ if matches!(next.event, Event::HumanActed { .. }) => true,
                Some(note) if note.method == LOG => next.seq.0 <= number(&note.request),
                Some(note) if note.method == STOPPED => next.at <= asked_at(note),
                // What was noted after the last step that was stored is lost.
                None => self.is_last,
                _ => false,
            };
            if !is_due {
                break;
            }
            let row = row(&self.task, next);
            state.now = state.now.max(next.at);
            state.rows.push(row);
            rung = true;
        }
        if rung {
            self.doorbell.ring(&self.task);
        }
        self.moved.send_modify(|moved| *moved += 1);
    }

    /// What was answered to this; `None` if nothing will be said any more.
    fn find(
        &self,
        method: &str,
        request: &[u8],
    ) -> Option<std::result::Result<Option<Answer>, ()>> {
        let mut guard = self.state();
        let state = &mut *guard;
        state.skip_readings();
        // Notes that the loop passed by: what it took notice of then, it knows already.
        while let Some(note) = state.tape.get(state.next)
            && is_note(note)
            && (note.method != LOG || number(&note.request) <= state.rows.len() as i64)
        {
            state.next += 1;
        }
        let Some(recorded) = state.tape.get(state.next).cloned() else {
            if !self.is_last {
                self.end(Over::RecordEnds);
                return None;
            }
            if method == RELEASE_ALL {
                return Some(Err(()));
            }
            let step = self.step(state.rows.len());
            let what = format!("{}, and the record ends before it", compare::asked(method));
            self.differ(step, (what, "nothing".to_owned(), method.to_owned()));
            return None;
        };
        let step = recorded.step;
        if recorded.method != method {
            let what = format!("{} where something else was", compare::asked(method));
            self.differ(
                step,
                (
                    what,
                    compare::asked(&recorded.method),
                    compare::asked(method),
                ),
            );
            return None;
        }
        if !is_same_question(method, &recorded.request, request) {
            self.differ(step, compare::questions(method, &recorded.request, request));
            return None;
        }
        state.next += 1;
        let elapsed = convert::duration("elapsed", recorded.elapsed)
            .ok()
            .flatten();
        let ended = asked_at(&recorded) + elapsed.unwrap_or_default();
        state.now = state.now.max(ended);
        if method == OBSERVE
            && let Some(Answer::Response(answer)) = &recorded.answer
            && let Ok(seen) = ObserveResponse::decode(answer.clone())
        {
            state.known.remember(&seen.frame, &seen.scene);
        }
        self.let_others_speak(state);
        Some(Ok(recorded.answer))
    }

    /// The loop waits: whether it is this that ends it. What it takes notice of next is said now, however often it asked the
    /// clock meanwhile.
    fn is_waited_for(&self, what: &str) -> bool {
        let mut guard = self.state();
        let state = &mut *guard;
        let next = state.after_readings().map(|next| next.method.clone());
        let next = next.unwrap_or_default();
        if (next == LOG || next == STOPPED) && state.skip_readings() {
            self.let_others_speak(state);
        }
        next == what
    }

    /// Passes the next thing on the tape by if it is a note of this kind.
    fn pass_by(&self, what: &str) -> Option<Exchange> {
        let mut guard = self.state();
        let state = &mut *guard;
        let note = state
            .after_readings()
            .filter(|note| note.method == what)
            .cloned()?;
        state.skip_readings();
        state.next += 1;
        state.now = state.now.max(asked_at(&note));
        self.let_others_speak(state);
        Some(note)
    }
}

impl State {
    /// Whether there were any.
    fn skip_readings(&mut self) -> bool {
        let before = self.next;
        while self
            .tape
            .get(self.next)
            .is_some_and(|next| next.method == CLOCK)
        {
            self.next += 1;
        }
        self.next > before
    }

    /// The next thing on the tape that is not what the clock said.
    fn after_readings(&self) -> Option<&Exchange> {
        let rest = self.tape.get(self.next..).unwrap_or_default();
        rest.iter().find(|next| next.method != CLOCK)
    }
}

fn row(task: &TaskName, recorded: &Recorded) -> EventRow {
    let new = log::encode(task, recorded.at, recorded.step, recorded.event.clone());
    EventRow {
        seq: recorded.seq,
        at: recorded.at,
        kind: new.kind.to_owned(),
        body: new.body,
    }
}

fn asked_at(exchange: &Exchange) -> SystemTime {
    let time = exchange
        .time
        .and_then(|time| SystemTime::try_from(time).ok());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

fn number(text: &Bytes) -> i64 {
    let text = std::str::from_utf8(text).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// What of the time limit is left when the planner is asked is left out; and its conversation, where an earlier run has lost
/// it with its record: events come without it.
fn is_same_question(method: &str, recorded: &[u8], now: &[u8]) -> bool {
    use motorium_proto::v1::planner::PlanRequest;

    if recorded == now {
        return true;
    }
    if !method.ends_with("/Plan") {
        return false;
    }
    let without_time = |question: &[u8]| {
        let mut question = PlanRequest::decode(question).ok()?;
        if let Some(remaining) = &mut question.remaining {
            remaining.time = None;
        }
        Some(question)
    };
    let (recorded, now) = (without_time(recorded), without_time(now));
    match (recorded, now) {
        (Some(mut recorded), Some(now)) if now.conversation.is_empty() => {
            recorded.conversation = Bytes::new();
            recorded == now
        }
        (recorded, now) => recorded == now,
    }
}

/// Whether an event is not the loop's own: a user's word, or what a person did.
fn is_foreign(event: &Event) -> bool {
    match event {
        Event::Created(_)
        | Event::UserAcknowledged { .. }
        | Event::MessageReceived { .. }
        | Event::TakenOver { .. }
        | Event::HumanActed { .. }
        | Event::HandedBack { .. }
        | Event::Paused { .. }
        | Event::Resumed
        | Event::CancelRequested { .. } => true,
        Event::ApprovalResolved(approval) => {
            matches!(
                approval.state,
                ApprovalState::Approved | ApprovalState::Denied
            )
        }
        _ => false,
    }
}

impl Playback for Player {
    fn now(&self) -> SystemTime {
        let mut guard = self.state();
        let state = &mut *guard;
        if let Some(reading) = state.tape.get(state.next)
            && reading.method == CLOCK
        {
            let said = asked_at(reading);
            state.next += 1;
            state.now = state.now.max(said);
            self.let_others_speak(state);
            return said;
        }
        // What the clock said after the last step that was stored is lost; what happened then was written down.
        let is_over = state.next >= state.tape.len();
        match self.log.get(state.rows.len()) {
            Some(next) if is_over && self.is_last => next.at,
            _ => state.now,
        }
    }

    fn time(&self) -> SystemTime {
        self.state().now
    }

    fn stamp(&self, seq: EventSeq) -> SystemTime {
        let index = usize::try_from(seq.0 - 1).unwrap_or(usize::MAX);
        let mut state = self.state();
        match self.log.get(index) {
            Some(recorded) => {
                state.now = state.now.max(recorded.at);
                recorded.at
            }
            None => state.now,
        }
    }

    fn took_in(&self, _: EventSeq) {
        self.pass_by(LOG);
    }

    fn stopped(&self) {
        self.pass_by(STOPPED);
    }

    fn time_up(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut moved = self.moved.subscribe();
            loop {
                moved.borrow_and_update();
                if self.is_waited_for(TIME_UP) {
                    return;
                }
                let _ = moved.changed().await;
            }
        })
    }

    fn timed_out(&self) {
        self.pass_by(TIME_UP);
    }

    fn pause(&self, pause: Duration) {
        self.state().now += pause;
    }

    fn sighting(&self) -> Seen {
        match self.pass_by(LOOKOUT).and_then(|note| note.answer) {
            Some(Answer::Response(seen)) => Seen::decode(seen).unwrap_or_default(),
            _ => Seen::default(),
        }
    }

    fn functions(&self) -> Bytes {
        match self.pass_by(FUNCTIONS).and_then(|note| note.answer) {
            Some(Answer::Response(functions)) => functions,
            _ => Bytes::new(),
        }
    }

    fn answer(&self, method: &'static str, request: Vec<u8>) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move {
            match self.find(method, &request) {
                Some(Ok(Some(Answer::Response(answer)))) => Ok(answer),
                Some(Ok(Some(Answer::Error(status)))) => Err(report_of(&status)),
                // Nothing hangs on it.
                Some(Err(())) => Ok(Bytes::new()),
                Some(Ok(None)) | None => futures::future::pending().await,
            }
        })
    }

    fn shorten(&self, question: &mut dyn Said) {
        self.state().known.shorten(question);
    }

    fn content(&self, sha256: &[u8]) -> Option<Bytes> {
        let hash: [u8; 32] = sha256.try_into().ok()?;
        self.contents.get(&hash).cloned()
    }
}

fn not_kept<T>() -> std::result::Result<T, Error> {
    Err(Error::Failed("a replay keeps one task alone".into()))
}

#[async_trait]
impl TaskStore for Player {
    async fn create_task(&self, _: CreateTask) -> std::result::Result<Created, Error> {
        not_kept()
    }

    async fn get_task(&self, _: &TaskName) -> std::result::Result<TaskRow, Error> {
        not_kept()
    }

    async fn list_tasks(&self, _: ListTasks) -> std::result::Result<Page<TaskRow>, Error> {
        not_kept()
    }

    async fn claimable(
        &self,
        _: &[i32],
        _: &str,
        _: SystemTime,
        _: u32,
    ) -> std::result::Result<Vec<TaskRow>, Error> {
        not_kept()
    }

    async fn claim(
        &self,
        _: &TaskName,
        _: &str,
        _: Duration,
        _: SystemTime,
    ) -> std::result::Result<Option<Claim>, Error> {
        not_kept()
    }

    async fn renew(
        &self,
        _: &TaskName,
        _: TaskEpoch,
        _: Duration,
        _: SystemTime,
    ) -> std::result::Result<(), Error> {
        Ok(())
    }

    async fn release(&self, _: &TaskName, _: TaskEpoch) -> std::result::Result<(), Error> {
        Ok(())
    }

    /// Compares what is written with what was.
    async fn append(&self, append: Append) -> std::result::Result<Appended, Error> {
        let appended = self.take(append);
        match appended {
            Some(appended) => appended,
            None => futures::future::pending().await,
        }
    }

    async fn events(
        &self,
        _: &TaskName,
        after: EventSeq,
        limit: u32,
    ) -> std::result::Result<Vec<EventRow>, Error> {
        // Whoever listens for the user hears of it first, as where the store takes a moment.
        tokio::task::yield_now().await;
        let state = self.state();
        let later = state.rows.iter().filter(|row| row.seq > after);
        Ok(later.take(limit as usize).cloned().collect())
    }

    fn generation(&self) -> &str {
        "replay"
    }

    async fn put_resource(&self, _: PutResource) -> std::result::Result<ResourceRow, Error> {
        not_kept()
    }

    async fn get_resource(&self, _: &str) -> std::result::Result<ResourceRow, Error> {
        not_kept()
    }

    async fn list_resources(
        &self,
        _: ListResources,
    ) -> std::result::Result<Page<ResourceRow>, Error> {
        not_kept()
    }
}

impl Player {
    /// `None`: it differs, or goes beyond the run; nothing is said any more.
    fn take(&self, append: Append) -> Option<std::result::Result<Appended, Error>> {
        let mut guard = self.state();
        let state = &mut *guard;
        self.let_others_speak(state);
        let last = EventSeq(state.rows.len() as i64);
        if let Some(expected) = append.expected_seq
            && expected != last
        {
            return Some(Err(Error::Conflict {
                task: self.task.clone(),
                expected,
                last,
            }));
        }
        for event in append.events {
            let seq = EventSeq(state.rows.len() as i64 + 1);
            let row = EventRow {
                seq,
                at: event.at,
                kind: event.kind.to_owned(),
                body: event.body,
            };
            if state.rows.len() >= self.ends {
                self.beyond(state, &row);
                return None;
            }
            let recorded = &self.log[state.rows.len()];
            if !self.is_same(recorded, &row) {
                return None;
            }
            state.rows.push(row);
        }
        let appended = Appended {
            first_seq: EventSeq(last.0 + 1),
            last_seq: EventSeq(state.rows.len() as i64),
            repeated: false,
        };
        self.let_others_speak(state);
        Some(Ok(appended))
    }

    fn is_same(&self, recorded: &Recorded, row: &EventRow) -> bool {
        let was = compare::essence(recorded.clone().to_wire(&self.task));
        let is = wire::Event::decode(row.body.clone()).map(|mut event| {
            event.sequence = row.seq.0;
            compare::essence(event)
        });
        let is = is.unwrap_or_default();
        if was == is {
            return true;
        }
        let step = if recorded.step == 0 {
            self.step(self.begins)
        } else {
            recorded.step
        };
        self.differ(step, compare::events(&was, &is));
        false
    }

    fn beyond(&self, state: &State, row: &EventRow) {
        if !self.is_last {
            self.end(Over::RecordEnds);
            return;
        }
        let step = self.step(state.rows.len());
        let what = "more was written than was recorded".to_owned();
        self.differ(step, (what, "nothing".to_owned(), row.kind.clone()));
    }
}

/// Services that nobody is behind: what is asked of them is not in the record.
pub(super) fn nobody() -> Ports {
    let nobody = Arc::new(Nobody);
    Ports {
        perception: nobody.clone(),
        planner: nobody.clone(),
        executor: nobody,
    }
}

struct Nobody;

async fn never<T>() -> Result<T> {
    futures::future::pending().await
}

#[async_trait]
impl Perception for Nobody {
    async fn list_displays(&self) -> Result<Vec<Display>> {
        never().await
    }

    async fn capture(&self, _: CaptureRequest) -> Result<Captured> {
        never().await
    }

    async fn observe(&self, _: ObserveRequest) -> Result<Observation> {
        never().await
    }

    async fn parse(&self, _: ParseRequest) -> Result<Parsed> {
        never().await
    }

    async fn compare(&self, _: CompareRequest) -> Result<Comparison> {
        never().await
    }

    async fn await_quiet(&self, _: AwaitQuiet) -> Result<Quiet> {
        never().await
    }

    async fn stream_frames(&self, _: StreamRequest) -> Result<AnswerStream<FrameUpdate>> {
        never().await
    }

    async fn get_frame(&self, _: FrameId, _: ImageOptions) -> Result<Captured> {
        never().await
    }
}

#[async_trait]
impl Planner for Nobody {
    async fn plan(&self, _: PlanRequest) -> Result<Planned> {
        never().await
    }

    async fn summarize(&self, _: SummarizeRequest) -> Result<Summary> {
        never().await
    }

    async fn extract(&self, _: ExtractRequest) -> Result<Extraction> {
        never().await
    }

    async fn locate_pointer(&self, _: PointerRequest) -> Result<PointerCheck> {
        never().await
    }

    async fn resolve_target(&self, _: ResolveRequest) -> Result<Resolved> {
        never().await
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        never().await
    }
}

#[async_trait]
impl Executor for Nobody {
    async fn acquire_desktop(&self, _: AcquireRequest) -> Result<Lease> {
        never().await
    }

    async fn renew_lease(&self, _: DisplayId, _: DesktopEpoch, _: Duration) -> Result<Lease> {
        never().await
    }

    async fn release_desktop(&self, _: DisplayId, _: DesktopEpoch) -> Result<()> {
        Ok(())
    }

    async fn perform(&self, _: PerformRequest) -> Result<ActionOutcome> {
        never().await
    }

    async fn look_up_action(&self, _: Option<DisplayId>, _: ActionId) -> Result<ActionProgress> {
        never().await
    }

    async fn release_all(&self, _: Option<DisplayId>) -> Result<Vec<String>> {
        never().await
    }

    async fn get_pointer(&self, _: Option<DisplayId>) -> Result<CapturePoint> {
        never().await
    }

    async fn read_page(&self, _: Option<DisplayId>, _: usize) -> Result<PageText> {
        never().await
    }

    async fn put_file(&self, _: PutFile) -> Result<FileInfo> {
        never().await
    }

    async fn get_file(&self, _: Option<DisplayId>, _: &str) -> Result<(FileInfo, Bytes)> {
        never().await
    }

    async fn stat_file(&self, _: Option<DisplayId>, _: &str) -> Result<Option<FileInfo>> {
        never().await
    }

    async fn get_capabilities(&self, _: Option<DisplayId>) -> Result<Capabilities> {
        never().await
    }

    async fn watch_human_input(&self, _: Option<DisplayId>) -> Result<AnswerStream<HumanInput>> {
        Ok(Box::pin(futures::stream::pending()))
    }
}
