//! Peak of the memory of a service under each limit of `docs/threat-model.md` (`make memory`).
//!
//! Each case fills one limit of a program that was just started, with more than it allows. The memory may rise by the maximum
//! of the case, and a limit that refuses must refuse something; otherwise the exit code is 1. With names as arguments, only
//! these cases run.
//!
//! - [`orchestrator`]: requests, files and connections of callers
//! - [`gateway`]: bodies of requests
//! - [`devtools`]: reports of a browser
//! - [`tools`]: results of functions

#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod devtools;
mod gateway;
mod orchestrator;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Maximum size of SQLite's log: writes wait for readers until it has 512 MiB, and the last of them may be large ones.
const MAX_LOG_MIB: f64 = 600.0;

/// A limit, and how far memory may rise under it.
struct Case {
    name: &'static str,
    /// Maximum rise of the memory, in MiB: half as much again as was measured on 29 November 2026, and 10 at least.
    max_rise_mib: f64,
    /// Some of what fills the limit must be refused.
    refuses: bool,
}

const fn case(name: &'static str, max_rise_mib: f64, refuses: bool) -> Case {
    Case {
        name,
        max_rise_mib,
        refuses,
    }
}

/// The cases, in order.
const CASES: [Case; 13] = [
    case("instructions", 270.0, true),
    case("labels", 380.0, true),
    case("messages", 300.0, true),
    case("requests", 410.0, true),
    case("files", 210.0, true),
    case("watches", 150.0, true),
    case("connections", 20.0, true),
    case("list_tasks", 160.0, false),
    case("exports", 310.0, false),
    case("tool_results", 60.0, true),
    case("gateway_bodies", 530.0, true),
    case("devtools_messages", 10.0, false),
    case("devtools_version", 10.0, true),
];

/// Result of filling a limit.
struct Filled {
    accepted: usize,
    refused: usize,
}

impl Filled {
    fn of<T, E>(results: &[Result<T, E>]) -> Self {
        let accepted = results.iter().filter(|result| result.is_ok()).count();
        Self {
            accepted,
            refused: results.len() - accepted,
        }
    }
}

/// Memory of a process while a limit is filled.
struct Measurement {
    process: u32,
    before_mib: f64,
    /// Maximum length of the log of a process that has a store.
    log: Option<MaxLength>,
}

/// Maximum length of a file over time, which is looked at until this is dropped.
struct MaxLength(Arc<AtomicU64>);

impl MaxLength {
    fn of(file: PathBuf) -> Self {
        let max = Arc::new(AtomicU64::new(0));
        let seen = Arc::downgrade(&max);
        tokio::spawn(async move {
            while let Some(max) = seen.upgrade() {
                // It is missing before the first write.
                let length = std::fs::metadata(&file).map_or(0, |file| file.len());
                max.fetch_max(length, Ordering::Relaxed);
                drop(max);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        Self(max)
    }

    fn mib(&self) -> f64 {
        self.0.load(Ordering::Relaxed) as f64 / f64::from(1 << 20)
    }
}

impl Measurement {
    /// Begins with the memory that the process has now.
    fn begin(process: u32, data: Option<&Path>) -> Self {
        // 5 resets the peak (`man 5 proc`, clear_refs).
        std::fs::write(format!("/proc/{process}/clear_refs"), "5").expect("the process is ours");
        Self {
            process,
            before_mib: mib_of(process, "VmRSS:"),
            log: data.map(|data| MaxLength::of(data.join("tasks.db-wal"))),
        }
    }

    fn end(self, filled: Filled) -> Measured {
        Measured {
            filled,
            before_mib: self.before_mib,
            peak_mib: mib_of(self.process, "VmHWM:"),
            log_mib: self.log.as_ref().map(MaxLength::mib),
        }
    }
}

/// Memory of a process under a limit.
struct Measured {
    filled: Filled,
    before_mib: f64,
    peak_mib: f64,
    /// Maximum size of SQLite's log.
    log_mib: Option<f64>,
}

impl Measured {
    /// Returns what is not as the case demands.
    fn problem(&self, case: &Case) -> Option<String> {
        let rise = self.peak_mib - self.before_mib;
        if rise > case.max_rise_mib {
            let max = case.max_rise_mib;
            return Some(format!("memory rose by {rise:.0} MiB, of {max:.0} allowed"));
        }
        if self.log_mib.is_some_and(|log| log > MAX_LOG_MIB) {
            return Some(format!("the log of SQLite has more than {MAX_LOG_MIB} MiB"));
        }
        let refuses = self.filled.refused > 0;
        match (case.refuses, refuses) {
            (true, false) => Some("nothing was refused: the limit was not reached".to_owned()),
            (false, true) => Some("calls within the limit were refused".to_owned()),
            _ => None,
        }
    }

    fn row(&self, case: &Case) -> String {
        let Filled { accepted, refused } = self.filled;
        let (before, peak, max) = (self.before_mib, self.peak_mib, case.max_rise_mib);
        let rise = peak - before;
        let log = self
            .log_mib
            .map_or_else(|| "-".to_owned(), |log| format!("{log:.0}"));
        let name = case.name;
        format!(
            "| {name} | {accepted} | {refused} | {before:.0} | {peak:.0} | {rise:.0} (max {max:.0}) | {log} |"
        )
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let unknown = chosen
        .iter()
        .find(|name| CASES.iter().all(|case| case.name != **name));
    if let Some(unknown) = unknown {
        let known = CASES.map(|case| case.name).join(", ");
        eprintln!("there is no case `{unknown}`; the cases are {known}");
        return ExitCode::from(2);
    }
    println!(
        "| limit | accepted | refused | before, MiB | peak, MiB | rise, MiB | log of SQLite, MiB |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut kept = true;
    for case in CASES {
        if chosen.is_empty() || chosen.iter().any(|name| name == case.name) {
            let measured = run(case.name).await;
            println!("{}", measured.row(&case));
            if let Some(problem) = measured.problem(&case) {
                kept = false;
                eprintln!("{}: {problem}", case.name);
            }
        }
    }
    match kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

async fn run(case: &str) -> Measured {
    match case {
        "tool_results" => tools::large_results().await,
        "gateway_bodies" => gateway::bodies().await,
        "devtools_messages" => devtools::long_message().await,
        "devtools_version" => devtools::long_version().await,
        case => orchestrator::fill(case).await,
    }
}

/// Returns a field of the status of a process, in MiB.
fn mib_of(process: u32, field: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next());
    kib.and_then(|kib| kib.parse::<f64>().ok())
        .expect("it is a number")
        / 1024.0
}
