//! Chaos test: hundreds of tasks on ten desktops while every component is subject to faults (`make chaos`).
//!
//! Orchestrators, executors and the planner are the real programs, killed and restarted; the stores are real. An executor's
//! recording driver writes the desktop's input to a file, so that it outlives the executor; the application on the desktop
//! and its perception are simulated from that file. All connections pass through links that are cut, slowed and stalled, or
//! lose one direction. Requests to executors also pass through proxies that deliver them late, twice and out of order.
//! Executors lose their journals, or start with older copies of them.
//!
//! - [`schedule`]: tasks and faults from a seed
//! - [`application`]: the simulated application, [`simulated_perception`]: its simulated perception
//! - [`link`]: the network, [`proxy`]: requests to executors, [`journal_copies`]: copies of journals, [`fleet`]: the programs, [`fault_injector`]: injection of faults
//! - [`user`]: simulated users that submit, watch and answer
//! - [`report`]: checks of the guarantees
//! - [`soak`]: what the programs take while tasks run for long
//!
//! Environment variables: `SEED` (default 1) reproduces tasks and faults at the same times after the start, but not the
//! interleaving of programs and disk; `TASKS` (300), `DESKTOPS` (10), `STORES` (sqlite,postgres), `FAULTS` (yes, no, or the
//! names of some faults), `FAULT_INTERVAL` (700 ms on average); `SOAK_SECONDS` runs for this long
//! without faults instead, and prints the courses of memory, open files and disk. The last line of the output is a JSON object
//! of counts; the exit code is 0 if every guarantee held, and in a soak nothing grew.

#![expect(clippy::print_stdout, reason = "the counts are the output")]

mod application;
mod fault_injector;
mod fleet;
mod journal_copies;
mod link;
mod proxy;
mod report;
mod schedule;
mod simulated_perception;
mod soak;
mod user;

use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::fault_injector::FaultInjector;
use crate::fleet::{Fleet, Store};
use crate::report::ChaosReport;
use crate::schedule::{FaultKind, FaultSchedule};
use crate::user::{UserReport, Users};

/// Timeout of a run per task. A run that takes longer has hanging tasks.
const TIMEOUT_PER_TASK: Duration = Duration::from_secs(8);
/// Minimum timeout of a run, for runs with few tasks.
const MIN_RUN_TIMEOUT: Duration = Duration::from_secs(300);
/// Number of concurrent tasks per desktop. More than 1, so that tasks also wait for desktops.
const MAX_TASKS_PER_DESKTOP: usize = 2;

/// Options of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunOptions {
    pub(crate) seed: u64,
    pub(crate) tasks: usize,
    pub(crate) desktops: usize,
    pub(crate) faults: Vec<FaultKind>,
    /// Average interval between two faults.
    pub(crate) fault_interval: Duration,
    /// Time of a soak, in place of a test with faults.
    pub(crate) soak: Option<Duration>,
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

/// Runs the test on one store.
async fn run(scope: &RunOptions, store: Store) -> ChaosReport {
    let began = Instant::now();
    let mut fleet = Fleet::start(scope, store).await;
    let crowd = Users::start(scope, &fleet, MAX_TASKS_PER_DESKTOP * scope.desktops);
    let mut breaker = FaultInjector::default();
    let mut faults = FaultSchedule::new(scope.seed, store, &scope.faults, scope.fault_interval);
    let run_timeout =
        MIN_RUN_TIMEOUT.max(TIMEOUT_PER_TASK * u32::try_from(scope.tasks).unwrap_or(u32::MAX));
    let mut next = faults.next();
    while !crowd.has_finished() && began.elapsed() < run_timeout {
        breaker.recover_due(&mut fleet).await;
        fleet.copy_journals();
        if let Some(fault) = next.take_if(|fault| began.elapsed() >= fault.at) {
            breaker.inject(&fault, &mut fleet).await;
            next = faults.next();
        }
        sleep(Duration::from_millis(20)).await;
    }
    breaker.recover_all(&mut fleet).await;
    let reports: Vec<UserReport> = crowd.end().await;
    let elapsed = began.elapsed();
    let logs = fleet
        .end(reports.iter().map(|report| report.task.id.clone()))
        .await;
    report::count(scope, store, &reports, &logs, breaker.counts(), elapsed)
}

fn main() -> ExitCode {
    let scope = RunOptions {
        seed: variable("SEED", 1),
        tasks: variable("TASKS", 300),
        desktops: variable("DESKTOPS", 10),
        faults: FaultKind::parse_list(&variable("FAULTS", "yes".to_owned()))
            .unwrap_or_else(|error| panic!("FAULTS: {error}")),
        fault_interval: Duration::from_millis(variable("FAULT_INTERVAL", 700)),
        soak: Some(variable("SOAK_SECONDS", 0))
            .filter(|seconds| *seconds > 0)
            .map(Duration::from_secs),
    };
    let stores: String = variable("STORES", "sqlite,postgres".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("threads");
    if let Some(time) = scope.soak {
        let mut kept = true;
        for store in stores.split(',').map(Store::named) {
            let report = runtime.block_on(soak::run(&scope, store, time));
            for complaint in report.complaints() {
                kept = false;
                eprintln!("{complaint}");
            }
            println!("{}", json!(report));
        }
        return exit_code(kept);
    }
    let mut all = Vec::new();
    for store in stores.split(',') {
        let store = Store::named(store);
        // The programs end with the thread that starts them: this one.
        let counts = runtime.block_on(run(&scope, store));
        eprint!("{}", counts.complaints());
        all.push(counts);
    }
    let kept = all.iter().all(ChaosReport::kept);
    let line = json!({ "seed": scope.seed, "kept": kept, "runs": all });
    println!("{line}");
    exit_code(kept)
}

fn exit_code(kept: bool) -> ExitCode {
    match kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
