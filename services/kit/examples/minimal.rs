use std::process::ExitCode;

use clap::Parser as _;
use motorium_kit::{Error, config, exit_code, server, shutdown::Shutdown, telemetry};
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    listen: config::ListenAddress,
}

impl config::Section for Settings {
    const NAME: &'static str = "perception";
}

#[tokio::main]
async fn main() -> ExitCode {
    exit_code(run().await)
}

async fn run() -> Result<(), Error> {
    let loaded = config::LayeredConfig::load(config::Flags::parse())?;
    let common = loaded.common()?;
    telemetry::init(&common.log)?;
    let settings: Settings = loaded.section()?;
    let shutdown = Shutdown::on_signals()?;
    // A real server mounts its service here: `.service(PerceptionServer::new(…), FILE_DESCRIPTOR_SET)`.
    let running = server::Builder::new(common.server(settings.listen)?)
        .start(&shutdown)
        .await?;
    Ok(running.join().await?)
}
