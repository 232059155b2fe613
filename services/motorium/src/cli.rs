//! The command line as it is typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use motorium_kit::config::{ConfigFlags, Span};

/// Operates a computer the way a person does: sees the screen, decides, moves the mouse and types.
#[derive(Debug, Parser)]
#[command(name = "motorium", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) config: ConfigFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start every service in this process, with a virtual desktop if there is no display.
    Up(Up),
    /// Carry out a task and show every step. Exit code 0 only if it succeeded.
    Run(Run),
    /// List, watch, cancel and answer tasks.
    Tasks(Tasks),
    /// List the desktops that tasks can run on.
    Desktops(Server),
    /// List the configured tools and their functions: each is asked.
    Tools,
    /// Show what Perception sees: save the marked screenshot and print the list.
    See(See),
    /// Perform one action on the current display, under the rules of the configuration. Exit code 0 only if it was
    /// performed.
    Act(Act),
    /// Carry an exported task out again from its record, and say where it differs. Exit code 0 only if it does not.
    Replay(Replay),
    /// Say what is missing on this machine and how to get it.
    Doctor,
    /// Print the configuration in force and where each value comes from, secrets masked.
    Config,
}

/// Where the Orchestrator is.
#[derive(Debug, Clone, Args)]
pub(crate) struct Server {
    /// Address of the Orchestrator.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "MOTORIUM_SERVER",
        default_value = "http://127.0.0.1:7700"
    )]
    pub(crate) server: String,
    /// File with the token that the Orchestrator asks for.
    #[arg(long, global = true, value_name = "FILE", env = "MOTORIUM_TOKEN_FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// `motorium up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// Start a virtual desktop even if there is a display.
    #[arg(long)]
    pub(crate) virtual_desktop: bool,
    /// Size of the virtual desktop.
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1920x1080", value_parser = size)]
    pub(crate) size: (u16, u16),
}

/// `motorium run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What is to be done, in a sentence.
    pub(crate) goal: String,
    #[command(flatten)]
    pub(crate) server: Server,
    /// Needs no server: everything runs in this process, on the current display.
    #[arg(long)]
    pub(crate) in_process: bool,
    /// The planner backends to ask, in this order.
    #[arg(long = "planner", value_name = "NAME")]
    pub(crate) planners: Vec<String>,
    /// At most so many steps.
    #[arg(long, value_name = "N")]
    pub(crate) max_steps: Option<u32>,
    /// At most so long, such as 90s or 5m.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) max_time: Option<Duration>,
    /// Run on this desktop.
    #[arg(long, value_name = "NAME")]
    pub(crate) desktop: Option<String>,
    /// A file to put on the desktop first. May be repeated.
    #[arg(long = "attach", value_name = "FILE")]
    pub(crate) attachments: Vec<PathBuf>,
    /// A file of the desktop's folder to fetch afterwards. May be repeated.
    #[arg(long = "fetch", value_name = "NAME")]
    pub(crate) results: Vec<String>,
    /// Text that must be on the last screen before it counts as done. May be repeated.
    #[arg(long = "expect-text", value_name = "TEXT")]
    pub(crate) expected_texts: Vec<String>,
    /// A tool whose functions may be called: its name in the configuration, or an address that the configuration
    /// allows. May be repeated.
    #[arg(long = "tool", value_name = "NAME|ADDRESS")]
    pub(crate) tools: Vec<String>,
    /// Save the screenshot of every step, plain and marked, and the fetched files in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) save: Option<PathBuf>,
    /// Print every event as a line of JSON instead of progress.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `motorium tasks`.
#[derive(Debug, Args)]
pub(crate) struct Tasks {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(subcommand)]
    pub(crate) command: TasksCommand,
}

