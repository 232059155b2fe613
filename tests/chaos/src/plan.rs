//! From a seed, what the tasks ask for and what breaks when. Pure: nothing here happens.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use crate::application::BUTTONS;
use crate::fleet::Store;

/// Between two faults, on average.
const PACE: Duration = Duration::from_millis(700);
/// One task of so many is cancelled by its user.
const CANCELLED: u32 = 15;

/// What one task asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Errand {
    /// The last part of its name.
    pub(crate) id: String,
    pub(crate) goal: String,
    /// How often each button is to be pressed.
    pub(crate) presses: BTreeMap<&'static str, usize>,
    /// Its user loses interest so long after it was submitted.
    pub(crate) cancelled_after: Option<Duration>,
}

/// The errand of this number.
pub(crate) fn errand(seed: u64, number: usize) -> Errand {
    let mut random = StdRng::seed_from_u64(seed ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9));
    let count = random.random_range(2..=6);
    let buttons: Vec<&str> = (0..count)
        .map(|_| *BUTTONS.choose(&mut random).expect("there are some"))
        .collect();
    let clauses: Vec<String> = buttons
        .iter()
        .map(|button| format!("click \"{button}\""))
        .collect();
    let mut presses = BTreeMap::new();
    for button in buttons {
        *presses.entry(button).or_default() += 1;
    }
    let cancelled = random.random_ratio(1, CANCELLED);
    Errand {
        id: format!("errand-{number}"),
        goal: clauses.join(" then "),
        presses,
        cancelled_after: cancelled.then(|| Duration::from_millis(random.random_range(200..8000))),
    }
}

/// What breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    OrchestratorKilled,
    /// It sleeps, longer than its leases last, and then goes on as if nothing had happened.
    OrchestratorFrozen,
    OrchestratorEnded,
    ExecutorKilled,
    ExecutorFrozen,
    PerceptionRestarted,
    PlannerKilled,
    LinkCut,
    LinkSlow,
    LinkStalled,
    DiskFull,
    ExecutorDiskFull,
    DatabaseKilled,
}

impl Kind {
    const ALL: [Self; 13] = [
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
        Self::DiskFull,
        Self::ExecutorDiskFull,
        Self::DatabaseKilled,
    ];

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
            Self::DiskFull => "disk_full",
            Self::ExecutorDiskFull => "executor_disk_full",
            Self::DatabaseKilled => "database_killed",
        }
    }

    /// How long it lasts, in milliseconds.
    fn lasts(self) -> std::ops::Range<u64> {
        match self {
            Self::OrchestratorFrozen => 1000..9000,
            Self::LinkSlow | Self::LinkStalled => 500..6000,
            Self::DiskFull | Self::ExecutorDiskFull => 500..4000,
            _ => 50..3000,
        }
    }
}

/// Something that breaks, when, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    /// After the start.
    pub(crate) at: Duration,
    pub(crate) kind: Kind,
    /// Which one of those that can break so.
    pub(crate) which: u64,
    pub(crate) lasts: Duration,
}

/// All that breaks, in order, without end.
#[derive(Debug)]
pub(crate) struct Faults {
    random: StdRng,
    kinds: Vec<Kind>,
    at: Duration,
}

impl Faults {
    pub(crate) fn new(seed: u64, store: Store) -> Self {
        let has_database = |kind: &Kind| *kind != Kind::DatabaseKilled || store == Store::Postgres;
        Self {
            random: StdRng::seed_from_u64(seed),
            kinds: Kind::ALL.into_iter().filter(has_database).collect(),
            at: Duration::ZERO,
        }
    }

    pub(crate) fn next(&mut self) -> Fault {
        self.at += PACE.mul_f64(self.random.random_range(0.2..1.8));
        let kind = *self.kinds.choose(&mut self.random).expect("there are some");
        Fault {
            at: self.at,
            kind,
            which: self.random.random(),
            lasts: Duration::from_millis(self.random.random_range(kind.lasts())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_again() {
        let faults = || {
            let mut faults = Faults::new(7, Store::Sqlite);
            let line = move |_| format!("{:?}", faults.next());
            (0..50).map(line).collect::<Vec<_>>()
        };
        assert_eq!(faults(), faults());
        assert_eq!(errand(7, 3), errand(7, 3));
        assert_ne!(errand(7, 3).goal, errand(8, 3).goal);
        assert_ne!(errand(7, 3).goal, errand(7, 4).goal);
    }
}
