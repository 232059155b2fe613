//! Exit codes of the command line. The list in `--help` and in docs/tutorial.md says the same.

use std::process::ExitCode;

/// The way a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything that was asked for is done.
    Done,
    /// The task failed, or a check found a problem.
    Failed,
    /// The command line is wrong, or Motorium cannot be reached or started.
    Usage,
    /// A question or an approval needs a person, and none is available.
    NeedsPerson,
    /// The task is done, but a file that it was to bring is missing.
    FileMissing,
    /// The task or the command was cancelled: 128 + SIGINT, as in shells.
    Cancelled,
}

/// Help text of the commands that run or watch tasks.
pub(crate) const HELP: &str = "\
Exit codes:
  0    done
  1    failed
  2    wrong usage, or Motorium cannot be reached or started
  3    a question or an approval needs a person, and none is available
  4    the task is done, but a file of `--fetch` could not be fetched
  130  cancelled";

impl Exit {
    /// Returns the code.
    const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::NeedsPerson => 3,
            Exit::FileMissing => 4,
            Exit::Cancelled => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_code() {
        for exit in [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::NeedsPerson,
            Exit::FileMissing,
            Exit::Cancelled,
        ] {
            let line = format!("  {:<5}", exit.code());
            assert!(HELP.contains(&line), "{exit:?} is missing");
        }
    }
}
