//! Motorium's command line, and every service in one process.
//!
//! - [`commands`]: one file per command
//! - [`process`]: the services, composed
//! - [`virtual_desktop`]: a desktop where there is none
//! - [`show`]: what a person sees
//!
//! The only crate that knows all services. It decides nothing about tasks: it starts, asks and shows.

mod cli;
mod commands;
mod error;
mod output;
mod picture;
mod process;
mod show;
mod virtual_desktop;

use std::process::ExitCode;

use clap::Parser as _;
use mimalloc::MiMalloc;
use motorium_kit::config::Loaded;
use motorium_kit::telemetry;

use cli::{Cli, Command};
use error::Error;

/// Pictures come and go in buffers of megabytes. The system's allocator gives each of them back at once, and a fourth of the
/// Planner's time went into fresh pages.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(cli: Cli) -> Result<ExitCode, Error> {
    let loaded = Loaded::load(cli.config)?;
    let quiet = !matches!(cli.command, Command::Up(_));
    telemetry::init(&commands::log(&loaded, quiet)?).map_err(motorium_kit::Error::from)?;
    match cli.command {
        Command::Up(args) => commands::up::up(&loaded, args).await,
        Command::Run(args) => commands::run::run(&loaded, args).await,
        Command::Tasks(args) => commands::tasks::tasks(args).await,
        Command::Desktops(server) => commands::desktops::desktops(server).await,
        Command::Tools => commands::tools::tools(&loaded).await,
        Command::See(args) => commands::see::see(&loaded, args).await,
        Command::Act(args) => commands::act::act(&loaded, args).await,
        Command::Replay(args) => commands::replay::replay(args).await,
        Command::Doctor => commands::doctor::doctor(&loaded).await,
        Command::Config => commands::config::config(&loaded),
    }
}
