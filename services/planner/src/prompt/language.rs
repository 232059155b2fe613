//! The language of prompts and of words meant for people.

/// A language that there are prompts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    English,
    Chinese,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 2] = [Language::English, Language::Chinese];

    /// The language that was asked for, or else the goal's own. What there are no prompts in is spoken to in English.
    #[must_use]
    pub fn of(wanted: Option<&str>, goal: &str) -> Self {
        let is_chinese = match wanted {
            Some(wanted) if !wanted.is_empty() => wanted.to_lowercase().starts_with("zh"),
            _ => goal
                .chars()
                .any(|character| ('\u{4E00}'..='\u{9FFF}').contains(&character)),
        };
        if is_chinese {
            Language::Chinese
        } else {
            Language::English
        }
    }

    /// The name of its folder of templates.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Chinese => "zh",
        }
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
    fn is_asked_for_or_the_goals_own() {
        check(None, "save the file", Language::English);
        check(None, "保存文件", Language::Chinese);
        check(Some(""), "保存文件", Language::Chinese);
        check(Some("zh-CN"), "save the file", Language::Chinese);
        check(Some("en"), "保存文件", Language::English);
        check(Some("fr"), "保存文件", Language::English);
    }
}
