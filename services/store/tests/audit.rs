//! Attacks on the audit log: whatever is changed, removed, inserted, moved or cut off is found.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use motorium_store::Durability;
use motorium_store::audit::{
    AuditEntry, AuditLog, AuditProblem, AuditReport, Checkpoint, Phase, export, verify,
};
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn entry(number: usize) -> AuditEntry {
    AuditEntry {
        at: SystemTime::UNIX_EPOCH,
        principal: "ann".to_owned(),
        tenant: "acme".to_owned(),
        what: "CancelTask",
        phase: Phase::Ended,
        resource: format!("tasks/t{number}"),
        kind: String::new(),
        outcome: "OK".to_owned(),
    }
}

/// Opens a log whose files have about ten records each.
fn open(folder: &Path) -> AuditLog {
    AuditLog::open_with(folder, Durability::Normal, 4000).unwrap()
}

async fn log_of(count: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    for number in 0..count {
        log.record(vec![entry(number)]).await.unwrap();
    }
    folder
}

fn files(folder: &TempDir) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some())
        .collect();
    files.sort();
    files
}

fn check(folder: &TempDir) -> Result<AuditReport, AuditProblem> {
    verify(folder.path(), None)
}

/// Changes the lines of a file.
fn edit(path: &Path, change: impl FnOnce(&mut Vec<String>)) {
    let text = fs::read_to_string(path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    fs::write(path, text).unwrap();
}

#[tokio::test]
async fn an_untouched_log_is_whole_over_files_and_restarts() {
    let folder = log_of(25).await;
    let log = open(folder.path());
    log.record(vec![entry(25), entry(26)]).await.unwrap();
    assert!(files(&folder).len() > 1, "the first file is full");
    let report = check(&folder).unwrap();
    assert_eq!((report.records, report.first, report.last.seq), (27, 1, 27));
    assert!(report.has_head);
    let mut exported = Vec::new();
    export(folder.path(), &mut exported).unwrap();
    let exported = String::from_utf8(exported).unwrap();
    let numbers: Vec<u64> = exported
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(numbers, (1..=27).collect::<Vec<_>>());
    let copy = folder.path().join("copy.txt");
    fs::write(&copy, exported).unwrap();
    assert_eq!(
        verify(&copy, None).unwrap().records,
        27,
        "an export can be verified too"
    );
}

#[tokio::test]
async fn every_flipped_byte_is_found() {
    let folder = log_of(3).await;
    let path = files(&folder).remove(0);
    let original = fs::read(&path).unwrap();
    for at in 0..original.len() {
        let mut changed = original.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).unwrap();
        assert!(
            check(&folder).is_err(),
            "byte {at}: {}",
            original[at] as char
        );
    }
    fs::write(&path, &original).unwrap();
    check(&folder).unwrap();
}

