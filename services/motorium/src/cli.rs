//! Command-line arguments of `motorium`: its commands, their options and the help texts.
//!
//! Only the form of the arguments is checked here. Each command is carried out, and compares them with the
//! configuration and the server, in its own module of `commands`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{NonEmptyStringValueParser, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use motorium_kit::config::{ConfigFlags, HumanDuration};
use motorium_messages::Language;
use motorium_proto::domain::desktop::Platform;
use motorium_store::audit::Checkpoint;

use crate::exit;

/// Control a computer like a person does: see the screen, decide, move the mouse and type
#[derive(Debug, Parser)]
#[command(name = "motorium", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) config: ConfigFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Parses the arguments of this process. Ends it with a usage message if they are invalid.
pub(crate) fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| with_place_of_flag(error).exit())
}

/// Adds where a configuration flag belongs, if one stands after the command. Such flags are not global in clap's sense:
/// of a repeatable flag that stands on both sides of the command, clap keeps one side only, and a setting would be lost.
fn with_place_of_flag(mut error: clap::Error) -> clap::Error {
    const BEFORE_COMMAND: [&str; 3] = ["--set", "--config", "--data"];
    let flag = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => flag.clone(),
        _ => return error,
    };
    if BEFORE_COMMAND.contains(&flag.as_str()) {
        let tip = format!("'{flag}' goes before the command: motorium {flag} … COMMAND");
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start every service in this process, with a virtual desktop if there is no display
    Up(Up),
    /// Run a task and show every step; exits with 0 only if it succeeds
    #[command(after_help = exit::HELP)]
    Run(Box<Run>),
    /// Manage tasks: list, watch, pause, cancel, answer, approve, export
    #[command(after_help = exit::HELP)]
    Tasks(Tasks),
    /// List sessions and export their transcripts
    Sessions(Sessions),
    /// Print the token for calls to the services on this machine, for example with grpcurl
    Token(ConnectionOptions),
    /// Delete tasks and sessions, with everything that was stored for them
    Delete(Delete),
    /// Delete tasks that ended a while ago, and sessions that have none
    Purge(Purge),
    /// Copy the tasks and their files to a folder, also while services run
    Backup(Backup),
    /// Restore a backup; the services must not run
    Restore(Restore),
    /// List the available desktops, or remove a registered one
    Desktops(Desktops),
    /// Print the policy that decides about the actions of tasks: its rules, what each does, and why
    Policy(Policy),
    /// Print a link that opens the web page, once
    Page(Page),
    /// Serve the Model Context Protocol on standard input and output, for an agent that uses Motorium as a tool
    Mcp(Page),
    /// Query the configured tools and list their functions
    Tools,
    /// Parse the screen: save an annotated screenshot and print the elements
    See(See),
    /// Perform one action on a display, under the configured rules; exits with 0 only if it was performed
    Act(Act),
    /// Hold the content of a clipboard, which is read from standard input, until another program copies something
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    HoldClipboard(HoldClipboard),
    /// Start the programs that `motorium up` requests on standard input, within the sandbox of a virtual desktop
    #[command(hide = true)]
    DesktopSession(DesktopSession),
    /// Write a new cookie and the configuration of the window manager, for the display of `deploy/images`
    #[command(hide = true)]
    DisplayFiles(DisplayFiles),
    /// Replay an exported task from its recording and report differences; exits with 0 only if there are none
    Replay(Replay),
    /// Check that a service can work; exits with 0 only if it can
    Health(Health),
    /// Check this machine for missing requirements and show how to install them
    Doctor,
    /// Verify or export the audit log of the Orchestrator
    Audit(Audit),
    /// Print the effective configuration with the source of each value; secrets are masked
    Config(Config),
}

/// Options for connecting to the Orchestrator.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConnectionOptions {
    /// URL of the Orchestrator [default: the configured `orchestrator.listen`]
    #[arg(long, global = true, value_name = "URL", env = "MOTORIUM_SERVER")]
    pub(crate) server: Option<String>,
    /// File with the access token for the Orchestrator
    #[arg(long, global = true, value_name = "FILE", env = "MOTORIUM_TOKEN_FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// `motorium page` and `motorium mcp`.
