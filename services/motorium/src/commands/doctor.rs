//! `motorium doctor`: checks this machine for missing requirements, shows how to install them, and tries the display.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_perception::config::Settings as PerceptionSettings;
use motorium_proto::service::Perception as _;

use super::desktop_probe::probe;
use super::diagnosis::Diagnosis;
use crate::error::Error;
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
        output::line(if findings.iter().any(Diagnosis::is_degraded) {
            "all requirements are met; the warnings say what works less well or not at all"
        } else {
            "all requirements are met"
        });
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!("{missing} requirements are missing"));
    Ok(ExitCode::FAILURE)
}

fn data_folder(data: &Path) -> Diagnosis {
    let probe = data.join(".doctor");
    let written = fs::create_dir_all(data)
        .and_then(|()| fs::write(&probe, b""))
        .and_then(|()| fs::remove_file(&probe));
    match written {
        Ok(()) => Diagnosis::Ok(format!("data folder {}", data.display())),
        Err(error) => Diagnosis::Missing {
            what: format!("data folder {} cannot be written: {error}", data.display()),
            remedy: "choose another folder with --data or MOTORIUM_DATA".to_owned(),
        },
    }
}

fn model_files(settings: &PerceptionSettings, data: &Path) -> Vec<Diagnosis> {
    let files = match settings.model_files(data) {
        Ok(files) => files,
        Err(error) => {
            return vec![Diagnosis::Missing {
                what: error.to_string(),
                remedy: "correct the setting, or remove it".to_owned(),
            }];
        }
    };
    let ocr = data.join("models/ocr");
    let look = |(name, path): (&str, &PathBuf)| {
        if !path.is_file() {
            return Diagnosis::Missing {
                what: format!("{name}: {} does not exist", path.display()),
                remedy: "install it with `tools/setup` in a checkout of Motorium".to_owned(),
            };
        }
        let found = format!("{name} in {}", path.display());
        let published = ["detect.onnx", "recognise.onnx"].map(|name| ocr.join(name));
        if published.contains(path) {
            return Diagnosis::Degraded {
                what: format!("{found}, the original, slower version"),
                remedy: "optimise it with `tools/setup` in a checkout of Motorium".to_owned(),
            };
        }
        Diagnosis::Ok(found)
    };
    [
        ("ONNX Runtime", &files.runtime),
        ("the text detection model", &files.text_detection),
        ("the text recognition model", &files.text_recognition),
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
        Some(program) => Diagnosis::Ok(format!("{program}, for virtual desktops")),
        None => Diagnosis::Degraded {
            what: "no X server for virtual desktops".to_owned(),
            remedy: "apt-get install tigervnc-standalone-server (or xvfb)".to_owned(),
        },
    }
}

fn programs() -> Vec<Diagnosis> {
    let wanted = [
        ("icewm", "icewm", "the window manager of virtual desktops"),
        ("dbus-daemon", "dbus", "the session bus of virtual desktops"),
        (
            "chromium",
            "chromium",
            "the browser that URLs are opened in",
        ),
        (
            "mousepad",
            "mousepad",
            "the text editor of virtual desktops",
        ),
    ];
    let look = |(program, package, purpose): (&str, &str, &str)| {
        if is_installed(program) {
            return Diagnosis::Ok(format!("{program}, {purpose}"));
        }
        Diagnosis::Degraded {
            what: format!("{program}, {purpose}"),
            remedy: format!("apt-get install {package}"),
        }
    };
    wanted.map(look).into()
}

/// Lists the displays and tries the first one.
async fn display(loaded: &LayeredConfig) -> Vec<Diagnosis> {
    let no_display = |problem: String| Diagnosis::Degraded {
        what: format!("no display: {problem}"),
        remedy: "start a virtual desktop with `motorium up`".to_owned(),
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
    let mut findings = vec![Diagnosis::Ok(format!("display {}", names.join(", ")))];
    if let Some(display) = displays.first() {
        findings.extend(probe(loaded, perception.as_ref(), &display.id).await);
    }
    findings
}
