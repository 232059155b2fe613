//! `motorium tasks export`: writes everything about a task to a folder, or only its HTML page.

use std::fs::{self, File};
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};

use motorium_client::Client;
use motorium_kit::client::Channel;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_recording::trajectory::{self, PAGE};

use crate::error::Error;
use crate::output;

pub(crate) async fn export(
    client: &Client<Channel>,
    task: &str,
    to: Option<PathBuf>,
    only_page: bool,
) -> Result<(), Error> {
    let name = task.rsplit('/').next().unwrap_or(task);
    let archive = fetch(client, task).await?;
    if !only_page {
        let folder = to.unwrap_or_else(|| PathBuf::from(name));
        trajectory::unpack(archive, &folder)?;
        output::line(&folder.join(PAGE).display().to_string());
        return Ok(());
    }
    let page = to.unwrap_or_default().join(format!("{name}.html"));
    let folder = tempfile::tempdir().map_err(unwritable(&std::env::temp_dir()))?;
    trajectory::unpack(archive, folder.path())?;
    if let Some(parent) = page.parent() {
        fs::create_dir_all(parent).map_err(unwritable(parent))?;
    }
    fs::copy(folder.path().join(PAGE), &page).map_err(unwritable(&page))?;
    output::line(&page.display().to_string());
    Ok(())
}

/// Downloads the archive to a temporary file: it may be larger than the memory.
async fn fetch(client: &Client<Channel>, task: &str) -> Result<File, Error> {
    let request = wire::ExportTrajectoryRequest {
        name: task.to_owned(),
    };
    let failed = |status| Error::Service(ErrorReport::from_status(&status));
    let pieces = client.raw().export_trajectory(request).await;
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
    move |source| Error::File {
        path: path.clone(),
        source,
    }
}