#[tokio::test]
async fn removed_moved_and_inserted_records_are_found() {
    type Attack = (&'static str, fn(&mut Vec<String>));
    let attacks: [Attack; 6] = [
        ("drop one", |lines| drop(lines.remove(4))),
        ("drop the first", |lines| drop(lines.remove(0))),
        ("swap two", |lines| lines.swap(3, 4)),
        ("repeat one", |lines| lines.insert(4, lines[3].clone())),
        ("insert a line", |lines| lines.insert(2, "{}".to_owned())),
        ("empty a line", |lines| lines[2].clear()),
    ];
    for (attack, change) in attacks {
        let folder = log_of(25).await;
        edit(&files(&folder)[0], change);
        assert!(check(&folder).is_err(), "{attack}");
    }
}

#[tokio::test]
async fn a_shortened_log_is_found() {
    let folder = log_of(25).await;
    edit(files(&folder).last().unwrap(), |lines| drop(lines.pop()));
    let problem = check(&folder).unwrap_err();
    assert!(
        matches!(problem, AuditProblem::Truncated { last: 24, head: 25 }),
        "{problem}"
    );

    let folder = log_of(25).await;
    fs::remove_file(files(&folder).last().unwrap()).unwrap();
    assert!(matches!(
        check(&folder),
        Err(AuditProblem::Truncated { .. })
    ));

    let folder = log_of(25).await;
    fs::remove_file(files(&folder).remove(0)).unwrap();
    assert!(matches!(
        check(&folder),
        Err(AuditProblem::BeginningMissing { .. })
    ));

    let folder = log_of(25).await;
    fs::remove_file(folder.path().join("head")).unwrap();
    assert!(matches!(check(&folder), Err(AuditProblem::HeadMissing)));
}

#[tokio::test]
async fn a_shortened_log_is_found_after_it_has_grown_again() {
    for lose_head in [false, true] {
        let folder = log_of(6).await;
        edit(&files(&folder)[0], |lines| lines.truncate(4));
        if lose_head {
            fs::remove_file(folder.path().join("head")).unwrap();
        }
        let log = open(folder.path());
        log.record(vec![entry(9)]).await.unwrap();
        drop(log);
        let problem = check(&folder).unwrap_err();
        let found = match problem {
            AuditProblem::OutOfOrder { expected, found } => (expected, found) == (5, 7),
            AuditProblem::LossRecorded { seq } => lose_head && seq == 5,
            _ => false,
        };
        assert!(found, "head lost: {lose_head}");
    }
}

#[tokio::test]
async fn a_log_that_was_written_anew_is_found_by_a_checkpoint() {
    let original = log_of(5).await;
    let kept: Checkpoint = check(&original).unwrap().last.to_string().parse().unwrap();
    let forged = log_of(9).await;
    let log = open(forged.path());
    log.record(vec![entry(99)]).await.unwrap();
    // The same beginning is no forgery.
    verify(forged.path(), Some(&kept)).unwrap();
    let other = tempfile::tempdir().unwrap();
    let log = open(other.path());
    for number in 0..9 {
        let forged = AuditEntry {
            principal: "bob".to_owned(),
            ..entry(number)
        };
        log.record(vec![forged]).await.unwrap();
    }
    verify(other.path(), None).unwrap();
    let found = verify(other.path(), Some(&kept));
    assert!(matches!(
        found,
        Err(AuditProblem::CheckpointDiffers { seq: 5 })
    ));
    let short = log_of(3).await;
    let found = verify(short.path(), Some(&kept));
    assert!(matches!(
        found,
        Err(AuditProblem::CheckpointMissing { seq: 5, .. })
    ));
}

#[tokio::test]
async fn archived_files_are_replaced_by_a_checkpoint() {
    let folder = log_of(25).await;
    let first = files(&folder).remove(0);
    let archived = verify(&first, None).unwrap();
    assert!(!archived.has_head);
    fs::remove_file(first).unwrap();
    let report = verify(folder.path(), Some(&archived.last)).unwrap();
    assert_eq!(report.first, archived.last.seq + 1);
}

fn at_day(number: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + DAY * u32::try_from(number).unwrap()
}

/// Creates a log with one record per day for `days` days. After each, files older than `keep` are removed.
async fn log_of_days(days: u64, keep: Duration) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let log = AuditLog::open(folder.path(), Durability::Normal).unwrap();
    for day in 0..days {
        let daily = AuditEntry {
            at: at_day(day),
            ..entry(0)
        };
        log.record(vec![daily]).await.unwrap();
        log.remove_older(keep, at_day(day)).await.unwrap();
    }
    folder
}

#[tokio::test]
async fn old_records_are_removed_and_the_rest_can_be_verified() {
    let folder = log_of_days(100, 10 * DAY).await;
    let report = check(&folder).unwrap();
    assert!((10..=30).contains(&report.records), "{report:?}");
    assert!(report.first > 80, "{report:?}");
    let kept = log_of_days(9, 10 * DAY).await;
    assert_eq!(check(&kept).unwrap().first, 1);
}

