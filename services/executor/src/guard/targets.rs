//! Where a secret may go: into the windows that the configuration names for it, and into no other.
//!
//! Pure. Which window has the keyboard, and which page, is for the driver to see, at the moment of typing. Any page can
//! give itself a title; only a browser that is listened to tells its address.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use url::Url;

use super::addresses::HostPattern;
use crate::secrets::variable;

/// Stands for every secret that is not named.
const ANY_SECRET: &str = "*";

/// A window, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowPattern {
    /// Whatever has the keyboard.
    Anywhere,
    /// Of this class, in lower case.
    Application(String),
    /// With this in its title, in lower case.
    Title(String),
    /// With a page of this host that has the keyboard.
    Url(HostPattern),
}

impl WindowPattern {
    /// Parses a pattern as it stands in the configuration.
    ///
    /// # Errors
    /// What is wrong with it, and how it is written.
    pub fn parse(text: &str) -> Result<Self, String> {
        let named = text.split_once(':');
        match named.map(|(kind, words)| (kind.trim(), words.trim())) {
            None if text.trim() == "anywhere" => Ok(Self::Anywhere),
            Some(("application", name)) if !name.is_empty() => {
                Ok(Self::Application(name.to_lowercase()))
            }
            Some(("title", words)) if !words.is_empty() => Ok(Self::Title(words.to_lowercase())),
            Some(("url", host)) => HostPattern::parse(host).map(Self::Url),
            _ => Err(format!(
                "`{text}` names no window; write application:NAME, title:WORDS, url:HOST or anywhere"
            )),
        }
    }

    /// Whether a window of this class and title is meant, whatever page it shows.
    #[must_use]
    pub fn matches(&self, application: &str, title: &str) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Application(name) => application.to_lowercase() == *name,
            Self::Title(words) => title.to_lowercase().contains(words),
            Self::Url(_) => false,
        }
    }

    /// Whether a page of this address is meant.
    #[must_use]
    pub fn matches_page(&self, address: &Url) -> bool {
        let Self::Url(pattern) = self else {
            return false;
        };
        address.host().is_some_and(|host| pattern.matches(&host))
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

/// The windows that each secret may go into, by the names of their variables: those answer to several spellings.
#[derive(Debug, Clone, Default)]
pub struct SecretTargets(BTreeMap<String, Arc<[WindowPattern]>>);

impl SecretTargets {
    /// Takes the patterns by the names of secrets; `*` is for those that are not named.
    #[must_use]
    pub fn new(targets: BTreeMap<String, Vec<WindowPattern>>) -> Self {
        let shared = targets
            .into_iter()
            .map(|(name, windows)| (variable(&name), windows.into()));
        Self(shared.collect())
    }

    /// The windows that a secret may go into; `None` if none are named, and then it may go nowhere.
    #[must_use]
    pub fn of(&self, secret: &str) -> Option<Arc<[WindowPattern]>> {
        let named = self
            .0
            .get(&variable(secret))
            .or_else(|| self.0.get(ANY_SECRET));
        named.filter(|windows| !windows.is_empty()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_meant_by_class_or_title() {
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
    fn pages_are_meant_by_their_host() {
        let check = |pattern: &str, address, expected| {
            let pattern = WindowPattern::parse(pattern).unwrap();
            let address = Url::parse(address).unwrap();
            assert_eq!(pattern.matches_page(&address), expected, "{pattern}");
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
    fn a_secret_without_a_window_goes_nowhere() {
        let anywhere = vec![WindowPattern::Anywhere];
        let named = SecretTargets::new([("my-bank".to_owned(), anywhere.clone())].into());
        assert!(named.of("my-bank").is_some() && named.of("mail").is_none());
        let all = [
            ("*".to_owned(), anywhere),
            ("my-bank".to_owned(), Vec::new()),
        ];
        let all = SecretTargets::new(all.into());
        for spelling in ["my-bank", "My.Bank", "MY_BANK"] {
            assert!(all.of(spelling).is_none(), "{spelling} is a way around");
        }
        assert!(all.of("mail").is_some());
        assert!(SecretTargets::default().of("my-bank").is_none());
    }
}
