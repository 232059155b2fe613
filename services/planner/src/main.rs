//! The Planner as a server of its own.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use mimalloc::MiMalloc;
use motorium_kit::shutdown::Shutdown;
use motorium_kit::{Error, config, server, telemetry};
use motorium_planner::Settings;
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::service::PlannerServer;

/// Pictures come and go in buffers of megabytes. The system's allocator gives each of them back at once, and a fourth of the
/// Planner's time went into fresh pages.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    motorium_kit::exit_code(run().await)
}

async fn run() -> Result<(), Error> {
    let loaded = config::Loaded::load(config::Flags::parse())?;
    let common = loaded.common()?;
    telemetry::init(&common.log)?;
    let settings: Settings = loaded.section()?;
    let shutdown = Shutdown::on_signals()?;
    let planner = settings.resolve().map_err(Error::service)?;
    server::Builder::new(common.server(settings.listen)?)
        .service(PlannerServer::tonic(Arc::new(planner)), FILE_DESCRIPTOR_SET)
        .start(&shutdown)
        .await?
        .join()
        .await?;
    Ok(())
}
