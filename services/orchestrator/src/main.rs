//! Binary that runs the Orchestrator as a stand-alone service.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use motorium_kit::{config, server, shutdown::Shutdown, telemetry};
use motorium_orchestrator::desktops::DesktopPool;
use motorium_orchestrator::{Orchestrator, Settings, config as orchestrator_config, storage};
use motorium_proto::service::PlannerClient;
use motorium_store::audit::RefusalRecorder;

#[tokio::main]
async fn main() -> ExitCode {
    motorium_kit::exit_code(run().await)
}

async fn run() -> Result<(), motorium_kit::Error> {
    let loaded = config::LayeredConfig::load(config::Flags::parse())?;
    let common = loaded.common()?;
    telemetry::init(&common.log)?;
    let config = loaded
        .section::<Settings>()?
        .resolve()
        .map_err(motorium_kit::Error::service)?;
    let shutdown = Shutdown::on_signals()?;
    let stores: storage::Settings = loaded.section()?;
    let audit = stores.open_audit(config.audit.as_deref(), common.data()?);
    let audit = audit.map_err(motorium_kit::Error::service)?;

    let base = config.with_audiences(common.client(""));
    let planner = orchestrator_config::channel(&base, &config.planner)
        .map_err(motorium_kit::Error::service)?;
    let services = orchestrator_config::LocalServices {
        planner: Arc::new(PlannerClient::new(planner)),
        perception: None,
        executor: None,
    };
    let desktops = DesktopPool::new(config.connector(base, services));
    for desktop in config.desktops.clone() {
        desktops
            .register(desktop)
            .map_err(motorium_kit::Error::service)?;
    }

    let data = common.data()?;
    let refusals = RefusalRecorder::start(audit.clone());
    let orchestrator = Orchestrator::open(&config, stores, data, audit, desktops, &shutdown).await;
    let orchestrator = orchestrator.map_err(motorium_kit::Error::service)?;
    let builder = server::Builder::new(common.server(config.listen)?).on_refusal(refusals);
    let server = orchestrator.mount(builder);
    let running = server.start(&shutdown).await?;
    motorium_kit::notify_service_manager(&shutdown);
    let run_loop = orchestrator.start();
    running.join().await?;
    shutdown.drain();
    run_loop.await.map_err(motorium_kit::Error::service)?;
    Ok(())
}
