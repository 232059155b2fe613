//! Errors of the command line: what is wrong, where, and what to do.

use std::fs;

use tempfile::TempDir;

use crate::support::{finish, motorium};

/// Runs a command that fails with the code of wrong usage, and returns its error.
#[track_caller]
fn error_of(home: &TempDir, arguments: &[&str]) -> String {
    let (code, output, messages) = finish(motorium(home.path(), arguments));
    assert_eq!(code, Some(2), "{output}\n{messages}");
    messages
}

#[track_caller]
fn check(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A device on which every write fails, as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_command_whose_messages_cannot_be_written_fails_without_a_panic() {
    let home = home();
    let commands: [&[&str]; 4] = [
        &[
            "act",
            "--in-process",
            "--display",
            ":999",
            "click",
            "1",
            "1",
        ],
        &["see"],
        &["--config", "/nowhere.toml", "config"],
        &["act", "click", "abc", "1"],
    ];
    for arguments in commands {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = motorium(home.path(), arguments);
        let status = command.stderr(full).status().unwrap();
        // A panic has 101.
        assert_eq!(status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_misspelt_key_is_reported_with_its_line_and_the_key_that_is_meant() {
    let home = home();
    let file = home.path().join("motorium.toml");
    fs::write(&file, "[planner]\nbackend = [\"phrasebook\"]\n").unwrap();
    let error = error_of(&home, &["--config", file.to_str().unwrap(), "config"]);
    check(
        &error,
        &[
            "`planner.backend`",
            "line 2",
            "did you mean the setting `backends`?",
        ],
    );
}

#[test]
fn an_unknown_backend_is_reported_with_the_known_ones() {
    let set = ["--set", "planner.backends=gpt9"];
    let error = error_of(
        &home(),
        &[&set[..], &["run", "--in-process", "look"]].concat(),
    );
    check(&error, &["unknown backend `gpt9`", "phrasebook"]);
}

#[test]
fn a_configuration_that_no_service_starts_with_is_an_error() {
    let error = error_of(&home(), &["--set", "planner.backends=gpt9", "config"]);
    check(&error, &["unknown backend `gpt9`", "phrasebook"]);
    let error = error_of(&home(), &["--set", "executor.driver=foo", "config"]);
    check(&error, &["executor.driver", "foo"]);
}

#[test]
fn every_command_tells_how_to_start_the_server_that_it_does_not_reach() {
    let home = home();
    // Nothing listens on this port.
    let server = ["--server", "http://127.0.0.1:9"];
    let commands: [&[&str]; 7] = [
        &["tasks", "cancel", "one"],
        &["tasks", "show", "one"],
        &["tasks", "steps", "one"],
        &["tasks", "export", "one"],
        &["tasks", "approvals"],
        &["tasks", "save", "one", "out"],
        &["sessions", "export", "one"],
    ];
    for command in commands {
        let (group, rest) = command.split_at(1);
        let error = error_of(&home, &[group, &server, rest].concat());
        check(&error, &["`motorium up`"]);
        assert_eq!(error.matches("127.0.0.1:9").count(), 1, "{error}");
    }
}

#[test]
fn an_image_that_cannot_be_read_is_named_with_what_to_do() {
    let error = error_of(&home(), &["see", "--image", "none.png"]);
    check(&error, &["none.png", "cannot be read", "PNG"]);
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_anything_is_done() {
    let home = home();
    let error = error_of(&home, &["see", "-o", "/nonexistent/x.png"]);
    check(&error, &["cannot write /nonexistent/x.png"]);
    // Nothing listens there: the folder is tried before the task is sent.
    let run = ["run", "wait 1 second", "--server", "http://127.0.0.1:9"];
    let error = error_of(&home, &[&run[..], &["--save", "/proc/x"]].concat());
    check(&error, &["cannot write /proc/x"]);
}

#[test]
fn control_characters_of_arguments_do_not_reach_the_terminal() {
    let error = error_of(&home(), &["see", "--image", "\u{1b}[31m\u{202e}a.png"]);
    check(&error, &["\\u001b[31m\\u202ea.png"]);
    assert!(!error.contains(['\u{1b}', '\u{202e}']), "{error:?}");
}

#[test]
fn a_folder_that_is_no_export_is_not_replayed() {
    let home = home();
    fs::create_dir(home.path().join("photos")).unwrap();
    for (folder, reason) in [
        ("photos", "it has no file events.jsonl"),
        ("none", "it does not exist"),
    ] {
        let error = error_of(&home, &["replay", folder]);
        check(&error, &[folder, reason, "motorium tasks export"]);
    }
}

#[test]
fn an_export_leaves_the_files_of_others_alone() {
    let home = home();
    let folder = home.path().join("taxes");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("answer.md"), "mine").unwrap();
    fs::write(home.path().join("one.html"), "mine").unwrap();
    // Nothing listens there: the folder is checked before anything is asked for.
    let server = ["tasks", "export", "--server", "http://127.0.0.1:9", "one"];
    let export = |arguments: &[&str]| error_of(&home, &[&server[..], arguments].concat());
    check(
        &export(&["--to", "taxes"]),
        &["taxes has other files", "`--to`"],
    );
    check(&export(&["--html"]), &["one.html has other content"]);
    assert_eq!(
        fs::read_to_string(folder.join("answer.md")).unwrap(),
        "mine"
    );

    fs::write(folder.join("manifest.json"), r#"{"task": "tasks/two"}"#).unwrap();
    check(&export(&["--to", "taxes"]), &["the export of tasks/two"]);
    fs::write(folder.join("manifest.json"), r#"{"task": "tasks/one"}"#).unwrap();
    let own = export(&["--to", "taxes"]);
    assert!(
        !own.contains("overwrite"),
        "an earlier export is replaced: {own}"
    );
}

#[test]
fn doctor_names_the_command_that_installs_into_the_folder_in_use() {
    let home = home();
    let data = home.path().canonicalize().unwrap().join("my data");
    let command = motorium(home.path(), &["--data", "my data", "doctor"]);
    let (code, output, messages) = finish(command);
    assert_eq!(code, Some(1), "{output}\n{messages}");
    let expected = format!("MOTORIUM_DATA='{}' tools/setup", data.display());
    check(&output, &[&expected]);

    let (_, output, _) = finish(motorium(home.path(), &["doctor"]));
    check(&output, &["`tools/setup`"]);
}

#[test]
fn the_error_is_the_last_line_of_a_failed_start() {
    let home = home();
    let mut command = motorium(home.path(), &["--set", "log.level=debug", "up"]);
    // The services connect to it in vain and log that, also while they end.
    command.env("DISPLAY", ":59000");
    let (code, output, messages) = finish(command);
    assert_eq!(code, Some(2), "{output}\n{messages}");
    let last = messages.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: "), "{messages}");
}
