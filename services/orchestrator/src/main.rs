//! Binary that runs the Orchestrator as a stand-alone service.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use motorium_kit::{config, server, shutdown::Shutdown, telemetry};
use motorium_orchestrator::desktops::DesktopPool;
use motorium_orchestrator::instance::Instance;
use motorium_orchestrator::{Orchestrator, Settings, config as orchestrator_config, storage};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::service::PlannerClient;
use motorium_proto::v1::orchestrator::orchestrator_service_server::SERVICE_NAME;

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
    let instance = Instance::take(common.data()?, &config.name);
    let instance = instance.map_err(motorium_kit::Error::service)?;
    let storage = stores.open(common.data()?).await;
    let storage = storage.map_err(motorium_kit::Error::service)?;

    let base = config.with_audiences(common.client(""));
    let planner = orchestrator_config::channel(&base, &config.planner)
        .map_err(motorium_kit::Error::service)?;
    let nearby = orchestrator_config::LocalServices {
        planner: Arc::new(PlannerClient::new(planner)),
        perception: None,
        executor: None,
    };
    let desktops = DesktopPool::new(orchestrator_config::connector(base, nearby));
    for desktop in config.desktops.clone() {
        desktops
            .register(desktop)
            .map_err(motorium_kit::Error::service)?;
    }

    let restored = desktops
        .restore(storage.tasks.as_ref(), &config.registration)
        .await;
    restored.map_err(motorium_kit::Error::service)?;

    let orchestrator = Orchestrator::new(&config, storage, desktops, &shutdown)
        .with_instance(instance)
        .with_audit(audit);
    let edge = orchestrator.edge();
    let server = server::Builder::new(common.server(config.listen)?)
        .service(edge.clone().tonic(), FILE_DESCRIPTOR_SET)
        .check(SERVICE_NAME, Arc::new(edge));
    let running = server.start(&shutdown).await?;
    motorium_kit::notify_service_manager(&shutdown);
    let working = orchestrator.start();
    running.join().await?;
    shutdown.drain();
    working.await.map_err(motorium_kit::Error::service)?;
    Ok(())
}
