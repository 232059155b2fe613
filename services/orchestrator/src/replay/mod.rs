//! A task, carried out again from its record.
//!
//! - [`folder`]: an exported task, as it lies on the disk
//! - [`player`]: tells the loop what it was told, in memory, and compares what it asks and what it writes down
//! - [`compare`]: where two things differ, in words
//! - [`verdict`]: what came of it
//!
//! It is the real loop that runs, with the real machine, rules and judgement; only the three services, the store and the
//! clock come from the record. What is compared and what is not: `docs/trajectory.md`. A run that was left in the middle is
//! carried out as far as it had written; then the next one is, from where that one began.

mod compare;
mod folder;
mod player;
mod verdict;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::id::TaskEpoch;
use motorium_store::{BlobStore, Doorbell};

pub use verdict::{Difference, StepVerdict, Verdict};

use self::folder::{Folder, Run};
use self::player::{Over, Player};
use crate::recording::Tape;
use crate::run::{Assignment, Journal, Runner, StopSignal};
use crate::task::Task;
use crate::trajectory::Error;

/// A run in which nothing happens for so long waits for what is not in the record. Nothing in a replay takes time but the
/// few waits that are shorter than this.
const STUCK: Duration = Duration::from_secs(20);

/// Carries an exported task out again. Takes the thread for as long as it lasts, mostly less than a second.
///
/// # Errors
/// If the folder is no export, or nothing of the task was recorded.
pub fn replay(folder: &Path) -> Result<Verdict, Error> {
    let folder = Folder::read(folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::Page(error.to_string()))?;
    runtime.block_on(carry_out(folder))
}

async fn carry_out(folder: Folder) -> Result<Verdict, Error> {
    let blobs = BlobStore::memory();
    for content in folder.stored() {
        let stored = blobs.put(content).await;
        stored.map_err(|error| Error::Log(error.into()))?;
    }
    let mut differences = folder.altered();
    let mut replayed = 0;
    for run in folder.runs() {
        if run.tape.is_empty() {
            continue;
        }
        let (difference, events) = Box::pin(carry_out_run(&folder, &run, &blobs)).await?;
        replayed += events;
        if let Some(difference) = difference {
            differences.push(difference);
            break;
        }
    }
    // The first step where something differs counts; what is in a file says more than what follows from it.
    differences.sort_by_key(|difference| difference.step);
    Ok(Verdict::of(
        &folder,
        replayed,
        differences.into_iter().next(),
    ))
}

/// Carries one run out, and says where it differs, and how many events it wrote.
async fn carry_out_run(
    folder: &Folder,
    run: &Run,
    blobs: &BlobStore,
) -> Result<(Option<Difference>, usize), Error> {
    let unreadable = |reason: String| folder.unreadable(&reason);
    let settings = run.settings().map_err(unreadable)?;
    let conduct = settings.conduct().map_err(unreadable)?;
    let desktop = settings.desktop().map_err(unreadable)?;
    let begun = &folder.log[..run.begins];
    let task = Task::from_events(begun.to_vec());
    let task = task.ok_or_else(|| folder.unreadable("its log does not begin with its creation"))?;
    let doorbell = Doorbell::new();
    let player = Arc::new(Player::new(folder, run, doorbell.clone()));
    let journal = Journal::new(
        player.clone(),
        &doorbell,
        &task,
        TaskEpoch(1),
        Duration::from_secs(3600),
    );
    let assignment = Assignment {
        task,
        desktop,
        ports: player::nobody(),
    };
    let runner = Runner::new(
        assignment,
        blobs.clone(),
        journal,
        StopSignal::default(),
        run.orchestrator.clone(),
        conduct,
    );
    let runner = runner.over(Tape::Playing(player.clone()));
    let over = tokio::select! {
        over = player.over() => over,
        _ = runner.run() => player.ended(),
        over = player.stuck(STUCK) => over,
    };
    let written = player.written();
    Ok(match over {
        Over::Same | Over::RecordEnds => (None, written),
        Over::Differs(difference) => (Some(*difference), written),
    })
}
