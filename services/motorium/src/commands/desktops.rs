//! `motorium desktops`: lists the available desktops, and removes registered ones.

use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_proto::v1::orchestrator as wire;

use super::connection::Connection;
use crate::cli::{Desktops, DesktopsCommand};
use crate::error::Error;
use crate::output;
use crate::show::{table, terminal_language, text};

/// Lists the desktops, or runs a subcommand of `motorium desktops`.
pub(crate) async fn desktops(loaded: &LayeredConfig, args: Desktops) -> Result<ExitCode, Error> {
    let connection = Connection::open(loaded, &args.server)?;
    match args.command {
        None => list(&connection).await?,
        Some(DesktopsCommand::Remove { name }) => remove(&connection, &name).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(connection: &Connection) -> Result<(), Error> {
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
    Ok(())
}

async fn remove(connection: &Connection, name: &str) -> Result<(), Error> {
    let request = wire::UnregisterDesktopRequest {
        name: super::full_name("desktops", name),
        request_id: String::new(),
    };
    let desktop = request.name.clone();
    let removed = connection.client.raw().unregister_desktop(request).await;
    removed.map_err(|status| connection.status(&status))?;
    output::line(&text(Message::DesktopRemoved { desktop: &desktop }));
    Ok(())
}
