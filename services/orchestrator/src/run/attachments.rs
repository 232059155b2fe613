//! Puts the attachments of a task and of its messages on the desktop.

use motorium_messages::Message;
use motorium_proto::service::PutFile;

use super::context::RunContext;
use super::{RunResult, halt, is_transient};
use motorium_task::event::Event;
use motorium_task::spec::{Attachment, AttachmentContent};

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
        },
        // A file that comes with a message does not end a running task: the planner is told.
        Err(report) if is_of_message && !is_transient(&report) => Event::AttachmentPut {
            name,
            size_bytes: 0,
            path: String::new(),
            error: report.message,
        },
        Err(report) => return Err(halt(run.task(), Message::OperationPutFile, report)),
    };
    run.record(vec![event]).await
}
