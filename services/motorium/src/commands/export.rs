//! `motorium tasks export`: writes everything about a task to a folder, or only its HTML page.

use std::fs::{self, File};
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};

use motorium_proto::v1::orchestrator as wire;
use motorium_recording::trajectory::{self, PAGE};

use super::connection::Connection;
use crate::error::Error;
use crate::output;

pub(crate) async fn export(
    connection: &Connection,
    task: &str,
    to: Option<PathBuf>,
    only_page: bool,
) -> Result<(), Error> {
    let name = task.rsplit('/').next().unwrap_or(task);
    if only_page {
        let page = to.unwrap_or_default().join(format!("{name}.html"));
        return export_page(connection, task, &page).await;
    }
    let folder = to.unwrap_or_else(|| PathBuf::from(name));
    // Before the download, so that nothing is waited for in vain.
    trajectory::check_folder(&folder, task)?;
    let archive = fetch(connection, task).await?;
    trajectory::unpack(archive, &folder)?;
    output::line(&folder.join(PAGE).display().to_string());
    Ok(())
}

async fn export_page(connection: &Connection, task: &str, page: &Path) -> Result<(), Error> {
    trajectory::check_page(page, task)?;
    let archive = fetch(connection, task).await?;
    let folder = tempfile::tempdir().map_err(unwritable(&std::env::temp_dir()))?;
    trajectory::unpack(archive, folder.path())?;
    if let Some(parent) = page.parent() {
        fs::create_dir_all(parent).map_err(unwritable(parent))?;
    }
    fs::copy(folder.path().join(PAGE), page).map_err(unwritable(page))?;
    output::line(&page.display().to_string());
    Ok(())
}

/// Downloads the archive to a temporary file: it may be larger than the memory.
async fn fetch(connection: &Connection, task: &str) -> Result<File, Error> {
    let request = wire::ExportTrajectoryRequest {
        name: task.to_owned(),
    };
    let failed = |status| connection.status(&status);
    let pieces = connection.client.raw().export_trajectory(request).await;
    let mut pieces = pieces.map_err(failed)?.into_inner();
    let unwritten = unwritable(&std::env::temp_dir());
    let mut archive = tempfile::tempfile().map_err(&unwritten)?;
    while let Some(piece) = pieces.message().await.map_err(failed)? {
        archive.write_all(&piece.chunk).map_err(&unwritten)?;
    }
    archive.rewind().map_err(&unwritten)?;
    Ok(archive)
}

fn unwritable(path: &Path) -> impl Fn(std::io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Unwritable {
        path: path.clone(),
        source,
    }
}
