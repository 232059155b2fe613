//! Ways from the file dialogs of a virtual desktop to the folder of its task files: a bookmark and a link in the home.
//!
//! Attachments come there, and only files there can be fetched. Everything else in the home is kept.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::Path;

use reqwest::Url;

/// Name of the bookmark and of the link, as dialogs show it.
const NAME: &str = "Task files";

/// Bookmarks of GTK's file dialogs, below the home folder.
const BOOKMARKS: &str = ".config/gtk-3.0/bookmarks";

/// Adds the ways to the folder `files`, for programs that are not running.
///
/// # Errors
/// If the home cannot be written.
pub(crate) fn write(home: &Path, files: &Path) -> io::Result<()> {
    link(home, files)?;
    bookmark(home, files)
}

/// Links the folder in the home. A link that led to the files of another display is replaced; anything else is kept.
fn link(home: &Path, files: &Path) -> io::Result<()> {
    let link = home.join(NAME);
    match fs::symlink_metadata(&link) {
        Ok(found) if !found.is_symlink() => return Ok(()),
        Ok(_) => fs::remove_file(&link)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    symlink(files, link)
}

fn bookmark(home: &Path, files: &Path) -> io::Result<()> {
    let Ok(url) = Url::from_file_path(files) else {
        // A relative path; the services use absolute ones.
        return Ok(());
    };
    let path = home.join(BOOKMARKS);
    let written = match fs::read_to_string(&path) {
        Ok(written) => written,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let is_other = |line: &&str| !line.ends_with(&format!(" {NAME}"));
    let mut lines: Vec<String> = written
        .lines()
        .filter(is_other)
        .map(str::to_owned)
        .collect();
    lines.push(format!("{url} {NAME}"));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialogs_lead_to_the_task_files_and_keep_their_own_bookmarks() {
        let home = tempfile::tempdir().unwrap();
        let (first, second) = (home.path().join("files 0"), home.path().join("files 1"));
        for folder in [&first, &second] {
            fs::create_dir(folder).unwrap();
        }
        let bookmarks = home.path().join(BOOKMARKS);
        write(home.path(), &first).unwrap();
        let url = |folder: &Path| Url::from_file_path(folder).unwrap().to_string();
        let line = format!("{} Task files\n", url(&first));
        assert_eq!(fs::read_to_string(&bookmarks).unwrap(), line);
        assert!(line.contains("files%200"), "{line}");

        fs::write(&bookmarks, format!("file:///music Music\n{line}")).unwrap();
        write(home.path(), &second).unwrap();
        let line = format!("file:///music Music\n{} Task files\n", url(&second));
        assert_eq!(fs::read_to_string(&bookmarks).unwrap(), line);
        let link = home.path().join(NAME);
        assert_eq!(fs::read_link(&link).unwrap(), second);

        // A folder of the user's with that name is none of ours.
        fs::remove_file(&link).unwrap();
        fs::create_dir(&link).unwrap();
        write(home.path(), &first).unwrap();
        assert!(link.is_dir() && !link.is_symlink());
    }
}
