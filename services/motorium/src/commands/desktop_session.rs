//! `motorium desktop-session`: starts programs within the sandbox of a virtual desktop.
//!
//! Only `motorium up` starts this command.

use std::process::ExitCode;

use crate::cli::DesktopSession;
use crate::error::Error;
use crate::virtual_desktop::session;

/// Serves `motorium up` until it ends.
pub(crate) async fn desktop_session(args: DesktopSession) -> Result<ExitCode, Error> {
    let served = session::serve(&args.home, &args.files).await;
    served.map_err(|error| Error::Start(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}
