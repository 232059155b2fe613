//! An exported task, read from the disk.
//!
//! It does not replay anything: `player` does.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use motorium_proto::v1::common::Scene;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::Exchange;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::exchange::Outcome;
use motorium_proto::v1::perception::ObserveResponse;
use motorium_proto::v1::planner::PlanResponse;
use prost::Message as _;
use sha2::{Digest as _, Sha256};

use super::compare;
use super::difference::Difference;
use crate::recording::{OBSERVE, RUN, TRUNCATED, decode_recording};
use crate::trajectory::{
    Error, FORMAT, MANIFEST, RECORDING, SCENE, artifact_files, attachment_file_name, json,
    safe_file_name,
};
use motorium_task::Task;
use motorium_task::event::{Artifact, Event, RecordedEvent};
use motorium_task::spec::{Attachment, AttachmentContent};
use motorium_text::hex;

/// The parts of an export that a replay needs.
#[derive(Debug)]
pub struct ExportFolder {
    root: PathBuf,
    pub task: Task,
    pub log: Vec<RecordedEvent>,
    /// The exchanges of each run, in order.
    records: Vec<Vec<Exchange>>,
    pub notes: Vec<String>,
    /// Contents of the files that the log references, by the hash in the log.
    contents: HashMap<[u8; 32], Bytes>,
}

/// One run of the task, from its claim by an orchestrator until its release.
#[derive(Debug)]
pub struct Run {
    /// Number of events before the run.
    pub first_event: usize,
    /// Number of events at its end.
    pub end_event: usize,
    /// True if the run ended the task, rather than being abandoned.
    pub is_last: bool,
    pub orchestrator: String,
    pub exchanges: Vec<Exchange>,
}

impl ExportFolder {
    pub fn read(root: &Path) -> Result<Self, Error> {
        let events = root.join("events.jsonl");
        check_is_export(root, &events)?;
        let text = fs::read_to_string(&events).map_err(Error::file(&events))?;
        let unreadable = |reason: String| Error::Unreadable {
            path: events.clone(),
            reason,
        };
        let mut log = Vec::new();
        for line in text.lines() {
            let mut event: wire::Event = json::read(json::EVENT, line).map_err(unreadable)?;
            fill_attachments(root, &mut event);
            let recorded =
                RecordedEvent::try_from(event).map_err(|error| unreadable(error.to_string()))?;
            log.push(recorded);
        }
        let numbered = (1..).zip(&log).all(|(number, one)| one.seq.0 == number);
        if !numbered {
            return Err(unreadable(
                "its events are not numbered from 1 without gaps".to_owned(),
            ));
        }
        let task = Task::from_events(log.clone());
        let task =
            task.ok_or_else(|| unreadable("it does not begin with the creation".to_owned()))?;
        let mut folder = Self {
            root: root.to_owned(),
            task,
            log,
            records: Vec::new(),
            notes: Vec::new(),
            contents: HashMap::new(),
        };
        folder.read_files();
        folder.read_uploads();
        folder.read_records()?;
        folder.fill_conversations();
        folder.check_manifest();
        if folder.records.is_empty() {
            return Err(folder.unreadable(
                "the task has no recording: it was never started, or `orchestrator.recording` was off",
            ));
        }
        Ok(folder)
    }

    fn read_files(&mut self) {
        for (path, artifact) in self.log.iter().flat_map(artifact_files) {
            // A missing file is noticed when the replay asks for it, if it does.
            let Ok(content) = fs::read(self.root.join(&path)) else {
                continue;
            };
            let content = as_stored(artifact, content);
            if content_is(&content, &artifact.sha256)
                || !self.contents.contains_key(&artifact.sha256)
            {
                // An image may be exported twice. If one copy was altered, the intact one is used.
                self.contents.insert(artifact.sha256, content.into());
            }
        }
    }

