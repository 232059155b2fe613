//! Files of a task, saved to a folder.

use std::fs;
use std::path::Path;
use std::time::Duration;

use motorium_messages::Message;
use motorium_proto::error::{ErrorReport, reason};
use motorium_proto::v1::orchestrator as wire;
use tonic::Code;

use super::connection::Connection;
use crate::error::Error;
use crate::show::text;

/// Saves the screenshots of a task's steps and the files it fetched.
pub(crate) async fn save(connection: &Connection, task: &str, folder: &Path) -> Result<(), Error> {
    prepare(folder)?;
    let steps = connection.client.list_steps(task).await;
    let steps = steps.map_err(|report| connection.error(report))?;
    let count = steps.len();
    for (step, number) in steps.into_iter().zip(1..) {
        // The screen after any other step is the one before the next step.
        let is_extra = number == count && step.frame_after != step.frame_before;
        let after = Some(&step.frame_after).filter(|_| is_extra);
        let artifacts = [
            (&step.frame_before, "before"),
            (&step.annotated_frame, "annotated"),
            (&step.requests, "requests"),
            (&step.responses, "responses"),
        ];
        for (artifact, which) in artifacts
            .into_iter()
            .chain(after.map(|after| (after, "after")))
            .filter(|(artifact, _)| !artifact.is_empty())
        {
            let name = format!("step-{:02}-{which}", step.number);
            save_artifact(connection, artifact, folder, Some(&name)).await?;
        }
    }
    for artifact in fetched_files(connection, task).await? {
        save_artifact(connection, &artifact, folder, None).await?;
    }
    Ok(())
}

/// Creates the folder and checks that files can be written to it, before a task is run whose files belong there.
pub(crate) fn prepare(folder: &Path) -> Result<(), Error> {
    let prepared = fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
    prepared.map(drop).map_err(|source| Error::Unwritable {
        path: folder.to_owned(),
        source,
    })
}

/// Saves an artifact under its own file name, or as `stem`: a screenshot shared by several steps is stored once, and
/// saved for each of them.
async fn save_artifact(
    connection: &Connection,
    name: &str,
    folder: &Path,
    stem: Option<&str>,
) -> Result<(), Error> {
    let downloaded = connection.client.get_artifact(name).await;
    let (artifact, content) = downloaded.map_err(|report| connection.error(report))?;
    let (file_name, content) = crate::png::to_png(&artifact.file_name, content);
    let extension = Path::new(&file_name)
        .extension()
        .and_then(|extension| extension.to_str());
    let file_name = match (stem, extension) {
        (Some(stem), Some(extension)) => format!("{stem}.{extension}"),
        _ => file_name,
    };
    let path = folder.join(file_name);
    fs::write(&path, content).map_err(|source| Error::Unwritable { path, source })
}

/// Returns the artifacts of the files that the task fetched.
async fn fetched_files(connection: &Connection, task: &str) -> Result<Vec<String>, Error> {
    use futures::StreamExt as _;
    use motorium_client::Update;

    let mut names = Vec::new();
    let mut updates = connection.client.watch(task);
    while let Some(update) = updates.next().await {
        let event = match update.map_err(|report| connection.error(report))? {
            Update::Event { event, .. } => event,
            Update::Snapshot(_) | Update::Restored => continue,
            Update::Silent { silence } => return Err(no_answer(silence)),
        };
        if let Some(wire::event::Kind::ResultFetched(fetched)) = event.kind {
            names.extend(fetched.artifact.map(|artifact| artifact.name));
        }
    }
    Ok(names)
}

/// Returns the error of a server that says nothing. An ended task can be asked for again.
fn no_answer(silence: Duration) -> Error {
    let message = text(Message::ServerNotAnswering {
        seconds: silence.as_secs(),
    });
    Error::Service(ErrorReport::new(
        Code::Unavailable,
        reason::TRANSPORT,
        message,
    ))
}