#[derive(Debug, Args)]
pub(crate) struct Page {
    /// URL of the gateway [default: the configured `gateway.public_url` or `gateway.listen`]
    #[arg(long, value_name = "URL")]
    pub(crate) gateway: Option<String>,
    /// File with the access token
    #[arg(long, value_name = "FILE", env = "MOTORIUM_TOKEN_FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// `motorium up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// Start a virtual desktop even if there is a display
    #[arg(long)]
    pub(crate) virtual_desktop: bool,
    /// Size of the virtual desktop
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1920x1080", value_parser = size)]
    pub(crate) size: (u16, u16),
    /// Kind of environment that models are told of; `browser` opens one on a virtual desktop [default: this machine's]
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) platform: Option<PlatformKind>,
}

/// Kind of environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlatformKind {
    Linux,
    Windows,
    Macos,
    Browser,
}

impl PlatformKind {
    /// Returns the kind of this machine.
    pub(crate) fn of_this_machine() -> Self {
        if cfg!(target_os = "macos") {
            Self::Macos
        } else if cfg!(target_os = "windows") {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

impl From<PlatformKind> for Platform {
    fn from(kind: PlatformKind) -> Self {
        match kind {
            PlatformKind::Linux => Self::Linux,
            PlatformKind::Windows => Self::Windows,
            PlatformKind::Macos => Self::Macos,
            PlatformKind::Browser => Self::Browser,
        }
    }
}

/// `motorium run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Goal of the task, as a sentence
    #[arg(required_unless_present = "resume")]
    pub(crate) goal: Option<String>,
    #[command(flatten)]
    pub(crate) server: ConnectionOptions,
    /// Run everything in this process, on the current display, without a server
    #[arg(long)]
    pub(crate) in_process: bool,
    /// Continue this unfinished task of an earlier `run --in-process` instead of a new one
    #[arg(
        long,
        value_name = "NAME",
        requires = "in_process",
        conflicts_with_all = ["goal", "Specification"]
    )]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) specification: Specification,
    /// Handling of questions and approvals: fail with exit code 3, wait for an answer from elsewhere, or approve in advance,
    /// safety checks of the model's provider included [default: ask at a terminal, otherwise fail]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) on_approval: Option<OnApproval>,
    /// Create the task, print its name and leave it running. Without this, a command that is ended by Ctrl-C, SIGTERM
    /// or SIGHUP cancels its task
    #[arg(long, conflicts_with_all = ["in_process", "on_approval", "save", "json"])]
    pub(crate) detach: bool,
    /// Save the plain and annotated screenshots of every step, and the fetched files, in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) save: Option<PathBuf>,
    /// Print every event as a line of JSON instead of the progress
    #[arg(long)]
    pub(crate) json: bool,
}

/// Policy for the questions and approvals of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnApproval {
    Fail,
    Wait,
    Approve,
}

/// Specification of a new task, besides its goal.
#[derive(Debug, Args)]
pub(crate) struct Specification {
    /// Instructions in addition to the goal, for example how to name files
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// Session that the task follows in: it knows the earlier tasks of the session and waits for their end. Created if it
    /// does not exist
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// File with messages of a conversation that the task continues: a JSON list of {"role": "user" or "assistant",
    /// "content": TEXT}, the oldest first; embedded images of the user are attached to the task
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Label of the task; repeatable
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub(crate) labels: Vec<(String, String)>,
    /// Planner backend to use; repeat for fallbacks, in order
    #[arg(long = "planner", value_name = "NAME")]
    pub(crate) planners: Vec<String>,
    /// Maximum number of steps
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(1..=u32::MAX.into()))]
    pub(crate) max_steps: Option<u32>,
    /// Maximum duration including the time that questions and approvals wait, for example 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) max_time: Option<Duration>,
    /// Maximum number of tokens of all model calls
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>(1..=i64::MAX))]
    pub(crate) max_tokens: Option<u64>,
    /// Maximum cost of all model calls in US dollars, for example 0.50
    #[arg(long, value_name = "USD", value_parser = micros_usd)]
    pub(crate) max_cost: Option<u64>,
    /// Desktop to run on
    #[arg(long, value_name = "NAME")]
    pub(crate) desktop: Option<String>,
    /// File to copy to the desktop first; an image is also shown to the model; repeatable
    #[arg(long = "attach", value_name = "FILE")]
    pub(crate) attachments: Vec<PathBuf>,
    /// File to fetch from the desktop's folder afterwards; repeatable
    #[arg(long = "fetch", value_name = "NAME")]
    pub(crate) results: Vec<String>,
    /// Text that must be visible for the task to succeed; repeatable
    #[arg(long = "expect-text", value_name = "TEXT")]
    pub(crate) expected_texts: Vec<String>,
    /// Tool to make available: its name in the configuration, or a URL that the configuration allows; repeatable
    #[arg(long = "tool", value_name = "NAME|ADDRESS")]
    pub(crate) tools: Vec<String>,
    /// Move the pointer before every click and verify it, not only for small and risky targets
    #[arg(long)]
    pub(crate) verify_clicks: bool,
    /// Language of questions, reasons and progress, for example en or zh [default: the language of the goal]
    #[arg(long, value_name = "TAG", value_parser = language)]
    pub(crate) language: Option<String>,
}

