//! Preferences of the browser on a virtual desktop: nothing of its own covers a page.
//!
//! Bubbles like "Save password?" cover controls, and no user closes them. They are switched off in the
//! profile, because Chromium has no options for most of them. Downloads become task files, which can be fetched. Everything
//! else in the profile is kept.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde_json::{Map, Value, json};

/// Preferences of the browser's first person, below the home folder.
const PREFERENCES: &str = ".config/chromium/Default/Preferences";

/// Content setting: blocked without a question.
const BLOCK: u8 = 2;

/// Writes the preferences for a browser that is not running. `files` is the folder of the task files.
///
/// # Errors
/// If the profile cannot be written.
pub(crate) fn write(home: &Path, files: &Path) -> io::Result<()> {
    let path = home.join(PREFERENCES);
    let mut preferences = read(&path)?;
    merge(&mut preferences, wanted(files));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, Value::Object(preferences).to_string())
}

/// Reads the preferences; none for a new profile, or one whose file was damaged, which the browser would drop.
fn read(path: &Path) -> io::Result<Map<String, Value>> {
    match fs::read(path) {
        Ok(written) => Ok(serde_json::from_slice(&written).unwrap_or_default()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Map::new()),
        Err(error) => Err(error),
    }
}

/// Names as in Chromium's `pref_names`.
fn wanted(files: &Path) -> Value {
    json!({
        // "Save password?", "Sign in automatically".
        "credentials_enable_service": false,
        "credentials_enable_autosignin": false,
        "profile": {
            "password_manager_enabled": false,
            "password_manager_leak_detection": false,
            "default_content_setting_values": { "notifications": BLOCK },
            // "Restore pages?" after the browser was killed.
            "exit_type": "Normal",
            "exited_cleanly": true,
        },
        // "Save address?", "Save card?".
        "autofill": { "profile_enabled": false, "credit_card_enabled": false },
        "translate": { "enabled": false },
        "browser": { "check_default_browser": false },
        "signin": { "allowed_on_next_startup": false },
        "download": { "default_directory": files },
        "savefile": { "default_directory": files },
    })
}

/// Merges nested objects; other values are replaced.
fn merge(into: &mut Map<String, Value>, wanted: Value) {
    let Value::Object(wanted) = wanted else {
        return;
    };
    for (name, value) in wanted {
        match (into.get_mut(&name), value) {
            (Some(Value::Object(known)), value @ Value::Object(_)) => merge(known, value),
            (_, value) => {
                into.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_preferences_keeps_other_profile_settings() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(PREFERENCES);
        write(home.path(), Path::new("/files")).unwrap();
        let read_back = || -> Value { serde_json::from_slice(&fs::read(&path).unwrap()).unwrap() };
        assert_eq!(read_back()["credentials_enable_service"], false);
        let used = r#"{"profile":{"name":"Person","exit_type":"Crashed"},"homepage":"x"}"#;
        fs::write(&path, used).unwrap();
        write(home.path(), Path::new("/files")).unwrap();
        let preferences = read_back();
        assert_eq!(preferences["profile"]["name"], "Person");
        assert_eq!(preferences["profile"]["exit_type"], "Normal");
        assert_eq!(preferences["homepage"], "x");
        assert_eq!(preferences["download"]["default_directory"], "/files");
        fs::write(&path, "damaged").unwrap();
        write(home.path(), Path::new("/files")).unwrap();
        assert_eq!(read_back()["translate"]["enabled"], false);
    }
}
