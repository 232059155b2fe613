//! Advice for applications, added to the prompt while one of their windows is active. Each is a file:
//!
//! ```text
//! applications: firefox, chromium
//! titles: Mozilla Firefox
//!
//! Open a page by its address rather than by searching for it.
//! ```
//!
//! The words of both lines are matched against the window's class and title: case-insensitive, at the start of a word
//! (`finder` does not match `pathfinder`). Advice is written by us or the user and therefore trusted; the window texts
//! that select it are not.

use std::path::Path;

use motorium_proto::domain::frame::Window;
use motorium_text::characters::is_invisible;

use super::Language;

/// Declares the built-in advice files.
macro_rules! advice {
    ($($name:literal,)*) => {
        const BUILT_IN: &[(Language, &str, &str)] = &[$(
            (Language::English, $name, include_str!(concat!("../../prompts/en/advice/", $name, ".md"))),
            (Language::Chinese, $name, include_str!(concat!("../../prompts/zh/advice/", $name, ".md"))),
        )*];
    };
}

advice! {
    "browser",
    "chat",
    "file_manager",
    "office",
    "terminal",
}

/// Advice for some applications.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Advice {
    language: Language,
    name: String,
    applications: Vec<String>,
    titles: Vec<String>,
    text: String,
}

/// A malformed advice file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an advice file must start with a line `applications: …` or `titles: …`, then an empty line, then the advice"
)]
pub struct MalformedAdvice;

/// All advice.
#[derive(Debug, Clone, Default)]
pub(super) struct AdviceSet(Vec<Advice>);

impl AdviceSet {
    /// Returns the built-in advice.
    ///
    /// # Errors
    /// Fails if a file is malformed.
    pub(super) fn built_in() -> Result<Self, MalformedAdvice> {
        let mut advice_set = Self::default();
        for (language, name, text) in BUILT_IN {
            advice_set.put(*language, name, text)?;
        }
        Ok(advice_set)
    }

    /// Adds a file, replacing one with the same name and language.
    ///
    /// # Errors
    /// Fails if it is malformed.
    pub(super) fn put(
        &mut self,
        language: Language,
        name: &str,
        file: &str,
    ) -> Result<(), MalformedAdvice> {
        let advice = Advice::parse(language, name, file)?;
        self.0
            .retain(|known| (known.language, known.name.as_str()) != (language, name));
        self.0.push(advice);
        Ok(())
    }

    /// Returns the advice for a window.
    pub(super) fn for_window(&self, window: &Window, language: Language) -> Vec<&str> {
        let is_for = |advice: &&Advice| advice.language == language && advice.is_for(window);
        let found = self.0.iter().filter(is_for);
        found.map(|advice| advice.text.as_str()).collect()
    }
}

impl Advice {
    fn parse(language: Language, name: &str, file: &str) -> Result<Self, MalformedAdvice> {
        let file = file.replace("\r\n", "\n");
        let (head, text) = file.split_once("\n\n").ok_or(MalformedAdvice)?;
        let words = |key: &str| -> Vec<String> {
            let lines = head.lines().filter_map(|line| line.strip_prefix(key));
            lines
                .flat_map(|line| line.split(','))
                .map(|word| word.trim().to_lowercase())
                .filter(|word| !word.is_empty())
                .collect()
        };
        let advice = Self {
            language,
            name: name.to_owned(),
            applications: words("applications:"),
            titles: words("titles:"),
            text: text.trim().to_owned(),
        };
        let is_for_nothing = advice.applications.is_empty() && advice.titles.is_empty();
        if is_for_nothing || advice.text.is_empty() {
            return Err(MalformedAdvice);
        }
        Ok(advice)
    }

    fn is_for(&self, window: &Window) -> bool {
        let names = |words: &[String], text: &str| {
            // Edge, for one, writes an invisible space into its own name.
            let visible = text.chars().filter(|character| !is_invisible(*character));
            let text = visible.collect::<String>().to_lowercase();
            words.iter().any(|word| begins_a_word(word, &text))
        };
        names(&self.applications, &window.application) || names(&self.titles, &window.title)
    }
}

