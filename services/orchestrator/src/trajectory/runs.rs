//! What was asked and answered, run by run, put together from the notes that stand beside the events.

use bytes::Bytes;
use motorium_proto::domain::id::EventSeq;

use crate::recording::{RUN, unpacked};

/// Where the records of runs are in the folder.
pub(crate) const FOLDER: &str = "recording";

/// Where the record of a run is, counted from 1.
pub(super) fn path(number: usize) -> String {
    format!("{FOLDER}/run-{number:03}.binpb.zst")
}

/// The record of each run. A run that wrote nothing has none, and left nothing behind.
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
    let read = unpacked(notes).unwrap_or_default();
    read.first().is_some_and(|first| first.method == RUN)
}
