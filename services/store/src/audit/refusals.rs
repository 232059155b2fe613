//! Records calls that a server refused before a service saw them.
//!
//! Anybody can cause such calls, as fast as the network allows. They are therefore recorded after their answer, equal ones of a
//! second together with their number, and no more records than [`Budget`] allows. A refusal that cannot be recorded stays a refusal.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use motorium_kit::server::{RefusalObserver, RefusedCall};
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant};

use super::entry::{AuditEntry, Phase};
use super::writer::AuditLog;

/// Kind of these records.
const REFUSED: &str = "refused";
/// Stands for a caller who is not known. No principal has such a name: parentheses are not allowed in one.
const UNKNOWN: &str = "(unknown)";
/// Stands for several callers, in the record of what no other record has room for.
const SEVERAL: &str = "(several)";
/// Time between two batches of records.
const INTERVAL: Duration = Duration::from_secs(1);
/// Number of calls of one batch that are told apart.
const BATCH: usize = 1000;
/// Number of records that may be written at once. A misconfigured client makes fewer different calls.
const BURST: u32 = 60;

/// Records refused calls in an audit log.
#[derive(Debug)]
pub struct RefusalRecorder {
    calls: mpsc::Sender<RefusedCall>,
    /// Number of calls for which there was no room.
    others: Arc<AtomicU64>,
}

impl RefusalRecorder {
    /// Starts recording. It ends when the recorder has been dropped and everything is recorded.
    #[must_use]
    pub fn start(audit: AuditLog) -> Arc<Self> {
        let (calls, refused) = mpsc::channel(BATCH);
        let others = Arc::default();
        tokio::spawn(record(audit, refused, Arc::clone(&others)));
        Arc::new(Self { calls, others })
    }
}

impl RefusalObserver for RefusalRecorder {
    fn refused(&self, call: RefusedCall) {
        if self.calls.try_send(call).is_err() {
            self.others.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn record(audit: AuditLog, mut refused: mpsc::Receiver<RefusedCall>, others: Arc<AtomicU64>) {
    let mut budget = Budget::new(Instant::now());
    let mut batch = Vec::new();
    while refused.recv_many(&mut batch, BATCH).await > 0 {
        let number = others.swap(0, Ordering::Relaxed);
        let available = budget.available(Instant::now());
        let entries = entries(std::mem::take(&mut batch), number, available);
        budget.spend(entries.len());
        if let Err(error) = audit.record(entries).await {
            tracing::warn!(%error, "refused calls are not in the audit log");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Records that may be written: [`BURST`] at once, one in each [`INTERVAL`] in the long run.
#[derive(Debug)]
struct Budget {
    left: u32,
    counted_at: Instant,
}

impl Budget {
    fn new(now: Instant) -> Self {
        Self {
            left: BURST,
            counted_at: now,
        }
    }

    /// Returns the number of records that may be written now, at least 1.
    fn available(&mut self, now: Instant) -> usize {
        let passed = now.duration_since(self.counted_at).as_secs() / INTERVAL.as_secs();
        let gained = u32::try_from(passed).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(gained).min(BURST);
        self.counted_at += INTERVAL.saturating_mul(gained);
        self.left.max(1) as usize
    }

    fn spend(&mut self, records: usize) {
        let records = u32::try_from(records).unwrap_or(u32::MAX);
        self.left = self.left.saturating_sub(records);
    }
}

/// Returns at most `available` entries of calls, and of `others` of which nothing is known.
fn entries(calls: Vec<RefusedCall>, others: u64, available: usize) -> Vec<AuditEntry> {
    // Known callers come first: strangers must not use up the room for them.
    let mut numbers: BTreeMap<(bool, [String; 4]), u64> = BTreeMap::new();
    for call in calls {
        let caller = call.caller.as_ref();
        let name = caller.map_or(UNKNOWN, |caller| caller.name());
        let tenant = caller.map_or("", |caller| caller.tenant());
        let method = call.method.unwrap_or_default();
        let key = [name.to_owned(), tenant.to_owned(), method, call.reason];
        *numbers.entry((caller.is_none(), key)).or_default() += 1;
    }
    let fits = numbers.len() + usize::from(others > 0) <= available;
    let told_apart = if fits { numbers.len() } else { available - 1 };
    let mut entries = Vec::new();
    let mut rest = others;
    for (position, ((_, key), number)) in numbers.into_iter().enumerate() {
        if position < told_apart {
            entries.push(entry(key, number));
        } else {
            rest += number;
        }
    }
    if rest > 0 {
        let key = [SEVERAL, "", "", "OTHERS"].map(str::to_owned);
        entries.push(entry(key, rest));
    }
    entries
}

fn entry([principal, tenant, method, reason]: [String; 4], number: u64) -> AuditEntry {
    AuditEntry {
        at: SystemTime::now(),
        principal,
        tenant,
        what: REFUSED,
        phase: Phase::Ended,
        resource: String::new(),
        kind: method,
        outcome: match number {
            1 => reason,
            number => format!("{reason}({number})"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str) -> RefusedCall {
        RefusedCall {
            method: Some(method.to_owned()),
            caller: None,
            reason: "UNAUTHENTICATED".to_owned(),
        }
    }

    fn outcomes(entries: &[AuditEntry]) -> Vec<String> {
        let texts = entries.iter();
        texts
            .map(|entry| format!("{} {} {}", entry.principal, entry.kind, entry.outcome))
            .collect()
    }

    #[test]
    fn equal_calls_are_one_record() {
        let calls = vec![call("CreateTask"), call("GetTask"), call("CreateTask")];
        assert_eq!(
            outcomes(&entries(calls, 0, 60)),
            [
                "(unknown) CreateTask UNAUTHENTICATED(2)",
                "(unknown) GetTask UNAUTHENTICATED"
            ]
        );
    }

    #[test]
    fn calls_beyond_the_budget_are_counted() {
        let calls = || (0..5).map(|number| call(&format!("Call{number}")));
        assert_eq!(
            outcomes(&entries(calls().collect(), 7, 3)),
            [
                "(unknown) Call0 UNAUTHENTICATED",
                "(unknown) Call1 UNAUTHENTICATED",
                "(several)  OTHERS(10)"
            ]
        );
        assert_eq!(entries(calls().collect(), 0, 5).len(), 5, "it fits");
        assert_eq!(
            outcomes(&entries(calls().collect(), 0, 1)),
            ["(several)  OTHERS(5)"]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_fills_no_disk() {
        let folder = tempfile::tempdir().unwrap();
        let durability = crate::Durability::Normal;
        let audit = AuditLog::open(folder.path(), durability).unwrap();
        let recorder = RefusalRecorder::start(audit);
        for second in 0..600 {
            for number in 0..20 {
                recorder.refused(call(&format!("Call{second}.{number}")));
            }
            tokio::time::sleep(INTERVAL).await;
        }
        drop(recorder);
        tokio::time::sleep(INTERVAL * 3).await;
        let mut text = Vec::new();
        crate::audit::export(folder.path(), &mut text).unwrap();
        let records = String::from_utf8(text).unwrap().lines().count();
        assert!(
            (600..=700).contains(&records),
            "{records} records of 12 000 calls"
        );
    }
}