/// Returns whether a word of the text starts with `beginning`. Chinese has no spaces between words, so only a preceding
/// Latin letter or digit makes it part of another word.
fn begins_a_word(beginning: &str, text: &str) -> bool {
    let mut places = text.match_indices(beginning);
    places.any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|character| character.is_ascii_alphanumeric())
    })
}

/// Returns the name of an advice file: its file name without the extension.
#[must_use]
pub(super) fn name_of(path: &Path) -> Option<&str> {
    path.file_stem()?.to_str()
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

    use super::*;

    fn window(application: &str, title: &str) -> Window {
        Window {
            id: "1".to_owned(),
            title: title.to_owned(),
            application: application.to_owned(),
            process: None,
            bounds: CaptureRect::new(CapturePoint::zero(), CapturePoint::new(1, 1)),
            active: true,
            minimised: false,
            modal: false,
        }
    }

    #[track_caller]
    fn check(application: &str, title: &str, begins: &[&str]) {
        let advice_set = AdviceSet::built_in().unwrap();
        let window = window(application, title);
        let found = advice_set.for_window(&window, Language::English);
        assert_eq!(found.len(), begins.len(), "{application}: {found:?}");
        for (text, begin) in found.iter().zip(begins) {
            assert!(text.starts_with(begin), "{application}: {text}");
        }
    }

    #[test]
    fn the_active_window_chooses_the_advice() {
        check("firefox-esr", "Start", &["A browser is open."]);
        check(
            "Google-chrome",
            "Start - Google Chrome",
            &["A browser is open."],
        );
        check("Microsoft-edge", "Start", &["A browser is open."]);
        // Edge writes an invisible space into its name.
        check(
            "",
            "Start - Microsoft\u{200b} Edge",
            &["A browser is open."],
        );
        check("Thunar", "Home", &["A file manager is open."]);
        check("WeChat", "微信", &["A chat is open."]);
        check(
            "libreoffice-calc",
            "Untitled 1",
            &["An office application is open."],
        );
        check("XTerm", "~", &["A terminal is open."]);
        check("gimp", "picture", &[]);
        check("xfce4-terminal", "~", &["A terminal is open."]);
        check("org.gnome.Nautilus", "Home", &["A file manager is open."]);
        check("", "聊天-微信", &["A chat is open."]);
        check("packet.exe", "pathfinder", &[]);
        check("pathfinder", "trace", &[]);
    }

    #[test]
    fn every_advice_is_there_in_both_languages() {
        let advice_set = AdviceSet::built_in().unwrap();
        let names = |language| -> Vec<&str> {
            let of_language = advice_set
                .0
                .iter()
                .filter(|advice| advice.language == language);
            of_language.map(|advice| advice.name.as_str()).collect()
        };
        assert_eq!(names(Language::English), names(Language::Chinese));
    }

    #[test]
    fn user_advice_replaces_or_extends_the_built_in() {
        let mut advice_set = AdviceSet::built_in().unwrap();
        advice_set
            .put(
                Language::English,
                "browser",
                "applications: firefox\n\nMine.",
            )
            .unwrap();
        advice_set
            .put(Language::English, "bank", "titles: My Bank\n\nNever pay.")
            .unwrap();
        let found = advice_set.for_window(&window("firefox", "My Bank"), Language::English);
        assert_eq!(found, ["Mine.", "Never pay."]);
    }

    #[test]
    fn advice_without_conditions_or_text_is_an_error() {
        for file in [
            "",
            "Just text.",
            "applications:\n\nText.",
            "applications: a\n\n \n",
        ] {
            assert_eq!(
                AdviceSet::default().put(Language::English, "x", file),
                Err(MalformedAdvice),
                "{file}"
            );
        }
    }
}
