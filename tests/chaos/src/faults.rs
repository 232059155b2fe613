//! Breaking things, and mending them when their time is over.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::fleet::{Fleet, Program};
use crate::link::Condition;
use crate::plan::{Fault, Kind};

/// How much longer everything takes on a slow link.
const SLOWNESS: Duration = Duration::from_millis(150);

/// One of those that can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Orchestrator(usize),
    Executor(usize),
    Planner,
    Sight(usize),
    Link(usize),
    Database,
}

#[derive(Debug)]
struct Broken {
    part: Part,
    kind: Kind,
    until: Instant,
}

/// What is broken now, and what was.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    broken: Vec<Broken>,
    counts: BTreeMap<&'static str, usize>,
}

impl Breaker {
    /// How often what broke.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, usize> {
        self.counts.clone()
    }

    /// Breaks something, unless it is broken already.
    pub(crate) async fn break_one(&mut self, fault: &Fault, fleet: &mut Fleet) {
        let which = |count: usize| usize::try_from(fault.which % count as u64).unwrap_or(0);
        let part = match fault.kind {
            Kind::OrchestratorKilled
            | Kind::OrchestratorFrozen
            | Kind::OrchestratorEnded
            | Kind::DiskFull => Part::Orchestrator(which(fleet.orchestrators.len())),
            Kind::ExecutorKilled | Kind::ExecutorFrozen | Kind::ExecutorDiskFull => {
                Part::Executor(which(fleet.executors.len()))
            }
            Kind::PerceptionRestarted => Part::Sight(which(fleet.sights.len())),
            Kind::PlannerKilled => Part::Planner,
            Kind::LinkCut | Kind::LinkSlow | Kind::LinkStalled => {
                Part::Link(which(fleet.links.len()))
            }
            Kind::DatabaseKilled => Part::Database,
        };
        if self.broken.iter().any(|broken| broken.part == part) {
            return;
        }
        *self.counts.entry(fault.kind.name()).or_default() += 1;
        self.broken.push(Broken {
            part,
            kind: fault.kind,
            until: Instant::now() + fault.lasts,
        });
        match part {
            Part::Orchestrator(_) | Part::Executor(_) | Part::Planner => {
                hurt(program(fleet, part), fault.kind);
            }
            Part::Sight(number) => fleet.sights[number].go_away().await,
            Part::Link(number) => fleet.links[number].set(condition(fault.kind)),
            Part::Database => fleet.database.as_mut().expect("it has one").kill(),
        }
    }

    /// Mends what has been broken for long enough, and starts what has ended by itself.
    pub(crate) async fn mend_what_is_due(&mut self, fleet: &mut Fleet) {
        let now = Instant::now();
        let all = std::mem::take(&mut self.broken);
        let (due, rest) = all.into_iter().partition(|broken| broken.until <= now);
        self.broken = rest;
        mend(due, fleet).await;
    }

    /// Mends everything.
    pub(crate) async fn mend_everything(&mut self, fleet: &mut Fleet) {
        mend(std::mem::take(&mut self.broken), fleet).await;
    }
}

async fn mend(all: Vec<Broken>, fleet: &mut Fleet) {
    for Broken { part, kind, .. } in all {
        match part {
            Part::Orchestrator(_) | Part::Executor(_) | Part::Planner => {
                heal(program(fleet, part), kind);
            }
            Part::Sight(number) => fleet.sights[number].come_back().await,
            Part::Link(number) => fleet.links[number].set(Condition::Open),
            Part::Database => fleet.database.as_mut().expect("it has one").go_on(),
        }
    }
    fleet.revive();
}

fn program(fleet: &mut Fleet, part: Part) -> &mut Program {
    match part {
        Part::Orchestrator(number) => &mut fleet.orchestrators[number],
        Part::Executor(number) => &mut fleet.executors[number],
        _ => &mut fleet.planner,
    }
}

fn hurt(program: &mut Program, kind: Kind) {
    match kind {
        Kind::OrchestratorFrozen | Kind::ExecutorFrozen => program.signal(Signal::STOP),
        Kind::DiskFull | Kind::ExecutorDiskFull => program.limit_files(true),
        Kind::OrchestratorEnded => {
            program.is_down = true;
            program.signal(Signal::TERM);
        }
        _ => {
            program.is_down = true;
            program.kill();
        }
    }
}

fn heal(program: &mut Program, kind: Kind) {
    match kind {
        Kind::OrchestratorFrozen | Kind::ExecutorFrozen => program.signal(Signal::CONT),
        Kind::DiskFull | Kind::ExecutorDiskFull => program.limit_files(false),
        _ => program.is_down = false,
    }
}

fn condition(kind: Kind) -> Condition {
    match kind {
        Kind::LinkSlow => Condition::Slow(SLOWNESS),
        Kind::LinkStalled => Condition::Stalled,
        _ => Condition::Cut,
    }
}
