//! Which files an export has, and what each is made of.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde::Serialize as _;
use serde_json::Value;

use super::steps::{self, Place, Steps};
use super::{answer, json, runs};
use crate::task::event::{Artifact, Event, Recorded};
use crate::task::{Task, view};
use motorium_proto::v1::orchestrator as wire;

/// The version of the form that exports have.
pub(crate) const FORMAT: u32 = 1;
/// Longer names are cut: an archive has room for a hundred characters of a path.
const LONGEST_NAME: usize = 60;

/// A file of an export.
#[derive(Debug, Clone)]
pub(super) struct File {
    /// Within the folder, with slashes.
    pub(super) path: String,
    pub(super) source: Source,
}

/// What a file is made of.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Inline(Bytes),
    Blob([u8; 32]),
    /// A stored scene, as JSON.
    Scene([u8; 32]),
    Page,
}

/// Everything but the manifest, in the order in which it is written.
pub(super) fn of(
    task: &Task,
    log: &[Recorded],
    public: &[wire::Event],
    steps: &Steps,
    recorded: &[Bytes],
) -> Vec<File> {
    let mut files = vec![
        inline(
            "task.json",
            pretty(&json::of(json::TASK, &view::task(task))),
        ),
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
    let named = log.iter().flat_map(artifacts);
    files.extend(named.map(|(path, artifact)| File {
        path,
        source: match artifact.media_type.as_str() {
            super::SCENE => Source::Scene(artifact.sha256),
            _ => Source::Blob(artifact.sha256),
        },
    }));
    files.extend((1..).zip(recorded).map(|(number, record)| File {
        path: runs::path(number),
        source: Source::Inline(record.clone()),
    }));
    let attached = task.spec.attachments.iter();
    files.extend(attached.map(|attachment| File {
        path: format!("attachments/{}", plain(&attachment.name)),
        source: Source::Inline(attachment.data.clone()),
    }));
    files.push(File {
        path: super::PAGE.to_owned(),
        source: Source::Page,
    });
    let mut seen = BTreeSet::new();
    files.retain(|file| seen.insert(file.path.clone()));
    files
}

/// The artifacts that an event names, and where each is in the folder.
pub(crate) fn artifacts(recorded: &Recorded) -> Vec<(String, &Artifact)> {
    let step = recorded.step;
    match &recorded.event {
        Event::Observed(observed) => {
            let place = |place, artifact| Some((steps::path(step, place, artifact), artifact));
            [
                observed
                    .image
                    .as_ref()
                    .and_then(|it| place(Place::Frame, it)),
                observed
                    .marked_image
                    .as_ref()
                    .and_then(|it| place(Place::Marked, it)),
                observed
                    .scene
                    .as_ref()
                    .and_then(|it| place(Place::Scene, it)),
            ]
            .into_iter()
            .flatten()
            .collect()
        }
        Event::PointerChecked(checked) => evidence(checked.image.iter()),
        Event::ApprovalRequested(approval) => evidence(approval.evidence.iter()),
        Event::InjectionSuspected {
            evidence: shown, ..
        } => evidence(shown.iter().flatten()),
        Event::ResultFetched { artifact, .. } => artifact
            .iter()
            .map(|it| (format!("results/{}", plain(&it.file_name)), it))
            .collect(),
        _ => Vec::new(),
    }
}

fn evidence<'a>(artifacts: impl Iterator<Item = &'a Artifact>) -> Vec<(String, &'a Artifact)> {
    artifacts
        .map(|it| (format!("evidence/{}", plain(&it.file_name)), it))
        .collect()
}

/// A file name that is one on every system, and leads nowhere else.
pub(crate) fn plain(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_');
    let cleaned: String = name
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .collect();
    let mut cut = cleaned.trim_start_matches('.').to_owned();
    while cut.len() > LONGEST_NAME {
        cut.remove(0);
    }
    if cut.is_empty() {
        "file".to_owned()
    } else {
        cut
    }
}

fn inline(path: &str, text: String) -> File {
    File {
        path: path.to_owned(),
        source: Source::Inline(text.into()),
    }
}

fn lines(values: impl Iterator<Item = Value>) -> String {
    values.map(|value| format!("{value}\n")).collect()
}

/// JSON for people.
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
    fn names_lead_nowhere_else() {
        let check = |name: &str, plain_name: &str| assert_eq!(plain(name), plain_name);
        check("invoice.pdf", "invoice.pdf");
        check("../../etc/passwd", "_.._etc_passwd");
        check("发票 1.pdf", "发票_1.pdf");
        check("...", "file");
        assert!(plain(&"x".repeat(500)).len() <= LONGEST_NAME);
    }
}