/// `motorium tasks`.
#[derive(Debug, Args)]
#[command(subcommand_required = false, arg_required_else_help = true)]
pub(crate) struct Tasks {
    #[command(flatten)]
    pub(crate) server: ConnectionOptions,
    /// List the tasks of this session; the same as `tasks list --session`
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<TasksCommand>,
}

/// `motorium sessions`.
#[derive(Debug, Args)]
pub(crate) struct Sessions {
    #[command(flatten)]
    pub(crate) server: ConnectionOptions,
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

/// `motorium desktops`.
#[derive(Debug, Args)]
pub(crate) struct Desktops {
    #[command(flatten)]
    pub(crate) server: ConnectionOptions,
    #[command(subcommand)]
    pub(crate) command: Option<DesktopsCommand>,
}

/// The subcommands of `motorium desktops`.
#[derive(Debug, Subcommand)]
pub(crate) enum DesktopsCommand {
    /// Remove a desktop that was registered, once its task has ended
    Remove {
        /// Name of the desktop, as `desktops` prints it
        name: String,
    },
}

/// `motorium policy`.
#[derive(Debug, Args)]
pub(crate) struct Policy {
    #[command(flatten)]
    pub(crate) server: ConnectionOptions,
    /// Print the rules in the language of policies, Cedar
    #[arg(long)]
    pub(crate) text: bool,
    /// Judge the steps of a sentence, such as 'click "Pay now"', without performing them
    #[arg(long = "try", value_name = "SENTENCE", conflicts_with = "text")]
    pub(crate) trial: Option<String>,
    /// Name of the program in which the steps are
    #[arg(long, requires = "trial", value_name = "NAME")]
    pub(crate) application: Option<String>,
    /// Address of the page on which the steps are
    #[arg(long, requires = "trial")]
    pub(crate) url: Option<String>,
    /// Text near what the steps act on; repeat for several
    #[arg(long = "near", requires = "trial", value_name = "TEXT")]
    pub(crate) near: Vec<String>,
}

/// `motorium audit`.
#[derive(Debug, Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

/// The subcommands of `motorium audit`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check that no record was changed, removed, inserted or moved; exits with 0 only then
    Verify {
        /// Folder of the log, or one file of it [default: the configured `orchestrator.audit`]
        path: Option<PathBuf>,
        /// Check also that this record is in the log, as an earlier `verify` printed it
        #[arg(long, value_name = "NUMBER:HASH")]
        checkpoint: Option<Checkpoint>,
    },
    /// Print all records, one JSON object per line
    Export {
        /// Folder of the log, or one file of it [default: the configured `orchestrator.audit`]
        path: Option<PathBuf>,
    },
}

/// The subcommands of `motorium sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, newest first
    List {
        /// Maximum number of sessions
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole_number::<i32>(1..=MAX_PAGE))]
        limit: i32,
    },
    /// Print a transcript of a session: goals, messages, steps and answers
    Export {
        /// Name of the session, as `sessions list` prints it
        name: String,
        /// Format of the transcript
        #[arg(long, value_enum, default_value_t = TranscriptFormat::Markdown)]
        format: TranscriptFormat,
        /// Write the transcript to this file instead of standard output
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
}

/// `motorium delete`.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Names of tasks and sessions, for example tasks/invoice or sessions/trip
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) server: ConnectionOptions,
    /// Delete the tasks of the sessions as well
    #[arg(long)]
    pub(crate) force: bool,
    /// Succeed if there is no such task or session
    #[arg(long)]
    pub(crate) allow_missing: bool,
}

