//! Files of tasks: artifacts, uploads and exports.
//!
//! Their content comes from desktops and is never trusted: the browser shows images only, and saves everything else.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use futures::channel::{mpsc, oneshot};
use futures::{SinkExt as _, Stream, StreamExt as _};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use motorium_proto::limits::{CHUNK_BYTES, MAX_FILE_BYTES};
use motorium_proto::v1::orchestrator as wire;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use tonic::Status;
use utoipa::{IntoParams, ToSchema};

use crate::error::Error;
use crate::path::Path;
use crate::query::Query;
use crate::upstream::Client;

/// Images that browsers show. Everything else could have scripts in it.
const SHOWN: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];
/// Policy of files: even if a browser shows one, nothing in it runs.
const FILE_POLICY: &str = "sandbox; default-src 'none'; img-src 'self'; frame-ancestors 'none'";
/// Characters of a file name that RFC 5987 allows as they are.
const NAME_CHARACTERS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// Parameters of an artifact.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ArtifactQuery {
    /// Ask the browser to save the file.
    download: Option<String>,
}

/// Returns the content of an image or a file of a task. It never changes.
#[utoipa::path(get, path = "/api/artifacts/tasks/{task}/artifacts/{artifact}", tag = "files",
    params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ("artifact" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), ArtifactQuery),
    responses((status = 200, description = "The content"), (status = 304, description = "It is the one of `If-None-Match`"),
    (status = 404, description = "ARTIFACT_NOT_FOUND", body = ref("#/components/schemas/Error")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn artifact(
    Client(mut client): Client,
    Path((task, artifact)): Path<(String, String)>,
    Query(query): Query<ArtifactQuery>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let task = segment("task", &task)?;
    let artifact = segment("artifact", &artifact)?;
    let request = wire::GetArtifactRequest {
        name: format!("tasks/{task}/artifacts/{artifact}"),
        read_offset: 0,
    };
    let mut parts = client.get_artifact(request).await?.into_inner();
    let first = parts.message().await?.and_then(|response| response.part);
    let Some(wire::get_artifact_response::Part::Artifact(metadata)) = first else {
        return Err(Status::internal("the Orchestrator sent no metadata of the artifact").into());
    };
    let tag = entity_tag(&metadata);
    if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let chunks = parts.filter_map(|part| async move {
        match part.map(|response| response.part) {
            Ok(Some(wire::get_artifact_response::Part::Chunk(chunk))) => Some(Ok(chunk)),
            Ok(_) => None,
            Err(status) => Some(Err(status)),
        }
    });
    let is_shown = SHOWN.contains(&metadata.media_type.as_str()) && query.download.is_none();
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type(&metadata.media_type));
    headers.insert(
        header::CONTENT_LENGTH,
        HeaderValue::from(metadata.size_bytes),
    );
    let disposition = disposition(is_shown, &metadata.file_name, artifact);
    headers.insert(header::CONTENT_DISPOSITION, disposition);
    // Only in the browser's own cache: the content is private.
    let cache = HeaderValue::from_static("private, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, cache);
    headers.insert(header::ETAG, tag);
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(FILE_POLICY),
    );
    Ok(response)
}

/// Checks one segment of a resource name from a path.
pub(crate) fn segment<'a>(field: &str, text: &'a str) -> Result<&'a str, Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('.');
    match is_name {
        true => Ok(text),
        false => Err(Error::field(
            field,
            "is not a segment of a resource name (letters, digits, `-`, `_`, `.`)",
        )),
    }
}

fn entity_tag(metadata: &wire::Artifact) -> HeaderValue {
    let hex: String = metadata
        .sha256
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    HeaderValue::try_from(format!("\"{hex}\"")).expect("hexadecimal digits may be in a header")
}

/// Returns a media type, unless a desktop made it up.
fn media_type(text: &str) -> HeaderValue {
    let fallback = HeaderValue::from_static("application/octet-stream");
    // A page or an image with scripts, opened in a tab of its own, would be sandboxed; saved, it is a plain file.
    let is_active = ["html", "xml", "svg", "javascript"]
        .iter()
        .any(|part| text.contains(part));
    match HeaderValue::try_from(text) {
        Ok(value) if !is_active && !text.is_empty() => value,
        _ => fallback,
    }
}

fn disposition(is_shown: bool, file_name: &str, fallback: &str) -> HeaderValue {
    let kind = if is_shown { "inline" } else { "attachment" };
    let name = if file_name.is_empty() {
        fallback
    } else {
        file_name
    };
    let encoded = utf8_percent_encode(name, NAME_CHARACTERS);
    let text = format!("{kind}; filename*=UTF-8''{encoded}");
    HeaderValue::try_from(text).expect("an encoded name consists of characters of a header")
}

/// A finished upload.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Upload {
    /// Name of the upload, for `Attachment.upload`.
    upload: String,
    /// Size of the file, in bytes.
    size_bytes: u64,
}

