//! What was promised, held against what happened: the desktops' own logs, the store, and what users were told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use motorium_orchestrator::task::{Event, Lifecycle, Recorded, Task, invariants};
use motorium_proto::domain::effect::ActionResult;
use serde::Serialize;

use crate::Scope;
use crate::application::{Press, Received, by_name};
use crate::fleet::{Logs, Store};
use crate::user::Told;

/// Characters of an event that are shown.
const LINE: usize = 400;

/// The counts of one run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Counts {
    store: Option<Store>,
    tasks: usize,
    seconds: u64,
    faults: BTreeMap<&'static str, usize>,
    actions: Actions,
    events: Events,
    states: BTreeMap<&'static str, usize>,
    /// Why those failed that did.
    failures: BTreeMap<String, usize>,
    questions: usize,
    /// Tasks that have not ended, or whose end is not what happened on the desktop.
    untrue: usize,
    /// Logs that break what must hold of every log.
    broken: usize,
    #[serde(skip)]
    complaints: String,
}

#[derive(Debug, Default, Serialize)]
struct Actions {
    intended: usize,
    performed: usize,
    /// Results of those that were not performed.
    others: BTreeMap<String, usize>,
    /// What the desktops received.
    received: usize,
    /// Of it, an action that had been received before.
    repeated: usize,
    /// Said to be performed, and not received.
    invented: usize,
    /// Said never to have been sent, and received.
    denied: usize,
}

#[derive(Debug, Default, Serialize)]
struct Events {
    written: usize,
    lost: usize,
    repeated: usize,
    out_of_order: usize,
    reconnections: usize,
}

impl Counts {
    /// Whether every promise was kept.
    pub(crate) fn kept(&self) -> bool {
        let Actions {
            repeated,
            invented,
            denied,
            ..
        } = self.actions;
        let events = &self.events;
        let of_events = events.lost + events.repeated + events.out_of_order;
        repeated + invented + denied + of_events + self.untrue + self.broken == 0
    }

    /// One line for each promise that was not.
    pub(crate) fn complaints(&self) -> &str {
        &self.complaints
    }

    /// Adds a log, a line for each event, to what was complained of.
    fn explain(&mut self, log: &[Recorded]) {
        for Recorded { seq, at, event, .. } in log {
            let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
            let words: String = format!("{event:?}").chars().take(LINE).collect();
            let seconds = at.as_secs_f64() % 1000.0;
            let _ = writeln!(self.complaints, "  {:>3} {seconds:7.3} {words}", seq.0);
        }
    }

    fn complain(&mut self, id: &str, what: &str) {
        let _ = writeln!(self.complaints, "{id}: {what}");
    }
}

/// Counts what happened.
pub(crate) fn count(
    scope: Scope,
    store: Store,
    told: &[Told],
    logs: &Logs,
    faults: BTreeMap<&'static str, usize>,
    elapsed: Duration,
) -> Counts {
    let mut counts = Counts {
        store: Some(store),
        tasks: scope.tasks,
        seconds: elapsed.as_secs(),
        faults,
        ..Counts::default()
    };
    let received: Vec<Received> = logs
        .applications
        .iter()
        .flat_map(|application| application.received())
        .collect();
    let presses: Vec<Press> = logs
        .applications
        .iter()
        .flat_map(|application| application.presses())
        .collect();
    let arrived = arrivals(&received, &mut counts);
    for told in told {
        let before = counts.complaints.len();
        let log = logs
            .events
            .get(&told.errand.id)
            .map_or(&[][..], Vec::as_slice);
        of_actions(log, &arrived, &mut counts);
        of_watcher(told, log, &mut counts);
        of_end(told, log, &presses, &mut counts);
        if let Some(what) = invariants::broken(log) {
            counts.broken += 1;
            counts.complain(&told.errand.id, &what);
        }
        if counts.complaints.len() > before {
            counts.explain(log);
        }
    }
    counts
}

