//! Assembles the recording of each run from the pieces that are stored with the events.

use bytes::Bytes;
use motorium_proto::domain::id::EventSeq;

use crate::recording::{RUN, decode_recording};

/// Folder of the recordings within an export.
pub const FOLDER: &str = "recording";

/// Returns the path of a run's recording. Runs are counted from 1.
pub(super) fn path(number: usize) -> String {
    format!("{FOLDER}/run-{number:03}.binpb.zst")
}

/// Returns the recording of each run. A run that wrote nothing has none.
pub(super) fn of(notes: Vec<(EventSeq, Bytes)>) -> Vec<Bytes> {
    let mut runs: Vec<Vec<u8>> = Vec::new();
    for (_, notes) in notes {
        match runs.last_mut() {
            Some(run) if !begins_a_run(&notes) => run.extend(notes),
            _ => runs.push(notes.into()),
        }
    }
    runs.into_iter().map(Bytes::from).collect()
}

fn begins_a_run(notes: &Bytes) -> bool {
    let read = decode_recording(notes).unwrap_or_default();
    read.first().is_some_and(|first| first.method == RUN)
}
