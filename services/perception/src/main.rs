//! Runs Perception as a standalone server.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use motorium_kit::shutdown::Shutdown;
use motorium_kit::{Error, config, server, telemetry};
use motorium_perception::config::{Config, Settings};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::service::PerceptionServer;
use motorium_proto::v1::perception::perception_service_server::SERVICE_NAME;

#[tokio::main]
async fn main() -> ExitCode {
    motorium_kit::exit_code(run().await)
}

async fn run() -> Result<(), Error> {
    let loaded = config::LayeredConfig::load(config::Flags::parse())?;
    let common = loaded.common()?;
    telemetry::init(&common.log)?;
    let settings: Settings = loaded.section()?;
    let listen = settings.listen;
    let shutdown = Shutdown::on_signals()?;
    let config =
        Config::resolve(settings, common.data()?, std::env::vars()).map_err(Error::service)?;
    let config = config.with_client_config(&common.client(""));
    let perception = Arc::new(config.start().await.map_err(Error::service)?);
    let ready = perception.ready();
    let running = server::Builder::new(common.server(listen)?)
        .service_with_readiness(
            PerceptionServer::tonic(perception.clone()),
            FILE_DESCRIPTOR_SET,
            ready,
        )
        .check(SERVICE_NAME, perception)
        .start(&shutdown)
        .await?;
    motorium_kit::notify_service_manager(&shutdown);
    running.join().await?;
    Ok(())
}
