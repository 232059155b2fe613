//! Files that clients upload in chunks, to attach them to a task or a message.
//!
//! An upload is a blob, named after its content, with a note of each tenant that has uploaded it: the hash of a content
//! opens no content of others. What refers to the blob keeps it and the note. One that nothing refers to is removed after a while,
//! with its note ([`crate::retention`]); referring to it renews that time.
//!
//! A file is in memory until it is stored, so that the number of uploads at a time is limited, for each caller and for all. One
//! more waits for a while; one whose client stops sending ends.

use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use motorium_proto::error::FieldError;
use motorium_proto::limits::MAX_FILE_BYTES;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::{Collection, PutResource};
use motorium_task::spec::{Attachment, AttachmentContent, upload_name};
use tonic::{Status, Streaming};

use super::{Edge, ownership};
use crate::error::Error;

/// Time that a client may take for the next chunk.
// A chunk has 256 KiB, which a slow line takes a second for.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(30);

impl Edge {
    /// Receives a file and stores it.
    pub(super) async fn upload(
        &self,
        mut chunks: Streaming<wire::UploadFileRequest>,
    ) -> Result<wire::UploadFileResponse, Status> {
        let caller = ownership::caller()?;
        let tenant = caller.tenant().to_owned();
        let slot = self.uploads.take(caller.name()).await;
        let _slot = slot.map_err(|_| Error::TooManyUploads)?;
        let mut content = BytesMut::new();
        while let Some(message) = next_chunk(&mut chunks).await? {
            if content.len() + message.chunk.len() > MAX_FILE_BYTES {
                let problem = format!("the file is larger than {MAX_FILE_BYTES} bytes");
                return Err(Error::from(FieldError::new("chunk", problem)).into());
            }
            content.extend_from_slice(&message.chunk);
        }
        let size_bytes = content.len() as u64;
        let stored = self.blobs.put(content.freeze()).await;
        let id = stored.map_err(|error| Status::from(Error::from(error)))?;
        let noted = self.store.put_resource(note(&tenant, &id.sha256())).await;
        noted.map_err(|error| Status::from(Error::from(error)))?;
        Ok(wire::UploadFileResponse {
            upload: upload_name(&id.sha256()),
            size_bytes,
        })
    }

    /// Checks that the caller's tenant has uploaded the uploads of attachments, and keeps them until the task or message that
    /// names them is stored.
    pub(super) async fn check_uploads(
        &self,
        field: &str,
        attachments: &[Attachment],
    ) -> Result<(), Error> {
        let tenant = ownership::caller()?.tenant().to_owned();
        for (index, attachment) in attachments.iter().enumerate() {
            let AttachmentContent::Upload(sha256) = attachment.content else {
                continue;
            };
            let name = resource_name(&tenant, &sha256);
            let uploaded = self.store.get_resource(&name).await;
            match uploaded.and(self.blobs.renew(sha256).await) {
                Ok(_) => drop(self.store.put_resource(note(&tenant, &sha256)).await?),
                Err(
                    motorium_store::Error::BlobNotFound { .. }
                    | motorium_store::Error::ResourceNotFound { .. },
                ) => {
                    let field = format!("{field}[{index}].upload");
                    let problem = "does not exist; upload the file with UploadFile first";
                    return Err(FieldError::new(field, problem).into());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Stores the contents of attachments, so that the log only refers to them.
    pub(super) async fn stored(
        &self,
        attachments: Vec<Attachment>,
    ) -> Result<Vec<Attachment>, Error> {
        let mut stored = Vec::with_capacity(attachments.len());
        for Attachment { name, content } in attachments {
            let content = match content {
                AttachmentContent::Inline(data) => self.put(data).await?,
                upload => upload,
            };
            stored.push(Attachment { name, content });
        }
        Ok(stored)
    }

    async fn put(&self, data: Bytes) -> Result<AttachmentContent, Error> {
        let id = self.blobs.put(data).await?;
        Ok(AttachmentContent::Upload(id.sha256()))
    }
}

/// Receives the next chunk of an upload.
async fn next_chunk(
    chunks: &mut Streaming<wire::UploadFileRequest>,
) -> Result<Option<wire::UploadFileRequest>, Status> {
    let received = tokio::time::timeout(CHUNK_TIMEOUT, chunks.message()).await;
    received.unwrap_or_else(|_| Err(Error::UploadStalled.into()))
}

/// Returns the note that a tenant has uploaded a content now.
fn note(tenant: &str, sha256: &[u8; 32]) -> PutResource {
    PutResource {
        collection: Collection::Uploads,
        name: resource_name(tenant, sha256),
        tenant: tenant.to_owned(),
        body: Bytes::new(),
        labels: Default::default(),
        replace: true,
        request: None,
        now: SystemTime::now(),
    }
}

/// Returns the name of the note that a tenant has uploaded a content.
fn resource_name(tenant: &str, sha256: &[u8; 32]) -> String {
    format!("tenants/{tenant}/{}", upload_name(sha256))
}
