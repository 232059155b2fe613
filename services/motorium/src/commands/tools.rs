//! `motorium tools`: lists the functions of the configured tools.

use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_orchestrator::Settings;
use motorium_orchestrator::functions::catalog::ToolFunctions;
use motorium_orchestrator::functions::{FunctionCatalog, Tool, ToolConnection};
use motorium_proto::domain::decision::FunctionDeclaration;

use crate::error::Error;
use crate::output;
use crate::show::{shortened, terminal_language, text};

/// Task name sent to the tools: this request belongs to no task.
const NO_TASK: &str = "";

/// Queries every configured tool for its functions. The exit code is 0 only if all respond.
pub(crate) async fn tools(loaded: &LayeredConfig) -> Result<ExitCode, Error> {
    let settings: Settings = loaded.section()?;
    let config = settings
        .resolve()
        .map_err(|error| Error::Start(error.to_string()))?;
    let mut all_answered = true;
    let mut count = 0;
    for tool in config.run.tools.configured() {
        count += 1;
        output::line(&format!("{}  {}", tool.label, tool.endpoint.to_address()));
        match offered(tool).await {
            Ok(functions) => functions.iter().for_each(show),
            Err(problem) => {
                all_answered = false;
                output::line(&format!("  ! {problem}"));
            }
        }
    }
    if count == 0 {
        output::line(&text(Message::NoToolConfigured));
    }
    Ok(if all_answered {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns a tool's functions as a planner gets them.
async fn offered(tool: &Tool) -> Result<Vec<FunctionDeclaration>, String> {
    let language = terminal_language();
    let link =
        ToolConnection::new(tool.clone(), language).map_err(|problem| problem.to_string())?;
    let functions = link.list(NO_TASK).await;
    let listed = ToolFunctions {
        label: tool.label.clone(),
        prefix: tool.prefix.clone(),
        functions: functions.map_err(|problem| problem.to_string())?,
    };
    Ok(FunctionCatalog::from_tools(&[listed], language)?.declarations())
}

fn show(function: &FunctionDeclaration) {
    let description = function.description.lines().next().unwrap_or_default();
    output::line(&format!("  {}  {}", function.name, shortened(description)));
}
