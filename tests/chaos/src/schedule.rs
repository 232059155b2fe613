//! Tasks and fault schedule derived from a seed. Pure: no I/O.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use crate::application::BUTTONS;
use crate::fleet::Store;

/// One in this many tasks is cancelled by its user.
const CANCELLED_TASK_RATIO: u32 = 15;

/// A task to submit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedTask {
    /// Task id, the last segment of its name.
    pub(crate) id: String,
    pub(crate) goal: String,
    /// Expected number of presses by button.
    pub(crate) presses: BTreeMap<&'static str, usize>,
    /// Delay after which the user cancels the task.
    pub(crate) cancelled_after: Option<Duration>,
}

/// Returns the task with this number.
pub(crate) fn planned_task(seed: u64, number: usize) -> PlannedTask {
    let mut random = StdRng::seed_from_u64(seed ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9));
    let count = random.random_range(2..=6);
    let buttons: Vec<&str> = (0..count)
        .map(|_| *BUTTONS.choose(&mut random).expect("the list is not empty"))
        .collect();
    let clauses: Vec<String> = buttons
        .iter()
        .map(|button| format!("click \"{button}\""))
        .collect();
    let mut presses = BTreeMap::new();
    for button in buttons {
        *presses.entry(button).or_default() += 1;
    }
    let cancelled = random.random_ratio(1, CANCELLED_TASK_RATIO);
    PlannedTask {
        id: format!("errand-{number}"),
        goal: clauses.join(" then "),
        presses,
        cancelled_after: cancelled.then(|| Duration::from_millis(random.random_range(200..8000))),
    }
}

/// Kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FaultKind {
    OrchestratorKilled,
    /// Stopped for longer than its leases, then continued.
    OrchestratorFrozen,
    OrchestratorEnded,
    ExecutorKilled,
    ExecutorFrozen,
    PerceptionRestarted,
    PlannerKilled,
    LinkCut,
    LinkSlow,
    LinkStalled,
    /// Nothing arrives in one direction.
    LinkRequestsDropped,
    LinkResponsesDropped,
    /// Requests to an executor fail and are delivered later.
    RequestsLate,
    RequestsDuplicated,
    RequestsReordered,
    ResponsesLost,
    /// An executor is killed and starts without its journal and lease.
    JournalLost,
    /// An executor is killed and starts with an older copy of its journal and lease.
    JournalOlder,
    DiskFull,
    ExecutorDiskFull,
    DatabaseKilled,
}

impl FaultKind {
    const ALL: [Self; 21] = [
        Self::OrchestratorKilled,
        Self::OrchestratorFrozen,
        Self::OrchestratorEnded,
        Self::ExecutorKilled,
        Self::ExecutorFrozen,
        Self::PerceptionRestarted,
        Self::PlannerKilled,
        Self::LinkCut,
        Self::LinkSlow,
        Self::LinkStalled,
        Self::LinkRequestsDropped,
        Self::LinkResponsesDropped,
        Self::RequestsLate,
        Self::RequestsDuplicated,
        Self::RequestsReordered,
        Self::ResponsesLost,
        Self::JournalLost,
        Self::JournalOlder,
        Self::DiskFull,
        Self::ExecutorDiskFull,
        Self::DatabaseKilled,
    ];