/// `motorium purge`.
#[derive(Debug, Args)]
pub(crate) struct Purge {
    /// Minimum age of the tasks to delete, for example 30d or 12h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) older_than: Duration,
    #[command(flatten)]
    pub(crate) server: ConnectionOptions,
    /// Print what would be deleted, and delete nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `motorium health`.
#[derive(Debug, Args)]
pub(crate) struct Health {
    #[command(flatten)]
    pub(crate) server: ConnectionOptions,
    /// Ask only whether the process is alive, also if a database, a display or every model is missing
    #[arg(long)]
    pub(crate) liveness: bool,
}

/// `motorium backup`.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// New or empty folder for the backup
    pub(crate) folder: PathBuf,
}

/// `motorium restore`.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// Folder with the backup
    pub(crate) folder: PathBuf,
    /// Replace existing tasks, which are moved aside
    #[arg(long)]
    pub(crate) force: bool,
}

/// Format of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TranscriptFormat {
    Markdown,
    Json,
}

/// The subcommands of `motorium tasks`.
#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// List tasks, newest first
    List {
        /// Maximum number of tasks
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole_number::<i32>(1..=MAX_PAGE))]
        limit: i32,
        /// List only the tasks of this session
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
        /// Print only the names, one per line
        #[arg(long)]
        names: bool,
    },
    /// Show a task and its steps
    Show {
        /// Name of the task, as `tasks list` prints it
        name: String,
    },
    /// Show the steps of a task
    Steps {
        /// Name of the task, as `tasks list` prints it
        name: String,
    },
    /// Watch a task until it ends; exits with 0 only if it succeeds. Ctrl-C ends the watch, not the task
    Watch {
        /// Name of the task, as `tasks list` prints it
        #[arg(required_unless_present = "session")]
        name: Option<String>,
        /// Watch all tasks of this session instead, also those created later, until Ctrl-C
        #[arg(long, value_name = "NAME", conflicts_with = "name")]
        session: Option<String>,
    },
    /// Cancel a task; its input stops immediately
    Cancel {
        /// Name of the task, as `tasks list` prints it
        name: String,
    },
    /// Pause a task
    Pause {
        /// Name of the task, as `tasks list` prints it
        name: String,
    },
    /// Resume a paused task
    Resume {
        /// Name of the task, as `tasks list` prints it
        name: String,
    },
    /// Answer a task's question; without a message, acknowledge that the requested user action is done
    Answer {
        /// Name of the task, as `tasks list` prints it
        name: String,
        /// Answer to the question
        message: Option<String>,
    },
    /// List pending approvals of a task, or of all tasks
    Approvals {
        /// Name of the task, as `tasks list` prints it
        name: Option<String>,
    },
    /// Approve an action: name an approval, or a task to approve its pending one
    Approve {
        /// Name of the approval, as `tasks approvals` prints it, or of the task
        name: String,
    },
    /// Deny an action; the message is passed to the planner
    Deny {
        /// Name of the approval, as `tasks approvals` prints it, or of the task
        name: String,
        /// Reason, or what to do instead
        message: Option<String>,
    },
    /// Take over a task's desktop; the agent stops immediately
    TakeOver {
        /// Name of the task, as `tasks list` prints it
        name: String,
    },
    /// Hand a desktop back to its task; the message is passed to the planner
    HandBack {
        /// Name of the task, as `tasks list` prints it
        name: String,
        /// Message to the planner: what you have done, or what to do next
        message: Option<String>,
    },
    /// Send a message to a task, or the answer that it waits for
    Tell {
        /// Name of the task, as `tasks list` prints it
        name: String,
        /// Text of the message
        #[arg(required_unless_present = "attachments")]
        message: Option<String>,
        /// File to copy to the desktop with the message; an image is also shown to the model; repeatable
        #[arg(long = "attach", value_name = "FILE")]
        attachments: Vec<PathBuf>,
    },
    /// Save the screenshots of a task's steps and its fetched files in a folder
    Save {
        /// Name of the task, as `tasks list` prints it
        name: String,
        /// Target folder, which is created if it is missing
        folder: PathBuf,
    },
    /// Export a task to a folder: an HTML page, steps, events, screenshots and the answer
    Export {
        /// Name of the task, as `tasks list` prints it
        name: String,
        /// Target folder: a new or empty one, or an earlier export of the task [default: a folder named after the task]
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
        /// Write only the HTML page, as one file named after the task
        #[arg(long)]
        html: bool,
    },
}