    /// Reads the uploads that the log references.
    fn read_uploads(&mut self) {
        let brought = self.log.iter().flat_map(|it| attachments(&it.event));
        for attachment in brought {
            let AttachmentContent::Upload(sha256) = attachment.content else {
                continue;
            };
            if let Ok(content) = fs::read(attachment_path(&self.root, &attachment.name)) {
                self.contents.insert(sha256, content.into());
            }
        }
    }

    fn read_records(&mut self) -> Result<(), Error> {
        let files = fs::read_dir(self.root.join(RECORDING))
            .into_iter()
            .flatten();
        let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        // The names are numbered in the order of the runs.
        files.sort();
        for path in files {
            let content = fs::read(&path).map_err(Error::file(&path))?;
            let record = decode_recording(&content);
            let record = record.map_err(|reason| Error::Unreadable { path, reason })?;
            if let Some(end) = record.last().filter(|_| is_cut(&record)) {
                self.notes.push(format!(
                    "the recording exceeded its size limit in step {}; the rest of that run is not replayed",
                    end.step
                ));
            }
            self.records.push(record);
        }
        Ok(())
    }

    fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        self.records.iter().flatten()
    }

    /// Restores the planner's conversations, which exported events omit, from the recorded responses.
    fn fill_conversations(&mut self) {
        let mut by_step: HashMap<u32, Bytes> = HashMap::new();
        for exchange in self
            .exchanges()
            .filter(|exchange| exchange.method.ends_with("/Plan"))
        {
            if let Some(Outcome::Response(answer)) = &exchange.outcome
                && let Ok(planned) = PlanResponse::decode(answer.clone())
            {
                let decision = planned.decision.unwrap_or_default();
                by_step.insert(exchange.step, decision.conversation);
            }
        }
        for recorded in &mut self.log {
            if let Event::Decided { decision, .. } = &mut recorded.event
                && let Some(conversation) = by_step.get(&recorded.step)
            {
                decision.conversation = conversation.clone();
            }
        }
    }

    /// Adds notes about files that differ from the manifest. They are not errors: the replay shows whether they matter.
    fn check_manifest(&mut self) {
        let manifest = fs::read_to_string(self.root.join(MANIFEST)).unwrap_or_default();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap_or_default();
        let Some(files) = manifest["files"].as_array() else {
            self.notes
                .push(format!("{MANIFEST} is missing or cannot be read"));
            return;
        };
        if manifest["format"] != FORMAT {
            let format = &manifest["format"];
            self.notes.push(format!(
                "the export has format {format}; this build writes format {FORMAT}"
            ));
        }
        for file in files {
            let path = file["path"].as_str().unwrap_or_default();
            let is_inside = !path.split('/').any(|part| part == "..") && !path.starts_with('/');
            let Some(content) = is_inside
                .then(|| fs::read(self.root.join(path)).ok())
                .flatten()
            else {
                self.notes.push(format!("{path} is missing"));
                continue;
            };
            if file["sha256"] != hex::encode(&Sha256::digest(&content)) {
                self.notes
                    .push(format!("{path} was changed after the export"));
            }
        }
        if manifest["complete"] == false {
            self.notes
                .push("the task had not ended when it was exported".to_owned());
        }
    }

    pub fn unreadable(&self, reason: &str) -> Error {
        Error::Unreadable {
            path: self.root.clone(),
            reason: reason.to_owned(),
        }
    }

    /// Returns the contents of all images and scenes, as they are in the folder now.
    pub fn stored(&self) -> Vec<Bytes> {
        self.contents.values().cloned().collect()
    }

    pub fn contents(&self) -> HashMap<[u8; 32], Bytes> {
        self.contents.clone()
    }

    /// Describes the files whose content differs from the log.
    pub fn altered(&self) -> Vec<Difference> {
        let mut differences = Vec::new();
        for recorded in &self.log {
            for (path, artifact) in artifact_files(recorded) {
                let content = fs::read(self.root.join(&path)).ok();
                let stored = content.clone().map(|content| as_stored(artifact, content));
                if stored.is_some_and(|stored| content_is(&stored, &artifact.sha256)) {
                    continue;
                }
                let content = content.as_deref();
                let got = content.map(|content| hex::encode(&Sha256::digest(content)));
                let expected = hex::encode(&artifact.sha256);
                let by_element = content
                    .filter(|_| path.starts_with("scenes/"))
                    .and_then(|content| self.altered_scene(recorded, content));
                let (what, expected, got) = by_element.unwrap_or_else(|| {
                    let got = got.map_or("nothing".to_owned(), |hash| format!("SHA-256 {hash}"));
                    (String::new(), format!("SHA-256 {expected}"), got)
                });
                let what = match (content, what.is_empty()) {
                    (None, _) => format!("{path} is missing"),
                    (_, true) => format!("{path} differs from the recording"),
                    (_, false) => format!("{path} differs from the recording: {what}"),
                };
                differences.push(Difference {
                    step: recorded.step,
                    what,
                    expected,
                    got,
                });
            }
        }
        differences
    }

    fn altered_scene(
        &self,
        recorded: &RecordedEvent,
        now: &[u8],
    ) -> Option<(String, String, String)> {
        let Event::Observed(observed) = &recorded.event else {
            return None;
        };
        let now: Scene = json::read(json::SCENE, std::str::from_utf8(now).ok()?).ok()?;
        let seen = self
            .exchanges()
            .filter(|exchange| exchange.method == OBSERVE)
            .filter_map(|exchange| match &exchange.outcome {
                Some(Outcome::Response(answer)) => ObserveResponse::decode(answer.clone()).ok(),
                _ => None,
            })
            .find(|seen| {
                let frame = seen.frame.as_ref();
                frame.is_some_and(|frame| frame.id == observed.frame.id.as_str())
            })?;
        compare::scenes(&seen.scene?, &now)
    }

    /// Returns the runs, in order.
    pub fn runs(&self) -> Vec<Run> {
        let begins: Vec<usize> = self
            .records
            .iter()
            .map(|record| self.begin(record))
            .collect();
        let ends = begins.iter().skip(1).copied().chain([self.log.len()]);
        let runs = self.records.iter().zip(begins.iter().copied().zip(ends));
        runs.map(|(record, (begins, ends))| Run {
            first_event: begins,
            end_event: ends,
            is_last: ends == self.log.len() && self.ended_in_its_run() && !is_cut(record),
            orchestrator: self.log[begins..ends]
                .iter()
                .find_map(orchestrator_of)
                .unwrap_or_default(),
            exchanges: record.clone(),
        })
        .collect()
    }

    /// Returns the number of events before a run.
    fn begin(&self, record: &[Exchange]) -> usize {
        let begun = record
            .first()
            .map_or(&[][..], |begun| begun.request.as_ref());
        let known = std::str::from_utf8(begun).unwrap_or_default().parse();
        known.unwrap_or(0).min(self.log.len())
    }

    /// Returns true if the last run ended the task. A task that is not running is cancelled without a run.
    fn ended_in_its_run(&self) -> bool {
        let step = self.task.steps.last().map_or(0, |step| step.number);
        let last = self.log.last().map(|last| last.step);
        self.task.lifecycle.is_terminal() && last == Some(step)
    }

    /// Returns the number and summary of each step.
    pub fn steps(&self) -> Vec<(u32, String)> {
        let line = |decision: &motorium_proto::domain::decision::Decision| {
            if decision.progress.is_empty() {
                decision.thought.clone()
            } else {
                decision.progress.clone()
            }
        };
        let steps = self.task.steps.iter();
        steps
            .map(|step| {
                (
                    step.number,
                    step.decision.as_ref().map(line).unwrap_or_default(),
                )
            })
            .collect()
    }
}

