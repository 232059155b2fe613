//! Protection of files that are no export: an export overwrites only an earlier one of the same task.
//!
//! It does not write anything.

use std::fs;
use std::path::Path;

use minijinja::HtmlEscape;
use serde_json::Value;

use super::{Error, MANIFEST, files};

/// Precedes the name of the task in every exported page.
const TASK_META: &str = r#"<meta name="motorium-task" content=""#;

/// Checks that a folder may be written by the export of this task: it is missing, empty, or an earlier export of it.
///
/// # Errors
/// [`Error::ForeignTarget`], or [`Error::File`] if it cannot be read, for example because it is a file.
pub fn check_folder(folder: &Path, task: &str) -> Result<(), Error> {
    if !folder.try_exists().map_err(Error::file(folder))? {
        return Ok(());
    }
    let mut entries = fs::read_dir(folder).map_err(Error::file(folder))?;
    if entries.next().is_none() {
        return Ok(());
    }
    match exported_task(folder) {
        Some(exported) if exported == task => Ok(()),
        exported => Err(Error::ForeignTarget {
            path: folder.to_owned(),
            content: content(exported),
            task: task.to_owned(),
        }),
    }
}

/// Checks that a file may be replaced by the page of this task: it is missing, or an earlier page of it.
///
/// # Errors
/// Like [`check_folder`].
pub fn check_page(page: &Path, task: &str) -> Result<(), Error> {
    if !page.try_exists().map_err(Error::file(page))? {
        return Ok(());
    }
    let stored = fs::read(page).map_err(Error::file(page))?;
    let stored = String::from_utf8_lossy(&stored);
    if page_task(&stored).is_some_and(|name| name == HtmlEscape(task).to_string()) {
        return Ok(());
    }
    Err(Error::ForeignTarget {
        path: page.to_owned(),
        content: "other content".to_owned(),
        task: task.to_owned(),
    })
}

/// Returns the name of the task that a page is an export of, escaped as in the page.
fn page_task(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(TASK_META)?;
    let (name, _) = rest.split_once('"')?;
    Some(name)
}

/// Returns the task that a folder is an export of. The manifest is written last, so an interrupted export has none.
fn exported_task(folder: &Path) -> Option<String> {
    let named = |file: &str, key: &str| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        let value: Value = serde_json::from_str(&text).ok()?;
        Some(value[key].as_str()?.to_owned())
    };
    named(MANIFEST, "task").or_else(|| named(files::TASK, "name"))
}

fn content(exported: Option<String>) -> String {
    match exported {
        Some(other) => format!("the export of {other}"),
        None => "other files".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "tasks/one";

    #[test]
    fn only_an_earlier_export_of_the_same_task_is_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("export");
        let check = |problem: Option<&str>| match (check_folder(&folder, NAME), problem) {
            (Ok(()), None) => {}
            (Err(error), Some(problem)) => {
                let text = error.to_string();
                assert!(text.contains(problem) && text.contains("--to"), "{text}");
            }
            (checked, _) => panic!("{checked:?} instead of {problem:?}"),
        };
        let write = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
        check(None);
        fs::create_dir(&folder).unwrap();
        check(None);
        write("taxes.ods", "mine");
        check(Some("other files"));
        write("task.json", r#"{"name": "tasks/one"}"#);
        // Interrupted before its manifest.
        check(None);
        write(MANIFEST, r#"{"task": "tasks/two"}"#);
        check(Some("the export of tasks/two"));
        write(MANIFEST, r#"{"task": "tasks/one"}"#);
        check(None);
        write(MANIFEST, "{");
        write("task.json", "[]");
        check(Some("other files"));
    }

    #[test]
    fn a_file_in_place_of_the_folder_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("export");
        fs::write(&file, "mine").unwrap();
        assert!(matches!(check_folder(&file, NAME), Err(Error::File { .. })));
    }

    #[test]
    fn only_an_earlier_page_of_the_same_task_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let page = home.path().join("one.html");
        let may_replace = |content: &str| {
            fs::write(&page, content).unwrap();
            check_page(&page, NAME).is_ok()
        };
        let page_of = |name: &str| format!(r#"<head>{TASK_META}{name}"></head>tasks&#x2f;one"#);
        assert!(may_replace(&page_of("tasks&#x2f;one")));
        for other in ["tasks&#x2f;two", "tasks&#x2f;one-more", "one", ""] {
            assert!(!may_replace(&page_of(other)), "{other}");
        }
        assert!(!may_replace("a page of mine about tasks/one"));
        assert!(check_page(&home.path().join("none.html"), NAME).is_ok());
    }
}