/// `motorium config`.
#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Print the unset keys as well, commented out, with their types and examples
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the reference of all keys in Markdown (docs/configuration.md)
    #[arg(long, hide = true, conflicts_with = "all")]
    pub(crate) reference: bool,
}

/// `motorium replay`.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Folder written by `motorium tasks export`
    pub(crate) folder: PathBuf,
    /// Print the result as JSON, and nothing else on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// `motorium see`.
#[derive(Debug, Args)]
pub(crate) struct See {
    /// Parse this image file instead of the screen
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,
    /// See the display of this session in this process, also beside a running `motorium up`
    #[arg(long)]
    pub(crate) in_process: bool,
    /// File for the annotated screenshot
    #[arg(long, short, value_name = "FILE", default_value = "motorium-see.png")]
    pub(crate) output: PathBuf,
    /// Maximum number of elements; interactable elements with high confidence come first
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(1..=u32::MAX.into()))]
    pub(crate) max_elements: Option<u32>,
    /// Join the lines of a paragraph into one element
    #[arg(long)]
    pub(crate) paragraphs: bool,
    /// Print the elements and groups as JSON, and nothing else on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the elements as OmniParser's `parsed_content_list`, and nothing else on standard output. Box IDs are list
    /// positions, not the numbers in the annotated screenshot
    #[arg(long, conflicts_with = "json")]
    pub(crate) omniparser: bool,
}

/// `motorium hold-clipboard`.
#[derive(Debug, Args)]
pub(crate) struct HoldClipboard {
    /// Display of the clipboard
    pub(crate) display: String,
}

/// `motorium desktop-session`.
#[derive(Debug, Args)]
pub(crate) struct DesktopSession {
    /// Home folder of the desktop
    #[arg(value_name = "FOLDER")]
    pub(crate) home: PathBuf,
    /// Folder of the desktop's task files
    #[arg(value_name = "FILES")]
    pub(crate) files: PathBuf,
}

/// `motorium display-files`.
#[derive(Debug, Args)]
pub(crate) struct DisplayFiles {
    /// Folder to write them into
    pub(crate) folder: PathBuf,
}

/// `motorium act`.
#[derive(Debug, Args)]
pub(crate) struct Act {
    /// URL of the Executor [default: the configured one if it is running, otherwise this process]
    #[arg(long, global = true, value_name = "URL", env = "MOTORIUM_EXECUTOR_URL")]
    pub(crate) executor: Option<String>,
    /// Perform the action in this process, without a running Executor
    #[arg(long, global = true)]
    pub(crate) in_process: bool,
    /// Display to act on [default: the Executor's first display]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) display: Option<String>,
    /// Reaches the task that this user has taken over
    #[command(flatten)]
    pub(crate) server: ConnectionOptions,
    #[command(subcommand)]
    pub(crate) action: ActionCommand,
}