impl Run {
    /// Returns the stored settings of the run, as the Orchestrator wrote them.
    ///
    /// # Errors
    /// In words, if the recording does not begin with them.
    pub fn settings(&self) -> Result<&[u8], String> {
        let begun = self
            .exchanges
            .iter()
            .find(|exchange| exchange.method == RUN);
        match begun.and_then(|exchange| exchange.outcome.as_ref()) {
            Some(Outcome::Response(json)) => Ok(json),
            _ => Err("the recording of a run does not begin with its settings".to_owned()),
        }
    }
}

/// Checks that a folder with an event log exists. Whether the log can be read shows later.
fn check_is_export(root: &Path, events: &Path) -> Result<(), Error> {
    let reason = if !root.exists() {
        "it does not exist"
    } else if !root.is_dir() {
        "it is not a folder"
    } else if !events.exists() {
        "it has no file events.jsonl"
    } else {
        return Ok(());
    };
    Err(Error::NotAnExport {
        path: root.to_owned(),
        reason,
    })
}

/// Converts an exported file back to its stored form. Scenes are stored as protobuf messages and exported as JSON.
fn as_stored(artifact: &Artifact, content: Vec<u8>) -> Vec<u8> {
    if artifact.media_type != SCENE {
        return content;
    }
    let text = std::str::from_utf8(&content).ok();
    let scene = text.and_then(|text| json::read::<Scene>(json::SCENE, text).ok());
    scene.map_or(content, |scene| scene.encode_to_vec())
}

