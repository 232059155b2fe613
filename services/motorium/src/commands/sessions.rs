//! `motorium sessions`: lists sessions and exports their transcripts.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::export_session_request::Format;

use super::connection::Connection;
use crate::cli::{Sessions, SessionsCommand, TranscriptFormat};
use crate::error::Error;
use crate::output;
use crate::show::text;

/// Runs a subcommand of `motorium sessions`.
pub(crate) async fn sessions(loaded: &LayeredConfig, args: Sessions) -> Result<ExitCode, Error> {
    let connection = Connection::open(loaded, &args.server)?;
    match args.command {
        SessionsCommand::List { limit } => {
            let request = wire::ListSessionsRequest {
                page_size: limit,
                ..wire::ListSessionsRequest::default()
            };
            let page = connection.client.raw().list_sessions(request).await;
            let page = page.map_err(|status| connection.status(&status))?;
            let sessions = page.into_inner().sessions;
            sessions
                .iter()
                .for_each(|session| output::line(&session.name));
        }
        SessionsCommand::Export { name, format, to } => {
            let name = super::full_name("sessions", &name);
            export(&connection, name, format, to.as_deref()).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a transcript to a file, or to standard output.
async fn export(
    connection: &Connection,
    name: String,
    format: TranscriptFormat,
    to: Option<&Path>,
) -> Result<(), Error> {
    let format = match format {
        TranscriptFormat::Markdown => Format::Markdown,
        TranscriptFormat::Json => Format::Json,
    };
    let request = wire::ExportSessionRequest {
        name,
        format: format.into(),
    };
    let failed = |status| connection.status(&status);
    let pieces = connection.client.raw().export_session(request).await;
    let mut pieces = pieces.map_err(failed)?.into_inner();
    let unwritten = |source| Error::Unwritable {
        path: to.map_or_else(|| text(Message::StandardOutput).into(), Path::to_owned),
        source,
    };
    let mut target: Box<dyn Write> = match to {
        Some(path) => Box::new(File::create(path).map_err(unwritten)?),
        // What pages and users wrote must not command the terminal.
        None if io::stdout().is_terminal() => {
            let mut transcript = Vec::new();
            while let Some(piece) = pieces.message().await.map_err(failed)? {
                transcript.extend_from_slice(&piece.chunk);
            }
            output::line(String::from_utf8_lossy(&transcript).trim_end());
            return Ok(());
        }
        None => Box::new(io::stdout()),
    };
    while let Some(piece) = pieces.message().await.map_err(failed)? {
        target.write_all(&piece.chunk).map_err(unwritten)?;
    }
    target.flush().map_err(unwritten)
}
