//! Where the loop asks the hooks.
//!
//! - `models`, `deeds`, `screenshots`, `words`: the points, by what they are about; those of a run are here
//!
//! Before something happens they are asked for as long as nobody stops, pauses or takes over: then nothing has happened, and
//! the loop looks again. After something has happened they are told, which nobody waits for who stops. Not here: what hooks
//! may say ([`crate::hooks`]).

mod deeds;
mod models;
mod screenshots;
mod words;

pub(super) use models::PictureCounts;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use motorium_proto::service::Redaction;

pub(super) use self::screenshots::with_hidden;
use super::{Flow, Halt, Runner};
use crate::hooks::chain::Listening;
use crate::hooks::happening::Ended;
use crate::hooks::{Archive, Chain, Context, Denial, Happening, Intervention, Passage, Point};
use crate::recording::Tape;
use crate::recording::hooks::{self as recording, Changeable, WHERE};
use crate::task::Lifecycle;
use crate::task::event::{Event, Failure};

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
            _ = self.stop.paused() => {
                self.tape.stopped();
                Err(Halt::LookAgain)
            }
            passage = self.guard(self.pass(happening, id)) => passage,
        };
        Ok(self.note(passage?))
    }

    /// Tells of what has happened. What a hook does at once it does even when the task is being stopped.
    async fn tell_hooks(&mut self, mut happening: Happening<'_>, id: Option<&str>) {
        let passage = tokio::select! {
            biased;
            passage = self.pass(&mut happening, id) => passage,
            () = self.anybody_interferes() => {
                self.tape.stopped();
                return;
            }
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
        if let Tape::Playing(playback) = &self.tape {
            return match playback.hooks_are_next(point.as_str()) {
                true => recording::told(playback.hooks().await, happening),
                false => Passage::default(),
            };
        }
        let open = self.tape.ask_hooks(point.as_str());
        let before = open.is_some().then(|| Changeable::of(happening));
        let passage = self.ask_chain(happening, id).await;
        if let (Some(open), Some(before)) = (open, before) {
            open.said(recording::noted(&passage, &before, happening));
        }
        passage
    }

    async fn ask_chain(&self, happening: &mut Happening<'_>, id: Option<&str>) -> Passage {
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

    pub(super) fn wants(&self, point: Point) -> bool {
        match &self.tape {
            Tape::Playing(playback) => playback.hooks_are_next(point.as_str()),
            Tape::Off | Tape::Recording(_) => self.hooks.chain.wants(point),
        }
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
            _ = self.stop.paused() => {
                self.tape.stopped();
                Err(Halt::LookAgain)
            }
            begun = self.guard(self.find_out_where()) => begun,
        };
        let denial = self.note(begun?);
        or_fail(denial, "the task may not run")?;
        if !self.wants(Point::BeforeRun) {
            return Ok(());
        }
        let denial = self.ask_hooks(&mut Happening::BeforeRun, None).await?;
        or_fail(denial, "the task may not run")
    }

    async fn find_out_where(&self) -> Passage {
        if let Tape::Playing(playback) = &self.tape {
            return match playback.hooks_are_next(WHERE) {
                true => recording::told(playback.hooks().await, &mut Happening::BeforeRun),
                false => Passage::default(),
            };
        }
        let open = self.tape.ask_hooks(WHERE);
        let passage = self.hooks.chain.begin().await;
        if let Some(open) = open {
            open.said(recording::noted_beginning(&passage));
        }
        passage
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
