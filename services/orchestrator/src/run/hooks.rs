//! Where the loop asks the hooks.
//!
//! Before something happens they are asked for as long as nobody stops, pauses or takes over: then nothing has happened, and
//! the loop looks again. After something has happened they are told, which nobody waits for who stops. Not here: what hooks
//! may say ([`crate::hooks`]).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use motorium_proto::domain::decision::{Decision, FunctionCall, FunctionResult, Usage};
use motorium_proto::domain::frame::{Frame, Image};
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::ActionId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{BackendAttempt, CaptureArea, Redaction};
use tokio::time::Instant;

use super::act::Resolved;
use super::permission::{Intended, Permission};
use super::{Flow, Halt, Runner};
use crate::error::reason;
use crate::hooks::chain::Listening;
use crate::hooks::happening::{
    Act, Done, Ended, ModelAnswer, ModelCall, Purpose, Seen, Words, WordsKind,
};
use crate::hooks::{Archive, Chain, Context, Denial, Happening, Intervention, Passage, Point};
use crate::task::event::{Event, Failure, UserRequest};
use crate::task::secret_fields::redactions;
use crate::task::{ActionRecord, Lifecycle};

/// What is said where nobody had a say in time.
const NOT_YET_ASKED: &str =
    "the task was stopped or paused before the hooks had their say; decide again";

/// The hooks during one run.
#[derive(Debug)]
pub(super) struct Hooks {
    chain: Listening,
    counted: Mutex<Counted>,
    /// What they want painted over, in pixels of the display. What was said for the last look at the whole screen holds
    /// for every picture until the next one, because pictures are compared with each other.
    hidden: Vec<Redaction>,
    /// The same, for the look for the next step that has begun already.
    hidden_next: Option<Vec<Redaction>>,
}

/// How often each point was come to in a step.
#[derive(Debug, Default)]
struct Counted {
    step: u32,
    times: HashMap<Point, u32>,
}

impl Hooks {
    pub(super) fn new(chain: &Chain) -> Self {
        Self {
            chain: chain.listen(),
            counted: Mutex::default(),
            hidden: Vec::new(),
            hidden_next: None,
        }
    }

    fn count(&self, step: u32, point: Point) -> u32 {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.step != step {
            *counted = Counted {
                step,
                ..Counted::default()
            };
        }
        let times = counted.times.entry(point).or_default();
        *times += 1;
        *times
    }
}

// === Asking and telling ===

impl Runner {
    /// Asks whether something may happen. `None`: it may.
    async fn ask_hooks(
        &mut self,
        happening: &mut Happening<'_>,
        id: Option<&str>,
    ) -> Flow<Option<Denial>> {
        let passage = tokio::select! {
            biased;
            _ = self.stop.paused() => Err(Halt::LookAgain),
            passage = self.guard(self.pass(happening, id)) => passage,
        };
        Ok(self.note(passage?))
    }

    /// Tells of what has happened. What a hook does at once it does even when the task is being stopped.
    async fn tell_hooks(&mut self, mut happening: Happening<'_>, id: Option<&str>) {
        let passage = tokio::select! {
            biased;
            passage = self.pass(&mut happening, id) => passage,
            () = self.anybody_interferes() => return,
        };
        self.note(passage);
    }

    async fn anybody_interferes(&self) {
        tokio::select! {
            _ = self.stop.requested() => {}
            _ = self.stop.paused() => {}
            _ = self.stop.taken_over() => {}
        }
    }

    async fn pass(&self, happening: &mut Happening<'_>, id: Option<&str>) -> Passage {
        let point = happening.point();
        let step = self.step_at(point);
        let call = self.name_of_call(step, point, id);
        let context = Context {
            call: &call,
            step,
            task: &self.task,
        };
        self.hooks.chain.pass(&context, happening).await
    }

    /// What is named is the same after a crash; all else happens anew then, under a lease of its own.
    fn name_of_call(&self, step: u32, point: Point, id: Option<&str>) -> String {
        let point_name = point.as_str();
        if let Some(id) = id {
            return format!("{id}/{point_name}");
        }
        let task = self.task.spec.name.segment();
        let epoch = self.task.desktop.as_ref().map_or(0, |(_, epoch)| epoch.0);
        let times = self.hooks.count(step, point);
        format!("{task}/{step}/{epoch}/{point_name}/{times}")
    }

