//! Small files in the folder of the gateway that only their owner can read.

use std::io::{self, Write as _};
use std::path::Path;

/// Reads a file, without white space around its text. `None` if it does not exist.
pub(crate) fn read(folder: &Path, name: &str) -> io::Result<Option<String>> {
    match std::fs::read_to_string(folder.join(name)) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file that only its owner can read, and creates its folder.
pub(crate) fn replace(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&draft)?.write_all(content)?;
    std::fs::rename(&draft, folder.join(name))
}
