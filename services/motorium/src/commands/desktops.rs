//! `motorium desktops`: lists the available desktops.

use std::process::ExitCode;

use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;

use super::{connect, service_error};
use crate::cli::Server;
use crate::error::Error;
use crate::output;
use crate::show::table;

/// Lists the desktops.
pub(crate) async fn desktops(server: Server) -> Result<ExitCode, Error> {
    let client = connect(&server)?;
    let page = client
        .raw()
        .list_desktops(wire::ListDesktopsRequest::default())
        .await;
    let page =
        page.map_err(|status| service_error(&server.server, ErrorReport::from_status(&status)))?;
    output::line(&table::desktops(&page.into_inner().desktops));
    Ok(ExitCode::SUCCESS)
}
