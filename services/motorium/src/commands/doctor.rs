//! `motorium doctor`: checks this machine for missing requirements, shows how to install them, and tries the display.
//!
//! It does not install anything itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_perception::config::Settings as PerceptionSettings;
use motorium_proto::service::Perception as _;

use super::desktop_probe::probe;
use super::diagnosis::Diagnosis;
use crate::error::Error;
use crate::show::text;
use crate::{output, process};

/// Runs all checks. The exit code is 1 if a requirement is missing.
pub(crate) async fn doctor(loaded: &LayeredConfig) -> Result<ExitCode, Error> {
    let common = loaded.common()?;
    let data = common.data()?;
    let mut findings = vec![data_folder(data)];
    findings.extend(model_files(&loaded.section()?, data));
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

fn model_files(settings: &PerceptionSettings, data: &Path) -> Vec<Diagnosis> {
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
                remedy: text(Message::RemedyInstallModel),
            };
        }
        let published = ["detect.onnx", "recognise.onnx"].map(|name| ocr.join(name));
        if published.contains(file) {
            return Diagnosis::Degraded {
                what: text(Message::CheckFileSlow { name, path }),
                remedy: text(Message::RemedyOptimiseModel),
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

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn x_server() -> Diagnosis {
    match ["Xtigervnc", "Xvfb"]
        .into_iter()
        .find(|program| is_installed(program))
    {
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

/// Lists the displays and tries the first one.
async fn display(loaded: &LayeredConfig) -> Vec<Diagnosis> {
    let no_display = |problem: String| Diagnosis::Degraded {
        what: text(Message::CheckNoDisplay { problem: &problem }),
        remedy: text(Message::RemedyStartDesktop),
    };
    let perception = match process::perception(loaded, None).await {
        Ok(perception) => perception,
        Err(error) => return vec![no_display(error.to_string())],
    };
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
    let mut findings = vec![Diagnosis::Ok(text(Message::CheckDisplays {
        displays: &names.join(", "),
    }))];
    if let Some(display) = displays.first() {
        findings.extend(probe(loaded, perception.as_ref(), &display.id).await);
    }
    findings
}