    /// The look that begins a step belongs to it.
    fn step_at(&self, point: Point) -> u32 {
        let looks = matches!(point, Point::BeforeScreenshot | Point::AfterScreenshot);
        match self.task.steps.last() {
            _ if looks && self.task.open_step().is_none() => self.task.next_step(),
            last => last.map_or(0, |step| step.number),
        }
    }

    /// Writes down what hooks have done, as long as anything can be written, and gives the denial.
    fn note(&mut self, passage: Passage) -> Option<Denial> {
        for intervention in passage.interventions {
            let Intervention {
                hook,
                point,
                message,
                denied,
            } = intervention;
            tracing::info!(
                task = %self.task.spec.name, hook, point = point.as_str(), denied, message, "a hook has intervened"
            );
            if !self.task.lifecycle.is_terminal() {
                let event = Event::HookIntervened {
                    hook,
                    point: point.as_str().to_owned(),
                    message,
                    denied,
                };
                self.journal.defer(&mut self.task, event);
            }
        }
        passage.denial
    }

    fn wants(&self, point: Point) -> bool {
        self.hooks.chain.wants(point)
    }
}

/// What cannot go on without what was denied ends.
fn or_fail(denial: Option<Denial>, what: &str) -> Flow {
    match denial {
        None => Ok(()),
        Some(denial) => Err(Halt::Fail(Failure::new(
            denial.failure_reason(),
            format!("{what}: {}", denial.words()),
        ))),
    }
}

// === Runs ===

impl Runner {
    /// Asks the hooks where they want to be called, and whether the task may run.
    pub(super) async fn before_run(&mut self) -> Flow {
        let begun = tokio::select! {
            biased;
            _ = self.stop.paused() => Err(Halt::LookAgain),
            begun = self.guard(self.hooks.chain.begin()) => begun,
        };
        let denial = self.note(begun?);
        or_fail(denial, "the task may not run")?;
        if !self.wants(Point::BeforeRun) {
            return Ok(());
        }
        let denial = self.ask_hooks(&mut Happening::BeforeRun, None).await?;
        or_fail(denial, "the task may not run")
    }

    /// Tells that the task has ended. Nobody waits for it any more but the desktop, and nothing can be written down.
    pub(super) async fn after_run(&mut self) {
        let (state, message) = match &self.task.lifecycle {
            Lifecycle::Succeeded { answer } => ("SUCCEEDED", answer.clone()),
            Lifecycle::Failed(failure) => ("FAILED", failure.message.clone()),
            Lifecycle::Cancelled { reason } => ("CANCELLED", reason.clone()),
            _ => return,
        };
        if !self.wants(Point::AfterRun) {
            return;
        }
        let archive = Archive::new(self.journal.store(), self.blobs.clone());
        let mut happening = Happening::AfterRun(Ended {
            state,
            message: &message,
            archive: &archive,
        });
        let passage = self.pass(&mut happening, None).await;
        self.note(passage);
    }
}

// === Models ===

impl Runner {
    /// Asks whether a model may be called, and how.
    pub(super) async fn before_model_call(
        &mut self,
        purpose: Purpose,
        images: usize,
        past_images: usize,
    ) -> Flow<ModelCall> {
        let count = |images: usize| u32::try_from(images).unwrap_or(u32::MAX);
        let call = ModelCall {
            purpose,
            images: count(images),
            past_images: count(past_images),
            notices: Vec::new(),
        };
        if !self.wants(Point::BeforeModelCall) {
            return Ok(call);
        }
        let mut happening = Happening::BeforeModelCall(call);
        let denial = self.ask_hooks(&mut happening, None).await?;
        or_fail(denial, "no model may be asked")?;
        match happening {
            Happening::BeforeModelCall(call) => Ok(call),
            _ => unreachable!("a happening stays what it is"),
        }
    }