/// What to do with tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// List tasks, the newest first.
    List {
        /// At most so many.
        #[arg(long, default_value_t = 20)]
        limit: i32,
        /// Print their names alone, a line each.
        #[arg(long)]
        names: bool,
    },
    /// Show one task and its steps.
    Show { name: String },
    /// Show the steps of one task.
    Steps { name: String },
    /// Watch a task until it has ended. Exit code 0 only if it succeeded.
    Watch { name: String },
    /// Cancel a task; its input stops at once.
    Cancel { name: String },
    /// Let a task stand still.
    Pause { name: String },
    /// Let a paused task go on.
    Resume { name: String },
    /// Answer what a task asks; without words: "I have done it".
    Answer {
        name: String,
        message: Option<String>,
    },
    /// List what waits for approval, of one task or of all.
    Approvals { name: Option<String> },
    /// Approve what a task wants to do: an approval by its name, or the one that a task waits for.
    Approve { name: String },
    /// Refuse what a task wants to do; the words are for the planner.
    Deny {
        name: String,
        message: Option<String>,
    },
    /// Take a task's desktop over: the agent stops at once.
    TakeOver { name: String },
    /// Hand a desktop back; the words are for the planner.
    HandBack {
        name: String,
        message: Option<String>,
    },
    /// Tell a running task something.
    Tell { name: String, message: String },
    /// Save the screenshots of a task's steps and its files in a folder.
    Save { name: String, folder: PathBuf },
    /// Save everything about a task in a folder: a page to scroll through, its steps, events, pictures and answer.
    Export {
        name: String,
        /// Where to. Without it, a folder of the task's name here.
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
        /// Keep only the page, as one file of the task's name.
        #[arg(long)]
        html: bool,
    },
}

/// `motorium replay`.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// A folder that `motorium tasks export` has written.
    pub(crate) folder: PathBuf,
    /// Print the verdict as JSON, and nothing else on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `motorium see`.
#[derive(Debug, Args)]
pub(crate) struct See {
    /// Parse this picture instead of the screen.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,
    /// Where the marked picture goes.
    #[arg(long, short, value_name = "FILE", default_value = "motorium-see.png")]
    pub(crate) output: PathBuf,
    /// At most so many elements, the interactable and confident ones first.
    #[arg(long, value_name = "N")]
    pub(crate) max_elements: Option<u32>,
    /// Join lines that stand below each other in one block of text.
    #[arg(long)]
    pub(crate) paragraphs: bool,
    /// Print the list and what belongs together as JSON, and nothing else on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the list as OmniParser's `parsed_content_list`, and nothing else on standard output. Its box IDs are
    /// places in the list, not the numbers of the marked picture.
    #[arg(long, conflicts_with = "json")]
    pub(crate) omniparser: bool,
}

/// `motorium act`.
#[derive(Debug, Args)]
pub(crate) struct Act {
    /// Address of the Executor that acts. Without it, the one that the configuration describes, if it is running;
    /// otherwise the action is performed in this process.
    #[arg(long, global = true, value_name = "URL", env = "MOTORIUM_EXECUTOR_URL")]
    pub(crate) executor: Option<String>,
    /// Ask no Executor: perform the action in this process.
    #[arg(long, global = true)]
    pub(crate) in_process: bool,
    /// Display to act on. Without it, the Executor's first one.
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) display: Option<String>,
    #[command(subcommand)]
    pub(crate) deed: Deed,
}

