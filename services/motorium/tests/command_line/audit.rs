//! `motorium audit`: verifies and exports the log of the data folder without a server.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use motorium_store::Durability;
use motorium_store::audit::{AuditEntry, AuditLog, Phase};

use crate::support::{finish, motorium};

/// Writes a log with this many records of a caller.
async fn write(folder: &Path, principal: &str, count: usize) {
    let log = AuditLog::open(folder, Durability::Normal).unwrap();
    for number in 0..count {
        let entry = AuditEntry {
            at: SystemTime::UNIX_EPOCH,
            principal: principal.to_owned(),
            tenant: "acme".to_owned(),
            what: "CancelTask",
            phase: Phase::Begun,
            resource: format!("tasks/t{number}"),
            kind: String::new(),
            outcome: String::new(),
        };
        log.record(vec![entry]).await.unwrap();
    }
}

#[tokio::test]
async fn a_log_is_verified_and_exported() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let folder = data.join("audit");
    let run = |arguments: &[&str]| {
        let data = ["--data", data.to_str().unwrap(), "audit"];
        finish(motorium(home.path(), &[&data[..], arguments].concat()))
    };
    let (code, output, _) = run(&["verify"]);
    assert_eq!(code, Some(1), "there is no log yet: {output}");
    write(&folder, "ann", 3).await;
    let (code, output, messages) = run(&["verify"]);
    assert_eq!(code, Some(0), "{output}\n{messages}");
    assert!(output.contains("records 1 to 3"), "{output}");
    let checkpoint = output.split_whitespace().last().unwrap().to_owned();
    let (code, exported, _) = run(&["export"]);
    assert_eq!((code, exported.lines().count()), (Some(0), 3));

    let file = folder.join("00000000000000000001.jsonl");
    let forged = exported.replace("tasks/t1", "tasks/t9");
    fs::write(&file, forged).unwrap();
    let (code, output, _) = run(&["verify"]);
    assert_eq!(code, Some(1));
    assert!(output.contains("line 2"), "{output}");

    // Written anew as a whole, only the checkpoint tells.
    fs::remove_dir_all(&folder).unwrap();
    write(&folder, "bob", 4).await;
    assert_eq!(run(&["verify"]).0, Some(0));
    let (code, output, _) = run(&["verify", "--checkpoint", &checkpoint]);
    assert_eq!(code, Some(1));
    assert!(output.contains("written anew"), "{output}");
    assert_eq!(run(&["verify", "--checkpoint", "3"]).0, Some(2));
}
