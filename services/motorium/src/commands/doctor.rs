//! `motorium doctor`: what is missing on this machine, and how to get it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use motorium_kit::config::Loaded;
use motorium_perception::config::Settings as PerceptionSettings;
use motorium_proto::service::Perception as _;

use crate::error::Error;
use crate::{output, process};

/// What a look at one thing found.
enum Finding {
    Well(String),
    /// Something works less well or not at all without it, but not everything needs it.
    Lacking {
        what: String,
        remedy: String,
    },
    Missing {
        what: String,
        remedy: String,
    },
}

/// Looks at everything. Exit code 1 if something needed is missing.
pub(crate) async fn doctor(loaded: &Loaded) -> Result<ExitCode, Error> {
    let common = loaded.common()?;
    let data = common.data()?;
    let mut findings = vec![data_folder(data)];
    findings.extend(model_files(&loaded.section()?, data));
    findings.push(x_server());
    findings.extend(programs());
    findings.push(display(loaded).await);
    let missing = findings
        .iter()
        .filter(|finding| matches!(finding, Finding::Missing { .. }))
        .count();
    for finding in &findings {
        output::line(&words(finding));
    }
    if missing == 0 {
        output::line("everything that is needed is here");
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!("{missing} needed things are missing"));
    Ok(ExitCode::FAILURE)
}

fn words(finding: &Finding) -> String {
    match finding {
        Finding::Well(what) => format!("  ok       {what}"),
        Finding::Lacking { what, remedy } => format!("  lacking  {what}\n             {remedy}"),
        Finding::Missing { what, remedy } => format!("  missing  {what}\n             {remedy}"),
    }
}

fn data_folder(data: &Path) -> Finding {
    let probe = data.join(".doctor");
    let written = fs::create_dir_all(data)
        .and_then(|()| fs::write(&probe, b""))
        .and_then(|()| fs::remove_file(&probe));
    match written {
        Ok(()) => Finding::Well(format!("data folder {}", data.display())),
        Err(error) => Finding::Missing {
            what: format!("data folder {} cannot be written: {error}", data.display()),
            remedy: "choose another one with --data or MOTORIUM_DATA".to_owned(),
        },
    }
}

fn model_files(settings: &PerceptionSettings, data: &Path) -> Vec<Finding> {
    let files = match settings.model_files(data) {
        Ok(files) => files,
        Err(error) => {
            return vec![Finding::Missing {
                what: error.to_string(),
                remedy: "correct the setting, or take it away".to_owned(),
            }];
        }
    };
    let ocr = data.join("models/ocr");
    let look = |(name, path): (&str, &PathBuf)| {
        if !path.is_file() {
            return Finding::Missing {
                what: format!("{name}: there is no {}", path.display()),
                remedy: "fetch it with `tools/setup` in a checkout of Motorium".to_owned(),
            };
        }
        let found = format!("{name} in {}", path.display());
        let published = ["detect.onnx", "recognise.onnx"].map(|name| ocr.join(name));
        if published.contains(path) {
            return Finding::Lacking {
                what: format!("{found}, which is as it was published"),
                remedy: "`tools/setup` in a checkout of Motorium makes a faster one of it"
                    .to_owned(),
            };
        }
        Finding::Well(found)
    };
    [
        ("ONNX Runtime", &files.runtime),
        ("the text detection model", &files.locate),
        ("the text recognition model", &files.recognise),
    ]
    .map(look)
    .into()
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn x_server() -> Finding {
    match ["Xtigervnc", "Xvfb"]
        .into_iter()
        .find(|program| is_installed(program))
    {
        Some(program) => Finding::Well(format!("{program}, for virtual desktops")),
        None => Finding::Lacking {
            what: "no X server for virtual desktops".to_owned(),
            remedy: "apt-get install tigervnc-standalone-server (or xvfb)".to_owned(),
        },
    }
}

fn programs() -> Vec<Finding> {
    let wanted = [
        ("icewm", "icewm", "the window manager of virtual desktops"),
        ("dbus-daemon", "dbus", "the session bus of virtual desktops"),
        (
            "chromium",
            "chromium",
            "the browser that addresses are opened in",
        ),
        (
            "mousepad",
            "mousepad",
            "the text editor of virtual desktops",
        ),
    ];
    let look = |(program, package, purpose): (&str, &str, &str)| {
        if is_installed(program) {
            return Finding::Well(format!("{program}, {purpose}"));
        }
        Finding::Lacking {
            what: format!("{program}, {purpose}"),
            remedy: format!("apt-get install {package}"),
        }
    };
    wanted.map(look).into()
}

async fn display(loaded: &Loaded) -> Finding {
    let displays = match process::perception(loaded, None).await {
        Ok(perception) => perception
            .list_displays()
            .await
            .map_err(|report| report.message),
        Err(error) => Err(error.to_string()),
    };
    match displays {
        Ok(displays) => {
            let names: Vec<String> = displays
                .iter()
                .map(|display| {
                    format!(
                        "{} ({}×{})",
                        display.id, display.size.width, display.size.height
                    )
                })
                .collect();
            Finding::Well(format!("display {}", names.join(", ")))
        }
        Err(problem) => Finding::Lacking {
            what: format!("no display to see: {problem}"),
            remedy: "`motorium up` starts a virtual desktop by itself".to_owned(),
        },
    }
}
