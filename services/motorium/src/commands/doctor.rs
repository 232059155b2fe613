//! `motorium doctor`: checks this machine for missing requirements, shows how to install them, and tries the display.
//!
//! It does not install anything itself.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_perception::config::Settings as PerceptionSettings;

use super::desktop_probe::probe;
use super::diagnosis::Diagnosis;
use super::running::PerceptionHandle;
use crate::error::Error;
use crate::output;
use crate::show::text;
use crate::virtual_desktop::{self, is_installed};

/// Runs all checks. The exit code is 1 if a requirement is missing.
pub(crate) async fn doctor(loaded: &LayeredConfig) -> Result<ExitCode, Error> {
    let common = loaded.common()?;
    let data = common.data()?;
    let mut findings = vec![data_folder(data)];
    findings.extend(model_files(&loaded.section()?, data, &setup_command(data)));
    findings.push(x_server());
    findings.extend(programs());
    findings.extend(display(loaded).await);
    let missing = findings
        .iter()
        .filter(|finding| matches!(finding, Diagnosis::Missing { .. }))
        .count();
    for finding in &findings {
        output::line(&finding.line());
    }
    if missing == 0 {
        let outcome = match findings.iter().any(Diagnosis::is_degraded) {
            true => Message::CheckAllMetWithWarnings,
            false => Message::CheckAllMet,
        };
        output::line(&text(outcome));
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&text(Message::CheckMissing { count: missing }));
    Ok(ExitCode::FAILURE)
}

fn data_folder(data: &Path) -> Diagnosis {
    let probe = data.join(".doctor");
    let written = fs::create_dir_all(data)
        .and_then(|()| fs::write(&probe, b""))
        .and_then(|()| fs::remove_file(&probe));
    let path = &data.to_string_lossy();
    match written {
        Ok(()) => Diagnosis::Ok(text(Message::CheckDataFolder { path })),
        Err(error) => Diagnosis::Missing {
            what: text(Message::CheckDataFolderUnwritable {
                path,
                problem: &error.to_string(),
            }),
            remedy: text(Message::RemedyDataFolder),
        },
    }
}

/// Returns the command that installs the models in the data folder. The script knows the environment only, and neither
/// `--data` nor the configuration file.
fn setup_command(data: &Path) -> String {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    setup_command_for(data, script_folder(variable).as_deref())
}

/// Returns the folder that `tools/setup` uses on its own: the same rule stands at its top.
fn script_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(data) = variable("MOTORIUM_DATA") {
        return Some(data.into());
    }
    let home = || Some(PathBuf::from(variable("HOME")?).join(".local/share"));
    let share = variable("XDG_DATA_HOME").map(PathBuf::from);
    Some(share.or_else(home)?.join("motorium"))
}

fn setup_command_for(data: &Path, of_script: Option<&Path>) -> String {
    // The script may be started in another folder than this command.
    let absolute = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    if of_script == Some(absolute.as_path()) {
        return "tools/setup".to_owned();
    }
    let folder = shell_word(&absolute.to_string_lossy());
    format!("MOTORIUM_DATA={folder} tools/setup")
}

/// Quotes a text for a shell, if it has other characters than plain paths.
fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns what is missing of the files that seeing needs, as lines for people.
pub(super) fn missing_model_files(loaded: &LayeredConfig) -> Result<Vec<String>, Error> {
    let common = loaded.common()?;
    let data = common.data()?;
    let files = model_files(&loaded.section()?, data, &setup_command(data));
    let missing = files
        .iter()
        .filter(|found| matches!(found, Diagnosis::Missing { .. }));
    Ok(missing.map(Diagnosis::line).collect())
}

/// Looks for the files of the models. `setup` is the command that installs those of the data folder.
fn model_files(settings: &PerceptionSettings, data: &Path, setup: &str) -> Vec<Diagnosis> {
    let files = match settings.model_files(data) {
        Ok(files) => files,
        Err(error) => {
            return vec![Diagnosis::Missing {
                what: error.to_string(),
                remedy: text(Message::RemedySetting),
            }];
        }
    };
    let ocr = data.join("models/ocr");
    let look = |(name, file): (Message<'_>, &PathBuf)| {
        let (name, path) = (&*text(name), &*file.to_string_lossy());
        if !file.is_file() {
            return Diagnosis::Missing {
                what: text(Message::CheckFileMissing { name, path }),
                remedy: text(Message::RemedyInstallModel { command: setup }),
            };
        }
        let published = ["detect.onnx", "recognise.onnx"].map(|name| ocr.join(name));
        if published.contains(file) {
            return Diagnosis::Degraded {
                what: text(Message::CheckFileSlow { name, path }),
                remedy: text(Message::RemedyOptimiseModel { command: setup }),
            };
        }
        Diagnosis::Ok(text(Message::CheckFile { name, path }))
    };
    [
        (Message::ModelRuntime, &files.runtime),
        (Message::ModelTextDetection, &files.text_detection),
        (Message::ModelTextRecognition, &files.text_recognition),
    ]
    .map(look)
    .into()
}

