//! `motorium up`: every service in this process, until Ctrl-C.

use std::process::ExitCode;

use motorium_kit::config::Loaded;

use crate::cli::Up;
use crate::error::Error;
use crate::output;
use crate::process::{DesktopChoice, Process, ProcessOptions};

/// Starts everything and waits for the end.
pub(crate) async fn up(loaded: &Loaded, args: Up) -> Result<ExitCode, Error> {
    let desktop = if args.virtual_desktop {
        DesktopChoice::Virtual { size: args.size }
    } else {
        DesktopChoice::CurrentOrVirtual { size: args.size }
    };
    let process = Process::start(loaded, ProcessOptions::served(desktop)).await?;
    output::line(&process.description());
    output::line("submit a task with: motorium run \"click \\\"Save\\\"\"     end with Ctrl-C");
    process.until_shutdown().await?;
    Ok(ExitCode::SUCCESS)
}
