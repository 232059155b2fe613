//! `motorium config`: what is in force, and where each value comes from.

use std::process::ExitCode;

use motorium_kit::config::Loaded;

use crate::error::Error;
use crate::output;

/// Prints the configuration of every service, secrets masked.
pub(crate) fn config(loaded: &Loaded) -> Result<ExitCode, Error> {
    let sections = [
        loaded.print_common()?,
        loaded.print_section::<motorium_orchestrator::Settings>()?,
        loaded.print_section::<motorium_perception::config::Settings>()?,
        loaded.print_section::<motorium_planner::Settings>()?,
        loaded.print_section::<motorium_executor::config::Settings>()?,
    ];
    output::line(sections.concat().trim_end());
    Ok(ExitCode::SUCCESS)
}
