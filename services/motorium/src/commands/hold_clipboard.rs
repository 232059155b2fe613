//! `motorium hold-clipboard`: holds the content of a clipboard after the process that had it has ended.
//!
//! On X11 the content belongs to a process. `motorium act` ends after its action, so it starts this command with what
//! it has to leave behind: what it has put on the clipboard, or what was there before. It ends once another program
//! copies something.

use std::io::BufReader;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use motorium_executor::drivers::clipboard_content::ClipboardContent;
use motorium_executor::drivers::x11;
use motorium_messages::Message;
use motorium_proto::domain::id::DisplayId;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::cli::HoldClipboard;
use crate::error::Error;
use crate::output;
use crate::show::text;

/// Name of the command.
const NAME: &str = "hold-clipboard";
/// Timeout of the start of the command, and of its calls to the display.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Holds the content that is written to standard input.
pub(crate) async fn hold_clipboard(args: HoldClipboard) -> Result<ExitCode, Error> {
    let holding = move || {
        let content = ClipboardContent::read(BufReader::new(std::io::stdin().lock()))
            .map_err(|error| error.to_string())?;
        let ready = || output::line("ready");
        x11::hold_clipboard(&args.display, TIMEOUT, content, ready)
            .map_err(|error| error.to_string())
    };
    let held = tokio::task::spawn_blocking(holding).await;
    held.map_err(|error| Error::Start(error.to_string()))?
        .map_err(Error::Start)?;
    Ok(ExitCode::SUCCESS)
}

/// Starts a process that holds a content on `display`, and returns once it does.
///
/// # Errors
/// The reason why the content is lost.
pub(crate) async fn start(display: &DisplayId, content: &ClipboardContent) -> Result<(), String> {
    let started = tokio::time::timeout(TIMEOUT, start_process(display, content)).await;
    match started {
        Ok(held) => held.map_err(|error| error.to_string()),
        Err(_) => Err(text(Message::ClipboardNotTakenOver {
            seconds: TIMEOUT.as_secs(),
        })),
    }
}

async fn start_process(display: &DisplayId, content: &ClipboardContent) -> std::io::Result<()> {
    let mut written = Vec::new();
    content.write(&mut written)?;
    let mut child = Command::new(std::env::current_exe()?)
        .args([NAME, display.as_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // It outlives this process, also after Ctrl-C.
        .process_group(0)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&written).await?;
    }
    let output = child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    let ready = tokio::io::BufReader::new(output)
        .lines()
        .next_line()
        .await?;
    ready
        .map(drop)
        .ok_or_else(|| std::io::Error::other(text(Message::ClipboardRefused)))
}
