//! Files of tasks as resources: links to them in the results of tools, and their content.
//!
//! Nothing is listed: a client reads what a result has linked, with its own token. The content comes from a desktop and is never
//! trusted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::get_artifact_response::Part;
use rmcp::model::{
    ContentBlock, ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use tonic::{Code, Status};

use super::plain_text::on_one_line;
use super::tools::FileReport;
use crate::error::Error;
use crate::files::segment;
use crate::upstream::OrchestratorClient;

/// Beginning of the address of a file; its resource name follows.
const SCHEME: &str = "motorium://";
/// Maximum size of a file that is read over the protocol, in bytes.
// A message has all of it, in Base64, and `motorium mcp` passes on messages of 32 MiB.
const MAX_RESOURCE_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size of a file that is sent as a text, in bytes.
// JSON makes up to six characters of one.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Maximum length of a file name.
const MAX_NAME_CHARS: usize = 200;
/// Maximum number of characters of a path or an error: as long as a path of Linux can be in characters of one byte, halved.
const MAX_TEXT_CHARS: usize = 2_000;
/// Media types that may be those of a text, beside `text/…`. Files of a desktop have none of their own.
const MAYBE_TEXTS: [&str; 4] = [
    "",
    "application/octet-stream",
    "application/json",
    "application/xml",
];

/// Returns what the files of a task are, for the report about it.
pub(super) fn reports(files: Vec<wire::ResultFile>) -> Vec<FileReport> {
    files.into_iter().map(report).collect()
}

fn report(file: wire::ResultFile) -> FileReport {
    let artifact = file.artifact.unwrap_or_default();
    let uri = match artifact.name.is_empty() {
        true => String::new(),
        false => format!("{SCHEME}{}", artifact.name),
    };
    FileReport {
        // Programs and pages on the desktop choose it.
        name: on_one_line(&file.name, MAX_NAME_CHARS),
        uri,
        media_type: artifact.media_type,
        size_bytes: artifact.size_bytes,
        path: on_one_line(&file.path, MAX_TEXT_CHARS),
        error: on_one_line(&file.error, MAX_TEXT_CHARS),
    }
}

/// Returns the link to a file, if its content is there.
pub(super) fn link(file: &FileReport) -> Option<ContentBlock> {
    if file.uri.is_empty() {
        return None;
    }
    let mut resource = Resource::new(&file.uri, &file.name);
    resource.size = Some(file.size_bytes);
    resource.mime_type = (!file.media_type.is_empty()).then(|| file.media_type.clone());
    Some(ContentBlock::resource_link(resource))
}

/// Returns the form of the addresses of all files.
pub(super) fn template() -> ResourceTemplate {
    let form = format!("{SCHEME}tasks/{{task}}/artifacts/{{artifact}}");
    ResourceTemplate::new(form, "file of a task").with_description(
        "A file that a task has fetched from its desktop, as results of tools link it.",
    )
}

/// Returns the content of a file.
pub(super) async fn read(
    mut client: OrchestratorClient,
    uri: &str,
) -> Result<ReadResourceResult, Error> {
    let request = wire::GetArtifactRequest {
        name: artifact_name(uri)?,
        read_offset: 0,
    };
    let mut parts = client.get_artifact(request).await?.into_inner();
    let first = parts.message().await?.and_then(|response| response.part);
    let Some(Part::Artifact(metadata)) = first else {
        return Err(Status::internal("the Orchestrator sent no metadata of the artifact").into());
    };
    let size = usize::try_from(metadata.size_bytes).unwrap_or(usize::MAX);
    if size > MAX_RESOURCE_BYTES {
        let problem = format!(
            "has {size} bytes, more than the {MAX_RESOURCE_BYTES} of a message; download it from /api/artifacts/{} of the gateway",
            metadata.name
        );
        return Err(Error::field("uri", &problem));
    }
    let mut content = Vec::with_capacity(size);
    while let Some(response) = parts.message().await? {
        if let Some(Part::Chunk(chunk)) = response.part {
            content.extend_from_slice(&chunk);
        }
    }
    let contents = contents(content, uri, &metadata.media_type);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Returns the name of the artifact at an address.
fn artifact_name(uri: &str) -> Result<String, Error> {
    let segments: Vec<&str> = uri
        .strip_prefix(SCHEME)
        .unwrap_or_default()
        .split('/')
        .collect();
    let ["tasks", task, "artifacts", artifact] = segments[..] else {
        let unfit = format!("is not the address of a file: {SCHEME}tasks/TASK/artifacts/ARTIFACT");
        return Err(Error::field("uri", &unfit));
    };
    let (task, artifact) = (segment("uri", task)?, segment("uri", artifact)?);
    Ok(format!("tasks/{task}/artifacts/{artifact}"))
}

/// Returns a text as one, and everything else in Base64.
fn contents(content: Vec<u8>, uri: &str, media_type: &str) -> ResourceContents {
    let may_be_text = media_type.starts_with("text/") || MAYBE_TEXTS.contains(&media_type);
    let contents = match String::from_utf8(content) {
        Ok(text) if may_be_text && is_readable(&text) => ResourceContents::text(text, uri),
        Ok(text) => ResourceContents::blob(STANDARD.encode(text), uri),
        Err(error) => ResourceContents::blob(STANDARD.encode(error.into_bytes()), uri),
    };
    match media_type {
        "" => contents,
        media_type => contents.with_mime_type(media_type),
    }
}

/// Returns whether a text is one for readers, and of a size that is sent as a text.
fn is_readable(text: &str) -> bool {
    let is_unreadable = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    text.len() <= MAX_TEXT_BYTES && !text.contains(is_unreadable)
}

/// Returns the error of a request that names a resource, in the words of the protocol.
pub(super) fn protocol_error(error: Error) -> ErrorData {
    let report = error.report();
    let text = format!("{}: {}", report.reason, report.message);
    match report.code {
        Code::NotFound => ErrorData::resource_not_found(text, None),
        Code::Internal | Code::DataLoss | Code::Unavailable => {
            ErrorData::internal_error(text, None)
        }
        _ => ErrorData::invalid_params(text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_one_artifact_and_no_path() {
        let named = artifact_name("motorium://tasks/a/artifacts/b1").unwrap();
        assert_eq!(named, "tasks/a/artifacts/b1");
        for uri in [
            "",
            "tasks/a/artifacts/b",
            "file:///etc/passwd",
            "motorium://tasks/a",
            "motorium://tasks/a/artifacts/",
            "motorium://tasks/../artifacts/b",
            "motorium://tasks/a/artifacts/..",
            "motorium://tasks/a/artifacts/b/c",
            "motorium://sessions/a/artifacts/b",
            "motorium://tasks/a%2f/artifacts/b",
        ] {
            assert!(artifact_name(uri).is_err(), "{uri}");
        }
    }

    #[test]
    fn only_texts_are_sent_as_texts() {
        let is_text = |content: &[u8], media_type: &str| {
            let contents = contents(content.to_vec(), "motorium://x", media_type);
            matches!(contents, ResourceContents::TextResourceContents { .. })
        };
        assert!(is_text(b"a,b", "text/csv"));
        assert!(is_text("报告".as_bytes(), "application/json"));
        assert!(!is_text(b"\xff\xfe", "text/plain"));
        assert!(!is_text(b"%PDF", "application/pdf"));
        assert!(is_text(b"month,sum\r\n", "application/octet-stream"));
        assert!(!is_text(b"PK\x03\x04", ""));
        assert!(!is_text(b"a", "image/svg+xml"));
        assert!(!is_text(&vec![b'a'; MAX_TEXT_BYTES + 1], "text/plain"));
    }

    #[test]
    fn a_file_without_content_is_told_and_not_linked() {
        let named = |artifact: Option<wire::Artifact>| wire::ResultFile {
            name: "re\nport\u{202e}.pdf".to_owned(),
            artifact,
            ..wire::ResultFile::default()
        };
        let lost = report(named(None));
        assert_eq!((lost.name.as_str(), lost.uri.as_str()), ("re port.pdf", ""));
        assert!(link(&lost).is_none());
        let fetched = report(named(Some(wire::Artifact {
            name: "tasks/a/artifacts/b".to_owned(),
            size_bytes: 7,
            ..wire::Artifact::default()
        })));
        let Some(ContentBlock::ResourceLink(linked)) = link(&fetched) else {
            panic!("{fetched:?} is linked");
        };
        assert_eq!(linked.uri, "motorium://tasks/a/artifacts/b");
        assert_eq!((linked.size, linked.mime_type), (Some(7), None));
    }
}
