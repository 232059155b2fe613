//! `motorium token`: prints the token that commands send to the Orchestrator, for other clients on this machine.
//!
//! It creates no token: a server does when it starts.

use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;

use super::connection;
use crate::cli::ConnectionOptions;
use crate::error::Error;
use crate::output;
use crate::show::text;

/// Prints the token. An error if there is none: a command substitution would otherwise send an empty one.
pub(crate) fn token(loaded: &LayeredConfig, server: &ConnectionOptions) -> Result<ExitCode, Error> {
    let config = connection::client_config(loaded, server)?;
    let found = config.effective_token();
    let found = found.map_err(|error| Error::Usage(error.to_string()))?;
    let server = config.uri.as_str();
    let token = found.ok_or_else(|| Error::Usage(text(Message::NoToken { server })))?;
    output::line(token.expose());
    Ok(ExitCode::SUCCESS)
}
