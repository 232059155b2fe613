//! Checks of the guarantees against the desktops' input logs, the store, and the users' observations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use motorium_proto::domain::effect::ActionResult;
use motorium_task::{Event, Lifecycle, RecordedEvent, Task, invariants};
use serde::Serialize;

use crate::RunOptions;
use crate::application::{ButtonPress, ReceivedInput, by_name};
use crate::fleet::{RunLogs, Store};
use crate::proxy::LateDeliveries;
use crate::user::UserReport;

/// Maximum number of printed characters per event.
const MAX_EVENT_CHARS: usize = 400;

/// Counts of one run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ChaosReport {
    store: Option<Store>,
    tasks: usize,
    seconds: u64,
    faults: BTreeMap<&'static str, usize>,
    /// Requests that an executor received after their caller had given them up, or once more.
    late_deliveries: LateDeliveries,
    actions: Actions,
    events: Events,
    states: BTreeMap<&'static str, usize>,
    /// Failed tasks by reason.
    failures: BTreeMap<String, usize>,
    questions: usize,
    /// Tasks that have not ended, or whose outcome does not match the desktop.
    wrong_outcomes: usize,
    /// Logs that violate an invariant.
    invariant_violations: usize,
    #[serde(skip)]
    violations: String,
}

#[derive(Debug, Default, Serialize)]
struct Actions {
    intended: usize,
    performed: usize,
    /// Actions that were not performed, by result.
    other_results: BTreeMap<String, usize>,
    /// Actions received by the desktops.
    received: usize,
    /// Actions received more than once.
    repeated: usize,
    /// Reported as performed, but not received.
    falsely_reported: usize,
    /// Reported as never sent, but received.
    falsely_denied: usize,
}

#[derive(Debug, Default, Serialize)]
struct Events {
    written: usize,
    lost: usize,
    repeated: usize,
    out_of_order: usize,
    reconnections: usize,
}

impl ChaosReport {
    /// Returns whether every guarantee held.
    pub(crate) fn kept(&self) -> bool {
        let Actions {
            repeated,
            falsely_reported: invented,
            falsely_denied: denied,
            ..
        } = self.actions;
        let events = &self.events;
        let of_events = events.lost + events.repeated + events.out_of_order;
        repeated + invented + denied + of_events + self.wrong_outcomes + self.invariant_violations
            == 0
    }

    /// Returns one line per violation.
    pub(crate) fn complaints(&self) -> &str {
        &self.violations
    }

    /// Adds a log to the violations, one line per event.
    fn explain(&mut self, log: &[RecordedEvent]) {
        for RecordedEvent { seq, at, event, .. } in log {
            let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
            let words: String = format!("{event:?}").chars().take(MAX_EVENT_CHARS).collect();
            let seconds = at.as_secs_f64() % 1000.0;
            let _ = writeln!(self.violations, "  {:>3} {seconds:7.3} {words}", seq.0);
        }
    }

    fn complain(&mut self, id: &str, what: &str) {
        let _ = writeln!(self.violations, "{id}: {what}");
    }
}

/// Checks a run and counts the results.
pub(crate) fn count(
    scope: &RunOptions,
    store: Store,
    reports: &[UserReport],
    logs: &RunLogs,
    faults: BTreeMap<&'static str, usize>,
    elapsed: Duration,
) -> ChaosReport {
    let mut counts = ChaosReport {
        store: Some(store),
        tasks: scope.tasks,
        seconds: elapsed.as_secs(),
        faults,
        late_deliveries: logs.late_deliveries,
        ..ChaosReport::default()
    };
    let received: Vec<ReceivedInput> = logs
        .applications
        .iter()
        .flat_map(|application| application.received())
        .collect();
    let presses: Vec<ButtonPress> = logs
        .applications
        .iter()
        .flat_map(|application| application.presses())
        .collect();
    let arrived = arrivals(&received, &mut counts);
    for report in reports {
        let before = counts.violations.len();
        let log = logs
            .events
            .get(&report.task.id)
            .map_or(&[][..], Vec::as_slice);
        of_actions(log, &arrived, &mut counts);
        of_watcher(report, log, &mut counts);
        of_end(report, log, &presses, &mut counts);
        if let Some(what) = invariants::violation(log) {
            counts.invariant_violations += 1;
            counts.complain(&report.task.id, &what);
        }
        if counts.violations.len() > before {
            counts.explain(log);
        }
    }
    counts
}

/// Returns the ids of the actions that the desktops received.
fn arrivals<'a>(received: &'a [ReceivedInput], counts: &mut ChaosReport) -> BTreeSet<&'a str> {
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

fn of_actions(log: &[RecordedEvent], arrived: &BTreeSet<&str>, counts: &mut ChaosReport) {
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
                    *counts.actions.other_results.entry(result).or_default() += 1;
                }
                if outcome.result == ActionResult::Performed && !arrived {
                    counts.actions.falsely_reported += 1;
                    counts.complain(id, "is reported as performed, but was never received");
                }
                if outcome.sent_nothing && arrived {
                    counts.actions.falsely_denied += 1;
                    counts.complain(id, "is reported as never sent, but was received");
                }
            }
            _ => {}
        }
    }
}

fn of_watcher(report: &UserReport, log: &[RecordedEvent], counts: &mut ChaosReport) {
    let written: BTreeSet<i64> = log.iter().map(|recorded| recorded.seq.0).collect();
    let lost = written
        .iter()
        .filter(|seq| !report.events.contains_key(seq));
    let lost = lost.count();
    let repeated: usize = report.events.values().map(|times| times - 1).sum();
    let invented = report.events.keys().filter(|seq| !written.contains(seq));
    let out_of_order = report.out_of_order + invented.count();
    counts.events.written += log.len();
    counts.events.lost += lost;
    counts.events.repeated += repeated;
    counts.events.out_of_order += out_of_order;
    counts.events.reconnections += report.reconnections;
    counts.questions += report.questions.len();
    if lost + repeated + out_of_order > 0 {
        let what = format!("events: {lost} lost, {repeated} repeated, {out_of_order} out of order");
        counts.complain(&report.task.id, &what);
    }
}

/// Checks that the task ended with an outcome that matches the desktop.
fn of_end(
    report: &UserReport,
    log: &[RecordedEvent],
    presses: &[ButtonPress],
    counts: &mut ChaosReport,
) {
    let id = &report.task.id;
    let Some(task) = Task::from_events(log.iter().cloned()) else {
        counts.wrong_outcomes += 1;
        counts.complain(id, "was never created");
        return;
    };
    let prefix = format!("{id}/");
    let own = presses.iter().filter(|press| {
        let by = press.action_id.as_deref();
        by.is_some_and(|by| by.starts_with(&prefix))
    });
    let mut pressed = by_name(own);
    for number in &report.manual_presses {
        *pressed
            .entry(crate::application::BUTTONS[*number])
            .or_default() += 1;
    }
    let (state, problem) = match &task.lifecycle {
        Lifecycle::Succeeded { .. } if pressed != report.task.presses => {
            let wanted = &report.task.presses;
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
        Lifecycle::Cancelled { .. } if report.cancelled => ("cancelled", None),
        Lifecycle::Cancelled { .. } => {
            ("cancelled", Some("cancelled without a request".to_owned()))
        }
        other => ("not_ended", Some(format!("has not ended: {other:?}"))),
    };
    *counts.states.entry(state).or_default() += 1;
    if let Some(problem) = problem {
        counts.wrong_outcomes += 1;
        counts.complain(id, &problem);
    }
}