#[tokio::test]
async fn no_more_than_the_log_says_can_be_removed_at_its_beginning() {
    let folder = log_of_days(100, 10 * DAY).await;
    let first = files(&folder).remove(0);
    fs::remove_file(first).unwrap();
    let problem = check(&folder).unwrap_err();
    assert!(
        matches!(problem, AuditProblem::BeginningMissing { .. }),
        "{problem}"
    );

    // Cut off within a file.
    let folder = log_of_days(100, 10 * DAY).await;
    let first = files(&folder).remove(0);
    edit(&first, |lines| drop(lines.remove(0)));
    let problem = check(&folder).unwrap_err();
    assert!(
        matches!(problem, AuditProblem::BeginningMissing { .. }),
        "{problem}"
    );
}

#[tokio::test]
async fn a_removal_that_was_interrupted_is_verified_too() {
    let folder = tempfile::tempdir().unwrap();
    // Small files, of which several are removed at once.
    let log = open(folder.path());
    for number in 0..40 {
        log.record(vec![entry(number)]).await.unwrap();
    }
    let before = files(&folder);
    let last_of_old: PathBuf = before[before.len() - 2].clone();
    let saved = fs::read(&last_of_old).unwrap();
    let removed = log.remove_older(DAY, at_day(9)).await.unwrap();
    assert_eq!(removed, before.len() - 1);
    check(&folder).unwrap();
    fs::write(&last_of_old, saved).unwrap();
    check(&folder).unwrap();
}

#[tokio::test]
async fn two_processes_append_to_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let logs = [open(folder.path()), open(folder.path())];
    let writes = (0..40).map(|number| {
        let log = logs[number % 2].clone();
        tokio::spawn(async move { log.record(vec![entry(number)]).await })
    });
    for write in writes.collect::<Vec<_>>() {
        write.await.unwrap().unwrap();
    }
    assert_eq!(check(&folder).unwrap().records, 40);
}

#[tokio::test]
async fn a_record_that_was_cut_off_by_a_crash_is_not_damage() {
    let folder = log_of(3).await;
    let path = files(&folder).remove(0);
    let mut content = fs::read(&path).unwrap();
    content.extend_from_slice(b"{\"seq\":4,\"ti");
    fs::write(&path, content).unwrap();
    let log = open(folder.path());
    log.record(vec![entry(3)]).await.unwrap();
    assert_eq!(check(&folder).unwrap().records, 4);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_fails_its_callers() {
    let folder = log_of(2).await;
    let log = open(folder.path());
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(log.record(vec![entry(2)]).await.is_err());
}

/// Returns the number of bytes that this thread has read from files so far.
#[cfg(target_os = "linux")]
fn bytes_read() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let read = counters
        .lines()
        .find_map(|line| line.strip_prefix("rchar: "));
    read.unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_end_of_a_long_log_is_found_without_reading_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = AuditLog::open(folder.path(), Durability::Normal).unwrap();
    log.record((0..20_000).map(entry).collect()).await.unwrap();
    let path = files(&folder).remove(0);
    let size = fs::metadata(&path).unwrap().len();
    assert!(size > 4_000_000, "{size}");
    // As each of two writers does after the other has appended.
    let before = bytes_read();
    let other = AuditLog::open(folder.path(), Durability::Normal).unwrap();
    let read = bytes_read() - before;
    assert!(read < 100_000, "{read} of {size} bytes were read");
    log.record(vec![entry(20_000)]).await.unwrap();
    other.record(vec![entry(20_001)]).await.unwrap();
    assert_eq!(check(&folder).unwrap().records, 20_002);
}

#[tokio::test]
async fn a_record_that_was_cut_off_is_found_whatever_its_length() {
    for length in [1, 8 * 1024, 8 * 1024 + 1, 100_000] {
        let folder = log_of(3).await;
        let path = files(&folder).remove(0);
        let mut content = fs::read(&path).unwrap();
        content.extend(vec![b'x'; length]);
        fs::write(&path, content).unwrap();
        let log = open(folder.path());
        log.record(vec![entry(3)]).await.unwrap();
        assert_eq!(check(&folder).unwrap().records, 4, "{length}");
    }
}
