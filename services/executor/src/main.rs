//! The Executor as a standalone server.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Parser as _;
use motorium_executor::{Config, Settings};
use motorium_kit::shutdown::Shutdown;
use motorium_kit::{Error, config, server, telemetry};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::service::ExecutorServer;
use motorium_proto::v1::executor::executor_service_server::SERVICE_NAME;
use motorium_store::audit::{AuditLog, RefusalRecorder};

/// Interval at which old records of the audit log are removed.
const AUDIT_RETENTION_INTERVAL: Duration = Duration::from_secs(3600);

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = motorium_executor::drivers::x11::run_if_started_as_release_process() {
        return code;
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = motorium_executor::drivers::launch::hide_from_programs() {
        eprintln!("the memory of the Executor cannot be protected: {error}");
        return ExitCode::FAILURE;
    }
    serve()
}

#[tokio::main]
async fn serve() -> ExitCode {
    motorium_kit::exit_code(run().await)
}

async fn run() -> Result<(), Error> {
    let loaded = config::LayeredConfig::load(config::Flags::parse())?;
    let common = loaded.common()?;
    telemetry::init(&common.log)?;
    let settings = loaded.section::<Settings>()?;
    let audit = settings.open_audit(common.data()?);
    let audit = audit.map_err(Error::service)?;
    let shutdown = Shutdown::on_signals()?;
    let refusals = RefusalRecorder::start(audit.clone());
    if let Some(keep) = settings.audit_retention {
        tokio::spawn(shorten(audit.clone(), keep.0, shutdown.clone()));
    }
    let config = resolve(&loaded)?.audited(audit);
    let started = config.start().await.map_err(Error::service)?;
    let executor = Arc::clone(&started.service);
    loaded.watch_file(move |loaded| {
        let config = resolve(loaded).map_err(|error| error.to_string())?;
        started.reload(config).map_err(|error| error.to_string())
    });
    let running = server::Builder::new(common.server(settings.listen)?)
        .service(ExecutorServer::tonic(executor.clone()), FILE_DESCRIPTOR_SET)
        .check(SERVICE_NAME, executor.clone())
        .on_refusal(refusals)
        .start(&shutdown)
        .await?;
    motorium_kit::notify_service_manager(&shutdown);
    running.join().await?;
    executor.close().await;
    Ok(())
}

/// Removes old records of the audit log, now and every hour.
async fn shorten(audit: AuditLog, keep: Duration, shutdown: Shutdown) {
    loop {
        match audit.remove_older(keep, SystemTime::now()).await {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "old files of the audit log were removed"),
            Err(error) => {
                tracing::warn!(%error, "the audit log cannot be shortened; it is tried again later");
            }
        }
        tokio::select! {
            () = shutdown.draining() => return,
            () = tokio::time::sleep(AUDIT_RETENTION_INTERVAL) => {}
        }
    }
}

fn resolve(loaded: &config::LayeredConfig) -> Result<Config, Error> {
    let environment = motorium_executor::config::process_environment();
    let common = loaded.common()?;
    let config = Config::resolve(loaded.section()?, common.data()?, environment);
    let config = config.map_err(Error::service)?;
    Ok(config.for_named_callers(common.names_callers()))
}
