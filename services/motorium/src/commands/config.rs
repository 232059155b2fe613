//! `motorium config`: prints the effective configuration with the source of each value.

use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;

use crate::error::Error;
use crate::output;

/// Prints the configuration of every service, secrets masked.
pub(crate) fn config(loaded: &LayeredConfig) -> Result<ExitCode, Error> {
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