    /// Asks whether what a model has answered may be used; otherwise gives why not, for the planner.
    pub(super) async fn after_model_call(
        &mut self,
        call: &ModelCall,
        decision: Option<&Decision>,
        began: Instant,
    ) -> Flow<Option<String>> {
        if !self.wants(Point::AfterModelCall) {
            return Ok(None);
        }
        let mut happening = Happening::AfterModelCall(ModelAnswer {
            purpose: call.purpose,
            images: call.images + call.past_images,
            decision,
            elapsed: began.elapsed(),
        });
        match self.ask_hooks(&mut happening, None).await {
            Ok(denial) => Ok(denial
                .map(|denial| format!("what was decided is not carried out: {}", denial.words()))),
            // What it has cost is to be written down all the same.
            Err(Halt::LookAgain) => Ok(Some(NOT_YET_ASKED.to_owned())),
            Err(halt) => Err(halt),
        }
    }

    /// The decision of the open step, where somebody wants to see it.
    pub(super) fn decision_for_hooks(&self) -> Option<Decision> {
        let step = self.task.open_step();
        let decision = step.and_then(|step| step.decision.as_ref());
        decision
            .filter(|_| self.wants(Point::AfterModelCall))
            .cloned()
    }

    /// Tells what a call has used, once it is in the task's sum.
    pub(super) async fn after_usage(&mut self, added: Usage) {
        if self.wants(Point::Usage) {
            self.tell_hooks(Happening::Usage(added), None).await;
        }
    }

    /// Counts what a call has used whose answer may not be used.
    pub(super) fn count_in_vain(&mut self, what: &str, message: &str, usage: Usage) {
        self.count_without_result(what, reason::HOOK_DENIED, message, usage);
    }

    /// Counts what a call has used that ended in an error.
    pub(super) async fn count_failed(&mut self, what: &str, report: &ErrorReport) {
        let usage = report.usage();
        if usage.calls > 0 {
            self.count_without_result(what, &report.reason, &report.message, usage);
            self.after_usage(usage).await;
        }
    }

    fn count_without_result(&mut self, what: &str, reason: &str, message: &str, usage: Usage) {
        let attempt = BackendAttempt {
            backend: what.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            usage,
        };
        self.journal
            .defer(&mut self.task, Event::BackendSkipped(attempt));
    }
}

// === Actions and functions ===

impl Runner {
    /// Asks whether an action may be performed that the rules allow. Where a person had to approve it, that is held
    /// against the screen once more, because the hooks may have taken their time.
    pub(super) async fn before_action(
        &mut self,
        action_id: &ActionId,
        intended: Intended<'_>,
    ) -> Flow<Permission> {
        if !self.wants(Point::BeforeAction) {
            return Ok(Permission::Given);
        }
        let Intended {
            index,
            planned,
            resolved: Resolved { action, .. },
            ..
        } = intended;
        let mut happening = Happening::BeforeAction(Act {
            action_id,
            planned,
            action,
        });
        let id = action_id.to_string();
        if let Some(denial) = self.ask_hooks(&mut happening, Some(&id)).await? {
            let message = format!("{} is refused: {}", planned.intent, denial.words());
            self.record(vec![Event::TargetMissed { message }]).await?;
            return Ok(Permission::Withheld);
        }
        let step = self.task.open_step().map_or(0, |step| step.number);
        match self.task.approval_for(step, index) {
            Some(_) => self.permission(intended).await,
            None => Ok(Permission::Given),
        }
    }

    /// Tells how an action was left, and what it did if that is judged already.
    pub(super) async fn after_action(&mut self, action_id: &ActionId) {
        if !self.wants(Point::AfterAction) {
            return;
        }
        let records = self.task.steps.iter().flat_map(|step| &step.actions);
        let record = records.rev().find(|record| record.action_id == *action_id);
        let Some(record) = record.cloned() else {
            return;
        };
        let ActionRecord {
            planned,
            action,
            outcome: Some(outcome),
            effect,
            ..
        } = &record
        else {
            return;
        };
        let done = Happening::AfterAction(Done {
            act: Act {
                action_id,
                planned,
                action,
            },
            outcome,
            effect: effect.as_ref(),
        });
        self.tell_hooks(done, Some(&action_id.to_string())).await;
    }