/// The one action.
#[derive(Debug, Subcommand)]
pub(crate) enum Deed {
    /// Move the pointer.
    Move { x: i32, y: i32 },
    /// Click at a point, or where the pointer is.
    Click {
        #[command(flatten)]
        at: ActAt,
        #[arg(long, value_enum, default_value_t = MouseButton::Left)]
        button: MouseButton,
        /// 1, 2 or 3 clicks in a row.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
        count: u8,
        /// Keys held meanwhile, such as ctrl or ctrl+shift.
        #[arg(long, value_name = "KEYS")]
        with: Option<String>,
    },
    /// Press at the first point, move past the others and release at the last: X1 Y1 X2 Y2 …
    Drag {
        #[arg(num_args = 4.., value_names = ["X1", "Y1", "X2", "Y2"])]
        points: Vec<i32>,
        #[arg(long, value_enum, default_value_t = MouseButton::Left)]
        button: MouseButton,
        /// Keys held meanwhile.
        #[arg(long, value_name = "KEYS")]
        with: Option<String>,
        /// How long the way takes, such as 500ms or 2s.
        #[arg(long = "for", value_name = "TIME", value_parser = duration)]
        duration: Option<Duration>,
    },
    /// Turn the wheel.
    Scroll {
        #[arg(value_enum)]
        direction: Direction,
        /// Notches of the wheel.
        #[arg(default_value_t = 3)]
        amount: u16,
        /// Count in pixels of content instead.
        #[arg(long)]
        pixels: bool,
        /// Where; without it, where the pointer is.
        #[arg(long, value_name = "X,Y", value_parser = point)]
        at: Option<(i32, i32)>,
        /// Keys held meanwhile.
        #[arg(long, value_name = "KEYS")]
        with: Option<String>,
    },
    /// Enter text where the keyboard focus is.
    Type {
        /// The text, exactly as it is to arrive.
        #[arg(required_unless_present = "secret")]
        text: Option<String>,
        /// Enter the secret of this name instead.
        #[arg(long, value_name = "NAME", conflicts_with = "text")]
        secret: Option<String>,
        /// Enter newline and tab as characters, not as keys.
        #[arg(long)]
        as_text: bool,
    },
    /// Strike keys together, such as ctrl+s or enter.
    Key {
        chord: String,
        /// How often.
        #[arg(long, value_name = "N", default_value_t = 1)]
        repeat: u32,
    },
    /// Hold keys down for a while.
    Hold {
        chord: String,
        /// How long, such as 500ms or 2s.
        #[arg(long = "for", value_name = "TIME", value_parser = duration)]
        duration: Duration,
    },
    /// Do nothing for a while, such as 500ms or 2s.
    Wait {
        #[arg(value_parser = duration)]
        duration: Duration,
    },
    /// Paste a text, or what is on the clipboard.
    Paste { text: Option<String> },
    /// Start an application of the configured list.
    Open { name: String },
    /// Open an address in the configured browser.
    Url { url: String },
    /// Bring the window to the front whose title has these words.
    Focus { title: String },
    /// Lead the browser in front to an address.
    Go { url: String },
    /// Lead the browser back.
    Back,
    /// Lead the browser forward.
    Forward,
    /// Load the browser's page again.
    Refresh,
}

/// A point, or nothing.
#[derive(Debug, Args)]
pub(crate) struct ActAt {
    #[arg(requires = "y")]
    pub(crate) x: Option<i32>,
    pub(crate) y: Option<i32>,
}

/// A button of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MouseButton {
    Left,
    Right,
    Middle,
}

/// Where to scroll to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    Up,
    Down,
    Left,
    Right,
}

fn point(text: &str) -> Result<(i32, i32), String> {
    let parse = || {
        let (x, y) = text.split_once(',')?;
        Some((x.trim().parse().ok()?, y.trim().parse().ok()?))
    };
    parse().ok_or_else(|| "a point is written like 640,400".to_owned())
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let parse = || {
        let (width, height) = text.split_once(['x', '×'])?;
        Some((width.parse().ok()?, height.parse().ok()?))
    };
    let sizes = 320..=8192;
    parse()
        .filter(|(width, height)| sizes.contains(width) && sizes.contains(height))
        .ok_or_else(|| "a size is written like 1920x1080, each side from 320 to 8192".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<Span>().map(|span| span.0)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn one_action_is_one_line() {
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
    fn what_is_seen_is_printed_in_one_shape() {
        let flags = ["motorium", "see", "--paragraphs", "--omniparser"];
        let Command::See(see) = Cli::try_parse_from(flags).unwrap().command else {
            panic!("see is another command");
        };
        assert!(see.paragraphs && see.omniparser && !see.json);
        let both = Cli::try_parse_from(["motorium", "see", "--json", "--omniparser"]);
        assert_eq!(both.unwrap_err().kind(), ErrorKind::ArgumentConflict);
    }
}
