//! `motorium desktops`: lists the available desktops.

use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_proto::v1::orchestrator as wire;

use super::connection::Connection;
use crate::cli::ConnectionOptions;
use crate::error::Error;
use crate::output;
use crate::show::{table, terminal_language};

/// Lists the desktops.
pub(crate) async fn desktops(
    loaded: &LayeredConfig,
    server: ConnectionOptions,
) -> Result<ExitCode, Error> {
    let connection = Connection::open(loaded, &server)?;
    let page = connection
        .client
        .raw()
        .list_desktops(wire::ListDesktopsRequest::default())
        .await;
    let page = page.map_err(|status| connection.status(&status))?;
    output::line(&table::desktops(
        &page.into_inner().desktops,
        terminal_language(),
    ));
    Ok(ExitCode::SUCCESS)
}
