//! The files of an export and their sources.
//!
//! It does not write them.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde::Serialize as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::steps::{self, StepFile, Steps};
use super::{answer, json, runs};
use motorium_proto::v1::orchestrator as wire;
use motorium_task::event::{Artifact, Event, RecordedEvent, StoredExchange};
use motorium_task::spec::AttachmentContent;
use motorium_task::{Task, view};

/// Version of the export format.
pub const FORMAT: u32 = 1;
/// File name of the task's final state.
pub(super) const TASK: &str = "task.json";
/// Maximum length of a file name, in bytes. A ustar path has 100 bytes, including the folder.
const MAX_NAME_BYTES: usize = 60;

/// Folder of the screenshots that back an event.
const EVIDENCE: &str = "evidence";
/// Folders of the requests to models and of the responses of their providers.
const REQUESTS: &str = "requests";
const RESPONSES: &str = "responses";

/// A file of an export.
#[derive(Debug, Clone)]
pub(super) struct ExportedFile {
    /// Path within the folder, with slashes.
    pub(super) path: String,
    pub(super) source: FileSource,
}

/// Source of a file's content.
#[derive(Debug, Clone)]
pub(super) enum FileSource {
    Inline(Bytes),
    Blob([u8; 32]),
    /// A stored scene, exported as JSON.
    Scene([u8; 32]),
    Page,
}

/// Returns all files except the manifest, in the order in which they are written.
pub(super) fn of(
    task: &Task,
    log: &[RecordedEvent],
    public: &[wire::Event],
    steps: &Steps,
    recorded: &[Bytes],
) -> Vec<ExportedFile> {
    let mut files = vec![
        inline(TASK, pretty(&json::of(json::TASK, &view::task(task)))),
        inline("answer.md", answer::text(task)),
        inline(
            "steps.jsonl",
            lines(steps.steps.iter().map(|step| step.json())),
        ),
        inline(
            "events.jsonl",
            lines(public.iter().map(|event| json::of(json::EVENT, event))),
        ),
    ];
    let named = log.iter().flat_map(artifact_files);
    files.extend(named.map(|(path, artifact)| ExportedFile {
        path,
        source: match artifact.media_type.as_str() {
            super::SCENE => FileSource::Scene(artifact.sha256),
            _ => FileSource::Blob(artifact.sha256),
        },
    }));
    files.extend((1..).zip(recorded).map(|(number, record)| ExportedFile {
        path: runs::path(number),
        source: FileSource::Inline(record.clone()),
    }));
    let attached = task
        .spec
        .attachments
        .iter()
        .chain(&task.message_attachments);
    files.extend(attached.map(|attachment| ExportedFile {
        path: format!("attachments/{}", attachment_file_name(&attachment.name)),
        source: match &attachment.content {
            AttachmentContent::Inline(data) => FileSource::Inline(data.clone()),
            AttachmentContent::Upload(sha256) => FileSource::Blob(*sha256),
        },
    }));
    files.push(ExportedFile {
        path: super::PAGE.to_owned(),
        source: FileSource::Page,
    });
    let mut seen = BTreeSet::new();
    // An artifact that several events reference is exported once.
    files.retain(|file| seen.insert(file.path.clone()));
    files
}

/// Returns the artifacts that an event references, with their paths in the folder.
pub fn artifact_files(recorded: &RecordedEvent) -> Vec<(String, &Artifact)> {
    let step = recorded.step;
    match &recorded.event {
        Event::Observed(observed) => [
            (StepFile::Frame, &observed.image),
            (StepFile::Scene, &observed.scene),
        ]
        .into_iter()
        .filter_map(|(place, artifact)| step_file(step, place, artifact.as_ref()))
        .collect(),
        Event::Decided {
            annotated_image,
            exchange,
            ..
        } => [
            (StepFile::Annotated, annotated_image),
            (StepFile::Requests, &exchange.requests),
            (StepFile::Responses, &exchange.responses),
        ]
        .into_iter()
        .filter_map(|(place, artifact)| step_file(step, place, artifact.as_ref()))
        .collect(),
        Event::AttachmentPut { image, .. } => {
            let artifacts = image.iter().map(|shown| &shown.artifact);
            within("user-images", artifacts)
        }
        Event::EndScreenCaptured { image } => step_file(step, StepFile::FrameAfter, Some(image))
            .into_iter()
            .collect(),
        Event::EffectJudged { screenshot, .. } => within(EVIDENCE, screenshot.iter()),
        Event::PointerChecked(checked) => [
            within(EVIDENCE, checked.image.iter()),
            exchange_files(&checked.exchange),
        ]
        .concat(),
        Event::BackendSkipped { exchange, .. }
        | Event::Extracted { exchange, .. }
        | Event::Summarized { exchange, .. } => exchange_files(exchange),
        Event::ApprovalRequested(approval) => within(EVIDENCE, approval.evidence.iter()),
        Event::InjectionSuspected {
            evidence: shown, ..
        } => within(EVIDENCE, shown.iter().flatten()),
        Event::ResultFetched(file) => within("results", file.artifact.iter()),
        _ => Vec::new(),
    }
}

