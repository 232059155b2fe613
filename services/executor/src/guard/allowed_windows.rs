//! Allowed windows of secrets: a secret is only entered into windows that the configuration lists for it.
//!
//! Pure. The driver determines the focused window and page at the moment of typing. Any page can choose its title;
//! only a browser that is connected through DevTools reports its URL.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use motorium_proto::domain::frame::is_same_application;
use url::Url;

use super::url_rules::HostRule;
use crate::secrets::variable_name;

/// Key for every secret that is not listed.
const ANY_SECRET: &str = "*";

/// A pattern that matches windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowPattern {
    /// Any window.
    Anywhere,
    /// Windows of this class, whatever its case.
    Application(String),
    /// Windows with this text in the title, in lower case.
    Title(String),
    /// Browser windows in which a page of this host has the focus.
    Url(HostRule),
}

impl WindowPattern {
    /// Parses a pattern of the configuration.
    ///
    /// # Errors
    /// Returns what is wrong with the pattern, and the valid forms.
    pub fn parse(text: &str) -> Result<Self, String> {
        let named = text.split_once(':');
        match named.map(|(kind, words)| (kind.trim(), words.trim())) {
            None if text.trim() == "anywhere" => Ok(Self::Anywhere),
            Some(("application", name)) if !name.is_empty() => {
                Ok(Self::Application(name.to_owned()))
            }
            Some(("title", words)) if !words.is_empty() => Ok(Self::Title(words.to_lowercase())),
            Some(("url", host)) => HostRule::parse(host).map(Self::Url),
            _ => Err(format!(
                "`{text}` is not a window pattern; use application:NAME, title:WORDS, url:HOST or anywhere"
            )),
        }
    }

    /// Returns whether the pattern matches a window by class and title, whatever page it shows.
    #[must_use]
    pub fn matches(&self, application: &str, title: &str) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Application(name) => is_same_application(application, name),
            Self::Title(words) => title.to_lowercase().contains(words),
            Self::Url(_) => false,
        }
    }

    /// Returns whether the pattern matches a page's URL.
    #[must_use]
    pub fn matches_url(&self, address: &Url) -> bool {
        let Self::Url(hosts) = self else {
            return false;
        };
        address
            .host()
            .is_some_and(|host| hosts.matches(&host.into()))
    }
}

impl fmt::Display for WindowPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anywhere => f.write_str("anywhere"),
            Self::Application(name) => write!(f, "application:{name}"),
            Self::Title(words) => write!(f, "title:{words}"),
            Self::Url(host) => write!(f, "url:{host}"),
        }
    }
}

/// Allowed windows per secret, keyed by variable name: several spellings of a secret's name map to one variable.
#[derive(Debug, Clone, Default)]
pub struct AllowedWindows(BTreeMap<String, Arc<[WindowPattern]>>);

impl AllowedWindows {
    /// Creates the map from patterns by secret name; `*` applies to secrets that are not listed.
    #[must_use]
    pub fn new(targets: BTreeMap<String, Vec<WindowPattern>>) -> Self {
        let shared = targets
            .into_iter()
            .map(|(name, windows)| (variable_name(&name), windows.into()));
        Self(shared.collect())
    }

    /// Returns the allowed windows of a secret; `None` if it must not be entered anywhere.
    #[must_use]
    pub fn for_secret(&self, secret: &str) -> Option<Arc<[WindowPattern]>> {
        let named = self
            .0
            .get(&variable_name(secret))
            .or_else(|| self.0.get(ANY_SECRET));
        named.filter(|windows| !windows.is_empty()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_patterns_match_application_or_title() {
        let check = |pattern: &str, application, title, expected| {
            let pattern = WindowPattern::parse(pattern).unwrap();
            assert_eq!(pattern.matches(application, title), expected, "{pattern}");
        };
        check("anywhere", "", "", true);
        check("application:chromium", "Chromium", "", true);
        check("application:chrom", "Chromium", "", false);
        check(
            "title:My Bank",
            "Chromium",
            "Sign in - my bank - Chromium",
            true,
        );
        check("title:My Bank", "Chromium", "Notes", false);
        for bad in [
            "",
            "bank",
            "title:",
            "title: ",
            "window:x",
            "url:",
            "url:https://a/",
        ] {
            assert!(WindowPattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn url_patterns_match_the_host() {
        let check = |pattern: &str, address, expected| {
            let pattern = WindowPattern::parse(pattern).unwrap();
            let address = Url::parse(address).unwrap();
            assert_eq!(pattern.matches_url(&address), expected, "{pattern}");
        };
        check("url:bank.example", "https://bank.example/login", true);
        check("url:*.bank.example", "https://www.bank.example/", true);
        check("url:bank.example", "https://bank.example.evil.test/", false);
        check("url:bank.example", "data:text/html,bank.example", false);
        check("title:bank", "https://bank.example/", false);
        assert!(
            !WindowPattern::parse("url:bank.example")
                .unwrap()
                .matches("Chromium", "bank.example")
        );
    }

    #[test]
    fn secret_without_allowed_windows_is_never_entered() {
        let anywhere = vec![WindowPattern::Anywhere];
        let named = AllowedWindows::new([("my-bank".to_owned(), anywhere.clone())].into());
        assert!(named.for_secret("my-bank").is_some() && named.for_secret("mail").is_none());
        let all = [
            ("*".to_owned(), anywhere),
            ("my-bank".to_owned(), Vec::new()),
        ];
        let all = AllowedWindows::new(all.into());
        for spelling in ["my-bank", "My.Bank", "MY_BANK"] {
            assert!(
                all.for_secret(spelling).is_none(),
                "{spelling} bypasses the empty list"
            );
        }
        assert!(all.for_secret("mail").is_some());
        assert!(AllowedWindows::default().for_secret("my-bank").is_none());
    }
}
