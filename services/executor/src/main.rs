//! The Executor as a server of its own.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use motorium_executor::{Config, Settings};
use motorium_kit::shutdown::Shutdown;
use motorium_kit::{Error, config, server, telemetry};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::service::ExecutorServer;

#[tokio::main]
async fn main() -> ExitCode {
    motorium_kit::exit_code(run().await)
}

async fn run() -> Result<(), Error> {
    let loaded = config::Loaded::load(config::Flags::parse())?;
    let common = loaded.common()?;
    telemetry::init(&common.log)?;
    let settings: Settings = loaded.section()?;
    let listen = settings.listen;
    let shutdown = Shutdown::on_signals()?;
    let environment = motorium_executor::config::process_environment();
    let config = Config::resolve(settings, common.data()?, environment).map_err(Error::service)?;
    let executor = Arc::new(config.start().await.map_err(Error::service)?);
    server::Builder::new(common.server(listen)?)
        .service(ExecutorServer::tonic(executor.clone()), FILE_DESCRIPTOR_SET)
        .start(&shutdown)
        .await?
        .join()
        .await?;
    executor.close().await;
    Ok(())
}