/// The action to perform.
#[derive(Debug, Subcommand)]
pub(crate) enum ActionCommand {
    /// Move the pointer to a point
    Move {
        /// Distance from the left edge in pixels
        #[arg(value_parser = coordinate, allow_negative_numbers = true)]
        x: i32,
        /// Distance from the top edge in pixels
        #[arg(value_parser = coordinate, allow_negative_numbers = true)]
        y: i32,
    },
    /// Click at a point, or at the pointer
    Click {
        #[command(flatten)]
        at: ActAt,
        /// Button of the mouse
        #[arg(long, value_enum, default_value_t = MouseButton::Left)]
        button: MouseButton,
        /// Number of clicks
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole_number::<u8>(1..=3))]
        count: u8,
        /// Modifier keys to hold, for example ctrl or ctrl+shift
        #[arg(long, value_name = "KEYS")]
        with: Option<String>,
    },
    /// Drag from the first point through the others to the last: X1 Y1 X2 Y2 …
    Drag {
        /// Points in pixels from the left and the top edge
        #[arg(
            num_args = 4..,
            value_names = ["X1", "Y1", "X2", "Y2"],
            value_parser = coordinate,
            allow_negative_numbers = true
        )]
        points: Vec<i32>,
        /// Button of the mouse
        #[arg(long, value_enum, default_value_t = MouseButton::Left)]
        button: MouseButton,
        /// Modifier keys to hold
        #[arg(long, value_name = "KEYS")]
        with: Option<String>,
        /// Duration of the movement, for example 500ms or 2s
        #[arg(long = "for", value_name = "TIME", value_parser = duration)]
        duration: Option<Duration>,
        /// Time to hold the button before the pointer moves, for lists that are reordered by a long press [default: 250ms]
        #[arg(long, value_name = "TIME", value_parser = duration)]
        hold: Option<Duration>,
    },
    /// Scroll with the wheel
    Scroll {
        /// Direction in which the content moves on
        #[arg(value_enum)]
        direction: Direction,
        /// Number of wheel notches
        #[arg(default_value_t = 3, value_parser = whole_number::<u16>(1..=u16::MAX.into()))]
        amount: u16,
        /// Count in pixels instead of notches
        #[arg(long)]
        pixels: bool,
        /// Point to scroll at [default: the pointer]
        #[arg(long, value_name = "X,Y", value_parser = point)]
        at: Option<(i32, i32)>,
        /// Modifier keys to hold
        #[arg(long, value_name = "KEYS")]
        with: Option<String>,
    },
    /// Type text into the focused element
    Type {
        /// Text to type
        #[arg(required_unless_present = "secret", value_parser = NonEmptyStringValueParser::new())]
        text: Option<String>,
        /// Type the secret with this name instead
        #[arg(long, value_name = "NAME", conflicts_with = "text")]
        secret: Option<String>,
        /// Enter newline and tab as characters instead of pressing Enter and Tab
        #[arg(long)]
        as_text: bool,
    },
    /// Press a key combination, for example ctrl+s or enter
    Key {
        /// Keys joined by `+`
        chord: String,
        /// Number of times to press it
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole_number::<u32>(1..=u32::MAX.into()))]
        repeat: u32,
    },
    /// Hold keys down
    Hold {
        /// Keys joined by `+`
        chord: String,
        /// Duration, for example 500ms or 2s
        #[arg(long = "for", value_name = "TIME", value_parser = duration)]
        duration: Duration,
    },
    /// Wait, for example 500ms or 2s
    Wait {
        /// Duration, for example 500ms or 2s
        #[arg(value_parser = duration)]
        duration: Duration,
    },
    /// Paste a text, or the clipboard's content
    Paste {
        /// Text to paste [default: the clipboard's content]
        text: Option<String>,
    },
    /// Start a configured application
    Open {
        /// Name of the application in `executor.applications`
        name: String,
    },
    /// Open a URL in the configured browser
    Url {
        /// URL to open
        url: String,
    },
    /// Activate the window whose title contains this text
    Focus {
        /// Part of the window's title
        title: String,
    },
    /// Navigate the current browser page to a URL
    Go {
        /// URL of the page
        url: String,
    },
    /// Go back in the browser's history
    Back,
    /// Go forward in the browser's history
    Forward,
    /// Reload the browser's page
    Refresh,
}

/// An optional point.
#[derive(Debug, Args)]
pub(crate) struct ActAt {
    /// Distance from the left edge in pixels [default: the pointer]
    #[arg(requires = "y", value_parser = coordinate, allow_negative_numbers = true)]
    pub(crate) x: Option<i32>,
    /// Distance from the top edge in pixels
    #[arg(value_parser = coordinate, allow_negative_numbers = true)]
    pub(crate) y: Option<i32>,
}

/// A mouse button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MouseButton {
    Left,
    Right,
    Middle,
    /// The back button at the side of the mouse
    Back,
    /// The forward button at the side of the mouse
    Forward,
}

/// A scroll direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    Up,
    Down,
    Left,
    Right,
}

/// Largest page of a list that a command asks for.
const MAX_PAGE: i64 = i32::MAX as i64;

/// Parses a coordinate. Displays left of or above the first one have negative ones.
fn coordinate(text: &str) -> Result<i32, String> {
    let number = text.parse();
    number.map_err(|_| "use a whole number of pixels, for example 640".to_owned())
}

/// Returns a parser of whole numbers in this range, which has to fit into the type.
fn whole_number<N>(range: RangeInclusive<i64>) -> impl Fn(&str) -> Result<N, String> + Clone
where
    N: TryFrom<i64>,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| {
            let (min, max) = (range.start(), range.end());
            format!("use a whole number from {min} to {max}")
        })
    }
}

