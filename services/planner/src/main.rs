//! The Planner as a stand-alone server.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use mimalloc::MiMalloc;
use motorium_kit::shutdown::Shutdown;
use motorium_kit::{Error, config, server, telemetry};
use motorium_planner::Settings;
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::service::PlannerServer;
use motorium_proto::v1::planner::planner_service_server::SERVICE_NAME;

/// Images are buffers of several megabytes. The system allocator returns each to the kernel at once, and a quarter of the
/// Planner's time went into page faults.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    motorium_kit::exit_code(run().await)
}

async fn run() -> Result<(), Error> {
    let loaded = config::LayeredConfig::load(config::Flags::parse())?;
    let common = loaded.common()?;
    telemetry::init(&common.log)?;
    let settings: Settings = loaded.section()?;
    let shutdown = Shutdown::on_signals()?;
    let planner = Arc::new(settings.resolve().map_err(Error::service)?);
    let running = server::Builder::new(common.server(settings.listen)?)
        .service(PlannerServer::tonic(planner.clone()), FILE_DESCRIPTOR_SET)
        .check(SERVICE_NAME, planner)
        .start(&shutdown)
        .await?;
    motorium_kit::notify_service_manager(&shutdown);
    running.join().await?;
    Ok(())
}