/// Ids of the actions that desktops received.
fn arrivals<'a>(received: &'a [Received], counts: &mut Counts) -> BTreeSet<&'a str> {
    let mut arrived = BTreeSet::new();
    for id in received.iter().filter_map(|line| line.action_id.as_deref()) {
        counts.actions.received += 1;
        if !arrived.insert(id) {
            counts.actions.repeated += 1;
            counts.complain(id, "was received twice");
        }
    }
    arrived
}

fn of_actions(log: &[Recorded], arrived: &BTreeSet<&str>, counts: &mut Counts) {
    for recorded in log {
        match &recorded.event {
            Event::ActionIntended(_) => counts.actions.intended += 1,
            Event::ActionPerformed { action_id, outcome } => {
                let id = action_id.as_str();
                let arrived = arrived.contains(id);
                if outcome.result == ActionResult::Performed {
                    counts.actions.performed += 1;
                } else {
                    let after = if arrived { "received" } else { "not received" };
                    let result = format!("{:?}, {after}", outcome.result).to_lowercase();
                    *counts.actions.others.entry(result).or_default() += 1;
                }
                if outcome.result == ActionResult::Performed && !arrived {
                    counts.actions.invented += 1;
                    counts.complain(id, "is said to be performed, and was never received");
                }
                if outcome.never_happened() && arrived {
                    counts.actions.denied += 1;
                    counts.complain(id, "is said never to have been sent, and was received");
                }
            }
            _ => {}
        }
    }
}

fn of_watcher(told: &Told, log: &[Recorded], counts: &mut Counts) {
    let written: BTreeSet<i64> = log.iter().map(|recorded| recorded.seq.0).collect();
    let lost = written.iter().filter(|seq| !told.events.contains_key(seq));
    let lost = lost.count();
    let repeated: usize = told.events.values().map(|times| times - 1).sum();
    let invented = told.events.keys().filter(|seq| !written.contains(seq));
    let out_of_order = told.out_of_order + invented.count();
    counts.events.written += log.len();
    counts.events.lost += lost;
    counts.events.repeated += repeated;
    counts.events.out_of_order += out_of_order;
    counts.events.reconnections += told.reconnections;
    counts.questions += told.questions.len();
    if lost + repeated + out_of_order > 0 {
        let what = format!("events: {lost} lost, {repeated} repeated, {out_of_order} out of order");
        counts.complain(&told.errand.id, &what);
    }
}

/// Whether the task ended, and as its end says.
fn of_end(told: &Told, log: &[Recorded], presses: &[Press], counts: &mut Counts) {
    let id = &told.errand.id;
    let Some(task) = Task::from_events(log.iter().cloned()) else {
        counts.untrue += 1;
        counts.complain(id, "was never created");
        return;
    };
    let prefix = format!("{id}/");
    let own = presses.iter().filter(|press| {
        let by = press.action_id.as_deref();
        by.is_some_and(|by| by.starts_with(&prefix))
    });
    let mut pressed = by_name(own);
    for number in &told.by_hand {
        *pressed
            .entry(crate::application::BUTTONS[*number])
            .or_default() += 1;
    }
    let (state, problem) = match &task.lifecycle {
        Lifecycle::Succeeded { .. } if pressed != told.errand.presses => {
            let wanted = &told.errand.presses;
            (
                "succeeded",
                Some(format!("wanted {wanted:?}, pressed {pressed:?}")),
            )
        }
        Lifecycle::Succeeded { .. } => ("succeeded", None),
        Lifecycle::Failed(failure) => {
            let why = format!("{}: {}", failure.reason, failure.message);
            *counts.failures.entry(why).or_default() += 1;
            ("failed", None)
        }
        Lifecycle::Cancelled { .. } if told.cancelled => ("cancelled", None),
        Lifecycle::Cancelled { .. } => ("cancelled", Some("nobody cancelled it".to_owned())),
        other => ("not_ended", Some(format!("has not ended: {other:?}"))),
    };
    *counts.states.entry(state).or_default() += 1;
    if let Some(problem) = problem {
        counts.untrue += 1;
        counts.complain(id, &problem);
    }
}
