//! Hundreds of tasks over ten desktops while everything that can break is broken: `make chaos`.
//!
//! Orchestrators, executors and the planner are the real programs, killed and started again; the stores are real. What a
//! desktop received is a file that its executor's recording driver writes, so that it outlives the executor; the
//! application on the desktop and the eyes that see it are simulated from that file. Between all of them stand links that
//! are cut, slowed down and stalled.
//!
//! - [`plan`]: from a seed, what the tasks ask for and what breaks when
//! - [`application`]: what is on a desktop, [`eyes`]: how it is seen
//! - [`link`]: the network, [`fleet`]: the programs, [`faults`]: how they are broken
//! - [`user`]: whoever submits a task, watches it and answers
//! - [`verdict`]: what was promised, held against what happened
//!
//! `SEED` (1) gives the same tasks and the same faults again, at the same times after the start; how programs and disk
//! interleave is the machine's. `TASKS` (300), `DESKTOPS` (10), `STORES` (sqlite,postgres), `FAULTS` (yes). The last line of the output is
//! one JSON object of counts; the exit code says whether every promise was kept.

#![expect(clippy::print_stdout, reason = "the counts are the output")]

mod application;
mod eyes;
mod faults;
mod fleet;
mod link;
mod plan;
mod user;
mod verdict;

use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::faults::Breaker;
use crate::fleet::{Fleet, Store};
use crate::plan::Faults;
use crate::user::{Crowd, Told};
use crate::verdict::Counts;

/// A run that has not ended by then never does: its tasks hang.
const LONGEST_PER_TASK: Duration = Duration::from_secs(8);
const LONGEST_AT_LEAST: Duration = Duration::from_secs(300);
/// How many tasks are submitted and have not ended at any time, for each desktop.
const UNDER_WAY: usize = 2;

/// What a run is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) seed: u64,
    pub(crate) tasks: usize,
    pub(crate) desktops: usize,
    pub(crate) breaks: bool,
}

fn variable<T: FromStr>(name: &str, default: T) -> T
where
    T::Err: Display,
{
    let Ok(text) = std::env::var(name) else {
        return default;
    };
    text.trim()
        .parse()
        .unwrap_or_else(|error| panic!("{name}={text}: {error}"))
}

/// One run on one store.
async fn run(scope: Scope, store: Store) -> Counts {
    let began = Instant::now();
    let mut fleet = Fleet::start(scope, store).await;
    let crowd = Crowd::start(scope, &fleet, UNDER_WAY * scope.desktops);
    let mut breaker = Breaker::default();
    let mut faults = Faults::new(scope.seed, store);
    let longest =
        LONGEST_AT_LEAST.max(LONGEST_PER_TASK * u32::try_from(scope.tasks).unwrap_or(u32::MAX));
    let mut next = faults.next();
    while !crowd.has_finished() && began.elapsed() < longest {
        breaker.mend_what_is_due(&mut fleet).await;
        if scope.breaks && began.elapsed() >= next.at {
            breaker.break_one(&next, &mut fleet).await;
            next = faults.next();
        }
        sleep(Duration::from_millis(20)).await;
    }
    breaker.mend_everything(&mut fleet).await;
    let told: Vec<Told> = crowd.end().await;
    let elapsed = began.elapsed();
    let logs = fleet
        .end(told.iter().map(|told| told.errand.id.clone()))
        .await;
    verdict::count(scope, store, &told, &logs, breaker.counts(), elapsed)
}

fn main() -> ExitCode {
    let scope = Scope {
        seed: variable("SEED", 1),
        tasks: variable("TASKS", 300),
        desktops: variable("DESKTOPS", 10),
        breaks: variable("FAULTS", "yes".to_owned()) == "yes",
    };
    let stores: String = variable("STORES", "sqlite,postgres".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("threads");
    let mut all = Vec::new();
    for store in stores.split(',') {
        let store = Store::named(store);
        // The programs end with the thread that starts them: this one.
        let counts = runtime.block_on(run(scope, store));
        eprint!("{}", counts.complaints());
        all.push(counts);
    }
    let kept = all.iter().all(Counts::kept);
    let line = json!({ "seed": scope.seed, "kept": kept, "runs": all });
    println!("{line}");
    if kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
