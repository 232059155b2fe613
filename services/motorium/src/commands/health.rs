//! `motorium health`: asks a service whether it can work, for health checks of containers.
//!
//! It checks nothing itself: the server does, every two seconds.

use std::process::ExitCode;

use motorium_kit::client::{Channel, is_serving};
use motorium_kit::config::LayeredConfig;
use motorium_kit::server::LIVENESS;
use motorium_messages::Message;

use super::connection::{Connection, address};
use crate::cli::Health;
use crate::error::Error;
use crate::output;
use crate::show::text;

/// Asks the service and prints the answer.
pub(crate) async fn health(loaded: &LayeredConfig, args: Health) -> Result<ExitCode, Error> {
    let connection = Connection::open(loaded, &args.server)?;
    let address = address(loaded, args.server.server.as_deref())?;
    // Health needs no token.
    let channel = Channel::connect_lazy(&loaded.common()?.client(address));
    let channel = channel.map_err(|error| Error::Usage(error.to_string()))?;
    let service = if args.liveness { LIVENESS } else { "" };
    let serves = is_serving(channel, service).await;
    let serves = serves.map_err(|status| connection.status(&status))?;
    let (message, exit) = match serves {
        true => (Message::Serving, ExitCode::SUCCESS),
        false => (Message::NotServing, ExitCode::FAILURE),
    };
    output::line(&text(message));
    Ok(exit)
}