fn is_cut(record: &[Exchange]) -> bool {
    record.last().is_some_and(|last| last.method == TRUNCATED)
}

fn content_is(content: &[u8], sha256: &[u8; 32]) -> bool {
    Sha256::digest(content)[..] == sha256[..]
}

/// Returns the orchestrator that an event names.
fn orchestrator_of(recorded: &RecordedEvent) -> Option<String> {
    match &recorded.event {
        Event::Started { orchestrator } | Event::Recovered { orchestrator, .. } => {
            Some(orchestrator.clone())
        }
        _ => None,
    }
}

/// Restores the content of attachments, which exported events omit.
fn fill_attachments(root: &Path, event: &mut wire::Event) {
    let attachments: Vec<&mut wire::Attachment> = match &mut event.kind {
        Some(Kind::Created(created)) => {
            let tasks = created.task.iter_mut();
            tasks.flat_map(|task| &mut task.attachments).collect()
        }
        Some(Kind::MessageReceived(received)) => received.attachments.iter_mut().collect(),
        Some(Kind::UserAcknowledged(answer)) => answer.attachments.iter_mut().collect(),
        _ => return,
    };
    // The content of an upload stays outside of the log.
    let inline = attachments.into_iter().filter(|it| it.upload.is_empty());
    for attachment in inline {
        let content = fs::read(attachment_path(root, &attachment.name));
        attachment.data = content.map(Bytes::from).unwrap_or_default();
    }
}

fn attachment_path(root: &Path, name: &str) -> PathBuf {
    let folder = root.join("attachments");
    let path = folder.join(attachment_file_name(name));
    if path.exists() {
        return path;
    }
    // Exports of earlier versions.
    folder.join(safe_file_name(name))
}

/// Returns the attachments that an event brings.
fn attachments(event: &Event) -> &[Attachment] {
    match event {
        Event::Created(spec) => &spec.attachments,
        Event::MessageReceived { attachments, .. }
        | Event::UserAcknowledged { attachments, .. } => attachments,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_no_export_is_reported_with_the_command_that_writes_one() {
        let home = tempfile::tempdir().unwrap();
        let check = |name: &str, reason: &str| {
            let path = home.path().join(name);
            let error = ExportFolder::read(&path).unwrap_err().to_string();
            let expected = format!(
                "{} is no exported task: {reason}; give a folder that `motorium tasks export` has written",
                path.display()
            );
            assert_eq!(error, expected);
        };
        check("none", "it does not exist");
        fs::create_dir(home.path().join("photos")).unwrap();
        check("photos", "it has no file events.jsonl");
        fs::write(home.path().join("archive.tar"), "").unwrap();
        check("archive.tar", "it is not a folder");
    }
}
