//! Backups and restorations by the program, and the help of what fails.

use std::fs;
use std::path::Path;

use motorium_store::{Durability, SqliteStore};

use crate::support::{finish, motorium};

/// Runs a command on this data folder. Returns its exit code and everything that it printed.
fn run(home: &Path, data: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let arguments = [&["--data", data], arguments].concat();
    let (code, output, messages) = finish(motorium(home, &arguments));
    (code, output + &messages)
}

#[track_caller]
fn check(answer: (Option<i32>, String), code: i32, parts: &[&str]) {
    for part in parts {
        assert!(answer.1.contains(part), "`{part}` is not in: {}", answer.1);
    }
    assert_eq!(answer.0, Some(code), "{}", answer.1);
}

#[tokio::test]
async fn a_store_is_backed_up_while_it_is_open_and_restored_once_it_is_closed() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let file = home.join("data/tasks.db");
    let store = SqliteStore::open(&file, Durability::Normal).await.unwrap();
    let backup = |arguments: &[&str]| run(home, "data", arguments);
    check(backup(&["backup", "monday"]), 0, &["monday", "0 files"]);
    check(backup(&["backup", "monday"]), 2, &["not empty"]);
    check(backup(&["restore", "monday", "--force"]), 2, &["in use"]);
    check(run(home, "other", &["restore", "monday"]), 0, &["paused"]);
    check(run(home, "other", &["restore", "monday"]), 2, &["--force"]);

    store.close().await;
    drop(store);
    check(
        backup(&["restore", "monday", "--force"]),
        0,
        &["paused", "replaced-"],
    );
    fs::write(home.join("monday/tasks.db"), "damaged").unwrap();
    check(
        run(home, "third", &["restore", "monday"]),
        2,
        &["tasks.db", "checksum", "nothing was restored"],
    );
    check(backup(&["restore", "elsewhere"]), 2, &["no backup"]);
}

#[test]
fn refused_backups_and_deletions_are_explained() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let postgres = "store.tasks=postgres://localhost/m";
    check(
        run(home, "data", &["--set", postgres, "backup", "monday"]),
        2,
        &["docs/operations.md"],
    );
    check(run(home, "data", &["backup", "monday"]), 2, &["tasks.db"]);
    check(
        run(home, "data", &["delete", "invoice"]),
        2,
        &["tasks/NAME"],
    );
    check(
        run(home, "data", &["purge", "--older-than", "a month"]),
        2,
        &["ms, s, m, h or d"],
    );
    let server = ["--server", "http://127.0.0.1:1"];
    check(
        run(home, "data", &[&["health"], &server[..]].concat()),
        2,
        &["http://127.0.0.1:1"],
    );
}
