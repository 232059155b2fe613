//! Access to the display: a cookie that its server demands.
//!
//! It is given to the programs on the desktop, by a file in their home, and to the user who started the desktop, as
//! `startx` does: by an entry in the user's own authority file. So the user's programs, such as viewers, reach the display,
//! and other users' do not. The entry is removed with the desktop.

use std::fmt;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use uuid::Uuid;

/// Program that edits authority files, and locks them meanwhile.
pub(crate) const EDITOR: &str = "xauth";
/// Package of the program.
pub(crate) const EDITOR_PACKAGE: &str = "xauth";

/// Timeout of an edit. The program waits up to 20 s for a lock that another one holds.
const EDIT_TIMEOUT: Duration = Duration::from_secs(25);

/// Name of the only protocol that every server knows.
const PROTOCOL: &str = "MIT-MAGIC-COOKIE-1";

/// Family of an entry for every host: the programs on the desktop have a host name of their own (Xauth.h: `FamilyWild`).
const FAMILY_WILD: u16 = 0xffff;

/// A secret of 122 random bits.
pub(super) struct Cookie(Uuid);

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cookie")
    }
}

impl Cookie {
    pub(super) fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// Returns an authority file with this cookie for every display of every host (Xau: "The Xauthority file format").
    pub(super) fn authority_file(&self) -> Vec<u8> {
        let mut file = FAMILY_WILD.to_be_bytes().to_vec();
        for field in [&b""[..], b"", PROTOCOL.as_bytes(), self.0.as_bytes()] {
            let length = u16::try_from(field.len()).expect("the fields are short");
            file.extend(length.to_be_bytes());
            file.extend(field);
        }
        file
    }

    /// Gives the user access to `display`.
    ///
    /// # Errors
    /// If the authority file cannot be edited.
    pub(super) async fn grant(&self, display: &str) -> io::Result<UserAccess> {
        let cookie = self.0.simple();
        // By standard input: other users see the arguments of a process.
        edit(&format!("add {display} {PROTOCOL} {cookie}\n")).await?;
        Ok(UserAccess {
            display: display.to_owned(),
        })
    }
}

/// The user's access to a display, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct UserAccess {
    display: String,
}

impl Drop for UserAccess {
    fn drop(&mut self) {
        // The desktop ends with the process, so that nothing is left that could wait for this. An entry that remains
        // opens nothing: its display is gone, and the next one of this number replaces it.
        let removal = std::process::Command::new(EDITOR)
            .args(["-q", "remove", &self.display])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if let Err(error) = removal {
            tracing::debug!(%error, "the access to the display was not removed");
        }
    }
}

async fn edit(commands: &str) -> io::Result<()> {
    let mut editor = Command::new(EDITOR);
    editor
        .args(["-q", "source", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = editor.spawn()?;
    let mut input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    input.write_all(commands.as_bytes()).await?;
    drop(input);
    let ended = tokio::time::timeout(EDIT_TIMEOUT, child.wait_with_output()).await;
    let output = ended.map_err(|_| io::ErrorKind::TimedOut)??;
    if output.status.success() {
        return Ok(());
    }
    let problem = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(problem.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_file_has_one_entry_for_every_display() {
        let file = Cookie(Uuid::from_u128(7)).authority_file();
        assert_eq!(file[..6], [0xff, 0xff, 0, 0, 0, 0]);
        assert_eq!(file[6..8], [0, 18], "the length of the protocol's name");
        assert_eq!(&file[8..26], PROTOCOL.as_bytes());
        assert_eq!(file[26..28], [0, 16], "the length of the cookie");
        assert_eq!(file.len(), 44);
    }

    #[test]
    fn a_cookie_is_never_printed() {
        assert_eq!(format!("{:?}", Cookie::random()), "Cookie");
    }
}
