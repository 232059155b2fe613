//! Source files that `docs/ARCHITECTURE.md` names.

use std::fs;

use crate::support::root;

/// Returns the paths that a name with one choice in braces stands for.
fn expanded(name: &str) -> Vec<String> {
    let Some((before, rest)) = name.split_once('{') else {
        return vec![name.to_owned()];
    };
    let (choices, after) = rest.split_once('}').unwrap();
    let choices = choices.split(',');
    choices
        .map(|choice| format!("{before}{choice}{after}"))
        .collect()
}

#[test]
fn source_files_are_named_with_their_crates() {
    let root = root();
    let document = fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap();
    // Code stands between backticks: every second part.
    let names = document.split('`').skip(1).step_by(2);
    let files: Vec<String> = names
        .filter(|name| name.ends_with(".rs") && !name.contains(' '))
        .flat_map(expanded)
        .collect();
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        // The table of refusals is about services only, and says so.
        let is_there = root.join(&file).is_file() || root.join("services").join(&file).is_file();
        assert!(is_there, "there is no {file}");
    }
}
