//! Puts the attachments of a task and of its messages on the desktop, and keeps the images among them for the models.

use bytes::Bytes;
use motorium_imaging::user_image;
use motorium_kit::blocking;
use motorium_messages::Message;
use motorium_proto::domain::frame::Image;
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::limits::MAX_USER_IMAGE_BYTES;
use motorium_proto::service::PutFile;
use tokio::sync::Semaphore;

use super::context::RunContext;
use super::{RunResult, halt, is_transient};
use motorium_task::event::{Event, UserImageArtifact};
use motorium_task::spec::{Attachment, AttachmentContent};

/// Permit for decoding an attached image: a large photo takes several hundred megabytes of memory.
static DECODING: Semaphore = Semaphore::const_new(1);

/// Puts the attachments on the desktop that are not there yet.
pub(super) async fn put_attachments(run: &mut RunContext) -> RunResult {
    for attachment in run.task().pending_attachments() {
        put_attachment(run, attachment).await?;
    }
    Ok(())
}

async fn put_attachment(run: &mut RunContext, attachment: Attachment) -> RunResult {
    let Some((_, epoch)) = run.task().desktop.clone() else {
        return Ok(());
    };
    let is_of_message = run.task().attachments_put >= run.task().spec.attachments.len();
    let name = attachment.name;
    let content = match attachment.content {
        AttachmentContent::Inline(data) => data,
        AttachmentContent::Upload(sha256) => {
            let read = run.recorder.blobs().get(sha256).await;
            read.map_err(|error| {
                halt(run.task(), Message::OperationReadAttachment, error.report())
            })?
        }
    };
    let (image, image_error) = shown_image(run, content.clone()).await?;
    let file = PutFile {
        display: run.desktop.display.clone(),
        epoch,
        name: name.clone(),
        overwrite: true,
        content,
    };
    let put = run
        .try_call(Message::OperationPutFile, move |ports| {
            let file = file.clone();
            async move { ports.executor.put_file(file).await }
        })
        .await?;
    let event = match put {
        Ok(info) => Event::AttachmentPut {
            name: info.name,
            size_bytes: info.size_bytes,
            path: info.path,
            error: String::new(),
            image,
            image_error,
        },
        // A file that comes with a message does not end a running task: the planner is told.
        Err(report) if is_of_message && !is_transient(&report) => Event::AttachmentPut {
            name,
            size_bytes: 0,
            path: String::new(),
            error: report.message,
            image,
            image_error,
        },
        Err(report) => return Err(halt(run.task(), Message::OperationPutFile, report)),
    };
    run.record(vec![event]).await
}

/// Stores the image that models are shown of a file. Returns the reason if it is an image that cannot be shown.
async fn shown_image(
    run: &mut RunContext,
    content: Bytes,
) -> RunResult<(Option<UserImageArtifact>, String)> {
    // It is never closed.
    let permit = DECODING.acquire().await;
    let shown = blocking::run(move || user_image::shown(&content, MAX_USER_IMAGE_BYTES)).await;
    drop(permit);
    let image = match shown {
        Ok(Some(image)) => image,
        Ok(None) => return Ok((None, String::new())),
        Err(error) => return Ok((None, error.to_string())),
    };
    let number = run.task().attachments_put + 1;
    let name = format!("attachment-{number}");
    let artifact = run.store_image(Some(&image), &name).await?;
    let size = size(&image);
    Ok((
        artifact.map(|artifact| UserImageArtifact { artifact, size }),
        String::new(),
    ))
}

fn size(image: &Image) -> CaptureSize {
    let side = |length: u32| i32::try_from(length).unwrap_or(i32::MAX);
    CaptureSize::new(side(image.width), side(image.height))
}
