//! The commands, one file each.

pub(crate) mod act;
mod approval;
mod attachments;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod config;
mod config_reference;
mod connection;
pub(crate) mod delete;
mod desktop_probe;
pub(crate) mod desktop_session;
pub(crate) mod desktops;
mod diagnosis;
pub(crate) mod display_files;
pub(crate) mod doctor;
mod drag_effect;
pub(crate) mod export;
pub(crate) mod health;
mod history;
#[cfg(target_os = "linux")]
pub(crate) mod hold_clipboard;
pub(crate) mod mcp;
mod operate;
pub(crate) mod page;
pub(crate) mod policy;
pub(crate) mod replay;
pub(crate) mod run;
mod running;
mod running_gateway;
mod saved_files;
pub(crate) mod see;
pub(crate) mod sessions;
pub(crate) mod tasks;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod up;
mod watch;
mod watch_session;

use motorium_kit::config::LayeredConfig;
use motorium_kit::telemetry;

use crate::error::Error;

/// Returns the resource name `{collection}/{name}`, unless it is one already.
fn full_name(collection: &str, name: &str) -> String {
    if name.contains('/') {
        name.to_owned()
    } else {
        format!("{collection}/{name}")
    }
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
