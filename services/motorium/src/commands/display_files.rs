//! `motorium display-files`: writes what the display of an image needs, with the same content as on a virtual desktop of
//! `motorium up`.
//!
//! Only `deploy/images/virtual-display` starts this command. It starts no program itself.

use std::process::ExitCode;

use crate::cli::DisplayFiles;
use crate::error::Error;
use crate::virtual_desktop;

/// Writes the files.
pub(crate) fn display_files(args: &DisplayFiles) -> Result<ExitCode, Error> {
    let written = virtual_desktop::write_display_files(&args.folder);
    written.map_err(|source| Error::Unwritable {
        path: args.folder.clone(),
        source,
    })?;
    Ok(ExitCode::SUCCESS)
}