fn point(text: &str) -> Result<(i32, i32), String> {
    let parse = || {
        let (x, y) = text.split_once(',')?;
        Some((x.trim().parse().ok()?, y.trim().parse().ok()?))
    };
    parse().ok_or_else(|| "use the form X,Y, for example 640,400".to_owned())
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let parse = || {
        let (width, height) = text.split_once(['x', '×'])?;
        Some((width.parse().ok()?, height.parse().ok()?))
    };
    // Rejects typing errors: below 320 applications do not fit, and 8192 is within the limits of the X servers.
    let sizes = 320..=8192;
    parse()
        .filter(|(width, height)| sizes.contains(width) && sizes.contains(height))
        .ok_or_else(|| {
            "use the form WIDTHxHEIGHT with 320 to 8192 pixels per side, for example 1920x1080"
                .to_owned()
        })
}

fn label(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| "use the form KEY=VALUE, for example team=billing".to_owned())
}

/// Parses an amount of US dollars into millionths.
fn micros_usd(text: &str) -> Result<u64, String> {
    let wrong = || "use an amount above 0 with up to six decimals, for example 0.50".to_owned();
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.chars().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 6 || !is_number(whole) || !is_number(decimals) {
        return Err(wrong());
    }
    let micros = format!("{whole}{decimals:0<6}");
    let micros: u64 = micros.parse().map_err(|_| wrong())?;
    if micros == 0 {
        Err(wrong())
    } else {
        Ok(micros)
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<HumanDuration>().map(|span| span.0)
}

/// Parses a time in which something can be done.
fn positive_duration(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    match time.is_zero() {
        true => Err("use a time above 0, for example 90s or 5m".to_owned()),
        false => Ok(time),
    }
}

/// Checks a tag of a language. Other languages would be answered in English without a word.
fn language(tag: &str) -> Result<String, String> {
    let known = Language::ALL.map(Language::tag).join(" or ");
    match Language::supported(tag) {
        Some(_) => Ok(tag.to_owned()),
        None => Err(format!(
            "there are no messages in this language; use {known}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_argument_has_a_help_text() {
        let mut missing = Vec::new();
        collect_missing_help(&Cli::command(), &mut missing);
        assert!(missing.is_empty(), "without a help text: {missing:?}");
    }

    /// Collects the commands and arguments without a help text, with the commands that lead to them.
    fn collect_missing_help(command: &clap::Command, missing: &mut Vec<String>) {
        let name = command.get_name();
        if command.get_about().is_none() {
            missing.push(name.to_owned());
        }
        let arguments = command.get_arguments();
        let without_help = arguments.filter(|argument| argument.get_help().is_none());
        missing.extend(without_help.map(|argument| format!("{name} {}", argument.get_id())));
        for subcommand in command.get_subcommands() {
            collect_missing_help(subcommand, missing);
        }
    }

    #[test]
    fn an_invalid_number_is_reported_with_its_argument_and_its_form() {
        let check = |line: &str, argument: &str, form: &str| {
            let error = Cli::try_parse_from(line.split(' '))
                .expect_err(line)
                .to_string();
            assert!(
                error.contains(argument) && error.contains(form),
                "{line}: {error}"
            );
        };
        let pixels = "use a whole number of pixels, for example 640";
        check("motorium act click abc 1", "'abc' for '[X]'", pixels);
        check("motorium act click 1 2.5", "'2.5' for '[Y]'", pixels);
        check("motorium act move 1 abc", "'abc' for '<Y>'", pixels);
        check("motorium act drag 1 2 3 x", "'x' for", pixels);
        let clicks = "use a whole number from 1 to 3";
        check("motorium act click 1 2 --count 4", "--count", clicks);
        check(
            "motorium act scroll down many",
            "[AMOUNT]",
            "from 1 to 65535",
        );
        check("motorium act key enter --repeat x", "--repeat", "from 1 to");
        check(
            "motorium run goal --max-steps ten",
            "--max-steps",
            "from 1 to",
        );
        check(
            "motorium run goal --max-tokens 0",
            "--max-tokens",
            "from 1 to",
        );
        check("motorium tasks list --limit all", "--limit", "from 1 to");
        check(
            "motorium see --max-elements x",
            "--max-elements",
            "from 1 to",
        );
    }

    #[test]
    fn a_point_may_be_left_of_the_first_display() {
        let moved = Cli::try_parse_from(["motorium", "act", "move", "-640", "-1"]);
        let Command::Act(act) = moved.unwrap().command else {
            panic!("act is another command");
        };
        assert!(matches!(act.action, ActionCommand::Move { x: -640, y: -1 }));
    }

    #[test]
    fn an_argument_that_could_do_nothing_is_refused() {
        let check = |arguments: &[&str], form: &str| {
            let arguments = [&["motorium"], arguments].concat();
            let error = Cli::try_parse_from(&arguments).expect_err(form).to_string();
            assert!(error.contains(form), "{arguments:?}: {error}");
        };
        check(&["act", "type", ""], "TEXT");
        check(&["act", "scroll", "down", "0"], "from 1 to 65535");
        check(&["run", "goal", "--max-time", "0s"], "use a time above 0");
        check(&["run", "goal", "--language", "klingon"], "use en or zh");
    }

    #[test]
    fn a_setting_after_the_command_is_refused_with_its_place() {
        let message = |line: &str| {
            let error = Cli::try_parse_from(line.split(' ')).expect_err(line);
            with_place_of_flag(error).to_string()
        };
        let tip = "'--set' goes before the command: motorium --set … COMMAND";
        let misplaced = message("motorium up --set data=/tmp");
        assert!(misplaced.contains(tip), "{misplaced}");
        let unknown = message("motorium up --sett data=/tmp");
        assert!(!unknown.contains("goes before"), "{unknown}");
    }

    #[test]
    fn act_command_accepts_one_action() {
        let check = |line: &str, understood: bool| {
            let parsed = Cli::try_parse_from(line.split(' '));
            assert_eq!(parsed.is_ok(), understood, "{line}: {:?}", parsed.err());
        };
        check("motorium act click 100 200", true);
        check("motorium act click", true);
        check("motorium act click 100", false);
        check("motorium act click 100 200 --count 4", false);
        check("motorium act type text", true);
        check("motorium act type", false);
        check("motorium act type --secret bank", true);
        check("motorium act type text --secret bank", false);
        check("motorium act key ctrl+s", true);
        check("motorium act scroll down 3", true);
        check("motorium act scroll down --at 10,20 --pixels", true);
        check("motorium act scroll sideways", false);
        check("motorium act drag 1 2 3 4 5 6 --for 500ms", true);
        check("motorium act drag 1 2 3", false);
        check("motorium act wait 2s --in-process", true);
    }

    #[test]
    fn run_command_refuses_conflicting_arguments() {
        let check = |line: &str, understood: bool| {
            let parsed = Cli::try_parse_from(line.split(' '));
            assert_eq!(parsed.is_ok(), understood, "{line}: {:?}", parsed.err());
        };
        check("motorium run goal", true);
        check("motorium run", false);
        check("motorium run goal --detach", true);
        check("motorium run goal --detach --in-process", false);
        check("motorium run goal --detach --on-approval wait", false);
        check("motorium run --in-process --resume one", true);
        check("motorium run --resume one", false);
        check("motorium run goal --in-process --resume one", false);
        check(
            "motorium run --in-process --resume one --max-steps 3",
            false,
        );
        check("motorium run goal --label a=b --label c=", true);
        check("motorium run goal --label =b", false);
        check("motorium run goal --on-approval maybe", false);
    }

    #[test]
    fn an_amount_of_dollars_is_exact() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(micros_usd(text).ok(), expected, "{text}");
        };
        check("0.50", Some(500_000));
        check("2", Some(2_000_000));
        check("0.000001", Some(1));
        for wrong in ["0", "", ".5", "-1", "1e3", "0.0000001", "$1"] {
            check(wrong, None);
        }
    }

    #[test]
    fn see_command_accepts_only_one_output_format() {
        let flags = ["motorium", "see", "--paragraphs", "--omniparser"];
        let Command::See(see) = Cli::try_parse_from(flags).unwrap().command else {
            panic!("see is another command");
        };
        assert!(see.paragraphs && see.omniparser && !see.json);
        let both = Cli::try_parse_from(["motorium", "see", "--json", "--omniparser"]);
        assert_eq!(both.unwrap_err().kind(), ErrorKind::ArgumentConflict);
    }
}
