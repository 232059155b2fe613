//! The commands, one file each.

pub(crate) mod act;
mod approval;
pub(crate) mod config;
mod config_reference;
pub(crate) mod desktops;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod replay;
pub(crate) mod run;
mod saved_files;
pub(crate) mod see;
pub(crate) mod tasks;
pub(crate) mod tools;
pub(crate) mod up;
mod watch_session;

use std::fs;

use motorium_client::Client;
use motorium_kit::client::{Channel, Config};
use motorium_kit::config::{LayeredConfig, Secret};
use motorium_kit::telemetry;
use motorium_proto::error::ErrorReport;

use crate::cli::Server;
use crate::error::Error;

/// Creates a client for the Orchestrator of the flags.
pub(crate) fn connect(server: &Server) -> Result<Client<Channel>, Error> {
    let mut config = Config::new(server.server.clone());
    if let Some(path) = &server.token_file {
        let token = fs::read_to_string(path).map_err(|source| Error::File {
            path: path.clone(),
            source,
        })?;
        config.token = Some(Secret::new(token.trim()));
    }
    let channel =
        Channel::connect_lazy(&config).map_err(|error| Error::Usage(error.to_string()))?;
    Ok(Client::new(channel))
}

/// Converts a failed call to an error with advice for the user.
pub(crate) fn service_error(server: &str, report: ErrorReport) -> Error {
    if report.reason == motorium_proto::error::reason::TRANSPORT {
        return Error::Unreachable {
            server: server.to_owned(),
            report: Box::new(report),
        };
    }
    Error::Service(report)
}

/// Returns the log configuration. Interactive commands log errors only, unless the configuration sets a level.
pub(crate) fn log(loaded: &LayeredConfig, quiet: bool) -> Result<telemetry::Config, Error> {
    let configured = loaded.common()?.log;
    if quiet && !loaded.is_set("log.level") {
        let settings = telemetry::Settings {
            level: "error".to_owned(),
            ..telemetry::Settings::default()
        };
        return Ok(settings.resolve().map_err(motorium_kit::Error::from)?);
    }
    Ok(configured)
}