fn x_server() -> Diagnosis {
    let mut servers = virtual_desktop::SERVERS.into_iter();
    match servers.find(|program| is_installed(program)) {
        Some(program) => Diagnosis::Ok(text(Message::CheckDisplayServer { program })),
        None => Diagnosis::Degraded {
            what: text(Message::CheckNoDisplayServer),
            remedy: "apt-get install tigervnc-standalone-server (or xvfb)".to_owned(),
        },
    }
}

fn programs() -> Vec<Diagnosis> {
    let wanted = [
        ("icewm", "icewm", Message::PurposeWindowManager),
        ("dbus-daemon", "dbus", Message::PurposeSessionBus),
        (
            virtual_desktop::ACCESS_EDITOR,
            virtual_desktop::ACCESS_EDITOR_PACKAGE,
            Message::PurposeDisplayAccess,
        ),
        (
            virtual_desktop::SANDBOX_PROGRAM,
            virtual_desktop::SANDBOX_PACKAGE,
            Message::PurposeIsolation,
        ),
        ("chromium", "chromium", Message::PurposeBrowser),
        ("mousepad", "mousepad", Message::PurposeEditor),
    ];
    let look = |(program, package, purpose): (&str, &str, Message<'_>)| {
        let purpose = &text(purpose);
        let what = text(Message::CheckProgram { program, purpose });
        if is_installed(program) {
            return Diagnosis::Ok(what);
        }
        Diagnosis::Degraded {
            what,
            remedy: format!("apt-get install {package}"),
        }
    };
    wanted.map(look).into()
}

/// Lists the displays of the running services, or else of the session, and tries the first one.
async fn display(loaded: &LayeredConfig) -> Vec<Diagnosis> {
    let no_display = |problem: String| Diagnosis::Degraded {
        what: text(Message::CheckNoDisplay { problem: &problem }),
        remedy: text(Message::RemedyStartDesktop),
    };
    let eyes = match PerceptionHandle::connect(loaded, false).await {
        Ok(eyes) => eyes,
        Err(error) => return vec![no_display(error.to_string())],
    };
    let perception = eyes.perception.as_ref();
    let displays = match perception.list_displays().await {
        Ok(displays) => displays,
        Err(report) => return vec![no_display(report.message)],
    };
    let names: Vec<String> = displays
        .iter()
        .map(|display| {
            format!(
                "{} ({}×{})",
                display.id, display.size.width, display.size.height
            )
        })
        .collect();
    let running = eyes.found_at.as_deref();
    let mut findings: Vec<Diagnosis> = running
        .map(|address| Diagnosis::Ok(text(Message::CheckRunning { address })))
        .into_iter()
        .collect();
    findings.push(Diagnosis::Ok(text(Message::CheckDisplays {
        displays: &names.join(", "),
    })));
    if let Some(display) = displays.first() {
        findings.extend(probe(loaded, perception, &display.id).await);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_up_command_names_the_folder_unless_the_script_uses_it_anyway() {
        let check = |data: &str, of_script: Option<&str>, expected: &str| {
            let of_script = of_script.map(Path::new);
            assert_eq!(setup_command_for(Path::new(data), of_script), expected);
        };
        check("/d", Some("/d"), "tools/setup");
        check("/d", Some("/other"), "MOTORIUM_DATA=/d tools/setup");
        check("/d", None, "MOTORIUM_DATA=/d tools/setup");
        check("/my d", None, "MOTORIUM_DATA='/my d' tools/setup");
        check("/it's", None, r"MOTORIUM_DATA='/it'\''s' tools/setup");
    }

    #[test]
    fn the_script_finds_its_folder_in_the_environment() {
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            let folder = script_folder(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            });
            assert_eq!(folder.as_deref(), expected.map(Path::new));
        };
        let home = ("HOME", "/h");
        check(&[], None);
        check(&[home], Some("/h/.local/share/motorium"));
        check(&[home, ("XDG_DATA_HOME", "/x")], Some("/x/motorium"));
        check(&[home, ("MOTORIUM_DATA", "/d")], Some("/d"));
    }
}
