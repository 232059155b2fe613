//! The X server of a virtual desktop.
//!
//! It is trusted, unlike its clients: they get nothing from it but their display.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;

use super::{Error, READY_TIMEOUT, is_installed, sandbox, session, tied_command};

/// Supported X servers in order of preference. Both support shared memory; TigerVNC can also be resized and viewed.
pub(crate) const PROGRAMS: [&str; 2] = ["Xtigervnc", "Xvfb"];

/// Starts the X server, and returns it with the number of its display.
pub(super) async fn start(
    (width, height): (u16, u16),
    authority: &Path,
    is_isolated: bool,
) -> Result<(Child, String), Error> {
    let program = PROGRAMS
        .into_iter()
        .find(|program| is_installed(program))
        .ok_or(Error::NoServer)?;
    let mut command = if is_isolated {
        let mut command = tied_command(sandbox::PROGRAM);
        command.args(sandbox::SERVER_ARGUMENTS).arg(program);
        command
    } else {
        tied_command(program)
    };
    // The server chooses a free display number and writes it to its standard output. Without -noreset it would reset
    // its keymap when the last client disconnects.
    command.args(["-displayfd", "1", "-noreset", "-auth"]);
    command.arg(authority);
    command.args(["-nolisten", "tcp"]);
    // Its clients are not trusted.
    command.env_clear().envs(session::environment());
    match program {
        "Xvfb" => command.args(["-screen", "0", &format!("{width}x{height}x24")]),
        _ => command
            .args(["-geometry", &format!("{width}x{height}"), "-depth", "24"])
            // No port for viewers: nothing outside of this process connects to the desktop.
            .args(["-SecurityTypes", "None", "-rfbport", "-1"]),
    };
    let failed = |source| Error::Start {
        program,
        package: "xvfb",
        source,
    };
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let output = child.stdout.take().ok_or(Error::NotReady { program })?;
    let mut lines = BufReader::new(output).lines();
    match tokio::time::timeout(READY_TIMEOUT, lines.next_line()).await {
        Ok(Ok(Some(line))) if !line.trim().is_empty() => {
            // Drain later output, so that the program never blocks on a full pipe.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            Ok((child, line.trim().to_owned()))
        }
        _ => Err(Error::NotReady { program }),
    }
}
