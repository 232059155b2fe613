//! `motorium up`: runs every service in this process until Ctrl-C.

use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;

use crate::cli::{PlatformKind, Up};
use crate::error::Error;
use crate::output;
use crate::process::{DesktopChoice, Process, ProcessOptions};
use crate::show::{terminal_language, text};

/// Starts all services and waits for the shutdown.
pub(crate) async fn up(loaded: &LayeredConfig, args: Up) -> Result<ExitCode, Error> {
    let desktop = if args.virtual_desktop {
        DesktopChoice::Virtual { size: args.size }
    } else {
        DesktopChoice::CurrentOrVirtual { size: args.size }
    };
    let platform = args.platform.unwrap_or_else(PlatformKind::of_this_machine);
    let options = ProcessOptions::served(desktop, platform.into());
    let process = Process::start(loaded, options).await?;
    output::line(&process.description());
    if let Some(url) = process.login_link() {
        output::line(&Message::UpPage { url: &url }.text(terminal_language()));
    }
    for missing in super::doctor::missing_model_files(loaded)? {
        output::line(&missing);
    }
    output::line(&Message::UpHint.text(terminal_language()));
    motorium_kit::notify_service_manager(process.shutdown());
    let unfinished = process.until_shutdown().await?;
    if !unfinished.is_empty() {
        let (count, names) = (unfinished.len() as u64, &*unfinished.join(", "));
        output::remark(&format!(
            "{}\n",
            text(Message::UpUnfinished { count, names })
        ));
    }
    Ok(ExitCode::SUCCESS)
}
