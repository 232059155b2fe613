//! The process that releases what another process of this program held when it ended.
//!
//! Its standard input is a pipe whose end tells that the other process has ended; its standard output is the memory in
//! which that one lists what it holds (`release_guard`). It has a connection of its own and ends with the display. It
//! acts once, and only on what is listed: keys that a person holds stay pressed.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use motorium_x11::Connection;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use x11rb::connection::Connection as _;

use super::connection;
use super::held_input::{HELD_INPUT_BYTES, HeldInput, Pressable};
use super::key_remap::KeyRemaps;
use super::keymap::KeyboardState;
use super::release_guard::{self, ReleaseGuard};
use super::session::enable_extensions;
use super::windows;
use super::xtest::XTestInput;
use crate::drivers::Error;
use crate::drivers::pause::pause;

/// Timeout of a call to the display. Nothing waits for this process, so a busy server has all the time it needs.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Delay between two looks for pressed keys. The server may still be working on the last write of the other process,
/// whose delays (a double click's gap of 80 ms) are shorter.
const LOOK_INTERVAL: Duration = Duration::from_millis(150);
/// Maximum number of looks. Usually the second one finds nothing.
const MAX_LOOKS: usize = 8;

/// Runs the process that releases input and returns its exit code, if this program was started as one. A program that
/// calls this first in `main` has its held input released after a crash.
#[must_use]
pub fn run_if_started_as_release_process() -> Option<ExitCode> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let display = match arguments.as_slice() {
        [command, display] if command == release_guard::COMMAND => display.to_string_lossy(),
        _ => {
            release_guard::make_available();
            return None;
        }
    };
    Some(match run(&display) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            // Fails if the other process has ended.
            let _ = writeln!(io::stderr(), "{cause}");
            ExitCode::FAILURE
        }
    })
}

fn run(display: &str) -> Result<(), String> {
    let _ignoring = ignore_signals().map_err(|error| error.to_string())?;
    let shared = io::stdout().as_fd().try_clone_to_owned();
    let shared = File::from(shared.map_err(|error| error.to_string())?);
    serve(display, &shared).map_err(|error| error.to_string())
}

/// Ignores the signals that end programs: a service manager sends them to every process of a service, and this one has
/// to be the last.
fn ignore_signals() -> io::Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    {
        let _context = runtime.enter();
        for kind in [
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::terminate(),
        ] {
            // Its handler stays, although nothing listens.
            let _ = signal(kind)?;
        }
    }
    Ok(runtime)
}

/// Waits until the other process has ended, and releases what it held.
fn serve(display: &str, shared: &File) -> Result<(), Error> {
    let link = connection::connect(display, TIMEOUT)?;
    enable_extensions(&link)?;
    let mut input = XTestInput::new(link, None, Arc::default(), Arc::new(ReleaseGuard::none()))?;
    if wait_for_end(&input.link) == Ended::Display {
        return Ok(());
    }
    let mut bytes = [0; HELD_INPUT_BYTES];
    if shared.read_exact_at(&mut bytes, 0).is_err() {
        // Nothing was ever listed.
        return Ok(());
    }
    let group = KeyboardState::read(&input.link)?.locked_group;
    let held = HeldInput::from_bytes(&bytes, group);
    if held.is_empty() {
        return Ok(());
    }
    release(&mut input, &held)
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Display,
    OtherProcess,
}

fn wait_for_end(link: &Connection) -> Ended {
    let pipe = io::stdin();
    let no_time = Timespec::default();
    loop {
        let waited = link.wait(Some(pipe.as_fd()), None);
        // Events that every client gets are dropped.
        let event = || link.x.poll_for_event();
        if waited.is_err() || std::iter::from_fn(|| event().transpose()).any(|event| event.is_err())
        {
            return Ended::Display;
        }
        // Nothing is ever written to the pipe: that it can be read tells that it is closed.
        let mut polled = [PollFd::new(&pipe, PollFlags::IN)];
        if poll(&mut polled, Some(&no_time)).is_ok_and(|ready| ready > 0) {
            return Ended::OtherProcess;
        }
    }
}

fn release(input: &mut XTestInput, held: &HeldInput) -> Result<(), Error> {
    for nth in 0..MAX_LOOKS {
        let down = input.pressed_now()?;
        // Buttons that are not reported as pressed are released once.
        let ours: Vec<Pressable> = held
            .pressed()
            .filter(|what| down.contains(what) || (nth == 0 && !what.is_reported()))
            .collect();
        if nth > 0 && ours.is_empty() {
            break;
        }
        input.release_pressed(&ours)?;
        pause(LOOK_INTERVAL, &CancellationToken::new())?;
    }
    input.keyboard_to_restore = held.keyboard;
    input.restore_keyboard()?;
    input.sync()?;
    if held.is_remapped {
        // The last application must have read its keys before the keymap changes. One that hangs is not waited for: other
        // programs use the keymap too.
        let _ = windows::wait_for_application(&input.link, &CancellationToken::new());
        KeyRemaps::recover(&input.link, &Arc::new(ReleaseGuard::none()))?;
    }
    input.sync()
}
