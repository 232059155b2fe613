//! Injection of faults, and recovery when they expire.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::fleet::{Fleet, Program};
use crate::link::LinkCondition;
use crate::proxy::ProxyCondition;
use crate::schedule::{FaultKind, ScheduledFault};

/// Added delay of a slow link.
const LINK_DELAY: Duration = Duration::from_millis(150);

/// Target of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultTarget {
    Orchestrator(usize),
    Executor(usize),
    Planner,
    Sight(usize),
    Link(usize),
    Proxy(usize),
    Database,
}

#[derive(Debug)]
struct ActiveFault {
    part: FaultTarget,
    kind: FaultKind,
    ends_at: Instant,
}

/// Injector of faults, with the active faults and counts of all.
#[derive(Debug, Default)]
pub(crate) struct FaultInjector {
    broken: Vec<ActiveFault>,
    counts: BTreeMap<&'static str, usize>,
}

impl FaultInjector {
    /// Returns the number of faults by kind.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, usize> {
        self.counts.clone()
    }

    /// Injects a fault, unless its target has one already.
    pub(crate) async fn inject(&mut self, fault: &ScheduledFault, fleet: &mut Fleet) {
        let which = |count: usize| usize::try_from(fault.which % count as u64).unwrap_or(0);
        let part = match fault.kind {
            FaultKind::OrchestratorKilled
            | FaultKind::OrchestratorFrozen
            | FaultKind::OrchestratorEnded
            | FaultKind::DiskFull => FaultTarget::Orchestrator(which(fleet.orchestrators.len())),
            FaultKind::ExecutorKilled
            | FaultKind::ExecutorFrozen
            | FaultKind::ExecutorDiskFull
            | FaultKind::JournalLost
            | FaultKind::JournalOlder => FaultTarget::Executor(which(fleet.executors.len())),
            FaultKind::PerceptionRestarted => FaultTarget::Sight(which(fleet.perceptions.len())),
            FaultKind::PlannerKilled => FaultTarget::Planner,
            FaultKind::LinkCut
            | FaultKind::LinkSlow
            | FaultKind::LinkStalled
            | FaultKind::LinkRequestsDropped
            | FaultKind::LinkResponsesDropped => FaultTarget::Link(which(fleet.links.len())),
            FaultKind::RequestsLate
            | FaultKind::RequestsDuplicated
            | FaultKind::RequestsReordered
            | FaultKind::ResponsesLost => FaultTarget::Proxy(which(fleet.proxies.len())),
            FaultKind::DatabaseKilled => FaultTarget::Database,
        };
        if self.broken.iter().any(|broken| broken.part == part) {
            return;
        }
        if fault.kind == FaultKind::JournalOlder
            && let FaultTarget::Executor(number) = part
            && !fleet.journals[number].has_older_copy(&fleet.applications[number])
        {
            return;
        }
        *self.counts.entry(fault.kind.name()).or_default() += 1;
        self.broken.push(ActiveFault {
            part,
            kind: fault.kind,
            ends_at: Instant::now() + fault.duration,
        });
        match part {
            FaultTarget::Orchestrator(_) | FaultTarget::Executor(_) | FaultTarget::Planner => {
                inject(program(fleet, part), fault.kind);
                if let FaultTarget::Executor(number) = part {
                    change_journal(fleet, number, fault.kind);
                }
            }
            FaultTarget::Sight(number) => fleet.perceptions[number].stop().await,
            FaultTarget::Link(number) => fleet.links[number].set(condition(fault.kind)),
            FaultTarget::Proxy(number) => fleet.proxies[number].set(treatment(fault.kind)),
            FaultTarget::Database => fleet
                .database
                .as_mut()
                .expect("only PostgreSQL fleets have this fault")
                .kill(),
        }
    }

    /// Recovers expired faults, and restarts programs that have ended by themselves.
    pub(crate) async fn recover_due(&mut self, fleet: &mut Fleet) {
        let now = Instant::now();
        let all = std::mem::take(&mut self.broken);
        let (due, rest) = all.into_iter().partition(|broken| broken.ends_at <= now);
        self.broken = rest;
        recover_faults(due, fleet).await;
    }

    /// Recovers all faults.
    pub(crate) async fn recover_all(&mut self, fleet: &mut Fleet) {
        recover_faults(std::mem::take(&mut self.broken), fleet).await;
    }
}

async fn recover_faults(all: Vec<ActiveFault>, fleet: &mut Fleet) {
    for ActiveFault { part, kind, .. } in all {
        match part {
            FaultTarget::Orchestrator(_) | FaultTarget::Executor(_) | FaultTarget::Planner => {
                recover(program(fleet, part), kind);
            }
            FaultTarget::Sight(number) => fleet.perceptions[number].restart().await,
            FaultTarget::Link(number) => fleet.links[number].set(LinkCondition::Open),
            FaultTarget::Proxy(number) => fleet.proxies[number].set(ProxyCondition::Forward),
            FaultTarget::Database => fleet
                .database
                .as_mut()
                .expect("only PostgreSQL fleets have this fault")
                .restart(),
        }
    }
    fleet.restart_ended();
}

fn program(fleet: &mut Fleet, part: FaultTarget) -> &mut Program {
    match part {
        FaultTarget::Orchestrator(number) => &mut fleet.orchestrators[number],
        FaultTarget::Executor(number) => &mut fleet.executors[number],
        _ => &mut fleet.planner,
    }
}

fn inject(program: &mut Program, kind: FaultKind) {
    match kind {
        FaultKind::OrchestratorFrozen | FaultKind::ExecutorFrozen => program.signal(Signal::STOP),
        FaultKind::DiskFull | FaultKind::ExecutorDiskFull => program.limit_files(true),
        FaultKind::OrchestratorEnded => {
            program.is_down = true;
            program.signal(Signal::TERM);
        }
        _ => {
            program.is_down = true;
            program.kill();
        }
    }
}

/// Takes the journal of a killed executor away, or puts an older copy in its place.
fn change_journal(fleet: &mut Fleet, number: usize, kind: FaultKind) {
    let journal = &mut fleet.journals[number];
    match kind {
        FaultKind::JournalLost => journal.lose(),
        FaultKind::JournalOlder => journal.restore_older(&fleet.applications[number]),
        _ => {}
    }
}

fn recover(program: &mut Program, kind: FaultKind) {
    match kind {
        FaultKind::OrchestratorFrozen | FaultKind::ExecutorFrozen => program.signal(Signal::CONT),
        FaultKind::DiskFull | FaultKind::ExecutorDiskFull => program.limit_files(false),
        _ => program.is_down = false,
    }
}

fn condition(kind: FaultKind) -> LinkCondition {
    match kind {
        FaultKind::LinkSlow => LinkCondition::Slow(LINK_DELAY),
        FaultKind::LinkStalled => LinkCondition::Stalled,
        FaultKind::LinkRequestsDropped => LinkCondition::RequestsDropped,
        FaultKind::LinkResponsesDropped => LinkCondition::ResponsesDropped,
        _ => LinkCondition::Cut,
    }
}

fn treatment(kind: FaultKind) -> ProxyCondition {
    match kind {
        FaultKind::RequestsLate => ProxyCondition::Late,
        FaultKind::RequestsDuplicated => ProxyCondition::Duplicated,
        FaultKind::RequestsReordered => ProxyCondition::Reordered,
        _ => ProxyCondition::ResponseLost,
    }
}