    /// Tells the hooks that the rules have refused an action.
    pub(super) async fn refused_by_rules(&mut self, rules: &[crate::policy::Rule]) {
        let names: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
        let refused = [Intervention {
            hook: format!("rules: {}", names.join(", ")),
            point: Point::BeforeAction,
            message: String::new(),
            denied: true,
        }];
        let step = self.step_at(Point::BeforeAction);
        let context = Context {
            call: "",
            step,
            task: &self.task,
        };
        tokio::select! {
            biased;
            () = self.hooks.chain.tell(&context, &refused) => {}
            () = self.anybody_interferes() => {}
        }
    }

    /// Asks whether a function may be called; otherwise gives why not, for the planner.
    pub(super) async fn before_function(&mut self, call: &FunctionCall) -> Flow<Option<String>> {
        if !self.wants(Point::BeforeFunction) {
            return Ok(None);
        }
        let id = self.id_of_function(call);
        let mut happening = Happening::BeforeFunction(call);
        let denial = self.ask_hooks(&mut happening, Some(&id)).await?;
        Ok(denial.map(|denial| format!("{} is not called: {}", call.name, denial.words())))
    }

    /// Tells what a function has returned.
    pub(super) async fn after_function(&mut self, call: &FunctionCall, result: &FunctionResult) {
        if self.wants(Point::AfterFunction) {
            let id = self.id_of_function(call);
            self.tell_hooks(Happening::AfterFunction(call, result), Some(&id))
                .await;
        }
    }

    fn id_of_function(&self, call: &FunctionCall) -> String {
        let task = self.task.spec.name.segment();
        let step = self.task.steps.last().map_or(0, |step| step.number);
        format!("{task}/{step}/{}", call.call_id)
    }
}

// === Screenshots ===

impl Runner {
    /// Asks what is to be painted over from now on.
    pub(super) async fn before_screenshot(&mut self) -> Flow {
        if !self.wants(Point::BeforeScreenshot) {
            self.hooks.hidden.clear();
            return Ok(());
        }
        let (hidden, denial) = self.ask_what_to_hide().await?;
        or_fail(denial, "the screen may not be looked at")?;
        self.hooks.hidden = hidden;
        Ok(())
    }

    /// The same for the look that begins the next step, while pictures of this one are still compared. `None`: it may not
    /// be looked yet.
    pub(super) async fn before_next_screenshot(&mut self) -> Flow<Option<Vec<Redaction>>> {
        self.hooks.hidden_next = None;
        if self.wants(Point::BeforeScreenshot) {
            let (hidden, denial) = self.ask_what_to_hide().await?;
            if denial.is_some() {
                return Ok(None);
            }
            self.hooks.hidden_next = Some(hidden);
        }
        Ok(Some(self.hooks.hidden_next.clone().unwrap_or_default()))
    }

    /// The look that has begun already is the one to go by.
    pub(super) fn next_screenshot_is_taken(&mut self) {
        self.hooks.hidden = self.hooks.hidden_next.take().unwrap_or_default();
    }

    async fn ask_what_to_hide(&mut self) -> Flow<(Vec<Redaction>, Option<Denial>)> {
        let mut happening = Happening::BeforeScreenshot(Vec::new());
        let denial = self.ask_hooks(&mut happening, None).await?;
        match happening {
            Happening::BeforeScreenshot(hidden) => Ok((hidden, denial)),
            _ => unreachable!("a happening stays what it is"),
        }
    }

    /// Tells what was seen.
    pub(super) async fn after_screenshot(&mut self, frame: &Frame, image: Option<&Image>) {
        if self.wants(Point::AfterScreenshot) {
            let seen = Happening::AfterScreenshot(Seen { frame, image });
            self.tell_hooks(seen, None).await;
        }
    }

    /// What is painted over in a picture of the whole display: these boxes, and what hooks want.
    pub(super) fn painted_over(&self, boxes: &[CaptureRect]) -> Vec<Redaction> {
        with_hidden(boxes, &self.hooks.hidden)
    }

    /// What is painted over in a picture of this area: where secrets were entered, and what hooks want.
    pub(super) fn painted_over_on(&self, area: &CaptureArea) -> Vec<Redaction> {
        let CaptureArea::Region(part) = area else {
            return self.painted_over(&self.task.secret_fields.boxes());
        };
        let hidden: Vec<Redaction> = self
            .hooks
            .hidden
            .iter()
            .filter_map(|hidden| within(hidden, *part))
            .collect();
        with_hidden(&self.task.secret_fields.boxes_within(*part), &hidden)
    }
}