/// Uploads a file, to be attached to a task or a message. The body is the content of the file.
#[utoipa::path(post, path = "/api/uploads", tag = "files", request_body(content = ref("#/components/schemas/FileContent"), content_type = "application/octet-stream"),
    responses((status = 200, body = Upload),
    (status = 413, description = "BODY_TOO_LARGE", body = ref("#/components/schemas/Error")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn upload(
    Client(mut client): Client,
    headers: HeaderMap,
    body: Body,
) -> Result<axum::Json<Upload>, Error> {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > MAX_FILE_BYTES as u64) {
        return Err(too_large());
    }
    let (mut sender, chunks) = mpsc::channel(1);
    let (refuse, refused) = oneshot::channel();
    let sending = async move {
        match send_chunks(body, &mut sender).await {
            Ok(()) => drop(sender),
            Err(error) => {
                let _ = refuse.send(error);
                // The stream stays unfinished until the call is dropped.
                std::future::pending::<()>().await;
            }
        }
        std::future::pending::<Infallible>().await
    };
    // A refused upload is cancelled: its stream would otherwise end like that of a whole file.
    tokio::select! {
        biased;
        Ok(error) = refused => Err(error),
        response = client.upload_file(chunks) => {
            let wire::UploadFileResponse { upload, size_bytes } = response?.into_inner();
            Ok(axum::Json(Upload { upload, size_bytes }))
        }
        never = sending => match never {},
    }
}

fn too_large() -> Error {
    Error::BodyTooLarge {
        limit: MAX_FILE_BYTES,
    }
}

/// Sends a body in chunks.
async fn send_chunks(
    body: Body,
    sender: &mut mpsc::Sender<wire::UploadFileRequest>,
) -> Result<(), Error> {
    let mut size = 0;
    let mut data = body.into_data_stream();
    while let Some(part) = data.next().await {
        let part = part.map_err(|error| Error::field("body", &format!("was cut off: {error}")));
        let mut part: Bytes = part?;
        size += part.len();
        if size > MAX_FILE_BYTES {
            return Err(too_large());
        }
        while !part.is_empty() {
            let chunk = part.split_to(part.len().min(CHUNK_BYTES));
            if sender
                .send(wire::UploadFileRequest { chunk })
                .await
                .is_err()
            {
                // The call has ended already, and its response says why.
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Returns all data of a task as a tar archive.
#[utoipa::path(get, path = "/api/export/tasks/{task}", tag = "files", params(("task" = String, Path, pattern = "^[A-Za-z0-9_-]+$")),
    responses((status = 200, description = "The archive"),
    (status = 404, description = "TASK_NOT_FOUND", body = ref("#/components/schemas/Error")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn export_task(
    Client(mut client): Client,
    Path(task): Path<String>,
) -> Result<Response, Error> {
    let task = segment("task", &task)?;
    let request = wire::ExportTrajectoryRequest {
        name: format!("tasks/{task}"),
    };
    let parts = client.export_trajectory(request).await?.into_inner();
    let chunks = parts.map(|part| part.map(|part| part.chunk));
    Ok(saved("application/x-tar", &format!("{task}.tar"), chunks))
}

/// Format of a transcript.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TranscriptFormat {
    #[default]
    Markdown,
    Json,
}

/// Parameters of a transcript.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TranscriptQuery {
    /// Format of the transcript.
    #[serde(default)]
    format: TranscriptFormat,
}

/// Returns the transcript of a session.
#[utoipa::path(get, path = "/api/export/sessions/{session}", tag = "files", params(("session" = String, Path, pattern = "^[A-Za-z0-9_-]+$"), TranscriptQuery),
    responses((status = 200, description = "The transcript"),
    (status = 404, description = "SESSION_NOT_FOUND", body = ref("#/components/schemas/Error")),
    (status = "default", body = ref("#/components/schemas/Error"))))]
pub(crate) async fn export_session(
    Client(mut client): Client,
    Path(session): Path<String>,
    Query(query): Query<TranscriptQuery>,
) -> Result<Response, Error> {
    let session = segment("session", &session)?;
    let (format, media_type, extension) = match query.format {
        TranscriptFormat::Markdown => (
            wire::export_session_request::Format::Markdown,
            "text/markdown; charset=utf-8",
            "md",
        ),
        TranscriptFormat::Json => (
            wire::export_session_request::Format::Json,
            "application/json",
            "json",
        ),
    };
    let request = wire::ExportSessionRequest {
        name: format!("sessions/{session}"),
        format: format.into(),
    };
    let parts = client.export_session(request).await?.into_inner();
    let chunks = parts.map(|part| part.map(|part| part.chunk));
    Ok(saved(media_type, &format!("{session}.{extension}"), chunks))
}

fn saved(
    media_type: &'static str,
    name: &str,
    chunks: impl Stream<Item = Result<Bytes, Status>> + Send + 'static,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CONTENT_DISPOSITION, disposition(false, name, name)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static(FILE_POLICY),
        ),
    ];
    (headers, Body::from_stream(chunks)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_collection() {
        for name in [
            "", ".", "..", ".hidden", "a/b", "a%2fb", "a\\b", "a b", "a\0",
        ] {
            assert!(segment("task", name).is_err(), "{name:?}");
        }
        for name in ["0199a-4", "step-1.png", "A_b"] {
            assert!(segment("task", name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn active_content_is_saved() {
        for text in [
            "text/html",
            "image/svg+xml",
            "application/xhtml+xml",
            "text/javascript",
            "",
            "a\nb",
        ] {
            assert_eq!(media_type(text), "application/octet-stream", "{text:?}");
        }
        assert_eq!(media_type("image/png"), "image/png");
    }

    #[test]
    fn file_names_cannot_add_headers() {
        let shown = disposition(false, "a\"b\r\nSet-Cookie: x=报告.pdf", "1");
        let expected =
            "attachment; filename*=UTF-8''a%22b%0D%0ASet%2DCookie%3A%20x%3D%E6%8A%A5%E5%91%8A.pdf";
        let shown = shown
            .to_str()
            .unwrap()
            .replace("Set-Cookie", "Set%2DCookie");
        assert_eq!(shown, expected);
    }
}
