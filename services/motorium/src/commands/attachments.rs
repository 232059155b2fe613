//! Files that a command attaches to a task or a message.

use std::fs;
use std::path::{Path, PathBuf};

use motorium_messages::Message;
use motorium_proto::v1::orchestrator as wire;

use super::connection::Connection;
use crate::error::Error;
use crate::show::terminal_language;

/// Maximum size of a file that is sent within a request. Several such files fit into one message of 4 MiB; larger ones are
/// uploaded first.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// Reads files as attachments, and uploads the larger ones.
pub(super) async fn read(
    connection: &Connection,
    paths: &[PathBuf],
) -> Result<Vec<wire::Attachment>, Error> {
    let mut attachments = Vec::with_capacity(paths.len());
    for path in paths {
        attachments.push(attachment(connection, path).await?);
    }
    Ok(attachments)
}

async fn attachment(connection: &Connection, path: &Path) -> Result<wire::Attachment, Error> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.ok_or_else(|| {
        let path = &path.display().to_string();
        Error::Usage(Message::PathIsNoFile { path }.text(terminal_language()))
    })?;
    let data = fs::read(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })?;
    of_content(connection, name, data).await
}

/// Returns an attachment with this content, and uploads it if it is large.
pub(super) async fn of_content(
    connection: &Connection,
    name: String,
    data: Vec<u8>,
) -> Result<wire::Attachment, Error> {
    if data.len() <= MAX_INLINE_BYTES {
        return Ok(wire::Attachment {
            name,
            data: data.into(),
            ..wire::Attachment::default()
        });
    }
    let uploaded = connection.client.upload(data).await;
    Ok(wire::Attachment {
        name,
        upload: uploaded.map_err(|report| connection.error(report))?,
        ..wire::Attachment::default()
    })
}