fn step_file(
    step: u32,
    place: StepFile,
    artifact: Option<&Artifact>,
) -> Option<(String, &Artifact)> {
    artifact.map(|artifact| (steps::path(step, place, artifact), artifact))
}

/// Returns the files of a call beside the decision of a step.
fn exchange_files(exchange: &StoredExchange) -> Vec<(String, &Artifact)> {
    [
        within(REQUESTS, exchange.requests.iter()),
        within(RESPONSES, exchange.responses.iter()),
    ]
    .concat()
}

/// Returns artifacts with their paths in a folder of the export.
fn within<'a>(
    folder: &str,
    artifacts: impl Iterator<Item = &'a Artifact>,
) -> Vec<(String, &'a Artifact)> {
    artifacts
        .map(|it| (format!("{folder}/{}", safe_file_name(&it.file_name)), it))
        .collect()
}

/// Returns the file name of an attachment: safe, and another one for each name.
///
/// The names of a task's attachments differ, but `a b.pdf` and `a_b.pdf` have the same safe name.
pub fn attachment_file_name(name: &str) -> String {
    let safe = safe_file_name(name);
    if safe == name {
        return safe;
    }
    let hash = Sha256::digest(name);
    format!(
        "{:02x}{:02x}{:02x}{:02x}-{safe}",
        hash[0], hash[1], hash[2], hash[3]
    )
}

/// Returns a file name that is valid on every system and contains no path.
pub fn safe_file_name(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_');
    let cleaned: String = name
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .collect();
    // Names that begin with a dot are hidden, and `..` is the parent folder.
    let mut cut = cleaned.trim_start_matches('.').to_owned();
    // Cut from the front, which keeps the extension.
    while cut.len() > MAX_NAME_BYTES {
        cut.remove(0);
    }
    if cut.is_empty() {
        "file".to_owned()
    } else {
        cut
    }
}

fn inline(path: &str, text: String) -> ExportedFile {
    ExportedFile {
        path: path.to_owned(),
        source: FileSource::Inline(text.into()),
    }
}

fn lines(values: impl Iterator<Item = Value>) -> String {
    values.map(|value| format!("{value}\n")).collect()
}

/// Formats JSON with indentation.
pub(super) fn pretty(value: &Value) -> String {
    let mut text = Vec::new();
    let mut writer = serde_json::Serializer::pretty(&mut text);
    value
        .serialize(&mut writer)
        .expect("a value can be written into memory");
    String::from_utf8(text).expect("JSON is UTF-8") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_sanitised() {
        let check = |name: &str, plain_name: &str| assert_eq!(safe_file_name(name), plain_name);
        check("invoice.pdf", "invoice.pdf");
        check("../../etc/passwd", "_.._etc_passwd");
        check("发票 1.pdf", "发票_1.pdf");
        check("...", "file");
        assert!(safe_file_name(&"x".repeat(500)).len() <= MAX_NAME_BYTES);
    }

    #[test]
    fn attachments_with_different_names_have_different_files() {
        assert_eq!(attachment_file_name("a_b.pdf"), "a_b.pdf");
        let other = attachment_file_name("a b.pdf");
        assert!(other.ends_with("-a_b.pdf"), "{other}");
        assert_ne!(other, attachment_file_name("a/b.pdf"));
        let long = attachment_file_name(&"x".repeat(500));
        assert_ne!(long, attachment_file_name(&"x".repeat(501)));
    }
}
