//! Machine faults while the program runs: a full disk, a changed clock.

use std::process::Command;
use std::time::Duration;

use motorium_executor::error::reason;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::{
    ActionProgress, Executor as _, LookUpRequest, PerformRequest, RenewRequest,
};

use crate::support::page::{self, Page};
use crate::support::served::{ExecutorProcess, PROGRAM, TTL};
use crate::support::{Desktop, Process};
use crate::{chord, click_at};

fn click() -> Action<CapturePoint> {
    click_at(CapturePoint::new(300, 300))
}

/// Limits the file size of a process, which acts like a full disk.
fn limit_files(process: &Process, limit: &str) {
    let status = Command::new("prlimit")
        .args([
            "--pid",
            &process.id().to_string(),
            &format!("--fsize={limit}:unlimited"),
        ])
        .status()
        .unwrap();
    assert!(status.success());
}

#[tokio::test]
async fn full_disk_refuses_actions_and_loses_no_records() {
    let mut desktop = Desktop::start("us").await;
    let page = Page::open(&mut desktop, page::POINTER).await;
    let mut command = desktop.command("sh");
    // Writes beyond the limit must fail instead of killing the process.
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", PROGRAM]);
    let served = ExecutorProcess::start_by(&desktop, command).await;
    let epoch = served.acquire(TTL).await;
    let perform = async |served: &ExecutorProcess, id: &str| {
        // For a task, as the Orchestrator asks: without one, the audit log is written before the journal.
        let request = PerformRequest {
            creator: Some("ann".to_owned()),
            ..served.request(epoch, id, click())
        };
        served.executor.perform(request).await
    };
    let first = perform(&served, "before").await.unwrap();
    assert_eq!(first.result, ActionResult::Performed);

    // The limit is in the middle of the next line.
    let journal = desktop.path("data/executor");
    let journal = journal
        .join(served.display.as_str().replace(':', "_"))
        .join("journal");
    let length = std::fs::metadata(&journal).unwrap().len();
    limit_files(&served.process, &(length + 10).to_string());
    for id in ["full", "full", "as well"] {
        let error = perform(&served, id).await.unwrap_err();
        assert_eq!(error.reason, reason::STORAGE_FAILED, "{error:?}");
        assert!(error.message.contains("journal"), "{error:?}");
    }
    // Calls that need no disk still work.
    served.executor.get_pointer(None).await.unwrap();
    served.executor.release_all(None).await.unwrap();
    assert!(perform(&served, "before").await.unwrap().already_performed);

    limit_files(&served.process, "unlimited");
    let after = perform(&served, "full").await.unwrap();
    assert_eq!(
        (after.result, after.already_performed),
        (ActionResult::Performed, false)
    );
    served.process.signal("KILL");
    drop(served);
    let served = ExecutorProcess::start(&desktop).await;
    for id in ["before", "full"] {
        assert!(
            perform(&served, id).await.unwrap().already_performed,
            "{id}"
        );
    }
    let never = served
        .executor
        .look_up_action(LookUpRequest {
            display: None,
            action_id: ActionId::new("as well"),
        })
        .await;
    assert_eq!(never.unwrap(), ActionProgress::NotStarted);
    let last = served.request(epoch, "last", chord("f9"));
    served.executor.perform(last).await.unwrap();
    page.wait("the last key", |event| event["key"] == "F9")
        .await;
    let events = page.events();
    let clicks = events.iter().filter(|event| event["kind"] == "click");
    assert_eq!(clicks.count(), 2);
}

/// Preloaded library that fakes a program's clock.
const FAKE_CLOCK: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

#[tokio::test]
async fn clock_changes_keep_the_lease_and_repeat_no_action() {
    let desktop = Desktop::start("us").await;
    // The loader ignores a missing library, and the test would prove nothing.
    assert!(
        std::path::Path::new(FAKE_CLOCK).exists(),
        "libfaketime is missing"
    );
    let clock = desktop.path("clock");
    let set = |offset: &str| std::fs::write(&clock, offset).unwrap();
    set("+0");
    let mut command = desktop.command(PROGRAM);
    command
        .env("LD_PRELOAD", FAKE_CLOCK)
        .env("FAKETIME_TIMESTAMP_FILE", &clock)
        .env("FAKETIME_NO_CACHE", "1")
        .env("DONT_FAKE_MONOTONIC", "1");
    let served = ExecutorProcess::start_by(&desktop, command).await;
    let epoch = served.acquire(TTL).await;
    let perform = async |id: &str| {
        let request = served.request(epoch, id, click());
        served.executor.perform(request).await
    };
    assert!(!perform("once").await.unwrap().already_performed);
    for offset in ["+30d", "-30d", "+0"] {
        set(offset);
        assert!(perform("once").await.unwrap().already_performed, "{offset}");
        let other = perform(offset).await.unwrap();
        assert_eq!(
            (other.result, other.already_performed),
            (ActionResult::Performed, false)
        );
        served
            .executor
            .renew_lease(RenewRequest {
                display: served.display.clone(),
                epoch,
                ttl: TTL,
            })
            .await
            .unwrap();
    }
    // A lease that is not renewed ends on time.
    let short = served.acquire(Duration::from_secs(1)).await;
    set("-30d");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let late = served
        .executor
        .perform(served.request(short, "late", click()))
        .await;
    assert_eq!(late.unwrap_err().reason, reason::LEASE_EXPIRED);
    served.acquire(TTL).await;
}
