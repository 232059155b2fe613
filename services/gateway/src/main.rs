//! The gateway as a stand-alone server, in front of services that run elsewhere.

use std::process::ExitCode;

use clap::Parser as _;
use motorium_gateway::{Gateway, LocalAccess, Services, Settings, folder};
use motorium_kit::client::Config as ClientConfig;
use motorium_kit::shutdown::Shutdown;
use motorium_kit::{Error, config, telemetry};

#[tokio::main]
async fn main() -> ExitCode {
    motorium_kit::exit_code(run().await)
}

async fn run() -> Result<(), Error> {
    let loaded = config::LayeredConfig::load(config::Flags::parse())?;
    let common = loaded.common()?;
    telemetry::init(&common.log)?;
    let settings: Settings = loaded.section()?;
    let config = settings.resolve().map_err(Error::service)?;
    let client = common.client(&settings.orchestrator);
    // Not there yet if the Orchestrator has never run: callers then make login links with their own.
    let token = client.effective_token().map_err(Error::service)?;
    let are_own = client.token.is_none() && token.is_some();
    let services = Services {
        orchestrator: settings.orchestrator,
        perception: settings.perception,
        executor: settings.executor,
        are_own,
        // The audit log is the Orchestrator's.
        refusals: None,
        client: ClientConfig {
            token: None,
            loopback_token: None,
            ..client
        },
    };
    let access = LocalAccess::OfServices(token);
    let folder = folder(common.data()?);
    let shutdown = Shutdown::on_signals()?;
    let gateway = Gateway::start(&config, services, access, folder, &shutdown).await;
    let gateway = gateway.map_err(Error::service)?;
    motorium_kit::notify_service_manager(&shutdown);
    gateway.join().await.map_err(Error::service)
}
