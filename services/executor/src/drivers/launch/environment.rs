//! The variables of this service that a started program inherits.
//!
//! An allowlist: a service's environment may hold provider keys, tokens and secrets under any name, so that a list of variables to
//! remove would never be complete. Further variables are configured with the program (`environment`).

use std::ffi::OsString;

/// Variables that are inherited. Names of Windows are written as there; case does not matter on it.
const INHERITED: &[&str] = &[
    // The user and the user's folders.
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "USER",
    // Language and time.
    "LANG",
    "LANGUAGE",
    "TZ",
    // The session: its display, bus and desktop environment.
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "DISPLAY",
    "SESSION_MANAGER",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XCURSOR_SIZE",
    "XCURSOR_THEME",
    "XMODIFIERS",
    // Windows does not start most programs without these.
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMPUTERNAME",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PUBLIC",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Variables of the network's proxy, without which a browser reaches nothing.
pub const PROXY_VARIABLES: [&str; 8] = [
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Beginnings of names that are inherited: the language of each category, folders of the desktop, and toolkits.
const INHERITED_PREFIXES: &[&str] = &["GDK_", "GTK_", "LC_", "QT_", "XDG_"];

/// Returns the variables that a started program inherits.
pub(super) fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_inherited))
}

fn is_inherited(name: &str) -> bool {
    let is_listed = |known: &&str| {
        if cfg!(windows) {
            known.eq_ignore_ascii_case(name)
        } else {
            *known == name
        }
    };
    INHERITED.iter().chain(&PROXY_VARIABLES).any(is_listed)
        || INHERITED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_tokens_of_the_service_are_not_inherited() {
        for name in [
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "DATABASE_URL",
            "MOTORIUM_SECRET_BANK",
            "MOTORIUM_SERVER_TOKEN",
            "SSH_AUTH_SOCK",
            "PGPASSWORD",
        ] {
            assert!(!is_inherited(name), "{name}");
        }
        for name in ["PATH", "HOME", "LC_CTYPE", "XDG_RUNTIME_DIR", "https_proxy"] {
            assert!(is_inherited(name), "{name}");
        }
    }
}
