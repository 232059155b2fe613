//! `motorium tools`: which functions tasks can bring, by the configuration of this machine.

use std::process::ExitCode;

use motorium_kit::config::Loaded;
use motorium_orchestrator::Settings;
use motorium_orchestrator::functions::offer::Listed;
use motorium_orchestrator::functions::{Link, Offer, Tool};
use motorium_proto::domain::decision::FunctionDeclaration;

use crate::error::Error;
use crate::output;
use crate::show::shortened;

/// How the tools know who asks.
const NO_TASK: &str = "";

/// Asks every configured tool for its functions. Exit code 0 only if all have answered.
pub(crate) async fn tools(loaded: &Loaded) -> Result<ExitCode, Error> {
    let settings: Settings = loaded.section()?;
    let config = settings
        .resolve()
        .map_err(|error| Error::Start(error.to_string()))?;
    let mut all_answered = true;
    let mut count = 0;
    for tool in config.conduct.tools.configured() {
        count += 1;
        output::line(&format!("{}  {}", tool.label, tool.place.written()));
        match offered(tool).await {
            Ok(functions) => functions.iter().for_each(show),
            Err(problem) => {
                all_answered = false;
                output::line(&format!("  ! {problem}"));
            }
        }
    }
    if count == 0 {
        output::line("no tool is configured; docs/functions.md says how to bring one");
    }
    Ok(if all_answered {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// As a planner would be offered them.
async fn offered(tool: &Tool) -> Result<Vec<FunctionDeclaration>, String> {
    let link = Link::new(tool.clone()).map_err(|problem| problem.to_string())?;
    let functions = link.list(NO_TASK).await;
    let listed = Listed {
        label: tool.label.clone(),
        prefix: tool.prefix.clone(),
        functions: functions.map_err(|problem| problem.to_string())?,
    };
    Ok(Offer::of(&[listed])?.declarations())
}

fn show(function: &FunctionDeclaration) {
    let description = function.description.lines().next().unwrap_or_default();
    output::line(&format!("  {}  {}", function.name, shortened(description)));
}