/// Boxes, and what hooks want.
pub(super) fn with_hidden(boxes: &[CaptureRect], hidden: &[Redaction]) -> Vec<Redaction> {
    let boxes = redactions(boxes).into_iter();
    boxes.chain(hidden.iter().cloned()).collect()
}

/// The same as named in a picture of a part of the display.
fn within(hidden: &Redaction, part: CaptureRect) -> Option<Redaction> {
    match hidden {
        Redaction::Region(region) => {
            let region = region.intersection(&part)?;
            Some(Redaction::Region(region.translate(-part.min.to_vector())))
        }
        other => Some(other.clone()),
    }
}

// === Words for people ===

impl Runner {
    /// Shows a line of progress.
    pub(super) async fn show_progress(&mut self, text: String) -> Flow {
        let text = self.before_text(WordsKind::Progress, text).await?;
        let shown = self.for_hooks(&text);
        self.journal
            .defer(&mut self.task, Event::ProgressAdded { text });
        self.after_text(WordsKind::Progress, shown).await;
        Ok(())
    }

    /// Asks the user, after these events.
    pub(super) async fn ask_user(&mut self, before: Vec<Event>, request: UserRequest) -> Flow {
        let message = self
            .before_text(WordsKind::Question, request.message)
            .await?;
        let shown = self.for_hooks(&message);
        let asked = Event::UserAsked(UserRequest { message, ..request });
        self.record(before.into_iter().chain([asked]).collect())
            .await?;
        self.after_text(WordsKind::Question, shown).await;
        Ok(())
    }

    /// The end in the words that may be shown. Whoever cancels has said why, and waits for nobody.
    pub(super) async fn before_answer(&mut self, event: Event) -> Event {
        match event {
            Event::Succeeded { answer } => Event::Succeeded {
                answer: self.last_words(answer).await,
            },
            Event::Failed(failure) => Event::Failed(Failure {
                message: self.last_words(failure.message).await,
                ..failure
            }),
            other => other,
        }
    }

    /// Tells what was answered.
    pub(super) async fn after_answer(&mut self) {
        let shown = match &self.task.lifecycle {
            Lifecycle::Succeeded { answer } => self.for_hooks(answer),
            Lifecycle::Failed(failure) => self.for_hooks(&failure.message),
            _ => None,
        };
        self.after_text(WordsKind::Answer, shown).await;
    }

    async fn before_text(&mut self, kind: WordsKind, text: String) -> Flow<String> {
        if !self.wants(Point::BeforeText) {
            return Ok(text);
        }
        let mut happening = Happening::BeforeText(Words { kind, text });
        let denial = self.ask_hooks(&mut happening, None).await?;
        Ok(said(happening, denial))
    }

    /// Also where the time of the task is up. What nobody has agreed to is not shown.
    async fn last_words(&mut self, text: String) -> String {
        if !self.wants(Point::BeforeText) {
            return text;
        }
        let kind = WordsKind::Answer;
        let mut happening = Happening::BeforeText(Words { kind, text });
        let passage = tokio::select! {
            biased;
            passage = self.pass(&mut happening, None) => Some(passage),
            _ = self.stop.requested() => None,
        };
        match passage {
            Some(passage) => {
                let denial = self.note(passage);
                said(happening, denial)
            }
            None => "(withheld: the task was stopped before the hooks had their say)".to_owned(),
        }
    }

    /// A copy, where somebody wants one.
    fn for_hooks(&self, text: &str) -> Option<String> {
        self.wants(Point::AfterText).then(|| text.to_owned())
    }

    async fn after_text(&mut self, kind: WordsKind, shown: Option<String>) {
        if let Some(text) = shown {
            let words = Words { kind, text };
            self.tell_hooks(Happening::AfterText(words), None).await;
        }
    }
}

/// The words as they are now, or that there are none.
fn said(happening: Happening<'_>, denial: Option<Denial>) -> String {
    match (happening, denial) {
        (_, Some(denial)) => format!("(withheld: {})", denial.words()),
        (Happening::BeforeText(words), None) => words.text,
        _ => unreachable!("a happening stays what it is"),
    }
}