    /// Parses `yes` (all faults), `no`, or names of faults separated by commas.
    pub(crate) fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        let parse = |name: &str| {
            let found = Self::ALL
                .into_iter()
                .find(|kind| kind.name() == name.trim());
            let known = || Self::ALL.map(Self::name).join(", ");
            found
                .ok_or_else(|| format!("unknown fault {name}; use yes, no, or some of {}", known()))
        };
        match text.trim() {
            "yes" => Ok(Self::ALL.to_vec()),
            "no" => Ok(Vec::new()),
            names => names.split(',').map(parse).collect(),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OrchestratorKilled => "orchestrator_killed",
            Self::OrchestratorFrozen => "orchestrator_frozen",
            Self::OrchestratorEnded => "orchestrator_ended",
            Self::ExecutorKilled => "executor_killed",
            Self::ExecutorFrozen => "executor_frozen",
            Self::PerceptionRestarted => "perception_restarted",
            Self::PlannerKilled => "planner_killed",
            Self::LinkCut => "link_cut",
            Self::LinkSlow => "link_slow",
            Self::LinkStalled => "link_stalled",
            Self::LinkRequestsDropped => "link_requests_dropped",
            Self::LinkResponsesDropped => "link_responses_dropped",
            Self::RequestsLate => "requests_late",
            Self::RequestsDuplicated => "requests_duplicated",
            Self::RequestsReordered => "requests_reordered",
            Self::ResponsesLost => "responses_lost",
            Self::JournalLost => "journal_lost",
            Self::JournalOlder => "journal_older",
            Self::DiskFull => "disk_full",
            Self::ExecutorDiskFull => "executor_disk_full",
            Self::DatabaseKilled => "database_killed",
        }
    }

    /// Returns the range of durations, in milliseconds.
    fn lasts(self) -> std::ops::Range<u64> {
        match self {
            Self::OrchestratorFrozen => 1000..9000,
            Self::LinkSlow
            | Self::LinkStalled
            | Self::LinkRequestsDropped
            | Self::LinkResponsesDropped => 500..6000,
            // Long enough that each meets actions: a desktop has one or two in a second.
            Self::RequestsDuplicated | Self::RequestsReordered => 1000..6000,
            Self::RequestsLate | Self::ResponsesLost => 300..2500,
            Self::DiskFull | Self::ExecutorDiskFull => 500..4000,
            _ => 50..3000,
        }
    }
}

/// A scheduled fault.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScheduledFault {
    /// Time after the start.
    pub(crate) at: Duration,
    pub(crate) kind: FaultKind,
    /// Selects the target among those that can have this fault.
    pub(crate) which: u64,
    pub(crate) duration: Duration,
}

/// Endless schedule of faults, in order.
#[derive(Debug)]
pub(crate) struct FaultSchedule {
    random: StdRng,
    kinds: Vec<FaultKind>,
    mean_interval: Duration,
    at: Duration,
}

impl FaultSchedule {
    /// Creates the schedule of these kinds of faults, as far as the store can have them.
    pub(crate) fn new(
        seed: u64,
        store: Store,
        kinds: &[FaultKind],
        mean_interval: Duration,
    ) -> Self {
        let has_database =
            |kind: &FaultKind| *kind != FaultKind::DatabaseKilled || store == Store::Postgres;
        Self {
            random: StdRng::seed_from_u64(seed),
            kinds: kinds.iter().copied().filter(has_database).collect(),
            mean_interval,
            at: Duration::ZERO,
        }
    }

    /// Returns the next fault; `None` without kinds of faults.
    pub(crate) fn next(&mut self) -> Option<ScheduledFault> {
        self.at += self
            .mean_interval
            .mul_f64(self.random.random_range(0.2..1.8));
        let kind = *self.kinds.choose(&mut self.random)?;
        Some(ScheduledFault {
            at: self.at,
            kind,
            which: self.random.random(),
            duration: Duration::from_millis(self.random.random_range(kind.lasts())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_the_same_schedule() {
        let faults = || {
            let interval = Duration::from_millis(700);
            let mut faults = FaultSchedule::new(7, Store::Sqlite, &FaultKind::ALL, interval);
            let line = move |_| format!("{:?}", faults.next());
            (0..50).map(line).collect::<Vec<_>>()
        };
        assert_eq!(faults(), faults());
        assert_eq!(planned_task(7, 3), planned_task(7, 3));
        assert_ne!(planned_task(7, 3).goal, planned_task(8, 3).goal);
        assert_ne!(planned_task(7, 3).goal, planned_task(7, 4).goal);
    }
}
