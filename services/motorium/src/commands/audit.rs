//! `motorium audit`: verifies the audit log of this machine's Orchestrator and exports it.
//!
//! It reads the files and asks no server, so that a log can be checked where it was copied to.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_orchestrator::storage::audit_folder;
use motorium_store::audit::{self, Checkpoint};

use crate::cli::{Audit, AuditCommand};
use crate::error::Error;
use crate::exit::Exit;
use crate::output;
use crate::show::text;

/// Runs a subcommand of `motorium audit`.
pub(crate) fn audit(loaded: &LayeredConfig, args: Audit) -> Result<ExitCode, Error> {
    match args.command {
        AuditCommand::Verify { path, checkpoint } => {
            Ok(verify(&log(loaded, path)?, checkpoint.as_ref()).into())
        }
        AuditCommand::Export { path } => {
            let exported = audit::export(&log(loaded, path)?, &mut io::stdout().lock());
            exported.map_err(|problem| Error::Usage(problem.to_string()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Returns the log that is named, or else the one of the configuration.
fn log(loaded: &LayeredConfig, path: Option<PathBuf>) -> Result<PathBuf, Error> {
    if let Some(path) = path {
        return Ok(path);
    }
    let settings: motorium_orchestrator::Settings = loaded.section()?;
    let data = loaded.common()?;
    Ok(audit_folder(settings.audit.as_deref(), data.data()?))
}

fn verify(path: &std::path::Path, checkpoint: Option<&Checkpoint>) -> Exit {
    let report = match audit::verify(path, checkpoint) {
        Ok(report) => report,
        Err(problem) => {
            let problem = problem.to_string();
            output::line(&text(Message::AuditBroken { problem: &problem }));
            return Exit::Failed;
        }
    };
    let (first, last) = (report.first, report.last.seq);
    output::line(&text(Message::AuditWhole { first, last }));
    if !report.has_head {
        output::line(&text(Message::AuditEndUnconfirmed));
    }
    let checkpoint = report.last.to_string();
    output::line(&text(Message::AuditCheckpoint {
        checkpoint: &checkpoint,
    }));
    Exit::Done
}
