//! `motorium replay`: replays an exported task from its recording.

use std::process::ExitCode;

use motorium_orchestrator::replay::replay as carry_out;

use crate::cli::Replay;
use crate::error::Error;
use crate::output;

pub(crate) async fn replay(args: Replay) -> Result<ExitCode, Error> {
    let folder = args.folder;
    // The replay has its own clock, which only advances with the recording.
    let replayed = tokio::task::spawn_blocking(move || carry_out(&folder)).await;
    let verdict = replayed.map_err(|error| Error::Start(error.to_string()))??;
    if args.json {
        output::line(&verdict.json());
    } else {
        verdict.lines().iter().for_each(|line| output::line(line));
    }
    Ok(if verdict.is_same() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
