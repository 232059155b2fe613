//! Replays a task from its recording.
//!
//! The real loop runs, with the real state machine, policy and effect judgement; only the three services, the store and
//! the clock come from the recording. `docs/trajectory.md` lists what is compared. An interrupted run is replayed up to
//! its last event, and the next run from its first.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::id::TaskEpoch;
use motorium_store::audit::AuditLog;
use motorium_store::{BlobStore, TaskNotifier};

pub use motorium_recording::replay::{Difference, ReplayReport, StepReport};

use crate::operators::Operators;
use crate::run::recorded_settings::RunSettings;
use crate::run::{Assignment, Journal, Runner, StopSignal};
use crate::screens::Screens;
use motorium_recording::recording::RecordingMode;
use motorium_recording::replay::folder::{ExportFolder, Run};
use motorium_recording::replay::player::{self, Player, ReplayEnd};
use motorium_recording::trajectory::Error;
use motorium_task::Task;

/// Time without progress after which a run is considered stuck on something that is not in the recording.
// Replays skip waiting, apart from a few waits shorter than this.
const STUCK_TIMEOUT: Duration = Duration::from_secs(20);

/// Replays an exported task. Blocks the thread, usually for less than a second.
///
/// # Errors
/// If the folder is not an export, or the task was not recorded.
pub fn replay(folder: &Path) -> Result<ReplayReport, Error> {
    let folder = ExportFolder::read(folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Error::Page(error.to_string()))?;
    runtime.block_on(replay_task(folder))
}

async fn replay_task(folder: ExportFolder) -> Result<ReplayReport, Error> {
    let blobs = BlobStore::memory();
    for content in folder.stored() {
        let stored = blobs.put(content).await;
        stored.map_err(|error| Error::Log(error.into()))?;
    }
    let mut differences = folder.altered();
    let mut replayed = 0;
    for run in folder.runs() {
        if run.exchanges.is_empty() {
            continue;
        }
        let (difference, events) = Box::pin(replay_run(&folder, &run, &blobs)).await?;
        replayed += events;
        if let Some(difference) = difference {
            differences.push(difference);
            break;
        }
    }
    // The first differing step counts. Files that were altered are listed before the differences that follow from them.
    differences.sort_by_key(|difference| difference.step);
    Ok(ReplayReport::of(
        &folder,
        replayed,
        differences.into_iter().next(),
    ))
}

/// Replays one run. Returns the first difference, if any, and the number of events it wrote.
async fn replay_run(
    folder: &ExportFolder,
    run: &Run,
    blobs: &BlobStore,
) -> Result<(Option<Difference>, usize), Error> {
    let unreadable = |reason: String| folder.unreadable(&reason);
    let settings = run
        .settings()
        .and_then(RunSettings::read)
        .map_err(unreadable)?;
    let config = settings.run_config().map_err(unreadable)?;
    let desktop = settings.desktop().map_err(unreadable)?;
    let begun = &folder.log[..run.first_event];
    let task = Task::from_events(begun.to_vec());
    let mut task =
        task.ok_or_else(|| folder.unreadable("its log does not begin with its creation"))?;
    task.estimates_usage = settings.estimates_usage();
    let notifier = TaskNotifier::new();
    let player = Arc::new(Player::new(folder, run, notifier.clone()));
    let journal = Journal::new(
        player.clone(),
        &notifier,
        task,
        TaskEpoch(1),
        Duration::from_secs(3600),
        // What happens in a replay has happened before.
        AuditLog::off(),
    );
    let assignment = Assignment {
        journal,
        desktop,
        ports: player::unavailable_services(),
        operators: Operators::default(),
        screens: Screens::default(),
    };
    let runner = Runner::new(
        assignment,
        blobs.clone(),
        StopSignal::default(),
        run.orchestrator.clone(),
        config,
    );
    let runner = runner.with_recording(RecordingMode::Replaying(player.clone()));
    let over = tokio::select! {
        over = player.wait_for_end() => over,
        _ = runner.run() => player.ended(),
        over = player.stuck(STUCK_TIMEOUT) => over,
    };
    let written = player.written();
    Ok(match over {
        ReplayEnd::Matches | ReplayEnd::RecordingEnded => (None, written),
        ReplayEnd::Differs(difference) => (Some(*difference), written),
    })
}
