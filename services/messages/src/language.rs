//! Language of texts for people.

use motorium_text::characters::is_han;

/// A language of messages, prompt templates and sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Language {
    #[default]
    English,
    Chinese,
}

impl Language {
    /// All languages.
    pub const ALL: [Language; 2] = [Language::English, Language::Chinese];

    /// Returns the requested language, or else the language of the goal without its quotations. English for languages
    /// without messages.
    #[must_use]
    pub fn of(wanted: Option<&str>, goal: &str) -> Self {
        match wanted {
            Some(wanted) if !wanted.is_empty() => Self::from_tag(wanted),
            _ if unquoted(goal).as_deref().unwrap_or(goal).contains(is_han) => Language::Chinese,
            _ => Language::English,
        }
    }

    /// Returns the language of a tag such as `zh-CN`, or of a locale such as `zh_CN.UTF-8`. English for other languages.
    #[must_use]
    pub fn from_tag(tag: &str) -> Self {
        if tag.to_lowercase().starts_with("zh") {
            Language::Chinese
        } else {
            Language::English
        }
    }

    /// Returns the language of a tag such as `zh-CN`; `None` for languages without messages.
    #[must_use]
    pub fn supported(tag: &str) -> Option<Self> {
        let primary = tag.split(['-', '_', '.']).next()?;
        Self::ALL
            .into_iter()
            .find(|language| language.tag().eq_ignore_ascii_case(primary))
    }

    /// Returns the tag of the language, which is also the name of its prompt folder.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Chinese => "zh",
        }
    }
}

/// Returns the text outside quotation marks; `None` if it has no words, or a quotation does not end.
fn unquoted(text: &str) -> Option<String> {
    let mut outside = String::new();
    let mut end = None;
    for character in text.chars() {
        match (end, closing(character)) {
            (Some(quote), _) if quote == character => end = None,
            (Some(_), _) => {}
            (None, Some(quote)) => end = Some(quote),
            (None, None) => outside.push(character),
        }
    }
    let has_words = outside.chars().any(char::is_alphabetic);
    (end.is_none() && has_words).then_some(outside)
}

/// Returns the closing mark of an opening quotation mark.
fn closing(opening: char) -> Option<char> {
    match opening {
        '"' => Some('"'),
        '“' => Some('”'),
        '「' => Some('」'),
        '『' => Some('』'),
        '《' => Some('》'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: Option<&str>, goal: &str, expected: Language) {
        assert_eq!(Language::of(wanted, goal), expected, "{wanted:?}, {goal}");
    }

    #[test]
    fn language_is_the_requested_one_or_the_goals() {
        check(None, "save the file", Language::English);
        check(None, "保存文件", Language::Chinese);
        check(Some(""), "保存文件", Language::Chinese);
        check(Some("zh-CN"), "save the file", Language::Chinese);
        check(Some("en"), "保存文件", Language::English);
        check(Some("fr"), "保存文件", Language::English);
        check(Some("zh_CN.UTF-8"), "", Language::Chinese);
    }

    #[test]
    fn only_languages_with_messages_are_supported() {
        let check = |tag: &str, expected: Option<Language>| {
            assert_eq!(Language::supported(tag), expected, "{tag}");
        };
        check("en", Some(Language::English));
        check("EN-gb", Some(Language::English));
        check("zh_CN.UTF-8", Some(Language::Chinese));
        check("klingon", None);
        check("zhx", None);
        check("", None);
    }

    #[test]
    fn quoted_text_does_not_affect_language_detection() {
        check(None, r#"click "保存""#, Language::English);
        check(None, "type “张三” into the field", Language::English);
        check(None, r#"点击"Save""#, Language::Chinese);
        check(None, "“保存”", Language::Chinese);
        check(None, r#"click "保存 and go on"#, Language::Chinese);
    }
}
