//! Motorium's command line, and all services in one process.
//!
//! - [`commands`]: one file per command
//! - [`process`]: all services in one process
//! - [`virtual_desktop`]: a desktop on machines without a display
//! - [`show`]: output for terminals
//! - [`terminal`]: typed lines
//! - [`exit`]: exit codes
//!
//! This is the only crate that depends on all services. It makes no decisions about tasks: it starts services, calls
//! them and shows the results.

mod cli;
mod commands;
mod error;
mod exit;
mod output;
mod png;
mod process;
mod show;
mod terminal;
mod virtual_desktop;

use std::process::ExitCode;

use mimalloc::MiMalloc;
use motorium_kit::config::LayeredConfig;
use motorium_kit::telemetry;
use motorium_messages::Message;

use cli::{Cli, Command};
use error::Error;
use exit::Exit;

/// Images use buffers of several megabytes. The system allocator returns each buffer to the kernel at once; page
/// faults then took a quarter of the Planner's time.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = motorium_executor::drivers::x11::run_if_started_as_release_process() {
        return code;
    }
    run_command()
}

#[tokio::main]
async fn run_command() -> ExitCode {
    match run(cli::parse()).await {
        Ok(code) => code,
        Err(error) => {
            // The error is the last line, although services may still be ending.
            telemetry::end();
            let error = error.to_string();
            let line = show::text(Message::ErrorLine { error: &error });
            output::remark(&format!("{line}\n"));
            Exit::Usage.into()
        }
    }
}

async fn run(cli: Cli) -> Result<ExitCode, Error> {
    let loaded = LayeredConfig::load(cli.config)?;
    let quiet = !matches!(cli.command, Command::Up(_));
    telemetry::init(&commands::log(&loaded, quiet)?).map_err(motorium_kit::Error::from)?;
    match cli.command {
        // The futures of a whole process are too large for the stack of the others.
        Command::Up(args) => Box::pin(commands::up::up(&loaded, args)).await,
        Command::Run(args) => Box::pin(commands::run::run(&loaded, *args)).await,
        Command::Tasks(args) => commands::tasks::tasks(&loaded, args).await,
        Command::Sessions(args) => commands::sessions::sessions(&loaded, args).await,
        Command::Token(server) => commands::token::token(&loaded, &server),
        Command::Delete(args) => commands::delete::delete(&loaded, args).await,
        Command::Purge(args) => commands::delete::purge(&loaded, args).await,
        Command::Backup(args) => commands::backup::backup(&loaded, args).await,
        Command::Restore(args) => commands::backup::restore(&loaded, args).await,
        Command::Desktops(args) => commands::desktops::desktops(&loaded, args).await,
        Command::Policy(args) => commands::policy::policy(&loaded, &args).await,
        Command::Page(args) => commands::page::page(&loaded, args).await,
        Command::Mcp(args) => commands::mcp::mcp(&loaded, args).await,
        Command::Tools => commands::tools::tools(&loaded).await,
        Command::See(args) => commands::see::see(&loaded, args).await,
        Command::Act(args) => commands::act::act(&loaded, args).await,
        #[cfg(target_os = "linux")]
        Command::HoldClipboard(args) => commands::hold_clipboard::hold_clipboard(args).await,
        Command::DesktopSession(args) => commands::desktop_session::desktop_session(args).await,
        Command::DisplayFiles(args) => commands::display_files::display_files(&args),
        Command::Replay(args) => commands::replay::replay(args).await,
        Command::Health(args) => commands::health::health(&loaded, args).await,
        Command::Doctor => commands::doctor::doctor(&loaded).await,
        Command::Audit(args) => commands::audit::audit(&loaded, args),
        Command::Config(args) => commands::config::config(&loaded, &args),
    }
}
